// config.js - what a model is made of: our own fields, their defaults and their checks
//
// Readers of other formats translate into these fields and then come through completeConfig, so every
// configuration that reaches the engine has passed the same checks.
import { fail, show } from './errors.js';

/**
 * @typedef {object} Config
 * @property {'decoder'|'encoder'|'encoder_decoder'} kind
 * @property {number} vocab_size
 * @property {number} d_model
 * @property {number} n_layers            decoder blocks; of an encoder-only model its blocks
 * @property {number} n_encoder_layers    0 unless encoder_decoder
 * @property {number} n_heads
 * @property {number} n_kv_heads
 * @property {number} d_head
 * @property {number} d_ff
 * @property {number} context_length
 * @property {'layernorm'|'rmsnorm'} norm
 * @property {number} norm_eps            inside the square root
 * @property {'pre'|'post'} norm_placement
 * @property {boolean} final_norm
 * @property {boolean} qk_norm            RMSNorm on each head's q and k
 * @property {'relu'|'gelu_erf'|'gelu_tanh'|'swiglu'} ffn
 * @property {'none'|'sinusoidal'|'learned'|'rope'} position
 * @property {number} rope_theta
 * @property {'half'|'adjacent'} rope_pairs
 * @property {'none'|'linear'|'llama3'} rope_scaling
 * @property {number} rope_factor
 * @property {number} rope_low_freq_factor
 * @property {number} rope_high_freq_factor
 * @property {number} rope_original_context
 * @property {boolean} bias_qkv
 * @property {boolean} bias_attn_out
 * @property {boolean} bias_ffn
 * @property {boolean} bias_norm          only layernorm has one
 * @property {boolean} bias_head
 * @property {number} sliding_window      keys a query sees, itself included; 0 = all
 * @property {boolean} tie_word_embeddings
 * @property {number} embedding_scale
 * @property {boolean} shared_embedding   encoder_decoder: one table for both stacks
 * @property {boolean} causal
 * @property {boolean} scale_scores
 * @property {boolean} use_position
 * @property {boolean} use_residual
 * @property {boolean} use_norm
 * @property {boolean} use_final_norm
 */

/** Most blocks a stack may have: a bound for tables that are built before any weight is seen. */
const MAX_LAYERS = 4096;
const MAX_SIZE = 2 ** 31 - 1; // the engine counts in int32

/** @typedef {readonly string[] | 'size' | 'count' | 'positive' | 'number' | 'bool'} FieldType */

/** Every field and what it may hold: an enum's values; size >= 1; count >= 0; positive > 0; number >= 0. @type {Record<keyof Config, FieldType>} */
export const FIELDS = {
  kind: ['decoder', 'encoder', 'encoder_decoder'],
  vocab_size: 'size', d_model: 'size', n_layers: 'size', n_encoder_layers: 'count', n_heads: 'size', n_kv_heads: 'size',
  d_head: 'size', d_ff: 'size', context_length: 'size',
  norm: ['layernorm', 'rmsnorm'], norm_eps: 'number', norm_placement: ['pre', 'post'], final_norm: 'bool', qk_norm: 'bool',
  ffn: ['relu', 'gelu_erf', 'gelu_tanh', 'swiglu'],
  position: ['none', 'sinusoidal', 'learned', 'rope'], rope_theta: 'positive', rope_pairs: ['half', 'adjacent'],
  rope_scaling: ['none', 'linear', 'llama3'], rope_factor: 'positive', rope_low_freq_factor: 'positive',
  rope_high_freq_factor: 'positive', rope_original_context: 'count',
  bias_qkv: 'bool', bias_attn_out: 'bool', bias_ffn: 'bool', bias_norm: 'bool', bias_head: 'bool',
  sliding_window: 'count', tie_word_embeddings: 'bool', embedding_scale: 'positive', shared_embedding: 'bool',
  causal: 'bool', scale_scores: 'bool', use_position: 'bool', use_residual: 'bool', use_norm: 'bool', use_final_norm: 'bool',
};

/** @param {string} name @returns {string} dModel -> d_model */
export const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
/** @param {string} name @returns {string} d_model -> dModel */
export const camel = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());

/**
 * The same configuration with camelCase names, as `Model.config` shows it.
 * @param {Config} config
 * @returns {Record<string, string | number | boolean>}
 */
export function camelConfig(config) {
  return Object.fromEntries(Object.entries(config).map(([k, v]) => [camel(k), v]));
}

/** @param {FieldType} type @param {unknown} v @returns {string | null} what was expected, or null when v is fine */
function expected(type, v) {
  if (typeof type !== 'string') return typeof v === 'string' && type.includes(v) ? null : `one of ${type.join(', ')}`;
  switch (type) {
    case 'bool': return typeof v === 'boolean' ? null : 'true or false';
    case 'size': return Number.isInteger(v) && Number(v) >= 1 && Number(v) <= MAX_SIZE ? null : 'a whole number from 1 to 2^31 - 1';
    case 'count': return Number.isInteger(v) && Number(v) >= 0 && Number(v) <= MAX_SIZE ? null : 'a whole number from 0 to 2^31 - 1';
    case 'positive': return Number.isFinite(v) && Number(v) > 0 ? null : 'a number above 0';
    default: return Number.isFinite(v) && Number(v) >= 0 ? null : 'a number from 0 up';
  }
}

