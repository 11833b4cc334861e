// store.js - caches for downloads, in browsers and in Node, and the SHA-256 of a weight file
//
// A file enters its store as it streams past and only counts when its last byte has: a broken or wrong download leaves
// nothing behind, nor does what a server that is ill says instead of a file.
import { GlassformerError, fail, said, show } from '../base/errors.js';
import { answerOf, chunkOf, isBytes } from '../base/given.js';
import { Opener, openBytes, streamChunks } from '../formats/source.js';
import { Sha256 } from './sha256.js';
import { Yielder } from '../base/event_loop.js';

/** Where both stores keep their files. */
const NAME = 'glassformer';
/** Answers that say there is no such file: S3 gives 403 where files may not be listed. */
const ABSENT = [403, 404, 410];
/** Bytes of a file that tell what it is; of JSON all do. */
const HEAD = 64;
/** Bytes hashed at a time, some 10 ms. */
const PIECE = 1 << 20;

/**
 * @typedef {object} Store
 * @property {(url: string) => Promise<Response | null>} get
 * @property {(url: string, headers: Headers) => Promise<WritableStream<Uint8Array>>} put  closed: the file is kept; aborted: forgotten
 */

/** @returns {Promise<Store>} */
async function cacheStorage() {
  if (typeof caches === 'undefined') fail('unsupported', 'cache-storage was asked for, but it is not there (it needs a browser and https)');
  const cache = await caches.open(NAME);
  return {
    get: async (url) => await cache.match(url) ?? null,
    put: async (url, headers) => {
      const { readable, writable } = new TransformStream();
      const kept = cache.put(url, new Response(readable, { headers }));
      const writer = writable.getWriter();
      kept.catch((error) => writer.abort(error)).catch(() => {}); // or what is written to it would wait for ever
      return new WritableStream({ write: (chunk) => writer.write(chunk), close: async () => { await writer.close(); await kept; }, abort: (why) => writer.abort(why) });
    },
  };
}

/** Files of the origin's private file system, named by the hash of their address. @returns {Promise<Store>} */
async function opfs() {
  const root = await globalThis.navigator?.storage?.getDirectory?.().catch(() => null);
  if (!root) fail('unsupported', 'opfs was asked for, but there is no private file system here (it needs a browser and https)');
  const folder = await root.getDirectoryHandle(NAME, { create: true });
  const nameOf = (/** @type {string} */ url) => new Sha256().update(new TextEncoder().encode(url)).digest();
  return {
    get: async (url) => {
      const file = await folder.getFileHandle(nameOf(url)).then((handle) => handle.getFile(), () => null);
      return file && file.size ? new Response(file, { headers: { 'content-length': String(file.size) } }) : null;
    },
    // what is written shows in the file only when the stream is closed
    put: async (url) => /** @type {WritableStream<Uint8Array>} */ (await (await folder.getFileHandle(nameOf(url), { create: true })).createWritable()),
  };
}

/** @param {string} cache @param {() => Promise<Store>} open @returns {Promise<Store>} */
async function opened(cache, open) {
  try { return await open(); } catch (error) {
    if (error instanceof GlassformerError) throw error;
    return fail('storage', `the cache ${show(cache)} cannot be used (${said(error)}): allow this site to store data, or load with { cache: 'none' }`, error);
  }
}

/**
 * A store whose failures spoil no load: what cannot be read was never kept, and what cannot be kept, on a full disk for example, is not.
 * @param {Store} store @returns {Store}
 */
function lenient({ get, put }) {
  return {
    get: (url) => get(url).catch(() => null),
    put: (url, headers) => put(url, headers).catch(() => new WritableStream()),
  };
}

/**
 * A fetch that keeps whole files, and holds one of them against its checksum.
 * @param {typeof globalThis.fetch} fetch
 * @param {{cache?: string, cacheDir?: string, sha256?: string, isWeights: (url: string) => boolean, onHit: () => void}} options
 * @returns {Promise<typeof globalThis.fetch>}
 */
async function keeping(fetch, { cache, cacheDir, sha256, isWeights, onHit }) {
  const store = cache === 'cache-storage' ? lenient(await opened(cache, cacheStorage)) : cache === 'opfs' ? lenient(await opened(cache, opfs))
    : cache === 'file' ? lenient(await (await import('./file_store.js')).fileStore(cacheDir)) : null;
  return async (input, init) => {
    const url = String(input), mine = /^https?:/.test(url) && !new Headers(init?.headers).has('range') ? store : null;
    const wanted = sha256 && isWeights(url) ? sha256.toLowerCase() : null;
    let kept = await mine?.get(url);
    if (kept && wanted) { // there may be a new file at the same address: what comes takes the place of what is here
      const found = await digestOf(streamChunks(/** @type {ReadableStream<Uint8Array>} */ (kept.body)), init?.signal).catch(() => null);
      init?.signal?.throwIfAborted();
      kept = found === wanted ? await mine?.get(url) : null;
    }
    if (kept) {
      onHit();
      return kept;
    }
    let response;
    try {
      response = answerOf(await fetch(input, init), url);
    } catch (error) { // without a network what was absent is so still; with one it may have come
      const absent = init?.signal?.aborted ? null : await mine?.get(markerOf(url));
      const status = Number(await absent?.text().catch(() => ''));
      if (!ABSENT.includes(status)) throw error;
      return new Response(null, { status });
    }
    if (mine && ABSENT.includes(response.status)) await mark(mine, markerOf(url), response.status).catch(() => {});
    if (!response.ok || !response.body || !(wanted || mine)) return response;
    const headers = new Headers();
    for (const name of ['content-type', 'content-length']) {
      const value = response.headers.get(name);
      // a decoded body is longer than what its header says, and across origins the encoding is hidden
      if (value && !(name === 'content-length' && (response.headers.has('content-encoding') || response.type === 'cors'))) headers.set(name, value);
    }
    if (/^text\/html/i.test(headers.get('content-type') ?? '')) return response;
    return through(response, url, wanted, mine && await mine.put(url, headers));
  };
}

