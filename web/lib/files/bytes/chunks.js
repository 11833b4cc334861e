// chunks.js - a file as a sequence of chunks, read once from front to back
//
// Headers are small and are collected in a buffer (`need`, `take`). Tensor bytes are passed on without a copy (`pipe`).
// No length field of a file determines an allocation: the buffer grows with the bytes that have arrived.
import { GlassformerError, fail, messageOf } from '../../base/errors.js';
import { checkedChunk } from '../../base/checks.js';
import { untilAborted } from '../../base/event_loop.js';

/**
 * The result of an iterator at its end.
 * @type {IteratorReturnResult<any>}
 */
export const END = { done: true, value: undefined };
export const EMPTY = new Uint8Array(0);
/**
 * Most files of one model whose connection stays open after the header was read. A browser allows six connections to
 * one host.
 */
export const MAX_OPEN_FILES = 4;
/** Longest view that `pipe` passes on, in bytes. */
const MAX_VIEW = 1 << 20;
/** Most bytes beyond the needed ones that are copied into the buffer; a longer rest of a chunk is kept as a view. */
const SMALL_REST = 1 << 12;

/**
 * @typedef {object} ReaderOptions
 * @property {string} name  of the file, for messages
 * @property {number | null} [total]  size of the file in bytes; null where it is unknown
 * @property {boolean} [bounded]  whether no more than `total` bytes can arrive
 * @property {boolean} [reused]  whether a chunk is valid only until the next one is requested
 * @property {(n: number) => void} [onBytes]  called with the size of each chunk
 * @property {AbortSignal} [signal]
 */

/** Reads a file from front to back. */
export class ByteReader {
  /**
   * @param {AsyncIterator<Uint8Array>} chunks  owned by the reader, which ends it in `close`
   * @param {ReaderOptions} options
   */
  constructor(chunks, { name, total = null, bounded = false, reused = false, onBytes, signal }) {
    this.name = name;
    /** Size of the file in bytes, null where it is unknown. */
    this.total = total;
    /** Whether no more than `total` bytes can arrive: after them no further read is needed. */
    this.bounded = bounded;
    /** Whether a chunk is valid only until the next one is requested. */
    this.reused = reused;
    /** Bytes consumed so far. */
    this.pos = 0;
    this.chunks = chunks;
    this.onBytes = onBytes;
    this.signal = signal;
    /** @type {Uint8Array} buf[at..] has arrived and is not consumed */
    this.buf = new Uint8Array(0);
    this.at = 0;
    /** @type {Uint8Array | null} the rest of a chunk that follows buf; `next` returns it first */
    this.pushedBack = null;
    /** Whether the source has ended. */
    this.done = false;
  }

  /** Bytes that can be taken without waiting. */
  get ready() {
    return this.buf.length - this.at;
  }

  /**
   * Wait for the next chunk.
   * @returns {Promise<Uint8Array | null>} null at the end
   */
  async next() {
    const { pushedBack } = this;
    this.pushedBack = null;
    if (pushedBack) return pushedBack;
    while (!this.done) {
      const { signal } = this;
      signal?.throwIfAborted();
      if (!this.ready) {
        this.buf = EMPTY; // a reused buffer has no length while it is read into
        this.at = 0;
      }
      let step;
      try {
        step = await untilAborted(this.chunks.next(), signal);
      } catch (e) {
        signal?.throwIfAborted();
        if (e instanceof GlassformerError) throw e;
        return fail('network', `${this.name}: reading failed after ${this.pos + this.ready} bytes: ${messageOf(e)}`, e);
      }
      if (step.done) {
        this.done = true;
        break;
      }
      const chunk = checkedChunk(step.value, this.name);
      if (!chunk.length) continue;
      this.onBytes?.(chunk.length);
      return chunk;
    }
    return null;
  }

  /**
   * Wait until n bytes have arrived.
   * @param {number} n
   * @param {string} [what] what the bytes are, for the message when the file ends before
   */
  async need(n, what = 'its data') {
    let have = this.ready;
    if (have >= n) return;
    if (this.total !== null && this.pos + n > this.total) this.failTruncated(n, this.total - this.pos, what);
    const parts = [this.buf.subarray(this.at)];
    while (have < n) {
      if (this.reused) {
        parts.push(/** @type {Uint8Array<ArrayBuffer>} */ (parts.pop()).slice());
        this.buf = parts[0];
        this.at = 0;
      }
      const chunk = await this.next();
      if (!chunk) {
        this.buf = concatenate(parts, have);
        this.at = 0;
        return this.failTruncated(n, have, what);
      }
      // Parts are copied together below: of a large chunk, only the bytes that are needed.
      const size = have && have + chunk.length > n + SMALL_REST ? n - have : chunk.length;
      if (size < chunk.length) this.pushedBack = chunk.subarray(size);
      parts.push(chunk.subarray(0, size));
      have += size;
    }
    this.buf = parts[0].length ? concatenate(parts, have) : parts.length === 2 ? parts[1] : concatenate(parts, have);
    this.at = 0;
  }

