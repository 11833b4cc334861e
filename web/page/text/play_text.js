// play_text.js - sentences of a head's arithmetic, step by step
import { figures, percent } from './format.js';

export const PLAY = {
  title: 'One head, step by step',
  about: (query, head) => `what head ${head + 1} computes for ${query}`,
  play: 'Play',
  pause: 'Pause',
  back: 'One step back',
  on: 'One step on',
  step: 'Step',
  of: (i, n) => `${i + 1} of ${n}`,
  speed: 'Speed',
  perSecond: (n) => `${n} a second`,
  key: 'key',
  power: 'e^…',
  weight: 'weight',
  value: 'its value',
  early: (n) => `${n} earlier`,
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
  about: (token, width) => `the ${width} numbers of ${token}`,
  input: 'as it comes',
  centred: 'minus its mean',
  rescaled: 'brought to one size',
  values: {
    input: (x) => `length ${figures(x)}`,
    centred: (x) => `mean ${figures(x)}`,
    rescaled: (x) => `divided by ${figures(x)}`,
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
  about: (own, token) => `${own}, with the neurons of ${token} on it`,
  says: (own, /** @type {{ count: number, above: number }} */ { count, above }) =>
    `${above} of ${count} neurons get a number above zero, which passes; ${own} holds the others near zero.`,
};

/** Where positions come in, by kind of picture. */
export const POSITIONS = {
  title: {
    table: 'Positions that are added',
    turns: 'Positions as rotations',
    bias: 'Positions as a bias of the scores',
  },
  about: {
    table: (token, p) => `${token} gets row ${p}`,
    turns: (token, p) => `the query of ${token}, at position ${p}`,
    bias: (token, p) => `for the query of ${token}, at position ${p}`,
  },
  table: (/** @type {{ data: Float32Array, width: number }} */ { data, width }) =>
    `${data.length / width} rows, one for each position, of ${width} numbers each`,
  dial: (pair, turn) => `pair ${pair} turns by ${figures(turn)} radians`,
  speed: (pair, speed) => `pair ${pair}${speed === undefined ? '' : `\n${figures(speed)}`}`,
  /** @param {'table' | 'turns' | 'bias'} kind */
  words(c, kind, head) {
    if (kind === 'turns')
      return `Two numbers of head ${head + 1} are one pair, drawn as a hand: grey as q comes, in colour as the position turns it. Under it the angle for each position, in radians. Keys are turned the same way, so that their product with the query depends on the distance alone (RoPE).`;
    if (kind === 'bias')
      return c.position === 'alibi'
        ? 'Each head takes off its own slope times the distance of the key (ALiBi).'
        : 'Each head adds a learned number for the distance of the key.';
    const cosine = c.sinusoidPairs === 'half' ? 'the cosines follow after all sines' : 'each with its cosine beside it';
    const rule =
      c.position === 'learned' ? 'Each row is learned.' : `The sines of row p are sin(p / 10000^(2i/d)), ${cosine}.`;
    return `${rule} Colour is positive, ink negative.`;
  },
  curve: {
    table: (p) => `Product of row ${p} with each row, as a share of its product with itself.`,
    turns: () => 'Product of a vector with itself that many positions away, if all its pairs have the same length.',
    bias: () =>
      'What is added to the score of a key, by how many tokens it lies back. A line for each head, the chosen one in colour.',
  },
};
