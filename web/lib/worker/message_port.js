// message_port.js - the message port between a worker and the thread that started it, with one interface for Web
// Workers and for Node's threads
import { packError } from '../base/failure.js';
import { help } from '../engine/thread.js';

const parent = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;

/** @type {{postMessage(message: any, transfer?: any[]): void, onmessage: any}} */
export const port = parent
  ? {
      postMessage: (/** @type {any} */ m, /** @type {any} */ t) => parent.postMessage(m, t),
      set onmessage(/** @type {any} */ f) {
        parent.on('message', (data) => f({ data }));
      },
    }
  : /** @type {any} */ (globalThis);

/**
 * Settles when the owner can detect the end of this worker. The first answer of a call waits for it.
 * @type {Promise<unknown> | undefined}
 */
export let watched;

/** @typedef {'worker_more'|'worker_files'} SecondScript */
/**
 * The owner's first message. scripts: the addresses of further scripts (second_script.js).
 * @type {{hello: true, scripts?: {[script in SecondScript]?: string}} | undefined}
 */
export let greeting;

/** @type {(module: WebAssembly.Module) => void} */
let deliver;
/** The compiled binary, which is posted in a message of its own. @type {Promise<WebAssembly.Module>} */
export const engine = new Promise((resolve) => {
  deliver = resolve;
});

/**
 * Receive the owner's messages. The first, `{ hello }`, is answered with `{ ready }` (start_worker.js); a helper thread
 * gets `{ help }`, the port that receives its job, instead.
 * @param {(data: any) => void} receive  gets the calls
 */
export function listen(receive) {
  port.onmessage = (/** @type {{data: any}} */ { data }) => {
    if (data.help) return startHelping(data.help);
    if (data.engine) return deliver(data.engine);
    if (!data.hello) return receive(data);
    if (greeting) return; // a caller's worker is greeted several times
    greeting = data;
    port.postMessage({ ready: true });
    if (!parent) watched = holdLock();
  };
  // An error that is thrown here becomes an error event for the owner.
  if (!parent)
    globalThis.onmessageerror = () => {
      throw new Error('a message to it could not be read');
    };
}

/**
 * Do a helper thread's job when it comes. A helper that cannot start is left out.
 * @param {MessagePort} job
 */
function startHelping(job) {
  job.onmessage = async ({ data }) => {
    if (!parent) await holdLock();
    try {
      help(data, (message) => port.postMessage(message));
    } catch {}
  };
}

/**
 * Hold a lock as long as the worker lives, and post its name. A browser sends no event when it ends a worker, but it
 * releases the lock, which the owner requests. An opaque origin has no locks.
 */
function holdLock() {
  return new Promise(
    (done) =>
      navigator.locks
        ?.request(crypto.randomUUID(), (lock) => {
          port.postMessage({ lock: lock?.name });
          done(0);
          return new Promise(() => {});
        })
        .catch(done) ?? done(0),
  );
}

/**
 * Ask the owner for a helper thread.
 * @type {import('../engine/threads.js').OnHelper}
 */
export const askForHelper = (asked) => port.postMessage(asked, [asked.job]);

/**
 * Post a message and transfer its arrays. The sender must not use them any more.
 * @param {any} message
 */
export function post(message) {
  port.postMessage(message, [...buffers(message)]);
}

/**
 * Post a failed call. A WebAssembly trap is posted as the crash of the whole model.
 * @param {number} id
 * @param {unknown} error
 * @param {boolean} [aborted]
 */
export function postError(id, error, aborted = false) {
  post(
    error instanceof WebAssembly.RuntimeError
      ? { crash: packError(error) }
      : { id, error: { packed: packError(error), aborted } },
  );
}

/**
 * The buffers of all arrays in a message.
 * @param {any} value
 * @returns {Set<ArrayBuffer>}
 */
function buffers(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(value.buffer);
  else if (value && typeof value === 'object' && !(value instanceof MessagePort))
    for (const v of Object.values(value)) buffers(v, found);
  return found;
}
