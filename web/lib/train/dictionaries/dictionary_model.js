// dictionary_model.js - what a dictionary needs to know of its model: which one it is, and the norms before its MLPs
import { Sha256 } from '../../files/transfer/sha256.js';
import { fail } from '../../base/errors.js';
import { wholeRows } from '../../engine/stored_rows.js';

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
  const { dIn, dOut, size, vectors, skip, bDec } = w;
  const wEnc = wholeRows(w.wEnc, dIn);
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
  w.wEnc = wEnc;
  w.afterGain = false;
}
