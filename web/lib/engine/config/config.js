// config.js - completes and checks a configuration, by the tables of config_fields.js
//
// Readers of other formats translate into these fields and then come through completeConfig, so every
// configuration that reaches the engine has passed the same checks. gf_config_complete does the same in C.
import { fail, show } from '../../base/errors.js';
import { FIELDS, RULES, UNUSED, activationOf } from './config_fields.js';

/** @typedef {import('./config_fields.js').Config} Config */

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
 * A configuration with camelCase names, as `Model.config` shows it.
 * @param {Config} config
 * @returns {Record<string, string | number | boolean | readonly (boolean | number)[]>}
 */
export function camelConfig(config) {
  return Object.fromEntries(Object.entries(config).map(([k, v]) => [camel(k), Array.isArray(v) ? [...v] : v]));
}

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
 * Whether a block has a norm before attention.
 * @param {Pick<Config, 'first_norm'>} config
 * @param {number} layer
 */
export const hasNorm1 = (config, layer) => config.first_norm || layer > 0;

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
 * kv heads that are rotated, each with its queries: the first ones.
 * @param {Pick<Config, 'rotary_kv_heads' | 'n_kv_heads'>} config
 */
export const rotaryKvHeads = (config) => config.rotary_kv_heads || config.n_kv_heads;

/**
 * The configuration as the blocks of a stack have it: with the heads and the widths of an encoder-decoder's encoder.
 * @template {Pick<Config, 'n_heads' | 'n_kv_heads' | 'd_head' | 'n_encoder_heads' | 'd_ff' | 'd_encoder_ff'
 *   | 'vocab_size' | 'encoder_vocab_size'>} C
 * @param {C} config
 * @param {boolean} encoder
 * @returns {C}
 */
export function stackConfig(config, encoder) {
  if (!encoder) return config;
  const { n_encoder_heads: heads, n_heads, d_head, d_encoder_ff: width, encoder_vocab_size: tokens } = config;
  return {
    ...config,
    ...(heads && { n_heads: heads, n_kv_heads: heads, d_head: (n_heads * d_head) / heads }),
    ...(width && { d_ff: width }),
    ...(tokens && { vocab_size: tokens }),
  };
}

/**
 * Width of the embedding.
 * @param {Pick<Config, 'd_embed' | 'd_model'>} config
 */
export const embedWidth = (config) => config.d_embed || config.d_model;

/**
 * Whether a model has logits: an encoder without a head has none.
 * @param {Pick<Config, 'kind' | 'mlm_head' | 'n_labels'>} config
 */
export const hasHead = ({ kind, mlm_head, n_labels }) => kind !== 'encoder' || mlm_head || n_labels > 0;

/**
 * The width of the logits: labels of a classifier, otherwise tokens.
 * @param {Pick<Config, 'n_labels' | 'vocab_size'>} config
 */
export const headWidth = ({ n_labels, vocab_size }) => n_labels || vocab_size;

/**
 * Whether a classifier reads one state for each sequence, and has one row of logits.
 * @param {Pick<Config, 'label_pooling'>} config
 */
export const isLabelPooled = ({ label_pooling: pooling }) => pooling !== 'none' && pooling !== 'last';

/**
 * Whether positions, types and the norm come before the projection of the embedding; then the head has none of its own.
 * @param {Pick<Config, 'd_embed' | 'kind'>} config
 */
export const isNarrow = (config) => config.d_embed > 0 && config.kind === 'encoder';

/**
 * The width of the sum at the beginning of the stream, and of what the transform of an mlm_head gives.
 * @param {Pick<Config, 'd_embed' | 'kind' | 'd_model'>} config
 */
export const narrowWidth = (config) => (isNarrow(config) ? config.d_embed : config.d_model);

/**
 * The first block with the weights of a block.
 * @param {Pick<Config, 'n_layer_groups' | 'n_layers'>} config
 * @param {number} layer
 */
export function ownerOf({ n_layer_groups: groups, n_layers: n }, layer) {
  return groups ? Math.ceil((Math.floor((layer * groups) / n) * n) / groups) : layer;
}

/**
 * The activation of the layer before the head of a masked language model.
 * @param {Pick<Config, 'head_activation' | 'ffn'>} config
 */
export const headActivation = (config) =>
  config.head_activation === 'none' ? activationOf(config) : config.head_activation;

/**
 * What q.k is multiplied by in a layer.
 * @param {Config} config
 * @param {number} layer
 */
export function scoreScale(config, layer) {
  if (!config.scale_scores) return 1;
  const scale = config.score_scale > 0 ? config.score_scale : 1 / Math.sqrt(config.d_head);
  return config.scores_by_layer ? scale / (layer + 1) : scale;
}

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
