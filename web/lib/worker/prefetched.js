// prefetched.js - the worker's side of prefetch.js: reads the file that the caller's side has requested
import { unpackError } from '../base/failure.js';

/**
 * A fetch function whose first request of the address is answered with what the caller's side
 * receives. A chunk of its body is valid until the next one is requested.
 * @param {{url: string, port: MessagePort}} prefetched
 * @returns {typeof globalThis.fetch}
 */
export function prefetchedFetch({ url, port }) {
  /** @type {any[]} */
  const arrived = [];
  let wake = () => {};
  let used = false;
  port.onmessage = ({ data }) => {
    arrived.push(data);
    wake();
  };
  const next = async () => {
    while (!arrived.length)
      await new Promise((resolve) => {
        wake = () => resolve(undefined);
      });
    return arrived.shift();
  };
  return async (input, init) => {
    if (used || String(input) !== url) return fetch(input, init);
    used = true;
    const head = await next();
    if (head.failed) return fetch(input, init);
    /** @type {Uint8Array<ArrayBuffer> | null} */
    let last = null;
    const body = new ReadableStream(
      {
        async pull(controller) {
          if (last) port.postMessage(last.buffer, [last.buffer]);
          const { done, value, error } = await next();
          if (error) throw unpackError(error);
          last = value;
          if (!done) return controller.enqueue(value);
          controller.close();
          port.close();
        },
        cancel: () => port.close(),
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers } = head;
    const response = new Response([204, 205, 304].includes(status) ? null : body, { status, statusText, headers });
    return Object.defineProperties(response, { url: { value: head.url }, type: { value: head.type } });
  };
}
