// scan_tokenizer.js - reads a tokenizer.json without a string for each token and for each merge
//
// Gemma 3's file of 33 MB has 1.3 million strings, which take most of the time of JSON.parse and of what follows. Here
// the vocabulary and the merges of a BPE go from the bytes of the file into typed arrays, and JSON.parse reads what is
// left. A file in which anything is unusual is left to JSON.parse and to the checks of its value.
import { concatenate } from '../bytes/chunks.js';
import { parseJson } from '../bytes/read_json.js';
import { IdTexts, TokenTexts } from './packed_texts.js';
import { MAX_ID } from './tokenizer_json.js';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;
/** The bytes of \b, \f, \n, \r, \t and of characters that stand for themselves, by the letter behind the backslash. */
const ESCAPES = new Map(Array.from('bfnrt"\\/', (letter, i) => [letter.charCodeAt(0), '\b\f\n\r\t"\\/'.charCodeAt(i)]));
/** The longest merge, in bytes. */
const LONGEST = 1 << 16;
/** Bytes that are checked at once. */
const CHUNK = 1 << 16;
const NULL = new TextEncoder().encode('null');

/** Thrown where a file is not what this reader takes. */
const UNUSUAL = new Error('unusual');
/** @returns {never} */
const unusual = () => {
  throw UNUSUAL;
};

/** The vocabulary of a BPE in place of the object in a tokenizer.json. */
export class ScannedVocabulary {
  /** @param {TokenTexts} texts */
  constructor(texts) {
    this.texts = texts;
  }

  toJSON() {
    const { texts } = this;
    return Object.fromEntries(
      Array.from({ length: texts.size }, (_, id) => [texts.text(id), id]).filter(([text]) => text !== undefined),
    );
  }
}

/** The merges of a BPE as ids, in place of the list in a tokenizer.json. Their rank is their place. */
export class ScannedMerges {
  /**
   * @param {TokenTexts} texts
   * @param {Int32Array} left
   * @param {Int32Array} right
   * @param {Int32Array} made
   */
  constructor(texts, left, right, made) {
    this.texts = texts;
    this.left = left;
    this.right = right;
    this.made = made;
  }

  toJSON() {
    return Array.from(this.left, (a, i) => [this.texts.text(a), this.texts.text(this.right[i])]);
  }
}

