// huggingface.js - converts the config.json of the supported families to our fields, and maps their tensor names
//
// Defaults are those of the family's class in transformers. A feature that a config asks for and the engine lacks is
// refused by name; an unknown key is listed in the warnings.
import { completeConfig, isField, tokenIds } from './config.js';
import { fail, show } from '../base/errors.js';
import { placesByName } from './plan.js';

/** @typedef {import('./config.js').Config} Config */
/** @typedef {import('./plan.js').Entry} Entry */
/** @typedef {import('./plan.js').Place} Place */
/** @typedef {Record<string, any>} Json */
/**
 * @typedef {object} Family
 * @property {Record<string, string>} keys  theirs by ours, where the value carries over
 * @property {Record<string, string>} [spellings] further names of a key, as a class's constructor calls it: their name
 *   by this one
 * @property {Json} base  what the family fixes, and its defaults for absent keys
 * @property {(j: Json, lacks: (key: string, value: unknown) => never) => Json} [more] what takes a decision
 * @property {string[]} [need]  our fields that must be given, beyond those that every model needs
 * @property {(config: Config, j: Json, files: Set<string>) => import('./plan.js').Names} names files: all names in them
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

/** @type {Record<string, string>} */
const ACTIVATIONS = {
  gelu: 'gelu_erf',
  gelu_python: 'gelu_erf',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  gelu_fast: 'gelu_tanh',
};
/**
 * An activation of transformers in our words; an unknown name is returned as it is and refused by completeConfig.
 * @param {any} name
 */
const activation = (name) => (typeof name === 'string' && Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : name);

/**
 * The product, or the factor that is not a number, which completeConfig then refuses.
 * @param {any} a
 * @param {any} b
 */
const times = (a, b) => [a, b].find((x) => typeof x !== 'number') ?? a * b;

/**
 * Rotary scaling, from rope_scaling (transformers 4) or rope_parameters (5).
 * @param {Json} j
 * @param {(key: string, value: unknown) => never} lacks
 * @returns {Json}
 */
function rope(j, lacks) {
  const s = j.rope_scaling ?? j.rope_parameters ?? {};
  const type = s.rope_type ?? s.type ?? 'default';
  if ((s.partial_rotary_factor ?? 1) !== 1) lacks('partial_rotary_factor', s.partial_rotary_factor);
  if (!['default', 'linear', 'llama3'].includes(type)) lacks('rope_scaling', type);
  if (type !== 'default' && typeof s.factor !== 'number') lacks('rope_scaling without a factor', s);
  return {
    rope_theta: s.rope_theta ?? 10000,
    ...(type === 'default' ? {} : { rope_scaling: type, rope_factor: s.factor }),
    rope_low_freq_factor: s.low_freq_factor,
    rope_high_freq_factor: s.high_freq_factor,
    rope_original_context: s.original_max_position_embeddings,
  };
}

/** Llama and families of the same structure. @type {Family} */
const llama = {
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'hidden_size',
    n_layers: 'num_hidden_layers',
    n_heads: 'num_attention_heads',
    n_kv_heads: 'num_key_value_heads',
    d_head: 'head_dim',
    d_ff: 'intermediate_size',
    context_length: 'max_position_embeddings',
    norm_eps: 'rms_norm_eps',
    rope_theta: 'rope_theta',
    bias_qkv: 'attention_bias',
    bias_attn_out: 'attention_bias',
    bias_ffn: 'mlp_bias',
    tie_word_embeddings: 'tie_word_embeddings',
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
  need: ['d_ff'],
  more(j, lacks) {
    if (!['silu', 'swish'].includes(j.hidden_act ?? 'silu')) lacks('hidden_act', j.hidden_act);
    if (j.sliding_window && j.model_type === 'llama') lacks('sliding_window', j.sliding_window);
    return rope(j, lacks);
  },
  names: (c, j, files) => ({
    '': !files.has('model.embed_tokens.weight') && files.has('embed_tokens.weight') ? '' : 'model.',
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
  }),
};
const { bias_qkv: _, bias_attn_out: __, bias_ffn: ___, ...noBias } = llama.keys;

/** @type {Family} */
const mistral = {
  ...llama,
  keys: { ...noBias, sliding_window: 'sliding_window' },
  base: { ...llama.base, n_kv_heads: 8, context_length: 131072, sliding_window: 4096 },
};

