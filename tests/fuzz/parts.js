// parts.js - a GGUF of the seeds in several parts
import { u32 } from '../../web/lib/files/gguf/write_gguf.js';
import { ggufBytes } from './seeds.js';

/**
 * @param {any} gguf  as in seeds.js
 * @param {number} count
 * @returns {Record<string, Uint8Array>} by file name
 */
export function partsOf({ meta, tensors }, count) {
  const digits = (/** @type {number} */ n) => String(n).padStart(5, '0');
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => {
      const split = Object.entries({
        'split.no': u32(i),
        'split.count': u32(count),
        'split.tensors.count': u32(tensors.length),
      });
      const own = tensors.filter((/** @type {any} */ __, /** @type {number} */ j) => j % count === i);
      return [
        `model-${digits(i + 1)}-of-${digits(count)}.gguf`,
        ggufBytes({ meta: [...(i ? [] : meta), ...split], tensors: own }),
      ];
    }),
  );
}
