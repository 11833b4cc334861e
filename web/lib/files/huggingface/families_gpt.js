// families_gpt.js - the families with a plain feed-forward layer and LayerNorm: GPT-2 and those that followed it
import { MAX_LAYERS, repeating } from '../../engine/config/layer_flags.js';
import { BIASED, SIZE_KEYS, GPT2_KEYS, activation, biasKeys, family, like, ropeFields } from './families_common.js';
import { llama } from './families_llama.js';

/** @import { Family } from './families_common.js' */

/** Names of GPT-2's tensors, without a prefix. */
const GPT2_NAMES = {
  blocks: 'h',
  embed: 'wte',
  position: 'wpe',
  norm1: 'ln_1',
  norm2: 'ln_2',
  'attn.*': 'attn.c_attn',
  'attn.o': 'attn.c_proj',
  'ffn.up': 'mlp.c_fc',
  'ffn.down': 'mlp.c_proj',
  final_norm: 'ln_f',
  head: '/lm_head',
};

/** GPT-2: q, k and v are one tensor, and matrices are stored [in, out]. */
const gpt2 = family({
  keys: {
    ...GPT2_KEYS,
    scale_scores: 'scale_attn_weights',
    scores_by_layer: 'scale_attn_by_inverse_layer_idx',
  },
  base: { norm: 'layernorm', position: 'learned', ...BIASED },
  notInTensors: () => ['n_heads'],
  derive(json, unsupported) {
    if (json.scale_attn_by_inverse_layer_idx && json.scale_attn_weights === false)
      unsupported('scale_attn_by_inverse_layer_idx without scale_attn_weights', true);
    return { ffn: activation(json.activation_function ?? 'gelu_new'), context_length: json.n_ctx };
  },
  prefixes: ['', 'transformer.'],
  names: GPT2_NAMES,
  conventions: { cols: true },
});

/**
 * The kind of each layer in GPT-Neo's attention_types, a list of [kinds of layers, how often]. What is no such list
 * has fewer kinds than layers, or others than 'global' and 'local'.
 * @param {any} types
 * @returns {any[]} at most one more than MAX_LAYERS
 */
function kindsOfLayers(types) {
  const kinds = [];
  for (const entry of Array.isArray(types) ? types : []) {
    const [pattern, times] = Array.isArray(entry) ? entry : [];
    const most = typeof times === 'number' ? Math.min(times, MAX_LAYERS) : 0;
    for (let i = 0; i < most; i++)
      for (const kind of Array.isArray(pattern) ? pattern : [pattern]) if (kinds.push(kind) > MAX_LAYERS) return kinds;
  }
  return kinds;
}

/** GPT-Neo: scores are not scaled, and some layers have a window. */
const gptNeo = family({
  keys: { ...SIZE_KEYS, n_layers: 'num_layers', n_heads: 'num_heads', norm_eps: 'layer_norm_epsilon' },
  base: {
    norm: 'layernorm',
    position: 'learned',
    bias_attn_out: true,
    bias_ffn: true,
    scale_scores: false,
    context_length: 2048,
  },
  reads: 'attention_types attention_layers window_size activation_function',
  derive(json, unsupported) {
    const types = json.attention_types ?? [[['global', 'local'], 12]];
    const kinds = kindsOfLayers(types);
    if (kinds.length !== json.num_layers || !kinds.every((kind) => kind === 'global' || kind === 'local'))
      unsupported('attention_types', types);
    return {
      ffn: activation(json.activation_function ?? 'gelu_new'),
      sliding_window: kinds.includes('local') ? (json.window_size ?? 256) : 0,
      window_layers: repeating(kinds.map((kind) => kind === 'local')),
    };
  },
  prefixes: ['transformer.', ''],
  names: { ...GPT2_NAMES, 'attn.*': 'attn.attention.*_proj', 'attn.o': 'attn.attention.out_proj' },
});

const { position: _, norm2: __, ...GPTJ_NAMES } = GPT2_NAMES;

