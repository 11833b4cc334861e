// packed_texts.js - many texts, such as the tokens of a vocabulary, as UTF-8 in one array
//
// A JavaScript string and a row of a Map for each of 32,000 tokens take 100 ms and several MB. Here a text is decoded
// when it is asked for, and a hash table of numbers finds the id of a text.

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
/** Decodes each byte to one character. */
const LATIN = new TextDecoder('latin1');
/** Bytes that one call of the decoder reads ahead. */
const DECODE_AHEAD = 1 << 14;

const encoder = new TextEncoder();

/**
 * Write the UTF-8 of a text. Texts of a few characters take a tenth of the time of TextEncoder.
 * @param {string} text
 * @param {Uint8Array} bytes  with room for three bytes for each unit
 * @param {number} at
 * @returns {number} where it ends
 */
export function writeUtf8(text, bytes, at) {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes[at++] = unit;
    else if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >> 6);
      bytes[at++] = 0x80 | (unit & 63);
    } else if (unit < 0xd800 || unit > 0xdfff) {
      bytes[at++] = 0xe0 | (unit >> 12);
      bytes[at++] = 0x80 | ((unit >> 6) & 63);
      bytes[at++] = 0x80 | (unit & 63);
    } else return at + encoder.encodeInto(text.slice(i), bytes.subarray(at)).written;
  }
  return at;
}

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
    const most = list.reduce((size, text) => size + 3 * text.length, 0);
    const bytes = new Uint8Array(most);
    const [starts, ends] = [new Uint32Array(list.length), new Uint32Array(list.length)];
    let at = 0;
    for (let i = 0; i < list.length; i++) {
      starts[i] = at;
      ends[i] = at = writeUtf8(list[i], bytes, at);
    }
    return new Texts(bytes.slice(0, at), starts, ends);
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

/** The start of an id that no token has. */
export const HOLE = 0xffffffff;

/** The places of texts that come in any order of their ids. */
export class IdTexts {
  #starts = new Uint32Array(1 << 10).fill(HOLE);
  #ends = new Uint32Array(1 << 10);
  #size = 0;

