/// <reference lib="esnext.disposable" preserve="true" />
// tokenizer.js - text to ids and back, a thin layer over @huggingface/tokenizers
//
// Vocabularies of GGUF files and of llama2.c arrive in the form of a tokenizer.json (tokenizers/vocab.js). This file
// adds checks that the library lacks, lossless decoding, and a stream that withholds incomplete characters.
import { Tokenizer as Library } from '@huggingface/tokenizers';
import { fail, guardedAsync, messageOf, show } from './base/errors.js';
import {
  LIMITS,
  addressed,
  fileOrObject,
  callback,
  entriesOf,
  flag,
  isStreamed,
  checkedOptions,
  readValue,
  signal,
  checkedText,
  word,
} from './base/checks.js';
import { openTokenizer } from './checkpoint/source.js';
import { pieceModels } from './tokenizers/tokenizer_json.js';

/** Ids above this cannot belong to a model that the engine runs. */
const MAX_ID = 1 << 22;

/** @typedef {Record<string, any>} Json */

/**
 * Text to token ids and back, in the calling thread. Comes from `model.tokenizer`, `Tokenizer.load` or
 * `Training.tokenizer`. Methods throw a GlassformerError: `bad-argument` for arguments of the wrong type, `bad-state`
 * after `dispose`.
 */
export class Tokenizer {
  /** Of the library; null once disposed. @type {any} */
  #library;
  /** The tokenizer.json it was built from. @type {Json | null} */
  #json;
  /**
   * The SentencePiece vocabulary; null: of another kind.
   * @type {import('./tokenizers/pieces.js').SentencePieces | null}
   */
  #pieceModel;
  /**
   * An ordinary token that is put before another one, since decoders treat the first token differently.
   * @type {number[]}
   */
  #anchor;
  #anchorLength;
  #joins;
  /** @type {Map<number, string | null>} */
  #pieces = new Map();

  /**
   * @param {object} json  a parsed tokenizer.json
   * @throws {GlassformerError} `bad-tokenizer`
   */
  constructor(json) {
    const { model, added_tokens: added } = readValue('the tokenizer', () => check(/** @type {Json} */ (json)));
    const pieces = pieceModels.has(model) ? model : null;
    this.#json = json;
    this.#pieceModel = /** @type {any} */ (pieces);
    try {
      this.#library = new Library(
        {
          normalizer: null,
          pre_tokenizer: null,
          post_processor: null,
          decoder: null,
          ...json,
          added_tokens: added,
          model: pieces?.withoutVocabulary ?? model,
        },
        { clean_up_tokenization_spaces: false },
      );
      pieces?.installIn(this.#lib.model);
    } catch (e) {
      fail('bad-tokenizer', `the tokenizer cannot be built: ${messageOf(e)}`, e);
    }
    keepBom(this.#lib.decoder);
    const vocab = pieces
      ? [pieces.texts.size - 1]
      : Array.isArray(model.vocab)
        ? model.vocab.map((/** @type {any} */ _, /** @type {number} */ id) => id)
        : Object.values(model.vocab);
    /** One more than the largest id. @type {number} */
    this.vocabSize = 1 + [...vocab, ...added.map((/** @type {Json} */ t) => t.id)].reduce((a, b) => Math.max(a, b), -1);
    /** Ids of special tokens. @type {Set<number>} */
    this.special = new Set(added.filter((/** @type {Json} */ t) => t.special).map((/** @type {Json} */ t) => t.id));
    this.#anchor = this.encode('a', { addSpecialTokens: false }).slice(-1);
    this.#anchorLength = this.decode(this.#anchor).length;
    this.#joins = this.#anchorLength > 0 && joins(/** @type {Json} */ (json).decoder);
  }

  /**
   * Read a tokenizer without its model.
   * @param {import('./checkpoint/source.js').Bytes | import('./base/streamed.js').Streamed | object} file
   *   tokenizer.json, a GGUF, llama2.c's tokenizer.bin, or a parsed tokenizer.json
   * @param {import('./checkpoint/source.js').OpenOptions} [options]
   * @returns {Promise<Tokenizer>}
   * @throws {GlassformerError} `bad-tokenizer`, `not-found`, `network`, `unsupported`
   * @example
   * const tokenizer = await Tokenizer.load('stories-1m.gguf');
   * console.log(tokenizer.vocabSize);                                     // 2048
   * console.log(tokenizer.decode(tokenizer.encode('a red ball')));        // <|endoftext|>a red ball
   */
  static async load(file, options) {
    const given = checkedOptions('Tokenizer.load', options, {
      fetch: callback,
      signal,
      onBytes: callback,
      hfEndpoint: word,
    });
    const from = readValue('the tokenizer', () => fileOrObject(file, 'the tokenizer'));
    return guardedAsync(async () => {
      if (!isStreamed(from)) return new Tokenizer(await openTokenizer(from, given));
      const { source, fetch } = /** @type {import('./base/streamed.js').Addressed} */ (
        await addressed({ weights: null, tokenizer: from }, given.fetch)
      );
      return new Tokenizer(await openTokenizer(source.tokenizer, { ...given, fetch }));
    }, given.signal);
  }

  /**
   * The vocabulary as a text, which can be posted to another thread, where model_tokenizer.js makes a tokenizer of it.
   * @ignore
   * @returns {string}
   */
  toText() {
    return JSON.stringify(this.#json ?? this.#gone());
  }

  get #lib() {
    return this.#library ?? this.#gone();
  }

  /** @returns {never} */
  #gone() {
    return fail('bad-state', 'the tokenizer was disposed');
  }

