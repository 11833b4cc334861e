// failure.js - packs an error and its causes into data that a worker can post, and rebuilds the error on the other side
import { GlassformerError, show } from './errors.js';

/** Most errors that are posted together: an error, its causes and the members of an AggregateError. */
const MAX_ERRORS = 16;
/** Most characters of a stack trace that are posted. */
const MAX_STACK = 20_000;

/**
 * The fields of an error, as data.
 * @typedef {object} ErrorFields
 * @property {string} name
 * @property {string} message
 * @property {string} [stack]
 * @property {string | number} [code]
 * @property {GlassformerError['keys']} [keys]
 * @property {PackedError} [cause]
 * @property {PackedError[]} [errors] errors of an AggregateError
 */

/**
 * A thrown value as data that can be posted: an error, another value, or the index of an error that was packed before
 * it (errors may refer to each other in a circle).
 * @typedef {ErrorFields | {value: any} | {same: number}} PackedError
 */

/**
 * Packs a thrown value. Never throws itself.
 * @param {unknown} error  anything that was thrown
 * @returns {PackedError}
 */
export function packError(error) {
  /** @type {unknown[]} */
  const seen = [];
  /**
   * @param {any} e
   * @returns {PackedError}
   */
  const pack = (e) => {
    try {
      return fields(e);
    } catch {
      // a getter of the error threw
      return { value: show(e) };
    }
  };
  /**
   * @param {any} e
   * @returns {PackedError}
   */
  const fields = (e) => {
    if (e === null || typeof e !== 'object')
      return { value: typeof e === 'function' || typeof e === 'symbol' ? show(e) : e };
    const earlier = seen.indexOf(e);
    if (earlier >= 0) return { same: earlier };
    if (typeof e.message !== 'string' || seen.length >= MAX_ERRORS) return { value: show(e) };
    seen.push(e);
    const { name, message, stack, code, keys, cause, errors } = e;
    return {
      name: String(name),
      message,
      ...(typeof stack === 'string' && { stack: stack.slice(0, MAX_STACK) }),
      ...((typeof code === 'string' || typeof code === 'number') && { code }),
      ...(e instanceof GlassformerError && keys && { keys }),
      ...(cause !== undefined && { cause: pack(cause) }),
      ...(Array.isArray(errors) && { errors: errors.slice(0, MAX_ERRORS).map(pack) }),
    };
  };
  return pack(error);
}

/** Error classes of the language that are rebuilt as themselves; any other becomes an Error with its name. */
const ERROR_CLASSES = /** @type {Record<string, ErrorConstructor>} */ ({
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  URIError,
  EvalError,
});

/**
 * Rebuilds a thrown value from the result of `packError`.
 * @param {PackedError} from
 * @returns {any} the error with its causes, or the value
 */
export function unpackError(from) {
  /** @type {any[]} */
  const rebuilt = [];
  /**
   * @param {any} p
   * @returns {any}
   */
  const unpack = (p) => {
    if ('value' in p) return p.value;
    if ('same' in p) return rebuilt[p.same];
    const { name, message, stack, code, keys, cause, errors } = p;
    const own = name === 'GlassformerError' && typeof code === 'string';
    const error = own ? new GlassformerError(code, message, { keys }) : new (ERROR_CLASSES[name] ?? Error)(message);
    rebuilt.push(error);
    const properties = {
      ...(error.name !== name && { name }),
      ...(stack !== undefined && { stack }),
      ...(!own && code !== undefined && { code }),
      ...(cause !== undefined && { cause: unpack(cause) }),
      ...(errors && { errors: errors.map(unpack) }),
    };
    for (const [key, value] of Object.entries(properties))
      Object.defineProperty(error, key, { value, configurable: true, writable: true });
    return error;
  };
  return unpack(from);
}
