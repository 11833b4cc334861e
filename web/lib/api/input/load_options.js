// load_options.js - checks the arguments of load and create, and brings them into a form that can be posted
import { GlassformerError, fail, messageOf, show } from '../../base/errors.js';
import {
  resolvedFile,
  fileOrObject,
  callback,
  entriesOf,
  flag,
  isBytes,
  isReadable,
  isStreamed,
  isWord,
  number,
  checkedOptions,
  oneOf,
  optional,
  signal,
  checkThat,
  text,
  tooMany,
  word,
} from '../../base/checks.js';
import { SWITCHES, count, numberInRange, within } from '../../run/generation_options.js';
import { headerPairs, headerToken } from '../../files/transfer/request_headers.js';

/** @import { OptionCheck } from '../../base/checks.js' */

/**
 * Whether a part of a source is a Response or a stream, which cannot be posted everywhere.
 * @param {any} source  from checkedSource
 * @returns {boolean}
 */
export const hasStream = (source) => [source, source.weights, source.config, source.tokenizer].flat().some(isStreamed);

/**
 * The source of a checkpoint, checked; addresses are absolute, and bytes cannot change any more.
 * @param {any} source  the argument of load
 * @returns {any}
 */
export function checkedSource(source) {
  if (isReadable(source)) return resolvedFile(source, 'the source');
  const refuse = () =>
    fail('bad-argument', `expected an address, a path, bytes or { weights, config, tokenizer }, found ${show(source)}`);
  if (source === null || typeof source !== 'object' || ArrayBuffer.isView(source)) return refuse();
  if (!('weights' in source)) {
    const files = entriesOf(source);
    return files?.every((f) => f instanceof Blob) ? files : refuse();
  }
  const { weights, config, tokenizer } = source;
  const several = Array.isArray(weights);
  if (several ? !weights.length || !weights.every(isReadable) : !isReadable(weights))
    fail('bad-argument', `weights: expected an address, a path or bytes, or a list of such, found ${show(weights)}`);
  return {
    weights: several ? weights.map((w) => resolvedFile(w, 'weights')) : resolvedFile(weights, 'weights'),
    ...(config !== undefined && { config: fileOrObject(config, 'config') }),
    ...(tokenizer !== undefined && { tokenizer: fileOrObject(tokenizer, 'tokenizer') }),
  };
}

/** The engine's binary. */
const wasm = optional((value, name) => {
  if (value instanceof WebAssembly.Module || value instanceof Response) return value;
  return isBytes(value)
    ? resolvedFile(value, name)
    : fail('bad-option', `${name} is ${show(value)}, expected an address, bytes, a Response or a WebAssembly.Module`);
});
/** @type {OptionCheck} */
const switchFlag = (value, name, limits) => flag(value, `switches.${name}`, limits);
const switchFlags = Object.fromEntries(Object.keys(SWITCHES).map((name) => [name, switchFlag]));
/** @type {OptionCheck} */
const switches = (value, name) => checkedOptions(name, value, switchFlags);

/**
 * The check of an object of JSON.
 * @param {string} expected
 * @returns {OptionCheck}
 */
const object = (expected) => (value, name) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !isReadable(value)
    ? fileOrObject(value, name)
    : fail('bad-option', `${name} is ${show(value)}, expected ${expected}`);
/**
 * Names of tensors: an object, or a function from our name to the one in the file.
 * @type {OptionCheck}
 */
const weightNames = (value, name, limits) =>
  typeof value === 'function' ? value : object('an object or a function')(value, name, limits);
const workerFile = checkThat(
  'true, false, the address of a worker file or a function that starts one',
  (value) => ['boolean', 'function'].includes(typeof value) || value instanceof URL || isWord(value),
);
/** The option `worker`; an address becomes absolute. @type {OptionCheck} */
const worker = (value, name, limits) => resolvedFile(workerFile(value, name, limits), name);

