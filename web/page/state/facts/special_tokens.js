// special_tokens.js - marks for tokens without letters of their own: the start and the end of a text, parts of
// characters

/** @typedef {{ id: number, text: string, given?: boolean }} Written  a token; given: it is part of the prompt */

/** Tokens at the start and the end of a text, of the model in the page. */
let special = { bos: /** @type {number | null} */ (null), eos: /** @type {number[]} */ ([]) };

/** Set the tokens of the loaded model that start and end a text. @param {{ bos: number | null, eos: number[] }} of */
export const setSpecialTokens = (of) => void (special = of);

/** Whether it is the start or the end of a text. @param {number} id */
export const isSpecial = (id) => id === special.bos || special.eos.includes(id);

/** Whether a token stands for a word that an encoder has to find. @param {Written} [token] */
export const isMask = (token) => /^[[<]mask[\]>]$/i.test(token?.text.trim() ?? '');

const AROUND = '<|endoftext|>'; // both, also of an encoder, whose tokenizer names neither

/** What stands for a token without letters of its own: start or end of a text, otherwise its id, as for some of the
 * bytes of a character; '' for any other.
 * @param {Written} token */
export function markOf({ id, text, given }) {
  const ends = special.eos.includes(id) || text === AROUND;
  if ((id === special.bos || text === AROUND) && (given ?? !ends)) return 'start';
  return ends ? 'end' : /[^\ufffd]/.test(text) ? '' : `#${id}`;
}
