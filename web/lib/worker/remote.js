// remote.js - the caller's side of a model, in a worker (WorkerModel) or in the caller's thread (LocalModel), behind
// one interface
//
// Messages to the worker: { hello } { id, method, args, hooks } { id, engine } { id, args, stream, credit }
// { id, abort } { id, more } and from it: { ready } { id, value, memory } { id, error } { id, progress } { id, steps }
// { id, done, memory } { id, fetch, init, port } and, so that the caller notices the end of the worker: { lock }
// { line } { crash } credit and more are numbers of steps that the worker may send before the reader has consumed them.
// Arrays in answers are transferred.
import { unpackError } from '../base/failure.js';
import { GlassformerError, publicError, messageOf } from '../base/errors.js';

/** @typedef {import('../run/loaded_model.js').Hooks} Hooks */
/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */
/**
 * @typedef {object} Remote
 * @property {(method: string, args: any[], hooks?: Hooks) => Promise<any>} call
 * @property {(args: any[], hooks?: Hooks) => AsyncGenerator<any, any, void>} generate
 * @property {() => import('../engine/engine.js').MemoryMap} memory  as of the last answer
 * @property {() => void} close
 */

/**
 * Steps that a worker may compute ahead of its reader: enough to hide the time of a message, few enough that a stop
 * wastes little.
 */
const AHEAD = 256;

/** @param {string} [what] */
const gone = (what = 'model') => new GlassformerError('bad-state', `the ${what} was disposed`);
/**
 * After a WebAssembly trap linear memory may be inconsistent, so the model cannot be used any more.
 * @param {string} why
 * @param {unknown} [cause]
 */
const crash = (why, cause) =>
  new GlassformerError('crashed', `the engine broke off in the middle of its work: ${why}`, { cause });
/**
 * @param {string} why
 * @param {unknown} [cause]
 */
const failed = (why, cause) =>
  new GlassformerError('worker', `the worker failed: ${why}`, cause === undefined ? undefined : { cause });

/** A model in the caller's thread. @implements {Remote} */
export class LocalModel {
  /** @type {LoadedModel | null} */
  #model = null;
  /** Creates the error for calls when there is no model any more. */
  #why = () => gone();

  #alive() {
    if (!this.#model) throw this.#why();
    return this.#model;
  }

  /**
   * @param {unknown} error
   * @param {AbortSignal} [signal]
   * @returns {unknown} the error for the caller; after a trap the model is unusable
   */
  #after(error, signal) {
    if (!(error instanceof WebAssembly.RuntimeError)) return publicError(error, signal);
    this.#model = null;
    this.#why = () => crash(error.message, error);
    return this.#why();
  }

  /**
   * @param {string} method
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async call(method, args, hooks = {}) {
    try {
      hooks.signal?.throwIfAborted();
      if (method === 'load' || method === 'create') {
        const { loadModel, createModel } = await import('../run/load_model.js');
        this.#model = await (method === 'load' ? loadModel : createModel)(args[0], args[1], hooks);
        // a copy, as a worker sends one: changes by the caller do not reach the engine
        return structuredClone(this.#model.info());
      }
      const value = await /** @type {any} */ (this.#alive())[method](...args, hooks);
      this.#alive(); // a concurrent call may have trapped
      return value;
    } catch (error) {
      throw this.#after(error, hooks.signal);
    }
  }

  /**
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async *generate(args, hooks = {}) {
    const inner = this.#alive().generate(args[0], args[1], hooks);
    try {
      for (;;) {
        const { done, value } = await inner.next();
        this.#alive();
        if (done) return value;
        for (const step of value) yield step;
      }
    } catch (error) {
      throw this.#after(error, hooks.signal);
    } finally {
      if (this.#model) await inner.return(/** @type {any} */ (undefined));
    }
  }

  memory() {
    return this.#alive().memory();
  }

  close() {
    this.#model?.dispose();
    this.#model = null;
  }
}

/** A model, or a training run, in a Web Worker or a worker thread of Node. @implements {Remote} */
export class WorkerModel {
  /** @type {Worker | null} */
  #worker;
  /** Creates the error for calls when there is no worker any more. */
  #why;
  #next = 0;
  /** @type {Map<number, {message(m: any): void, fail(e: unknown): void}>} */
  #waiting = new Map();
  /** @type {import('../engine/engine.js').MemoryMap} */
  #memory = { totalBytes: 0, regions: [] };

  /**
   * @param {Worker} worker
   * @param {string} [what] what error messages call it
   */
  constructor(worker, what) {
    this.#worker = worker;
    this.#why = () => gone(what);
    worker.addEventListener('message', ({ data }) => {
      const { memory, crash: trap, helperPort, lock } = data;
      if (memory) this.#memory = memory;
      if (trap) {
        const cause = unpackError(trap);
        this.#end(() => crash(messageOf(cause), cause));
      }
      if (helperPort) this.#watch(helperPort);
      if (lock) navigator.locks.request(lock, () => this.#end(() => failed('it was ended from outside')));
      this.#waiting.get(data.id)?.message(data);
    });
    for (const name of ['error', 'messageerror', 'exit']) {
      // 'exit' is sent by worker threads of Node
      worker.addEventListener(name, (/** @type {any} */ event) => {
        event.preventDefault?.();
        this.#end(() =>
          failed(
            event.message || 'its file or a message could not be read',
            event.error ?? (event instanceof Error ? event : undefined),
          ),
        );
      });
    }
  }

