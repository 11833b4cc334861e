// rare_types.js - tensor types of GGUF with one to three bits (IQ1, IQ2, IQ3) and of three values (TQ1, TQ2), as floats
//
// Their blocks of 256 values reach the engine as f32, which keeps them as Q8_0. Eight or four values are an entry of a
// table, whose signs may be bits beside it. Source: ggml-quants.c and quants.py of llama.cpp.
import { DTYPES } from '../../base/dtype_names.js';
import { fail } from '../../base/errors.js';
import { fromHalf } from '../bytes/float_values.js';
import * as grids from './rare_grids.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { TensorSource } from '../../engine/config/tensor_plan.js' */
/**
 * A type that the engine lacks: its name, what BLOCKS of base/dtypes.js has of others, and how many times its bytes the
 * values take as f32.
 * @typedef {{type: string, block: [cols: number, bytes: number, kept: 'q8_0', exact: false], growth: number}} Packed
 */

/** Values of a block. */
const COLS = 256;
/** Blocks that are unpacked at a time. */
const AT_ONCE = 64;

/**
 * The entries of a table, `n` values each.
 * @param {string} packed  values by their numbers, as base64
 * @param {number[]} values
 */
function gridOf(packed, values) {
  const bits = values.length > 4 ? 4 : 2;
  const perByte = 8 / bits;
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return Float32Array.from(
    { length: bytes.length * perByte },
    (_, i) => values[(bytes[Math.floor(i / perByte)] >> (bits * (i % perByte))) & ((1 << bits) - 1)],
  );
}

const OF_IQ2 = [8, 25, 43];
const ternary = gridOf(grids.IQ1_S, [-1, 0, 1]);
const iq2xxs = gridOf(grids.IQ2_XXS, OF_IQ2);
const iq2xs = gridOf(grids.IQ2_XS, OF_IQ2);
const iq2s = gridOf(grids.IQ2_S, OF_IQ2);
const iq3xxs = gridOf(grids.IQ3_XXS, [4, 12, 20, 28, 36, 44, 52, 62]);
const iq3s = gridOf(grids.IQ3_S, [1, 3, 5, 7, 9, 11, 13, 15]);

/** Eight signs of which seven are stored: an even number of them is negative. @param {number} seven */
function evenSigns(seven) {
  let parity = 0;
  for (let rest = seven; rest; rest >>= 1) parity ^= rest & 1;
  return seven | (parity << 7);
}

/**
 * Writes an entry of a table.
 * @param {Float32Array} out
 * @param {number} to
 * @param {Float32Array} grid
 * @param {number} from  first value of the entry
 * @param {number} n  values of an entry
 * @param {number} scale
 * @param {number} signs  a bit for each value, 1: negative
 */
function put(out, to, grid, from, n, scale, signs) {
  for (let j = 0; j < n; j++) out[to + j] = scale * grid[from + j] * ((signs >> j) & 1 ? -1 : 1);
}

/** @param {DataView} v @param {number} at */
const half = (v, at) => fromHalf(v.getUint16(at, true));
/** Four bits of a list of them. @param {DataView} v @param {number} at @param {number} i */
const nibble = (v, at, i) => (v.getUint8(at + (i >> 1)) >> (4 * (i & 1))) & 15;

/**
 * Unpacks a block into 256 values.
 * @typedef {(v: DataView, at: number, out: Float32Array, to: number) => void} Unpack
 */

