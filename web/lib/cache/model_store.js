// model_store.js - caches for downloads, in browsers and in Node, and the SHA-256 of a weight file
//
// A file is written to its store while it is downloaded, and becomes visible when it is complete. Interrupted
// downloads, files with a wrong checksum and HTML error pages served with status 200 are not stored.
import { GlassformerError, fail, messageOf, show } from '../base/errors.js';
import { lacking } from '../base/extras.js';
import { checkedResponse, checkedChunk, isBytes } from '../base/checks.js';
import { openBytes, streamChunks } from '../bytes/open_file.js';
import { Opener } from '../checkpoint/source.js';
import { Sha256 } from '../download/sha256.js';
import { Yielder } from '../base/event_loop.js';

/** Name of the cache and of the folder. */
const NAME = 'glassformer';
/** Status codes for a missing file. S3 answers 403 where files may not be listed. */
const ABSENT = [403, 404, 410];
/** Number of first bytes that are checked before a file is stored; a JSON file is checked whole. */
const HEAD = 64;
/** Bytes that are hashed at a time; this takes some 10 ms. */
const HASH_BYTES = 1 << 20;

/**
 * A cache of files by address. Closing the stream of `put` stores the file, aborting it discards the file.
 * @typedef {object} Store
 * @property {(url: string) => Promise<Response | null>} get
 * @property {(url: string, headers: Headers) => Promise<WritableStream<Uint8Array>>} put
 */

/**
 * The store of the option cache: 'cache-storage'.
 * @returns {Promise<Store>}
 */
async function cacheStorage() {
  if (typeof caches === 'undefined')
    fail('unsupported', 'cache-storage was requested, but it is not there (it needs a browser and https)');
  const cache = await caches.open(NAME);
  return {
    get: async (url) => (await cache.match(url)) ?? null,
    put: async (url, headers) => {
      const { readable, writable } = new TransformStream();
      const stored = cache.put(url, new Response(readable, { headers }));
      const writer = writable.getWriter();
      stored.catch((error) => writer.abort(error)).catch(() => {}); // without it a write would wait for ever
      return new WritableStream({
        write: (chunk) => writer.write(chunk),
        close: async () => {
          await writer.close();
          await stored;
        },
        abort: (why) => writer.abort(why),
      });
    },
  };
}

/**
 * The store of the option cache: 'opfs': files of the origin's private file system, named by the hash of their address.
 * @returns {Promise<Store>}
 */
async function opfs() {
  const root = await globalThis.navigator?.storage?.getDirectory?.().catch(() => null);
  if (!root)
    fail('unsupported', 'opfs was requested, but there is no private file system here (it needs a browser and https)');
  const folder = await root.getDirectoryHandle(NAME, { create: true });
  const nameOf = (/** @type {string} */ url) => new Sha256().update(new TextEncoder().encode(url)).digest();
  return {
    get: async (url) => {
      const file = await folder.getFileHandle(nameOf(url)).then(
        (handle) => handle.getFile(),
        () => null,
      );
      return file && file.size ? new Response(file, { headers: { 'content-length': String(file.size) } }) : null;
    },
    // The written bytes become visible when the stream is closed.
    put: async (url) =>
      /** @type {WritableStream<Uint8Array>} */ (
        await (await folder.getFileHandle(nameOf(url), { create: true })).createWritable()
      ),
  };
}

/**
 * Opens a store. Its failures become `storage` errors.
 * @param {string} cache  the option
 * @param {() => Promise<Store>} open
 * @returns {Promise<Store>}
 */
async function openStore(cache, open) {
  try {
    return await open();
  } catch (error) {
    if (error instanceof GlassformerError) throw error;
    return fail(
      'storage',
      `the cache ${show(cache)} cannot be used (${messageOf(error)}): ` +
        "allow this site to store data, or load with { cache: 'none' }",
      error,
    );
  }
}

/**
 * A store whose failures do not fail a load: after a failed read the file is downloaded, and a failed write (on a full
 * disk, for example) stores nothing.
 * @param {Store} store
 * @returns {Store}
 */
function withoutFailures({ get, put }) {
  return {
    get: (url) => get(url).catch(() => null),
    put: (url, headers) => put(url, headers).catch(() => new WritableStream()),
  };
}

