// llama2c.js - the .bin checkpoints of llama2.c, versions 0, 1 and 2, and its tokenizer.bin
//
//   v0  7 x i32 (a negative vocabulary size: the output matrix is not tied), f32 weights, two unused rotary tables
//   v1  "ak42", version, 7 x i32, u8 shared head, zeros up to byte 256, f32 weights
//   v2  the same and i32 group size; norms f32, each matrix as int8 and then its f32 scales, one per group
//
// Tensors have no names; their order is fixed. RoPE rotates adjacent pairs, norm_eps is 1e-5, rope_theta 10000.
import { completeConfig } from '../../engine/config/config.js';
import { fail } from '../../base/errors.js';
import { utf8Text } from '../bytes/chunks.js';
import { LLAMA2C_MAGIC } from '../bytes/detect_format.js';
import { placesByName, planTensors } from '../../engine/config/tensor_plan.js';
import { roster } from '../../engine/config/weight_roster.js';
import { sentencePieceJson } from '../vocabulary/sentencepiece_vocab.js';
import { Texts, TokenTexts } from '../vocabulary/packed_texts.js';
import { BYTE, CONTROL, NORMAL } from '../vocabulary/tokenizer_json.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Config } from '../../engine/config/config.js' */
/** @import { TensorSource } from '../../engine/config/tensor_plan.js' */

/**
 * Reads the header.
 * @param {ByteReader} r  at the start of the file; afterwards at the start of the weights
 * @param {string[]} warnings  appended to
 * @returns {Promise<{config: Config, tensors: TensorSource[]}>}
 */
export async function readLlama2c(r, warnings) {
  const { version, config, groupSize } = await readHeader(r);
  const shapes = new Map([...roster(config)].map(({ name, shape }) => [name, shape]));
  const entries = [];
  let offset = r.pos;
  for (const name of storedOrder(version, config)) {
    const shape = shapes.get(name ?? '') ?? [config.context_length, config.d_head / 2];
    const n = shape.reduce((a, c) => a * c, 1);
    const grouped = groupSize > 0 && shape.length === 2;
    if (grouped && n % groupSize)
      fail('bad-header', `${r.name}: ${name} has ${n} numbers, not a multiple of the group size ${groupSize}`);
    const bytes = grouped ? n + (n / groupSize) * 4 : 4 * n;
    const label = name ?? `rotary table at byte ${offset}`;
    entries.push({ name: label, dtype: 'f32', shape, file: 0, offset, bytes });
    offset += bytes;
  }
  r.checkSize(offset);
  const tensors = planTensors(config, entries, placesByName(config, {}), () => true, [r.name], warnings);
  if (groupSize) for (const t of tensors) if (t.shape.length === 2) t.int8 = { groupSize };
  return { config, tensors };
}

/**
 * Reads version, configuration and group size (0: not grouped).
 * @param {ByteReader} r
 * @returns {Promise<{version: number, config: Config, groupSize: number}>}
 */
async function readHeader(r) {
  const first = await r.peek(8);
  const magic = first.length === 8 && new DataView(first.buffer, first.byteOffset).getUint32(0, true) === LLAMA2C_MAGIC;
  const h = await r.view(magic ? 256 : 28, 'the header');
  const version = magic ? h.getInt32(4, true) : 0;
  if (version < 0 || version > 2 || (magic && version === 0))
    fail('unsupported', `${r.name}: llama2.c version ${version} is not supported, only 0, 1 and 2 are`);
  const at = magic ? 8 : 0;
  const [d, ff, layers, heads, kvHeads, vocab, context] = Array.from({ length: 7 }, (_, i) =>
    h.getInt32(at + 4 * i, true),
  );
  const groupSize = version === 2 ? h.getInt32(37, true) : 0;
  if (version === 2 && groupSize < 1) fail('bad-header', `${r.name}: the group size is ${groupSize}`);
  const config = completeConfig(
    {
      vocab_size: version === 0 ? Math.abs(vocab) : vocab,
      d_model: d,
      n_layers: layers,
      n_heads: heads,
      n_kv_heads: kvHeads,
      d_ff: ff,
      context_length: context,
      norm: 'rmsnorm',
      norm_eps: 1e-5,
      norm_placement: 'pre',
      final_norm: true,
      ffn: 'swiglu',
      position: 'rope',
      rope_theta: 10000,
      rope_pairs: 'adjacent',
      tie_word_embeddings: version === 0 ? vocab > 0 : h.getUint8(36) !== 0,
    },
    r.name,
  );
  return { version, config, groupSize };
}

/**
 * What a file holds, from front to back.
 * @param {number} version
 * @param {Config} config
 * @returns {(string | null)[]} names of weights in the roster; null: a rotary table
 */
