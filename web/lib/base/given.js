// given.js - checks the type and size of values that callers give, and copies them, before anything is computed or
// posted
//
// Each value is read once, so that a getter, a Proxy or a changing buffer cannot pass the check with one value and give
// the engine another. A length is checked before the first entry is read. Results are plain data that can be posted and
// that the caller has no reference to.
import { GlassformerError, fail, said, show } from './errors.js';
import { isArrayBuffer, isBytes, isStreamed, isUint8Array } from './kinds.js';

export { isArrayBuffer, isBytes, isStreamed, isUint8Array };

/**
 * The most that calls take, whatever the model: more is refused with `bad-argument` or `bad-option` before any of it is
 * read or copied. A prompt or source with more tokens than the context is refused with `context-full`.
 */
export const LIMITS = /* @__PURE__ */ Object.freeze({
  /** Characters of a text, and of all texts of one call together. */
  text: 2 ** 24,
  /** Characters of a prompt for each position of the context; no vocabulary has longer tokens. */
  textPerPosition: 256,
  /** Token ids in `decode`, logits and seen tokens in `distribution`. */
  ids: 2 ** 24,
  /** Sequences of one call. */
  sequences: 4096,
  /** Names in `capture`. */
  names: 16384,
  /** Entries of `edits`. */
  edits: 65536,
  /** Numbers in all entries of `edits` together. */
  editNumbers: 2 ** 24,
  /** Changes that all entries of `edits` make, each at one point: an entry with `at: '*'` makes one at each. */
  editChanges: 2 ** 18,
  /** Characters of a name, an address or a path. */
  word: 65536,
  /** Characters of a `data:` address. */
  data: 2 ** 28,
  /** Texts in `stop`. */
  stops: 256,
  /** Characters of a text in `stop`. */
  stopLength: 4096,
  /** Messages of a chat. */
  messages: 65536,
  /** Files of one checkpoint. */
  files: 16384,
  /** Bytes (or characters) of a text to train on. */
  trainingText: 2 ** 30,
  /** Values in a configuration. */
  config: 2 ** 16,
  /** Values in a tokenizer that is given as an object, and in `template` of a chat. */
  tokenizer: 2 ** 22,
  /** How deep a configuration or a tokenizer may be nested. */
  depth: 64,
});

/**
 * Check the result of a caller's fetch.
 * @param {any} value @param {string} url
 * @returns {Response}
 */
export function answerOf(value, url) {
  return typeof value?.ok === 'boolean' &&
    typeof value.headers?.get === 'function' &&
    Number.isInteger(value.status) &&
    (value.body === null || typeof value.body?.getReader === 'function')
    ? value
    : fail('network', `${url}: fetch answered with ${show(value)}, expected a Response`);
}

/**
 * Check a chunk of a response's body.
 * @param {any} chunk @param {string} name
 * @returns {Uint8Array}
 */
export function chunkOf(chunk, name) {
  if (chunk instanceof Uint8Array) return chunk;
  return isUint8Array(chunk)
    ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length)
    : fail('network', `${name}: the body holds ${show(chunk)}, expected bytes (Uint8Array)`);
}

/**
 * streamed.js, which is loaded where something is streamed. The only import of it: Rspack's development server names a
 * lazy chunk by all modules that import it, and reloads the page when one more of them is loaded. Here, in a module
 * that every page loads, because bundlers would otherwise put it into a chunk with the tokenizer.
 * @param {Parameters<typeof import('./streamed.js').addressed>} args
 */
export const addressed = async (...args) => (await import('./streamed.js')).addressed(...args);

/**
 * Bytes that cannot change while they are read, and that can be posted: a copy of shared or resizable buffers, empty
 * for detached ones.
 * @param {Uint8Array | ArrayBuffer} bytes
 * @returns {Uint8Array}
 */
export function steady(bytes) {
  if (!bytes.byteLength) return new Uint8Array(0);
  const view = isArrayBuffer(bytes) ? new Uint8Array(bytes) : bytes;
  return view.buffer instanceof ArrayBuffer && !(/** @type {any} */ (view.buffer).resizable)
    ? view
    : new Uint8Array(view);
}

