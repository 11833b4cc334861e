// questions.js - the answers to the chapters' questions, computed from the model and text that are loaded
import { countParameters } from 'glassformer';
import { embedWidth } from '../../state/architecture.js';
import { int, percent, quoted } from '../../text/format.js';

/** What an answer may be read from: the state, and the engine's tokenizer. */
/** @typedef {{ page: Readonly<import('../../state/state.js').State>, idsOf: (text: string) => Promise<number[]> }} Source */
/** @typedef {{ matches: (typed: string) => boolean, words: string }} Answer  words: the answer, to be shown */

/** A typed number: thousands' separators, blanks and a per cent sign are ignored. @param {string} typed */
function numberOf(typed) {
  const plain = typed.replace(/[,\s%]/g, '');
  return plain === '' ? NaN : Number(plain);
}

/** @param {number} value @param {string} [words] @param {number} [tolerance] @returns {Answer} */
const number = (value, words = int(value), tolerance = 0) => ({
  matches: (typed) => Math.abs(numberOf(typed) - value) <= tolerance,
  words,
});

/** Letters and digits only, in lower case. @param {string} text */
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** @param {Source['page']} page @returns {Answer | null} */
function largestWeight({ text: { cursor, tokens }, attention: { patterns, head } }) {
  const row = patterns?.row(head.layer, head.head, cursor);
  if (!row) return null;
  const at = row.reduce((best, x, i) => (x > row[best] ? i : best), 0);
  const { text } = tokens[at];
  return {
    matches: (typed) => (plain(text) ? plain(typed) === plain(text) : typed.trim() === text.trim()),
    words: `${quoted(tokens[at])}, with ${percent(row[at])}`,
  };
}

/** @type {Record<string, (source: Source) => Promise<Answer | null> | Answer | null>} */
const ANSWERS = {
  tokens: async ({ idsOf }) => number((await idsOf('Strawberries grow slowly')).length),
  embedding: ({ page }) => number(config(page).vocabSize * embedWidth(config(page))),
  attention: ({ page }) => largestWeight(page),
  ffn: ({ page }) => {
    const { rows, total } = countParameters(config(page));
    const ffn = rows.filter((row) => row.component === 'ffn').reduce((sum, row) => sum + row.count, 0);
    return number((100 * ffn) / total, percent(ffn / total), 1);
  },
  stream: ({ page }) => {
    const { nLayers, kind, useResidual } = config(page);
    return number(useResidual ? nLayers * (kind === 'encoder_decoder' ? 3 : 2) : 0);
  },
  logits: () => number(10, 'e^2.303 = 10', 0.1),
  sampling: () => number(100, '100 %: no other token is left'),
  training: ({ page }) =>
    number(
      Math.log(config(page).vocabSize),
      `ln ${config(page).vocabSize} = ${Math.log(config(page).vocabSize).toFixed(2)}`,
      0.02,
    ),
  'encoder-decoder': () => number(2, '2: one over its own text, one over the source'),
};

/** @param {Source['page']} page */
const config = (page) => /** @type {any} */ (page.run.model).config;

/**
 * @param {string} id  of the chapter
 * @param {Source} source
 * @returns {Promise<Answer | null>} null: there is no text to answer from
 */
export const answerTo = async (id, source) => (source.page.run.model ? ANSWERS[id](source) : null);
