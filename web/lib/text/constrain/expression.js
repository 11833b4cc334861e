// expression.js - the expressions that grammars and JSON schemas are compiled to

/** Most states of all rules; no part is repeated more often. */
export const MAX_NODES = 300_000;

/**
 * What a part of a text may be.
 *
 * - text: these characters
 * - special: the special token of this name: its bytes are 0xFF, which no text has, and the name (token_bytes.js)
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
 * The ranges of code points of characters, each a text; two with a hyphen between them name a range, as in 'a-z'.
 * @param {string[]} ranges
 * @returns {[number, number][]}
 */
export const rangesOf = (...ranges) =>
  ranges.map((range) => {
    const points = Array.from(range, (c) => /** @type {number} */ (c.codePointAt(0)));
    return [points[0], points.length === 3 ? points[2] : points[0]];
  });
/**
 * One of the characters of these ranges.
 * @param {string[]} ranges
 * @returns {Expression}
 */
export const chars = (...ranges) => ({ chars: rangesOf(...ranges) });

/**
 * Nodes between which expressions are added. node: adds one; free: an edge that reads nothing; leaf: adds a part of no
 * other parts; each: what stands for an expression that is repeated.
 * @typedef {object} Nodes
 * @property {() => number} node
 * @property {(from: number, to: number) => void} free
 * @property {(e: any, from: number, to: number) => void} leaf
 * @property {(e: {each: any, least: number, most: number}) => any} each
 */

/**
 * Add what leads from one node to another (Thompson 1968).
 * @param {Nodes} nodes
 * @param {any} e  an expression
 * @param {number} from
 * @param {number} to
 */
export function connect(nodes, e, from, to) {
  if ('any' in e) for (const one of e.any) connect(nodes, one, from, to);
  else if ('all' in e) {
    let at = from;
    for (const [i, one] of e.all.entries()) {
      const next = i === e.all.length - 1 ? to : nodes.node();
      connect(nodes, one, at, next);
      at = next;
    }
    if (!e.all.length) nodes.free(from, to);
  } else if ('each' in e) connectEach(nodes, e, from, to);
  else nodes.leaf(e, from, to);
}

/**
 * @param {Nodes} nodes
 * @param {{each: any, least: number, most: number}} e
 * @param {number} from
 * @param {number} to
 */
function connectEach(nodes, e, from, to) {
  const one = nodes.each(e);
  let at = from;
  const further = (/** @type {number} */ next) => {
    connect(nodes, one, at, next);
    at = next;
  };
  for (let i = 0; i < e.least; i++) further(nodes.node());
  if (e.most === Infinity) {
    const loop = nodes.node();
    nodes.free(at, loop);
    at = loop;
    further(loop);
  }
  for (let i = e.least; e.most !== Infinity && i < e.most; i++) {
    nodes.free(at, to);
    further(nodes.node());
  }
  nodes.free(at, to);
}

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
