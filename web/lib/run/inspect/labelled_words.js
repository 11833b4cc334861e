// labelled_words.js - the words and the named entities of a text whose tokens have labels
//
// A word has the label and the score of its first token; neighbouring words of one label are one entity, as the
// aggregation `first` of transformers' pipeline does.

/** @import { Tokenizer } from '../../text/tokenizer.js' */
/** @typedef {{id: number, label: string, score: number}} LabelledToken */
/**
 * Tokens start .. end - 1 of a text, with their label.
 * @typedef {{label: string, score: number, text: string, start: number, end: number}} LabelledSpan
 */

/**
 * The words of a text, without special tokens.
 * @param {Tokenizer} tokenizer
 * @param {LabelledToken[]} tokens
 * @returns {LabelledSpan[]}
 */
export function wordsOf(tokenizer, tokens) {
  /** @type {LabelledSpan[]} */
  const words = [];
  for (const [i, { id, label, score }] of tokens.entries()) {
    if (tokenizer.special.has(id)) continue;
    const before = words.at(-1);
    if (before?.end === i && !tokenizer.startsWord(id)) before.end++;
    else words.push({ label, score, text: '', start: i, end: i + 1 });
  }
  return words.map((word) => ({ ...word, text: textOf(tokenizer, tokens, word) }));
}

/**
 * The words of the same label together, without those of the label O.
 * @param {Tokenizer} tokenizer
 * @param {LabelledToken[]} tokens
 * @param {LabelledSpan[]} words
 * @returns {LabelledSpan[]}
 */
export function entitiesOf(tokenizer, tokens, words) {
  /** @type {{label: string, words: LabelledSpan[]}[]} */
  const groups = [];
  for (const word of words) {
    const [, begins, label] = /** @type {RegExpExecArray} */ (/^(?:([BI])-)?(.*)$/s.exec(word.label));
    const before = groups.at(-1);
    if (before?.label === label && begins !== 'B') before.words.push(word);
    else groups.push({ label, words: [word] });
  }
  return groups
    .filter(({ label }) => label !== 'O')
    .map(({ label, words: own }) => {
      const span = { start: own[0].start, end: own[own.length - 1].end };
      const score = own.reduce((sum, word) => sum + word.score, 0) / own.length;
      return { label, score, text: textOf(tokenizer, tokens, span), ...span };
    });
}

/**
 * The text of some tokens.
 * @param {Tokenizer} tokenizer
 * @param {LabelledToken[]} tokens
 * @param {{start: number, end: number}} span
 */
const textOf = (tokenizer, tokens, { start, end }) =>
  tokenizer.decode(tokens.slice(start, end).map(({ id }) => id)).trim();
