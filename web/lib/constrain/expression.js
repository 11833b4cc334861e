// expression.js - the expressions that grammars and JSON schemas are compiled to

/** Most states of all rules; no part is repeated more often. */
export const MAX_NODES = 300_000;

/**
 * What a part of a text may be.
 *
 * - text: these characters
 * - special: the special token of this name: its bytes are 0xFF, which no text has, and the name (vocabulary.js)
 * - chars: one character of these ranges of code points, both ends included
 * - all: these expressions one after the other
 * - any: one of these expressions
 * - each: the expression, `least` to `most` times
 * - rule: what the rule of this name says
 * - states: what leads from the first of these states to an accepting one
 * @typedef {{text: string} | {special: string} | {chars: [number, number][]} | {all: Expression[]} |
 *   {any: Expression[]} | {each: Expression, least: number, most: number} | {rule: string} |
 *   {states: StateExpression[]}} Expression
 */
/**
 * A state of a finite automaton: its edges, which read an expression; the states that follow without reading; whether
 * the text may end here. States are numbers in the list.
 * @typedef {{edges: [Expression, number][], free: number[], accepting: boolean}} StateExpression
 */
/**
 * Rules by name; a text follows `root`.
 * @typedef {{rules: Map<string, Expression>, root: string}} Grammar
 */

/**
 * @param {string} value
 * @returns {Expression}
 */
export const text = (value) => ({ text: value });
/**
 * @param {Expression[]} all
 * @returns {Expression}
 */
export const sequence = (...all) => ({ all });
/**
 * @param {Expression[]} any
 * @returns {Expression}
 */
export const choice = (...any) => ({ any });
/**
 * @param {Expression} each
 * @param {number} least
 * @param {number} most  may be Infinity
 * @returns {Expression}
 */
export const repeat = (each, least, most) => ({ each, least, most });
/**
 * One of the characters of a text; two with a hyphen between them name a range, as in 'a-z'.
 * @param {string[]} ranges
 * @returns {Expression}
 */
export const chars = (...ranges) => ({
  chars: ranges.map((range) => {
    const points = Array.from(range, (c) => /** @type {number} */ (c.codePointAt(0)));
    return [points[0], points.length === 3 ? points[2] : points[0]];
  }),
});

/** The largest code point. */
export const MAX_POINT = 0x10ffff;

/**
 * The code points that are in none of these ranges.
 * @param {[number, number][]} ranges
 * @returns {[number, number][]}
 */
export function complement(ranges) {
  /** @type {[number, number][]} */
  const out = [];
  let next = 0;
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (low > next) out.push([next, low - 1]);
    next = Math.max(next, high + 1);
  }
  if (next <= MAX_POINT) out.push([next, MAX_POINT]);
  return out;
}
