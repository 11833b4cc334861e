// added_tokens.js - tokens that are found in a text before it is split, among them the special ones
import { show } from '../../base/errors.js';
import { isId } from '../../files/vocabulary/tokenizer_json.js';
import { SPACE, WORD, asMatched } from './character_classes.js';
import { refuse } from './component.js';

/** @import { TokenTexts } from '../../files/vocabulary/packed_texts.js' */
/**
 * @typedef {object} AddedToken
 * @property {number} id
 * @property {string} content
 * @property {boolean} single_word  matches only where no character of a word stands beside it
 * @property {boolean} lstrip       takes the white space before it
 * @property {boolean} rstrip       takes the white space after it
 * @property {boolean} normalized   is normalised, and found in the normalised text
 * @property {boolean} special      is left out by skipSpecialTokens
 */

const FLAGS = /** @type {const} */ (['single_word', 'lstrip', 'rstrip', 'normalized', 'special']);
const endsWithWord = new RegExp(`[${WORD}]$`, 'u');
const startsWithWord = new RegExp(`^[${WORD}]`, 'u');
const spacesAfter = new RegExp(`[${SPACE}]*`, 'uy');
const isSpace = new RegExp(`[${SPACE}]`, 'u');

/**
 * The added tokens of a tokenizer.json, each content once. Their ids are those of the Rust library: a token that the
 * model has keeps its id, others follow after all tokens, whatever id the file gives.
 * @param {any} list
 * @param {TokenTexts} texts  of the model
 * @param {number} size  tokens of the model
 * @returns {AddedToken[]}
 */
export function addedTokens(list, texts, size) {
  if (!Array.isArray(list)) refuse('added_tokens is not a list');
  /** @type {Map<string, AddedToken>} */
  const tokens = new Map();
  let next = size;
  for (const json of list) {
    if (typeof json?.content !== 'string' || !isId(json.id))
      refuse(`the added token ${show(json)} has no content or no id`);
    const { content } = json;
    if (!content) continue;
    const read = /** @type {AddedToken} */ ({ id: tokens.get(content)?.id ?? texts.get(content) ?? next, content });
    if (read.id === next) next++;
    for (const flag of FLAGS) {
      read[flag] = json[flag] ?? (flag === 'normalized' ? !json.special : false);
      if (typeof read[flag] !== 'boolean')
        refuse(`the added token ${show(content)} has ${flag} ${show(json[flag])}, expected true or false`);
    }
    tokens.set(content, read);
  }
  return [...tokens.values()];
}

/** Finds tokens of one list in texts: at each place the longest, from left to right. */
export class TokenFinder {
  /** The tokens by text. @type {Map<string, AddedToken>} */
  #tokens = new Map();
  /** The lengths of the tokens by their first unit, long ones first. @type {Map<number, number[]>} */
  #lengths = new Map();

  /**
   * @param {AddedToken[]} tokens
   * @param {(content: string) => string} textOf  what a token is found by
   */
  constructor(tokens, textOf) {
    for (const token of tokens) {
      const text = textOf(token.content);
      if (!text) refuse(`the added token ${show(token.content)} is empty when it is normalised`);
      const other = this.#tokens.get(text);
      if (other)
        refuse(
          `the added tokens ${show(other.content)} and ${show(token.content)} are the same when they are normalised`,
        );
      this.#tokens.set(text, token);
      const lengths = this.#lengths.get(text.charCodeAt(0)) ?? [];
      if (!lengths.includes(text.length)) lengths.push(text.length);
      this.#lengths.set(
        text.charCodeAt(0),
        lengths.sort((a, b) => b - a),
      );
    }
  }

  get isEmpty() {
    return this.#tokens.size === 0;
  }

  /**
   * Cut a text at its tokens.
   * @param {string} text
   * @param {(from: number, to: number) => void} onText
   * @param {(id: number) => void} onToken
   */
  cut(text, onText, onToken) {
    let done = 0;
    for (let at = 0; at < text.length;) {
      const lengths = this.#lengths.get(text.charCodeAt(at));
      const size = lengths?.find((n) => at + n <= text.length && this.#tokens.has(text.slice(at, at + n)));
      if (!size) {
        at++;
        continue;
      }
      const token = /** @type {AddedToken} */ (this.#tokens.get(text.slice(at, at + size)));
      let start = at;
      at += size;
      if (token.single_word && !isWord(text, start, at)) continue;
      let end = at;
      if (token.lstrip) while (start > done && isSpace.test(text[start - 1])) start--;
      if (token.lstrip) start = Math.max(start, done);
      if (token.rstrip) {
        spacesAfter.lastIndex = at;
        spacesAfter.test(text);
        end = spacesAfter.lastIndex;
      }
      if (done < start) onText(done, start);
      if (start < end) onToken(token.id); // its white space may belong to the token before it
      done = end;
    }
    if (done < text.length) onText(done, text.length);
  }
}

/**
 * Whether no character of a word stands before `start` or after `end`.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 */
const isWord = (text, start, end) =>
  !endsWithWord.test(asMatched(text.slice(Math.max(0, start - 2), start))) &&
  !startsWithWord.test(asMatched(text.slice(end, end + 2)));
