// huggingface.js - config.json of the supported families, in our own fields, and where their tensors go
//
// Defaults are those of the family's class in transformers. A feature that a config asks for and the engine lacks is
// refused by name; a key that nobody here knows is listed in the warnings.
import { completeConfig, FIELDS, snake, tokenIds } from './config.js';
import { fail, show } from './errors.js';
import { placesByName } from './plan.js';

/** @typedef {import('./config.js').Config} Config */
/** @typedef {import('./plan.js').Entry} Entry */
/** @typedef {import('./plan.js').Place} Place */
/** @typedef {Record<string, any>} Json */
/**
 * @typedef {object} Family
 * @property {(j: Fields) => Record<string, any>} fields        our fields from theirs
 * @property {(config: Config, j: Json, files: Set<string>) => import('./plan.js').Names} names  files: all names in them
 * @property {{cols?: boolean, gamma?: boolean}} [how]
 */
/**
 * @typedef {object} HfModel
 * @property {Config} config
 * @property {{bos: number|null, eos: number[], addBos: boolean}} special
 * @property {(names: Set<string>) => Map<string, Place>} places  by name in the file, which may have a prefix
 * @property {(entry: Entry) => boolean} isBuffer
 * @property {string[]} warnings
 */

/** Typed access to a config.json that remembers which keys were asked for. */
class Fields {
  /** @param {Json} json @param {string} where */
  constructor(json, where) {
    this.json = json;
    this.where = where;
    /** @type {Set<string>} */
    this.used = new Set(['model_type']);
  }

  /** @param {string} key @returns {any} null when absent */
  get(key) {
    this.used.add(key);
    return this.json[key] ?? null;
  }

  /** @param {string} key @param {string} type @param {any} fallback @returns {any} */
  typed(key, type, fallback) {
    const value = this.get(key);
    if (value === null) return fallback === undefined ? this.no(`${key} is missing`) : fallback;
    return typeof value === type ? value : this.no(`${key} is ${show(value)}, expected a ${type}`);
  }

  /** @param {string} key @param {number|null} [fallback] @returns {number} required without a fallback */
  num(key, fallback) { return this.typed(key, 'number', fallback); }
  /** @param {string} key @param {boolean} [fallback] @returns {boolean} */
  bool(key, fallback) { return this.typed(key, 'boolean', fallback); }
  /** @param {string} key @param {string} [fallback] @returns {string} */
  str(key, fallback) { return this.typed(key, 'string', fallback); }

  /** @template T @param {string} key @param {Record<string, T>} table @param {string} [fallback] @returns {T} */
  choice(key, table, fallback) {
    const value = this.str(key, fallback);
    return Object.hasOwn(table, value) ? table[value] : this.lacks(key, value);
  }

  /** @param {string} why @returns {never} */
  no(why) { return fail('bad-config', `${this.where}: ${why}`); }
  /** @param {string} key @param {unknown} value @returns {never} */
  lacks(key, value) { return fail('unsupported', `${this.where}: ${key} ${show(value)} is not supported`); }
}

/** @type {Record<string, Config['ffn']>} activation names of transformers */
const ACTIVATIONS = {
  relu: 'relu', gelu: 'gelu_erf', gelu_python: 'gelu_erf', gelu_new: 'gelu_tanh', gelu_pytorch_tanh: 'gelu_tanh', gelu_fast: 'gelu_tanh',
};

/** Rotary scaling, from rope_scaling (transformers 4) or rope_parameters (5). @param {Fields} f */
function rope(f) {
  const scaling = f.get('rope_scaling') ?? f.get('rope_parameters') ?? {};
  f.get('rope_parameters');
  if (typeof scaling !== 'object' || Array.isArray(scaling)) f.no(`rope_scaling is ${show(scaling)}, expected an object`);
  const s = new Fields(scaling, `${f.where}: rope_scaling`);
  const type = s.str('rope_type', s.str('type', 'default'));
  const theta = f.num('rope_theta', s.num('rope_theta', 10000));
  if (s.num('partial_rotary_factor', 1) !== 1) s.lacks('partial_rotary_factor', scaling.partial_rotary_factor);
  const base = { position: 'rope', rope_theta: theta, rope_pairs: 'half' };
  if (type === 'default') return base;
  if (type === 'linear') return { ...base, rope_scaling: 'linear', rope_factor: s.num('factor') };
  if (type !== 'llama3') f.lacks('rope_scaling', type);
  return {
    ...base, rope_scaling: 'llama3', rope_factor: s.num('factor'), rope_low_freq_factor: s.num('low_freq_factor'),
    rope_high_freq_factor: s.num('high_freq_factor'), rope_original_context: s.num('original_max_position_embeddings'),
  };
}

