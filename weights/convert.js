#!/usr/bin/env node
// convert.js - converts a Hugging Face Llama folder to one GGUF file
//
//   node weights/convert.js FOLDER OUT.gguf [--type Q8_0|F16|F32] [--name NAME]
//
// Matrices, including the embedding, are stored as --type; norms stay f32. Rows of q and k are permuted from half to
// adjacent rotation pairs, as GGUF's `llama` architecture requires. The tokenizer must be a byte-level BPE with GPT-2's
// split pattern, which GGUF calls "gpt-2".
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { fromBfloat, fromHalf } from '../web/lib/bytes/half.js';
import { openCheckpoint } from '../web/lib/checkpoint/source.js';
import { bool, f32, i32s, text, texts, u32, writeGguf } from '../web/lib/convert/write_gguf.js';

/** llama.cpp's numbers for general.file_type. @type {Record<string, number>} */
const FILE_TYPE = { F32: 0, F16: 1, Q8_0: 7 };

const {
  positionals: [folder, out],
  values,
} = parseArgs({
  allowPositionals: true,
  options: { type: { type: 'string', default: 'Q8_0' }, name: { type: 'string', default: 'model' } },
});
if (!folder || !out || !(values.type in FILE_TYPE)) {
  console.error('usage: node weights/convert.js FOLDER OUT.gguf [--type Q8_0|F16|F32] [--name NAME]');
  process.exit(2);
}

const checkpoint = await openCheckpoint(folder.endsWith('/') ? folder : `${folder}/`);
const { config: c, special } = checkpoint;
const isLlama =
  c.kind === 'decoder' &&
  c.norm === 'rmsnorm' &&
  c.ffn === 'swiglu' &&
  c.rope_pairs === 'half' &&
  c.position === 'rope' &&
  c.rope_scaling === 'none' &&
  !c.bias_qkv &&
  !c.bias_ffn &&
  !c.qk_norm &&
  !c.sliding_window;
if (!isLlama) throw new Error(`${folder}: only a plain Llama can be converted`);
const weights = await collect(checkpoint);

/** @type {Record<string, any>} */
const tokenizer = JSON.parse(await readFile(`${folder.replace(/\/$/, '')}/tokenizer.json`, 'utf8'));
const meta = {
  'general.architecture': text('llama'),
  'general.name': text(values.name),
  'general.file_type': u32(FILE_TYPE[values.type]),
  'general.quantization_version': u32(2),
  'llama.vocab_size': u32(c.vocab_size),
  'llama.context_length': u32(c.context_length),
  'llama.embedding_length': u32(c.d_model),
  'llama.block_count': u32(c.n_layers),
  'llama.feed_forward_length': u32(c.d_ff),
  'llama.attention.head_count': u32(c.n_heads),
  'llama.attention.head_count_kv': u32(c.n_kv_heads),
  'llama.attention.key_length': u32(c.d_head),
  'llama.attention.value_length': u32(c.d_head),
  'llama.attention.layer_norm_rms_epsilon': f32(c.norm_eps),
  'llama.rope.dimension_count': u32(c.d_head),
  'llama.rope.freq_base': f32(c.rope_theta),
  ...vocabulary(tokenizer),
};
const bytes = writeGguf(meta, tensors());
await writeFile(out, bytes);
console.log(`${out}: ${bytes.length} bytes, ${[...weights.values()].reduce((n, w) => n + w.length, 0)} parameters`);

/**
 * Every weight as f32, by its name in the roster.
 * @param {import('../web/lib/checkpoint/source.js').Checkpoint} checkpoint
 */
async function collect(checkpoint) {
  /** @type {Map<string, Float32Array>} */
  const all = new Map();
  /** @type {Float32Array} */
  let data;
  let at = 0;
  await checkpoint.stream({
    begin({ covers, shape, dtype }) {
      if (!['f32', 'f16', 'bf16'].includes(dtype)) throw new Error(`${covers[0]}: ${dtype} cannot be converted`);
      data = new Float32Array(shape.reduce((a, b) => a * b, 1));
      all.set(covers[0], data);
      at = 0;
      this.size = dtype === 'f32' ? 4 : 2;
      this.half = dtype === 'f16' ? fromHalf : fromBfloat;
    },
    write(view) {
      const v = new DataView(view.buffer, view.byteOffset, view.length);
      for (let i = 0; i < view.length; i += this.size)
        data[at++] = this.size === 4 ? v.getFloat32(i, true) : this.half(v.getUint16(i, true));
    },
    end() {},
  });
  return all;
}

