// options.js - generation and sampling options: defaults, ranges and checks
import { fail, show } from '../base/errors.js';

/** @typedef {import('../engine/engine.js').Sampling} Sampling */

/**
 * Check that an option is a number in a range.
 * @param {string} name
 * @param {unknown} value
 * @param {number} least
 * @param {number} most
 * @param {boolean} [whole]
 * @returns {number}
 */
export function number(name, value, least, most, whole = false) {
  if (typeof value !== 'number' || !(value >= least && value <= most) || (whole && !Number.isInteger(value))) {
    const range =
      most === Infinity || most >= Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`;
    fail(
      'bad-option',
      `${name} is ${typeof value === 'number' ? value : show(value)}, expected a ${whole ? 'whole ' : ''}number ${range}`,
    );
  }
  return value;
}

/**
 * @param {string} what
 * @param {number} n tokens
 * @param {number} most
 * @returns {never}
 */
export function contextFull(what, n, most) {
  return fail('context-full', `the ${what} has ${n} tokens, the context holds ${most}`);
}

/** The option `switches` of load: parts that can be left out of a model, and their configuration fields. */
const SWITCHES = /** @type {Record<string, keyof import('../formats/config.js').Config>} */ ({
  causal: 'causal',
  scaleScores: 'scale_scores',
  usePosition: 'use_position',
  useResidual: 'use_residual',
  useNorm: 'use_norm',
  useFinalNorm: 'use_final_norm',
});

/**
 * @param {import('../formats/config.js').Config} config @param {Record<string, boolean>} [switches]
 * @returns {import('../formats/config.js').Config} with the fields of disabled parts set to false
 */
export function switched(config, switches = {}) {
  const off = Object.entries(switches).filter(([, on]) => on === false);
  return { ...config, ...Object.fromEntries(off.map(([name]) => [SWITCHES[name], false])) };
}

/**
 * @param {unknown} seed
 * @returns {number} 0 .. 2^53 - 1, random when not given
 */
export function seedOf(seed) {
  if (seed === undefined) return crypto.getRandomValues(new Uint32Array(1))[0];
  return number('seed', seed, 0, Number.MAX_SAFE_INTEGER, true);
}

/**
 * @param {Partial<Sampling>} o
 * @returns {Sampling}
 */
export function samplingOf({ temperature = 1, topK = 0, topP = 1, minP = 0, repetitionPenalty = 1 }) {
  for (const [name, x, most] of /** @type {[string, number, number][]} */ ([
    ['repetitionPenalty', repetitionPenalty, 1e6],
    ['topP', topP, 1],
  ])) {
    if (!Math.fround(number(name, x, 0, most)))
      fail('bad-option', `${name} is ${x}, expected a number above 0 (1: off)`);
  }
  return {
    temperature: number('temperature', temperature, 0, 1e6),
    topK: number('topK', topK, 0, 2 ** 31 - 1, true),
    topP,
    minP: number('minP', minP, 0, 1),
    repetitionPenalty,
  };
}

/**
 * @param {Record<string, any>} options
 * @param {number} vocabSize
 */
export function generateOptions(options, vocabSize) {
  const {
    maxTokens = Infinity,
    stop = [],
    logprobs = 0,
    ignoreEos = false,
    beams = 1,
    lengthPenalty = 0.6,
    source,
    sourceMask,
    capture = [],
    captureBudget,
    edits = [],
  } = options;
  if (maxTokens !== Infinity) number('maxTokens', maxTokens, 0, Number.MAX_SAFE_INTEGER, true);
  number('logprobs', logprobs, 0, vocabSize, true);
  number('beams', beams, 1, 64, true);
  number('lengthPenalty', lengthPenalty, 0, 100);
  if (beams > 1) {
    for (const name of ['logprobs', 'temperature', 'topK', 'topP', 'minP', 'repetitionPenalty']) {
      if (options[name]) fail('bad-option', `${name} cannot be combined with beams: a beam search draws no tokens`);
    }
    if (capture?.length) fail('bad-option', 'capture cannot be combined with beams: give the result to forward');
  }
  return {
    maxTokens,
    stop,
    logprobs,
    ignoreEos,
    beams,
    lengthPenalty,
    source,
    sourceMask,
    capture,
    captureBudget,
    edits,
    sampling: samplingOf(options),
    seed: seedOf(options.seed),
  };
}

/**
 * Throws when the mask is a list of masks, which only calls with several sequences take.
 * @param {ArrayLike<any>} mask
 * @param {string} what
 */
export function oneMask(mask, what) {
  if (typeof mask[0] === 'object') fail('bad-option', `${what} is a list of masks, expected 0 or 1 for each position`);
}

/**
 * Whether the input is several sequences (a list of texts or of lists of ids) and not one list of ids.
 * @param {any} input
 */
export function isList(input) {
  return (
    Array.isArray(input) &&
    input.length > 0 &&
    (typeof input[0] === 'string' || (typeof input[0] === 'object' && input[0] !== null))
  );
}
