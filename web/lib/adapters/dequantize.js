// dequantize.js - the values of weights as they are stored in files, for adapters; other weights are read by the engine
//
// The layouts of the blocks are described in src/kernels/blocks.c. A part is 32 columns of a block.
import { BLOCKS } from '../base/blocks.js';
import { decodeFloats, fromHalf } from '../bytes/half.js';

/** @import { Dtype } from '../base/blocks.js' */
/**
 * 32 columns: x = q * d * factor + minimum, with a factor and a minimum for each half of them.
 * @typedef {{q: Int32Array, d: number, factor: [number, number], minimum: [number, number]}} Part
 */
/** @typedef {(to: Part, p: Uint8Array, part: number) => void} Unpack  p: one block */

const IQ4_VALUES = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const FP4_VALUES = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

const half = (/** @type {Uint8Array} */ p, /** @type {number} */ at) => fromHalf(p[at] | (p[at + 1] << 8));

/**
 * @param {Part} to
 * @param {number} d
 * @param {number} [minimum]
 * @param {number} [factor]
 */
function setScale(to, d, minimum = 0, factor = 1) {
  to.d = d;
  to.factor = [factor, factor];
  to.minimum = [minimum, minimum];
}

/**
 * 16 bytes of nibbles, as columns j and j + 16.
 * @param {Part} to
 * @param {Uint8Array} p
 * @param {number} at
 * @param {(nibble: number) => number} value
 */
function nibbles({ q }, p, at, value = (nibble) => nibble) {
  for (let j = 0; j < 16; j++) {
    q[j] = value(p[at + j] & 15);
    q[j + 16] = value(p[at + j] >> 4);
  }
}

/**
 * Add to each q a fifth bit, which counts 16.
 * @param {Part} to
 * @param {Uint8Array} p
 * @param {number} at  of 4 bytes, whose bit j belongs to column j
 * @param {number} zero  is subtracted
 */
function addFifthBits({ q }, p, at, zero) {
  for (let j = 0; j < 32; j++) q[j] += (((p[at + (j >> 3)] >> (j & 7)) & 1) << 4) - zero;
}

/**
 * Scale, minimum and low four bits of a part of a q4_k or q5_k block: six bits each in 12 bytes; of each pair of parts
 * the first is in the low halves of 32 bytes.
 * @param {Part} to
 * @param {Uint8Array} p
 * @param {number} k
 * @param {number} at  of the low bits
 */
function packedPart(to, p, k, at) {
  const s = (/** @type {number} */ i) => p[4 + i];
  const scale = k < 4 ? s(k) & 63 : (s(k + 4) & 15) | ((s(k - 4) >> 6) << 4);
  const minimum = k < 4 ? s(k + 4) & 63 : (s(k + 4) >> 4) | ((s(k) >> 6) << 4);
  setScale(to, half(p, 0), -half(p, 2) * minimum, scale);
  for (let j = 0; j < 32; j++) to.q[j] = (p[at + (k >> 1) * 32 + j] >> ((k & 1) * 4)) & 15;
}

/** @type {Record<Exclude<Dtype, 'f32' | 'f16' | 'bf16'>, Unpack>} */
const UNPACK = {
  q8_0(to, p) {
    setScale(to, half(p, 0));
    for (let j = 0; j < 32; j++) to.q[j] = (p[2 + j] << 24) >> 24;
  },
  q4_0(to, p) {
    setScale(to, half(p, 0));
    nibbles(to, p, 2, (n) => n - 8);
  },
  q4_1(to, p) {
    setScale(to, half(p, 0), half(p, 2));
    nibbles(to, p, 4);
  },
  q5_0(to, p) {
    setScale(to, half(p, 0));
    nibbles(to, p, 6);
    addFifthBits(to, p, 2, 16);
  },
  q5_1(to, p) {
    setScale(to, half(p, 0), half(p, 2));
    nibbles(to, p, 8);
    addFifthBits(to, p, 4, 0);
  },
  iq4_nl(to, p) {
    setScale(to, half(p, 0));
    nibbles(to, p, 2, (n) => IQ4_VALUES[n]);
  },
  mxfp4(to, p) {
    setScale(to, 2 ** (p[0] - 128)); // half of its scale: the table has twice the values
    nibbles(to, p, 1, (n) => FP4_VALUES[n]);
  },
  q4_k: (to, p, k) => packedPart(to, p, k, 16),
  q5_k(to, p, k) {
    packedPart(to, p, k, 48);
    for (let j = 0; j < 32; j++) to.q[j] += ((p[16 + j] >> k) & 1) << 4;
  },
  q6_k(to, p, k) {
    const [low, high] = [(k >> 2) * 64 + (k & 1) * 32, 128 + (k >> 2) * 32];
    for (let j = 0; j < 32; j++)
      to.q[j] = ((p[low + j] >> ((k & 2) * 2)) & 15) + (((p[high + j] >> ((k & 3) * 2)) & 3) << 4) - 32;
    setScale(to, half(p, 208));
    for (const i of [0, 1]) to.factor[i] = (p[192 + 2 * k + i] << 24) >> 24;
  },
  q3_k(to, p, k) {
    const low = 32 + (k >> 2) * 32;
    for (let j = 0; j < 32; j++) to.q[j] = ((p[low + j] >> ((k & 3) * 2)) & 3) + (((p[j] >> k) & 1) << 2) - 4;
    setScale(to, half(p, 108));
    for (const i of [0, 1]) {
      const at = 2 * k + i;
      const four = at < 8 ? p[96 + at] & 15 : p[96 + at - 8] >> 4;
      to.factor[i] = (four | (((p[104 + (at & 3)] >> ((at >> 2) * 2)) & 3) << 4)) - 32;
    }
  },
  q2_k(to, p, k) {
    const low = 16 + (k >> 2) * 32;
    for (let j = 0; j < 32; j++) to.q[j] = (p[low + j] >> ((k & 3) * 2)) & 3;
    setScale(to, half(p, 80));
    for (const i of [0, 1]) {
      const s = p[2 * k + i];
      to.factor[i] = s & 15;
      to.minimum[i] = -half(p, 82) * (s >> 4);
    }
  },
  iq4_xs(to, p, k) {
    const high = ((p[2] | (p[3] << 8)) >> (2 * k)) & 3;
    const low = (p[4 + (k >> 1)] >> ((k & 1) * 4)) & 15;
    setScale(to, half(p, 0), 0, (low | (high << 4)) - 32);
    nibbles(to, p, 8 + 16 * k, (n) => IQ4_VALUES[n]);
  },
};

/**
 * The values of whole blocks.
 * @param {Uint8Array} bytes
 * @param {Dtype} dtype
 * @param {Float32Array} out
 * @param {number} at  where the first value goes
 */
export function dequantize(bytes, dtype, out, at) {
  if (dtype === 'f32' || dtype === 'f16' || dtype === 'bf16') return decodeFloats(bytes, dtype, out, at);
  const [cols, size] = BLOCKS[dtype];
  /** @type {Part} */
  const part = { q: new Int32Array(32), d: 0, factor: [1, 1], minimum: [0, 0] };
  for (let from = 0; from < bytes.length; from += size) {
    const block = bytes.subarray(from, from + size);
    for (let k = 0; k < cols / 32; k++, at += 32) {
      UNPACK[dtype](part, block, k);
      for (let j = 0; j < 32; j++) {
        const i = j >> 4;
        out[at + j] = Math.fround(part.q[j] * part.d * part.factor[i]) + part.minimum[i];
      }
    }
  }
}
