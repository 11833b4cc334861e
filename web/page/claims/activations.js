// claims/activations.js - measures over the activations of both blocks of a model

import { distance, plus, rows } from './arithmetic.js';
import { flat } from './reference/parts.js';

/** @typedef {Record<string, import('glassformer').Tensor>} Captured */

/** @param {(layer: number) => number} of */
const ofBlocks = (of) => Math.max(...[0, 1].map(of));

/** @param {import('glassformer').Tensor} t */
export const doubles = (t) => rows(t).map((r) => Float64Array.from(r));

/** What both measures read. */
export const NORM_POINTS = ['*.hook_resid_pre', '*.ln1.hook_normalized'];
export const STREAM_POINTS = ['*.hook_resid_*', '*.hook_attn_out', '*.hook_mlp_out'];

/**
 * The largest difference between the first norm of each block and a reference of the same input.
 * @param {Captured} c  NORM_POINTS
 * @param {(x: Float64Array[]) => Float64Array[]} norm
 */
export const normDistance = (c, norm) =>
  ofBlocks((l) =>
    distance(c[`blocks.${l}.ln1.hook_normalized`].data, flat(norm(doubles(c[`blocks.${l}.hook_resid_pre`])))),
  );

/**
 * The largest difference between the output of each block and the sum of its input, attention and FFN.
 * @param {Captured} c  STREAM_POINTS
 */
export const streamDistance = (c) =>
  ofBlocks((l) =>
    distance(
      c[`blocks.${l}.hook_resid_post`].data,
      plus(
        c[`blocks.${l}.hook_resid_pre`].data,
        c[`blocks.${l}.hook_attn_out`].data,
        c[`blocks.${l}.hook_mlp_out`].data,
      ),
    ),
  );