/**
 * Layers from max_window_layers on have a sliding window; the engine supports one window for all layers only.
 * @type {Family}
 */
const qwen2 = {
  ...llama,
  keys: noBias,
  base: { ...llama.base, n_kv_heads: 32, context_length: 32768, bias_qkv: true },
  more(j, lacks) {
    const first = j.max_window_layers ?? 28;
    if (!Number.isInteger(first)) lacks('max_window_layers', first);
    const on = j.use_sliding_window === true && Number.isInteger(j.num_hidden_layers) && first < j.num_hidden_layers;
    if (on && first > 0) lacks('max_window_layers', first);
    if (j.layer_types !== undefined && j.layer_types !== null && !Array.isArray(j.layer_types))
      lacks('layer_types', j.layer_types);
    const kinds = new Set(j.layer_types ?? []);
    if (kinds.size > 1 || (kinds.size && kinds.has('sliding_attention') !== on)) lacks('layer_types', [...kinds]);
    return { ...rope(j, lacks), sliding_window: on ? j.sliding_window : 0 };
  },
};

/** @type {Family} */
const qwen3 = {
  ...qwen2,
  keys: { ...noBias, bias_qkv: 'attention_bias', bias_attn_out: 'attention_bias' },
  base: { ...qwen2.base, bias_qkv: false, d_head: 128, qk_norm: true },
};

/** GPT-2: fused qkv, matrices stored [in, out]. @type {Family} */
const gpt2 = {
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'n_embd',
    n_layers: 'n_layer',
    n_heads: 'n_head',
    d_ff: 'n_inner',
    context_length: 'n_positions',
    norm_eps: 'layer_norm_epsilon',
    scale_scores: 'scale_attn_weights',
    tie_word_embeddings: 'tie_word_embeddings',
  },
  base: { norm: 'layernorm', position: 'learned', bias_qkv: true, bias_attn_out: true, bias_ffn: true },
  more(j, lacks) {
    if (j.scale_attn_by_inverse_layer_idx) lacks('scale_attn_by_inverse_layer_idx', true);
    return { ffn: activation(j.activation_function ?? 'gelu_new'), context_length: j.n_ctx };
  },
  names: (c, j, files) => ({
    '': files.has('transformer.wpe.weight') ? 'transformer.' : '',
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
  }),
  how: { cols: true },
};

/**
 * The first of several names, without ending, under which a checkpoint has its first block's weight; the first of all
 * when it has none of them.
 * @param {Set<string>} files all names in the checkpoint
 * @param {string[]} names
 * @param {string} [at] the stack's prefix
 */
const nameIn = (files, names, at = 'blocks.0.') => names.find((name) => files.has(`${at}${name}.weight`)) ?? names[0];

/** Tutorial 1's modern decoder and its classical variants. @type {Family} */
const rlvr = {
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'd_model',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    d_ff: 'd_ff',
    context_length: 'max_seq_len',
    norm: 'norm',
    norm_eps: 'norm_eps',
    position: 'positional',
    rope_theta: 'rope_base',
    bias_qkv: 'bias',
    bias_attn_out: 'bias',
    bias_ffn: 'bias',
    tie_word_embeddings: 'tie_embeddings',
  },
  spellings: { max_len: 'max_seq_len', tie_weights: 'tie_embeddings' },
  base: { context_length: 8192, final_norm: true },
  more(j, lacks) {
    const pairs = j.rope_convention ?? 'rotate_half';
    if (pairs !== 'rotate_half' && pairs !== 'interleaved') lacks('rope_convention', pairs);
    return {
      ffn: activation(j.ffn ?? 'swiglu'),
      norm_placement: (j.pre_norm ?? true) ? 'pre' : 'post',
      rope_pairs: pairs === 'interleaved' ? 'adjacent' : 'half',
    };
  },
  names: (c) => ({
    embed: 'token_emb',
    position: 'pos_emb.embedding',
    'attn.q': 'attn.W_Q',
    'attn.k': 'attn.W_K',
    'attn.v': 'attn.W_V',
    'attn.o': 'attn.W_O',
    ...(c.ffn === 'swiglu' ? { 'ffn.*': 'ffn.W_*' } : { 'ffn.up': 'ffn.W_1', 'ffn.down': 'ffn.W_2' }),
    head: 'lm_head',
  }),
  how: { gamma: true },
};