/** The window that all layers share; layers of both kinds are refused. @param {Fields} f @param {number} nLayers */
function window(f, nLayers) {
  const type = f.json.model_type;
  let size = f.num('sliding_window', type === 'mistral' && f.json.sliding_window === undefined ? 4096 : 0);
  if (type.startsWith('qwen')) {
    const first = f.num('max_window_layers', nLayers); // layers below it see everything
    if (!f.bool('use_sliding_window', false) || first >= nLayers) size = 0;
    else if (first > 0) f.lacks('max_window_layers', first);
  } else if (type !== 'mistral') {
    if (size) f.lacks('sliding_window', size);
  }
  const kinds = f.get('layer_types');
  if (Array.isArray(kinds)) {
    if (kinds.every((k) => k === 'full_attention')) size = 0;
    else if (!size || !kinds.every((k) => k === 'sliding_attention')) f.lacks('layer_types', [...new Set(kinds)]);
  }
  return size;
}

/** Llama and those built like it. @type {Family} */
const llama = {
  fields(f) {
    const type = f.json.model_type;
    const heads = f.num('num_attention_heads');
    const layers = f.num('num_hidden_layers');
    f.choice('hidden_act', { silu: 1, swish: 1 }, 'silu');
    const bias = type === 'qwen2' || f.bool('attention_bias', false);
    // an absent field takes the family's default, an explicit null means one per head
    const kv = f.json.num_key_value_heads === undefined ? { mistral: 8, qwen2: 32, qwen3: 32 }[/** @type {string} */ (type)] : undefined;
    return {
      vocab_size: f.num('vocab_size'), d_model: f.num('hidden_size'), n_layers: layers, n_heads: heads,
      n_kv_heads: f.num('num_key_value_heads', kv ?? heads), d_head: f.num('head_dim', type === 'qwen3' && f.json.head_dim === undefined ? 128 : null),
      d_ff: f.num('intermediate_size'), context_length: f.num('max_position_embeddings', { mistral: 131072, qwen2: 32768, qwen3: 32768 }[/** @type {string} */ (type)] ?? 2048),
      norm: 'rmsnorm', norm_eps: f.num('rms_norm_eps', 1e-6), norm_placement: 'pre', final_norm: true, qk_norm: type === 'qwen3',
      ffn: 'swiglu', ...rope(f), bias_qkv: bias, bias_attn_out: bias && type !== 'qwen2', bias_ffn: type === 'llama' && f.bool('mlp_bias', false),
      sliding_window: window(f, layers), tie_word_embeddings: f.bool('tie_word_embeddings', false),
    };
  },
  names: (c, j, files) => ({
    '': !files.has('model.embed_tokens.weight') && files.has('embed_tokens.weight') ? '' : 'model.', 'blocks': 'layers', 'embed': 'embed_tokens',
    'norm1': 'input_layernorm', 'norm2': 'post_attention_layernorm', 'attn.*': 'self_attn.*_proj', 'attn.q_norm': 'self_attn.q_norm',
    'attn.k_norm': 'self_attn.k_norm', 'ffn.*': 'mlp.*_proj', 'final_norm': 'norm', 'head': '/lm_head',
  }),
};

