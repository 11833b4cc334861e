// t5_gguf.js - T5 cases as GGUF, with the names, keys and types of llama.cpp's converter
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPieces } from '../../web/lib/files/vocabulary/sentencepiece.js';
import { bool, f32, f32s, i32s, text, texts, u32 } from '../../web/lib/files/gguf/write_gguf.js';
import { golden, readTensors } from './helpers.js';

export const pieceFile = join(golden, '../formats/sentencepiece/spiece.model');

/** The converter's names by those of Hugging Face (gguf-py/gguf/tensor_mapping.py). */
const RENAMED = [
  [/^shared$/, 'token_embd'],
  [/^lm_head$/, 'output'],
  [/^encoder\.final_layer_norm$/, 'enc.output_norm'],
  [/^decoder\.final_layer_norm$/, 'dec.output_norm'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.0\.SelfAttention\.relative_attention_bias$/, '$1.blk.$2.attn_rel_b'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.0\.SelfAttention\.([qkvo])$/, '$1.blk.$2.attn_$3'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.0\.layer_norm$/, '$1.blk.$2.attn_norm'],
  [/^decoder\.block\.(\d+)\.layer\.1\.EncDecAttention\.([qkvo])$/, 'dec.blk.$1.cross_attn_$2'],
  [/^decoder\.block\.(\d+)\.layer\.1\.layer_norm$/, 'dec.blk.$1.cross_attn_norm'],
  [/^encoder\.block\.(\d+)\.layer\.1\.layer_norm$/, 'enc.blk.$1.ffn_norm'],
  [/^decoder\.block\.(\d+)\.layer\.2\.layer_norm$/, 'dec.blk.$1.ffn_norm'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.DenseReluDense\.wi_0$/, '$1.blk.$2.ffn_gate'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.DenseReluDense\.wi(_1)?$/, '$1.blk.$2.ffn_up'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.DenseReluDense\.wo$/, '$1.blk.$2.ffn_down'],
];
/** @param {string} name  of Hugging Face */
export function ggufName(name) {
  const stem = name.replace(/\.weight$/, '');
  const [from, to] = RENAMED.find(([pattern]) => pattern.test(stem)) ?? assert.fail(name);
  return `${stem.replace(from, to)}.weight`;
}

/** The tensors of a case under the converter's names: vectors and norms f32, everything else of one type. */
export const tensorsOf = (name, type = 'F32') =>
  Object.entries(readTensors(join(golden, name, 'model.safetensors'))).map(([from, { shape, data }]) => ({
    name: ggufName(from),
    shape,
    type: shape.length < 2 ? 'F32' : type,
    data,
  }));

/** The keys that the converter writes for a config.json. */
export const metaOf = (c, architecture = 't5') => ({
  'general.architecture': text(architecture),
  'general.type': text('model'),
  [`${architecture}.context_length`]: u32(512),
  [`${architecture}.embedding_length`]: u32(c.d_model),
  [`${architecture}.feed_forward_length`]: u32(c.d_ff),
  [`${architecture}.block_count`]: u32(c.num_layers),
  ...(architecture === 't5' && {
    't5.decoder_block_count': u32(c.num_decoder_layers),
    't5.decoder_start_token_id': u32(c.decoder_start_token_id),
  }),
  [`${architecture}.attention.head_count`]: u32(c.num_heads),
  [`${architecture}.attention.key_length`]: u32(c.d_kv),
  [`${architecture}.attention.value_length`]: u32(c.d_kv),
  [`${architecture}.attention.layer_norm_epsilon`]: f32(c.layer_norm_epsilon),
  [`${architecture}.attention.relative_buckets_count`]: u32(c.relative_attention_num_buckets),
  [`${architecture}.attention.layer_norm_rms_epsilon`]: f32(c.layer_norm_epsilon),
  'general.file_type': u32(0),
  'general.quantization_version': u32(2),
});

/**
 * The vocabulary that the converter writes for a spiece.model: padded to the rows of the embedding with unused tokens.
 * @param {number} size
 * @param {string[]} [added]  of added_tokens.json, after the pieces
 */
export function vocabularyOf(size, added = []) {
  const { texts: pieces, scores, types, prefix, single } = readPieces(readFileSync(pieceFile), 'spiece.model');
  const all = Array.from({ length: size }, (_, i) => pieces[i] ?? added[i - pieces.length] ?? `[PAD${i}]`);
  const of = (own, user, unused) => all.map((_, i) => own[i] ?? (i - pieces.length < added.length ? user : unused));
  return {
    'tokenizer.ggml.model': text('t5'),
    'tokenizer.ggml.pre': text('default'),
    'tokenizer.ggml.tokens': texts(all),
    'tokenizer.ggml.scores': f32s(of(scores, -1000, -10000)),
    'tokenizer.ggml.token_type': i32s(of(types, 4, 5)),
    'tokenizer.ggml.add_space_prefix': bool(prefix),
    'tokenizer.ggml.remove_extra_whitespaces': bool(single),
    'tokenizer.ggml.eos_token_id': u32(1),
    'tokenizer.ggml.unknown_token_id': u32(2),
    'tokenizer.ggml.padding_token_id': u32(0),
  };
}
