/// <reference lib="esnext.disposable" preserve="true" />
// tokenizer.js - text to ids and back, a thin layer over @huggingface/tokenizers
//
// Vocabularies of GGUF files and of llama2.c arrive in the form of a tokenizer.json (files/vocabulary/gguf_vocab.js).
// This file adds lossless decoding; tokenizers/ has the checks that the library lacks, and the stream of
// `Tokenizer.stream`.
import { Tokenizer as Library } from '@huggingface/tokenizers';
import { fail, guardedAsync, messageOf, show } from '../base/errors.js';
import {
  addressed,
  fileOrObject,
  callback,
  entriesOf,
  flag,
  isStreamed,
  checkedOptions,
  signal,
  checkedText,
  word,
} from '../base/checks.js';
import { openTokenizer } from '../files/source.js';
import { checkedJson } from '../files/vocabulary/check_tokenizer_json.js';
import { TextStream } from './text_stream.js';
import { pieceModels } from '../files/vocabulary/tokenizer_json.js';

/** @typedef {Record<string, any>} Json */

/**
 * Text to token ids and back, in the calling thread. Comes from `model.tokenizer`, `Tokenizer.load` or
 * `Training.tokenizer`. Methods throw a GlassformerError: `bad-argument` for arguments of the wrong type, `bad-state`
 * after `dispose`.
 */
export class Tokenizer {
  /** The library's tokenizer; null once disposed. @type {any} */
  #library;
  /** The tokenizer.json it was built from. @type {Json | null} */
  #json;
  /**
   * The SentencePiece vocabulary; null: of another kind.
   * @type {import('../files/vocabulary/sentencepiece_vocab.js').SentencePieces | null}
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
    const { model, added_tokens: added } = checkedJson(/** @type {Json} */ (json));
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
   * @param {import('../files/source.js').Bytes | import('../base/streamed.js').Streamed | object} file
   *   tokenizer.json, a GGUF, llama2.c's tokenizer.bin, or a parsed tokenizer.json
   * @param {Pick<import('../files/opened_files.js').OpenOptions,
   *   'fetch' | 'signal' | 'onBytes' | 'hfEndpoint'>} [options]
   * @returns {Promise<Tokenizer>}
   * @throws {GlassformerError} `bad-tokenizer`, `not-found`, `network`, `unsupported`
   * @example
   * const tokenizer = await Tokenizer.load('stories-1m.gguf');
   * console.log(tokenizer.vocabSize);                                     // 2048
   * console.log(tokenizer.decode(tokenizer.encode('a red ball')));        // <|endoftext|>a red ball
   */
  static async load(file, options) {
    const checks = { fetch: callback, signal, onBytes: callback, hfEndpoint: word };
    const given = checkedOptions('Tokenizer.load', options, checks);
    const from = fileOrObject(file, 'the tokenizer');
    return guardedAsync(async () => {
      if (!isStreamed(from)) return new Tokenizer(await openTokenizer(from, given));
      const { source, fetch } = await addressed({ weights: null, tokenizer: from }, given.fetch);
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
  return entriesOf(ids) ?? fail('bad-argument', `ids is ${show(ids)}, expected a list of token ids`);
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
 * A byte order mark inside a text is a character like any other; the library's byte decoders drop it.
 * @param {any} decoder
 */
function keepBom(decoder) {
  if (!decoder) return;
  if (decoder.text_decoder) decoder.text_decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  decoder.decoders?.forEach(keepBom);
}
