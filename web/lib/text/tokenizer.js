/// <reference lib="esnext.disposable" preserve="true" />
// tokenizer.js - text to ids and back: the public calls over the steps of tokenizer/pipeline.js
//
// Vocabularies of GGUF files and of llama2.c arrive in the form of a tokenizer.json (files/vocabulary/gguf_vocab.js).
import { fail, guardedAsync, show } from '../base/errors.js';
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
import { TextStream } from './text_stream.js';
import { Pipeline } from './tokenizer/pipeline.js';

/** @typedef {Record<string, any>} Json */

/**
 * Text to token ids and back, in the calling thread. Comes from `model.tokenizer`, `Tokenizer.load` or
 * `Training.tokenizer`. Methods throw a GlassformerError: `bad-argument` for arguments of the wrong type, `bad-state`
 * after `dispose`.
 */
export class Tokenizer {
  /** The steps of encoding and decoding; null once disposed. @type {Pipeline | null} */
  #pipeline;
  /** The tokenizer.json it was built from. @type {Json | null} */
  #json;
  /** Whether a decoder's result for a token is independent of its place, except at the start of a text. */
  #joins;
  /**
   * An ordinary token that is put before another one, since decoders treat the first token differently, and the length
   * of its text. @type {{ids: number[], length: number} | null}
   */
  #anchor = null;
  /** @type {Map<number, string | null>} */
  #pieces = new Map();

  /**
   * @param {object} json  a parsed tokenizer.json
   * @throws {GlassformerError} `bad-tokenizer`, `unsupported`: names a component that the tokenizer.json has and this
   *   package has not
   */
  constructor(json) {
    const pipeline = (this.#pipeline = new Pipeline(/** @type {Json} */ (json)));
    this.#json = { ...json, added_tokens: pipeline.added };
    this.#joins = joins(/** @type {Json} */ (json).decoder);
    const ids = pipeline.added.map(({ id }) => id);
    /** One more than the largest id. @type {number} */
    this.vocabSize = ids.reduce((size, id) => Math.max(size, id + 1), pipeline.model.texts.size);
    /** Ids of special tokens. @type {Set<number>} */
    this.special = new Set(pipeline.added.filter(({ special }) => special).map(({ id }) => id));
  }

  /**
   * Read a tokenizer without its model.
   * @param {import('../files/source.js').Bytes | import('../base/stream_source.js').Streamed | object} file
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
   * @internal
   * @returns {string}
   */
  toText() {
    return JSON.stringify(this.#json ?? this.#gone());
  }

  /**
   * The tokens and what decodes them, for constrain/token_bytes.js.
   * @internal
   * @returns {import('./constrain/token_bytes.js').Parts}
   */
  parts() {
    const { model, added } = this.#steps;
    return { texts: model.texts, unk: model.unk, added, decoder: this.#json?.decoder };
  }

  get #steps() {
    return this.#pipeline ?? this.#gone();
  }

  /** @returns {never} */
  #gone() {
    return fail('bad-state', 'the tokenizer was disposed');
  }

  /** Free the vocabulary (about 20 MB for 50,000 tokens). No model or stream of a model needs it. */
  dispose() {
    this.#pipeline = this.#json = null;
    this.#pieces.clear();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * Token ids of a text.
   * @param {string} text  names of special tokens in it become those tokens; a BPE without an unknown token leaves out
   *   characters that it lacks, as in Hugging Face
   * @param {{addSpecialTokens?: boolean}} [options] addSpecialTokens: put the tokens around it that the tokenizer
   *   prescribes; default true, as in Hugging Face
   * @returns {number[]}
   * @throws {GlassformerError} `bad-tokenizer`: the vocabulary cannot express the text
   */
  encode(text, options) {
    checkedText(text, 'the text');
    const { addSpecialTokens = true } = checkedOptions('encode', options, { addSpecialTokens: flag });
    return this.#steps.encode([text], addSpecialTokens).ids;
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
    const { ids, types } = this.#steps.encode([text, pair], addSpecialTokens);
    const parts = [text, pair].map((each) => this.encode(each, { addSpecialTokens: false }).length);
    if (ids.length < parts[0] + parts[1]) fail('bad-tokenizer', 'the tokenizer has no rule for pairs of texts');
    return { ids, tokenTypes: types };
  }

  /**
   * Token ids of one text or two, of which the ends are left out where they have more than `most`.
   * @internal
   * @param {string[]} texts  one or two
   * @param {number} most
   * @param {boolean} addSpecialTokens
   * @returns {{ids: number[], tokenTypes: number[]}}
   */
  encodeWithin(texts, most, addSpecialTokens) {
    const { ids, types } = this.#steps.encode(texts, addSpecialTokens, most);
    return { ids, tokenTypes: types };
  }

  /**
   * Whether a token begins a word, as its text in the vocabulary says: it lacks the prefix of a WordPiece's
   * continuations, or has the space of another vocabulary.
   * @internal
   * @param {number} id
   */
  startsWord(id) {
    const text = this.#steps.tokenText(id) ?? '';
    const { type, continuing_subword_prefix: prefix = '##' } = this.#json?.model ?? {};
    return type === 'WordPiece' ? !text.startsWith(prefix) : /^[\s\u2581\u0120\u010a\u0109]/.test(text);
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
    return this.#steps.decode(list, skipSpecialTokens);
  }

  /**
   * Whether an id belongs to a token. A model's embedding may have more rows than there are tokens.
   * @param {number} id
   * @returns {boolean}
   */
  knows(id) {
    const steps = this.#steps;
    return Number.isInteger(id) && id >= 0 && steps.tokenText(id) !== undefined;
  }

  /**
   * A token's text as it stands inside a sentence. Bytes that are part of a character give U+FFFD, an unused id gives
   * ''.
   * @param {number} id
   * @returns {string}
   */
  idToText(id) {
    if (!this.knows(id)) return '';
    const { ids, length } = (this.#anchor ??= this.#findAnchor());
    return this.decode([...ids, id]).slice(length);
  }

  #findAnchor() {
    const ids = this.encode('a', { addSpecialTokens: false }).slice(-1);
    return { ids, length: this.decode(ids).length };
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
      if (!this.#anchor?.length) return null;
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
 * Whether a decoder's result for a token is independent of its place, except at the start of a text.
 * @param {Json | null | undefined} decoder
 * @returns {boolean}
 */
function joins(decoder) {
  switch (decoder?.type) {
    case 'ByteLevel':
    case 'ByteFallback':
    case 'ByteFallbackEach':
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
