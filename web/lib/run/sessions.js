// sessions.js - runs that the caller drives, by number
import { Pause } from '../base/turn.js';
import { number } from '../input/options.js';
import { fail } from '../base/errors.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./loaded_model.js').Hooks} Hooks */
/** @typedef {{run: import('./run.js').Run, ids: number[]}} Held ids: what the run holds, for models that read everything anew */

export class Sessions {
  /** @type {Map<number, Held>} */
  #held = new Map();
  #last = 0;

  /** @param {LoadedModel} f */
  constructor(f) { this.f = f; }

  /** @param {Held} held */
  #keep(held) {
    this.#held.set(++this.#last, held);
    return { session: this.#last, ...measure(held) };
  }

  /** @param {number} id @returns {Held} */
  #get(id) { return this.#held.get(id) ?? fail('bad-state', 'the session was closed'); }

  /** @param {Record<string, any>} options @param {Hooks} hooks */
  async open(options, { signal }) {
    this.f.needDecoder('session');
    const o = { ...options };
    if (o.source !== undefined) o.source = this.f.ids(o.source, 'source');
    const run = await this.f.openRun(o);
    try {
      await run.start(o, new Pause(signal));
    } catch (error) {
      run.close();
      throw error;
    }
    return this.#keep({ run, ids: [] });
  }

  /** @param {number} id @param {any} input @param {Hooks} hooks */
  async eval(id, input, { signal }) {
    const held = this.#get(id), { run } = held, { session } = run, { causal, vocab_size: v } = this.f.config;
    const ids = this.f.ids(input, 'input', session.length === 0);
    const before = session.length;
    if (before + ids.length > session.context) {
      fail('context-full', `the session holds ${before} positions and the input has ${ids.length} tokens, the context holds ${session.context}`);
    }
    const all = [...held.ids, ...ids];
    let logits = new Float32Array(0);
    try {
      if (!causal) session.rewind(0);
      await run.prefill(causal ? ids : all, new Pause(signal), (_, n) => { logits = session.logits(n - 1, 1, v); });
    } catch (error) { // all or nothing
      session.rewind(causal ? before : 0);
      if (!causal && before) session.eval(held.ids);
      run.take();
      throw error;
    }
    held.ids = all;
    return { logits, captured: run.take() ?? {}, ...measure(held) };
  }

  /** @param {number} id @param {number} n */
  rewind(id, n) {
    const held = this.#get(id);
    number('the number of positions to keep', n, 0, held.run.session.length, true);
    held.run.session.rewind(n);
    held.ids.length = n;
    return measure(held);
  }

  /** @param {number} id */
  fork(id) {
    const { run, ids } = this.#get(id);
    return this.#keep({ run: run.fork(), ids: [...ids] });
  }

  /** @param {number} id */
  close(id) {
    this.#held.get(id)?.run.close();
    this.#held.delete(id);
  }
}

/** @param {Held} held */
function measure({ run: { session } }) { return { length: session.length, bytes: session.kvBytes }; }
