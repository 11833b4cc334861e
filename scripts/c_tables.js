// c_tables.js - reads the X-macros of C sources as text and translates their expressions into JavaScript
//
// An expression uses only what means the same in both languages: c->field, enumerators, numbers without suffix,
// + - * % ! && || ?:, comparisons, parentheses, GF_CEIL_DIV(a, b), GF_GIVEN(field), and in the roster at->member and the
// calls of CALLS. What cannot be translated is an error that names it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const top = fileURLToPath(new URL('..', import.meta.url));
export const HEADER = 'src/glassformer.h';

/**
 * A C source without its comments.
 * @param {string} file
 */
const source = (file) => readFileSync(join(top, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, ' ');

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
 * The calls in the body of a macro, in order.
 * @param {string} file
 * @param {string} macro
 * @returns {{kind: string, args: string[]}[]}
 */
export function callsOf(file, macro) {
  const found = new RegExp(`#define ${macro}\\b(?:\\(\\w\\))?((?:[^\\n]*\\\\\\n)*[^\\n]*)`).exec(source(file));
  if (!found) throw new Error(`${file} has no ${macro}`);
  const body = found[1].replace(/\\\n/g, ' '),
    calls = [],
    name = /\b([A-Z]+)\(/g;
  for (let match; (match = name.exec(body));) {
    const { args, end } = argumentsOf(body.slice(name.lastIndex));
    calls.push({ kind: match[1], args });
    name.lastIndex += end;
  }
  return calls;
}

/**
 * The rows of an X-macro.
 * @param {string} file
 * @param {string} macro
 */
export const rowsOf = (file, macro) => callsOf(file, macro).map(({ args }) => args);

/**
 * The names that `pattern` captures in a source.
 * @param {string} file
 * @param {RegExp} pattern
 */
export const namesOf = (file, pattern) => [...source(file).matchAll(pattern)].map(([, name]) => name);

/**
 * A string literal of C, its pieces joined.
 * @param {string} text
 * @returns {string}
 */
export const literal = (text) =>
  [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((piece) => JSON.parse(`"${piece[1]}"`)).join('');

/**
 * A limit: a number, a shift, INT32_MAX, the last word of a field, or the name of a constant of the header.
 * @param {string} text
 * @param {string} [header]
 * @returns {number}
 */
export function limit(text, header = HEADER) {
  if (text === 'INT32_MAX') return 2 ** 31 - 1;
  const [, field = ''] = /^GF_WORDS_(\w+) - 1$/.exec(text) ?? [];
  if (field) return (words.get(field)?.length ?? NaN) - 1;
  const constant = new RegExp(`#define ${text} +(?:INT64_C\\()?(\\w+)`).exec(source(header))?.[1] ?? text,
    shift = /^(\d+) << (\d+)$/.exec(constant),
    value = shift ? Number(shift[1]) * 2 ** Number(shift[2]) : Number(constant);
  if (Number.isNaN(value)) throw new Error(`the limit ${text} is no number`);
  return value;
}

/** The rows of the scalar fields of a configuration, and of its lists. */
export const fieldRows = rowsOf(HEADER, 'GF_CONFIG_FIELDS'),
  listRows = rowsOf(HEADER, 'GF_CONFIG_LISTS');
/** The kinds of feed-forward layers. */
export const ffnRows = rowsOf(HEADER, 'GF_FFNS');
/** The words of each enumerated field. */
export const words = new Map(rowsOf(HEADER, 'GF_ENUMS').map(([field, ...names]) => [field, names.map(literal)]));
for (const field of ['ffn', 'head_activation'])
  words.set(
    field,
    ffnRows.map(([, name]) => literal(name)),
  );

const floats = new Set(fieldRows.filter(([type]) => type === 'float').map(([, name]) => name));
/** The place of every enumerator in its enumeration. @type {Map<string, number>} */
const places = new Map(ffnRows.map(([id], place) => [id, place]));
for (const [, list] of `${source(HEADER)}\n${source('src/kernels/kernels.h')}`.matchAll(/enum \w*\s*\{([^{}()]*)\}/g))
  list.split(',').forEach((entry, place) => {
    const [name, value = place] = entry.split('=');
    places.set(name.trim(), Number(value));
  });

/**
 * The word of an enumerator, as a JavaScript literal; undefined when `text` is no enumerator.
 * @param {string} field
 * @param {string} text
 */
export const word = (field, text) => {
  const found = words.get(field)?.[places.get(text) ?? -1];
  return found && JSON.stringify(found);
};

/** @param {string} name d_model @returns {string} dModel */
export const camel = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());

/** Functions of src/model/config.h that engine/config has too. */
const CALLS = {
  gf_ffn_gated: 'isGated',
  gf_layer_sparse: 'isSparse',
  gf_layer_norm1: 'hasNorm1',
  gf_embed_narrow: 'isNarrow',
};

const KNOWN = new RegExp(
  String.raw`\bc\.(?:${[...fieldRows.map(([, name]) => name), ...listRows.map(([name]) => `${name}(?:\\.length)?`)].join('|')})\b|Math\.(?:ceil|fround)|Object\.hasOwn\(given, '\w+'\)|"\w+"|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b|\) / \(|\bat\.\w+|\b(?:${Object.values(CALLS).join('|')})\(c\b|[-+*%!<>=&|?:,()\s]`,
  'g',
);

/**
 * Translates an expression.
 * @param {string} text in C
 * @returns {string} in JavaScript
 */
export function expression(text) {
  const out = text
    .replace(/c->(\w+) (==|!=) (GF_[A-Z0-9_]+)/g, (_, field, sign, value) => {
      const found = word(field, value);
      if (!found) throw new Error(`${value} is no value of ${field}`);
      return `c.${field} ${sign}= ${found}`;
    })
    .replace(/([^=!])(==|!=) /g, '$1$2= ')
    .replace(/GF_GIVEN\((\w+)\)/g, "Object.hasOwn(given, '$1')")
    .replace(/GF_CEIL_DIV\(([^(),]*), ([^(),]*)\)/g, 'Math.ceil(($1) / ($2))')
    .replace(/c->(\w+)\.n\b/g, 'c.$1.length')
    .replace(/\bat->/g, 'at.')
    .replace(/\bgf_\w+(?=\(c\b)/g, (name) => CALLS[/** @type {keyof typeof CALLS} */ (name)] ?? name)
    .replace(/c->(\w+)/g, (_, field) => (floats.has(field) ? `Math.fround(c.${field})` : `c.${field}`));
  const rest = out.replace(KNOWN, '');
  if (rest) throw new Error(`${rest} in ${text} has no translation into JavaScript`);
  return out;
}
