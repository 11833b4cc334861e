// open_file.js - opens one file as a sequence of chunks: bytes, a Blob, an address or a path
import { EMPTY, END } from './chunks.js';
import { GlassformerError, fail, messageOf } from '../../base/errors.js';
import { reasonOf } from './failed_request.js';
import { untilAborted } from '../../base/event_loop.js';
import { checkedResponse } from '../../base/checks.js';

/** @typedef {string | URL | Blob | ArrayBuffer | Uint8Array} Bytes */
/** @import { OpenOptions } from '../opened_files.js' */

/**
 * An open file.
 * @typedef {object} Opened
 * @property {string} name  for messages
 * @property {AsyncIterator<Uint8Array>} chunks
 * @property {number | null} total  size in bytes; null where it is unknown
 * @property {boolean} [exact]  false: `total` may be the size of the compressed file
 * @property {boolean} [bounded]  whether no more than `total` bytes can arrive
 * @property {boolean} [reused]  whether a chunk is valid only until the next one is requested
 */

/**
 * Throws the error for a web page that was served in place of a file.
 * @param {string} name  of the file
 * @returns {never}
 */
export const failWebPage = (name) =>
  fail(
    'html',
    `${name}: the server sent an HTML page instead of a model file, as many do for unknown paths: check the path, ` +
      'and that the file is in the public folder',
  );

const inNode = Boolean(globalThis.process?.versions?.node) && typeof window === 'undefined';

/**
 * node_files.js, which is loaded at the first call, in Node only. This is its only import: see `addressed` in
 * base/checks.js.
 */
export const nodeFiles = () => import('../transfer/node_files.js');

/**
 * The path in Node's file system that a path or a file: address means; null for other addresses, and outside Node.
 * @param {string | URL} at
 * @returns {string | null}
 */
export function localPath(at) {
  if (!inNode) return null;
  const text = String(at);
  if (text.startsWith('file:')) {
    try {
      return globalThis.process.getBuiltinModule('node:url').fileURLToPath(text);
    } catch (error) {
      return fail('bad-argument', `${text}: not the address of a file here: ${messageOf(error)}`, error);
    }
  }
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? null : text;
}

/**
 * Opens a file in any of its forms.
 * @param {Bytes} source
 * @param {OpenOptions} options
 * @returns {Promise<Opened>}
 */
export async function openBytes(source, options) {
  if (source instanceof ArrayBuffer) return openBytes(new Uint8Array(source), options);
  if (source instanceof Uint8Array)
    return { name: 'the bytes given', chunks: singleChunk(source), total: source.length };
  if (source instanceof Blob) {
    const name = /** @type {any} */ (source).name || 'the blob given';
    return { name, chunks: streamChunks(source.stream()), total: source.size };
  }
  const path = localPath(source);
  return path === null ? openUrl(source, options) : (await nodeFiles()).openPath(path);
}

/**
 * Bytes as a sequence of one chunk.
 * @param {Uint8Array} bytes
 */
async function* singleChunk(bytes) {
  yield bytes;
}

/**
 * The chunks of a stream; `return` cancels the stream. This is not a generator: `return` of a generator that was never
 * started does not run its finally block.
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncIterator<Uint8Array>}
 */
export function streamChunks(stream) {
  const reader = stream.getReader();
  return /** @type {any} */ ({
    next: () => reader.read(),
    return: async () => {
      reader.cancel().catch(() => {});
      return END;
    },
  });
}

/** Bytes that one read of a reused buffer takes at most: few enough to stay in the processor's cache. */
const READ_BYTES = 1 << 18;

/**
 * The chunks of a body of the platform, all in one buffer: a chunk is valid until the next one is requested. Chromium
 * otherwise allocates new memory for each chunk, which takes as long as the transfer from its network process, and a
 * file's size of it is in use until the next garbage collection.
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncIterator<Uint8Array>}
 */
export function reusedChunks(stream) {
  let reader;
  try {
    reader = stream.getReader({ mode: 'byob' });
  } catch {
    return streamChunks(stream); // not a stream of bytes in this browser
  }
  let buffer = new ArrayBuffer(READ_BYTES);
  return /** @type {any} */ ({
    next: async () => {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done || !value) return END;
      buffer = value.buffer;
      return { done, value };
    },
    return: async () => {
      reader.cancel().catch(() => {});
      return END;
    },
  });
}

/**
 * Functions that give the body of a response as chunks, without the stream that a wrapper of `fetch` made of it.
 * @type {WeakMap<Response, (reused: boolean) => AsyncIterator<Uint8Array>>}
 */
export const chunksByResponse = new WeakMap();

/**
 * The chunks of a response's body.
 * @param {Response} response
 * @param {boolean} reused  whether a chunk may be valid only until the next one is requested
 * @returns {AsyncIterator<Uint8Array>}
 */
function chunksOf(response, reused) {
  const { body } = response;
  if (!body) return singleChunk(EMPTY);
  return chunksByResponse.get(response)?.(reused) ?? (reused ? reusedChunks(body) : streamChunks(body));
}

/** Whether content-length and ranges count encoded bytes. @param {Headers} headers */
export const isEncoded = (headers) => !['', 'identity'].includes(headers.get('content-encoding') ?? '');

/** The content-length; null where there is none, or where it counts encoded bytes. @param {Headers} headers */
export function sizeOf(headers) {
  const length = headers.get('content-length') ?? '';
  return /^\d+$/.test(length) && !isEncoded(headers) ? Number(length) : null;
}

/**
 * Requests an address.
 * @param {string | URL} url
 * @param {OpenOptions} options
 * @returns {Promise<Opened>}
 */
async function openUrl(url, { fetch = globalThis.fetch, trusted = fetch === globalThis.fetch, signal }) {
  const name = /^data:/i.test(String(url)) ? 'the data: address' : String(url);
  const asked = (async () => fetch(url, { signal }))();
  let res;
  try {
    res = checkedResponse(await untilAborted(asked, signal), name);
  } catch (e) {
    if (signal?.aborted) {
      asked.then(({ body }) => body?.cancel()).catch(() => {}); // a fetch may ignore the signal
      throw signal.reason;
    }
    if (e instanceof GlassformerError) throw e;
    return fail('network', `${name}: the request failed${await reasonOf(url, e, signal)}: ${messageOf(e)}`, e);
  }
  if (!res.ok) {
    res.body?.cancel().catch(() => {});
    return fail(
      res.status === 404 || res.status === 410 ? 'not-found' : 'network',
      `${name}: the server answered ${res.status} ${res.statusText}`.trim() +
        (res.status === 401
          ? ': the file does not exist, or it is private or gated; check the name, and set token or $HF_TOKEN for a ' +
            'private model'
          : ''),
      res.status,
    );
  }
  if (/^text\/html/i.test(res.headers.get('content-type') ?? '')) {
    res.body?.cancel().catch(() => {});
    return failWebPage(name);
  }
  const total = sizeOf(res.headers);
  // The encoding of a response of another origin is hidden: its length may be that of the compressed bytes.
  const exact = res.type !== 'cors';
  return {
    name,
    chunks: chunksOf(res, trusted),
    total,
    exact,
    bounded: exact && trusted,
    reused: trusted,
  };
}
