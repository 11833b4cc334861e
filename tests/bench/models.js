// models.js - the measured models: Llama architectures of sizes that are usual in browser tabs, with seeded random
// weights. Speed does not depend on the values, so nothing has to be downloaded.
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bool, encode, f32, f32s, i32s, text, texts, u32, writeGguf } from '../node/checkpoint_files.js';

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
const FILE_TYPE = { f32: 0, f16: 1, q4_0: 2, q8_0: 7, q4_k_m: 15 };
const BITS = { F32: 32, F16: 16, Q8_0: 8.5, Q4_0: 4.5, Q4_K: 4.5, Q5_0: 5.5, Q6_K: 6.5625 };

/** @param {keyof SIZES} name */
export function shape(name) {
  const s = SIZES[name],
    dHead = s.dModel / s.nHeads;
  return { ...s, dHead, dKv: dHead * s.nKvHeads };
}

/**
 * Names, shapes, standard deviations and types of all matrices in a file of `dtype`.
 * @param {ReturnType<typeof shape>} s
 * @param {string} dtype
 */
function matrices({ dModel: d, dKv, dFf, nLayers, vocabSize }, dtype) {
  const branch = 1 / Math.sqrt(2 * nLayers); // keeps the norm of the residual stream constant through the layers
  const of = (name, rows, cols, std, fine = false) => ({
    name: `${name}.weight`,
    shape: [rows, cols],
    std,
    type: dtype === 'q4_k_m' ? mixedType(cols, fine) : dtype.toUpperCase(),
  });
  const layer = (l) => [
    of(`blk.${l}.attn_q`, d, d, d ** -0.5),
    of(`blk.${l}.attn_k`, dKv, d, d ** -0.5),
    of(`blk.${l}.attn_v`, dKv, d, d ** -0.5, isFine(l, nLayers)),
    of(`blk.${l}.attn_output`, d, d, branch * d ** -0.5),
    of(`blk.${l}.ffn_gate`, dFf, d, d ** -0.5),
    of(`blk.${l}.ffn_up`, dFf, d, d ** -0.5),
    of(`blk.${l}.ffn_down`, d, dFf, branch * dFf ** -0.5, isFine(l, nLayers)),
  ];
  return {
    embedding: of('token_embd', vocabSize, d, 0.05, true),
    layers: Array.from({ length: nLayers }, (_, l) => layer(l)),
  };
}

/** The type of a matrix in a Q4_K_M file of llama.cpp: of rows that are no whole blocks of 256, another one. */
const mixedType = (cols, fine) => (cols % 256 ? (fine ? 'Q8_0' : 'Q5_0') : fine ? 'Q6_K' : 'Q4_K');
/** Whether such a file has the values and the down projection of a layer in the finer type (llama.cpp: use_more_bits). */
function isFine(l, n) {
  const eighth = Math.floor(n / 8);
  return l < eighth || l >= Math.floor((7 * n) / 8) || (l - eighth) % 3 === 2;
}

/**
 * Bytes that decoding one token reads: every matrix once (the tied embedding as the output layer), and the cache of all
 * earlier positions.
 * @param {keyof SIZES} name @param {keyof FILE_TYPE} dtype @param {number} context
 * @param {'f32'|'f16'|'q8_0'} [kvDtype]
 */
export function bytesPerToken(name, dtype, context, kvDtype = 'default') {
  const cache = kvDtype === 'default' ? (dtype.startsWith('q') ? 'f16' : 'f32') : kvDtype; // as load chooses
  const s = shape(name),
    { embedding, layers } = matrices(s, dtype);
  const bits = [embedding, ...layers.flat()].reduce((sum, m) => sum + m.shape[0] * m.shape[1] * BITS[m.type], 0);
  return bits / 8 + s.nLayers * 2 * s.dKv * context * { f32: 4, f16: 2, q8_0: 1 }[cache];
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

const half = (x) => new Uint8Array(encode('F16', [x]));
/**
 * Types without a quantiser here get random bits, with scales of the wanted standard deviation: columns and bytes of a
 * block, and its bytes that are not random.
 * @type {Record<string, { cols: number, bytes: number, fix: (block: Uint8Array, std: number) => void }>}
 */
const RANDOM_BLOCKS = {
  Q5_0: { cols: 32, bytes: 22, fix: (block, std) => block.set(half(std / 9.2)) },
  Q4_K: {
    cols: 256,
    bytes: 144,
    fix(block, std) {
      block.set(half(std / 4.6));
      block.set(half((7.5 * std) / 4.6), 2); // the middle of 0..15 becomes 0
      block.fill(1, 4, 12).fill(0x11, 12, 16); // all scales and minima 1
    },
  },
  Q6_K: {
    cols: 256,
    bytes: 210,
    fix(block, std) {
      block.fill(1, 192, 208);
      block.set(half(std / 18.5), 208);
    },
  },
};

/** The bytes of a matrix of such a type, the first `small` rows with values near 0. */
function randomBlocks({ shape: [rows, cols], std, type }, seed, small) {
  const { cols: per, bytes, fix } = RANDOM_BLOCKS[type];
  const data = new Uint8Array((rows * cols * bytes) / per),
    words = random(Math.ceil(data.length / 2), 2 ** 20, seed);
  for (let i = 0; i < data.length; i++) data[i] = words[i >> 1] >> ((i & 1) * 8);
  const smallEnd = (small * cols * bytes) / per;
  for (let at = 0; at < data.length; at += bytes) fix(data.subarray(at, at + bytes), at < smallEnd ? std / 1000 : std);
  return data;
}

/**
 * Names, shapes and values of all weights, and the type that each has in a GGUF file of `dtype`: f32 values, or the
 * bytes of RANDOM_BLOCKS.
 * @param {ReturnType<typeof shape>} s
 * @param {string} dtype
 */
export function tensors(s, dtype) {
  const list = [];
  const matrix = (m, small = 0) => {
    const seed = list.length + 1,
      [rows, cols] = m.shape,
      data = RANDOM_BLOCKS[m.type] ? randomBlocks(m, seed, small) : random(rows * cols, m.std, seed);
    if (data instanceof Float32Array) data.subarray(0, small * cols).fill(1e-4);
    list.push({ name: m.name, shape: m.shape, type: m.type, data });
  };
  const gain = (name) =>
    list.push({
      name: `${name}.weight`,
      shape: [s.dModel],
      type: 'F32',
      data: random(s.dModel, 0.05, list.length + 1).map((v) => v + 1),
    });
  const { embedding, layers } = matrices(s, dtype);
  matrix(embedding, 3); // <unk>, <s> and </s> are never the most likely, so no text ends early
  layers.forEach((layer, l) => {
    gain(`blk.${l}.attn_norm`);
    for (const m of layer.slice(0, 4)) matrix(m);
    gain(`blk.${l}.ffn_norm`);
    for (const m of layer.slice(4)) matrix(m);
  });
  gain('output_norm');
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
 * @param {string} folder @param {keyof SIZES} name @param {keyof FILE_TYPE} dtype
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
