// stored_gains.js - gains of norms that a file stores otherwise than as the factor that the engine multiplies with
import { tensorRow } from './engine_captures.js';
import { putRow } from './weights_memory.js';

/**
 * How a file stores the gain of a norm. factor: as it is; minus-one: minus 1 (Gemma). sample-deviation: for a norm that
 * divides by the standard deviation of the sample, sqrt(sum of squares / (n - 1)) (The Annotated Transformer), where
 * ours divides by sqrt(sum of squares / n).
 * @typedef {'factor' | 'minus-one' | 'sample-deviation'} StoredGain
 */

/** The factor of a component, from what is stored and the number of components. */
const FACTOR = /** @type {Record<StoredGain, (stored: number, n: number) => number>} */ ({
  factor: (stored) => stored,
  'minus-one': (stored) => stored + 1,
  'sample-deviation': (stored, n) => stored * Math.sqrt((n - 1) / n),
});

/**
 * Replaces such vectors by factors.
 * @param {import('./engine.js').Engine} engine  with a model whose tensors are loaded
 * @param {{covers: string[], gain?: StoredGain}[]} tensors  of its file
 */
export function convertGains(engine, tensors) {
  const gains = new Map(tensors.flatMap(({ covers, gain }) => (gain ? covers.map((name) => [name, gain]) : [])));
  for (const [i, { name, shape }] of engine.tensors().entries()) {
    const gain = gains.get(name);
    if (!gain) continue;
    const factors = tensorRow(engine, i, 0, shape[0]).map((x) => FACTOR[gain](x, shape[0]));
    putRow(engine, i, 0, factors);
  }
}
