// scan_statistics.js - sums over the rows of many texts at a point: mean, covariance, strongest places, histogram.
// Those of several batches are added.

/**
 * A place of a text: its value, the number of the text, the position in it, and the ids around, in which it is at `at`.
 * @typedef {{value: number, text: number, position: number, ids: number[], at: number}} ScanPlace
 */
/**
 * What is kept of a point. columns: of its rows, all or the chosen ones; histogram: [column, bin]
 * @typedef {object} PointSums
 * @property {number} rows
 * @property {number} columns
 * @property {Float64Array} [sum]       [column]
 * @property {Float64Array} [squares]   [column]
 * @property {Float64Array} [products]  [column, column], those above the diagonal 0
 * @property {ScanPlace[][]} [top]      of each column, the largest first
 * @property {[number, number]} [range] of the histogram
 * @property {Float64Array} [counts]
 */
/** @typedef {'mean' | 'covariance' | 'top' | 'histogram'} Statistic */

/** Tokens that a place shows before and after it. */
const [BEFORE, AFTER] = [12, 6];

/**
 * @param {Set<Statistic>} statistics
 * @param {number} columns
 * @param {{bins: number, range?: [number, number]}} o
 * @returns {PointSums}
 */
export function emptySums(statistics, columns, { bins, range }) {
  const of = (/** @type {Statistic[]} */ ...names) => names.some((name) => statistics.has(name));
  return {
    rows: 0,
    columns,
    ...(of('mean', 'covariance') && { sum: new Float64Array(columns), squares: new Float64Array(columns) }),
    ...(of('covariance') && { products: new Float64Array(columns * columns) }),
    ...(of('top') && { top: Array.from({ length: columns }, () => []) }),
    ...(of('histogram') && { range, counts: new Float64Array(columns * bins) }),
  };
}

/**
 * Put a place into a list of the largest ones.
 * @param {ScanPlace[]} list
 * @param {ScanPlace} place
 * @param {number} most
 */
function insert(list, place, most) {
  let at = list.length;
  while (at > 0 && list[at - 1].value < place.value) at--;
  if (at >= most) return;
  list.splice(at, 0, place);
  if (list.length > most) list.pop();
}

/**
 * Add the rows of a text.
 * @param {PointSums} sums
 * @param {Float32Array} rows  [row, column]
 * @param {{text: number, ids: number[], from: number, start: number}} where  ids: of the window, whose row `from` is
 *   the first; start: position of the window in its text
 * @param {number} top  places of a column
 */
export function addRows(sums, rows, { text, ids, from, start }, top) {
  const { columns, sum, squares, products } = sums;
  const n = rows.length / columns;
  sums.rows += n;
  for (let t = 0; t < n; t++) {
    const row = rows.subarray(t * columns, (t + 1) * columns);
    if (sum && squares)
      for (let c = 0; c < columns; c++) {
        sum[c] += row[c];
        squares[c] += row[c] * row[c];
      }
    if (products)
      for (let c = 0; c < columns; c++) {
        const [x, at] = [row[c], c * columns];
        for (let k = 0; k <= c; k++) products[at + k] += x * row[k];
      }
    if (sums.counts) count(sums, row);
    for (let c = 0; sums.top && c < columns; c++) {
      const list = sums.top[c];
      if (list.length >= top && row[c] <= list[top - 1].value) continue;
      const position = t + from;
      const first = Math.max(0, position - BEFORE);
      const around = ids.slice(first, position + AFTER + 1);
      insert(list, { value: row[c], text, position: start + position, ids: around, at: position - first }, top);
    }
  }
}

/** @param {PointSums} sums @param {Float32Array} row */
function count({ counts = new Float64Array(), range = [0, 1], columns }, row) {
  const bins = counts.length / columns;
  const [low, high] = range;
  for (let c = 0; c < columns; c++) {
    const bin = Math.floor((bins * (row[c] - low)) / (high - low));
    counts[c * bins + Math.min(bins - 1, Math.max(0, bin))]++;
  }
}

/** The least and the largest of values, a little apart. @param {Float32Array} rows @returns {[number, number]} */
export function rangeOf(rows) {
  let [low, high] = [Infinity, -Infinity];
  for (const x of rows) [low, high] = [Math.min(low, x), Math.max(high, x)];
  return low < high ? [low, high] : [low - 1, high + 1];
}

/**
 * Add the sums of another batch.
 * @param {PointSums} to
 * @param {PointSums} other
 * @param {number} top
 */
export function addSums(to, other, top) {
  to.rows += other.rows;
  for (const key of /** @type {const} */ (['sum', 'squares', 'products', 'counts'])) {
    const [own, more] = [to[key], other[key]];
    if (own && more) for (let i = 0; i < own.length; i++) own[i] += more[i];
  }
  other.top?.forEach((list, c) =>
    list.forEach((place) => insert(/** @type {ScanPlace[][]} */ (to.top)[c], place, top)),
  );
}

/**
 * The statistics of sums. variance and covariance: by n - 1.
 * @param {PointSums} sums
 */
export function statisticsOf({ rows: n, columns, sum, squares, products, top, counts, range }) {
  const mean = sum && Float32Array.from(sum, (x) => x / n);
  const sums = sum ?? new Float64Array(columns);
  const centred = (/** @type {number} */ xy, /** @type {number} */ a, /** @type {number} */ b) =>
    (xy - (sums[a] * sums[b]) / n) / (n - 1);
  const covariance =
    products &&
    Float32Array.from(products, (_, i) => {
      const [a, b] = [Math.floor(i / columns), i % columns];
      return centred(a >= b ? products[i] : products[b * columns + a], a, b);
    });
  return {
    rows: n,
    ...(mean && { mean: { data: mean, shape: [columns] } }),
    ...(squares && {
      variance: { data: Float32Array.from(squares, (x, c) => centred(x, c, c)), shape: [columns] },
    }),
    ...(covariance && { covariance: { data: covariance, shape: [columns, columns] } }),
    ...(top && { top }),
    ...(counts && {
      histogram: { range, counts: { data: Float32Array.from(counts), shape: [columns, counts.length / columns] } },
    }),
  };
}
