// json_strings.js - the strings that fit the keywords of a schema, as they are written in JSON
//
// A string with a pattern or a format is written as JSON.stringify writes it: no character is escaped that need not be,
// and each that must be has one escape. Other strings (schema_grammar.js) may have any escapes.
import { fail, show } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';
import { choice, sequence, text } from './expression.js';
import { formatPatterns } from './string_formats.js';
import { counted, intersection, statesOf, trimmed } from './machine.js';
import { Alphabet, isFound, patternMachine, patternStates } from './pattern.js';
import { readPattern } from './regex.js';

/** @import { Expression } from './expression.js' */
/** @import { Ranges } from './regex.js' */
/** The pattern and the format of a schema; both may be missing. @typedef {{pattern?: any, format?: any}} Keywords */

/**
 * The patterns of keywords, which a string must fit all.
 * @param {Keywords[]} keywords
 * @returns {string[]}
 */
export function patternsOf(keywords) {
  const patterns = keywords.flatMap(({ pattern, format }) => {
    if (pattern !== undefined && typeof pattern !== 'string')
      fail('bad-option', `pattern is ${show(pattern)}, expected a regular expression as text`);
    const own = format === undefined ? [] : formatPatterns(format);
    return pattern === undefined ? own : [pattern, ...own];
  });
  return [...new Set(patterns)];
}

/**
 * Strings that fit all patterns and have `least` to `most` characters, with their quotes.
 * @param {string[]} patterns
 * @param {number} least
 * @param {number} most
 * @param {(ranges: Ranges) => Expression} oneOf  one character of these, as it is written in JSON
 * @returns {Expression}
 */
export function patternString(patterns, least, most, oneOf) {
  const alphabet = new Alphabet();
  const any = machineOf(patterns, alphabet);
  const machine = any && trimmed(counted(any, least, most) ?? together());
  if (!machine) return fail('bad-option', 'no string fits its pattern, format and length');
  /** @type {Map<string, Expression>} */
  const expressions = new Map();
  const charsOf = (/** @type {number[]} */ symbols) =>
    remembered(expressions, symbols.join(), () => oneOf(alphabet.union(symbols)));
  return sequence(text('"'), statesOf(machine, charsOf), text('"'));
}

/**
 * The machine of the texts that fit all patterns; null: there are none.
 * @param {string[]} patterns
 * @param {Alphabet} alphabet  gets their characters, and is split
 */
export function machineOf(patterns, alphabet) {
  const all = patterns.flatMap((source) => {
    const tooMany = () => tooLarge(`the pattern ${show(source)}`);
    return readPattern(source).map(({ pattern, isNegative }) => {
      const states = patternStates(pattern, alphabet, tooMany);
      return () => patternMachine(states, isNegative, alphabet, tooMany);
    });
  });
  alphabet.split();
  const machines = all.map((machine) => machine());
  return machines.reduce((a, b) => a && b && trimmed(intersection(a, b) ?? together()));
}

/**
 * @param {string} what
 * @returns {never}
 */
const tooLarge = (what) =>
  fail('unsupported', `${what} needs too many states: make its repetitions or lengths smaller`);
const together = () => tooLarge('what its patterns, format and length allow together');

/** Short escapes of JSON. */
const SHORT = new Map(
  [...'"\\\b\f\n\r\t'].map((c) => [/** @type {number} */ (c.codePointAt(0)), JSON.stringify(c).slice(1, -1)]),
);

/**
 * One character of these, as JSON.stringify writes it.
 * @param {Ranges} ranges
 * @returns {Expression}
 */
export function writtenChars(ranges) {
  /** @type {Ranges} */
  const plain = [];
  const escaped = [];
  for (const [low, high] of ranges) {
    let from = low;
    for (const point of [...Array(0x20).keys(), 0x22, 0x5c]) {
      if (point < low || point > high) continue;
      if (point > from) plain.push([from, point - 1]);
      from = point + 1;
      escaped.push(text(SHORT.get(point) ?? `\\u${point.toString(16).padStart(4, '0')}`));
    }
    if (from <= high) plain.push([from, high]);
  }
  return escaped.length ? choice({ chars: plain }, ...escaped) : { chars: plain };
}

/** Most patterns of listed values that are kept. */
const MAX_CONDITIONS = 64;
/** What each of the newest patterns says. @type {Map<string, ((value: string) => boolean)[]>} */
const conditions = new Map();

/**
 * The conditions of a pattern.
 * @param {string} source
 */
function conditionsOf(source) {
  if (conditions.size >= MAX_CONDITIONS) conditions.clear();
  return remembered(conditions, source, () =>
    readPattern(source).map(({ pattern, isNegative }) => {
      const alphabet = new Alphabet();
      const states = patternStates(pattern, alphabet, () => tooLarge(`the pattern ${show(source)}`));
      return (/** @type {string} */ value) => isFound(states, alphabet, value) !== isNegative;
    }),
  );
}

/**
 * Whether a string fits patterns. JavaScript's own regular expressions may take time exponential in its length.
 * @param {string} value
 * @param {string[]} patterns
 * @returns {boolean}
 */
export const fitsPatterns = (value, patterns) =>
  patterns.every((source) => conditionsOf(source).every((fits) => fits(value)));