/** Reads values of JSON from the bytes of a file. */
class Scanner {
  at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }

  /** The next byte that is not white space, which stays. */
  peek() {
    const { bytes } = this;
    for (;;) {
      const byte = bytes[this.at];
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.at++;
    }
  }

  /** @param {number} byte  which must be next */
  take(byte) {
    if (this.peek() !== byte) unusual();
    this.at++;
  }

  /**
   * Copy a string as UTF-8.
   * @param {Uint8Array} into
   * @param {number} to
   * @returns {number} where it ends there
   */
  string(into, to) {
    this.take(QUOTE);
    const { bytes } = this;
    let { at } = this;
    for (;;) {
      const byte = bytes[at++];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.at = at;
        to = this.#escape(into, to);
        at = this.at;
      } else if (byte >= SPACE) into[to++] = byte;
      else unusual();
    }
    this.at = at;
    return to <= into.length ? to : unusual();
  }

  /** @param {Uint8Array} into @param {number} to */
  #escape(into, to) {
    const letter = this.bytes[this.at++];
    const plain = ESCAPES.get(letter);
    if (plain !== undefined) {
      into[to++] = plain;
      return to;
    }
    if (letter !== 0x75) unusual();
    let code = this.#unit();
    if (code >= 0xd800 && code < 0xe000) {
      const isPair = code < 0xdc00 && this.bytes[this.at++] === BACKSLASH && this.bytes[this.at++] === 0x75;
      const low = isPair ? this.#unit() : 0;
      if (low < 0xdc00 || low > 0xdfff) unusual();
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    for (const byte of new TextEncoder().encode(String.fromCodePoint(code))) into[to++] = byte;
    return to;
  }

  /** The four digits of \u. */
  #unit() {
    const digits = String.fromCharCode(...this.bytes.subarray(this.at, (this.at += 4)));
    return /^[\da-f]{4}$/i.test(digits) ? parseInt(digits, 16) : unusual();
  }

  /** A whole number from 0 on. */
  id() {
    this.peek();
    const { bytes, at } = this;
    let value = 0;
    while (bytes[this.at] >= 0x30 && bytes[this.at] <= 0x39 && value < MAX_ID)
      value = 10 * value + bytes[this.at++] - 0x30;
    const digits = this.at - at;
    if (!digits || value >= MAX_ID || (digits > 1 && bytes[at] === 0x30)) unusual();
    return value;
  }

  /** Reads what follows an entry of a list or object. Returns whether another entry follows. @param {number} close */
  goesOn(close) {
    const byte = this.peek();
    this.at++;
    return byte === COMMA || (byte !== close && unusual());
  }

  /** Pass a value, up to the comma or the bracket behind it. */
  skip() {
    const { bytes } = this;
    let { at } = this;
    for (let depth = 0; ; at++) {
      const byte = bytes[at];
      const lower = byte | 0x20; // [ and ] become { and }
      if (byte === undefined) unusual();
      if (!depth && (byte === COMMA || lower === CLOSE_OBJECT)) break;
      if (byte === QUOTE) {
        while (bytes[++at] !== QUOTE) {
          if (bytes[at] === BACKSLASH) at++;
          else if (bytes[at] === undefined) unusual();
        }
      } else if (lower === OPEN_OBJECT) depth++;
      else if (lower === CLOSE_OBJECT) depth--;
    }
    this.at = at;
  }

  /**
   * Where the values of an object begin and end.
   * @param {Record<string, () => void>} readers  of the values that are not passed
   * @returns {Map<string, [number, number]>}
   */
  members(readers) {
    const found = new Map();
    const name = new Uint8Array(64);
    this.take(OPEN_OBJECT);
    do {
      const key = String.fromCharCode(...name.subarray(0, this.string(name, 0)));
      this.take(COLON);
      this.peek();
      const from = this.at;
      if (found.has(key)) unusual();
      if (Object.hasOwn(readers, key)) readers[key]();
      else this.skip();
      found.set(key, [from, this.at]);
    } while (this.goesOn(CLOSE_OBJECT));
    return found;
  }

  /** @returns {TokenTexts} of an object of ids by token */
  vocabulary() {
    const bytes = new Uint8Array(this.bytes.length - this.at);
    const texts = new IdTexts();
    let to = 0;
    this.take(OPEN_OBJECT);
    do {
      const from = to;
      to = this.string(bytes, to);
      this.take(COLON);
      if (!texts.add(this.id(), from, to)) unusual();
    } while (this.goesOn(CLOSE_OBJECT));
    const found = texts.tokens(bytes.slice(0, to));
    return found.repeated ? unusual() : found;
  }

  /**
   * The merges of a list of pairs [a, b] or of texts "a b".
   * @param {TokenTexts} texts
   */
  merges(texts) {
    let [left, right, made] = [new Int32Array(1 << 16), new Int32Array(1 << 16), new Int32Array(1 << 16)];
    let n = 0;
    let last = -1;
    const merge = new Uint8Array(LONGEST);
    this.take(OPEN_LIST);
    do {
      const end = this.#merge(merge);
      const middle = this.#middle;
      if (n === left.length) [left, right, made] = [left, right, made].map(doubled);
      left[n] = texts.find(merge, 0, middle);
      right[n] = texts.find(merge, middle, end);
      // most merges make the same token as the one before or the next one
      if (!texts.is(last, merge, 0, end) && !texts.is(++last, merge, 0, end)) last = texts.find(merge, 0, end);
      if (left[n] < 0 || right[n] < 0 || last < 0) unusual();
      made[n++] = last;
    } while (this.goesOn(CLOSE_LIST));
    return new ScannedMerges(texts, left.slice(0, n), right.slice(0, n), made.slice(0, n));
  }

  /** The index at which the second token of the last merge begins. */
  #middle = 0;

  /** Copy both tokens of a merge. @param {Uint8Array} into @returns {number} where they end */
  #merge(into) {
    if (this.peek() === OPEN_LIST) {
      this.at++;
      this.#middle = this.string(into, 0);
      this.take(COMMA);
      const end = this.string(into, this.#middle);
      this.take(CLOSE_LIST);
      return end;
    }
    const end = this.string(into, 0) - 1;
    let middle = 0;
    while (middle <= end && into[middle] !== SPACE) middle++;
    if (middle > end) unusual();
    for (let i = middle; i < end; i++) if ((into[i] = into[i + 1]) === SPACE) unusual();
    this.#middle = middle;
    return end;
  }
}