  /** Free the vocabulary (about 20 MB for 50,000 tokens). No model or stream of a model needs it. */
  dispose() {
    this.#library = this.#json = this.#pieceModel = null;
    this.#pieces.clear();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * Token ids of a text.
   * @param {string} text  names of special tokens in it become those tokens
   * @param {{addSpecialTokens?: boolean}} [options] addSpecialTokens: put the tokens around it that the tokenizer
   *   prescribes; default true, as in Hugging Face
   * @returns {number[]}
   * @throws {GlassformerError} `bad-tokenizer`: the vocabulary cannot express the text
   */
  encode(text, options) {
    checkedText(text, 'the text');
    const { addSpecialTokens = true } = checkedOptions('encode', options, { addSpecialTokens: flag });
    const library = this.#lib;
    return known(understood('encode', () => library.encode(text, { add_special_tokens: addSpecialTokens })).ids);
  }

  /**
   * Token ids of two texts in one sequence, as encoders read a question and an answer.
   * @param {string} text
   * @param {string} pair  the second text
   * @param {{addSpecialTokens?: boolean}} [options] addSpecialTokens: put the tokens around and between them that the
   *   tokenizer prescribes; default true
   * @returns {{ids: number[], tokenTypes: number[]}}  tokenTypes: the type of each token, for BERT 0 in the first text
   *   and 1 in the second
   * @throws {GlassformerError} `bad-tokenizer`: the vocabulary cannot express the texts, or the tokenizer has no rule
   *   for pairs
   */
  encodePair(text, pair, options) {
    checkedText(text, 'the text');
    checkedText(pair, 'the second text');
    const { addSpecialTokens = true } = checkedOptions('encodePair', options, { addSpecialTokens: flag });
    const library = this.#lib;
    const { ids, token_type_ids: types } = understood('encode', () =>
      library.encode(text, { text_pair: pair, add_special_tokens: addSpecialTokens, return_token_type_ids: true }),
    );
    const alone = this.encode(text, options).length + this.encode(pair, { addSpecialTokens: false }).length;
    if (ids.length < alone) fail('bad-tokenizer', 'the tokenizer has no rule for pairs of texts');
    return { ids: known(ids), tokenTypes: types?.length === ids.length ? types : ids.map(() => 0) };
  }

  /**
   * The text of token ids.
   * @param {ArrayLike<number>} ids
   * @param {{skipSpecialTokens?: boolean}} [options] skipSpecialTokens: leave them out; default false, which gives
   *   their names
   * @returns {string}
   * @throws {GlassformerError} `bad-token`
   */
  decode(ids, options) {
    const { skipSpecialTokens = false } = checkedOptions('decode', options, { skipSpecialTokens: flag });
    const list = listOf(ids);
    for (const id of list) {
      if (!this.knows(id)) fail('bad-token', `${show(id)} is not the id of a token`);
    }
    if (!list.length) return '';
    const library = this.#lib;
    this.#pieceModel?.decodable(library.model, list);
    return understood('decode', () => library.decode(list, { skip_special_tokens: skipSpecialTokens }));
  }

  /**
   * Whether an id belongs to a token. A model's embedding may have more rows than there are tokens.
   * @param {number} id
   * @returns {boolean}
   */
  knows(id) {
    const library = this.#lib;
    if (!Number.isInteger(id)) return false;
    return this.#pieceModel ? id >= 0 && id < this.#pieceModel.texts.size : library.id_to_token(id) !== undefined;
  }

  /**
   * A token's text as it stands inside a sentence. Bytes that are part of a character give U+FFFD, an unused id gives
   * ''.
   * @param {number} id
   * @returns {string}
   */
  idToText(id) {
    return this.knows(id) ? this.decode([...this.#anchor, id]).slice(this.#anchorLength) : '';
  }

  /**
   * The text that a token adds after any other token, or null where that depends on its neighbours.
   * @param {number} id
   * @returns {string | null}
   */
  piece(id) {
    let piece = this.#pieces.get(id);
    if (piece === undefined) {
      const text = this.#joins && !this.special.has(id) ? this.idToText(id) : '';
      this.#pieces.set(id, (piece = text && !text.includes('\ufffd') ? text : null));
    }
    return piece;
  }

  /**
   * Decode one token at a time. The pieces together are the text that follows that of `prior`; after a special token a
   * new text begins.
   * @param {ArrayLike<number>} [prior]  ids that come before
   * @param {{skipSpecialTokens?: boolean}} [options]  skipSpecialTokens: leave them out; default false
   * @returns {TextStream}
   * @example
   * const tokenizer = await Tokenizer.load('stories-1m.gguf');
   * const stream = tokenizer.stream();
   * let text = '';
   * for (const id of tokenizer.encode('a red ball', { addSpecialTokens: false })) text += stream.push(id);
   * console.log(text + stream.end());                                     // a red ball
   */
  stream(prior = [], options) {
    const ids = listOf(prior)
      .slice(-8)
      .filter((id) => this.knows(id));
    const begin = ids.reduce((at, id, i) => (this.special.has(id) ? i + 1 : at), 0);
    return new TextStream(this, ids.slice(begin), options);
  }
}

/**
 * @param {unknown} ids
 * @returns {any[]}
 */
function listOf(ids) {
  return (
    readValue('ids', () =>
      entriesOf(ids, LIMITS.ids, (n) => fail('bad-argument', `ids has ${n} entries, at most ${LIMITS.ids} are taken`)),
    ) ?? fail('bad-argument', `ids is ${show(ids)}, expected a list of token ids`)
  );
}

/**
 * Ids that the library found; throws when it found none for a part of the text.
 * @param {(number | undefined)[]} ids
 * @returns {number[]}
 */
function known(ids) {
  if (ids.includes(undefined)) fail('bad-tokenizer', 'the text holds something that is not in the vocabulary');
  return /** @type {number[]} */ (ids);
}

/**
 * Run a function of the library. Errors in parts of a tokenizer that the library does not check at construction appear
 * in it as `bad-tokenizer`.
 * @template T
 * @param {string} what
 * @param {() => T} use
 * @returns {T}
 */
function understood(what, use) {
  try {
    return use();
  } catch (e) {
    return fail('bad-tokenizer', `the tokenizer cannot ${what}: ${messageOf(e)}`, e);
  }
}

/** Tokens that stay as context, so that decoders never see a later place as the start of a text. */
const CONTEXT = 4;
/** Most tokens of the window: bytes that never complete a character must not let it grow without bound. */
const MAX_WINDOW = 64;

/**
 * Decodes tokens one at a time. A character whose bytes are spread over several tokens is delivered when it is
 * complete. Made by `Tokenizer.stream`.
 */
export class TextStream {
  /**
   * @ignore
   * @param {Tokenizer} tokenizer
   * @param {number[]} prior
   * @param {{skipSpecialTokens?: boolean}} [options]
   */
  constructor(tokenizer, prior, options) {
    this.tokenizer = tokenizer;
    this.options = options;
    /** @type {number[]} the last tokens, decoded together each time */
    this.window = prior;
    const text = this.decode();
    /** Whether the last character is not whole yet. */
    this.half = text.endsWith('\ufffd');
    /** Characters of the window's text that were delivered; -1: all, not counted yet. */
    this.shown = text.length - Number(this.half);
  }

  decode() {
    return this.tokenizer.decode(this.window, this.options);
  }

  /**
   * Add a token.
   * @param {number} id
   * @returns {string} the text that is now whole, '' while it is half a character or where the vocabulary has no such
   *   token
   */
  push(id) {
    const { tokenizer, window } = this;
    const piece =
      this.half || !window.length || tokenizer.special.has(window[window.length - 1]) ? null : tokenizer.piece(id);
    if (piece === null && !tokenizer.knows(id)) return '';
    if (this.shown < 0 && piece === null) this.shown = this.decode().length;
    window.push(id);
    if (piece !== null) {
      this.shown = -1;
      if (window.length > 2 * CONTEXT) window.splice(0, window.length - CONTEXT);
      return piece;
    }
    const text = this.decode();
    // bytes that a later token may complete decode to one U+FFFD at the very end
    this.half = text.endsWith('\ufffd') && window.length < MAX_WINDOW;
    const end = this.half ? text.length - 1 : text.length;
    const out = text.slice(this.shown, end);
    this.shown = end;
    if (!this.half && window.length > 2 * CONTEXT) {
      window.splice(0, window.length - CONTEXT);
      this.shown = -1;
    }
    return out;
  }

  /**
   * The text that is still withheld: bytes of an incomplete character.
   * @returns {string}
   */
  end() {
    if (!this.half) return '';
    const text = this.decode();
    const out = text.slice(this.shown);
    this.shown = text.length;
    this.half = false;
    return out;
  }
}

/**
 * Whether a decoder's result for a token is independent of its place, except at the start of a text.
 * @param {Json | null | undefined} decoder
 * @returns {boolean}
 */
function joins(decoder) {
  switch (decoder?.type) {
    case 'ByteLevel':
    case 'ByteFallback':
    case 'Fuse':
    case 'Metaspace':
      return true;
    case 'Replace':
      return decoder.pattern?.String?.length === 1;
    case 'Strip':
      return !decoder.stop;
    case 'Sequence':
      return Array.isArray(decoder.decoders) && decoder.decoders.every(joins);
    default:
      return false;
  }
}

/**
 * Checks that the library lacks. The merges of a BPE must join known tokens to a known token, as the reference
 * implementation demands.
 * @param {Json} json
 * @returns {{model: Json, added_tokens: Json[]}}
 */
function check(json) {
  /**
   * @param {string} why
   * @returns {never}
   */
  const refuse = (why) => fail('bad-tokenizer', `tokenizer: ${why}`);
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    refuse(`expected an object, found ${show(json)}`);
  const { model, added_tokens: added = [] } = json;
  if (pieceModels.has(model)) return { model, added_tokens: added }; // made from checked parts
  if (model === null || typeof model !== 'object') refuse('there is no model in it');
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
  if (!Array.isArray(added)) refuse('added_tokens is not a list');
  for (const t of added) {
    if (typeof t?.content !== 'string' || !isId(t.id)) refuse(`the added token ${show(t)} has no content or no id`);
  }
  if (type === 'Unigram') {
    const fine =
      Array.isArray(model.vocab) &&
      model.vocab.every(
        (/** @type {any} */ v) => Array.isArray(v) && typeof v[0] === 'string' && Number.isFinite(v[1]),
      );
    if (!fine || !model.vocab.length) refuse('the vocabulary is not a list of tokens with scores');
    return { model: { ...model, type }, added_tokens: added };
  }
  const { vocab, merges } = model;
  if (vocab === null || typeof vocab !== 'object' || Array.isArray(vocab)) refuse('the vocabulary is not an object');
  const ids = new Set();
  for (const [token, id] of Object.entries(vocab)) {
    if (!isId(id)) refuse(`the token ${show(token)} has the id ${show(id)}`);
    if (ids.has(id)) refuse(`the id ${id} belongs to two tokens, one of them ${show(token)}`);
    ids.add(id);
  }
  if (!ids.size && !added.length) refuse('the vocabulary is empty');
  if (type === 'WordPiece') return { model: wordPiece(model, refuse), added_tokens: added };
  if (!Array.isArray(merges)) refuse('the merges are missing');
  const prefix = (model.continuing_subword_prefix ?? '').length;
  const pairs = merges.map((/** @type {any} */ m) => {
    const pair = typeof m === 'string' ? m.split(' ') : m;
    if (!Array.isArray(pair) || pair.length !== 2 || !pair.every((p) => typeof p === 'string' && p))
      refuse(`the merge ${show(m)} is not two tokens`);
    for (const token of [pair[0], pair[1], pair[0] + pair[1].slice(prefix)]) {
      if (!Object.hasOwn(vocab, token))
        refuse(`the merge ${show(m)} needs the token ${show(token)}, which is not in the vocabulary`);
    }
    return pair;
  });
  return { model: { ...model, type, merges: pairs }, added_tokens: added };
}

/**
 * The model of a WordPiece vocabulary, whose ids are checked.
 * @param {Json} model
 * @param {(why: string) => never} refuse
 * @returns {Json}
 */
function wordPiece(model, refuse) {
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

/** @param {unknown} id */
const isId = (id) => Number.isInteger(id) && Number(id) >= 0 && Number(id) < MAX_ID;

/**
 * A byte order mark inside a text is a character like any other; the library's byte decoders drop it.
 * @param {any} decoder
 */
function keepBom(decoder) {
  if (!decoder) return;
  if (decoder.text_decoder) decoder.text_decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  decoder.decoders?.forEach(keepBom);
}
