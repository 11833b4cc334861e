// buffer_values.js - the numbers of a small tensor in any type that PyTorch and safetensors store

/**
 * A number in half precision.
 * @param {number} bits
 */
function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size =
    exponent === 31
      ? fraction
        ? NaN
        : Infinity
      : exponent
        ? (1024 + fraction) * 2 ** (exponent - 25)
        : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

const word = new DataView(new ArrayBuffer(4));
/** @param {number} bits  the upper half of an f32 */
function bfloat(bits) {
  word.setUint32(0, bits << 16);
  return word.getFloat32(0);
}

/** @typedef {(v: DataView, at: number) => number} Reader */
/**
 * Bytes of a number and how it is read, by type: those of the engine, of torch.save and of safetensors.
 * @type {Record<string, [bytes: number, read: Reader]>}
 */
const TYPES = {
  f32: [4, (v, at) => v.getFloat32(at, true)],
  f16: [2, (v, at) => half(v.getUint16(at, true))],
  bf16: [2, (v, at) => bfloat(v.getUint16(at, true))],
  f64: [8, (v, at) => v.getFloat64(at, true)],
  int64: [8, (v, at) => Number(v.getBigInt64(at, true))],
  int32: [4, (v, at) => v.getInt32(at, true)],
  int16: [2, (v, at) => v.getInt16(at, true)],
  int8: [1, (v, at) => v.getInt8(at)],
  uint8: [1, (v, at) => v.getUint8(at)],
  bool: [1, (v, at) => v.getUint8(at)],
};
/** The names of safetensors, and complex numbers, which are two reals each. @type {Record<string, string>} */
const ALIASES = {
  ...{ F64: 'f64', I64: 'int64', I32: 'int32', I16: 'int16', I8: 'int8', U8: 'uint8', BOOL: 'bool' },
  ...{ C64: 'f32', complex64: 'f32' },
};

/**
 * The numbers of a tensor.
 * @param {Uint8Array} bytes
 * @param {string} dtype  as the file names it
 * @returns {Float64Array | null} null for a type whose numbers are not read
 */
export function bufferValues(bytes, dtype) {
  const name = Object.hasOwn(ALIASES, dtype) ? ALIASES[dtype] : dtype;
  if (!Object.hasOwn(TYPES, name)) return null;
  const [size, read] = TYPES[name];
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const values = new Float64Array(bytes.length / size);
  for (let i = 0; i < values.length; i++) values[i] = read(v, i * size);
  return values;
}
