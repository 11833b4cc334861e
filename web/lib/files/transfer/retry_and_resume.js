// retry_and_resume.js - a fetch that repeats a request to a busy server, and requests the rest of a body after the
// connection was interrupted or sent no byte for a minute
//
// A validator (a strong ETag or Last-Modified) must show that the file on the server has not changed. Responses without
// a validator, or with a content encoding, are not resumed.
import { GlassformerError, fail } from '../../base/errors.js';
import { checkedResponse, checkedChunk } from '../../base/checks.js';
import { untilAborted } from '../../base/event_loop.js';
import { END } from '../bytes/chunks.js';
import { chunksByResponse, isEncoded, reusedChunks, sizeOf, streamChunks } from '../bytes/open_file.js';

/** Most requests in succession without a new byte. */
const ATTEMPTS = 5;
/** Wait before the first of these requests; doubled each time. */
const WAIT_MS = 150;
/** Longest wait that a server may ask for. A server that asks for more is not asked again. */
const LONGEST_WAIT_MS = 30_000;
/** Longest wait for the next bytes of a body, and for the answer to a request for its rest. */
const SILENCE_MS = 60_000;
/** Status codes of a server that may answer later. */
const BUSY = [408, 429, 500, 502, 503, 504];

/**
 * A fetch whose bodies are resumed.
 * @param {typeof globalThis.fetch} fetch
 * @returns {typeof globalThis.fetch}
 */
export function withResume(fetch) {
  return async (input, init) => {
    const url = String(input);
    if (!/^https?:/.test(url)) return checkedResponse(await fetch(input, init), url);
    const response = await answer(fetch, url, init);
    const validator = validatorOf(response);
    const isWhole = response.status === 200;
    const isRest = response.status === 206 && new Headers(init?.headers).has('range') && !!rangeOf(response);
    if (!(isWhole || isRest) || !response.body || !validator) return response;
    const body = new ResumedBody(fetch, url, init, response, validator);
    const { status, statusText, headers, type } = response;
    const whole = new Response(body.stream(), { status, statusText, headers });
    // The type and the url of a constructed Response are empty, but readers use them.
    Object.defineProperties(whole, { type: { value: type }, url: { value: response.url } });
    chunksByResponse.set(whole, (reused) => body.chunks(reused));
    return whole;
  };
}

/**
 * The answer to a request, which is repeated while the server is busy.
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 * @param {RequestInit} [init]
 */
async function answer(fetch, url, init) {
  for (let attempts = 0; ; attempts++) {
    const response = checkedResponse(await fetch(url, init), url);
    // What Retry-After asks for in seconds or as a date, otherwise twice the wait before
    const after = response.headers.get('retry-after') ?? '';
    const asked = Number(after) * 1000 || Date.parse(after) - Date.now();
    const wait = asked > 0 ? asked : WAIT_MS * 2 ** attempts;
    if (attempts === ATTEMPTS || wait > LONGEST_WAIT_MS || !BUSY.includes(response.status)) return response;
    response.body?.cancel().catch(() => {});
    await pause(wait, init?.signal ?? undefined);
  }
}

/** @typedef {{name: 'etag'|'last-modified', value: string}} Validator */

/**
 * The validator of a response; null where no range of the file can be requested.
 * @param {Response} response
 * @returns {Validator | null}
 */
export function validatorOf({ headers }) {
  if (isEncoded(headers) || headers.get('accept-ranges') === 'none') return null;
  for (const name of /** @type {const} */ (['etag', 'last-modified'])) {
    const value = headers.get(name);
    if (value && !value.startsWith('W/')) return { name, value };
  }
  return null;
}

/**
 * The size of a body; null where it is unknown: content-length counts encoded bytes, and for another origin it is
 * hidden whether the body is encoded.
 * @param {Response} response
 */
export const lengthOf = ({ headers, type }) => (type === 'cors' ? null : sizeOf(headers));

/**
 * The Content-Range of a response.
 * @param {Response} response
 * @returns {{start: number, size: number | null} | null} size: of the whole file; null where it is unknown
 */
export function rangeOf({ headers }) {
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
  return range && { start: Number(range[1]), size: range[2] === '*' ? null : Number(range[2]) };
}

class ResumedBody {
  /** Place in the file of the next byte. */
  #position = 0;
  /** Requests since the last delivered byte. */
  #attempts = 0;
  /** Bytes to drop from a server without ranges, which sends the whole file again. */
  #skip = 0;
  #fetch;
  #url;
  #init;
  #validator;
  /** @type {number | null} size of the whole file, null where it is unknown */
  #total;
  /** Whether the response is of another origin: then only exposed headers can be read. */
  #crossOrigin;
  /** @type {ReadableStream<Uint8Array>} */
  #body;
  /** The chunks of #body; null before its first read. @type {AsyncIterator<Uint8Array> | null} */
  #reader = null;
  /** Whether a chunk is valid only until the next one is requested. */
  #reused = false;

