// recipe.js - reads the recipe of a training run: lines "key = value", # for remarks
//
// Keys are the fields of a configuration (enumerations by their words, flags as 0, 1, false or true, lists with commas),
// the options of the trainer and those of weights/train.js.
import { readFileSync } from 'node:fs';
import { FIELDS } from '../web/lib/config/config_fields.js';
import { NUMBERS, SCHEDULES } from '../web/lib/train/train_order.js';

/** Options of the trainer besides those of `train`, by their names in C. */
const FURTHER = { muon: 1, init_scaled: 1, repeat_share: 0 };
/** What weights/train.js does with a run, and when: numbers of steps, 0 for never. */
const OWN = { teacher_share: 0.5, validate_every: 200, sample_every: 1000, checkpoint_every: 200 };
const TEXTS = { name: 'model', groups: '', tokenizer: '', data_sha256: '', schedule: 'cosine' };

/**
 * @typedef {object} Recipe
 * @property {Record<string, any>} fields    of the configuration that are given
 * @property {Record<string, number>} options  of the trainer, by their names in C
 * @property {typeof OWN} own
 * @property {typeof TEXTS} texts
 */

/** @type {() => Record<string, number>} */
const defaults = () => ({ ...Object.fromEntries(NUMBERS.map(([, nameInC, value]) => [nameInC, value])), ...FURTHER });

/** @param {string} key @param {string} value */
function number(key, value) {
  if (value === '' || Number.isNaN(Number(value))) throw new Error(`${key}: ${value} is not a number`);
  return Number(value);
}

/** A value of a field; what it cannot be is left as it is, for the check of the configuration. @param {string} value */
const flagOf = (value) => ({ 0: false, 1: true, false: false, true: true })[value] ?? value;
/** @param {string} value */
const realOf = (value) => (value === '' || Number.isNaN(Number(value)) ? value : Number(value));

/** @param {keyof typeof FIELDS} key @param {string} value */
function fieldOf(key, value) {
  const { type } = FIELDS[key];
  const list = value.split(',').map((each) => each.trim());
  if (type === 'flags') return list.map(flagOf);
  if (type === 'reals') return list.map(realOf);
  return type === 'word' ? value : type === 'flag' ? flagOf(value) : realOf(value);
}

/**
 * Set a key.
 * @param {Recipe} recipe
 * @param {string} key
 * @param {string} value
 */
function set({ fields, options, own, texts }, key, value) {
  if (key === 'name' && (!value || /[/\\<>&"]/.test(value)))
    throw new Error(`name: ${value}: it names files, so none of / \\ < > & "`);
  if (key === 'schedule' && !SCHEDULES.includes(value))
    throw new Error(`schedule: ${value}, expected one of ${SCHEDULES.join(', ')}`);
  if (key in FIELDS) fields[key] = fieldOf(/** @type {any} */ (key), value);
  else if (key in texts) /** @type {any} */ (texts)[key] = value;
  else if (key in own) /** @type {any} */ (own)[key] = number(key, value);
  else if (key in options) options[key] = number(key, value);
  else throw new Error(`a recipe has no key ${key}`);
}

/**
 * A recipe with further settings.
 * @param {string} file
 * @param {string[]} settings  "key=value" each
 * @returns {Recipe}
 */
export function readRecipe(file, settings) {
  const recipe = { fields: {}, options: defaults(), own: { ...OWN }, texts: { ...TEXTS } };
  for (const each of [...readFileSync(file, 'utf8').split('\n'), ...settings]) {
    const line = each.replace(/#.*/, '').trim();
    if (!line) continue;
    const [, key, value] = /^(\S*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (key === undefined) throw new Error(`${line}: no = in this line`);
    set(recipe, key, value);
  }
  recipe.options.schedule = SCHEDULES.indexOf(recipe.texts.schedule);
  return recipe;
}

/** Every key, with what it may be. */
export function keys() {
  const fields = Object.entries(FIELDS).map(([name, field]) =>
    'words' in field ? `${name}: ${field.words.join(', ')}` : name,
  );
  const numbers = Object.entries({ ...defaults(), ...OWN }).map(([name, value]) => `${name} = ${value}`);
  const lines = (/** @type {string[]} */ list) => list.map((line) => `  ${line}\n`).join('');
  return (
    `the configuration's fields:\n${lines(fields)}how to train, and what happens unless it says otherwise:\n` +
    `${lines(numbers)}texts:\n  name, groups, tokenizer, data_sha256,\n` +
    `  schedule (${SCHEDULES.join(', ')})\n`
  );
}
