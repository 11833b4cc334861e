// write_zip.js - a zip archive of stored entries, as numpy.load reads .npz
import { fail } from '../../base/errors.js';
import { concatenate } from './chunks.js';

/** CRC-32 of each byte: the polynomial of ISO 3309, bits reversed. */
const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let crc = -1;
  for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Names are UTF-8. */
const UTF_8 = 0x800;
/** 1 January 1980: the same tensors give the same bytes. */
const DATE = 0x21;

/**
 * A head of this many bytes: numbers of 2 bytes, or of 4 where n is 4, one after the other.
 * @param {number} length
 * @param {[n: 2 | 4, value: number][]} fields
 */
function head(length, fields) {
  const view = new DataView(new ArrayBuffer(length));
  let at = 0;
  for (const [n, value] of fields) {
    if (n === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += n;
  }
  return new Uint8Array(view.buffer);
}

/**
 * @param {[name: string, bytes: Uint8Array][]} entries
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function zip(entries) {
  /** @type {Uint8Array[]} */
  const files = [];
  /** @type {Uint8Array[]} */
  const directory = [];
  let at = 0;
  for (const [name, bytes] of entries) {
    const path = new TextEncoder().encode(name);
    /** @type {[2 | 4, number][]} */
    const about = [
      // version, flags, method, time and date
      ...[20, UTF_8, 0, 0, DATE].map((value) => /** @type {[2, number]} */ ([2, value])),
      ...[crc32(bytes), bytes.length, bytes.length].map((value) => /** @type {[4, number]} */ ([4, value])),
      ...[path.length, 0].map((value) => /** @type {[2, number]} */ ([2, value])),
    ];
    files.push(head(30, [[4, 0x04034b50], ...about]), path, bytes);
    // what follows them: no comment, disk, attributes; the offset
    directory.push(head(46, [[4, 0x02014b50], [2, 20], ...about, [2, 0], [4, 0], [4, 0], [4, at]]), path);
    at += 30 + path.length + bytes.length;
  }
  const size = directory.reduce((n, { length }) => n + length, 0);
  if (at + size > 0xffffffff) fail('unsupported', `the archive would have ${at + size} bytes, expected less than 2^32`);
  const end = head(22, [
    [4, 0x06054b50],
    [4, 0],
    [2, entries.length],
    [2, entries.length],
    [4, size],
    [4, at],
  ]);
  return concatenate([...files, ...directory, end], at + size + end.length);
}
