// dictionary_model.js - what a dictionary needs to know of its model: its identity, and the norms before its MLPs
import { fail } from '../../base/errors.js';
import { wholeRows } from '../../engine/stored_rows.js';

/** @import { Model } from '../../api/model.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */

/**
 * A model of the caller's, for fingerprintOf and requireSameModel.
 * @param {Model} model
 * @returns {import('../../run/inspect/model_identity.js').Identified}
 */
export const identified = (model) => ({
  name: model.name,
  dModel: model.config.dModel,
  rows: model.parameters.rows,
  values: async (name) => (await model.matrix(name)).data,
});

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
