// config_fields.js - makes web/lib/formats/config_fields.js from the tables of src/glassformer.h
//
//   node scripts/config_fields.js      writes it; ./build.sh wasm runs this first
//
// GF_ENUMS, GF_CONFIG_FIELDS, GF_CONFIG_LISTS, GF_CONFIG_UNUSED and GF_CONFIG_RULES are read as text. Their expressions are translated
// word by word: c->field to c.field, an enumerator to the word that JavaScript has for it. What cannot be translated is
// an error that names the row.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';

const top = fileURLToPath(new URL('..', import.meta.url));
export const TARGET = 'web/lib/formats/config_fields.js';

/** @param {string} text */
const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, ' ');

/**
 * The arguments of a macro call, split at the commas outside parentheses and strings.
 * @param {string} text what follows the opening parenthesis
 * @returns {{args: string[], end: number}} end: behind the closing parenthesis
 */
function argumentsOf(text) {
  const args = [''];
  let depth = 0,
    quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"' && text[i - 1] !== '\\') quoted = !quoted;
    if (!quoted && char === ')' && depth-- === 0) return { args: args.map((arg) => arg.trim()), end: i + 1 };
    if (!quoted && char === '(') depth++;
    if (!quoted && !depth && char === ',') args.push('');
    else args[args.length - 1] += char;
  }
  throw new Error(`a row without its closing parenthesis: ${text.slice(0, 80)}`);
}

/**
 * The rows of an X-macro.
 * @param {string} header
 * @param {string} macro
 * @returns {string[][]}
 */
function rowsOf(header, macro) {
  const found = new RegExp(`#define ${macro}\\((\\w)\\)((?:[^\\n]*\\\\\\n)*[^\\n]*)`).exec(header);
  if (!found) throw new Error(`src/glassformer.h has no ${macro}`);
  const body = found[2].replace(/\\\n/g, ' '),
    rows = [];
  for (let at = 0, next; (next = body.indexOf(`${found[1]}(`, at)) >= 0;) {
    const { args, end } = argumentsOf(body.slice(next + 2));
    rows.push(args);
    at = next + 2 + end;
  }
  return rows;
}

/**
 * A string literal of C, its pieces joined.
 * @param {string} text
 * @returns {string}
 */
