// play_text.js - sentences of a head's arithmetic, step by step
import { figures, percent } from './format.js';

export const PLAY = {
  title: 'One head, step by step',
  about: (/** @type {string} */ query, /** @type {number} */ head) => `what head ${head + 1} computes for ${query}`,
  play: 'Play',
  pause: 'Pause',
  back: 'One step back',
  on: 'One step on',
  step: 'Step',
  of: (/** @type {number} */ i, /** @type {number} */ n) => `${i + 1} of ${n}`,
  speed: 'Speed',
  perSecond: (/** @type {number} */ n) => `${n} a second`,
  key: 'key',
  power: 'e^…',
  weight: 'weight',
  value: 'its value',
  early: (/** @type {number} */ n) => `${n} earlier`,
  query: 'query',
  z: 'z, mixed',
  out: 'added to the stream',
  waiting: 'The steps come when the text rests.',
};

/**
 * What a step does, with its numbers.
 * @type {Record<import('../views/inside/anatomy/head_play.js').Step['at'], (of: { key: string, x: number, y: number, i: number, sum: number, scale: number, largest: number, width: number }) => string>}
 */
export const STEP_WORDS = {
  product: ({ i, x, y, sum }) =>
    `Number ${i} of the query times number ${i} of the key: ${figures(x)} × ${figures(y)} = ${figures(x * y)}. Sum so far: ${figures(sum)}.`,
  score: ({ key, x }) => `All products of query and key of ${key} add up to the score ${figures(x)}.`,
  scale: ({ scale }) =>
    scale === 1
      ? 'This model does not scale its scores.'
      : `Every score times ${figures(scale)}, so that wide heads have no larger scores than narrow ones.`,
  mask: () => 'Keys that come later get −∞: a token cannot look ahead.',
  power: ({ largest }) =>
    `e to the power of each score, less the largest, ${figures(largest)}: nothing is negative, and the largest is 1.`,
  sum: ({ sum }) => `They add up to ${figures(sum)}.`,
  weight: ({ sum }) => `Each is divided by ${figures(sum)}: the weights add up to 1. Now softmax is done.`,
  mix: ({ key, x }) => `${percent(x)} of the value of ${key} is added to z.`,
  project: ({ width }) => `z times this head's rows of W_o: ${width} numbers, which are added to the residual stream.`,
};

export const NORM = {
  title: 'One vector through the norm',
  about: (/** @type {string} */ token, /** @type {number} */ width) => `the ${width} numbers of ${token}`,
  input: 'as it comes',
  centred: 'minus its mean',
  rescaled: 'brought to one size',
  values: {
    input: (/** @type {number} */ x) => `length ${figures(x)}`,
    centred: (/** @type {number} */ x) => `mean ${figures(x)}`,
    rescaled: (/** @type {number} */ x) => `divided by ${figures(x)}`,
  },
  first: (/** @type {Float32Array} */ x) => `${Array.from(x.subarray(0, 4), figures).join(', ')}, …`,
  gain: {
    layernorm:
      'LayerNorm: the mean is taken off, then the root of the variance divides. A learned gain for each number follows, and a bias if there is one.',
    rmsnorm:
      'RMSNorm: the root of the mean of the squares divides; no mean is taken off. A learned gain for each number follows.',
  },
  none: 'This norm has no learned gain.',
};

export const CURVES = {
  title: 'The activation function',
  about: (/** @type {string} */ own, /** @type {string} */ token) => `${own}, with the neurons of ${token} on it`,
  says: (/** @type {string} */ own, /** @type {{ count: number, above: number }} */ { count, above }) =>
    `${above} of ${count} neurons get a number above zero, which passes; ${own} holds the others near zero.`,
};
