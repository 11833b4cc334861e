// classify.js - the labels of a text, or of each of its tokens, with scores, from the head of a classifier
import { headWidth, isLabelPooled } from '../../engine/config/config.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { optionsPerSequence } from '../encoder_sources.js';
import { isSequenceList } from '../generation_options.js';
import { requireFinite } from './finite_check.js';
import { forwardOne } from './forward.js';
import { encodeInPasses } from './shared_passes.js';
import { typedIds } from './typed_ids.js';
import { entitiesOf, wordsOf } from './labelled_words.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Hooks } from '../calls.js' */
/** @import { Labels } from '../../files/huggingface/classifiers.js' */
/** @import { PassSource } from './shared_passes.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LabelledSpan } from './labelled_words.js' */
/**
 * A label with its score.
 * @typedef {{label: string, score: number}} LabelScore
 */
/**
 * The best label, and the scores of all in their order in the model.
 * @typedef {LabelScore & {scores: LabelScore[]}} Labelled
 */
/**
 * The labels of a text. logits: [labels].
 * @typedef {Labelled & {logits: Tensor}} Classification
 */
/**
 * The labels of each token of a text.
 * @typedef {object} TokenClassification
 * @property {(Labelled & {id: number, text: string})[]} tokens
 * @property {Tensor} logits  [tokens, labels]
 * @property {LabelledSpan[]} [words]  without special tokens, each with the label of its first token; absent without a
 *   tokenizer
 * @property {LabelledSpan[]} [entities]  neighbouring words of one label, joined, without those of the label O. The
 *   prefixes B- and I- of a label say where one begins and goes on
 */

/**
 * Runs the public call classify.
 * @param {LoadedModel} model
 * @param {any} input  text, ids, or a list of several
 * @param {Record<string, any>} [options]
 * @param {Hooks} [hooks]
 * @returns {Promise<any>} of several inputs, or second texts, a list
 */
export async function classify(model, input, options = {}, { signal } = {}) {
  const { labels } = model;
  if (!labels)
    return fail('unsupported', 'classify: this model has no head of classification, and therefore no labels');
  const many = isSequenceList(input) || Array.isArray(options.pair);
  const list = isSequenceList(input) ? Array.from(input) : many ? options.pair.map(() => input) : [input];
  const pair = many && typeof options.pair === 'string' ? list.map(() => options.pair) : options.pair;
  const each = many ? optionsPerSequence({ ...options, pair }, list.length) : [options];
  const sourceOf = (/** @type {number} */ i) => readInput(model, list[i], many ? `input ${i}` : 'input', each[i]);
  const yielder = new Yielder(signal);
  /** @type {any[]} */
  const results = [];
  const add = (/** @type {number[]} */ ids, /** @type {Tensor} */ logits) =>
    results.push(resultOf(model, ids, logits, options.activation ?? labels.activation));
  if (model.config.kind === 'encoder' && !options.edits)
    await encodeInPasses(model, list.length, sourceOf, yielder, async (sequence, pass) => {
      let row = 0;
      for (const { ids, mask, types } of pass) {
        const rows = isLabelPooled(model.config) ? 1 : ids.length;
        const width = headWidth(model.config);
        const logits = { data: sequence.session.logits(row, rows, width), shape: [rows, width] };
        await requireFinite(sequence, { logits }, ids, (copy) => copy.encode(ids, mask, types));
        add(ids, logits);
        row += rows;
      }
    });
  else
    for (let i = 0; i < list.length; i++) {
      const source = sourceOf(i);
      add(source.ids, await logitsOf(model, source, each[i], yielder));
    }
  return many ? results : results[0];
}

/**
 * The tokens of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {string} what  its name, for messages
 * @param {Record<string, any>} o
 * @returns {PassSource}
 */
