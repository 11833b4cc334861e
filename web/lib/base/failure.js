// failure.js - packs an error and its causes into data that a worker can post, and unpacks it again
import { CODES, GlassformerError, show } from './errors.js';

/** Longest chain of causes, and most characters of a stack trace, that are posted. */
const CHAIN = 16;
const STACK = 20_000;

/**
 * @typedef
 *   {{name: string, message: string, stack?: string, code?: string | number, cause?: Packed, errors?: Packed[]} | {value: any} | {same: number}}
 *   Packed same: the n-th one again
 */

/**
 * @param {unknown} error  anything that was thrown
 * @returns {Packed} that can be posted
 */
export function packed(error) {
  /** @type {unknown[]} */
  const met = [];
  /**
   * @param {any} e
   * @returns {Packed}
   */
  const pack = (e) => {
    try {
      return fields(e);
    } catch {
      return { value: show(e) };
    } // a getter that throws
  };
  /**
   * @param {any} e
   * @returns {Packed}
   */
  const fields = (e) => {
    if (e === null || typeof e !== 'object')
      return { value: typeof e === 'function' || typeof e === 'symbol' ? show(e) : e };
    const again = met.indexOf(e);
    if (again >= 0) return { same: again };
    if (typeof e.message !== 'string' || met.length >= CHAIN) return { value: show(e) };
    met.push(e);
    const { name, message, stack, code, cause, errors } = e;
    return {
      name: String(name),
      message,
      ...(typeof stack === 'string' && { stack: stack.slice(0, STACK) }),
      ...((typeof code === 'string' || typeof code === 'number') && { code }),
      ...(cause !== undefined && { cause: pack(cause) }),
      ...(Array.isArray(errors) && { errors: errors.slice(0, CHAIN).map(pack) }),
    };
  };
  return pack(error);
}

const KINDS = /** @type {Record<string, ErrorConstructor>} */ ({
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  URIError,
  EvalError,
});

/**
 * @param {Packed} from what `packed` gave
 * @returns {any} the error again, and its causes
 */
export function unpacked(from) {
  /** @type {any[]} */
  const met = [];
  /**
   * @param {any} p
   * @returns {any}
   */
  const unpack = (p) => {
    if ('value' in p) return p.value;
    if ('same' in p) return met[p.same];
    const { name, message, stack, code, cause, errors } = p;
    const own = name === 'GlassformerError' && Object.hasOwn(CODES, code);
    const error = own ? new GlassformerError(code, message) : new (KINDS[name] ?? Error)(message);
    met.push(error);
    const more = {
      ...(error.name !== name && { name }),
      ...(stack !== undefined && { stack }),
      ...(!own && code !== undefined && { code }),
      ...(cause !== undefined && { cause: unpack(cause) }),
      ...(errors && { errors: errors.map(unpack) }),
    };
    for (const [key, value] of Object.entries(more))
      Object.defineProperty(error, key, { value, configurable: true, writable: true });
    return error;
  };
  return unpack(from);
}
