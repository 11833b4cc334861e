// converted_types.js - the types of a file's weights that are other types in memory, as warnings
import { BLOCKS } from '../base/dtype_names.js';

/** @import { TensorSource } from '../engine/config/tensor_plan.js' */

/**
 * A sentence for each type of a file that has another type in memory, with the bytes of its matrices before and after.
 * @param {import('../engine/engine.js').EngineTensor[]} opened  the weights in memory
 * @param {Map<string, TensorSource>} stored  tensors of the file, by name of the weight
 * @returns {string[]}
 */
export function conversions(opened, stored) {
  /** @type {Map<string, {n: number, from: number, to: number, kept: string, exact: boolean}>} */
  const sums = new Map();
  for (const { name, shape, bytes, tiedTo } of opened) {
    const tensor = stored.get(name);
    if (tiedTo >= 0 || !tensor || shape.length < 2) continue;
    const [cols, blockBytes, kept, exact] = tensor.packed?.block ?? BLOCKS[tensor.dtype];
    const type = tensor.packed?.type ?? tensor.dtype;
    if (kept === type) continue;
    const { n, from, to } = sums.get(type) ?? { n: 0, from: 0, to: 0 };
    const inFile = (shape[0] * shape[1] * blockBytes) / cols;
    sums.set(type, { n: n + 1, from: from + inFile, to: to + bytes, kept, exact });
  }
  return Array.from(
    sums,
    ([type, { n, from, to, kept, exact }]) =>
      `${n} ${n === 1 ? 'matrix' : 'matrices'} stored as ${type} ${n === 1 ? 'is' : 'are'} kept as ${kept}, ` +
      `${exact ? 'with the same values' : 'rounded to its steps'}: ${from} bytes in the file, ${to} bytes in memory`,
  );
}
