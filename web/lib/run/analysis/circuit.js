// circuit.js - whole weights, and the circuits of a head (Elhage et al. 2021, "A Mathematical Framework for Transformer
// Circuits")
import { tensorProducts, tensorRow } from '../../engine/engine_captures.js';
import { savedPiece } from '../../engine/stored_weights.js';
import { numberInRange } from '../generation_options.js';
import { fail, show } from '../../base/errors.js';
import { lensWeight } from './lens_weights.js';
import { rowOf, weight } from '../inspect/weight.js';
import { hasNorm1 } from '../../engine/config/config.js';
import { eigenvalues, singularValues } from './spectra.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/**
 * A circuit of a head. The gain of the norm before it is part of the matrix; biases and rotation are not.
 * @typedef {object} Circuit
 * @property {Tensor} matrix  'OV': [d_model, d_model], what the head adds to the stream for each component that it
 *   reads, [in, out]; 'QK': the raw score of a query's and a key's components, [query, key]
 * @property {number[]} singularValues  the d_head largest; the others are 0
 * @property {number} [copying]  for 'OV': sum of the eigenvalues of embedding, circuit, gain of the final norm and head
 *   together, over the sum of their absolute values: 1 where each token raises its own logit, -1 where it lowers it
 */

/**
 * All values of a weight, as f32.
 * @param {LoadedModel} model
 * @param {string} name  as in the parameter table, or TransformerLens's
 * @returns {Tensor}
 */
export function matrix(model, name) {
  const lens = lensWeight(name, model.config);
  if (lens) return lens.shaped(matrix(model, lens.name));
  const i = rowOf(model, name);
  const { shape } = model.table.rows[i];
  const cols = shape[shape.length - 1];
  const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
  for (let r = 0; r * cols < data.length; r++) data.set(tensorRow(model.engine, i, r, cols), r * cols);
  return { data, shape: [...shape] };
}

/**
 * A piece of a weight's memory, for an adapter that is trained.
 * @param {LoadedModel} model
 * @param {number} entry  of the roster
 * @param {number} from   byte
 */
export const storedWeight = (model, entry, from) => savedPiece(model.engine, entry, from);

/**
 * Rows from .. from + n - 1 of a weight.
 * @param {LoadedModel} model
 * @param {string} name
 * @param {number} from
 * @param {number} n
 * @returns {Float64Array[]}
 */
const rowsOf = (model, name, from, n) =>
  Array.from({ length: n }, (_, r) => new Float64Array(weight(model, name, from + r)));

/**
 * a^T b, with sums in f64.
 * @param {Float64Array[]} a  [d_head, d_model]
 * @param {Float64Array[]} b  [d_head, d_model]
 * @returns {Float32Array<ArrayBuffer>} [d_model, d_model]
 */
function transposedProduct(a, b) {
  const d = a[0].length;
  const data = new Float32Array(d * d);
  const zeros = new Float64Array(d);
  const sums = new Float64Array(d);
  for (let i = 0; i < d; i++) {
    sums.fill(0);
    for (let k = 0; k < a.length; k += 4) {
      const [a0, a1 = zeros, a2 = zeros, a3 = zeros] = a.slice(k, k + 4);
      const [b0, b1 = zeros, b2 = zeros, b3 = zeros] = b.slice(k, k + 4);
      const [w, x, y, z] = [a0[i], a1[i], a2[i], a3[i]];
      for (let j = 0; j < d; j++) sums[j] += w * b0[j] + x * b1[j] + y * b2[j] + z * b3[j];
    }
    data.set(sums, i * d);
  }
  return data;
}

/**
 * @param {LoadedModel} model
 * @param {number} layer
 * @param {number} head
 * @param {'OV' | 'QK'} kind
 * @param {{copying?: boolean}} [options]
 * @returns {Circuit}
 */
export function circuit(model, layer, head, kind, { copying: isCopying = true } = {}) {
  const c = model.config;
  if (c.kind === 'encoder_decoder') fail('unsupported', 'circuits of an encoder_decoder are not implemented');
  numberInRange('layer', layer, 0, c.n_layers - 1, true);
  numberInRange('head', head, 0, c.n_heads - 1, true);
  if (kind !== 'OV' && kind !== 'QK') fail('bad-argument', `the circuit is ${show(kind)}, expected 'OV' or 'QK'`);
  const block = `blocks.${layer}`;
  const d = c.d_head;
  const shared = Math.floor(head / (c.n_heads / c.n_kv_heads));
  const before =
    hasNorm1(c, layer) && c.use_norm && c.norm_gain && c.norm !== 'none' && /pre|sandwich/.test(c.norm_placement);
  const gain = before ? weight(model, `${block}.norm1.weight`) : null;
  const read = (/** @type {string} */ part, /** @type {number} */ h) =>
    rowsOf(model, `${block}.attn.${part}.weight`, h * d, d).map((row) => row.map((x, j) => x * (gain?.[j] ?? 1)));
  // matrix = a^T b, with a and b [d_head, d_model]
  const a = kind === 'OV' ? read('v', shared) : read('q', head);
  const out = kind === 'OV' ? rowsOf(model, `${block}.attn.o.weight`, 0, c.d_model) : [];
  const b =
    kind === 'QK'
      ? read('k', shared)
      : Array.from({ length: d }, (_, i) => Float64Array.from(out, (o) => o[head * d + i]));
  return {
    matrix: { data: transposedProduct(a, b), shape: [c.d_model, c.d_model] },
    singularValues: singularValues(a, b),
    ...(kind === 'OV' && isCopying && !c.n_labels && { copying: copying(model, a, b) }),
  };
}

