// breath.js - waiting, and long work that lets the page paint and hear its buttons.

const SLICE_MS = 8; // of work between two breaths

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Until what waits has had its turn; a timer would wait four milliseconds more. */
const breath = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve(undefined);
    };
    port2.postMessage(0);
  });

/** Called again and again within long work: lets the page paint and hear its buttons every few ms. */
export function breather() {
  let slice = performance.now();
  return async () => {
    if (performance.now() - slice < SLICE_MS) return;
    await breath();
    slice = performance.now();
  };
}
