// port.js - a worker's line to its owner: a module worker's own, or a worker thread's of Node with the same manners
import { packed } from '../base/failure.js';

const parent = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;

/** @type {{postMessage(message: any, transfer?: any[]): void, onmessage: any}} */
export const port = parent ? {
  postMessage: (/** @type {any} */ m, /** @type {any} */ t) => parent.postMessage(m, t),
  set onmessage(/** @type {any} */ f) { parent.on('message', (data) => f({ data })); },
} : /** @type {any} */ (globalThis);

/** Settles before the first answer is posted, once the owner can detect that this worker has ended. @type {Promise<unknown> | undefined} */
export let watched;

/**
 * Receive the owner's messages. The first, `{ hello }`, is answered with `{ ready }` (start.js).
 * @param {(data: any) => void} receive
 */
export function listen(receive) {
  port.onmessage = (/** @type {{data: any}} */ { data }) => {
    if (!data.hello) return receive(data);
    port.postMessage({ ready: true });
    if (!parent) watched = holdLock();
  };
  if (!parent) globalThis.onmessageerror = () => { throw new Error('a message to it could not be read'); }; // an error event for the owner
}

/** A browser sends no event when it ends a worker, but it then releases the worker's lock, which the owner requests. */
function holdLock() {
  return new Promise((done) => navigator.locks?.request(crypto.randomUUID(), (lock) => {
    port.postMessage({ lock: lock?.name });
    done(0);
    return new Promise(() => {});
  }).catch(done) ?? done(0)); // an opaque origin has no locks
}

/** Send something whose arrays are nobody else's: they are handed over, not copied. @param {any} message */
export function post(message) {
  port.postMessage(message, [...buffers(message)]);
}

/** The same for a failure; a trap is the end of everything. @param {number} id @param {unknown} error @param {boolean} [aborted] */
export function postError(id, error, aborted = false) {
  post(error instanceof WebAssembly.RuntimeError ? { crash: packed(error) } : { id, error: { packed: packed(error), aborted } });
}

/** @param {any} value @returns {Set<ArrayBuffer>} */
function buffers(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(value.buffer);
  else if (value && typeof value === 'object' && !(value instanceof MessagePort)) for (const v of Object.values(value)) buffers(v, found);
  return found;
}