/** Rows of the embedding and of the head whose products are computed together. */
const TOGETHER = 512;

/**
 * The products of rows from .. from + n - 1 of a weight with vectors: n for each vector.
 * @param {LoadedModel} model
 * @param {number} entry  of the roster
 * @param {Float64Array[]} vectors
 */
function productsOf(model, entry, vectors) {
  const [{ length: cols }] = vectors;
  const flat = new Float32Array(vectors.length * cols);
  vectors.forEach((row, i) => flat.set(row, i * cols));
  return (/** @type {number} */ from, /** @type {number} */ n) => {
    const all = tensorProducts(model.engine, entry, from, n, flat, vectors.length);
    return vectors.map((_, i) => all.subarray(i * n, (i + 1) * n));
  };
}

/**
 * The copying score. The eigenvalues of E^T a^T b U, [vocab, vocab], are those of b U E^T a^T, [d_head, d_head].
 * @param {LoadedModel} model
 * @param {Float64Array[]} a
 * @param {Float64Array[]} b
 */
function copying(model, a, b) {
  const c = model.config;
  if (c.d_embed && c.d_embed !== c.d_model) fail('unsupported', 'the copying score with a projection of the embedding');
  const gain = c.final_norm && c.use_final_norm && c.norm_gain ? weight(model, 'final_norm.weight') : null;
  const writes = gain ? b.map((row) => row.map((x, j) => x * gain[j])) : b;
  const [embed, head] = [rowOf(model, 'embed.weight'), rowOf(model, 'head.weight')];
  // a tied head is the embedding, whose rows are then read once, for both
  const isTied = model.table.rows[head].tiedTo !== null;
  const embedded = productsOf(model, embed, isTied ? [...a, ...writes] : a);
  const written = isTied ? null : productsOf(model, head, writes);
  const n = a.length;
  const product = a.map(() => new Float64Array(n));
  for (let first = 0; first < c.vocab_size; first += TOGETHER) {
    const rows = Math.min(TOGETHER, c.vocab_size - first);
    const from = embedded(first, rows);
    addOuter(product, written?.(first, rows) ?? from.slice(n), from.slice(0, n));
  }
  const values = eigenvalues(product);
  const sum = values.reduce((all, [re]) => all + re, 0);
  return sum / values.reduce((all, [re, im]) => all + Math.hypot(re, im), 0);
}

/**
 * Adds the dot product of `to[i]` and `from[j]` to sums[i][j]. Eight are computed together, so that a number is read
 * once for two or for four products.
 * @param {Float64Array[]} sums  [n][n]
 * @param {Float32Array[]} to    [n][rows]
 * @param {Float32Array[]} from  [n][rows]
 */
function addOuter(sums, to, from) {
  const n = sums.length;
  const zeros = new Float32Array(to[0].length);
  for (let i = 0; i < n; i += 4) {
    const four = Array.from({ length: 4 }, (_, k) => to[i + k] ?? zeros);
    for (let j = 0; j < n; j += 2)
      eightDots(four, from[j], from[j + 1] ?? zeros).forEach((sum, k) => {
        if (i + (k >> 1) < n && j + (k & 1) < n) sums[i + (k >> 1)][j + (k & 1)] += sum;
      });
  }
}

/**
 * The dot products of four vectors with two, [4, 2].
 * @param {Float32Array[]} four
 * @param {Float32Array} x
 * @param {Float32Array} y
 */
function eightDots([a, b, c, d], x, y) {
  let [ax, ay, bx, by, cx, cy, dx, dy] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let k = 0; k < x.length; k++) {
    const [p, q] = [x[k], y[k]];
    ((ax += a[k] * p), (ay += a[k] * q));
    ((bx += b[k] * p), (by += b[k] * q));
    ((cx += c[k] * p), (cy += c[k] * q));
    ((dx += d[k] * p), (dy += d[k] * q));
  }
  return [ax, ay, bx, by, cx, cy, dx, dy];
}
