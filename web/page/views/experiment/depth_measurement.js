// depth_measurement.js - fresh, deep models measured: gradient and residual stream by layer, with norms before or
// after, with residual connections and without. Xiong et al. 2020 (arXiv 2002.04745) derive the first, He et al. 2016
// (arXiv 1512.03385) introduce the second.

import { depth } from 'glassformer';

/** @typedef {'pre' | 'post' | 'carried' | 'bare'} Way */
/** @typedef {{ weights: number, stream: number }[]} Layers  root mean squares, first layer first */

/** What each way changes in the configuration. */
export const WAYS = /** @type {Record<Way, Record<string, any>>} */ ({
  pre: {},
  post: { norm_placement: 'post' },
  carried: { use_norm: false },
  bare: { use_norm: false, use_residual: false },
});
export const COUNT = Object.keys(WAYS).length;
const TOKENS = 64;
/** The models that the laboratory opens with, as scripts/record_depth.js has measured them. */
export const FIRST_DEPTH = { layers: 32, dModel: 64 };

/**
 * One forward and one backward pass of each way, on random tokens.
 * @param {{ layers: number, dModel: number }} size
 * @param {AbortSignal} signal  ends the worker that measures
 * @param {() => void} measured called after each
 */
export async function measureAll({ layers, dModel }, signal, measured) {
  const config = {
    kind: 'decoder',
    vocab_size: 256,
    d_model: dModel,
    n_layers: layers,
    n_heads: dModel / 16,
    d_ff: 4 * dModel,
    context_length: TOKENS,
    norm: 'layernorm',
    ffn: 'gelu_erf',
    position: 'learned',
  };
  const found = /** @type {Record<Way, Layers>} */ ({});
  for (const [way, changes] of Object.entries(WAYS)) {
    found[/** @type {Way} */ (way)] = await depth(/** @type {any} */ ({ ...config, ...changes }), {
      seed: 1,
      tokens: TOKENS,
      signal,
    });
    measured();
  }
  return found;
}
