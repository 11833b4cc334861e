// families_variants.js - families that differ from Llama in norms, rotation, windows or activation
import { repeating, windowFields } from '../../engine/config/layer_flags.js';
import { activation, biasKeys, headWidth, like, ropeFields, windowLayers } from './families_common.js';
import { NO_BIAS, gemma2, granite, llama, mistral, olmo2, phi3, qwen3Moe, rotated } from './families_llama.js';

/** @import { Family, Json, Unsupported } from './families_common.js' */

const NEIGHBOURS = { rope_pairs: 'adjacent' };

/** ERNIE 4.5: Llama with neighbouring components rotated. */
const ernie45 = like(llama, {
  keys: { ...biasKeys('use_bias'), rope_theta: undefined },
  base: { ...NEIGHBOURS, n_kv_heads: 2, context_length: 131072, tie_word_embeddings: true, norm_eps: 1e-5 },
  reads: 'rope_theta',
  derive: withTheta(500000),
});

/**
 * The fields of a gate and of rotary positions, whose base is another than 10000 where the file has none.
 * @param {number} theta
 * @returns {Family['derive']}
 */
function withTheta(theta) {
  return (json, unsupported) => ({
    ...rotated()(json, unsupported),
    rope_theta: (json.rope_scaling ?? json.rope_parameters)?.rope_theta ?? json.rope_theta ?? theta,
  });
}

/** Helium: neighbouring components are rotated, and the output projection has no bias. */
const helium = like(llama, {
  keys: { bias_attn_out: undefined, rope_theta: undefined },
  base: { ...NEIGHBOURS, d_head: 128, norm_eps: 1e-8, context_length: 4096 },
  reads: 'rope_theta',
  derive: withTheta(100000),
});

/** Seed-OSS: the biases of q, k and v and that of the output have a key each. */
const seedOss = like(llama, {
  keys: { bias_attn_out: 'attention_out_bias' },
  base: { n_kv_heads: 8, d_head: 128, bias_qkv: true, context_length: 524288 },
});

/** Ministral: Mistral with a window in the layers that layer_types names. */
const ministral = like(mistral, {
  keys: { sliding_window: undefined },
  base: { sliding_window: undefined },
  reads: 'sliding_window layer_types',
  derive(json, unsupported) {
    const window = json.sliding_window === undefined ? 4096 : (json.sliding_window ?? 0);
    return {
      ...rotated()(json, unsupported),
      ...windowFields(
        windowLayers(json, unsupported, () => window > 0),
        window,
      ),
    };
  },
});

/** GLM: a part of each head is rotated, neighbours together; gate and up are one tensor. */
const glm = like(phi3, {
  keys: { sliding_window: undefined, bias_qkv: 'attention_bias' },
  base: {
    ...NEIGHBOURS,
    ...{ n_kv_heads: 2, d_head: 128, norm_eps: 1.5625e-7, context_length: 131072, bias_qkv: true },
  },
  reads: 'partial_rotary_factor',
  derive: rotated({ partial: 0.5 }),
  names: { 'attn.*': 'self_attn.*_proj', 'attn.o': 'self_attn.o_proj' },
});

/** GLM 4: GLM with a second norm on the output of each sublayer. */
const glm4 = like(glm, {
  base: { norm_placement: 'sandwich' },
  names: {
    norm1_post: 'post_self_attn_layernorm',
    norm2: 'post_attention_layernorm',
    norm2_post: 'post_mlp_layernorm',
  },
});

/** Cohere (Command R): one LayerNorm without bias for both sublayers, a factor of the logits. */
const cohere = like(llama, {
  keys: {
    ...{ bias_ffn: undefined, rope_theta: undefined },
    ...{ norm_eps: 'layer_norm_eps', logit_scale: 'logit_scale', qk_norm: 'use_qk_norm' },
  },
  base: {
    ...NEIGHBOURS,
    ...{ norm: 'layernorm', norm_eps: 1e-5, bias_norm: false, parallel_residual: true, shared_norm: true },
    ...{ qk_norm_kind: 'layernorm', qk_norm_span: 'each_head', bias_qk_norm: false },
    ...{ logit_scale: 0.0625, context_length: 8192, tie_word_embeddings: true },
  },
  reads: 'rope_theta',
  derive: withTheta(500000),
  names: { 'attn.q_norm.*': 'self_attn.q_norm', 'attn.k_norm.*': 'self_attn.k_norm' },
});