function readInput(model, input, what, o) {
  const { config, contextLength } = model;
  // what an encoder-decoder classifies is its source
  const name = config.kind === 'encoder_decoder' ? `source (${what})` : what;
  const { ids, types } = o.truncate ? truncated(model, input, o, contextLength) : typedIds(model, input, name, o);
  model.checkLength(ids.length, what);
  return { ids, types, mask: config.kind === 'encoder' ? model.mask(o.mask, ids.length, 'mask') : null };
}

/**
 * The tokens of a text, or of two, that the context holds.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {number} most
 * @returns {{ids: number[], types: ArrayLike<number> | null}}
 */
function truncated(model, input, { pair, mask, tokenTypes, addSpecialTokens = true }, most) {
  if (typeof input !== 'string' || mask !== undefined || tokenTypes !== undefined)
    fail('bad-option', 'truncate needs an input given as text, without mask and tokenTypes');
  const texts = pair === undefined ? [input] : [input, pair];
  const { ids, tokenTypes: types } = model.tokenizerForText().encodeWithin(texts, most, addSpecialTokens);
  return { ids, types: types.some((t) => t >= model.config.n_token_types) ? null : types };
}

/**
 * The logits of one input by a pass of its own: of a decoder, or with edits.
 * @param {LoadedModel} model
 * @param {PassSource} source
 * @param {Record<string, any>} o
 * @param {Yielder} yielder
 */
async function logitsOf(model, { ids, types }, { edits, mask }, yielder) {
  const { kind, label_pooling: pooling } = model.config;
  const { pad, eos, start } = /** @type {Labels} */ (model.labels);
  const options = { edits, mask, types };
  // transformers reads the last token that is not the padding token, which a text may also contain
  let last = ids.length - 1;
  while (last > 0 && ids[last] === pad) last--;
  if (kind === 'encoder_decoder') {
    const at = eos === null ? ids.length - 1 : ids.lastIndexOf(eos);
    if (at < 0) fail('bad-argument', `the input lacks the token ${eos}, which ends a text: its state is classified`);
    const target = [start ?? ids[last], ...ids.slice(0, -1)];
    return (await forwardOne(model, target, { ...options, source: ids, logits: [at] }, yielder)).logits ?? NONE;
  }
  const rows = pooling === 'last' ? [last] : 'all';
  return (await forwardOne(model, ids, { ...options, logits: rows }, yielder)).logits ?? NONE;
}

/** @type {Tensor} */
const NONE = { data: new Float32Array(0), shape: [0, 0] };

/** What makes scores of a row of logits. @type {Record<Labels['activation'], (row: number[]) => number[]>} */
const ACTIVATIONS = {
  none: (row) => row,
  sigmoid: (row) => row.map((x) => 1 / (1 + Math.exp(-x))),
  softmax(row) {
    const most = Math.max(...row);
    const weights = row.map((x) => Math.exp(x - most));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((w) => w / sum);
  },
};

/**
 * What classify returns of one input.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {Tensor} logits  [1 or tokens, labels]
 * @param {Labels['activation']} activation
 * @returns {Classification | TokenClassification}
 */
function resultOf(model, ids, { data, shape: [rows, n] }, activation) {
  const { names } = /** @type {Labels} */ (model.labels);
  const labelled = (/** @type {number} */ i) => {
    const row = Array.from(data.subarray(i * n, (i + 1) * n));
    const scores = ACTIVATIONS[activation](row).map((score, k) => ({ label: names[k], score }));
    return { ...scores[row.indexOf(Math.max(...row))], scores };
  };
  if (model.config.label_pooling !== 'none') return { ...labelled(0), logits: { data, shape: [n] } };
  const tokens = ids.map((id, i) => ({ id, text: model.tokenText(id), ...labelled(i) }));
  const words = model.tokenizer && wordsOf(model.tokenizer, tokens);
  return {
    tokens,
    logits: { data, shape: [rows, n] },
    ...(words && { words, entities: entitiesOf(/** @type {any} */ (model.tokenizer), tokens, words) }),
  };
}
