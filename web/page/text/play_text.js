// play_text.js - sentences of a head's arithmetic, step by step
import { figures, percent, rowsSaid } from './format.js';
import { say } from '../state/base/language.js';

export const PLAY = {
  title: say`One head, step by step`,
  about: (query, head) => say`what head ${head + 1} computes for ${query}`,
  play: say`Play`,
  pause: say`Pause`,
  back: say`Previous step`,
  on: say`Next step`,
  step: say`Step`,
  of: (i, n) => say`${i + 1} of ${n}`,
  speed: say`Speed`,
  perSecond: (n) => say`${n} a second`,
  power: 'e^…',
  weight: say`weight`,
  value: say`its value`,
  others: (n) => (n === 1 ? say`1 other` : say`${n} others`),
  query: say`query`,
  z: say`z, mixed`,
  out: say`added to the stream`,
  waiting: say`The steps appear when writing pauses.`,
};

/**
 * What a step does, with its numbers.
 * @type {Record<import('../views/inside/anatomy/head_arithmetic.js').Step['at'], (of: { key: string, x: number, y: number, i: number, sum: number, scale: number, largest: number, width: number, causal: boolean }) => string>}
 */
export const STEP_WORDS = {
  product: ({ i, x, y, sum }) =>
    say`Number ${i} of the query times number ${i} of the key: ${figures(x)} × ${figures(y)} = ${figures(x * y)}. Sum so far: ${figures(sum)}.`,
  score: ({ key, x }) => say`All products of query and key of ${key} add up to the score ${figures(x)}.`,
  scale: ({ scale }) =>
    scale === 1
      ? say`This model does not scale its scores.`
      : say`Every score times ${figures(scale)}, so that wide heads have no larger scores than narrow ones.`,
  mask: ({ causal }) =>
    causal
      ? say`Keys that come later get −∞: a token cannot look ahead.`
      : say`This model has no causal mask: a token may attend to later tokens.`,
  power: ({ largest }) =>
    say`Subtract the largest score, ${figures(largest)}, and exponentiate: every result is positive and the largest is 1.`,
  sum: ({ sum }) => say`They add up to ${figures(sum)}.`,
  weight: ({ sum }) => say`Each is divided by ${figures(sum)}: the weights add up to 1. Now softmax is done.`,
  mix: ({ key, x }) => say`${percent(x)} of the value of ${key} is added to z.`,
  project: ({ width }) =>
    say`z times this head's rows of W_o: ${width} numbers, which are added to the residual stream.`,
};

export const NORM = {
  title: say`One vector through the norm`,
  about: (token, width) => say`the ${width} numbers of ${token}`,
  input: say`as it comes`,
  centred: say`minus its mean`,
  rescaled: say`brought to one size`,
  values: {
    input: (x) => say`length ${figures(x)}`,
    centred: (x) => say`mean ${figures(x)}`,
    rescaled: (x) => say`divided by ${figures(x)}`,
  },
  first: (/** @type {Float32Array} */ x) => `${Array.from(x.subarray(0, 4), figures).join(', ')}, …`,
  gain: {
    layernorm: say`LayerNorm subtracts the mean and divides by the standard deviation. Then each number is multiplied by a learned gain, and a bias is added if there is one.`,
    rmsnorm: say`RMSNorm: the root of the mean of the squares divides; no mean is taken off. A learned gain for each number follows.`,
  },
  none: say`This norm has no learned gain.`,
  times: say`multiply every number by`,
  plus: say`add to every number`,
  changes: {
    layernorm: say`Multiply, or add to every number: the last row stays the same.`,
    rmsnorm: say`Multiply: the last row stays the same. Add to every number: it changes, since no mean is taken off.`,
  },
};

export const CURVES = {
  title: say`The activation function`,
  about: (own, token) => say`${own}, with the neurons of ${token} on it`,
  says: (own, /** @type {{ count: number, above: number }} */ { count, above }) =>
    above === 1
      ? say`1 of ${count} neurons is positive and passes through; ${own} holds the rest near zero.`
      : say`${above} of ${count} neurons are positive and pass through; ${own} holds the rest near zero.`,
  input: say`input`,
  output: say`output`,
};

/** Names and sentences of the pictures of positions, by kind. */
export const POSITIONS = {
  title: {
    table: say`Positions that are added`,
    turns: say`Positions as rotations`,
    bias: say`Positions as a bias of the scores`,
  },
  about: {
    table: (token, p) => say`${token} gets row ${p}`,
    turns: (token, p) => say`the query of ${token}, at position ${p}`,
    bias: (token, p) => say`for the query of ${token}, at position ${p}`,
  },
  table: (/** @type {{ data: Float32Array, width: number }} */ { data, width }) =>
    say`${rowsSaid(data.length / width)}, one for each position, of ${width} numbers each`,
  product: say`product`,
  head: (of) => say`head ${of + 1}`,
  axes: { table: say`row`, turns: say`positions away`, bias: say`keys back` },
  dial: (pair, turn) => say`pair ${pair} turns by ${figures(turn)} radians`,
  speed: (pair, speed) => say`pair ${pair}${speed === undefined ? '' : `\n${figures(speed)}`}`,
  /** @param {'table' | 'turns' | 'bias'} kind */
  words(c, kind, head) {
    if (kind === 'turns')
      return say`Two numbers of head ${head + 1} are one pair, drawn as a hand: grey as q comes, in colour as the position turns it. Under it the angle for each position, in radians. Keys are turned the same way, so that their product with the query depends on the distance alone (RoPE).`;
    if (kind === 'bias')
      return c.position === 'alibi'
        ? say`Each head subtracts its own slope times the key’s distance (ALiBi).`
        : say`Each head adds a learned number for the distance of the key.`;
    const cosine =
      c.sinusoidPairs !== 'adjacent' ? say`the cosines follow after all sines` : say`each with its cosine beside it`;
    const rule =
      c.position === 'learned'
        ? say`Each row is learned.`
        : say`The sines of row p are sin(p / 10000^(2i/d)), ${cosine}.`;
    return say`${rule} Coloured = positive, dark = negative.`;
  },
  curve: {
    table: (p) => say`Product of row ${p} with each row, as a share of its product with itself.`,
    turns: () => say`Product of a vector with itself that many positions away, if all its pairs have the same length.`,
    bias: () => say`What is added to the score of a key, by how many tokens it lies back. A line for each head.`,
  },
};
