// k_quants.js - numbers as blocks of 256 (Q4_K, Q5_K, Q6_K), rounded as llama.cpp does without a matrix of importance
//
// Ported from ggml's reference, quantize_row_q4_K_ref and so on of ggml-quants.c. Every sum is in f32, in its order, so
// that the blocks have its bits.
import { toHalf } from './encode_half.js';

const f = Math.fround;
/** Numbers of a block. */
export const SUPER = 256;

/** Adding it rounds a float to a whole number, half to even. */
const MAGIC = 12582912;
/** @param {number} x a float */
const nearest = (x) => f(x + MAGIC) - MAGIC;
/** @type {(x: number, most: number) => number} */
const level = (x, most) => Math.max(0, Math.min(most, nearest(x)));

/**
 * The value of a finite f16.
 * @param {number} bits
 */
function half(bits) {
  const exponent = (bits >> 10) & 31;
  const size = exponent ? (1 + (bits & 1023) / 1024) * 2 ** (exponent - 15) : (bits & 1023) * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

/**
 * The smallest of numbers and 0, and the largest, with the sums of their weights.
 * @param {Float32Array} x
 * @param {Float32Array} w
 */
function range(x, w) {
  let [min, max, sumW, sumX] = [x[0], x[0], w[0], f(w[0] * x[0])];
  for (let i = 1; i < x.length; i++) {
    if (x[i] < min) min = x[i];
    if (x[i] > max) max = x[i];
    sumW = f(sumW + w[i]);
    sumX = f(sumX + f(w[i] * x[i]));
  }
  return { min: Math.min(min, 0), max, sumW, sumX };
}

/**
 * The weighted square error of x = scale level + min.
 * @param {Float32Array} x
 * @param {Float32Array} w
 * @param {Uint8Array} levels
 * @param {number} scale
 * @param {number} min
 */
function errorOf(x, w, levels, scale, min) {
  let error = 0;
  for (let i = 0; i < x.length; i++) {
    const off = f(f(f(scale * levels[i]) + min) - x[i]);
    error = f(error + f(w[i] * f(off * off)));
  }
  return error;
}

/**
 * The line through levels with the least weighted square error (make_qkx2_quants).
 * @param {Float32Array} x
 * @param {Float32Array} w
 * @param {Uint8Array} levels
 * @param {{sumW: number, sumX: number}} sums
 * @returns {[scale: number, min: number] | null}
 */
function lineThrough(x, w, levels, { sumW, sumX }) {
  let [sumL, sumL2, sumXL] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    const wl = f(w[i] * levels[i]);
    sumL = f(sumL + wl);
    sumL2 = f(sumL2 + f(wl * levels[i]));
    sumXL = f(sumXL + f(wl * x[i]));
  }
  const d = f(f(sumW * sumL2) - f(sumL * sumL));
  if (!(d > 0)) return null;
  const min = f(f(f(sumL2 * sumX) - f(sumL * sumXL)) / d);
  return min > 0 ? [f(sumXL / sumL2), 0] : [f(f(f(sumW * sumXL) - f(sumX * sumL)) / d), min];
}

/**
 * Scale and minimum of 32 numbers for levels from 0 to most, the best of several tries.
 * @param {Float32Array} x
 * @param {number} most
 * @param {Uint8Array} levels  written
 * @param {number} first  of the offsets to `most` that are tried, in steps of 0.1
 * @param {number} tries
 * @returns {[scale: number, min: number]} min: what is subtracted
 */
function scaleAndMin(x, most, levels, first, tries) {
  let squares = 0;
  for (const y of x) squares = f(squares + f(y * y));
  const mean = f(Math.sqrt(f(squares / 32)));
  const w = x.map((y) => f(mean + Math.abs(y)));
  const sums = range(x, w);
  const { max } = sums;
  let { min } = sums;
  if (max === min) {
    levels.fill(0);
    return [0, -min];
  }
  const lowest = min;
  const width = f(max - lowest);
  const put = (/** @type {Uint8Array} */ to, /** @type {number} */ inverse) => {
    for (let i = 0; i < x.length; i++) to[i] = level(f(inverse * f(x[i] - min)), most);
  };
  const inverse = f(most / width);
  let scale = f(1 / inverse);
  put(levels, inverse);
  let best = errorOf(x, w, levels, scale, min);
  const tried = new Uint8Array(32);
  for (let i = 0; i <= tries; i++) {
    put(tried, f(f(f(first + f(f(0.1) * i)) + most) / f(max - min)));
    const line = lineThrough(x, w, tried, sums);
    const error = line && errorOf(x, w, tried, ...line);
    if (!line || error === null || !(error < best)) continue;
    levels.set(tried);
    [best, scale, min] = [error, ...line];
  }
  return [scale, -min];
}

/**
 * Writes scales, minima and the two factors of a block of Q4_K or Q5_K: f16 d | f16 dmin | 12 bytes of 6 bits each.
 * @param {DataView} v
 * @param {Float32Array} x  256 numbers
 * @param {number} most  15 or 31
 * @returns {Uint8Array} the level of each number
 */
