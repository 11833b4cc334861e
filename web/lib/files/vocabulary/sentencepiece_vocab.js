// sentencepiece_vocab.js - SentencePiece vocabularies, of GGUF's "llama" kind and of llama2.c, in the form of a
// tokenizer.json
import { Texts, TokenTexts } from './packed_texts.js';
import { BYTE, NORMAL, UNUSED, sharedFields, pieceModels } from './tokenizer_json.js';

/** @import { VocabularyBase } from './tokenizer_json.js' */

/** `type` of a SentencePieces model in a saved tokenizer. A tokenizer.json of Hugging Face never has it. */
export const PIECES = 'SentencePieces';

/**
 * A SentencePiece vocabulary as the BPE model of a tokenizer.json. The rank of a merge is the number of tokens with a
 * better score than the merged token; among equal ranks the leftmost pair is merged. Ranks are computed when they are
 * needed, because 32,000 tokens have 60,000 merges and a text contains few of them: `merges` is empty.
 */
export class SentencePieces {
  type = 'BPE';
  fuse_unk = true;
  /** @type {string[][]} */
  merges = [];

  /** All scores in ascending order, sorted at the first use. @type {Float64Array | null} */
  #ascending = null;

  /**
   * @param {TokenTexts} texts
   * @param {ArrayLike<number>} types   of GGUF, by id
   * @param {ArrayLike<number>} scores  by id
   * @param {number} unk  id of the unknown token
   */
  constructor(texts, types, scores, unk) {
    this.texts = texts;
    this.types = types;
    this.scores = scores;
    this.unk = unk;
    this.unk_token = texts.text(unk);
    this.byte_fallback = Array.prototype.includes.call(types, BYTE);
    pieceModels.add(this);
  }

  /** JSON has no infinite numbers: they become the largest double, which no score, an f32, can reach. */
  toJSON() {
    const { texts, types, scores, unk } = this;
    const most = Number.MAX_VALUE;
    return {
      type: PIECES,
      texts: texts.toArray(),
      types: Array.from(types),
      scores: Array.from(scores, (s) => Math.min(Math.max(s, -most), most)),
      unk,
    };
  }

  /** @param {{texts: string[], types: number[], scores: number[], unk: number}} json  from toJSON */
  static fromJSON({ texts, types, scores, unk }) {
    return new SentencePieces(new TokenTexts(Texts.from(texts)), types, scores, unk);
  }

  get vocab() {
    return Object.fromEntries(this.texts.toArray().map((text, id) => [text, id]));
  }

  /** The model of a tokenizer.json without its vocabulary, from which the tokenizers library builds its own model. */
  get withoutVocabulary() {
    const { type, fuse_unk, byte_fallback, unk_token, merges } = this;
    return { type, fuse_unk, byte_fallback, unk_token, merges, vocab: {} };
  }

  /**
   * The rank of a merge. The library calls this like `get` of its Map of ranks.
   * @param {string} key  the pair as JSON
   * @returns {number | undefined}
   */
  get(key) {
    const [a, b] = JSON.parse(key);
    const id = this.normalId(a + b);
    return id === undefined || this.normalId(a) === undefined || this.normalId(b) === undefined
      ? undefined
      : this.countBetterScores(this.scores[id]);
  }

  /**
   * The id of an ordinary token; undefined for control tokens, bytes and unknown texts.
   * @param {string} text
   * @returns {number | undefined}
   */
  normalId(text) {
    const id = this.texts.get(text);
    return id !== undefined && this.types[id] === NORMAL ? id : undefined;
  }

  /**
   * Number of tokens with a better score.
   * @param {number} score
   */
  countBetterScores(score) {
    const ascending = (this.#ascending ??= Float64Array.from(this.scores).sort());
    let low = 0;
    let high = ascending.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ascending[middle] > score) high = middle;
      else low = middle + 1;
    }
    return ascending.length - low;
  }

  /**
   * Put this vocabulary into the library's model that was built from `withoutVocabulary`.
   * @param {any} model  of the library
   */
  installIn(model) {
    model.tokens_to_ids = this.texts;
    model.vocab = new Array(this.texts.size); // filled by `decodable`
    model.unk_token_id = this.unk;
    model.bpe_ranks = this;
  }

  /**
   * Give the library's model the texts of the tokens that it is going to decode.
   * @param {any} model
   * @param {number[]} ids
   */
  decodable({ vocab }, ids) {
    for (const id of ids) vocab[id] ??= this.texts.text(id);
  }
}

