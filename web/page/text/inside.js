// inside.js - sentences of the view Inside: heads, attention, where the answer comes from. Layers and heads are counted
// from 1 here, and from 0 only in the names of points.

import { hasAlibi, hasDistanceBias, scoreScale } from '../state/architecture.js';
import { quoted } from './format.js';
import { factor } from './formulas.js';

/**
 * @typedef {import('../state/patterns.js').Stack} Stack
 * @typedef {{ layer: number, head: number }} Head  from 0, as in points
 */

/** @param {Head} of */
export const headName = ({ layer, head }) => `layer ${layer + 1}, head ${head + 1}`;

/** Attentions of an encoder-decoder, in the order of the choice. @type {{ key: Stack, name: string }[]} */
export const STACKS = [
  { key: 'encoder', name: 'encoder' },
  { key: 'self', name: 'decoder' },
  { key: 'cross', name: 'across' },
];

export const HEADS = {
  title: 'Heads',
  about: (layers, heads) => `${layers} layer${layers === 1 ? '' : 's'} × ${heads} heads, a row per token`,
  /** @param {Head} of */
  habits: ({ layer, head }) => `Habits of layer ${layer + 1}, head ${head + 1}`,
  measured: 'mean weight on random tokens that come twice',
  /** The head that has a habit most. @param {Head} of */
  most: ({ layer, head }) => `most: L${layer + 1} H${head + 1}`,
};

/** What a head may look at as a rule (state/habits.js): its name, and a word for a small picture. */
export const HABITS = {
  previous: ['previous token', 'previous'],
  first: ['first token', 'first'],
  same: ['same token', 'same'],
  after: ['what followed before', 'followed'],
};

/** Over the column that gathers the keys before those shown, in two lines. */
export const EARLIER = (count) => [`${count} earlier`, 'tokens, summed'];

/** Steps from a query and a key to a weight, as the configuration has them. */
export function stagesOf(c) {
  const scale = scoreScale(c);
  const changes = [
    c.scoreSoftcap > 0 ? ['capped', 'capped'] : [],
    hasDistanceBias(c) ? ['biased', 'biased by distance'] : [],
    hasAlibi(c) ? ['ALiBi', 'lowered by distance'] : [],
    ['masked', 'masked'],
  ].filter((words) => words.length);
  const said = (i) => changes.map((words) => words[i]).join(', ');
  return /** @type {const} */ ([
    { key: 'raw', name: 'scores', title: 'scores before scaling' },
    {
      key: 'scaled',
      name: c.scaleScores === false || c.scoreScale > 0 ? `× ${factor(scale)}` : '÷ √d',
      title: scale === 1 ? 'scores, not scaled' : 'scores, scaled',
    },
    { key: 'masked', name: said(0), title: `scores, ${said(1)}` },
    { key: 'pattern', name: 'softmax', title: 'pattern' },
  ]);
}

const STACK_TITLES = { encoder: 'Encoder layer', cross: 'Across, layer', self: 'Layer' };

export const ATTENTION = {
  /** @param {Stack} stack @param {Head} of */
  title: (stack, { layer, head }) => `${STACK_TITLES[stack]} ${layer + 1}, head ${head + 1}`,
  /** @param {any} c configuration */
  shape: (c, stage, queries, keys) =>
    `${stagesOf(c).find(({ key }) => key === stage)?.title} [${queries} queries, ${keys} keys]`,
  /** A head's habit and how strong it is. @param {{ habit: keyof typeof HABITS, score: number }} of */
  habit: ({ habit, score }) => `${HABITS[habit][0]} ${score.toFixed(2)}`,
  zooms: (near) => [
    { key: 'near', name: `last ${near} tokens` },
    { key: 'whole', name: 'whole text' },
  ],
  axes: 'Rows: queries. Columns: keys. Hatched: masked.',
  more: 'More',
  matrix: 'Attention of the chosen head. Arrow keys move over its cells, Enter explains one.',
  masked: 'masked',
  later: 'masked in a later step',
  point: 'Point at a cell, or use the arrow keys.',
  tap: 'Tap a cell to read its number.',
  resting: 'The scores come when the text rests.',
  unread: 'The engine has not read this token yet.',
  /**
   * @param {{ query: number, key: number, from: any, to: any, value: string }} cell
   */
  cell: ({ query, key, from, to, value }) =>
    `query ${query} ${quoted(from)} → key ${key} ${to ? quoted(to) : ''}: ${value}`,
  looks: (head, query) => `Where head ${head + 1} looks from ${quoted(query)}`,
  about: 'Attention shows where a head reads, not why the model answers. Switch the head off to see what changes.',
  off: 'Switch this head off',
  /** @param {Head} of */
  caption: ({ layer, head }, from, to) =>
    `Layer ${layer + 1}, head ${head + 1}: positions ${from} to ${to}, rows are queries, columns are keys`,
  explain: 'Explain this number',
  choose: 'Choose a cell of the picture.',
};
