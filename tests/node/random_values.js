// random_values.js - pseudo-random numbers, the same for the same seed

/**
 * Whole numbers from 0 to below `below`.
 * @param {number} n
 * @param {number} below
 * @param {number} [seed]
 */
export function numbers(n, below, seed = 1) {
  let state = seed >>> 0;
  return Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  });
}

export const product = (shape) => shape.reduce((a, b) => a * b, 1);

/**
 * Values of a tensor.
 * @param {number[]} shape
 * @param {number} seed
 * @param {number} most the largest magnitude
 */
export function randomTensor(shape, seed, most) {
  return Float32Array.from(numbers(product(shape), 2001, seed), (x) => ((x - 1000) / 1000) * most);
}

export const floats = (n, seed) => randomTensor([n], seed, 2);

/**
 * Weights by name: gains of norms near 1, everything else around 0.
 * @param {Iterable<{name: string, shape: number[]}>} roster
 * @param {(name: string, shape: number[]) => number} scaleOf  the largest distance from there
 */
export function randomWeights(roster, scaleOf) {
  const weights = [...roster].map(({ name, shape }, i) => {
    const gain = /norm\d?(_post)?(\.\d+)?\.weight$/.test(name) ? 1 : 0;
    const scale = scaleOf(name, shape);
    const data = Float32Array.from(numbers(product(shape), 20001, i + 1), (x) => gain + scale * (x / 1e4 - 1));
    return [name, { shape, data }];
  });
  return Object.fromEntries(weights);
}
