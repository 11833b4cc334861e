// ask_model.js - asks the model about the present text: distributions, values, how a number was computed, what a pass
// costs
import { prepare } from '../../../draw/likelihood.js';
import { yielder } from '../base/yielding.js';
import { sameRule } from '../facts/sampler_options.js';
import { LOGITS_BUDGET } from './attention_rows.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

/**
 * The session that reads beside the text, of this model and source. @param {Runtime} runtime */
async function readerOf(runtime) {
  const api = runtime.model(),
    reads = runtime.reads(),
    source = JSON.stringify(reads);
  const held = runtime.reader;
  if (held && held.api === api && held.source === source) return held;
  if (held && held.api === api) await held.session.close();
  return (runtime.reader = { api, source, session: await api.session(reads), ids: [] });
}

/**
 * Read the logits after this position, from where the session's text and the page's part.
 * @param {Runtime} runtime
 * @param {number} position
 * @param {number} turn
 */
async function readLogits(runtime, position, turn) {
  const { logits, tokens } = runtime.state.text;
  if (turn !== runtime.turn || logits.has(position) || !tokens[position]) return;
  const ids = runtime.ids().slice(0, position + 1);
  const reader = await readerOf(runtime);
  const { api, session, ids: read } = reader;
  let same = 0;
  while (same < read.length && same < ids.length - 1 && read[same] === ids[same]) same++;
  if (same < read.length) await session.rewind(same);
  reader.ids = ids;
  const row = await session.eval(ids.slice(same));
  if (turn !== runtime.turn) return;
  const kept = (row.data ?? row).slice();
  if ((logits.size + 1) * row.length * 4 > LOGITS_BUDGET) logits.clear();
  await prepare(kept, runtime.state.sampler.temperature, yielder());
  if (turn !== runtime.turn) return;
  logits.set(position, kept);
  runtime.set({ text: { logits }, engine: { memory: api.memory } });
}

/**
 * Make sure the logits after this position are in the state. One question at a time: each leaves the session at a known
 * place.
 * @param {Runtime} runtime
 * @param {number} position
 */
export async function wantLogits(runtime, position) {
  const { turn } = runtime;
  if (runtime.state.engine.model?.config.kind === 'encoder') return;
  runtime.questions = runtime.questions
    .then(() => readLogits(runtime, position, turn))
    .catch((error) => {
      void runtime.reader?.session.close().catch(() => {}); // where it stands is not known
      runtime.reader = null;
      if (turn === runtime.turn) runtime.fail(error);
    });
  await runtime.questions;
}

/**
 * Ask for the sampler's probabilities after this position, where its logits are known. A running text does not delay
 * the answer: the engine gives it between two steps.
 * @param {Runtime} runtime
 * @param {number} position
 * @param {import('../facts/sampler_options.js').Rule} rule
 */
export async function wantSampled(runtime, position, rule) {
  const { state, set, turn } = runtime,
    { logits, sampled } = state.text,
    row = logits.get(position);
  if (!row || (sampled?.row === row && sameRule(sampled.rule, rule))) return;
  try {
    const probabilities = await runtime.model().distribution(row, rule);
    if (turn === runtime.turn) set({ text: { sampled: { row, rule, probabilities } } });
  } catch (error) {
    if (turn === runtime.turn) runtime.fail(error);
  }
}

/**
 * Tensors of one forward pass over the whole text.
 * @param {Runtime} runtime
 * @param {string[]} capture
 */
export async function values(runtime, capture) {
  const known = capture.filter(runtime.has),
    ids = runtime.ids();
  if (!known.length || !ids.length) return {};
  return (await runtime.model().forward(ids, { ...runtime.reads(), capture: known, logits: 'none' })).captured;
}

/**
 * One number of a pass over the text, and the terms that made it.
 * @param {Runtime} runtime
 * @param {import('../../views/inside/explanation_table.js').Cell} cell
 * @param {AbortSignal} signal
 */
export function explain(runtime, cell, signal) {
  const { causal, kind } = runtime.loaded().config;
  // what comes after a position changes nothing there; a score has a place in its row for every key, though
  const ids = runtime.ids();
  const own = causal !== false && kind !== 'encoder' && !/^encoder\.|cross_attn/.test(cell.at);
  const n = own ? Math.max(cell.position, /scores|pattern/.test(cell.at) ? (cell.index ?? 0) : 0) + 1 : ids.length;
  return runtime.model().explain(ids.slice(0, n), { ...cell, ...runtime.reads(), signal });
}

const [LEAST, PASSES, PASSES_MS] = [3, 40, 250]; // passes that measure a text, or as many as fit into this time

/**
 * The mean time of each operation over several passes. The first pass is cold, and the slowest quarter was interrupted:
 * they do not count. A clock of 0.1 ms, which a page without isolation has, is wrong for one pass and right in the mean.
 * @param {any} api @param {number[]} ids @param {object} reads
 */
async function meanTimes(api, ids, reads) {
  await api.trace(ids, reads);
  const end = performance.now() + PASSES_MS;
  /** @type {{ ms: number }[][]} */
  const passes = [];
  while (passes.length < LEAST || (passes.length < PASSES && performance.now() < end))
    passes.push(await api.trace(ids, reads));
  const whole = (/** @type {{ ms: number }[]} */ rows) => rows.reduce((sum, { ms }) => sum + ms, 0);
  passes.sort((a, b) => whole(a) - whole(b));
  const kept = passes.slice(0, Math.ceil(0.75 * passes.length));
  return kept[0].map((row, at) => ({ ...row, ms: kept.reduce((sum, rows) => sum + rows[at].ms, 0) / kept.length }));
}

/** Every operation of a pass over the text, measured warm. @param {Runtime} runtime */
export function trace(runtime) {
  const api = runtime.model(),
    ids = runtime.ids(),
    reads = runtime.reads(),
    key = JSON.stringify([ids, reads]);
  if (runtime.traced?.api === api && runtime.traced?.key === key) return runtime.traced.rows;
  const rows = meanTimes(api, ids, reads);
  rows.catch(() => {
    runtime.traced = null;
  });
  runtime.traced = { api, key, rows };
  return rows;
}
