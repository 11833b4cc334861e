// loading.js - checks the arguments of load and create and brings them into a form that can be posted
import { GlassformerError, fail, messageOf, show } from '../base/errors.js';
import {
  LIMITS,
  resolvedFile,
  fileOrObject,
  callback,
  entriesOf,
  flag,
  isBytes,
  isReadable,
  isStreamed,
  failNotASource,
  number,
  checkedOptions,
  readValue,
  signal,
  word,
} from '../base/values.js';
import { headerPairs, headerToken } from './headers.js';

/** @typedef {import('../base/values.js').OptionCheck} Kind */

/**
 * @param {any} source what sourceOf gave
 * @returns {boolean} whether a part of it is a Response or a stream
 */
export const hasStream = (source) => [source, source.weights, source.config, source.tokenizer].flat().some(isStreamed);

/**
 * @param {any} value
 * @param {string} what
 * @returns {any[]}
 */
function filesOf(value, what) {
  const list = entriesOf(value, LIMITS.files, (n) =>
    fail('bad-argument', `${what} has ${n} entries, at most ${LIMITS.files} files are taken`),
  );
  return /** @type {any[]} */ (list);
}

/**
 * Check the source of a checkpoint.
 * @param {any} source
 * @returns {any}
 */
export function sourceOf(source) {
  return readValue('the source', () => {
    if (isReadable(source)) return resolvedFile(source, 'the source');
    const no = () => failNotASource(source);
    if (source === null || typeof source !== 'object' || ArrayBuffer.isView(source)) return no();
    if (!('weights' in source)) {
      if (!('length' in source)) return no();
      const files = filesOf(source, 'the source');
      return files?.every((f) => f instanceof Blob) ? files : no();
    }
    const { weights, config, tokenizer } = source;
    const several = Array.isArray(weights) ? filesOf(weights, 'weights') : null;
    if (several ? !several.length || !several.every(isReadable) : !isReadable(weights))
      fail('bad-argument', `weights: expected an address, a path or bytes, or a list of such, found ${show(weights)}`);
    return {
      weights: several ? several.map((w) => resolvedFile(w, 'weights')) : resolvedFile(weights, 'weights'),
      ...(config !== undefined && { config: fileOrObject(config, 'config') }),
      ...(tokenizer !== undefined && { tokenizer: fileOrObject(tokenizer, 'tokenizer') }),
    };
  });
}

/** The engine's own file. @type {Kind} */
const wasm = (value, name) => {
  if (value === null) return undefined;
  if (value instanceof WebAssembly.Module || value instanceof Response) return value;
  return isBytes(value)
    ? resolvedFile(value, name)
    : fail('bad-option', `${name} is ${show(value)}, expected an address, bytes, a Response or a WebAssembly.Module`);
};
/** @type {Kind} */
const idea = (value, name) => flag(value, `switches.${name}`, null);
/** @type {Kind} */
const switches = (value, name) =>
  checkedOptions(name, value, {
    causal: idea,
    scaleScores: idea,
    usePosition: idea,
    useResidual: idea,
    useNorm: idea,
    useFinalNorm: idea,
  });

/** Where the engine runs. @type {Kind} */
const worker = (value, name) => {
  if (typeof value === 'string') return word(value, name, null);
  return typeof value === 'boolean' || typeof value === 'function' || value instanceof URL
    ? value
    : fail(
        'bad-option',
        `${name} is ${show(value)}, expected true, false, the address of a worker file or a function that starts one`,
      );
};

const both = {
  dtype: word,
  quantize: word,
  contextLength: number,
  threads: number,
  backend: word,
  kvDtype: word,
  kvCache: word,
  wasm,
  worker,
  signal,
  onProgress: callback,
};

/** The options of each call. @type {Record<'load' | 'create', Record<string, Kind>>} */
const KINDS = {
  load: {
    ...both,
    hfEndpoint: word,
    token: headerToken,
    headers: headerPairs,
    cache: word,
    cacheDir: word,
    sha256: word,
    switches,
    fetch: callback,
  },
  create: { ...both, seed: number },
};

/**
 * @param {'load' | 'create'} call
 * @param {any} options
 * @returns {Record<string, any>}
 */
export function loadOptions(call, options) {
  if (options === null) fail('bad-option', `the options of ${call} are null, expected an object`);
  return checkedOptions(call, options, KINDS[call]);
}

/**
 * A caller's onProgress and signal: where onProgress throws, the load is aborted, and rejects with what was thrown as
 * the cause.
 * @param {((p: import('../run/loaded_model.js').Progress) => void) | undefined} told
 * @param {AbortSignal | undefined} given
 * @returns {{signal: AbortSignal | undefined, onProgress: typeof told, end: () => void}} end: to be called when the
 *   load has ended
 */
export function watchedProgress(told, given) {
  if (!told) return { signal: given, onProgress: undefined, end() {} };
  const controller = new AbortController();
  const { signal: both } = controller;
  const stop = () => controller.abort(given?.reason);
  given?.addEventListener('abort', stop, { once: true });
  return {
    signal: both,
    onProgress: (progress) => {
      if (both.aborted) return;
      try {
        told(progress);
      } catch (error) {
        controller.abort(new GlassformerError('callback', `onProgress threw: ${messageOf(error)}`, { cause: error }));
      }
    },
    end: () => given?.removeEventListener('abort', stop),
  };
}
