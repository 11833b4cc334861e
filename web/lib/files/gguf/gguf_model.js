// gguf_model.js - reads the configuration in the metadata of a GGUF, and maps its tensor names
//
// gguf_archs.js says what an architecture fixes. The `llama` architecture and those like it store the rows of q and k
// permuted so that adjacent pairs are rotated. The rows are not reordered; rope_pairs of the configuration says which
// pairs are rotated.
import { completeConfig } from '../../engine/config/config.js';
import { fail, show } from '../../base/errors.js';
import { extendedContext } from '../../engine/config/layer_flags.js';
import { ARCHITECTURES, EXPERTS_ONE_BY_ONE, namesOf } from './gguf_archs.js';
import { checkCount, placesByName } from '../../engine/config/tensor_plan.js';
import { Texts } from '../vocabulary/packed_texts.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Gguf, Value } from './gguf.js' */
/** @import { Architecture, Metadata } from './gguf_archs.js' */
/** @import { Entry, Place } from '../../engine/config/tensor_plan.js' */
/** @import { Pooling } from '../huggingface/sentence_transformers.js' */

/**
 * Keys of every architecture that are read below, or that have no effect on the logits. A key that is neither here nor
 * among the architecture's own is refused.
 */
const KEYS = new RegExp(
  '^(vocab_size|context_length|embedding_length|block_count|feed_forward_length|' +
    'expert_(used_count|count|feed_forward_length)|' +
    'tensor_data_layout|pooling_type|' +
    'attention\\.(head_count(_kv)?|(key|value)_length|layer_norm_(rms_)?epsilon|sliding_window|causal)|' +
    'rope\\.(dimension_count|freq_base|scale_linear|scaling\\.(type|factor|original_context_length|finetuned|' +
    'attn_factor|yarn_(ext_factor|attn_factor|beta_fast|beta_slow|log_multiplier))))$',
);

/** Keys that llama.cpp reads for architectures of which they are own keys, and ignores in files of others. */
const UNUSED = /^(logit_scale|attention\.clamp_kqv)$/;

/** Tables of rotary factors, which rope_freqs.js reads. */
export const ROPE_TABLE = /^rope_(freqs|factors_(long|short))\.weight$/;

/** Kinds of pooling by their number in GGUF. @type {(Pooling['pooling'] | undefined)[]} */
const POOLINGS = [undefined, 'mean', 'cls', 'last'];

/**
 * The pooling of a GGUF, whose vectors llama.cpp normalises.
 * @param {string} key  of the type
 * @param {unknown} type  0: none
 * @returns {Partial<Pooling>}
 */
function ggufPooling(key, type) {
  if (type === undefined || type === 0) return { normalize: true };
  const pooling = POOLINGS[Number(type)] ?? null;
  return { pooling, normalize: true, lacks: pooling ? null : `${key} ${show(type)}` };
}

/** A key of this package: the exact GELU, which GGUF cannot say. llama.cpp computes its tanh form. */
export const GELU_KEY = 'glassformer.gelu';

/**
 * The configuration in a header, and the places of its tensors.
 * @param {string} where  file name, for messages
 * @param {Gguf} gguf
 * @param {string[]} warnings  appended to
 * @param {Record<string, any> | null} [scaling]  rotary fields from the tables of rotary factors (rope_freqs.js)
 * @param {Record<string, Architecture>} [known]  the architectures, with that of the file
 * @returns {{config: Config, places: Map<string, Place>, isBuffer: (e: Entry) => boolean, pooling?: Partial<Pooling>,
 *   start?: number}} start: of an encoder-decoder, the token before the first one of every target
 */