  /**
   * @param {number} id
   * @param {number} start
   * @param {number} end
   * @returns {boolean} false: the id has a text already
   */
  add(id, start, end) {
    if (id >= this.#starts.length) {
      this.#starts = resized(this.#starts, 2 * id, HOLE);
      this.#ends = resized(this.#ends, 2 * id, 0);
    }
    if (this.#starts[id] !== HOLE) return false;
    this.#starts[id] = start;
    this.#ends[id] = end;
    if (id >= this.#size) this.#size = id + 1;
    return true;
  }

  /** @param {Uint8Array} bytes @returns {TokenTexts} */
  tokens(bytes) {
    const [starts, ends] = [this.#starts.subarray(0, this.#size), this.#ends.subarray(0, this.#size)];
    return new TokenTexts(new Texts(bytes, starts, ends), true);
  }
}

/**
 * @param {Uint32Array<ArrayBuffer>} list
 * @param {number} size
 * @param {number} filler
 */
function resized(list, size, filler) {
  const larger = new Uint32Array(size).fill(filler, list.length);
  larger.set(list);
  return larger;
}

/**
 * The tokens of a vocabulary: id by text and text by id. When two tokens have the same text, the second gets the text
 * "[token 123]".
 */
export class TokenTexts {
  #texts;
  /** Bytes of #texts, and after them those of tokens that got another text. */
  #bytes;
  #used;
  /** Open addressing: 1 + id of the token in each slot, 0: none, and its hash. @type {Int32Array} */
  #slots;
  /** Differs in each table: no file can be made whose tokens all collide. */
  #seed = (Math.random() * 2 ** 32) | 0;
  /** @type {(string | undefined)[]} the texts that were asked for */
  #decoded;
  /** Tokens, without the ids that have none. */
  count = 0;
  /** Whether two tokens have the same text. */
  repeated = false;
  /** Bytes of texts that are looked up, filled by `write`. */
  scratch = new Uint8Array(256);

  /**
   * @param {Texts} texts  owned by this table from now on; the start of an id without a token is HOLE
   * @param {boolean} [last]  of tokens with the same text, the last one is found, and all keep their text
   */
  constructor(texts, last = false) {
    this.#texts = texts;
    this.#bytes = texts.bytes;
    this.#used = texts.bytes.length;
    this.#slots = new Int32Array(2 * 2 ** Math.ceil(Math.log2(2 * texts.length + 2)));
    this.#decoded = new Array(texts.length);
    for (let id = 0; id < texts.length; id++) {
      if (texts.starts[id] === HOLE) continue;
      this.count++;
      const slot = this.#slot(this.#bytes, texts.starts[id], texts.ends[id]);
      if (this.#slots[slot]) this.repeated = true;
      if (this.#slots[slot] && !last) this.#rename(id);
      else this.#slots[slot] = id + 1;
    }
  }

  /** One more than the largest id. */
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
    if (starts[id] === HOLE) return undefined;
    return (this.#decoded[id] = utf8.decode(this.#bytes.subarray(starts[id], ends[id])));
  }

  /**
   * @param {string} text
   * @returns {number | undefined} its id; undefined without such a token
   */
  get(text) {
    const end = this.write(text, 0);
    const id = this.find(this.scratch, 0, end);
    return id >= 0 && this.text(id) === text ? id : undefined; // a lone surrogate was encoded as U+FFFD
  }

  /** @param {string} text */
  has(text) {
    return this.get(text) !== undefined;
  }

  /**
   * Write the UTF-8 of a text into `scratch`, which may become another array.
   * @param {string} text
   * @param {number} at  its place in scratch
   * @returns {number} where it ends
   */
  write(text, at) {
    const n = text.length;
    if (at + 3 * n > this.scratch.length) {
      const larger = new Uint8Array(2 * (at + 3 * n));
      larger.set(this.scratch);
      this.scratch = larger;
    }
    return writeUtf8(text, this.scratch, at);
  }

  /**
   * The id of the token bytes[from..to); -1 without such a token.
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   */
  find(bytes, from, to) {
    return this.#slots[this.#slot(bytes, from, to)] - 1;
  }

  /**
   * Copy the bytes of a token.
   * @param {number} id
   * @param {Uint8Array} into
   * @param {number} at
   * @returns {number} where they end
   */
  copy(id, into, at) {
    const { starts, ends } = this.#texts;
    const own = this.#bytes;
    for (let i = starts[id]; i < ends[id]; i++) into[at++] = own[i];
    return at;
  }

  /** Whether no token has an id. @param {number} id */
  isHole(id) {
    return this.#texts.starts[id] === HOLE;
  }

  /**
   * The length of a token in bytes.
   * @param {number} id
   */
  sizeOf(id) {
    return this.#texts.ends[id] - this.#texts.starts[id];
  }

  /** The length of all tokens in bytes. */
  get bytes() {
    return this.#used;
  }

  /** The texts as this table has them; the start of an id without a token is HOLE. */
  get packed() {
    const { starts, ends } = this.#texts;
    return new Texts(this.#bytes, starts, ends);
  }

  /** All texts, by id. */
  toArray() {
    return this.packed.toArray();
  }

  /**
   * The slot of a text, or the empty slot where it belongs.
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   * @returns {number}
   */
  #slot(bytes, from, to) {
    let hash = this.#seed; // FNV-1a
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
    hash ^= hash >>> 15;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = (2 * hash) & mask; ; slot = (slot + 2) & mask) {
      if (!slots[slot]) {
        slots[slot + 1] = hash;
        return slot;
      }
      if (slots[slot + 1] === hash && this.is(slots[slot] - 1, bytes, from, to)) return slot;
    }
  }

  /**
   * Whether a token is bytes[from..to).
   * @param {number} id
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   */
  is(id, bytes, from, to) {
    const { starts, ends } = this.#texts;
    const start = starts[id];
    if (ends[id] - start !== to - from) return false;
    const own = this.#bytes;
    let i = from;
    while (i < to && own[start - from + i] === bytes[i]) i++;
    return i === to;
  }

  /**
   * Give another text to a token whose text an earlier token has.
   * @param {number} id
   */
  #rename(id) {
    let text = `[token ${id}]`;
    while (this.has(text)) text += ' ';
    const added = encoder.encode(text);
    if (this.#used + added.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * (this.#used + added.length));
      larger.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = larger;
    }
    this.#bytes.set(added, this.#used);
    const { starts, ends } = this.#texts;
    starts[id] = this.#used;
    ends[id] = this.#used += added.length;
    this.#slots[this.#slot(this.#bytes, starts[id], ends[id])] = id + 1;
  }
}

/**
 * The tokens of a vocabulary that scan_tokenizer.js has read; null for what JSON.parse has.
 * @param {any} vocab
 * @returns {TokenTexts | null}
 */
export const tokenTextsOf = (vocab) => (vocab?.texts instanceof TokenTexts ? vocab.texts : null);
