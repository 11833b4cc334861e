// claims/tutorial4/model.js - the four sizes, the whole pass and its input.

import { atMost, same, shapeText, shown, text } from '../check.js';
import { asSource } from '../files/checkpoint.js';
import { gpt2 as checkpoint } from '../files/gpt.js';
import { using } from '../models.js';
import { distance } from '../numbers.js';
import { gpt2 } from '../reference/gpt.js';
import { flat } from '../reference/parts.js';
import { D, WORDS, claim, pass } from './shared.js';

/** @typedef {import('../check.js').Claim} Claim */

/** n_layer, n_head, n_embd, and what they add up to. */
const SIZES = /** @type {[string, import('glassformer').Preset, number, number, number, number][]} */ ([
  ['124M', 'gpt2', 12, 12, 768, 124439808],
  ['355M', 'gpt2-medium', 24, 16, 1024, 354823168],
  ['774M', 'gpt2-large', 36, 20, 1280, 774030080],
  ['1558M', 'gpt2-xl', 48, 25, 1600, 1557611200],
]);

/** @type {Claim[]} */
export const claims = [
  ...SIZES.map(([name, preset, layers, heads, width, total]) =>
    claim(
      `size-${name}`,
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
  claim('hidden', 'The FFN’s hidden dimension is 4 times the embedding’s, at every size', (g) =>
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
  claim('reference', 'A file with GPT-2’s names gives the logits of this forward pass in double precision', (g) => {
    const made = checkpoint();
    return using(g.load(asSource(made)), async (model) =>
      atMost(1e-4, distance((await model.forward(WORDS)).logits.data, flat(gpt2(made.weights, made.config, WORDS)))),
    );
  }),
  claim('shapes', '[n_seq] ids become [n_seq, n_embd], stay so through every block, and end as [n_seq, n_vocab]', (g) =>
    pass(g, ['hook_embed', '*.hook_resid_post'], (c, logits) =>
      same(
        '(12, 16), (12, 16), (12, 16), (12, 48)',
        [c.hook_embed, c['blocks.0.hook_resid_post'], c['blocks.1.hook_resid_post'], logits]
          .map((t) => shapeText(t.shape))
          .join(', '),
      ),
    ),
  ),
  claim('embedding', 'The input is the sum of token and position embedding', (g) =>
    pass(g, ['blocks.0.hook_resid_pre'], (c, _, w) => {
      const want = WORDS.flatMap((id, t) =>
        Array.from({ length: D }, (_, j) => w['wte.weight'].data[id * D + j] + w['wpe.weight'].data[t * D + j]),
      );
      return atMost(1e-6, distance(c['blocks.0.hook_resid_pre'].data, want));
    }),
  ),
];
