// rows.js - the attention rows that the page shows: which layers are captured while a text is written, and passes over
// the text for the rows that are missing.
//
// Capturing every layer takes a small model 15 to 20 % of its speed. At full speed only the layers that are shown are
// captured; the others are read when the text rests, or when they are shown. A pass over the whole text gives the same
// rows, bit for bit, as the passes that wrote it.

import { breather } from './breath.js';
import { logprob } from './likelihood.js';
import { PATTERNS, patternOf } from './points.js';

const LOGITS_BUDGET = 128e6; // bytes of logits kept
/** Bytes of attention rows kept, and captured in one pass. */
export const PATTERN_BUDGET = 256e6;
const SMALL = 50e6; // parameters; the pass of a larger model takes so long that capturing every layer is not noticed
const EVERY_MS = 500; // between two passes for layers that are shown but not captured, while text is written

/**
 * The layers whose attention the open view shows.
 * @param {import('./store.js').State} state
 */
function shownLayers({ view, head, model }) {
  const { nLayers } = /** @type {import('./store.js').LoadedModel} */ (model).config;
  return view === 'inside' ? Array.from({ length: nLayers }, (_, layer) => layer) : [Math.min(head.layer, nLayers - 1)];
}

/** Bytes that a pass captures of one layer: without the mask's zeros it keeps half of them. @param {any} config @param {number} n */
const bytesOf = ({ nHeads }, n) => 4 * nHeads * n * n;

/**
 * What a generation that begins now captures.
 * @param {import('./store.js').State} state
 * @returns {string[]} points
 */
export function capturedPoints(state) {
  const { config, counted } = /** @type {import('./store.js').LoadedModel} */ (state.model);
  const eachOnce = config.kind === 'decoder' && config.causal !== false; // without the mask every row changes
  if (state.pace !== 'fast' || !eachOnce || counted > SMALL) return [PATTERNS];
  return shownLayers(state).map((layer) => patternOf(config, layer));
}

/**
 * @param {import('./store.js').Store} store
 * @param {object} of
 * @param {() => number} of.turn  grows when the text or the model changes: later answers to earlier questions are dropped
 * @param {() => any} of.reads    what an encoder-decoder is given to read
 * @param {(error: unknown) => void} of.fail
 */
export function createRows({ state, set }, { turn, reads, fail }) {
  let rowsFor = -1; // the text of a pass on its way, by its turn
  let nextAt = 0; // earliest time of another pass while text is written

  const running = () => state.status === 'running';

  /**
   * Put the rows of a pass into the stores, layer by layer.
   * @param {Record<string, any>} captured
   * @param {() => boolean} current  whether the pass was over the text that is there
   * @returns {Promise<boolean>} whether it still is
   */
  async function keep(captured, current) {
    const rest = breather();
    /** @type {Record<string, Record<string, any>>} */
    const layers = {};
    for (const [name, tensor] of Object.entries(captured))
      (layers[/** @type {RegExpExecArray} */ (/\d+/.exec(name))[0]] ??= {})[name] = tensor;
    for (const layer of Object.values(layers)) {
      if (!current() || !state.patterns) return false;
      for (const p of [state.patterns, ...Object.values(state.otherPatterns ?? {})]) p.append(layer);
      await rest();
    }
    return current();
  }

  /** Keep the logits of a pass over the whole text that were missing. @param {any} out */
  function keepLogits(out) {
    const { patterns, logits, tokens } = state;
    const [n, size] = out.logits?.shape ?? [0, 0];
    if (n * size * 4 < LOGITS_BUDGET) {
      for (let p = patterns?.causal || !n ? 0 : n - 1; p < n; p++)
        if (!logits.has(p)) logits.set(p, out.logits.data.subarray(p * size, (p + 1) * size));
    }
    tokens.forEach((t, i) => {
      const before = logits.get(i - 1);
      if (t.logprob === null && before) t.logprob = logprob(before, t.id);
    });
    set({ patterns, logits, tokens });
  }

  /**
   * Passes over the first n tokens for the rows that these layers lack, as many layers in one as the budget allows.
   * @param {number} n
   * @param {number[]} layers
   * @param {() => boolean} current
   */
  async function read(n, layers, current) {
    const { patterns, model } = state;
    if (!patterns || !model) return;
    const { config, api } = model;
    const lacking = layers.filter((layer) => patterns.known(layer) < n);
    const most = config.kind === 'decoder' ? Math.max(1, Math.floor(PATTERN_BUDGET / bytesOf(config, n))) : Infinity;
    const ids = state.tokens.slice(0, n).map((t) => t.id);
    while (lacking.length) {
      const some = lacking.splice(0, most).map((layer) => patternOf(config, layer));
      const out = await api.forward(ids, { ...reads(), capture: most < Infinity ? some : [PATTERNS] });
      if (!current() || !(await keep(out.captured, current))) return;
      if (running()) set({ patterns });
      else keepLogits(out);
    }
  }

  /**
   * Run `read` unless a pass over this text is on its way.
   * @param {number} n
   * @param {number[]} layers
   * @param {() => boolean} current
   */
  async function readOnce(n, layers, current) {
    const mine = turn();
    if (rowsFor === mine) return;
    rowsFor = mine;
    try {
      await read(n, layers, () => mine === turn() && current());
    } catch (error) {
      if (mine === turn()) fail(error);
    } finally {
      if (rowsFor === mine) rowsFor = -1;
    }
  }

  const everyLayer = () => Array.from({ length: state.patterns?.nLayers ?? 0 }, (_, layer) => layer);

  /** Make sure that every position has its rows; the newest token has none until the engine reads it. */
  async function wantRows() {
    const { patterns, tokens } = state;
    if (running() || !patterns || patterns.length >= tokens.length) return;
    await readOnce(tokens.length, everyLayer(), () => !running());
  }

  /** Read the rows of layers that were not captured, after the text has come to rest; of a long text those shown. */
  async function readAtRest() {
    const { patterns, tokens, model } = state;
    const n = tokens.length - 1;
    if (running() || !patterns?.causal || !model || patterns.length >= n) return;
    const all = (bytesOf(model.config, n) / 2) * model.config.nLayers < PATTERN_BUDGET;
    await readOnce(n, all ? everyLayer() : shownLayers(state), () => !running());
  }

  /** While text is written: read the rows of layers that are shown and not captured. */
  async function readShown() {
    const { patterns, tokens, model } = state;
    const n = tokens.length - 1;
    if (!patterns?.causal || !model || performance.now() < nextAt) return;
    const lacking = shownLayers(state).filter((layer) => patterns.known(layer) < n);
    if (!lacking.length) return;
    nextAt = Infinity;
    await readOnce(n, lacking, () => true);
    nextAt = performance.now() + EVERY_MS;
  }

  return { wantRows, readAtRest, readShown };
}
