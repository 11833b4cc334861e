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
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return null;
  }
}

/** Whether the library has an entry for each grapheme of such a text on its own. */
const PLAIN = /[ -~]+(?=[ -~]|$)/y;

export class Charsmap {
  /** @type {Intl.Segmenter | null} */
  #segmenter = null;

  /**
   * @param {Uint8Array} bytes
   * @param {{refuse: (why: string) => never}} owner
   */
  constructor(bytes, owner) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true);
    if (bytes.length < 4 || size % 4 || size + 4 > bytes.length || size < 4)
      owner.refuse(`precompiled_charsmap has ${bytes.length} bytes, and says that ${size} of them are its table`);
    this.units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
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
    this.#segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
    let out = '';
    for (let at = 0; at < text.length;) {
      PLAIN.lastIndex = at;
      const end = PLAIN.test(text) ? PLAIN.lastIndex : at;
      for (; at < end; at++) out += this.#shortest(text[at]) ?? text[at];
      if (at === text.length) break;
      const next = text.slice(at).search(/[ -~]{2}/);
      const part = next < 0 ? text.slice(at) : text.slice(at, at + next + 1);
      for (const { segment } of this.#segmenter.segment(part)) out += this.#grapheme(segment);
      at += part.length;
    }
    return out;
  }

  /** @param {string} grapheme */
  #grapheme(grapheme) {
    if (encoder.encode(grapheme).length < 6) {
      const whole = this.#shortest(grapheme);
      if (whole !== null) return whole;
    }
    return Array.from(grapheme, (c) => this.#shortest(c) ?? c).join('');
  }
}
