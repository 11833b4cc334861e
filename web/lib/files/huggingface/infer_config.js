// infer_config.js - the configuration of a checkpoint that comes without one, as far as names and shapes tell it
//
// The family is the one whose names and layouts the tensors have. Sizes are read off shapes. What no tensor tells, such
// as the number of heads, the caller has to give in the option `config`: every absent key is named at once.
import { GlassformerError, fail, show } from '../../base/errors.js';
import { Yielder } from '../../base/event_loop.js';
import { ALWAYS_CONFIGURED, FAMILIES } from './families_all.js';
import { conventionsOf } from './families_common.js';
import { refuseLayout } from './families_written.js';
import { withAliases } from './tensor_aliases.js';
import { readHfConfig } from './huggingface.js';
import { withJoinedHeads } from './joined_tensors.js';
import { inKeysOf, keyOf, savedKeys, typeOfSaved } from './saved_keys.js';
import { fieldsOf, largest, layersAtMost, layersOf, missingWeights, shapesOf, trialHeads } from './told_by_tensors.js';
import { checkCount, placesByName, planTensors } from '../../engine/config/tensor_plan.js';
import { renamedPlaces, tiedHead } from './weight_names.js';

/** @import { Family, Json } from './families_common.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @import { Known } from './state_dict.js' */
/**
 * A configuration that was read off tensors.
 * @typedef {object} Inferred
 * @property {string} type  model_type
 * @property {Json} json  of a config.json
 * @property {string[]} read  keys that were read off the tensors
 * @property {string[]} missing  keys that no tensor tells and that were not given
 * @property {string[]} unused  keys beside the weights that were not used
 */
/**
 * Why a family does not fit. named: whether the names are its own.
 * @typedef {{why: string, named: boolean, error?: GlassformerError}} Misfit
 */

/** Fields that change the numbers and that no tensor tells, in families whose code does not fix them. */
const NOT_IN_TENSORS = ['n_heads', 'norm_eps', 'rope_theta', 'context_length'];
/** Our own fields that no tensor tells. */
const OWN_NOT_IN_TENSORS = ['n_heads', 'ffn', 'norm', 'norm_eps', 'position', 'context_length'];
/** Values with which a family is tried where the caller's are not known yet. */
const TRIAL = {
  ...{ norm_eps: 1e-5, rope_theta: 1e4, context_length: 1024, ffn: 'relu', norm: 'rmsnorm', position: 'none' },
  ...{ act_fn: 'relu', normalization_type: 'LNPre', positional_embedding_type: 'rotary', rotary_percentage: 1 },
};

/**
 * Whether most tensors have the names that a family gives the weights of a block inside the block.
 * @param {string} type
 * @param {Json} given
 * @param {Entry[]} entries
 */
function isBlockOf(type, given, entries) {
  const family = familyOf(type);
  if ((family?.base.kind ?? 'decoder') !== 'decoder') return false;
  const names = new Set(entries.map(({ name }) => `blocks.0.${name}`)); // some families look at them
  const inFile = family ? family.names(largest(1), given, names) : {};
  const places = placesByName(largest(1), inFile, conventionsOf(family, names));
  const prefix = `${inFile[''] ?? ''}${inFile.blocks ?? 'blocks'}.0.`;
  return entries.filter(({ name }) => places.has(prefix + name)).length > entries.length / 2;
}

/** The family of a model_type; null: our own configurations. @param {string} type */
const familyOf = (type) => (type === 'glassformer' ? null : FAMILIES[type]);

/**
 * The keys that a configuration gets from the caller, and from a dictionary beside the weights.
 * @param {Json} given
 * @param {Json | null | undefined} saved
 * @param {string} type
 */
function keysGiven(given, saved, type) {
  const family = familyOf(type);
  const { json, unused } = saved ? savedKeys(saved, family) : { json: {}, unused: [] };
  return { json: { ...json, ...inKeysOf(given, family) }, unused };
}