/** Bytes of a block of each type, and what unpacks it. @type {Record<string, [bytes: number, unpack: Unpack]>} */
const TYPES = {
  // f16 d | 32 x u8 | 8 x u16: of 32 values three more bits of four entries, a scale and the sign of the shift
  IQ1_S: [
    50,
    (v, at, out, to) => {
      const d = half(v, at);
      for (let i = 0; i < 32; i++) {
        const more = v.getUint16(at + 34 + 2 * (i >> 2), true);
        const entry = v.getUint8(at + 2 + i) | (((more >> (3 * (i & 3))) & 7) << 8);
        shifted(out, to + 8 * i, entry, d * (2 * ((more >> 12) & 7) + 1), more & 0x8000);
      }
    },
  ],
  // 32 x u8 | 32 x u4: three more bits and the sign of the shift | 4 x u16: four scales, and four bits of f16 d
  IQ1_M: [
    56,
    (v, at, out, to) => {
      const words = [0, 1, 2, 3].map((i) => v.getUint16(at + 48 + 2 * i, true));
      const d = fromHalf(words.reduce((bits, word, i) => bits | ((word >> 12) << (4 * i)), 0));
      for (let i = 0; i < 32; i++) {
        const more = nibble(v, at + 32, i);
        const scale = (words[i >> 3] >> (3 * ((i >> 1) & 3))) & 7;
        shifted(out, to + 8 * i, v.getUint8(at + i) | ((more & 7) << 8), d * (2 * scale + 1), more & 8);
      }
    },
  ],
  // f16 d | 8 x (4 x u8 | u32: four times seven signs, a scale)
  IQ2_XXS: [
    66,
    (v, at, out, to) => {
      const d = half(v, at);
      for (let i = 0; i < 32; i++) {
        const from = at + 2 + 8 * (i >> 2);
        const more = v.getUint32(from + 4, true);
        const signs = evenSigns((more >>> (7 * (i & 3))) & 127);
        put(out, to + 8 * i, iq2xxs, 8 * v.getUint8(from + (i & 3)), 8, (d * (0.5 + (more >>> 28))) / 4, signs);
      }
    },
  ],
  // f16 d | 32 x u16: an entry and seven signs | 16 x u4: scales
  IQ2_XS: [
    74,
    (v, at, out, to) => {
      const d = half(v, at);
      for (let i = 0; i < 32; i++) {
        const q = v.getUint16(at + 2 + 2 * i, true);
        const scale = (d * (0.5 + nibble(v, at + 66, i >> 1))) / 4;
        put(out, to + 8 * i, iq2xs, 8 * (q & 511), 8, scale, evenSigns(q >> 9));
      }
    },
  ],
  // f16 d | 32 x u8 | 32 x u8: signs | 32 x u2: more bits | 16 x u4: scales
  IQ2_S: [
    82,
    (v, at, out, to) => {
      const d = half(v, at);
      for (let i = 0; i < 32; i++) {
        const more = (v.getUint8(at + 66 + (i >> 2)) >> (2 * (i & 3))) & 3;
        const scale = (d * (0.5 + nibble(v, at + 74, i >> 1))) / 4;
        const entry = v.getUint8(at + 2 + i) | (more << 8);
        put(out, to + 8 * i, iq2s, 8 * entry, 8, scale, v.getUint8(at + 34 + i));
      }
    },
  ],
  // f16 d | 64 x u8 | 8 x u32: four times seven signs, a scale
  IQ3_XXS: [
    98,
    (v, at, out, to) => {
      const d = half(v, at);
      for (let i = 0; i < 64; i++) {
        const more = v.getUint32(at + 66 + 4 * (i >> 3), true);
        const signs = evenSigns((more >>> (7 * ((i >> 1) & 3))) & 127) >> (4 * (i & 1));
        put(out, to + 4 * i, iq3xxs, 4 * v.getUint8(at + 2 + i), 4, (d * (0.5 + (more >>> 28))) / 2, signs);
      }
    },
  ],
  // f16 d | 64 x u8 | 64 x u1: more bits | 64 x u4: signs | 8 x u4: scales
  IQ3_S: [
    110,
    (v, at, out, to) => {
      const d = half(v, at);
      for (let i = 0; i < 64; i++) {
        const more = (v.getUint8(at + 66 + (i >> 3)) >> (i & 7)) & 1;
        const scale = d * (1 + 2 * nibble(v, at + 106, i >> 3));
        const entry = v.getUint8(at + 2 + i) | (more << 8);
        put(out, to + 4 * i, iq3s, 4 * entry, 4, scale, nibble(v, at + 74, i));
      }
    },
  ],
  // 48 x u8: five values each, in base 3 | 4 x u8: four values each | f16 d
  TQ1_0: [
    54,
    (v, at, out, to) => {
      const d = half(v, at + 52);
      for (const [from, bytes, digits] of [
        [0, 32, 5],
        [32, 16, 5],
        [48, 4, 4],
      ])
        for (let n = 0; n < digits; n++)
          for (let m = 0; m < bytes; m++) {
            const rest = (v.getUint8(at + from + m) * 3 ** n) & 255;
            out[to + 5 * from + bytes * n + m] = d * (((rest * 3) >> 8) - 1);
          }
    },
  ],
  // 64 x u8: four values each | f16 d
  TQ2_0: [
    66,
    (v, at, out, to) => {
      const d = half(v, at + 64);
      for (let i = 0; i < COLS; i++) {
        const byte = v.getUint8(at + 32 * (i >> 7) + (i & 31));
        out[to + i] = d * (((byte >> (2 * ((i >> 5) & 3))) & 3) - 1);
      }
    },
  ],
};

/**
 * Writes eight values of IQ1, which are shifted by an eighth.
 * @param {Float32Array} out
 * @param {number} to
 * @param {number} entry
 * @param {number} scale
 * @param {number} down  other than 0: to below
 */
function shifted(out, to, entry, scale, down) {
  for (let j = 0; j < 8; j++) out[to + j] = scale * (ternary[8 * entry + j] + (down ? -0.125 : 0.125));
}

/**
 * A type that the engine lacks.
 * @param {string} where  file and tensor, for messages
 * @param {string | undefined} name  as gguf.js names it
 * @param {number} number
 * @returns {Packed}
 */
export function packedType(where, name, number) {
  if (!Object.hasOwn(TYPES, String(name)))
    return fail(
      'unknown-dtype',
      `${where} is stored as ${name || `tensor type ${number}`}, expected one of ${DTYPES.toUpperCase()}, ` +
        Object.keys(TYPES).join(', '),
    );
  const type = String(name);
  const [size] = TYPES[type];
  return { type: type.toLowerCase(), block: [COLS, size, 'q8_0', false], growth: (4 * COLS) / size };
}

/**
 * Passes the values of a tensor to a function, as f32.
 * @param {ByteReader} r  at its first byte
 * @param {TensorSource} t
 * @param {Packed} packed  its type
 * @param {(view: Uint8Array) => void | Promise<void>} write
 */
export async function pipePacked(r, t, { type }, write) {
  const [size, unpack] = TYPES[type.toUpperCase()];
  const out = new Float32Array(COLS * AT_ONCE);
  const take = async (/** @type {Uint8Array} */ view) => {
    const v = new DataView(view.buffer, view.byteOffset, view.length);
    for (let at = 0; at < view.length;) {
      const n = Math.min(AT_ONCE, (view.length - at) / size);
      for (let b = 0; b < n; b++) unpack(v, at + b * size, out, COLS * b);
      await write(new Uint8Array(out.buffer, 0, 4 * COLS * n));
      at += n * size;
    }
  };
  await r.pipe(t.bytes, take, size, t.name);
}
