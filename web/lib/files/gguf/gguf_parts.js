// gguf_parts.js - a GGUF in several files, as llama.cpp's gguf-split writes them: NAME-00001-of-00003.gguf
//
// Every part has a header with a list of its own tensors. The metadata of the model are in part 1; the others have
// split.no, their number from 0, split.count, the number of parts, and split.tensors.count, the tensors of all parts.
import { GlassformerError, fail, show } from '../../base/errors.js';
import { openHeaders } from '../bytes/open_headers.js';
import { readGguf } from './gguf.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Gguf } from './gguf.js' */
/** @import { Bytes, Opener } from '../source.js' */
/**
 * @typedef {{gguf: Gguf, names: string[], readers: (() => Promise<ByteReader>)[],
 *   files: (Bytes | ByteReader)[], padding: number[]}} Parts */

/** The end of a part's name. */
const PART = /-(\d{5})-of-(\d{5})(?=\.gguf(?:[?#]|$))/;
const MAX_PARTS = 4096;

/**
 * Opens the parts of a GGUF and joins their headers.
 * @param {Opener} opener
 * @param {Gguf} first  header of the first file
 * @param {ByteReader} r  of the first file
 * @param {(Bytes | ByteReader)[]} files  all of them, in any order, or one whose name tells those of the others
 * @returns {Promise<Parts | null>} null where the file is the whole model
 */
export async function openParts(opener, first, r, files) {
  const count = splitKey(first, 'count', r.name, MAX_PARTS);
  if (count === undefined && files.length > 1)
    return fail('unsupported', `${r.name}: has no split.count, so it is not one of ${files.length} parts of a model`);
  if (count === undefined || (count <= 1 && files.length === 1)) return null;
  const all = files.length > 1 ? files : siblings(files[0], count, r.name, splitKey(first, 'no', r.name, count) ?? 0);
  const { headers, names, readers } = await openHeaders(
    opener,
    r,
    all,
    async (part, i) => (i === 0 ? first : readGguf(part, i)),
    (file, i) => partReader(opener, file, i + 1, all.length),
  );
  checkParts(headers, names, count);
  const main = /** @type {Gguf} */ (headers.find((h) => h.meta.get('split.no') === 0));
  const entries = headers.flatMap((h) => h.entries);
  const fileOf = new Map();
  for (const { name, file } of entries) {
    if (fileOf.has(name)) fail('duplicate-tensor', `${names[file]}: ${show(name)} is in two parts`);
    fileOf.set(name, file);
  }
  const tensors = main.meta.get('split.tensors.count');
  if (tensors !== undefined && tensors !== entries.length)
    fail('missing-tensor', `${names[0]}: the parts have ${entries.length} tensors, split.tensors.count is ${tensors}`);
  return { gguf: { ...main, entries }, names, readers, files: all, padding: headers.map((h) => h.padding) };
}

/**
 * A number of the metadata under split.
 * @param {Gguf} gguf
 * @param {string} key
 * @param {string} where  file name, for messages
 * @param {number} most
 * @returns {number | undefined}
 */
function splitKey({ meta }, key, where, most) {
  const value = meta.get(`split.${key}`);
  if (value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most))
    return value;
  return fail('bad-header', `${where}: split.${key} is ${show(value)}, expected a whole number from 0 to ${most}`);
}

/**
 * The addresses of all parts, from that of the first one.
 * @param {Bytes | ByteReader} file
 * @param {number} count
 * @param {string} name  of the file
 * @param {number} no  which part it is, from 0
 * @returns {Bytes[]}
 */
function siblings(file, count, name, no) {
  const at = typeof file === 'string' || file instanceof URL ? String(file) : '';
  const [, number, of] = PART.exec(at) ?? [];
  if (number === undefined || Number(of) !== count)
    return fail(
      'missing-tensor',
      `${name}: this is part ${no + 1} of ${count}: give all parts together, ` +
        'or the address of the first one under a name that ends in ' +
        `-00001-of-${String(count).padStart(5, '0')}.gguf`,
    );
  const nameOf = (/** @type {number} */ i) => at.replace(PART, `-${String(i + 1).padStart(5, '0')}-of-${of}`);
  if (no !== 0 || Number(number) !== 1)
    return fail('bad-argument', `${name}: this is part ${no + 1} of ${count}: give the first one, ${nameOf(0)}`);
  return Array.from({ length: count }, (_, i) => nameOf(i));
}

/**
 * Opens a further part.
 * @param {Opener} opener
 * @param {Bytes} file
 * @param {number} number
 * @param {number} count
 */
async function partReader(opener, file, number, count) {
  try {
    return await opener.reader(opener.resolve(file), true);
  } catch (error) {
    if (!(error instanceof GlassformerError) || error.code !== 'not-found') throw error;
    return fail('not-found', `part ${number} of ${count} is missing: ${error.message}`, error);
  }
}

/**
 * Throws unless there is every part once.
 * @param {Gguf[]} headers
 * @param {string[]} names
 * @param {number} count
 */
function checkParts(headers, names, count) {
  /** @type {Map<number, string>} */
  const found = new Map();
  for (const [i, header] of headers.entries()) {
    const own = splitKey(header, 'count', names[i], MAX_PARTS);
    if (own !== count)
      fail('bad-file', `${names[i]}: belongs to a model of ${own ?? 1} parts, ${names[0]} to one of ${count}`);
    const no = splitKey(header, 'no', names[i], count - 1);
    if (no === undefined) return fail('bad-header', `${names[i]}: split.no is missing`);
    const other = found.get(no);
    if (other !== undefined) fail('bad-file', `${names[i]}: is part ${no + 1} of ${count}, as ${other} is`);
    found.set(no, names[i]);
  }
  for (let no = 0; no < count; no++) {
    if (found.has(no)) continue;
    const [, of] = [...found][0];
    const name = of.replace(PART, `-${String(no + 1).padStart(5, '0')}-of-${String(count).padStart(5, '0')}`);
    fail('missing-tensor', `part ${no + 1} of ${count} is missing${name === of ? '' : ` (${name})`}`);
  }
}

/**
 * The files of one model in parts among the names of a folder, part 1 first.
 * @param {string[]} names
 * @returns {string[]} [] where there is none, or more than one
 */
export function partsAmong(names) {
  const parts = names.filter((name) => PART.test(name));
  const models = new Set(parts.map((name) => name.replace(PART, '')));
  return models.size === 1 ? parts.sort() : [];
}
