// model_identity.js - which model a dictionary was made from: a checksum that is the same for every type of weights
import { Sha256 } from '../../files/transfer/sha256.js';
import { fail, show } from '../../base/errors.js';

/**
 * A model, on the caller's side or beside its engine.
 * @typedef {object} Identified
 * @property {string} name  that its file states; '' where there is none
 * @property {number} dModel
 * @property {readonly {name: string, shape: readonly number[], tiedTo: string | null}[]} rows  its parameter table
 * @property {(name: string) => Float32Array | Promise<Float32Array>} values  of a weight, in f32
 */
/**
 * What a dictionary knows of its origin. at: the point that it reads; model: the checksum of the model that it was made
 * from, which dictionaries of others lack; name: of that model
 * @typedef {{at: string, model?: string, name?: string}} Origin
 */

/**
 * The identity of a model: the SHA-256 of its vectors (gains and biases, which every type of file stores alike), or
 * where it has none of the first row of its first matrix.
 * @param {Identified} model
 * @returns {Promise<string>}
 */
export async function fingerprintOf({ dModel, rows, values }) {
  const vectors = rows.filter(({ shape, tiedTo }) => shape.length === 1 && !tiedTo);
  const sha = new Sha256();
  for (const { name } of vectors.slice(0, 64)) {
    const data = await values(name);
    sha.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  if (!vectors.length) sha.update(new Uint8Array((await values(rows[0].name)).slice(0, dModel).buffer));
  return sha.digest();
}

/** @param {string | undefined} name @param {string} sum */
const described = (name, sum) =>
  `${name ? show(name) : 'a model without a name'}, whose vectors have the SHA-256 ${String(sum).slice(0, 12)}...`;

/**
 * Refuses a model other than the one that a dictionary was made from.
 * @param {Identified} model
 * @param {Origin} origin  of the dictionary; without `model` nothing is compared
 * @param {string} code    of the error
 */
export async function requireSameModel(model, { at, model: wanted, name }, code) {
  if (!wanted) return;
  const here = await fingerprintOf(model);
  if (here !== wanted)
    fail(
      code,
      `the dictionary of ${at} belongs to another model: it was made from ${described(name, wanted)}, ` +
        `and this model is ${described(model.name, here)}`,
    );
}
