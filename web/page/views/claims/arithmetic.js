// arithmetic.js - arithmetic of the claims: distances, means, distributions, and numbers drawn from a seed

/** Bits of a distribution. @param {Float32Array} probabilities */
export const entropyOf = (probabilities) =>
  probabilities.reduce((bits, p) => (p > 0 ? bits - p * Math.log2(p) : bits), 0);

/** Largest difference; NaN and unequal lengths count as infinite.
 * @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function distance(a, b) {
  if (a.length !== b.length || !a.length) return Infinity;
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const d = a[i] === b[i] ? 0 : Math.abs(a[i] - b[i]);
    if (!(d <= most)) most = Number.isNaN(d) ? Infinity : d;
  }
  return most;
}

/** @param {ArrayLike<number>} x */
export const sum = (x) => /** @type {number} */ (Array.prototype.reduce.call(x, (a, b) => a + b, 0));

/** @param {ArrayLike<number>} x */
export const mean = (x) => sum(x) / x.length;

/** Over all n, not n - 1. @param {ArrayLike<number>} x */
export function variance(x) {
  const m = mean(x);
  return mean(Array.from(x, (v) => (v - m) ** 2));
}

/** Root of the mean square. @param {ArrayLike<number>} x */
export const rms = (x) => Math.sqrt(mean(Array.from(x, (v) => v ** 2)));

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export const minus = (a, b) => Float64Array.from(a, (v, i) => v - b[i]);

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export const dot = (a, b) => sum(Float64Array.from(a, (v, i) => v * b[i]));

/** @param {ArrayLike<number>[]} list */
export const plus = (...list) => Float64Array.from(list[0], (_, i) => list.reduce((s, x) => s + x[i], 0));

/** Rows of a tensor's last axis. @param {{data: Float32Array, shape: number[]}} t @returns {Float32Array[]} */
export function rows({ data, shape }) {
  const width = shape[shape.length - 1];
  return Array.from({ length: data.length / width }, (_, i) => data.subarray(i * width, (i + 1) * width));
}

/** How far the sums of these rows are from 1, at most. @param {ArrayLike<number>[]} list */
export const fromOne = (list) => Math.max(...list.map((row) => Math.abs(sum(row) - 1)));

/** The softmax in double precision. @param {ArrayLike<number>} logits @param {number} [temperature] */
export function softmax(logits, temperature = 1) {
  const top = Math.max(...Array.from(logits));
  const e = Float64Array.from(logits, (v) => Math.exp((v - top) / temperature)),
    total = sum(e);
  return e.map((v) => v / total);
}

/** Mean cross-entropy of each token given those before it.
 * @param {ArrayLike<number>[]} logits  a row for each token @param {number[]} ids */
export const loss = (logits, ids) => mean(ids.slice(1).map((next, before) => -Math.log(softmax(logits[before])[next])));

/** Numbers in 0 .. 1 that are the same every time (mulberry32). @param {number} seed */
export function uniform(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws of a unit normal (Box and Muller). @param {number} seed */
export function normal(seed) {
  const u = uniform(seed);
  return () => Math.sqrt(-2 * Math.log(1 - u())) * Math.cos(2 * Math.PI * u());
}

/** Token ids. @param {number} n @param {number} vocabulary @param {number} [seed] */
export function ids(n, vocabulary, seed = 1) {
  const u = uniform(seed);
  return Array.from({ length: n }, () => Math.floor(u() * vocabulary));
}
