// break.js - sentences of “Break it”: a model without one of the ideas that it was trained with

import { scoreScale } from '../state/architecture.js';
import { factor } from './formulas.js';

/** @typedef {'causal' | 'scaleScores' | 'usePosition' | 'useResidual' | 'useNorm' | 'useFinalNorm'} Idea */

/** @typedef {Record<string, any>} Config */

/** The factor of the scores left out. */
function unscaled(c) {
  const scale = scoreScale(c);
  const root = !(c.scoreScale > 0);
  const [how, what] =
    scale < 1
      ? [`${root ? '√d' : factor(1 / scale)} times too large`, 'the softmax puts nearly all weight on one key']
      : [`${factor(scale)} times too small`, 'the softmax spreads the weight over all keys'];
  return { name: `without ${root ? '÷ √d' : `× ${factor(scale)}`}`, why: `scores are ${how}, so ${what}` };
}

/** Why positions matter. */
function unplaced(c) {
  if (!c.causal) return 'nothing tells one position from another';
  return `only the mask${c.slidingWindow ? ' and the sliding window tell' : ' tells'} one position from another`;
}

/** What the norms inside the blocks did. */
const UNNORMED = {
  pre: 'vectors are not rescaled before a sublayer reads them',
  post: 'the residual stream is not rescaled after each sum',
  sandwich: 'vectors are rescaled neither before a sublayer reads them nor before its output is added',
  output: 'the output of a sublayer is not rescaled before it is added',
};

/**
 * What it is called to leave an idea out of this model, and what that does.
 * @type {Record<Idea, (c: Config) => { name: string, why: string }>}
 */
export const IDEAS = {
  causal: () => ({
    name: 'without the mask',
    why: 'every token attends to later ones too, including the one to be predicted: fewer bits mean that it has read the answer, not that it predicts better. While it writes there is nothing to read ahead',
  }),
  scaleScores: unscaled,
  usePosition: (c) => ({ name: 'without positions', why: unplaced(c) }),
  useResidual: (c) => ({
    name: 'without the residual stream',
    why: c.parallelResidual
      ? 'each block passes on only what its attention and its FFN compute'
      : 'each sublayer passes on only its own output',
  }),
  useNorm: (c) => ({ name: 'without norms in the blocks', why: UNNORMED[c.normPlacement] }),
  useFinalNorm: () => ({ name: 'without the final norm', why: 'the head reads the residual stream unscaled' }),
};

/** A text of our own, and its first sentence, which is continued. */
export const FIXED = [
  'Anna had a little red boat.',
  ' She put it on the pond, and the wind carried it far away. A duck saw the boat and pushed it back with its beak. Anna laughed and said thank you. Then she gave the duck a piece of her bread, and they were friends.',
];

export const BREAK = {
  title: 'Break it',
  about: 'the same weights without one of the ideas they were trained with',
  each: 'Each idea by itself',
  go: 'Break it, one idea at a time',
  texts: { fixed: 'a fixed text', own: 'the text above' },
  encoder: 'An encoder predicts no token, so no loss can tell what an idea is worth.',
  two: 'An encoder-decoder is tried on its source and text above.',
  fixed: `The fixed text: “${FIXED.join('')}”`,
  own: 'The text above: its prompt and what was written.',
  random: ' With random weights no idea is worth anything yet.',
  running: 'The text above is still being written: stop it, or wait until it ends.',
  short: 'The text above is too short to be scored: let the model write some.',
  asItIs: { name: 'as it is', why: 'for comparison' },
  nothing: '(no text)',
  continued: (fixed) => `${fixed ? 'First sentence' : 'Prompt'} continued, likeliest token each time`,
};

export const LIVE = {
  title: 'Live',
  about: 'Leave something out: the text is written again beside the healthy one.',
  ideas: 'Ideas left out',
  choosing: 'each token',
  choices: { likeliest: 'the likeliest', seed: 'drawn with the same seed' },
  healthy: 'Healthy',
  broken: 'Broken',
  wait: 'This begins when the text above is written.',
  none: 'Nothing is off yet.',
  same: 'So far both texts are the same.',
  also: (parts) => `Also off, from “Switch parts off”: ${parts.join('; ')}.`,
  /** @param {number} at  0-based */
  parted: (at) => `The texts differ from token ${at + 1} on.`,
};
