// beams_text.js - sentences of the panel that shows how an encoder-decoder searches for its answer
import { figures, label, percent, quoted } from './format.js';
import { say } from '../state/base/language.js';

export const BEAMS = {
  title: say`How the answer is found`,
  about: say`beam search: of all continuations the most likely few are kept at each step`,
  source: say`Press a token of the source to hide it from the text (source mask)`,
  width: say`Beams`,
  widths: [1, 2, 3, 4].map((n) => ({ key: String(n), name: n === 1 ? say`1 beam (greedy)` : say`${n} beams` })),
  all: say`Show all`,
  answer: (answer, hidden) =>
    hidden.length ? say`Without ${hidden.map(quoted).join(', ')}: ${answer}` : say`Answer: ${answer}`,
  changed: (answer) => say`With the whole source: ${answer}`,
  tree: say`Tree of the kept continuations, left to right; the winner comes first`,
  start: say`start`,
  end: say`end`,
  word: label,
  share: percent,
  /** @param {number} sum  natural logarithm */
  score: (sum) => `log₂ p = ${figures(sum / Math.LN2)}`,
  won: say`won`,
  ends: say`Finished answers, most likely first`,
};