/**
 * Read something of a caller's object, which may run the caller's code (a getter, a Proxy).
 * @template T
 * @param {string} what  its name in the error message when that throws
 * @param {() => T} get
 * @returns {T}
 */
export function reading(what, get) {
  try {
    return get();
  } catch (error) {
    if (error instanceof GlassformerError) throw error;
    return fail('bad-argument', `${what} cannot be read: ${said(error)}`, error);
  }
}

const { get: typedLength } = /** @type {{get(): number}} */ (
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')
);

/**
 * @param {unknown} value
 * @returns {value is ArrayLike<any>} any typed array; what its length is, none of its own properties can change
 */
const isTyped = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);

/**
 * The entries of an array, or of anything with a length.
 * @param {any} value
 * @param {number} most
 * @param {(n: number) => never} tooMany
 * @returns {any[] | null} null where it has no length
 */
export function entries(value, most, tooMany) {
  if (value === null || typeof value !== 'object') return null;
  const n = isTyped(value) ? typedLength.call(value) : value.length;
  if (!Number.isInteger(n) || n < 0) return null;
  if (n > most) tooMany(n);
  const list = [];
  for (let i = 0; i < n; i++) list.push(value[i]);
  return list;
}

/**
 * @param {unknown} value
 * @param {string} what
 * @param {number} [most] characters
 * @returns {string}
 */
export function textOf(value, what, most = LIMITS.text) {
  if (typeof value !== 'string') fail('bad-argument', `${what} is ${show(value)}, expected a text`);
  return value.length <= most
    ? value
    : fail('bad-argument', `${what} has ${value.length} characters, at most ${most} are taken`);
}

/**
 * @param {any[]} list
 * @param {string} what
 * @param {number} vocab
 * @returns {number[]} the same, each a token id
 */
export function checkedIds(list, what, vocab) {
  const bad = list.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocab);
  if (bad >= 0)
    fail(
      'bad-token',
      `the ${what} holds ${show(list[bad])} at place ${bad}, token ids are whole numbers from 0 to ${vocab - 1}`,
    );
  return list;
}

/**
 * A copy of a value of JSON: a configuration, a tokenizer, messages.
 * @param {any} value
 * @param {string} what
 * @param {{values?: number, code?: string, functions?: boolean}} [how]  functions: taken as they are
 * @returns {any}
 */
export function plain(value, what, { values = LIMITS.config, code = 'bad-argument', functions = false } = {}) {
  let left = values;
  let characters = LIMITS.data;
  /** @type {Set<object>} */
  const path = new Set();
  /**
   * @param {any} v
   * @returns {any}
   */
  const copy = (v) => {
    if (left-- <= 0) fail(code, `${what} has more than ${values} values`);
    if (typeof v === 'string' && (characters -= v.length) < 0)
      fail(code, `${what} has texts of more than ${LIMITS.data} characters`);
    if (typeof v === 'symbol' || (typeof v === 'function' && !functions))
      fail(code, `${what} holds ${show(v)}, which is not JSON`);
    if (v === null || typeof v !== 'object') return v;
    if (path.has(v)) fail(code, `${what} contains itself`);
    if (path.size >= LIMITS.depth) fail(code, `${what} is nested deeper than ${LIMITS.depth}`);
    if (ArrayBuffer.isView(v)) fail(code, `${what} holds ${show(v)}, which is not JSON`);
    path.add(v);
    const out = Array.isArray(v)
      ? /** @type {any[]} */ (
          entries(v, left, (n) =>
            fail(code, `${what} holds a list of ${n} entries, more than ${values} values are not taken`),
          )
        ).map(copy)
      : Object.fromEntries(Object.keys(v).map((key) => [key, copy(v[key])]));
    path.delete(v);
    return out;
  };
  return reading(what, () => copy(value));
}

/**
 * @param {any} bytes
 * @param {string} what
 * @returns {any} an address in full, or bytes that stay as they are while they are read
 */
