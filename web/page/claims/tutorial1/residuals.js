// claims/tutorial1/residuals.js - section 2: the residual stream, pre-norm and post-norm.
import { STREAM_POINTS, arriving, streamDistance } from '../activations.js';
import { distance, ids, rms, rows } from '../arithmetic.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { claim, ofFreshPass, ofPass, using } from '../claim.js';
import { DEEP, POST, TINY } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';

/** A change of 1 % in the stream's length at the first block. */
const CHANGE = { ids: ids(8, 64), scale: 50, by: 1.01 };

export const claims = [
  ofPass(
    '1-pre-highway',
    'Pre-norm: the stream passes the block unchanged and sublayers only add to it',
    tutorial1,
    { capture: STREAM_POINTS },
    (c) => atMost(1e-5, streamDistance(c), 'Output of each block less its input and what attention and FFN wrote.'),
  ),
  ofFreshPass(
    '1-post-highway',
    'Post-norm: the norm sits on the sum, so what leaves a block is always of length one per dimension',
    POST,
    { seed: 4, ids: ids(8, 64), capture: ['*.hook_resid_post'], edits: [{ at: 'hook_embed', scale: 100 }] },
    (c) => {
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
      const pre = await arriving(g, { ...TINY, n_layers: 6 }, CHANGE),
        post = await arriving(g, { ...POST, n_layers: 6 }, CHANGE);
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
      const change = { ...CHANGE, scale: 1 };
      const [kept, lost] = [
        await arriving(g, DEEP, change),
        await arriving(g, { ...DEEP, use_residual: false }, change),
      ];
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
