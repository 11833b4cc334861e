// write_gguf.js - writes the parts of a GGUF of version 3: its header, and numbers as tensor types store them
import { BLOCKS } from '../../base/dtype_names.js';
import { fail } from '../../base/errors.js';
import { concatenate } from '../bytes/chunks.js';
import { TYPES } from './gguf.js';
import { toBfloat, toHalf } from './encode_half.js';
import { SUPER, q4k, q5k, q6k } from './k_quants.js';

const utf8 = new TextEncoder();
/** Arrays of the value types that are numbers or booleans; the machine is little-endian, as the file. */
const ARRAYS = /** @type {Record<number, {of(x: number): {buffer: ArrayBuffer}}>} */ ({
  0: Uint8Array,
  4: Uint32Array,
  5: Int32Array,
  6: Float32Array,
  7: Uint8Array,
});

/**
 * A value of the metadata with its value type; `of` is the type of the elements of an array.
 * @typedef {{type: number, value: any, of?: number}} Value
 */

/**
 * What makes a value of a type.
 * @type {<T>(type: number, of?: number) => (value: T) => Value}
 */
const valueOf = (type, of) => (value) => ({ type, of, value });
/** @type {(value: number) => Value} */
export const u32 = valueOf(4);
/** @type {(value: number) => Value} */
export const f32 = valueOf(6);
/** @type {(value: boolean) => Value} */
export const bool = valueOf(7);
/** @type {(value: string) => Value} */
export const text = valueOf(8);
/** @type {(value: string[]) => Value} */
export const texts = valueOf(9, 8);
/** @type {(value: number[]) => Value} */
export const i32s = valueOf(9, 5);
/** @type {(value: number[]) => Value} */
export const f32s = valueOf(9, 6);
/** @type {(value: number[]) => Value} */
export const u8s = valueOf(9, 0);
/** @type {(value: boolean[]) => Value} */
export const bools = valueOf(9, 7);

/** Collects the bytes of a header. */
class ByteWriter {
  /** @type {Uint8Array[]} */
  parts = [];
  length = 0;

  /** @param {Uint8Array} bytes */
  put(bytes) {
    this.parts.push(bytes);
    this.length += bytes.length;
  }

  /** @param {number} n */
  u32(n) {
    this.scalar(4, n);
  }
  /** @param {number} n */
  u64(n) {
    this.put(new Uint8Array(BigUint64Array.of(BigInt(n)).buffer));
  }

  /** @param {string} s */
  text(s) {
    const bytes = utf8.encode(s);
    this.u64(bytes.length);
    this.put(bytes);
  }

  /**
   * @param {number} type
   * @param {any} x
   */
  scalar(type, x) {
    if (type === 8) this.text(x);
    else this.put(new Uint8Array(ARRAYS[type].of(x).buffer));
  }

  /**
   * Append zeros up to a multiple of `to` bytes.
   * @param {number} to
   */
  pad(to) {
    this.put(new Uint8Array(Math.ceil(this.length / to) * to - this.length));
  }
}

/** The alignment of tensors in bytes: GGUF's default. */
const ALIGNMENT = 32;

/**
 * The header of a GGUF file, and the bytes of padding that follow each tensor.
 * @param {Record<string, Value>} meta
 * @param {{name: string, shape: number[], type: string}[]} tensors  type: as gguf.js names it
 * @returns {{header: Uint8Array, padding: number[]}}
 */
