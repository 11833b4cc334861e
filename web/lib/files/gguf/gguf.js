// gguf.js - reads the header of a GGUF file: metadata and tensor list
//
//   "GGUF" | u32 version | u64 n tensors | u64 n keys | keys | tensor infos | padding | data, each tensor aligned
//
// All numbers are little-endian. The dimensions of a tensor are listed innermost first.
import { BLOCKS, isDtype } from '../../base/dtype_names.js';
import { fail, show } from '../../base/errors.js';
import { concatenate, utf8Text } from '../bytes/chunks.js';
import { align, checkTiling } from '../../engine/config/tensor_plan.js';
import { Texts } from '../vocabulary/packed_texts.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Dtype } from '../../base/dtype_names.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */
/** @typedef {number | boolean | string} Scalar */
/**
 * The last three are the long arrays of a vocabulary.
 * @typedef {Scalar | Scalar[] | Texts | Float32Array | Int32Array} Value
 */
/**
 * @typedef {object} Gguf
 * @property {Map<string, Value>} meta  by key
 * @property {Entry[]} entries  the tensors, in the order of the header
 * @property {number} padding  bytes that may follow the last tensor; more are not read, with a warning
 */

/** Limits of counts and lengths in a header: characters, elements, keys, tensors. */
const MAX_STRING = 1 << 24;
const MAX_ARRAY = 1 << 23;
const MAX_KEYS = 1 << 16;
const MAX_TENSORS = 1 << 17;

/** Names of ggml's tensor types by number; '' for numbers that are not used. */
export const TYPES = (
  'F32 F16 Q4_0 Q4_1   Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K ' +
  'IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ2_S IQ4_XS ' +
  'I8 I16 I32 I64 F64 IQ1_M BF16    TQ1_0 TQ2_0    MXFP4'
).split(' ');

/** Value types of the metadata that are not numbers. */
const STRING = 8;
const ARRAY = 9;
/**
 * The value types that are numbers or booleans: their bytes, and what reads them.
 * @type {Record<number, [bytes: number, read: (v: DataView, at: number) => number | boolean | bigint]>}
 */
const NUMBERS = {
  0: [1, (v, at) => v.getUint8(at)],
  1: [1, (v, at) => v.getInt8(at)],
  2: [2, (v, at) => v.getUint16(at, true)],
  3: [2, (v, at) => v.getInt16(at, true)],
  4: [4, (v, at) => v.getUint32(at, true)],
  5: [4, (v, at) => v.getInt32(at, true)],
  6: [4, (v, at) => v.getFloat32(at, true)],
  7: [1, (v, at) => v.getUint8(at) !== 0],
  10: [8, (v, at) => v.getBigUint64(at, true)],
  11: [8, (v, at) => v.getBigInt64(at, true)],
  12: [8, (v, at) => v.getFloat64(at, true)],
};

/** Stands for a value that cannot be given exactly: a whole number above 2^53, or a text that is not UTF-8. */
class Unreadable {
  /** @param {string} why */
  constructor(why) {
    this.why = why;
  }
}

/**
 * The metadata by key. A value that cannot be given exactly is refused when it is read, because most keys never are.
 * @extends {Map<string, Value>}
 */
class Metadata extends Map {
  /** @param {string} where  file name, for messages */
  constructor(where) {
    super();
    this.where = where;
  }

  /**
   * @param {string} key
   * @override
   */
  get(key) {
    const value = super.get(key);
    return value instanceof Unreadable ? fail('bad-header', `${this.where}: ${value.why}`) : value;
  }
}

/** Reads the values of a header one after the other. */
class HeaderReader {
  /** @param {ByteReader} r */
  constructor(r) {
    this.r = r;
  }

  /**
   * Throw the error for a malformed header.
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    return fail('bad-header', `${this.r.name}: ${why}`);
  }

  /** @param {string} what */
  async u32(what) {
    return (await this.r.view(4, what)).getUint32(0, true);
  }

  /**
   * A u64 that is a count or a size.
   * @param {string} what
   * @param {number} max  larger values are refused
   */
  async count(what, max) {
    return this.checkedCount(await this.r.view(8, what), what, max);
  }

  /**
   * @param {DataView} view
   * @param {string} what
   * @param {number} max
   */
  checkedCount(view, what, max) {
    const n = view.getBigUint64(0, true);
    return n <= BigInt(max) ? Number(n) : this.refuse(`${what} is ${n}, at most ${max} are possible`);
  }

  /** @param {string} what */
  async string(what) {
    const n = await this.count(`the length of ${what}`, MAX_STRING);
    if (this.r.ready < n) await this.r.need(n, what);
    return utf8Text(this.r.takeReady(n), () => unreadable(`${what} is not UTF-8`));
  }

  /**
   * The name of a key or of a tensor.
   * @param {string} what
   */
  async name(what) {
    try {
      return await this.string(what);
    } catch (error) {
      if (error instanceof Unreadable) return this.refuse(error.why);
      throw error;
    }
  }

