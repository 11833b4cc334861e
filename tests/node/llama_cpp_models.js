// llama_cpp_models.js - small models with random weights whose outputs llama.cpp has recorded (tests/golden/llama_cpp.json)
//
//   node tests/node/llama_cpp_models.js FOLDER     writes them as GGUF files, for tests/golden/make_llama_cpp.py
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ggufLayout, writeModel } from '../../web/lib/files/gguf/write_model.js';
import { ggufHeader, i32s, text, u32 } from '../../web/lib/files/gguf/write_gguf.js';
import { MODELS, randomModel } from './gguf_models.js';
import { floats } from './random_values.js';

const encoder = { kind: 'encoder', n_kv_heads: 4, ffn: 'gelu_tanh', tie_word_embeddings: true };
const post = { ...encoder, norm: 'layernorm', norm_placement: 'post', final_norm: false, embed_norm: true };
const bert = { ...post, position: 'learned', n_token_types: 2, bias_qkv: true, bias_attn_out: true, bias_ffn: true };
const modern = {
  ...{ ...encoder, norm: 'layernorm', bias_norm: false, first_norm: false, embed_norm: true, ffn: 'geglu_tanh' },
  ...{ position: 'rope', sliding_window: 5, window_layers: [false, true, true, false], rope_local_theta: 1000 },
};
const gemma = {
  ...{ ...encoder, n_layers: 7, norm_placement: 'sandwich', qk_norm: true, ffn: 'geglu_tanh', embedding_scale: 8 },
  ...{
    sliding_window: 5,
    window_layers: [true, true, true, true, true, false],
    rope_theta: 1e6,
    rope_local_theta: 1e4,
  },
};
const sections = (architecture) => ({ [`${architecture}.rope.dimension_sections`]: i32s([3, 3, 2, 0]) });
const head = { n_labels: 3, label_pooling: 'first', label_transform: 'tanh', bias_head: true };
const dense = (inputs, outputs, seed) => ({
  ...{ inputs, outputs, weight: floats(inputs * outputs, seed).map((x) => x / 8) },
  ...{ bias: null, activation: 'identity', residual: false },
});

/**
 * A model: its configuration; the architecture of its file, where the writer takes another one that computes the same,
 * with names of tensors and keys that differ there; what its states become.
 * @type {Record<string, {fields: object, architecture?: string, rename?: Record<string, string>, more?: object,
 *   pooling?: object}>}
 */
export const COMPARED = {
  jais2: { fields: MODELS.jais2 },
  ernie4_5: { fields: { rope_pairs: 'adjacent' }, architecture: 'ernie4_5' },
  mistral3: { fields: { rope_pairs: 'adjacent', ffn: 'swiglu' }, architecture: 'mistral3' },
  seed_oss: { fields: { bias_qkv: true }, architecture: 'seed_oss', rename: { ffn_norm: 'post_attention_norm' } },
  qwen2vl: { fields: { bias_qkv: true }, architecture: 'qwen2vl', more: sections('qwen2vl') },
  qwen3vl: {
    ...{ fields: { qk_norm: true }, architecture: 'qwen3vl' },
    more: { ...sections('qwen3vl'), 'qwen3vl.n_deepstack_layers': u32(0) },
  },
  starcoder: { fields: MODELS.gpt2, architecture: 'starcoder' },
  bert: { fields: bert },
  'nomic-bert': { fields: { ...post, position: 'rope', ffn: 'swiglu', n_token_types: 2 } },
  'jina-bert-v3': { fields: { ...bert, position: 'rope', n_token_types: 1 } },
  eurobert: { fields: { ...encoder, n_kv_heads: 2, ffn: 'swiglu' } },
  'llama-embed': { fields: { ...encoder, n_kv_heads: 2, ffn: 'swiglu', rope_pairs: 'adjacent' } },
  'modern-bert': { fields: modern },
  'gemma-embedding': { fields: { ...gemma, n_kv_heads: 2 } },
  'bert labels': { fields: { ...bert, ...head } },
  'bert labels alone': { fields: { ...bert, ...head, label_transform: 'none' } },
  'modern-bert labels': {
    fields: {
      ...modern,
      ...head,
      label_pooling: 'mean',
      label_transform: 'gelu_tanh',
      label_norm: true,
      bias_head_transform: false,
    },
  },
  'qwen3 labels': { fields: { ...MODELS.qwen3, n_labels: 3, label_pooling: 'last', tie_word_embeddings: false } },
  'bert mean': { fields: bert, pooling: { pooling: 'mean', normalize: true } },
  'eurobert last': {
    fields: { ...encoder, n_kv_heads: 2, ffn: 'swiglu' },
    pooling: { pooling: 'last', normalize: true },
  },
  'gemma-embedding dense': {
    fields: { ...gemma, n_kv_heads: 2 },
    pooling: { pooling: 'mean', normalize: true, steps: [dense(64, 96, 5), dense(96, 64, 6), 'normalize'] },
  },
};

/** Tokens that every model reads. */
export const IDS = Array.from({ length: 24 }, (_, i) => 10 + ((i * 37) % 300));

/**
 * A model of the table as the bytes of a GGUF without a vocabulary.
 * @param {string} name
 */
export async function comparedModel(name) {
  const { fields, architecture, rename = {}, more = {}, pooling } = COMPARED[name];
  const { config, weights } = randomModel(fields);
  const chunks = [];
  for await (const chunk of writeModel(config, (w) => weights[w].data, { pooling })) chunks.push(chunk);
  if (!architecture) return new Uint8Array(Buffer.concat(chunks));
  const layout = ggufLayout(config);
  const own = Object.entries(layout.meta).map(([key, value]) => [
    key.replace(layout.architecture, architecture),
    value,
  ]);
  const tensors = layout.tensors.map((tensor) => {
    const from = Object.keys(rename).find((part) => tensor.name.includes(`.${part}.`));
    const bytes = 4 * tensor.shape.reduce((a, b) => a * b, 1);
    return { ...tensor, name: from ? tensor.name.replace(from, rename[from]) : tensor.name, type: 'F32', bytes };
  });
  const meta = {
    'general.architecture': text(architecture),
    ...Object.fromEntries(own),
    ...more,
    [`${architecture}.vocab_size`]: u32(config.vocab_size),
    'tokenizer.ggml.model': text('no_vocab'),
  };
  return new Uint8Array(Buffer.concat([ggufHeader(meta, tensors).header, ...chunks.slice(1)]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  mkdirSync(folder, { recursive: true });
  for (const name of Object.keys(COMPARED)) writeFileSync(join(folder, `${name}.gguf`), await comparedModel(name));
  writeFileSync(join(folder, 'ids.json'), JSON.stringify(IDS));
}