/** Sizes that the constructor of an encoder or encoder-decoder gets. */
const SIZES = ['vocab_size', 'd_model', 'n_layers', 'n_encoder_layers', 'n_heads', 'd_ff'];
/** The keys of these sizes. @param {Family} family */
const sizeKeys = ({ keys }) => [...new Set(SIZES.flatMap((field) => keys[field] ?? []))];

/**
 * Throws where most tensors have the names of encoders or encoder-decoders, of which nothing is read off the tensors.
 * @param {Entry[]} entries
 * @param {string[]} files
 */
function refuseOtherKinds(entries, files) {
  const names = new Set(entries.map(({ name }) => name));
  const types = Object.keys(FAMILIES).filter((type) => {
    const family = FAMILIES[type];
    if ((family.base.kind ?? 'decoder') === 'decoder' || !family.keys.n_layers || ALWAYS_CONFIGURED.has(type))
      return false;
    const trial = { model_type: type, ...Object.fromEntries(sizeKeys(family).map((key) => [key, 16])) };
    const places = readHfConfig(trial, undefined, names).places(names);
    return 2 * entries.filter(({ name }) => places.has(name)).length > entries.length;
  });
  if (!types.length) return;
  const sizes = sizeKeys(FAMILIES[types[0]]);
  throw new GlassformerError(
    'bad-config',
    `${files[0]}: there is no config.json, and names such as ${show([...names].slice(0, 3))} are those of ` +
      `${types.join(', ')}, whose sizes are not read off the tensors: give model_type and ${listedWords(sizes)} in ` +
      'the option config, or config.json',
    { keys: [{ key: 'model_type', choices: types }, ...sizes.map((key) => ({ key, choices: [] }))] },
  );
}

/**
 * The configuration of one family, as far as the tensors tell it.
 * @param {string} type
 * @param {Json} given
 * @param {Entry[]} all
 * @param {Known} known
 * @returns {Promise<Inferred | Misfit>}
 */
async function tryFamily(type, given, all, { files, rename, saved }) {
  const family = familyOf(type);
  if ((family?.base.kind ?? 'decoder') !== 'decoder') return { why: 'it is no decoder', named: false };
  const names = new Set(all.map(({ name }) => name));
  const { json, unused } = keysGiven(given, saved, type);
  const value = (/** @type {string} */ field) => json[keyOf(family, field) ?? ''] ?? undefined;
  const big = largest(rename ? layersAtMost(all) : 1);
  const inFile = family ? family.names(big, json, names) : {};
  const usual = placesByName(big, inFile, conventionsOf(family, names));
  const named = rename ? await renamedPlaces(usual, rename) : usual;
  const entries = withJoinedHeads(all, named, files);
  const shapes = shapesOf(entries, named);
  const without = missingWeights(shapes, json);
  if (without.length) return { why: `there is no tensor for ${without.join(', ')}`, named: false };
  const heads = { n_heads: value('n_heads'), d_head: value('d_head') };
  const told = fieldsOf(shapes, heads, family?.base.position_offset ?? 0);
  if (!rename) told.n_layers = layersOf(entries, usual, `${inFile[''] ?? ''}${inFile.blocks ?? 'blocks'}.`);
  const tied = told.tie_word_embeddings;
  const fixed = !family || family.keys.tie_word_embeddings ? tied : (family.base.tie_word_embeddings ?? tied);
  if (fixed !== tied) return { why: `its head is ${fixed ? '' : 'not '}tied to the embedding`, named: true };
  const isTold = typeof given.model_type === 'string' || typeOfSaved(saved) === type;
  const otherwise = isTold ? undefined : family?.excludes?.(told, names);
  if (otherwise) return { why: otherwise, named: true };
  const { width, kv, ...fields } = told;
  const { full, read } = withFields({ ...json, model_type: type }, fields, family);
  const fixedByProgram = typeOfSaved(saved) === type ? Object.keys(family?.base ?? {}) : [];
  const missing = keysNotInTensors(family, fields, fixedByProgram).filter((key) => full[key] === undefined);
  const trial = trialOf(full, missing, { width, kv }, family);
  try {
    await checkFit(trial, all, names, { files, rename });
    return { type, json: full, read, missing, unused };
  } catch (error) {
    if (error instanceof GlassformerError && error.code !== 'callback')
      return { why: error.message, named: true, error };
    throw error;
  }
}

