// case_folds.js - characters that a regular expression without case takes for the same

/** Two letters, the second of more, that one character stands for without case. */
const SEVERAL = /s[st]|f[fil]|a\u02be|\u02bcn|.[\u0300-\u036f\u03b9]|[\u0565\u0574\u057e]./u;
/** Most characters of a range without case. */
const MOST = 4096;

export class CaseFolds {
  /** Characters with a case, above ASCII, found at the first use. @type {number[] | null} */
  #cased = null;

  /**
   * Throws where literal characters may stand for one other character, or one for several.
   * @param {string} run  literal characters, one after the other
   * @param {string} last the last one
   */
  check(run, last) {
    const pair = Array.from(run.toLowerCase()).slice(-2).join('');
    if (SEVERAL.test(pair) || last.toUpperCase().length > last.length)
      throw new Error(`${JSON.stringify(pair)} without case is not supported`);
  }

  /**
   * A code point and those that differ from it in case only.
   * @param {number} code
   * @returns {number[]}
   */
  of(code) {
    const c = String.fromCodePoint(code);
    if (code < 128) {
      const lower = c.toLowerCase();
      const more = lower === 's' ? [0x17f] : lower === 'k' ? [0x212a] : [];
      return [...new Set([code, ...[lower, c.toUpperCase()].map((each) => each.charCodeAt(0))]), ...more];
    }
    return [code, ...this.ofRange(code, code)];
  }

  /**
   * Code points that differ in case only from one of a range.
   * @param {number} first
   * @param {number} last
   */
  ofRange(first, last) {
    if (last - first > MOST) throw new Error('a range of more than 4,096 characters without case is not supported');
    if (last < 128) {
      const all = Array.from({ length: last - first + 1 }, (_, i) => this.of(first + i)).flat();
      return [...new Set(all)].filter((code) => code < first || code > last);
    }
    const range = new RegExp(`[\\u{${first.toString(16)}}-\\u{${last.toString(16)}}]`, 'iu');
    return this.#all().filter((code) => (code < first || code > last) && range.test(String.fromCodePoint(code)));
  }

  #all() {
    if (this.#cased) return this.#cased;
    const cased = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/u;
    /** @type {number[]} */
    const all = [];
    for (let code = 0; code < 0x1e944; code++) if (cased.test(String.fromCodePoint(code))) all.push(code);
    return (this.#cased = all);
  }
}
