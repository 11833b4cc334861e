// claims/tutorial4/gpt2_pass.js - claims about one pass of the small GPT-2
import { gpt2 } from '../checkpoints/gpts.js';
import { ofFile } from '../claim.js';
import { WORDS } from '../configs.js';

/** @typedef {import('glassformer').Tensor} Tensor */

/** Its tokens, vocabulary, width and heads. */
export const T = WORDS.length,
  V = 48,
  D = 16,
  H = 2;

/**
 * @param {string} id
 * @param {string} text
 * @param {string[]} capture
 * @param {(c: Record<string, Tensor>, logits: Tensor, weights: import('../reference/parts.js').Weights, model: import('glassformer').Model) =>
 *   import('../outcome.js').Outcome | Promise<import('../outcome.js').Outcome>} use
 */
export const ofPass = (id, text, capture, use) =>
  ofFile(id, text, gpt2, async (model, { weights }) => {
    const { logits, captured } = await model.forward(WORDS, { capture });
    return use(captured, logits, weights, model);
  });
