// weight_names.js - the option `names` of load: the tensors of a checkpoint under names of the caller
//
// A map has our names as keys and the names in the file as values. `N` or `*` stands for the layer, and the ending
// .weight or .bias may be left out on both sides. Weights with the same name in the file are stacked in one tensor, in
// the order of the roster: q, k, v. `H` stands for the head, where each head has a tensor of its own. The key `ignore`
// lists tensors that are no weights.
import { GlassformerError, fail, messageOf, show } from '../../base/errors.js';
import { unwrapped } from './wrapped_names.js';

/** @import { Place } from '../../engine/config/tensor_plan.js' */
/** @import { StoredGain } from '../../engine/stored_gains.js' */
/**
 * A tensor in a file; transposed: whether it is stored [in, out], where it is not as its family stores it; gain: how it
 * is stored, where it is not the factor of a norm.
 * @typedef {string | {name: string, transposed?: boolean, gain?: StoredGain}} NameInFile
 */
/**
 * The names in the file of weights of the roster; null or undefined where it is the usual one.
 * @typedef {(names: string[]) => Promise<(NameInFile | null | undefined)[]>} Rename
 */

/** Longest list of names that a caller may give. */
const MAX_NAMES = 16384;
/** How a file may store the gain of a norm. @type {StoredGain[]} */
const GAINS = ['factor', 'minus-one', 'sample-deviation'];
const LAYER = /^(blocks|encoder|decoder)\.(\d+)\./;

/** A tensor in a file as an object. @param {NameInFile} value */
const object = (value) => (typeof value === 'string' ? { name: value } : value);

/**
 * Checks one name in a file, and copies it.
 * @param {unknown} value
 * @param {string} key
 * @returns {NameInFile | null}
 */
function checkedName(value, key) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' && value) return value;
  const { name, transposed, gain } = /** @type {any} */ (typeof value === 'object' ? value : {});
  const isGain = gain === undefined || GAINS.includes(gain);
  if (typeof name === 'string' && name && (transposed === undefined || typeof transposed === 'boolean') && isGain)
    return { name, transposed, gain };
  return fail(
    'bad-option',
    `names: ${show(key)} is ${show(value)}, expected the name of a tensor, { name, transposed, gain } or null` +
      (isGain ? '' : `; gain is one of ${GAINS.join(', ')}`),
  );
}

/**
 * The caller's function for a list of names, with its answers checked. What it throws becomes a `callback` error.
 * @param {(name: string) => unknown} names
 * @returns {Rename}
 */
export const checkedRename = (names) => async (list) =>
  list.map((name) => {
    try {
      return checkedName(names(name), name);
    } catch (error) {
      if (error instanceof GlassformerError) throw error;
      return fail('callback', `names threw for ${show(name)}: ${messageOf(error)}`, error);
    }
  });

/**
 * A pattern of names in a file: N and * stand for any part of a name.
 * @param {string} pattern
 */