  /**
   * An array of strings. One `await` for each would take most of the time: all that have arrived are taken together.
   * @param {number} n  length of the array
   * @param {string} what
   * @returns {Promise<Texts>}
   */
  async texts(n, what) {
    const { r } = this;
    /** @type {Uint8Array[]} strings with the eight bytes of their lengths */
    const parts = [];
    let size = 0;
    let starts = new Uint32Array(Math.min(n, 4096)); // grows with the strings that arrive: n may be wrong
    let ends = new Uint32Array(starts.length);
    for (let i = 0; i < n;) {
      const { buf, at } = r;
      const v = new DataView(buf.buffer, buf.byteOffset, buf.length);
      let end = at;
      while (i < n && end + 8 <= buf.length) {
        const from = end + 8;
        const length = v.getUint32(end, true);
        if (v.getUint32(end + 4, true) || length > MAX_STRING || from + length > buf.length) break;
        if (i === starts.length) [starts, ends] = [longer(starts, n), longer(ends, n)];
        end = from + length;
        starts[i] = size + from - at;
        ends[i++] = size + end - at;
      }
      if (end > at) {
        parts.push(new Uint8Array(r.takeReady(end - at)));
        size += end - at;
      }
      if (i === n) break;
      const lengthOf = `the length of ${what}`;
      await r.need(8, lengthOf);
      await r.need(
        8 + this.checkedCount(new DataView(r.buf.buffer, r.buf.byteOffset + r.at, 8), lengthOf, MAX_STRING),
        what,
      );
    }
    const texts = new Texts(parts.length === 1 ? parts[0] : concatenate(parts, size), starts, ends);
    this.checkUtf8(texts, what);
    return texts;
  }

  /**
   * Throw unless every string of an array is UTF-8. The decoder checks many at once: the bytes of a length below 128
   * are ASCII, and separate the strings around them.
   * @param {Texts} texts  as `texts` reads them
   * @param {string} what
   */
  checkUtf8({ bytes, starts, ends }, what) {
    const check = (/** @type {number} */ from, /** @type {number} */ to) =>
      utf8Text(bytes.subarray(from, to), () => unreadable(`${what} is not UTF-8`));
    let from = 0;
    for (let i = 0; i < starts.length; i++) {
      if (ends[i] - starts[i] < 128) continue;
      check(from, starts[i] - 8);
      from = starts[i];
    }
    check(from, bytes.length);
  }

  /**
   * A value that is not an array.
   * @param {number} type
   * @param {string} what
   * @returns {Promise<Scalar>}
   */
  async scalar(type, what) {
    if (type === STRING) return this.string(what);
    const [size] = NUMBERS[type] ?? this.refuse(`${what} has the value type ${type}, which does not exist`);
    return readNumber(await this.r.view(size, what), 0, type) ?? unreadable(`${what} is larger than 2^53`);
  }

  /**
   * A value with its type before it.
   * @param {string} key
   * @returns {Promise<Value>} of COMPACT_TEXTS as Texts, of COMPACT_NUMBERS as a typed array
   */
  async value(key) {
    const what = show(key);
    const type = await this.u32(what);
    if (type !== ARRAY) return this.scalar(type, what);
    const of = await this.u32(what);
    if (of === ARRAY) this.refuse(`${what} is an array of arrays`);
    // A string takes at least its length, eight bytes.
    const size =
      of === STRING ? 8 : (NUMBERS[of]?.[0] ?? this.refuse(`${what} has elements of type ${of}, which does not exist`));
    const n = await this.count(`the length of ${what}`, MAX_ARRAY);
    if (this.r.total !== null && n * size > this.r.total - this.r.pos) {
      fail('truncated', `${this.r.name}: ${what} claims ${n} elements, more than the file has bytes for`);
    }
    if (of === STRING) {
      const texts = await this.texts(n, what);
      return COMPACT_TEXTS.has(key) ? texts : texts.toArray();
    }
    const view = await this.r.view(n * size, what);
    const TypedArray = TYPED_ARRAYS[of];
    if (TypedArray) {
      const aligned = new Uint8Array(view.buffer, view.byteOffset, n * size).slice();
      const numbers = new TypedArray(aligned.buffer);
      return COMPACT_NUMBERS.has(key) ? numbers : Array.from(numbers);
    }
    /** @type {Scalar[]} */
    const list = [];
    for (let i = 0; i < n; i++)
      list.push(readNumber(view, i * size, of) ?? unreadable(`${what} holds a number larger than 2^53`));
    return list;
  }
}

/**
 * Value types whose arrays are read in one piece: scores and types of tokens.
 * @type {Record<number, Float32ArrayConstructor | Int32ArrayConstructor>}
 */
const TYPED_ARRAYS = { 5: Int32Array, 6: Float32Array };

/** Keys of the long arrays of a vocabulary. */
const COMPACT_TEXTS = new Set(['tokenizer.ggml.tokens', 'tokenizer.ggml.merges']);
const COMPACT_NUMBERS = new Set(['tokenizer.ggml.scores', 'tokenizer.ggml.token_type']);

