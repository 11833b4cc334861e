// active_features.js - where the features of a dictionary are active in texts: their contexts, densities, histograms

/** @import { FeatureRows } from '../../engine/dictionary_encoders.js' */
/**
 * A place where a feature is active. quantile: the share of the places where it is active that have at most this value;
 * values: of all tokens shown
 * @typedef {{value: number, quantile: number, window: number, position: number, at: number,
 *   tokens: {id: number, text: string, value: number}[]}} FeatureContext
 */

/** Tokens that a context shows before and after the place. */
const [BEFORE, AFTER] = [14, 6];
/** Parts of the range of activation from which contexts are taken beside the strongest, and how many of each. */
const QUANTILES = [0.9, 0.7, 0.5, 0.3, 0.1];
const EACH = 2;
const BINS = 24;

/** The entries of all features of a text, by feature. */
export class ActiveFeatures {
  /** The index of each feature's first entry. */
  #start;
  /** The row of each entry, and its value. */
  #row;
  #value;
  /** The first row of each window, and the number of all. @type {number[]} */
  #first = [0];

  /**
   * @param {number[][]} windows  tokens
   * @param {number} from         position of the first row of a window
   * @param {number} size         features
   * @param {number} n            entries, at most
   * @param {(add: (row: number, feature: number, value: number) => void) => void} each  calls add twice for each entry
   */
  constructor(windows, from, size, n, each) {
    this.windows = windows;
    this.from = from;
    for (const ids of windows) this.#first.push(/** @type {number} */ (this.#first.at(-1)) + ids.length - from);
    const count = new Int32Array(size + 1);
    each((_, feature) => count[feature + 1]++);
    for (let i = 0; i < size; i++) count[i + 1] += count[i];
    this.#start = count;
    this.#row = new Int32Array(n);
    this.#value = new Float32Array(n);
    const next = count.slice();
    each((row, feature, value) => {
      const at = next[feature]++;
      this.#row[at] = row;
      this.#value[at] = value;
    });
  }

  /**
   * Statistics of the rows that a dictionary was trained on.
   * @param {number[][]} windows
   * @param {number} from
   * @param {number} size
   * @param {number} k
   * @param {{index: Int32Array, z: Float32Array}} active  [rows, k], -1 after the last of a row
   */
  static ofRows(windows, from, size, k, { index, z }) {
    return new ActiveFeatures(windows, from, size, index.length, (add) => {
      for (let e = 0; e < index.length; e++) if (index[e] >= 0) add(Math.floor(e / k), index[e], z[e]);
    });
  }

  /**
   * @param {number[][]} windows
   * @param {number} from
   * @param {number} size
   * @param {FeatureRows[]} found  of each window, from its first position on
   */
  static ofWindows(windows, from, size, found) {
    const n = found.reduce((sum, { index }) => sum + index.length, 0);
    return new ActiveFeatures(windows, from, size, n, (add) => {
      let row = 0;
      for (const { start, index, value } of found)
        for (let t = from; t + 1 < start.length; t++, row++)
          for (let e = start[t]; e < start[t + 1]; e++) add(row, index[e], value[e]);
    });
  }

  /** Rows of the text. */
  get rows() {
    return /** @type {number} */ (this.#first.at(-1));
  }

  /**
   * How often each feature is active, as a share of the rows.
   * @returns {Float32Array}
   */
  densities() {
    const size = this.#start.length - 1;
    return Float32Array.from({ length: size }, (_, i) => (this.#start[i + 1] - this.#start[i]) / this.rows);
  }

  /**
   * @param {number} feature
   * @param {number} contexts  of the strongest places; others come from the rest of the range
   * @param {(id: number) => string} text  of a token
   */
  describe(feature, contexts, text) {
    const [first, end] = [this.#start[feature], this.#start[feature + 1]];
    const entries = Array.from({ length: end - first }, (_, i) => first + i);
    entries.sort((a, b) => this.#value[b] - this.#value[a] || a - b);
    const n = entries.length;
    const most = n ? this.#value[entries[0]] : 0;
    const counts = new Array(BINS).fill(0);
    for (const e of entries) counts[Math.min(BINS - 1, Math.floor((this.#value[e] / most) * BINS))]++;
    const chosen = entries.slice(0, contexts);
    for (const quantile of QUANTILES)
      for (let i = 0; i < EACH; i++) {
        const at = Math.floor((1 - quantile) * n) + i;
        if (at >= contexts && at < n) chosen.push(entries[at]);
      }
    const rank = new Map(entries.map((e, i) => [e, i]));
    return {
      count: n,
      density: n / this.rows,
      histogram: { most, counts },
      contexts: chosen.map((e) => this.#context(feature, e, 1 - /** @type {number} */ (rank.get(e)) / n, text)),
    };
  }

  /**
   * @param {number} feature
   * @param {number} entry
   * @param {number} quantile
   * @param {(id: number) => string} text
   * @returns {FeatureContext}
   */
  #context(feature, entry, quantile, text) {
    const row = this.#row[entry];
    let [low, high] = [0, this.windows.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#first[middle] <= row) low = middle;
      else high = middle - 1;
    }
    const ids = this.windows[low];
    const position = row - this.#first[low] + this.from;
    const start = Math.max(0, position - BEFORE);
    const values = new Map();
    for (let e = this.#start[feature]; e < this.#start[feature + 1]; e++) values.set(this.#row[e], this.#value[e]);
    const tokens = ids.slice(start, position + AFTER + 1).map((id, i) => ({
      id,
      text: text(id),
      value: values.get(row - position + start + i) ?? 0,
    }));
    return { value: this.#value[entry], quantile, window: low, position, at: position - start, tokens };
  }
}
