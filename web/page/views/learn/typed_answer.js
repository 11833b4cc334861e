// typed_answer.js - answers of questions: numbers and words, compared with what is typed
import { int } from '../../text/format.js';

/** @typedef {{ matches: (typed: string) => boolean, words: string }} Answer  words: the answer, to be shown */

/** A typed number: thousands' separators, blanks and a per cent sign are ignored. */
function numberOf(typed) {
  const plain = typed.replace(/[,\s%]/g, '').replace('−', '-');
  return plain === '' ? NaN : Number(plain);
}

/** @returns {Answer} */
export const number = (value, words = int(value), tolerance = 0) => ({
  matches: (typed) => Math.abs(numberOf(typed) - value) <= tolerance,
  words,
});

/** Letters and digits only, in lower case. */
export const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** A term without its English, which stands in brackets. */
const bare = (text) => plain(text.replace(/[(（].*/, ''));

/** A word in English or in the language of the page, whatever its case. @returns {Answer} */
export const named = (english, words = english, word = english) => ({
  matches: (typed) => [english, word].some((one) => bare(typed) === bare(one)),
  words,
});
