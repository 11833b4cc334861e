// train_text.js - sentences of the view Train: a tiny model learns the visitor's text

import { charactersSaid, label, figures, int, percent, si, stepsSaid } from './format.js';
import { headName } from './inside_text.js';
import { messageOf } from '../state/base/error_message.js';
import { say } from '../state/base/language.js';

export const TRAIN = {
  title: say`Train your own`,
  /** @param {boolean} adapter  of the page's model, which may be large */
  about: (adapter) =>
    adapter
      ? say`an adapter of the model above learns your text, in this tab`
      : say`a tiny model learns your text, in this tab`,
  /** @param {boolean} adapter */
  teach: (adapter) =>
    adapter ? say`Teach the model above your own text` : say`Teach it your own text in about half a minute`,
  start: say`Teach it this text`,
  again: say`Teach it again`,
  text: say`Text to learn`,
  file: say`Open a text file`,
  shakespeare: say`Fetch TinyShakespeare, 1.1 MB`,
  unreachable: (address) => say`The text cannot be fetched from ${address}`,
  recorded: (steps, seed) =>
    say`Recorded: the text shown here, learned in ${int(steps)} steps with seed ${seed}. Press the button to see it here.`,
  begins: say`samples begin`,
  settings: say`Model and training`,
  objective: say`It learns`,
  preset: say`Begin with`,
  custom: say`custom`,
  steps: say`for 20 s`,
  every: say`ten times`,
  samples: say`Samples improve`,
  /** @param {number} step */
  at: (step) => say`step ${step}`,
  type: say`Type of the weights`,
  film: say`Heads form`,
  early: say`Rows are queries, columns keys. An untrained head attends equally to all earlier tokens.`,
  noHabit: say`No head attends to particular tokens yet.`,
  use: say`Use this model in the page`,
  status: {
    idle: say`Training runs in this tab. Nothing leaves it.`,
    starting: say`Learning the vocabulary …`,
    copying: say`Copying the weights of the model …`,
    timing: say`Measuring how fast this machine trains …`,
    running: say`Training.`,
    paused: (at) => say`Paused at step ${at}.`,
    stopped: (at) => say`Stopped at step ${at}.`,
    done: (at) => say`Done, ${stepsSaid(at)}.`,
  },
  download: (gguf) => (gguf ? say`Download GGUF` : say`Download its files`),
  length: (characters, paragraphs) =>
    `${charactersSaid(characters)}${paragraphs > 1 ? say`, ${int(paragraphs)} paragraphs` : ''}`,
  tooLong: (name, size, most) => say`${name} is ${si(size, 'B')}; the limit here is ${si(most, 'B')}`,
  folder: (name) => say`${name} is a folder. Choose a single text file.`,
  unreadable: (name, error) => say`${name} could not be read: ${messageOf(error)}`,
  /** FLOPs of a forward and a backward pass: three times those of the forward one. */
  cost: (parameters, flops) =>
    say`${int(parameters)} parameters, about ${si(3 * flops, say`FLOP`)} for each training token`,
  adapted: (name, on) =>
    on
      ? say`${name} reads and writes with the adapter now, in every view.`
      : say`The weights of ${name} stay as they are; an adapter adds the product of two thin matrices to some of them (LoRA).`,
  switch: (on) => (on ? say`Switch the adapter off` : say`Switch the adapter on`),
  switched: (on, ms) => (on ? say`on in ${figures(ms)} ms` : say`off in ${figures(ms)} ms`),
  both: say`With and without the adapter`,
  save: say`Save the adapter`,
  open: say`Open an adapter`,
  named: (steps) => say`trained here, ${stepsSaid(steps)}`,
};