/** GPT-J: one norm for both sublayers, neighbouring components rotated, a head with biases. */
const gptj = family({
  keys: { ...GPT2_KEYS, rotary_dim: 'rotary_dim' },
  base: {
    norm: 'layernorm',
    position: 'rope',
    rope_pairs: 'adjacent',
    rotary_dim: 64,
    parallel_residual: true,
    shared_norm: true,
    bias_ffn: true,
    bias_head: true,
    context_length: 2048,
    tie_word_embeddings: false,
  },
  reads: 'activation_function',
  derive: (json) => ({ ffn: activation(json.activation_function ?? 'gelu_new') }),
  prefixes: ['transformer.', ''],
  names: {
    ...GPTJ_NAMES,
    'attn.*': 'attn.*_proj',
    'attn.o': 'attn.out_proj',
    'ffn.up': 'mlp.fc_in',
    'ffn.down': 'mlp.fc_out',
  },
});

/**
 * GPT-NeoX (Pythia): both sublayers read the same stream, each through its own norm; q, k and v are one tensor, head by
 * head.
 */
const gptNeox = family({
  keys: {
    ...SIZE_KEYS,
    norm_eps: 'layer_norm_eps',
    parallel_residual: 'use_parallel_residual',
    bias_qkv: 'attention_bias',
    bias_attn_out: 'attention_bias',
  },
  base: {
    norm: 'layernorm',
    position: 'rope',
    parallel_residual: true,
    ...BIASED,
    context_length: 2048,
    tie_word_embeddings: false,
  },
  required: ['d_ff'],
  reads: 'hidden_act rotary_pct rotary_emb_base partial_rotary_factor rope_theta',
  derive: (json, unsupported) => ({
    ffn: activation(json.hidden_act ?? 'gelu'),
    ...ropeFields({ ...json, partial_rotary_factor: undefined }, unsupported, { partial: 0.25 }),
    rope_theta: json.rope_parameters?.rope_theta ?? json.rotary_emb_base ?? json.rope_theta ?? 10000,
  }),
  prefixes: ['gpt_neox.', ''],
  names: {
    blocks: 'layers',
    embed: 'embed_in',
    norm1: 'input_layernorm',
    norm2: 'post_attention_layernorm',
    'attn.*': 'attention.query_key_value',
    'attn.o': 'attention.dense',
    'ffn.up': 'mlp.dense_h_to_4h',
    'ffn.down': 'mlp.dense_4h_to_h',
    final_norm: 'final_layer_norm',
    head: '/embed_out',
  },
  conventions: { heads: true },
  head: 'embed_out.weight',
});

/** Phi-1 to Phi-2: one norm for both sublayers, a part of each head rotated, biases everywhere. */
const phi = family({
  keys: {
    ...SIZE_KEYS,
    n_kv_heads: 'num_key_value_heads',
    norm_eps: 'layer_norm_eps',
    rope_theta: 'rope_theta',
    qk_norm: 'qk_layernorm',
  },
  base: {
    norm: 'layernorm',
    position: 'rope',
    parallel_residual: true,
    shared_norm: true,
    qk_norm_kind: 'layernorm',
    bias_qk_norm: true,
    ...BIASED,
    bias_head: true,
    context_length: 2048,
    tie_word_embeddings: false,
  },
  required: ['d_ff'],
  reads: 'hidden_act partial_rotary_factor',
  derive: (json, unsupported) => ({
    ffn: activation(json.hidden_act ?? 'gelu_new'),
    ...ropeFields(json, unsupported, { partial: 0.5 }),
  }),
  names: {
    '': 'model.',
    blocks: 'layers',
    embed: 'embed_tokens',
    norm1: 'input_layernorm',
    'attn.*': 'self_attn.*_proj',
    'attn.o': 'self_attn.dense',
    'attn.q_norm': 'self_attn.q_layernorm',
    'attn.k_norm': 'self_attn.k_layernorm',
    'ffn.up': 'mlp.fc1',
    'ffn.down': 'mlp.fc2',
    final_norm: 'final_layernorm',
    head: '/lm_head',
  },
});

