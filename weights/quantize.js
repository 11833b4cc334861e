#!/usr/bin/env node
// quantize.js - converts a Llama GGUF with Q8_0, F16 or F32 matrices to Q4_0, with the inputs of the matrices in view
//
//   node weights/quantize.js MODEL.gguf OUT.gguf --text STORIES.txt [--stories 200]
//
// GPTQ (Frantar et al. 2022, arXiv:2210.17323): the columns of a matrix W are rounded one after another, and the error of
// each is compensated in the columns that are not rounded yet, so that the products W x change least for the inputs x of
// the calibration text. With H = mean of x x^T and H^-1 = U^T U (U upper triangular), an error e in column c adds
// -(e / U[c][c]) U[c][j] to each later column j. The scale of each block of 32 is searched when its first column is
// reached. STORIES: texts with <|endoftext|> between them, from the training data, not from the validation data.
//
// Norms stay F32. Metadata, tokenizer included, is copied byte by byte, except general.file_type.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { toHalf } from '../web/lib/files/gguf/encode_half.js';
import { asHalf } from '../web/lib/run/explain/rounding.js';
import { load } from '../web/lib/api/index.js';
import { openGguf } from './gguf_file.js';

const ALIGNMENT = 32,
  BLOCK = 32;
/** GGML's numbers of the types that are written, and bytes of a block. */
const F32 = 0,
  Q4_0 = 2;
const Q4_0_BYTES = 18;
/** Added to the diagonal of H, as a share of its mean: keeps it invertible. */
const DAMPING = 0.01;
/** The embedding is also read by row, where every column counts alike: this much is added to the H of the logits. */
const LOOKUP = 0.3;

/**
 * @typedef {{name: string, shape: number[], data: Float32Array}} Tensor  shape innermost first, as in the file
 * @typedef {{head: Buffer, fileType: number, tensors: Tensor[]}} Gguf  head: everything before the list of tensors;
 *   fileType: offset of general.file_type's value, -1 without one
 */

/** A text as GGUF stores it: its length, its bytes. @param {string} text */
function stored(text) {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  return Buffer.concat([length, Buffer.from(text)]);
}

/** @param {string} file @returns {Promise<Gguf>} */
async function read(file) {
  const { bytes, tensors } = await openGguf(file);
  const whole = Buffer.from(bytes.buffer);
  const head = whole.subarray(0, whole.indexOf(stored(tensors[0].name))); // the list of tensors begins with a name
  const key = stored('general.file_type'),
    at = head.indexOf(key);
  const inFileOrder = tensors.map((tensor) => ({ ...tensor, shape: tensor.shape.toReversed() }));
  return { head, fileType: at < 0 ? -1 : at + key.length + 4, tensors: inFileOrder };
}

/**
 * @param {Gguf} gguf
 * @param {(tensor: Tensor) => {type: number, bytes: Buffer}} encode
 * @returns {Buffer}
 */
function write({ head, fileType, tensors }, encode) {
  const u32 = (/** @type {number} */ x) => Buffer.from(Uint32Array.of(x).buffer);
  const u64 = (/** @type {number} */ x) => Buffer.from(BigUint64Array.of(BigInt(x)).buffer);
  const padded = (/** @type {Buffer} */ b) => Buffer.concat([b, Buffer.alloc(-b.length & (ALIGNMENT - 1))]);
  const infos = [],
    blobs = [];
  let offset = 0;
  for (const tensor of tensors) {
    const { type, bytes } = encode(tensor);
    infos.push(stored(tensor.name), u32(tensor.shape.length), ...tensor.shape.map(u64), u32(type), u64(offset));
    blobs.push(padded(bytes));
    offset += blobs[blobs.length - 1].length;
  }
  const file = Buffer.concat([padded(Buffer.concat([head, ...infos])), ...blobs]);
  if (fileType >= 0) file.writeUInt32LE(Q4_0, fileType); // llama.cpp's number for "mostly Q4_0" is 2 as well
  return file;
}

/**
 * The mean of x x^T over the positions of the texts, for the inputs x of every matrix.
 * @param {string} file @param {string[]} texts
 * @returns {Promise<Map<string, Float64Array>>} by capture point; [width, width], row-major
 */
