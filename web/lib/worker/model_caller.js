// model_caller.js - the caller's side of a model, in a worker (WorkerModel) or in the caller's thread (LocalModel),
// behind one interface
//
// Messages to the worker: { hello } { id, method, args, hooks } { id, engine } { id, args, stream, credit }
// { id, abort } { id, addedCredit }
// and from it: { ready } { id, value, memory } { id, error } { id, progress } { id, steps }
// { id, done, memory } { id, fetch, init, port } { id, rename, port } { job, file, type } and, so that the caller
// notices the end of the worker: { lock } { crash } credit and addedCredit are numbers of steps that the worker may
// send before the reader has consumed them. Arrays in answers are transferred.
//
// To a helper thread: { help }, and from it: { lock } { joined } { crash }
import { unpackError } from '../base/failure.js';
import { GlassformerError, publicError, messageOf } from '../base/errors.js';
import { spawn } from '../base/spawn.js';
import { answerFetch, answerRename } from './requests_for_worker.js';

/** @import { LoadedModel } from '../run/loaded_model.js' */
/** @import { Hooks } from '../run/calls.js' */
/** A call of a model (run/calls.js). @typedef {keyof typeof import('../run/calls.js').CALLS} Call */
/**
 * The interface of both.
 * @typedef {object} Remote
 * @property {(call: Call | 'load' | 'create', args: any[], hooks?: Hooks) => Promise<any>} call
 * @property {(args: any[], hooks?: Hooks) => AsyncGenerator<any, any, void>} generate
 * @property {() => import('../engine/engine.js').MemoryMap} memory  at the last answer
 * @property {() => void} close  ends all calls and frees the model
 */

/**
 * Steps that a worker may send before its reader has consumed them: enough to hide the time of a message, and few
 * enough that little is wasted when the reader stops.
 */
const MAX_CREDIT = 256;

/**
 * The error of calls after `close`.
 * @param {string} [what]
 */
const disposedError = (what = 'model') => new GlassformerError('bad-state', `the ${what} was disposed`);
/**
 * The error after a WebAssembly trap. Linear memory may be inconsistent, and the model cannot be used any more.
 * @param {string} why
 * @param {unknown} [cause]
 */
const crashError = (why, cause) =>
  new GlassformerError(
    'crashed',
    `the engine crashed (${why}); please report this, dispose the model and load it again`,
    { cause },
  );
/**
 * The error after the end of a worker.
 * @param {string} why
 * @param {unknown} [cause]
 */
const workerError = (why, cause) =>
  new GlassformerError('worker', `the worker failed: ${why}`, cause === undefined ? undefined : { cause });

/**
 * A model in the caller's thread.
 * @implements {Remote}
 */
export class LocalModel {
  /** @type {LoadedModel | null} */
  #model = null;
  /**
   * @type {Record<string, (model: LoadedModel, ...args: any[]) => any>} the table of run/calls.js, once it is loaded
   */
  #calls = {};
  /** Creates the error of calls after the end of the model. */
  #unavailable = () => disposedError();

  #requireModel() {
    if (!this.#model) throw this.#unavailable();
    return this.#model;
  }

