// claims/tutorial4/gpt2_pass.js - claims about one pass of the small GPT-2
import { gpt2 } from '../checkpoints/gpts.js';
import { ofPass } from '../claim.js';
import { WORDS } from '../configs.js';

/** Its tokens, vocabulary, width and heads. */
export const T = WORDS.length,
  V = 48,
  D = 16,
  H = 2;

/** @param {string} id @param {string} text @param {string[]} capture @param {Parameters<typeof ofPass>[4]} use */
export const ofGpt2 = (id, text, capture, use) => ofPass(id, text, gpt2, { capture }, use);
