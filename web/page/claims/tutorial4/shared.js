// claims/tutorial4/shared.js - sizes, tokens and helpers that several of its files use.

import { asSource } from '../files/checkpoint.js';
import { gpt2 as checkpoint } from '../files/gpt.js';
import { using } from '../models.js';
import { ids } from '../numbers.js';

/** @typedef {import('../check.js').Claim} Claim */
/** @typedef {import('../check.js').Outcome} Outcome */
/** @typedef {import('../reference/parts.js').Weights} Weights */
/** @typedef {import('glassformer').Tensor} Tensor */

export const TINY = /** @type {const} */ ({
  vocab_size: 64,
  d_model: 32,
  n_layers: 2,
  n_heads: 4,
  context_length: 32,
  norm: 'layernorm',
  ffn: 'gelu_tanh',
  position: 'learned',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
});

export const WORDS = ids(12, 48, 3),
  T = WORDS.length,
  V = 48,
  D = 16,
  H = 2;

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
export const claim = (id, words, run) => ({ id: `4-${id}`, tutorial: 4, text: words, run });

/**
 * One pass of the small GPT-2 with what is asked for.
 * @param {typeof import('glassformer')} glassformer
 * @param {string[]} capture
 * @param {(c: Record<string, Tensor>, logits: Tensor, weights: Weights, model: import('glassformer').Model) => Outcome | Promise<Outcome>} use
 */
export const pass = (glassformer, capture, use) => {
  const made = checkpoint();
  return using(glassformer.load(asSource(made)), async (model) => {
    const { logits, captured } = await model.forward(WORDS, { capture });
    return use(captured, logits, made.weights, model);
  });
};
