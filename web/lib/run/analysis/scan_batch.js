// scan_batch.js - a batch of texts at some points: their rows, or what is kept of them
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { addRows, emptySums, rangeOf } from './scan_statistics.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Sequence } from '../sequence.js' */
/** @import { PointSums, Statistic } from './scan_statistics.js' */
/** A piece of a text that the context holds. start: its position in the text
 * @typedef {{text: number, start: number, ids: number[]}} Window */
/**
 * What a batch gives. values: of each window and point, [row, column]; sums: of each point
 * @typedef {object} ScanBatch
 * @property {number} tokens
 * @property {{text: number, start: number, ids: number[], values: Record<string, Tensor>}[]} windows
 * @property {Record<string, PointSums>} sums
 */

/**
 * The windows of texts: each cut at the context.
 * @param {LoadedModel} model
 * @param {any[]} texts
 * @param {Record<string, any>} o  first: number of the first text; from: the first position whose row counts
 */
function windowsOf(model, texts, { first, from, addSpecialTokens }) {
  /** @type {Window[]} */
  const windows = [];
  for (const [i, text] of texts.entries()) {
    const ids = model.ids(text, `text ${first + i}`, addSpecialTokens);
    for (let start = 0; start < ids.length; start += model.contextLength) {
      const part = ids.slice(start, start + model.contextLength);
      if (part.length > from) windows.push({ text: first + i, start, ids: part });
    }
  }
  return windows;
}

/**
 * Runs windows in one session.
 * @param {Sequence} sequence
 * @param {Window[]} windows
 * @param {boolean} isWhole  whether the rows of a window are wanted together, and not those of each pass
 * @param {Yielder} yielder
 * @param {(window: Window, first: number, captured: Record<string, Tensor>) => void} take  first: the first row's index
 *   in the window
 */
async function runWindows(sequence, windows, isWhole, yielder, take) {
  const isEncoder = sequence.model.config.kind === 'encoder';
  if (!isEncoder) sequence.stopAfterCaptures();
  for (const window of windows) {
    const taken = (first = 0) => take(window, first, sequence.takeCaptured() ?? {});
    if (isEncoder) sequence.encodeOnly(window.ids, null);
    else {
      sequence.session.rewind(0);
      await sequence.prefill(window.ids, yielder, isWhole ? undefined : taken);
    }
    if (isEncoder || isWhole) taken();
    await yielder.yieldIfDue();
  }
}

/**
 * The chosen columns of rows.
 * @param {Float32Array} rows  [row, width]
 * @param {number} width
 * @param {number[] | null} index  null: all
 * @param {string} name
 */
function columnsOf(rows, width, index, name) {
  if (!index) return rows;
  const wrong = index.find((i) => i >= width);
  if (wrong !== undefined) fail('bad-option', `index is ${wrong}, a row of ${name} has ${width} values`);
  const out = new Float32Array((rows.length / width) * index.length);
  for (let i = 0; i < out.length; i++) out[i] = rows[Math.floor(i / index.length) * width + index[i % index.length]];
  return out;
}

/**
 * @param {LoadedModel} model
 * @param {any[]} texts
 * @param {{at: string[], statistic: Statistic[], values: boolean, index: number[] | null, from: number, first: number,
 *   top: number, bins: number, range?: [number, number], ranges: Record<string, [number, number]>,
 *   addSpecialTokens?: boolean, edits?: import('../inspect/edits.js').Edit[]}} o
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<ScanBatch>}
 */
export async function scanTexts(model, texts, o, { signal }) {
  if (model.config.kind === 'encoder_decoder') fail('unsupported', 'scan of an encoder_decoder is not implemented');
  const yielder = new Yielder(signal);
  const points = await model.points();
  const odd = points.match(o.at).find(({ axes }) => 'SPC'.includes(axes));
  if (odd) fail('bad-option', `${odd.name} has no row for each position`);
  const windows = windowsOf(model, texts, o);
  const longest = Math.max(0, ...windows.map(({ ids }) => ids.length));
  const options = { capture: o.at, edits: o.edits, captureBudget: Infinity };
  const sequence = await model.openSequence(options, longest, undefined, yielder);
  /** @type {ScanBatch} */
  const batch = { tokens: 0, windows: [], sums: {} };
  const statistics = new Set(o.statistic);
  // The range of a histogram is that of a text.
  const isWhole = o.values || (statistics.has('histogram') && !o.range);
  try {
    await runWindows(sequence, windows, isWhole, yielder, (window, first, captured) => {
      /** @type {Record<string, Tensor>} */
      const values = {};
      const skipped = Math.max(0, o.from - first);
      for (const [name, { data, shape }] of Object.entries(captured)) {
        const width = data.length / shape[0];
        const rows = columnsOf(data.subarray(skipped * width), width, o.index, name);
        const columns = o.index?.length ?? width;
        if (o.values) values[name] = { data: rows.slice(), shape: [shape[0] - skipped, columns] };
        if (!statistics.size) continue;
        const range = o.range ?? o.ranges[name] ?? (statistics.has('histogram') ? rangeOf(rows) : undefined);
        const sums = (batch.sums[name] ??= emptySums(statistics, columns, { bins: o.bins, range }));
        addRows(sums, rows, { ...window, from: first + skipped }, o.top);
      }
      if (o.values) batch.windows.push({ ...window, values });
    });
    for (const { ids } of windows) batch.tokens += ids.length;
    return batch;
  } finally {
    sequence.close();
  }
}
