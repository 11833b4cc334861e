// dictionary_baselines.js - simpler descriptions than a dictionary, of as many numbers for each row: the mean, the
// token table, neurons, random directions

/** @import { Model } from '../../api/model.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */
/**
 * The rows of a window that a dictionary reconstructs, [row, dOut], and their reconstructions by name.
 * @typedef {{ids: number[], want: Float32Array, by: Record<string, Float32Array>}} WindowRows
 */

/** Numbers from a normal distribution by a small generator (mulberry32): the baseline of random directions. */
function* normals() {
  let a = 1;
  const uniform = () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  for (;;) yield Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/**
 * Random directions of length 1, as many as the dictionary has features.
 * @param {number} size
 * @param {number} d
 */
function randomDirections(size, d) {
  const numbers = normals();
  const w = Float32Array.from({ length: size * d }, () => /** @type {number} */ (numbers.next().value));
  for (let i = 0; i < size; i++) {
    const row = w.subarray(i * d, (i + 1) * d);
    const length = Math.hypot(...row);
    for (let c = 0; c < d; c++) row[c] /= length;
  }
  return w;
}

/**
 * The sums of the k largest projections of rows on directions.
 * @param {Float32Array} rows  [n, d]
 * @param {number} d
 * @param {Float32Array} w  [size, d]
 * @param {number} k
 */
function largestProjections(rows, d, w, k) {
  const out = new Float32Array(rows.length);
  const size = w.length / d;
  const values = new Float32Array(size);
  for (let r = 0; r < rows.length; r += d) {
    for (let i = 0; i < size; i++) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += w[i * d + c] * rows[r + c];
      values[i] = sum;
    }
    const cut = values.slice().sort()[size - Math.min(k, size)];
    for (let i = 0; i < size; i++)
      if (values[i] >= cut && values[i] > 0) for (let c = 0; c < d; c++) out[r + c] += values[i] * w[i * d + c];
  }
  return out;
}

/**
 * The k largest components of each row, by their size times a weight; the others are 0.
 * @param {Float32Array} rows  [n, d]
 * @param {number} d
 * @param {number} k
 * @param {Float64Array | null} weights  [d]; null: all 1
 */
function largestComponents(rows, d, k, weights) {
  const out = new Float32Array(rows.length);
  const sizes = new Float64Array(d);
  for (let r = 0; r < rows.length; r += d) {
    for (let c = 0; c < d; c++) sizes[c] = Math.abs(rows[r + c]) * (weights?.[c] ?? 1);
    const cut = sizes.slice().sort()[d - Math.min(k, d)];
    for (let c = 0; c < d; c++) if (sizes[c] >= cut) out[r + c] = rows[r + c];
  }
  return out;
}

/** The mean row of lists of rows. @param {Float32Array[]} lists @param {number} d @param {number} rows */
function meanRow(lists, d, rows) {
  const mean = new Float64Array(d);
  for (const list of lists) for (let i = 0; i < list.length; i++) mean[i % d] += list[i] / rows;
  return mean;
}

/**
 * What the k neurons that contribute most write, of each row of an MLP's output: what they differ from their means by,
 * times their output vectors.
 * @param {Model} model
 * @param {string} block  the beginning of the names of its points
 * @param {DictionaryWeights} w
 * @param {WindowRows[]} all
 * @param {{rows: number, k: number, signal?: AbortSignal}} o
 * @returns {Promise<Float32Array[]>} [row, dOut] of each window
 */
async function strongestNeurons(model, block, { from, dOut }, all, { rows, k, signal }) {
  const { data: down, shape } = await model.matrix(`${block}ffn.down.weight`);
  const width = shape[1];
  const lengths = new Float64Array(width);
  for (let i = 0; i < down.length; i++) lengths[i % width] += down[i] ** 2;
  for (let i = 0; i < width; i++) lengths[i] = Math.sqrt(lengths[i]);
  const hidden = [];
  const at = `${block}mlp.hook_post`;
  for (const { ids } of all) {
    const { captured } = await model.forward(ids, { capture: [at], logits: 'none', signal });
    hidden.push(captured[at].data.subarray(from * width));
  }
  const mean = meanRow(hidden, width, rows);
  return hidden.map((list) => {
    const chosen = largestComponents(
      list.map((x, i) => x - mean[i % width]),
      width,
      k,
      lengths,
    );
    const out = new Float32Array((list.length / width) * dOut);
    for (let i = 0; i < chosen.length; i++)
      if (chosen[i])
        for (let c = 0, to = Math.floor(i / width) * dOut; c < dOut; c++)
          out[to + c] += chosen[i] * down[c * width + (i % width)];
    return out;
  });
}

/**
 * Add the baselines to the rows: the mean, the table, and neurons and random directions on what these leave.
 * @param {Model} model
 * @param {DictionaryWeights} w
 * @param {WindowRows[]} all
 * @param {{rows: number, k: number, signal?: AbortSignal}} o  rows: of all windows; k: components of a row
 */
export async function addBaselines(model, w, all, o) {
  const { dOut, size, from, at, out } = w;
  const table = w.out ? w.tableOut : w.tableIn;
  const mean = meanRow(
    all.map(({ want }) => want),
    dOut,
    o.rows,
  );
  const directions = randomDirections(size, dOut);
  const block = /^(.*\.)hook_mlp_out$/.exec(out ?? at)?.[1];
  const written = block && (await hasNeurons(model, block)) ? await strongestNeurons(model, block, w, all, o) : null;
  let [dot, square] = [0, 0];
  for (const [i, { ids, want, by }] of all.entries()) {
    by.mean = want.map((_, i) => mean[i % dOut]);
    if (table) by.table = want.map((_, i) => table[ids[from + Math.floor(i / dOut)] * dOut + (i % dOut)]);
    const base = by.table ?? by.mean;
    const left = want.map((x, i) => x - base[i]);
    by.neurons = written
      ? written[i].map((x, j) => by.mean[j] + x)
      : largestComponents(left, dOut, o.k, null).map((x, j) => base[j] + x);
    by.random = largestProjections(left, dOut, directions, o.k);
    for (let i = 0; i < left.length; i++) {
      dot += by.random[i] * left[i];
      square += by.random[i] ** 2;
    }
  }
  for (const { by } of all) {
    const base = by.table ?? by.mean;
    by.random = by.random.map((x, i) => base[i] + (dot / square) * x);
  }
}

/** Whether a block has one dense MLP. @param {Model} model @param {string} block */
const hasNeurons = async (model, block) =>
  model.parameters.rows.some(({ name }) => name === `${block}ffn.down.weight`) &&
  (await model.points()).includes(`${block}mlp.hook_post`);
