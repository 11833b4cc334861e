// prefetch.js - requests the model's file from the caller's thread while the worker starts
//
// A browser needs tens of milliseconds to start a worker. The bytes are posted in few buffers, which the worker's side
// (prefetched.js) posts back for the next bytes.
import { packError } from '../base/failure.js';

/** Size of a buffer: few enough bytes to stay in the processor's cache. */
const BUFFER_BYTES = 1 << 18;
/** Buffers in use, and so the most chunks that wait for the worker. */
const BUFFERS = 4;

/**
 * The address to request early; undefined where only the worker can know the request: for folders, the hub, caches,
 * headers.
 * @param {any} source  as checked by input/load_options.js
 * @param {Record<string, any>} options
 * @returns {string | undefined}
 */
export function prefetchable(source, { fetch, cache = 'none', sha256, headers, token }) {
  const url = String(source?.weights ?? source);
  const isPlain = fetch === undefined && cache === 'none' && !(sha256 ?? headers ?? token);
  return isPlain && /^https?:.*[^/]$/.test(url) && !Array.isArray(source?.weights) ? url : undefined;
}

/**
 * The caller's side: request a file.
 * @param {string} url
 * @param {AbortSignal} [signal]
 * @returns {{url: string, port: MessagePort, close: () => void}} port: for prefetchedFetch, to be transferred; close:
 *   ends the request where it was not read to its end
 */
export function prefetch(url, signal) {
  const { port1, port2 } = new MessageChannel();
  /** Buffers to read into; null: a chunk of the browser's own may follow. @type {(ArrayBuffer | null)[]} */
  const free = Array(BUFFERS).fill(null);
  let wake = () => {};
  let closed = false;
  port1.onmessage = ({ data }) => {
    free.push(data);
    wake();
  };
  const close = () => {
    closed = true;
    port1.close();
    wake();
  };
  const send = async () => {
    /** @type {Response} */
    let response;
    try {
      response = await fetch(url, { signal });
    } catch {
      return port1.postMessage({ failed: true });
    }
    const { status, statusText, headers, type, body } = response;
    port1.postMessage({ status, statusText, headers: [...headers], type, url: response.url });
    if (!body) return port1.postMessage({ done: true });
    const next = chunkReader(body);
    try {
      for (;;) {
        while (!free.length && !closed)
          await new Promise((resolve) => {
            wake = () => resolve(undefined);
          });
        if (closed) return next.cancel();
        const { done, value } = await next.read(free.shift());
        if (done || !value) return port1.postMessage({ done: true });
        port1.postMessage({ value }, [value.buffer]);
      }
    } catch (error) {
      port1.postMessage({ error: packError(error) });
    }
  };
  send();
  return { url, port: port2, close };
}

/**
 * Reads a body into given buffers where the browser can.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 */
function chunkReader(body) {
  try {
    const reader = body.getReader({ mode: 'byob' });
    return {
      read: (/** @type {ArrayBuffer | null | undefined} */ buffer) =>
        reader.read(new Uint8Array(buffer ?? new ArrayBuffer(BUFFER_BYTES))),
      cancel: () => void reader.cancel().catch(() => {}),
    };
  } catch {
    const reader = body.getReader();
    return { read: () => reader.read(), cancel: () => void reader.cancel().catch(() => {}) };
  }
}
