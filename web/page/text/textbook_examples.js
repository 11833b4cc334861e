// textbook_examples.js - a prompt for each page of the textbook, on which the thing that it is about shows: of the story
// models, which write English
import { int } from './format.js';
import { writesStories } from '../state/facts/shipped_models.js';
import { say } from '../state/base/language.js';

/** @typedef {import('../state/store/state.js').State} State */

const GIFT = 'Tom gave the ball to Sue. Sue gave the ball to';
const AGAIN = 'Tom saw a red bird. Sue saw a blue fish. Tom saw a red';

/** The prompt of each page, by its id. @type {Record<string, string>} */
const PROMPTS = {
  token: 'The hippopotamus was unbelievably slow',
  embedding: 'The cat saw a cat',
  position: 'The dog saw the dog',
  qkv: GIFT,
  heads: AGAIN,
  scores: 'The dragon was sad because',
  mask: 'Once upon a time, there was a',
  softmax: 'The dragon was sad because',
  mix: GIFT,
  stream: 'One day, a girl lost her',
  norm: 'One day, a girl lost her',
  ffn: 'The sun was hot and the ice was',
  logits: 'Once upon a time, there was a little',
  sampling: 'One day, a girl found a',
  cache: 'Once upon a time',
  training: 'Once upon a time, there was a little girl named',
  induction: AGAIN,
  edits: AGAIN,
};

/** The prompt of a page, '' where the model reads no English stories. @param {string} id @param {State} s */
export const exampleOf = (id, s) => (writesStories(s.engine.model?.address) ? (PROMPTS[id] ?? '') : '');

/** The head that has induction most, once habits are measured. @param {State} s */
export function inductionHead(s) {
  const heads = (s.attention.habits ?? []).flatMap((list, layer) =>
    list.map((scores, head) => ({ layer, head, score: scores.after })),
  );
  return heads.length ? heads.reduce((best, one) => (one.score > best.score ? one : best)) : null;
}

/** The sentence that names the induction head of this model. @param {State} s */
export function inductionSaid(s) {
  const found = inductionHead(s);
  return found
    ? say`In this model layer ${found.layer + 1}, head ${found.head + 1} does it most: on a text that comes twice it puts ${int(100 * found.score)} % of its weight there.`
    : '';
}
