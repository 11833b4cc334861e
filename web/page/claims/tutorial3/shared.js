// claims/tutorial3/shared.js - sizes, tokens and helpers that several of its files use.

import { ids } from '../numbers.js';

/** @typedef {import('../check.js').Claim} Claim */

/** The block alone: its sizes, without positions or a final norm around it. */
export const BLOCK = /** @type {const} */ ({
  vocab_size: 32,
  d_model: 64,
  n_layers: 1,
  n_heads: 8,
  context_length: 16,
  norm: 'layernorm',
  norm_eps: 1e-5,
  ffn: 'gelu_erf',
  position: 'none',
  final_norm: false,
});

export const WORDS = ids(12, 48, 3);

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
export const claim = (id, words, run) => ({ id: `3-${id}`, tutorial: 3, text: words, run });