/**
 * A fetch that caches whole files and compares the file of weights with its checksum.
 * @param {typeof globalThis.fetch} fetch
 * @param {{cache?: string, cacheDir?: string, sha256?: string, isWeights: (url: string) => boolean, onHit: () => void}}
 *   options
 * @returns {Promise<typeof globalThis.fetch>}
 */
async function cachingFetch(fetch, { cache, cacheDir, sha256, isWeights, onHit }) {
  const store =
    cache === 'cache-storage'
      ? withoutFailures(await openStore(cache, cacheStorage))
      : cache === 'opfs'
        ? withoutFailures(await openStore(cache, opfs))
        : cache === 'file'
          ? withoutFailures(await (await import('../node/file_store.js').catch(lacking('node'))).fileStore(cacheDir))
          : null;
  return async (input, init) => {
    const url = String(input);
    const cacheable = /^https?:/.test(url) && !new Headers(init?.headers).has('range') ? store : null;
    const expectedDigest = sha256 && isWeights(url) ? sha256.toLowerCase() : null;
    let stored = await cacheable?.get(url);
    if (stored && expectedDigest) {
      // A cached file with another checksum is downloaded again: the address may have a new version.
      const found = await digestOf(
        streamChunks(/** @type {ReadableStream<Uint8Array>} */ (stored.body)),
        init?.signal,
      ).catch(() => null);
      init?.signal?.throwIfAborted();
      stored = found === expectedDigest ? await cacheable?.get(url) : null;
    }
    if (stored) {
      onHit();
      return stored;
    }
    let response;
    try {
      response = checkedResponse(await fetch(input, init), url);
    } catch (error) {
      // Offline, a file that is recorded as absent is reported as absent again.
      const absent = init?.signal?.aborted ? null : await cacheable?.get(markerOf(url));
      const status = Number(await absent?.text().catch(() => ''));
      if (!ABSENT.includes(status)) throw error;
      return new Response(null, { status });
    }
    if (cacheable && ABSENT.includes(response.status))
      await recordAbsent(cacheable, markerOf(url), response.status).catch(() => {});
    if (!response.ok || !response.body || !(expectedDigest || cacheable)) return response;
    const headers = new Headers();
    for (const name of ['content-type', 'content-length']) {
      const value = response.headers.get(name);
      // content-length counts encoded bytes, and for another origin it is unknown whether the body is encoded.
      if (
        value &&
        !(name === 'content-length' && (response.headers.has('content-encoding') || response.type === 'cors'))
      )
        headers.set(name, value);
    }
    if (/^text\/html/i.test(headers.get('content-type') ?? '')) return response;
    return withHashAndCopy(response, url, expectedDigest, cacheable && (await cacheable.put(url, headers)));
  };
}

/**
 * The address under which a store records that a file does not exist.
 * @param {string} url
 */
function markerOf(url) {
  const marker = new URL(url);
  marker.searchParams.append(NAME, 'absent');
  return marker.href;
}

/**
 * Record that a file does not exist.
 * @param {Store} store
 * @param {string} marker  from markerOf
 * @param {number} status  the server's answer
 */
async function recordAbsent(store, marker, status) {
  const writer = (await store.put(marker, new Headers())).getWriter();
  await writer.write(new TextEncoder().encode(String(status)));
  await writer.close();
}

/**
 * Pass a response on while its body is hashed and copied.
 * @param {Response} response
 * @param {string} url
 * @param {string | null} wanted  SHA-256
 * @param {WritableStream<Uint8Array> | null} copy  into the store
 * @returns {Response} with the same body
 */
function withHashAndCopy(response, url, wanted, copy) {
  const hash = wanted ? new Sha256() : null;
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const writer = copy?.getWriter();
  const parts = /** @type {Uint8Array<ArrayBuffer>[]} */ ([]);
  const sampleBytes = extension(url) === 'json' ? Infinity : HEAD;
  let storing = !!writer;
  let seen = 0;
  const discardCopy = (/** @type {unknown} */ why) => {
    storing = false;
    writer?.abort(why).catch(() => {});
  };
  const body = new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value: chunk } = await reader.read();
          if (!done) {
            const value = checkedChunk(chunk, url);
            hash?.update(value);
            if (storing) {
              if (seen < sampleBytes) parts.push(value.slice(0, sampleBytes));
              seen += value.length;
              // When the disk is full, the copy is discarded and the load continues.
              await /** @type {WritableStreamDefaultWriter} */ (writer).write(value).catch(discardCopy);
            }
            return controller.enqueue(value);
          }
          const found = hash?.digest();
          if (wanted !== null) checkDigest(url, String(found), wanted);
          if (storing && !(await beginsAsNamed(url, new Blob(parts)))) discardCopy('the response is not the file');
          if (storing) await /** @type {WritableStreamDefaultWriter} */ (writer).close().catch(() => {});
          controller.close();
        } catch (error) {
          discardCopy(error);
          controller.error(error);
        }
      },
      cancel(why) {
        discardCopy(why);
        return reader.cancel(why);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, type } = response;
  // The type of a constructed Response is "default", but readers use it.
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'type', { value: type });
}

