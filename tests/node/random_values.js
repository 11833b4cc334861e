// random_values.js - pseudo-random numbers, the same for the same seed

/**
 * Whole numbers from 0 to below `below`.
 * @param {number} n
 * @param {number} below
 * @param {number} [seed]
 */
export const numbers = (n, below, seed = 1) => filled(new Array(n), below, seed, (x) => x);

/**
 * A list filled with what `of` makes of such numbers.
 * @template {number[] | Float32Array} T
 * @param {T} list
 * @param {number} below
 * @param {number} seed
 * @param {(x: number) => number} of
 */
function filled(list, below, seed, of) {
  let state = seed >>> 0;
  for (let i = 0; i < list.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    list[i] = of(Math.floor((state / 2 ** 32) * below));
  }
  return list;
}

export const product = (shape) => shape.reduce((a, b) => a * b, 1);

/**
 * Values of a tensor.
 * @param {number[]} shape
 * @param {number} seed
 * @param {number} most the largest magnitude
 */
export function randomTensor(shape, seed, most) {
  return filled(new Float32Array(product(shape)), 2001, seed, (x) => ((x - 1000) / 1000) * most);
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
    const data = filled(new Float32Array(product(shape)), 20001, i + 1, (x) => gain + scale * (x / 1e4 - 1));
    return [name, { shape, data }];
  });
  return Object.fromEntries(weights);
}
