// huggingface.js - reads the config.json of a supported family as a Config, and maps the names of its tensors
//
// A feature that a config.json asks for and the engine lacks is refused by name. An unknown key is listed in the
// warnings.
import { completeConfig, isField, tokenIds } from '../../engine/config/config.js';
import { fail, show } from '../../base/errors.js';
import { LIMITS } from '../../base/checks.js';
import { mayBeBuffer } from './buffers.js';
import { FAMILIES } from './families_all.js';
import { ANY_TEXT, familyOfText } from './families_pictures.js';
import { withClassifier } from './classifiers.js';
import { extendedContext } from '../../engine/config/layer_flags.js';
import { conventionsOf, keysRead } from './families_common.js';
import { placesByName } from '../../engine/config/tensor_plan.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Entry, Place } from '../../engine/config/tensor_plan.js' */
/** @import { Json } from './families_common.js' */
/**
 * A config.json, read.
 * @typedef {object} HfModel
 * @property {Config} config
 * @property {import('../source.js').Special} special  token ids
 * @property {import('./classifiers.js').Labels | null} labels  of a classifier
 * @property {(names: Set<string>) => Map<string, Place>} places  of the tensors, by name in the file; `names` holds all
 *   names in the checkpoint, from which a prefix is recognised
 * @property {(entry: Entry) => boolean | 'maybe'} isBuffer  whether a tensor is not a weight and is skipped; maybe:
 *   what it contains tells
 * @property {string[]} warnings
 */

/**
 * Fields for which null is a value of its own: n_heads, d_model / n_heads, no window. In other fields null means
 * absent.
 */
const NULL_IS_A_VALUE = ['n_kv_heads', 'd_head', 'sliding_window', 'clip_qkv'];

/** Buffers that frameworks save among the weights: causal masks, rotary and sinusoidal tables, position ids. */
const BUFFERS = [
  /(^|\.)(attention|attn\.attention)\.(bias|masked_bias)$/,
  /(^|\.)attention\.rotary_emb\.inv_freq$/,
  /(^|\.)(rotary_emb|rope|rotary)\.(inv_freq|original_inv_freq|(cos|sin)(_cached?|_table)?|freqs(_cis)?)$/,
  /(^|\.)(attn|self_attn|masked_self_attn)\.(rotary_emb\.inv_freq|masked_bias|mask|causal_mask|tril)$/,
  /(^|\.)(position_ids|causal_mask|tril)$/,
  /(^|\.)(pos_emb|pos_enc|pos_encoding|positional_encoding)\.pe$/,
];

/** Keys without effect on the logits, and the keys that a family's `derive` reads. */
const KNOWN_KEYS = new RegExp(
  '_token_id$|dropout|_pdrop$|^summary_|^_|dtype$|' +
    '^(model_type|architectures|transformers_version|use_cache|initializer_range|pretraining_tp|task_specific_params|' +
    'gradient_checkpointing|output_past|reorder_and_upcast_attn|auto_map|label2id|id2label|n_ctx|name|' +
    'rope_interleaved|rope_scaling|rope_parameters|ignore_keys_at_rope_validation|hidden_act|hidden_activation|' +
    'use_sliding_window|max_window_layers|sliding_window|' +
    'layer_types|attention_bias|mlp_bias|activation_function|rope_convention|ffn|pre_norm|post_norm|activation|' +
    'mask_mode|pad_positions|shared_embedding|mlp_mult|fused_qkv|layerdrop|init_std|cache_implementation|' +
    'tokenizer_class|mup_init|embd_layer|bos_token|eos_token|drop_rate|' +
    'output_router_logits|router_aux_loss_coef|router_jitter_noise)$',
);

/** Every value of model_type that can be read. */
const MODEL_TYPES = ['glassformer', ...Object.keys(FAMILIES), ...Object.keys(ANY_TEXT)];