  /**
   * @param {unknown} error
   * @param {AbortSignal} [signal]
   * @returns {unknown} the error for the caller; after a trap the model is unusable
   */
  #publicError(error, signal) {
    if (!(error instanceof WebAssembly.RuntimeError)) return publicError(error, signal);
    this.#model = null;
    this.#unavailable = () => crashError(error.message, error);
    return this.#unavailable();
  }

  /**
   * @param {Call | 'load' | 'create'} method
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async call(method, args, hooks = {}) {
    const before = this.#model;
    try {
      hooks.signal?.throwIfAborted();
      if (method === 'load' || method === 'create') {
        const { CALLS, loadModel, createModel } = await import('../run/calls.js');
        this.#calls = CALLS;
        this.#model = await (method === 'load' ? loadModel : createModel)(args[0], args[1], hooks);
        // A copy, like that from a worker: changes by the caller must not reach the engine.
        return structuredClone(this.#model.info());
      }
      const value = await this.#calls[method](this.#requireModel(), ...args, hooks);
      this.#requireModel(); // a concurrent call may have trapped
      return value;
    } catch (error) {
      // What a call finds in a model that was disposed meanwhile says nothing to the caller.
      throw before && !this.#model ? this.#unavailable() : this.#publicError(error, hooks.signal);
    }
  }

  /**
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async *generate(args, hooks = {}) {
    const inner = this.#requireModel().generate(args[0], args[1], hooks, args[2]);
    try {
      for (;;) {
        const { done, value } = await inner.next();
        this.#requireModel();
        if (done) return value;
        for (const step of value) yield step;
      }
    } catch (error) {
      throw this.#publicError(error, hooks.signal);
    } finally {
      if (this.#model) await inner.return(/** @type {any} */ (undefined));
    }
  }

  memory() {
    return this.#requireModel().memory();
  }

  close() {
    this.#model?.dispose();
    this.#model = null;
    this.#unavailable = () => disposedError();
  }
}

/**
 * A model, or a training run, in a Web Worker or a worker thread of Node.
 * @implements {Remote}
 */
export class WorkerModel {
  /** @type {Worker | null} */
  #worker;
  /** Creates the error of calls after the end of the worker. */
  #unavailable;
  #disposed;
  #lastId = 0;
  /** @type {Worker[]} */
  #helpers = [];
  /** @type {Map<number, {message(m: any): void, fail(e: unknown): void}>} */
  #calls = new Map();
  /** @type {import('../engine/engine.js').MemoryMap} */
  #memory = { totalBytes: 0, regions: [] };

