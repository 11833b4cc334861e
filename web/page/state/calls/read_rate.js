// read_rate.js - how fast this machine reads weights, measured with one matrix: a new token's time is that of reading all
// weights once
import { create } from 'glassformer';

/** One matrix product that reads 18.9 MB of 8-bit weights: the head of a model with one narrow layer. */
const CONFIG = { vocabSize: 32768, dModel: 512, nLayers: 1, nHeads: 1, dHead: 8, dFf: 32, contextLength: 32 };
const REPEATS = 8;

/** @type {Promise<number> | null} */
let known = null;

/** @returns {Promise<number>} bytes per ms */
async function measure() {
  const model = await create(CONFIG, { seed: 1, dtype: 'q8_0' });
  try {
    const session = await model.session();
    let least = Infinity;
    for (let i = 0; i < REPEATS; i++) {
      const start = performance.now();
      await session.eval([i + 1]);
      least = Math.min(least, performance.now() - start);
    }
    await session.close();
    return model.parameters.bytes / least;
  } finally {
    model.dispose();
  }
}

/** Measured once, in a worker of its own. */
export const readRate = () => (known ??= measure());