export function bytesOf(bytes, what) {
  if (bytes instanceof URL) bytes = bytes.href;
  if (typeof bytes === 'string') {
    if (bytes.length > LIMITS.data || (bytes.length > LIMITS.word && !bytes.startsWith('data:')))
      fail('bad-argument', `${what} has ${bytes.length} characters, an address has at most ${LIMITS.word}`);
    const base = globalThis.document?.baseURI ?? globalThis.location?.href;
    try {
      return base && !bytes.startsWith('hf:') ? new URL(bytes, base).href : bytes;
    } catch {
      return bytes;
    }
  }
  return isArrayBuffer(bytes) || isUint8Array(bytes) ? steady(bytes) : bytes;
}

/** @param {any} value */
export const isReadable = (value) => isBytes(value) || isStreamed(value);

/**
 * @param {any} source
 * @returns {never}
 */
export function notASource(source) {
  return fail(
    'bad-argument',
    `expected an address, a path, bytes or { weights, config, tokenizer }, found ${show(source)}`,
  );
}

/**
 * @param {any} value
 * @param {string} what
 * @returns {any} bytes, or a copy of an object
 */
export function bytesOrObject(value, what) {
  if (isReadable(value)) return bytesOf(value, what);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    fail('bad-argument', `${what} is ${show(value)}, expected a file or an object`);
  return plain(value, what, { values: LIMITS.tokenizer });
}

/**
 * How one option is checked and copied. `undefined` is an option that was not given and never comes here.
 * @typedef {(value: any, name: string, limits: any) => any} Kind
 */

/**
 * A number, boolean or short text; its range is checked where it is used.
 * @param {string} expected
 * @returns {Kind}
 */
const scalar = (expected) => (value, name) => {
  const kind = typeof value;
  const fine =
    value === null ||
    kind === 'number' ||
    kind === 'boolean' ||
    kind === 'bigint' ||
    (kind === 'string' && value.length <= LIMITS.word);
  return fine ? value : fail('bad-option', `${name} is ${show(value)}, expected ${expected}`);
};
/** Checked where it is used. @type {Kind} */
export const anything = (value) => value;
export const number = scalar('a number');
export const word = scalar(`a text of at most ${LIMITS.word} characters`);
/** @type {Kind} */
export const flag = (value, name) =>
  typeof value === 'boolean' ? value : fail('bad-option', `${name} is ${show(value)}, expected true or false`);
/** @type {Kind} */
export const callback = (value, name) =>
  value === null || typeof value === 'function'
    ? (value ?? undefined)
    : fail('bad-option', `${name} is ${show(value)}, expected a function`);
/** @type {Kind} */
export const signal = (value, name) => {
  if (value === null) return undefined;
  const fine =
    typeof value === 'object' &&
    typeof value.addEventListener === 'function' &&
    typeof value.removeEventListener === 'function' &&
    typeof value.throwIfAborted === 'function';
  return fine ? value : fail('bad-option', `${name} is ${show(value)}, expected an AbortSignal`);
};

/**
 * The options of a call, checked and copied. An unknown name is refused.
 * @param {string} call
 * @param {any} options  null and undefined: none
 * @param {Record<string, Kind>} kinds
 * @param {any} [limits]  for the kinds
 * @returns {Record<string, any>}
 */
export function optionsOf(call, options, kinds, limits) {
  /** @type {Record<string, any>} */
  const out = {};
  if (options === undefined || options === null) return out;
  return reading(`the options of ${call}`, () => {
    if (typeof options !== 'object' || Array.isArray(options) || ArrayBuffer.isView(options))
      fail('bad-option', `the options of ${call} are ${show(options)}, expected an object`);
    for (const [name, kind] of Object.entries(kinds)) {
      reading(name, () => {
        const value = options[name];
        if (value !== undefined) out[name] = kind(value, name, limits);
      });
    }
    for (const name of Object.keys(options))
      if (!Object.hasOwn(kinds, name) && options[name] !== undefined)
        fail('bad-option', `${call} has no option ${show(name)}`);
    return out;
  });
}