function storedOrder(version, { n_layers: layers, tie_word_embeddings: tied }) {
  const attention = ['attn.q', 'attn.k', 'attn.v', 'attn.o'];
  const feedForward = ['ffn.gate', 'ffn.down', 'ffn.up'];
  /**
   * Each weight of all layers, then the next one.
   * @param {string[]} list
   */
  const perLayer = (list) =>
    list.flatMap((name) => Array.from({ length: layers }, (_, l) => `blocks.${l}.${name}.weight`));
  const order =
    version === 0
      ? ['embed.weight', ...perLayer(['norm1', ...attention, 'norm2', ...feedForward]), 'final_norm.weight', null, null]
      : [
          ...perLayer(['norm1', 'norm2']),
          ...['final_norm.weight', 'embed.weight'],
          ...perLayer([...attention, ...feedForward]),
        ];
  return tied ? order : [...order, 'head.weight'];
}

/**
 * Reads a matrix of version 2 and passes it on as f32. The int8 values are buffered, because the scales follow them.
 * @param {ByteReader} r  at the start of the matrix
 * @param {TensorSource} t
 * @param {(view: Uint8Array) => void | Promise<void>} write  receives whole groups
 */
export async function pipeInt8(r, t, write) {
  const { groupSize } = /** @type {import('../../engine/config/tensor_plan.js').Int8Blocks} */ (t.int8);
  const n = t.shape[0] * t.shape[1];
  let q = new Int8Array(0);
  let have = 0;
  await r.pipe(
    n,
    (view) => {
      if (have + view.length > q.length) {
        // Grows with the bytes that arrive: n comes from the header and may be wrong.
        const larger = new Int8Array(Math.min(n, 2 * (have + view.length)));
        larger.set(q);
        q = larger;
      }
      q.set(new Int8Array(view.buffer, view.byteOffset, view.length), have);
      have += view.length;
    },
    1,
    t.name,
  );
  const perWrite = Math.max(1, Math.floor(65536 / groupSize));
  const out = new Float32Array(perWrite * groupSize);
  let group = 0;
  await r.pipe(
    (n / groupSize) * 4,
    async (view) => {
      const scales = new DataView(view.buffer, view.byteOffset, view.length);
      for (let i = 0; i < view.length / 4;) {
        const m = Math.min(perWrite, view.length / 4 - i);
        for (let g = 0; g < m; g++) {
          const s = scales.getFloat32(4 * (i + g), true);
          for (let k = 0; k < groupSize; k++) out[g * groupSize + k] = q[(group + g) * groupSize + k] * s;
        }
        await write(new Uint8Array(out.buffer, 0, m * groupSize * 4));
        i += m;
        group += m;
      }
    },
    4,
    t.name,
  );
}

/**
 * Converts llama2.c's tokenizer.bin: i32 longest token | per token f32 score, i32 length, bytes. Ids 0, 1 and 2 are the
 * unknown token, the beginning and the end; line breaks in their texts keep them from matching ordinary text. Tokens
 * for single bytes follow, where the file has them. A space is a plain space.
 * @param {string} where  file name, for messages
 * @param {Uint8Array} bytes  the whole file
 * @returns {object} in the form of a tokenizer.json
 */
export function llama2cTokenizer(where, bytes) {
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  /**
   * @param {string} why
   * @returns {never}
   */
  const refuse = (why) => fail('bad-tokenizer', `${where}: ${why}`);
  if (bytes.length < 4) refuse('too short for a tokenizer.bin');
  const longest = v.getInt32(0, true);
  if (longest < 1 || longest > 1 << 16)
    refuse('this is neither a tokenizer.json nor a GGUF nor a tokenizer.bin of llama2.c');
  const texts = [];
  const scores = [];
  for (let at = 4; at < bytes.length;) {
    if (at + 8 > bytes.length) refuse(`token ${texts.length} is cut off`);
    const score = v.getFloat32(at, true);
    const n = v.getInt32(at + 4, true);
    if (n < 0 || n > longest || at + 8 + n > bytes.length || Number.isNaN(score))
      refuse(`token ${texts.length} claims ${n} bytes and the score ${score}`);
    texts.push(utf8Text(bytes.subarray(at + 8, at + 8 + n), () => refuse(`token ${texts.length} is not UTF-8`)));
    scores.push(score);
    at += 8 + n;
  }
  if (texts.length < 3) refuse('there are no tokens in it');
  const tokens = new TokenTexts(Texts.from(texts));
  const types = tokens
    .toArray()
    .map((t, id) => (id === 0 ? 2 : id < 3 ? CONTROL : /^<0x[0-9A-F]{2}>$/.test(t) ? BYTE : NORMAL));
  return sentencePieceJson({ texts: tokens, types, scores, bos: 1, eos: null, unk: 0, prefix: true, space: ' ' });
}
