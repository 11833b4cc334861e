// average.js - a call for several inputs: the mean of its numbers over them, with the standard error of the mean
import { isSequenceList } from '../generation_options.js';
import { fail } from '../../base/errors.js';

/** Options that may be lists with one for each input. */
const LISTS = ['source', 'from', 'kl'];

/**
 * The options of the i-th of n inputs.
 * @param {Record<string, any>} o
 * @param {number} i
 * @param {number} n
 */
function optionsOf(o, i, n) {
  /** @param {any} list @param {string} name */
  const own = (list, name) =>
    list.length === n ? list[i] : fail('bad-option', `${name} has ${list.length} entries for ${n} inputs`);
  const pick = (/** @type {any} */ of) =>
    Object.fromEntries(
      Object.entries(of).map(([key, value]) => [
        key,
        LISTS.includes(key) && isSequenceList(value) ? own(Array.from(value), key) : value,
      ]),
    );
  const picked = pick(o);
  for (const name of ['metric', 'of']) {
    if (Array.isArray(o[name])) picked[name] = own(o[name], name);
    if (picked[name]?.kl) picked[name] = pick(picked[name]);
  }
  if (o.editSets && !Array.isArray(o.editSets)) picked.editSets = pick(o.editSets);
  return picked;
}

/** Mean and standard error of the mean. @param {number[]} x */
export function meanOf(x) {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (x.length - 1);
  return { mean, error: x.length > 1 ? Math.sqrt(variance / x.length) : NaN };
}

/**
 * Numbers, tensors and objects of these, over all inputs.
 * @param {any[]} list  of one form
 * @param {string} name  of the value, for messages
 * @returns {{mean: any, error: any}} error undefined: nothing was averaged, as of names
 */
function merged(list, name) {
  const [first] = list;
  if (typeof first === 'number') return meanOf(list);
  if (first?.data && first.shape) {
    const { shape } = first;
    const other = list.find((tensor) => String(tensor.shape) !== String(shape));
    if (other)
      fail('bad-option', `${name} has the shapes [${shape}] and [${other.shape}]: give inputs with as many tokens`);
    const data = { mean: new Float32Array(first.data.length), error: new Float32Array(first.data.length) };
    for (let i = 0; i < first.data.length; i++) {
      const { mean, error } = meanOf(list.map((tensor) => tensor.data[i]));
      [data.mean[i], data.error[i]] = [mean, error];
    }
    return { mean: { data: data.mean, shape }, error: { data: data.error, shape } };
  }
  if (!first || typeof first !== 'object' || Array.isArray(first)) return { mean: first, error: undefined };
  const parts = Object.keys(first).map((key) => ({
    key,
    ...merged(
      list.map((one) => one[key]),
      key,
    ),
  }));
  return {
    mean: Object.fromEntries(parts.map(({ key, mean }) => [key, mean])),
    error: Object.fromEntries(parts.flatMap(({ key, error }) => (error === undefined ? [] : [[key, error]]))),
  };
}

/**
 * The result for one input, or for several the mean with n and standardError.
 * @template {object} T
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {(input: any, o: Record<string, any>) => Promise<T>} one
 * @returns {Promise<T & {n?: number, standardError?: any}>}
 */
export async function averaged(input, o, one) {
  if (!isSequenceList(input)) return one(input, o);
  const inputs = Array.from(input);
  if (!inputs.length) fail('bad-argument', 'the list of inputs is empty');
  const results = [];
  for (const [i, each] of inputs.entries()) results.push(await one(each, optionsOf(o, i, inputs.length)));
  const { mean, error } = merged(results, 'the result');
  return { ...mean, n: inputs.length, standardError: error };
}
