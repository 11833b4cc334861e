// random_values.js - pseudo-random numbers, the same for the same seed
/**
 * Pseudo-random whole numbers, the same for the same seed.
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

export const floats = (n, seed) => Float32Array.from(numbers(n, 2001, seed), (x) => (x - 1000) / 500);

/**
 * Pseudo-random values of a tensor, the same for the same seed.
 * @param {number[]} shape
 * @param {number} seed
 * @param {number} most the largest magnitude
 */
export function randomTensor(shape, seed, most) {
  return Float32Array.from(numbers(product(shape), 2001, seed), (x) => ((x - 1000) / 1000) * most);
}
