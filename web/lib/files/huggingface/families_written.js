// families_written.js - layouts of classes that people write or copy: nanoGPT, minGPT, llama2.c, the GPT and the Llama
// of "Build a Large Language Model (From Scratch)", the GPT of the lecture of 2023
//
// A layout is a table like that of a model family: keys of its configuration, names of its tensors. 'H' in a name
// stands for the number of a head, where each head has a tensor of its own.
import { fail } from '../../base/errors.js';
import { activation, biasKeys, family, like, nameIn, product } from './families_common.js';
import { GPT_LIKE } from './families_gpt.js';

/** @import { Family } from './families_common.js' */

/** Keys that nanoGPT, minGPT and the lecture have. */
const NANO_KEYS = {
  vocab_size: 'vocab_size',
  d_model: 'n_embd',
  n_layers: 'n_layer',
  n_heads: 'n_head',
  context_length: 'block_size',
  tie_word_embeddings: 'tie_word_embeddings',
};

/** What nanoGPT and minGPT have in common with GPT-2; their matrices are those of nn.Linear, [out, in]. */
const linearGpt = family({
  ...GPT_LIKE.gpt2,
  keys: NANO_KEYS,
  conventions: {},
  required: ['context_length'],
  reads: 'activation',
});

/**
 * Whether the masks of attention are among the tensors, as minGPT and makemore save them. @param {Set<string>} names
 */
const hasMasks = (names) => [...names].some((name) => name.endsWith('.attn.bias'));

/**
 * nanoGPT, whose ckpt.pt has these keys under model_args: no biases anywhere where bias is false. Without them it is
 * told from minGPT by a tied head and missing masks; where one of the two is otherwise, either may have saved it.
 */
const nanoGpt = like(linearGpt, {
  keys: { ...biasKeys('bias'), bias_norm: 'bias' },
  derive: (json) => ({ ffn: activation(json.activation ?? 'gelu'), d_ff: product(4, json.n_embd) }),
  sizes: ({ bias_qkv }) => ({ bias: bias_qkv }),
  // without biases it can only be a changed class, whose GELU is not known
  excludes: ({ tie_word_embeddings: tied, bias_qkv: biased }, names) =>
    !tied && (hasMasks(names) || !biased) && 'nanoGPT ties the head to the embedding, and saves no masks',
});

/** minGPT, and makemore's Transformer. */
const minGpt = like(linearGpt, {
  derive: (json) => ({ ffn: activation(json.activation ?? 'gelu_new'), d_ff: product(4, json.n_embd) }),
  excludes: ({ tie_word_embeddings: tied }, names) =>
    tied && !hasMasks(names) && 'minGPT has a head of its own, and saves its masks',
});

/** minGPT of 2020: q, k and v are three layers, and the positions a parameter of shape [1, block_size, n_embd]. */
const minGpt2020 = family({
  ...minGpt,
  derive: nanoGpt.derive,
  excludes: undefined,
  head: 'head.weight',
  names: {
    embed: 'tok_emb',
    'position.weight': 'pos_emb',
    norm1: 'ln1',
    norm2: 'ln2',
    'attn.q': 'attn.query',
    'attn.k': 'attn.key',
    'attn.v': 'attn.value',
    'attn.o': 'attn.proj',
    'ffn.up': 'mlp.0',
    'ffn.down': 'mlp.2',
    final_norm: 'ln_f',
    head: 'head',
  },
});

/** The GPT of the lecture "Let's build GPT" (2023): a ReLU, a bias of the head, and a tensor for each head. */
const lecture = family({
  keys: { ...NANO_KEYS, bias_head: 'bias_head', bias_qkv: 'bias_qkv' },
  base: {
    norm: 'layernorm',
    position: 'learned',
    ...{ bias_attn_out: true, bias_ffn: true, bias_head: true, tie_word_embeddings: false },
  },
  required: ['context_length'],
  reads: 'activation',
  notInTensors: () => ['n_heads'],
  derive: (json) => ({ ffn: activation(json.activation ?? 'relu'), d_ff: product(4, json.n_embd) }),
  names(config, json, files) {
    const each = [...files].some((name) => /^blocks\.0\.sa\.heads\.\d+\.query\.weight$/.test(name));
    const of = (/** @type {string} */ part) => (each ? `sa.heads.H.${part}` : `sa.${part}`);
    return {
      embed: 'token_embedding_table',
      position: 'position_embedding_table',
      norm1: 'ln1',
      norm2: 'ln2',
      'attn.q': of('query'),
      'attn.k': of('key'),
      'attn.v': of('value'),
      'attn.o': 'sa.proj',
      'ffn.up': 'ffwd.net.0',
      'ffn.down': 'ffwd.net.2',
      final_norm: 'ln_f',
      head: 'lm_head',
    };
  },
});

