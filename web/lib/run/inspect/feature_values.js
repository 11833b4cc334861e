// feature_values.js - the sparse dictionaries of a loaded model: their encoders in its engine, and what texts activate
import { closeFeatures, encodeRows, openFeatures, readFeatures } from '../../engine/dictionary_encoders.js';
import { tensorProducts } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { forwardOne } from './forward.js';
import { requireSameModel } from './model_identity.js';
import { weight } from './weight.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Hooks } from '../calls.js' */
/** @import { Encoder, FeatureRows } from '../../engine/dictionary_encoders.js' */
/** An encoder in the engine. @typedef {{address: number, encoder: Parameters<typeof readFeatures>[2]}} OpenedEncoder */

/**
 * @param {LoadedModel} model
 * @param {Encoder} encoder
 * @returns {Promise<OpenedEncoder>}
 * @throws {GlassformerError} `bad-option` for a dictionary that was made from another model
 */
export async function open(model, encoder) {
  const { name, table, config } = model;
  const here = {
    name,
    rows: table.rows,
    dModel: config.d_model,
    values: (/** @type {string} */ of) => weight(model, of),
  };
  await requireSameModel(here, encoder.origin, 'bad-option');
  const { d, size, k, from, norm, table: means, origin } = encoder;
  const spec = { d, size, k, from, norm, vocabSize: means ? means.length / d : 0, origin };
  return { address: openFeatures(model.engine, encoder), encoder: spec };
}

/**
 * The encoders that edits name, in f32, by the numbers of their dictionaries.
 * @param {LoadedModel} model
 * @param {import('./edits.js').Edit[]} edits
 * @returns {Promise<Map<number, Encoder>>}
 */
export async function encodersOf(model, edits) {
  /** @type {Map<number, Encoder>} */
  const found = new Map();
  for (const { direction, dictionary: id = 0 } of edits) {
    if (!direction || found.has(id)) continue;
    const { address, encoder } = await model.dictionary(id);
    found.set(id, readFeatures(model.engine, address, encoder));
  }
  return found;
}

/** @param {LoadedModel} model @param {OpenedEncoder} opened */
export function close(model, { address }) {
  closeFeatures(model.engine, address);
}

/**
 * What an input activates.
 * @param {LoadedModel} model
 * @param {number} id  of the dictionary
 * @param {any} input
 * @param {{at: string, addSpecialTokens?: boolean}} o
 * @param {Hooks} hooks
 * @returns {Promise<{ids: number[]} & FeatureRows>}
 */
export async function encodeFeatures(model, id, input, { at, addSpecialTokens }, { signal }) {
  const { address, encoder } = await model.dictionary(id);
  const ids = model.ids(input, 'input', addSpecialTokens);
  const options = { capture: [at], logits: 'none' };
  const { captured } = await forwardOne(model, ids, options, new Yielder(signal));
  const { data, shape } = captured[at];
  if (data.length !== ids.length * encoder.d)
    fail('bad-option', `${at} has the shape [${shape}], the dictionary reads rows of ${encoder.d}`);
  return { ids, ...encodeRows(model.engine, address, encoder, data, ids) };
}

/** Rows of the head whose products are computed before the event loop runs. */
const TOGETHER = 4096;

/**
 * The tokens whose logits a direction of the residual stream raises most and lowers most, by the final norm's gain and
 * the head.
 * @param {LoadedModel} model
 * @param {Float32Array} direction  [d_model]
 * @param {number} n  tokens of each, at most
 * @param {Hooks} hooks
 * @returns {Promise<Record<'promoted' | 'suppressed', {id: number, logit: number}[]>>} empty where the model has no
 *   head that reads the stream and gives a logit to each token
 */
export async function directionTokens(model, direction, n, { signal }) {
  const c = model.config,
    head = model.table.rows.findIndex(({ name }) => name === 'head.weight'),
    [rows, cols] = model.table.rows[head]?.shape ?? [];
  /** @type {{id: number, logit: number}[]} */
  const promoted = [];
  /** @type {{id: number, logit: number}[]} */
  const suppressed = [];
  if (rows !== c.vocab_size || cols !== direction.length) return { promoted, suppressed };
  const gain = c.final_norm && c.use_final_norm && c.norm_gain ? weight(model, 'final_norm.weight') : null;
  const mean = c.norm === 'layernorm' ? direction.reduce((a, b) => a + b, 0) / cols : 0;
  const read = direction.map((x, i) => (x - mean) * (gain ? gain[i] : 1));
  const yielder = new Yielder(signal);
  for (let from = 0; from < rows; from += TOGETHER) {
    await yielder.yieldIfDue();
    const logits = tensorProducts(model.engine, head, from, Math.min(TOGETHER, rows - from), read, 1);
    logits.forEach((logit, i) => {
      keep(promoted, n, from + i, logit, 1);
      keep(suppressed, n, from + i, logit, -1);
    });
  }
  return { promoted, suppressed };
}

/**
 * Keeps the n tokens with the largest sign * logit, the largest first, of equal ones the first.
 * @param {{id: number, logit: number}[]} list
 * @param {number} n
 * @param {number} id
 * @param {number} logit
 * @param {1 | -1} sign
 */
function keep(list, n, id, logit, sign) {
  const above = (/** @type {number} */ i) => sign * (logit - list[i].logit) > 0;
  if (list.length === n && (n === 0 || !above(n - 1))) return;
  let at = list.length;
  while (at > 0 && above(at - 1)) at--;
  list.splice(at, 0, { id, logit });
  if (list.length > n) list.pop();
}