/**
 * A configuration completed with fields that the tensors tell.
 * @param {Json} full  changed
 * @param {Json} fields
 * @param {Family | null} family
 */
function withFields(full, fields, family) {
  /** @type {string[]} */
  const read = [];
  const sizes = family?.sizes?.(/** @type {any} */ (fields));
  for (const [key, v] of Object.entries({ ...keysFor(fields, family), ...sizes })) {
    if (full[key] !== undefined) continue;
    full[key] = v;
    read.push(key);
  }
  return { full, read };
}

/**
 * A configuration with which shapes can be compared: keys that are missing have values.
 * @param {Json} full
 * @param {string[]} missing
 * @param {{width: number, kv: number}} widths  of all query heads and of all key heads
 * @param {Family | null} family
 */
function trialOf(full, missing, { width, kv }, family) {
  const trial = { ...full };
  for (const key of missing) {
    if (key === keyOf(family, 'n_heads')) Object.assign(trial, keysFor(trialHeads(width, kv), family));
    else trial[key] = trialValue(family, key);
  }
  return trial;
}

/**
 * Throws where tensors do not fit a configuration.
 * @param {Json} json
 * @param {Entry[]} all
 * @param {Set<string>} names
 * @param {Pick<Known, 'files' | 'rename'>} known
 */
async function checkFit(json, all, names, { files, rename }) {
  const { config, places, isBuffer } = readHfConfig(json, 'config', names);
  checkCount(config, all, files[0]);
  const own = rename ? await renamedPlaces(places(names), rename) : places(names);
  const entries = withJoinedHeads(all, own, files);
  const copy = rename ? await tiedHead(rename, config) : () => false;
  const skipped = withAliases(entries, own, (entry) => copy(entry) || isBuffer(entry));
  planTensors(config, entries, own, skipped, files, [], true);
}

/**
 * The keys that a family needs and that no tensor tells.
 * @param {Family | null} family
 * @param {Json} fields  those that tensors tell
 * @param {string[]} fixed  fields that the program fixes which saved the file
 */
function keysNotInTensors(family, fields, fixed) {
  const listed = family?.notInTensors?.(fields) ?? (family ? NOT_IN_TENSORS : OWN_NOT_IN_TENSORS);
  const ask = listed.filter(
    (field) => !fixed.includes(field) && !(fields.norm_gain === false && field === 'norm_gain'),
  );
  return ask.flatMap((field) => keyOf(family, field) ?? (family?.notInTensors ? field : []));
}

/**
 * A value with which shapes can be compared.
 * @param {Family | null} family
 * @param {string} key
 */
