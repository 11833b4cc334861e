// embed.js - one vector for a text: the states of an encoder, pooled
//
// Reimers & Gurevych 2019 (sentence embeddings: the mean of the states, or the state of the first token).
import { readHidden, readPooled } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { isSequenceList } from '../generation_defaults.js';
import { optionsPerSequence } from '../encoder_sources.js';
import { fail } from '../../base/errors.js';
import { requireFinite } from './finite_check.js';
import { typedIds } from './typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Sequence } from '../sequence.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/**
 * @typedef {object} EmbedSettings
 * @property {'mean'|'cls'|'last'|'pooler'} pooling
 * @property {boolean} normalize
 * @property {number} most  tokens of a text that is truncated; Infinity: none is
 */
/**
 * What the encoder reads of an input.
 * @typedef {object} Source
 * @property {number[]} ids
 * @property {ArrayLike<number> | null} mask  null: nothing is hidden
 * @property {ArrayLike<number> | null} types  null: all 0
 */

/**
 * Runs the public call embed.
 * @param {LoadedModel} model
 * @param {any} input  text, ids, or a list of several
 * @param {Record<string, any>} [options]
 * @param {import('../loaded_model.js').Hooks} [hooks]
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
  const { chunk } = model.engine.schema;
  const sequence = await model.openSequence();
  try {
    /** @type {Source[]} */
    let pass = []; // short inputs share a pass over the weights
    let [tokens, done] = [0, 0];
    const run = async () => {
      for (const vector of await embedTogether(sequence, pass, settings)) data.set(vector, d * done++);
      [pass, tokens] = [[], 0];
    };
    for (const [i, one] of list.entries()) {
      await yielder.yieldIfDue();
      const source = sourceOf(model, one, many ? `input ${i}` : 'input', each[i], settings);
      if (pass.length && tokens + source.ids.length > chunk) await run();
      pass.push(source);
      tokens += source.ids.length;
    }
    if (pass.length) await run();
  } finally {
    sequence.close();
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
 * The tokens of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {string} what  its name, for messages
 * @param {Record<string, any>} o
 * @param {EmbedSettings} settings
 * @returns {Source}
 */
function sourceOf(model, input, what, o, { most }) {
  const { ids: all, types } = typedIds(model, input, what, o);
  const ids = truncated(model, all, most);
  model.checkLength(ids.length, 'input');
  return { ids, types, mask: model.mask(o.mask, ids.length, 'mask') };
}

/**
 * The vectors of several inputs, in one pass.
 * @param {Sequence} sequence
 * @param {Source[]} sources
 * @param {EmbedSettings} settings
 * @returns {Promise<Float64Array[]>} [d_model] of each
 */
async function embedTogether(sequence, sources, { pooling, normalize }) {
  const { session, model } = sequence;
  const d = model.config.d_model;
  /** Null where no input has any. @param {'mask' | 'types'} name @param {number} absent  of inputs without */
  const joined = (name, absent) =>
    sources.some((s) => s[name]) ? sources.flatMap((s) => Array.from(s[name] ?? s.ids.map(() => absent))) : null;
  const lengths = sources.map((s) => s.ids.length);
  session.encode(sources.flatMap((s) => s.ids), joined('mask', 1), joined('types', 0), lengths); // prettier-ignore
  const { data } = readHidden(session, d);
  const all = pooling === 'pooler' ? readPooled(session, d, sources.length) : null;
  const vectors = [];
  let at = 0;
  for (const [i, { ids, mask, types }] of sources.entries()) {
    const hidden = { data: data.subarray(d * at, d * (at += ids.length)), shape: [ids.length, d] };
    const pooled = all ? { data: all.data.subarray(d * i, d * (i + 1)), shape: [d] } : undefined;
    await requireFinite(sequence, { hidden, pooled }, ids, (copy) => copy.encode(ids, mask, types));
    const shown = Array.from(ids.keys()).filter((p) => !mask || mask[p]);
    const rows = pooling === 'mean' ? shown : [pooling === 'cls' ? 0 : shown[shown.length - 1]];
    const vector = pooled ? Float64Array.from(pooled.data) : mean(hidden.data, d, rows);
    const length = normalize ? Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0)) : 0;
    vectors.push(length > 0 ? vector.map((x) => x / length) : vector);
  }
  return vectors;
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
