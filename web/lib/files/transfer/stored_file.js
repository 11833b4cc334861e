// stored_file.js - one file in a store: pieces, and records that list them
//
// A piece is named by its place, length and checksum, and compared with its name when it is read. Two records of a file
// can exist: "complete", of a file that a reader has accepted, and "partial", of a download that was cut, with the
// validator with which its rest is requested. A third one, "packed", has another form of a complete file, whose pieces
// have the places behind those of the file. A record is written after its pieces.
import { fail } from '../../base/errors.js';
import { concatenate } from '../bytes/chunks.js';
import { xxh32 } from './xxh32.js';

/** @import { Validator } from './retry_and_resume.js' */
/** @import { Store } from './download_store.js' */

/** Bytes of a piece: what a download loses when its process ends. */
const PIECE_BYTES = 1 << 22;

/** The records of a file. */
const KINDS = /** @type {const} */ (['complete', 'partial']);
/** Names under which a store has JSON with the address of a file. */
export const RECORDS = [...KINDS, 'packed', 'absent'];

/**
 * What is known of a stored file.
 * @typedef {object} FileRecord
 * @property {string[]} pieces  their names, in the order of the file
 * @property {number | null} total  bytes of the whole file; null where it is unknown
 * @property {Validator | null} validator  null: the rest of a partial file cannot be requested
 * @property {boolean} crossOrigin  whether only exposed headers of the server's answers can be read
 * @property {string} [sha256]  of a complete file, where it was computed
 */
/**
 * Another form of a complete file.
 * @typedef {{pieces: string[], of: string[]}} PackedRecord  of: the pieces of the file
 */

/**
 * The name of a piece.
 * @param {number} start  of its bytes in the file
 * @param {Uint8Array} bytes
 */
const pieceName = (start, bytes) => `${start}-${bytes.length}-${xxh32(bytes).toString(16)}`;

/**
 * The bytes of the pieces of a record.
 * @param {{pieces: string[]}} record
 */
export const storedBytes = ({ pieces }) => pieces.reduce((n, name) => n + Number(name.split('-')[1]), 0);

/** One file of a store, by its address. A failed read finds nothing; a failed write or removal rejects. */
export class StoredFile {
  /**
   * @param {Store} store
   * @param {string} url
   */
  constructor(store, url) {
    this.store = store;
    this.url = url;
  }

  /**
   * @template {typeof KINDS[number] | 'packed'} Kind
   * @param {Kind} kind
   * @returns {Promise<(Kind extends 'packed' ? PackedRecord : FileRecord) | null>}
   */
  async record(kind) {
    const value = await this.#json(kind);
    const pieces = value?.pieces;
    return Array.isArray(pieces) && pieces.every((name) => /^\d+-\d+-[0-9a-f]+$/.test(name)) ? value : null;
  }

  /** The status with which the server said that there is no such file; null where it did not. */
  async absent() {
    return (await this.#json('absent'))?.status ?? null;
  }

  /** @param {string} name */
  async #json(name) {
    try {
      const bytes = await this.store.get(this.url, name);
      return bytes && JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return null;
    }
  }

  /**
   * Store a record; that of a complete file by putComplete.
   * @param {'complete' | 'partial' | 'packed' | 'absent'} name  absent: the status of the server's answer
   * @param {FileRecord | PackedRecord | {status: number}} value
   */
  put(name, value) {
    const text = JSON.stringify({ ...value, url: this.url });
    return this.store.put(this.url, name, new TextEncoder().encode(text));
  }

  /**
   * The pieces of a record, one after the other. When one is missing or damaged, removes the records that list it and
   * throws `bad-file`.
   * @param {{pieces: string[]}} record
   * @param {number} [start]  of the first one
   */
  async *pieces({ pieces }, start = 0) {
    for (const name of pieces) {
      const bytes = await this.store.get(this.url, name).catch(() => null);
      if (!bytes || pieceName(start, bytes) !== name) {
        for (const kind of KINDS) if ((await this.record(kind))?.pieces.includes(name)) await this.remove(kind);
        fail('bad-file', `${this.url}: its copy in the cache is damaged`);
      }
      start += bytes.length;
      yield bytes;
    }
  }

  /**
   * Store a piece.
   * @param {number} start  of its bytes in the file
   * @param {Uint8Array<ArrayBuffer>} bytes
   * @returns {Promise<string>} its name
   */
  async putPiece(start, bytes) {
    const name = pieceName(start, bytes);
    await this.store.put(this.url, name, bytes);
    return name;
  }

  /**
   * Store the record of a complete file; then remove what only earlier records list, and the copy of an earlier
   * version.
   * @param {FileRecord} record  its pieces are stored
   */
  async putComplete(record) {
    const before = await this.record('complete');
    await this.put('complete', record);
    await this.#removePieces(before?.pieces ?? [], record);
    await this.#removePacked();
    await this.remove('partial');
    await this.store.removeEarlier(this.url).catch(() => {});
  }

  /**
   * The other form of the complete file; null where there is none, it is damaged, or it was made of another file.
   * @returns {Promise<Uint8Array<ArrayBuffer> | null>}
   */
  async packed() {
    const [complete, record] = [await this.record('complete'), await this.record('packed')];
    if (!complete || !record || String(record.of) !== String(complete.pieces)) return null;
    const parts = [];
    try {
      for await (const bytes of this.pieces(record, storedBytes(complete))) parts.push(bytes);
    } catch {
      return null;
    }
    return concatenate(parts, storedBytes(record));
  }

