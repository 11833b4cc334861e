// seeds.js - small valid files of every format, from the project's own writers
import { readFileSync } from 'node:fs';
import {
  bool,
  f32,
  f32s,
  i32s,
  llama2cFile,
  text,
  texts,
  u32,
  withHeader,
  writeGguf,
} from '../node/checkpoint_files.js';
import { ggufMeta as llama } from '../node/small_files.js';
import { LETTERS } from './tokenizer_seeds.js';
import { product } from '../node/random_values.js';

// at most 2^16: a shape may claim more than there is
const floats = (/** @type {number} */ n) =>
  Float32Array.from({ length: n > 2 ** 16 ? 2 ** 16 : n }, (_, i) => (((i * 37) % 101) - 50) / 50);
const json = (/** @type {string} */ path) =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));

const pieces = ['<unk>', '<s>', '</s>', '<0x0A>', '▁', 'a', 'b', 'ab'];
const sentencepiece = {
  'tokenizer.ggml.model': text('llama'),
  'tokenizer.ggml.tokens': texts(pieces),
  'tokenizer.ggml.scores': f32s(pieces.map((_, i) => -i)),
  'tokenizer.ggml.token_type': i32s([2, 3, 3, 6, 1, 1, 1, 1]),
  'tokenizer.ggml.bos_token_id': u32(1),
  'tokenizer.ggml.eos_token_id': u32(2),
  'tokenizer.ggml.add_bos_token': bool(true),
  'tokenizer.chat_template': text('{{ messages }}'),
};
const bpe = {
  'tokenizer.ggml.model': text('gpt2'),
  'tokenizer.ggml.pre': text('llama-bpe'),
  'tokenizer.ggml.tokens': texts(['<s>', ...LETTERS.slice(0, 6), 'th']),
  'tokenizer.ggml.merges': texts(['t h', 'a b']),
  'tokenizer.ggml.token_type': i32s([3, 1, 1, 1, 1, 1, 1, 1]),
  'tokenizer.ggml.bos_token_id': u32(0),
};
/** Shapes of the weights that have the same one everywhere; a norm or bias has 32 numbers. @type {Record<string, number[]>} */
const SHAPES = {
  token_embd: [8, 32],
  output: [8, 32],
  attn_q: [32, 32],
  attn_k: [16, 32],
  attn_v: [16, 32],
  attn_qkv: [64, 32],
  attn_output: [32, 32],
  ffn_gate: [64, 32],
  ffn_up: [64, 32],
  ffn_down: [32, 64],
};
/**
 * Tensors of one block and of what lies around it: matrices of `type`, norms and biases f32.
 * @param {string} names  a space between two
 * @param {string} [type]
 * @param {Record<string, number[]>} [shapes]  where they differ from SHAPES
 */
const tensorsOf = (names, type = 'Q8_0', shapes = {}) =>
  names.split(' ').map((name) => {
    const shape = shapes[name] ?? SHAPES[name] ?? [32];
    const full = name.includes('.') ? name : `${name}.weight`;
    return {
      name: /^(?:token_embd|output|rope|enc|dec|blk)/.test(name) ? full : `blk.0.${full}`,
      shape,
      type: shape.length === 2 && !/norm|_rel_b/.test(name) ? type : 'F32',
    };
  });
const LLAMA = 'token_embd output_norm attn_norm ffn_norm attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down';
const ggufTensors = (/** @type {string} */ type) => tensorsOf(LLAMA, type);

