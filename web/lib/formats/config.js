// config.js - completes and checks a configuration, by the tables of config_fields.js
//
// Readers of other formats translate into these fields and then come through completeConfig, so every
// configuration that reaches the engine has passed the same checks. gf_config_complete does the same in C.
import { fail, show } from '../base/errors.js';
import { FIELDS, RULES, UNUSED } from './config_fields.js';

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

/**
 * @param {string} name
 * @returns {boolean} whether our configurations have such a field, in either spelling
 */
export const isField = (name) => Object.hasOwn(FIELDS, snake(name));

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
 * @param {import('./config_fields.js').Field} field
 * @param {unknown} v
 * @returns {string | null} what was expected, or null when v is fine
 */
function expected(field, v) {
  if (field.type === 'word')
    return field.words.includes(/** @type {string} */ (v)) ? null : `one of ${field.words.join(', ')}`;
  if (field.type === 'flag') return typeof v === 'boolean' ? null : 'true or false';
  const whole = field.type === 'whole';
  // the engine keeps floats, and their limits count as floats too
  const [n, least, most] = [typeof v === 'number' ? v : NaN, field.least, field.most].map(whole ? Number : Math.fround);
  const fine = n >= least && n <= most && (!whole || Number.isInteger(n));
  return fine ? null : `a ${whole ? 'whole ' : ''}number from ${field.least} to ${field.most}`;
}

/**
 * Fill in the defaults and throw when the configuration is impossible.
 * @param {Record<string, any>} fields our own fields, snake_case or camelCase; absent, null and undefined take the
 *   default
 * @param {string} [where] named in refusals
 * @param {Record<string, string>} [names] what the file calls our fields, for refusals
 * @param {string[]} [need] fields that must be given, beyond those that have no default
 * @returns {Config} complete, a new object
 */
export function completeConfig(fields, where = 'config', names = {}, need = []) {
  /**
   * @param {string} why
   * @returns {never}
   */
  const no = (why) => fail('bad-config', `${where}: ${why}`);
  /**
   * @param {string} name
   * @param {unknown} value
   */
  const inRange = (name, value) => {
    const want = expected(FIELDS[/** @type {keyof Config} */ (name)], value);
    if (want) no(`${names[name] ?? name} is ${show(value)}, expected ${want}`);
  };
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields))
    no(`expected an object, found ${show(fields)}`);
  /** @type {Record<string, any>} */
  const given = {};
  for (const [key, value] of Object.entries(fields)) {
    const name = snake(key);
    if (!isField(name)) no(`there is no field ${show(key)}`);
    if (value === null || value === undefined) continue;
    if (Object.hasOwn(given, name)) no(`${name} is given twice, as ${name} and ${camel(name)}`);
    inRange(name, value);
    given[name] = value;
  }
  /** @type {any} */
  const c = {};
  for (const [name, field] of Object.entries(FIELDS)) {
    if (Object.hasOwn(given, name)) {
      c[name] = given[name];
      continue;
    }
    if (field.default === undefined || need.includes(name)) no(`${names[name] ?? name} is missing`);
    c[name] = typeof field.default === 'function' ? field.default(c) : field.default;
    inRange(name, c[name]);
  }
  for (const { field, when } of UNUSED) if (when(c)) c[field] = false;
  for (const { holds, sentence } of RULES) {
    if (!holds(c, given)) no(sentence.replace(/\{(\w+)\}/g, (_, name) => `${names[name] ?? name} ${c[name]}`));
  }
  return c;
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