/** GPT-2: fused qkv, matrices stored [in, out]. @type {Family} */
const gpt2 = {
  fields(f) {
    const d = f.num('n_embd');
    for (const key of ['add_cross_attention', 'scale_attn_by_inverse_layer_idx']) if (f.bool(key, false)) f.lacks(key, true);
    return {
      vocab_size: f.num('vocab_size'), d_model: d, n_layers: f.num('n_layer'), n_heads: f.num('n_head'), d_ff: f.num('n_inner', null) ?? 4 * d,
      context_length: f.num('n_positions', f.num('n_ctx', 1024)), norm: 'layernorm', norm_eps: f.num('layer_norm_epsilon', 1e-5),
      norm_placement: 'pre', final_norm: true, ffn: f.choice('activation_function', ACTIVATIONS, 'gelu_new'), position: 'learned',
      bias_qkv: true, bias_attn_out: true, bias_ffn: true, bias_norm: true, scale_scores: f.bool('scale_attn_weights', true),
      tie_word_embeddings: f.bool('tie_word_embeddings', true),
    };
  },
  names: (c, j, files) => ({
    '': files.has('transformer.wte.weight') ? 'transformer.' : '', 'blocks': 'h', 'embed': 'wte', 'position': 'wpe', 'norm1': 'ln_1', 'norm2': 'ln_2',
    'attn.*': 'attn.c_attn', 'attn.o': 'attn.c_proj', 'ffn.up': 'mlp.c_fc', 'ffn.down': 'mlp.c_proj', 'final_norm': 'ln_f', 'head': '/lm_head',
  }),
  how: { cols: true },
};

/** Tutorial 1's modern decoder and its classical variants. @type {Family} */
const rlvr = {
  fields(f) {
    const bias = f.bool('bias', false);
    const layernorm = f.choice('norm', { layernorm: true, rmsnorm: false }, 'rmsnorm');
    return {
      vocab_size: f.num('vocab_size'), d_model: f.num('d_model'), n_layers: f.num('n_layers'), n_heads: f.num('n_heads'), d_ff: f.num('d_ff'),
      context_length: f.num('max_seq_len', 8192), norm: layernorm ? 'layernorm' : 'rmsnorm', norm_eps: f.num('norm_eps', layernorm ? 1e-5 : 1e-6),
      norm_placement: f.bool('pre_norm', true) ? 'pre' : 'post', final_norm: true, ffn: f.choice('ffn', { swiglu: 'swiglu', gelu: 'gelu_erf', relu: 'relu' }, 'swiglu'),
      position: f.choice('positional', { rope: 'rope', learned: 'learned', sinusoidal: 'sinusoidal', none: 'none' }, 'rope'),
      rope_theta: f.num('rope_base', 10000), rope_pairs: f.choice('rope_convention', { rotate_half: 'half', interleaved: 'adjacent' }, 'rotate_half'),
      bias_qkv: bias, bias_attn_out: bias, bias_ffn: bias, bias_norm: layernorm, tie_word_embeddings: f.bool('tie_embeddings', true),
    };
  },
  names: (c) => ({
    'embed': 'token_emb', 'position': 'pos_emb.embedding', 'attn.q': 'attn.W_Q', 'attn.k': 'attn.W_K', 'attn.v': 'attn.W_V', 'attn.o': 'attn.W_O',
    ...(c.ffn === 'swiglu' ? { 'ffn.*': 'ffn.W_*' } : { 'ffn.up': 'ffn.W_1', 'ffn.down': 'ffn.W_2' }), 'head': 'lm_head',
  }),
  how: { gamma: true },
};

