// charsmap.js - the table of a SentencePiece model that says what texts are normalised to
//
// A double array (Aoe 1989, as darts-clone stores it) maps beginnings of texts to places of texts that end with a zero:
// u32 bytes of the array | units of 32 bits | texts.

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * @param {string} text
 * @returns {Uint8Array | null} null: it is not base64
 */
export function bytesOfBase64(text) {
  try {
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
    return bytes;
  } catch {
    return null;
  }
}

/**
 * Characters of one unit that are graphemes on their own before others of this kind, and at the end: ASCII without
 * carriage returns, letters of Latin, Greek, Cyrillic, Hebrew and Arabic, Chinese characters, kana, Hangul.
 */
const ALONE =
  '\\t\\n -~\u00a0-\u00ac\u00ae-\u02ff\u0391-\u0482\u05d0-\u05ea\u0620-\u064a\u0660-\u0669\u2010-\u2027\u3000-\u3029' +
  '\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e';
const PLAIN = new RegExp(`[${ALONE}]+(?=[${ALONE}]|$)`, 'y');
const PLAIN_PAIR = new RegExp(`[${ALONE}]{2}`);
/** What the table does with a character of one unit. */
const [UNSEEN, KEPT, CHANGED] = [0, 1, 2];
/** Graphemes that are remembered, and the most units of one. */
const MOST_GRAPHEMES = 1 << 13;
const LONGEST_GRAPHEME = 32;

export class Charsmap {
  /** @type {Intl.Segmenter | null} */
  #segmenter = null;
  #kinds = new Uint8Array(1 << 16);
  /** What characters and longer graphemes become. @type {Map<string, string>} */
  #known = new Map();

  /**
   * @param {Uint8Array} bytes
   * @param {{refuse: (why: string) => never}} owner
   */
  constructor(bytes, owner) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true);
    if (bytes.length < 4 || size % 4 || size + 4 > bytes.length || size < 4)
      owner.refuse(`precompiled_charsmap has ${bytes.length} bytes, and says that ${size} of them are its table`);
    this.units = new Uint32Array(bytes.slice(4, 4 + size).buffer); // little-endian, as wasm
    this.texts = bytes.subarray(4 + size);
  }

  /**
   * Calls `visit` for each beginning of bytes[from..] that is in the table, short ones first.
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   * @param {(end: number, place: number) => boolean | void} visit  true: no further ones are needed
   */
  #beginnings(bytes, from, to, visit) {
    const { units } = this;
    const offset = (/** @type {number} */ unit) => (unit >>> 10) << ((unit & 512) >>> 6);
    let node = offset(units[0]);
    for (let at = from; at < to && bytes[at]; at++) {
      node ^= bytes[at];
      const unit = units[node];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== bytes[at]) return;
      node ^= offset(unit);
      if (unit & 256 && visit(at + 1, units[node] & 0x7fffffff)) return;
    }
  }

  /** The text at a place. @param {number} place */
  #text(place) {
    const end = this.texts.indexOf(0, place);
    return this.texts.subarray(place, end < 0 ? this.texts.length : end);
  }

  /**
   * What the longest beginning of bytes[from..to) becomes; null: none is in the table.
   * @param {Uint8Array} bytes
   * @param {number} from
   * @param {number} to
   * @returns {{end: number, text: Uint8Array} | null}
   */
  longest(bytes, from, to) {
    let found = null;
    this.#beginnings(bytes, from, to, (end, place) => {
      found = { end, place };
    });
    const { end, place } = /** @type {{end: number, place: number}} */ (found ?? { end: -1, place: 0 });
    return end < 0 ? null : { end, text: this.#text(place) };
  }

  /** What the shortest beginning of a text becomes. @param {string} text @returns {string | null} */
  #shortest(text) {
    const bytes = encoder.encode(text);
    let found = -1;
    this.#beginnings(bytes, 0, bytes.length, (_, place) => {
      found = place;
      return true;
    });
    return found < 0 ? null : utf8.decode(this.#text(found));
  }

  /**
   * A text as the Rust library normalises it, which differs from SentencePiece: what the table has for the beginning of
   * a grapheme of less than six bytes stands for all of it; longer ones are taken by their characters.
   * @param {string} text
   */
  byGraphemes(text) {
    let out = '';
    for (let at = 0; at < text.length;) {
      PLAIN.lastIndex = at;
      if (PLAIN.test(text)) {
        out += this.#characters(text, at, PLAIN.lastIndex);
        at = PLAIN.lastIndex;
      }
      if (at === text.length) break;
      const next = text.slice(at).search(PLAIN_PAIR);
      const part = next < 0 ? text.slice(at) : text.slice(at, at + next + 1);
      this.#segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
      for (const { segment } of this.#segmenter.segment(part)) out += this.#grapheme(segment);
      at += part.length;
    }
    return out;
  }

  /**
   * Characters of one unit that are graphemes.
   * @param {string} text
   * @param {number} from
   * @param {number} to
   */
  #characters(text, from, to) {
    const kinds = this.#kinds;
    let out = '';
    for (let at = from; at < to; at++) {
      const unit = text.charCodeAt(at);
      if (kinds[unit] === KEPT) continue;
      const known = kinds[unit] === CHANGED ? this.#known.get(text[at]) : undefined;
      const changed = known ?? this.#shortest(text[at]);
      if (kinds[unit] === UNSEEN) kinds[unit] = changed === null ? KEPT : CHANGED;
      if (changed === null) continue;
      if (known === undefined) this.#remember(text[at], changed);
      out += text.slice(from, at) + changed;
      from = at + 1;
    }
    return out + text.slice(from, to);
  }

  /** @param {string} grapheme @param {string} changed */
  #remember(grapheme, changed) {
    if (this.#known.size >= MOST_GRAPHEMES) this.#known.clear();
    this.#known.set(grapheme, changed);
  }

  /** @param {string} grapheme */
  #grapheme(grapheme) {
    const known = this.#known.get(grapheme);
    if (known !== undefined) return known;
    const whole = encoder.encode(grapheme).length < 6 ? this.#shortest(grapheme) : null;
    const changed = whole ?? Array.from(grapheme, (c) => this.#shortest(c) ?? c).join('');
    if (grapheme.length <= LONGEST_GRAPHEME) this.#remember(grapheme, changed);
    return changed;
  }
}
