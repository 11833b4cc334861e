// aliases.js - tensors that a file has under several names

/** @import { Entry } from '../config/plan.js' */

/**
 * Whether two tensors of a PyTorch file are the same numbers in memory.
 * @param {Entry} a
 * @param {Entry} b
 */
export const sharesMemory = (a, b) =>
  a.tensor !== undefined &&
  b.tensor !== undefined &&
  a.file === b.file &&
  a.tensor.storage.key === b.tensor.storage.key &&
  a.tensor.offset === b.tensor.offset &&
  String(a.shape) === String(b.shape);

/**
 * Whether a tensor is skipped: a buffer, or a second name of a weight that the file has once.
 * @param {Entry[]} entries
 * @param {Map<string, import('../config/plan.js').Place>} places
 * @param {(entry: Entry) => boolean} isBuffer
 */
export function withAliases(entries, places, isBuffer) {
  return (/** @type {Entry} */ entry) =>
    isBuffer(entry) || entries.some((other) => places.has(other.name) && sharesMemory(entry, other));
}
