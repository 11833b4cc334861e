// remote.js - one model, either in a worker of its own or in the caller's thread, behind the same three calls
//
// Messages to the worker:  { id, method, args, hooks }  { id, args, stream, credit }  { id, abort }  { id, more }
// and from it:  { id, value, memory }  { id, error }  { id, progress }  { id, steps }  { id, done, memory }  { id, fetch, init, port }
// credit and more: how many steps the reader has room for. Arrays in answers are handed over, not copied.
import { GlassformerError } from './formats/errors.js';

/** @typedef {import('./model.js').Hooks} Hooks */
/** @typedef {import('./model.js').LoadedModel} LoadedModel */
/**
 * @typedef {object} Remote
 * @property {(method: string, args: any[], hooks?: Hooks) => Promise<any>} call
 * @property {(args: any[], hooks?: Hooks) => AsyncGenerator<any, any, void>} generate
 * @property {() => import('./engine.js').MemoryMap} memory  as of the last answer
 * @property {() => void} close
 */

/** Steps that a worker may run ahead of its reader: enough to hide messages, few enough to stop. */
const AHEAD = 256;

/**
 * A worker thread of Node with a worker's manners.
 * @param {string} file  beside this one; a name and not a URL, or bundlers for browsers would copy it a second time
 * @returns {Worker}
 */
export function nodeWorker(file) {
  const threads = /** @type {any} */ (globalThis.process).getBuiltinModule('node:worker_threads');
  const thread = new threads.Worker(new URL(['.', file].join('/'), import.meta.url), { execArgv: [] }); // --input-type and the like are the program's own
  const like = { postMessage: thread.postMessage.bind(thread), terminate: () => thread.terminate(), onmessage: (/** @type {any} */ _) => {}, onerror: (/** @type {any} */ _) => {} };
  thread.on('message', (/** @type {any} */ data) => like.onmessage({ data }));
  thread.on('error', (/** @type {Error} */ error) => like.onerror(error));
  return /** @type {any} */ (like);
}

/** @returns {GlassformerError} */
const gone = (what = 'model') => new GlassformerError('bad-state', `the ${what} was disposed`);

/** Everything in the caller's own thread. @implements {Remote} */
export class Here {
  /** @type {LoadedModel | null} */
  #model = null;

  /** @param {string} method @param {any[]} args @param {Hooks} [hooks] */
  async call(method, args, hooks = {}) {
    if (method === 'load' || method === 'create') {
      const { LoadedModel } = await import('./model.js');
      this.#model = await LoadedModel[/** @type {'load'|'create'} */ (method)](args[0], args[1], hooks);
      return this.#model.info();
    }
    const model = this.#model ?? never();
    return /** @type {any} */ (model)[method](...args, hooks);
  }

  /** @param {any[]} args @param {Hooks} [hooks] */
  async *generate(args, hooks = {}) {
    const model = this.#model ?? never();
    const inner = model.generate(args[0], args[1], hooks);
    try {
      for (;;) {
        const { done, value } = await inner.next();
        if (!this.#model) never();
        if (done) return value;
        for (const step of value) yield step;
      }
    } finally {
      if (this.#model) await inner.return(/** @type {any} */ (undefined));
    }
  }

  memory() { return (this.#model ?? never()).memory(); }

  close() {
    this.#model?.dispose();
    this.#model = null;
  }
}

/** @param {string} [what] @returns {never} */
function never(what) { throw gone(what); }

/** A module worker, or a worker thread of Node. @implements {Remote} */
export class There {
  /** @type {Worker | null} */
  #worker;
  #next = 0;
  /** @type {Map<number, {message(m: any): void, fail(e: unknown): void}>} */
  #waiting = new Map();
  /** @type {import('./engine.js').MemoryMap} */
  #memory = { totalBytes: 0, regions: [] };

  #what;

  /** @param {Worker} worker @param {string} [what]  for sentences: what it holds */
  constructor(worker, what) {
    this.#worker = worker;
    this.#what = what;
    worker.onmessage = ({ data }) => {
      if (data.memory) this.#memory = data.memory;
      this.#waiting.get(data.id)?.message(data);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#failAll(new GlassformerError('worker', `the worker failed: ${event.message ?? 'its file could not be loaded'}`));
    };
  }

  /** @param {string} method @param {any[]} args @param {Hooks} [hooks] @returns {Promise<any>} */
  async call(method, args, { signal, onProgress, fetch } = {}) {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const id = this.#open({
        message: (m) => {
          if (m.progress) return onProgress?.(m.progress);
          if (m.fetch) return import('./relay.js').then(({ answerFetch }) => answerFetch(m, /** @type {typeof globalThis.fetch} */ (fetch), signal));
          end();
          if (m.error) reject(revive(m.error, signal));
          else resolve(m.value);
        },
        fail: (error) => { end(); reject(error); },
      });
      const abort = () => this.#post({ id, abort: true });
      const end = () => { this.#waiting.delete(id); signal?.removeEventListener('abort', abort); };
      signal?.addEventListener('abort', abort);
      try {
        this.#post({ id, method, args, hooks: { onProgress: !!onProgress, fetch: !!fetch } });
      } catch (error) { end(); reject(error); }
    });
  }

  /** @param {any[]} args @param {Hooks} [hooks] */
  async *generate(args, { signal } = {}) {
    signal?.throwIfAborted();
    /** @type {any[]} */
    let queue = [];
    /** @type {{done?: any, error?: unknown} | null} */
    let end = null;
    let wake = () => {};
    const id = this.#open({
      message: (m) => {
        if (m.steps) queue.push(...m.steps);
        else end = m.error ? { error: revive(m.error, signal) } : { done: m.done };
        wake();
      },
      fail: (error) => { end = { error }; queue = []; wake(); },
    });
    const abort = () => { end = { error: signal?.reason }; queue = []; wake(); };
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
          await new Promise((resolve) => { wake = () => resolve(undefined); });
        }
      }
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(id);
      const { done } = /** @type {any} */ (end ?? {});
      if (done === undefined && this.#worker) this.#post({ id, abort: true }); // break, or an error on this side
    }
  }

  memory() {
    if (!this.#worker) never(this.#what);
    return this.#memory;
  }

  close() {
    this.#worker?.terminate();
    this.#worker = null;
    this.#failAll(gone(this.#what));
  }

  /** @param {{message(m: any): void, fail(e: unknown): void}} handlers */
  #open(handlers) {
    if (!this.#worker) never(this.#what);
    this.#waiting.set(++this.#next, handlers);
    return this.#next;
  }

  /** @param {any} message @param {Transferable[]} [transfer] */
  #post(message, transfer = []) {
    if (!this.#worker) never(this.#what);
    /** @type {Worker} */ (this.#worker).postMessage(message, transfer);
  }

  /** @param {unknown} error */
  #failAll(error) {
    for (const w of [...this.#waiting.values()]) w.fail(error);
    this.#waiting.clear();
  }
}

/** An error as it was on the other side. @param {{name: string, message: string, code?: string, aborted?: boolean}} e @param {AbortSignal} [signal] */
function revive(e, signal) {
  if (e.aborted && signal?.aborted) return signal.reason;
  if (e.code) return new GlassformerError(e.code, e.message);
  return Object.assign(new Error(e.message), { name: e.name });
}