export function ggufModel(where, { meta, entries }, warnings, scaling = null, known = ARCHITECTURES) {
  checkIsModel(where, meta);
  const arch = meta.get('general.architecture');
  if (typeof arch !== 'string') fail('bad-header', `${where}: general.architecture is missing`);
  if (!Object.hasOwn(known, arch)) {
    const supported = Object.keys(known).join(', ');
    fail('unsupported', `${where}: the architecture ${show(arch)} is not supported, expected one of ${supported}`);
  }
  const own = known[arch];
  const { fields, copiesHead, skips } = own;
  const byName = new Map(entries.map((e) => [e.name, e]));
  const m = metadata(where, arch, meta, byName);
  const embed = byName.get('token_embd.weight') ?? fail('missing-tensor', `${where}: token_embd.weight is missing`);
  const rows = embed.shape[0];
  const tokens = meta.get('tokenizer.ggml.tokens');
  if ((Array.isArray(tokens) || tokens instanceof Texts) && tokens.length !== rows)
    fail('bad-tokenizer', `${where}: the vocabulary has ${tokens.length} tokens, token_embd.weight ${rows} rows`);
  if (m.number('vocab_size', rows) !== rows)
    fail('bad-shape', `${where}: token_embd.weight has ${rows} rows, ${arch}.vocab_size is ${m.number('vocab_size')}`);
  checkKeys(m, arch, own, meta, warnings);
  // A copy of the tied embedding is skipped; in another dtype it is a head of its own.
  const head = byName.get('output.weight');
  const tied = !head || (copiesHead === true && head.dtype === embed.dtype);
  const pools = !fields.kind && [1, 2, 3].includes(Number(m.value('pooling_type')));
  /** @type {Record<string, any>} */
  const given = { ...configuration(m, own, scaling), tie_word_embeddings: tied, ...own.derive?.(m) };
  if (pools) Object.assign(given, { kind: 'encoder', causal: true, bias_head: false }); // Qwen3-Embedding
  if (meta.get(GELU_KEY) === 'erf') given.ffn = String(given.ffn).replace('_tanh', '_erf');
  if (given.rope_scaling === 'yarn')
    given.context_length = extendedContext(given.context_length, given.rope_factor * given.rope_original_context);
  const config = completeConfig(given, where);
  checkCount(config, entries, where);
  const encoder = config.kind === 'encoder';
  if (head && tied && !encoder) warnings.push(`${where}: output.weight is a copy of the embedding, skipped`);
  return {
    config,
    ...(config.kind === 'encoder_decoder' && { start: startToken(m, meta) }),
    ...(encoder && { pooling: ggufPooling(`${arch}.pooling_type`, m.value('pooling_type')) }),
    places: placesByName(config, {
      ...namesOf(own, config, m.has('blk.0.attn_qkv.weight')),
      ...(m.has('blk.0.ffn_gate.0.weight') && EXPERTS_ONE_BY_ONE),
    }),
    isBuffer: ({ name, shape }) =>
      ROPE_TABLE.test(name) ||
      (skips?.test(name) ?? false) ||
      ((tied || pools) &&
        name === 'output.weight' &&
        shape.length === 2 &&
        shape[0] === config.vocab_size &&
        shape[1] === m.dModel),
  };
}

/** What a GGUF is that has another general.type than a model. @type {Record<string, string>} */
const OTHERS = {
  adapter: 'a LoRA adapter: load the model that it was made for, with adapters: [{ source }]',
  imatrix: 'an importance matrix, which is for quantising a model',
  mmproj: 'a vision or audio projector: load the text model beside it',
};

/**
 * Throws for a file that is no model, by its name.
 * @param {string} where  file name, for messages
 * @param {Map<string, Value>} meta
 */
function checkIsModel(where, meta) {
  const type = meta.get('general.architecture') === 'clip' ? 'mmproj' : String(meta.get('general.type'));
  if (Object.hasOwn(OTHERS, type)) fail('unsupported', `${where}: this is ${OTHERS[type]}`);
}

/**
 * Throws for a key, or the value of one, that changes the logits in a way that the engine does not compute.
 * @param {Metadata} m
 * @param {string} arch
 * @param {Architecture} own
 * @param {Map<string, Value>} meta
 * @param {string[]} warnings  appended to
 */