export function ggufHeader(meta, tensors) {
  const out = new ByteWriter();
  out.put(utf8.encode('GGUF'));
  out.u32(3);
  out.u64(tensors.length);
  out.u64(Object.keys(meta).length);
  for (const [key, { type, of, value }] of Object.entries(meta)) {
    out.text(key);
    out.u32(type);
    if (of === undefined) {
      out.scalar(type, value);
      continue;
    }
    out.u32(of);
    out.u64(value.length);
    for (const x of value) out.scalar(of, x);
  }
  let offset = 0;
  const padding = tensors.map(({ name, shape, type }) => {
    out.text(name);
    out.u32(shape.length);
    for (const n of [...shape].reverse()) out.u64(n);
    out.u32(TYPES.indexOf(type));
    out.u64(offset);
    const [scalars, size] = BLOCKS[/** @type {import('../../base/dtype_names.js').Dtype} */ (type.toLowerCase())];
    const bytes = (shape.reduce((a, b) => a * b, 1) / scalars) * size;
    const end = Math.ceil((offset + bytes) / ALIGNMENT) * ALIGNMENT;
    const gap = end - offset - bytes;
    offset = end;
    return gap;
  });
  out.pad(ALIGNMENT);
  return { header: concatenate(out.parts, out.length), padding };
}

/**
 * Scalars as a tensor type stores them. The block types round as ggml's reference does.
 * @param {string} type
 * @param {Float32Array} x for block types a multiple of 32, for those that end in K of 256
 * @returns {Uint8Array}
 */
export function encode(type, x) {
  switch (type) {
    case 'F32':
      return new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
    case 'F16':
      return words(x, finiteHalf);
    case 'BF16':
      return words(x, toBfloat);
    case 'Q8_0':
      return blocks(x, 34, q8);
    case 'Q4_0':
      return blocks(x, 18, q4);
    case 'Q4_1':
      return blocks(x, 20, q41);
    case 'Q5_0':
      return blocks(x, 22, q5);
    case 'Q5_1':
      return blocks(x, 24, q51);
    case 'Q4_K':
      return blocks(x, 144, q4k, SUPER);
    case 'Q5_K':
      return blocks(x, 176, q5k, SUPER);
    case 'Q6_K':
      return blocks(x, 210, q6k, SUPER);
    default:
      throw new RangeError(`numbers cannot be written as ${type}`);
  }
}

/** Numbers that are encoded at a time: a whole number of blocks of every type. */
const PIECE = 1 << 18;

/**
 * The bytes of encode in pieces: those of the largest matrices do not fit into memory a second time.
 * @param {string} type
 * @param {Float32Array} x
 */
export function* encodedPieces(type, x) {
  for (let at = 0; at < x.length; at += PIECE) yield encode(type, x.subarray(at, at + PIECE));
}

/**
 * Numbers as two bytes each.
 * @param {Float32Array} x
 * @param {(x: number) => number} of
 */
function words(x, of) {
  const out = new Uint16Array(x.length);
  for (let i = 0; i < x.length; i++) out[i] = of(x[i]);
  return new Uint8Array(out.buffer);
}

/** A number as f16, which infinity is not: it would be refused when the file is read. @param {number} x */
function finiteHalf(x) {
  const half = toHalf(x);
  if ((half & 0x7fff) === 0x7c00 && Number.isFinite(x))
    fail('unsupported', `a weight or scale is ${x}, and F16 holds at most 65504: choose another type, such as BF16`);
  return half;
}

/**
 * Blocks of numbers.
 * @param {Float32Array} x
 * @param {number} size  bytes of a block
 * @param {(v: DataView, x: Float32Array) => void} pack  writes one block
 * @param {number} [n]  numbers of a block
 */
function blocks(x, size, pack, n = 32) {
  if (x.length % n) throw new RangeError(`${x.length} numbers are no whole blocks of ${n}`);
  const out = new Uint8Array((x.length / n) * size);
  for (let b = 0; b < x.length / n; b++) pack(new DataView(out.buffer, b * size, size), x.subarray(n * b, n * b + n));
  return out;
}

const fround = Math.fround;
/**
 * Rounds half away from zero, like C's roundf.
 * @param {number} v
 */
const round = (v) => Math.sign(v) * Math.floor(Math.abs(v) + 0.5);

/**
 * Writes a q8_0 block: f16 d | 32 x i8; x = d q
 * @param {DataView} v
 * @param {Float32Array} x
 */
