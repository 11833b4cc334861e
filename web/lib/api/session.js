/// <reference lib="esnext.disposable" preserve="true" />
// session.js - the public class Session; run/session_table.js answers its messages
import { fail, refusal } from '../base/errors.js';
import { unlessAborted } from '../base/event_loop.js';
import { originOf } from './origins.js';
import { withJson } from './tensor_json.js';
import { finalizers, keepAlive } from './lifetimes.js';
import { checkedInput } from './input/arguments.js';
import { callOptions } from './input/call_options.js';
import { number } from '../base/checks.js';
import { Steps } from './steps.js';

/** @import { Ids, SessionGenerateOptions, Step, Summary } from './index.js' */
/** @import { Tensor } from '../engine/engine.js' */

/**
 * Generate in a session from a whole sequence: the positions that the session holds of it are kept.
 * @type {(session: Session, prompt: string | Ids, options: Record<string, any>, hooks: {signal?: AbortSignal}) =>
 *   AsyncGenerator<Step, Summary, void>}
 */
export let generateWhole;
/**
 * Whether a value is a session of this model.
 * @type {(value: any, model: object) => value is Session}
 */
export let isSessionOf;

/**
 * One sequence in a model that the caller runs: `eval` takes tokens and returns logits, `generate` appends new tokens;
 * it can be rewound and forked. Made by `Model.session`. Calls on one session run one after the other: a call waits for
 * the end of a generation that has begun. Methods reject with `bad-state` after the session or its model was disposed.
 */
export class Session {
  #model;
  #remote;
  #limits;
  #options;
  #id;
  /** Positions held, and bytes of the cache. */
  #sizes;
  #closed = false;
  /** Whether a generation runs, or waits for its reader. */
  #generating = false;
  /** The last call: calls run one after the other. @type {Promise<any>} */
  #last = Promise.resolve();
  /**
   * What the last eval captured, by point name: the points named when the session was opened.
   * @type {Record<string, Tensor>}
   */
  captured = {};

  /**
   * Called by Model.session and fork.
   * @ignore
   * @param {import('./model.js').Model} model  referenced so that it is not collected before the session
   * @param {import('../worker/model_caller.js').Remote} remote
   * @param {import('./input/arguments.js').Limits} limits
   * @param {{session: number, length: number, bytes: number}} made
   * @param {any} options  with which it was opened
   */
  constructor(model, remote, limits, { session, ...sizes }, options) {
    this.#model = model;
    this.#remote = remote;
    this.#limits = limits;
    this.#options = options;
    this.#id = session;
    this.#sizes = sizes;
    const close = () => void remote.call('closeSession', [session]).catch(() => {});
    finalizers.register(this, close, this);
  }

  static {
    generateWhole = (session, prompt, options, hooks) =>
      session.#generate(checkedInput(prompt, 'prompt', session.#limits), options, hooks, true);
    isSessionOf = /** @type {typeof isSessionOf} */ (
      (value, model) => typeof value === 'object' && value !== null && #model in value && value.#model === model
    );
  }

  /** Number of positions held. */
  get length() {
    return this.#sizes.length;
  }
  /** Bytes of its key/value cache. */
  get bytes() {
    return this.#sizes.bytes;
  }

  #requireOpen() {
    if (this.#closed) fail('bad-state', 'the session was closed');
  }

