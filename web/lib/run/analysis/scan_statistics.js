// scan_statistics.js - sums over the rows of many texts at a point: mean, covariance, strongest places, histogram.
// Statistics of several batches are added.

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
 * @property {ScanPlace[][]} [top]      strongest places of each column, the largest first
 * @property {[number, number]} [range] range of the histogram
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
export function addRows(sums, rows, where, top) {
  const { columns, sum, squares } = sums;
  const n = rows.length / columns;
  sums.rows += n;
  for (let t = 0; sum && squares && t < n; t++)
    for (let c = 0, i = t * columns; c < columns; c++, i++) {
      const x = rows[i];
      sum[c] += x;
      squares[c] += x * x;
    }
  if (sums.products) addProducts(sums.products, rows, columns);
  for (let t = 0; sums.counts && t < n; t++) count(sums, rows.subarray(t * columns, (t + 1) * columns));
  if (sums.top) addPlaces(sums.top, rows, where, top);
}

/**
 * Add the products of columns, several rows in one pass over the sums, whose order stays that of the rows.
 * @param {Float64Array} products
 * @param {Float32Array} rows
 * @param {number} columns
 */
function addProducts(products, rows, columns) {
  const together = 4 * columns;
  let i = 0;
  for (; i + together <= rows.length; i += together) {
    const [a, b, c, d] = [0, 1, 2, 3].map((t) => rows.subarray(i + t * columns, i + (t + 1) * columns));
    for (let j = 0; j < columns; j++) {
      const [at, p, q, r, s] = [j * columns, a[j], b[j], c[j], d[j]];
      for (let k = 0; k <= j; k++) products[at + k] = products[at + k] + p * a[k] + q * b[k] + r * c[k] + s * d[k];
    }
  }
  for (; i < rows.length; i += columns)
    for (let j = 0; j < columns; j++)
      for (let k = 0; k <= j; k++) products[j * columns + k] += rows[i + j] * rows[i + k];
}

/**
 * Add the places of rows to those of the largest values.
 * @param {ScanPlace[][]} lists  of each column
 * @param {Float32Array} rows
 * @param {{text: number, ids: number[], from: number, start: number}} where
 * @param {number} top
 */
function addPlaces(lists, rows, { text, ids, from, start }, top) {
  const columns = lists.length;
  /** What a value has to exceed, of each column. */
  const least = Float32Array.from(lists, (list) => (list.length < top ? -Infinity : list[top - 1].value));
  for (let i = 0, c = 0; i < rows.length; i++, c = c + 1 === columns ? 0 : c + 1) {
    if (!(rows[i] > least[c] || lists[c].length < top)) continue;
    const position = Math.floor(i / columns) + from;
    const first = Math.max(0, position - BEFORE);
    const around = ids.slice(first, position + AFTER + 1);
    insert(lists[c], { value: rows[i], text, position: start + position, ids: around, at: position - first }, top);
    if (lists[c].length === top) least[c] = lists[c][top - 1].value;
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
