// families_llama.js - the families with Llama's structure: one norm before each sublayer or other norms at the same
// places, rotary positions, a feed-forward layer with a gate
import { eachLayer, repeating, windowFields } from '../../engine/config/layer_flags.js';
import { SIZE_KEYS, family, gated, like, ropeFields, windowLayers } from './families_common.js';

/** @import { Family, Json, Unsupported } from './families_common.js' */

/**
 * The fields of a gate with SiLU and of rotary positions.
 * @param {Parameters<typeof ropeFields>[2]} [options]
 * @returns {(json: Json, unsupported: Unsupported) => Json}
 */
export const rotated = (options) => (json, unsupported) => ({
  ffn: gated('hidden_act', json.hidden_act ?? 'silu', unsupported),
  ...ropeFields(json, unsupported, options),
});

/** Llama, and the base of the families with the same structure. */
export const llama = family({
  keys: {
    ...SIZE_KEYS,
    n_kv_heads: 'num_key_value_heads',
    d_head: 'head_dim',
    norm_eps: 'rms_norm_eps',
    rope_theta: 'rope_theta',
    bias_qkv: 'attention_bias',
    bias_attn_out: 'attention_bias',
    bias_ffn: 'mlp_bias',
  },
  base: {
    norm: 'rmsnorm',
    norm_eps: 1e-6,
    ffn: 'swiglu',
    position: 'rope',
    rope_pairs: 'half',
    context_length: 2048,
    tie_word_embeddings: false,
  },
  required: ['d_ff'],
  derive(json, unsupported) {
    if (json.sliding_window && json.model_type === 'llama') unsupported('sliding_window', json.sliding_window);
    return rotated()(json, unsupported);
  },
  prefixes: ['model.', ''],
  names: {
    blocks: 'layers',
    embed: 'embed_tokens',
    norm1: 'input_layernorm',
    norm2: 'post_attention_layernorm',
    'attn.*': 'self_attn.*_proj',
    'attn.q_norm': 'self_attn.q_norm',
    'attn.k_norm': 'self_attn.k_norm',
    'ffn.*': 'mlp.*_proj',
    final_norm: 'norm',
    head: '/lm_head',
  },
});
export const NO_BIAS = { bias_qkv: undefined, bias_attn_out: undefined, bias_ffn: undefined };

/** Llama with a sliding window. */
export const mistral = like(llama, {
  keys: { ...NO_BIAS, sliding_window: 'sliding_window' },
  base: { n_kv_heads: 8, context_length: 131072, sliding_window: 4096 },
});

/**
 * Llama with biases of q, k and v, and a sliding window in the layers from max_window_layers on, or in those that
 * layer_types names.
 */
const qwen2 = like(llama, {
  keys: NO_BIAS,
  base: { n_kv_heads: 32, context_length: 32768, bias_qkv: true },
  reads: 'use_sliding_window sliding_window max_window_layers layer_types hidden_act',
  derive(json, unsupported) {
    const first = json.max_window_layers ?? 28;
    if (!Number.isInteger(first)) unsupported('max_window_layers', first);
    const on = json.use_sliding_window === true;
    const layers = windowLayers(json, unsupported, (l) => on && l >= first);
    if (!on && layers.some(Boolean)) unsupported('layer_types', json.layer_types);
    return { ...rotated()(json, unsupported), ...windowFields(layers, json.sliding_window ?? 0) };
  },
});

/** Qwen 2 without these biases, with RMSNorm on q and k. */
const qwen3 = like(qwen2, {
  keys: { bias_qkv: 'attention_bias', bias_attn_out: 'attention_bias' },
  base: { bias_qkv: false, d_head: 128, qk_norm: true },
});

/**
 * Names of Llama's tensors with experts, one by one or stacked as newer releases of transformers have them in memory.
 * @param {Record<string, string>} each  of the router and of a single expert's matrices
 * @returns {Family['names']}
 */
const withExperts = (each) => (config, json, files) =>
  [...files].some((name) => /^(model\.)?layers\.\d+\.mlp\.experts\.gate_up_proj$/.test(name))
    ? {
        'ffn.router': 'mlp.gate',
        'ffn.experts.gate': 'mlp.experts.gate_up_proj',
        'ffn.experts.up': 'mlp.experts.gate_up_proj',
        'ffn.experts.down': 'mlp.experts.down_proj',
      }
    : each;

