// infer_config.js - the configuration of a checkpoint that comes without one, as far as names and shapes tell it
//
// The family is the one whose names and layouts the tensors have. Sizes are read off shapes. What no tensor tells, such
// as the number of heads, the caller has to give in the option `config`: every absent key is named at once.
import { GlassformerError, fail, show } from '../../base/errors.js';
import { Yielder } from '../../base/event_loop.js';
import { completeConfig, isField, snake } from '../../engine/config/config.js';
import { MAX_LAYERS } from '../../engine/config/layer_flags.js';
import { FAMILIES } from './families_all.js';
import { conventionsOf, keysRead } from './families_common.js';
import { sharesMemory, withAliases } from './tensor_aliases.js';
import { readHfConfig } from './huggingface.js';
import { checkCount, placesByName, planTensors } from '../../engine/config/tensor_plan.js';
import { renamedPlaces } from './weight_names.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Family } from './families_common.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @typedef {Record<string, any>} Json */
/**
 * A configuration that was read off tensors.
 * @typedef {object} Inferred
 * @property {string} type  model_type
 * @property {Json} json  of a config.json
 * @property {string[]} read  keys that were read off the tensors
 * @property {string[]} missing  keys that no tensor tells and that were not given
 */

/** Fields that change the numbers and that no tensor tells, in families whose code does not fix them. */
const NOT_IN_TENSORS = ['n_heads', 'norm_eps', 'rope_theta', 'context_length'];
/** Our own fields that no tensor tells. */
const OWN_NOT_IN_TENSORS = ['n_heads', 'ffn', 'norm', 'norm_eps', 'position', 'context_length'];
/** Values with which a family is tried where the caller's are not known yet. */
const TRIAL = { norm_eps: 1e-5, rope_theta: 1e4, context_length: 1024, ffn: 'relu', norm: 'rmsnorm', position: 'none' };
/** Fields without which a roster lacks some weights. */
const EVERY_PART =
  'final_norm norm_gain embed_norm qk_norm bias_qkv bias_qk_norm bias_attn_out bias_ffn bias_norm bias_head';
/**
 * A configuration whose roster has every name that a decoder's weights can have. Its sizes mean nothing.
 * @param {number} layers
 * @returns {Config}
 */
const largest = (layers) => ({
  ...completeConfig({ vocab_size: 1, d_model: 2, n_layers: 1, n_heads: 1 }),
  n_layers: layers,
  norm: 'layernorm',
  norm_placement: 'sandwich',
  position: 'learned',
  ffn: 'swiglu',
  ...Object.fromEntries(EVERY_PART.split(' ').map((field) => [field, true])),
  tie_word_embeddings: false,
});

/**
 * The number of layers: the largest number of one that has a weight of the first layer, plus 1.
 * @param {Entry[]} entries
 * @param {Map<string, unknown>} places  of the first layer
 * @param {string} prefix  of its number
 */
function layersOf(entries, places, prefix) {
  let most = 0;
  for (const { name } of entries) {
    if (!name.startsWith(prefix)) continue;
    const [, layer, weight] = /^(\d+)(\..*)$/.exec(name.slice(prefix.length)) ?? [];
    if (Number(layer) >= most && places.has(`${prefix}0${weight}`)) most = Number(layer);
  }
  return most + 1;
}

/**
 * A number of layers that the caller's names do not exceed: the largest number in the names, plus 1. Each layer has a
 * tensor.
 * @param {Entry[]} entries
 */
function layersAtMost(entries) {
  let most = -1;
  for (const { name } of entries) for (const [n] of name.matchAll(/\d+/g)) most = Math.max(most, Number(n));
  return Math.min(most + 1, entries.length, MAX_LAYERS);
}

/**
 * The shapes of the weights under our names, [out, in].
 * @param {Entry[]} entries
 * @param {Map<string, import('../../engine/config/tensor_plan.js').Place>} places
 * @returns {Map<string, {shape: number[], covers: string[], entry: Entry}>}
 */
function shapesOf(entries, places) {
  const shapes = new Map();
  for (const entry of entries) {
    const place = places.get(entry.name);
    if (!place) continue;
    const shape = place.layout === 'cols' ? [...entry.shape].reverse() : entry.shape;
    for (const name of place.covers) shapes.set(name, { shape, covers: place.covers, entry });
  }
  return shapes;
}

