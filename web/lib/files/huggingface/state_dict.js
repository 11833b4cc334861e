// state_dict.js - the model in a list of named tensors, with or without a config.json
//
// It finds the configuration, removes what torch.compile and wrappers put before all names, and plans which tensor
// fills which weight.
import { fail, show } from '../../base/errors.js';
import { FAMILIES } from './families_all.js';
import { readHfConfig } from './huggingface.js';
import { withJoinedHeads } from './joined_tensors.js';
import { savedKeys } from './saved_keys.js';
import { sharesMemory, withAliases } from './tensor_aliases.js';
import { checkCount, planTensors } from '../../engine/config/tensor_plan.js';
import { renamedPlaces, tiedHead } from './weight_names.js';
import { nameVariants } from './wrapped_names.js';

export { renameByMap } from './weight_names.js';

/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @typedef {Record<string, any>} Json */
/**
 * What is known about a checkpoint besides its tensors.
 * @typedef {object} Known
 * @property {Json | null} json  of config.json; null where there is none
 * @property {Json} given  keys from the option `config`
 * @property {Json | null} [saved]  a configuration in the file itself, beside the weights
 * @property {Set<Entry>} [stale]  tensors that are not read
 * @property {string[]} files  names of the files, for messages
 * @property {import('./weight_names.js').Rename & Partial<import('./weight_names.js').Table>} [rename]
 * @property {string[]} warnings  appended to
 * @property {AbortSignal} [signal]
 */

/**
 * Whether a configuration is read as it is: that of a config.json, and those of kinds of which nothing is read off the
 * tensors.
 * @param {Json | null} json
 * @param {Json} given
 */
function isWhole(json, { model_type: type, kind = 'decoder' }) {
  if (typeof json?.model_type === 'string') return true;
  if (type === undefined || type === 'glassformer') return kind !== 'decoder';
  const base = typeof type === 'string' && Object.hasOwn(FAMILIES, type) ? FAMILIES[type].base : {};
  return (base.kind ?? 'decoder') !== 'decoder';
}

/**
 * A whole configuration; keys that it lacks may be saved beside the weights.
 * @param {Json} json
 * @param {Json | null | undefined} saved
 */
function completed(json, saved) {
  if (!saved || json.model_type === 'glassformer' || !Object.hasOwn(FAMILIES, json.model_type)) return json;
  return { ...savedKeys(saved, FAMILIES[json.model_type]).json, ...json };
}

/**
 * The configuration of a checkpoint, and the plan of its tensors.
 * @param {Entry[]} stored
 * @param {Known} known
 */
export async function modelOf(stored, known) {
  const { json, given, saved, stale, files, rename, warnings } = known;
  const isLeftOut = (/** @type {Entry} */ entry) => stale?.has(entry) || rename?.ignores?.(entry.name) || false;
  const all = stored.filter((entry) => !isLeftOut(entry));
  const variants = nameVariants(all);
  const merged = { ...json, ...given };
  const whole = isWhole(json, merged) ? completed({ model_type: 'glassformer', ...merged }, saved) : null;
  const { full, entries: named } = whole
    ? { full: whole, entries: nearest(whole, variants, files[0]) }
    : await (await import('./infer_config.js')).inferConfig(merged, variants, known);
  const names = new Set(named.filter((entry) => !isAlias(entry, named)).map((e) => e.name));
  const model = readHfConfig(full, undefined, names);
  warnings.push(...model.warnings);
  checkCount(model.config, all, files[0]);
  const usual = model.places(names);
  const places = rename ? await renamedPlaces(usual, rename) : usual;
  const entries = withJoinedHeads(named, places, files);
  const copy = rename && model.config.tie_word_embeddings ? await tiedHead(rename, model.config) : () => false;
  const unused = rename?.unused?.();
  if (unused !== undefined) fail('bad-option', `names: this model has no weight ${show(unused)}`);
  const isBuffer = withAliases(entries, places, (entry) => copy(entry) || model.isBuffer(entry));
  const written = typeof json?.model_type !== 'string' || rename !== undefined;
  const tensors = planTensors(model.config, entries, places, isBuffer, files, warnings, written);
  const ignored = stored
    .filter(isLeftOut)
    .map((e) => ({ ...e, dtype: /** @type {const} */ ('f32'), covers: [], layout: ROWS }));
  return {
    config: model.config,
    special: model.special,
    ...(model.labels && { labels: model.labels }),
    tensors: [...tensors, ...ignored].sort((a, b) => a.file - b.file || a.offset - b.offset),
  };
}

const ROWS = /** @type {const} */ ('rows');

/**
 * Whether a tensor of a PyTorch file is a head that shares its memory with an embedding.
 * @param {Entry} entry
 * @param {Entry[]} entries
 */
const isAlias = (entry, entries) =>
  /(^|\.)(lm_head|output|out_head|head)\.weight$/.test(entry.name) &&
  entries.some((other) => other !== entry && sharesMemory(other, entry));

/**
 * The variant of the names of which the most are those of a configuration's weights.
 * @param {Json} json
 * @param {Entry[][]} variants
 * @param {string} where  file name, for messages
 */
function nearest(json, variants, where) {
  if (variants.length === 1) return variants[0];
  const fitting = variants.map((entries) => {
    const names = new Set(entries.map((e) => e.name));
    const model = readHfConfig(json, undefined, names);
    checkCount(model.config, entries, where);
    const places = model.places(names);
    return entries.filter((e) => places.has(e.name)).length;
  });
  return variants[fitting.indexOf(Math.max(...fitting))];
}
