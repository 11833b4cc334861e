// tokenizer_seeds.js - small tokenizers of every kind as Hugging Face and llama2.c write them
import { readFileSync } from 'node:fs';

export const LETTERS = ['a', 'b', 'c', 'Ġ', 't', 'h', 'e'];
/** A byte-level BPE as Hugging Face writes one. */
const byteLevel = {
  version: '1.0',
  added_tokens: [
    {
      id: 0,
      content: '<|endoftext|>',
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    },
  ],
  normalizer: {
    type: 'Sequence',
    normalizers: [{ type: 'NFC' }, { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' }],
  },
  pre_tokenizer: {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: "'s|\\p{L}+|\\s+" }, behavior: 'Isolated', invert: false },
      { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
    ],
  },
  post_processor: {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<|endoftext|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<|endoftext|>': { id: '<|endoftext|>', ids: [0], tokens: ['<|endoftext|>'] } },
  },
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    vocab: Object.fromEntries(['<|endoftext|>', ...LETTERS, 'th', 'the', 'Ġthe'].map((t, i) => [t, i])),
    merges: ['t h', ['th', 'e'], 'Ġ the'],
  },
};
/** Llama's kind: bytes as tokens, spaces as underlines. */
const byteFallback = {
  version: '1.0',
  added_tokens: [{ id: 1, content: '<s>', special: true }],
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  pre_tokenizer: null,
  post_processor: null,
  decoder: {
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 },
    ],
  },
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    fuse_unk: true,
    byte_fallback: true,
    vocab: { '<unk>': 0, '<s>': 1, '<0x0A>': 2, '▁': 3, a: 4, b: 5, ab: 6 },
    merges: ['a b'],
  },
};
const unigram = {
  version: '1.0',
  added_tokens: [],
  normalizer: { type: 'NFKC' },
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', add_prefix_space: true },
  post_processor: null,
  decoder: { type: 'Metaspace', replacement: '▁', add_prefix_space: true },
  model: {
    type: 'Unigram',
    unk_id: 0,
    vocab: [
      ['<unk>', 0],
      ['▁', -1],
      ['a', -2.5],
      ['b', -3],
      ['ab', -2],
    ],
  },
};
export const tokenizers = [byteLevel, byteFallback, unigram];

/** llama2.c's tokenizer.bin: the first tokens of a real one. */
export const tokenizerBin = new Uint8Array(
  readFileSync(new URL('../golden/formats/tok512.bin', import.meta.url)),
).subarray(0, 3000);
