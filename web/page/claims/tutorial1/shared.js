// claims/tutorial1/shared.js - sizes, tokens and helpers that several of its files use.

import { ids } from '../numbers.js';

/** @typedef {import('../check.js').Claim} Claim */

export const MODERN = 'modern-124m',
  UNTIED = 'modern-124m-untied';

export const TINY = {
  vocab_size: 64,
  d_model: 32,
  n_layers: 2,
  n_heads: 4,
  d_ff: 96,
  context_length: 64,
  norm_eps: 1e-6,
};

export const WORDS = ids(12, 48, 3);

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
export const claim = (id, words, run) => ({ id: `1-${id}`, tutorial: 1, text: words, run });
