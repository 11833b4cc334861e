// cached_downloads.js - the downloads of one load, through a cache
//
// A file is stored while it is downloaded, and counts as complete when the load has succeeded. When a reader refuses a
// file of which bytes came from the cache, the load is repeated without these bytes.
import { GlassformerError, messageOf, show } from '../../base/errors.js';
import { checkedChunk, checkedResponse } from '../../base/checks.js';
import { streamChunks } from '../bytes/open_file.js';
import { Opener } from '../source.js';
import { lengthOf, rangeOf, validatorOf } from './retry_and_resume.js';
import { Sha256 } from './sha256.js';
import { checkDigest, checkSha256 } from './checksum.js';
import { openStore } from './download_store.js';
import { Copy, StoredFile, storedBytes } from './stored_file.js';

/** @import { Store } from './download_store.js' */
/** @import { FileRecord } from './stored_file.js' */

/** Status codes for a missing file. S3 answers 403 where files may not be listed. */
const ABSENT = [403, 404, 410];
/** Codes of errors that say nothing about the content of a file. */
const NOT_THE_FILE =
  /^(network|not-found|out-of-memory|bad-(argument|option|wasm|state)|blocked|worker|storage|callback|crashed)$/;

/** A longer JSON file, such as a tokenizer.json of 33 MB, is no error of a server: it is not parsed twice. */
const LONGEST_ERROR = 1 << 20;

/**
 * Whether a JSON file is an error that a server sent with status 200.
 * @param {Blob} body
 */
async function isErrorAnswer(body) {
  try {
    return JSON.parse(await body.text())?.error !== undefined;
  } catch {
    return true;
  }
}

/**
 * Whether a stored validator can stand in a request: a damaged one may have characters that no header takes.
 * @param {import('./retry_and_resume.js').Validator | null | undefined} validator
 */
const isUsable = (validator) =>
  /^(etag|last-modified)$/.test(validator?.name ?? '') && /^[ -~\xa0-\xff]+$/.test(validator?.value ?? '');

/** The downloads of one load. */
class Downloads {
  #store;
  #fetch;
  #options;
  /** Addresses whose stored bytes are not used any more. @type {Set<string>} */
  #refused = new Set();
  /** Addresses of which stored bytes were given to the reader. @type {Set<string>} */
  #used = new Set();
  /** Addresses of which stored bytes were damaged. @type {Set<string>} */
  #damaged = new Set();
  /** The copies that are made, by address. @type {Map<string, Copy>} */
  #copies = new Map();
  /** Packed tokenizers to be stored, by address. @type {Map<string, Uint8Array<ArrayBuffer>>} */
  #packed = new Map();

  /**
   * @param {Store | null} store
   * @param {typeof globalThis.fetch} fetch
   * @param {{cache?: string, sha256?: string, weightsUrl: string}} options
   */
  constructor(store, fetch, options) {
    this.#store = store;
    this.#fetch = fetch;
    this.#options = options;
  }

  /**
   * A fetch that uses the cache.
   * @param {() => void} onHit  called when a file comes from the cache
   * @returns {typeof globalThis.fetch}
   */
  fetch(onHit) {
    const beside = this.#fetch; // the platform's fetch throws when it is called as a method
    return async (input, init) => {
      const url = String(input);
      const file = this.#stored(url);
      // Some bytes of a file are asked for beside the copy that is being made of it.
      const isRange = new Headers(init?.headers).has('range');
      if (isRange && !(await file?.record('complete'))) return beside(input, init);
      // A file can be opened twice: for its header and for its tensors.
      if (!isRange) await this.#copies.get(url)?.keep();
      const stored = file && !this.#refused.has(url) ? await this.#fromStore(file) : null;
      if (stored) onHit();
      return stored ?? this.#fromServer(file, url, init);
    };
  }