  /**
   * @param {typeof globalThis.fetch} fetch
   * @param {string} url
   * @param {RequestInit | undefined} init
   * @param {Response} response
   * @param {Validator} validator
   */
  constructor(fetch, url, init, response, validator) {
    this.#fetch = fetch;
    this.#url = url;
    this.#init = init;
    this.#validator = validator;
    this.#crossOrigin = response.type === 'cors';
    // a caller can request the rest of a file
    const range = response.status === 206 ? rangeOf(response) : null;
    this.#position = range?.start ?? 0;
    this.#total = range ? range.size : lengthOf(response);
    this.#body = /** @type {ReadableStream<Uint8Array>} */ (response.body);
  }

  /**
   * The body.
   * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
   */
  stream() {
    return new ReadableStream(
      {
        pull: async (controller) => {
          const chunk = await this.#next();
          if (chunk) controller.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (chunk));
          else controller.close();
        },
        cancel: () => this.#cancel(),
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * The body as chunks, for a caller that does not read the stream.
   * @param {boolean} reused  whether a chunk may be valid only until the next one is requested
   * @returns {AsyncIterator<Uint8Array>}
   */
  chunks(reused) {
    this.#reused = reused;
    return /** @type {any} */ ({
      next: async () => {
        const value = await this.#next();
        return value ? { done: false, value } : END;
      },
      return: async () => {
        this.#cancel();
        return END;
      },
    });
  }

  #open() {
    return (this.#reader ??= (this.#reused ? reusedChunks : streamChunks)(this.#body));
  }

  #cancel() {
    this.#open().return?.();
  }

  /**
   * The next bytes, after a new request where one is needed.
   * @returns {Promise<Uint8Array | null>} null at the end
   */
  async #next() {
    for (;;) {
      /** @type {unknown} */
      let cause;
      try {
        const { done, value } = await inTime(this.#open().next());
        if (done && (this.#total === null || this.#position >= this.#total)) return null;
        if (!done) {
          checkedChunk(value, this.#url);
          const skipped = Math.min(this.#skip, value.length);
          this.#skip -= skipped;
          if (skipped === value.length) continue;
          this.#position += value.length - skipped;
          this.#attempts = 0;
          return value.subarray(skipped);
        }
      } catch (error) {
        this.#init?.signal?.throwIfAborted();
        if (error instanceof GlassformerError) throw error;
        cause = error;
        this.#cancel(); // a silent connection is still open
      }
      await this.#reconnect(cause);
    }
  }

  /**
   * Request the rest of the file.
   * @param {unknown} cause why the last connection ended
   */
  async #reconnect(cause) {
    const signal = this.#init?.signal ?? undefined;
    const fetch = this.#fetch; // the platform's fetch throws when it is called as a method
    for (;;) {
      if (this.#attempts++ === ATTEMPTS) this.#refuse(`${ATTEMPTS} requests for the rest brought nothing`, cause);
      await pause(WAIT_MS * 2 ** (this.#attempts - 1), signal);
      let response;
      try {
        const headers = new Headers(this.#init?.headers);
        headers.set('range', `bytes=${this.#position}-`);
        // A request to another origin would need Access-Control-Allow-Headers for if-range.
        if (!this.#crossOrigin) headers.set('if-range', this.#validator.value);
        response = await answer((url, init) => inTime(Promise.resolve(fetch(url, init))), this.#url, {
          ...this.#init,
          headers,
        });
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof GlassformerError) throw error;
        cause = error;
        continue;
      }
      if (this.#accepts(response)) {
        this.#body = /** @type {ReadableStream<Uint8Array>} */ (response.body);
        this.#reader = null;
        return;
      }
    }
  }

  /**
   * Whether a response continues the body. Throws when no later request can succeed.
   * @param {Response} response
   */
  #accepts(response) {
    const { status, headers } = response;
    const { name, value } = this.#validator;
    if (status !== 200 && status !== 206 && status !== 416)
      this.#refuse(`the server then answered ${status} ${response.statusText}`.trim());
    const same = headers.get(name) === value;
    const range = rangeOf(response);
    const size = status === 206 ? (range?.size ?? null) : null;
    if (status === 416 || !same || (size !== null && this.#total !== null && size !== this.#total)) {
      response.body?.cancel().catch(() => {});
      this.#refuse('the file on the server has changed since: load it again');
    }
    if (status === 206 && !range && this.#crossOrigin)
      this.#refuse('the server does not let pages of other origins read Content-Range (Access-Control-Expose-Headers)');
    if (status === 206 && range?.start !== this.#position)
      this.#refuse('the server then sent another part of the file than the requested one');
    if (status === 206) this.#total ??= size;
    this.#skip = status === 200 ? this.#position : 0; // a server without ranges sends the whole file
    return !!response.body;
  }

  /**
   * Throw the error for a body that cannot be resumed.
   * @param {string} why
   * @param {unknown} [cause]
   * @returns {never}
   */
  #refuse(why, cause) {
    const of = this.#total === null ? '' : ` of ${this.#total}`;
    return fail(
      'network',
      `${this.#url}: the connection was cut after ${this.#position}${of} bytes, and ${why}`,
      cause,
    );
  }
}

/**
 * The promise, which rejects when it has not settled after SILENCE_MS.
 * @template T
 * @param {Promise<T>} promise
 */
const inTime = (promise) => untilAborted(promise, AbortSignal.timeout(SILENCE_MS));

/**
 * Waits, or rejects with the signal's reason.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}
