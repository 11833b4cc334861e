// families_fused.js - decoders with a plain feed-forward layer that store q, k and v in one tensor, and relatives of
// GPT-2
import { SIZE_KEYS, activation, biasKeys, family, like, product, ropeFields } from './families_common.js';
import { BLOOM_NAMES, GPT_LIKE } from './families_gpt.js';

/** @import { Family } from './families_common.js' */

/** GPT-BigCode (SantaCoder, StarCoder): GPT-2 with matrices [out, in], and one key for all heads. */
const gptBigcode = like(GPT_LIKE.gpt2, {
  keys: { n_kv_heads: 'num_key_value_heads' },
  reads:
    'multi_query activation_function attention_softmax_in_fp32 scale_attention_softmax_in_fp32 ' +
    'inference_runner validate_runner_input pre_allocate_kv_cache max_sequence_length max_batch_size',
  derive: (json) => ({
    ffn: activation(json.activation_function ?? 'gelu_pytorch_tanh'),
    n_kv_heads: (json.multi_query ?? true) ? 1 : json.n_head,
    context_length: json.n_ctx,
  }),
  conventions: { heads: true },
});

/** The parts among which CodeGen divides each of q, v and k. */
const CODEGEN_PARTS = 4;

/**
 * The rows of q, k and v in CodeGen's tensor, which has four times a quarter of q, of v and of k.
 * @param {string[]} covers  the weights
 * @param {number} rows  of all
 */
function codegenRows(covers, rows) {
  if (covers.length !== 3) return null;
  const part = rows / 3 / CODEGEN_PARTS;
  return Array.from({ length: rows }, (_, i) => {
    const weight = [0, 2, 1][Math.floor((3 * i) / rows)];
    const row = i % (rows / 3);
    return (Math.floor(row / part) * 3 + weight) * part + (row % part);
  });
}

/** CodeGen: GPT-J with one tensor for q, k and v. */
const codegen = like(GPT_LIKE.gptj, {
  names: { 'attn.*': 'attn.qkv_proj', 'attn.o': 'attn.out_proj' },
  conventions: { rowsOf: codegenRows },
});

/** The first GPT: norms after the sublayers. */
const openaiGpt = like(GPT_LIKE.gpt2, {
  keys: { ffn: undefined },
  base: { norm_placement: 'post', final_norm: false, context_length: 512 },
  reads: 'afn predict_special_tokens',
  derive: (json) => ({ ffn: activation(!json.afn || json.afn === 'gelu' ? 'gelu_new' : json.afn) }),
  names: { embed: 'tokens_embed', position: 'positions_embed' },
});

/**
 * Falcon: q, k and v are sorted by the heads that share a key; both sublayers read one norm, or each its own, or the
 * second reads what the first has added to.
 */
const falcon = family({
  keys: { ...SIZE_KEYS, d_ff: 'ffn_hidden_size', norm_eps: 'layer_norm_epsilon', ...biasKeys('bias') },
  aliases: { n_layer: 'num_hidden_layers', n_head: 'num_attention_heads', n_head_kv: 'num_kv_heads' },
  base: { norm: 'layernorm', norm_eps: 1e-5, position: 'rope', context_length: 2048, tie_word_embeddings: true },
  reads:
    'activation alibi parallel_attn new_decoder_architecture num_ln_in_parallel_attn multi_query num_kv_heads ' +
    'rope_theta intermediate_size',
  derive(json, unsupported) {
    const newer = json.new_decoder_architecture ?? false;
    const parallel = newer || (json.parallel_attn ?? true);
    return {
      ...ropeFields(json, unsupported),
      ...(json.rope_theta && { rope_theta: json.rope_theta }),
      ...(json.alibi && { position: 'alibi', alibi_scaled: true }),
      ffn: activation(json.activation ?? 'gelu'),
      d_ff: product(4, json.hidden_size),
      n_kv_heads: newer
        ? (json.num_kv_heads ?? json.num_attention_heads)
        : (json.multi_query ?? true)
          ? 1
          : json.num_attention_heads,
      parallel_residual: parallel,
      shared_norm: parallel && !(newer && (json.num_ln_in_parallel_attn ?? 2) === 2),
    };
  },
  prefixes: ['transformer.', ''],
  names: (config) => ({
    ...BLOOM_NAMES,
    ...(config.parallel_residual && !config.shared_norm && { norm1: 'ln_attn', norm2: 'ln_mlp' }),
  }),
  conventions: { heads: true },
});