function checkKeys(m, arch, own, meta, warnings) {
  const { fields, keys = '', partial, hasExperts } = own;
  const expect = (/** @type {string} */ key, /** @type {any} */ value, /** @type {boolean} */ isSupported) => {
    if (!isSupported) m.unsupported(key, value);
  };
  const value = m.number('attention.value_length', m.dHead);
  expect('attention.value_length', value, value === m.dHead);
  const rotary = rotaryOf(m, own);
  expect('rope.dimension_count', rotary, rotary === m.dHead || partial === true);
  const experts = m.number('expert_count', 0);
  expect('expert_count', experts, !experts || hasExperts === true);
  const attention = m.number('rope.scaling.attn_factor', 1);
  const scales = /^(yarn|longrope)$/.test(String(m.value('rope.scaling.type')));
  expect('rope.scaling.attn_factor', attention, attention === 1 || scales);
  const encoder = fields.kind === 'encoder';
  expect('attention.causal', encoder, m.flag('attention.causal', !encoder) !== encoder);
  const read = keys.split(' ');
  for (const key of meta.keys()) {
    const rest = key.slice(arch.length + 1);
    if (!key.startsWith(`${arch}.`) || KEYS.test(rest) || read.includes(rest)) continue;
    const each = m.value(rest);
    if (!UNUSED.test(rest)) m.unsupported(rest, each);
    if (each !== 0) warnings.push(`${key} ${show(each)} has no effect, as in llama.cpp`);
  }
}

/**
 * Components of a head that are rotated.
 * @param {Metadata} m
 * @param {Architecture} own
 */
const rotaryOf = (m, own) => (own.fields.position === 'rope' ? m.number('rope.dimension_count', m.dHead) : m.dHead);

/**
 * The fields of the configuration that every architecture's metadata has.
 * @param {Metadata} m
 * @param {Architecture} own
 * @param {Record<string, any> | null} scaling  as for ggufModel
 */
function configuration(m, own, scaling) {
  const { fields } = own;
  const experts = m.number('expert_count', 0);
  const rotary = rotaryOf(m, own);
  return {
    kind: 'decoder',
    final_norm: true,
    ...fields,
    vocab_size: m.rows('token_embd.weight'),
    d_model: m.dModel,
    n_layers: m.layers,
    n_heads: m.heads,
    n_kv_heads: m.number('attention.head_count_kv', m.heads),
    d_head: m.dHead,
    d_ff: m.number('feed_forward_length'),
    ...(experts && {
      n_experts: experts,
      n_experts_used: m.number('expert_used_count'),
      d_expert: m.number('expert_feed_forward_length', null),
    }),
    context_length: m.number('context_length'),
    norm_eps: m.number(`attention.layer_norm_${fields.norm === 'rmsnorm' ? 'rms_' : ''}epsilon`),
    ...(fields.position === 'rope' && {
      rope_theta: m.number('rope.freq_base', 10000),
      rotary_dim: rotary === m.dHead ? 0 : rotary,
      ...(scaling ?? ropeScaling(m)),
    }),
    bias_qkv: m.hasAny(/^blk\.\d+\.attn_(q|k|v|qkv)\.bias$/),
    bias_attn_out: m.hasAny(/^blk\.\d+\.attn_output\.bias$/),
    bias_ffn: m.hasAny(/^blk\.\d+\.ffn_(up|gate|down)\.bias$/),
    bias_head: m.has('output.bias'),
    sliding_window: m.number('attention.sliding_window', 0),
  };
}

/**
 * The token before the first one of every target: T5 takes that of padding.
 * @param {Metadata} m
 * @param {Map<string, Value>} meta
 */
function startToken(m, meta) {
  const padding = /** @type {any} */ (meta.get('tokenizer.ggml.padding_token_id') ?? 0);
  const start = m.number('decoder_start_token_id', padding);
  const isToken = Number.isInteger(start) && start >= 0 && start < m.rows('token_embd.weight');
  return isToken ? start : m.unsupported('decoder_start_token_id', start);
}

/**
 * The metadata of an architecture.
 * @param {string} where  file name, for messages
 * @param {string} arch
 * @param {Map<string, Value>} meta
 * @param {Map<string, Entry>} tensors  by name
 * @returns {Metadata}
 */