/**
 * Layers of which only those with a window rotate q and k; where none has one, all do.
 * @param {Json} json
 * @param {Unsupported} unsupported
 * @param {number} every  the layers without a window, where layer_types is absent
 */
function rotatedWindows(json, unsupported, every) {
  const window = json.sliding_window === undefined ? 4096 : (json.sliding_window ?? 0);
  const layers = windowLayers(json, unsupported, (l) => window > 0 && (l + 1) % every !== 0);
  return { ...windowFields(layers, window), ...(window > 0 && { rope_layers: repeating(layers) }) };
}

/** Cohere 2 (Command R7B, Command A, Aya): windows in three of four layers, and rotation in these alone. */
const cohere2 = like(cohere, {
  keys: { qk_norm: undefined },
  reads: 'rope_theta sliding_window sliding_window_pattern _sliding_window_pattern layer_types',
  derive: (json, unsupported) => ({
    ...withTheta(10000)(json, unsupported),
    ...rotatedWindows(json, unsupported, json._sliding_window_pattern ?? json.sliding_window_pattern ?? 4),
  }),
});

/** EXAONE 4: norms on the outputs of the sublayers and of each head's q and k; large models have windows. */
const exaone4 = like(olmo2, {
  base: { n_kv_heads: 32, qk_norm_span: 'head' },
  reads: 'sliding_window sliding_window_pattern layer_types',
  derive(json, unsupported) {
    const pattern = json.sliding_window_pattern ?? 4;
    if (typeof pattern === 'string' && !json.layer_types) unsupported('sliding_window_pattern', pattern);
    return { ...rotated()(json, unsupported), ...rotatedWindows(json, unsupported, Number(pattern)) };
  },
});

/** OLMo 3: OLMo 2 with a window in three of four layers, whose rotary frequencies are never scaled. */
const olmo3 = like(olmo2, {
  keys: { rope_theta: undefined },
  reads: 'rope_theta sliding_window layer_types',
  derive(json, unsupported) {
    const { full_attention: full, sliding_attention: local } = json.rope_parameters ?? {};
    if ((local?.rope_type ?? 'default') !== 'default') unsupported('rope_parameters.sliding_attention', local);
    const all = { ...json, rope_parameters: full ?? json.rope_parameters };
    const fields = withTheta(500000)(all, unsupported);
    const theta = local?.rope_theta ?? 500000; // rope_theta is that of the other layers
    const window = json.sliding_window ?? 4096;
    return {
      ...fields,
      ...((fields.rope_scaling || theta !== fields.rope_theta) && { rope_local_theta: theta }),
      ...windowFields(
        windowLayers(json, unsupported, (l) => (l + 1) % 4 !== 0),
        window,
      ),
    };
  },
});

/** VaultGemma: Gemma 2 without the norms of the outputs. */
const vaultGemma = like(gemma2, {
  base: { norm_placement: 'pre' },
});

/** OLMoE: experts in every layer, norms over the whole projections of q and k. */
const olmoe = like(qwen3Moe, {
  keys: { d_expert: 'intermediate_size', clip_qkv: 'clip_qkv' },
  base: {
    ...{ qk_norm_span: 'projection', n_kv_heads: undefined, d_expert: undefined },
    ...{ norm_eps: 1e-5, context_length: 4096, n_experts: 64 },
  },
  derive: llama.derive,
});

/** Granite with experts in every layer, stored as one tensor for each matrix. */
const graniteMoe = like(granite, {
  keys: { n_experts: 'num_local_experts', n_experts_used: 'num_experts_per_tok', bias_ffn: undefined },
  base: { n_experts: 8, n_experts_used: 2 },
  names: {
    'ffn.router': 'block_sparse_moe.router.layer',
    'ffn.experts.gate': 'block_sparse_moe.input_linear.weight',
    'ffn.experts.up': 'block_sparse_moe.input_linear.weight',
    'ffn.experts.down': 'block_sparse_moe.output_linear.weight',
  },
});

