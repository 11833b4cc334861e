// yielding.js - pauses, and long work that lets the page paint and handle input

const SLICE_MS = 8; // of work between two yields

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Until the tasks that wait have run; a timer would wait four milliseconds more. */
const yieldToEventLoop = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve(undefined);
    };
    port2.postMessage(0);
  });

/** A function to call again and again within long work: it yields to the event loop every few ms. */
export function yielder() {
  let slice = performance.now();
  return async () => {
    if (performance.now() - slice < SLICE_MS) return;
    await yieldToEventLoop();
    slice = performance.now();
  };
}