/**
 * Fill in the defaults (the modern decoder: RMSNorm, pre, SwiGLU, RoPE, no biases, tied) and refuse what cannot be.
 * @param {Record<string, any>} fields our own fields, snake_case or camelCase; absent, null and undefined take the default
 * @param {string} [where] named in refusals
 * @returns {Config} complete, a new object
 */
export function completeConfig(fields, where = 'config') {
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) fail('bad-config', `${where}: expected an object, found ${show(fields)}`);
  /** @type {Record<string, any>} */
  const given = {};
  for (const [key, value] of Object.entries(fields)) {
    const name = snake(key);
    if (!Object.hasOwn(FIELDS, name)) fail('bad-config', `${where}: there is no field ${show(key)}`);
    if (value === null || value === undefined) continue;
    if (Object.hasOwn(given, name)) fail('bad-config', `${where}: ${name} is given twice, as ${name} and ${camel(name)}`);
    const want = expected(FIELDS[/** @type {keyof Config} */ (name)], value);
    if (want) fail('bad-config', `${where}: ${name} is ${show(value)}, expected ${want}`);
    given[name] = value;
  }
  for (const name of ['vocab_size', 'd_model', 'n_layers', 'n_heads']) {
    if (!Object.hasOwn(given, name)) fail('bad-config', `${where}: ${name} is missing`);
  }
  const kind = given.kind ?? 'decoder';
  const norm = given.norm ?? 'rmsnorm';
  const pre = (given.norm_placement ?? 'pre') === 'pre';
  const ffn = given.ffn ?? 'swiglu';
  const d = given.d_model;
  if (!given.d_head && d % given.n_heads) fail('bad-config', `${where}: d_model ${d} is not divisible by n_heads ${given.n_heads}`);

  /** @type {Config} */
  const c = {
    kind, vocab_size: given.vocab_size, d_model: d, n_layers: given.n_layers,
    n_encoder_layers: kind === 'encoder_decoder' ? given.n_layers : 0,
    n_heads: given.n_heads, n_kv_heads: given.n_heads, d_head: d / given.n_heads,
    d_ff: ffn === 'swiglu' ? Math.ceil(8 * d / 3 / 64) * 64 : 4 * d, context_length: 1024,
    norm, norm_eps: norm === 'rmsnorm' ? 1e-6 : 1e-5, norm_placement: 'pre', final_norm: pre, qk_norm: false,
    ffn, position: 'rope', rope_theta: 10000, rope_pairs: 'half', rope_scaling: 'none', rope_factor: 1,
    rope_low_freq_factor: 1, rope_high_freq_factor: 4, rope_original_context: 0,
    bias_qkv: false, bias_attn_out: false, bias_ffn: false, bias_norm: norm === 'layernorm', bias_head: false,
    sliding_window: 0, tie_word_embeddings: kind !== 'encoder', embedding_scale: 1, shared_embedding: true,
    causal: kind !== 'encoder', scale_scores: true, use_position: true, use_residual: true, use_norm: true, use_final_norm: true,
    ...given,
  };
  if (c.norm === 'rmsnorm') c.bias_norm = false;
  if (kind === 'encoder') { c.tie_word_embeddings = false; c.bias_head = false; }
  check(c, where);
  return c;
}

/** What single fields cannot show. @param {Config} c @param {string} where */
function check(c, where) {
  /** @param {string} why @returns {never} */
  const no = (why) => fail('bad-config', `${where}: ${why}`);
  if (c.n_layers > MAX_LAYERS) no(`n_layers is ${c.n_layers}, at most ${MAX_LAYERS} are possible`);
  if (c.n_encoder_layers > MAX_LAYERS) no(`n_encoder_layers is ${c.n_encoder_layers}, at most ${MAX_LAYERS} are possible`);
  if (c.n_heads % c.n_kv_heads) no(`n_heads ${c.n_heads} is not a multiple of n_kv_heads ${c.n_kv_heads}`);
  if (c.position === 'rope' && c.d_head % 2) no(`d_head ${c.d_head} is odd, rotary positions turn pairs`);
  if (c.position === 'sinusoidal' && c.d_model % 2) no(`d_model ${c.d_model} is odd, sinusoidal positions come in pairs`);
  if (c.n_heads * c.d_head > MAX_SIZE) no(`n_heads ${c.n_heads} times d_head ${c.d_head} is too large`);
  if (c.kind === 'encoder_decoder' ? c.n_encoder_layers < 1 : c.n_encoder_layers > 0) {
    no(`n_encoder_layers is ${c.n_encoder_layers} for kind ${c.kind}`);
  }
  if (c.kind !== 'encoder_decoder' && !c.shared_embedding) no('only an encoder_decoder can have two embeddings');
  if (c.kind === 'encoder' && c.causal) no('an encoder is bidirectional, causal cannot be true');
  if (c.rope_scaling === 'llama3') {
    if (!c.rope_original_context) no('rope_scaling llama3 needs rope_original_context');
    if (c.rope_high_freq_factor <= c.rope_low_freq_factor) {
      no(`rope_high_freq_factor ${c.rope_high_freq_factor} is not above rope_low_freq_factor ${c.rope_low_freq_factor}`);
    }
  }
}

/**
 * Token ids of a JSON file: one, several or none.
 * @param {Record<string, any>} json
 * @param {string} key
 * @param {string} where
 * @returns {number[]}
 */
export function tokenIds(json, key, where) {
  const ids = [json[key] ?? []].flat();
  if (!ids.every((id) => Number.isInteger(id))) fail('bad-config', `${where}: ${key} is ${show(json[key])}, expected a token id`);
  return ids.filter((id) => id >= 0);
}
