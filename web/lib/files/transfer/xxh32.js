// xxh32.js - XXH32, a fast checksum of 32 bits (Y. Collet, xxHash); it finds accidental damage and no forgery

const P1 = 0x9e3779b1;
const P2 = 0x85ebca77;
const P3 = 0xc2b2ae3d;
const P4 = 0x27d4eb2f;
const P5 = 0x165667b1;

/**
 * One step of one of the four sums.
 * @param {number} sum
 * @param {number} word
 */
function round(sum, word) {
  const x = (sum + Math.imul(word, P2)) | 0;
  return Math.imul((x << 13) | (x >>> 19), P1);
}

/**
 * Rotates 32 bits.
 * @param {number} x
 * @param {number} n  bits to the left
 */
const rotate = (x, n) => (x << n) | (x >>> (32 - n));

/**
 * XXH32 with seed 0, on a little-endian machine.
 * @param {Uint8Array} bytes  at an offset of whole words
 * @returns {number} 0 to 2^32 - 1
 */
export function xxh32(bytes) {
  const n = bytes.length;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, n >> 2);
  let at = 0;
  let h = P5;
  if (n >= 16) {
    let a = (P1 + P2) | 0;
    let b = P2 | 0;
    let c = 0;
    let d = -P1 | 0;
    for (const end = words.length - 3; at < end; at += 4) {
      a = round(a, words[at]);
      b = round(b, words[at + 1]);
      c = round(c, words[at + 2]);
      d = round(d, words[at + 3]);
    }
    h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  }
  h = (h + n) | 0;
  for (; at < words.length; at++) h = Math.imul(rotate((h + Math.imul(words[at], P3)) | 0, 17), P4);
  for (let i = at * 4; i < n; i++) h = Math.imul(rotate((h + Math.imul(bytes[i], P5)) | 0, 11), P1);
  h = Math.imul(h ^ (h >>> 15), P2);
  h = Math.imul(h ^ (h >>> 13), P3);
  return (h ^ (h >>> 16)) >>> 0;
}
