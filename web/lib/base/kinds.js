// kinds.js - tells what kind of value a caller gave: bytes, a stream. Values of other realms (jsdom, frames) count as
// those of this one

/**
 * The getter of an accessor: it reads what an object is in any realm and runs no code of the caller's.
 * @param {object} from
 * @param {PropertyKey} name
 */
const getter = (from, name) => /** @type {() => any} */ (Object.getOwnPropertyDescriptor(from, name)?.get);
const typeOf = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const lengthOf = getter(ArrayBuffer.prototype, 'byteLength');

/**
 * Of any realm: in jsdom the constructors differ from those of Node's functions.
 * @param {unknown} v
 * @returns {v is Uint8Array}
 */
export const isUint8Array = (v) => typeOf.call(v) === 'Uint8Array';

/**
 * Of any realm.
 * @param {unknown} v
 * @returns {v is ArrayBuffer}
 */
export function isArrayBuffer(v) {
  try {
    lengthOf.call(v);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {unknown} v
 * @returns {v is import('../formats/source.js').Bytes}
 */
export function isBytes(v) {
  return typeof v === 'string' || v instanceof URL || v instanceof Blob || isArrayBuffer(v) || isUint8Array(v);
}

/**
 * @param {any} value
 * @returns {boolean} a Response of any implementation of fetch, or a stream
 */
export const isStreamed = (value) =>
  typeof value?.getReader === 'function' ||
  (typeof value?.arrayBuffer === 'function' && 'body' in value && 'status' in value);