/** Where a store keeps that there was no file at an address. @param {string} url */
function markerOf(url) {
  const marker = new URL(url);
  marker.searchParams.append(NAME, 'absent');
  return marker.href;
}

/** @param {Store} store @param {string} marker @param {number} status what the server said */
async function mark(store, marker, status) {
  const writer = (await store.put(marker, new Headers())).getWriter();
  await writer.write(new TextEncoder().encode(String(status)));
  await writer.close();
}

/** @param {Response} response @param {string} url @param {string | null} wanted @param {WritableStream<Uint8Array> | null} copy @returns {Response} with the same body */
function through(response, url, wanted, copy) {
  const hash = wanted ? new Sha256() : null, reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader(), writer = copy?.getWriter();
  const parts = /** @type {Uint8Array<ArrayBuffer>[]} */ ([]), needed = extension(url) === 'json' ? Infinity : HEAD;
  let keeping = !!writer, seen = 0;
  const forget = (/** @type {unknown} */ why) => { keeping = false; writer?.abort(why).catch(() => {}); };
  const body = new ReadableStream({
    async pull(controller) {
      try {
        const { done, value: chunk } = await reader.read();
        if (!done) {
          const value = chunkOf(chunk, url);
          hash?.update(value);
          if (keeping) {
            if (seen < needed) parts.push(value.slice(0, needed));
            seen += value.length;
            await /** @type {WritableStreamDefaultWriter} */ (writer).write(value).catch(forget); // a full disk spoils the copy, not the model
          }
          return controller.enqueue(value);
        }
        const found = hash?.digest();
        if (found !== undefined && found !== wanted) fail('bad-file', `${url}: its SHA-256 is ${found}, expected ${wanted}`);
        if (keeping && !await looksRight(url, new Blob(parts))) forget('the answer is something else');
        if (keeping) await /** @type {WritableStreamDefaultWriter} */ (writer).close().catch(() => {});
        controller.close();
      } catch (error) {
        forget(error);
        controller.error(error);
      }
    },
    cancel(why) {
      forget(why);
      return reader.cancel(why);
    },
  }, { highWaterMark: 0 });
  const { status, statusText, headers, type } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'type', { value: type }); // who reads it asks for that
}

/** @param {string} url */
const extension = (url) => /\.(\w+)(?:[?#].*)?$/.exec(url)?.[1].toLowerCase();

/**
 * Whether this is what the address promises: an answer of 200 may say that the server is too busy.
 * @param {string} url @param {Blob} begin the first bytes; of JSON all
 */
async function looksRight(url, begin) {
  const text = await begin.text();
  switch (extension(url)) {
    case 'gguf': return text.startsWith('GGUF');
    case 'safetensors': return await begin.slice(8, 9).text() === '{';
    case 'json': try { return JSON.parse(text)?.error === undefined; } catch { return false; }
    default: return !/^\s*<(!doctype|html|head|!--)/i.test(text);
  }
}

/** @param {AsyncIterator<Uint8Array>} chunks @param {AbortSignal | null} [signal] */
async function digestOf(chunks, signal) {
  const hash = new Sha256(), yielder = new Yielder(signal ?? undefined);
  try {
    for (let step = await chunks.next(); !step.done; step = await chunks.next()) {
      for (let at = 0; at < step.value.length; at += PIECE) {
        hash.update(step.value.subarray(at, at + PIECE));
        await yielder.yieldIfDue();
      }
    }
    return hash.digest();
  } finally {
    await chunks.return?.();
  }
}

/** The checksum of something that is here already. @param {import('../formats/source.js').Bytes} source a string is a path @param {string} wanted @param {AbortSignal} [signal] */
async function checkHere(source, wanted, signal) {
  const { name, chunks } = await openBytes(source, {});
  const found = await digestOf(chunks, signal).catch((error) => {
    signal?.throwIfAborted();
    return fail('bad-file', `${name}: reading failed: ${said(error)}`, error);
  });
  if (found !== wanted.toLowerCase()) fail('bad-file', `${name}: its SHA-256 is ${found}, expected ${wanted.toLowerCase()}`);
}

/**
 * The fetch for a load whose files are to be kept, or whose one file of weights is to be checked.
 * @param {any} source @param {Record<string, any>} options @param {typeof globalThis.fetch | undefined} fetch @param {() => void} onHit @param {AbortSignal} [signal]
 */
export async function keepingFetch(source, { cache, cacheDir, sha256, hfEndpoint }, fetch, onHit, signal) {
  const weights = source?.weights ?? source, address = typeof weights === 'string' || weights instanceof URL ? String(weights) : '';
  if (sha256 !== undefined) {
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) fail('bad-option', `sha256 is ${show(sha256)}, expected 64 hexadecimal digits`);
    if (Array.isArray(weights) || address.endsWith('/') || /^hf:[^/]*\/[^/]*$/.test(address)) fail('bad-option', 'sha256 belongs to one file of weights, not to a folder');
    if (isBytes(weights) && !/^(https?|hf|data|blob|stream):/.test(address)) await checkHere(address || weights, sha256, signal); // what is nothing of the kind is refused by who opens it
  }
  const whole = address && String(new Opener({ hfEndpoint }).resolve(address));
  return keeping(fetch ?? globalThis.fetch, { cache, cacheDir, sha256, onHit, isWeights: (url) => url === whole });
}
