// embed.js - one vector for a text: the states of an encoder, pooled
//
// Reimers & Gurevych 2019 (sentence embeddings: the mean of the states, or the state of the first token).
import { readHidden, readPooled } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { isSequenceList } from '../generation_options.js';
import { optionsPerSequence } from '../encoder_sources.js';
import { fail } from '../../base/errors.js';
import { requireFinite } from './finite_check.js';
import { behind, pooled, widthBehind } from './pool_states.js';
import { encodeInPasses } from './shared_passes.js';
import { typedIds } from './typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { PoolingKind, PoolingStep } from '../../files/huggingface/sentence_transformers.js' */
/** @import { Sequence } from '../sequence.js' */
/** @import { PassSource } from './shared_passes.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/**
 * @typedef {object} EmbedSettings
 * @property {PoolingKind[]} kinds
 * @property {PoolingStep[]} steps  that follow the pooling
 * @property {number} width  of the vector behind them
 * @property {boolean | undefined} truncate  undefined: texts are, as the files say
 * @property {number} most   tokens of what is truncated
 * @property {string} prompt  text before each text
 * @property {boolean} lowerCase
 * @property {boolean} includePrompt
 */
/** What the encoder reads of an input. first: position of the pooling @typedef {PassSource & {first: number}} Source */

/**
 * Runs the public call embed.
 * @param {LoadedModel} model
 * @param {any} input  text, ids, or a list of several
 * @param {Record<string, any>} [options]
 * @param {import('../calls.js').Hooks} [hooks]
 * @returns {Promise<Tensor>} [width], of several inputs [input, width]
 */
export async function embed(model, input, options = {}, { signal } = {}) {
  const settings = settingsOf(model, options);
  const many = isSequenceList(input);
  const list = many ? Array.from(input) : [input];
  const each = many ? optionsPerSequence(options, list.length) : [options];
  const yielder = new Yielder(signal);
  const d = settings.width;
  const data = new Float32Array(list.length * d);
  let done = 0;
  const sources = (/** @type {number} */ i) =>
    sourceOf(model, list[i], many ? `input ${i}` : 'input', each[i], settings);
  await encodeInPasses(model, list.length, sources, yielder, async (sequence, pass) => {
    for (const vector of await embedTogether(sequence, pass, settings)) data.set(vector, d * done++);
  });
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
  const kinds = /** @type {PoolingKind[]} */ ([o.pooling ?? own.pooling].flat());
  if (kinds.includes('pooler') && !config.pooler)
    fail('bad-option', "pooling is 'pooler', but this model has no pooler");
  if (o.truncate && isMarked(o)) fail('bad-option', 'truncate cannot be combined with pair, mask or tokenTypes');
  // A pooling of the caller's gives its own vector, without the layers that belong to another one.
  const all = own.steps ?? (own.normalize ? ['normalize'] : []);
  const kept = o.pooling === undefined || !own.steps ? all : all.filter((step) => step === 'normalize');
  const plain = o.normalize === undefined ? kept : kept.filter((step) => step !== 'normalize');
  const steps = o.normalize ? /** @type {PoolingStep[]} */ ([...plain, 'normalize']) : plain;
  return {
    kinds,
    steps,
    width: widthBehind(kinds.length * config.d_model, steps),
    truncate: o.truncate ?? (own.maxTokens !== null && !isMarked(o) ? undefined : false),
    most: Math.min(own.maxTokens ?? contextLength, contextLength),
    prompt: (o.prompt === undefined ? own.defaultPrompt : (own.prompts?.[o.prompt] ?? o.prompt)) ?? '',
    lowerCase: own.lowerCase ?? false,
    includePrompt: own.includePrompt ?? true,
  };
}

/** Whether options name something for each token. @param {Record<string, any>} o */
const isMarked = ({ pair, mask, tokenTypes }) => [pair, mask, tokenTypes].some((option) => option !== undefined);

/**
 * The tokens of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {string} what  its name, for messages
 * @param {Record<string, any>} o
 * @param {EmbedSettings} settings
 * @returns {Source}
 */
function sourceOf(model, input, what, o, { most, truncate, prompt, lowerCase, includePrompt }) {
  const isText = typeof input === 'string';
  const text = isText && (lowerCase ? (prompt + input).toLowerCase() : prompt + input);
  const { ids: all, types } = typedIds(model, isText ? text : input, what, o);
  const ids = (truncate ?? isText) ? truncated(model, all, most) : all;
  model.checkLength(ids.length, 'input');
  const first = isText && prompt && !includePrompt ? promptLength(model, prompt, o) : 0;
  return { ids, types, mask: model.mask(o.mask, ids.length, 'mask'), first };
}

/**
 * The tokens of a prompt at the beginning of a text: without the special one at its end.
 * @param {LoadedModel} model
 * @param {string} prompt
 * @param {Record<string, any>} o
 */
function promptLength(model, prompt, { addSpecialTokens }) {
  const ids = model.ids(prompt, 'prompt', addSpecialTokens);
  return ids.length - Number(model.tokenizer?.special.has(ids[ids.length - 1]) ?? false);
}

/**
 * The vectors of several inputs, in one pass.
 * @param {Sequence} sequence
 * @param {Source[]} sources
 * @param {EmbedSettings} settings
 * @returns {Promise<Float64Array[]>} [width] of each
 */
async function embedTogether(sequence, sources, { kinds, steps }) {
  const { session, model } = sequence;
  const d = model.config.d_model;
  const { data } = readHidden(session, d);
  const all = kinds.includes('pooler') ? readPooled(session, d, sources.length) : null;
  const vectors = [];
  let at = 0;
  for (const [i, { ids, mask, types, first }] of sources.entries()) {
    const hidden = { data: data.subarray(d * at, d * (at += ids.length)), shape: [ids.length, d] };
    const pooler = all ? { data: all.data.subarray(d * i, d * (i + 1)), shape: [d] } : undefined;
    await requireFinite(sequence, { hidden, pooled: pooler }, ids, (copy) => copy.encode(ids, mask, types));
    const seen = Array.from(ids.keys()).filter((p) => !mask || mask[p]);
    const behindPrompt = seen.filter((p) => p >= first);
    const rows = behindPrompt.length ? behindPrompt : seen;
    const vector = kinds.flatMap((kind) =>
      Array.from(kind === 'pooler' ? (pooler?.data ?? []) : pooled(kind, hidden.data, d, rows)),
    );
    vectors.push(behind(Float64Array.from(vector), steps));
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
