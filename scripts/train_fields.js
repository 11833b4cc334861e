// train_fields.js - makes web/lib/train/train_fields.js from the tables of options in src/train/trainer.h and recipe.h
import { camel, limit, literal, rowsOf } from './c_tables.js';

export const TARGET = 'web/lib/train/train_fields.js';

const TRAINER = 'src/train/trainer.h';
const schedules = rowsOf(TRAINER, 'GF_SCHEDULES'),
  words = schedules.map(([, word]) => literal(word));

/** @param {string[]} row  @returns {string} the members of its entry after the names */
function members([type, initial, least, most]) {
  const schedule = schedules.findIndex(([id]) => id === initial);
  if (schedule >= 0) return `type: 'word', words: ${JSON.stringify(words)}, default: '${words[schedule]}'`;
  if (type === 'int32_t' && least === '0' && most === '1') return `type: 'flag', default: ${initial === '1'}`;
  const kind = type === 'float' ? 'real' : 'whole';
  return `type: '${kind}', default: ${limit(initial)}, least: ${limit(least)}, most: ${limit(most, TRAINER)}`;
}

/** @returns {string} the text that the headers of this tree give */
export function text() {
  const rows = [
    ...rowsOf(TRAINER, 'GF_TRAINER_OPTIONS').map(([type, name, , , ...others]) => [name, type, ...others]),
    ...rowsOf('src/train/recipe.h', 'GF_RUN_OPTIONS').map(([type, name, , ...others]) => [name, type, ...others]),
  ].filter(([, , initial]) => initial !== 'GF_NOT_IN_JAVASCRIPT');
  return `// train_fields.js - the options of training: types, defaults and ranges
//
// Made from src/train by scripts/generate.js. Do not edit it.

/**
 * An option. member: its name in C.
 * @typedef {{name: string, member: string} & (
 *   | { type: 'word', words: string[], default: string }
 *   | { type: 'flag', default: boolean }
 *   | { type: 'whole' | 'real', default: number, least: number, most: number }
 * )} TrainField
 */

/** @type {readonly TrainField[]} */
export const TRAIN_FIELDS = [
${rows.map(([name, ...row]) => `{ name: '${camel(name)}', member: '${name}', ${members(row)} },`).join('\n')}
];
`;
}
