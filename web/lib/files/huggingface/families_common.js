// families_common.js - what the model families of Hugging Face have in common: activations, rotary positions, layers
import { eachLayer } from '../../engine/config/layer_flags.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Conventions, Names } from '../../engine/config/tensor_plan.js' */
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
 * @property {(json: Json, unsupported: Unsupported, files?: Set<string>) => Json} derive  fields that are computed from
 *   one or more keys, or from the names in the checkpoint, where there is one
 * @property {string} [reads]  further keys that `derive` reads, separated by spaces
 * @property {string} [head]  name of the head in files, where it is another than lm_head.weight
 * @property {(fields: Json) => string[]} [notInTensors]  of a checkpoint without config.json: fields or keys that no
 *   tensor tells and that the code with these names does not fix; `fields` are those that tensors tell
 * @property {(fields: Json, names: Set<string>) => string | false} [excludes]  of such a checkpoint: why the family's
 *   own program cannot have saved it, although names and shapes fit
 * @property {(fields: Json) => Json} [sizes]  of such a checkpoint: further keys, from fields that tensors tell
 * @property {string[]} [required]  fields that must be present, beyond those that every configuration needs
 * @property {(config: Config, json: Json, files: Set<string>) => Names} names  of the tensors; `files` holds all names
 *   in the checkpoint
 * @property {Conventions | ((files: Set<string>) => Conventions)} [conventions]
 *   how the tensors are stored and named
 * @property {boolean} [tied]  the head is tied unless config.json says otherwise, even where the checkpoint has one
 * @property {string} [inside]  the key of config.json under which the family's keys are, where it is there
 * @property {RegExp} [skips]   names of copies and buffers, beyond those of all families
 * @property {RegExp} [others]  names of tensors of other parts, which are skipped with a warning
 */

/**
 * How a family differs from another one. keys, base, names: those that are added or changed; undefined removes one.
 * prefixes: what may stand before all names; where the checkpoint has none of them, the first counts.
 * @typedef {Partial<Omit<Family, 'keys' | 'names'>> & {keys?: Record<string, string | undefined>,
 *   names?: Names | Family['names'], prefixes?: string[]}} Difference
 */

/** The entries that are not undefined. @param {Record<string, any>} entries */
const present = (entries) => Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));

/**
 * A family with the structure of another one.
 * @param {Family} parent
 * @param {Difference} own
 * @returns {Family}
 */
export const like = (parent, { keys, base, names, prefixes, ...own }) => ({
  ...parent,
  ...own,
  keys: present({ ...parent.keys, ...keys }),
  base: present({ ...parent.base, ...base }),
  names(config, json, files) {
    const all = {
      ...parent.names(config, json, files),
      ...(typeof names === 'function' ? names(config, json, files) : names),
    };
    const isHere = (/** @type {string} */ prefix) =>
      [...files].some((name) =>
        name.startsWith(`${prefix}${(all.blocks ?? 'blocks').split('#')[0]}`.replace(/\.?$/, '.')),
      );
    return prefixes ? { ...all, '': prefixes.find(isHere) ?? prefixes[0] } : all;
  },
});

/**
 * A family of its own.
 * @param {Difference} own
 */
export const family = (own) => like({ keys: {}, base: {}, derive: () => ({}), names: () => ({}) }, own);

/**
 * The keys of config.json that a family reads.
 * @param {Family} family
 */
export const keysRead = ({ keys, reads = '' }) => [...Object.values(keys), ...reads.split(' ')];

/** Keys of config.json under which most families write their sizes. */
export const SIZE_KEYS = {
  vocab_size: 'vocab_size',
  d_model: 'hidden_size',
  n_layers: 'num_hidden_layers',
  n_heads: 'num_attention_heads',
  d_ff: 'intermediate_size',
  context_length: 'max_position_embeddings',
  tie_word_embeddings: 'tie_word_embeddings',
};

/** The keys of GPT-2's config.json and of the families that took them over. */
export const GPT2_KEYS = {
  vocab_size: 'vocab_size',
  d_model: 'n_embd',
  n_layers: 'n_layer',
  n_heads: 'n_head',
  d_ff: 'n_inner',
  context_length: 'n_positions',
  norm_eps: 'layer_norm_epsilon',
  tie_word_embeddings: 'tie_word_embeddings',
};

