// session_table.js - the sequences behind the caller's Session objects (../session.js), by number
import { Yielder } from '../base/event_loop.js';
import { number } from '../input/options.js';
import { fail } from '../base/errors.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./loaded_model.js').Hooks} Hooks */
/**
 * @typedef {{sequence: import('./sequence.js').Sequence, ids: number[]}} Entry ids: all tokens so far, which models
 *   with bidirectional attention run again in each eval
 */

/** Its methods are those that Session calls through messages. */
export class SessionTable {
  /** @type {Map<number, Entry>} */
  #entry = new Map();
  #last = 0;

  /** @param {LoadedModel} model */
  constructor(model) {
    this.model = model;
  }

  /** @param {Entry} entry */
  #add(entry) {
    this.#entry.set(++this.#last, entry);
    return { session: this.#last, ...measure(entry) };
  }

  /**
   * @param {number} id
   * @returns {Entry}
   */
  #get(id) {
    return this.#entry.get(id) ?? fail('bad-state', 'the session was closed');
  }

  /**
   * @param {Record<string, any>} options
   * @param {Hooks} hooks
   */
  async open(options, { signal }) {
    this.model.needDecoder('session');
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
   * @param {number} id
   * @param {any} input
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
        `the session holds ${before} positions and the input has ${ids.length} tokens, the context holds ${session.context}`,
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
      // restore the state before this call
      session.rewind(causal ? before : 0);
      if (!causal && before) session.eval(entry.ids);
      sequence.takeCaptured();
      throw error;
    }
    entry.ids = all;
    return { logits, captured: sequence.takeCaptured() ?? {}, ...measure(entry) };
  }

  /**
   * @param {number} id
   * @param {number} n
   */
  rewind(id, n) {
    const entry = this.#get(id);
    number('the number of positions to keep', n, 0, entry.sequence.session.length, true);
    entry.sequence.session.rewind(n);
    entry.ids.length = n;
    return measure(entry);
  }

  /** @param {number} id */
  fork(id) {
    const { sequence, ids } = this.#get(id);
    return this.#add({ sequence: sequence.fork(), ids: [...ids] });
  }

  /** @param {number} id */
  close(id) {
    this.#entry.get(id)?.sequence.close();
    this.#entry.delete(id);
  }
}

/** @param {Entry} entry */
function measure({ sequence: { session } }) {
  return { length: session.length, bytes: session.kvBytes };
}
