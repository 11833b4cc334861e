// claims/tutorial1/residuals.js - section 2: the residual stream, pre-norm and post-norm.
import { STREAM_POINTS, streamDistance } from '../activations.js';
import { distance, ids, minus, rms, rows } from '../arithmetic.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { claim, ofFile, ofFresh, using } from '../claim.js';
import { TINY, WORDS } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';
import { block } from '../parameter_table.js';

const POST = /** @type {const} */ ({ ...TINY, norm: 'layernorm', norm_placement: 'post', final_norm: true });

/**
 * A change of 1 % in the stream's length at the first block, as it arrives behind the last one.
 * @param {typeof import('glassformer')} glassformer
 * @param {typeof TINY & {norm?: 'layernorm', norm_placement?: 'post', use_norm?: boolean, use_residual?: boolean}} config
 * @param {number} [scale]
 */
const arriving = (glassformer, config, scale = 50) =>
  using(glassformer.create(config, { seed: 5 }), async (model) => {
    const first = 'blocks.0.hook_resid_pre',
      last = `blocks.${config.n_layers - 1}.hook_resid_post`;
    const run = async (by) =>
      (await model.forward(ids(8, 64), { capture: [first, last], edits: [{ at: 'hook_embed', scale: by }] })).captured;
    const [before, after] = [await run(scale), await run(scale * 1.01)];
    return rms(minus(after[last].data, before[last].data)) / rms(minus(after[first].data, before[first].data));
  });

export const claims = [
  ofFile(
    '1-pre-highway',
    'Pre-norm: the stream passes the block unchanged and sublayers only add to it',
    tutorial1,
    async (model) => {
      const { captured } = await model.forward(WORDS, { capture: STREAM_POINTS });
      return atMost(
        1e-5,
        streamDistance(captured),
        'Output of each block less its input and what attention and FFN wrote.',
      );
    },
  ),
  ofFresh(
    '1-post-highway',
    'Post-norm: the norm sits on the sum, so what leaves a block is always of length one per dimension',
    POST,
    4,
    async (model) => {
      const { captured: c } = await model.forward(ids(8, 64), {
        capture: ['*.hook_resid_post'],
        edits: [{ at: 'hook_embed', scale: 100 }],
      });
      const sizes = [0, 1].flatMap((l) => rows(c[`blocks.${l}.hook_resid_post`]).map(rms));
      return shown(
        sizes.every((s) => Math.abs(s - 1) < 1e-3),
        '1 behind every block',
        `${text(Math.min(...sizes))} to ${text(Math.max(...sizes))} behind every block`,
      );
    },
  ),
  claim(
    '1-identity-path',
    'Pre-norm keeps an identity path from the first block to the last; post-norm loses it at every norm',
    async (g) => {
      const pre = await arriving(g, { ...TINY, n_layers: 6 }),
        post = await arriving(g, { ...POST, n_layers: 6 });
      return shown(
        Math.abs(pre - 1) < 0.05 && post < 0.05,
        'pre-norm: 1; post-norm: near 0',
        `pre-norm: ${text(pre)}; post-norm: ${text(post)}`,
        'The stream made 1 % longer before the first of six blocks: how much of that change is there behind the last.',
      );
    },
  ),
  claim(
    '1-fifty-layers',
    'Fifty layers without residuals multiply fifty small numbers; with them a change arrives whole',
    async (g) => {
      const deep = { ...TINY, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 50, use_norm: false };
      const [kept, lost] = [await arriving(g, deep, 1), await arriving(g, { ...deep, use_residual: false }, 1)];
      return shown(
        Math.abs(kept - 1) < 0.05 && lost < 1e-20,
        'with residuals: 1; without: under 10⁻²⁰',
        `with residuals: ${text(kept)}; without: ${text(lost)}`,
        'Norms are off, so that only the residuals differ.',
      );
    },
  ),
  claim('1-same-parts', 'Pre-norm and post-norm hold the same weights and give different numbers', async (g) => {
    const [pre, post] = [{ ...POST, norm_placement: 'pre' }, POST];
    const equal = g.countParameters(pre).total === g.countParameters(post).total;
    const [a, b] = await Promise.all(
      [pre, post].map((c) => using(g.create(c, { seed: 6 }), async (m) => (await m.forward(ids(8, 64))).logits.data)),
    );
    return shown(
      equal && distance(a, b) > 0.01,
      'equal counts, different logits',
      `${equal ? 'equal' : 'unequal'} counts, logits differ by ${text(distance(a, b))}`,
    );
  }),
];