  /**
   * Store another form of the complete file, where there is such a file. A failed write stores none.
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  async putPacked(bytes) {
    await this.#removePacked();
    const complete = await this.record('complete');
    if (!complete) return;
    const record = { pieces: /** @type {string[]} */ ([]), of: complete.pieces };
    const start = storedBytes(complete);
    try {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES)
        record.pieces.push(await this.putPiece(start + at, bytes.slice(at, at + PIECE_BYTES)));
      await this.put('packed', record);
    } catch {
      await this.#removePieces(record.pieces, null);
    }
  }

  async #removePacked() {
    const record = await this.record('packed');
    if (!record) return;
    await this.store.remove(this.url, 'packed').catch(() => {});
    await this.#removePieces(record.pieces, null);
  }

  /**
   * Remove a record, and the pieces that the other one does not list. That of the complete file takes its other form
   * with it.
   * @param {typeof KINDS[number]} kind
   * @param {string[]} pieces  further ones to be removed
   */
  async remove(kind, pieces = []) {
    const record = await this.record(kind);
    const other = await this.record(kind === 'partial' ? 'complete' : 'partial');
    await this.store.remove(this.url, kind).catch(() => {});
    if (kind === 'complete') await this.#removePacked();
    await this.#removePieces([...pieces, ...(record?.pieces ?? [])], other);
  }

  /** Remove all that the store has of this file. */
  async removeAll() {
    for (const kind of KINDS) await this.remove(kind);
    await this.store.remove(this.url, 'absent').catch(() => {});
    await this.store.removeEarlier(this.url).catch(() => {});
  }

  /**
   * @param {string[]} pieces
   * @param {{pieces: string[]} | null} others  which stay
   */
  async #removePieces(pieces, others) {
    for (const name of new Set(pieces))
      if (!others?.pieces.includes(name)) await this.store.remove(this.url, name).catch(() => {});
  }
}

/**
 * Writes a file into a store while it arrives; its calls are done one after the other. A failed write (on a full disk,
 * for example) ends the copy and not the download.
 */
export class Copy {
  /** Why a write failed. @type {unknown} */
  failure = null;
  /** Whether all bytes have arrived and are stored. */
  ended = false;
  #file;
  #record;
  /** Bytes in #record. */
  #start;
  /** Bytes that follow, in #buffer. */
  #used = 0;
  /** @type {Uint8Array<ArrayBuffer>} */
  #buffer = new Uint8Array(0);
  /** Whether bytes are still accepted. */
  #open = true;
  /** @type {Promise<unknown>} the calls so far */
  #calls = Promise.resolve();

  /**
   * @param {StoredFile} file
   * @param {FileRecord} record  of the bytes that are stored already; owned by the copy
   */
  constructor(file, record) {
    this.#file = file;
    this.#record = record;
    this.#start = storedBytes(record);
  }

  /** @param {Uint8Array} chunk  the bytes that follow */
  write(chunk) {
    return this.#next(async () => {
      for (let at = 0; at < chunk.length && this.#open;) {
        if (!this.#buffer.length)
          this.#buffer = new Uint8Array(Math.min(PIECE_BYTES, this.#record.total || PIECE_BYTES));
        const part = chunk.subarray(at, at + this.#buffer.length - this.#used);
        this.#buffer.set(part, this.#used);
        this.#used += part.length;
        at += part.length;
        if (this.#used === this.#buffer.length) await this.#flush();
      }
    });
  }

  /**
   * All bytes have arrived.
   * @param {string} [sha256]  of the file
   */
  end(sha256) {
    return this.#next(async () => {
      if (sha256) this.#record.sha256 = sha256;
      await this.#flush();
      this.ended = this.#open;
      this.#open = false;
    });
  }

  /** No more bytes arrive: what has arrived stays where the rest can be requested later. */
  keep() {
    return this.#next(async () => {
      await this.#flush();
      this.#open = false;
      if (!this.#record.validator) await this.#remove();
    });
  }

  /** Remove the copy. */
  drop() {
    return this.#next(() => this.#remove());
  }

  /** The file was accepted: it is complete where all its bytes are stored, and otherwise removed. */
  commit() {
    return this.#next(async () => {
      if (!this.ended) return this.#remove();
      await this.#try(() => this.#file.putComplete({ ...this.#record, total: this.#start }));
    });
  }

  /** @param {() => Promise<void>} call */
  #next(call) {
    return (this.#calls = this.#calls.then(call));
  }

  /** Store the bytes that have arrived since the last piece, and the record of all. */
  async #flush() {
    const bytes = this.#buffer.subarray(0, this.#used);
    if (!bytes.length || !this.#open) return;
    this.#used = 0;
    await this.#try(async () => {
      this.#record.pieces.push(await this.#file.putPiece(this.#start, bytes));
      await this.#file.put('partial', this.#record);
    });
    this.#start += bytes.length;
  }

  async #remove() {
    this.#open = this.ended = false;
    await this.#file.remove('partial', this.#record.pieces);
  }

  /** @param {() => Promise<unknown>} write */
  async #try(write) {
    try {
      await write();
    } catch (error) {
      this.failure = error;
      await this.#remove();
    }
  }
}
