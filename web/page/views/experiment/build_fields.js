// build_fields.js - the fields of a configuration that can be set on the page: all but the switches that leave an idea
// out, which “Break it” has. What was set is kept apart from what follows from it: another n_heads brings other kv
// heads and another d_head, unless these were set too.

import { completeConfig } from 'glassformer';
import { FIELD_NAMES, OPTIONS } from '../../text/compare.js';

/**
 * @typedef {object} Field
 * @property {string} key
 * @property {string} name
 * @property {Record<string, string> | undefined} options  names of its values, where these are words
 * @property {boolean} flag
 * @property {boolean} real    not only whole numbers
 * @property {number} least
 * @property {boolean} more    shown under “More”
 * @property {(config: any) => boolean} when  whether a model like this has it
 */

const two = (/** @type {any} */ c) => c.kind === 'encoder_decoder';
const predicts = (/** @type {any} */ c) => c.kind !== 'encoder';
const rotates = (/** @type {any} */ c) => c.position === 'rope';
const stretched = (/** @type {any} */ c) => rotates(c) && c.ropeScaling === 'llama3';

/** @type {Record<string, Partial<Field>>} */
const SPECIAL = {
  nEncoderLayers: { when: two },
  slidingWindow: { least: 0 },
  ropeTheta: { real: true, when: rotates },
  finalNorm: { flag: true },
  qkNorm: { flag: true },
  tieWordEmbeddings: { flag: true, when: predicts },
  sharedEmbedding: { flag: true, when: two },
  biasQkv: { flag: true },
  biasAttnOut: { flag: true },
  biasFfn: { flag: true },
  biasNorm: { flag: true, more: true, when: (c) => c.norm === 'layernorm' },
  biasHead: { flag: true, more: true, when: predicts },
  normEps: { real: true, more: true },
  embeddingScale: { real: true, more: true },
  ropePairs: { more: true, when: rotates },
  ropeScaling: { more: true, when: rotates },
  ropeFactor: { real: true, more: true, when: (c) => rotates(c) && c.ropeScaling !== 'none' },
  ropeLowFreqFactor: { real: true, more: true, when: stretched },
  ropeHighFreqFactor: { real: true, more: true, when: stretched },
  ropeOriginalContext: { real: true, more: true, when: stretched },
};

/** @type {Field[]} */
export const FIELDS = Object.entries(FIELD_NAMES).map(([key, name]) => ({
  key,
  name,
  options: OPTIONS[key],
  flag: false,
  real: false,
  least: SPECIAL[key]?.real ? 0 : 1,
  more: false,
  when: () => true,
  ...SPECIAL[key],
}));

/** Whether two values are equal, for numbers as f32: some file formats keep no more. */
export const same = (/** @type {any} */ a, /** @type {any} */ b) =>
  a === b || (typeof a === 'number' && Math.fround(a) === Math.fround(b));

/**
 * What makes this configuration out of the defaults.
 * @param {any} config complete
 */
export function chosen(config) {
  const given = { ...config };
  for (const key of Object.keys(config)) {
    const { [key]: value, ...rest } = given;
    try {
      if (same(/** @type {any} */ (completeConfig(rest))[key], value)) delete given[key];
    } catch {
      /* there is no default */
    }
  }
  return given;
}

/**
 * One more field set. With another kind, what that kind does not have is no longer set.
 * @param {Record<string, any>} given
 * @param {any} config  complete, before
 * @param {string} key
 * @param {any} value
 */
export function withField(given, config, key, value) {
  const next = { ...given, [key]: value };
  if (key === 'kind') for (const field of FIELDS) if (!field.when({ ...config, ...next })) delete next[field.key];
  return next;
}

/** A value in words. @param {Field} field @param {any} config */
function worded({ key, options, when }, config) {
  const value = config[key];
  if (!when(config)) return '–';
  if (options) return options[value] ?? value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : String(value);
}

/**
 * Fields whose values differ, in words. Rope pairs only tell how a file lays out the rows of q and k.
 * @param {any} here
 * @param {any} there
 */
export const differences = (here, there) =>
  FIELDS.filter(({ key }) => key !== 'ropePairs' && !same(here[key], there[key]))
    .map((field) => ({ name: field.name, here: worded(field, here), there: worded(field, there) }))
    .filter((row) => row.here !== row.there);