/** Mistral with experts in every layer. */
const mixtral = like(mistral, {
  keys: { n_experts: 'num_local_experts', n_experts_used: 'num_experts_per_tok' },
  base: { norm_eps: 1e-5, sliding_window: 0, n_experts: 8, n_experts_used: 2 },
  reads: 'rope_theta',
  derive: (json, unsupported) => ({
    ...llama.derive(json, unsupported),
    rope_theta: json.rope_parameters?.rope_theta ?? json.rope_theta ?? 1e6,
  }),
  names: withExperts({
    'ffn.router': 'block_sparse_moe.gate',
    'ffn.experts.gate': 'block_sparse_moe.experts.#.w1.weight',
    'ffn.experts.up': 'block_sparse_moe.experts.#.w3.weight',
    'ffn.experts.down': 'block_sparse_moe.experts.#.w2.weight',
  }),
});

/** Qwen 3 with experts in every decoder_sparse_step-th layer, except in mlp_only_layers. */
export const qwen3Moe = like(qwen3, {
  aliases: { num_local_experts: 'num_experts' },
  keys: {
    n_experts: 'num_experts',
    n_experts_used: 'num_experts_per_tok',
    d_expert: 'moe_intermediate_size',
    norm_expert_weights: 'norm_topk_prob',
  },
  base: {
    ...{ d_head: undefined, n_kv_heads: 4 },
    ...{ n_experts: 128, n_experts_used: 8, d_expert: 768, norm_expert_weights: false },
  },
  reads: 'use_sliding_window sliding_window hidden_act decoder_sparse_step mlp_only_layers',
  derive(json, unsupported) {
    const step = json.decoder_sparse_step ?? 1;
    const dense = json.mlp_only_layers ?? [];
    if (!Number.isInteger(step) || step < 1) unsupported('decoder_sparse_step', step);
    if (!Array.isArray(dense) || !dense.every(Number.isInteger)) unsupported('mlp_only_layers', dense);
    const denseLayers = new Set(dense);
    return {
      ...llama.derive(json, unsupported),
      sliding_window: json.use_sliding_window ? (json.sliding_window ?? 4096) : 0,
      expert_layers: repeating(eachLayer(json.num_hidden_layers, (l) => (l + 1) % step === 0 && !denseLayers.has(l))),
    };
  },
  names: withExperts({
    'ffn.router': 'mlp.gate',
    'ffn.experts.gate': 'mlp.experts.#.gate_proj.weight',
    'ffn.experts.up': 'mlp.experts.#.up_proj.weight',
    'ffn.experts.down': 'mlp.experts.#.down_proj.weight',
  }),
});

/** Qwen 2 with experts, and beside them one that runs for every token. */
const qwen2Moe = like(qwen3Moe, {
  keys: { bias_qkv: 'qkv_bias', d_shared_expert: 'shared_expert_intermediate_size' },
  base: {
    ...{ qk_norm: false, bias_qkv: true, n_kv_heads: 16, d_shared_expert: 5632 },
    ...{ n_experts: 60, n_experts_used: 4, d_expert: 1408 },
  },
  reads: `${qwen3Moe.reads} max_window_layers layer_types`,
  derive(json, unsupported) {
    const first = json.max_window_layers ?? 28;
    if (!Number.isInteger(first)) unsupported('max_window_layers', first);
    const on = json.use_sliding_window === true;
    const layers = windowLayers(json, unsupported, (l) => on && l % 2 === 0 && l < first);
    if (!on && layers.some(Boolean)) unsupported('layer_types', json.layer_types);
    return { ...qwen3Moe.derive(json, unsupported), ...windowFields(layers, on ? (json.sliding_window ?? 4096) : 0) };
  },
  names: { 'ffn.shared_gate': 'mlp.shared_expert_gate', 'ffn.shared_expert.*': 'mlp.shared_expert.*_proj' },
});

