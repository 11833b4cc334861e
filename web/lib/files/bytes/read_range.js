// read_range.js - reads some bytes far inside a file, beside the reader that reads it from front to back
//
// A server is asked for these bytes alone. One that sends the whole file is read up to them.
import { ByteReader } from './chunks.js';
import { openBytes } from './open_file.js';
import { rangeOf } from '../transfer/retry_and_resume.js';

/** @import { Bytes } from './open_file.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */

/**
 * @param {import('../opened_files.js').OpenedFiles} opener  with the options of the load
 * @param {Bytes} source
 * @param {number} from  first byte
 * @param {number} length
 * @returns {Promise<Uint8Array>}
 */
export async function readRange(opener, source, from, length) {
  const { fetch = globalThis.fetch, trusted = fetch === globalThis.fetch, signal } = opener.options;
  let start = 0; // first byte that arrives
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

/**
 * Largest distance in bytes from the header to the end of a tensor that is read in passing, because the configuration
 * must be complete before the weights are read: everything before the tensor is buffered. Tensors farther on are read
 * from the file a second time, as far on as llama.cpp's quantiser writes them behind the head.
 */
const MAX_DISTANCE = 1 << 20;

/**
 * The bytes of a tensor, which stay for whom reads the weights.
 * @param {import('../opened_files.js').OpenedFiles} opener
 * @param {ByteReader} r  of the file, at the end of its header
 * @param {Bytes | ByteReader} file
 * @param {Entry} e
 */
export async function bytesAhead(opener, r, file, { name, offset, bytes: n }) {
  const from = offset - r.pos;
  const end = from + n;
  if (end > MAX_DISTANCE && !(file instanceof ByteReader)) return readRange(opener, file, offset, n);
  const bytes = await r.peek(end);
  if (bytes.length < end) r.failTruncated(end, bytes.length, name);
  return bytes.subarray(from);
}
