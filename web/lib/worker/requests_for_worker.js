// requests_for_worker.js - what the caller's side does for a worker: it requests the model's file while the worker
// starts, and calls the caller's functions, fetch and names
//
// A browser needs tens of milliseconds to start a worker. The bytes of a file are posted in few buffers; for each one
// that the worker's side has read it posts a buffer or null back.
import { packError, unpackError } from '../base/failure.js';
import { checkedResponse, checkedChunk } from '../base/checks.js';

/** Size of a buffer: few enough bytes to stay in the processor's cache. */
const BUFFER_BYTES = 1 << 18;
/** Buffers in use, and so the most chunks that wait for the worker. */
const BUFFERS = 4;

/**
 * The address to request early; undefined where only the worker can know the request: for folders, the hub, caches,
 * headers.
 * @param {any} source  a source that api/input/load_options.js has checked
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
  return { url, port: port2, close: postResponse(port1, url, () => fetch(url, { signal }), true) };
}

/**
 * The caller's side: make a request for a worker.
 * @param {{fetch: string, init: any, port: MessagePort}} message
 * @param {typeof globalThis.fetch} fetch
 * @param {AbortSignal} [signal]
 */
export function answerFetch({ fetch: url, init, port }, fetch, signal) {
  postResponse(port, url, () => fetch(url, { ...init, signal }), false);
}

/**
 * Post a response to the worker's side: its head, then chunks while buffers are free.
 * @param {MessagePort} port
 * @param {string} url
 * @param {() => Promise<Response>} request
 * @param {boolean} own  whether the request is the platform's; the buffers of a caller's chunks stay the caller's
 * @returns {() => void}  ends the request
 */
function postResponse(port, url, request, own) {
  /** Buffers to read into; null: a chunk in another buffer may follow. @type {(ArrayBuffer | null)[]} */
  const free = Array(BUFFERS).fill(null);
  let wake = () => {};
  let cancel = () => {};
  let closed = false;
  const close = () => {
    closed = true;
    port.close();
    cancel();
    wake();
  };
  port.onmessage = ({ data }) => {
    if (data === 'cancel') return close();
    free.push(data);
    wake();
  };
  const send = async () => {
    const response = checkedResponse(await request(), url);
    const { status, statusText, headers, type, body } = response;
    port.postMessage({ status, statusText, headers: [...headers], type, url: response.url });
    const { reader, read } = readerOf(body, own);
    cancel = () => void reader?.cancel().catch(() => {});
    while (!closed) {
      if (!free.length) await /** @type {Promise<void>} */ (new Promise((resolve) => (wake = resolve)));
      if (closed) return;
      const { done, value } = await read(free.shift());
      if (done) return port.postMessage({ done });
      const chunk = checkedChunk(value, url);
      port.postMessage({ value: chunk }, own ? [chunk.buffer] : []);
    }
  };
  send()
    .catch((error) => port.postMessage({ error: packError(error) }))
    .finally(() => cancel());
  return close;
}

/**
 * Reads a body, into given buffers where the browser can.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>> | null} body
 * @param {boolean} own
 */
function readerOf(body, own) {
  try {
    const reader = own ? body?.getReader({ mode: 'byob' }) : undefined;
    if (reader)
      return {
        reader,
        read: (/** @type {ArrayBuffer | null | undefined} */ buffer) =>
          reader.read(new Uint8Array(buffer ?? new ArrayBuffer(BUFFER_BYTES))),
      };
  } catch {
    // no stream of bytes
  }
  const reader = body?.getReader();
  return { reader, read: async () => reader?.read() ?? { done: true, value: undefined } };
}

/**
 * The worker's side: a fetch function whose first request of the address is answered with what the caller's side
 * receives. A chunk of its body is valid until the next one is requested.
 * @param {{url: string, port: MessagePort}} prefetched
 * @returns {typeof globalThis.fetch}
 */
export function prefetchedFetch({ url, port }) {
  let used = false;
  return async (input, init) => {
    if (used || String(input) !== url) return fetch(input, init);
    used = true;
    return responseFrom(port, true).catch(() => fetch(input, init));
  };
}

/**
 * The worker's side: a fetch function whose requests are made by the caller's side.
 * @param {(message: object, transfer: Transferable[]) => void} post
 * @returns {typeof globalThis.fetch}
 */
export function relayedFetch(post) {
  return (input, { method, redirect, headers, signal } = {}) => {
    const { port1, port2 } = new MessageChannel();
    post({ fetch: String(input), init: { method, redirect, headers: [...new Headers(headers)] }, port: port2 }, [
      port2,
    ]);
    return responseFrom(port1, false, signal);
  };
}

/**
 * The response that the caller's side posts.
 * @param {MessagePort} port
 * @param {boolean} returns  whether the buffer of a chunk is posted back when the next one is requested
 * @param {AbortSignal | null} [signal]
 */
async function responseFrom(port, returns, signal) {
  /** @type {any[]} */
  const arrived = [];
  let wake = () => {};
  const cancel = () => port.postMessage('cancel');
  const abort = () => {
    cancel();
    wake();
  };
  signal?.addEventListener('abort', abort, { once: true });
  port.onmessage = ({ data }) => {
    arrived.push(data);
    wake();
  };
  const end = () => {
    signal?.removeEventListener('abort', abort);
    port.close();
  };
  const next = async () => {
    while (!arrived.length && !signal?.aborted)
      await /** @type {Promise<void>} */ (new Promise((resolve) => (wake = resolve)));
    signal?.throwIfAborted();
    const message = arrived.shift();
    if (message.error || message.done) end();
    if (message.error) throw unpackError(message.error);
    return message;
  };
  const { status, statusText, headers, url, type } = await next();
  /** @type {Uint8Array<ArrayBuffer> | null} */
  let last = null;
  const body = new ReadableStream(
    {
      async pull(controller) {
        if (last) port.postMessage(returns ? last.buffer : null, returns ? [last.buffer] : []);
        const { done, value } = await next();
        last = value;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
  const isEmpty = [204, 205, 304].includes(status);
  if (isEmpty) end();
  const response = new Response(isEmpty ? null : body, { status: status || 200, statusText, headers });
  // An opaque redirect has status 0, with which no Response can be constructed.
  if (!status) Object.defineProperties(response, { status: { value: 0 }, ok: { value: false } });
  return Object.defineProperties(response, { url: { value: url }, type: { value: type } });
}

/**
 * The caller's side: give a worker the names of tensors in its files.
 * @param {{rename: string[], port: MessagePort}} message
 * @param {(names: string[]) => Promise<any>} rename
 */
export async function answerRename({ rename: names, port }, rename) {
  port.postMessage(
    await rename(names).then(
      (answers) => ({ names: answers }),
      (error) => ({ error: packError(error) }),
    ),
  );
}

/**
 * The worker's side: a function that gets the names from the caller's side.
 * @param {(message: object, transfer: Transferable[]) => void} post
 * @returns {(names: string[]) => Promise<any>}
 */
export function relayedRename(post) {
  return (names) =>
    new Promise((resolve, reject) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => {
        port1.close();
        if (data.error) reject(unpackError(data.error));
        else resolve(data.names);
      };
      post({ rename: names, port: port2 }, [port2]);
    });
}
