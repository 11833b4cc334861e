// inquiry.js - what is asked of the model about the text that is there: distributions, values, how a number came
// about, what a pass costs. Attention rows: rows.js

const LOGITS_BUDGET = 128e6; // bytes of logits kept

/**
 * @param {import('./store.js').Store} store
 * @param {object} of
 * @param {() => number} of.turn grows when the text or the model changes: later answers to earlier questions are
 *   dropped
 * @param {() => any} of.reads     what an encoder-decoder is given to read
 * @param {(name: string) => boolean} of.has  whether the model has this point
 * @param {(error: unknown) => void} of.fail
 */
export function createInquiry(store, { turn, reads, has, fail }) {
  const { state, set } = store;
  /**
   * A second reader of the text, for logits on demand, and what it has read.
   * @type {{of: any, source: string, session: any, ids: number[]} | null}
   */
  let reader = null;
  let queue = Promise.resolve();
  /** @type {{of: any, key: string, rows: Promise<any[]>} | null} */
  let traced = null;

  const model = () => state.model?.api;

  /**
   * One at a time: each answer leaves the session at a known place.
   * @template T
   * @param {() => Promise<T>} task
   */
  function inTurn(task) {
    const answer = queue.then(task);
    queue = answer.then(
      () => {},
      () => {},
    );
    return answer;
  }

  /**
   * Make sure the logits after this position are in the store.
   * @param {number} position
   */
  async function wantLogits(position) {
    const mine = turn();
    if (state.model?.config.kind === 'encoder') return undefined;
    return inTurn(async () => {
      if (mine !== turn() || state.logits.has(position) || !state.tokens[position]) return;
      const api = model(),
        more = reads(),
        source = JSON.stringify(more);
      const ids = state.tokens.slice(0, position + 1).map((t) => t.id);
      let held = reader;
      if (!held || held.of !== api || held.source !== source) {
        if (held && held.of === api) await held.session.close();
        held = reader = { of: api, source, session: await api.session(more), ids: [] };
      }
      const { session, ids: read } = held;
      let same = 0;
      while (same < read.length && same < ids.length - 1 && read[same] === ids[same]) same++;
      if (same < read.length) await session.rewind(same);
      held.ids = ids;
      const row = await session.eval(ids.slice(same));
      if (mine !== turn()) return;
      if ((state.logits.size + 1) * row.length * 4 > LOGITS_BUDGET) state.logits.clear();
      state.logits.set(position, Float32Array.from(row.data ?? row));
      set({ logits: state.logits, memory: api.memory });
    }).catch((error) => {
      void reader?.session.close().catch(() => {}); // where it stands is not known
      reader = null;
      if (mine === turn()) fail(error);
    });
  }

  /**
   * Tensors of one forward pass over the whole text.
   * @param {string[]} capture
   */
  async function values(capture) {
    const known = capture.filter((name) => has(name));
    if (!known.length || !state.tokens.length) return {};
    const out = await model().forward(
      state.tokens.map((t) => t.id),
      { ...reads(), capture: known },
    );
    return out.captured;
  }

  /**
   * One number of a pass over the text, and the terms that made it.
   * @param {import('../views/inside/explanation.js').Cell} cell
   * @param {AbortSignal} signal
   */
  function explain(cell, signal) {
    if (!state.model) throw new Error('no model is loaded');
    const { causal, kind } = state.model.config;
    // what comes after a position changes nothing there; a score has a place in its row for every key, though
    const ids = state.tokens.map((t) => t.id);
    const own = causal !== false && kind !== 'encoder' && !/^encoder\.|cross_attn/.test(cell.at);
    const n = own ? Math.max(cell.position, /scores|pattern/.test(cell.at) ? (cell.index ?? 0) : 0) + 1 : ids.length;
    return model().explain(ids.slice(0, n), { ...cell, ...reads(), signal });
  }

  /** Every operation of one pass over the text, measured. */
  function trace() {
    const api = model(),
      ids = state.tokens.map((t) => t.id),
      more = reads(),
      key = JSON.stringify([ids, more]);
    let held = traced;
    if (!held || held.of !== api || held.key !== key) {
      held = traced = { of: api, key, rows: api.trace(ids, more) };
      held.rows.catch(() => {
        traced = null;
      });
    }
    return held.rows;
  }

  return { wantLogits, values, explain, trace };
}