function metadata(where, arch, meta, tensors) {
  /**
   * The number under a key of the architecture. A list with one value for each layer must have equal values.
   * @param {string} key
   * @param {number|null} [fallback]  without it the key must be present
   * @returns {any}
   */
  const number = (key, fallback) => {
    const value = meta.get(`${arch}.${key}`) ?? fallback;
    const equal = Array.isArray(value) && value.length > 0 && value.every((x) => x === value[0]); // one value per layer
    const v = equal ? value[0] : value;
    if (Array.isArray(v))
      fail('unsupported', `${where}: ${arch}.${key} differs from layer to layer, which is not supported`);
    if (v === undefined) fail('bad-config', `${where}: ${arch}.${key} is missing`);
    if (v !== null && typeof v !== 'number')
      fail('bad-config', `${where}: ${arch}.${key} is ${show(v)}, expected a number`);
    return v === null ? v : shortestDecimal(v);
  };
  const heads = number('attention.head_count');
  const dModel = number('embedding_length');
  return {
    number,
    flag(key, fallback) {
      const v = meta.get(`${arch}.${key}`) ?? fallback;
      return typeof v === 'boolean'
        ? v
        : fail('bad-config', `${where}: ${arch}.${key} is ${show(v)}, expected true or false`);
    },
    value: (key) => meta.get(`${arch}.${key}`),
    has: (tensor) => tensors.has(tensor),
    hasAny: (pattern) => [...tensors.keys()].some((tensor) => pattern.test(tensor)),
    rows: (tensor) => tensors.get(tensor)?.shape[0] ?? 0,
    unsupported: (key, value) => fail('unsupported', `${where}: ${arch}.${key} ${show(value)} is not supported`),
    layers: number('block_count'),
    heads,
    dModel,
    dHead: number('attention.key_length', Math.floor(dModel / heads)),
  };
}

/**
 * The shortest decimal with the same f32 value. Fractions are stored as f32, and 1e-5 is read as 0.000009999999747;
 * other formats give the decimal.
 * @param {number} x
 */
const shortestDecimal = (x) => {
  if (Number.isInteger(x) || Math.fround(x) !== x) return x; // the latter: a double
  for (let digits = 1; digits < 17; digits++) {
    const short = Number(x.toPrecision(digits));
    if (Math.fround(short) === x) return short;
  }
  return x;
};

/**
 * The fields of rotary scaling.
 * @param {Metadata} m
 */
function ropeScaling(m) {
  const type = m.value('rope.scaling.type');
  const factor = m.number('rope.scaling.factor', m.number('rope.scale_linear', 1));
  switch (type) {
    case 'none':
      return {};
    case 'linear':
    case undefined:
      return type === undefined && factor === 1 ? {} : { rope_scaling: 'linear', rope_factor: factor };
    case 'yarn':
      return yarn(m, factor);
    case 'longrope': // rope_freqs.js reads it from its tables
      return m.unsupported('rope.scaling.type', 'longrope without rope_factors_long.weight');
    default:
      return m.unsupported('rope.scaling.type', type);
  }
}

/**
 * Peng et al. 2023. The factor of cosines and sines is yarn_attn_factor where it is given; llama.cpp computes it from
 * the scaling factor and, in files of models with mscale_all_dim, from yarn_log_multiplier.
 * @param {Metadata} m
 * @param {number} factor
 */
function yarn(m, factor) {
  const extrapolation = m.number('rope.scaling.yarn_ext_factor', 1);
  if (extrapolation !== 1) m.unsupported('rope.scaling.yarn_ext_factor', extrapolation);
  const size = (/** @type {number} */ scale) => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1);
  const natural =
    size(1) /
    (m.number('rope.scaling.yarn_log_multiplier', 0) ? size(m.number('rope.scaling.yarn_log_multiplier')) : 1);
  return {
    rope_scaling: 'yarn',
    rope_factor: factor,
    rope_original_context: m.number('rope.scaling.original_context_length', m.number('context_length')),
    rope_beta_fast: m.number('rope.scaling.yarn_beta_fast', 32),
    rope_beta_slow: m.number('rope.scaling.yarn_beta_slow', 1),
    rope_attention_factor: m.number('rope.scaling.yarn_attn_factor', natural) * m.number('rope.scaling.attn_factor', 1),
  };
}
