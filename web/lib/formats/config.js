// config.js - the fields of a configuration, their defaults and their checks
//
// Readers of other formats translate into these fields and then come through completeConfig, so every
// configuration that reaches the engine has passed the same checks.
import { fail, show } from '../base/errors.js';

/**
 * @typedef {object} Config
 * @property {'decoder'|'encoder'|'encoder_decoder'} kind  which stacks there are
 * @property {number} vocab_size  tokens
 * @property {number} d_model  width of the residual stream
 * @property {number} n_layers  decoder blocks; of an encoder its blocks
 * @property {number} n_encoder_layers  blocks of an encoder-decoder's encoder, else 0
 * @property {number} n_heads  query heads
 * @property {number} n_kv_heads  key and value heads; fewer than n_heads: grouped queries
 * @property {number} d_head  width of a head
 * @property {number} d_ff  width inside the feed-forward layer
 * @property {number} context_length  most positions
 * @property {'layernorm'|'rmsnorm'} norm
 * @property {number} norm_eps  inside the square root
 * @property {'pre'|'post'} norm_placement  norm before each sublayer, or after its residual sum
 * @property {boolean} final_norm  a norm before the head
 * @property {boolean} qk_norm  RMSNorm on each head's q and k
 * @property {'relu'|'gelu_erf'|'gelu_tanh'|'swiglu'} ffn  activation; swiglu has a gate matrix too
 * @property {'none'|'sinusoidal'|'learned'|'rope'} position
 * @property {number} rope_theta  base of the rotary frequencies
 * @property {'half'|'adjacent'} rope_pairs  which components are rotated together: i and i + d_head / 2, or neighbours
 * @property {'none'|'linear'|'llama3'} rope_scaling
 * @property {number} rope_factor  of rope_scaling
 * @property {number} rope_low_freq_factor  of llama3 scaling
 * @property {number} rope_high_freq_factor  of llama3 scaling
 * @property {number} rope_original_context  of llama3 scaling: positions the model was made for
 * @property {boolean} bias_qkv
 * @property {boolean} bias_attn_out
 * @property {boolean} bias_ffn
 * @property {boolean} bias_norm  only layernorm has one
 * @property {boolean} bias_head
 * @property {number} sliding_window  keys that a query sees, itself included; 0: all before it
 * @property {boolean} tie_word_embeddings  the head uses the embedding's matrix
 * @property {number} embedding_scale  factor of the embedding
 * @property {boolean} shared_embedding  encoder-decoders: one table for both stacks
 * @property {boolean} causal  false: every query sees every key
 * @property {boolean} scale_scores  false: scores are not divided by sqrt(d_head)
 * @property {boolean} use_position  false: no positions
 * @property {boolean} use_residual  false: no residual sums
 * @property {boolean} use_norm  false: no norms inside the blocks
 * @property {boolean} use_final_norm  false: no norm before the head
 */

/** Most blocks a stack may have: a bound for tables that are built before any weight is seen. */
const MAX_LAYERS = 4096;
const MAX_SIZE = 2 ** 31 - 1; // the engine counts in int32

/** The values of enumerated fields. @type {Record<string, string[]>} */
const WORDS = {
  kind: ['decoder', 'encoder', 'encoder_decoder'],
  norm: ['layernorm', 'rmsnorm'],
  norm_placement: ['pre', 'post'],
  ffn: ['relu', 'gelu_erf', 'gelu_tanh', 'swiglu'],
  position: ['none', 'sinusoidal', 'learned', 'rope'],
  rope_pairs: ['half', 'adjacent'],
  rope_scaling: ['none', 'linear', 'llama3'],
};
/** Numbers that need not be integers; all others must be. */
const REALS = [
  'norm_eps',
  'rope_theta',
  'rope_factor',
  'rope_low_freq_factor',
  'rope_high_freq_factor',
  'embedding_scale',
];
/** Numbers that may be 0; all others must be positive. */
const FROM_ZERO = ['n_encoder_layers', 'sliding_window', 'rope_original_context', 'norm_eps'];

/**
 * The modern decoder: RMSNorm, pre, SwiGLU, RoPE, no biases, tied.
 * @param {Record<string, any>} given
 * @returns {Config}
 */
function defaults({
  kind = 'decoder',
  norm = 'rmsnorm',
  norm_placement: placement = 'pre',
  ffn = 'swiglu',
  d_model: d,
  n_heads: heads,
  n_layers: layers,
}) {
  return {
    kind,
    vocab_size: 0,
    d_model: 0,
    n_layers: 0,
    n_encoder_layers: kind === 'encoder_decoder' ? layers : 0,
    n_heads: 0,
    n_kv_heads: heads,
    d_head: d / heads,
    d_ff: ffn === 'swiglu' ? Math.ceil((8 * d) / 3 / 64) * 64 : 4 * d,
    context_length: 1024,
    norm,
    norm_eps: norm === 'rmsnorm' ? 1e-6 : 1e-5,
    norm_placement: placement,
    final_norm: placement === 'pre',
    qk_norm: false,
    ffn,
    position: 'rope',
    rope_theta: 10000,
    rope_pairs: 'half',
    rope_scaling: 'none',
    rope_factor: 1,
    rope_low_freq_factor: 1,
    rope_high_freq_factor: 4,
    rope_original_context: 0,
    bias_qkv: false,
    bias_attn_out: false,
    bias_ffn: false,
    bias_norm: norm === 'layernorm',
    bias_head: false,
    sliding_window: 0,
    tie_word_embeddings: kind !== 'encoder',
    embedding_scale: 1,
    shared_embedding: true,
    causal: kind !== 'encoder',
    scale_scores: true,
    use_position: true,
    use_residual: true,
    use_norm: true,
    use_final_norm: true,
  };
}
const MODERN = /* @__PURE__ */ defaults({});

