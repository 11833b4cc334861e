// families.js - the model families of Hugging Face: how their config.json and their tensor names map to ours
//
// A family's defaults are those of its configuration class in transformers. To add a family, add its entry here.

/** @typedef {import('./config.js').Config} Config */
/** @typedef {Record<string, any>} Json */
/**
 * Throws: the engine lacks what this key asks for.
 * @typedef {(key: string, value: unknown) => never} Unsupported
 */
/**
 * One model family.
 * @typedef {object} Family
 * @property {Record<string, string>} keys  key of config.json by field of Config, where the value is taken as it is
 * @property {Record<string, string>} [aliases]  other names of a key, as in the class's constructor: key by alias
 * @property {Json} base  fields that the family fixes, and its defaults for absent keys
 * @property {(json: Json, unsupported: Unsupported) => Json} [derive]  fields that are computed from one or more keys
 * @property {string[]} [required]  fields that must be present, beyond those that every configuration needs
 * @property {(config: Config, json: Json, files: Set<string>) => import('./plan.js').Names} names
 *   of the tensors; `files` holds all names in the checkpoint
 * @property {import('./plan.js').Conventions} [conventions]  how the tensors are stored and named
 */

/**
 * Activations of transformers that the engine has under another name.
 * @type {Record<string, string>}
 */
const ACTIVATIONS = {
  gelu: 'gelu_erf',
  gelu_python: 'gelu_erf',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  gelu_fast: 'gelu_tanh',
};
/**
 * The engine's name of an activation of transformers. Other names are returned as they are; completeConfig refuses the
 * unknown ones.
 * @param {any} name
 */
const activation = (name) => (typeof name === 'string' && Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : name);

/**
 * The product of two numbers. A factor that is not a number is returned, and completeConfig refuses it.
 * @param {any} a
 * @param {any} b
 */
const product = (a, b) => [a, b].find((x) => typeof x !== 'number') ?? a * b;

/**
 * The fields of rotary positions, from rope_scaling (transformers 4) or rope_parameters (transformers 5).
 * @param {Json} json
 * @param {Unsupported} unsupported
 * @returns {Json}
 */
function ropeFields(json, unsupported) {
  const s = json.rope_scaling ?? json.rope_parameters ?? {};
  const type = s.rope_type ?? s.type ?? 'default';
  if ((s.partial_rotary_factor ?? 1) !== 1) unsupported('partial_rotary_factor', s.partial_rotary_factor);
  if (!['default', 'linear', 'llama3'].includes(type)) unsupported('rope_scaling', type);
  if (type !== 'default' && typeof s.factor !== 'number') unsupported('rope_scaling without a factor', s);
  return {
    rope_theta: s.rope_theta ?? 10000,
    ...(type === 'default' ? {} : { rope_scaling: type, rope_factor: s.factor }),
    rope_low_freq_factor: s.low_freq_factor,
    rope_high_freq_factor: s.high_freq_factor,
    rope_original_context: s.original_max_position_embeddings,
  };
}