function trialValue(family, key) {
  for (const [field, value] of Object.entries(TRIAL)) if (key === field || keyOf(family, field) === key) return value;
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
 * A configuration read off the tensors.
 * @param {Json} given  what the caller tells
 * @param {Entry[][]} variants  the tensors under the names that they can have
 * @param {Known} known
 * @returns {Promise<{full: Json, entries: Entry[]}>}  the configuration, and the variant that it fits
 */
export async function inferConfig(given, variants, known) {
  const { files, warnings } = known;
  const { inferred, entries } = await bestFamily(given, variants, known);
  const { json, read, type, unused } = inferred;
  const keys = read.map((key) => `${key} ${json[key]}`);
  const isSaved = typeOfSaved(known.saved) === type; // the file itself says what it is
  if (!isSaved && (keys.length || given.model_type === undefined))
    warnings.push(
      `${files[0]}: there is no config.json; model_type ${type}` +
        (keys.length ? ` and ${keys.join(', ')} were read off the tensors` : ' was read off the names') +
        '; all other keys have the defaults of this family',
    );
  if (unused.length) warnings.push(`${files[0]}: keys saved beside the weights were not used: ${unused.join(', ')}`);
  return { full: json, entries };
}

/**
 * The families that a checkpoint is tried with, those that are more likely first.
 * @param {Json} given
 * @param {Known} known
 */
function typesToTry({ model_type: type }, { rename, saved }) {
  const isKnown = (/** @type {unknown} */ t) =>
    typeof t === 'string' && (t === 'glassformer' || Object.hasOwn(FAMILIES, t));
  if (isKnown(type)) return [[type]];
  if (rename) return [['glassformer']];
  const all = ['glassformer', ...Object.keys(FAMILIES).filter((name) => !ALWAYS_CONFIGURED.has(name))];
  const own = typeOfSaved(saved);
  return isKnown(own) ? [[/** @type {string} */ (own)], all] : [all];
}

/**
 * The family that the tensors fit, and its configuration.
 * @param {Json} given
 * @param {Entry[][]} variants
 * @param {Known} known
 * @returns {Promise<{inferred: Inferred, entries: Entry[]}>}
 */
async function bestFamily(given, variants, known) {
  const yielder = new Yielder(known.signal);
  /** @type {Map<string, Misfit>} */
  const misfits = new Map();
  for (const types of typesToTry(given, known))
    for (const entries of variants) {
      refuseLayout(entries.map(({ name }) => name));
      /** @type {Inferred[]} */
      const found = [];
      for (const type of types) {
        await yielder.yieldIfDue();
        const tried = await tryFamily(type, given, entries, known);
        if ('json' in tried) found.push(tried);
        else if (!misfits.get(type)?.named) misfits.set(type, tried);
      }
      if (found.length) {
        checkTold(found, known.files);
        return { inferred: found[0], entries };
      }
    }
  return failNone(given, variants, misfits, known);
}

/**
 * Throws the error for tensors that fit no family: the reason of each one whose names they have.
 * @param {Json} given
 * @param {Entry[][]} variants
 * @param {Map<string, Misfit>} misfits
 * @param {Known} known
 * @returns {never}
 */
function failNone(given, variants, misfits, known) {
  const { files, rename } = known;
  const names = variants[0].slice(0, 3).map((e) => e.name);
  const first = variants[0].slice(0, 1000); // a block has fewer tensors
  const types = [...misfits.keys()];
  const near = [...misfits].filter(([, { named }]) => named);
  const { error } = misfits.get(typesToTry(given, known)[0].length === 1 ? types[0] : '') ?? {};
  const unused = rename?.unused?.();
  if (unused !== undefined) fail('bad-option', `names: a decoder has no weight ${show(unused)}`);
  if (error) throw error;
  const block = near.length ? undefined : types.find((one) => isBlockOf(one, given, first));
  if (block)
    fail(
      'unsupported',
      `${files[0]}: names such as ${show(names)} are of one block (${block}), without embedding and head: save the ` +
        'state_dict of the whole model',
    );
  if (!rename && given.model_type === undefined) refuseOtherKinds(first, files);
  const tried = types.length === 1 ? [...misfits] : near;
  const reasons = tried.map(([type, { why }]) => `\n  ${rename ? 'the option names' : type}: ${why}`).join('');
  const advice = [
    ...(given.model_type === undefined && !rename ? ['model_type in the option config'] : []),
    ...(rename ? [] : ['the names of its tensors in the option names']),
  ];
  return fail(
    'bad-config',
    `${files[0]}: there is no config.json, and names such as ${show(names)} ` +
      (types.length === 1
        ? `do not fit ${rename ? 'the option names' : types[0]}`
        : `are those of no known family${near.length ? ', the nearest ones' : ''}`) +
      (reasons ? `:${reasons}` : '') +
      (advice.length ? `${reasons ? '\n' : ': '}give ${advice.join(', or ')}` : ''),
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
