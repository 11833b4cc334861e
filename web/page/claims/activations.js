// claims/activations.js - measures over the activations of a pass, and over what edits make of them

import { distance, minus, plus, rms, rows } from './arithmetic.js';
import { using } from './claim.js';

/** @typedef {Record<string, import('glassformer').Tensor>} Captured */

/** @param {(layer: number) => number} of */
const ofBlocks = (of) => Math.max(...[0, 1].map(of));

/** @param {import('glassformer').Tensor} t */
export const doubles = (t) => rows(t).map((r) => Float64Array.from(r));

/** Positions at which two tensors differ. @param {import('glassformer').Tensor} a @param {import('glassformer').Tensor} b */
export function moved(a, b) {
  const [old, now] = [rows(a), rows(b)];
  return [...old.keys()].filter((t) => distance(old[t], now[t]) > 0).join(', ');
}

/** The first norms of two blocks, before gain and shift. */
export const FIRST_NORMS = ['blocks.0.ln1.hook_normalized', 'blocks.1.ln1.hook_normalized'];

/** What the measures below read. */
export const STREAM_POINTS = ['*.hook_resid_*', '*.hook_attn_out', '*.hook_mlp_out'];

/** A block's input with what its attention and FFN wrote.
 * @param {Captured} c @param {ArrayLike<number>} x @param {number} l */
const behind = (c, x, l) => plus(x, c[`blocks.${l}.hook_attn_out`].data, c[`blocks.${l}.hook_mlp_out`].data);

/**
 * The largest difference between the output of each block and the sum of its input, attention and FFN.
 * @param {Captured} c  STREAM_POINTS
 */
export const streamDistance = (c) =>
  ofBlocks((l) => distance(c[`blocks.${l}.hook_resid_post`].data, behind(c, c[`blocks.${l}.hook_resid_pre`].data, l)));

/**
 * The largest difference between the stream behind any block and the sum of all that was written into it.
 * @param {Captured} c  STREAM_POINTS
 * @param {number} layers
 * @param {ArrayLike<number>} start  of the stream
 * @param {(sum: Float64Array) => ArrayLike<number>} [rounded]  a sum as it is carried on
 */
export function streamSumDistance(c, layers, start, rounded = (sum) => sum) {
  let total = start,
    worst = 0;
  for (let l = 0; l < layers; l++) {
    total = rounded(behind(c, total, l));
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
