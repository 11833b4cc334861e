// encode_half.js - rounds numbers to f16 and bf16
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
