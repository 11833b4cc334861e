// small_files.js - a small model in each file format, and a reader that keeps every tensor
import assert from 'node:assert/strict';
import { BLOCKS } from '../../web/lib/base/dtype_names.js';
import { CODES } from '../../web/lib/base/codes.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { f32, llama2cFile, safetensors, text, u32, writeGguf } from './checkpoint_files.js';
import { refused } from './helpers.js';
import { floats, product } from './random_values.js';

/** Read a checkpoint to its end: bytes by tensor. */
export async function drain(source, options) {
  const checkpoint = await openCheckpoint(source, options);
  const bytes = new Map();
  let parts = [];
  let begun = null;
  await checkpoint.stream({
    begin(t) {
      assert.equal(begun, null);
      begun = t;
      parts = [];
    },
    async write(view) {
      assert.ok(view.length > 0 && view.length % BLOCKS[begun.dtype][1] === 0, 'views end on whole blocks');
      parts.push(Buffer.from(view));
    },
    end(t) {
      assert.equal(begun, t);
      begun = null;
      bytes.set(t.name, Buffer.concat(parts));
    },
  });
  assert.equal(begun, null);
  return { ...checkpoint, data: bytes };
}

/** What the source does when it is read to the end: 'ok' or the code of a GlassformerError. Anything else fails. */
export async function verdict(source, options) {
  try {
    await drain(source, options);
    return 'ok';
  } catch (e) {
    assert.equal(e.name, 'GlassformerError', e.stack);
    assert.ok(Object.hasOwn(CODES, e.code), `${e.code} is a listed code`);
    assert.ok(e.message.length > 10, e.message);
    return e.code;
  }
}

export const rejects = (source, code, message = /./, options = undefined) =>
  refused(drain(source, options), code, message);

export const hf = {
  model_type: 'llama',
  vocab_size: 6,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  max_position_embeddings: 16,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
};

/** Weights of `hf` under the names of transformers, [name, shape]. */
export const hfShapes = [
  ['model.embed_tokens.weight', [6, 8]],
  ['model.norm.weight', [8]],
  ...[0, 1].flatMap((l) =>
    [
      ['input_layernorm', [8]],
      ['post_attention_layernorm', [8]],
      ['self_attn.q_proj', [8, 8]],
      ['self_attn.k_proj', [4, 8]],
      ['self_attn.v_proj', [4, 8]],
      ['self_attn.o_proj', [8, 8]],
      ['mlp.gate_proj', [12, 8]],
      ['mlp.up_proj', [12, 8]],
      ['mlp.down_proj', [8, 12]],
    ].map(([name, shape]) => [`model.layers.${l}.${name}.weight`, shape]),
  ),
];

export const hfTensors = (dtype = 'F32') =>
  hfShapes.map(([name, shape], i) => ({ name, shape, dtype, data: floats(product(shape), i + 1) }));

export const hfFile = (change = (list) => list) => safetensors(change(hfTensors()));

export const ggufMeta = {
  'general.architecture': text('llama'),
  'llama.context_length': u32(16),
  'llama.embedding_length': u32(32),
  'llama.block_count': u32(1),
  'llama.feed_forward_length': u32(64),
  'llama.attention.head_count': u32(2),
  'llama.attention.head_count_kv': u32(1),
  'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
  'llama.rope.freq_base': f32(10000),
  'llama.rope.dimension_count': u32(16),
};

export const ggufTensors = (type = 'Q8_0') =>
  [
    ['token_embd', [4, 32]],
    ['output_norm', [32]],
    ['blk.0.attn_norm', [32]],
    ['blk.0.ffn_norm', [32]],
    ['blk.0.attn_q', [32, 32]],
    ['blk.0.attn_k', [16, 32]],
    ['blk.0.attn_v', [16, 32]],
    ['blk.0.attn_output', [32, 32]],
    ['blk.0.ffn_gate', [64, 32]],
    ['blk.0.ffn_up', [64, 32]],
    ['blk.0.ffn_down', [32, 64]],
  ].map(([name, shape], i) => ({
    name: `${name}.weight`,
    shape,
    type: shape.length === 2 ? type : 'F32',
    data: floats(product(shape), i + 1),
  }));

export const ggufFile = (meta = {}, change = (list) => list) =>
  writeGguf({ ...ggufMeta, ...meta }, change(ggufTensors()));

/** A fetch that serves bytes in chunks, without saying how many there are. */
export const unsized =
  (bytes, chunk = 1000) =>
  async () =>
    new Response(
      new ReadableStream({
        start(c) {
          for (let i = 0; i < bytes.length; i += chunk) c.enqueue(bytes.subarray(i, i + chunk));
          c.close();
        },
      }),
    );

export const kinds = [
  ['safetensors', hfFile(), (b) => ({ weights: b, config: hf }), 'x.safetensors'],
  ['GGUF', ggufFile(), (b) => b, 'x.gguf'],
  ['llama2.c v0', llama2cFile(0), (b) => b, 'x.bin'],
  ['llama2.c v1', llama2cFile(1, false), (b) => b, 'x.bin'],
  ['llama2.c v2', llama2cFile(2), (b) => b, 'x.bin'],
];