/**
 * The file name extension of an address, in lower case.
 * @param {string} url
 */
const extension = (url) => /\.(\w+)(?:[?#].*)?$/.exec(url)?.[1].toLowerCase();

/**
 * Whether a body begins like a file of its name. Overloaded servers answer with an error page and status 200.
 * @param {string} url
 * @param {Blob} begin  the first bytes; of a JSON file all
 */
async function beginsAsNamed(url, begin) {
  const text = await begin.text();
  switch (extension(url)) {
    case 'gguf':
      return text.startsWith('GGUF');
    case 'safetensors':
      return (await begin.slice(8, 9).text()) === '{';
    case 'json':
      try {
        return JSON.parse(text)?.error === undefined;
      } catch {
        return false;
      }
    default:
      return !/^\s*<(!doctype|html|head|!--)/i.test(text);
  }
}

/**
 * Throws when a checksum is wrong.
 * @param {string} name  of the file
 * @param {string} found
 * @param {string} expected
 */
function checkDigest(name, found, expected) {
  if (found !== expected) fail('bad-file', `${name}: its SHA-256 is ${found}, expected ${expected}`);
}

/**
 * The SHA-256 of chunks.
 * @param {AsyncIterator<Uint8Array>} chunks
 * @param {AbortSignal | null} [signal]
 */
async function digestOf(chunks, signal) {
  const hash = new Sha256();
  const yielder = new Yielder(signal ?? undefined);
  try {
    for (let step = await chunks.next(); !step.done; step = await chunks.next()) {
      for (let at = 0; at < step.value.length; at += HASH_BYTES) {
        hash.update(step.value.subarray(at, at + HASH_BYTES));
        await yielder.yieldIfDue();
      }
    }
    return hash.digest();
  } finally {
    await chunks.return?.();
  }
}

/**
 * Check the checksum of a local file or of bytes.
 * @param {import('../checkpoint/source.js').Bytes} source  a string is a path
 * @param {string} expected  SHA-256
 * @param {AbortSignal} [signal]
 */
async function checkLocal(source, expected, signal) {
  const { name, chunks } = await openBytes(source, {});
  const found = await digestOf(chunks, signal).catch((error) => {
    signal?.throwIfAborted();
    return fail('bad-file', `${name}: reading failed: ${messageOf(error)}`, error);
  });
  checkDigest(name, found, expected.toLowerCase());
}

/**
 * The fetch of a load with the options cache or sha256. A local file is checked at once.
 * @param {any} source  as checked by input/load_options.js
 * @param {Record<string, any>} options
 * @param {typeof globalThis.fetch | undefined} fetch
 * @param {() => void} onHit  called when a file comes from the cache
 * @param {AbortSignal} [signal]
 */
export async function storedFetch(source, { cache, cacheDir, sha256, hfEndpoint }, fetch, onHit, signal) {
  const weights = source?.weights ?? source;
  const address = typeof weights === 'string' || weights instanceof URL ? String(weights) : '';
  if (sha256 !== undefined) {
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256))
      fail('bad-option', `sha256 is ${show(sha256)}, expected 64 hexadecimal digits`);
    if (Array.isArray(weights) || address.endsWith('/') || /^hf:[^/]*\/[^/]*$/.test(address))
      fail('bad-option', 'sha256 is the checksum of one file of weights, the source is a folder or several files');
    if (isBytes(weights) && !/^(https?|hf|data|blob|stream):/.test(address))
      await checkLocal(address || weights, sha256, signal); // any other value is refused when the source is opened
  }
  const weightsUrl = address && String(new Opener({ hfEndpoint }).resolve(address));
  return cachingFetch(fetch ?? globalThis.fetch, {
    cache,
    cacheDir,
    sha256,
    onHit,
    isWeights: (url) => url === weightsUrl,
  });
}
