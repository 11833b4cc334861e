// measures.js - what several labs compute, and the figures that several show

/** @import { Tensor } from '../../api/index.js' */
/** @import { Axis, Curves, Matrix } from './labs.js' */

/** @param {ArrayLike<number>} list */
export const mean = (list) => Array.from(list).reduce((sum, x) => sum + x, 0) / list.length;

/** @param {number} share @param {number} [digits] */
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

/** The largest number of a list. @param {ArrayLike<number>} list */
export const largest = (list) => Array.from(list).reduce((most, x) => Math.max(most, x), -Infinity);

/**
 * Random integers from 0 to below n, by a linear congruence: the same for a seed on every machine.
 * @param {number} seed
 */
export function randomIntegers(seed) {
  let state = Math.imul(seed, 0x9e3779b9) >>> 0;
  return (/** @type {number} */ n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** The index of the largest number of a list. @param {ArrayLike<number>} list */
export const indexOfLargest = (list) => Array.prototype.indexOf.call(list, largest(list));

/**
 * A weight of a pattern.
 * @param {Tensor} pattern  [head, query, key]
 * @param {number} head
 * @param {number} query
 * @param {number} key
 */
export const weightOf = ({ data, shape: [, queries, keys] }, head, query, key) =>
  data[(head * queries + query) * keys + key];

/**
 * The mean weights of heads, [query][key].
 * @param {Tensor} pattern  [head, query, key]
 * @param {number[]} heads
 * @param {number} from     the first query
 * @param {number} [keys]   as many of the first ones; default: all
 */
export const attentionOf = (pattern, heads, from = 0, keys = pattern.shape[2]) =>
  Array.from({ length: pattern.shape[1] - from }, (_, i) =>
    Array.from({ length: keys }, (__, key) => mean(heads.map((head) => weightOf(pattern, head, from + i, key)))),
  );

/**
 * Which targets have the largest logit, those that count.
 * @param {Tensor} logits  [position, id]
 * @param {readonly number[]} targets  -1: does not count
 */
export const rightOf = ({ data, shape: [, size] }, targets) =>
  targets.flatMap((target, at) =>
    target < 0 ? [] : [Number(indexOfLargest(data.subarray(at * size, (at + 1) * size)) === target)],
  );

/** Adds to the cells of a table. @param {number[][]} table @param {(row: number, column: number) => number} value */
export const addTo = (table, value) => table.forEach((row, i) => row.forEach((_, j) => (row[j] += value(i, j))));

/** @param {number} rows @param {number} columns */
export const zeros = (rows, columns) => Array.from({ length: rows }, () => new Array(columns).fill(0));

/**
 * The cells of a table, the largest first.
 * @param {number[][]} table  [layer][head]
 */
export const ranked = (table) =>
  table.flatMap((row, layer) => row.map((value, head) => ({ layer, head, value }))).sort((a, b) => b.value - a.value);

/** @param {{layer: number, head: number}} at  counted from 0, as in the names of points */
export const headName = ({ layer, head }) => `head ${layer}.${head}`;

/**
 * The claims of a lab after a paper.
 * @param {string} paper
 * @param {[claim: string, where: string, expected: string][]} rows
 */
export const claimRows = (paper, rows) =>
  rows.map(([claim, where, expected]) => ({ claim, source: `${paper}, ${where}`, expected }));

/**
 * A table of numbers.
 * @param {string} id
 * @param {[title: string, unit: string]} texts
 * @param {[name: string, labels: ArrayLike<string | number>]} rows
 * @param {[name: string, labels: ArrayLike<string | number>]} columns
 * @param {number[][]} values
 * @param {[number, number]} range
 * @returns {Matrix}
 */
export const matrixOf = (id, [title, unit], rows, columns, values, range) => ({
  id,
  kind: 'matrix',
  title,
  unit,
  rows: { name: rows[0], labels: Array.from(rows[1], String) },
  columns: { name: columns[0], labels: Array.from(columns[1], String) },
  values: values.map((row) => row.slice()),
  range,
});

/**
 * A table with a row for each layer, by default with a column for each head.
 * @param {string} id
 * @param {string} title
 * @param {string} unit
 * @param {number[][]} values
 * @param {[number, number]} range
 * @param {{name: string, labels: string[]}} [columns]
 */
export const byLayer = (id, title, unit, values, range, { name, labels } = { name: 'head', labels: [] }) =>
  matrixOf(
    id,
    [title, unit],
    ['layer', values.map((_, i) => i)],
    [name, labels.length ? labels : values[0].map((_, i) => i)],
    values,
    range,
  );

/**
 * The curves as they are now.
 * @param {string} id
 * @param {string} title
 * @param {Axis} x
 * @param {Axis} y
 * @param {Curves['curves']} curves  a run may go on with them
 * @returns {Curves}
 */
export const curvesOf = (id, title, x, y, curves) => ({
  id,
  kind: 'curves',
  title,
  x,
  y,
  curves: curves.map((each) => ({ name: each.name, x: each.x.slice(), y: each.y.slice() })),
});
