// utf8.js - ranges of code points as sequences of ranges of bytes

/** The ranges of code points whose UTF-8 has one length and a common shape; surrogates are in none. */
const SHAPES = [
  [0, 0x7f],
  [0x80, 0x7ff],
  [0x800, 0xd7ff],
  [0xe000, 0xffff],
  [0x10000, 0x10ffff],
];

/**
 * The UTF-8 of every code point of a range. Each sequence stands for all combinations of its ranges.
 * @param {number} low
 * @param {number} high  included
 * @returns {[number, number][][]}
 */
export function utf8Sequences(low, high) {
  /** @type {[number, number][][]} */
  const out = [];
  for (const [from, to] of SHAPES) if (low <= to && high >= from) split(Math.max(low, from), Math.min(high, to), out);
  return out;
}

/**
 * Split a range until its sequences differ in independent bytes: all bytes behind the first that differs have the
 * whole range of continuation bytes.
 * @param {number} low
 * @param {number} high  with as many bytes as low
 * @param {[number, number][][]} out
 */
function split(low, high, out) {
  for (let bits = 6; bits <= 18 && high > 0x7f; bits += 6) {
    const mask = 2 ** bits - 1;
    if ((low & ~mask) === (high & ~mask)) continue;
    if (low & mask) {
      split(low, low | mask, out);
      return split((low | mask) + 1, high, out);
    }
    if ((high & mask) !== mask) {
      split(low, (high & ~mask) - 1, out);
      return split(high & ~mask, high, out);
    }
  }
  const first = bytesOf(low);
  const last = bytesOf(high);
  out.push(first.map((byte, i) => [byte, last[i]]));
}

/** @param {number} point */
function bytesOf(point) {
  if (point < 0x80) return [point];
  const rest = [0x80 | (point & 63)];
  for (point >>= 6; ; point >>= 6) {
    const room = 6 - rest.length; // bits of the code point in the first byte
    if (point < 2 ** room) return [((0xff00 >> (rest.length + 1)) & 0xff) | point, ...rest];
    rest.unshift(0x80 | (point & 63));
  }
}
