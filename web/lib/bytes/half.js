// half.js - converts f16 and bf16, for writers, tests and adapters; other weights are converted by the engine
const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

/**
 * A number as IEEE half, rounded to nearest even.
 * @param {number} x
 * @returns {number} 16 bits
 */
export function toHalf(x) {
  f32[0] = x;
  const bits = u32[0];
  const sign = (bits >>> 16) & 0x8000;
  const abs = bits & 0x7fffffff;
  if (abs > 0x7f800000) return sign | 0x7e00;
  if (abs >= 0x477ff000) return sign | 0x7c00; // rounds to 65536 or is larger
  if (abs < 0x38800000) {
    // below the smallest normal half: steps of 2^-24, ties to even
    const steps = Math.abs(f32[0]) * 2 ** 24;
    const low = Math.floor(steps);
    const rest = steps - low;
    return sign | (low + (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? 1 : 0));
  }
  return sign | ((abs - 0x38000000 + 0xfff + ((abs >>> 13) & 1)) >>> 13);
}

/**
 * The value of an IEEE half.
 * @param {number} h 16 bits
 * @returns {number}
 */
export function fromHalf(h) {
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >>> 10) & 31;
  const mantissa = h & 0x3ff;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + mantissa / 1024) : mantissa * 2 ** -24);
}

/**
 * A number as bfloat16, the upper half of an f32, rounded to nearest even.
 * @param {number} x
 * @returns {number} 16 bits
 */
export function toBfloat(x) {
  f32[0] = x;
  const bits = u32[0];
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/**
 * The value of a bfloat16.
 * @param {number} b 16 bits
 * @returns {number}
 */
export function fromBfloat(b) {
  u32[0] = b << 16;
  return f32[0];
}

/**
 * Stored numbers as f32.
 * @param {Uint8Array} bytes
 * @param {string} dtype  f32, f16 or bf16
 * @param {Float32Array} out
 * @param {number} at  where the first one goes
 */
export function decodeFloats(bytes, dtype, out, at) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const size = dtype === 'f32' ? 4 : 2;
  const half = dtype === 'f16' ? fromHalf : fromBfloat;
  for (let i = 0; i < bytes.length; i += size)
    out[at++] = size === 4 ? view.getFloat32(i, true) : half(view.getUint16(i, true));
}
