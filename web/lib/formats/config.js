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
 * @property {number} n_experts  feed-forward layers of a block that a token chooses from; 0: one, without a router
 * @property {number} n_experts_used  those that it chooses
 * @property {number} d_expert  width inside each of them
 * @property {boolean} norm_expert_weights  the weights of the chosen ones are divided by their sum
 * @property {number} d_shared_expert  width of one more, which runs for every token with a weight of its own; 0: none
 * @property {number} context_length  most positions
 * @property {'layernorm'|'rmsnorm'} norm
 * @property {number} norm_eps  inside the square root
 * @property {'pre'|'post'|'sandwich'|'output'} norm_placement  norm before each sublayer, after its residual sum,
 *   before it and on its output, or on its output alone
 * @property {boolean} final_norm  a norm before the head
 * @property {'layernorm'|'rmsnorm'} final_norm_kind  of the norm before the head; the others are of the kind `norm`
 * @property {number} final_norm_eps  of that norm; 0: norm_eps
 * @property {boolean} norm_gain  false: norms have no weights
 * @property {boolean} embed_norm  a norm of the embedding, before the first block
 * @property {boolean} parallel_residual  attention and feed-forward layer read the same residual stream
 * @property {boolean} shared_norm  and the same norm of it
 * @property {boolean} qk_norm  a norm of q and k
 * @property {'rmsnorm'|'layernorm'} qk_norm_kind
 * @property {'head'|'each_head'|'projection'} qk_norm_span  of each head with one gain for all, of each head with its
 *   own gain, or of all heads as one vector
 * @property {'relu'|'gelu_erf'|'gelu_tanh'|'swiglu'|'silu'|'reglu'|'geglu_erf'|'geglu_tanh'} ffn  activation; those
 *   with glu have a gate matrix too
 * @property {'none'|'sinusoidal'|'learned'|'rope'|'alibi'} position
 * @property {'adjacent'|'half'} sinusoid_pairs  sines and cosines in turn, or all sines before all cosines
 * @property {number} position_offset  rows of a learned table before that of position 0
 * @property {number} relative_buckets  of distances between query and key, each with a learned bias of the scores for
 *   each head; 0: no such bias
 * @property {number} relative_max_distance  the distance from which on all are in the last bucket
 * @property {number} position_pad_id  tokens of this id are not counted as positions and read the row before that of
 *   position 0; -1: there are none
 * @property {number} n_token_types  rows of a table that is added by the type of a token; 0: there is none
 * @property {number} rope_theta  base of the rotary frequencies
 * @property {number} rope_local_theta  the same in layers with a window; 0: no other, and scaled as in all layers
 * @property {number} rotary_dim  components of each head that are rotated, the first ones; 0: all
 * @property {'half'|'adjacent'} rope_pairs  which components are rotated together: i and i plus half their number, or
 *   neighbours
 * @property {'none'|'linear'|'llama3'|'yarn'|'dynamic'|'longrope'} rope_scaling
 * @property {number} rope_factor  of rope_scaling
 * @property {number} rope_low_freq_factor  of llama3 scaling
 * @property {number} rope_high_freq_factor  of llama3 scaling
 * @property {number} rope_original_context  of llama3, yarn, dynamic and longrope: positions the model was made for
 * @property {number} rope_beta_fast  of yarn: pairs with at least so many turns keep their frequency
 * @property {number} rope_beta_slow  of yarn: pairs with at most so many turns are divided by rope_factor
 * @property {boolean} rope_truncate  of yarn: the ends of its ramp are whole pairs
 * @property {number} rope_attention_factor  of cosines and sines
 * @property {boolean} bias_qkv
 * @property {boolean} bias_qk_norm
 * @property {boolean} bias_attn_out
 * @property {boolean} bias_ffn
 * @property {boolean} bias_norm  only layernorm has one
 * @property {boolean} bias_head
 * @property {number} sliding_window  keys that a query sees, itself included; 0: all before it
 * @property {boolean} pooler  encoders: tanh of a linear layer on the state of the first position
 * @property {boolean} mlm_head  encoders: logits of each position, from a linear layer, the activation in `ffn` and a
 *   norm before the head; false: an encoder has no logits
 * @property {boolean} tie_word_embeddings  the head uses the embedding's matrix
 * @property {number} d_embed  width of an embedding that is projected to d_model; 0: it has d_model and is not
 * @property {number} embedding_scale  factor of the embedding
 * @property {number} residual_scale  factor of what a sublayer adds to the residual stream
 * @property {number} score_scale  factor of the scores; 0: 1 / sqrt(d_head)
 * @property {number} logit_scale  factor of the logits
 * @property {number} score_softcap  c: a score s becomes c tanh(s / c); 0: it stays
 * @property {number} logit_softcap  the same of the logits
 * @property {number} clip_qkv  c: q, k and v are limited to -c .. c; 0: they are not
 * @property {boolean} shared_embedding  encoder-decoders: one table for both stacks
 * @property {boolean} causal  false: every query sees every key
 * @property {boolean} scale_scores  false: scores are q.k itself
 * @property {boolean} use_position  false: no positions
 * @property {boolean} use_residual  false: no residual sums
 * @property {boolean} use_norm  false: no norms inside the blocks
 * @property {boolean} use_final_norm  false: no norm before the head
 * @property {boolean[]} window_layers  which layers have the window: layer l entry l modulo the length; []: all
 * @property {boolean[]} rope_layers  which layers rotate q and k, likewise
 * @property {boolean[]} expert_layers  which layers have experts, likewise
 * @property {number[]} rope_short_factors  of longrope: divisors of the frequencies, one for each pair, in sequences of
 *   up to rope_original_context positions
 * @property {number[]} rope_long_factors  in longer ones
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
 * @returns {Record<string, string | number | boolean | (boolean | number)[]>}
 */
