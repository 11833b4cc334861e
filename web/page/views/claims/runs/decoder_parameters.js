// decoder_parameters.js - runs claims of tutorial 1: every row of the table of parameters, and the FFN
import { movedBy } from '../activations.js';
import { loaded, tutorial1 } from '../checkpoints.js';
import { ofCount, ofFile, refusal } from '../claim.js';
import { MODERN, UNTIED, WORDS } from '../configs.js';
import { near, same, sentence, shapeText, shown } from '../outcome.js';
import { block, count, scalars } from '../parameter_table.js';

/** The FFN's parameters for each one of attention, in all blocks. @param {import('../parameter_table.js').Table} t */
const ffnShares = (t) =>
  [...new Set(Array.from({ length: 12 }, (_, l) => count(t, 'ffn', l) / count(t, 'attention', l)))].join(', ');

/** @type {import('../claim.js').Runs} */
export const runs = {
  embedding: ofCount(MODERN, 38597376, (t) => count(t, 'embedding')),
  attention: ofCount(MODERN, 2359296, (t) => count(t, 'attention', 0)),
  ffn: ofCount(MODERN, 4718592, (t) => count(t, 'ffn', 0)),
  norms: ofCount(MODERN, 1536, (t) => count(t, 'norm', 0)),
  block: ofCount(MODERN, 7079424, block),
  blocks: ofCount(MODERN, 84953088, (t) => scalars(t, (r) => r.layer !== null)),
  'final-norm': ofCount(MODERN, 768, (t) => count(t, 'final_norm')),
  'non-embedding': ofCount(MODERN, 84953856, (t) => t.nonEmbedding),
  tied: ofCount(MODERN, 123551232, (t) => t.total),
  untied: ofCount(UNTIED, 162148608, (t) => t.total),
  'ffn-twice': ofCount(MODERN, '2 in all 12 blocks', (t) => `${ffnShares(t)} in all 12 blocks`),
  'tying-saves': (g) => {
    const untied = g.countParameters(UNTIED).total,
      saved = untied - g.countParameters(MODERN).total,
      share = (100 * saved) / untied;
    return sentence`${same(38597376, saved)}, ${near(24, share, 0.5)} %`;
  },
  'swiglu-budget': (g) => {
    const of = (ffn, d_ff) => count(g.countParameters({ ...g.PRESETS[MODERN], ffn, d_ff }), 'ffn', 0);
    return same(of('gelu_erf', 4 * 768), of('swiglu', (8 * 768) / 3));
  },
  'ffn-shapes': (g) => {
    const { rows } = g.countParameters(MODERN);
    const shape = (name) => shapeText(rows.find((r) => r.name === `blocks.0.ffn.${name}.weight`)?.shape ?? []);
    return same(
      'gate (2048, 768), up (2048, 768), down (768, 2048)',
      ['gate', 'up', 'down'].map((name) => `${name} ${shape(name)}`).join(', '),
    );
  },
  'down-backwards': async (g) => {
    const made = tutorial1(),
      name = 'blocks.1.ffn.W_down.weight',
      { shape, data } = made.weights[name];
    const why = await refusal(() =>
      loaded(g, {
        config: made.config,
        weights: { ...made.weights, [name]: { shape: [...shape].reverse(), data } },
      }),
    );
    return shown(
      why.includes('W_down') && why.includes('[40, 16], expected [16, 40]'),
      'refused: [40, 16], expected [16, 40]',
      why || 'accepted',
    );
  },
  'ffn-alone': ofFile(tutorial1, async (model) => {
    const points = ['blocks.0.hook_mlp_out', 'blocks.1.hook_attn_out'];
    const [ffn, attention] = await movedBy(model, { ids: WORDS }, 'blocks.0.hook_resid_mid', points);
    return same(
      'FFN: 3; attention: 3, 4, 5, 6, 7, 8, 9, 10, 11',
      `FFN: ${ffn}; attention: ${attention}`,
      'Positions whose output moves when the stream at position 3 is changed.',
    );
  }),
};
