// tensor_aliases.js - tensors that a file has under several names

/** @import { Entry } from '../../engine/config/tensor_plan.js' */

/**
 * The numbers in memory that a tensor of a PyTorch file is; undefined for tensors of other files.
 * @param {Entry} entry
 */
const memoryOf = ({ tensor, file, shape }) => tensor && `${file} [${shape}] ${tensor.offset} ${tensor.storage.key}`;

/**
 * Whether two tensors of a PyTorch file are the same numbers in memory.
 * @param {Entry} a
 * @param {Entry} b
 */
export const sharesMemory = (a, b) => a.tensor !== undefined && memoryOf(a) === memoryOf(b);

/**
 * Whether a tensor is skipped: a buffer, or a second name of a weight that the file has once.
 * @param {Entry[]} entries
 * @param {Map<string, import('../../engine/config/tensor_plan.js').Place>} places
 * @param {(entry: Entry) => boolean | 'maybe'} isBuffer
 */
export function withAliases(entries, places, isBuffer) {
  const weights = new Set(entries.filter(({ name }) => places.has(name)).map(memoryOf));
  return (/** @type {Entry} */ entry) =>
    (entry.tensor !== undefined && weights.has(memoryOf(entry))) || isBuffer(entry);
}