  /**
   * @param {Worker} worker
   * @param {string} [what] what error messages call it
   */
  constructor(worker, what) {
    this.#worker = worker;
    this.#holdProcess();
    this.#disposed = () => disposedError(what);
    this.#unavailable = this.#disposed;
    worker.addEventListener('message', ({ data }) => {
      if (data.memory) this.#memory = data.memory;
      if (data.job) this.#startHelper(data);
      this.#watch(data, () => this.#end(() => workerError('it was ended from outside')));
      this.#calls.get(data.id)?.message(data);
    });
    for (const name of ['error', 'messageerror', 'exit']) {
      // 'exit' is sent by worker threads of Node
      worker.addEventListener(name, (/** @type {any} */ event) => {
        event.preventDefault?.();
        this.#end(() =>
          workerError(
            event.message || 'its file or a message could not be read',
            event.error ?? (event instanceof Error ? event : undefined),
          ),
        );
      });
    }
  }

  /**
   * Notice the end of a thread: it says that a tile trapped, or it releases the lock that it has named.
   * @param {{crash?: any, lock?: string}} message  from it
   * @param {() => void} ended
   */
  #watch({ crash: trap, lock }, ended) {
    if (trap) {
      const cause = unpackError(trap);
      this.#end(() => crashError(messageOf(cause), cause));
    }
    if (lock) navigator.locks.request(lock, ended);
  }

  /**
   * Start a helper thread of the engine (threads.js), if the system starts one. When it ends inside a tile, the engine
   * waits for that tile for ever; before it has joined the pool, its end and its errors do no harm.
   * @param {Parameters<import('../engine/threads.js').OnHelper>[0]} asked
   */
  #startHelper({ job, file, type }) {
    if (!this.#worker) return;
    let joined = false;
    let thread;
    try {
      thread = spawn(file, 'glassformer helper', true, type);
    } catch {
      return; // Node throws when the system allows no more threads
    }
    const ended = () => joined && this.#end(() => workerError('one of its helper threads ended'));
    this.#helpers.push(thread);
    /** @type {any} */ (thread).unref?.(); // in Node: only a pending call keeps the program running
    thread.addEventListener('message', ({ data }) => {
      joined ||= data.joined;
      this.#watch(data, ended);
    });
    thread.addEventListener('error', (event) => event.preventDefault?.());
    thread.addEventListener('exit', ended);
    thread.postMessage({ help: job }, [job]);
  }

  /**
   * @param {string} method
   * @param {any[]} args
   * @param {Hooks} [hooks]
   * @returns {Promise<any>}
   */
  async call(method, args, { signal, onProgress, fetch, rename, engine, helper, prefetched } = {}) {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const id = this.#open({
        message: (m) => {
          if (m.progress) return onProgress?.(m.progress);
          if (m.fetch && fetch) return answerFetch(m, fetch, signal);
          if (m.rename && rename) return answerRename(m, rename);
          end();
          if (m.error) reject(receivedError(m.error, signal));
          else resolve(m.value);
        },
        fail: (error) => {
          end();
          reject(error);
        },
      });
      const abort = () => this.#post({ id, abort: true });
      const end = () => {
        this.#ended(id);
        signal?.removeEventListener('abort', abort);
      };
      signal?.addEventListener('abort', abort);
      try {
        const wanted = { onProgress: !!onProgress, fetch: !!fetch, rename: !!rename, helper, prefetched };
        this.#post({ id, method, args, hooks: wanted }, prefetched ? [prefetched.port] : []);
        engine
          ?.then((module) => {
            if (this.#calls.has(id)) this.#post({ id, engine: module });
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
        else end = m.error ? { error: receivedError(m.error, signal) } : { done: m.done };
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
    // The worker is told at once, because the reader may never call next() again.
    const abort = () => {
      end = { error: signal?.reason };
      queue = [];
      wake();
      stop();
    };
    signal?.addEventListener('abort', abort);
    try {
      this.#post({ id, args, stream: true, credit: MAX_CREDIT });
      for (let read = 0; ;) {
        if (queue.length) {
          const step = queue.shift();
          if (++read % (MAX_CREDIT / 4) === 0) this.#post({ id, addedCredit: MAX_CREDIT / 4 });
          yield step;
        } else if (end) {
          const { done, error } = /** @type {{done?: any, error?: unknown}} */ (end);
          if (error !== undefined) throw error;
          return done;
        } else await /** @type {Promise<void>} */ (new Promise((resolve) => (wake = resolve)));
      }
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#ended(id);
      const { done } = /** @type {any} */ (end ?? {});
      if (done === undefined) stop(); // the reader stopped early, or an error occurred on this side
    }
  }

  memory() {
    if (!this.#worker) throw this.#unavailable();
    return this.#memory;
  }

  close() {
    this.#end(this.#disposed);
    this.#unavailable = this.#disposed;
  }

  /**
   * Reject all pending and later calls with this error.
   * @param {() => GlassformerError} why
   */
  #end(why) {
    if (!this.#worker) return;
    for (const thread of [this.#worker, ...this.#helpers]) thread.terminate();
    this.#worker = null;
    this.#unavailable = why;
    for (const w of [...this.#calls.values()]) w.fail(why());
    this.#calls.clear();
  }

  /** @param {{message(m: any): void, fail(e: unknown): void}} handlers */
  #open(handlers) {
    if (!this.#worker) throw this.#unavailable();
    this.#calls.set(++this.#lastId, handlers);
    this.#holdProcess();
    return this.#lastId;
  }

  /** @param {number} id */
  #ended(id) {
    this.#calls.delete(id);
    this.#holdProcess();
  }

  /** Keep a program of Node running exactly while a call is pending. */
  #holdProcess() {
    const worker = /** @type {any} */ (this.#worker);
    if (this.#calls.size) worker?.ref?.();
    else worker?.unref?.();
  }

  /**
   * Post a message to the worker.
   * @param {any} message
   * @param {Transferable[]} [transfer]
   */
  #post(message, transfer = []) {
    if (!this.#worker) throw this.#unavailable();
    try {
      this.#worker.postMessage(message, transfer);
    } catch (error) {
      throw new GlassformerError('bad-option', messageOf(error), { cause: error });
    }
  }
}

/**
 * The error for the caller, from the error that the worker posted.
 * @param {{packed: import('../base/failure.js').PackedError, aborted?: boolean}} e
 * @param {AbortSignal} [signal]
 */
function receivedError({ packed, aborted }, signal) {
  return aborted && signal?.aborted ? signal.reason : publicError(unpackError(packed));
}
