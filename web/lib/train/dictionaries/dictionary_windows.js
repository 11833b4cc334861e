// dictionary_windows.js - windows of tokens of a text, and the rows that a model computes of them at a point
import { entriesOf, tooMany } from '../../base/checks.js';
import { fail, show } from '../../base/errors.js';

/** @import { Model } from '../../api/model.js' */

/** Most texts of a list. */
const MOST_TEXTS = 1e6;

/**
 * The texts: of one string those between separators <|endoftext|>.
 * @param {any} text
 * @returns {string[]}
 */
export function textsOf(text) {
  const list =
    typeof text === 'string' ? text.split('<|endoftext|>') : entriesOf(text, MOST_TEXTS, tooMany('text', MOST_TEXTS));
  const texts = list?.map((one) => (typeof one === 'string' ? one.trim() : one));
  if (!texts?.every((one) => typeof one === 'string'))
    return fail('bad-argument', `the text is ${show(text)}, expected a text or a list of texts`);
  return texts.filter(Boolean);
}

/**
 * Windows of tokens: each text, cut at the context.
 * @param {Model} model
 * @param {string[]} texts
 * @param {number} from   position of the first row of a window
 * @param {number} most   rows that are wanted
 * @returns {Promise<number[][]>}
 */
export async function windowsOf(model, texts, from, most) {
  const tokenizer = await model.tokenizer;
  if (!tokenizer) fail('no-tokenizer', 'dictionary: this model came without a tokenizer');
  /** @type {number[][]} */
  const windows = [];
  let rows = 0;
  for (const text of texts) {
    const ids = tokenizer.encode(text);
    for (let at = 0; at < ids.length && rows < most; at += model.contextLength) {
      const window = ids.slice(at, Math.min(at + model.contextLength, at + from + most - rows));
      if (window.length <= from) continue;
      windows.push(window);
      rows += window.length - from;
    }
    if (rows >= most) break;
  }
  return windows;
}

/** @param {number[][]} windows @param {number} from */
export const rowsIn = (windows, from) => windows.reduce((n, ids) => n + ids.length - from, 0);

/** @typedef {{tokens: Int32Array, x: Float32Array, y?: Float32Array, dIn: number, dOut: number}} Captured */

/**
 * The rows of windows at a point, and at another one.
 * @param {Model} model
 * @param {number[][]} windows
 * @param {{at: string, out?: string, from: number, signal?: AbortSignal}} o
 * @returns {AsyncGenerator<Captured, void, void>}
 */
export async function* captureRows(model, windows, { at, out, from, signal }) {
  for (const ids of windows) {
    const capture = out ? [at, out] : [at];
    const { captured } = await model.forward(ids, { capture, logits: 'none', signal });
    const rows = (/** @type {string} */ name) => {
      const found = captured[name] ?? fail('unknown-point', `${name}: expected the name of one point`);
      const width = found.data.length / ids.length;
      if (/hook_(attn_scores|pattern)|hook_result/.test(name) || !Number.isInteger(width))
        fail('bad-option', `${name}: a dictionary reads one row for each position`);
      return { data: found.data.slice(from * width), width };
    };
    const [x, y] = [rows(at), out ? rows(out) : undefined];
    yield {
      tokens: Int32Array.from(ids.slice(from)),
      x: x.data,
      y: y?.data,
      dIn: x.width,
      dOut: y?.width ?? x.width,
    };
  }
}