/** Llama with q, k and v in one tensor, and gate and up in another. */
export const phi3 = like(llama, {
  keys: { ...NO_BIAS, sliding_window: 'sliding_window' },
  base: { norm_eps: 1e-5, context_length: 4096 },
  reads: 'partial_rotary_factor original_max_position_embeddings',
  derive: rotated({ partial: 1 }),
  names: {
    'attn.*': 'self_attn.qkv_proj',
    'attn.o': 'self_attn.o_proj',
    'ffn.*': 'mlp.gate_up_proj',
    'ffn.down': 'mlp.down_proj',
  },
});

/**
 * The number under a key, or its square root's inverse.
 * @param {any} n
 */
const inverseRoot = (n) => (typeof n === 'number' ? n ** -0.5 : n);

/** Whether its class gives states. @param {Json} json */
const hasNoHead = ({ architectures }) => /Model$|^undefined$/.test(String([architectures ?? []].flat()[0]));

/**
 * Gemma: norms stored as their gain minus 1, the embedding times sqrt(d_model), a gate with GELU. Its first releases
 * wrote hidden_act: gelu and computed the tanh form.
 */
const gemma = like(llama, {
  keys: { bias_ffn: undefined },
  base: { d_head: 256, context_length: 8192, tie_word_embeddings: true },
  reads: 'hidden_act hidden_activation use_bidirectional_attention',
  derive(json, unsupported) {
    const both = json.use_bidirectional_attention;
    if (both && json.model_type !== 'gemma3_text') unsupported('use_bidirectional_attention', true);
    const first = json.model_type === 'gemma';
    const act = first && json.hidden_act !== 'gelu' ? json.hidden_act : first ? undefined : json.hidden_activation;
    return {
      ffn: gated('hidden_activation', act ?? 'gelu_pytorch_tanh', unsupported),
      ...ropeFields(json, unsupported),
      embedding_scale: typeof json.hidden_size === 'number' ? Math.sqrt(json.hidden_size) : undefined,
      ...(both && { kind: hasNoHead(json) ? 'encoder' : 'decoder', causal: false }), // EmbeddingGemma
    };
  },
  conventions: { minusOne: true },
});

/** Gemma 2: a second norm on each sublayer's output, soft caps, and a sliding window in every other layer. */
export const gemma2 = like(gemma, {
  base: { n_kv_heads: 4, norm_placement: 'sandwich', final_norm: true },
  reads:
    `${gemma.reads} ` +
    'query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping sliding_window layer_types',
  derive: (json, unsupported) => ({
    ...gemma.derive(json, unsupported),
    score_scale: inverseRoot(json.query_pre_attn_scalar ?? 256),
    score_softcap: json.attn_logit_softcapping === undefined ? 50 : (json.attn_logit_softcapping ?? 0),
    logit_softcap: json.final_logit_softcapping === undefined ? 30 : (json.final_logit_softcapping ?? 0),
    ...windowFields(
      windowLayers(json, unsupported, (l) => l % 2 === 0),
      json.sliding_window ?? 4096,
    ),
  }),
  names: {
    norm1_post: 'post_attention_layernorm',
    norm2: 'pre_feedforward_layernorm',
    norm2_post: 'post_feedforward_layernorm',
  },
});

/** The keys that a query sees to one side, itself included, of a window that counts both sides. @param {any} window */
const bothSides = (window) => (typeof window === 'number' ? Math.floor(window / 2) + 1 : window);

/** Gemma 3: norms of q and k, most layers with a window and rotary frequencies of their own, which are not scaled. */
const gemma3 = like(gemma2, {
  base: { qk_norm: true, context_length: 131072 },
  reads: `${gemma2.reads} rope_theta rope_local_base_freq sliding_window_pattern _sliding_window_pattern`,
  derive(json, unsupported) {
    const every = json.sliding_window_pattern ?? json._sliding_window_pattern ?? 6;
    if (!Number.isInteger(every) || every < 1) unsupported('sliding_window_pattern', every);
    const { full_attention: full, sliding_attention: local } = json.rope_parameters ?? {};
    if ((local?.rope_type ?? 'default') !== 'default') unsupported('rope_parameters.sliding_attention', local);
    return {
      ...gemma.derive({ ...json, rope_parameters: undefined, rope_scaling: undefined }, unsupported),
      ...ropeFields(json, unsupported, full ? { parameters: full } : {}),
      rope_theta: full?.rope_theta ?? json.rope_theta ?? 1e6,
      rope_local_theta: local?.rope_theta ?? json.rope_local_base_freq ?? 10000,
      score_scale: inverseRoot(json.query_pre_attn_scalar ?? 256),
      logit_softcap: json.final_logit_softcapping ?? 0,
      ...windowFields(
        windowLayers(json, unsupported, (l) => (l + 1) % every !== 0),
        json.use_bidirectional_attention ? bothSides(json.sliding_window ?? 4096) : (json.sliding_window ?? 4096),
      ),
    };
  },
});

