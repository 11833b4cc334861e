// claims/tutorial5/shared.js - sizes, tokens and helpers that several of its files use.

import { ids } from '../numbers.js';

/** @typedef {import('../check.js').Claim} Claim */

export const GPT = 'tutorial-5',
  WALK = 'tutorial-5-walk',
  QUIZ = 'tutorial-5-quiz';

/** GPT-2 small as this tutorial's class has it: no biases in linear maps. */
export const SMALL = /** @type {const} */ ({
  vocab_size: 50257,
  d_model: 768,
  n_layers: 12,
  n_heads: 12,
  context_length: 1024,
  norm: 'layernorm',
  ffn: 'gelu_erf',
  position: 'learned',
});

export const WORDS = ids(12, 48, 3);

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
export const claim = (id, words, run) => ({ id: `5-${id}`, tutorial: 5, text: words, run });