/** Biases of all matrices of a block. */
export const BIASED = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };

/**
 * The same, where one key says whether there are biases.
 * @param {string} key
 */
export const biasKeys = (key) => ({ bias_qkv: key, bias_attn_out: key, bias_ffn: key });

/**
 * How the tensors of a family are stored and named in a checkpoint.
 * @param {Family | null} family
 * @param {Set<string>} files  all names in the checkpoint
 */
export const conventionsOf = (family, files) =>
  typeof family?.conventions === 'function' ? family.conventions(files) : family?.conventions;

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
  gelu_accurate: 'gelu_tanh',
  gelu_python_tanh: 'gelu_tanh',
  swish: 'silu',
};
/**
 * The engine's name of an activation of transformers. Other names are returned as they are; completeConfig refuses the
 * unknown ones.
 * @param {any} name
 */
export const activation = (name) =>
  typeof name === 'string' && Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : name;

/**
 * Feed-forward layers with a gate, by the engine's name of the activation.
 * @type {Record<string, string>}
 */
const GATED = {
  silu: 'swiglu',
  relu: 'reglu',
  gelu_erf: 'geglu_erf',
  gelu_tanh: 'geglu_tanh',
};
/**
 * The kind of a feed-forward layer with a gate.
 * @param {string} key    of config.json
 * @param {unknown} name  activation of the gate
 * @param {Unsupported} unsupported
 */
export function gated(key, name, unsupported) {
  const known = activation(name);
  return typeof known === 'string' && Object.hasOwn(GATED, known) ? GATED[known] : unsupported(key, name);
}

/**
 * The product of two numbers. A factor that is not a number is returned, and completeConfig refuses it.
 * @param {any} a
 * @param {any} b
 */
export const product = (a, b) => [a, b].find((x) => typeof x !== 'number') ?? a * b;

/**
 * The first of several names that a weight of the first block has in a checkpoint; the first name when the checkpoint
 * has none of them.
 * @param {Set<string>} files  all names in the checkpoint
 * @param {string[]} names     candidates, without the ending .weight
 * @param {string} [prefix]    of the first block
 */
export const nameIn = (files, names, prefix = 'blocks.0.') =>
  names.find((name) => files.has(`${prefix}${name}.weight`)) ?? names[0];

// ---- layers

/**
 * Which layers have a sliding window: as layer_types says, or by the rule of the family.
 * @param {Json} json
 * @param {Unsupported} unsupported
 * @param {(layer: number) => boolean} rule  where layer_types is absent
 * @returns {boolean[]} one for each layer
 */
export function windowLayers(json, unsupported, rule) {
  const types = json.layer_types ?? null;
  const n = json.num_hidden_layers;
  if (types === null) return eachLayer(n, rule);
  if (!Array.isArray(types) || types.length !== n) return unsupported('layer_types', types);
  for (const type of types)
    if (type !== 'sliding_attention' && type !== 'full_attention') unsupported('layer_types', type);
  return types.map((type) => type === 'sliding_attention');
}

// ---- rotary positions

/**
 * The width of a head.
 * @param {Json} json
 */
export const headWidth = (json) =>
  json.head_dim ?? Math.floor((json.hidden_size ?? json.n_embd) / (json.num_attention_heads ?? json.n_head));

/**
 * The components that a part of each head has.
 * @param {Json} json
 * @param {any} factor
 * @param {Unsupported} unsupported
 */
function rotaryDim(json, factor, unsupported) {
  if (typeof factor !== 'number' || !(factor > 0 && factor <= 1)) return unsupported('partial_rotary_factor', factor);
  return factor === 1 ? {} : { rotary_dim: Math.trunc(headWidth(json) * factor) };
}

/**
 * A number under a key, or a fallback where the key is absent.
 * @param {Json} s
 * @param {string} key
 * @param {number} fallback
 * @param {Unsupported} unsupported
 */
function number(s, key, fallback, unsupported) {
  const v = s[key] ?? fallback;
  return typeof v === 'number' && Number.isFinite(v) ? v : unsupported(`rope_scaling.${key}`, v);
}

