// lens_text.js - sentences of the panel "Where the answer comes from": logit lens and votes. Layers and heads are counted
// from 1.

import { figures, percent, quoted } from './format.js';
import { headName } from './inside.js';

/** A number with its sign. */
export const signed = (v) => `${v >= 0 ? '+' : '−'}${figures(Math.abs(v))}`;

export const LENS = {
  title: 'Where the answer comes from',
  small: 'the residual vector after each layer, read with the model’s output head',
  name: 'Logit lens',
  /** @param {'light' | 'dark'} theme  in the dark one strong colours are bright */
  about: (theme, masked) =>
    `Each cell is the most likely ${masked ? 'token at this place' : 'next token'} if the layers after it were left out; ${theme === 'dark' ? 'brighter' : 'darker'} = more confident. ` +
    `Underlined: the ${masked ? 'token that stands there' : 'correct token, which follows in the text'}. ` +
    'The last column is the size (norm) of the residual vector at the chosen token.',
  caption: 'Most likely next token by layer and position',
  after: 'after',
  size: 'norm',
  text: 'the text',
  unknown: '?',
  /** @param {number} layer  from 0 */
  layer: (layer) => `layer ${layer + 1}`,
  cell: (p, correct) => (correct ? `${percent(p)}, probability of the correct token` : percent(p)),
};

export const VOTES = {
  grid: 'Votes by layer and head',
  none: 'Votes for a token',
  /** @param {{ token: number, text: string }} votes @param {{ id: number, text: string }} after */
  title: (votes, after) => `Votes for ${quoted({ id: votes.token, text: votes.text })} after ${quoted(after)}`,
  /**
   * What a part is called.
   * @param {import('../views/inside/lens.js').Part} part
   */
  part({ kind, layer, head, name }) {
    if (kind === 'head')
      return `${headName({ layer: layer ?? 0, head: head ?? 0 })}${/cross/.test(name) ? ', across' : ''}`;
    if (kind === 'ffn') return `layer ${(layer ?? 0) + 1}, FFN`;
    return { embedding: 'the embedding', position: 'the position' }[/** @type {string} */ (kind)] ?? name;
  },
  /** @param {import('../views/inside/lens.js').Part} part */
  vote: (part) => `${VOTES.part(part)}: ${signed(part.value)}`,
  /** @param {number} layer  from 0 */
  row: (layer) => `L${layer + 1}`,
  across: '↔',
  ffn: 'FFN',
  most: 'most for it',
  least: 'most against it',
  /**
   * @param {object} of
   * @param {number} of.sum     of all parts
   * @param {number} of.logit
   * @param {number} of.biases  their share of the sum
   * @param {boolean} of.gap    quantised activations make the two differ
   */
  sum: ({ sum, logit, biases, gap }) =>
    `The parts${Math.abs(biases) > 1e-4 ? `, with ${figures(biases)} from biases,` : ''} add up to ${sum.toFixed(3)}; ` +
    `the logit is ${logit.toFixed(3)}.${gap ? ' The small gap is quantisation rounding.' : ''}`,
};
