// tutorial_list.js - the list of tutorials, and how a claim is run: the page and the tests in Node run the very same
// code.
import { messageOf } from '../../state/base/error_message.js';

/** @typedef {import('./claim.js').Claim} Claim */
/** @typedef {import('./outcome.js').Outcome} Outcome */
/** @typedef {typeof import('glassformer')} Glassformer */
/**
 * @typedef {object} Tutorial
 * @property {number} number
 * @property {string} title
 * @property {string} about   who wrote it, and what it builds
 * @property {() => Promise<{sections: import('./tutorial_sections.js').Section[]}>} open  fetched when asked for
 */

/** @type {Tutorial[]} */
export const TUTORIALS = [
  {
    number: 1,
    title: 'Building a Transformer: The Complete Forward Pass',
    about: 'V. Sousa, 2026: the modern decoder, its kv cache, and 123.6M parameters counted',
    open: () => import('./tutorial1.js'),
  },
  {
    number: 2,
    title: 'Assembling the Full Transformer',
    about: 'D. Lodha, 2025: the encoder-decoder of 2017',
    open: () => import('./tutorial2.js'),
  },
  {
    number: 3,
    title: 'The transformer block',
    about: 'step 07 of a tiny language model: norm, attention, MLP and the residual stream',
    open: () => import('./tutorial3.js'),
  },
  {
    number: 4,
    title: 'Transformer Forward Pass',
    about: 'notes on PicoGPT: GPT-2 and its four sizes',
    open: () => import('./tutorial4.js'),
  },
  {
    number: 5,
    title: 'The full GPT',
    about: 'day 7 of a course: assembling, counting and costing a decoder, with exercises',
    open: () => import('./tutorial5.js'),
  },
];

/**
 * Run one claim; what goes wrong on the way is a difference too.
 * @param {Claim} claim
 * @param {Glassformer} glassformer
 * @returns {Promise<Outcome>}
 */
export async function runClaim(claim, glassformer) {
  try {
    return await claim.run(glassformer);
  } catch (error) {
    return { expected: 'an answer', found: messageOf(error), ok: false };
  }
}

/**
 * The library with one byte flipped in every safetensors file that it loads: a weight in the second half becomes four
 * times or a quarter of what it was.
 * @param {Glassformer} glassformer
 * @returns {Glassformer}
 */
export function flipping(glassformer) {
  return { ...glassformer, load: async (source, options) => glassformer.load(flipped(source), options) };
}

/** @param {any} source */
function flipped(source) {
  if (!(source?.weights instanceof Uint8Array)) return source;
  const weights = source.weights.slice();
  const data = 8 + new DataView(weights.buffer).getUint32(0, true);
  weights[data + 4 * Math.floor(((weights.length - data) / 4) * 0.7) + 3] ^= 1; // the second lowest bit of an exponent
  return { ...source, weights };
}