/** Features that change the logits and that the engine lacks: keys by the values that mean "not used". */
const UNSUPPORTED = /** @type {[string, unknown[]][]} */ ([
  [
    'quantization_config attn_logit_softcapping final_logit_softcapping logit_softcapping logits_soft_cap ' +
      'attention_multiplier scale_embedding query_pre_attn_scalar clip_qkv alibi use_alibi use_qk_norm qk_layernorm ' +
      'use_qkv_bias parallel_attn use_parallel_residual no_rope_layers attention_chunk_size is_encoder_decoder ' +
      'cross_attention_hidden_size add_cross_attention rotary_dim',
    [],
  ],
  [
    'partial_rotary_factor rotary_pct logit_scale logits_scaling embedding_multiplier residual_multiplier scale_emb',
    [1],
  ],
  ['num_experts num_local_experts', [0, 1]],
  ['n_routed_experts', [0]],
]);
/** The unsupported values by their key. */
const UNSUPPORTED_KEYS = new Map(
  UNSUPPORTED.flatMap(([keys, values]) => keys.split(' ').map((key) => /** @type {const} */ ([key, values]))),
);

/**
 * Refuses values that JavaScript cannot convert to a text or a number: an object with a conversion of its own, a deeply
 * nested list.
 * @param {any} value
 * @param {string} where
 * @param {number} [depth]  levels around it
 */
function checkConversions(value, where, depth = 0) {
  if (value === null || typeof value !== 'object') return;
  if (depth >= LIMITS.depth) fail('bad-config', `${where}: nested deeper than ${LIMITS.depth}`);
  for (const key of ['toString', 'valueOf'])
    if (Object.hasOwn(value, key)) fail('bad-config', `${where}: there is no key ${show(key)}`);
  for (const part of Object.values(value)) checkConversions(part, where, depth + 1);
}

/**
 * The family of a config.json; null where it is not known.
 * @param {Json} json
 */
const familyOf = (json) =>
  Object.hasOwn(FAMILIES, json.model_type) ? FAMILIES[json.model_type] : familyOfText(json, FAMILIES);

/**
 * Whether a tensor is of a part of a model that is not run, such as the part that reads pictures.
 * @param {Json} json  config.json
 * @param {string} name
 */
export const isOfOtherPart = (json, name) => familyOf(json)?.others?.test(name) ?? false;

/**
 * Reads a parsed config.json.
 * @param {Json} json
 * @param {string} [where]  file name, for messages
 * @param {Set<string>} [tensors]  names in the checkpoint. Where config.json does not say whether the head is tied, it
 *   is when the checkpoint has none
 * @returns {HfModel}
 */
export function readHfConfig(json, where = 'config.json', tensors) {
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    fail('bad-config', `${where}: expected an object, found ${show(json)}`);
  checkConversions(json, where);
  const type = json.model_type;
  if (typeof type !== 'string')
    fail('bad-config', `${where}: model_type is ${type === undefined ? 'missing' : show(type)}`);
  const begins = ['decoder_start_token_id', 'bos_token_id'].flatMap((key) => tokenIds(json, key, where));
  /** @type {import('../source.js').Special} */
  const special = { bos: begins[0] ?? null, eos: tokenIds(json, 'eos_token_id', where), addBos: false };
  if (type === 'glassformer') {
    const own = Object.fromEntries(Object.entries(json).filter(([key]) => isField(key) || !KNOWN_KEYS.test(key)));
    const config = completeConfig(own, where);
    return { config, special, places: () => placesByName(config, {}), isBuffer: maybe, labels: null, warnings: [] };
  }
  const named =
    familyOf(json) ??
    fail(
      'unsupported',
      `${where}: model_type ${show(type)} is not supported, expected one of ${MODEL_TYPES.join(', ')}`,
    );
  json = withoutAliases(keysOf(json, named), named.aliases ?? {}, where);
  const { family, labels } = withClassifier(named, json, tensors, where);
  const used = keysRead(family);
  const config = completeConfig(fieldsOf(family, json, used, where, tensors), where, family.keys, family.required);
  if (config.kind === 'encoder_decoder') Object.assign(special, targetTokens(json, where));
  const warnings = Object.entries(json)
    .filter(([key, value]) => value && !used.includes(key) && !KNOWN_KEYS.test(key))
    .filter(([key]) => !UNSUPPORTED_KEYS.has(key))
    .map(([key]) => `${where}: ${key} is not known and was not used`);
  const others = [...(tensors ?? [])].filter((name) => family.others?.test(name));
  if (others.length)
    warnings.push(
      'the checkpoint has tensors of a part that is not run, and they were skipped: ' +
        `${others.slice(0, 8).join(', ')}${others.length > 8 ? `, ... (${others.length} in all)` : ''}`,
    );
  return {
    config,
    special,
    labels,
    warnings,
    places: (files) =>
      withTiedHeadName(
        placesByName(config, family.names(config, json, files), conventionsOf(family, files)),
        config,
        files,
      ),
    isBuffer: (entry) => isBuffer(entry, family, config),
  };
}

