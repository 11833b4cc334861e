// activations.js - measures over the activations of a pass, and over what edits make of them

import { distance, minus, normal, plus, rms, rows } from './arithmetic.js';
import { using } from './claim.js';
import { near, noted, sentence, under } from './outcome.js';

/** @typedef {Record<string, import('glassformer').Tensor>} Captured */

/**
 * Positions at which each point moves when the stream is changed at position 3 of one point.
 * @param {import('glassformer').Model} model
 * @param {import('./claim.js').Pass & { ids: number[] }} pass
 * @param {string} at
 * @param {string[]} points
 */
export async function movedBy(model, { ids, ...options }, at, points) {
  const run = async (edits) => (await model.forward(ids, { ...options, capture: points, edits })).captured;
  const before = await run([]),
    after = await run([{ at, position: 3, add: Float32Array.from({ length: 16 }, normal(1)) }]);
  return points.map((point) => {
    const [old, now] = [rows(before[point]), rows(after[point])];
    return [...old.keys()].filter((t) => distance(old[t], now[t]) > 0).join(', ');
  });
}

/** The first norms of two blocks, before gain and shift. */
export const FIRST_NORMS = ['blocks.0.ln1.hook_normalized', 'blocks.1.ln1.hook_normalized'];

/** What the measures below read. */
export const STREAM_POINTS = ['*.hook_resid_*', '*.hook_attn_out', '*.hook_mlp_out'];

/**
 * The largest difference between the stream behind any block and the sum of all that was written into it.
 * @param {Captured} c  STREAM_POINTS
 * @param {number} layers
 * @param {ArrayLike<number>} [start]  of the stream
 */
export function streamDistance(c, layers, start = c['blocks.0.hook_resid_pre'].data) {
  let total = start,
    worst = 0;
  for (let l = 0; l < layers; l++) {
    total = plus(total, c[`blocks.${l}.hook_attn_out`].data, c[`blocks.${l}.hook_mlp_out`].data);
    worst = Math.max(worst, distance(total, c[`blocks.${l}.hook_resid_post`].data));
  }
  return worst;
}

/**
 * How much of a change of the embeddings' length arrives behind the last block.
 * @param {typeof import('glassformer')} glassformer
 * @param {any} config
 * @param {{ ids: number[], scale?: number, by: number }} change
 */
export const arriving = (glassformer, config, { ids, scale = 1, by }) =>
  using(glassformer.create(config, { seed: 5 }), async (model) => {
    const first = 'blocks.0.hook_resid_pre',
      last = `blocks.${config.n_layers - 1}.hook_resid_post`;
    const run = async (factor) =>
      (await model.forward(ids, { capture: [first, last], edits: [{ at: 'hook_embed', scale: factor }] })).captured;
    const [before, after] = [await run(scale), await run(scale * by)];
    return rms(minus(after[last].data, before[last].data)) / rms(minus(after[first].data, before[first].data));
  });

/**
 * A change of the embeddings' length arrives whole where there are residuals, and is lost without them; norms are off.
 * @param {any} config
 * @param {Parameters<typeof arriving>[2]} change
 * @param {string} note
 * @returns {import('./claim.js').Run}
 */
export const ofResiduals = (config, change, note) => async (g) => {
  const without = { ...config, use_residual: false };
  const [kept, lost] = [await arriving(g, config, change), await arriving(g, without, change)];
  return noted(sentence`with residuals: ${near(1, kept, 0.05)}; without: ${under(1e-20, lost)}`, note);
};

/**
 * What the activation of the first block makes of these inputs, which are put into it.
 * @param {import('glassformer').Model} model  whose d_ff is a multiple of their number, or smaller
 * @param {ArrayLike<number>} inputs
 * @param {number} d_ff
 */
export async function activated(model, inputs, d_ff) {
  const set = Float32Array.from({ length: d_ff }, (_, i) => inputs[i % inputs.length]);
  const { captured } = await model.forward([1], {
    capture: ['blocks.0.mlp.hook_post'],
    edits: [{ at: 'blocks.0.mlp.hook_pre', set }],
  });
  return captured['blocks.0.mlp.hook_post'].data.slice(0, inputs.length);
}
