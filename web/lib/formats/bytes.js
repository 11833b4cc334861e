// bytes.js - a file as a sequence of chunks, read once from front to back
//
// Headers are small and are collected in a buffer (need, take); tensor bytes are passed on without a copy (pipe). No
// length field of a file determines an allocation: the buffer grows with the bytes that have arrived.
import { GlassformerError, fail, messageOf } from '../base/errors.js';
import { checkedChunk } from '../base/values.js';

/** The result of an iterator at its end. @type {IteratorReturnResult<any>} */
export const END = { done: true, value: undefined };
/** Longest view that pipe hands out. */
const MAX_VIEW = 1 << 20;
/** Chunks below this size are copied into the buffer instead of being kept as views. */
const FEW = 1 << 12;

export class ByteReader {
  /**
   * @param {AsyncIterator<Uint8Array>} chunks
   * @param {{name: string, total?: number | null, sure?: boolean, onBytes?: (n: number) => void, signal?: AbortSignal}}
   *   about
   */
  constructor(chunks, { name, total = null, sure = false, onBytes, signal }) {
    this.name = name;
    /** Size of the whole file, where it is known. */
    this.total = total;
    /** Whether no more bytes than `total` can arrive, so that the end needs no further read. */
    this.sure = sure;
    /** Bytes consumed so far. */
    this.pos = 0;
    this.chunks = chunks;
    this.onBytes = onBytes;
    this.signal = signal;
    /** @type {Uint8Array} the bytes that have arrived and are not consumed: buf[at..] */
    this.buf = new Uint8Array(0);
    this.at = 0;
    /** @type {Uint8Array | null} chunks that have arrived after buf */
    this.later = null;
    this.done = false;
  }

  /** Bytes that can be taken without waiting. */
  get ready() {
    return this.buf.length - this.at;
  }

  /**
   * The next chunk, or null at the end.
   * @returns {Promise<Uint8Array | null>}
   */
  async next() {
    const { later } = this;
    this.later = null;
    if (later) return later;
    while (!this.done) {
      const { signal } = this;
      signal?.throwIfAborted();
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
   * @param {string} [what] its name in the error message when the file ends before
   */
  async need(n, what = 'its data') {
    let have = this.ready;
    if (have >= n) return;
    const start = this.pos;
    if (this.total !== null && start + n > this.total) this.short(n, this.total - start, what);
    const parts = [this.buf.subarray(this.at)];
    while (have < n) {
      const chunk = await this.next();
      if (!chunk) {
        this.buf = join(parts, have);
        this.at = 0;
        return this.short(n, have, what);
      }
      // of a large chunk only what is needed is copied behind the rest of another
      const missing = have && have + chunk.length > n + FEW ? n - have : chunk.length;
      if (missing < chunk.length) this.later = chunk.subarray(missing);
      parts.push(chunk.subarray(0, missing));
      have += missing;
    }
    this.buf = parts[0].length ? join(parts, have) : parts.length === 2 ? parts[1] : join(parts, have);
    this.at = 0;
  }

  /**
   * @param {number} n
   * @param {number} have
   * @param {string} what
   * @returns {never}
   */
  short(n, have, what) {
    if (this.pos + have === 0) fail('truncated', `${this.name}: the file is empty`);
    return fail(
      'truncated',
      `${this.name}: the file ends after ${this.pos + have} bytes, ${n - have} more were expected for ${what}`,
    );
  }

  /**
   * Consume n bytes that are ready. The view is valid until the next wait.
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
   * At most n of the first bytes, not consumed; fewer only where the file is shorter.
   * @param {number} n
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
   * @param {number} n
   * @param {string} [what]
   */
  async skip(n, what) {
    await this.pipe(n, () => {}, 1, what);
  }

  /**
   * Pass the next n bytes to fn, in order, as views that end on whole blocks and are valid until fn returns (or its
   * promise settles).
   * @param {number} n a multiple of block
   * @param {(view: Uint8Array) => void | Promise<void>} fn
   * @param {number} [block] bytes
   * @param {string} [what]
   */
  async pipe(n, fn, block = 1, what) {
    if (this.total !== null && this.pos + n > this.total)
      this.short(n, Math.max(0, this.total - this.pos), what ?? 'its data');
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
   * Throw when the size of the file, where it is known, differs from what its header describes.
   * @param {number} end
   * @param {number} [padding] bytes that may follow
   */
  fits(end, padding = 0) {
    if (this.total === null || (this.total >= end && this.total <= end + padding)) return;
    const short = this.total < end;
    fail(
      short ? 'truncated' : 'bad-file',
      `${this.name}: the file has ${this.total} bytes, its header describes ${end}${short ? '' : `: ${this.total - end} bytes follow the last tensor`}`,
    );
  }

  /** Throw when bytes follow the end. */
  async end() {
    if (this.sure && this.pos === this.total) {
      this.chunks.next().catch(() => {}); // read to its end, so that the browser caches it
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

  /** Close the source and ignore its failures. */
  close() {
    this.done = true;
    this.buf = new Uint8Array(0);
    this.at = 0;
    this.later = null;
    Promise.resolve(this.chunks.return?.()).catch(() => {});
  }
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
function untilAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * @param {Uint8Array[]} parts
 * @param {number} length
 */
function join(parts, length) {
  const out = new Uint8Array(length);
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}
