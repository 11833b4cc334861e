// expected.js - what the page has to show, from the library in Node on the same file
import { after } from 'node:test';
import { load } from '../../web/lib/api/index.js';

/** @typedef {import('../../web/lib/api/index.js').Model} Model */

export const top = new URL('../..', import.meta.url).pathname;
/** How the page samples unless it is told otherwise. */
export const SAMPLER = { temperature: 0.8, topK: 40, topP: 0.95 };

/**
 * A model of this repository, for all tests of a file.
 * @param {string} path
 * @returns {Promise<Model>}
 */
export async function opened(path) {
  const model = await load(top + path);
  after(() => model.dispose());
  return model;
}

/**
 * Do something with a model of this repository, and free it.
 * @template T
 * @param {string} path @param {(model: Model) => Promise<T>} work @param {object} [options]  of `load`
 * @returns {Promise<T>}
 */
export async function withModel(path, work, options) {
  const model = await load(top + path, options);
  try {
    return await work(model);
  } finally {
    model.dispose();
  }
}

/**
 * Ids of a prompt and of what the model writes after it with the page's sampler.
 * @param {Model} model @param {string | number[]} prompt @param {Record<string, any>} how
 */
export async function continued(model, prompt, how) {
  const all = typeof prompt === 'string' ? [...(await model.encode(prompt))] : [...prompt];
  for await (const { id } of model.generate(all.slice(), { ...SAMPLER, ...how })) all.push(id);
  return all;
}

/**
 * A captured tensor.
 * @param {Model} model @param {number[]} ids @param {string} point @param {object} [options]
 */
export async function tensor(model, ids, point, options) {
  const captured = (await model.forward(ids, { capture: [point], ...options })).captured[point];
  return /** @type {{data: Float32Array, shape: number[]}} */ (captured);
}

/**
 * Bits of each token after the first: −log₂ of its probability.
 * @param {Model} model @param {number[]} ids @param {object} [options]
 */
export async function surprisals(model, ids, options) {
  const { data, shape } = (await model.forward(ids, options)).logits;
  const [, size] = shape;
  return ids.slice(1).map((id, p) => {
    const row = data.subarray(p * size, (p + 1) * size),
      most = row.reduce((a, b) => Math.max(a, b), -Infinity);
    return Math.log2(row.reduce((sum, x) => sum + Math.exp(x - most), 0)) - (row[id] - most) / Math.LN2;
  });
}

export const sum = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);
/** Bits a token. @param {Parameters<typeof surprisals>} of */
export const bitsPerToken = async (...of) => sum(await surprisals(...of)) / (of[1].length - 1);
