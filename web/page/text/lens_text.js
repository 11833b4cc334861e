// lens_text.js - sentences of the panel "Where the answer comes from": logit lens and votes. Layers and heads are counted
// from 1.

import { figures, percent, quoted } from './format.js';
import { headName } from './inside_text.js';
import { say } from '../state/base/language.js';

/** A number with its sign. */
export const signed = (v) => `${v >= 0 ? '+' : '−'}${figures(Math.abs(v))}`;

export const LENS = {
  title: say`Where the answer comes from`,
  small: say`the residual vector after each layer, read with the model’s output head`,
  name: say`Logit lens`,
  /** @param {'light' | 'dark'} theme  in the dark one strong colours are bright */
  about: (theme, masked) =>
    say`Each cell is the most likely ${masked ? say`token at this place` : say`next token`} if the layers after it were left out; ${theme === 'dark' ? say`brighter` : say`darker`} = more confident. Underlined: the ${masked ? say`token that stands there` : say`correct token, which follows in the text`}. The last column is the size (norm) of the residual vector at the chosen token.`,
  caption: say`Most likely next token by layer and position`,
  after: say`after`,
  size: say`size`,
  text: say`the text`,
  unknown: '?',
  /** @param {number} layer  from 0 */
  layer: (layer) => say`layer ${layer + 1}`,
  cell: (p, correct) => (correct ? say`${percent(p)}, probability of the correct token` : percent(p)),
};

export const VOTES = {
  grid: say`How much each layer and head pushed this word`,
  none: say`Which parts pushed a word`,
  /** @param {{ token: number, text: string }} votes @param {{ id: number, text: string }} after */
  title: (votes, after) =>
    say`Which parts pushed ${quoted({ id: votes.token, text: votes.text })} after ${quoted(after)}`,
  /**
   * What a part is called.
   * @param {import('../views/inside/lens_table.js').Part} part
   */
  part({ kind, layer, head, name }) {
    if (kind === 'head')
      return `${headName({ layer: layer ?? 0, head: head ?? 0 })}${/cross/.test(name) ? say`, across` : ''}`;
    if (kind === 'ffn') return say`layer ${(layer ?? 0) + 1}, FFN`;
    return { embedding: say`the embedding`, position: say`the position` }[/** @type {string} */ (kind)] ?? name;
  },
  /** @param {import('../views/inside/lens_table.js').Part} part */
  vote: (part) => `${VOTES.part(part)}: ${signed(part.value)}`,
  /** @param {number} layer  from 0 */
  row: (layer) => `L${layer + 1}`,
  across: '↔',
  ffn: say`FFN`,
  most: say`most for it`,
  least: say`most against it`,
  /**
   * @param {object} of
   * @param {number} of.sum     of all parts
   * @param {number} of.logit
   * @param {number} of.biases  their share of the sum
   * @param {boolean} of.gap    quantised activations make the two differ
   */
  sum: ({ sum, logit, biases, gap }) =>
    say`The parts${Math.abs(biases) > 1e-4 ? say`, with ${figures(biases)} from biases,` : ''} add up to ${sum.toFixed(3)}; the logit is ${logit.toFixed(3)}.${gap ? say` The small gap is quantisation rounding.` : ''}`,
};