/** Tutorial 2's encoder-decoder of 2017. @type {Family} */
const bareBones = {
  fields(f) {
    if (!f.bool('shared_embedding', true)) f.lacks('shared_embedding', false);
    f.get('pad_positions'); // belongs to the recorded input, not to the model
    const layers = f.num('num_layers');
    return {
      kind: 'encoder_decoder', vocab_size: f.num('vocab_size'), d_model: f.num('hidden_size'), n_layers: layers, n_encoder_layers: layers,
      n_heads: f.num('num_heads'), d_ff: f.num('ff_size'), context_length: f.num('max_len', 5000), norm: 'layernorm', norm_eps: f.num('layer_norm_eps', 1e-5),
      norm_placement: f.bool('post_norm', true) ? 'post' : 'pre', final_norm: false, ffn: f.choice('activation', ACTIVATIONS, 'relu'), position: 'sinusoidal',
      bias_qkv: true, bias_attn_out: true, bias_ffn: true, bias_norm: true, bias_head: true, tie_word_embeddings: f.bool('tied_head', false),
      embedding_scale: f.num('embedding_scale', 1), causal: f.choice('mask_mode', { causal: true, padmask: true, nomask: false }, 'causal'),
    };
  },
  names: () => ({
    'embed.weight': 'token_embedding.embedding', 'encoder': 'encoder.layers', 'decoder': 'decoder.layers', 'encoder.attn.*': 'self_attn.*_linear',
    'encoder.attn.o': 'self_attn.fc', 'decoder.attn.*': 'masked_self_attn.*_linear', 'decoder.attn.o': 'masked_self_attn.fc',
    'cross_attn.*': 'enc_dec_attn.*_linear', 'cross_attn.o': 'enc_dec_attn.fc', 'norm1': 'add_norm1.norm', 'norm2': 'add_norm2.norm',
    'norm3': 'add_norm3.norm', 'ffn.up': 'ff.linear1', 'ffn.down': 'ff.linear2', 'head': 'final_linear',
  }),
  how: { gamma: true },
};

/** The plain pre-norm GPT of tutorials 3 and 5. @type {Family} */
const plainGpt = {
  fields(f) {
    const d = f.num('d_model');
    const bias = f.bool('attn_bias', false);
    f.bool('fused_qkv', true);
    return {
      vocab_size: f.num('vocab_size'), d_model: d, n_layers: f.num('n_layers'), n_heads: f.num('n_heads'), d_ff: f.num('mlp_mult', 4) * d,
      context_length: f.num('context'), norm: 'layernorm', norm_eps: f.num('norm_eps', 1e-5), norm_placement: 'pre', final_norm: true,
      ffn: f.choice('activation', { gelu_erf: 'gelu_erf', gelu: 'gelu_erf', gelu_tanh: 'gelu_tanh', relu: 'relu' }, 'gelu_erf'), position: 'learned',
      bias_qkv: bias, bias_attn_out: bias, bias_ffn: f.bool('mlp_bias', false), bias_norm: f.bool('ln_bias', true),
      tie_word_embeddings: f.bool('tie_embeddings', true),
    };
  },
  names: (c, j) => ({
    'embed': 'tok_emb', 'position': 'pos_emb', 'norm1': 'ln1', 'norm2': 'ln2', 'attn.*': j.fused_qkv ?? true ? 'attn.qkv' : 'attn.*',
    'attn.o': 'attn.proj', 'ffn.up': 'mlp.fc1', 'ffn.down': 'mlp.fc2', 'final_norm': 'ln_f', 'head': 'lm_head',
  }),
};

/** @type {Record<string, Family>} */
const FAMILIES = {
  llama, mistral: llama, qwen2: llama, qwen3: llama, gpt2,
  'rlvr-from-scratch': rlvr, 'bare-bones-ml-transformer': bareBones, 'gpt-prenorm-erf': plainGpt,
};

/** Buffers that frameworks save: causal masks, rotary and sinusoidal tables, position ids. */
const BUFFERS = [
  /(^|\.)(rotary_emb|rope|rotary)\.(inv_freq|original_inv_freq|cos|sin|cos_cached|sin_cached|freqs)$/,
  /(^|\.)(attn|self_attn|masked_self_attn)\.(rotary_emb\.inv_freq|masked_bias|mask|causal_mask|tril)$/,
  /(^|\.)(position_ids|causal_mask|tril)$/,
  /(^|\.)(pos_emb|pos_enc|pos_encoding|positional_encoding)\.pe$/,
];

/** Keys that change nothing about the numbers. */
const HARMLESS = new RegExp('_token_id$|dropout|_pdrop$|^summary_|^_|dtype$|^(architectures|transformers_version|use_cache|initializer_range|pretraining_tp|'
  + 'task_specific_params|gradient_checkpointing|output_past|reorder_and_upcast_attn|auto_map|label2id|id2label|n_ctx|name|rope_interleaved|'
  + 'is_llama_config|use_sliding_window|max_window_layers|sliding_window|attention_bias|mlp_bias)$');

