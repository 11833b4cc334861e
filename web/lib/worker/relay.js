// relay.js - lets a worker use functions of the caller: fetch, and the names of tensors
//
// The caller's side makes the request, and the worker's side reads the body by messages.
import { packError, unpackError } from '../base/failure.js';
import { checkedResponse, checkedChunk } from '../base/checks.js';

/**
 * The caller's side: make a request for a worker.
 * @param {{fetch: string, init: any, port: MessagePort}} message
 * @param {typeof globalThis.fetch} fetch
 * @param {AbortSignal} [signal]
 */
export async function answerFetch({ fetch: url, init, port }, fetch, signal) {
  /** @param {any} error */
  const fail = (error) => port.postMessage({ error: packError(error) });
  /** @type {ReadableStreamDefaultReader<Uint8Array> | undefined} */
  let reader;
  port.onmessage = ({ data }) => {
    if (data === 'cancel') {
      reader?.cancel().catch(() => {});
      port.close();
    } else if (reader) {
      reader
        .read()
        .then(({ done, value }) => port.postMessage({ done, value: done ? undefined : checkedChunk(value, url) }))
        .catch(fail);
    } else {
      port.postMessage({ done: true });
    }
  };
  try {
    const response = checkedResponse(await fetch(url, { ...init, signal }), url);
    reader = response.body?.getReader();
    port.postMessage({
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers],
      url: response.url,
      type: response.type,
    });
  } catch (error) {
    fail(error);
  }
}

/**
 * The worker's side: a fetch function whose requests are made by the caller's side.
 * @param {(message: object, transfer: Transferable[]) => void} post
 * @returns {typeof globalThis.fetch}
 */
export function relayedFetch(post) {
  return (input, init = {}) => {
    const url = String(input);
    const { port1, port2 } = new MessageChannel();
    const headers = [...new Headers(init.headers)];
    post({ fetch: url, init: { method: init.method, redirect: init.redirect, headers }, port: port2 }, [port2]);
    const { signal } = init;
    const next = () =>
      new Promise((resolve, reject) => {
        const abort = () => {
          port1.postMessage('cancel');
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', abort, { once: true });
        port1.onmessage = ({ data }) => {
          signal?.removeEventListener('abort', abort);
          if (data.error) reject(unpackError(data.error));
          else resolve(data);
        };
      });
    return next().then((/** @type {any} */ head) => {
      const body =
        head.status === 204 || head.status === 304
          ? null
          : new ReadableStream(
              {
                async pull(controller) {
                  const chunk = next();
                  port1.postMessage('next');
                  const { done, value } = /** @type {any} */ (await chunk);
                  if (done) {
                    controller.close();
                    port1.close();
                  } else controller.enqueue(value);
                },
                cancel() {
                  port1.postMessage('cancel');
                },
              },
              { highWaterMark: 1 },
            );
      const response = new Response(body, {
        status: head.status || 200,
        statusText: head.statusText,
        headers: head.headers,
      });
      // An opaque redirect has status 0, with which no Response can be constructed.
      if (!head.status) Object.defineProperties(response, { status: { value: 0 }, ok: { value: false } });
      return Object.defineProperties(response, { url: { value: head.url }, type: { value: head.type } });
    });
  };
}

/**
 * The caller's side: give a worker the names of tensors in its files.
 * @param {{rename: string[], port: MessagePort}} message
 * @param {(names: string[]) => Promise<any>} rename
 */
export async function answerRename({ rename: names, port }, rename) {
  try {
    port.postMessage({ names: await rename(names) });
  } catch (error) {
    port.postMessage({ error: packError(error) });
  }
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