/** OLMo: LayerNorm without weights, and limits of q, k and v. */
const olmo = like(llama, {
  keys: { bias_ffn: undefined, norm_eps: undefined, clip_qkv: 'clip_qkv' },
  base: { norm: 'layernorm', norm_eps: 1e-5, norm_gain: false, bias_norm: false },
});

/** OLMo 2: norms on the outputs of the sublayers alone, and over the whole projections of q and k. */
export const olmo2 = like(llama, {
  keys: { bias_ffn: undefined },
  base: {
    norm_eps: 1e-5,
    norm_placement: 'output',
    final_norm: true,
    qk_norm: true,
    qk_norm_span: 'projection',
  },
  names: { norm1: 'post_attention_layernorm', norm2: 'post_feedforward_layernorm' },
});

/** SmolLM 3: some layers do not rotate q and k. */
const smollm3 = like(llama, {
  base: { n_kv_heads: 4, context_length: 32768, tie_word_embeddings: true },
  reads: 'rope_theta no_rope_layers no_rope_layer_interval use_sliding_window sliding_window layer_types',
  derive(json, unsupported) {
    const n = json.num_hidden_layers;
    const every = json.no_rope_layer_interval ?? 4;
    const given = json.no_rope_layers ?? eachLayer(n, (l) => Number((l + 1) % every !== 0));
    if (!Array.isArray(given) || given.length !== n || !given.every((x) => x === 0 || x === 1))
      unsupported('no_rope_layers', given);
    const window = json.use_sliding_window && json.sliding_window ? json.sliding_window : 0;
    const layers = windowLayers(json, unsupported, (l) => window > 0 && !given[l]);
    return {
      ...rotated()(json, unsupported),
      rope_theta: json.rope_parameters?.rope_theta ?? json.rope_theta ?? 2e6,
      rope_layers: repeating(given.map(Boolean)),
      ...windowFields(layers, window),
    };
  },
});

/** Granite: four factors. */
export const granite = like(llama, {
  keys: {
    embedding_scale: 'embedding_multiplier',
    residual_scale: 'residual_multiplier',
    score_scale: 'attention_multiplier',
  },
  base: { score_scale: 1 },
  reads: 'logits_scaling',
  derive: (json, unsupported) => ({
    ...llama.derive(json, unsupported),
    logit_scale: typeof json.logits_scaling === 'number' ? 1 / json.logits_scaling : json.logits_scaling,
  }),
});

/** StableLM: LayerNorm, a part of each head rotated; the larger models compute both sublayers from one norm. */
const stablelm = like(llama, {
  keys: {
    ...NO_BIAS,
    norm_eps: 'layer_norm_eps',
    bias_qkv: 'use_qkv_bias',
    parallel_residual: 'use_parallel_residual',
    shared_norm: 'use_parallel_residual',
    qk_norm: 'qk_layernorm',
  },
  base: {
    norm: 'layernorm',
    norm_eps: 1e-5,
    context_length: 4096,
    qk_norm_kind: 'layernorm',
    qk_norm_span: 'each_head',
  },
  reads: 'partial_rotary_factor',
  derive: rotated({ partial: 0.25 }),
  names: {
    'attn.q_norm.*': 'self_attn.q_layernorm.norms.*',
    'attn.k_norm.*': 'self_attn.k_layernorm.norms.*',
  },
});

/** The families of this file by model_type. @type {Record<string, Family>} */
export const LLAMA_LIKE = {
  llama,
  mistral,
  qwen2,
  qwen3,
  mixtral,
  qwen2_moe: qwen2Moe,
  qwen3_moe: qwen3Moe,
  phi3,
  gemma,
  gemma2,
  gemma3_text: gemma3,
  olmo,
  olmo2,
  smollm3,
  granite,
  stablelm,
};
