// packed_texts.js - many texts, such as the tokens of a vocabulary, as UTF-8 in one array
//
// A JavaScript string and a row of a Map for each of 32,000 tokens take 100 ms and several MB. Here a text is decoded
// when it is asked for, and a hash table of numbers finds the id of a text.
import { concatenate } from '../bytes/chunks.js';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
/** Decodes each byte to one character. */
const LATIN = new TextDecoder('latin1');
/** Bytes that one call of the decoder reads ahead. */
const DECODE_AHEAD = 1 << 14;

/** A list of texts that does not change. */
export class Texts {
  /**
   * @param {Uint8Array} bytes  valid UTF-8 from each start to its end; what lies between is not read
   * @param {Uint32Array} starts  of each text, in bytes
   * @param {Uint32Array} ends
   */
  constructor(bytes, starts, ends) {
    this.bytes = bytes;
    this.starts = starts;
    this.ends = ends;
  }

  /**
   * @param {string[]} list  without lone surrogates
   */
  static from(list) {
    const encoder = new TextEncoder();
    const parts = list.map((text) => encoder.encode(text));
    const ends = new Uint32Array(list.length);
    let size = 0;
    parts.forEach((part, i) => {
      ends[i] = size += part.length;
    });
    const starts = ends.map((end, i) => end - parts[i].length);
    return new Texts(concatenate(parts, size), starts, ends);
  }

  get length() {
    return this.starts.length;
  }

  /**
   * @param {number} i
   * @returns {string}
   */
  at(i) {
    return utf8.decode(this.bytes.subarray(this.starts[i], this.ends[i]));
  }

  /** All texts. One call of the decoder for each would take most of the time: texts of ASCII are cut from long ones. */
  toArray() {
    const { bytes, starts, ends, length } = this;
    /** @type {string[]} */
    const list = [];
    let text = ''; // one character a byte, decoded from bytes[begin] on
    let begin = 0;
    for (let i = 0; i < length; i++) {
      const from = starts[i];
      const to = ends[i];
      if (from < begin || to > begin + text.length)
        text = LATIN.decode(bytes.subarray((begin = from), Math.max(to, from + DECODE_AHEAD)));
      list.push(isAscii(bytes, from, to) ? text.slice(from - begin, to - begin) : this.at(i));
    }
    return list;
  }
}

/**
 * Whether bytes[from..to) are ASCII.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 */
function isAscii(bytes, from, to) {
  for (let i = from; i < to; i++) if (bytes[i] > 127) return false;
  return true;
}

/**
 * The tokens of a vocabulary: id by text and text by id. When two tokens have the same text, the second gets the text
 * "[token 123]". The library of tokenizers calls `get` and `has` like those of its Map.
 */
export class TokenTexts {
  #texts;
  /** Bytes of #texts, and after them those of tokens that got another text. */
  #bytes;
  #used;
  /** Open addressing: 1 + id of the token in each slot; 0: none. @type {Int32Array} */
  #slots;
  /** Differs in each table: no file can be made whose tokens all collide. */
  #seed = (Math.random() * 2 ** 32) | 0;
  /** @type {(string | undefined)[]} the texts that were asked for */
  #decoded;
  /** Bytes of the text that is looked up. */
  #wanted = new Uint8Array(64);
  #encoder = new TextEncoder();

  /** @param {Texts} texts  owned by this table from now on */
  constructor(texts) {
    this.#texts = texts;
    this.#bytes = texts.bytes;
    this.#used = texts.bytes.length;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * texts.length + 2)));
    this.#decoded = new Array(texts.length);
    for (let id = 0; id < texts.length; id++) {
      const slot = this.#find(this.#bytes, texts.starts[id], texts.ends[id]);
      if (this.#slots[slot]) this.#rename(id);
      else this.#slots[slot] = id + 1;
    }
  }

  get size() {
    return this.#texts.length;
  }

  /**
   * @param {number} id
   * @returns {string | undefined} undefined without such a token
   */
  text(id) {
    const known = this.#decoded[id];
    if (known !== undefined || !(id >= 0 && id < this.size)) return known;
    const { starts, ends } = this.#texts;
    return (this.#decoded[id] = utf8.decode(this.#bytes.subarray(starts[id], ends[id])));
  }

  /**
   * @param {string} text
   * @returns {number | undefined} its id; undefined without such a token
   */
  get(text) {
    if (3 * text.length > this.#wanted.length) this.#wanted = new Uint8Array(6 * text.length);
    const { written } = this.#encoder.encodeInto(text, this.#wanted);
    const slot = this.#find(this.#wanted, 0, written);
    const id = this.#slots[slot] - 1;
    return id >= 0 && this.text(id) === text ? id : undefined; // a lone surrogate was encoded as U+FFFD
  }

  /** @param {string} text */
  has(text) {
    return this.get(text) !== undefined;
  }

  /** All texts, by id. */
  toArray() {
    const { starts, ends } = this.#texts;
    return new Texts(this.#bytes, starts, ends).toArray();
  }

  /**
   * The slot of a text, or the empty slot where it belongs.
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   * @returns {number}
   */
  #find(bytes, from, to) {
    let hash = this.#seed; // FNV-1a
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
    hash ^= hash >>> 15;
    const slots = this.#slots;
    const own = this.#bytes;
    const { starts, ends } = this.#texts;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      if (!slots[slot]) return slot;
      const id = slots[slot] - 1;
      const start = starts[id];
      if (ends[id] - start !== to - from) continue;
      let i = 0;
      while (from + i < to && own[start + i] === bytes[from + i]) i++;
      if (from + i === to) return slot;
    }
  }

  /**
   * Give another text to a token whose text an earlier token has.
   * @param {number} id
   */
  #rename(id) {
    let text = `[token ${id}]`;
    while (this.has(text)) text += ' ';
    const added = this.#encoder.encode(text);
    if (this.#used + added.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * (this.#used + added.length));
      larger.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = larger;
    }
    this.#bytes.set(added, this.#used);
    const { starts, ends } = this.#texts;
    starts[id] = this.#used;
    ends[id] = this.#used += added.length;
    this.#slots[this.#find(this.#bytes, starts[id], ends[id])] = id + 1;
  }
}