/** The same metadata under another architecture. */
const renamed = (/** @type {string} */ arch, /** @type {Record<string, any>} */ more) => ({
  ...Object.fromEntries(Object.entries(llama).map(([key, value]) => [key.replace('llama.', `${arch}.`), value])),
  'general.architecture': text(arch),
  ...Object.fromEntries(Object.entries(more).map(([key, value]) => [`${arch}.${key}`, value])),
});
const unigramPieces = {
  'tokenizer.ggml.model': text('t5'),
  'tokenizer.ggml.tokens': texts(['<pad>', '</s>', '<unk>', '▁', 'a', 'b', 'ab', '▁ab']),
  'tokenizer.ggml.scores': f32s([0, 0, 0, -2, -3, -3, -2.5, -2]),
  'tokenizer.ggml.token_type': i32s([3, 3, 2, 1, 1, 1, 1, 1]),
  'tokenizer.ggml.remove_extra_whitespaces': bool(true),
};
/** Phi-3 with tables of rotary factors, Gemma 3 with a pattern of windows, StableLM with a norm of each head. */
const architectures = [
  {
    meta: Object.entries({
      ...renamed('phi3', {
        'rope.dimension_count': u32(8),
        'rope.scaling.original_context_length': u32(8),
        'rope.scaling.attn_factor': f32(1.2),
        'attention.sliding_window': u32(4),
      }),
      ...sentencepiece,
    }),
    tensors: tensorsOf(
      'rope_factors_long rope_factors_short token_embd output_norm attn_norm ffn_norm attn_qkv attn_output ffn_up ffn_down',
      'Q8_0',
      { rope_factors_long: [4], rope_factors_short: [4], ffn_up: [128, 32] },
    ),
  },
  {
    meta: Object.entries({
      ...renamed('gemma3', {
        'attention.sliding_window': u32(4),
        'attention.sliding_window_pattern': u32(2),
        'rope.freq_base_swa': f32(1000),
        'rope.scaling.type': text('yarn'),
        'rope.scaling.factor': f32(4),
        'rope.scaling.original_context_length': u32(16),
        final_logit_softcapping: f32(30),
      }),
      ...unigramPieces,
    }),
    tensors: tensorsOf(
      'token_embd output_norm attn_norm post_attention_norm ffn_norm post_ffw_norm attn_q attn_k attn_v ' +
        'attn_q_norm attn_k_norm attn_output ffn_gate ffn_up ffn_down',
      'Q8_0',
      { attn_q_norm: [16], attn_k_norm: [16] },
    ),
  },
  {
    meta: Object.entries({
      ...renamed('stablelm', {
        'attention.layer_norm_epsilon': f32(1e-5),
        'rope.dimension_count': u32(4),
        use_parallel_residual: bool(true),
      }),
      ...bpe,
    }),
    tensors: tensorsOf(
      'token_embd output_norm output_norm.bias output attn_norm attn_norm.bias attn_q attn_k attn_v ' +
        'attn_q_norm attn_k_norm attn_output ffn_gate ffn_up ffn_down',
      'Q8_0',
      { attn_q_norm: [2, 16], attn_k_norm: [1, 16] },
    ),
  },
];
/** T5: two stacks, cross-attention, a bias by distance. */
const t5Names = ['enc', 'dec'].flatMap((stack) => [
  `${stack}.blk.0.attn_rel_b.weight`,
  ...['attn', ...(stack === 'dec' ? ['cross_attn'] : [])].flatMap((part) =>
    ['norm', 'q', 'k', 'v', 'o'].map((name) => `${stack}.blk.0.${part}_${name}.weight`),
  ),
  ...['norm', 'up', 'down'].map((name) => `${stack}.blk.0.ffn_${name}.weight`),
]);
const t5Shape = (/** @type {string} */ name) =>
  /rel_b/.test(name)
    ? [8, 2]
    : /_norm/.test(name)
      ? [32]
      : /up/.test(name)
        ? [64, 32]
        : /down/.test(name)
          ? [32, 64]
          : [32, 32];
const t5Tensors = tensorsOf(
  ['token_embd.weight', 'enc.output_norm.weight', 'dec.output_norm.weight', ...t5Names].join(' '),
  'Q8_0',
  { 'token_embd.weight': [8, 32], ...Object.fromEntries(t5Names.map((name) => [name, t5Shape(name)])) },
);
const t5 = {
  'general.architecture': text('t5'),
  't5.context_length': u32(16),
  't5.embedding_length': u32(32),
  't5.block_count': u32(1),
  't5.decoder_block_count': u32(1),
  't5.decoder_start_token_id': u32(0),
  't5.feed_forward_length': u32(64),
  't5.attention.head_count': u32(2),
  't5.attention.key_length': u32(16),
  't5.attention.value_length': u32(16),
  't5.attention.layer_norm_rms_epsilon': f32(1e-6),
  't5.attention.relative_buckets_count': u32(8),
  ...unigramPieces,
};
const expertTensors = [
  ...ggufTensors('Q8_0').filter(({ name }) => !/ffn_(gate|up|down)/.test(name)),
  { name: 'blk.0.ffn_gate_inp.weight', shape: [3, 32], type: 'F32' },
  ...['gate', 'up', 'down'].map((part) => ({
    name: `blk.0.ffn_${part}_exps.weight`,
    shape: [3, 32, 32],
    type: 'Q8_0',
  })),
];

/** A GGUF as lists: pairs of key and value, tensors without their data. */
export const ggufs = [
  ...architectures,
  { meta: Object.entries({ ...llama, ...sentencepiece }), tensors: ggufTensors('Q8_0') },
  {
    meta: Object.entries({
      ...llama,
      ...bpe,
      'llama.rope.scaling.type': text('linear'),
      'llama.rope.scaling.factor': f32(4),
    }),
    tensors: ggufTensors('Q4_0'),
  },
  {
    meta: Object.entries(llama),
    tensors: [{ name: 'rope_freqs.weight', shape: [8], type: 'F32' }, ...ggufTensors('F16')],
  },
  {
    meta: Object.entries({
      ...llama,
      'llama.expert_count': u32(3),
      'llama.expert_used_count': u32(2),
      'llama.expert_feed_forward_length': u32(32),
    }),
    tensors: expertTensors,
  },
  { meta: Object.entries(t5), tensors: t5Tensors },
];
/**
 * @param {any} gguf
 * @returns {Uint8Array}
 */