/** Names of fields by their keys, in the order of the form. */
export const SETTINGS = {
  n_layers: say`layers`,
  n_heads: say`heads`,
  d_model: say`d_model`,
  vocab_size: say`vocabulary`,
  context_length: say`context`,
};
export const LORA = { rank: say`rank`, alpha: say`alpha` };
/** @type {Record<import('../views/train/training_options.js').Values['modules'], string>} */
export const MODULES = { some: say`queries and values`, all: say`all linear layers` };
export const NUMBERS = { steps: say`steps`, every: say`sample every`, seed: say`seed` };
/** @type {Record<import('../views/train/training_options.js').Block, string>} */
export const BLOCKS = {
  modern: say`modern: RMSNorm, SwiGLU, rotary`,
  classical: say`GPT-2: LayerNorm, GELU, learned`,
  plain: say`tutorials 3 and 5: LayerNorm, GELU-erf, learned, no biases`,
  original: say`2017: post-norm, ReLU, sinusoids`,
};

/** How the weights are moved. @type {Record<import('../views/train/training_options.js').Values['optimiser'], string>} */
export const OPTIMISERS = { muon: say`Muon for matrices of blocks, AdamW for the rest`, adamw: say`AdamW` };
export const OPTIMISER = {
  optimiser: say`optimiser`,
  lr: say`learning rate of AdamW`,
  weight_decay: say`weight decay`,
  dropout: say`dropout`,
};

/** What is predicted. @type {Record<import('../views/train/training_options.js').Objective, string>} */
export const OBJECTIVES = {
  next: say`the next token (decoder)`,
  masked: say`masked tokens, 15 % of the text (encoder)`,
  adapter: say`an adapter of the model above (LoRA)`,
  pairs: say`source–target pairs, one per line, separated by a tab (encoder-decoder)`,
};

/** The loss curve's words. */
export const LOSS = {
  training: say`training`,
  validation: say`validation (held-out text)`,
  empty: say`Loss by step, empty before training`,
  heart: (step) =>
    say`Validation loss was lowest at step ${step} and has risen since: the model is memorising the text (overfitting).`,
  guess: (vocabulary, nats) => say`random guessing: ln ${int(vocabulary)} = ${figures(nats)}`,
  unigram: (nats) => say`token frequencies only: ${figures(nats)}`,
  /**
   * @param {{ step: number, loss: number }} first
   * @param {{ step: number, loss: number }} last
   * @param {number | undefined} heldOut  nats a token
   */
  label: (first, last, heldOut) =>
    say`Training loss by step, ${figures(first.loss)} nats per token at step 1, ${figures(last.loss)} at step ${last.step}${heldOut === undefined ? '' : say`; on text held out ${figures(heldOut)}`}`,
};

/**
 * Facts of a run by their names.
 * @param {{ step: number, loss: number } | undefined} last
 * @param {number} total   steps
 * @param {number} speed   tokens a second, 0: unknown
 * @param {number} seconds left, 0: none or unknown
 */
export const facts = (last, total, speed, seconds) => [
  { name: say`step`, value: last ? say`${int(last.step)} of ${int(total)}` : '–' },
  { name: say`loss`, value: last ? say`${figures(last.loss)} nats` : '–' },
  { name: say`probability of the correct token`, value: last ? percent(Math.exp(-last.loss)) : '–' },
  { name: say`speed`, value: last && speed ? say`${si(speed)} tok/s` : '–' },
  {
    name: say`time left`,
    value: !last || !seconds ? '–' : seconds < 90 ? `${Math.ceil(seconds)} s` : say`${Math.ceil(seconds / 60)} min`,
  },
];

/** What a head attends to, in the order of HABITS. */
export const HABIT_NAMES = [
  say`itself`,
  say`the token before`,
  say`the first token`,
  say`what followed the same token earlier`,
];
/** @param {import('../views/train/film_frames.js').HeadLook} look */
export const headLook = (look) =>
  `${headName(look)}: ${HABIT_NAMES.map((name, i) => say`${percent(look.habits[i])} on ${name}`).join(', ')}`;
/**
 * @param {{ layer: number, head: number, habit: number, from: number, to: number }} grown
 * @param {number} first @param {number} last steps
 */
export const habitGrown = ({ layer, head, habit, from, to }, first, last) =>
  say`Layer ${layer + 1}, head ${head + 1} now attends to ${HABIT_NAMES[habit]}: ${percent(from)} of its weight at step ${first}, ${percent(to)} at step ${last}.`;
export const word = label;
