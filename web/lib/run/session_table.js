// session_table.js - the sequences of the caller's Session objects (../api/session.js), by number
import { Generation, decode } from './generate.js';
import { Yielder } from '../base/event_loop.js';
import { generationOf, numberInRange } from './generation_options.js';
import { fail } from '../base/errors.js';
import { requireFinite } from './inspect/finite_check.js';

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { Hooks } from './calls.js' */
/**
 * A generation in a session that was not settled yet. ids: the prompt and all tokens that were chosen; same: how many
 * tokens that the session holds it begins with; ended: resolves when it makes no more engine calls.
 * @typedef {{ids: number[], prompt: number, same: number, ended: Promise<void>}} Started
 */
/**
 * ids: all tokens that the session holds. The engine's cache holds the first of them, and those that are missing there
 * (the last token of a generation) are run by the next call. A model with bidirectional attention runs all of them
 * again in each call.
 * @typedef {{sequence: import('./sequence.js').Sequence, ids: number[], started: Started | null,
 *   allowNonFinite: boolean}} Entry
 */
/**
 * Which session a generation continues. whole: the input is the whole sequence and not what follows the tokens held.
 * @typedef {{session: number, whole: boolean}} InSession
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
    const { state, ...rest } = options;
    const yielder = new Yielder(signal);
    // With a state, captures and edits begin after the check of that state, which is a pass. The encoder of an
    // encoder-decoder runs before it, and its pass is to be captured and edited.
    const later = state && this.model.config.kind !== 'encoder_decoder';
    const sequence = await this.model.openSequence(later ? {} : rest, undefined, undefined, yielder);
    /** @type {number[]} */
    let ids = [];
    try {
      await sequence.encodeSource(rest, yielder);
      if (state) {
        ids = await (await import('./saved_session.js')).restore(this.model, sequence, state, yielder);
        if (later) await sequence.observe(rest, this.model.contextLength, undefined, yielder);
      }
    } catch (error) {
      sequence.close();
      throw error;
    }
    return this.#add({ sequence, ids, started: null, allowNonFinite: rest.allowNonFinite === true });
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
    const ids = this.#appended(entry, input);
    const all = [...entry.ids, ...ids];
    let logits = new Float32Array(0);
    /** @type {Record<string, import('../engine/engine.js').Tensor>} */
    let captured = {};
    try {
      const yielder = new Yielder(signal);
      if (!causal) session.rewind(0);
      else if (session.length < entry.ids.length) {
        await sequence.prefill(entry.ids.slice(session.length), yielder);
        sequence.takeCaptured(); // these rows do not belong to this call
      }
      const run = causal ? ids : all;
      await sequence.prefill(run, yielder, (_, n) => (logits = session.logits(n - 1, 1, v)), run.length - 1);
      captured = sequence.takeCaptured() ?? {};
      if (!entry.allowNonFinite)
        await requireFinite(sequence, { ...captured, logits: { data: logits, shape: [v] } }, all);
    } catch (error) {
      keep(entry, causal ? entry.ids.length : 0);
      sequence.takeCaptured();
      throw error;
    }
    const before = entry.ids.length;
    entry.ids = all;
    return { logits, captured, before, ...sizes(entry) };
  }

  /**
   * The ids of an input that follows the tokens of a session, checked.
   * @param {Entry} entry
   * @param {any} input  text or ids
   * @param {boolean} [addSpecialTokens]  at the beginning of the session
   */
  #appended({ ids: held, sequence: { session } }, input, addSpecialTokens = true) {
    const ids = this.model.ids(input, 'input', addSpecialTokens && held.length === 0);
    if (held.length + ids.length > session.context) {
      fail(
        'context-full',
        `the session holds ${held.length} positions and the input has ${ids.length} tokens, ` +
          `the context holds ${session.context}`,
      );
    }
    return ids;
  }

  /**
   * Continue a session with generated tokens. The caller calls `settle` after its end, however it ended.
   * @param {any} input  text or ids; with `whole` the whole sequence, of which the part is kept that the session holds
   * @param {Record<string, any>} options
   * @param {import('./generate.js').Delivery} hooks
   * @param {InSession} inSession
   * @returns {AsyncGenerator<import('./generate.js').Step[], import('./generate.js').Summary, void>}
   */
  async *generate(input, options, { signal, due = () => true }, { session: id, whole }) {
    const { model } = this;
    const entry = this.#get(id);
    const { sequence } = entry;
    const o = generationOf(options);
    /** @type {number[]} */
    let prompt;
    let same = entry.ids.length;
    if (whole) {
      prompt = model.ids(input, 'prompt', options.addSpecialTokens);
      model.checkLength(prompt.length, 'prompt');
      const differing = prompt.findIndex((token, i) => token !== entry.ids[i]);
      same = differing < 0 ? prompt.length : differing;
    } else {
      const isEmpty = input.length === 0 && entry.ids.length > 0;
      prompt = isEmpty ? [...entry.ids] : [...entry.ids, ...this.#appended(entry, input, options.addSpecialTokens)];
    }
    // The logits come from the prompt's last token, which is therefore run in any case.
    keep(entry, model.config.causal ? Math.min(same, prompt.length - 1) : 0);
    const generation = new Generation(model, sequence, prompt, o);
    let end = () => {};
    const ended = /** @type {Promise<void>} */ (new Promise((resolve) => (end = resolve)));
    entry.started = { ids: generation.ids, prompt: prompt.length, same, ended };
    try {
      const yielder = new Yielder(signal);
      await yielder.yieldIfDue();
      generation.controls = await model.controls(o, prompt);
      await generation.prefill(yielder);
      return yield* decode(generation, yielder, due);
    } finally {
      end();
    }
  }

  /**
   * Determine what a session holds after a generation, when that makes no more engine calls.
   * @param {number} id
   * @param {number | null} delivered  how many of the new tokens are kept; null: neither them nor the prompt
   */
  async settle(id, delivered) {
    const entry = this.#get(id);
    const { started } = entry;
    if (!started) return sizes(entry); // it failed before its first pass
    await started.ended;
    this.#get(id); // throws when it was closed meanwhile
    entry.started = null;
    if (delivered !== null) entry.ids = started.ids.slice(0, started.prompt + delivered);
    const kept = delivered === null ? started.same : entry.ids.length;
    keep(entry, this.model.config.causal ? kept : 0);
    entry.sequence.takeCaptured();
    return sizes(entry);
  }

  /**
   * Keep the first n positions of a session.
   * @param {number} id
   * @param {number} n
   */
  rewind(id, n) {
    const entry = this.#get(id);
    numberInRange('the number of positions to keep', n, 0, entry.ids.length, true);
    entry.ids.length = n;
    keep(entry, n);
    return sizes(entry);
  }

  /**
   * Copy a session.
   * @param {number} id
   */
  fork(id) {
    const { sequence, ids, allowNonFinite } = this.#get(id);
    return this.#add({ sequence: sequence.fork(), ids: [...ids], started: null, allowNonFinite });
  }

  /**
   * A session as bytes.
   * @param {number} id
   */
  async save(id) {
    const { savedBytes } = await import('./saved_session.js');
    return savedBytes(this.model, this.#get(id));
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
function sizes({ ids, sequence: { session } }) {
  return { length: ids.length, bytes: session.kvBytes };
}

/**
 * Keep at most the first n positions in the engine's cache.
 * @param {Entry} entry
 * @param {number} n
 */
function keep({ sequence: { session } }, n) {
  if (session.length > n) session.rewind(n);
}