/** @param {Int32Array} list @returns {Int32Array<ArrayBuffer>} */
function doubled(list) {
  const larger = new Int32Array(2 * list.length);
  larger.set(list);
  return larger;
}

/**
 * The bytes of a file with null in place of two values.
 * @param {Uint8Array} bytes
 * @param {[number, number][]} values  where they begin and end
 */
function without(bytes, values) {
  const [[a, b], [c, d]] = values.sort((one, other) => one[0] - other[0]);
  const parts = [bytes.subarray(0, a), NULL, bytes.subarray(b, c), NULL, bytes.subarray(d)];
  return concatenate(
    parts,
    parts.reduce((size, part) => size + part.length, 0),
  );
}

/**
 * Throw where bytes are not UTF-8.
 * @param {Uint8Array} bytes
 */
function checkUtf8(bytes) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  for (let at = 0; at < bytes.length; at += CHUNK)
    utf8.decode(bytes.subarray(at, at + CHUNK), { stream: at + CHUNK < bytes.length });
}

/**
 * The content of a file, and what JSON.parse has read of it.
 * @param {Uint8Array} bytes
 * @param {string} name
 */
function scanned(bytes, name) {
  const scanner = new Scanner(bytes);
  let texts = /** @type {TokenTexts | undefined} */ (undefined);
  let inside = /** @type {Map<string, [number, number]> | undefined} */ (undefined);
  const vocab = () => (texts = scanner.vocabulary());
  scanner.members({ model: () => (inside = scanner.members({ vocab })) });
  const [vocabulary, merges] = [inside?.get('vocab'), inside?.get('merges')];
  if (!texts || !vocabulary || !merges) return unusual();
  checkUtf8(bytes.subarray(...vocabulary)); // the tokens of merges are among those of the vocabulary
  const rest = without(bytes, [vocabulary, merges]);
  const json = parseJson(rest, name);
  const { type = 'BPE', continuing_subword_prefix: prefix } = json.model; // older files have no type
  if (type !== 'BPE' || prefix) unusual();
  scanner.at = merges[0];
  json.model.merges = scanner.merges(texts);
  json.model.vocab = new ScannedVocabulary(texts);
  scanner.peek();
  return scanner.at === merges[1] ? { json, rest } : unusual();
}

/**
 * The content of a tokenizer.json.
 * @param {Uint8Array} bytes
 * @param {string} name  of the file, for messages
 * @param {(rest: Uint8Array, merges: ScannedMerges) => void} [onScanned]  called where JSON.parse did not read the
 *   whole file; rest: what it has read
 * @returns {any}
 */
export function scanTokenizer(bytes, name, onScanned) {
  let found;
  try {
    found = scanned(bytes, name);
  } catch {
    return parseJson(bytes, name); // which says what is wrong, where anything is
  }
  onScanned?.(found.rest, found.json.model.merges);
  return found.json;
}
