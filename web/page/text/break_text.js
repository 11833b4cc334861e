// break_text.js - sentences of “Break it”: a model without one of the ideas that it was trained with

import { scoreScale } from '../state/facts/architecture.js';
import { factor } from './stage_formulas.js';
import { say } from '../state/base/language.js';

/** @typedef {'causal' | 'scaleScores' | 'usePosition' | 'useResidual' | 'useNorm' | 'useFinalNorm'} Idea */

/** The factor of the scores left out. */
function unscaled(c) {
  const scale = scoreScale(c);
  const root = !(c.scoreScale > 0);
  const [how, what] =
    scale < 1
      ? [say`${root ? '√d' : factor(1 / scale)} times too large`, say`the softmax puts nearly all weight on one key`]
      : [say`${factor(scale)} times too small`, say`the softmax spreads the weight over all keys`];
  return { name: say`without ${root ? '÷ √d' : `× ${factor(scale)}`}`, why: say`scores are ${how}, so ${what}` };
}

/** Why positions matter. */
function unplaced(c) {
  if (!c.causal) return say`nothing tells one position from another`;
  return say`only the mask${c.slidingWindow ? say` and the sliding window tell` : say` tells`} one position from another`;
}

/** What the norms inside the blocks did. */
const UNNORMED = {
  pre: say`vectors are not rescaled before a sublayer reads them`,
  post: say`the residual stream is not rescaled after each sum`,
  sandwich: say`vectors are rescaled neither before a sublayer reads them nor before its output is added`,
  output: say`the output of a sublayer is not rescaled before it is added`,
};

/**
 * What it is called to leave an idea out of this model, and what that does.
 * @type {Record<Idea, (c: any) => { name: string, why: string }>}
 */
export const IDEAS = {
  causal: () => ({
    name: say`without the mask`,
    why: say`every token also sees later tokens, including the one it should predict, so a lower loss only means it has read the answer. While generating, there is nothing ahead to read`,
  }),
  scaleScores: unscaled,
  usePosition: (c) => ({ name: say`without positions`, why: unplaced(c) }),
  useResidual: (c) => ({
    name: say`without the residual stream`,
    why: c.parallelResidual
      ? say`each block passes on only what its attention and its FFN compute`
      : say`each sublayer passes on only its own output`,
  }),
  useNorm: (c) => ({ name: say`without norms in the blocks`, why: UNNORMED[c.normPlacement] }),
  useFinalNorm: () => ({ name: say`without the final norm`, why: say`the head reads the residual stream unscaled` }),
};

/** A text of our own, and its first sentence, which is continued. */
export const FIXED = [
  'Anna had a little red boat.',
  ' She put it on the pond, and the wind carried it far away. A duck saw the boat and pushed it back with its beak. Anna laughed and said thank you. Then she gave the duck a piece of her bread, and they were friends.',
];

export const BREAK = {
  title: say`Break it`,
  about: say`the same weights without one of the ideas they were trained with`,
  each: say`Each idea by itself`,
  go: say`Break it, one idea at a time`,
  texts: { fixed: say`a fixed text`, own: say`the text above` },
  encoder: say`This needs a model that predicts tokens; an encoder has no loss to compare.`,
  two: say`An encoder-decoder is tried on its source and text above.`,
  fixed: say`The fixed text: “${FIXED.join('')}”`,
  own: say`The text above: its prompt and what was written.`,
  random: say` This model has random weights, so removing an idea makes no difference yet.`,
  running: say`The text above is still being written: stop it, or wait until it ends.`,
  short: say`The text above is too short to be scored: let the model write some.`,
  asItIs: { name: say`as it is`, why: say`for comparison` },
  nothing: say`(no text)`,
  continued: (fixed) =>
    say`${fixed ? say`First sentence` : say`Prompt`} continued, always taking the most likely token`,
};

export const LIVE = {
  title: say`Live`,
  about: say`Leave something out: the model writes the text again, next to the original.`,
  ideas: say`Ideas left out`,
  choosing: say`each token is`,
  choices: { likeliest: say`the most likely`, seed: say`drawn with the same seed` },
  healthy: say`Original`,
  broken: say`Broken`,
  wait: say`Starts when the text above is finished.`,
  none: say`Nothing is off yet.`,
  same: say`So far both texts are the same.`,
  also: (parts) => say`Also off, from “Switch parts off”: ${parts.join('; ')}.`,
  /** @param {number} at  0-based */
  parted: (at) => say`The texts differ from token ${at + 1} on.`,
};
