// gemma_norms.js - adds the 1 to weights that a file stores minus 1: Gemma's norms
import { tensorRow } from './engine_captures.js';
import { putRow } from './weights_memory.js';

/**
 * Add 1 to the vectors of such tensors.
 * @param {import('./engine.js').Engine} engine  with a model whose tensors are loaded
 * @param {{covers: string[], minusOne?: boolean}[]} tensors  of its file
 */
export function addOnes(engine, tensors) {
  const names = tensors.flatMap(({ covers, minusOne }) => (minusOne ? covers : []));
  for (const [i, { name, shape }] of engine.tensors().entries()) {
    if (!names.includes(name)) continue;
    const gain = tensorRow(engine, i, 0, shape[0]).map((x) => x + 1);
    putRow(engine, i, 0, gain);
  }
}
