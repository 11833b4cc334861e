// sentencepiece_vocab.js - SentencePiece vocabularies, of GGUF, of llama2.c and of SentencePiece's own files, in the
// form of a tokenizer.json
import { Texts, TokenTexts } from './packed_texts.js';
import { USER_DEFINED, sharedFields, pieceModels } from './tokenizer_json.js';

/** @import { VocabularyBase } from './tokenizer_json.js' */

/** `type` of a SentencePieces model in a saved tokenizer. A tokenizer.json of Hugging Face never has it. */
export const PIECES = 'SentencePieces';

/** How SentencePiece cuts a text into tokens. @typedef {'BPE' | 'Unigram' | 'word' | 'character'} Kind */

/** A SentencePiece vocabulary as the model of a tokenizer.json. */
export class SentencePieces {
  /**
   * @param {TokenTexts} texts
   * @param {ArrayLike<number>} types   of GGUF, by id
   * @param {ArrayLike<number>} scores  by id
   * @param {number} unk  id of the unknown token
   * @param {Kind} [kind]
   * @param {boolean} [splitsUnused]  unused tokens are made and then taken apart again, as in SentencePiece; llama.cpp
   *   does not make them
   */
  constructor(texts, types, scores, unk, kind = 'BPE', splitsUnused = false) {
    this.texts = texts;
    this.types = types;
    this.scores = scores;
    this.unk = unk;
    this.kind = kind;
    this.splitsUnused = splitsUnused;
    pieceModels.add(this);
  }

  /** JSON has no infinite numbers: they become the largest double, which no score, an f32, can reach. */
  toJSON() {
    const { texts, types, scores, unk, kind, splitsUnused } = this;
    const most = Number.MAX_VALUE;
    return {
      type: PIECES,
      texts: texts.toArray(),
      types: Array.from(types),
      scores: Array.from(scores, (s) => Math.min(Math.max(s, -most), most)),
      unk,
      kind,
      splitsUnused,
    };
  }

  /** @param {ReturnType<SentencePieces['toJSON']>} json */
  static fromJSON({ texts, types, scores, unk, kind, splitsUnused }) {
    return new SentencePieces(new TokenTexts(Texts.from(texts)), types, scores, unk, kind, splitsUnused);
  }
}

/**
 * A SentencePiece vocabulary.
 * @typedef {VocabularyBase & {scores: ArrayLike<number>, unk: number, prefix: boolean}} Pieces
 *   prefix: a space is put before every text
 */

/**
 * A vocabulary of merges in the form of a tokenizer.json.
 * @param {Pieces & {space?: string}} vocabulary  space: the character that stands for a space in the tokens
 */
export function sentencePieceJson({ scores, unk, prefix, space = '\u2581', ...base }) {
  const steps = [
    ...(prefix ? [{ type: 'Prepend', prepend: space }] : []),
    { type: 'Replace', pattern: { String: ' ' }, content: space },
  ];
  return {
    ...sharedFields(base),
    normalizer: { type: 'Sequence', normalizers: steps },
    pre_tokenizer: null,
    decoder: decoderOf(prefix, space),
    model: new SentencePieces(base.texts, base.types, scores, unk),
  };
}

/**
 * How a text is normalised before it is cut: SentencePiece's normalizer_spec, and treat_whitespace_as_suffix of its
 * trainer_spec.
 * @typedef {object} Rules
 * @property {Uint8Array | null} charsmap  the table by which characters are replaced
 * @property {boolean} single   several spaces count as one, and those at the ends are dropped
 * @property {boolean} [escapes]  a space becomes U+2581; true where it is not given
 * @property {boolean} [suffix]   the space of `prefix` comes after a text
 */

/**
 * A vocabulary of any kind in the form of a tokenizer.json, whose texts are normalised by the rules of its file.
 * @param {Pieces & Rules & {kind: Kind, ownPieces?: boolean}} vocabulary  ownPieces: user-defined tokens are pieces of
 *   a text, as in SentencePiece, and not cut out before
 */
export function piecesJson({ scores, unk, prefix, kind, ownPieces = false, charsmap, single, ...more }) {
  const { escapes = true, suffix = false, ...base } = more;
  const { texts, types } = base;
  const kept = ownPieces ? texts.toArray().filter((_, id) => types[id] === USER_DEFINED) : [];
  return {
    ...sharedFields({ ...base, isAdded: (type) => type !== USER_DEFINED || !ownPieces }),
    normalizer: {
      type: 'SentencePiece',
      precompiled_charsmap: charsmap ? base64(charsmap) : '',
      add_dummy_prefix: prefix,
      remove_extra_whitespaces: single,
      escape_whitespaces: escapes,
      treat_whitespace_as_suffix: suffix,
      kept,
    },
    pre_tokenizer: null,
    decoder: decoderOf(prefix && !suffix, '\u2581'),
    model: new SentencePieces(texts, types, scores, unk, kind, ownPieces),
  };
}

/**
 * @param {boolean} prefix
 * @param {string} space
 */
const decoderOf = (prefix, space) => ({
  type: 'Sequence',
  decoders: [
    { type: 'Replace', pattern: { String: space }, content: ' ' },
    { type: 'ByteFallbackEach' },
    { type: 'Fuse' },
    ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
  ],
});

/**
 * Bytes as base64, the form in which a tokenizer.json holds them.
 * @param {Uint8Array} bytes
 */
function base64(bytes) {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
