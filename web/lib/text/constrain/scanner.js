// scanner.js - reads a text from its beginning to its end: grammars and regular expressions

/** A place in a text. */
export class Scanner {
  /** @param {string} source */
  constructor(source) {
    this.source = source;
    /** @type {number} */
    this.at = 0;
    /** Groups around the place. @type {number} */
    this.depth = 0;
  }

  /**
   * The match of a pattern here, which is then passed; null without one.
   * @param {RegExp} pattern  sticky
   */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  /**
   * Whether these characters are here; they are then passed.
   * @param {string} characters
   */
  skip(characters) {
    if (!this.source.startsWith(characters, this.at)) return false;
    this.at += characters.length;
    return true;
  }
}