function putScales(v, x, most) {
  const levels = new Uint8Array(SUPER);
  const pairs = Array.from({ length: 8 }, (_, j) => {
    const [from, to] = [32 * j, 32 * j + 32];
    return scaleAndMin(
      x.subarray(from, to),
      most,
      levels.subarray(from, to),
      most === 15 ? -1 : -0.5,
      most === 15 ? 20 : 15,
    );
  });
  const largest = [0, 1].map((k) => pairs.reduce((m, pair) => Math.max(m, pair[k]), 0));
  const inverse = largest.map((m) => (m > 0 ? f(63 / m) : 0));
  const packed = pairs.map((pair) => pair.map((y, k) => Math.min(63, nearest(f(inverse[k] * y)))));
  const [d, dmin] = largest.map((m) => toHalf(f(m / 63)));
  v.setUint16(0, d, true);
  v.setUint16(2, dmin, true);
  for (const [j, [scale, min]] of packed.entries()) {
    if (j < 4) {
      v.setUint8(4 + j, scale | ((packed[j + 4][0] >> 4) << 6));
      v.setUint8(8 + j, min | ((packed[j + 4][1] >> 4) << 6));
    } else v.setUint8(8 + j, (scale & 15) | ((min & 15) << 4));
    const step = f(half(d) * scale);
    if (!step) continue;
    const offset = f(half(dmin) * min);
    for (let i = 32 * j; i < 32 * j + 32; i++) levels[i] = level(f(f(x[i] + offset) / step), most);
  }
  return levels;
}

/**
 * Writes a block of Q4_K: scales | 128 bytes of two levels each
 * @param {DataView} v
 * @param {Float32Array} x
 */
export function q4k(v, x) {
  const levels = putScales(v, x, 15);
  for (let i = 0; i < 128; i++) {
    const at = 64 * (i >> 5) + (i & 31);
    v.setUint8(16 + i, levels[at] | (levels[at + 32] << 4));
  }
}

/**
 * Writes a block of Q5_K: scales | 32 bytes of fifth bits | 128 bytes of two levels each
 * @param {DataView} v
 * @param {Float32Array} x
 */
export function q5k(v, x) {
  const levels = putScales(v, x, 31);
  for (let j = 0; j < 32; j++) {
    let bits = 0;
    for (let k = 0; k < 8; k++) bits |= (levels[32 * k + j] >> 4) << k;
    v.setUint8(16 + j, bits);
  }
  for (let i = 0; i < 128; i++) {
    const at = 64 * (i >> 5) + (i & 31);
    v.setUint8(48 + i, (levels[at] & 15) | ((levels[at + 32] & 15) << 4));
  }
}

/**
 * The scale of 16 numbers for levels from -32 to 31, the best of several tries (make_qx_quants).
 * @param {Float32Array} x
 * @param {Int8Array} levels  written, with 32 added
 */
function scaleOf(x, levels) {
  let [largest, most] = [0, 0];
  for (const y of x) if (Math.abs(y) > largest) [largest, most] = [Math.abs(y), y];
  if (largest < f(1e-15)) {
    levels.fill(0);
    return 0;
  }
  const levelAt = (/** @type {number} */ inverse, /** @type {number} */ i) =>
    Math.max(-32, Math.min(31, nearest(f(inverse * x[i]))));
  const sums = (/** @type {number} */ inverse) => {
    let [sumLX, sumL2] = [0, 0];
    for (let i = 0; i < x.length; i++) {
      const l = levelAt(inverse, i);
      const w = f(x[i] * x[i]);
      sumLX = f(sumLX + f(f(w * x[i]) * l));
      sumL2 = f(sumL2 + f(f(w * l) * l));
    }
    return [sumLX, sumL2];
  };
  const put = (/** @type {number} */ inverse) => x.forEach((_, i) => (levels[i] = levelAt(inverse, i) + 32));
  const first = f(-32 / most);
  put(first);
  const [sumLX, sumL2] = sums(first);
  let scale = sumL2 ? f(sumLX / sumL2) : 0;
  let best = f(scale * sumLX);
  for (let i = -9; i <= 9; i++) {
    if (i === 0) continue;
    const inverse = f(-f(32 + f(f(0.1) * i)) / most);
    const [lx, l2] = sums(inverse);
    if (!(l2 > 0 && f(lx * lx) > f(best * l2))) continue;
    put(inverse);
    scale = f(lx / l2);
    best = f(scale * lx);
  }
  return scale;
}

/**
 * Writes a block of Q6_K: 128 bytes of lower bits | 64 of upper bits | 16 scales | f16 d
 * @param {DataView} v
 * @param {Float32Array} x
 */
export function q6k(v, x) {
  const levels = new Int8Array(SUPER);
  const scales = Array.from({ length: 16 }, (_, b) =>
    scaleOf(x.subarray(16 * b, 16 * b + 16), levels.subarray(16 * b, 16 * b + 16)),
  );
  const largest = scales.reduce((m, s) => (Math.abs(s) > Math.abs(m) ? s : m), 0);
  if (Math.abs(largest) < f(1e-15)) return; // a block of zeros
  const inverse = f(-128 / largest);
  const d = toHalf(f(1 / inverse));
  v.setUint16(208, d, true);
  for (const [b, scale] of scales.entries()) {
    const packed = Math.min(127, nearest(f(inverse * scale)));
    v.setInt8(192 + b, packed);
    const step = f(half(d) * packed);
    if (!step) continue;
    for (let i = 16 * b; i < 16 * b + 16; i++) levels[i] = Math.max(-32, Math.min(31, nearest(f(x[i] / step)))) + 32;
  }
  for (let half128 = 0; half128 < 2; half128++)
    for (let l = 0; l < 32; l++) {
      const [a, b, c, e] = [0, 32, 64, 96].map((k) => levels[128 * half128 + k + l]);
      v.setUint8(64 * half128 + l, (a & 15) | ((c & 15) << 4));
      v.setUint8(64 * half128 + 32 + l, (b & 15) | ((e & 15) << 4));
      v.setUint8(128 + 32 * half128 + l, (a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((e >> 4) << 6));
    }
}
