// double_precision.js - the parts of the tutorials' forward passes in plain JavaScript and double precision
//
// Written from the formulas, apart from the engine. Slow and small on purpose. A matrix is a list of rows; a weight is
// [out, in].
import { mean, softmax } from './arithmetic.js';

/** @typedef {import('glassformer').Tensor} Weight */
/** @typedef {Record<string, Weight>} Weights */
/** @typedef {Float64Array[]} Matrix [positions, width] */

/** @param {ArrayLike<number>[]} x @param {Weight} w @param {Weight} [b] @returns {Matrix} */
export function linear(x, w, b) {
  const [out, inner] = w.shape;
  return x.map((row) =>
    Float64Array.from({ length: out }, (_, r) => {
      let s = b ? b.data[r] : 0;
      for (let c = 0; c < inner; c++) s += w.data[r * inner + c] * row[c];
      return s;
    }),
  );
}

/** A weight that a file stores [in, out]. @param {Weight} w @returns {Weight} */
export function transposed({ shape: [inner, out], data }) {
  return { shape: [out, inner], data: data.map((_, i) => data[(i % inner) * out + Math.floor(i / inner)]) };
}

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export const add = (a, b) => a.map((row, i) => row.map((v, j) => v + b[i][j]));

/** Value by value. @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export const times = (a, b) => a.map((row, i) => row.map((v, j) => v * b[i][j]));

/** A matrix with this function of each value. @param {Matrix} m @param {(x: number) => number} of @returns {Matrix} */
export const each = (m, of) => m.map((row) => row.map((v) => of(v)));

/**
 * Each row over sqrt(mean of squares + eps), for LayerNorm less its mean first. outside: over sqrt(mean of squares) + eps,
 * which Llama does not do.
 * @param {Matrix} x @param {number} eps @param {{ centred?: boolean, outside?: boolean }} how @returns {Matrix}
 */
export function normalised(x, eps, { centred = false, outside = false }) {
  return x.map((row) => {
    const m = centred ? mean(row) : 0;
    const square = mean(row.map((v) => (v - m) ** 2));
    const size = outside ? Math.sqrt(square) + eps : Math.sqrt(square + eps);
    return row.map((v) => (v - m) / size);
  });
}

/** Series near zero, continued fraction of erfc beyond. @param {number} x */
export function erf(x) {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = x,
      s = x;
    for (let n = 1; n < 60; n++) s += (term *= (-x * x) / n) / (2 * n + 1);
    return (2 / Math.sqrt(Math.PI)) * s;
  }
  let f = 0;
  for (let k = 60; k > 0; k--) f = k / 2 / (a + f);
  return Math.sign(x) * (1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + f));
}

/** @type {Record<string, (x: number) => number>} */
export const activations = {
  relu: (x) => Math.max(0, x),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/**
 * Turn the pairs (i, i + d/2) of each head by position times frequency.
 * @param {Matrix} x @param {number} heads @param {number[]} positions @param {number} theta @returns {Matrix}
 */
export function rotate(x, heads, positions, theta) {
  return x.map((row, t) => {
    const d = row.length / heads;
    return row.map((v, i) => {
      const within = i % d,
        first = within < d / 2;
      const angle = positions[t] * theta ** ((-2 * (within % (d / 2))) / d);
      return v * Math.cos(angle) + (first ? -row[i + d / 2] : row[i - d / 2]) * Math.sin(angle);
    });
  });
}

/** @param {number} position @param {number} width */
export function sinusoid(position, width) {
  return Float64Array.from({ length: width }, (_, j) => {
    const angle = position / 10000 ** ((j - (j % 2)) / width);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/**
 * softmax(q k^T / sqrt(d_head)) v, the heads side by side; causal: no query sees a later key.
 * @param {Matrix} q @param {Matrix} k @param {Matrix} v @param {number} heads @param {boolean} causal @returns {Matrix}
 */
export function attend(q, k, v, heads, causal) {
  const d = q[0].length / heads;
  return q.map((row, i) => {
    const out = new Float64Array(row.length);
    for (let h = 0; h < heads; h++) {
      const scores = (causal ? k.slice(0, i + 1) : k).map((key) => {
        let s = 0;
        for (let c = h * d; c < (h + 1) * d; c++) s += row[c] * key[c];
        return s / Math.sqrt(d);
      });
      softmax(scores).forEach((p, j) => {
        for (let c = h * d; c < (h + 1) * d; c++) out[c] += p * v[j][c];
      });
    }
    return out;
  });
}

/** @param {Weight} table @param {number[]} ids @returns {Matrix} */
export const look = (table, ids) =>
  ids.map((id) => Float64Array.from(table.data.subarray(id * table.shape[1], (id + 1) * table.shape[1])));

/** The columns of q, k and v in a fused projection. @param {Matrix} m @returns {Matrix[]} */
export const thirds = (m) =>
  [0, 1, 2].map((i) => m.map((row) => row.slice((i * row.length) / 3, ((i + 1) * row.length) / 3)));

/** @param {Matrix} m */
export const flat = (m) => Float64Array.from(m.flatMap((row) => [...row]));
