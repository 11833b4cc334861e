// stores.js - fuzzes downloads through a cache that fails, is full or has wrong content, with and without a checksum
//
// A load through a cache must give the server's bytes or reject; it must never give bytes with another checksum than the
// requested one. From a server that works it must give the right bytes, whatever the cache contains.
import { createHash } from 'node:crypto';
import { openDownloads } from '../../web/lib/files/transfer/cached_downloads.js';
import { Sha256 } from '../../web/lib/files/transfer/sha256.js';
import { GlassformerError } from '../../web/lib/base/errors.js';
import { mutateBytes } from './mutate.js';

const ADDRESS = 'https://files.test/model.gguf';
const hex = (/** @type {Uint8Array} */ bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * @param {import('./mutate.js').Random} r
 * @param {Uint8Array} bytes a stream of them in pieces, which may break off
 */
function pieces(r, bytes, breaks = true) {
  let at = 0;
  const end = breaks && !r.below(6) ? r.below(bytes.length + 1) : Infinity,
    size = 1 + r.below(2000);
  return new ReadableStream({
    pull(to) {
      if (at >= end) return to.error(new TypeError('terminated'));
      if (at >= bytes.length) return to.close();
      to.enqueue(new Uint8Array(bytes.subarray(at, (at += size))));
    },
  });
}

/**
 * An origin private file system in memory, of which some calls fail.
 * @param {import('./mutate.js').Random} r @param {Map<string, Uint8Array>} files
 */
function folder(r, files) {
  const fails = (/** @type {string} */ name, /** @type {number} */ often) => {
    if (!r.below(often))
      throw new DOMException(`${name} failed`, r.of(['QuotaExceededError', 'InvalidStateError', 'NotAllowedError']));
  };
  return {
    async getFileHandle(/** @type {string} */ name, /** @type {any} */ options) {
      fails('open', 12);
      if (!files.has(name) && !options?.create) throw new DOMException('none', 'NotFoundError');
      if (!files.has(name)) files.set(name, new Uint8Array(0));
      return {
        getFile: async () => {
          fails('read', 12);
          return new Blob([/** @type {any} */ (files.get(name))]);
        },
        createWritable: async () => {
          fails('write', 8);
          /** @type {Uint8Array[]} */
          const parts = [];
          return {
            async write(/** @type {Uint8Array} */ chunk) {
              fails('write', 30);
              parts.push(chunk.slice());
            },
            async close() {
              fails('close', 12);
              files.set(name, Buffer.concat(parts));
            },
            async abort() {},
          };
        },
      };
    },
    async removeEntry(/** @type {string} */ name) {
      fails('remove', 12);
      if (!files.delete(name)) throw new DOMException('none', 'NotFoundError');
    },
  };
}

/**
 * One load, by a reader that accepts the right bytes only.
 * @param {Awaited<ReturnType<typeof openDownloads>>} downloads
 * @param {Uint8Array} right
 * @param {string | undefined} sha256  as requested
 * @returns {Promise<boolean>} whether it succeeded
 */
async function loaded(downloads, right, sha256) {
  for (let attempts = 0; ; attempts++) {
    let error;
    try {
      const response = await downloads.fetch(() => {})(ADDRESS);
      const got = new Uint8Array(await response.arrayBuffer());
      if (response.ok && sha256 && hex(got) !== sha256)
        throw new RangeError('bytes with another checksum were given out');
      if (response.ok && hex(got) === hex(right)) {
        await downloads.accept([]);
        return true;
      }
      error = response.ok ? new GlassformerError('bad-file', 'refused') : new GlassformerError('network', 'no file');
    } catch (e) {
      if (e instanceof RangeError) throw e;
      error = e instanceof GlassformerError ? e : new GlassformerError('network', String(e));
    }
    if (!(await downloads.refuse(error))) return false;
    if (attempts > 3) throw new RangeError('the load is repeated again and again');
  }
}

/**
 * Several loads, one after the other, with one cache.
 * @param {import('./mutate.js').Random} r
 * @param {Uint8Array} right  the file on the server
 */
export async function runStores(r, right) {
  const hash = new Sha256();
  for (let at = 0; at < right.length;) hash.update(right.subarray(at, (at += 1 + r.below(300))));
  if (hash.digest() !== hex(right)) throw new Error('Sha256 gives another digest than node:crypto');

  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator'),
    own = folder(r, files);
  Object.defineProperty(globalThis, 'navigator', {
    configurable: true,
    value: {
      storage: {
        getDirectory: async () => {
          if (!r.below(20)) throw new DOMException('no', 'SecurityError');
          return { getDirectoryHandle: async () => own };
        },
      },
    },
  });
  try {
    for (let loads = 1 + r.below(4); loads > 0; loads--) {
      const served = r.below(3) ? right : mutateBytes(r, right, right),
        sha256 = r.below(2) ? undefined : hex(right),
        down = !r.below(4);
      for (const name of r.below(4) ? [] : [...files.keys()])
        files.set(name, mutateBytes(r, /** @type {Uint8Array} */ (files.get(name)), right));
      if (!r.below(4)) files.set(hex(new TextEncoder().encode(ADDRESS)), mutateBytes(r, right, right)); // of an earlier version
      const works = !down && served === right && !r.below(2);
      const fetch = async () => {
        if (down) throw new TypeError('no network');
        return works || r.below(8)
          ? new Response(pieces(r, served, !works), {
              headers: {
                ...(r.below(2) && { etag: `"${hex(served)}"` }),
                ...(r.below(2) && { 'content-length': String(served.length) }),
              },
            })
          : new Response('busy', { status: r.of([200, 403, 404, 503]) });
      };
      try {
        const options = { cache: r.below(4) ? 'opfs' : 'none', sha256 };
        const downloads = await openDownloads(ADDRESS, options, /** @type {any} */ (fetch));
        const isRight = await loaded(downloads, right, sha256);
        if (works && !isRight) throw new RangeError('a server that works did not give its bytes');
      } catch (e) {
        // errors of fetch itself are reported by the code that opens the file
        if (!(e instanceof GlassformerError) && !(e instanceof TypeError)) throw e;
      }
    }
  } finally {
    if (before) Object.defineProperty(globalThis, 'navigator', before);
    else delete (/** @type {any} */ (globalThis).navigator);
  }
}