export function camelConfig(config) {
  return Object.fromEntries(Object.entries(config).map(([k, v]) => [camel(k), Array.isArray(v) ? [...v] : v]));
}

/** Activations whose product with a second matrix is the inner layer, by the name in the field `ffn`. */
const GATED = new Set(['swiglu', 'reglu', 'geglu_erf', 'geglu_tanh']);

/**
 * Whether the feed-forward layer has a gate.
 * @param {{ffn: string}} config
 */
export const isGated = ({ ffn }) => GATED.has(ffn);

/**
 * The kind of a norm.
 * @param {Pick<Config, 'norm' | 'final_norm_kind'>} config
 * @param {boolean} isFinal  whether it is the one before the head
 */
export const normKind = (config, isFinal) => (isFinal ? config.final_norm_kind : config.norm);

/**
 * A layer's flag in a list that repeats over the layers.
 * @param {readonly boolean[]} flags  []: true everywhere
 * @param {number} layer
 */
export const layerFlag = (flags, layer) => !flags.length || flags[layer % flags.length];

/**
 * The sliding window of a layer; 0: none.
 * @param {Pick<Config, 'sliding_window' | 'window_layers'>} config
 * @param {number} layer
 */
export const windowOf = (config, layer) => (layerFlag(config.window_layers, layer) ? config.sliding_window : 0);

/**
 * Whether a layer rotates q and k.
 * @param {Config} config
 * @param {number} layer
 */
export const isRotated = (config, layer) =>
  config.position === 'rope' && config.use_position && layerFlag(config.rope_layers, layer);

/**
 * Whether a layer has experts.
 * @param {Pick<Config, 'n_experts' | 'expert_layers'>} config
 * @param {number} layer
 */
export const isSparse = (config, layer) => config.n_experts > 0 && layerFlag(config.expert_layers, layer);

/**
 * Components of each head that are rotated.
 * @param {Pick<Config, 'rotary_dim' | 'd_head'>} config
 */
export const rotaryDim = (config) => config.rotary_dim || config.d_head;

/**
 * Width of the embedding.
 * @param {Pick<Config, 'd_embed' | 'd_model'>} config
 */
export const embedWidth = (config) => config.d_embed || config.d_model;

/**
 * What q.k is multiplied by.
 * @param {Config} config
 */
export const scoreScale = (config) =>
  !config.scale_scores ? 1 : config.score_scale > 0 ? config.score_scale : 1 / Math.sqrt(config.d_head);

/**
 * Whether the rotary frequencies depend on the length of the sequence.
 * @param {Config} config
 */
export const dependsOnLength = (config) =>
  config.position === 'rope' && (config.rope_scaling === 'dynamic' || config.rope_scaling === 'longrope');

/**
 * @param {import('./config_fields.js').Field} field
 * @param {unknown} v  of a list one of its values
 * @returns {string | null} what was expected, or null when v is fine
 */
function expected(field, v) {
  if (field.type === 'word')
    return field.words.includes(/** @type {string} */ (v)) ? null : `one of ${field.words.join(', ')}`;
  if (field.type === 'flag' || field.type === 'flags') return typeof v === 'boolean' ? null : 'true or false';
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
    const field = FIELDS[/** @type {keyof Config} */ (name)];
    const list = 'entries' in field;
    if (list && !Array.isArray(value)) no(`${names[name] ?? name} is ${show(value)}, expected a list`);
    const values = list ? /** @type {unknown[]} */ (value) : [value];
    for (const [i, one] of values.entries()) {
      const want = expected(field, one);
      if (want) no(`${names[name] ?? name} is ${show(one)}, expected ${want}`);
      if (list && i === field.entries) no(`${names[name] ?? name} has more than ${field.entries} values`);
    }
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
      c[name] = Array.isArray(given[name]) ? [...given[name]] : given[name];
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