  /**
   * @param {import('../worker/model_caller.js').Call} method
   * @param {any[]} args
   * @param {{signal?: AbortSignal}} [hooks]
   * @param {(value: any) => unknown} [undo]  undoes what the call changed, when it was aborted
   * @returns {Promise<any>}
   */
  #call(method, args, hooks, undo) {
    this.#requireOpen();
    const answer = this.#last.then(() =>
      unlessAborted(this.#remote.call(method, [this.#id, ...args], hooks), hooks?.signal, undo),
    );
    this.#last = answer.catch(() => {});
    return keepAlive(answer, this);
  }

  /**
   * Append tokens and run them. After a failure the session is as it was before.
   * @param {string | Ids} input
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<Float32Array<ArrayBuffer> & Tensor>}  logits of the last position, [vocab_size]; a copy
   * @throws {GlassformerError} `context-full`, `empty-prompt`, `bad-token`, `capture-too-large`, `not-finite`
   * @example
   * const session = await model.session({ capture: ['blocks.4.hook_resid_post'] });
   * await session.eval([1, 2, 3]);
   * console.log(session.captured['blocks.4.hook_resid_post'].shape);      // [ 3, 128 ]
   * await session.dispose();
   */
  async eval(input, options) {
    const [, hooks] = callOptions('eval', options);
    const read = checkedInput(input, 'input', this.#limits);
    const { logits, captured, ...sizes } = await this.#call('evalSession', [read], hooks, ({ before }) =>
      this.#remote.call('rewindSession', [this.#id, before]),
    );
    this.#sizes = sizes;
    const origin = originOf(this.#model, 'session.eval', read, this.#options);
    origin.known.position = sizes.before;
    this.captured = withJson(captured, origin);
    const tensor = Object.defineProperties(logits, { data: { value: logits }, shape: { value: [logits.length] } });
    return withJson(tensor, origin);
  }

  /**
   * Append tokens, then new ones until a reason to stop, as `Model.generate` does. Afterwards the session holds what it
   * held before, the input, and exactly the new tokens that were delivered: those of the summary, or after `break`,
   * an abort or an error those of the steps so far. When not even one step was delivered before an abort or an error,
   * the session is as it was before. The last new token counts in `length` and is run by the next call, together with
   * what follows it. The steps are the same as those of a new generation from the whole sequence.
   * @param {string | Ids} input  may be empty when the session holds positions: the text then continues after these
   * @param {SessionGenerateOptions} [options]
   * @returns {Steps} the steps' positions count from the beginning of the session, and
   *   their `captured` holds the points that the session captures. Until it ends or is left, other calls on the session
   *   wait: awaiting one between two steps would wait for ever. `dispose` does not wait and ends it
   * @throws {GlassformerError} at the first step: `empty-prompt`, `context-full`, `bad-token`, `no-tokenizer`,
   *   `capture-too-large`
   * @example
   * const session = await model.session();
   * const options = { maxTokens: 8, temperature: 0 };
   * let text = 'Once upon a time';
   * for await (const step of session.generate(text, options)) text += step.text;
   * for await (const step of session.generate(' Then', options)) text += step.text;
   * console.log(session.length);                                          // 22
   * await session.dispose();
   */
  generate(input, options) {
    try {
      const [rest, hooks] = callOptions('session.generate', options, this.#limits);
      const from = checkedInput(input, 'input', this.#limits);
      const origin = () => originOf(this.#model, 'session.generate', from, { ...this.#options, ...options });
      return new Steps(keepAlive(this.#generate(from, rest, hooks, false), this), origin);
    } catch (error) {
      return new Steps(refusal(error));
    }
  }

  /**
   * @param {any} input
   * @param {Record<string, any>} options
   * @param {{signal?: AbortSignal}} hooks
   * @param {boolean} whole  whether the input is the whole sequence
   * @returns {AsyncGenerator<Step, Summary, void>}
   */
  async *#generate(input, options, hooks, whole) {
    this.#requireOpen();
    const previous = this.#last;
    let end = () => {};
    this.#last = /** @type {Promise<void>} */ (new Promise((resolve) => (end = resolve)));
    /** How many of the new tokens the session keeps; null: it is restored. @type {number | null} */
    let kept = null;
    try {
      await previous;
      this.#requireOpen(); // it may have been closed meanwhile
      this.#generating = true;
      const steps = this.#remote.generate([input, options, { session: this.#id, whole }], hooks);
      try {
        for (;;) {
          const { done, value } = await steps.next();
          kept ??= 0;
          if (done) return value;
          kept++;
          yield value;
        }
      } finally {
        await steps.return(/** @type {any} */ (undefined));
        await this.#settle(kept);
      }
    } finally {
      this.#generating = false;
      end();
    }
  }

  /**
   * End a generation on the engine's side. A session that was closed meanwhile has nothing to settle, and neither has
   * one whose model has failed: then the reader receives that error.
   * @param {number | null} kept
   */
  async #settle(kept) {
    try {
      this.#sizes = await this.#remote.call('settleSession', [this.#id, kept]);
    } catch {
      // the next call reports it
    }
  }

  /**
   * Keep the first n positions and drop the others. Nothing is computed again.
   * @param {number} n
   * @returns {Promise<void>}
   * @example
   * const session = await model.session();
   * const first = await session.eval([1, 2, 3]);
   * await session.eval([4]);
   * await session.rewind(2);
   * const again = await session.eval([3]);
   * console.log(again.every((logit, i) => logit === first[i]));           // true
   * await session.dispose();
   */
  async rewind(n) {
    this.#sizes = await this.#call('rewindSession', [number(n, 'the number of positions to keep', null)]);
  }

  /**
   * An independent copy, with the same positions, captures and edits. It is disposed on its own.
   * @returns {Promise<Session>}
   * @throws {GlassformerError} `out-of-memory`
   * @example
   * const session = await model.session();
   * await session.eval('Once upon a');
   * const other = await session.fork();
   * await Promise.all([session.eval(' time'), other.eval(' day')]);
   * await Promise.all([session.dispose(), other.dispose()]);
   */
  async fork() {
    return new Session(this.#model, this.#remote, this.#limits, await this.#call('forkSession', []), this.#options);
  }

  /**
   * The session as bytes: its tokens, and its keys and values as they are in the cache. `model.session({ state })`
   * opens a session from them, in the same model loaded again, with the same types of weights and of cache, on any
   * machine. It runs nothing but the last position, whose result shows whether model and state belong together. An
   * encoder-decoder needs its `source` again. Captures, edits and the sampler are not saved; the state of a session
   * with edits is restored without that check, and so is one of an encoder-decoder that is opened with edits.
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   * @throws {GlassformerError} `out-of-memory`
   * @example
   * const session = await model.session();
   * await session.eval('Once upon a');
   * const state = await session.save();
   * const other = await model.session({ state });
   * console.log(other.length);                                            // 4
   * const [a, b] = await Promise.all([session.eval(' time'), other.eval(' time')]);
   * console.log(a.every((logit, i) => logit === b[i]));                   // true
   * await Promise.all([session.dispose(), other.dispose()]);
   */
  async save() {
    return this.#call('saveSession', []);
  }

  /**
   * Free the session's memory, and end a generation that runs. Settles when it is free and never rejects. A second call
   * does nothing.
   * @returns {Promise<void>}
   */
  async close() {
    if (this.#closed) return;
    const done = this.#generating ? this.#remote.call('closeSession', [this.#id]) : this.#call('closeSession', []);
    this.#closed = true;
    finalizers.unregister(this);
    await done.catch(() => {});
  }

  /**
   * Closes the session: `close` under the name that every handle of this package has.
   * @returns {Promise<void>}
   */
  dispose() {
    return this.close();
  }

  [Symbol.dispose]() {
    this.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}