/**
 * Peng et al. 2023. mscale and mscale_all_dim are DeepSeek's.
 * @param {Json} s
 * @param {Json} json
 * @param {Unsupported} unsupported
 */
function yarn(s, json, unsupported) {
  const factor = number(s, 'factor', NaN, unsupported);
  const size = (/** @type {number} */ m) => (factor <= 1 ? 1 : 0.1 * m * Math.log(factor) + 1);
  const natural = s.mscale && s.mscale_all_dim ? size(s.mscale) / size(s.mscale_all_dim) : size(1);
  return {
    rope_original_context: s.original_max_position_embeddings ?? json.max_position_embeddings,
    rope_beta_fast: s.beta_fast ?? 32,
    rope_beta_slow: s.beta_slow ?? 1,
    rope_truncate: s.truncate ?? true,
    rope_attention_factor: number(s, 'attention_factor', natural, unsupported),
  };
}

/**
 * Ding et al. 2024. The length from which the long factors hold is a key of the scaling or, in Phi-3, of the
 * configuration, where it has precedence.
 * @param {Json} s
 * @param {Json} json
 * @param {Unsupported} unsupported
 */
function longrope(s, json, unsupported) {
  const most = json.max_position_embeddings;
  const original = json.original_max_position_embeddings ?? s.original_max_position_embeddings ?? most;
  const factor = s.factor ?? most / original;
  const natural = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));
  for (const key of ['short_factor', 'long_factor'])
    if (!Array.isArray(s[key])) unsupported(`rope_scaling.${key}`, s[key]);
  return {
    rope_original_context: original,
    rope_short_factors: s.short_factor,
    rope_long_factors: s.long_factor,
    rope_attention_factor: number(s, 'attention_factor', natural, unsupported),
    rope_factor: 1,
  };
}

/**
 * The fields of rotary positions, from rope_scaling (transformers 4) or rope_parameters (transformers 5).
 * @param {Json} json
 * @param {Unsupported} unsupported
 * @param {{partial?: number, parameters?: Json}} [of]  partial: the family rotates a part of each head, this one unless
 *   the file says otherwise; parameters: instead of those of the file
 * @returns {Json}
 */
export function ropeFields(json, unsupported, { partial, parameters } = {}) {
  const s = parameters ?? json.rope_scaling ?? json.rope_parameters ?? {};
  if (s.full_attention || s.sliding_attention) unsupported('rope_parameters of each kind of layer', s);
  if (s.llama_4_scaling_beta) unsupported('rope_parameters.llama_4_scaling_beta', s.llama_4_scaling_beta);
  // Positions in a picture have three axes; those in a text are the same along each.
  const given = s.rope_type ?? s.type ?? 'default';
  const type = given === 'mrope' && s.mrope_section && !s.factor ? 'default' : given;
  const whole = s.partial_rotary_factor ?? 1;
  if (partial === undefined && whole !== 1) unsupported('partial_rotary_factor', whole);
  const share = s.partial_rotary_factor ?? json.partial_rotary_factor ?? json.rotary_pct ?? partial;
  const fields = {
    rope_theta: s.rope_theta ?? 10000,
    ...(partial === undefined ? {} : rotaryDim(json, share, unsupported)),
  };
  if (type === 'default') return fields;
  if (type === 'longrope' || type === 'su')
    // su: its older name
    return { ...fields, rope_scaling: 'longrope', ...longrope(s, json, unsupported) };
  if (!['linear', 'llama3', 'dynamic', 'yarn'].includes(type)) unsupported('rope_scaling', type);
  if (typeof s.factor !== 'number') unsupported('rope_scaling without a factor', s);
  const scaled = { ...fields, rope_scaling: type, rope_factor: s.factor };
  if (type === 'yarn') return { ...scaled, ...yarn(s, json, unsupported) };
  if (type === 'dynamic') return { ...scaled, rope_original_context: json.max_position_embeddings ?? 2048 };
  return {
    ...scaled,
    rope_low_freq_factor: s.low_freq_factor,
    rope_high_freq_factor: s.high_freq_factor,
    rope_original_context: s.original_max_position_embeddings,
  };
}
