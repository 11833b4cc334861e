// read_range.js - reads some bytes far inside a file, beside the reader that reads it from front to back
//
// A server is asked for these bytes alone. One that sends the whole file is read up to them.
import { ByteReader } from './chunks.js';
import { openBytes } from './open_file.js';
import { rangeOf } from '../transfer/retry_and_resume.js';

/** @import { Bytes } from './open_file.js' */

/**
 * @param {import('../opened_files.js').OpenedFiles} opener  with the options of the load
 * @param {Bytes} source
 * @param {number} from  first byte
 * @param {number} length
 * @returns {Promise<Uint8Array>}
 */
export async function readRange(opener, source, from, length) {
  const { fetch = globalThis.fetch, trusted = fetch === globalThis.fetch, signal } = opener.options;
  let start = 0; // of what arrives
  /** @type {typeof globalThis.fetch} */
  const partly = async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('range', `bytes=${from}-${from + length - 1}`);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 206) start = rangeOf(response)?.start ?? from; // another origin may hide the header
    return response;
  };
  const { name, chunks, reused } = await openBytes(opener.resolve(source), { signal, trusted, fetch: partly });
  const r = new ByteReader(chunks, { name, reused, signal });
  try {
    if (start > from) return r.failTruncated(length, 0, 'a part that was asked for');
    await r.skip(from - start);
    return (await r.take(length)).slice();
  } finally {
    r.close();
  }
}
