// provenance.js - what identifies a loaded model in a result: a checksum of its weights, and their types
import { savedPiece } from '../../engine/stored_weights.js';
import { Yielder } from '../../base/event_loop.js';
import { remembered } from '../../base/lazy_value.js';
import { Sha256 } from '../../files/transfer/sha256.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** The sums, by the weights of a model. @type {WeakMap<object, Promise<string>>} */
const sums = new WeakMap();

/**
 * @param {LoadedModel} model
 * @param {AbortSignal} [signal]
 */
async function sumOf({ engine, table: { rows } }, signal) {
  const yielder = new Yielder(signal);
  const sha = new Sha256();
  for (const [i, { tiedTo }] of rows.entries()) {
    for (let at = 0, piece; tiedTo === null && (piece = savedPiece(engine, i, at)).length; at += piece.length) {
      sha.update(piece);
      await yielder.yieldIfDue();
    }
  }
  return sha.digest();
}

/**
 * weights: SHA-256 of all weights as they are in memory, in the order of `parameters`; dtypes: how many of them have
 * each type.
 * @param {LoadedModel} model
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<{weights: string, dtypes: Record<string, number>}>}
 */
export async function provenance(model, { signal }) {
  const sum = remembered(sums, model.weights, () => sumOf(model, signal));
  sum.catch(() => sums.delete(model.weights));
  /** @type {Record<string, number>} */
  const dtypes = {};
  for (const { dtype, tiedTo, count } of model.table.rows)
    if (tiedTo === null) dtypes[dtype] = (dtypes[dtype] ?? 0) + count;
  return { weights: await sum, dtypes };
}