async function secondMoments(file, texts) {
  const model = await load(file, { dtype: 'f32' });
  /** @type {Map<string, Float64Array>} */
  const moments = new Map();
  let positions = 0;
  try {
    const layers = Array.from({ length: model.config.nLayers }, (_, l) => `blocks.${l}`);
    const capture = [
      ...layers.flatMap((block) =>
        ['ln1.hook_normalized', 'attn.hook_z', 'ln2.hook_normalized', 'mlp.hook_post'].map((p) => `${block}.${p}`),
      ),
      'ln_final.hook_normalized',
    ];
    for (const text of texts) {
      const ids = (await model.encode(text)).slice(0, model.contextLength);
      const { captured } = await model.forward(ids, { capture });
      positions += ids.length;
      for (const [point, { data }] of Object.entries(captured)) {
        const width = data.length / ids.length;
        const sum = moments.get(point) ?? new Float64Array(width * width);
        moments.set(point, sum);
        for (let row = 0; row < data.length; row += width)
          for (let i = 0; i < width; i++)
            for (let j = 0, x = data[row + i]; j <= i; j++) sum[i * width + j] += x * data[row + j];
      }
    }
  } finally {
    model.dispose();
  }
  for (const sum of moments.values()) {
    const width = Math.sqrt(sum.length);
    for (let i = 0; i < width; i++) for (let j = 0; j <= i; j++) sum[j * width + i] = sum[i * width + j] /= positions;
  }
  return moments;
}

/**
 * H of the matrix with this name in the file.
 * @param {string} name
 * @param {Map<string, Float64Array>} moments
 * @param {(norm: string) => Float32Array} gains  of the norm with this name: capture points are before the gain
 */
function momentsOf(name, moments, gains) {
  const moment = (/** @type {string} */ point) =>
    moments.get(point) ?? fail(`${name}: the model has no point ${point}`);
  const afterNorm = (/** @type {string} */ point, /** @type {string} */ norm) => {
    const gain = gains(norm),
      width = gain.length;
    return moment(point).map((x, at) => x * gain[Math.floor(at / width)] * gain[at % width]);
  };
  if (name === 'token_embd.weight' || name === 'output.weight') {
    const h = afterNorm('ln_final.hook_normalized', 'output_norm.weight');
    addToDiagonal(h, LOOKUP);
    return h;
  }
  const [, layer, matrix] = /^blk\.(\d+)\.(\w+)\.weight$/.exec(name) ?? fail(`${name}: not a tensor of a plain Llama`);
  if (/^attn_[qkv]$/.test(matrix))
    return afterNorm(`blocks.${layer}.ln1.hook_normalized`, `blk.${layer}.attn_norm.weight`);
  if (matrix === 'attn_output') return moment(`blocks.${layer}.attn.hook_z`);
  if (/^ffn_(gate|up)$/.test(matrix))
    return afterNorm(`blocks.${layer}.ln2.hook_normalized`, `blk.${layer}.ffn_norm.weight`);
  if (matrix === 'ffn_down') return moment(`blocks.${layer}.mlp.hook_post`);
  return fail(`${name}: not a tensor of a plain Llama`);
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(message);
}

/**
 * @param {Float64Array} h  square; changed in place
 * @param {number} share  of the diagonal's mean
 */
function addToDiagonal(h, share) {
  const n = Math.sqrt(h.length);
  let sum = 0;
  for (let i = 0; i < n; i++) sum += h[i * n + i];
  for (let i = 0; i < n; i++) h[i * n + i] += (share * sum) / n;
}

/**
 * @param {Float64Array} a  symmetric, positive definite
 * @param {number} n
 * @returns {Float64Array} L, lower triangular, with a = L L^T
 */
function cholesky(a, n) {
  const l = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let s = a[i * n + j];
      for (let k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i === j ? Math.sqrt(s) : s / l[j * n + j];
    }
  return l;
}

/**
 * @param {Float64Array} h  symmetric, positive definite
 * @param {number} n
 * @returns {Float64Array} U, upper triangular, with h^-1 = U^T U
 */
