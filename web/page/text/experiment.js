// experiment.js - sentences of the experiments: parts switched off, ideas left out, deep stacks

import { far, figures, label } from './format.js';

/** A difference with its sign. */
const signed = (x) => `${x >= 0 ? '+' : '−'}${far(Math.abs(x))}`;

export const ABLATE = {
  title: 'Switch parts off',
  about: 'the same text with parts of the model switched off, beside the untouched run',
  encoder: 'an encoder predicts no token, so there is no loss to compare',
  grid: 'Parts of the model',
  stacks: 'E: layers of the encoder, L: of the decoder, ↔: its cross-attention heads, which read the encoder’s output.',
  press: 'Press a square to switch that part off. “Measure every part” switches off each one by itself.',
  measure: 'Measure every part',
  reset: 'All on',
  neurons: 'Neurons that are off',
  allOn: 'Everything is on. What you switch off is compared here with the untouched run.',
  short: 'The text is too short to compare.',
  greedy: 'The prompt continued, likeliest token each time',
  next: 'Next token after the whole text',
  none: 'No token of the text became much harder to predict.',
  /** @param {number | undefined} cost bits a token, where measured */
  part: (name, cost) => (cost === undefined ? name : `${name}: ${signed(cost)} bits a token when off`),
  largest: (name, cost) =>
    `Stronger colour: more loss when that part is off. Most: ${name}, ${signed(cost)} bits a token.`,
  loss: (mean, change) => [`${far(mean)} bits a token`, change === undefined ? '' : `, ${signed(change)} bits`],
  without: (names) => `Without ${names.length === 1 ? names[0] : `${names.length} parts`}`,
  /** @param {{ token: import('../state/state.js').Token, bits: number }[]} list */
  affected: (list) =>
    `Most affected tokens: ${list.map(({ token, bits }) => `“${label(token)}” (+${figures(bits)} bits)`).join(', ')}.`,
};
