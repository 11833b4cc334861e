/// <reference lib="esnext.disposable" preserve="true" />
// session.js - the public class Session; run/session_table.js answers its messages
import { GlassformerError } from './base/errors.js';
import { finalizers, keepAlive } from './base/lifetimes.js';
import { callOptions, checkedInput } from './input/arguments.js';
import { number } from './base/values.js';

/** @typedef {import('./index.js').Ids} Ids */
/** @typedef {import('./engine/engine.js').Tensor} Tensor */

/**
 * One sequence in a model that the caller runs: `eval` takes tokens and returns logits; it can be rewound and forked.
 * Made by `Model.session`. Calls on one session run one after the other. Methods reject with `bad-state` after the
 * session or its model was disposed.
 */
export class Session {
  #model;
  #remote;
  #limits;
  #id;
  #length;
  #bytes;
  #closed = false;
  /** The last call: calls run one after the other. @type {Promise<any>} */
  #last = Promise.resolve();
  /**
   * What the last eval captured, by point name: the points named when the session was opened.
   * @type {Record<string, Tensor>}
   */
  captured = {};

  /**
   * Called by Model.session.
   * @ignore
   * @param {object} model  referenced so that it is not collected before the session
   * @param {import('./worker/remote.js').Remote} remote
   * @param {import('./input/arguments.js').Limits} limits
   * @param {{session: number, length: number, bytes: number}} made
   */
  constructor(model, remote, limits, { session, length, bytes }) {
    this.#model = model;
    this.#remote = remote;
    this.#limits = limits;
    this.#id = session;
    this.#length = length;
    this.#bytes = bytes;
    finalizers.register(
      this,
      () => {
        remote.call('session', ['close', [session]]).catch(() => {});
      },
      this,
    );
  }

  /** Number of positions held. */
  get length() {
    return this.#length;
  }
  /** Bytes of its key/value cache. */
  get bytes() {
    return this.#bytes;
  }

  /**
   * @template T
   * @param {string} method
   * @param {any[]} args
   * @param {{signal?: AbortSignal}} [hooks]
   * @returns {Promise<any>}
   */
  #call(method, args, hooks) {
    if (this.#closed) return Promise.reject(new GlassformerError('bad-state', 'the session was closed'));
    const answer = this.#last.then(() => this.#remote.call('session', [method, [this.#id, ...args]], hooks));
    this.#last = answer.catch(() => {});
    return keepAlive(answer, this);
  }

  /**
   * Append tokens and run them. After a failure the session is as it was before.
   * @param {string | Ids} input
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<Float32Array & Tensor>}  logits of the last position, [vocab_size]; a copy
   * @throws {GlassformerError} `context-full`, `empty-prompt`, `bad-token`, `capture-too-large`
   * @example
   * const session = await model.session({ capture: ['blocks.4.hook_resid_post'] });
   * await session.eval([1, 2, 3]);
   * console.log(session.captured['blocks.4.hook_resid_post'].shape);      // [ 3, 128 ]
   * await session.dispose();
   */
  async eval(input, options) {
    const [, hooks] = callOptions('eval', options);
    const { logits, captured, length, bytes } = await this.#call(
      'eval',
      [checkedInput(input, 'input', this.#limits)],
      hooks,
    );
    this.#length = length;
    this.#bytes = bytes;
    this.captured = captured;
    return Object.defineProperties(logits, { data: { value: logits }, shape: { value: [logits.length] } });
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
    const { length, bytes } = await this.#call('rewind', [number(n, 'the number of positions to keep', null)]);
    this.#length = length;
    this.#bytes = bytes;
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
    return new Session(this.#model, this.#remote, this.#limits, await this.#call('fork', []));
  }

  /**
   * Free the session's memory. Settles when it is free and never rejects. A second call does nothing.
   * @returns {Promise<void>}
   */
  async close() {
    if (this.#closed) return;
    const done = this.#call('close', []);
    this.#closed = true;
    finalizers.unregister(this);
    await done.catch(() => {});
  }

  /**
   * The same as close, under the name that every handle of this package has.
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