/**
 * The fields that names and shapes tell.
 * @param {ReturnType<typeof shapesOf>} shapes
 * @param {{n_heads?: number, d_head?: number}} given
 * @param {number} offset  rows of a table of positions before that of position 0
 * @returns {Json | null} null where the tensors are not those of a decoder
 */
function fieldsOf(shapes, given, offset) {
  const of = (/** @type {string} */ name) => shapes.get(name)?.shape;
  const has = (/** @type {string} */ name) => shapes.has(name);
  const embed = shapes.get('embed.weight') ?? shapes.get('head.weight');
  const out = of('blocks.0.attn.o.weight');
  const q = shapes.get('blocks.0.attn.q.weight');
  const down = of('blocks.0.ffn.down.weight');
  if (embed?.shape.length !== 2 || out?.length !== 2 || q?.shape.length !== 2 || down?.length !== 2) return null;
  const width = out[1];
  const kv = q.covers.length === 3 ? (q.shape[0] - width) / 2 : (of('blocks.0.attn.k.weight')?.[0] ?? 0);
  const perHead = of('blocks.0.attn.q_norm.weight')?.[0];
  const own = perHead !== undefined && perHead < width ? perHead : undefined;
  const n = given.n_heads ?? (given.d_head || own ? width / (given.d_head ?? own ?? 1) : undefined);
  const head = shapes.get('head.weight');
  const layers = [...shapes.keys()].reduce(
    (l, name) => Math.max(l, Number(/^blocks\.(\d+)\./.exec(name)?.[1] ?? -1)),
    -1,
  );
  const position = of('position.weight');
  const isLayerNorm = has('blocks.0.norm1.bias') || has('final_norm.bias');
  const isGated = has('blocks.0.ffn.gate.weight');
  return {
    vocab_size: embed.shape[0],
    d_model: embed.shape[1],
    n_layers: layers + 1,
    d_ff: down[1],
    ...(n && { n_heads: n, d_head: width / n, n_kv_heads: (kv * n) / width }),
    ...(position && { position: 'learned', context_length: /** @type {number} */ (position.at(-2)) - offset }),
    ...(isLayerNorm && { norm: 'layernorm' }),
    ...(isGated && { ffn: 'swiglu' }),
    final_norm: has('final_norm.weight') || has('final_norm.bias'),
    ...(has('blocks.0.norm1_post.weight') && { norm_placement: 'sandwich' }),
    qk_norm: perHead !== undefined,
    bias_qkv: has('blocks.0.attn.q.bias'),
    bias_attn_out: has('blocks.0.attn.o.bias'),
    bias_ffn: has('blocks.0.ffn.down.bias'),
    bias_norm: isLayerNorm,
    bias_head: has('head.bias'),
    norm_gain: has('blocks.0.norm1.weight'),
    tie_word_embeddings: !head || (embed.entry !== head.entry && sharesMemory(embed.entry, head.entry)),
    width,
    kv,
  };
}

/**
 * Whether most tensors have the names that a family gives the weights of a block inside the block.
 * @param {string} type
 * @param {Json} given
 * @param {Entry[]} entries
 */
function isBlockOf(type, given, entries) {
  const family = type === 'glassformer' ? null : FAMILIES[type];
  if ((family?.base.kind ?? 'decoder') !== 'decoder') return false;
  const names = new Set(entries.map(({ name }) => `blocks.0.${name}`)); // some families look at them
  const inFile = family ? family.names(largest(1), given, names) : {};
  const places = placesByName(largest(1), inFile, conventionsOf(family, names));
  const prefix = `${inFile[''] ?? ''}${inFile.blocks ?? 'blocks'}.0.`;
  return entries.filter(({ name }) => places.has(prefix + name)).length > entries.length / 2;
}

/**
 * The keys of a family by our fields.
 * @param {Family | null} family  null: our own configurations
 * @param {string} field
 * @returns {string | undefined}
 */
const keyOf = (family, field) => (family ? family.keys[field] : field);

/**
 * A copy of what the caller gave, in which our own fields have the family's keys.
 * @param {Json} given
 * @param {Family | null} family
 * @returns {Json}
 */
