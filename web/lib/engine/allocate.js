// allocate.js - allocates linear memory, in the binary that runs models and in the one that trains
import { fail } from '../base/errors.js';

/**
 * Allocates n bytes, which the caller frees with gf_free. Throws `out-of-memory`.
 * @param {Record<string, (...args: number[]) => any>} exports  of an instance
 * @param {number} n  bytes
 * @returns {number} address
 */
export function allocate(exports, n) {
  // The call converts arguments and results to int32: an address above 2 GiB is returned as a negative number, and of a
  // size from 2^32 on only the low 32 bits would be passed.
  const address = n < 2 ** 32 ? exports.gf_alloc(n) >>> 0 : 0;
  return address || fail('out-of-memory', `${n} bytes of linear memory could not be allocated`);
}