/** @returns {import('../web/lib/convert/write_gguf.js').Tensor[]} in llama.cpp's order */
function tensors() {
  /** @type {import('../web/lib/convert/write_gguf.js').Tensor[]} */
  const list = [];
  /**
   * @param {string} name
   * @param {string} ours
   * @param {number[]} shape
   * @param {number} [heads] rows to permute
   */
  const add = (name, ours, shape, heads) => {
    const data = weights.get(ours);
    list.push({
      name: `${name}.weight`,
      shape,
      type: /** @type {any} */ (shape.length === 2 ? values.type : 'F32'),
      data: heads ? adjacent(data, heads, shape[1]) : data,
    });
  };
  const d = c.d_model,
    q = c.n_heads * c.d_head,
    kv = c.n_kv_heads * c.d_head;
  add('token_embd', 'embed.weight', [c.vocab_size, d]);
  for (let l = 0; l < c.n_layers; l++) {
    const a = `blk.${l}`,
      b = `blocks.${l}`;
    add(`${a}.attn_norm`, `${b}.norm1.weight`, [d]);
    add(`${a}.attn_q`, `${b}.attn.q.weight`, [q, d], c.n_heads);
    add(`${a}.attn_k`, `${b}.attn.k.weight`, [kv, d], c.n_kv_heads);
    add(`${a}.attn_v`, `${b}.attn.v.weight`, [kv, d]);
    add(`${a}.attn_output`, `${b}.attn.o.weight`, [d, q]);
    add(`${a}.ffn_norm`, `${b}.norm2.weight`, [d]);
    add(`${a}.ffn_gate`, `${b}.ffn.gate.weight`, [c.d_ff, d]);
    add(`${a}.ffn_up`, `${b}.ffn.up.weight`, [c.d_ff, d]);
    add(`${a}.ffn_down`, `${b}.ffn.down.weight`, [d, c.d_ff]);
  }
  add('output_norm', 'final_norm.weight', [d]);
  if (!c.tie_word_embeddings) add('output', 'head.weight', [c.vocab_size, d]);
  return list;
}

/**
 * Permute rows so that row i and row i + d_head/2 of each head are adjacent.
 * @param {Float32Array} w
 * @param {number} heads
 * @param {number} cols
 */
function adjacent(w, heads, cols) {
  const out = new Float32Array(w.length);
  const rows = w.length / cols / heads;
  for (let h = 0; h < heads; h++) {
    for (let r = 0; r < rows; r++) {
      const from = h * rows + (r % 2) * (rows / 2) + (r >> 1);
      out.set(w.subarray(from * cols, (from + 1) * cols), (h * rows + r) * cols);
    }
  }
  return out;
}

/** @param {Record<string, any>} tokenizer */
function vocabulary({ model, pre_tokenizer: pre, added_tokens: added }) {
  const plain = model.type === 'BPE' && pre?.type === 'ByteLevel' && !pre.add_prefix_space && pre.use_regex !== false;
  if (!plain) throw new Error('the tokenizer is not a byte-level BPE with the split pattern of GPT-2');
  const tokens = Array.from({ length: c.vocab_size }, (_, id) => `[PAD${id}]`);
  const types = tokens.map(() => 5); // unused
  for (const [t, id] of Object.entries(model.vocab)) {
    tokens[id] = t;
    types[id] = 1;
  }
  for (const t of added) {
    tokens[t.id] = t.content;
    types[t.id] = t.special ? 3 : 4;
  }
  const { bos, eos } = special;
  return {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text('gpt-2'),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.token_type': i32s(types),
    'tokenizer.ggml.merges': texts(
      model.merges.map((/** @type {any} */ m) => (typeof m === 'string' ? m : m.join(' '))),
    ),
    ...(bos === null ? {} : { 'tokenizer.ggml.bos_token_id': u32(bos), 'tokenizer.ggml.add_bos_token': bool(true) }),
    ...(eos.length ? { 'tokenizer.ggml.eos_token_id': u32(eos[0]) } : {}),
  };
}
