// unit_text.js - sentences of the card of a neuron or a head
import { figures, label, percent, quoted } from './format.js';
import { say } from '../state/base/language.js';

/** @typedef {import('../views/inside/unit/readings.js').Response} Response */

export const UNIT = {
  title: (name) => name.charAt(0).toUpperCase() + name.slice(1),
  kinds: {
    neuron: say`one of the numbers between the two matrices of a feed-forward layer`,
    head: say`one of the attentions of a layer`,
  },
  responds: { neuron: say`Responds most strongly at`, head: say`Looks most strongly` },
  reading: (share) => say`Reading a dozen short texts: ${percent(share)}`,
  stop: say`Stop`,
  stopped: say`Stopped.`,
  again: say`Read them`,
  none: say`This model does not support this view.`,
  /** @param {Response} of */
  value: ({ value, key }) => (key ? percent(value) : figures(value)),
  /** @param {Response} of */
  from: ({ key }) => (key ? `→ ${quoted(key)}` : ''),
  /** @type {Record<string, string>} */
  effectNames: { promoted: say`Makes more likely`, suppressed: say`Makes less likely` },
  effects: {
    neuron: () => say`Its output alone, passed through the final norm and the output head.`,
    head: (token) =>
      say`What it writes at ${token ? quoted(token) : say`the chosen token`}, alone, through the last norm and the output head.`,
  },
  noEffects: say`Its output does not go to an output head.`,
  off: say`Switch off`,
  on: say`Switch on`,
  loss: ({ whole, without }) =>
    say`Without it this text takes ${without.toFixed(3)} bits per token instead of ${whole.toFixed(3)}.`,
  compare: say`See what changes`,
  link: say`Copy a link to this card`,
  open: { neuron: (index) => say`About neuron ${index}`, head: say`About this head` },
  word: label,
};
