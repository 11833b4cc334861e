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
  Array.from({ length: n }, (_, r) => Float64Array.from(weight(model, name, from + r)));

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
  const data = new Float32Array(c.d_model * c.d_model);
  for (let i = 0; i < c.d_model; i++)
    for (let k = 0; k < d; k++) {
      const [x, row, at] = [a[k][i], b[k], i * c.d_model];
      for (let j = 0; j < c.d_model; j++) data[at + j] += x * row[j];
    }
  const whole = { data, shape: [c.d_model, c.d_model] };
  const values = singularValues(a, b);
  return {
    matrix: whole,
    singularValues: values,
    ...(kind === 'OV' && isCopying && !c.n_labels && { copying: copying(model, a, b) }),
  };
}

/** Rows of the embedding and of the head whose products are computed together. */
const TOGETHER = 512;

/**
 * The products of rows from .. from + n - 1 of a weight with vectors, [n, vectors].
 * @param {LoadedModel} model
 * @param {number} entry  of the roster
 * @param {Float64Array[]} vectors
 */
function productsOf(model, entry, vectors) {
  const [{ length: cols }] = vectors;
  const flat = new Float32Array(vectors.length * cols);
  vectors.forEach((row, i) => flat.set(row, i * cols));
  return (/** @type {number} */ from, /** @type {number} */ n) =>
    tensorProducts(model.engine, entry, from, n, flat, vectors.length);
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
  const embedded = productsOf(model, rowOf(model, 'embed.weight'), a);
  const writes = gain ? b.map((row) => row.map((x, j) => x * gain[j])) : b;
  const written = productsOf(model, rowOf(model, 'head.weight'), writes);
  const n = a.length;
  const product = a.map(() => new Float64Array(n));
  for (let first = 0; first < c.vocab_size; first += TOGETHER) {
    const rows = Math.min(TOGETHER, c.vocab_size - first);
    const [from, to] = [embedded(first, rows), written(first, rows)];
    for (let i = 0; i < n; i++) addOuter(product[i], from, to, i);
  }
  const values = eigenvalues(product);
  const sum = values.reduce((all, [re]) => all + re, 0);
  return sum / values.reduce((all, [re, im]) => all + Math.hypot(re, im), 0);
}

/**
 * Adds the sum over rows of column i of `to` times each column of `from`.
 * @param {Float64Array} sums  [n]
 * @param {Float32Array} from  [row, n]
 * @param {Float32Array} to    [row, n]
 * @param {number} i
 */
function addOuter(sums, from, to, i) {
  const n = sums.length;
  for (let j = 0; j < n; j++) {
    let sum = 0;
    for (let at = 0; at < from.length; at += n) sum += to[at + i] * from[at + j];
    sums[j] += sum;
  }
}
