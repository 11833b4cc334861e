// claims/tutorial4/gpt2_model.js - the four sizes, the whole pass and its input.
import { distance } from '../arithmetic.js';
import { gpt2 as gpt2File } from '../checkpoints/gpts.js';
import { claim, ofReference } from '../claim.js';
import { GPT, WORDS } from '../configs.js';
import { atMost, same, shapeText, shown, text } from '../outcome.js';
import { gpt2 } from '../reference/gpt_forward.js';
import { D, ofGpt2 } from './gpt2_pass.js';

/** n_layer, n_head, n_embd, and what they add up to. */
const SIZES = /** @type {[string, import('glassformer').Preset, number, number, number, number][]} */ ([
  ['124M', 'gpt2', 12, 12, 768, 124439808],
  ['355M', 'gpt2-medium', 24, 16, 1024, 354823168],
  ['774M', 'gpt2-large', 36, 20, 1280, 774030080],
  ['1558M', 'gpt2-xl', 48, 25, 1600, 1557611200],
]);

/**
 * The table of sizes, with the parameters that each makes.
 * @param {typeof import('glassformer')} g
 * @returns {import('../section.js').Table}
 */
export const sizes = (g) => ({
  head: ['Model', 'n_layer', 'n_head', 'n_embd', 'n_vocab', 'n_ctx', 'Parameters'],
  rows: SIZES.map(([name, preset]) => {
    const c = g.completeConfig(preset);
    const numbers = [c.nLayers, c.nHeads, c.dModel, c.vocabSize, c.contextLength, g.countParameters(preset).total];
    return [name, ...numbers.map(text)];
  }),
});

export const claims = [
  ...SIZES.map(([name, preset, layers, heads, width, total]) =>
    claim(
      `4-size-${name}`,
      `GPT-2 ${name}: ${layers} layers, ${heads} heads, width ${width}, vocabulary 50,257, context 1,024`,
      (g) => {
        const p = g.PRESETS[preset],
          sizes = [p.n_layers, p.n_heads, p.d_model, p.vocab_size, p.context_length];
        const found = g.countParameters(preset).total;
        return shown(
          sizes.join() === [layers, heads, width, 50257, 1024].join() && found === total,
          `${text(total)} parameters`,
          `${text(found)} parameters`,
          `Sizes as the preset has them: ${sizes.map(text).join(', ')}.`,
        );
      },
    ),
  ),
  claim('4-hidden', 'The FFN’s hidden dimension is 4 times the embedding’s, at every size', (g) =>
    same(
      '4, 4, 4, 4',
      SIZES.map(([, preset]) => {
        const [rowsUp, columns] = /** @type {any} */ (
          g.countParameters(preset).rows.find((r) => r.name === 'blocks.0.ffn.up.weight')
        ).shape;
        return rowsUp / columns;
      }).join(', '),
    ),
  ),
  ofReference(
    '4-reference',
    'A file with GPT-2’s names gives the logits of this forward pass in double precision',
    gpt2File,
    gpt2,
  ),
  ofGpt2(
    '4-shapes',
    '[n_seq] ids become [n_seq, n_embd], stay so through every block, and end as [n_seq, n_vocab]',
    ['hook_embed', '*.hook_resid_post'],
    (c, _, logits) =>
      same(
        '(12, 16), (12, 16), (12, 16), (12, 48)',
        [c.hook_embed, c['blocks.0.hook_resid_post'], c['blocks.1.hook_resid_post'], logits]
          .map((t) => shapeText(t.shape))
          .join(', '),
      ),
  ),
  ofGpt2('4-embedding', 'The input is the sum of token and position embedding', ['blocks.0.hook_resid_pre'], (c, w) => {
    const want = WORDS.flatMap((id, t) =>
      Array.from({ length: D }, (_, j) => w['wte.weight'].data[id * D + j] + w['wpe.weight'].data[t * D + j]),
    );
    return atMost(1e-6, distance(c['blocks.0.hook_resid_pre'].data, want));
  }),
];
