// gguf_archs_more.js - the architectures of GGUF that are fetched when a file has one of them: older and rarer
// decoders, encoders, T5
import { eachLayer, repeating, windowFields } from '../../engine/config/layer_flags.js';
import { ARCHITECTURES, gemmaScale, rms, sandwich, windows } from './gguf_archs.js';

/** @import { Names } from '../../engine/config/tensor_plan.js' */
/** @import { Architecture, Metadata } from './gguf_archs.js' */

const layerNorm = { norm: 'layernorm', ffn: 'gelu_tanh', position: 'rope', rope_pairs: 'half', bias_norm: true };
const adjacent = { ...rms, rope_pairs: 'adjacent' };
const eachHead = { 'attn.q_norm.*': 'attn_q_norm', 'attn.k_norm.*': 'attn_k_norm' };
/** Gate and up as one tensor. */
const fusedFfn = { 'ffn.*': 'ffn_up', 'ffn.down': 'ffn_down' };
const bothOutputs = { norm1: 'post_attention_norm', norm2: 'post_ffw_norm' };

/**
 * T5: RMSNorm before the sublayers, scores without a scale, a bias of the scores by distance, which llama.cpp takes to
 * be the same from 128 on. A feed-forward layer with a gate has GELU (version 1.1), one without it ReLU.
 * @param {Metadata} m
 */
const t5Fields = (m) => ({
  ffn: m.has('enc.blk.0.ffn_gate.weight') ? 'geglu_tanh' : 'relu',
  relative_buckets: m.number('attention.relative_buckets_count'),
});
const t5Kind = { norm: 'rmsnorm', position: 'none', scale_scores: false };

/** @type {Architecture} */
const parallel = {
  fields: { ...layerNorm, parallel_residual: true, shared_norm: true },
  partial: true,
};

/** @type {Architecture} */
const commandR = {
  fields: {
    ...adjacent,
    ...{ norm: 'layernorm', bias_norm: false, parallel_residual: true, shared_norm: true },
    ...{ qk_norm_kind: 'layernorm', qk_norm_span: 'each_head' },
  },
  names: eachHead,
  keys: 'logit_scale',
  derive: (m) => ({
    qk_norm: m.has('blk.0.attn_q_norm.weight'),
    logit_scale: m.number('logit_scale', 0) || 1,
  }),
};

/** BERT and RoBERTa, whose table of positions has no rows for padding here. @type {Architecture} */
const bert = {
  fields: {
    ...{ kind: 'encoder', norm: 'layernorm', norm_placement: 'post', final_norm: false, embed_norm: true },
    ...{ ffn: 'gelu_tanh', position: 'learned', bias_norm: true },
  },
  names: { 'token_type.weight': 'token_types.weight', norm1: 'attn_output_norm', norm2: 'layer_output_norm' },
  derive: (m) => ({ n_token_types: m.rows('token_types.weight') }),
};
/** The fields of BERT with rotary positions. */
const rotaryBert = { ...bert.fields, position: 'rope', rope_pairs: 'half' };

/** Half of a window that counts both sides, with the query itself. @param {number} window */
const oneSide = (window) => Math.floor(window / 2) + 1;

/**
 * The fields of windows to both sides.
 * @param {Record<string, any>} fields  of windows to the left
 */
const symmetric = (fields) =>
  fields.sliding_window ? { ...fields, sliding_window: oneSide(fields.sliding_window) } : fields;

