// attention_rows.js - gets the attention rows that the page shows: which layers are captured while a text is written,
// and passes over the text for the rows that are missing
//
// Capturing every layer takes a small model 15 to 20 % of its speed. At full speed only the layers that are shown are
// captured; the others are read when the text rests, or when they are shown. A pass over the whole text gives the same
// rows, bit for bit, as the passes that wrote it.
import { logprob } from '../../../draw/likelihood.js';
import { PATTERNS, patternOf } from '../facts/hook_points.js';
import { yielder } from '../base/yielding.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

export const LOGITS_BUDGET = 128e6; // bytes of logits in the state, at most
const PASS_BUDGET = 16e6; // bytes of logits that one pass sends to the page, at most, if the last row would do
/** Bytes of attention rows in the state, and captured in one pass, at most. */
export const PATTERN_BUDGET = 256e6;
const SMALL = 50e6; // parameters; the pass of a larger model takes so long that capturing every layer is not noticed
const EVERY_MS = 500; // between two passes for layers that are shown but not captured, while text is written

/**
 * The layers whose attention the open view shows.
 * @param {Runtime} runtime
 */
function shownLayers(runtime) {
  const { view, attention } = runtime.state;
  const { nLayers } = runtime.loaded().config;
  return view.id === 'inside' || view.id === 'write'
    ? Array.from({ length: nLayers }, (_, layer) => layer)
    : [Math.min(attention.head.layer, nLayers - 1)];
}

/** Bytes that a pass captures of one layer: without the mask's zeros it keeps half of them. @param {any} config @param {number} n */
const bytesOf = ({ nHeads }, n) => 4 * nHeads * n * n;

/**
 * What a generation that begins now captures.
 * @param {Runtime} runtime
 * @returns {string[]} points
 */
export function capturedPoints(runtime) {
  const { config, counted } = runtime.loaded();
  const eachOnce = config.kind === 'decoder' && config.causal !== false; // without the mask every row changes
  if (runtime.state.engine.pace !== 'fast' || !eachOnce || counted > SMALL) return [PATTERNS];
  return shownLayers(runtime).map((layer) => patternOf(config, layer));
}

/**
 * The positions whose logits a pass over n tokens sends to the page: with a large vocabulary the last one only.
 * @param {any} config
 * @param {number} n
 * @returns {'all' | 'last'}
 */
export const keptLogits = ({ kind, causal, vocabSize }, n) =>
  kind === 'decoder' && causal !== false && 4 * n * vocabSize > PASS_BUDGET ? 'last' : 'all';

/**
 * Put the rows of a pass into stores, layer by layer.
 * @param {Record<string, any>} captured
 * @param {import('../../../draw/pattern_store.js').PatternStore[]} stores
 * @param {() => boolean} [current]  whether the pass was over the text that is there
 * @returns {Promise<boolean>} whether it still is
 */
export async function appendRows(captured, stores, current = () => true) {
  const rest = yielder();
  /** @type {Record<string, Record<string, any>>} */
  const layers = {};
  for (const [name, tensor] of Object.entries(captured))
    (layers[/** @type {RegExpExecArray} */ (/\d+/.exec(name))[0]] ??= {})[name] = tensor;
  for (const layer of Object.values(layers)) {
    if (!current()) return false;
    for (const store of stores) store.append(layer);
    await rest();
  }
  return current();
}

/** Keep the logits of a pass over the text that were missing. @param {Runtime} runtime @param {any} out
 * @param {number} length  tokens of the pass, of which it has the logits of all or of the last */
function keepLogits({ state, set }, out, length) {
  const { logits, tokens } = state.text,
    { patterns } = state.attention;
  const [n, size] = out.logits?.shape ?? [0, 0];
  const first = length - n;
  for (let i = patterns?.causal || !n ? 0 : n - 1; i < n; i++)
    if (!logits.has(first + i)) logits.set(first + i, out.logits.data.subarray(i * size, (i + 1) * size));
  tokens.forEach((t, i) => {
    const before = logits.get(i - 1);
    if (t.logprob === null && before) t.logprob = logprob(before, t.id);
  });
  set({ text: { logits, tokens }, attention: { patterns } });
}

