// checks.js - checks the type and size of callers' values and copies them, before anything is computed or posted
//
// Each value is read once. A length is checked before the first entry is read. Results are copies that can be posted
// and that the caller has no reference to.
import { didYouMean } from './nearest.js';
import { fail, show } from './errors.js';
import { isArrayBuffer, isBytes, isStreamed, isUint8Array } from './kinds.js';

export { isArrayBuffer, isBytes, isStreamed, isUint8Array };

/**
 * The largest sizes of arguments and options, for every model. A larger value is refused with `bad-argument` or
 * `bad-option` before it is read or copied. A prompt or source with more tokens than the context is refused with
 * `context-full`.
 */
export const LIMITS = /* @__PURE__ */ Object.freeze({
  /** Characters of a text. */
  text: 2 ** 24,
  /** Characters of a prompt for each position of the context; no vocabulary has longer tokens. */
  textPerPosition: 256,
  /** Sequences of one call. */
  sequences: 4096,
  /** Names in `capture`. */
  names: 16384,
  /** Entries of `edits`. */
  edits: 65536,
  /** Changes of all entries of `edits` together. An entry with a pattern such as `at: '*'` changes many points. */
  editChanges: 2 ** 18,
  /** Characters of a name, an address or a path. */
  word: 65536,
  /** Bytes (or characters) of a text to train on. */
  trainingText: 2 ** 30,
  /** How deep a configuration or a tokenizer may be nested. */
  depth: 64,
});

/**
 * Check the result of the caller's `fetch`.
 * @param {any} value
 * @param {string} url  for the message
 * @returns {Response} the same value
 */
export function checkedResponse(value, url) {
  return typeof value?.ok === 'boolean' &&
    typeof value.headers?.get === 'function' &&
    Number.isInteger(value.status) &&
    (value.body === null || typeof value.body?.getReader === 'function')
    ? value
    : fail('network', `${url}: fetch answered with ${show(value)}, expected a Response`);
}

/**
 * Check a chunk of a response's body.
 * @param {any} chunk
 * @param {string} name  of the file, for the message
 * @returns {Uint8Array} the same bytes, as an array of this realm
 */
export function checkedChunk(chunk, name) {
  if (chunk instanceof Uint8Array) return chunk;
  return isUint8Array(chunk)
    ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length)
    : fail('network', `${name}: the body holds ${show(chunk)}, expected bytes (Uint8Array)`);
}

/**
 * `addressed` of stream_source.js, which is loaded at the first call. This must stay the only import of that file, and
 * in a module that every page loads: Rspack's development server names a lazy chunk by all modules that import it and
 * reloads the page when another of them is loaded, and other bundlers would put it into a chunk with the tokenizer.
 * @param {Parameters<typeof import('./stream_source.js').addressed>} args
 */
export const addressed = async (...args) => (await import('./stream_source.js')).addressed(...args);

/**
 * Bytes that cannot change while they are read and that can be posted. A shared or resizable buffer is copied, a
 * detached one gives an empty array.
 * @param {Uint8Array | ArrayBuffer} bytes
 * @returns {Uint8Array}
 */
export function stableBytes(bytes) {
  if (!bytes.byteLength) return new Uint8Array(0);
  const view = isArrayBuffer(bytes) ? new Uint8Array(bytes) : bytes;
  return view.buffer instanceof ArrayBuffer && !(/** @type {any} */ (view.buffer).resizable)
    ? view
    : new Uint8Array(view);
}

/**
 * The entries of an array or of any object with a length, copied.
 * @param {any} value
 * @param {number} [most]  entries that are accepted
 * @param {(n: number) => never} [tooMany]  called when there are more; throws the error
 * @returns {any[] | null} null when the value has no length
 */
export function entriesOf(value, most = Infinity, tooMany) {
  const n = value !== null && typeof value === 'object' ? value.length : null;
  if (!Number.isInteger(n) || n < 0) return null;
  if (n > most) tooMany?.(n);
  return Array.from({ length: n }, (_, i) => value[i]);
}

/**
 * A function that throws the error for an option with too many entries.
 * @param {string} name
 * @param {number} most
 * @returns {(n: number) => never}
 */
export const tooMany = (name, most) => (n) => fail('bad-option', `${name} has ${n} entries, at most ${most} are taken`);

/**
 * Check that a value is a text.
 * @param {unknown} value
 * @param {string} what  name of the value, for the message
 * @param {number} [most]  characters that are accepted
 * @returns {string} the same text
 */
export function checkedText(value, what, most = LIMITS.text) {
  if (typeof value !== 'string') fail('bad-argument', `${what} is ${show(value)}, expected a text`);
  return value.length <= most
    ? value
    : fail('bad-argument', `${what} has ${value.length} characters, at most ${most} are taken`);
}

/**
 * Check that every entry of a list is a token id.
 * @param {any[]} list
 * @param {string} what   name of the list, for the message
 * @param {number} vocab  number of tokens of the vocabulary
 * @returns {number[]} the same list
 */
export function checkedIds(list, what, vocab) {
  const bad = list.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocab);
  if (bad >= 0)
    fail(
      'bad-token',
      `the ${what} holds ${show(list[bad])} at index ${bad}; token ids are whole numbers from 0 to ${vocab - 1}`,
    );
  return list;
}

/**
 * A deep copy of a JSON value: a configuration, a tokenizer, messages. Anything that JSON does not have is refused.
 * @param {any} value
 * @param {string} what  name of the value, for the message
 * @param {{code?: string, functions?: boolean}} [options]  code: of the error; functions: functions are accepted and
 *   not copied
 * @returns {any}
 */
