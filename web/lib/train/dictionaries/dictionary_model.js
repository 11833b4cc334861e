// dictionary_model.js - what a dictionary needs to know of its model: which one it is, and its directions as logits
import { Sha256 } from '../../files/transfer/sha256.js';
import { fail } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';

/** @import { Model } from '../../api/model.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */

/**
 * The identity of a model: the SHA-256 of its vectors (gains and biases, which every type of file stores alike), or
 * where it has none of the first row of its first matrix.
 * @param {Model} model
 * @returns {Promise<{model: string, d_model: number, layers: number}>}
 */
export async function fingerprintOf(model) {
  const { dModel, nLayers } = model.config;
  const vectors = model.parameters.rows.filter(({ shape, tiedTo }) => shape.length === 1 && !tiedTo);
  const sha = new Sha256();
  for (const { name } of vectors.slice(0, 64)) {
    const { data } = await model.matrix(name);
    sha.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  if (!vectors.length) {
    const { data } = await model.matrix(model.parameters.rows[0].name);
    sha.update(new Uint8Array(data.slice(0, dModel).buffer));
  }
  return { model: sha.digest(), d_model: dModel, layers: nLayers };
}

/**
 * Refuses a model whose fingerprint is not that of the dictionary.
 * @param {Model} model
 * @param {any} provenance  of the dictionary; without `model` nothing is compared
 */
export async function requireModel(model, provenance) {
  if (!provenance?.model) return;
  const { model: here } = await fingerprintOf(model);
  if (here !== provenance.model)
    fail(
      'bad-file',
      `the dictionary belongs to another model: its vectors have the SHA-256 ${provenance.model.slice(0, 12)}..., ` +
        `those of this model ${here.slice(0, 12)}...`,
    );
}

/** Heads of models, which several features read. @type {WeakMap<object, Promise<any>>} */
const heads = new WeakMap();
/** Most values of a head that is copied: 200 MB. */
const MOST_VALUES = 5e7;

/**
 * What a direction of the residual stream adds to the logits, by the final norm's gain and the head.
 * @param {Model} model
 * @param {Float32Array} direction  [d_model]
 * @returns {Promise<Float32Array | null>} [vocab_size]; null for a head that is too large to be copied
 */
export async function logitsOf(model, direction) {
  const { rows } = model.parameters;
  const gain = rows.find(
    ({ component, shape, name }) => component === 'final_norm' && shape.length === 1 && !/bias/.test(name),
  );
  const head = rows.find(({ component, shape }) => component === 'head' && shape.length === 2);
  const embedding = rows.find(({ component, shape }) => component === 'embedding' && shape.length === 2);
  const matrix = head && !head.tiedTo ? head : embedding;
  if (!matrix) return fail('unsupported', 'this model has no head');
  const gains = gain ? (await model.matrix(gain.name)).data : null;
  if (matrix.count > MOST_VALUES) return null;
  const { data, shape } = await remembered(heads, model, () => model.matrix(matrix.name));
  const [vocab, d] = shape;
  const mean = model.config.norm === 'layernorm' ? direction.reduce((a, b) => a + b, 0) / d : 0;
  const scaled = direction.map((x, i) => (x - mean) * (gains ? gains[i] : 1));
  const logits = new Float32Array(vocab);
  for (let t = 0; t < vocab; t++) {
    let sum = 0;
    for (let c = 0; c < d; c++) sum += data[t * d + c] * scaled[c];
    logits[t] = sum;
  }
  return logits;
}

/**
 * Gain and bias of the norm before an MLP; bias null: it has none.
 * @param {Model} model
 * @param {string} at  ln2.hook_normalized of a block
 * @returns {Promise<{gain: Float32Array, bias: Float32Array | null}>}
 */
export async function gainOf(model, at) {
  const layer = Number(/\d+/.exec(at)?.[0]);
  const find = (/** @type {string} */ end) =>
    model.parameters.rows.find((row) => row.layer === layer && row.name.endsWith(`norm2.${end}`));
  const [gain, bias] = [find('weight'), find('bias')];
  if (!gain) return fail('unsupported', `${at}: this model has no gain there`);
  const data = async (/** @type {string} */ name) => (await model.matrix(name)).data;
  return { gain: await data(gain.name), bias: bias ? await data(bias.name) : null };
}

/**
 * Let a dictionary that reads x gain + bias read x.
 * @param {DictionaryWeights} w  changed
 * @param {{gain: Float32Array, bias: Float32Array | null}} norm
 */
export function foldGain(w, { gain, bias }) {
  const { dIn, dOut, size, wEnc, vectors, skip, bDec } = w;
  for (let i = 0; i < size; i++) {
    let sum = 0;
    for (let c = 0; c < dIn; c++) {
      if (bias) sum += wEnc[i * dIn + c] * bias[c];
      wEnc[i * dIn + c] *= gain[c];
    }
    vectors[i] += sum;
    vectors[3 * size + i] += sum * vectors[2 * size + i];
  }
  for (let o = 0; skip && o < dOut; o++)
    for (let c = 0; c < dIn; c++) {
      if (bias) bDec[o] += skip[o * dIn + c] * bias[c];
      skip[o * dIn + c] *= gain[c];
    }
  w.afterGain = false;
}