/** Granite 4 without state spaces and experts, whose feed-forward layer is called the shared one. */
const graniteHybrid = like(granite, {
  keys: { d_ff: 'shared_intermediate_size', bias_ffn: undefined },
  reads:
    `${granite.reads} layer_types num_local_experts num_experts_per_tok intermediate_size position_embedding_type ` +
    'mamba_chunk_size mamba_conv_bias mamba_d_conv mamba_d_head mamba_d_state mamba_expand mamba_n_groups ' +
    'mamba_n_heads mamba_proj_bias time_step_limit time_step_min time_step_max time_step_floor rope_theta',
  derive(json, unsupported) {
    if (json.num_local_experts) unsupported('num_local_experts', json.num_local_experts);
    for (const type of json.layer_types ?? ['mamba'])
      if (!/^(full_)?attention$/.test(type)) unsupported('layer_types (a state space)', type);
    const positions = json.position_embedding_type ?? null;
    if (positions !== null && positions !== 'rope' && positions !== 'nope')
      unsupported('position_embedding_type', positions);
    return {
      ...granite.derive({ ...json, layer_types: undefined }, unsupported),
      position: positions === 'rope' ? 'rope' : 'none',
    };
  },
  names: {
    'ffn.*': 'shared_mlp.input_linear',
    'ffn.down': 'shared_mlp.output_linear',
  },
});

/**
 * The fields of a feed-forward layer without a gate, and of rotary positions.
 * @param {Parameters<typeof ropeFields>[2]} [options]
 * @returns {Family['derive']}
 */
const ungated = (options) => (json, unsupported) => ({
  ffn: activation(json.hidden_act ?? 'relu2'),
  ...ropeFields(json, unsupported, options),
});

/** Arcee (AFM): Llama with the square of ReLU and without a gate. */
const arcee = like(llama, { base: { norm_eps: 1e-5, context_length: 4096 }, derive: ungated() });

/** Nemotron and Minitron: LayerNorm stored as its gain minus 1, the square of ReLU, a part of each head rotated. */
const nemotron = like(llama, {
  keys: { norm_eps: 'norm_eps' },
  base: { norm: 'layernorm', norm_eps: 1e-5, context_length: 4096 },
  reads: 'partial_rotary_factor rope_percent rope_percentage',
  derive: ungated({ partial: 0.5 }),
  conventions: { minusOne: true },
});

/** Jais 2: LayerNorm, biases, the square of ReLU. */
const jais2 = like(llama, {
  keys: { norm_eps: 'layer_norm_eps' },
  base: {
    ...{ norm: 'layernorm', norm_eps: 1e-5, context_length: 8192 },
    ...{ bias_qkv: true, bias_attn_out: true, bias_ffn: true },
  },
  derive: ungated(),
});

/** Persimmon: as GPT-NeoX stores q, k and v; norms of q and k, the square of ReLU, a part of each head rotated. */
const persimmon = like(jais2, {
  keys: { ...NO_BIAS, n_kv_heads: undefined, qk_norm: 'qk_layernorm' },
  base: { qk_norm: true, qk_norm_kind: 'layernorm', bias_qk_norm: true, context_length: 16384 },
  reads: 'partial_rotary_factor',
  derive: ungated({ partial: 0.5 }),
  names: {
    'attn.*': 'self_attn.query_key_value',
    'attn.o': 'self_attn.dense',
    'attn.q_norm': 'self_attn.q_layernorm',
    'attn.k_norm': 'self_attn.k_layernorm',
    'ffn.up': 'mlp.dense_h_to_4h',
    'ffn.down': 'mlp.dense_4h_to_h',
    final_norm: 'final_layernorm',
  },
  conventions: { heads: true },
});

/** Names of nanochat's own program. */
const NANOCHAT_NAMES = {
  blocks: 'transformer.h',
  embed: 'transformer.wte',
  'attn.*': 'attn.c_*',
  'attn.o': 'attn.c_proj',
  'ffn.up': 'mlp.c_fc',
  'ffn.down': 'mlp.c_proj',
};
/** Whether tensors have these names. @param {Set<string>} [files] */
const areNanochats = (files) => !!files?.has('transformer.h.0.attn.c_q.weight');

