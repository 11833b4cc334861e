// attention_source.js - the values of one head in the form that is shown, as the picture, the list and the table read
// them

import { patternSource } from '../../../draw/pattern_source.js';
import { percent, value } from '../../text/format.js';
import { shownAttention } from '../../state/calls/shown_attention.js';

/**
 * @typedef {object} Form
 * @property {number} n        queries that are known
 * @property {number} m        keys of the last of them
 * @property {boolean} here    the values of this form are there
 * @property {(value: number) => string} write
 * @property {[number, number] | null} range  of scores, null for weights
 * @property {boolean} later   masked cells have values, which a later step masks
 *
 * @typedef {import('../../../draw/matrix.js').Source & Form} AttentionSource
 */

/**
 * @param {Readonly<import('../../state/store/state.js').State>} page
 * @param {import('./query_key_scores.js').HeadScores | null} scores
 * @returns {AttentionSource}
 */
export function sourceOf(page, scores) {
  const { rows, causal, keys } = shownAttention(page);
  const { form, stack } = page.attention;
  const known = rows?.known(page.attention.head.layer) ?? 0;
  const columns = (/** @type {number} */ n) => (stack === 'self' ? n : keys.length);
  if (form === 'pattern')
    return {
      ...patternSource(rows, page.attention.head, causal),
      n: known,
      m: columns(known),
      here: true,
      later: false,
      write: percent,
      range: null,
    };
  // the tokens that have a pattern: the newest token of a text has none until it is read
  const n = Math.min(scores?.n ?? 0, known);
  const { min, max } = scores ?? { min: 0, max: 1 };
  const cut = causal && form === 'masked';
  const later = causal && !!scores?.of.q;
  return {
    triangular: causal,
    sums: false,
    n,
    m: columns(n),
    here: !!scores,
    row: (query) =>
      scores && query < n
        ? scores.data.subarray(query * scores.keys, query * scores.keys + (cut ? query + 1 : columns(n)))
        : null,
    masked: (query, key) => !!scores?.masked(query, key),
    shown: later,
    later,
    index: (x) =>
      Number.isFinite(x) ? Math.max(0, Math.min(255, Math.round((255 * (x - min)) / (max - min || 1)))) : 0,
    write: value,
    range: scores && [min, max],
    identity: [scores],
  };
}

/**
 * The keys that a query gives most, largest first.
 * @param {AttentionSource} source
 * @param {number} query
 * @param {number} most
 * @returns {{ key: number, value: number, share: number }[]} share: of the largest, for a bar
 */
export function largest(source, query, most) {
  const row = query < source.n ? source.row(query) : null;
  if (!row) return [];
  const best = Array.from(row.keys())
    .filter((key) => !source.masked(query, key))
    .sort((a, b) => row[b] - row[a])
    .slice(0, most);
  const top = row[best[0]];
  const low = source.range ? Math.min(...best.map((key) => row[key])) : 0;
  return best.map((key) => ({ key, value: row[key], share: Math.max(0.01, (row[key] - low) / (top - low || 1)) }));
}

/**
 * One cell in words.
 * @param {AttentionSource} source
 * @param {Float32Array} row
 * @param {number} query
 * @param {number} key
 * @param {{ masked: string, later: string }} words
 */
export function written(source, row, query, key, words) {
  const masked = source.masked(query, key);
  if (key >= row.length || (masked && !source.later)) return words.masked;
  return masked ? `${source.write(row[key])}, ${words.later}` : source.write(row[key]);
}

/**
 * The positions that are shown: all of them, or the last few up to the selected one.
 * @param {Readonly<import('../../state/store/state.js').State>} page
 * @param {number} n     queries that are known
 * @param {number} near  of them in the near view
 */
export function spanOf({ text: { cursor, follow }, attention: { zoom, stack } }, n, near) {
  if (zoom === 'whole' || n <= near + 4 || stack !== 'self') return { first: 0, n };
  const last = Math.min(n, Math.max(near, Math.min(n, cursor + 1 + (follow ? 0 : 3))));
  return { first: last - near, n: near };
}

/**
 * All values as rows of a file, a row for each query.
 * @param {AttentionSource} source
 * @param {{ queries: { text: string }[], keys: { text: string }[] }} tokens
 * @returns {(string | number)[][]}
 */
export const asCells = (source, { queries, keys }) => [
  ['query \\ key', ...Array.from({ length: source.m }, (_, k) => `${k} ${keys[k]?.text ?? ''}`)],
  ...Array.from({ length: source.n }, (_, q) => [`${q} ${queries[q]?.text ?? ''}`, ...(source.row(q) ?? [])]),
];
