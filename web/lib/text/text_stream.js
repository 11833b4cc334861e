// text_stream.js - decodes tokens one at a time and withholds incomplete characters

/** @import { Tokenizer } from './tokenizer.js' */

/** Tokens that stay as context, so that decoders never see a later place as the start of a text. */
const CONTEXT = 4;
/** Most tokens of the window: bytes that never complete a character must not let it grow without bound. */
const MAX_WINDOW = 64;

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
    this.window = prior;
    const text = this.decode();
    /** Whether the last character is not whole yet. */
    this.half = text.endsWith('\ufffd');
    /** Characters of the window's text that were delivered; -1: all, not counted yet. */
    this.shown = text.length - Number(this.half);
  }

  decode() {
    return this.tokenizer.decode(this.window, this.options);
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
      if (window.length > 2 * CONTEXT) window.splice(0, window.length - CONTEXT);
      return piece;
    }
    const text = this.decode();
    // bytes that a later token may complete decode to one U+FFFD at the very end
    this.half = text.endsWith('\ufffd') && window.length < MAX_WINDOW;
    const end = this.half ? text.length - 1 : text.length;
    const out = text.slice(this.shown, end);
    this.shown = end;
    if (!this.half && window.length > 2 * CONTEXT) {
      window.splice(0, window.length - CONTEXT);
      this.shown = -1;
    }
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
