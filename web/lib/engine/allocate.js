// allocate.js - allocates in the linear memory of either binary
import { fail } from '../base/errors.js';

/**
 * @param {Record<string, (...args: number[]) => any>} exports  of an instance
 * @param {number} n  bytes
 * @returns {number} address
 * @throws {import('../base/errors.js').GlassformerError} `out-of-memory`
 */
export function allocate(exports, n) {
  // addresses above 2 GiB arrive as negative numbers; of a size of 2^32 and more only the low 32 bits would arrive
  const address = n < 2 ** 32 ? exports.gf_alloc(n) >>> 0 : 0;
  return address || fail('out-of-memory', `${n} bytes of linear memory could not be allocated`);
}
