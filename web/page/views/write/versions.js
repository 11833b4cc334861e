// versions.js - two versions of a text from where they part, with the bits of each token

import { parting } from '../../state/branching.js';

/** @typedef {import('../../state/state.js').Token} Token */

const SHARED = 8; // tokens before the parting that are shown

export const wordsOf = (/** @type {Token[]} */ tokens) => tokens.map((t) => t.text).join('');

/**
 * Bits of each token from this place on: as they were told while the text was written, or asked for now.
 * @param {Token[]} tokens
 * @param {number} at
 * @param {import('../../state/run.js').Run} run
 * @param {AbortSignal} signal
 * @returns {Promise<number[]>}
 */
async function bitsOf(tokens, at, run, signal) {
  const known = tokens.slice(at).map((t) => (t.logprob === null ? NaN : -t.logprob / Math.LN2));
  if (!known.some(Number.isNaN)) return known;
  const ids = tokens.map((t) => t.id);
  return (await run.lossOf(ids, [], signal)).bits.slice(at - 1);
}

/**
 * @param {Token[]} one
 * @param {Token[]} other
 * @param {import('../../state/run.js').Run} run
 * @param {AbortSignal} signal
 */
export async function compare(one, other, run, signal) {
  const texts = [one, other],
    at = parting(one, other);
  const bits = [await bitsOf(one, at, run, signal), await bitsOf(other, at, run, signal)];
  const before = (at > SHARED ? '…' : '') + wordsOf(one.slice(Math.max(0, at - SHARED), at));
  return { texts, bits, at, before };
}
