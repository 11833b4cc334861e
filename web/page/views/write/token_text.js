// token_text.js - how a token of the text is drawn: its shaded part, the parts outside of it, and the strength of the
// shade
import { markOf } from '../../state/facts/special_tokens.js';

/** @typedef {import('../../state/store/state.js').Token} Token */

const SHADES = 5;

/**
 * Class of a word by how unlikely the model found it, in five steps.
 * @param {number} p
 */
export const shadeOf = (p) => `shade-${Math.min(SHADES - 1, Math.floor((1 - p) * SHADES))}`;

/**
 * The shade of a token of the text: none for the prompt, and if the probability is not known.
 * @param {Token} token
 */
export const tokenShade = ({ given, logprob }) => (given || logprob === null ? '' : shadeOf(Math.exp(logprob)));

/**
 * The parts of a token. The blank in front stays outside the shading, so that a line never ends in a shaded blank. What
 * has no letters of its own gets a mark: a break, a blank, the start and the end of a text, or its id.
 * @param {Token} token
 * @returns {{ before: string, word: string, after: string, odd: boolean, blank: boolean }}
 */
export function piecesOf(token) {
  const { text } = token,
    mark = markOf(token);
  if (mark) return { before: '', word: mark, after: '', odd: true, blank: false };
  const word = text.trimStart();
  if (word) return { before: text.slice(0, text.length - word.length), word, after: '', odd: false, blank: false };
  const breaks = text.includes('\n');
  return { before: '', word: breaks ? '⏎' : '␣', after: breaks ? text : '', odd: false, blank: true };
}
