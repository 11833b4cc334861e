// head_arithmetic.js - the arithmetic of one head for one query as a list of steps, from the first product to what it
// adds

/** @typedef {import('../../../../draw/strip_painter.js').Tensor} Tensor */
/**
 * One key, or all keys that are not shown as one.
 * @typedef {object} Row
 * @property {number} key     its position; of several how many they are
 * @property {boolean} several
 * @property {boolean} masked
 * @property {Float32Array | null} k  null for several
 * @property {Float32Array} v   of several the mean by their weights
 * @property {number} raw
 * @property {number} scaled
 * @property {number} score   after caps, biases and the mask
 * @property {number} power   e^(score - largest)
 * @property {number} weight
 */
/**
 * @typedef {object} HeadRows
 * @property {Float32Array} q
 * @property {Row[]} rows
 * @property {number} largest  score
 * @property {number} sum      of the powers
 * @property {Float32Array} out  what the head adds
 */
/** @typedef {{ at: 'product' | 'score' | 'scale' | 'mask' | 'power' | 'sum' | 'weight' | 'mix' | 'project', row: number, i: number }} Step  row, i: -1 where it is of all */

const SHOWN = 9; // keys

/** A head's vector. @param {Tensor} tensor  [position, head, d] @param {number} position @param {number} head @param {number} heads */
function vector({ data, shape: [, own, d] }, position, head, heads) {
  const from = (position * own + Math.floor((head * own) / heads)) * d;
  return data.subarray(from, from + d);
}

/**
 * @param {Record<'q' | 'k' | 'v' | 'raw' | 'scaled' | 'score' | 'weight' | 'out', Tensor>} of  a pass
 * @param {number} query
 * @param {number} head
 * @param {boolean} causal
 * @returns {HeadRows}
 */
export function headRows(of, query, head, causal) {
  const [, heads] = of.q.shape;
  const [, , n] = of.weight.shape;
  const keys = causal ? query + 1 : n;
  const cell = (/** @type {Tensor} */ { data, shape }, /** @type {number} */ key) =>
    data[(head * shape[1] + query) * shape[2] + key];
  let largest = -Infinity;
  for (let key = 0; key < keys; key++) largest = Math.max(largest, cell(of.score, key));
  const rowOf = (/** @type {number} */ key) => ({
    key,
    several: false,
    masked: key >= keys || cell(of.score, key) === -Infinity,
    k: /** @type {Float32Array | null} */ (vector(of.k, key, head, heads)),
    v: vector(of.v, key, head, heads),
    raw: cell(of.raw, key),
    scaled: cell(of.scaled, key),
    score: key < keys ? cell(of.score, key) : -Infinity,
    power: key < keys ? Math.exp(cell(of.score, key) - largest) : 0,
    weight: key < keys ? cell(of.weight, key) : 0,
  });
  const first = Math.max(0, Math.min(query - SHOWN + 1, n - SHOWN));
  const last = Math.min(n, first + SHOWN + 1);
  const shown = Array.from({ length: last - first }, (_, i) => rowOf(first + i));
  const others = Array.from({ length: keys }, (_, key) => key).filter((key) => key < first || key >= last);
  const rows = [...(others.length ? [together(others.map(rowOf))] : []), ...shown];
  const sum = rows.reduce((all, { power }) => all + power, 0);
  return {
    q: vector(of.q, query, head, heads),
    rows,
    largest,
    sum,
    out: vector(of.out, query, head, heads),
  };
}

/** @param {Row[]} rows @returns {Row} */
function together(rows) {
  const sum = (/** @type {'power' | 'weight'} */ name) => rows.reduce((all, row) => all + row[name], 0);
  const weight = sum('weight');
  const v = mixed(rows).map((x) => x / (weight || 1));
  return { ...rows[0], key: rows.length, several: true, masked: false, k: null, v, power: sum('power'), weight };
}

/** The values added up by their weights. @param {Row[]} rows */
export function mixed(rows) {
  const z = new Float32Array(rows[0]?.v.length ?? 0);
  for (const { v, weight } of rows) for (let i = 0; i < z.length; i++) z[i] += weight * v[i];
  return z;
}

/** Sum of the first products of a query and a key. @param {Float32Array} q @param {Float32Array} k @param {number} n */
export function dot(q, k, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += q[i] * k[i];
  return sum;
}

/**
 * The first key's score number by number, the others at once.
 * @param {HeadRows} of
 * @returns {Step[]}
 */
export function stepsOf({ q, rows }) {
  const keyed = [...rows.keys()].filter((row) => rows[row].k && !rows[row].masked);
  const first = rows[keyed[0]]?.k;
  // q and k are not known behind their own norms: then the score is there at once
  const known =
    first && Math.abs(dot(q, first, q.length) - rows[keyed[0]].raw) < 0.02 * (1 + Math.abs(rows[keyed[0]].raw));
  /** @returns {Step} */
  const step = (/** @type {Step['at']} */ at, row = -1, i = -1) => ({ at, row, i });
  return [
    ...Array.from({ length: known ? q.length : 0 }, (_, i) => step('product', keyed[0], i)),
    ...keyed.map((row) => step('score', row)),
    .../** @type {const} */ (['scale', 'mask', 'power', 'sum', 'weight']).map((at) => step(at)),
    ...[...rows.keys()].filter((row) => rows[row].weight > 0).map((row) => step('mix', row)),
    step('project'),
  ];
}

/** Whether a step has been made, of this row or of all. @param {Step[]} steps @param {number} now @param {Step['at']} at @param {number} row */
export function made(steps, now, at, row) {
  const index = steps.findIndex((step) => step.at === at && (step.row === row || step.row < 0));
  return index >= 0 && index <= now;
}