/** Adapters of one model. */
const MAX_ADAPTERS = 64;
const adapters = optional((value, name) => {
  const list = entriesOf(value, MAX_ADAPTERS, tooMany(name, MAX_ADAPTERS));
  if (!list || !Array.isArray(value)) return fail('bad-option', `${name} is ${show(value)}, expected a list`);
  return list.map((entry, i) => {
    const at = `${name}[${i}]`;
    if (entry?.source === undefined) fail('bad-option', `${at} is ${show(entry)}, expected { source, scale }`);
    const { source, scale } = checkedOptions(at, entry, { source: checkedSource, scale: number });
    if (hasStream(source)) fail('bad-option', `${at}.source: expected files or an address, not a Response or a stream`);
    return { source, scale: numberInRange(`${at}.scale`, scale ?? 1, -1000, 1000) };
  });
});

const cacheDir = checkThat('the path of a folder', (value) => isWord(value) && !!value);
/** @param {Record<string, any>} options  checked */
function checkCacheDir({ cache = 'none', cacheDir }) {
  if (cacheDir !== undefined && cache !== 'file')
    fail('bad-option', `cacheDir is the folder of cache: 'file', but cache is ${show(cache)}`);
}

const SHARED_OPTIONS = {
  dtype: oneOf('keep', 'f32', 'f16', 'q8_0', 'q4_0', 'q6_k', 'q5_0', 'q4_k'),
  contextLength: within(1, 2 ** 31 - 1, true),
  threads: within(1, 64, true),
  backend: word,
  kvDtype: oneOf('f32', 'f16', 'q8_0'),
  wasm,
  worker,
  signal,
  onProgress: callback,
};

/**
 * The options of each call, and their checks.
 * @type {Record<'load' | 'create', Record<string, OptionCheck>>}
 */
const CHECKS = {
  load: {
    ...SHARED_OPTIONS,
    hfEndpoint: word,
    token: headerToken,
    headers: headerPairs,
    cache: oneOf('none', 'cache-storage', 'opfs', 'file'),
    cacheDir,
    chatTemplate: optional(text),
    sha256: word,
    switches,
    adapters,
    config: object('an object with keys of a configuration'),
    names: weightNames,
    fetch: callback,
  },
  create: { ...SHARED_OPTIONS, seed: count },
};

/**
 * The options of load or create, checked and copied.
 * @param {'load' | 'create'} call
 * @param {any} options
 * @returns {Record<string, any>}
 */
export function loadOptions(call, options) {
  if (options === null) fail('bad-option', `the options of ${call} are null, expected an object`);
  const checked = checkedOptions(call, options, CHECKS[call]);
  checkCacheDir(checked);
  return checked;
}

/**
 * The options of modelCache, checked.
 * @param {any} options
 * @returns {{cache: string, cacheDir?: string, hfEndpoint?: string}}
 */
export function cacheOptions(options) {
  const cache = oneOf('cache-storage', 'opfs', 'file');
  const checked = checkedOptions('modelCache', options, { cache, cacheDir, hfEndpoint: word });
  const all = { cache: globalThis.process?.versions?.node ? 'file' : 'cache-storage', ...checked };
  checkCacheDir(all);
  return all;
}

/** @typedef {((p: import('../../run/load_model.js').Progress) => void) | undefined} OnProgress */

/**
 * The caller's onProgress and signal, joined: when onProgress throws, the returned signal is aborted with a `callback`
 * error whose cause is what was thrown.
 * @param {OnProgress} onProgress
 * @param {AbortSignal | undefined} signal
 * @returns {{signal: AbortSignal | undefined, onProgress: OnProgress, end: () => void}} end: to be called when
 *   the load has ended
 */
export function abortableProgress(onProgress, signal) {
  if (!onProgress) return { signal, onProgress: undefined, end() {} };
  const controller = new AbortController();
  const { signal: joined } = controller;
  const stop = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  return {
    signal: joined,
    onProgress: (progress) => {
      if (joined.aborted) return;
      try {
        onProgress(progress);
      } catch (error) {
        controller.abort(new GlassformerError('callback', `onProgress threw: ${messageOf(error)}`, { cause: error }));
      }
    },
    end: () => signal?.removeEventListener('abort', stop),
  };
}
