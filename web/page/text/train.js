// train.js - sentences of the view Train: a tiny model learns the visitor's text

import { label, figures, int, percent, si } from './format.js';
import { headName } from './inside.js';
import { messageOf } from '../state/error_message.js';

export const TRAIN = {
  title: 'Train your own',
  about: 'a tiny model learns your text, in this tab',
  teach: 'Teach it your own text in about half a minute',
  start: 'Teach it this text',
  again: 'Teach it again',
  text: 'Text to learn',
  file: 'Open a text file',
  begins: 'samples begin',
  settings: 'Model and training',
  objective: 'It learns',
  preset: 'Begin with',
  custom: 'custom',
  steps: 'as fit in 20 s',
  every: 'ten times',
  samples: 'Samples improve',
  film: 'Heads form',
  early: 'Rows are queries, columns keys. An untrained head attends to all earlier tokens alike.',
  noHabit: 'No head attends to particular tokens yet.',
  use: 'Use this model in the page',
  status: {
    idle: 'Training runs in this tab. Nothing leaves it.',
    starting: 'Learning the vocabulary …',
    timing: 'Measuring how fast this machine trains …',
    running: 'Training.',
    paused: (at) => `Paused at step ${at}.`,
    stopped: (at) => `Stopped at step ${at}.`,
    done: (at) => `Done, ${at} steps.`,
  },
  download: (gguf) => (gguf ? 'Download GGUF' : 'Download its files'),
  length: (characters, paragraphs) =>
    `${int(characters)} characters${paragraphs > 1 ? `, ${int(paragraphs)} paragraphs` : ''}`,
  tooLong: (name, size, most) => `${name} has ${si(size, 'B')}; at most ${si(most, 'B')} can be learnt here`,
  folder: (name) => `${name} is a folder; what is learnt here is one text file`,
  unreadable: (name, error) => `${name} could not be read: ${messageOf(error)}`,
  /** FLOPs of a forward and a backward pass: three times those of the forward one. */
  cost: (parameters, flops) => `${int(parameters)} parameters, about ${si(3 * flops, 'FLOP')} for each training token`,
  named: (steps) => `trained here, ${steps} steps`,
};

/** Names of fields by their keys, in the order of the form. */
export const SETTINGS = {
  n_layers: 'layers',
  n_heads: 'heads',
  d_model: 'd_model',
  vocab_size: 'vocabulary',
  context_length: 'context',
};
export const NUMBERS = { steps: 'steps', every: 'sample every', seed: 'seed' };
/** @type {Record<import('../views/train/setup.js').Block, string>} */
export const BLOCKS = {
  modern: 'modern: RMSNorm, SwiGLU, rotary',
  classical: 'GPT-2: LayerNorm, GELU, learned',
  original: '2017: post-norm, ReLU, sinusoids',
};

/** What is predicted. @type {Record<import('../views/train/setup.js').Objective, string>} */
export const OBJECTIVES = {
  next: 'the next token (decoder)',
  masked: 'masked tokens, 15 % of the text (encoder)',
  pairs: 'a target for each source: lines of source, tab, target (encoder-decoder)',
};

/** The loss curve's words. */
export const LOSS = {
  training: 'training',
  validation: 'validation, on text held out',
  empty: 'Loss by step, empty before training',
  heart: (step) =>
    `The loss on text held out was least at step ${step} and has risen since: the model now learns its text by heart (overfitting).`,
  guess: (vocabulary, nats) => `random guessing: ln ${int(vocabulary)} = ${figures(nats)}`,
  unigram: (nats) => `token frequencies only: ${figures(nats)}`,
  /**
   * @param {{ step: number, loss: number }} first
   * @param {{ step: number, loss: number }} last
   * @param {number | undefined} heldOut  nats a token
   */
  label: (first, last, heldOut) =>
    `Training loss by step, ${figures(first.loss)} nats a token at step 1, ${figures(last.loss)} at step ${last.step}${heldOut === undefined ? '' : `; on text held out ${figures(heldOut)}`}`,
};

/**
 * Facts of a run by their names.
 * @param {{ step: number, loss: number } | undefined} last
 * @param {number} total   steps
 * @param {number} speed   tokens a second, 0: unknown
 * @param {number} seconds left, 0: none or unknown
 */
export const facts = (last, total, speed, seconds) => [
  { name: 'step', value: last ? `${int(last.step)} of ${int(total)}` : '–' },
  { name: 'loss', value: last ? `${figures(last.loss)} nats` : '–' },
  { name: 'probability of the correct token', value: last ? percent(Math.exp(-last.loss)) : '–' },
  { name: 'speed', value: last && speed ? `${si(speed)} tok/s` : '–' },
  {
    name: 'time left',
    value: !last || !seconds ? '–' : seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`,
  },
];

/** What a head attends to, in the order of HABITS. */
export const HABIT_NAMES = ['itself', 'the token before', 'the first token', 'what followed the same token earlier'];
/** @param {import('../views/train/film.js').HeadLook} look */
export const headLook = (look) =>
  `${headName(look)}: ${HABIT_NAMES.map((name, i) => `${percent(look.habits[i])} on ${name}`).join(', ')}`;
/**
 * @param {{ layer: number, head: number, habit: number, from: number, to: number }} grown
 * @param {number} first @param {number} last steps
 */
export const habitGrown = ({ layer, head, habit, from, to }, first, last) =>
  `Layer ${layer + 1}, head ${head + 1} now attends to ${HABIT_NAMES[habit]}: ${percent(from)} of its weight at step ${first}, ${percent(to)} at step ${last}.`;
export const word = label;
