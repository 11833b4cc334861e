// text_stream.js - decodes tokens one at a time and withholds incomplete characters

/** @import { Tokenizer } from './tokenizer.js' */

/** Tokens that stay as context, so that decoders never see a later place as the start of a text. */
const CONTEXT = 7;
/** Most bytes of a character. */
const LONGEST = 4;
/** Most tokens of the window: bytes that never complete a character must not let it grow without bound. */
const MAX_WINDOW = 64;

/**
 * Where the characters end that are whole.
 * @param {string} text
 */
function wholeEnd(text) {
  let end = text.length;
  while (text[end - 1] === '\ufffd') end--;
  return end;
}

/**
 * Decodes tokens one at a time. A character whose bytes are spread over several tokens is delivered when it is
 * complete. Made by `Tokenizer.stream`.
 */
export class TextStream {
  /**
   * @ignore
   * @param {Tokenizer} tokenizer
   * @param {number[]} prior
   * @param {{skipSpecialTokens?: boolean}} [options]
   */
  constructor(tokenizer, prior, options) {
    this.tokenizer = tokenizer;
    this.options = options;
    /** @type {number[]} the last tokens, decoded together each time */
    this.window = this.#aligned(prior);
    const text = this.decode();
    /** Whether the last character is not whole yet. */
    this.half = text.endsWith('\ufffd');
    /** Characters of the window's text that were delivered; -1: all, not counted yet. */
    this.shown = wholeEnd(text);
  }

  decode() {
    return this.tokenizer.decode(this.window, this.options);
  }

  /**
   * Tokens without those at the start whose bytes end a character: decoders take a sequence of bytes that begins inside
   * a character for no text at all.
   * @param {number[]} ids
   */
  #aligned(ids) {
    for (let from = 0; from <= LONGEST - 1 && from < ids.length; from++)
      if (!this.tokenizer.decode(ids.slice(from), this.options).startsWith('\ufffd')) return ids.slice(from);
    return ids;
  }

  /** Drop the first tokens of a long window. Some text must be left of it, or the next token would begin a text. */
  #trim() {
    if (this.window.length <= 2 * CONTEXT) return;
    const kept = this.#aligned(this.window.slice(-CONTEXT));
    if (this.window.length < MAX_WINDOW && !this.tokenizer.decode(kept, this.options)) return;
    this.window = kept;
    this.shown = -1;
  }

  /**
   * Add a token.
   * @param {number} id
   * @returns {string} the text that is now whole, '' while it is half a character or where the vocabulary has no such
   *   token
   */
  push(id) {
    const { tokenizer, window } = this;
    const piece =
      this.half || !window.length || tokenizer.special.has(window[window.length - 1]) ? null : tokenizer.piece(id);
    if (piece === null && !tokenizer.knows(id)) return '';
    if (this.shown < 0 && piece === null) this.shown = this.decode().length;
    window.push(id);
    if (piece !== null) {
      this.shown = -1;
      this.#trim();
      return piece;
    }
    const text = this.decode();
    // bytes that a later token may complete decode to U+FFFD at the very end, once or for each byte
    this.half = text.endsWith('\ufffd') && window.length < MAX_WINDOW;
    const end = this.half ? wholeEnd(text) : text.length;
    const out = text.slice(this.shown, Math.max(this.shown, end));
    this.shown = Math.max(this.shown, end);
    if (!this.half) this.#trim();
    return out;
  }

  /**
   * The text that is still withheld: bytes of an incomplete character.
   * @returns {string}
   */
  end() {
    if (!this.half) return '';
    const text = this.decode();
    const out = text.slice(this.shown);
    this.shown = text.length;
    this.half = false;
    return out;
  }
}