/**
 * Ends the reading of a value all of whose bytes have been consumed.
 * @param {string} why
 * @returns {never}
 */
function unreadable(why) {
  throw new Unreadable(why);
}

/** Returns instead of throwing. @param {unknown} error */
function asValue(error) {
  if (error instanceof Unreadable) return /** @type {any} */ (error);
  throw error;
}

/**
 * A copy of an array that grows.
 * @param {Uint32Array} array
 * @param {number} most  of its final length
 */
function longer(array, most) {
  const copy = new Uint32Array(Math.min(most, 2 * array.length));
  copy.set(array);
  return copy;
}

/**
 * A number or boolean of the metadata.
 * @param {DataView} v
 * @param {number} at    offset in bytes
 * @param {number} type  value type
 * @returns {number | boolean | null} null for an integer beyond 2^53
 */
function readNumber(v, at, type) {
  const n = NUMBERS[type][1](v, at);
  if (typeof n !== 'bigint') return n;
  return Number.isSafeInteger(Number(n)) ? Number(n) : null;
}

/**
 * Reads the header.
 * @param {ByteReader} r  at the start of the file; afterwards at the end of the header
 * @param {number} file  its index, for the entries
 * @returns {Promise<Gguf>}
 */
export async function readGguf(r, file) {
  const h = new HeaderReader(r);
  const magic = new TextDecoder('latin1').decode(await r.take(4, 'the magic'));
  if (magic !== 'GGUF') fail('bad-file', `${r.name}: begins with ${show(magic)}, a GGUF file begins with "GGUF"`);
  const version = await h.u32('the version');
  if (version === 0x02000000 || version === 0x03000000)
    fail(
      'unsupported',
      `${r.name}: this is a big-endian GGUF, expected a little-endian one: convert it with llama.cpp's ` +
        'gguf_convert_endian.py',
    );
  if (version !== 2 && version !== 3)
    fail('unsupported', `${r.name}: GGUF version ${version} is not supported, only 2 and 3 are`);
  const nTensors = await h.count('the number of tensors', MAX_TENSORS);
  const nKeys = await h.count('the number of keys', MAX_KEYS);
  const meta = new Metadata(r.name);
  for (let i = 0; i < nKeys; i++) {
    const key = await h.name('a key');
    if (meta.has(key)) h.refuse(`the key ${show(key)} is there twice`);
    meta.set(key, await h.value(key).catch(asValue));
  }
  const value = meta.get('general.alignment') ?? 32;
  const isPowerOfTwo = typeof value === 'number' && value >= 1 && value <= 65536 && !(value & (value - 1));
  const alignment = isPowerOfTwo ? value : h.refuse(`general.alignment is ${show(value)}, expected a power of two`);
  const entries = [];
  const names = new Set();
  for (let i = 0; i < nTensors; i++) {
    const e = await tensorInfo(h, file);
    if (names.has(e.name)) fail('duplicate-tensor', `${r.name}: ${show(e.name)} is listed twice`);
    names.add(e.name);
    entries.push(e);
  }
  const start = align(r.pos, alignment);
  for (const e of entries) e.offset += start;
  // A file without tensors may end before the padding of the header.
  const end = entries.length ? checkTiling(r.name, entries, start, alignment) : r.pos;
  const padding = align(end, alignment) - end;
  r.checkSize(end, Infinity);
  return { meta, entries, padding };
}

/**
 * One entry of the tensor list.
 * @param {HeaderReader} h
 * @param {number} file  index of the file
 * @returns {Promise<Entry>} its offset counts from the start of the data
 */
async function tensorInfo(h, file) {
  const name = await h.name('a tensor name');
  const rank = await h.u32(name);
  if (rank < 1 || rank > 4) h.refuse(`${show(name)} has ${rank} dimensions, 1 to 4 are possible`);
  const shape = [];
  for (let i = 0; i < rank; i++) shape.unshift(await h.count(`a dimension of ${show(name)}`, 2 ** 40));
  const type = await h.u32(name);
  const offset = await h.count(`the offset of ${show(name)}`, Number.MAX_SAFE_INTEGER);
  const typeName = TYPES[type];
  const dtype = typeName?.toLowerCase();
  const packed = isDtype(dtype)
    ? null
    : (await import('./rare_types.js')).packedType(`${h.r.name}: ${show(name)}`, typeName, type);
  const [perBlock, blockBytes] = packed?.block ?? BLOCKS[/** @type {Dtype} */ (dtype)];
  if (shape[rank - 1] % perBlock)
    h.refuse(`${show(name)} has rows of ${shape[rank - 1]}, ${typeName} needs multiples of ${perBlock}`);
  const bytes = (shape.reduce((n, d) => n * BigInt(d), 1n) / BigInt(perBlock)) * BigInt(blockBytes);
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER))
    h.refuse(`${show(name)} of shape ${show(shape)} is larger than any file`);
  return { name, dtype: packed ? 'f32' : dtype, shape, file, offset, bytes: Number(bytes), ...(packed && { packed }) };
}
