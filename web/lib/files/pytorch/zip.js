// zip.js - reads a zip archive of stored entries once from front to back
//
// The writer may give an entry's size behind its bytes, so the caller says how long it was; the central directory at
// the end is compared with what was read.
import { fail, show } from '../../base/errors.js';

/** @import { ByteReader } from '../bytes/chunks.js' */

/** Longest of the small records, such as byteorder and version. */
const MAX_RECORD = 1 << 12;

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const DESCRIPTOR = 0x08074b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;

/**
 * The head of an entry.
 * @typedef {{name: string, at: number, size: number | null}} Local  at: of the head in the file; size: null where it
 *   stands behind the entry
 */

/** Reads the entries of a zip archive one after the other. */
export class Archive {
  /** @param {ByteReader} r */
  constructor(r) {
    this.r = r;
    /** @type {Map<string, {at: number, size: number}>} entries that were read, by name */
    this.seen = new Map();
    /** Whether the size of the last entry stands behind it. */
    this.behind = false;
    /** What follows the last entry. */
    this.signature = 0;
  }

  /**
   * Throw the error for a malformed archive.
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    return fail('bad-header', `${this.r.name}: ${why}`);
  }

  /**
   * The head of the next entry; null at the central directory.
   * @returns {Promise<Local | null>}
   */
  async next() {
    const { r } = this;
    const at = r.pos;
    const signature = (await this.r.view(4, 'the head of an entry')).getUint32(0, true);
    if (signature === CENTRAL || signature === END || signature === END_64) {
      this.signature = signature;
      return null;
    }
    if (signature !== LOCAL) this.refuse(`byte ${at} begins neither an entry nor the directory of the archive`);
    const v = await this.r.view(26, 'the head of an entry');
    const [flags, method] = [v.getUint16(2, true), v.getUint16(4, true)];
    const [packed, size] = [v.getUint32(14, true), v.getUint32(18, true)];
    const [nameBytes, extraBytes] = [v.getUint16(22, true), v.getUint16(24, true)];
    const name = new TextDecoder().decode(await r.take(nameBytes, 'the name of an entry'));
    await r.skip(extraBytes, 'the head of an entry');
    if (flags & 1) fail('unsupported', `${r.name}: ${show(name)} is encrypted`);
    if (method !== 0)
      fail('unsupported', `${r.name}: ${show(name)} is compressed; torch.save stores entries as they are`);
    if (this.seen.has(name)) this.refuse(`the archive has ${show(name)} twice`);
    const behind = (flags & 8) !== 0 || size === 0xffffffff || packed === 0xffffffff;
    this.behind = (flags & 8) !== 0;
    return { name, at, size: behind ? null : size };
  }

  /**
   * The end of an entry whose bytes were consumed: compares its size with the one behind it.
   * @param {Local} local
   * @param {number} size  in bytes
   */
  async end(local, size) {
    this.seen.set(local.name, { at: local.at, size });
    if (!this.behind) return;
    const b = await this.r.peek(28);
    const v = new DataView(b.buffer, b.byteOffset, b.length);
    if (b.length < 16 || v.getUint32(0, true) !== DESCRIPTOR) {
      if (size === 0) return; // nothing stands behind an empty entry
      this.refuse(`${show(local.name)} has not the ${size} bytes that the pickle gives it`);
    }
    const length = descriptorBytes(v, size);
    if (!length) this.refuse(`the size behind ${show(local.name)} is not the ${size} bytes that it has`);
    await this.r.skip(length);
  }

  /**
   * The bytes of a small entry.
   * @param {Local} local
   */
  async record(local) {
    const { r } = this;
    let { size } = local;
    if (size === null) {
      const b = await r.peek(MAX_RECORD + 24);
      const v = new DataView(b.buffer, b.byteOffset, b.length);
      for (size = 0; size + 16 <= b.length; size++)
        if (
          v.getUint32(size, true) === DESCRIPTOR &&
          descriptorBytes(new DataView(b.buffer, b.byteOffset + size, b.length - size), size)
        )
          break;
    }
    if (size > MAX_RECORD) this.refuse(`${show(local.name)} is longer than ${MAX_RECORD} bytes`);
    const bytes = (await r.take(size, local.name)).slice();
    await this.end(local, size);
    return bytes;
  }

  /** Compare the central directory with the entries that were read. The file ends behind it. */
  async directory() {
    const { r } = this;
    const left = new Map(this.seen);
    let { signature } = this;
    for (; signature === CENTRAL; signature = (await this.r.view(4, 'the directory')).getUint32(0, true)) {
      const v = await this.r.view(42, 'the directory');
      const name = new TextDecoder().decode(await r.take(v.getUint16(24, true), 'the directory'));
      const extra = await this.r.view(v.getUint16(26, true), 'the directory');
      const size = [v.getUint32(20, true), v.getUint32(16, true)];
      const at = v.getUint32(38, true);
      const wide = wideFields(extra);
      await r.skip(v.getUint16(28, true), 'the directory');
      const entry = left.get(name);
      const same = (/** @type {number} */ n, /** @type {number} */ is) =>
        n === 0xffffffff ? wide.includes(is) : n === is;
      if (!entry || !same(size[0], entry.size) || !same(size[1], entry.size) || !same(at, entry.at))
        this.refuse(`the directory lists ${show(name)} with another size or place than it has`);
      left.delete(name);
    }
    const [missing] = left.keys();
    if (missing !== undefined) this.refuse(`the directory does not list ${show(missing)}`);
    if (signature === END_64) {
      const size = (await this.r.view(8, 'the end of the directory')).getBigUint64(0, true);
      if (size > 1000n) this.refuse('the end of the directory is malformed');
      await r.skip(Number(size), 'the end of the directory');
      signature = (await this.r.view(4, 'the end of the directory')).getUint32(0, true);
      if (signature !== LOCATOR_64) this.refuse('the end of the directory is malformed');
      await r.skip(16, 'the end of the directory');
      signature = (await this.r.view(4, 'the end of the directory')).getUint32(0, true);
    }
    if (signature !== END) this.refuse('the end of the directory is malformed');
    const comment = (await this.r.view(18, 'the end of the directory')).getUint16(16, true);
    await r.skip(comment, 'the comment of the archive');
  }
}

/**
 * Bytes of the descriptor behind an entry; 0 where its sizes are not those of the entry.
 * @param {DataView} v  at the descriptor
 * @param {number} size  of the entry
 */
function descriptorBytes(v, size) {
  if (v.byteLength >= 24 && [8, 16].every((at) => v.getBigUint64(at, true) === BigInt(size))) return 24;
  return v.byteLength >= 16 && [8, 12].every((at) => v.getUint32(at, true) === size) ? 16 : 0;
}

/**
 * The numbers in the zip64 field of an entry in the directory.
 * @param {DataView} extra
 * @returns {number[]}
 */
function wideFields(extra) {
  const numbers = [];
  for (let at = 0; at + 4 <= extra.byteLength;) {
    const [id, size] = [extra.getUint16(at, true), extra.getUint16(at + 2, true)];
    for (let i = at + 4; id === 1 && i + 8 <= Math.min(at + 4 + size, extra.byteLength); i += 8)
      numbers.push(Number(extra.getBigUint64(i, true)));
    at += 4 + size;
  }
  return numbers;
}
