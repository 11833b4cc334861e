// event_loop.js - yields to the event loop during long computations, which lets messages, timers and aborts be handled,
// and what a call does that was aborted

/** Longest computation without a yield, in ms: one frame at 60 Hz. */
const MAX_BLOCKING_MS = 15;

/**
 * Wait for one iteration of the event loop.
 * @returns {Promise<void>}
 */
function yieldToEventLoop() {
  const { setImmediate } = /** @type {any} */ (globalThis);
  if (setImmediate) return new Promise((resolve) => setImmediate(resolve));
  // A MessageChannel, because browsers delay a nested setTimeout by at least 4 ms.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/**
 * A promise that rejects with the signal's reason when the signal is aborted first.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export function untilAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * The answer of a call. Where its signal was aborted before the answer came, the call rejects with the signal's reason.
 * @template T
 * @param {Promise<T>} answer
 * @param {AbortSignal} [signal]
 * @param {(value: T) => unknown} [undo]  undoes what the call opened or changed
 * @returns {Promise<T>}
 */
export async function unlessAborted(answer, signal, undo) {
  const value = await answer;
  if (!signal?.aborted) return value;
  await undo?.(value);
  throw signal.reason;
}

/**
 * Divides a long computation: `yieldIfDue` is called between its pieces, throws when the signal is aborted, and yields
 * when the last yield was 15 ms ago or more.
 */
export class Yielder {
  #last = performance.now();

  /** @param {AbortSignal} [signal] */
  constructor(signal) {
    this.signal = signal;
  }

  /**
   * Throws the signal's reason when it is aborted; yields when a yield is due.
   * @returns {Promise<void> | undefined} undefined when no yield is due, which lets hot loops skip the await
   */
  yieldIfDue() {
    this.signal?.throwIfAborted();
    if (performance.now() - this.#last < MAX_BLOCKING_MS) return undefined;
    return yieldToEventLoop().then(() => {
      this.#last = performance.now();
      this.signal?.throwIfAborted();
    });
  }
}
