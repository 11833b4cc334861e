// errors.js - the one error class of the package and its stable codes
//
// A code never changes its meaning. The message names the file or tensor, what was found and what was expected.

/** @typedef {keyof typeof import('./codes.js').CODES} ErrorCode */

/**
 * The error of this package: a stable `code` (a key of CODES) and a message that names the file, tensor or argument,
 * what was found and what was expected. `cause` holds the error behind it, where there is one; `keys` the keys of the
 * configuration that neither files nor tensors tell and that the option config must give, with the values that fit. An
 * aborted signal rejects with the signal's own reason instead.
 * @example
 * try {
 *   await load('nowhere.gguf');
 * } catch (error) {
 *   console.log(error instanceof GlassformerError, error.code);           // true not-found
 * }
 */
export class GlassformerError extends Error {
  /**
   * @param {string} code one of CODES
   * @param {string} message
   * @param {{cause?: unknown, keys?: {key: string, choices: string[]}[]}} [options]  choices: values that fit
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = 'GlassformerError';
    this.code = /** @type {ErrorCode} */ (code);
    if (options?.keys) this.keys = options.keys;
  }
}

/**
 * @param {string} code
 * @param {string} message
 * @param {unknown} [cause]
 * @returns {never}
 */
export function fail(code, message, cause) {
  throw new GlassformerError(code, message, cause === undefined ? undefined : { cause });
}

/** Codes and messages of JavaScript engines when a dynamic import fails. */
const IMPORT_FAILED =
  /dynamically imported module|importing a module script|ERR_MODULE_NOT_FOUND|Cannot find module|Loading chunk/i;

/**
 * Converts anything thrown inside the package to what a public call throws. A GlassformerError and the abort reason of
 * the caller's signal stay as they are; everything else becomes the cause of a GlassformerError.
 * @param {any} error
 * @param {AbortSignal} [signal] the caller's
 * @returns {any}
 */
export function publicError(error, signal) {
  if (error instanceof GlassformerError || (signal?.aborted && Object.is(error, signal.reason))) return error;
  const why = messageOf(error);
  const wrap = (/** @type {string} */ code, /** @type {string} */ message) =>
    new GlassformerError(code, message, { cause: error });
  // JavaScript engines throw a RangeError when an array cannot be allocated, and also when the stack overflows.
  if (error instanceof RangeError && !/call stack/i.test(why))
    return wrap('out-of-memory', `there is not enough memory for the result: ${why}`);
  if (/import.*ServiceWorker/i.test(why))
    return wrap('unsupported', `${why} The entry glassformer/inline works there.`);
  if (IMPORT_FAILED.test(`${error?.code} ${why}`))
    return wrap('not-found', `a file of the package could not be loaded: ${why}`);
  return wrap('internal', `an error of the package itself: ${error instanceof Error ? `${error.name}: ` : ''}${why}`);
}

/**
 * Run a function and convert what it throws with `publicError`.
 * @template T
 * @param {() => T} run
 * @returns {T}
 */
export function guarded(run) {
  try {
    return run();
  } catch (error) {
    throw publicError(error);
  }
}

/**
 * `guarded` for an asynchronous function.
 * @template T
 * @param {() => T | Promise<T>} run
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function guardedAsync(run, signal) {
  try {
    return await run();
  } catch (error) {
    throw publicError(error, signal);
  }
}

/**
 * A generator that throws at its first step: what a call returns whose arguments were refused.
 * @param {unknown} error
 * @returns {AsyncGenerator<any, any, void>}
 */
export async function* refusal(error) {
  throw error;
}

/** Most characters of a value in an error message. */
const SHOWN = 80;
/** Most entries of a list or an object in an error message. */
const ENTRIES = 20;
/** Most levels of nested lists and objects in an error message. */
const DEPTH = 3;

/**
 * A value for an error message: JSON, cut to 80 characters. Only the part that is shown is read.
 * @param {unknown} value
 * @returns {string}
 */
export function show(value) {
  const text = summary(value, DEPTH);
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 3)}...` : text;
}

/**
 * Short JSON of a value, with words for what JSON does not have.
 * @param {unknown} value
 * @param {number} depth  levels of nesting that are shown
 * @returns {string}
 */
function summary(value, depth) {
  // A long string is not sliced: V8 would first flatten all of a concatenated string.
  if (typeof value === 'string')
    return value.length > 1e5 ? `a text of ${value.length} characters` : JSON.stringify(value.slice(0, SHOWN));
  if (typeof value === 'function') return 'a function';
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof URL) return JSON.stringify(value.href.slice(0, SHOWN));
  if (ArrayBuffer.isView(value))
    return `${Object.prototype.toString.call(value).slice(8, -1)} of ${value.byteLength} bytes`;
  const list = Array.isArray(value);
  const keys = list
    ? Array.from({ length: Math.min(value.length, ENTRIES + 1) }, (_, i) => String(i))
    : Object.keys(value).slice(0, ENTRIES + 1);
  const parts = keys.slice(0, ENTRIES).map((key) => {
    const part = depth ? summary(/** @type {any} */ (value)[key], depth - 1) : '...';
    return list ? part : `${JSON.stringify(key.slice(0, SHOWN))}:${part}`;
  });
  if (keys.length > ENTRIES) parts.push('...');
  return list ? `[${parts}]` : `{${parts}}`;
}

/**
 * The message of any thrown value, cut to 300 characters.
 * @param {unknown} error
 * @returns {string}
 */
export function messageOf(error) {
  return String(/** @type {any} */ (error)?.message ?? error).slice(0, 300);
}