  /** A file of the cache; null where files of its address are not stored. @param {string} url */
  #stored(url) {
    return this.#store && /^https?:/.test(url) ? new StoredFile(this.#store, url) : null;
  }

  /**
   * The packed tokenizers of the cache. Those that are put are stored when the load has succeeded.
   * @param {() => void} onHit  called when one comes from the cache
   * @returns {import('../opened_files.js').PackedCopies}
   */
  packed(onHit) {
    return {
      get: async (url) => {
        const bytes = this.#refused.has(url) ? null : await this.#stored(url)?.packed();
        if (!bytes) return null;
        this.#used.add(url);
        onHit();
        return bytes;
      },
      put: (url, bytes) => void this.#packed.set(url, bytes),
    };
  }

  /**
   * A file that is stored, complete or as an earlier version stored it; null where there is none.
   * @param {StoredFile} file
   * @returns {Promise<Response | null>}
   */
  async #fromStore(file) {
    const record = await file.record('complete');
    const expected = this.#expectedDigest(file.url);
    if (record && !(expected && record.sha256 && record.sha256 !== expected)) {
      const headers = new Headers({ 'content-length': String(storedBytes(record)) });
      return this.#deliver(file.url, this.#storedChunks(file, record), { headers, type: 'default' }, null);
    }
    const earlier = record ? null : await file.store.earlier(file.url).catch(() => null);
    if (!earlier) return null;
    this.#used.add(file.url);
    const copy = new Copy(file, { pieces: [], total: null, validator: null, crossOrigin: false });
    return this.#deliver(file.url, earlier, { headers: new Headers(), type: 'default' }, copy);
  }

  /**
   * A file from the server, of which only the rest is requested after a part that is stored.
   * @param {StoredFile | null} file  null: it is not stored
   * @param {string} url
   * @param {RequestInit} [init]
   * @returns {Promise<Response>}
   */
  async #fromServer(file, url, init) {
    const partial = file && !this.#refused.has(url) ? await file.record('partial') : null;
    try {
      const { response, start } = await this.#request(url, init, partial);
      if (file && ABSENT.includes(response.status))
        await file.put('absent', { status: response.status }).catch(() => {});
      const isPage = /^text\/html/i.test(response.headers.get('content-type') ?? '');
      if (!response.ok || !response.body || isPage) return response;
      const rest = streamChunks(response.body);
      if (file && partial && start) return this.#joined(file, partial, rest, response, start);
      if (partial) await file?.remove('partial');
      const crossOrigin = response.type === 'cors';
      const record = { pieces: [], total: lengthOf(response), validator: validatorOf(response), crossOrigin };
      return this.#deliver(url, rest, response, file && response.status === 200 ? new Copy(file, record) : null);
    } catch (error) {
      // Offline, a file that is recorded as absent is reported as absent again.
      const status = init?.signal?.aborted ? null : await file?.absent();
      if (!status || !ABSENT.includes(status)) throw error;
      return new Response(null, { status });
    }
  }

  /**
   * Request a file, or its rest.
   * @param {string} url
   * @param {RequestInit | undefined} init
   * @param {FileRecord | null} partial  what is stored; its last piece is removed where nothing is missing
   * @returns {Promise<{response: Response, start: number}>} start: of the response in the file
   */
  async #request(url, init, partial) {
    const fetch = this.#fetch; // the platform's fetch throws when it is called as a method
    if (partial && storedBytes(partial) === partial.total) partial.pieces.pop(); // a server sends no empty range
    const { validator, total, crossOrigin } = partial ?? {};
    const start = partial && isUsable(validator) ? storedBytes(partial) : 0;
    if (validator && start) {
      const headers = new Headers(init?.headers);
      headers.set('range', `bytes=${start}-`);
      if (!crossOrigin) headers.set('if-range', validator.value); // see ResumedBody
      const response = checkedResponse(await fetch(url, { ...init, headers }), url);
      const range = rangeOf(response);
      const isRest = range?.start === start && response.headers.get(validator.name) === validator.value;
      if (response.status === 206 && isRest && (total === null || range.size === null || range.size === total))
        return { response, start };
      if (response.status !== 206 && response.status !== 416) return { response, start: 0 };
      response.body?.cancel().catch(() => {}); // the body belongs to another file
    }
    return { response: checkedResponse(await fetch(url, init), url), start: 0 };
  }

  /**
   * A file of a stored part and the rest from the server.
   * @param {StoredFile} file
   * @param {FileRecord} partial
   * @param {AsyncIterator<Uint8Array>} rest
   * @param {Response} response  whose body it is
   * @param {number} start  of the rest
   */
  #joined(file, partial, rest, response, start) {
    const first = this.#storedChunks(file, { pieces: [...partial.pieces] });
    const chunks = /** @type {any} */ ({
      next: async () => {
        const step = await first.next();
        return step.done ? rest.next() : step;
      },
      return: () => rest.return?.(),
    });
    const total = partial.total ?? rangeOf(response)?.size;
    const headers = new Headers(total ? { 'content-length': String(total) } : {});
    return this.#deliver(file.url, chunks, { headers, type: response.type }, new Copy(file, partial), start);
  }

  /**
   * The bytes of a record.
   * @param {StoredFile} file
   * @param {{pieces: string[]}} record
   */
  async *#storedChunks(file, record) {
    this.#used.add(file.url);
    try {
      yield* file.pieces(record);
    } catch (error) {
      this.#damaged.add(file.url);
      throw error;
    }
  }

  /**
   * The option sha256 where the address is that of the weights.
   * @param {string} url
   */
  #expectedDigest(url) {
    const { sha256, weightsUrl } = this.#options;
    return url === weightsUrl ? sha256?.toLowerCase() : undefined;
  }

  /**
   * A response with these bytes, which are hashed and copied while they are read.
   * @param {string} url
   * @param {AsyncIterator<Uint8Array>} chunks
   * @param {{headers: Headers, type: string}} head
   * @param {Copy | null} copy
   * @param {number} [stored]  first bytes, which the copy has already
   */
  #deliver(url, chunks, { headers, type }, copy, stored = 0) {
    if (copy) this.#copies.set(url, copy);
    const expected = this.#expectedDigest(url);
    const hash = expected ? new Sha256() : null;
    let json = copy && /\.json(?:[?#]|$)/i.test(url) ? /** @type {Uint8Array<ArrayBuffer>[]} */ ([]) : null;
    let position = 0;
    const receive = async (/** @type {Uint8Array} */ bytes) => {
      hash?.update(bytes);
      if (position > LONGEST_ERROR) json = null;
      json?.push(bytes.slice());
      await copy?.write(bytes.subarray(Math.max(0, stored - position)));
      position += bytes.length;
    };
    const end = async () => {
      const found = hash?.digest();
      if (expected) checkDigest(url, String(found), expected);
      if (json && (await isErrorAnswer(new Blob(json)))) await copy?.drop();
      await copy?.end(found);
    };
    const body = new ReadableStream(
      {
        async pull(controller) {
          try {
            const { done, value } = await chunks.next();
            if (done) {
              await end();
              return controller.close();
            }
            const bytes = checkedChunk(value, url);
            await receive(bytes);
            controller.enqueue(bytes);
          } catch (error) {
            await copy?.keep();
            throw error;
          }
        },
        async cancel() {
          await chunks.return?.();
          await copy?.keep();
        },
      },
      { highWaterMark: 0 },
    );
    // The type of a constructed Response is "default", but readers use it.
    return Object.defineProperty(new Response(body, { headers }), 'type', { value: type });
  }

  /**
   * The load has succeeded: the files that were read to their end are complete.
   * @param {string[]} warnings  appended to when one could not be stored
   */
  async accept(warnings) {
    const failed = [];
    for (const [url, copy] of this.#copies) {
      await copy.commit();
      if (!copy.failure) continue;
      failed.push({ url, why: messageOf(copy.failure) });
      if (this.#refused.has(url)) await new StoredFile(/** @type {Store} */ (this.#store), url).remove('complete');
    }
    if (!failed.length) for (const [url, bytes] of this.#packed) await this.#stored(url)?.putPacked(bytes);
    if (!failed.length) return;
    const [{ url, why }] = failed;
    const files = `${url}${failed.length > 1 ? ` and ${failed.length - 1} more files` : ''}`;
    warnings.push(`the cache ${show(this.#options.cache)} did not store ${files}: ${why}`);
  }

  /**
   * The load has failed. When the error is about the content of its files, no copy of them stays as it is.
   * @param {unknown} error
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} whether stored bytes may be the cause: the next load does not use these
   */
  async refuse(error, signal) {
    const isRefusal = !signal?.aborted && !(error instanceof GlassformerError && NOT_THE_FILE.test(error.code));
    const suspects = this.#damaged.size ? this.#damaged : this.#used;
    const again = isRefusal && suspects.size > 0;
    for (const [url, copy] of this.#copies)
      await (isRefusal && (!again || suspects.has(url)) ? copy.drop() : copy.keep());
    for (const url of again ? suspects : []) {
      const file = new StoredFile(/** @type {Store} */ (this.#store), url);
      this.#refused.add(url);
      await file.remove('partial');
      await file.store.removeEarlier(url).catch(() => {});
    }
    this.#copies.clear();
    this.#packed.clear();
    this.#used.clear();
    this.#damaged.clear();
    return again;
  }
}

/**
 * The downloads of a load with the options cache or sha256. A local file is checked at once.
 * @param {any} source  as checked by api/input/load_options.js
 * @param {Record<string, any>} options
 * @param {typeof globalThis.fetch | undefined} fetch
 * @param {AbortSignal} [signal]
 */
export async function openDownloads(source, { cache, cacheDir, sha256, hfEndpoint }, fetch, signal) {
  const weights = source?.weights ?? source;
  const address = typeof weights === 'string' || weights instanceof URL ? String(weights) : '';
  if (sha256 !== undefined) await checkSha256(sha256, weights, address, signal);
  const weightsUrl = address && String(new Opener({ hfEndpoint }).resolve(address));
  const store = await openStore(cache, cacheDir);
  return new Downloads(store, fetch ?? globalThis.fetch, { cache, sha256, weightsUrl });
}
