// session_table.js - the sequences of the caller's Session objects (../session.js), by number
import { Yielder } from '../base/event_loop.js';
import { numberInRange } from '../input/options.js';
import { fail } from '../base/errors.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./loaded_model.js').Hooks} Hooks */
/**
 * ids: all tokens of the session; a model with bidirectional attention runs them again in each eval.
 * @typedef {{sequence: import('./sequence.js').Sequence, ids: number[]}} Entry
 */

/** Its methods are called by Session through messages; their results can be posted. */
export class SessionTable {
  /** @type {Map<number, Entry>} */
  #entries = new Map();
  #lastId = 0;

  /** @param {LoadedModel} model */
  constructor(model) {
    this.model = model;
  }

  /** @param {Entry} entry */
  #add(entry) {
    this.#entries.set(++this.#lastId, entry);
    return { session: this.#lastId, ...sizes(entry) };
  }

  /**
   * @param {number} id
   * @returns {Entry}
   */
  #get(id) {
    return this.#entries.get(id) ?? fail('bad-state', 'the session was closed');
  }

  /**
   * Open a session.
   * @param {Record<string, any>} options
   * @param {Hooks} hooks
   */
  async open(options, { signal }) {
    this.model.requireDecoder('session');
    const o = { ...options };
    if (o.source !== undefined) o.source = this.model.ids(o.source, 'source');
    const sequence = await this.model.openSequence(o);
    try {
      await sequence.encodeSource(o, new Yielder(signal));
    } catch (error) {
      sequence.close();
      throw error;
    }
    return this.#add({ sequence, ids: [] });
  }

  /**
   * Run tokens in a session. After an error the session is unchanged.
   * @param {number} id  of the session
   * @param {any} input  text or ids
   * @param {Hooks} hooks
   */
  async eval(id, input, { signal }) {
    const entry = this.#get(id);
    const { sequence } = entry;
    const { session } = sequence;
    const { causal, vocab_size: v } = this.model.config;
    const ids = this.model.ids(input, 'input', session.length === 0);
    const before = session.length;
    if (before + ids.length > session.context) {
      fail(
        'context-full',
        `the session holds ${before} positions and the input has ${ids.length} tokens, ` +
          `the context holds ${session.context}`,
      );
    }
    const all = [...entry.ids, ...ids];
    let logits = new Float32Array(0);
    try {
      if (!causal) session.rewind(0);
      await sequence.prefill(causal ? ids : all, new Yielder(signal), (_, n) => {
        logits = session.logits(n - 1, 1, v);
      });
    } catch (error) {
      // Restore the state before this call.
      session.rewind(causal ? before : 0);
      if (!causal && before) session.eval(entry.ids);
      sequence.takeCaptured();
      throw error;
    }
    entry.ids = all;
    return { logits, captured: sequence.takeCaptured() ?? {}, ...sizes(entry) };
  }

  /**
   * Keep the first n positions of a session.
   * @param {number} id
   * @param {number} n
   */
  rewind(id, n) {
    const entry = this.#get(id);
    numberInRange('the number of positions to keep', n, 0, entry.sequence.session.length, true);
    entry.sequence.session.rewind(n);
    entry.ids.length = n;
    return sizes(entry);
  }

  /**
   * Copy a session.
   * @param {number} id
   */
  fork(id) {
    const { sequence, ids } = this.#get(id);
    return this.#add({ sequence: sequence.fork(), ids: [...ids] });
  }

  /**
   * Close a session. Nothing happens when it is closed already.
   * @param {number} id
   */
  close(id) {
    this.#entries.get(id)?.sequence.close();
    this.#entries.delete(id);
  }
}

/**
 * Positions and cache bytes of a session.
 * @param {Entry} entry
 */
function sizes({ sequence: { session } }) {
  return { length: session.length, bytes: session.kvBytes };
}
