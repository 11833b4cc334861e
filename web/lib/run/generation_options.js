// generation_options.js - the defaults of generation, of its seed and of switches, and the check of a number's range
import { fail, show } from '../base/errors.js';
import { SAMPLER } from '../engine/config/sampler_fields.js';

/**
 * Check that an option is a number in a range.
 * @param {string} name  of the option
 * @param {unknown} value
 * @param {number} least
 * @param {number} most
 * @param {boolean} [whole]  whether it must be a whole number
 * @returns {number} the same value
 */
export function numberInRange(name, value, least, most, whole = false) {
  if (typeof value !== 'number' || !(value >= least && value <= most) || (whole && !Number.isInteger(value))) {
    const range =
      most === Infinity || most >= Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`;
    const found = typeof value === 'number' ? value : show(value);
    fail('bad-option', `${name} is ${found}, expected a ${whole ? 'whole ' : ''}number ${range}`);
  }
  return value;
}

/**
 * The check of a number in a range.
 * @param {number} least
 * @param {number} most
 * @param {boolean} [whole]
 * @returns {import('../base/checks.js').OptionCheck}
 */
export const within =
  (least, most, whole = false) =>
  (value, name) =>
    numberInRange(name, value, least, most, whole);

/**
 * Throws the error for a sequence that is longer than the context.
 * @param {string} what  name of the sequence
 * @param {number} n     its tokens
 * @param {number} most  positions of the context
 * @returns {never}
 */
export function failContextFull(what, n, most) {
  return fail(
    'context-full',
    `the ${what} has ${n} tokens, but the context holds only ${most}: shorten it, or raise contextLength in load`,
  );
}

/** The configuration field of each part that the option `switches` of load can leave out. */
export const SWITCHES = /** @type {Record<string, keyof import('../engine/config/config.js').Config>} */ ({
  causal: 'causal',
  scaleScores: 'scale_scores',
  usePosition: 'use_position',
  useResidual: 'use_residual',
  useNorm: 'use_norm',
  useFinalNorm: 'use_final_norm',
});

/**
 * A copy of a configuration in which the fields of disabled parts are false.
 * @param {import('../engine/config/config.js').Config} config
 * @param {Record<string, boolean>} [switches]  the option of load
 * @returns {import('../engine/config/config.js').Config}
 */
export function applySwitches(config, switches = {}) {
  const off = Object.entries(switches).filter(([, on]) => on === false);
  return { ...config, ...Object.fromEntries(off.map(([name]) => [SWITCHES[name], false])) };
}

/** The check of an option that is a whole number from 0 up. */
export const count = within(0, Number.MAX_SAFE_INTEGER, true);
/** The seed where the option is absent. */
export const drawnSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

/** Options that change the logits of a generation before a token is drawn (run/logit_controls.js). */
const CONTROLS = ['presencePenalty', 'frequencyPenalty', 'logitBias', 'constraint'];

const GENERATION_DEFAULTS = {
  maxTokens: Infinity,
  minTokens: 0,
  stop: /** @type {string[]} */ ([]),
  logprobs: 0,
  ignoreEos: false,
  beams: 1,
  lengthPenalty: 0.6,
  source: /** @type {any} */ (undefined),
  sourceMask: /** @type {any} */ (undefined),
  capture: /** @type {string[]} */ ([]),
  edits: /** @type {import('./inspect/edits.js').Edit[]} */ ([]),
};

/**
 * The options of generate with defaults.
 * @param {Record<string, any>} options  checked one by one already (call_options.js); here, which of them go together
 */
export function generationOf(options) {
  const o = { ...GENERATION_DEFAULTS, ...options };
  const { minTokens, maxTokens } = o;
  if (minTokens > maxTokens)
    fail('bad-option', `minTokens is ${minTokens}, more than maxTokens, which is ${maxTokens}`);
  if (o.beams > 1) {
    for (const name of ['logprobs', ...SAMPLER.map((field) => field.name), ...CONTROLS]) {
      if (options[name]) fail('bad-option', `${name} cannot be combined with beams: a beam search draws no tokens`);
    }
    if (o.capture.length) fail('bad-option', 'capture cannot be combined with beams: give the result to forward');
  }
  const controls = minTokens || CONTROLS.some((name) => options[name] !== undefined) ? options : null;
  return { ...o, controls, sampling: options, seed: options.seed ?? drawnSeed() };
}

/**
 * Throws when a mask is a list of masks, which only calls with several sequences accept.
 * @param {ArrayLike<any>} mask
 * @param {string} what  name of the option
 */
export function checkSingleMask(mask, what) {
  if (Array.from(mask).some((row) => typeof row === 'object'))
    fail('bad-option', `${what} is a list of masks, expected 0 or 1 for each position`);
}

/**
 * Whether an entry of a list is a sequence (a text or a list of ids) and not an id.
 * @param {any} entry
 */
export const isSequence = (entry) => typeof entry === 'string' || (typeof entry === 'object' && entry !== null);

/**
 * Whether an input is a list of sequences and not one list of ids.
 * @param {any} input
 */
export const isSequenceList = (input) => Array.isArray(input) && input.length > 0 && isSequence(input[0]);