  /**
   * Watch a helper thread: when it ends inside a tile, the engine would wait for that tile for ever.
   * @param {MessagePort} helperPort
   */
  #watch(helperPort) {
    const died = () => this.#end(() => failed('one of its helper threads ended'));
    helperPort.onmessage = ({ data }) => {
      if (data === 'joined') helperPort.addEventListener('close', died);
      else if (data === 'left') helperPort.removeEventListener('close', died);
      else {
        const cause = unpackError(data.crash);
        this.#end(() => crash(messageOf(cause), cause));
      }
    };
  }

  /**
   * @param {string} method
   * @param {any[]} args
   * @param {Hooks} [hooks]
   * @returns {Promise<any>}
   */
  async call(method, args, { signal, onProgress, fetch, engine, helper } = {}) {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const id = this.#open({
        message: (m) => {
          if (m.progress) return onProgress?.(m.progress);
          if (m.fetch)
            return import('./relay.js')
              .then(({ answerFetch }) => answerFetch(m, /** @type {typeof globalThis.fetch} */ (fetch), signal))
              .catch((error) => {
                end();
                reject(publicError(error, signal));
              });
          end();
          if (m.error) reject(revive(m.error, signal));
          else resolve(m.value);
        },
        fail: (error) => {
          end();
          reject(error);
        },
      });
      const abort = () => this.#post({ id, abort: true });
      const end = () => {
        this.#waiting.delete(id);
        signal?.removeEventListener('abort', abort);
      };
      signal?.addEventListener('abort', abort);
      try {
        this.#post({ id, method, args, hooks: { onProgress: !!onProgress, fetch: !!fetch, helper } });
        engine
          ?.then((module) => {
            if (this.#waiting.has(id)) this.#post({ id, engine: module });
          })
          .catch((error) => {
            end();
            reject(publicError(error, signal));
          });
      } catch (error) {
        end();
        reject(publicError(error, signal));
      }
    });
  }

  /**
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async *generate(args, { signal } = {}) {
    signal?.throwIfAborted();
    /** @type {any[]} */
    let queue = [];
    /** @type {{done?: any, error?: unknown} | null} */
    let end = null;
    let wake = () => {};
    const id = this.#open({
      message: (m) => {
        if (end) return; // aborted: ignore steps that were already sent
        if (m.steps) queue.push(...m.steps);
        else end = m.error ? { error: revive(m.error, signal) } : { done: m.done };
        wake();
      },
      fail: (error) => {
        end = { error };
        queue = [];
        wake();
      },
    });
    const stop = () => {
      if (this.#worker) this.#post({ id, abort: true });
    };
    const abort = () => {
      end = { error: signal?.reason };
      queue = [];
      wake();
      stop();
    }; // the reader may never call next() again
    signal?.addEventListener('abort', abort);
    try {
      this.#post({ id, args, stream: true, credit: AHEAD });
      for (let read = 0; ;) {
        if (queue.length) {
          const step = queue.shift();
          if (++read % (AHEAD / 4) === 0) this.#post({ id, more: AHEAD / 4 });
          yield step;
        } else if (end) {
          const { done, error } = /** @type {{done?: any, error?: unknown}} */ (end);
          if (error !== undefined) throw error;
          return done;
        } else {
          await new Promise((resolve) => {
            wake = () => resolve(undefined);
          });
        }
      }
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(id);
      const { done } = /** @type {any} */ (end ?? {});
      if (done === undefined) stop(); // the reader stopped early, or an error occurred on this side
    }
  }

  memory() {
    if (!this.#worker) throw this.#why();
    return this.#memory;
  }

  close() {
    this.#end(this.#why);
  }

  /**
   * Reject all pending and later calls with this error.
   * @param {() => GlassformerError} why
   */
  #end(why) {
    if (!this.#worker) return;
    this.#worker.terminate();
    this.#worker = null;
    this.#why = why;
    for (const w of [...this.#waiting.values()]) w.fail(why());
    this.#waiting.clear();
  }

  /** @param {{message(m: any): void, fail(e: unknown): void}} handlers */
  #open(handlers) {
    if (!this.#worker) throw this.#why();
    this.#waiting.set(++this.#next, handlers);
    return this.#next;
  }

  /** @param {any} message */
  #post(message) {
    if (!this.#worker) throw this.#why();
    try {
      this.#worker.postMessage(message);
    } catch (error) {
      throw new GlassformerError('bad-option', messageOf(error), { cause: error });
    }
  }
}

/**
 * The error for the caller, from one that the worker sent.
 * @param {{packed: import('../base/failure.js').PackedError, aborted?: boolean}} e
 * @param {AbortSignal} [signal]
 */
function revive({ packed, aborted }, signal) {
  return aborted && signal?.aborted ? signal.reason : publicError(unpackError(packed));
}
