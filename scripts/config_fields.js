// config_fields.js - makes web/lib/engine/config/config_fields.js from the tables of src/glassformer.h
import {
  HEADER,
  camel,
  expression,
  ffnRows,
  fieldRows,
  limit,
  listRows,
  literal,
  rowsOf,
  word,
  words,
} from './c_tables.js';

export const TARGET = 'web/lib/engine/config/config_fields.js';

/**
 * @typedef {object} Row a field
 * @property {string} name
 * @property {string} code   its entry of FIELDS
 * @property {string} type   in JSDoc
 * @property {string} meaning
 */

/**
 * @param {string} name
 * @param {string} initial  an expression in C
 * @param {boolean} flag
 * @returns {string} the default in JavaScript
 */
function defaultOf(name, initial, flag) {
  if (words.has(name) && word(name, initial)) return /** @type {string} */ (word(name, initial));
  if (flag && /^[01]$/.test(initial)) return String(initial === '1');
  const code = expression(initial.replace(/(?<=[?:] )GF_\w+/g, (text) => word(name, text) ?? text));
  return /\bc\b/.test(initial) ? `(c) => ${code}` : code;
}

/**
 * @param {string[]} row  of GF_CONFIG_FIELDS
 * @returns {Row}
 */
function scalar([type, name, initial, least, most, meaning]) {
  const list = words.get(name),
    flag = type === 'int32_t' && least === '0' && most === '1' && !list,
    kind = list ? 'word' : flag ? 'flag' : type === 'float' ? 'real' : 'whole';
  if (list && most !== `GF_WORDS_${name} - 1`) throw new Error(`the range of ${name} is not that of its words`);
  const members = [`type: '${kind}'`];
  if (list) members.push(`words: ${JSON.stringify(list)}`);
  if (kind === 'whole' || kind === 'real') members.push(`least: ${limit(least)}`, `most: ${limit(most)}`);
  if (initial !== 'GF_NO_DEFAULT') members.push(`default: ${defaultOf(name, initial, flag)}`);
  return {
    name,
    code: members.join(', '),
    type: list ? list.map((each) => `'${each}'`).join('|') : flag ? 'boolean' : 'number',
    meaning: literal(meaning),
  };
}

/**
 * @param {string[]} row  of GF_CONFIG_LISTS
 * @returns {Row}
 */
function listed([name, least, most, meaning]) {
  const flags = limit(most) === 1,
    range = flags ? `type: 'flags'` : `type: 'reals', least: ${limit(least)}, most: ${limit(most)}`;
  return {
    name,
    code: `${range}, entries: ${limit('GF_LIST_MOST')}, default: () => []`,
    type: flags ? 'readonly boolean[]' : 'readonly number[]',
    meaning: literal(meaning),
  };
}

/**
 * The lines of a typedef's properties.
 * @param {Row[]} rows
 * @param {(text: string) => string} spelled  gives the fields' names in `text`
 */
const properties = (rows, spelled) =>
  rows.map(({ name, type, meaning }) => ` * @property {${type}} ${spelled(name)}  ${spelled(meaning)}`).join('\n');

const unused = rowsOf(HEADER, 'GF_CONFIG_UNUSED').map(
  ([condition, flag]) => `{ field: '${flag}', when: (c) => ${expression(condition)} },`,
);

const rules = rowsOf(HEADER, 'GF_CONFIG_RULES').map(
  ([condition, sentence]) =>
    `{ holds: (c${condition.includes('GF_GIVEN') ? ', given' : ''}) => ${expression(condition)}, sentence: ${JSON.stringify(literal(sentence))} },`,
);

/** @returns {string} the text that the headers of this tree give */
export function text() {
  const rows = [...fieldRows.map(scalar), ...listRows.map(listed)],
    names = new RegExp(`\\b(?:${rows.map(({ name }) => name).join('|')})\\b`, 'g');
  return `// config_fields.js - the fields of a configuration: types, defaults, ranges and rules
//
// Made from src/glassformer.h by scripts/generate.js. Do not edit it.

/**
 * A complete configuration.
 * @typedef {object} Config
${properties(rows, (text) => text)}
 */
/**
 * Our own fields, camelCase.
 * @typedef {object} CamelConfig
${properties(rows, (text) => text.replace(names, camel))}
 */
/**
 * type: one of words, true or false, a whole number, any number, or a list of up to \`entries\` of these. default: the
 * value, or what computes it from the fields before it; without one the field must be given.
 * @typedef {(
 *   | { type: 'word', words: string[], default: string | ((c: Config) => string) }
 *   | { type: 'flag', default: boolean | ((c: Config) => boolean) }
 *   | { type: 'whole' | 'real', least: number, most: number, default?: number | ((c: Config) => number) }
 *   | { type: 'flags', entries: number, default: () => boolean[] }
 *   | { type: 'reals', least: number, most: number, entries: number, default: () => number[] }
 * )} Field
 */

/**
 * The kinds of feed-forward layers. activation: the function by itself; flops: for each value, with the product of a
 * gate.
 * @type {Record<string, {activation: string, flops: number}>}
 */
export const FFN_KINDS = {
${ffnRows.map(([, name, activation, flops]) => `${literal(name)}: { activation: ${word('ffn', activation)}, flops: ${flops} },`).join('\n')}
};

/**
 * The activation of a feed-forward layer by itself.
 * @param {{ffn: string}} config
 */
export const activationOf = ({ ffn }) => FFN_KINDS[ffn].activation;

/**
 * Whether the feed-forward layer has a gate: its activated product with a second matrix multiplies that of the first.
 * @param {{ffn: string}} config
 */
export const isGated = ({ ffn }) => activationOf({ ffn }) !== ffn;

/** Every field, in the order in which defaults are filled in. @type {Record<keyof Config, Field>} */
export const FIELDS = {
${rows.map(({ name, code }) => `${name}: { ${code} },`).join('\n')}
};

/**
 * Flags that are false, whatever was given, where the architecture has no such part.
 * @type {{ field: keyof Config, when: (c: Config) => boolean }[]}
 */
export const UNUSED = [
${unused.join('\n')}
];

/**
 * What must hold between the fields, in this order. given: the fields that were not filled in. In a sentence {field}
 * stands for the field's name and value.
 * @type {{ holds: (c: Config, given: Partial<Config>) => boolean, sentence: string }[]}
 */
export const RULES = [
${rules.join('\n')}
];
`;
}