/**
 * Tutorial 2's encoder-decoder of 2017. Its Decoder keeps the layers in a list, so that a walk over its modules names
 * them decoder.0.
 * @type {Family}
 */
const bareBones = {
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'hidden_size',
    n_layers: 'num_layers',
    n_encoder_layers: 'num_layers',
    n_heads: 'num_heads',
    d_ff: 'ff_size',
    context_length: 'max_len',
    norm_eps: 'layer_norm_eps',
    tie_word_embeddings: 'tied_head',
    embedding_scale: 'embedding_scale',
  },
  base: {
    kind: 'encoder_decoder',
    context_length: 5000,
    norm: 'layernorm',
    final_norm: false,
    position: 'sinusoidal',
    bias_qkv: true,
    bias_attn_out: true,
    bias_ffn: true,
    bias_head: true,
    tie_word_embeddings: false,
  },
  need: ['d_ff'],
  more(j, lacks) {
    if (j.shared_embedding === false) lacks('shared_embedding', false);
    const mask = j.mask_mode ?? 'causal';
    if (!['causal', 'padmask', 'nomask'].includes(mask)) lacks('mask_mode', mask);
    return {
      ffn: activation(j.activation ?? 'relu'),
      norm_placement: (j.post_norm ?? true) ? 'post' : 'pre',
      causal: mask !== 'nomask',
    };
  },
  names: (c, j, files) => ({
    'embed.weight': 'token_embedding.embedding',
    encoder: 'encoder.layers',
    decoder: files.has('decoder.0.masked_self_attn.q_linear.weight') ? 'decoder' : 'decoder.layers',
    'encoder.attn.*': 'self_attn.*_linear',
    'encoder.attn.o': 'self_attn.fc',
    'decoder.attn.*': 'masked_self_attn.*_linear',
    'decoder.attn.o': 'masked_self_attn.fc',
    'cross_attn.*': 'enc_dec_attn.*_linear',
    'cross_attn.o': 'enc_dec_attn.fc',
    norm1: 'add_norm1.norm',
    norm2: 'add_norm2.norm',
    norm3: 'add_norm3.norm',
    'ffn.up': 'ff.linear1',
    'ffn.down': 'ff.linear2',
    head: 'final_linear',
  }),
  how: { gamma: true },
};

/**
 * The plain pre-norm GPT of tutorials 3 and 5. Tutorial 3's classes name the norms ln_1 and ln_2 (its attention class
 * is not printed: the usual names are read); those of tutorial 5 are norm1, norm2, attn.W_QKV, attn.W_O and norm_f.
 * @type {Family}
 */
const plainGpt = {
  keys: {
    vocab_size: 'vocab_size',
    d_model: 'd_model',
    n_layers: 'n_layers',
    n_heads: 'n_heads',
    context_length: 'context',
    norm_eps: 'norm_eps',
    bias_qkv: 'attn_bias',
    bias_attn_out: 'attn_bias',
    bias_ffn: 'mlp_bias',
    bias_norm: 'ln_bias',
    tie_word_embeddings: 'tie_embeddings',
  },
  spellings: { max_seq_len: 'context', mlp_ratio: 'mlp_mult', tie_weights: 'tie_embeddings' },
  base: { norm: 'layernorm', position: 'learned' },
  need: ['context_length'],
  more: (j) => ({ ffn: activation(j.activation ?? 'gelu_erf'), d_ff: times(j.mlp_mult ?? 4, j.d_model) }),
  names(c, j, files) {
    const qkv = nameIn(files, ['attn.qkv', 'attn.W_QKV', 'attn.W_qkv', 'attn.qkv_proj', 'attn.c_attn']);
    /** @param {string} l */
    const part = (l) => nameIn(files, [`attn.${l}`, `attn.W_${l.toUpperCase()}`, `attn.W_${l}`, `attn.${l}_proj`]);
    const separate = { 'attn.q': part('q'), 'attn.k': part('k'), 'attn.v': part('v') };
    const isFused =
      files.has(`blocks.0.${qkv}.weight`) ||
      (!files.has(`blocks.0.${separate['attn.q']}.weight`) && (j.fused_qkv ?? true));
    return {
      embed: 'tok_emb',
      position: 'pos_emb',
      norm1: nameIn(files, ['ln1', 'ln_1', 'norm1']),
      norm2: nameIn(files, ['ln2', 'ln_2', 'norm2']),
      ...(isFused ? { 'attn.*': qkv } : separate),
      'attn.o': nameIn(files, [
        'attn.proj',
        'attn.W_O',
        'attn.W_o',
        'attn.o',
        'attn.o_proj',
        'attn.out_proj',
        'attn.c_proj',
      ]),
      'ffn.up': 'mlp.fc1',
      'ffn.down': 'mlp.fc2',
      final_norm: nameIn(files, ['ln_f', 'norm_f'], ''),
      head: 'lm_head',
    };
  },
};