const patternOf = (pattern) =>
  new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/(?<=^|\\\.)N(?=\\\.|$)|\*/g, '[^.]+')}$`);

/**
 * A function that says whether the caller wants a tensor to be ignored.
 * @param {unknown} ignore  one name or several
 * @returns {((name: string) => boolean) | undefined}
 */
function ignoring(ignore) {
  if (ignore === undefined || ignore === null) return undefined;
  const list = [ignore].flat();
  if (!list.every((name) => typeof name === 'string' && name) || list.length > MAX_NAMES)
    fail('bad-option', `names.ignore is ${show(ignore)}, expected the name of a tensor, or a list of such names`);
  const patterns = list.map((name) => patternOf(unwrapped(String(name))));
  return (name) => patterns.some((pattern) => pattern.test(unwrapped(name)));
}

/**
 * What a map of names has besides the names. unused: a key that no weight had; ignores: whether a tensor is ignored.
 * @typedef {{unused: () => string | undefined, ignores: ((name: string) => boolean) | undefined}} Table
 */

/**
 * A map as a function.
 * @param {Record<string, any>} table
 * @returns {Rename & Table}
 */
export function renameByMap({ ignore, ...map }) {
  const keys = Object.keys(map);
  if (keys.length > MAX_NAMES) fail('bad-option', `names has ${keys.length} entries, at most ${MAX_NAMES} are taken`);
  const unused = new Set(keys);
  const checked = new Map(keys.map((key) => [key.replace(/(^|\.)\*(?=\.)/, '$1N'), [key, checkedName(map[key], key)]]));
  const one = (/** @type {string} */ name) => {
    const layer = LAYER.exec(name)?.[2];
    const any = name.replace(LAYER, '$1.N.');
    const [, stem, ending] = /** @type {RegExpExecArray} */ (/^(.*?)(\.weight|\.bias)?$/.exec(any));
    const exact = checked.get(name) ?? checked.get(any);
    const found = exact ?? checked.get(stem) ?? checked.get(name.slice(0, name.length - (ending ?? '').length));
    if (!found) return null;
    const [key, value] = /** @type {[string, NameInFile | null]} */ (found);
    if (value === null) return null;
    unused.delete(key);
    const { name: text, ...how } = object(value);
    const numbered = layer === undefined ? text : text.replace(/(^|\.)N(?=\.|$)/g, `$1${layer}`).replace(/\*/g, layer);
    return { name: exact || /\.(weight|bias)$/.test(numbered) ? numbered : numbered + (ending ?? ''), ...how };
  };
  const rename = async (/** @type {string[]} */ names) => names.map(one);
  return Object.assign(rename, { unused: () => [...unused][0], ignores: ignoring(ignore) });
}

/**
 * How the gain of a norm is stored, where the caller or the name in the file tells; another weight has none.
 * @param {StoredGain | undefined} gain
 * @param {string} name  of the weight
 * @param {string} file  its name in the file
 */
function gainOf(gain, name, file) {
  if (gain && !/norm[^.]*\.weight$/.test(name))
    fail('bad-option', `names: ${show(name)} has gain ${show(gain)}, which only the weights of norms have`);
  if (!gain && /(^|\.)a_2$/.test(file))
    fail(
      'bad-option',
      `names: ${show(file)} is a name of The Annotated Transformer, whose norm divides by the standard deviation ` +
        "of the sample: give { name, gain: 'sample-deviation' }, or 'factor' where your norm does not",
    );
  return gain ? { gain } : {};
}

/**
 * The places of a configuration under the caller's names.
 * @param {Map<string, Place>} places  under the usual names
 * @param {Rename} rename
 * @returns {Promise<Map<string, Place>>}
 */
export async function renamedPlaces(places, rename) {
  const weights = [...places].flatMap(([usual, place]) => place.covers.map((name) => ({ usual, place, name })));
  const answers = await rename(weights.map(({ name }) => name));
  /** @type {Map<string, Place>} */
  const renamed = new Map();
  for (const [i, { usual, place, name }] of weights.entries()) {
    /** @type {Exclude<NameInFile, string>} */
    const { name: own, transposed, gain } = object(answers[i] ?? usual);
    const file = unwrapped(own);
    const layout = transposed === undefined ? place.layout : transposed ? 'cols' : 'rows';
    const known = renamed.get(file) ?? { ...place, covers: [], layout, ...gainOf(gain, name, file) };
    known.covers.push(name);
    renamed.set(file, known);
  }
  return renamed;
}

/**
 * Whether a tensor is the copy of a tied embedding under the caller's name of the head.
 * @param {Rename} rename
 * @param {import('../../engine/config/config.js').Config} config
 * @returns {Promise<(entry: {name: string, shape: number[]}) => boolean>}
 */
export async function tiedHead(rename, { tie_word_embeddings: tied, vocab_size, d_model }) {
  if (!tied) return () => false;
  const [given] = await rename(['head.weight']);
  const head = typeof given === 'string' ? given : given?.name;
  return ({ name, shape }) => name === head && String(shape) === `${vocab_size},${d_model}`;
}
