// claims/tutorial2/shared.js - sizes, tokens and helpers that several of its files use.

import { ids } from '../numbers.js';

/** @typedef {import('../check.js').Claim} Claim */

export const MODEL = 'tutorial-2';

export const SOURCE = ids(9, 40, 4),
  TARGET = ids(12, 40, 3);

/** One encoder block, as the first half of the model has it. */
export const ENCODER = /** @type {const} */ ({
  kind: 'encoder',
  vocab_size: 40,
  d_model: 32,
  n_layers: 2,
  n_heads: 4,
  d_ff: 64,
  context_length: 50,
  norm: 'layernorm',
  norm_placement: 'post',
  ffn: 'relu',
  position: 'sinusoidal',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
});

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
export const claim = (id, words, run) => ({ id: `2-${id}`, tutorial: 2, text: words, run });
