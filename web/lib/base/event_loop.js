// event_loop.js - yields to the event loop during long computations, so that messages, timers and aborts are handled

/** Longest computation without a yield, in ms: one frame at 60 Hz. */
const MAX_BLOCKING_MS = 15;

/**
 * Wait for one iteration of the event loop.
 * @returns {Promise<void>}
 */
function yieldToEventLoop() {
  const { setImmediate } = /** @type {any} */ (globalThis);
  if (setImmediate) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    // a nested setTimeout would wait at least 4 ms
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/**
 * Called between the pieces of a long computation: throws when the signal is aborted, and yields when the last yield is
 * long ago.
 */
export class Yielder {
  #last = performance.now();

  /** @param {AbortSignal} [signal] */
  constructor(signal) {
    this.signal = signal;
  }

  /**
   * @returns {Promise<void> | undefined} undefined when no yield is due: callers in hot loops skip the await
   * @throws the signal's reason
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