function inverseFactor(h, n) {
  const l = cholesky(h, n),
    inverse = new Float64Array(n * n); // of l
  for (let j = 0; j < n; j++)
    for (let i = j; i < n; i++) {
      let s = i === j ? 1 : 0;
      for (let k = j; k < i; k++) s -= l[i * n + k] * inverse[k * n + j];
      inverse[i * n + j] = s / l[i * n + i];
    }
  const product = new Float64Array(n * n); // inverse^T inverse = h^-1
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let s = 0;
      for (let k = i; k < n; k++) s += inverse[k * n + i] * inverse[k * n + j];
      product[i * n + j] = product[j * n + i] = s;
    }
  const factor = cholesky(product, n);
  return factor.map((_, at) => factor[(at % n) * n + Math.floor(at / n)]);
}

/**
 * The level 0..15 of a value; it stands for (level - 8) scale.
 * @param {number} x @param {number} scale
 */
const levelOf = (x, scale) => (scale ? Math.min(15, Math.max(0, Math.round(x / scale) + 8)) : 8);

/**
 * The scale of a block with the least weighted square error, among scales around that at which the largest value is
 * level 0. It may be negative.
 * @param {Float64Array} block @param {Float64Array} importance
 */
function scaleOf(block, importance) {
  let most = 0,
    best = 0,
    least = Infinity;
  for (const x of block) if (Math.abs(x) > Math.abs(most)) most = x;
  for (let levels = -6; levels >= -10; levels -= 0.125)
    for (const sign of [1, -1]) {
      const [scale] = asHalf(Float32Array.of((sign * most) / levels));
      let error = 0;
      for (let i = 0; i < BLOCK; i++) error += importance[i] * (block[i] - (levelOf(block[i], scale) - 8) * scale) ** 2;
      if (error < least) [best, least] = [scale, error];
    }
  return best;
}

/**
 * @param {Float32Array} data  [rows, cols]
 * @param {number} cols  a multiple of the block size
 * @param {Float64Array} h  [cols, cols]
 * @returns {Buffer} blocks of Q4_0
 */
function quantize(data, cols, h) {
  const rows = data.length / cols,
    blocks = cols / BLOCK;
  const bytes = Buffer.alloc(rows * blocks * Q4_0_BYTES),
    damped = h.slice();
  addToDiagonal(damped, DAMPING);
  const u = inverseFactor(damped, cols);
  const importance = Float64Array.from({ length: cols }, (_, c) => u[c * cols + c] ** -2);
  for (let row = 0; row < rows; row++) {
    const w = Float64Array.from(data.subarray(row * cols, (row + 1) * cols));
    for (let b = 0; b < blocks; b++) {
      const first = b * BLOCK,
        at = (row * blocks + b) * Q4_0_BYTES;
      const scale = scaleOf(w.subarray(first, first + BLOCK), importance.subarray(first, first + BLOCK));
      bytes.writeUInt16LE(toHalf(scale), at);
      for (let i = 0; i < BLOCK; i++) {
        const c = first + i,
          level = levelOf(w[c], scale),
          error = (w[c] - (level - 8) * scale) / u[c * cols + c];
        bytes[at + 2 + (i % 16)] |= i < 16 ? level : level << 4;
        for (let j = c + 1; j < cols; j++) w[j] -= error * u[c * cols + j];
      }
    }
  }
  return bytes;
}

const {
  positionals: [file, out],
  values,
} = parseArgs({
  allowPositionals: true,
  options: { text: { type: 'string' }, stories: { type: 'string', default: '200' } },
});
if (!file || !out || !values.text || !(Number(values.stories) > 0)) {
  console.error('usage: node weights/quantize.js MODEL.gguf OUT.gguf --text STORIES.txt [--stories 200]');
  process.exit(2);
}
const texts = readFileSync(values.text, 'utf8')
  .split('<|endoftext|>')
  .map((story) => story.trim())
  .filter(Boolean)
  .slice(0, Number(values.stories));
const gguf = await read(file);
const gains = new Map(gguf.tensors.map(({ name, data }) => [name, data]));
const moments = await secondMoments(file, texts);
const bytes = write(gguf, ({ name, shape, data }) =>
  shape.length < 2
    ? { type: F32, bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength) }
    : {
        type: Q4_0,
        bytes: quantize(
          data,
          shape[0],
          momentsOf(name, moments, (norm) => gains.get(norm) ?? fail(`no ${norm}`)),
        ),
      },
);
writeFileSync(out, bytes);
console.log(`${out}: ${bytes.length} bytes, calibrated on ${texts.length} stories`);
