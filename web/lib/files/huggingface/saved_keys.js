// saved_keys.js - what a configuration of any origin says in the keys of a family: dictionaries beside the weights, and
// options with the spellings of other programs
import { FIELDS } from '../../engine/config/config_fields.js';
import { isField, snake } from '../../engine/config/config.js';
import { keysRead } from './families_common.js';

/** @import { Family, Json } from './families_common.js' */

/** Spellings of our fields in training scripts, by field; each means the same everywhere. */
const SPELLINGS = {
  n_heads: 'n_head num_heads num_head num_attention_heads nhead attention_heads heads',
  n_kv_heads: 'num_kv_heads num_key_value_heads n_kv_groups n_query_groups n_kv_head n_local_heads',
  d_head: 'head_dim head_size',
  d_model: 'dim n_embd n_embed emb_dim embed_dim embedding_dim hidden_size d_embed dim_model',
  n_layers: 'n_layer num_layers num_hidden_layers depth n_blocks num_blocks',
  context_length:
    'block_size max_seq_len max_seq_length seq_len sequence_len context_len ctx_len n_ctx max_position_embeddings',
  norm_eps: 'eps rms_norm_eps layer_norm_eps layer_norm_epsilon norm_epsilon',
  rope_theta: 'rope_base theta_base rotary_base',
};
/** @type {Map<string, string>} our field by spelling */
const FIELD_OF = new Map(
  Object.entries(SPELLINGS).flatMap(([field, words]) => words.split(' ').map((word) => [word, field])),
);
/** Sizes that the tensors tell, where what a script saved may be another number, such as that before a padding. */
const TOLD_BY_TENSORS = ['vocab_size', 'd_ff', 'n_inner', 'hidden_dim', 'intermediate_size', 'padded_vocab_size'];

/** Keys of the training alone, of which nothing is said. */
const OF_TRAINING = new RegExp(
  'dropout|pdrop|drop_rate|(^|_)(lr|learning_rate|batch_size|epochs?|steps?|iters?|decay|betas?\\d*|seed|device|' +
    'optimizer|dir|compile|wandb\\w*)$',
);

/**
 * The keys of a family by our fields.
 * @param {Family | null} family  null: our own configurations
 * @param {string} field
 * @returns {string | undefined}
 */
export const keyOf = (family, field) => (family ? family.keys[field] : field);

/** The keys that a family has. @param {Family | null} family */
const ownKeys = (family) => new Set(family ? [...keysRead(family), ...Object.keys(family.aliases ?? {})] : []);

/**
 * A copy of what the caller gave, in which our own fields and other spellings have the family's keys.
 * @param {Json} given
 * @param {Family | null} family
 * @returns {Json}
 */
export function inKeysOf(given, family) {
  /** @type {Json} */
  const json = {};
  const own = ownKeys(family);
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    const field = own.has(key) ? undefined : isField(key) ? snake(key) : FIELD_OF.get(key);
    const known = field && keyOf(family, field);
    if (!known || json[known] === undefined) json[known || key] = value;
  }
  return json;
}

/**
 * Whether a value can be that of one of our fields.
 * @param {string} name
 * @param {unknown} value
 */
function fits(name, value) {
  const field = FIELDS[/** @type {keyof typeof FIELDS} */ (name)];
  if (field.type === 'word') return field.words.includes(/** @type {string} */ (value));
  return typeof value === (field.type === 'flag' ? 'boolean' : 'number') && !('entries' in field);
}

/**
 * What a dictionary beside the weights says in the keys of a family; what it says besides is not used.
 * @param {Json} saved
 * @param {Family | null} family
 * @returns {{json: Json, unused: string[]}}
 */
export function savedKeys(saved, family) {
  /** @type {Json} */
  const json = {};
  /** @type {string[]} */
  const unused = [];
  const own = ownKeys(family);
  for (const [key, value] of Object.entries(saved)) {
    if (key === 'model_type' || value === null || TOLD_BY_TENSORS.includes(key)) continue;
    const name = own.has(key) ? undefined : isField(key) ? snake(key) : FIELD_OF.get(key);
    const known = name ? keyOf(family, name) : own.has(key) ? key : undefined;
    if (known && (!name || fits(name, value))) json[known] ??= value;
    else if (!OF_TRAINING.test(key)) unused.push(key);
  }
  return { json, unused };
}

/** What tells the layout of a dictionary beside the weights: its keys. @type {[type: string, keys: string[]][]} */
const SIGNATURES = [
  ['nanogpt', ['n_embd', 'block_size', 'bias']],
  ['llama2c', ['dim', 'multiple_of']],
];

/**
 * The layout that the keys of a dictionary beside the weights tell.
 * @param {Json | null | undefined} saved
 * @returns {string | undefined}
 */
export function typeOfSaved(saved) {
  if (!saved) return undefined;
  const [type] = SIGNATURES.find(([, keys]) => keys.every((key) => Object.hasOwn(saved, key))) ?? [saved.model_type];
  return typeof type === 'string' ? type : undefined;
}
