// kinds.js - recognises bytes and streams among callers' values, also those of another realm (a frame, jsdom)
//
// `instanceof` is false for an object of another realm, whose constructors differ.

/**
 * The getter of an accessor property. Called on an object of any realm, it reads an internal slot and runs no code of
 * the caller's.
 * @param {object} from
 * @param {PropertyKey} name
 */
const getter = (from, name) => /** @type {() => any} */ (Object.getOwnPropertyDescriptor(from, name)?.get);
const typeOf = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const lengthOf = getter(ArrayBuffer.prototype, 'byteLength');

/**
 * Whether `v` is a Uint8Array of any realm.
 * @param {unknown} v
 * @returns {v is Uint8Array}
 */
export const isUint8Array = (v) => typeOf.call(v) === 'Uint8Array';

/**
 * Whether `v` is an ArrayBuffer of any realm.
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
 * Whether `v` is an address, or bytes.
 * @param {unknown} v
 * @returns {v is import('../files/source.js').Bytes}
 */
export function isBytes(v) {
  return typeof v === 'string' || v instanceof URL || v instanceof Blob || isArrayBuffer(v) || isUint8Array(v);
}

/**
 * Whether `value` is a ReadableStream, or a Response of any implementation of fetch.
 * @param {any} value
 * @returns {boolean}
 */
export const isStreamed = (value) =>
  typeof value?.getReader === 'function' ||
  (typeof value?.arrayBuffer === 'function' && 'body' in value && 'status' in value);