/**
 * The keys that a family reads: of a model with several parts those of its part.
 * @param {Json} json
 * @param {import('./families_common.js').Family} family
 * @returns {Json}
 */
function keysOf(json, { inside = '' }) {
  const part = json[inside];
  if (part === null || typeof part !== 'object') return json;
  const { tie_word_embeddings: tied = part.tie_word_embeddings, ...whole } = json;
  const ids = Object.fromEntries(Object.entries(whole).filter(([key]) => /_token_id$/.test(key)));
  return { ...ids, ...part, model_type: json.model_type, ...(tied !== undefined && { tie_word_embeddings: tied }) };
}

/**
 * The fields of a configuration that a config.json of a family gives. Values of features that the engine lacks are
 * refused.
 * @param {import('./families_common.js').Family} family
 * @param {Json} json  without aliases
 * @param {string[]} used  keys that the family reads
 * @param {string} where  file name, for messages
 * @param {Set<string>} [tensors]  names in the checkpoint
 * @returns {Record<string, any>}
 */
function fieldsOf(family, json, used, where, tensors) {
  /**
   * @param {string} key
   * @param {unknown} value
   * @returns {never}
   */
  const unsupported = (key, value) => fail('unsupported', `${where}: ${key} ${show(value)} is not supported`);
  for (const [key, neutral] of UNSUPPORTED_KEYS) {
    const value = used.includes(key) ? false : (json[key] ?? false);
    if (value !== false && !neutral.includes(value)) unsupported(key, value);
  }
  const isHeadless = isBase(json, family, tensors);
  // Embedding models made of a decoder; encoders write the same key.
  if (json.is_causal === false && !family.base.kind && !isHeadless) unsupported('is_causal', false);
  const fields = { ...family.base };
  for (const [field, value] of Object.entries(family.derive(json, unsupported, tensors)))
    if (value !== undefined) fields[field] = value;
  for (const [field, key] of Object.entries(family.keys)) {
    const value = field === 'vocab_size' ? (fields[field] ?? json[key]) : json[key];
    if (value !== undefined && (value !== null || NULL_IS_A_VALUE.includes(field))) fields[field] = value;
  }
  if (fields.rope_scaling) fields.context_length = contextLength(fields, json);
  const tie = family.keys.tie_word_embeddings;
  if (tensors && tie === 'tie_word_embeddings' && json[tie] === undefined && !family.tied)
    fields[tie] = !tensors.has(family.head ?? 'lm_head.weight');
  if (isHeadless && fields.d_embed) unsupported('word_embed_proj_dim without a head', fields.d_embed);
  return isHeadless && !fields.kind ? withoutHead(fields, json) : fields;
}

/**
 * Whether a checkpoint is a decoder without a head (LlamaModel, Qwen3Model), of which the states are read.
 * @param {Json} json
 * @param {import('./families_common.js').Family} family
 * @param {Set<string>} [tensors]  names in the checkpoint
 */
function isBase(json, family, tensors) {
  const architecture = String([json.architectures ?? []].flat()[0]);
  if (family.base.kind || !tensors?.size) return false;
  return /(?<!LMHead)Model$/.test(architecture) && ![...HEADS, family.head ?? ''].some((name) => tensors.has(name));
}

/**
 * The fields of a decoder without its head: an encoder, causal unless the file says otherwise.
 * @param {Json} fields
 * @param {Json} json
 */
function withoutHead({ tie_word_embeddings: _, bias_head: __, mlm_head: ___, ...fields }, json) {
  return { ...fields, kind: 'encoder', causal: json.is_causal ?? true };
}

/** How many times what its factor is made for a model with dynamic frequencies may hold: these fit any length. */
const DYNAMIC_ROOM = 16;

/**
 * The most positions of a model, which some scalings extend beyond max_position_embeddings.
 * @param {Json} fields  of a configuration, with rope_scaling
 * @param {Json} json
 * @returns {any}
 */