const literal = (text) =>
  [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((piece) => JSON.parse(`"${piece[1]}"`)).join('');

/**
 * A limit: a number, a shift or INT32_MAX.
 * @param {string} text
 * @returns {number}
 */
function limit(text) {
  if (text === 'INT32_MAX') return 2 ** 31 - 1;
  const shift = /^(\d+) << (\d+)$/.exec(text),
    value = shift ? Number(shift[1]) * 2 ** Number(shift[2]) : Number(text);
  if (Number.isNaN(value)) throw new Error(`the limit ${text} is no number`);
  return value;
}

/**
 * The file's text.
 * @param {string} glassformer src/glassformer.h
 * @param {string} kernels src/kernels/kernels.h, where some enumerators stand
 * @returns {Promise<string>}
 */
export async function configFields(glassformer, kernels) {
  const header = withoutComments(glassformer);
  /** The words of each enumerated field. */
  const words = new Map(rowsOf(header, 'GF_ENUMS').map(([field, ...names]) => [field, names.map(literal)]));
  /** The place of every enumerator in its enumeration. @type {Map<string, number>} */
  const places = new Map();
  for (const [, list] of `${header}\n${withoutComments(kernels)}`.matchAll(/enum \w*\s*\{([^{}()]*)\}/g))
    list.split(',').forEach((entry, place) => {
      const [name, value = place] = entry.split('=');
      places.set(name.trim(), Number(value));
    });
  const rows = rowsOf(header, 'GF_CONFIG_FIELDS');
  const lists = rowsOf(header, 'GF_CONFIG_LISTS');
  const most = Number(/#define GF_LIST_MOST (\d+)/.exec(header)?.[1]);
  if (!most) throw new Error('src/glassformer.h has no GF_LIST_MOST');
  const isFloat = new Set(rows.filter(([type]) => type === 'float').map(([, name]) => name));
  const isFlag = (/** @type {string[]} */ [type, name, , least, most]) =>
    type === 'int32_t' && least === '0' && most === '1' && !words.has(name);

  /** @param {string} field @param {string} enumerator @returns {string} */
  const word = (field, enumerator) => {
    const found = words.get(field)?.[places.get(enumerator) ?? -1];
    if (!found) throw new Error(`${enumerator} is no value of ${field}`);
    return JSON.stringify(found);
  };

  /** @param {string} text an expression in C @returns {string} in JavaScript */
  const expression = (text) => {
    const names = [...rows.map(([, name]) => name), ...lists.map(([name]) => `${name}\\.length`)];
    const out = text
      .replace(
        /c->(\w+) (==|!=) (GF_[A-Z0-9_]+)/g,
        (_, field, sign, value) => `c.${field} ${sign}= ${word(field, value)}`,
      )
      .replace(/([^=!])(==|!=) /g, '$1$2= ')
      .replace(/GF_GIVEN\((\w+)\)/g, "Object.hasOwn(given, '$1')")
      .replace(/GF_CEIL_DIV\(([^(),]*), ([^(),]*)\)/g, 'Math.ceil(($1) / ($2))')
      .replace(/c->(\w+)\.n\b/g, 'c.$1.length')
      .replace(/c->(\w+)/g, (_, field) => (isFloat.has(field) ? `Math.fround(c.${field})` : `c.${field}`));
    const known = new RegExp(
      String.raw`\bc\.(?:${names.join('|')})\b|Math\.(?:ceil|fround)|Object\.hasOwn\(given, '\w+'\)|"\w+"|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b|\) / \(|[-+*%!<>=&|?:,()\s]`,
      'g',
    );
    const rest = out.replace(known, '');
    if (rest) throw new Error(`src/glassformer.h: ${rest} in ${text} has no translation into JavaScript`);
    return out;
  };

  const fields = rows.map((row) => {
    const [type, name, initial, least, most] = row,
      required = initial === 'GF_NO_DEFAULT',
      flag = isFlag(row),
      list = words.get(name),
      kind = list ? 'word' : flag ? 'flag' : type === 'float' ? 'real' : 'whole';
    const value = required
      ? ''
      : list && places.has(initial)
        ? word(name, initial)
        : flag && /^[01]$/.test(initial)
          ? String(initial === '1')
          : initial.includes('c->')
            ? `(c) => ${expression(initial)}`
            : expression(initial);
    if (list && limit(most) !== list.length - 1)
      throw new Error(`${name} has ${list.length} words, and a range to ${most}`);
    const members = [`type: '${kind}'`];
    if (list) members.push(`words: ${JSON.stringify(list)}`);
    if (kind === 'whole' || kind === 'real') members.push(`least: ${limit(least)}`, `most: ${limit(most)}`);
    if (!required) members.push(`default: ${value}`);
    return `${name}: { ${members.join(', ')} },`;
  });
  for (const [name, least, greatest] of lists) {
    const range =
      limit(greatest) === 1 ? `type: 'flags'` : `type: 'reals', least: ${limit(least)}, most: ${limit(greatest)}`;
    fields.push(`${name}: { ${range}, entries: ${most}, default: () => [] },`);
  }
  const unused = rowsOf(header, 'GF_CONFIG_UNUSED').map(
    ([condition, flag]) => `{ field: '${flag}', when: (c) => ${expression(condition)} },`,
  );
  const rules = rowsOf(header, 'GF_CONFIG_RULES').map(
    ([condition, sentence]) =>
      `{ holds: (c${condition.includes('GF_GIVEN') ? ', given' : ''}) => ${expression(condition)}, sentence: ${JSON.stringify(literal(sentence))} },`,
  );
  const source = `// config_fields.js - the fields of a configuration: types, defaults, ranges and rules
//
// Made from src/glassformer.h by scripts/config_fields.js, which ./build.sh wasm runs. Do not edit it.

/** @typedef {import('./config.js').Config} Config */
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

/** Every field, in the order in which defaults are filled in. @type {Record<keyof Config, Field>} */
export const FIELDS = {
${fields.join('\n')}
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
  const options = await prettier.resolveConfig(join(top, 'package.json'));
  return prettier.format(source, { ...options, filepath: TARGET });
}

/** @returns {Promise<string>} the text that the headers of this tree give */
export const expectedText = () =>
  configFields(
    readFileSync(join(top, 'src/glassformer.h'), 'utf8'),
    readFileSync(join(top, 'src/kernels/kernels.h'), 'utf8'),
  );

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(join(top, TARGET), await expectedText());
