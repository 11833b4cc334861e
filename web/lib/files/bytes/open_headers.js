// open_headers.js - opens the files of one model one after the other, and reads their headers
import { MAX_OPEN_FILES } from './chunks.js';

/** @import { ByteReader } from './chunks.js' */
/** @import { Bytes } from './open_file.js' */

/**
 * Opens the files of a model and reads their headers. If there are many, most are closed behind their headers and
 * opened again when their tensors are read.
 * @template T
 * @param {import('../opened_files.js').OpenedFiles} opener
 * @param {ByteReader} first  of the first file, which is open
 * @param {(Bytes | ByteReader)[]} files
 * @param {(r: ByteReader, i: number) => Promise<T>} read  reads a header
 * @param {(file: Bytes, i: number) => Promise<ByteReader>} [open]  opens a further file
 * @returns {Promise<{headers: T[], names: string[], readers: (() => Promise<ByteReader>)[]}>} of each file
 */
export async function openHeaders(opener, first, files, read, open = (file) => opener.reader(file, true)) {
  const headers = [];
  const names = [];
  const readers = [];
  for (const [i, given] of files.entries()) {
    const file = /** @type {Bytes} */ (given);
    const before = opener.loaded;
    const r = i === 0 ? first : await open(file, i);
    headers.push(await read(r, i));
    const counted = opener.loaded - before;
    names.push(r.name);
    if (i >= MAX_OPEN_FILES) opener.release(r);
    readers.push(async () => (i < MAX_OPEN_FILES ? r : opener.reader(file, true, counted)));
  }
  return { headers, names, readers };
}
