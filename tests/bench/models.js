// models.js - the measured models: Llama architectures of sizes that are usual in browser tabs, with seeded random
// weights. Speed does not depend on the values, so nothing has to be downloaded.
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bool, f32, f32s, i32s, text, texts, u32, writeGguf } from '../node/write_gguf_file.js';

export const SIZES = {
  '3M': { dModel: 192, nLayers: 6, nHeads: 6, nKvHeads: 6, dFf: 512, vocabSize: 4096 },
  '15M': { dModel: 288, nLayers: 6, nHeads: 6, nKvHeads: 6, dFf: 768, vocabSize: 32000 },
  '42M': { dModel: 512, nLayers: 8, nHeads: 8, nKvHeads: 8, dFf: 1376, vocabSize: 32000 },
  '110M': { dModel: 768, nLayers: 12, nHeads: 12, nKvHeads: 12, dFf: 2048, vocabSize: 32000 },
  '135M': { dModel: 576, nLayers: 30, nHeads: 9, nKvHeads: 3, dFf: 1536, vocabSize: 49152 },
};
export const CONTEXT = 2048,
  NORM_EPS = 1e-5,
  ROPE_THETA = 10000;
const FILE_TYPE = { f32: 0, f16: 1, q4_0: 2, q8_0: 7 };
const BITS = { f32: 32, f16: 16, q8_0: 8.5, q4_0: 4.5 };

/** @param {keyof SIZES} name */
export function shape(name) {
  const s = SIZES[name],
    dHead = s.dModel / s.nHeads;
  return { ...s, dHead, dKv: dHead * s.nKvHeads };
}

/**
 * Bytes that decoding one token reads: every matrix once (the tied embedding as the output layer), and the cache of all
 * earlier positions.
 * @param {keyof SIZES} name @param {keyof BITS} dtype @param {number} context
 * @param {'f32'|'f16'|'q8_0'} [kvDtype]
 */
export function bytesPerToken(name, dtype, context, kvDtype = 'default') {
  const cache = kvDtype === 'default' ? (dtype.startsWith('q') ? 'q8_0' : 'f32') : kvDtype; // as load chooses
  const { dModel: d, dKv, dFf, nLayers, vocabSize } = shape(name);
  const weights = vocabSize * d + nLayers * (2 * d * d + 2 * d * dKv + 3 * d * dFf);
  return (weights * BITS[dtype]) / 8 + nLayers * 2 * dKv * context * { f32: 4, f16: 2, q8_0: 1 }[cache];
}

/** Numbers of about normal distribution: the sum of four 16-bit numbers of xorshift32. */
function random(n, std, seed) {
  const out = new Float32Array(n),
    scale = (std * Math.sqrt(3)) / 65536;
  let x = Math.imul(seed, 2654435761) | 1;
  const next = () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x & 65535) + (x >>> 16);
  };
  for (let i = 0; i < n; i++) out[i] = (next() + next() - 131070) * scale;
  return out;
}

/**
 * Names, shapes and f32 values of all weights, and the type that each has in a GGUF file of `dtype`.
 * @param {ReturnType<typeof shape>} s
 * @param {string} dtype
 */
export function tensors(s, dtype) {
  const { dModel: d, dKv, dFf, nLayers, vocabSize } = s,
    list = [];
  const matrix = (name, rows, cols, std) =>
    list.push({
      name,
      shape: [rows, cols],
      type: dtype.toUpperCase(),
      data: random(rows * cols, std, list.length + 1),
    });
  const gain = (name) =>
    list.push({ name, shape: [d], type: 'F32', data: random(d, 0.05, list.length + 1).map((v) => v + 1) });
  const branch = 1 / Math.sqrt(2 * nLayers); // keeps the norm of the residual stream constant through the layers
  matrix('token_embd.weight', vocabSize, d, 0.05);
  list[0].data.subarray(0, 3 * d).fill(1e-4); // <unk>, <s> and </s> are never the most likely, so no text ends early
  for (let l = 0; l < nLayers; l++) {
    const name = (part) => `blk.${l}.${part}.weight`;
    gain(name('attn_norm'));
    matrix(name('attn_q'), d, d, d ** -0.5);
    matrix(name('attn_k'), dKv, d, d ** -0.5);
    matrix(name('attn_v'), dKv, d, d ** -0.5);
    matrix(name('attn_output'), d, d, branch * d ** -0.5);
    gain(name('ffn_norm'));
    matrix(name('ffn_gate'), dFf, d, d ** -0.5);
    matrix(name('ffn_up'), dFf, d, d ** -0.5);
    matrix(name('ffn_down'), d, dFf, branch * dFf ** -0.5);
  }
  gain('output_norm.weight');
  return list;
}

/** A SentencePiece vocabulary in which "e e e" is one token a letter; what follows the letters is never matched. */
function vocabulary(n) {
  const letters = [...'etaoinshrdlcumwfgypbvkjxqz'];
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`);
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...letters.map((l) => `▁${l}`), '▁', ...letters];
  while (tokens.length < n) tokens.push(`word${tokens.length}`);
  return {
    tokens,
    types: tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1)),
    scores: tokens.map((_, i) => (i < 259 ? 0 : 258 - i)),
  };
}

/**
 * The path of the model's file, which is written when it is missing.
 * @param {string} folder @param {keyof SIZES} name @param {keyof BITS} dtype
 * @returns {string} its name in the folder
 */
export function modelFile(folder, name, dtype) {
  const file = `llama-${name}-${dtype}.gguf`;
  if (existsSync(join(folder, file))) return file;
  const s = shape(name),
    { tokens, types, scores } = vocabulary(s.vocabSize);
  const bytes = writeGguf(
    {
      'general.architecture': text('llama'),
      'general.name': text(`random ${name}`),
      'general.file_type': u32(FILE_TYPE[dtype]),
      'llama.vocab_size': u32(s.vocabSize),
      'llama.context_length': u32(CONTEXT),
      'llama.embedding_length': u32(s.dModel),
      'llama.block_count': u32(s.nLayers),
      'llama.feed_forward_length': u32(s.dFf),
      'llama.rope.dimension_count': u32(s.dHead),
      'llama.attention.head_count': u32(s.nHeads),
      'llama.attention.head_count_kv': u32(s.nKvHeads),
      'llama.attention.layer_norm_rms_epsilon': f32(NORM_EPS),
      'llama.rope.freq_base': f32(ROPE_THETA),
      'tokenizer.ggml.model': text('llama'),
      'tokenizer.ggml.pre': text('default'),
      'tokenizer.ggml.tokens': texts(tokens),
      'tokenizer.ggml.scores': f32s(scores),
      'tokenizer.ggml.token_type': i32s(types),
      'tokenizer.ggml.bos_token_id': u32(1),
      'tokenizer.ggml.eos_token_id': u32(2),
      'tokenizer.ggml.unknown_token_id': u32(0),
      'tokenizer.ggml.add_bos_token': bool(true),
      'tokenizer.ggml.add_eos_token': bool(false),
    },
    tensors(s, dtype),
  );
  mkdirSync(folder, { recursive: true });
  const part = join(folder, `${file}.${process.pid}.part`); // renamed when it is complete
  writeFileSync(part, bytes);
  renameSync(part, join(folder, file));
  return file;
}