/** StarCoder 2: Llama's attention with LayerNorm, biases and a plain feed-forward layer. */
const starcoder2 = like(llama, {
  keys: { norm_eps: 'norm_epsilon', ...biasKeys('use_bias'), sliding_window: 'sliding_window' },
  base: {
    norm: 'layernorm',
    norm_eps: 1e-5,
    n_kv_heads: 2,
    ...BIASED,
    context_length: 4096,
    tie_word_embeddings: true,
  },
  derive: (json, unsupported) => ({
    ffn: activation(json.hidden_act ?? 'gelu_pytorch_tanh'),
    ...ropeFields(json, unsupported),
  }),
  names: { 'ffn.up': 'mlp.c_fc', 'ffn.down': 'mlp.c_proj' },
});

/**
 * OPT: a table of learned positions with two more rows, and in the smallest of the larger models an embedding of
 * another width and norms after the sums.
 */
const opt = family({
  keys: {
    ...SIZE_KEYS,
    d_ff: 'ffn_dim',
    ...biasKeys('enable_bias'),
    norm_gain: 'layer_norm_elementwise_affine',
  },
  base: {
    norm: 'layernorm',
    position: 'learned',
    position_offset: 2,
    ...BIASED,
    context_length: 2048,
  },
  required: ['d_ff'],
  reads: 'do_layer_norm_before _remove_final_layer_norm activation_function word_embed_proj_dim',
  derive(json) {
    const before = json.do_layer_norm_before ?? true;
    return {
      ffn: activation(json.activation_function ?? 'relu'),
      d_embed: json.word_embed_proj_dim === json.hidden_size ? 0 : (json.word_embed_proj_dim ?? 0),
      norm_placement: before ? 'pre' : 'post',
      final_norm: Boolean(before && !json._remove_final_layer_norm),
    };
  },
  prefixes: ['model.decoder.', 'decoder.', ''],
  names: {
    blocks: 'layers',
    embed: 'embed_tokens',
    embed_project: 'project_in',
    position: 'embed_positions',
    norm1: 'self_attn_layer_norm',
    norm2: 'final_layer_norm',
    'attn.*': 'self_attn.*_proj',
    'attn.o': 'self_attn.out_proj',
    'ffn.up': 'fc1',
    'ffn.down': 'fc2',
    final_norm: 'final_layer_norm',
    head_project: 'project_out',
    head: '/lm_head',
  },
});

/** Names of BLOOM's tensors, which Falcon has too. */
export const BLOOM_NAMES = {
  blocks: 'h',
  embed: 'word_embeddings',
  norm1: 'input_layernorm',
  norm2: 'post_attention_layernorm',
  'attn.*': 'self_attention.query_key_value',
  'attn.o': 'self_attention.dense',
  'ffn.up': 'mlp.dense_h_to_4h',
  'ffn.down': 'mlp.dense_4h_to_h',
  final_norm: 'ln_f',
  head: '/lm_head',
};

/** BLOOM: distances added to the scores instead of positions, a norm after the embedding; q, k and v as in GPT-NeoX. */
const bloom = family({
  keys: {
    ...{ ...GPT2_KEYS, d_model: 'hidden_size', context_length: 'seq_length', d_ff: undefined },
    residual_normed: 'apply_residual_connection_post_layernorm',
  },
  aliases: { n_embed: 'hidden_size', num_hidden_layers: 'n_layer', num_attention_heads: 'n_head' },
  base: {
    norm: 'layernorm',
    ffn: 'gelu_tanh',
    position: 'alibi',
    embed_norm: true,
    ...BIASED,
    context_length: 2048,
  },
  reads:
    'slow_but_exact offset_alibi n_inner unk_token_id ' +
    'attention_softmax_in_fp32 bias_dropout_fusion masked_softmax_fusion skip_bias_add skip_bias_add_qkv',
  derive(json, unsupported) {
    if (json.n_inner && json.n_inner !== 4 * json.hidden_size) unsupported('n_inner', json.n_inner);
    return {};
  },
  prefixes: ['transformer.', ''],
  names: { ...BLOOM_NAMES, embed_norm: 'word_embeddings_layernorm' },
  conventions: { heads: true },
});

/** The families of this file by model_type. @type {Record<string, Family>} */
export const GPT_LIKE = { gpt2, gpt_neo: gptNeo, gptj, gpt_neox: gptNeox, phi, starcoder2, opt, bloom };