  /**
   * Throw the error for a file that ends early.
   * @param {number} n     bytes that were expected from here on
   * @param {number} have  bytes that there are
   * @param {string} what  what the bytes are
   * @returns {never}
   */
  failTruncated(n, have, what) {
    if (this.pos + have === 0) fail('truncated', `${this.name}: the file is empty`);
    return fail(
      'truncated',
      `${this.name}: the file ends after ${this.pos + have} bytes, ${n - have} more were expected for ${what}`,
    );
  }

  /**
   * Consume n bytes that are ready. The view is valid until the next call that waits.
   * @param {number} n
   */
  takeReady(n) {
    const view = this.buf.subarray(this.at, this.at + n);
    this.at += n;
    this.pos += n;
    return view;
  }

  /**
   * Wait for n bytes and consume them.
   * @param {number} n
   * @param {string} [what]
   */
  async take(n, what) {
    await this.need(n, what);
    return this.takeReady(n);
  }

  /**
   * Wait for n bytes and consume them. The view is valid until the next call that waits.
   * @param {number} n
   * @param {string} [what]
   */
  async view(n, what) {
    if (this.ready < n) await this.need(n, what);
    const bytes = this.takeReady(n);
    return new DataView(bytes.buffer, bytes.byteOffset, n);
  }

  /**
   * Wait for the next n bytes without consuming them.
   * @param {number} n
   * @returns {Promise<Uint8Array>} fewer than n bytes where the file is shorter
   */
  async peek(n) {
    const known = this.total === null ? n : Math.min(n, this.total - this.pos);
    try {
      await this.need(known);
    } catch (e) {
      if (!(e instanceof GlassformerError && e.code === 'truncated')) throw e;
    }
    return this.buf.subarray(this.at, this.at + n);
  }

  /**
   * Consume n bytes and drop them.
   * @param {number} n
   * @param {string} [what]
   */
  async skip(n, what) {
    await this.pipe(n, () => {}, 1, what);
  }

  /** Consume all bytes that follow, and drop them. */
  async skipRest() {
    while (this.ready || !(this.bounded && this.pos === this.total)) {
      if (!this.ready) {
        const chunk = await this.next();
        if (!chunk) return;
        this.buf = chunk;
        this.at = 0;
      }
      this.takeReady(this.ready);
    }
  }

  /**
   * Pass the next n bytes to a function, in order, as views of whole blocks. A view is valid until the function returns
   * or its promise settles.
   * @param {number} n  a multiple of block
   * @param {(view: Uint8Array) => void | Promise<void>} fn
   * @param {number} [block]  bytes of a block
   * @param {string} [what]
   */
  async pipe(n, fn, block = 1, what) {
    if (this.total !== null && this.pos + n > this.total)
      this.failTruncated(n, Math.max(0, this.total - this.pos), what ?? 'its data');
    for (let left = n; left > 0;) {
      if (this.ready < Math.min(block, left)) await this.need(Math.min(block, left), what);
      let size = Math.min(left, this.ready, MAX_VIEW);
      size -= size % block;
      const wait = fn(this.takeReady(size));
      if (wait) await wait;
      left -= size;
    }
  }

  /**
   * Throw when the size of the file is known and differs from the size that its header describes.
   * @param {number} end  bytes that the header describes
   * @param {number} [padding]  further bytes that may follow
   */
  checkSize(end, padding = 0) {
    if (this.total === null || (this.total >= end && this.total <= end + padding)) return;
    const sizes = `${this.name}: the file has ${this.total} bytes, its header describes ${end}`;
    if (this.total < end) fail('truncated', sizes);
    fail('bad-file', `${sizes}: ${this.total - end} bytes follow the last tensor`);
  }

  /** Throw when bytes follow the ones that were consumed. */
  async end() {
    if (this.bounded && this.pos === this.total) {
      this.chunks.next().catch(() => {}); // a browser caches a response that was read to its end
      this.chunks = { next: async () => END };
      return;
    }
    if (!this.ready) {
      const chunk = await this.next();
      if (!chunk) return;
      this.buf = chunk;
      this.at = 0;
    }
    fail('bad-file', `${this.name}: the model ends after ${this.pos} bytes, but there are more`);
  }

  /** Close the source. Errors of the source are ignored. */
  close() {
    this.done = true;
    this.buf = EMPTY;
    this.at = 0;
    this.pushedBack = null;
    Promise.resolve(this.chunks.return?.()).catch(() => {});
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A text of UTF-8.
 * @param {Uint8Array} bytes
 * @param {() => never} refuse  called where they are none
 */
export function utf8Text(bytes, refuse) {
  try {
    return utf8.decode(bytes);
  } catch {
    return refuse();
  }
}

/**
 * The bytes of several arrays in one.
 * @param {Uint8Array[]} parts
 * @param {number} length  of all parts together
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function concatenate(parts, length) {
  const out = new Uint8Array(length);
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}
