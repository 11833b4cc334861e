// turn.js - letting others run between pieces of long work

/** Longest stretch without a turn of the event loop, in ms: a frame at 60 Hz. */
const STRETCH_MS = 15;

/** One turn of the event loop: timers, messages and aborts get their chance. @returns {Promise<void>} */
function turn() {
  const { setImmediate } = /** @type {any} */ (globalThis);
  if (setImmediate) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => { // setTimeout would wait 4 ms
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(0);
  });
}

/** Called between pieces of work: stops where the signal says so, and gives a turn when one is due. */
export class Pause {
  #last = performance.now();

  /** @param {AbortSignal} [signal] */
  constructor(signal) { this.signal = signal; }

  /** @returns {Promise<void> | undefined} nothing to wait for most of the time */
  check() {
    this.signal?.throwIfAborted();
    if (performance.now() - this.#last < STRETCH_MS) return undefined;
    return turn().then(() => {
      this.#last = performance.now();
      this.signal?.throwIfAborted();
    });
  }
}
