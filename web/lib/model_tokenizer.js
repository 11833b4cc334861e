// model_tokenizer.js - a model's tokenizer on the caller's side: a chunk of its own, so that a page that never asks does not fetch the library
import { PIECES, SentencePieces } from './formats/pieces.js';
import { Tokenizer } from './tokenizer.js';

/** @param {string} text what the other side's Tokenizer.toText gave @returns {Tokenizer} */
export function tokenizerOf(text) {
  const json = JSON.parse(text), { model } = json;
  return new Tokenizer({ ...json, ...(model.type === PIECES && { model: SentencePieces.fromJSON(model) }) });
}
