// half.js - the values of f16 and bf16
const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

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
 * The value of a bfloat16.
 * @param {number} b 16 bits
 * @returns {number}
 */
export function fromBfloat(b) {
  u32[0] = b << 16;
  return f32[0];
}
