// questions.js - the answers to the textbook's questions, computed from the model and text that are loaded
import { countParameters } from 'glassformer';
import { embedWidth, scoreScale, windowOf } from '../../state/facts/architecture.js';
import { say } from '../../state/base/language.js';
import { figures, label, percent, quoted } from '../../text/format.js';
import { named, number, plain } from './typed_answer.js';

/** What an answer may be read from: the state, and the engine's tokenizer. */
/** @typedef {{ page: Readonly<import('../../state/store/state.js').State>, idsOf: (text: string, options?: { addSpecialTokens?: boolean }) => Promise<number[]> }} Source */
/** @typedef {import('./typed_answer.js').Answer} Answer */

/** @param {Source['page']} page @returns {Answer | null} */
function largestWeight({ text: { cursor, tokens }, attention: { patterns, head } }) {
  const row = patterns?.row(head.layer, head.head, cursor);
  if (!row) return null;
  const at = row.reduce((best, x, i) => (x > row[best] ? i : best), 0);
  const shown = label(tokens[at]); // the start of a text has no letters of its own
  return {
    matches: (typed) =>
      plain(shown) ? plain(typed) === plain(shown) : [shown, tokens[at].text.trim()].includes(typed.trim()),
    words: say`${quoted(tokens[at])}, with ${percent(row[at])}`,
  };
}

/** The first number of (3, 4) after a norm. */
const normed = (c) => (c.norm === 'rmsnorm' ? 3 / Math.sqrt(12.5) : -1);

/** @type {Record<string, (source: Source) => Promise<Answer | null> | Answer | null>} */
const ANSWERS = {
  token: async ({ idsOf }) => number((await idsOf('Strawberries grow slowly', { addSpecialTokens: false })).length),
  embedding: ({ page }) => number(config(page).vocabSize * embedWidth(config(page))),
  position: () => named('yes', say`yes: the row depends on the token alone`, say`yes`),
  qkv: ({ page }) => number(config(page).nHeads, say`${config(page).nHeads}, one for each head`),
  heads: ({ page }) => number(config(page).dHead),
  scores: ({ page }) => number(1 / scoreScale(config(page)), figures(1 / scoreScale(config(page))), 0.01),
  mask: ({ page }) => {
    const window = windowOf(config(page), page.attention.head.layer) || 4;
    const left = [1, 2, 3, 4].reduce((n, keys) => n + Math.min(keys, window), 0);
    return number(left, say`${left}: each token sees itself and what came before`);
  },
  softmax: ({ page }) => largestWeight(page),
  mix: () => named('value', say`value`, say`value`),
  cross: () => number(2, say`2: one over its own text, one over the source`),
  stream: ({ page }) => {
    const { nLayers, kind, useResidual, ffn } = config(page);
    const sums = (kind === 'encoder_decoder' ? 3 : 2) - Number(ffn === 'none');
    return number(useResidual ? nLayers * sums : 0);
  },
  norm: ({ page }) => number(normed(config(page)), figures(normed(config(page))), 0.01),
  ffn: ({ page }) => {
    const { rows, total } = countParameters(config(page));
    const ffn = rows.filter((row) => row.component === 'ffn').reduce((sum, row) => sum + row.count, 0);
    return number((100 * ffn) / total, percent(ffn / total), 1);
  },
  logits: () => number(10, 'e^2.303 = 10', 0.1),
  sampling: () => number(100, say`100 %: no other token is left`),
  cache: () => number(1, say`1: the others are cached`),
  parameters: ({ page }) => {
    const { dModel, dHead, nHeads, nKvHeads } = config(page);
    return number(2 * dModel * dHead * (nHeads + nKvHeads));
  },
  cost: () => number(2, say`2: one multiplication and one addition`),
  training: ({ page }) =>
    number(
      Math.log(config(page).vocabSize),
      `ln ${config(page).vocabSize} = ${Math.log(config(page).vocabSize).toFixed(2)}`,
      0.02,
    ),
  induction: () => named('B', say`B: it followed A before`),
  edits: () => number(1, say`1: only attention heads move information between tokens`),
};

/** @param {Source['page']} page */
const config = (page) => /** @type {any} */ (page.engine.model).config;

/**
 * @param {string} id  of the page
 * @param {Source} source
 * @returns {Promise<Answer | null>} null: there is no text to answer from
 */
export const rightAnswer = async (id, source) => (source.page.engine.model ? ANSWERS[id](source) : null);
