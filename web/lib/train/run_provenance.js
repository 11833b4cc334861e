// run_provenance.js - what the files of a run say of it: package, options, and the SHA-256 of what it learned from
//
// Threads and checkpoints are not in it: the same run gives the same files with any number of them.
import { VERSION } from '../base/version.js';
import { digestOfBytes } from '../files/transfer/sha256.js';
import { TRAIN_FIELDS } from './train_fields.js';

/** @import { Model } from '../api/model.js' */
/** @import { Order } from './training_worker.js' */
/**
 * A model that a run reads. weights, dtypes: null where it was disposed or got other weights before the file was made
 * @typedef {{name: string, weights: string | null, dtypes: Record<string, number> | null}} ReadModel
 */
/**
 * What a file of a run comes from. step: whose weights it has; data, validation: SHA-256 of a text's bytes, or of the
 * JSON of a list of examples, null of a function or of none; a validation may be a share; base: the model that an
 * adapter was trained for
 * @typedef {{glassformer: string, call: 'train', seed: number, step: number,
 *   options: Record<string, number | boolean | string>, data: string | null, validation: string | number | null,
 *   lora?: {rank: number, alpha: number}, base?: ReadModel, teacher?: ReadModel & {share: number}}} TrainingProvenance
 */

/** Typed arrays as lists. @param {string} _ @param {any} x */
const plain = (_, x) => (ArrayBuffer.isView(x) ? Array.from(/** @type {any} */ (x)) : x);

/**
 * The SHA-256 of data, as TrainingProvenance says.
 * @param {any} data  a text, its bytes, or examples
 * @returns {Promise<string | null>}  rejects for bytes whose buffer was transferred: the run refuses them
 */
export async function sumOf(data) {
  const list = data?.examples ?? data ?? null;
  if (list === null || typeof list === 'function') return null;
  const parts = Array.isArray(list)
    ? ['[', ...list.map((x, i) => (i ? ',' : '') + JSON.stringify(x, plain)), ']']
    : [list];
  const digest = await digestOfBytes(new Uint8Array(await new Blob(parts).arrayBuffer()));
  return Array.from(digest, (x) => x.toString(16).padStart(2, '0')).join('');
}

/** @param {Model} model  @returns {() => Promise<ReadModel>} */
function readModel(model) {
  const { name, weightsVersion } = model;
  return async () => {
    const found = model.weightsVersion === weightsVersion ? await model.provenance().catch(() => null) : null;
    return { name, weights: found?.weights ?? null, dtypes: found?.dtypes ?? null };
  };
}

/** The options of a run by the names that callers give. @param {Record<string, number>} options  by their names in C */
const optionsOf = (options) =>
  Object.fromEntries(
    TRAIN_FIELDS.map((field) => {
      const value = options[field.member];
      return [field.name, field.type === 'word' ? field.words[value] : field.type === 'flag' ? value !== 0 : value];
    }),
  );

/**
 * @param {any} data  as train was given it
 * @param {Record<string, any>} given  the options, checked
 * @param {Order} order
 * @param {import('./training_run.js').Parts['adapter']} adapter
 * @returns {(step: number) => Promise<TrainingProvenance>}
 */
export function runProvenance(data, { validation = null, teacher }, { options }, adapter) {
  const held = typeof validation === 'number' ? validation : sumOf(validation);
  const sums = Promise.all([sumOf(data), held]);
  sums.catch(() => {}); // reported where a file is asked for
  const models = { base: adapter && readModel(adapter.model), teacher: teacher && readModel(teacher) };
  return async (step) => {
    const [dataSum, validationSum] = await sums;
    const { seed, teacherShare, ...rest } = optionsOf(options);
    return {
      ...{ glassformer: VERSION, call: 'train', seed: Number(seed), step, options: rest },
      ...{ data: dataSum, validation: validationSum },
      ...(adapter && { lora: { rank: adapter.rank, alpha: adapter.alpha } }),
      ...(models.base && { base: await models.base() }),
      ...(models.teacher && { teacher: { ...(await models.teacher()), share: teacherShare } }),
    };
  };
}