const running = (/** @type {Runtime} */ { state }) => state.engine.status === 'running';

/**
 * Passes over the first n tokens for the rows that these layers lack, as many layers in one as the budget allows.
 * @param {Runtime} runtime
 * @param {number} n
 * @param {number[]} layers
 * @param {() => boolean} current
 */
async function read(runtime, n, layers, current) {
  const { patterns } = runtime.state.attention;
  if (!patterns) return;
  const { config, api } = runtime.loaded();
  const lacking = layers.filter((layer) => patterns.known(layer) < n);
  const most = config.kind === 'decoder' ? Math.max(1, Math.floor(PATTERN_BUDGET / bytesOf(config, n))) : Infinity;
  const ids = runtime.ids().slice(0, n);
  while (lacking.length) {
    const some = lacking.splice(0, most).map((layer) => patternOf(config, layer));
    const capture = most < Infinity ? some : [PATTERNS];
    const out = await api.forward(ids, { ...runtime.reads(), capture, logits: keptLogits(config, ids.length) });
    if (!current() || !(await appendRows(out.captured, runtime.stores(), current))) return;
    if (running(runtime)) runtime.set({ attention: { patterns } });
    else keepLogits(runtime, out, ids.length);
  }
}

/**
 * Run `read` unless a pass over this text is on its way.
 * @param {Runtime} runtime
 * @param {number} n
 * @param {number[]} layers
 * @param {() => boolean} current
 */
async function readOnce(runtime, n, layers, current) {
  const { turn } = runtime;
  if (runtime.rowsFor === turn) return;
  runtime.rowsFor = turn;
  try {
    await read(runtime, n, layers, () => turn === runtime.turn && current());
  } catch (error) {
    if (turn === runtime.turn) runtime.fail(error);
  } finally {
    if (runtime.rowsFor === turn) runtime.rowsFor = -1;
  }
}

const everyLayer = (/** @type {Runtime} */ runtime) =>
  Array.from({ length: runtime.rows().nLayers }, (_, layer) => layer);

/** Make sure that every position has its rows; the newest token has none until the engine reads it.
 * @param {Runtime} runtime */
export async function wantRows(runtime) {
  const { patterns } = runtime.state.attention,
    { length } = runtime.state.text.tokens;
  if (running(runtime) || !patterns || patterns.length >= length) return;
  await readOnce(runtime, length, everyLayer(runtime), () => !running(runtime));
}

/** Read the rows of layers that were not captured, after the text has come to rest; of a long text those shown.
 * @param {Runtime} runtime */
export async function readAtRest(runtime) {
  const { text, attention, engine } = runtime.state;
  const n = text.tokens.length - 1;
  if (running(runtime) || !attention.patterns?.causal || !engine.model || attention.patterns.length >= n) return;
  const all = (bytesOf(engine.model.config, n) / 2) * engine.model.config.nLayers < PATTERN_BUDGET;
  await readOnce(runtime, n, all ? everyLayer(runtime) : shownLayers(runtime), () => !running(runtime));
}

/** While text is written: read the rows of layers that are shown and not captured. @param {Runtime} runtime */
export async function readShown(runtime) {
  const { patterns } = runtime.state.attention;
  const n = runtime.state.text.tokens.length - 1;
  if (!patterns?.causal || !runtime.model() || performance.now() < runtime.rowsAfter) return;
  const lacking = shownLayers(runtime).filter((layer) => patterns.known(layer) < n);
  if (!lacking.length) return;
  runtime.rowsAfter = Infinity;
  await readOnce(runtime, n, lacking, () => true);
  runtime.rowsAfter = performance.now() + EVERY_MS;
}
