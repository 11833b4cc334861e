// stream_source.js - makes a Response or a stream usable as a source of `load`: it gets an address, and a fetch
// function answers requests for this address with its bytes
import { fail } from './errors.js';
import { isStreamed } from './kinds.js';

/** @typedef {Response | ReadableStream<Uint8Array>} Streamed */

/**
 * The source with addresses, and the fetch function that answers them. `close` cancels the streams that were not read.
 * @typedef {{source: any, fetch: typeof globalThis.fetch, close: () => void}} Addressed
 */

/**
 * Whether `value` is a Response rather than a stream.
 * @param {any} value
 * @returns {value is Response}
 */
const isResponse = (value) => isStreamed(value) && typeof value.getReader !== 'function';

/**
 * Replaces each Response and stream of a source by an address. A Response keeps its own URL, relative to which the
 * files beside it are found.
 * @param {any} source  checked, with a Response or a stream
 * @param {typeof globalThis.fetch} [fetch]  for all other addresses
 * @returns {Addressed}
 */
export function addressed(source, fetch) {
  /** @type {Map<string, Response>} */
  const waiting = new Map();
  /**
   * @param {any} value
   * @param {string} part  name of the file within the source
   * @returns {any}
   */
  const address = (value, part) => {
    if (Array.isArray(value)) return value.map((each, i) => address(each, `${part}-${i + 1}`));
    if (!isStreamed(value)) return value;
    const own =
      isResponse(value) && /^https?:.*[^/]$/.test(value.url) && !waiting.has(value.url) ? value.url : `stream:${part}`;
    waiting.set(own, isResponse(value) ? checked(value, own) : new Response(bytesOnly(value, own)));
    return own;
  };
  const named =
    'weights' in source
      ? Object.fromEntries(Object.entries(source).map(([part, file]) => [part, address(file, part)]))
      : address(source, 'weights');
  return {
    source: named,
    fetch: async (input, init) => {
      const url = String(input);
      const response = waiting.get(url);
      if (!response) {
        if (url.startsWith('stream:')) fail('bad-state', `${url}: a stream can be read once only`);
        return (fetch ?? globalThis.fetch)(input, init);
      }
      waiting.delete(url);
      return response;
    },
    close: () => {
      for (const { body } of waiting.values()) if (body && !body.locked) body.cancel().catch(() => {});
      waiting.clear();
    },
  };
}

/**
 * Check that the body of a Response can be read.
 * @param {Response} response
 * @param {string} name  for the message
 */
function checked(response, name) {
  if (response.bodyUsed || response.body?.locked)
    fail('bad-argument', `${name}: the body of the Response was read already`);
  if (response.type === 'opaque')
    fail('bad-argument', `${name}: the Response is opaque (mode "no-cors"), its bytes cannot be read`);
  return response;
}

/**
 * The bytes of a stream. A chunk that is not bytes is refused.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {string} name  for the message
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
 */
function bytesOnly(stream, name) {
  if (stream.locked) fail('bad-argument', `${name}: the stream is locked, something else reads it`);
  const reader = /** @type {ReadableStreamDefaultReader<any>} */ (stream.getReader());
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        if (!(value instanceof ArrayBuffer) && !ArrayBuffer.isView(value)) {
          reader.cancel().catch(() => {});
          fail('bad-argument', `${name}: the stream holds ${typeof value} values, expected bytes (Uint8Array)`);
        }
        controller.enqueue(
          value instanceof ArrayBuffer
            ? new Uint8Array(value)
            : new Uint8Array(/** @type {any} */ (value).buffer, value.byteOffset, value.byteLength),
        );
      },
      cancel: (why) => reader.cancel(why),
    },
    { highWaterMark: 0 },
  );
}
