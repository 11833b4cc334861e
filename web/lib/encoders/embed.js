// embed.js - one vector for a text: the states of an encoder, pooled
//
// Reimers & Gurevych 2019 (sentence embeddings: the mean of the states, or the state of the first token).
import { forwardOne } from '../inspect/forward.js';
import { Yielder } from '../base/event_loop.js';
import { isSequenceList } from '../input/options.js';
import { optionsPerSequence } from '../input/sources.js';
import { fail } from '../base/errors.js';
import { typedIds } from '../inspect/typed_ids.js';

/** @import { LoadedModel } from '../run/loaded_model.js' */
/** @import { Tensor } from '../engine/engine.js' */
/**
 * @typedef {object} EmbedSettings
 * @property {'mean'|'cls'|'last'|'pooler'} pooling
 * @property {boolean} normalize
 * @property {number} most  tokens of a text that is truncated; Infinity: none is
 */

/**
 * Runs the public call embed.
 * @param {LoadedModel} model
 * @param {any} input  text, ids, or a list of several
 * @param {Record<string, any>} [options]
 * @param {import('../run/loaded_model.js').Hooks} [hooks]
 * @returns {Promise<Tensor>} [d_model], of several inputs [input, d_model]
 */
export async function embed(model, input, options = {}, { signal } = {}) {
  const settings = settingsOf(model, options);
  const many = isSequenceList(input);
  const list = many ? Array.from(input) : [input];
  const each = many ? optionsPerSequence(options, list.length) : [options];
  const yielder = new Yielder(signal);
  const d = model.config.d_model;
  const data = new Float32Array(list.length * d);
  for (const [i, one] of list.entries()) {
    await yielder.yieldIfDue();
    data.set(await embedOne(model, one, many ? `input ${i}` : 'input', each[i], settings, yielder), i * d);
  }
  return { data, shape: many ? [list.length, d] : [d] };
}

/**
 * The options of a call, completed by what the model's files say.
 * @param {LoadedModel} model
 * @param {Record<string, any>} o
 * @returns {EmbedSettings}
 */
function settingsOf({ config, pooling: own, contextLength }, o) {
  if (!own) return fail('unsupported', `embed needs an encoder, this model is of kind ${config.kind}`);
  if (o.pooling === undefined && own.lacks !== null)
    fail('unsupported', `embed lacks ${own.lacks}, which the model's files ask for; give { pooling }`);
  const pooling = o.pooling ?? own.pooling;
  if (pooling === 'pooler' && !config.pooler) fail('bad-option', "pooling is 'pooler', but this model has no pooler");
  if (o.truncate && (o.pair !== undefined || o.mask !== undefined || o.tokenTypes !== undefined))
    fail('bad-option', 'truncate cannot be combined with pair, mask or tokenTypes');
  const most = Math.min(own.maxTokens ?? contextLength, contextLength);
  return { pooling, normalize: o.normalize ?? own.normalize, most: o.truncate ? most : Infinity };
}

/**
 * The vector of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {string} what  its name, for messages
 * @param {Record<string, any>} o
 * @param {EmbedSettings} settings
 * @param {Yielder} yielder
 * @returns {Promise<Float64Array>} [d_model]
 */
async function embedOne(model, input, what, o, { pooling, normalize, most }, yielder) {
  const { ids, types } = typedIds(model, input, what, o);
  const cut = truncated(model, ids, most);
  const { hidden, pooled } = await forwardOne(model, cut, { mask: o.mask, types }, yielder);
  const { data, shape } = /** @type {Tensor} */ (hidden);
  const shown = Array.from({ length: shape[0] }, (_, i) => i).filter((i) => !o.mask || o.mask[i]);
  const vector =
    pooling === 'pooler'
      ? Float64Array.from(/** @type {Tensor} */ (pooled).data)
      : mean(data, shape[1], pooling === 'mean' ? shown : [pooling === 'cls' ? 0 : shown[shown.length - 1]]);
  if (!normalize) return vector;
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
  return length > 0 ? vector.map((x) => x / length) : vector;
}

/**
 * The first tokens of a sequence that is too long, with its last one where that is a special token such as [SEP].
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {number} most
 */
function truncated({ tokenizer }, ids, most) {
  if (ids.length <= most) return ids;
  const last = ids[ids.length - 1];
  return most > 1 && tokenizer?.special.has(last) ? [...ids.slice(0, most - 1), last] : ids.slice(0, most);
}

/**
 * The mean of some rows.
 * @param {Float32Array} data
 * @param {number} d  columns
 * @param {number[]} rows
 */
function mean(data, d, rows) {
  const sum = new Float64Array(d);
  for (const i of rows) for (let j = 0; j < d; j++) sum[j] += data[i * d + j];
  return sum.map((x) => x / rows.length);
}