/**
 * Llama, and the base of the families with the same structure.
 * @type {Family}
 */
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
  required: ['d_ff'],
  derive(json, unsupported) {
    if (!['silu', 'swish'].includes(json.hidden_act ?? 'silu')) unsupported('hidden_act', json.hidden_act);
    if (json.sliding_window && json.model_type === 'llama') unsupported('sliding_window', json.sliding_window);
    return ropeFields(json, unsupported);
  },
  names: (config, json, files) => ({
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

/**
 * Llama with a sliding window.
 * @type {Family}
 */
const mistral = {
  ...llama,
  keys: { ...noBias, sliding_window: 'sliding_window' },
  base: { ...llama.base, n_kv_heads: 8, context_length: 131072, sliding_window: 4096 },
};

/**
 * Llama with biases of q, k and v. Its layers from max_window_layers on have a sliding window; the engine supports one
 * window for all layers only, so that this number must be 0 or at least the number of layers.
 * @type {Family}
 */
const qwen2 = {
  ...llama,
  keys: noBias,
  base: { ...llama.base, n_kv_heads: 32, context_length: 32768, bias_qkv: true },
  derive(json, unsupported) {
    const first = json.max_window_layers ?? 28;
    if (!Number.isInteger(first)) unsupported('max_window_layers', first);
    const on =
      json.use_sliding_window === true && Number.isInteger(json.num_hidden_layers) && first < json.num_hidden_layers;
    if (on && first > 0) unsupported('max_window_layers', first);
    if (json.layer_types !== undefined && json.layer_types !== null && !Array.isArray(json.layer_types))
      unsupported('layer_types', json.layer_types);
    const kinds = new Set(json.layer_types ?? []);
    if (kinds.size > 1 || (kinds.size && kinds.has('sliding_attention') !== on)) unsupported('layer_types', [...kinds]);
    return { ...ropeFields(json, unsupported), sliding_window: on ? json.sliding_window : 0 };
  },
};

/**
 * Qwen 2 without these biases, with RMSNorm on q and k.
 * @type {Family}
 */
const qwen3 = {
  ...qwen2,
  keys: { ...noBias, bias_qkv: 'attention_bias', bias_attn_out: 'attention_bias' },
  base: { ...qwen2.base, bias_qkv: false, d_head: 128, qk_norm: true },
};

/**
 * GPT-2: q, k and v are one tensor, and matrices are stored [in, out].
 * @type {Family}
 */
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
  derive(json, unsupported) {
    if (json.scale_attn_by_inverse_layer_idx) unsupported('scale_attn_by_inverse_layer_idx', true);
    return { ffn: activation(json.activation_function ?? 'gelu_new'), context_length: json.n_ctx };
  },
  names: (config, json, files) => ({
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
  conventions: { cols: true },
};

/**
 * The first of several names that a weight of the first block has in a checkpoint; the first name when the checkpoint
 * has none of them.
 * @param {Set<string>} files  all names in the checkpoint
 * @param {string[]} names     candidates, without the ending .weight
 * @param {string} [prefix]    of the first block
 */
const nameIn = (files, names, prefix = 'blocks.0.') =>
  names.find((name) => files.has(`${prefix}${name}.weight`)) ?? names[0];

/**
 * Tutorial 1's modern decoder and its classical variants.
 * @type {Family}
 */
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
  aliases: { max_len: 'max_seq_len', tie_weights: 'tie_embeddings' },
  base: { context_length: 8192, final_norm: true },
  derive(json, unsupported) {
    const pairs = json.rope_convention ?? 'rotate_half';
    if (pairs !== 'rotate_half' && pairs !== 'interleaved') unsupported('rope_convention', pairs);
    return {
      ffn: activation(json.ffn ?? 'swiglu'),
      norm_placement: (json.pre_norm ?? true) ? 'pre' : 'post',
      rope_pairs: pairs === 'interleaved' ? 'adjacent' : 'half',
    };
  },
  names: (config) => ({
    embed: 'token_emb',
    position: 'pos_emb.embedding',
    'attn.q': 'attn.W_Q',
    'attn.k': 'attn.W_K',
    'attn.v': 'attn.W_V',
    'attn.o': 'attn.W_O',
    ...(config.ffn === 'swiglu' ? { 'ffn.*': 'ffn.W_*' } : { 'ffn.up': 'ffn.W_1', 'ffn.down': 'ffn.W_2' }),
    head: 'lm_head',
  }),
  conventions: { gamma: true },
};

/**
 * Tutorial 2's encoder-decoder of 2017. Its layers are named decoder.layers.0 by PyTorch, and decoder.0 by a loop over
 * the modules of its Decoder, which is a list.
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
  required: ['d_ff'],
  derive(json, unsupported) {
    if (json.shared_embedding === false) unsupported('shared_embedding', false);
    const mask = json.mask_mode ?? 'causal';
    if (!['causal', 'padmask', 'nomask'].includes(mask)) unsupported('mask_mode', mask);
    return {
      ffn: activation(json.activation ?? 'relu'),
      norm_placement: (json.post_norm ?? true) ? 'post' : 'pre',
      causal: mask !== 'nomask',
    };
  },
  names: (config, json, files) => ({
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
  conventions: { gamma: true },
};

/**
 * The plain pre-norm GPT of tutorials 3 and 5. Tutorial 3 names the norms ln_1 and ln_2 and does not print its
 * attention class: the usual names are accepted. Tutorial 5 has norm1, norm2, attn.W_QKV, attn.W_O and norm_f.
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
  aliases: { max_seq_len: 'context', mlp_ratio: 'mlp_mult', tie_weights: 'tie_embeddings' },
  base: { norm: 'layernorm', position: 'learned' },
  required: ['context_length'],
  derive: (json) => ({
    ffn: activation(json.activation ?? 'gelu_erf'),
    d_ff: product(json.mlp_mult ?? 4, json.d_model),
  }),
  names(config, json, files) {
    const qkv = nameIn(files, ['attn.qkv', 'attn.W_QKV', 'attn.W_qkv', 'attn.qkv_proj', 'attn.c_attn']);
    /** @param {string} l  q, k or v */
    const separateName = (l) =>
      nameIn(files, [`attn.${l}`, `attn.W_${l.toUpperCase()}`, `attn.W_${l}`, `attn.${l}_proj`]);
    const separate = { 'attn.q': separateName('q'), 'attn.k': separateName('k'), 'attn.v': separateName('v') };
    const isFused =
      files.has(`blocks.0.${qkv}.weight`) ||
      (!files.has(`blocks.0.${separate['attn.q']}.weight`) && (json.fused_qkv ?? true));
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

/**
 * The supported families by model_type.
 * @type {Record<string, Family>}
 */
export const FAMILIES = {
  llama,
  mistral,
  qwen2,
  qwen3,
  gpt2,
  'rlvr-from-scratch': rlvr,
  'bare-bones-ml-transformer': bareBones,
  'gpt-prenorm-erf': plainGpt,
};