/** @type {Record<string, Family>} */
const FAMILIES = {
  llama,
  mistral,
  qwen2,
  qwen3,
  gpt2,
  'rlvr-from-scratch': rlvr,
  'bare-bones-ml-transformer': bareBones,
  'gpt-prenorm-erf': plainGpt,
};

/** Our fields whose null is an answer: one per head, d_model / n_heads, no window. Elsewhere null is like absent. */
const NULL_SAYS = ['n_kv_heads', 'd_head', 'sliding_window'];

/** Buffers that frameworks save: causal masks, rotary and sinusoidal tables, position ids. */
const BUFFERS = [
  /(^|\.)(rotary_emb|rope|rotary)\.(inv_freq|original_inv_freq|(cos|sin)(_cached?|_table)?|freqs(_cis)?)$/,
  /(^|\.)(attn|self_attn|masked_self_attn)\.(rotary_emb\.inv_freq|masked_bias|mask|causal_mask|tril)$/,
  /(^|\.)(position_ids|causal_mask|tril)$/,
  /(^|\.)(pos_emb|pos_enc|pos_encoding|positional_encoding)\.pe$/,
];

/** Keys that change nothing about the numbers, and those that a family's `more` looks at. */
const HARMLESS = new RegExp(
  '_token_id$|dropout|_pdrop$|^summary_|^_|dtype$|^(model_type|architectures|transformers_version|use_cache|initializer_range|' +
    'pretraining_tp|task_specific_params|gradient_checkpointing|output_past|reorder_and_upcast_attn|auto_map|label2id|id2label|n_ctx|name|rope_interleaved|' +
    'rope_scaling|rope_parameters|hidden_act|use_sliding_window|max_window_layers|sliding_window|layer_types|attention_bias|mlp_bias|activation_function|' +
    'rope_convention|ffn|pre_norm|post_norm|activation|mask_mode|pad_positions|shared_embedding|mlp_mult|fused_qkv)$',
);

/**
 * Features that change the numbers and that the engine lacks, with the values that mean "not used".
 * @type {Record<string, unknown[]>}
 */
const LACKING = {
  quantization_config: [],
  partial_rotary_factor: [1],
  attn_logit_softcapping: [],
  final_logit_softcapping: [],
  logit_softcapping: [],
  logits_soft_cap: [],
  logit_scale: [1],
  logits_scaling: [1],
  embedding_multiplier: [1],
  residual_multiplier: [1],
  attention_multiplier: [],
  scale_embedding: [],
  scale_emb: [1],
  query_pre_attn_scalar: [],
  clip_qkv: [],
  num_experts: [0, 1],
  num_local_experts: [0, 1],
  n_routed_experts: [0],
  alibi: [],
  use_alibi: [],
  use_qk_norm: [],
  qk_layernorm: [],
  parallel_attn: [],
  use_parallel_residual: [],
  no_rope_layers: [],
  attention_chunk_size: [],
  is_encoder_decoder: [],
  cross_attention_hidden_size: [],
  add_cross_attention: [],
  rotary_pct: [1],
  rotary_dim: [],
};

/**
 * A parsed config.json as a model.
 * @param {Json} json
 * @param {string} [where] file name, for messages
 * @returns {HfModel}
 */
