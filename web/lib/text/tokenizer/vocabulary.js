// vocabulary.js - the tokens of a tokenizer.json by text and by id
import { show } from '../../base/errors.js';
import { IdTexts, tokenTextsOf, writeUtf8 } from '../../files/vocabulary/packed_texts.js';
import { isId } from '../../files/vocabulary/tokenizer_json.js';
import { refuse } from './component.js';

/** @import { TokenTexts } from '../../files/vocabulary/packed_texts.js' */

/**
 * The vocabulary of a BPE, WordPiece or WordLevel: an object of ids by token.
 * @param {any} vocab
 * @returns {TokenTexts}
 */
export function vocabularyOf(vocab) {
  const scanned = tokenTextsOf(vocab);
  if (scanned) return scanned;
  if (vocab === null || typeof vocab !== 'object' || Array.isArray(vocab)) refuse('the vocabulary is not an object');
  let bytes = new Uint8Array(1 << 16);
  const texts = new IdTexts();
  let at = 0;
  for (const token in vocab) {
    const id = vocab[token];
    if (!isId(id)) refuse(`the token ${show(token)} has the id ${show(id)}`);
    if (at + 3 * token.length > bytes.length) {
      const larger = new Uint8Array(2 * (at + 3 * token.length));
      larger.set(bytes);
      bytes = larger;
    }
    const start = at;
    at = writeUtf8(token, bytes, at);
    if (!texts.add(id, start, at)) refuse(`the id ${id} belongs to two tokens, one of them ${show(token)}`);
  }
  return texts.tokens(bytes.subarray(0, at));
}

/** The text of a token for a byte, as SentencePiece has it. @param {number} byte */
export const byteToken = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
