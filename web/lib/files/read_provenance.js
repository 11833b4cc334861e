// read_provenance.js - the provenance that a file of this package has: GGUF, safetensors or an archive of numpy
import { fail, messageOf } from '../base/errors.js';
import { ByteReader } from './bytes/chunks.js';
import { detectFormat } from './bytes/detect_format.js';
import { openBytes } from './bytes/open_file.js';
import { readGguf } from './gguf/gguf.js';
import { readHeader } from './huggingface/safetensors.js';
import { Archive } from './pytorch/zip.js';

/** The key in the metadata of a GGUF. */
export const PROVENANCE_KEY = 'glassformer.provenance';

/**
 * The text in which the record stands.
 * @param {ByteReader} r  at the start of the file
 * @returns {Promise<unknown>} nothing where there is none
 */
async function textOf(r) {
  const format = await detectFormat(r, true);
  if (format === 'gguf') return (await readGguf(r, 0)).meta.get(PROVENANCE_KEY);
  if (format === 'safetensors') return (await readHeader(r)).header.__metadata__?.provenance;
  if (format !== 'pytorch') return null;
  const archive = new Archive(r);
  for (let entry; (entry = await archive.next());) {
    const { size, name } = entry;
    if (size === null) return null; // this package gives every size
    if (name === 'provenance.json') return new TextDecoder().decode(await r.take(size, name));
    await r.skip(size, name);
  }
  return null;
}

/**
 * @param {import('./bytes/open_file.js').Bytes} file
 * @returns {Promise<any>} null where the file has none
 */
export async function readProvenance(file) {
  const { chunks, ...about } = await openBytes(file, {});
  const r = new ByteReader(chunks, about);
  try {
    const text = await textOf(r);
    if (typeof text !== 'string') return null;
    try {
      return JSON.parse(text);
    } catch (error) {
      return fail('bad-header', `${r.name}: its provenance is no JSON: ${messageOf(error)}`, error);
    }
  } finally {
    await r.close();
  }
}
