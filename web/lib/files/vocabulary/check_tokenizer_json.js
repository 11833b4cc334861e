// check_tokenizer_json.js - checks of a tokenizer.json that the library lacks
import { fail, show } from '../../base/errors.js';
import { pieceModels } from './tokenizer_json.js';

/** @typedef {Record<string, any>} Json */

/** Ids above this cannot belong to a model that the engine runs. */
export const MAX_ID = 1 << 22;

/** @param {unknown} id */
export const isId = (id) => Number.isInteger(id) && Number(id) >= 0 && Number(id) < MAX_ID;

/**
 * @param {string} why
 * @returns {never}
 */
const refuse = (why) => fail('bad-tokenizer', `tokenizer: ${why}`);

/**
 * The model and the added tokens of a tokenizer.json, checked and with the model's type.
 * @param {Json} json
 * @returns {{model: Json, added_tokens: Json[]}}
 */
export function checkedJson(json) {
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    refuse(`expected an object, found ${show(json)}`);
  const { model, added_tokens: added = [] } = json;
  if (pieceModels.has(model)) return { model, added_tokens: added }; // made from checked parts
  if (model === null || typeof model !== 'object') refuse('there is no model in it');
  const type = typeOf(model);
  if (!Array.isArray(added)) refuse('added_tokens is not a list');
  for (const t of added) {
    if (typeof t?.content !== 'string' || !isId(t.id)) refuse(`the added token ${show(t)} has no content or no id`);
  }
  if (type === 'Unigram') {
    checkScores(model.vocab);
    return { model: { ...model, type }, added_tokens: added };
  }
  const tokens = checkIds(model.vocab);
  if (!tokens && !added.length) refuse('the vocabulary is empty');
  return { model: type === 'BPE' ? bpe(model) : wordPiece(model), added_tokens: added };
}

/**
 * The type of a model. Older files do not name it.
 * @param {Json} model
 * @returns {'BPE' | 'Unigram' | 'WordPiece'}
 */
function typeOf(model) {
  const type =
    model.type ??
    (model.merges
      ? 'BPE'
      : Array.isArray(model.vocab)
        ? 'Unigram'
        : model.continuing_subword_prefix === undefined
          ? undefined
          : 'WordPiece');
  if (type !== 'BPE' && type !== 'Unigram' && type !== 'WordPiece')
    fail(
      'unsupported',
      `tokenizer: the model ${show(type ?? 'without a type')} is not supported, expected BPE, Unigram or WordPiece`,
    );
  return type;
}

/**
 * Throws when a value is not the vocabulary of a Unigram: a list of [token, score].
 * @param {unknown} vocab
 */
function checkScores(vocab) {
  const fine =
    Array.isArray(vocab) && vocab.every((v) => Array.isArray(v) && typeof v[0] === 'string' && Number.isFinite(v[1]));
  if (!fine || !vocab.length) refuse('the vocabulary is not a list of tokens with scores');
}

/**
 * Throws when a value is not an object of ids by token, each once.
 * @param {any} vocab
 * @returns {number} how many tokens it has
 */
function checkIds(vocab) {
  if (vocab === null || typeof vocab !== 'object' || Array.isArray(vocab)) refuse('the vocabulary is not an object');
  const ids = new Set();
  for (const [token, id] of Object.entries(vocab)) {
    if (!isId(id)) refuse(`the token ${show(token)} has the id ${show(id)}`);
    if (ids.has(id)) refuse(`the id ${id} belongs to two tokens, one of them ${show(token)}`);
    ids.add(id);
  }
  return ids.size;
}

/**
 * The model of a BPE vocabulary, whose ids are checked. The merges must join known tokens to a known token, as the
 * reference implementation demands.
 * @param {Json} model
 * @returns {Json}
 */
function bpe(model) {
  const { vocab, merges } = model;
  if (!Array.isArray(merges)) refuse('the merges are missing');
  const { continuing_subword_prefix: prefix } = model;
  if (prefix) fail('unsupported', `tokenizer: continuing_subword_prefix is ${show(prefix)}, not supported in BPE`);
  const pairs = merges.map((/** @type {any} */ m) => {
    const pair = typeof m === 'string' ? m.split(' ') : m;
    if (!Array.isArray(pair) || pair.length !== 2 || !pair.every((p) => typeof p === 'string' && p))
      refuse(`the merge ${show(m)} is not two tokens`);
    for (const token of [pair[0], pair[1], pair[0] + pair[1]]) {
      if (!Object.hasOwn(vocab, token))
        refuse(`the merge ${show(m)} needs the token ${show(token)}, which is not in the vocabulary`);
    }
    return pair;
  });
  return { ...model, type: 'BPE', merges: pairs };
}

/**
 * The model of a WordPiece vocabulary, whose ids are checked.
 * @param {Json} model
 * @returns {Json}
 */
function wordPiece(model) {
  const { unk_token: unk = '[UNK]', continuing_subword_prefix: prefix = '##' } = model;
  const { max_input_chars_per_word: most = 100 } = model;
  if (typeof unk !== 'string' || !Object.hasOwn(model.vocab, unk))
    refuse(`the unknown token ${show(unk)} is not in the vocabulary`);
  if (typeof prefix !== 'string') refuse(`continuing_subword_prefix is ${show(prefix)}, expected a text`);
  if (!Number.isInteger(most) || most < 1 || most > 1000)
    refuse(`max_input_chars_per_word is ${show(most)}, expected a whole number from 1 to 1000`);
  return {
    ...model,
    type: 'WordPiece',
    unk_token: unk,
    continuing_subword_prefix: prefix,
    max_input_chars_per_word: most,
  };
}