/**
 * A SentencePiece vocabulary of merges in the form of a tokenizer.json.
 * @typedef {VocabularyBase & {scores: ArrayLike<number>, unk: number, prefix: boolean, space?: string}} Pieces
 *   prefix: a space is put before every text; space: the character that stands for a space in the tokens
 * @param {Pieces} vocabulary
 */
export function sentencePieceJson({ scores, unk, prefix, space = '\u2581', ...base }) {
  return { ...spaceFields(base, prefix, space), model: new SentencePieces(base.texts, base.types, scores, unk) };
}

/**
 * Bytes as base64, the form in which a tokenizer.json holds them.
 * @param {Uint8Array} bytes
 */
const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

/** The start of a text that is not empty. */
export const NOT_EMPTY = '\\A(?!\\z)';

/**
 * A step that replaces what matches a pattern.
 * @param {{Regex?: string, String?: string}} pattern
 * @param {string} content
 */
const replacing = (pattern, content) => ({ type: 'Replace', pattern, content });

/** Put before the text of an unused token of a Unigram vocabulary, which a text must not become. */
export const UNUSED_MARK = '\0';

/**
 * A SentencePiece vocabulary of the Unigram kind (Kudo 2018) in the form of a tokenizer.json. The score of an unknown
 * character lies below that of every ordinary token; llama.cpp's converter gives others, such as the padding of the
 * vocabulary, scores far below, which do not count.
 * @param {Pieces & {single: boolean, charsmap: Uint8Array | null}} vocabulary  single: several spaces count as one, and
 *   those at the ends are dropped; charsmap: SentencePiece's table by which texts are normalised, null where there is
 *   none. The tokenizers library normalises by its own rules (NFKC); a written GGUF gets the table
 */
export function unigramJson({ scores, unk, prefix, space = '\u2581', single, charsmap, ...base }) {
  const before = [
    ...(charsmap ? [{ type: 'Precompiled', precompiled_charsmap: base64(charsmap) }] : []),
    ...(single ? [replacing({ Regex: ' {2,}' }, ' '), replacing({ Regex: '\\A | \\z' }, '')] : []),
  ];
  const { types } = base;
  const vocab = base.texts
    .toArray()
    .map((text, id) => [types[id] === UNUSED ? UNUSED_MARK + text : text, types[id] === NORMAL ? scores[id] : 0]);
  const mark = single ? replacing({ Regex: NOT_EMPTY }, space) : undefined; // none for a text of spaces alone
  const { decoder, ...fields } = spaceFields(base, prefix, space, before, mark);
  if (Array.prototype.includes.call(types, UNUSED)) decoder.decoders.unshift(replacing({ String: UNUSED_MARK }, ''));
  return { ...fields, decoder, model: { type: 'Unigram', unk_id: unk, vocab, byte_fallback: false } };
}

/**
 * What both kinds have in common.
 * @param {VocabularyBase} base
 * @param {boolean} prefix
 * @param {string} space
 * @param {object[]} [before]  normalizers before those of spaces
 * @param {object} [mark]  the normalizer that puts a space before a text
 */
const spaceFields = (base, prefix, space, before = [], mark = { type: 'Prepend', prepend: space }) => ({
  ...sharedFields(base),
  normalizer: {
    type: 'Sequence',
    normalizers: [...before, ...(prefix ? [mark] : []), { type: 'Replace', pattern: { String: ' ' }, content: space }],
  },
  pre_tokenizer: null,
  decoder: {
    type: 'Sequence',
    decoders: /** @type {object[]} */ ([
      { type: 'Replace', pattern: { String: space }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
    ]),
  },
});
