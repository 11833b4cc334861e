// bpe.js - the model BPE of a tokenizer.json (Sennrich et al. 2016)
import { show } from '../../base/errors.js';
import { refuse } from './component.js';
import { Merges, Word } from './merges.js';
import { byteToken, vocabularyOf } from './vocabulary.js';

/** @import { Component } from './component.js' */
/** @import { TokenTexts } from '../../files/vocabulary/packed_texts.js' */
/**
 * Cuts a word into tokens: appends their ids.
 * @typedef {{texts: TokenTexts, tokenise: (word: string, out: number[]) => void, unk: number}} Model  unk: id of the
 *   token for unknown characters, -1 without one
 */

const utf8 = new TextEncoder();
const SPACE = 32;
/** The id of a character that was not looked up yet. */
const UNSEEN = -2;

/** @param {Component} options @returns {Model} */
export function bpe(options) {
  const texts = vocabularyOf(options.json.vocab);
  const prefix = options.text('continuing_subword_prefix', '');
  const { merges: list } = options.json;
  const merges = list?.texts === texts ? Merges.of(list) : mergesOf(list, texts, prefix);
  const dropout = options.json.dropout ?? 0;
  if (dropout !== 0) options.refuse(`dropout is ${show(dropout)}, which makes ids random; expected 0`);
  const unkToken = options.text('unk_token', '');
  const symbols = new Symbols(texts, {
    prefix,
    suffix: options.text('end_of_word_suffix', ''),
    hasBytes: options.flag('byte_fallback', false),
    unkToken: options.json.unk_token ?? null,
    fuses: options.flag('fuse_unk', false),
  });
  const takesWords = options.flag('ignore_merges', false);
  const word = new Word();
  return {
    texts,
    unk: unkToken ? (texts.get(unkToken) ?? -1) : -1,
    tokenise(text, out) {
      const whole = takesWords ? texts.get(text) : undefined;
      if (whole !== undefined) return void out.push(whole);
      symbols.write(text, word);
      word.join(merges, out);
    },
  };
}

/**
 * The pairs of a vocabulary. Both tokens and their union must be in it, as in the Rust library; a pair that stands
 * twice has its last rank.
 * @param {any} list  texts "a b", or pairs [a, b]
 * @param {TokenTexts} texts
 * @param {string} prefix  prefix of tokens that do not begin a word; the union lacks that of its second token
 * @returns {Merges}
 */
function mergesOf(list, texts, prefix) {
  if (!Array.isArray(list)) refuse('the merges are missing');
  const merges = new Merges(list.length);
  const skipped = utf8.encode(prefix).length;
  let made = -1;
  for (let rank = 0; rank < list.length; rank++) {
    const merge = list[rank];
    if (rank === 0 && typeof merge === 'string' && merge.startsWith('#version')) continue;
    let middle = 0;
    let end = 0;
    if (typeof merge === 'string') {
      end = texts.write(merge, 0) - 1;
      const bytes = texts.scratch;
      while (middle <= end && bytes[middle] !== SPACE) middle++;
      if (middle > end) notAPair(merge);
      for (let i = middle; i < end; i++) if ((bytes[i] = bytes[i + 1]) === SPACE) notAPair(merge);
    } else if (Array.isArray(merge) && merge.length === 2 && merge.every((part) => typeof part === 'string'))
      end = texts.write(merge[1], (middle = texts.write(merge[0], 0)));
    else notAPair(merge);
    const { scratch } = texts;
    const a = texts.find(scratch, 0, middle);
    const b = texts.find(scratch, middle, end);
    if (skipped) scratch.copyWithin(middle, middle + skipped, end);
    // most merges make the same token as the one before or the next one
    const size = Math.max(0, end - skipped);
    if (!texts.is(made, scratch, 0, size) && !texts.is(++made, scratch, 0, size)) made = texts.find(scratch, 0, size);
    if (a < 0 || b < 0 || made < 0 || end - middle < skipped)
      missing(typeof merge === 'string' ? merge.split(' ') : merge, prefix, texts);
    merges.set(a, b, made, rank);
  }
  return merges;
}

/** @param {unknown} merge @returns {never} */
const notAPair = (merge) => refuse(`the merge ${show(merge)} is not two tokens`);

/**
 * Refuse a merge by the token that it needs.
 * @param {string[]} merge  two tokens
 * @param {string} prefix
 * @param {TokenTexts} texts
 * @returns {never}
 */
function missing([a, b], prefix, texts) {
  const token = [a, b].find((each) => !texts.has(each)) ?? a + b.slice(prefix.length);
  return refuse(`the merge ${show(`${a} ${b}`)} needs the token ${show(token)}, which is not in the vocabulary`);
}

/** The characters of words as ids, before any are joined. */
class Symbols {
  /** Ids of the characters of the first plane. */
  #ids = new Int32Array(1 << 16).fill(UNSEEN);

  /**
   * @param {TokenTexts} texts
   * @param {{prefix: string, suffix: string, hasBytes: boolean, unkToken: string | null, fuses: boolean}} options
   */
  constructor(texts, options) {
    this.texts = texts;
    this.options = options;
  }

  /** @param {string} text  one character, with what stands before or after it @returns {number} -1: not a token */
  #id(text) {
    if (text.length > 1) return this.texts.get(text) ?? -1;
    const unit = text.charCodeAt(0);
    if (this.#ids[unit] === UNSEEN) this.#ids[unit] = this.texts.get(text) ?? -1;
    return this.#ids[unit];
  }

  /**
   * The order of the Rust library: bytes of a character come before the unknown token of those before it.
   * @param {string} text
   * @param {Word} word  whose symbols are added
   */
  write(text, word) {
    const { prefix, suffix, hasBytes, unkToken, fuses } = this.options;
    let waits = false;
    for (let i = 0; i < text.length;) {
      const size = /** @type {number} */ (text.codePointAt(i)) > 0xffff ? 2 : 1;
      let character = text.slice(i, i + size);
      if (i && prefix) character = prefix + character;
      i += size;
      if (suffix && i === text.length) character += suffix;
      const id = this.#id(character);
      if (id >= 0) {
        if (waits) word.push(this.#unk());
        waits = false;
        word.push(id);
      } else if (!(hasBytes && this.#writeBytes(character, word)) && unkToken !== null) {
        if (waits && !fuses) word.push(this.#unk());
        else this.#unk();
        waits = true;
      }
    }
    if (waits) word.push(this.#unk());
  }

  #unk() {
    const text = this.options.unkToken ?? '';
    return this.texts.get(text) ?? refuse(`the unknown token ${show(text)} is not in the vocabulary`);
  }

  /** @param {string} text @param {Word} word @returns {boolean} whether each byte has a token */
  #writeBytes(text, word) {
    const ids = Array.from(utf8.encode(text), (byte) => this.texts.get(byteToken(byte)) ?? -1);
    if (ids.includes(-1)) return false;
    for (const id of ids) word.push(id);
    return true;
  }
}
