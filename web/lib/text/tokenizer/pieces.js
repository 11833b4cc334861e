// pieces.js - the model of a SentencePiece vocabulary, by SentencePiece's rules
import { BYTE, NORMAL, UNUSED, USER_DEFINED } from '../../files/vocabulary/tokenizer_json.js';
import { show } from '../../base/errors.js';
import { refuse } from './component.js';
import { Merges, Word } from './merges.js';
import { Lattice } from './unigram.js';
import { byteToken } from './vocabulary.js';

/** @import { SentencePieces } from '../../files/vocabulary/sentencepiece_vocab.js' */
/** @import { Model } from './bpe.js' */

/** Pairs that are remembered. */
const MOST_PAIRS = 1 << 20;

/** @type {Record<SentencePieces['kind'], (pieces: SentencePieces) => Model['tokenise']>} */
const KINDS = {
  BPE(pieces) {
    const merging = new ScoredMerges(pieces);
    return (text, out) => merging.tokenise(text, out);
  },
  Unigram(pieces) {
    const { types, scores, texts } = pieces;
    let [least, most] = [Infinity, 2 ** -126]; // SentencePiece begins with FLT_MIN
    for (let id = 0; id < texts.size; id++)
      if (types[id] === NORMAL) {
        if (!Number.isFinite(scores[id])) refuse(`the token ${show(texts.text(id))} has the score ${scores[id]}`);
        least = Math.min(least, scores[id]);
        most = Math.max(most, scores[id]);
      }
    const scoreOf = (/** @type {number} */ id, /** @type {number} */ size) =>
      types[id] === NORMAL ? scores[id] : types[id] === USER_DEFINED ? Math.fround(size * most) - 0.1 : NaN;
    const lattice = new Lattice(texts, {
      scoreOf,
      least,
      unk: pieces.unk,
      hasBytes: hasBytes(pieces),
      joins: false,
      round: Math.fround,
    });
    return (text, out) => lattice.tokenise(text, out);
  },
  word(pieces) {
    const symbols = new PieceSymbols(pieces);
    return (text, out) => {
      for (const word of text.split(/(?=\u2581)/)) symbols.writeId(pieces.texts.get(word) ?? -1, word, out);
      symbols.end(out);
    };
  },
  character(pieces) {
    const symbols = new PieceSymbols(pieces);
    return (text, out) => {
      symbols.each(text, (id, character) => symbols.writeId(id, character, out));
      symbols.end(out);
    };
  },
};

/** @param {SentencePieces} pieces */
const hasBytes = ({ types }) => Array.prototype.includes.call(types, BYTE);

/** @param {SentencePieces} pieces @returns {Model} */
export const sentencePieceModel = (pieces) => ({
  texts: pieces.texts,
  unk: pieces.unk,
  tokenise: KINDS[pieces.kind](pieces),
});

/** The characters of a text as ids, and ids of unknown ones as bytes or as the unknown token. */
class PieceSymbols {
  /** Whether the last token written was the unknown one, which stands for all unknown neighbours. */
  #isUnknown = false;
  /** Ids by character. @type {Map<string, number>} */
  #ids = new Map();

  /** @param {SentencePieces} pieces */
  constructor(pieces) {
    this.pieces = pieces;
    this.hasBytes = hasBytes(pieces);
    const own = [];
    for (let id = 0; id < pieces.texts.size; id++)
      if (pieces.types[id] === USER_DEFINED) own.push(/** @type {string} */ (pieces.texts.text(id)));
    const escaped = own.sort((a, b) => b.length - a.length).map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
    /** A user-defined piece, or one character. */
    this.pattern = new RegExp(`${escaped.map((text) => `${text}|`).join('')}[^]`, 'gu');
  }

