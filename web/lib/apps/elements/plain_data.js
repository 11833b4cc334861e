// plain_data.js - plain data, checked where it enters: each mistake is one sentence that says what was found
import { PatternStore } from '../../../draw/pattern_store.js';
import { visible } from '../../../draw/written.js';

/** @typedef {{ text: string, id?: number }} Token */
/** @typedef {Token & { probability: number, logit?: number | null }} Candidate */
/** @typedef {{ component: string, count: number, bytes: number, tiedTo?: string | null }} Row */

/** A token as a label: its text with blanks made visible, or its id. @param {Token} token */
export const label = ({ text, id }) => (text || id === undefined ? visible(text) : `#${id}`);

/**
 * @param {boolean} holds
 * @param {string} expected
 * @param {unknown} found
 */
function expect(holds, expected, found) {
  if (holds) return;
  const written = typeof found === 'string' ? `"${found}"` : (JSON.stringify(found) ?? String(found));
  throw new TypeError(`${expected}; found ${written.length > 60 ? `${written.slice(0, 60)}…` : written}`);
}

/** @param {unknown} x @returns {x is any[]} */
const isList = (x) => Array.isArray(x) || (ArrayBuffer.isView(x) && !(x instanceof DataView));
const isNumber = (/** @type {unknown} */ x) => typeof x === 'number' && Number.isFinite(x);

/**
 * @param {unknown} list  texts, or objects with text and id
 * @param {string} name
 * @returns {Token[]}
 */
export function tokensOf(list, name = 'tokens') {
  expect(isList(list), `${name} is a list of texts, or of { text, id }`, list);
  return /** @type {any[]} */ (list).map((token, i) => {
    if (typeof token === 'string') return { text: token };
    const fits = typeof token?.text === 'string' && (token.id === undefined || Number.isInteger(token.id));
    expect(fits, `${name}[${i}] is a text, or { text, id }`, token);
    return { text: token.text, id: token.id };
  });
}

/** Nested lists of a tensor. @param {ArrayLike<number>} data @param {number[]} shape @returns {any} */
function nested(data, [count, ...rest]) {
  const list = /** @type {number[]} */ (isList(data) ? data : Array.from(data));
  if (!rest.length) return list;
  const size = list.length / count;
  return Array.from({ length: count }, (_, i) => nested(list.slice(i * size, (i + 1) * size), rest));
}

/**
 * The pattern of one head [query][key], of several [head][query][key], or of layers [layer][head][query][key], as
 * nested lists or as a tensor. A row may end with its own query: the later keys are masked.
 * @param {any} pattern
 * @param {number} queries
 * @param {number} keys
 * @returns {PatternStore}
 */
export function storeOf(pattern, queries, keys) {
  if (pattern instanceof PatternStore) return pattern;
  const given = pattern?.shape && isList(pattern.data) ? nested(pattern.data, pattern.shape) : pattern;
  let depth = 0;
  for (let x = given; isList(x) && depth < 6; x = x[0]) depth++;
  expect(
    depth >= 2 && depth <= 4,
    'pattern has the form [query][key], [head][query][key] or [layer][head][query][key]',
    given,
  );
  const layers = depth === 4 ? given : depth === 3 ? [given] : [[given]];
  const row = (/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ query) => {
    const values = layers[layer][head]?.[query];
    const place = `row ${query} of layer ${layer}, head ${head} of pattern`;
    const lengths = queries === keys ? [keys, query + 1] : [keys];
    expect(isList(values) && lengths.includes(values.length), `${place} has ${keys} numbers`, values);
    for (const x of values) expect(isNumber(x) && x >= 0 && x <= 1.001, `${place} has numbers from 0 to 1`, x);
    return values;
  };
  const nHeads = layers[0].length;
  for (const heads of layers) {
    expect(heads.length === nHeads, `each layer of pattern has ${nHeads} heads`, heads.length);
    for (const head of heads)
      expect(head?.length === queries, `each head of pattern has ${queries} rows`, head?.length);
  }
  const all = layers.map((/** @type {any[]} */ heads, /** @type {number} */ l) =>
    Array.from({ length: queries }, (_, q) => heads.map((_, h) => row(l, h, q))),
  );
  const masked = (/** @type {number[]} */ values, /** @type {number} */ q) => values.every((x, k) => k <= q || x === 0);
  const causal =
    queries === keys &&
    all.every((/** @type {number[][][]} */ rows) =>
      rows.every((heads, q) => heads.every((values) => masked(values, q))),
    );
  const store = new PatternStore(layers.length, nHeads, 'self', causal);
  store.rows = all.map((/** @type {number[][][]} */ rows) =>
    rows.map((heads, q) =>
      Float32Array.from(heads.flatMap((values) => Array.from(values).slice(0, causal ? q + 1 : keys))),
    ),
  );
  return store;
}

/**
 * Parameters by component, in the order in which they come.
 * @param {any} table  rows, or an object with rows
 * @returns {Row[]}
 */
export function componentsOf(table) {
  const rows = isList(table) ? table : table?.rows;
  expect(isList(rows) && rows.length > 0, 'parameters are rows { component, count, bytes }', table);
  /** @type {Map<string, Row>} */
  const sums = new Map();
  for (const row of rows) {
    const fits = typeof row?.component === 'string' && row.count >= 0 && row.bytes >= 0;
    expect(fits, 'each row of parameters has component, count and bytes', row);
    const { component, count, bytes, tiedTo = null } = row;
    const sum = sums.get(component) ?? { component, count: 0, bytes: 0, tiedTo };
    if (tiedTo === null) Object.assign(sum, { count: sum.count + count, bytes: sum.bytes + bytes, tiedTo: null });
    sums.set(component, sum);
  }
  return [...sums.values()];
}

/**
 * The ten likeliest.
 * @param {any} given  a list of { text, id, probability, logit }, or an object with it as `candidates`
 * @returns {Candidate[]}
 */
export function candidatesOf(given) {
  const list = isList(given) ? given : given?.candidates;
  expect(isList(list), 'next tokens are a list of { text, probability, logit }', given);
  return tokensOf(list, 'candidates')
    .map((token, i) => {
      const { probability, logit = null } = list[i];
      expect(
        probability >= 0 && probability <= 1.001,
        `candidates[${i}].probability is a number from 0 to 1`,
        probability,
      );
      expect(logit === null || isNumber(logit), `candidates[${i}].logit is a number`, logit);
      return { ...token, probability, logit };
    })
    .sort((a, b) => b.probability - a.probability)
    .slice(0, 10);
}
