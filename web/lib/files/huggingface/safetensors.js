// safetensors.js - reads and checks the header of a .safetensors file
//
//   u64 n | n bytes of JSON { name: { dtype, shape, data_offsets: [begin, end] }, "__metadata__": {...} } | data
//
// JSON.parse keeps the last of two equal keys, so the text is scanned for duplicates. The ranges must tile the data
// exactly: no hole, no overlap, nothing after them.
import { fail, show } from '../../base/errors.js';
import { checkTiling } from '../../engine/config/tensor_plan.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */

/** Longest header, as in the reference implementation. */
const MAX_HEADER = 100_000_000;

/** Bits by dtype; its name has them. @type {Record<string, number>} */
const BITS = Object.fromEntries(
  'F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL F8_E4M3 F8_E5M2 F8_E8M0 C64'
    .split(' ')
    .map((name) => [name, Number(/\d+/.exec(name)?.[0] ?? 8)]),
);

/**
 * Reads the header.
 * @param {ByteReader} r  at the start of the file; afterwards at the start of the data
 * @returns {Promise<{header: Record<string, any>, start: number}>} start: of the data
 */
export async function readHeader(r) {
  const length = (await r.view(8, 'the header length')).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER))
    fail('bad-header', `${r.name}: the header claims ${length} bytes, at most ${MAX_HEADER} are allowed`);
  const n = Number(length);
  if (n < 2) fail('bad-header', `${r.name}: the header claims ${n} bytes`);
  const bytes = await r.take(n, 'the header');
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (e) {
    return fail('bad-header', `${r.name}: the header is not UTF-8`, e);
  }
  if (text[0] !== '{') fail('bad-header', `${r.name}: the header begins with ${show(text[0])}, expected "{"`);
  const twice = duplicateKey(text);
  if (twice !== null) fail('duplicate-tensor', `${r.name}: the header lists ${show(twice)} twice`);
  try {
    return { header: JSON.parse(text), start: 8 + n };
  } catch (e) {
    return fail('bad-header', `${r.name}: the header is not JSON`, e);
  }
}

/**
 * The tensors of the header.
 * @param {ByteReader} r  as of readHeader
 * @param {number} file  its index, for the entries
 * @returns {Promise<Entry[]>}
 */
export async function readSafetensors(r, file) {
  const { header, start } = await readHeader(r);
  /** @type {Entry[]} */
  const entries = [];
  for (const [name, info] of Object.entries(header)) {
    if (name === '__metadata__') {
      // null counts as absent, as in the reference implementation
      const fine = typeof info === 'object' && Object.values(info ?? {}).every((v) => typeof v === 'string');
      if (!fine) fail('bad-header', `${r.name}: __metadata__ may hold only strings`);
    } else {
      entries.push(entry(r.name, name, info, start, file));
    }
  }
  r.checkSize(checkTiling(r.name, entries, start));
  return entries;
}

/**
 * One entry of the header, checked.
 * @param {string} where  file name, for messages
 * @param {string} name   of the tensor
 * @param {any} info      its value in the header
 * @param {number} start  offset of the data in the file, in bytes
 * @param {number} file   index of the file
 * @returns {Entry}
 */
function entry(where, name, info, start, file) {
  const at = `${where}: ${show(name)}`;
  if (info === null || typeof info !== 'object') fail('bad-header', `${at}: expected an object, found ${show(info)}`);
  const { dtype, shape, data_offsets: range, ...rest } = info;
  const extra = Object.keys(rest)[0];
  if (extra !== undefined) fail('bad-header', `${at}: there is no field ${show(extra)}`);
  if (typeof dtype !== 'string' || !Object.hasOwn(BITS, dtype))
    fail('unknown-dtype', `${at}: dtype ${show(dtype)} is not known`);
  if (!Array.isArray(shape) || !shape.every(isCount))
    fail('bad-header', `${at}: shape ${show(shape)} is not a list of sizes`);
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isCount) || range[0] > range[1]) {
    fail('bad-header', `${at}: data_offsets ${show(range)} are not a begin and an end`);
  }
  const bytes = range[1] - range[0];
  const want = shape.reduce((n, d) => n * BigInt(d), BigInt(BITS[dtype])) / 8n;
  if (want !== BigInt(bytes)) {
    fail('bad-header', `${at}: shape ${show(shape)} in ${dtype} needs ${want} bytes, data_offsets give ${bytes}`);
  }
  const knownDtype = { F32: 'f32', F16: 'f16', BF16: 'bf16' }[dtype];
  return { name, dtype: knownDtype ?? dtype, shape, file, offset: start + range[0], bytes };
}

/**
 * Whether a value is a whole number from 0.
 * @param {unknown} v
 */
const isCount = (v) => Number.isSafeInteger(v) && Number(v) >= 0;

/**
 * The first duplicate key of the outermost object or of one of its entries; null when there is none. For text that is
 * not JSON the result is arbitrary, and JSON.parse refuses the text.
 * @param {string} text
 * @returns {string | null}
 */
function duplicateKey(text) {
  /** @type {Set<string>[]} keys of the open object of each depth */
  const keys = [];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '{' || c === '[') {
      if (++depth <= 2) keys[depth] = new Set();
    } else if (c === '}' || c === ']') {
      depth--;
    } else if (c === '"') {
      const start = i;
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++;
      let after = i + 1;
      while (after < text.length && ' \t\r\n'.includes(text[after])) after++;
      if (text[after] !== ':' || depth < 1 || depth > 2) continue;
      let key;
      try {
        key = JSON.parse(text.slice(start, i + 1));
      } catch {
        return null;
      }
      if (keys[depth].has(key)) return key;
      keys[depth].add(key);
    }
  }
  return null;
}

/**
 * The tensors that are in another shard than the index says, beside the one there: older copies, which are not read.
 * Throws unless every tensor of the index is in the shard that the index names, and other tensors are in one shard.
 * @template {{name: string, file: number}} E
 * @param {Record<string, string>} map  file name by tensor, from the index
 * @param {E[]} entries  of all shards
 * @param {string[]} names  of the files
 * @returns {Set<E>}
 */
export function staleCopies(map, entries, names) {
  /** @type {Map<string, E>} */
  const at = new Map();
  /** @type {Set<E>} */
  const stale = new Set();
  for (const e of entries) {
    const other = at.get(e.name);
    if (other) {
      const named = Object.hasOwn(map, e.name) ? map[e.name] : null;
      const here = named !== null && names[e.file].endsWith(named);
      const there = named !== null && names[other.file].endsWith(named);
      if (here === there) fail('duplicate-tensor', `${names[e.file]}: ${show(e.name)} is in two files`);
      stale.add(here ? other : e);
      if (!here) continue;
    }
    at.set(e.name, e);
  }
  for (const [tensor, file] of Object.entries(map)) {
    const found = at.get(tensor);
    if (!found || !names[found.file].endsWith(file))
      fail('missing-tensor', `${file}: ${show(tensor)} is missing, but the index names it there`);
  }
  return stale;
}
