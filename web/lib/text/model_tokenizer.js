// model_tokenizer.js - builds Model.tokenizer on the caller's side
//
// It is loaded at the first use: pages that do not use it do not fetch the tokenizer.
import { PIECES, SentencePieces } from '../files/vocabulary/sentencepiece_vocab.js';
import { Tokenizer } from './tokenizer.js';

/**
 * A Tokenizer from its text.
 * @param {string} text  the result of Tokenizer.toText in the worker
 * @returns {Tokenizer}
 */
export function tokenizerOf(text) {
  const json = JSON.parse(text);
  const { model } = json;
  return new Tokenizer({ ...json, ...(model.type === PIECES && { model: SentencePieces.fromJSON(model) }) });
}
