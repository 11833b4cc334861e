// experiment_text.js - sentences of the experiments: parts switched off, ideas left out, deep stacks

import { scientific, figures, label } from './format.js';
import { say } from '../state/base/language.js';

/** A difference with its sign. */
const signed = (x) => `${x >= 0 ? '+' : '−'}${scientific(Math.abs(x))}`;

export const ABLATE = {
  title: say`Switch parts off`,
  about: say`switch off heads or FFNs and compare with the original run`,
  encoder: say`an encoder predicts no token, so there is no loss to compare`,
  grid: say`Parts of the model`,
  stacks: say`E: layers of the encoder, L: of the decoder, ↔: its cross-attention heads, which read the encoder’s output.`,
  press: say`Press a square to switch that part off. “Measure every part” switches off each one by itself.`,
  measure: say`Measure every part`,
  /** @param {number} ms */
  left: (ms) => say`about ${Math.ceil(ms / 1000)} s left`,
  reset: say`Turn everything on`,
  neurons: say`Neurons that are off`,
  allOn: say`Everything is on. Press a part to write the text without it.`,
  ranked: say`What each part is worth: bits per token that it saves`,
  /** @param {number} bits */
  costs: (bits) => signed(bits),
  short: say`The text is too short to compare.`,
  greedy: say`The prompt continued, always taking the most likely token`,
  next: say`Next token after the whole text`,
  none: say`No token of the text became much harder to predict.`,
  /** @param {number | undefined} cost bits a token, where measured */
  part: (name, cost) => (cost === undefined ? name : say`${name}: ${signed(cost)} bits per token when off`),
  largest: (name, cost) =>
    say`Stronger colour = larger loss without that part. Largest: ${name}, ${signed(cost)} bits per token.`,
  loss: (mean, change) => [
    say`${scientific(mean)} bits per token`,
    change === undefined ? '' : say`, ${signed(change)} bits`,
  ],
  without: (names) => say`Without ${names.length === 1 ? names[0] : say`${names.length} parts`}`,
  /** @param {{ token: import('../state/store/state.js').Token, bits: number }[]} list */
  affected: (list) =>
    say`Most affected tokens: ${list.map(({ token, bits }) => say`“${label(token)}” (+${figures(bits)} bits)`).join(', ')}.`,
};
