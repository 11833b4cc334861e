// float_values.js - stored numbers of small tensors as floats
import { fail } from '../../base/errors.js';

/**
 * @param {Uint8Array} bytes  from the beginning of their buffer
 * @param {string} dtype      f32, f16, bf16, q8_0, or I8
 * @param {string} what
 * @returns {Float32Array} of f32: the same memory
 */
export function floatsOf(bytes, dtype, what) {
  const v = new DataView(bytes.buffer);
  if (dtype === 'f32') return new Float32Array(bytes.buffer, 0, bytes.length / 4); // little-endian, as wasm
  if (dtype === 'f16')
    return Float32Array.from({ length: bytes.length / 2 }, (_, i) => fromHalf(v.getUint16(2 * i, true)));
  if (dtype === 'q8_0')
    return Float32Array.from({ length: (bytes.length / 34) * 32 }, (_, i) => {
      const block = 34 * Math.floor(i / 32);
      return fromHalf(v.getUint16(block, true)) * v.getInt8(block + 2 + (i % 32));
    });
  if (dtype === 'I8') return Float32Array.from(new Int8Array(bytes.buffer));
  if (dtype !== 'bf16') return fail('unknown-dtype', `${what} is stored as ${dtype}, expected f32, f16, bf16 or I8`);
  const bits = Uint32Array.from({ length: bytes.length / 2 }, (_, i) => v.getUint16(2 * i, true) << 16);
  return new Float32Array(bits.buffer);
}

/** The value of an f16. @param {number} bits */
export function fromHalf(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return (bits & 0x8000 ? -1 : 1) * (exponent === 31 ? (fraction ? NaN : Infinity) : size);
}
