// textbook_pages.js - the pages of the textbook: one idea each, where it is seen, one thing to do, one question. What
// is said holds for the model that is loaded.
import { TO_ATTENTION } from './textbook_to_attention.js';
import { TO_TOKEN } from './textbook_to_token.js';
import { say } from '../state/base/language.js';

/**
 * @typedef {import('../state/store/state.js').State} State
 * @typedef {object} Page
 * @property {string} id        in addresses: `learn=qkv`
 * @property {string} title
 * @property {import('../state/facts/views.js').View} view
 * @property {string} at        selector of the part that is lit
 * @property {import('../state/store/store.js').Patch} [set]
 * @property {(c: any) => boolean} [when]  the model has such a part
 * @property {(c: any, s: State) => string[]} paragraphs  c: the configuration
 * @property {{ words: string } & import('./textbook_parts.js').Task} task
 * @property {(c: any) => string} question  answered by views/learn/questions.js under the same id
 * @property {string} hint
 */

/** @type {Page[]} */
export const TEXTBOOK = [...TO_ATTENTION, ...TO_TOKEN];

/** The pages that the loaded model has. @param {State} s */
export const pagesOf = (s) =>
  s.engine.model ? TEXTBOOK.filter((page) => page.when?.(s.engine.model?.config) ?? true) : [];

/** What the map has before any model is there: the pages of a decoder. */
export const PAGES_OF_DECODER = TEXTBOOK.filter(({ id }) => id !== 'cross');

/** The pages as a map: what a token passes, in order, and what is true of all of it. @type {{ title: string, ids: string[] }[]} */
export const MAP = [
  { title: say`From text to vectors`, ids: ['token', 'embedding', 'position'] },
  { title: say`Attention`, ids: ['qkv', 'heads', 'scores', 'mask', 'softmax', 'mix', 'cross'] },
  { title: say`The block`, ids: ['stream', 'norm', 'ffn'] },
  { title: say`The next token`, ids: ['logits', 'sampling'] },
  { title: say`Memory and cost`, ids: ['cache', 'parameters', 'cost'] },
  { title: say`Further`, ids: ['training', 'induction', 'edits'] },
];

export const TEXTBOOK_WORDS = {
  title: say`Textbook`,
  about: say`one idea a page, with one thing to do and one question`,
  here: say`Here.`,
  task: say`Try it.`,
  example: (prompt) => say`Show it on “${prompt}”`,
  done: say`Done ✓`,
  question: say`Question.`,
  answer: say`your answer`,
  check: say`Check`,
  hint: say`Hint`,
  right: (answer) => say`Right: ${answer}.`,
  wrong: say`Not yet. Look again, or try another answer.`,
  unknown: say`The question needs a text: write one first.`,
  answeredOne: say`answered`,
  answered: (n, all) => say`${n} of ${all} questions answered`,
  play: say`Play`,
  pause: say`Pause`,
  back: say`Back`,
  next: say`Next`,
  end: say`Done`,
  leave: say`Leave`,
  of: (i, n) => say`${i} of ${n}`,
};
