// needed_ranges.js - delivers the tensors of a file without the bytes between them that are not needed
//
// A server is asked for each part of the file from behind a long gap on. One that sends something else, and any other
// source, is read from front to back.
import { END } from './chunks.js';
import { localPath, openBytes } from './open_file.js';
import { rangeOf } from '../transfer/retry_and_resume.js';

/** @import { ByteReader } from './chunks.js' */
/** @import { OpenedFiles } from '../opened_files.js' */

/** Bytes of a gap that take longer than the answer to a further request. */
const LONG = 1 << 23;

/**
 * Delivers the tensors of a file.
 * @param {OpenedFiles} opener
 * @returns {import('../source.js').Deliver}
 */
export const inRanges = (opener) => async (_, r, tensors, give) => {
  const last = tensors.at(-1);
  for (const t of tensors) {
    if (!t.covers.length && !t.stored) continue;
    await pass(opener, r, t.offset - r.pos);
    await give(t, r);
  }
  if (last) await pass(opener, r, last.offset + last.bytes - r.pos, true);
};

/**
 * Pass over bytes of a file.
 * @param {OpenedFiles} opener
 * @param {ByteReader} r
 * @param {number} n
 * @param {boolean} [isEnd]  whether no tensor follows
 */
async function pass(opener, r, n, isEnd = false) {
  const source = opener.open.get(r);
  const isRemote = (typeof source === 'string' || source instanceof URL) && localPath(source) === null;
  const to = r.pos + n;
  if (!opener.options.ranges || !isRemote || n - r.ready < LONG) return r.skip(n);
  const rest = isEnd ? NOTHING : await chunksFrom(opener, r, source, to);
  if (!rest) return r.skip(n);
  if (opener.total !== null) opener.total -= n - r.ready;
  opener.options.onBytes?.(opener.loaded, opener.total);
  r.close();
  Object.assign(r, { pos: to, chunks: rest, done: false });
}

/** The chunks of nothing. @type {AsyncIterator<Uint8Array>} */
const NOTHING = { next: async () => END };

/**
 * The chunks of a file from a byte on; null where the server does not send them.
 * @param {OpenedFiles} opener
 * @param {ByteReader} r  of the same file
 * @param {string | URL} source
 * @param {number} from
 */
async function chunksFrom({ options }, r, source, from) {
  const { fetch = globalThis.fetch, trusted = fetch === globalThis.fetch, signal } = options;
  let isRest = false;
  /** @type {typeof globalThis.fetch} */
  const partly = async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('range', `bytes=${from}-`);
    const response = await fetch(input, { ...init, headers });
    const range = rangeOf(response);
    isRest = response.status === 206 && range?.start === from && (range.size ?? r.total) === r.total;
    return response;
  };
  try {
    const { chunks } = await openBytes(source, { fetch: partly, trusted, signal });
    if (isRest) return chunks;
    await chunks.return?.();
  } catch {
    signal?.throwIfAborted();
  }
  return null;
}