export function readHfConfig(json, where = 'config.json') {
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    fail('bad-config', `${where}: expected an object, found ${show(json)}`);
  const type = json.model_type;
  if (typeof type !== 'string')
    fail('bad-config', `${where}: model_type is ${type === undefined ? 'missing' : show(type)}`);
  const begins = ['decoder_start_token_id', 'bos_token_id'].flatMap((key) => tokenIds(json, key, where));
  const special = { bos: begins[0] ?? null, eos: tokenIds(json, 'eos_token_id', where), addBos: false };
  /** @type {string[]} */
  const warnings = [];
  if (type === 'glassformer') {
    const own = Object.fromEntries(Object.entries(json).filter(([key]) => isField(key) || !HARMLESS.test(key)));
    const config = completeConfig(own, where);
    return { config, special, places: () => placesByName(config, {}), isBuffer: () => false, warnings };
  }
  const family = Object.hasOwn(FAMILIES, type)
    ? FAMILIES[type]
    : fail(
        'unsupported',
        `${where}: model_type ${show(type)} is not supported, expected one of ${['glassformer', ...Object.keys(FAMILIES)].join(', ')}`,
      );
  json = spelt(json, family.spellings ?? {}, where);
  /**
   * @param {string} key
   * @param {unknown} value
   * @returns {never}
   */
  const lacks = (key, value) => fail('unsupported', `${where}: ${key} ${show(value)} is not supported`);
  for (const [key, neutral] of Object.entries(LACKING)) {
    const value = json[key] ?? false;
    if (value !== false && !neutral.includes(value)) lacks(key, value);
  }
  const fields = { ...family.base };
  for (const [ours, value] of Object.entries(family.more?.(json, lacks) ?? {}))
    if (value !== undefined) fields[ours] = value;
  for (const [ours, theirs] of Object.entries(family.keys)) {
    const value = json[theirs];
    if (value !== undefined && (value !== null || NULL_SAYS.includes(ours))) fields[ours] = value;
  }
  const config = completeConfig(fields, where, family.keys, family.need);
  const used = Object.values(family.keys);
  for (const [key, value] of Object.entries(json)) {
    if (value && !used.includes(key) && !HARMLESS.test(key) && !Object.hasOwn(LACKING, key))
      warnings.push(`${where}: ${key} is not known and was not used`);
  }
  return {
    config,
    special,
    warnings,
    places: (files) =>
      withHeadAsEmbedding(placesByName(config, family.names(config, json, files), family.how), config, files),
    isBuffer: ({ name, shape }) =>
      BUFFERS.some((b) => b.test(name)) ||
      (shape.length >= 2 && /(^|\.)attn\.bias$/.test(name)) ||
      (config.tie_word_embeddings && HEADS.includes(name) && sameShape(shape, config)),
  };
}

/**
 * A configuration with each key under the first of its spellings.
 * @param {Json} json @param {Record<string, string>} spellings @param {string} where
 * @returns {Json}
 */
function spelt(json, spellings, where) {
  const out = { ...json };
  for (const [other, key] of Object.entries(spellings)) {
    if (out[other] === undefined) continue;
    if (out[key] !== undefined && out[key] !== out[other])
      fail(
        'bad-config',
        `${where}: ${key} is ${show(out[key])} and ${other} is ${show(out[other])}, expected one of them or the same value`,
      );
    out[key] = out[other];
    delete out[other];
  }
  return out;
}

/** What the families call their output layer. */
const HEADS = ['lm_head.weight', 'final_linear.weight'];

/**
 * Of tensors that share memory, safetensors.torch.save_model keeps the one whose name sorts first: of a tied pair often
 * the output layer.
 * @param {Map<string, Place>} places changed
 * @param {Config} config
 * @param {Set<string>} files all names in the checkpoint
 * @returns {Map<string, Place>} the same
 */
function withHeadAsEmbedding(places, config, files) {
  const head = config.tie_word_embeddings && HEADS.find((name) => files.has(name));
  for (const [name, place] of places) {
    if (!head || !place.covers.includes('embed.weight') || files.has(name)) continue;
    places.delete(name);
    places.set(head, place);
  }
  return places;
}

/**
 * @param {number[]} shape
 * @param {Config} c
 */
const sameShape = (shape, c) => shape.length === 2 && shape[0] === c.vocab_size && shape[1] === c.d_model;

/**
 * The JSON of a config.json, or our own fields.
 * @param {unknown} input
 * @returns {Config}
 */
export function readConfig(input) {
  if (input === null || typeof input !== 'object' || Array.isArray(input))
    fail('bad-argument', `expected a configuration, found ${show(input)}`);
  const json = /** @type {Json} */ (input);
  return json.model_type === undefined ? completeConfig(json) : readHfConfig(json, 'config').config;
}