/**
 * @param {string} name
 * @returns {boolean} whether our configurations have such a field, in either spelling
 */
export const isField = (name) => Object.hasOwn(MODERN, snake(name));

/**
 * @param {string} name
 * @returns {string} dModel -> d_model
 */
export const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
/**
 * @param {string} name
 * @returns {string} d_model -> dModel
 */
export const camel = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());

/**
 * The same configuration with camelCase names, as `Model.config` shows it.
 * @param {Config} config
 * @returns {Record<string, string | number | boolean>}
 */
export function camelConfig(config) {
  return Object.fromEntries(Object.entries(config).map(([k, v]) => [camel(k), v]));
}

/**
 * @param {string} field
 * @param {unknown} v
 * @returns {string | null} what was expected, or null when v is fine
 */
function expected(field, v) {
  if (WORDS[field])
    return WORDS[field].includes(/** @type {string} */ (v)) ? null : `one of ${WORDS[field].join(', ')}`;
  if (typeof MODERN[/** @type {keyof Config} */ (field)] === 'boolean')
    return typeof v === 'boolean' ? null : 'true or false';
  const n = typeof v === 'number' ? v : NaN;
  const whole = !REALS.includes(field),
    zero = FROM_ZERO.includes(field);
  const fine = (zero ? n >= 0 : n > 0) && n <= (whole ? MAX_SIZE : Number.MAX_VALUE) && (!whole || Number.isInteger(n));
  return fine ? null : `a ${whole ? 'whole ' : ''}number ${zero ? 'from' : 'above'} 0${whole ? ' to 2^31 - 1' : ''}`;
}

/**
 * Fill in the defaults and throw when the configuration is impossible.
 * @param {Record<string, any>} fields our own fields, snake_case or camelCase; absent, null and undefined take the
 *   default
 * @param {string} [where] named in refusals
 * @param {Record<string, string>} [names] what the file calls our fields, for refusals
 * @param {string[]} [need] fields that must be given, beyond the sizes that have no default
 * @returns {Config} complete, a new object
 */
export function completeConfig(fields, where = 'config', names = {}, need = []) {
  /**
   * @param {string} why
   * @returns {never}
   */
  const no = (why) => fail('bad-config', `${where}: ${why}`);
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields))
    no(`expected an object, found ${show(fields)}`);
  /** @type {Record<string, any>} */
  const given = {};
  for (const [key, value] of Object.entries(fields)) {
    const name = snake(key);
    if (!isField(name)) no(`there is no field ${show(key)}`);
    if (value === null || value === undefined) continue;
    if (Object.hasOwn(given, name)) no(`${name} is given twice, as ${name} and ${camel(name)}`);
    const want = expected(name, value);
    if (want) no(`${names[name] ?? name} is ${show(value)}, expected ${want}`);
    given[name] = value;
  }
  for (const name of ['vocab_size', 'd_model', 'n_layers', 'n_heads', ...need]) {
    if (!Object.hasOwn(given, name)) no(`${names[name] ?? name} is missing`);
  }
  if (!given.d_head && given.d_model % given.n_heads)
    no(`d_model ${given.d_model} is not divisible by n_heads ${given.n_heads}`);
  const c = { ...defaults(given), ...given };
  if (c.norm === 'rmsnorm') c.bias_norm = false;
  if (c.kind === 'encoder') c.tie_word_embeddings = c.bias_head = false;
  check(c, no);
  return c;
}

/**
 * Checks that involve several fields.
 * @param {Config} c
 * @param {(why: string) => never} no
 */
function check(c, no) {
  const layers = Math.max(c.n_layers, c.n_encoder_layers);
  if (layers > MAX_LAYERS) no(`n_layers is ${layers}, at most ${MAX_LAYERS} are possible`);
  if (c.n_heads % c.n_kv_heads) no(`n_heads ${c.n_heads} is not a multiple of n_kv_heads ${c.n_kv_heads}`);
  if (c.position === 'rope' && c.d_head % 2) no(`d_head ${c.d_head} is odd, rotary positions turn pairs`);
  if (c.position === 'sinusoidal' && c.d_model % 2)
    no(`d_model ${c.d_model} is odd, sinusoidal positions come in pairs`);
  if (c.n_heads * c.d_head > MAX_SIZE) no(`n_heads ${c.n_heads} times d_head ${c.d_head} is too large`);
  if (c.kind === 'encoder_decoder' ? c.n_encoder_layers < 1 : c.n_encoder_layers > 0) {
    no(`n_encoder_layers is ${c.n_encoder_layers} for kind ${c.kind}`);
  }
  if (c.kind !== 'encoder_decoder' && !c.shared_embedding) no('only an encoder_decoder can have two embeddings');
  if (c.kind === 'encoder' && c.causal) no('an encoder is bidirectional, causal cannot be true');
  if (c.rope_scaling === 'llama3') {
    if (!c.rope_original_context) no('rope_scaling llama3 needs rope_original_context');
    if (c.rope_high_freq_factor <= c.rope_low_freq_factor) {
      no(
        `rope_high_freq_factor ${c.rope_high_freq_factor} is not above rope_low_freq_factor ${c.rope_low_freq_factor}`,
      );
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
  if (!ids.every((id) => Number.isInteger(id)))
    fail('bad-config', `${where}: ${key} is ${show(json[key])}, expected a token id`);
  return ids.filter((id) => id >= 0);
}
