// build_fields.js - the fields of a configuration that can be set on the page: all but the switches that leave an idea
// out, which “Break it” has. What was set is kept apart from what follows from it: another n_heads brings other kv
// heads and another d_head, unless these were set too.

import { completeConfig } from 'glassformer';
import { say } from '../../state/base/language.js';
import { CONTROLS, FURTHER, LISTS, OPTIONS } from '../../text/compare_text.js';

/** @typedef {ReturnType<typeof fieldOf>} Field */

const SAMPLE = /** @type {Record<string, any>} */ (completeConfig('gpt2')); // it has every field

/** @param {[key: string, control: import('../../text/compare_text.js').Control]} entry */
const fieldOf = ([key, control]) => ({
  key,
  options: OPTIONS[key], // names of its values, where these are words
  flag: typeof SAMPLE[key] === 'boolean',
  list: control.list ?? /** @type {const} */ (''),
  least: 0,
  more: key in FURTHER,
  when: () => true,
  ...control,
});
export const FIELDS = Object.entries({ ...CONTROLS, ...FURTHER }).map(fieldOf);

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
  if (typeof value === 'boolean') return value ? say`yes` : say`no`;
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
