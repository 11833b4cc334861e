/// <reference lib="esnext.disposable" preserve="true" />
// scan.js - the public class Scan: thousands of texts at some points of a model, in batches
import { fail, guardedAsync, messageOf, show } from '../base/errors.js';
import { originOf } from './origins.js';
import { withJson } from './tensor_json.js';

/** @import { Edit, Ids, Model, Tensor } from './index.js' */
/** @import { ScanPlace, Statistic } from '../run/analysis/scan_statistics.js' */
/**
 * @typedef {object} ScanOptions
 * @property {string | readonly string[]} at   names of points; `*` matches anything
 * @property {Statistic | readonly Statistic[]} [statistic]  what is kept of the rows: mean (with the variance),
 *   covariance, top: the strongest places of each column, histogram; without it each step has the values
 * @property {boolean} [values]  whether each step has the values; default: without a statistic
 * @property {number | readonly number[]} [index]  columns of the rows, such as neurons; default: all
 * @property {number} [from]     the first position whose row counts; default 0
 * @property {number} [top]      places of each column; default 10
 * @property {number} [bins]     number of bins of the histogram; default 50
 * @property {readonly [number, number]} [range]  range of the histogram; values outside count in its first or last bin;
 *   default: of the first text
 * @property {number} [batch]    characters or ids of a step, at least one text; default 65536
 * @property {readonly Edit[]} [edits]
 * @property {boolean} [addSpecialTokens]  default true
 * @property {AbortSignal} [signal]
 */
/**
 * A step of a scan. windows: with the values, one for each text, or for each piece of a text that is longer than the
 * context; text: its number; start: position of its first token in the text; values: by point, [row, column], from the
 * position `from` on
 * @typedef {{texts: number, tokens: number,
 *   windows: {text: number, start: number, ids: number[], values: Record<string, Tensor>}[]}} ScanStep
 */
/**
 * What is known of a point. variance, covariance: by n - 1; top: of each column; histogram: counts [column, bin]
 * @typedef {{rows: number, mean?: Tensor, variance?: Tensor, covariance?: Tensor, top?: ScanPlace[][],
 *   histogram?: {range: [number, number], counts: Tensor}}} PointStatistics
 */
/** @typedef {{texts: number, tokens: number, points: Record<string, PointStatistics>}} ScanResult */

/**
 * A scan, made by `scan`: an async iterator of its steps. Leaving the loop ends it.
 * @implements {AsyncIterableIterator<ScanStep>}
 */
export class Scan {
  #steps;
  #signal;
  /** @type {ScanResult | null} */
  #result = null;

  /**
   * Called by scan.
   * @ignore
   * @param {Model} model
   * @param {any} texts
   * @param {any} options
   */
  constructor(model, texts, options) {
    this.#signal = options?.signal;
    this.#steps = run(model, texts, options);
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<ScanStep, undefined>>} */
  async next() {
    const { done, value } = await guardedAsync(() => this.#steps.next(), this.#signal);
    if (!done) return { done, value };
    if (value) this.#result = value;
    return { done: true, value: undefined };
  }

  /** @returns {Promise<IteratorResult<ScanStep, undefined>>} */
  async return() {
    await this.#steps.return(/** @type {any} */ (undefined));
    return { done: true, value: undefined };
  }

  /**
   * Scan to the end, where that has not happened yet.
   * @returns {Promise<ScanResult>}
   * @throws {GlassformerError} `bad-state` after the loop was left before the end
   */
  async result() {
    while (!(await this.next()).done);
    return this.#result ?? fail('bad-state', 'the scan was ended before it was done');
  }
}

/**
 * @param {Model} model
 * @param {any} texts
 * @param {any} options
 * @returns {AsyncGenerator<ScanStep, ScanResult, void>}
 */
async function* run(model, texts, options) {
  const { scanOptions } = await import('./input/research_options.js');
  const { addSums, statisticsOf } = await import('../run/analysis/scan_statistics.js');
  if (typeof model?.scanTexts !== 'function') fail('bad-argument', `model is ${show(model)}, expected a loaded model`);
  const { Sha256 } = await import('../files/transfer/sha256.js');
  const { batch: most, signal, ...o } = scanOptions(options);
  if (typeof texts === 'string' || !(texts?.[Symbol.iterator] || texts?.[Symbol.asyncIterator]))
    fail('bad-argument', `the texts are ${show(texts)}, expected a list or an iterator of texts or ids`);
  /** @type {Record<string, import('../run/analysis/scan_statistics.js').PointSums>} */
  const sums = {};
  let [count, tokens] = [0, 0];
  const sha = new Sha256(); // sum of all texts in UTF-8, ids with commas between them, each with a zero byte behind it
  const scanned = async (/** @type {any[]} */ list) => {
    const known = Object.fromEntries(Object.entries(sums).map(([name, { range }]) => [name, range]));
    const found = await model.scanTexts(list, { ...o, first: count, ranges: known }, signal);
    for (const [name, own] of Object.entries(found.sums))
      if (sums[name]) addSums(sums[name], own, o.top);
      else sums[name] = own;
    for (const { ids, values } of found.windows) withJson(values, originOf(model, 'scan', ids, options));
    for (const text of list)
      sha.update(new TextEncoder().encode(`${typeof text === 'string' ? text : Array.from(text)}\0`));
    count += list.length;
    tokens += found.tokens;
    return { texts: count, tokens, windows: found.windows };
  };
  /** @type {any[]} */
  let list = [];
  let size = 0;
  for await (const text of iterated(texts)) {
    const length = text?.length ?? 0;
    if (list.length && size + length > most) {
      yield await scanned(list);
      [list, size] = [[], 0];
    }
    list.push(text);
    size += length;
  }
  if (list.length) yield await scanned(list);
  const points = Object.fromEntries(Object.entries(sums).map(([name, own]) => [name, statisticsOf(own)]));
  const origin = originOf(model, 'scan', { texts: count, tokens, sha256: sha.digest() }, options);
  return { texts: count, tokens, points: withJson(/** @type {ScanResult['points']} */ (points), origin) };
}

/**
 * The texts, whose iterator may throw.
 * @param {any} texts
 */
async function* iterated(texts) {
  try {
    yield* texts;
  } catch (error) {
    fail('callback', `the iterator of texts threw: ${messageOf(error)}`, error);
  }
}