/** llama2.c's model.py, Meta's consolidated.00.pth and gpt-fast: neighbouring components are rotated. */
export const llama2c = family({
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'dim',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    n_kv_heads: 'n_kv_heads',
    d_ff: 'hidden_dim',
    context_length: 'max_seq_len',
    norm_eps: 'norm_eps',
    rope_theta: 'rope_theta',
    tie_word_embeddings: 'tie_word_embeddings',
  },
  base: {
    ...{ norm: 'rmsnorm', norm_eps: 1e-5, ffn: 'swiglu' },
    ...{ position: 'rope', rope_theta: 10000, rope_pairs: 'adjacent', context_length: 2048 },
  },
  required: ['d_ff'],
  reads: 'multiple_of ffn_dim_multiplier use_scaled_rope',
  derive: (json) =>
    json.use_scaled_rope
      ? {
          ...{ rope_scaling: 'llama3', rope_factor: 8, rope_original_context: 8192 },
          ...{ rope_low_freq_factor: 1, rope_high_freq_factor: 4 },
        }
      : {},
  head: 'output.weight',
  names: (config, json, files) => ({
    blocks: 'layers',
    embed: 'tok_embeddings',
    norm1: 'attention_norm',
    norm2: 'ffn_norm',
    'attn.*': files.has('layers.0.attention.wqkv.weight') ? 'attention.wqkv' : 'attention.w*', // wqkv: gpt-fast
    'attn.o': 'attention.wo',
    'ffn.gate': 'feed_forward.w1',
    'ffn.down': 'feed_forward.w2',
    'ffn.up': 'feed_forward.w3',
    final_norm: 'norm',
    head: 'output',
  }),
});

/** Names that the GPT and the Llama of the book have in common. */
const BOOK_NAMES = {
  blocks: 'trf_blocks',
  embed: 'tok_emb',
  position: 'pos_emb',
  'attn.q': 'att.W_query',
  'attn.k': 'att.W_key',
  'attn.v': 'att.W_value',
  'attn.o': 'att.out_proj',
  'attn.q_norm': 'att.q_norm',
  'attn.k_norm': 'att.k_norm',
  head: 'out_head',
};
const BOOK_KEYS = {
  vocab_size: 'vocab_size',
  d_model: 'emb_dim',
  n_layers: 'n_layers',
  n_heads: 'n_heads',
  context_length: 'context_length',
  tie_word_embeddings: 'tie_word_embeddings',
};
/** Endings of the book's own norms. @type {[string, string]} */
const SCALE_SHIFT = ['.scale', '.shift'];

/** The GPT of "Build a Large Language Model (From Scratch)". */
const bookGpt = family({
  keys: { ...BOOK_KEYS, bias_qkv: 'qkv_bias' },
  base: { norm: 'layernorm', position: 'learned', ffn: 'gelu_tanh', bias_attn_out: true, bias_ffn: true },
  required: ['context_length'],
  notInTensors: () => ['n_heads'],
  derive: (json) => ({ d_ff: product(4, json.emb_dim) }),
  head: 'out_head.weight',
  names: (config, json, files) => ({
    ...BOOK_NAMES,
    ...(files.has('trf_blocks.0.att.qkv.weight') && { 'attn.*': 'att.qkv' }),
    ...(files.has('trf_blocks.0.att.qkv.weight') && { 'attn.q': undefined, 'attn.k': undefined, 'attn.v': undefined }),
    'attn.o': nameIn(files, ['att.out_proj', 'att.proj'], 'trf_blocks.0.'),
    'ffn.up': 'ff.layers.0',
    'ffn.down': 'ff.layers.2',
  }),
  conventions: { gamma: SCALE_SHIFT },
});

/** The Llama and the Qwen3 of that book's repository. */
const bookLlama = family({
  keys: {
    ...BOOK_KEYS,
    n_kv_heads: 'n_kv_groups',
    d_head: 'head_dim',
    d_ff: 'hidden_dim',
    norm_eps: 'norm_eps',
    rope_theta: 'rope_base',
    qk_norm: 'qk_norm',
  },
  base: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'half' },
  required: ['d_ff', 'context_length'],
  reads: 'rope_freq',
  notInTensors: () => ['n_heads', 'rope_theta', 'context_length'],
  derive(json, unsupported, files) {
    const norm_eps = json.norm_eps ?? (files?.has('final_norm.scale') ? 1e-6 : 1e-5); // the norm of Qwen3 has a scale
    const f = json.rope_freq;
    if (!f) return { norm_eps };
    return {
      norm_eps,
      rope_scaling: 'llama3',
      rope_factor: f.factor,
      rope_low_freq_factor: f.low_freq_factor,
      rope_high_freq_factor: f.high_freq_factor,
      rope_original_context: f.original_context_length,
    };
  },
  head: 'out_head.weight',
  names: { ...BOOK_NAMES, 'ffn.gate': 'ff.fc1', 'ffn.up': 'ff.fc2', 'ffn.down': 'ff.fc3' },
  conventions: (files) => (files.has('final_norm.scale') ? { gamma: SCALE_SHIFT } : {}),
});

/** Throws for layouts that are known and whose numbers the engine cannot compute. @param {Iterable<string>} names */
export function refuseLayout(names) {
  const all = new Set(names);
  const has = (/** @type {RegExp} */ pattern) => [...all].some((name) => pattern.test(name));
  for (const [pattern, lacking, what] of NOT_COMPUTED)
    if (has(pattern) && !(lacking && has(lacking))) fail('unsupported', what);
}

/** Layouts that are refused by name: a name that they have, one that they lack, and why. */
const NOT_COMPUTED = /** @type {[RegExp, RegExp | null, string][]} */ ([
  [
    /(^|\.)(x0_lambdas|value_embeds\.\d+\.weight)$/,
    null,
    'these are names of a later nanochat, whose residual weights and value embeddings the engine lacks',
  ],
]);

/** The layouts of this file by model_type. @type {Record<string, Family>} */
export const WRITTEN = {
  nanogpt: nanoGpt,
  mingpt: minGpt,
  'mingpt-2020': minGpt2020,
  'gpt-lecture': lecture,
  llama2c,
  'llms-from-scratch-gpt': bookGpt,
  'llms-from-scratch-llama': bookLlama,
};