/** Features that change the numbers and that the engine lacks, with the values that mean "not used". @type {Record<string, unknown[]>} */
const LACKING = {
  quantization_config: [], partial_rotary_factor: [1, 1.0], attn_logit_softcapping: [], final_logit_softcapping: [], logit_softcapping: [],
  logits_soft_cap: [], logit_scale: [1], logits_scaling: [1], embedding_multiplier: [1], residual_multiplier: [1], attention_multiplier: [],
  scale_embedding: [], scale_emb: [1], query_pre_attn_scalar: [], clip_qkv: [], num_experts: [0, 1], num_local_experts: [0, 1], n_routed_experts: [0],
  alibi: [], use_alibi: [], use_qk_norm: [], qk_layernorm: [], parallel_attn: [], use_parallel_residual: [], no_rope_layers: [],
  attention_chunk_size: [], is_encoder_decoder: [], cross_attention_hidden_size: [], add_cross_attention: [], rotary_pct: [1], rotary_dim: [],
};

/**
 * A parsed config.json as a model.
 * @param {Json} json
 * @param {string} [where] file name, for messages
 * @returns {HfModel}
 */
export function readHfConfig(json, where = 'config.json') {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) fail('bad-config', `${where}: expected an object, found ${show(json)}`);
  const type = json.model_type;
  if (typeof type !== 'string') fail('bad-config', `${where}: model_type is ${type === undefined ? 'missing' : show(type)}`);
  const special = { bos: tokenIds(json, 'bos_token_id', where)[0] ?? null, eos: tokenIds(json, 'eos_token_id', where), addBos: false };
  /** @type {string[]} */
  const warnings = [];
  if (type === 'glassformer') {
    const { model_type: _, ...rest } = json;
    const own = Object.fromEntries(Object.entries(rest).filter(([key]) => !HARMLESS.test(key) || Object.hasOwn(FIELDS, snake(key))));
    const config = completeConfig(own, where);
    return { config, special, places: () => placesByName(config, {}), isBuffer: () => false, warnings };
  }
  const family = Object.hasOwn(FAMILIES, type) ? FAMILIES[type]
    : fail('unsupported', `${where}: model_type ${show(type)} is not supported, expected one of ${['glassformer', ...Object.keys(FAMILIES)].join(', ')}`);
  for (const [key, neutral] of Object.entries(LACKING)) {
    const value = json[key] ?? null;
    if (value !== null && value !== false && !neutral.includes(value)) fail('unsupported', `${where}: ${key} ${show(value)} is not supported`);
  }
  const f = new Fields(json, where);
  const config = completeConfig(family.fields(f), where);
  for (const [key, value] of Object.entries(json)) {
    if (!f.used.has(key) && !HARMLESS.test(key) && !Object.hasOwn(LACKING, key) && value !== null && value !== false) {
      warnings.push(`${where}: ${key} is not known and was not used`);
    }
  }
  return {
    config, special, warnings, places: (files) => placesByName(config, family.names(config, json, files), family.how),
    isBuffer: ({ name, shape }) => BUFFERS.some((b) => b.test(name))
      || (shape.length >= 2 && /(^|\.)attn\.bias$/.test(name))
      || (config.tie_word_embeddings && /^(lm_head|final_linear)\.weight$/.test(name) && sameShape(shape, config)),
  };
}

/** @param {number[]} shape @param {Config} c */
const sameShape = (shape, c) => shape.length === 2 && shape[0] === c.vocab_size && shape[1] === c.d_model;

/**
 * The JSON of a config.json, or our own fields.
 * @param {unknown} input
 * @returns {Config}
 */
export function readConfig(input) {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) fail('bad-argument', `expected a configuration, found ${show(input)}`);
  const json = /** @type {Json} */ (input);
  return json.model_type === undefined ? completeConfig(json) : readHfConfig(json, 'config').config;
}
