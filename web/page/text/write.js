// write.js - sentences of the view in which text is written: prompt, text, next token

import { figures, int, percent, quoted } from './format.js';

// -- next token -------------------------------------------------------------------------------------------------------

export const NEXT = {
  title: 'Next token',
  none: 'an encoder predicts none',
  model: 'model',
  sampler: 'sampler',
  continueFrom: 'Click a word to continue from it.',
  surprise: 'Surprise by token',
};

/**
 * @param {import('../state/store.js').Token} token
 * @param {number | null} entropy  bits, null where it is not known
 */
export const afterToken = (token, entropy) =>
  `after ${quoted(token)}${entropy === null ? '' : `, entropy ${figures(entropy)} bits`}`;

/** @typedef {import('../state/store.js').State['sampler']} Sampler */

/**
 * How many tokens the sampler may draw.
 * @param {Sampler} sampler
 * @param {{ kept: number | null, size: number | null, entropySampled: number | null }} next
 */
export function passing({ temperature }, { kept, size, entropySampled }) {
  if (kept === null || size === null || entropySampled === null) return NEXT.continueFrom;
  if (temperature === 0) return `Temperature 0 always takes the most likely token. ${NEXT.continueFrom}`;
  const which =
    kept === size ? `All ${int(size)} tokens can be drawn` : `${int(kept)} of ${int(size)} tokens pass top-k/top-p`;
  return `${which}, entropy ${figures(entropySampled)} bits. ${NEXT.continueFrom}`;
}

/**
 * Why the others cannot be drawn.
 * @param {Sampler} sampler
 * @param {number} kept
 * @param {number} size  of the vocabulary
 */
export function excluded({ temperature, topK, topP }, kept, size) {
  const byTopK = topK > 0 && topK < size,
    byTopP = topP < 1 && kept < (byTopK ? topK : size);
  const rule =
    temperature === 0 ? 'temperature 0' : [byTopK && 'top-k', byTopP && 'top-p'].filter(Boolean).join(' and ');
  return `${int(size - kept)} excluded by ${rule}`;
}

/**
 * One candidate as a screen reader reads it, after its word and the model's probability.
 * @param {import('../state/sampler.js').Candidate} candidate
 * @param {boolean} drawn
 */
export function candidateSaid({ sampled }, drawn) {
  const sampler = sampled === null ? '' : sampled === 0 ? ', excluded by the sampler' : `, sampler ${percent(sampled)}`;
  return ` by the model${sampler}${drawn ? ', drawn' : ', continue from it'}`;
}

/**
 * @param {number} mean  bits a token
 * @param {import('../state/store.js').Token} token  the most surprising one
 * @param {number} most  its bits
 */
export const surpriseSaid = (mean, token, most) =>
  `${figures(mean)} bits a token on average; most at ${quoted(token)}, ${figures(most)} bits.`;