export function jsonCopy(value, what, { code = 'bad-argument', functions = false } = {}) {
  /** @type {Set<object>} */
  const path = new Set();
  /**
   * @param {any} v
   * @returns {any}
   */
  const copy = (v) => {
    if (typeof v === 'symbol' || (typeof v === 'function' && !functions) || ArrayBuffer.isView(v))
      fail(code, `${what} holds ${show(v)}, which is not JSON`);
    if (v === null || typeof v !== 'object') return v;
    if (path.has(v)) fail(code, `${what} contains itself`);
    if (path.size >= LIMITS.depth) fail(code, `${what} is nested deeper than ${LIMITS.depth}`);
    path.add(v);
    const out = Array.isArray(v)
      ? Array.from(v, copy)
      : Object.fromEntries(Object.entries(v).map(([key, entry]) => [key, copy(entry)]));
    path.delete(v);
    return out;
  };
  return copy(value);
}

/**
 * A file of the caller's, ready to be posted to a worker: an address becomes absolute (relative to the page), bytes
 * become bytes that cannot change. Anything else is returned as it is.
 * @param {any} file
 * @param {string} what  name of the file, for the message
 * @returns {any}
 */
export function resolvedFile(file, what) {
  if (file instanceof URL) file = file.href;
  if (typeof file === 'string') {
    if (file.length > LIMITS.word && !file.startsWith('data:'))
      fail('bad-argument', `${what} has ${file.length} characters, an address has at most ${LIMITS.word}`);
    const base = globalThis.document?.baseURI ?? globalThis.location?.href;
    try {
      return base && !file.startsWith('hf:') ? new URL(file, base).href : file;
    } catch {
      return file;
    }
  }
  return isArrayBuffer(file) || isUint8Array(file) ? stableBytes(file) : file;
}

/**
 * Whether a value is a file in one of the forms of `load`: an address, bytes, a Blob, a Response or a stream.
 * @param {any} value
 */
export const isReadable = (value) => isBytes(value) || isStreamed(value);

/**
 * A file of the caller's, or the object that the file would contain, copied.
 * @param {any} value
 * @param {string} what  name of the value, for the message
 * @returns {any}
 */
export function fileOrObject(value, what) {
  if (isReadable(value)) return resolvedFile(value, what);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    fail('bad-argument', `${what} is ${show(value)}, expected a file or an object`);
  return jsonCopy(value, what);
}

/**
 * Checks one option and returns its copy. It is never called with `undefined`, which means that the option is absent.
 * @typedef {(value: any, name: string, limits: any) => any} OptionCheck
 */

/**
 * The check of a value for which a test holds.
 * @param {string} expected  for the message
 * @param {(value: any) => boolean} fits
 * @returns {OptionCheck}
 */
export const checkThat = (expected, fits) => (value, name) =>
  fits(value) ? value : fail('bad-option', `${name} is ${show(value)}, expected ${expected}`);
/**
 * A check that takes null for an absent option.
 * @param {OptionCheck} check
 * @returns {OptionCheck}
 */
export const optional = (check) => (value, name, limits) => (value === null ? undefined : check(value, name, limits));
/**
 * The check of one of some words.
 * @param {string[]} words
 */
export const oneOf = (...words) => checkThat(`one of ${words.join(', ')}`, (value) => words.includes(value));

/** Whether a value is a short text: a name, an address, a path. @param {unknown} value */
export const isWord = (value) => typeof value === 'string' && value.length <= LIMITS.word;

/**
 * A check for a number, a boolean or a short text. The range is checked where the option is used.
 * @param {string} expected
 */
const scalar = (expected) =>
  checkThat(
    expected,
    (value) => value === null || ['number', 'boolean', 'bigint'].includes(typeof value) || isWord(value),
  );
/**
 * Accepts everything: the option is checked where it is used.
 * @type {OptionCheck}
 */
export const unchecked = (value) => value;
export const number = scalar('a number');
export const word = scalar(`a text of at most ${LIMITS.word} characters`);
export const text = checkThat(`a text of at most ${LIMITS.word} characters`, isWord);
export const flag = checkThat('true or false', (value) => typeof value === 'boolean');
export const callback = optional(checkThat('a function', (value) => typeof value === 'function'));
export const signal = optional(
  checkThat('an AbortSignal', (value) =>
    ['addEventListener', 'removeEventListener', 'throwIfAborted'].every((name) => typeof value?.[name] === 'function'),
  ),
);

/**
 * The options of a call, checked and copied. An unknown name is refused.
 * @param {string} call  name of the call, for the message
 * @param {any} options  null and undefined mean no options
 * @param {Record<string, OptionCheck>} checks  by the name of the option
 * @param {any} [limits]  passed to each check
 * @returns {Record<string, any>}
 */
export function checkedOptions(call, options, checks, limits) {
  /** @type {Record<string, any>} */
  const out = {};
  if (options === undefined || options === null) return out;
  if (typeof options !== 'object' || Array.isArray(options) || ArrayBuffer.isView(options))
    fail('bad-option', `the options of ${call} are ${show(options)}, expected an object`);
  for (const [name, check] of Object.entries(checks)) {
    const given = options[name];
    const value = given === undefined ? undefined : check(given, name, limits);
    if (value !== undefined) out[name] = value;
  }
  for (const name of Object.keys(options))
    if (!Object.hasOwn(checks, name) && options[name] !== undefined)
      fail('bad-option', `${call} has no option ${show(name)}${didYouMean(name, Object.keys(checks))}`);
  return out;
}
