// word_models.js - the models WordPiece (Schuster and Nakajima 2012) and WordLevel of a tokenizer.json
import { show } from '../../base/errors.js';
import { refuse } from './component.js';
import { vocabularyOf } from './vocabulary.js';

/** @import { Component } from './component.js' */
/** @import { Model } from './bpe.js' */

/** A word is one token. @param {Component} options @returns {Model} */
export function wordLevel(options) {
  const texts = vocabularyOf(options.json.vocab);
  const unkToken = options.text('unk_token', '<unk>');
  const unk = texts.get(unkToken);
  return {
    texts,
    unk: unk ?? -1,
    tokenise(word, out) {
      const id = texts.get(word) ?? unk;
      if (id === undefined)
        refuse(`the word ${show(word)} and the unknown token ${show(unkToken)} are not in the vocabulary`);
      out.push(/** @type {number} */ (id));
    },
  };
}

/** Finds the longest token at the start of a word, then in the rest. @param {Component} options @returns {Model} */
export function wordPiece(options) {
  const texts = vocabularyOf(options.json.vocab);
  const unkToken = options.text('unk_token', '[UNK]');
  const unk = texts.get(unkToken) ?? refuse(`the unknown token ${show(unkToken)} is not in the vocabulary`);
  const prefix = options.text('continuing_subword_prefix', '##');
  const most = options.count('max_input_chars_per_word', 0, 100);
  const longest = longestToken(texts);
  return {
    texts,
    unk,
    tokenise(word, out) {
      const begin = out.length;
      const isLong = word.length > most && Array.from(word).length > most;
      if (!isLong && !isCut(word, out)) out.length = begin;
      if (word && out.length === begin) out.push(unk);
    },
  };

  /**
   * @param {string} word
   * @param {number[]} out
   * @returns {boolean} whether the word consists of tokens
   */
  function isCut(word, out) {
    // the prefix stands in the place of bytes before a token, which are not needed any more
    const room = texts.write(prefix, 0);
    const end = texts.write(word, room);
    for (let from = room; from < end;) {
      const begin = from > room ? texts.write(prefix, from - room) - room : from;
      const { scratch } = texts; // writing may have enlarged it
      let to = Math.min(end, begin + longest);
      let id = -1;
      for (; to > from; to--) {
        id = to < end && (scratch[to] & 0xc0) === 0x80 ? -1 : texts.find(scratch, begin, to); // not inside a character
        if (id >= 0) break;
      }
      if (id < 0) return false;
      out.push(id);
      from = to;
    }
    return true;
  }
}

/** @param {import('../../files/vocabulary/packed_texts.js').TokenTexts} texts @returns {number} in bytes */
function longestToken(texts) {
  let longest = 0;
  for (let id = 0; id < texts.size; id++) longest = Math.max(longest, texts.sizeOf(id));
  return longest;
}