/** MPT: distances added to the scores as in BLOOM, LayerNorm without biases. */
const mpt = family({
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'd_model',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    context_length: 'max_seq_len',
    norm_eps: 'layer_norm_epsilon',
    tie_word_embeddings: 'tie_word_embeddings',
  },
  base: {
    norm: 'layernorm',
    norm_eps: 1e-5,
    bias_norm: false,
    ffn: 'gelu_erf',
    position: 'alibi',
    context_length: 2048,
  },
  reads:
    'attn_config expansion_ratio no_bias norm_type learned_pos_emb logit_scale emb_pdrop init_device ' +
    'embedding_fraction init_config ffn_config fc_type tokenizer_name',
  derive(json, unsupported) {
    const attention = json.attn_config ?? {};
    const must = /** @type {[string, any, any][]} */ ([
      ['logit_scale', json.logit_scale ?? null, null],
      ['attn_config.alibi', attention.alibi ?? true, true],
      ['attn_config.alibi_bias_max', attention.alibi_bias_max ?? 8, 8],
      ['attn_config.attn_type', attention.attn_type ?? 'multihead_attention', 'multihead_attention'],
      ['attn_config.qk_ln', attention.qk_ln ?? false, false],
      ['attn_config.prefix_lm', attention.prefix_lm ?? false, false],
    ]);
    for (const [key, found, expected] of must) if (found !== expected) unsupported(key, found);
    return {
      d_ff: product(4, json.d_model), // whatever expansion_ratio says
      clip_qkv: attention.clip_qkv ?? undefined,
      score_scale: attention.softmax_scale ?? undefined,
    };
  },
  prefixes: ['transformer.', ''],
  names: {
    embed: 'wte',
    norm1: 'norm_1',
    norm2: 'norm_2',
    'attn.*': 'attn.Wqkv',
    'attn.o': 'attn.out_proj',
    'ffn.up': 'ffn.up_proj',
    'ffn.down': 'ffn.down_proj',
    final_norm: 'norm_f',
    head: '/lm_head',
  },
});

/** The square root of a number that scales the embedding, where a key says so. @param {any} on @param {any} width */
const scaleOf = (on, width) => (on && typeof width === 'number' ? Math.sqrt(width) : 1);

/** BioGPT: OPT with a factor of the embedding. */
const biogpt = like(GPT_LIKE.opt, {
  keys: { ...SIZE_KEYS, ...biasKeys('bias'), norm_eps: 'layer_norm_eps', norm_gain: undefined },
  base: { norm_eps: 1e-12, context_length: 1024 },
  reads: 'hidden_act scale_embedding',
  derive: (json) => ({
    ffn: activation(json.hidden_act ?? 'gelu'),
    embedding_scale: scaleOf(json.scale_embedding ?? true, json.hidden_size),
  }),
  prefixes: ['biogpt.', ''],
  names: { final_norm: 'layer_norm', head: '/output_projection' },
  head: 'output_projection.weight',
});

/** XGLM: OPT with sines and cosines in halves, of which the last has the longest wavelength. */
const xglm = like(GPT_LIKE.opt, {
  keys: {
    ...{ d_model: 'd_model', n_layers: 'num_layers', n_heads: 'attention_heads', ...biasKeys('bias') },
    norm_gain: undefined,
  },
  base: { position: 'sinusoidal', sinusoid_pairs: 'half_inclusive', position_offset: 2 },
  reads: 'activation_function scale_embedding',
  derive: (json) => ({
    ffn: activation(json.activation_function ?? 'gelu'),
    embedding_scale: scaleOf(json.scale_embedding ?? true, json.d_model),
  }),
  prefixes: ['model.', ''],
  names: { final_norm: 'layer_norm' },
  skips: /(^|\.)embed_positions\.weights?$/,
});

/** The families of this file by model_type. @type {Record<string, Family>} */
export const FUSED = { gpt_bigcode: gptBigcode, codegen, 'openai-gpt': openaiGpt, falcon, mpt, biogpt, xglm };