export const ggufBytes = ({ meta, tensors }) =>
  writeGguf(
    Object.fromEntries(meta),
    tensors.map((/** @type {any} */ t) => ({
      ...t,
      // factors of rotary frequencies are positive
      data: floats(product(t.shape)).map(/^rope/.test(t.name) ? (x) => 2 + x : (x) => x),
    })),
  );

// ---- safetensors: a header and the configuration that goes with it

const CASES = 'tests/golden/cases';
/** @param {Uint8Array} bytes */
const headerOf = (bytes) =>
  JSON.parse(
    Buffer.from(
      bytes.subarray(8, 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true))),
    ).toString(),
  );
export const models = [
  'llama_1tok',
  'gpt2_n_inner',
  't1_3layer_odd',
  't2_encdec_padmask',
  'marian',
  'bart',
  't5',
  't5_v1_1',
  'qwen3_moe',
].map((name) => ({
  config: json(`${CASES}/${name}/config.json`),
  header: headerOf(new Uint8Array(readFileSync(new URL(`../golden/cases/${name}/model.safetensors`, import.meta.url)))),
}));
/**
 * Configurations with the keys that the families read, valid and unusual ones; the weights are those of another
 * configuration.
 */
const rotary = {
  rope_theta: 1e4,
  rope_scaling: {
    rope_type: 'llama3',
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  },
};
const like = (/** @type {object} */ more) => ({
  ...models[0].config,
  ...rotary,
  hidden_act: 'silu',
  bos_token_id: 1,
  eos_token_id: [1, 2],
  ...more,
});
models.push(
  ...[
    like({
      model_type: 'llama',
      attention_bias: false,
      mlp_bias: false,
      head_dim: 8,
      rope_parameters: { type: 'linear', factor: 2 },
      quantization_config: null,
    }),
    like({ model_type: 'mistral', sliding_window: 9, logit_scale: 1, num_experts: 0 }),
    like({
      model_type: 'qwen2',
      use_sliding_window: true,
      max_window_layers: 0,
      sliding_window: 9,
      layer_types: ['sliding_attention'],
    }),
    like({ model_type: 'qwen3', attention_bias: true, layer_types: ['full_attention'], head_dim: 8 }),
    {
      model_type: 'gpt-prenorm-erf',
      vocab_size: 8,
      d_model: 8,
      n_layers: 1,
      n_heads: 2,
      context: 16,
      norm_eps: 1e-5,
      activation: 'gelu',
      mlp_mult: 4,
      fused_qkv: true,
      attn_bias: true,
    },
    {
      model_type: 'rlvr-from-scratch',
      vocab_size: 8,
      d_model: 8,
      n_layers: 1,
      n_heads: 2,
      d_ff: 8,
      norm: 'rmsnorm',
      ffn: 'gelu',
      positional: 'rope',
      rope_convention: 'interleaved',
      pre_norm: true,
    },
    {
      model_type: 'glassformer',
      vocab_size: 8,
      d_model: 8,
      n_layers: 1,
      n_heads: 2,
      ffn: 'relu',
      kind: 'encoder',
      causal: false,
      sliding_window: 0,
    },
  ].map((config) => ({ config, header: models[0].header })),
);
/**
 * The data are zeros, up to the end of the header's valid ranges.
 * @param {any} header
 * @returns {Uint8Array}
 */
export function safetensorsBytes(header) {
  const ends = Object.values(header ?? {})
    .map((t) => Number(t?.data_offsets?.[1]))
    .filter((n) => n > 0 && n < 1 << 20);
  return withHeader(JSON.stringify(header) ?? '', [Buffer.alloc(Math.max(0, ...ends))]);
}

/** SentencePiece models and the ids of Marian, as they lie in folders without a tokenizer.json. */
export const pieceFiles = Object.fromEntries(
  ['spiece.model', 'source.spm', 'vocab.json'].map((name) => [
    name,
    new Uint8Array(readFileSync(new URL(`../golden/formats/sentencepiece/${name}`, import.meta.url))),
  ]),
);

// ---- PyTorch

/** Files of torch.save; tests/golden/README.md says how they were made. */
export const torchFiles = [
  'nanogpt/ckpt.pt',
  'nanogpt_half.pt',
  'strided.pth',
  'parameters.pt',
  'mingpt.pt',
  'tutorial1_classical.pt',
  'refused/namespace.pt',
  'refused/module.pt',
  'refused/script.pt',
].map((name) => new Uint8Array(readFileSync(new URL(`../golden/pytorch/${name}`, import.meta.url))));

// ---- llama2.c

/** Each version. */
export const bins = /** @type {const} */ ([0, 1, 2]).map((version) => llama2cFile(version));