function contextLength({ context_length: own, rope_scaling: type, rope_factor: by, rope_original_context: n }, json) {
  const s = json.rope_scaling ?? json.rope_parameters ?? {};
  const factor = type === 'longrope' ? (json.original_max_position_embeddings ? 1 : (s.factor ?? 1)) : by;
  const times = { yarn: 1, longrope: 1, dynamic: DYNAMIC_ROOM }[/** @type {string} */ (type)] ?? NaN;
  return extendedContext(own, times * factor * n);
}

/** Whether what a tensor contains tells that it is a buffer. @param {Pick<Entry, 'name' | 'shape'>} entry */
const maybe = (entry) => mayBeBuffer(entry) && /** @type {const} */ ('maybe');

/**
 * Whether a tensor of a family's checkpoint is not a weight.
 * @param {Entry} entry
 * @param {import('./families_common.js').Family} family
 * @param {Config} config
 */
const isBuffer = ({ name, shape }, family, config) =>
  BUFFERS.some((b) => b.test(name)) ||
  (family.skips?.test(name) ?? false) ||
  (family.others?.test(name) ?? false) ||
  (shape.length >= 2 && /(^|\.)attn\.bias$/.test(name)) ||
  (config.tie_word_embeddings && [...HEADS, family.head].includes(name) && isHeadShape(shape, config)) ||
  maybe({ name, shape });

/**
 * The tokens that begin every target of an encoder-decoder, and those that never occur in one: from config.json, in
 * newer checkpoints from generation_config.json.
 * @param {Json} json
 * @param {string} where  file name, for messages
 * @returns {{start?: number[], never?: number[]}} without what the file does not say
 */
export function targetTokens(json, where) {
  const [begin] = tokenIds(json, 'decoder_start_token_id', where);
  const [forced] = tokenIds(json, 'forced_bos_token_id', where);
  const words = Array.isArray(json.bad_words_ids) ? json.bad_words_ids : [];
  const never = words.filter((word) => Array.isArray(word) && word.length === 1 && Number.isInteger(word[0])).flat();
  return {
    ...(begin !== undefined && { start: forced === undefined ? [begin] : [begin, forced] }),
    ...(never.length > 0 && { never }),
  };
}

/**
 * A copy of a config.json in which each alias is replaced by its key. A key and an alias with different values are
 * refused.
 * @param {Json} json
 * @param {Record<string, string>} aliases  key by alias
 * @param {string} where  file name, for messages
 * @returns {Json}
 */
function withoutAliases(json, aliases, where) {
  const out = { ...json };
  for (const [alias, key] of Object.entries(aliases)) {
    if (out[alias] === undefined) continue;
    if (out[key] !== undefined && out[key] !== out[alias])
      fail(
        'bad-config',
        `${where}: ${key} is ${show(out[key])} and ${alias} is ${show(out[alias])}, ` +
          'expected one of them or the same value',
      );
    out[key] = out[alias];
    delete out[alias];
  }
  return out;
}

/** Names of the head in the families. */
const HEADS = ['lm_head.weight', 'final_linear.weight'];

/**
 * Reads a tied embedding from the tensor of the head, where the checkpoint has only this one.
 * safetensors.torch.save_model keeps, of tensors that share memory, the one whose name sorts first.
 * @param {Map<string, Place>} places  changed
 * @param {Config} config
 * @param {Set<string>} files  all names in the checkpoint
 * @returns {Map<string, Place>} the same map
 */
function withTiedHeadName(places, config, files) {
  const head = config.tie_word_embeddings && HEADS.find((name) => files.has(name));
  for (const [name, place] of places) {
    if (!head || !place.covers.includes('embed.weight') || files.has(name)) continue;
    places.delete(name);
    places.set(head, place);
  }
  return places;
}

/**
 * Whether a shape is that of the head, [vocab_size, d_model].
 * @param {number[]} shape
 * @param {Config} c
 */
const isHeadShape = (shape, c) => shape.length === 2 && shape[0] === c.vocab_size && shape[1] === c.d_model;

/**
 * Reads the JSON of a config.json, or our own fields.
 * @param {unknown} input
 * @returns {Config}
 */
export function readConfig(input) {
  if (input === null || typeof input !== 'object' || Array.isArray(input))
    fail('bad-argument', `expected a configuration, found ${show(input)}`);
  const json = /** @type {Json} */ (input);
  return json.model_type === undefined ? completeConfig(json) : readHfConfig(json, 'config').config;
}