  /**
   * @param {string} text
   * @param {(id: number, symbol: string) => void} visit  id: -1 for what is not a token
   */
  each(text, visit) {
    for (const [symbol] of text.matchAll(this.pattern)) {
      let id = this.#ids.get(symbol);
      if (id === undefined) {
        id = this.pieces.texts.get(symbol) ?? -1;
        if (this.#ids.size < MOST_PAIRS) this.#ids.set(symbol, id);
      }
      visit(id, symbol);
    }
  }

  /**
   * @param {number} id
   * @param {string} symbol  its text, which decides where id is -1
   * @param {number[]} out
   */
  writeId(id, symbol, out) {
    const isUnknown = id < 0 || id === this.pieces.unk;
    if (!isUnknown) out.push(id);
    else if (this.hasBytes)
      for (const byte of new TextEncoder().encode(symbol))
        out.push(this.pieces.texts.get(byteToken(byte)) ?? this.pieces.unk);
    else if (!this.#isUnknown) out.push(this.pieces.unk);
    this.#isUnknown = isUnknown && !this.hasBytes;
  }

  /** The end of a text. @param {number[]} _out */
  end(_out) {
    this.#isUnknown = false;
  }
}

/**
 * The pairs of a vocabulary that has scores in place of merges: neighbours are joined whose union is a token, the best
 * score first. They are found when they are needed: 32,000 tokens have 60,000 pairs, and a text has few of them.
 */
class ScoredMerges {
  #pairs = new Merges(1 << 10);
  #word = new Word();
  /** The scores of all tokens, in order. @type {Float64Array | null} */
  #ascending = null;
  /** Ids below 0 stand for characters that are not tokens: -2 less their code point. */
  #symbols;
  /** What an unused token was made of in this text. @type {Map<number, number>} */
  #parts = new Map();

  /** @param {SentencePieces} pieces */
  constructor(pieces) {
    this.pieces = pieces;
    this.#symbols = new PieceSymbols(pieces);
  }

  get left() {
    return this.#pairs.left;
  }

  get right() {
    return this.#pairs.right;
  }

  get made() {
    return this.#pairs.made;
  }

  get ranks() {
    return this.#pairs.ranks;
  }

  /**
   * @param {number} a
   * @param {number} b
   * @returns {number} the entry of a pair, whose `made` is -1 where it is not joined
   */
  find(a, b) {
    let entry = this.#pairs.find(a, b);
    if (entry < 0) entry = this.#add(a, b);
    const made = this.#pairs.made[entry];
    if (made >= 0 && this.pieces.types[made] === UNUSED) this.#parts.set(made, entry);
    return entry;
  }

  /** @param {number} a @param {number} b */
  #add(a, b) {
    const { texts, types } = this.pieces;
    const isFrozen = (/** @type {number} */ id) => types[id] === USER_DEFINED;
    let made = -1;
    if (!isFrozen(a) && !isFrozen(b)) {
      const end = this.#write(b, this.#write(a, 0));
      made = texts.find(texts.scratch, 0, end);
      if (made >= 0 && types[made] !== NORMAL && !(types[made] === UNUSED && this.pieces.splitsUnused)) made = -1;
    }
    return this.#pairs.set(a, b, made, made < 0 ? 0 : this.#rank(made));
  }

  /** Write the text of a symbol into the scratch of the texts. @param {number} id @param {number} at */
  #write(id, at) {
    const { texts } = this.pieces;
    const text = id < 0 ? String.fromCodePoint(-2 - id) : /** @type {string} */ (texts.text(id));
    return texts.write(text, at);
  }

  /** The number of tokens with a better score. @param {number} id */
  #rank(id) {
    const { scores, texts } = this.pieces;
    const score = Number(scores[id]);
    if (!this.#ascending) {
      this.#ascending = new Float64Array(texts.size);
      for (let each = 0; each < texts.size; each++) this.#ascending[each] = Number(scores[each]);
      this.#ascending.sort();
    }
    let [low, high] = [0, texts.size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ascending[middle] <= score) low = middle + 1;
      else high = middle;
    }
    return texts.size - low;
  }

  /**
   * @param {string} text
   * @param {number[]} out
   */
  tokenise(text, out) {
    if (this.#pairs.size > MOST_PAIRS) this.#pairs = new Merges(1 << 10);
    const word = this.#word;
    this.#symbols.each(text, (id, symbol) =>
      word.push(id < 0 ? -2 - /** @type {number} */ (symbol.codePointAt(0)) : id),
    );
    this.#parts.clear();
    /** @type {number[]} */
    const ids = [];
    word.join(this, ids);
    for (const id of ids) this.#emit(id, out);
    this.#symbols.end(out);
  }

  /** @param {number} id @param {number[]} out */
  #emit(id, out) {
    const entry = id >= 0 && this.pieces.types[id] === UNUSED ? this.#parts.get(id) : undefined;
    if (entry === undefined) {
      this.#symbols.writeId(id, id < 0 ? String.fromCodePoint(-2 - id) : '', out);
      return;
    }
    this.#emit(this.#pairs.left[entry], out);
    this.#emit(this.#pairs.right[entry], out);
  }
}
