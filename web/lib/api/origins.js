// origins.js - which call of which model gave a tensor: the provenance of the files that it is written to
import { fail, show } from '../base/errors.js';
import { VERSION } from '../base/version.js';
import { SAMPLER } from '../engine/config/sampler_fields.js';

/** @import { Model } from './model.js' */
/** @import { OriginProvenance, Tensor } from './index.js' */
/**
 * The call that gave a tensor.
 * @typedef {object} Origin
 * @property {WeakRef<Model>} model
 * @property {number} weightsVersion  the model's at the call; another adapter changes it
 * @property {Omit<OriginProvenance, 'weights' | 'dtypes'>} known  what needs no waiting
 */

/** Origins by the memory of the values: a part or another shape of a tensor has its origin, too.
 * @type {WeakMap<ArrayBufferLike, Origin>} */
const origins = new WeakMap();

/** Options that change the values of a result. */
const TOLD = [
  ...SAMPLER.map(({ name }) => name),
  ...['seed', 'presencePenalty', 'frequencyPenalty', 'logitBias', 'beams', 'lengthPenalty'],
  ...['source', 'sourceMask', 'mask', 'pair', 'tokenTypes', 'addSpecialTokens', 'prompt', 'truncate'],
  ...['pooling', 'normalize', 'activation', 'edits', 'at', 'head', 'index', 'token', 'position', 'of', 'metric'],
  ...['from', 'senders', 'receivers', 'throughMlps', 'check', 'steps', 'statistic', 'range'],
];

/**
 * An option as JSON has it: arrays of numbers by their length, tensors by their shape, a dictionary by its own
 * provenance, a function as such.
 * @this {any} the object that has it
 * @param {string} key
 * @param {any} value  what its toJSON gave
 */
function told(key, value) {
  const own = this[key];
  if (typeof own === 'function') return 'a function';
  if (ArrayBuffer.isView(own)) return `${own.constructor.name}(${/** @type {any} */ (own).length})`;
  if (ArrayBuffer.isView(own?.data) && Array.isArray(own.shape)) return `Tensor(${own.shape.join(', ')})`;
  return typeof own?.encoder === 'function' ? own.provenance : value;
}

/** A prompt, whose ids become lists. @param {any} value @returns {any} */
const plain = (value) =>
  ArrayBuffer.isView(value) ? Array.from(/** @type {any} */ (value)) : Array.isArray(value) ? value.map(plain) : value;

/**
 * @param {Model} model
 * @param {string} call
 * @param {any} prompt  text or ids, several of them, or what stands for them; undefined: none
 * @param {any} [options]  as they were given
 * @returns {Origin}
 */
export function originOf(model, call, prompt, options) {
  const { name, kvDtype, backend, weightsVersion } = model;
  const given = TOLD.filter((key) => options?.[key] !== undefined).map((key) => [key, options[key]]);
  const { seed, ...rest } = given.length ? JSON.parse(JSON.stringify(Object.fromEntries(given), told)) : {};
  /** @type {Origin['known']} */
  const known = { glassformer: VERSION, name, kvDtype, backend, call, ...(seed !== undefined && { seed }) };
  if (prompt !== undefined) known.prompt = plain(prompt);
  if (Object.keys(rest).length) known.options = rest;
  return { model: new WeakRef(model), weightsVersion, known };
}

/** @param {Tensor} tensor @param {Origin} origin */
export const setOrigin = ({ data }, origin) => void origins.set(data.buffer, origin);

/**
 * @param {Origin} origin
 * @returns {Promise<OriginProvenance>}
 */
async function provenanceOfCall(origin) {
  const { known, weightsVersion } = origin;
  const model = origin.model.deref();
  // A model that was disposed or has another adapter cannot say any more which weights it had.
  const found = await model?.provenance().catch(() => null);
  const { weights = null, dtypes = null } = (model?.weightsVersion === weightsVersion && found) || {};
  return { ...known, weights, dtypes };
}

/**
 * What tensors come from: one record where a single call gave all of them, otherwise one for each call, with the names
 * of its tensors; null where no call gave any.
 * @param {Record<string, Tensor>} tensors
 * @returns {Promise<OriginProvenance | (OriginProvenance & {tensors: string[]})[] | null>}
 */
export async function provenanceOfTensors(tensors) {
  if (tensors === null || typeof tensors !== 'object')
    fail('bad-argument', `the tensors are ${show(tensors)}, expected an object with tensors by name`);
  /** @type {Map<Origin | undefined, string[]>} */
  const calls = new Map();
  for (const [name, tensor] of Object.entries(tensors)) {
    const origin = origins.get(tensor?.data?.buffer);
    calls.set(origin, [...(calls.get(origin) ?? []), name]);
  }
  const found = [];
  for (const [origin, names] of calls)
    if (origin) found.push({ ...(await provenanceOfCall(origin)), ...(calls.size > 1 && { tensors: names }) });
  if (calls.size === 1) return found[0] ?? null;
  return found.length ? /** @type {any} */ (found) : null;
}