function inKeysOf(given, family) {
  /** @type {Json} */
  const json = {};
  const own = new Set([...(family ? keysRead(family) : []), ...Object.keys(family?.aliases ?? {})]);
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    const field = !own.has(key) && isField(key) ? keyOf(family, snake(key)) : undefined;
    json[field ?? key] = value;
  }
  return json;
}

/**
 * The configuration of one family, as far as the tensors tell it.
 * @param {string} type
 * @param {Json} given
 * @param {Entry[]} entries
 * @param {Set<string>} names  of the entries
 * @param {string[]} files
 * @param {import('./weight_names.js').Rename} [rename]
 * @returns {Promise<{inferred: Inferred, error: GlassformerError | null} | null>} null where the names are not the
 *   family's; error: why the tensors do not fit it
 */
async function tryFamily(type, given, entries, names, files, rename) {
  const family = type === 'glassformer' ? null : FAMILIES[type];
  if ((family?.base.kind ?? 'decoder') !== 'decoder') return null;
  const json = inKeysOf(given, family);
  const value = (/** @type {string} */ field) => json[keyOf(family, field) ?? ''] ?? undefined;
  const offset = family?.base.position_offset ?? 0;
  const big = largest(rename ? layersAtMost(entries) : 1);
  const inFile = family ? family.names(big, json, names) : {};
  const usual = placesByName(big, inFile, conventionsOf(family, names));
  const shapes = shapesOf(entries, rename ? await renamedPlaces(usual, rename) : usual);
  const told = fieldsOf(shapes, { n_heads: value('n_heads'), d_head: value('d_head') }, offset);
  if (!told) return null;
  if (!rename) told.n_layers = layersOf(entries, usual, `${inFile[''] ?? ''}${inFile.blocks ?? 'blocks'}.`);
  const tied = told.tie_word_embeddings;
  if (family && !family.keys.tie_word_embeddings && (family.base.tie_word_embeddings ?? tied) !== tied) return null;
  const { width, kv, ...fields } = told;
  /** @type {Json} */
  const full = { ...json, model_type: type };
  /** @type {string[]} */
  const read = [];
  for (const [key, v] of Object.entries({
    ...keysFor(fields, family),
    ...family?.sizes?.(/** @type {any} */ (fields)),
  })) {
    if (full[key] !== undefined) continue;
    full[key] = v;
    read.push(key);
  }
  const missing = keysNotInTensors(family, fields).filter((key) => full[key] === undefined);
  const trial = { ...full };
  for (const key of missing) {
    if (key === keyOf(family, 'n_heads')) Object.assign(trial, keysFor(trialHeads(width, kv), family));
    else trial[key] = trialValue(family, key);
  }
  const inferred = { type, json: full, read, missing };
  try {
    const { config, places, isBuffer } = readHfConfig(trial, 'config', names);
    checkCount(config, entries, files[0]);
    const own = rename ? await renamedPlaces(places(names), rename) : places(names);
    planTensors(config, entries, own, withAliases(entries, own, isBuffer), files, []);
    return { inferred, error: null };
  } catch (error) {
    if (error instanceof GlassformerError) return { inferred, error };
    throw error;
  }
}

/**
 * The keys that a family needs and that no tensor tells.
 * @param {Family | null} family
 * @param {Json} fields  those that tensors tell
 */
const keysNotInTensors = (family, fields) =>
  family?.notInTensors
    ? family.notInTensors(fields).map((field) => keyOf(family, field) ?? field)
    : (family ? NOT_IN_TENSORS : OWN_NOT_IN_TENSORS).flatMap((field) => keyOf(family, field) ?? []);

/**
 * A value with which shapes can be compared.
 * @param {Family | null} family
 * @param {string} key
 */
function trialValue(family, key) {
  for (const [field, value] of Object.entries(TRIAL)) if (keyOf(family, field) === key) return value;
  return true;
}

/**
 * Fields under the keys of a family; those without a key are left out.
 * @param {Json} fields
 * @param {Family | null} family
 */
const keysFor = (fields, family) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, v]) => {
      const key = keyOf(family, field);
      return key ? [[key, v]] : [];
    }),
  );

/**
 * Heads with which shapes can be compared where their number is not known.
 * @param {number} width  of all query heads
 * @param {number} kv  of all key heads
 */
function trialHeads(width, kv) {
  let [a, b] = [width, kv];
  while (b) [a, b] = [b, a % b];
  return { n_heads: width / a, d_head: a, n_kv_heads: kv / a };
}