function q8(v, x) {
  const d = fround(x.reduce((m, y) => Math.max(m, Math.abs(y)), 0) / 127);
  const inverse = d ? fround(1 / d) : 0;
  v.setUint16(0, finiteHalf(d), true);
  for (let i = 0; i < 32; i++) v.setInt8(2 + i, round(fround(x[i] * inverse)));
}

/**
 * Writes a q4_0 block: f16 d | 16 bytes, the low nibbles are the first half, the high ones the second; x = d (q - 8)
 * @param {DataView} v
 * @param {Float32Array} x
 */
function q4(v, x) {
  const most = x.reduce((m, y) => (Math.abs(y) > Math.abs(m) ? y : m), 0);
  const d = fround(most / -8);
  const inverse = d ? fround(1 / d) : 0;
  /** @param {number} y */
  const q = (y) => Math.min(15, Math.floor(fround(fround(y * inverse) + 8.5)));
  v.setUint16(0, finiteHalf(d), true);
  for (let i = 0; i < 16; i++) v.setUint8(2 + i, q(x[i]) | (q(x[i + 16]) << 4));
}

/**
 * Writes a q4_1 block: f16 d | f16 m | 16 bytes as above; x = d q + m
 * @param {DataView} v
 * @param {Float32Array} x
 */
function q41(v, x) {
  const min = x.reduce((a, b) => Math.min(a, b), Infinity);
  const d = fround(fround(x.reduce((a, b) => Math.max(a, b), -Infinity) - min) / 15);
  const inverse = d ? fround(1 / d) : 0;
  /** @param {number} y */
  const q = (y) => Math.min(15, Math.floor(fround(fround(fround(y - min) * inverse) + 0.5)));
  v.setUint16(0, finiteHalf(d), true);
  v.setUint16(2, finiteHalf(min), true);
  for (let i = 0; i < 16; i++) v.setUint8(4 + i, q(x[i]) | (q(x[i + 16]) << 4));
}

/**
 * Writes 32 levels of five bits: four bytes of fifth bits, then 16 bytes of the others as above.
 * @param {DataView} v
 * @param {number} at  offset in the block
 * @param {(i: number) => number} level
 */
function fiveBits(v, at, level) {
  let upper = 0;
  for (let i = 0; i < 16; i++) {
    const [a, b] = [level(i), level(i + 16)];
    v.setUint8(at + 4 + i, (a & 15) | ((b & 15) << 4));
    upper |= ((a >> 4) << i) | ((b >> 4) << (i + 16));
  }
  v.setUint32(at, upper >>> 0, true);
}

/**
 * Writes a q5_0 block: f16 d | 32 levels; x = d (q - 16)
 * @param {DataView} v
 * @param {Float32Array} x
 */
function q5(v, x) {
  const most = x.reduce((m, y) => (Math.abs(y) > Math.abs(m) ? y : m), 0);
  const d = fround(most / -16);
  const inverse = d ? fround(1 / d) : 0;
  v.setUint16(0, finiteHalf(d), true);
  fiveBits(v, 2, (i) => Math.min(31, Math.floor(fround(fround(x[i] * inverse) + 16.5))));
}

/**
 * Writes a q5_1 block: f16 d | f16 m | 32 levels; x = d q + m
 * @param {DataView} v
 * @param {Float32Array} x
 */
function q51(v, x) {
  const min = x.reduce((a, b) => Math.min(a, b), Infinity);
  const d = fround(fround(x.reduce((a, b) => Math.max(a, b), -Infinity) - min) / 31);
  const inverse = d ? fround(1 / d) : 0;
  v.setUint16(0, finiteHalf(d), true);
  v.setUint16(2, finiteHalf(min), true);
  fiveBits(v, 4, (i) => Math.floor(fround(fround(fround(x[i] - min) * inverse) + 0.5)));
}
