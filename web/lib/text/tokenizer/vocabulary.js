// vocabulary.js - the tokens of a tokenizer.json by text and by id
import { show } from '../../base/errors.js';
import { HOLE, Texts, TokenTexts, writeUtf8 } from '../../files/vocabulary/packed_texts.js';
import { isId } from '../../files/vocabulary/tokenizer_json.js';
import { refuse } from './component.js';

/**
 * The vocabulary of a BPE, WordPiece or WordLevel: an object of ids by token.
 * @param {any} vocab
 * @returns {TokenTexts}
 */
export function vocabularyOf(vocab) {
  if (vocab === null || typeof vocab !== 'object' || Array.isArray(vocab)) refuse('the vocabulary is not an object');
  let bytes = new Uint8Array(1 << 16);
  let starts = new Uint32Array(1 << 10).fill(HOLE);
  let ends = new Uint32Array(1 << 10);
  let [size, at] = [0, 0];
  for (const token in vocab) {
    const id = vocab[token];
    if (!isId(id)) refuse(`the token ${show(token)} has the id ${show(id)}`);
    if (id >= starts.length) {
      starts = resized(starts, 2 * id, HOLE);
      ends = resized(ends, 2 * id, 0);
    }
    if (starts[id] !== HOLE) refuse(`the id ${id} belongs to two tokens, one of them ${show(token)}`);
    if (at + 3 * token.length > bytes.length) {
      const larger = new Uint8Array(2 * (at + 3 * token.length));
      larger.set(bytes);
      bytes = larger;
    }
    starts[id] = at;
    ends[id] = at = writeUtf8(token, bytes, at);
    if (id >= size) size = id + 1;
  }
  return new TokenTexts(new Texts(bytes.subarray(0, at), starts.subarray(0, size), ends.subarray(0, size)), true);
}

/**
 * @param {Uint32Array} list
 * @param {number} size
 * @param {number} filler
 */
function resized(list, size, filler) {
  const larger = new Uint32Array(size).fill(filler, list.length);
  larger.set(list);
  return larger;
}

/** The text of a token for a byte, as SentencePiece has it. @param {number} byte */
export const byteToken = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