/** @typedef {Pick<import('./state_dict.js').Known, 'files' | 'rename' | 'warnings' | 'signal'>} Known */

/**
 * A configuration read off the tensors.
 * @param {Json} given  what the caller and the file tell
 * @param {Entry[][]} variants  the tensors under the names of the file, and without a prefix that all names have
 * @param {Known} known
 * @returns {Promise<{full: Json, entries: Entry[]}>}  the configuration, and the variant that it fits
 */
export async function inferConfig(given, variants, known) {
  const { files, warnings } = known;
  const {
    inferred: { json, read, type },
    entries,
  } = await familyOf(given, variants, known);
  const keys = read.map((key) => `${key} ${json[key]}`);
  if (keys.length || given.model_type === undefined)
    warnings.push(
      `${files[0]}: there is no config.json; model_type ${type}` +
        (keys.length ? ` and ${keys.join(', ')} were read off the tensors` : ' was read off the names') +
        '; all other keys have the defaults of this family',
    );
  return { full: json, entries };
}

/**
 * The family that the tensors fit, and its configuration.
 * @param {Json} given
 * @param {Entry[][]} variants
 * @param {Known} known
 * @returns {Promise<{inferred: Inferred, entries: Entry[]}>}
 */
async function familyOf(given, variants, { files, rename, signal }) {
  const yielder = new Yielder(signal);
  const type = given.model_type;
  const known = typeof type === 'string' && (type === 'glassformer' || Object.hasOwn(FAMILIES, type));
  const types = known ? [type] : rename ? ['glassformer'] : ['glassformer', ...Object.keys(FAMILIES)];
  /** @type {GlassformerError | null} */
  let misfit = null;
  for (const entries of variants) {
    const found = [];
    const nameSet = new Set(entries.map(({ name }) => name));
    for (const one of types) {
      await yielder.yieldIfDue();
      const tried = await tryFamily(one, given, entries, nameSet, files, rename);
      if (tried?.error) misfit ??= tried.error;
      if (tried && !tried.error) found.push(tried.inferred);
    }
    if (found.length) {
      checkTold(found, files);
      return { inferred: found[0], entries };
    }
  }
  if (misfit && types.length === 1) throw misfit;
  const names = variants[0].slice(0, 3).map((e) => e.name);
  const first = variants[0].slice(0, 1000); // a block has fewer tensors
  const block = misfit ? undefined : types.find((one) => isBlockOf(one, given, first));
  const what = `${files[0]}: names such as ${show(names)} are of one block (${block}), without embedding and head`;
  if (block) fail('unsupported', `${what}: save the state_dict of the whole model`);
  return fail(
    'bad-config',
    `${files[0]}: there is no config.json, and names such as ${show(names)} are those of no known family` +
      `${misfit ? ` (the nearest one: ${misfit.message})` : ''}: give model_type in the option config, or the names ` +
      'in the option names',
  );
}

/**
 * Throws when keys are absent that no tensor tells.
 * @param {Inferred[]} found  families that fit
 * @param {string[]} files
 */
function checkTold(found, files) {
  const [first] = found;
  const several = found.length > 1;
  const missing = several
    ? found.map((f) => f.missing).reduce((a, b) => a.filter((key) => b.includes(key)))
    : first.missing;
  if (!several && !missing.length) return;
  const keys = [
    ...(several ? [{ key: 'model_type', choices: found.map(({ type }) => type) }] : []),
    ...missing.map((key) => ({ key, choices: /** @type {string[]} */ ([]) })),
  ];
  const listed = keys.map(({ key, choices }) =>
    choices.length ? `${key} (the names fit ${choices.join(', ')})` : key,
  );
  const read = several ? [] : first.read;
  throw new GlassformerError(
    'bad-config',
    `${files[0]}: there is no config.json, and the tensors do not tell ${listedWords(listed)}: give ` +
      `${listed.length > 1 ? 'them' : 'it'} in the option config` +
      (read.length
        ? ` (read off the tensors: ${read.map((key) => `${key} ${show(first.json[key])}`).join(', ')})`
        : ''),
    { keys },
  );
}

/**
 * "a, b and c"
 * @param {string[]} words
 */
const listedWords = (words) =>
  words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}` : words[0];
