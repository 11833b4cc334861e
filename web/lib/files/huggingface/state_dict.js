// state_dict.js - the model in a list of named tensors, with or without a config.json
//
// It finds the configuration, removes what torch.compile and wrappers put before all names, and plans which tensor
// fills which weight.
import { fail, show } from '../../base/errors.js';
import { readHfConfig } from './huggingface.js';
import { withAliases } from './tensor_aliases.js';
import { checkCount, planTensors } from '../../engine/config/tensor_plan.js';
import { renamedPlaces } from './weight_names.js';

export { renameByMap } from './weight_names.js';

/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @typedef {Record<string, any>} Json */

/** Put before all names by torch.compile, by DataParallel and by a class that holds the model. */
const WRAPPERS = ['_orig_mod.', 'module.'];
const HOLDER = 'model.';

/**
 * The tensors without a prefix that all of their names have; null where not all have it.
 * @param {Entry[]} entries
 * @param {string} prefix
 */
function without(entries, prefix) {
  if (!entries.length || !entries.every(({ name }) => name.startsWith(prefix))) return null;
  return entries.map((e) => ({ ...e, name: e.name.slice(prefix.length) }));
}

/**
 * The tensors under the names that they can have: those of the file without the prefixes of wrappers, and without the
 * name of a class that holds the model.
 * @param {Entry[]} entries
 * @returns {Entry[][]}
 */
function nameVariants(entries) {
  for (let found = true; found;) {
    found = false;
    for (const prefix of WRAPPERS) {
      const shorter = without(entries, prefix);
      if (shorter) entries = shorter;
      found ||= shorter !== null;
    }
  }
  const shorter = without(entries, HOLDER);
  return shorter ? [entries, shorter] : [entries];
}

/**
 * What is known about a checkpoint besides its tensors.
 * @typedef {object} Known
 * @property {Json | null} json  of config.json; null where there is none
 * @property {Json} given  keys from the option `config`, and from the file itself
 * @property {string[]} files  names of the files, for messages
 * @property {import('./weight_names.js').Rename & {unused?: () => string | undefined}} [rename]
 * @property {string[]} warnings  appended to
 * @property {AbortSignal} [signal]
 */

/**
 * The configuration of a checkpoint, and the plan of its tensors.
 * @param {Entry[]} all
 * @param {Known} known
 */
export async function modelOf(all, { json, given, files, rename, warnings, signal }) {
  const variants = nameVariants(all);
  const merged = { ...json, ...given };
  const { full, entries } =
    typeof json?.model_type === 'string'
      ? { full: merged, entries: nearest(merged, variants, files[0]) }
      : await (await import('./infer_config.js')).inferConfig(merged, variants, { files, rename, warnings, signal });
  const names = new Set(entries.map((e) => e.name));
  const model = readHfConfig(full, undefined, names);
  warnings.push(...model.warnings);
  checkCount(model.config, all, files[0]);
  const usual = model.places(names);
  const places = rename ? await renamedPlaces(usual, rename) : usual;
  const copy = rename && model.config.tie_word_embeddings ? await tiedHead(rename, model.config) : () => false;
  const unused = rename?.unused?.();
  if (unused !== undefined) fail('bad-option', `names: this model has no weight ${show(unused)}`);
  const isBuffer = withAliases(entries, places, (entry) => copy(entry) || model.isBuffer(entry));
  const tensors = planTensors(model.config, entries, places, isBuffer, files, warnings);
  return { config: model.config, special: model.special, tensors };
}

/**
 * Whether a tensor is the copy of a tied embedding under the caller's name of the head.
 * @param {import('./weight_names.js').Rename} rename
 * @param {import('../../engine/config/config.js').Config} config
 * @returns {Promise<(entry: Entry) => boolean>}
 */
async function tiedHead(rename, config) {
  const [given] = await rename(['head.weight']);
  const head = typeof given === 'string' ? given : given?.name;
  return ({ name, shape }) => name === head && String(shape) === `${config.vocab_size},${config.d_model}`;
}

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
