// build_fields.js - the fields of a configuration that can be set on the page: all but the switches that leave an idea
// out, which “Break it” has. What was set is kept apart from what follows from it: another n_heads brings other kv
// heads and another d_head, unless these were set too.

import { completeConfig } from 'glassformer';
import { FIELD_NAMES, LISTS, OPTIONS } from '../../text/compare.js';

/**
 * @typedef {object} Field
 * @property {string} key
 * @property {string} name
 * @property {Record<string, string> | undefined} options  names of its values, where these are words
 * @property {boolean} flag
 * @property {'flags' | 'numbers' | ''} list  of values, written one after the other
 * @property {boolean} real    not only whole numbers
 * @property {number} least
 * @property {boolean} more    shown under “More”
 * @property {(config: any) => boolean} when  whether a model like this has it
 */

const two = (/** @type {any} */ c) => c.kind === 'encoder_decoder';
const encodes = (/** @type {any} */ c) => c.kind === 'encoder';
const predicts = (/** @type {any} */ c) => c.kind !== 'encoder' || c.mlmHead;
const rotates = (/** @type {any} */ c) => c.position === 'rope';
const only = (/** @type {any} */ c) => c.kind === 'decoder';
/** @param {...string} scalings  of rotary positions */
const scaledBy =
  (...scalings) =>
  (/** @type {any} */ c) =>
    rotates(c) && scalings.includes(c.ropeScaling);
const normed = (/** @type {any} */ c) => c.qkNorm;
const mixed = (/** @type {any} */ c) => c.nExperts > 0;

/** @type {Record<string, Partial<Field>>} */
const SPECIAL = {
  nEncoderLayers: { when: two },
  nExperts: { least: 0, when: only },
  nExpertsUsed: { when: mixed },
  dExpert: { when: mixed },
  dSharedExpert: { least: 0, when: mixed },
  expertLayers: { list: 'flags', more: true, when: mixed },
  normExpertWeights: { flag: true, more: true, when: mixed },
  slidingWindow: { least: 0 },
  windowLayers: { list: 'flags', more: true, when: (c) => c.slidingWindow > 0 },
  parallelResidual: { flag: true, when: only },
  sharedNorm: { flag: true, when: (c) => c.parallelResidual },
  ropeTheta: { real: true, when: rotates },
  rotaryDim: { least: 0, more: true, when: rotates },
  ropeLayers: { list: 'flags', more: true, when: rotates },
  finalNorm: { flag: true },
  finalNormKind: { more: true, when: (c) => c.finalNorm },
  finalNormEps: { real: true, more: true, when: (c) => c.finalNorm },
  qkNorm: { flag: true },
  qkNormKind: { more: true, when: normed },
  qkNormSpan: { more: true, when: normed },
  pooler: { flag: true, more: true, when: encodes },
  mlmHead: { flag: true, more: true, when: encodes },
  tieWordEmbeddings: { flag: true, when: predicts },
  sharedEmbedding: { flag: true, when: two },
  biasQkv: { flag: true },
  biasAttnOut: { flag: true },
  biasFfn: { flag: true },
  biasNorm: { flag: true, more: true, when: (c) => [c.norm, c.finalNormKind].includes('layernorm') && c.normGain },
  biasQkNorm: { flag: true, more: true, when: (c) => c.qkNorm && c.qkNormKind === 'layernorm' },
  biasHead: { flag: true, more: true, when: predicts },
  normEps: { real: true, more: true },
  normGain: { flag: true, more: true },
  embedNorm: { flag: true, more: true },
  dEmbed: { least: 0, more: true, when: only },
  embeddingScale: { real: true, more: true },
  residualScale: { real: true, more: true },
  scoreScale: { real: true, more: true },
  logitScale: { real: true, more: true, when: predicts },
  scoreSoftcap: { real: true, more: true },
  logitSoftcap: { real: true, more: true, when: predicts },
  clipQkv: { real: true, more: true },
  positionOffset: { least: 0, more: true, when: (c) => c.position === 'learned' },
  positionPadId: { least: -1, more: true, when: encodes },
  nTokenTypes: { least: 0, more: true, when: encodes },
  sinusoidPairs: { more: true, when: (c) => c.position === 'sinusoidal' },
  relativeBuckets: { least: 0, more: true },
  relativeMaxDistance: { more: true, when: (c) => c.relativeBuckets > 0 },
  ropeLocalTheta: { real: true, more: true, when: (c) => rotates(c) && c.slidingWindow > 0 },
  ropePairs: { more: true, when: rotates },
  ropeScaling: { more: true, when: rotates },
  ropeFactor: { real: true, more: true, when: scaledBy('linear', 'llama3', 'yarn', 'dynamic') },
  ropeLowFreqFactor: { real: true, more: true, when: scaledBy('llama3') },
  ropeHighFreqFactor: { real: true, more: true, when: scaledBy('llama3') },
  ropeOriginalContext: { real: true, more: true, when: scaledBy('llama3', 'yarn', 'dynamic', 'longrope') },
  ropeBetaFast: { real: true, more: true, when: scaledBy('yarn') },
  ropeBetaSlow: { real: true, more: true, when: scaledBy('yarn') },
  ropeTruncate: { flag: true, more: true, when: scaledBy('yarn') },
  ropeAttentionFactor: { real: true, more: true, when: scaledBy('yarn', 'longrope') },
  ropeShortFactors: { list: 'numbers', more: true, when: scaledBy('longrope') },
  ropeLongFactors: { list: 'numbers', more: true, when: scaledBy('longrope') },
};

/** @type {Field[]} */
export const FIELDS = Object.entries(FIELD_NAMES).map(([key, name]) => ({
  key,
  name,
  options: OPTIONS[key],
  flag: false,
  list: '',
  real: false,
  least: SPECIAL[key]?.real ? 0 : 1,
  more: false,
  when: () => true,
  ...SPECIAL[key],
}));

/** Whether two values are equal, for numbers as f32: some file formats keep no more. */
export const same = (/** @type {any} */ a, /** @type {any} */ b) =>
  a === b ||
  (typeof a === 'number' && Math.fround(a) === Math.fround(b)) ||
  (Array.isArray(a) && a.length === b?.length && a.every((value, i) => same(value, b[i])));

/** A list as it is typed. @param {any[]} list */
export const listed = (list) => list.map(Number).join(' ');
/**
 * A typed list.
 * @param {Field['list']} kind
 * @param {string} text
 */
export function listOf(kind, text) {
  const numbers = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  return kind === 'flags' ? numbers.map((n) => (n === 0 || n === 1 ? n === 1 : n)) : numbers;
}

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
 * One more field set. What a model like that does not have is no longer set.
 * @param {Record<string, any>} given
 * @param {any} config  complete, before
 * @param {string} key
 * @param {any} value
 */
export function withField(given, config, key, value) {
  const next = { ...given, [key]: value };
  for (const field of FIELDS) if (field.key !== key && !field.when({ ...config, ...next })) delete next[field.key];
  return next;
}

/** A value in words. @param {Field} field @param {any} config */
function worded({ key, options, when, list }, config) {
  const value = config[key];
  if (!when(config)) return '–';
  if (options) return options[value] ?? value;
  if (list) return LISTS[list](value);
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
