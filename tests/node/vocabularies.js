// vocabularies.js - tokenizers with bytes of three kinds, each as constraintOf sees a model
import { join } from 'node:path';
import { Tokenizer } from '../../web/lib/api/index.js';
import { stories, top } from './helpers.js';

/** The models. */
export async function vocabularies() {
  const named = {
    'byte-level BPE': await Tokenizer.load(stories),
    'few characters and bytes': await Tokenizer.load(join(top, 'weights/dates/tokenizer.json')),
    SentencePiece: await Tokenizer.load(join(top, 'tests/golden/formats/tok512.bin')),
  };
  return Object.entries(named).map(([name, tokenizer]) => ({
    name,
    tokenizer,
    config: { vocab_size: tokenizer.vocabSize },
    special: { eos: [...tokenizer.special].slice(-1) },
  }));
}