/**
 * nanochat: norms without weights, also of the embedding, and of rotated q and k; the square of ReLU. It rotates the
 * other way round, which swaps the halves of each head's q and k. Its own program adds the precision of f32 in norms.
 */
const nanochat = like(llama, {
  keys: { bias_ffn: undefined, logit_softcap: 'final_logit_softcapping' },
  base: { norm_gain: false, embed_norm: true, qk_norm: true, qk_norm_rotated: true, logit_softcap: 15 },
  aliases: { sequence_len: 'max_position_embeddings' },
  notInTensors: () => ['n_heads', 'rope_theta'], // whose base its versions changed
  derive: (json, unsupported, files) => ({
    ...ungated()(json, unsupported),
    norm_eps: json.rms_norm_eps ?? (areNanochats(files) ? 2 ** -23 : 1e-6),
  }),
  names: (config, json, files) =>
    areNanochats(files) ? NANOCHAT_NAMES : { 'ffn.up': 'mlp.fc1', 'ffn.down': 'mlp.fc2' },
  prefixes: ['model.', ''],
  conventions: { rowsOf: swappedHalves },
});

/**
 * The rows of q or k with the halves of each head swapped.
 * @param {string[]} covers  the weights
 * @param {number} rows
 * @param {import('../../engine/config/config.js').Config} config
 */
function swappedHalves([name], rows, { d_head: d }) {
  if (!/attn\.[qk]\./.test(name)) return null;
  return Array.from({ length: rows }, (_, i) => i - (i % d) + ((i + d / 2) % d));
}

/** Hunyuan: norms of q and k after their rotation; `alpha` of its scaling raises the base of the frequencies. */
const hunyuan = like(llama, {
  keys: { bias_ffn: undefined, rope_theta: undefined },
  base: { norm_eps: 1e-5, qk_norm: true, qk_norm_rotated: true },
  reads: 'rope_theta use_qk_norm eod_token_id',
  derive(json, unsupported) {
    if (json.use_qk_norm === false) unsupported('use_qk_norm', false);
    const s = json.rope_scaling ?? json.rope_parameters ?? {};
    const isRaised = (s.rope_type ?? s.type) === 'dynamic' && s.alpha;
    if (isRaised && typeof s.alpha !== 'number') unsupported('rope_scaling.alpha', s.alpha);
    const fields = withTheta(10000)(
      isRaised ? { ...json, rope_scaling: undefined, rope_parameters: { rope_theta: s.rope_theta } } : json,
      unsupported,
    );
    const d = headWidth(json);
    return isRaised ? { ...fields, rope_theta: fields.rope_theta * s.alpha ** (d / (d - 2)) } : fields;
  },
  names: { 'attn.q_norm': 'self_attn.query_layernorm', 'attn.k_norm': 'self_attn.key_layernorm' },
});

/** CWM: Llama with a window in three of four layers. */
const cwm = like(llama, {
  keys: { bias_qkv: undefined, bias_attn_out: undefined, rope_theta: undefined },
  base: { n_kv_heads: 8, d_head: 128, norm_eps: 1e-5, context_length: 131072 },
  reads: 'rope_theta sliding_window layer_types',
  derive: (json, unsupported) => ({
    ...withTheta(1e6)(json, unsupported),
    ...windowFields(
      windowLayers(json, unsupported, (l) => l % 4 !== 0),
      json.sliding_window ?? 8192,
    ),
  }),
});

/** FlexOlmo: OLMo 2 with experts. */
const flexOlmo = like(olmoe, {
  base: { norm_placement: 'output', final_norm: true, norm_eps: 1e-6 },
  names: { norm1: 'post_attention_layernorm', norm2: 'post_feedforward_layernorm' },
});

/** The families of this file by model_type. @type {Record<string, Family>} */
export const VARIANTS = {
  ernie4_5: ernie45,
  helium,
  seed_oss: seedOss,
  ministral,
  glm,
  glm4,
  cohere,
  cohere2,
  exaone4,
  olmo3,
  vaultgemma: vaultGemma,
  olmoe,
  granitemoe: graniteMoe,
  granitemoehybrid: graniteHybrid,
  arcee,
  nemotron,
  jais2,
  persimmon,
  nanochat,
  hunyuan_v1_dense: hunyuan,
  cwm,
  flex_olmo: flexOlmo,
};