/** The architectures by the value of general.architecture. @type {Record<string, Architecture>} */
const MORE = {
  phi2: parallel,
  gptneox: {
    fields: layerNorm,
    keys: 'use_parallel_residual',
    partial: true,
    derive: (m) => ({ parallel_residual: m.flag('use_parallel_residual', true) }),
  },
  gptj: {
    fields: { ...parallel.fields, rope_pairs: 'adjacent' },
    partial: true,
  },
  starcoder2: { fields: layerNorm },
  stablelm: {
    fields: { ...layerNorm, ffn: 'swiglu', qk_norm_kind: 'layernorm', qk_norm_span: 'each_head' },
    names: eachHead,
    keys: 'use_parallel_residual', // files say true whatever the model is: llama.cpp decides by the second norm
    partial: true,
    derive(m) {
      const shared = !m.has('blk.0.ffn_norm.weight');
      return { parallel_residual: shared, shared_norm: shared, qk_norm: m.has('blk.0.attn_q_norm.weight') };
    },
  },
  olmo: {
    fields: { ...adjacent, norm: 'layernorm', norm_gain: false, bias_norm: false },
    keys: 'attention.clamp_kqv',
    derive: (m) => ({ clip_qkv: m.number('attention.clamp_kqv', 0) }),
  },
  bloom: {
    fields: { norm: 'layernorm', ffn: 'gelu_tanh', position: 'alibi', embed_norm: true, bias_norm: true },
    keys: 'attention.max_alibi_bias',
    copiesHead: true,
    derive(m) {
      const bias = m.number('attention.max_alibi_bias', 8);
      return bias === 8 ? {} : m.unsupported('attention.max_alibi_bias', bias);
    },
  },
  'command-r': commandR,
  cohere2: {
    ...commandR,
    names: {},
    keys: 'logit_scale attention.sliding_window_pattern',
    // layers without a window do not rotate q and k
    derive(m) {
      const fields = windows(m, 4);
      const layers = fields.window_layers ?? [true];
      return { logit_scale: m.number('logit_scale'), ...fields, rope_layers: layers };
    },
  },
  ernie4_5: { fields: adjacent },
  mistral3: { fields: adjacent, hasExperts: true },
  arcee: { fields: { ...adjacent, ffn: 'relu2' } },
  nemotron: { fields: { ...layerNorm, ffn: 'relu2' }, partial: true },
  jais2: { fields: { ...layerNorm, ffn: 'relu2' } },
  'hunyuan-dense': { fields: { ...rms, qk_norm: true, qk_norm_rotated: true } },
  seed_oss: { fields: rms, names: { norm2: 'post_attention_norm' } },
  chatglm: { fields: adjacent, names: fusedFfn, partial: true },
  glm4: {
    fields: { ...adjacent, norm_placement: 'sandwich' },
    names: { ...fusedFfn, ...sandwich },
    partial: true,
  },
  exaone4: {
    fields: { ...rms, norm_placement: 'output', qk_norm: true },
    names: bothOutputs,
    keys: 'attention.sliding_window_pattern rope.freq_base_swa',
    // llama.cpp has windows in the model of 64 layers alone
    derive(m) {
      if (m.layers !== 64) return { sliding_window: 0 };
      const fields = windows(m, 4, 4096);
      const local = m.number('rope.freq_base_swa', 0);
      return { ...fields, rope_layers: fields.window_layers, ...(local && { rope_theta: local }) };
    },
  },
  olmoe: {
    fields: { ...rms, qk_norm: true, qk_norm_span: 'projection', norm_expert_weights: false },
    hasExperts: true,
  },
  granitemoe: { ...ARCHITECTURES.granite, hasExperts: true },
  qwen2vl: { fields: rms, keys: 'rope.dimension_sections' }, // the text part: its positions are the same on each axis
  qwen3vl: {
    fields: { ...rms, qk_norm: true },
    keys: 'rope.dimension_sections n_deepstack_layers',
  },
  starcoder: { fields: { norm: 'layernorm', ffn: 'gelu_tanh', position: 'learned', bias_norm: true } },
  falcon: {
    fields: { ...layerNorm, parallel_residual: true },
    names: ({ shared_norm: shared }) =>
      /** @type {Names} */ (shared ? {} : { norm1: 'attn_norm_2', norm2: 'attn_norm' }),
    derive: (m) => ({ shared_norm: !m.has('blk.0.attn_norm_2.weight') }),
  },
  mpt: {
    fields: { norm: 'layernorm', ffn: 'gelu_tanh', qk_norm_kind: 'layernorm', qk_norm_span: 'projection' },
    keys: 'attention.clamp_kqv attention.max_alibi_bias',
    derive(m) {
      const bias = m.number('attention.max_alibi_bias', 0);
      return {
        position: bias ? 'alibi' : m.has('position_embd.weight') ? 'learned' : 'none',
        alibi_max: bias || 8,
        bias_norm: m.has('blk.0.attn_norm.bias'),
        clip_qkv: m.number('attention.clamp_kqv', 0),
        qk_norm: m.has('blk.0.attn_q_norm.weight'),
        bias_qk_norm: m.has('blk.0.attn_q_norm.bias'),
      };
    },
  },
  bert,
  'nomic-bert': { ...bert, fields: { ...rotaryBert, ffn: 'swiglu' } },
  'jina-bert-v3': { ...bert, fields: rotaryBert },
  eurobert: { fields: { ...rms, kind: 'encoder' } },
  'llama-embed': { fields: { ...adjacent, kind: 'encoder' } },
  'modern-bert': {
    fields: {
      ...{ kind: 'encoder', norm: 'layernorm', bias_norm: false, first_norm: false, embed_norm: true },
      ...{ ffn: 'geglu_tanh', position: 'rope', rope_pairs: 'half' },
    },
    names: fusedFfn,
    keys: 'hidden_activation attention.sliding_window_pattern rope.freq_base_swa',
    derive(m) {
      const act = m.value('hidden_activation') ?? 'gelu';
      if (act !== 'gelu' && act !== 'silu') m.unsupported('hidden_activation', act);
      const pattern = m.value('attention.sliding_window_pattern') ?? 3;
      const window = m.number('attention.sliding_window', 0);
      const layers = Array.isArray(pattern) ? null : eachLayer(m.layers, (l) => l % Number(pattern) !== 0);
      return {
        ...(act === 'silu' && { ffn: 'swiglu' }),
        ...(window ? symmetric(layers ? windowFields(layers, window) : windows(m, 3)) : { sliding_window: 0 }),
        ...(window && { rope_local_theta: m.number('rope.freq_base_swa', 10000) }),
      };
    },
  },
  'gemma-embedding': {
    fields: { ...rms, kind: 'encoder', ffn: 'geglu_tanh', norm_placement: 'sandwich', qk_norm: true },
    names: sandwich,
    keys:
      'attention.sliding_window_pattern rope.freq_base_swa ' +
      'dense_2_feat_in dense_2_feat_out dense_3_feat_in dense_3_feat_out',
    skips: /^dense_[23]\.weight$/, // behind the pooling
    derive: (m) => ({
      embedding_scale: Math.sqrt(m.dModel),
      ...symmetric(windows(m, 6)),
      rope_local_theta: m.number('rope.freq_base_swa', 10000),
    }),
  },
  t5: {
    fields: { ...t5Kind, kind: 'encoder_decoder' },
    names: {
      encoder: 'enc.blk',
      decoder: 'dec.blk',
      'attn.o': 'attn_o',
      'cross_attn.*': 'cross_attn_*',
      'decoder.norm2': 'cross_attn_norm',
      norm3: 'ffn_norm',
      'encoder.relative_bias': 'enc.blk.0.attn_rel_b',
      relative_bias: 'dec.blk.0.attn_rel_b',
      'encoder.final_norm': 'enc.output_norm',
      final_norm: 'dec.output_norm',
    },
    keys: 'decoder_block_count decoder_start_token_id attention.relative_buckets_count',
    skips: /\.cross_attn_rel_b\.weight$/,
    derive: (m) => ({
      ...t5Fields(m),
      n_layers: m.number('decoder_block_count', m.layers),
      n_encoder_layers: m.layers,
      // transformers multiplies a tied head in this way. llama.cpp leaves the factor out, which no greedy choice shows.
      // The first version is always tied: a head in a file of it is a copy.
      logit_scale: m.has('enc.blk.0.ffn_gate.weight') && m.has('output.weight') ? 1 : m.dModel ** -0.5,
    }),
  },
  t5encoder: {
    fields: { ...t5Kind, kind: 'encoder' },
    names: {
      blocks: 'enc.blk',
      'attn.o': 'attn_o',
      relative_bias: 'enc.blk.0.attn_rel_b',
      final_norm: 'enc.output_norm',
    },
    keys: 'attention.relative_buckets_count',
    derive: t5Fields,
  },
};

/** Every architecture by the value of general.architecture. @type {Record<string, Architecture>} */
export const ALL_ARCHITECTURES = { ...ARCHITECTURES, ...MORE };
