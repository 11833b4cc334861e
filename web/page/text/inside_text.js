// inside_text.js - sentences of the view Inside: heads, attention, where the answer comes from. Layers and heads are
// counted from 1 here, and from 0 only in the names of points.

import { hasAlibi, hasDistanceBias, scoreScale } from '../state/facts/architecture.js';
import { headsSaid, keysSaid, layersSaid, queriesSaid, quoted } from './format.js';
import { factor } from './stage_formulas.js';
import { say } from '../state/base/language.js';

/**
 * @typedef {import('../state/calls/shown_attention.js').Stack} Stack
 * @typedef {{ layer: number, head: number }} Head  from 0, as in points
 */

/** @param {Head} of */
export const headName = ({ layer, head }) => say`layer ${layer + 1}, head ${head + 1}`;

/** Attentions of an encoder-decoder, in the order of the choice. @type {{ key: Stack, name: string }[]} */
export const STACKS = [
  { key: 'encoder', name: say`encoder` },
  { key: 'self', name: say`decoder` },
  { key: 'cross', name: say`across` },
];

export const HEADS = {
  title: say`Heads`,
  brief: say`all of them, live`,
  about: (layers, heads) => say`${layersSaid(layers)} × ${headsSaid(heads)}, a row per token`,
  /** @param {Head} of */
  habits: ({ layer, head }) => say`Habits of layer ${layer + 1}, head ${head + 1}`,
  measured: say`average attention over a sequence of random tokens repeated once`,
  /** The head that has a habit most. @param {Head} of */
  most: ({ layer, head }) => say`most: L${layer + 1} H${head + 1}`,
};

/** What a head may look at as a rule (state/calls/head_habits.js): its name, and a word for a small picture. */
export const HABITS = {
  previous: [say`previous token`, say`previous`],
  first: [say`first token`, say`first`],
  same: [say`same token`, say`same`],
  after: [say`induction`, say`induction`],
};

/** Over the column that gathers the keys before those shown, in two lines. */
export const EARLIER = (count) => [say`${count} earlier`, say`tokens, summed`];

/** The forms of a score, from a query and a key to a weight, as the configuration has them. */
export function formsOf(c) {
  const scale = scoreScale(c);
  const changes = [
    c.scoreSoftcap > 0 ? [say`capped`, say`capped`] : [],
    hasDistanceBias(c) ? [say`biased`, say`biased by distance`] : [],
    hasAlibi(c) ? [say`ALiBi`, say`lowered by distance`] : [],
    [say`masked`, say`masked`],
  ].filter((words) => words.length);
  const said = (i) => changes.map((words) => words[i]).join(', ');
  return /** @type {const} */ ([
    { key: 'raw', name: say`scores`, title: say`scores before scaling` },
    {
      key: 'scaled',
      name: c.scaleScores === false || c.scoreScale > 0 ? `× ${factor(scale)}` : '÷ √d',
      title: scale === 1 ? say`scores, not scaled` : say`scores, scaled`,
    },
    { key: 'masked', name: said(0), title: say`scores, ${said(1)}` },
    { key: 'pattern', name: say`softmax`, title: say`pattern` },
  ]);
}

export const ATTENTION = {
  /** @param {Stack} stack @param {Head} of */
  title: (stack, { layer, head }) =>
    ({
      encoder: say`Encoder layer ${layer + 1}, head ${head + 1}`,
      cross: say`Across, layer ${layer + 1}, head ${head + 1}`,
      self: say`Layer ${layer + 1}, head ${head + 1}`,
    })[stack],
  /** @param {any} c configuration */
  shape: (c, form, queries, keys) =>
    say`${formsOf(c).find(({ key }) => key === form)?.title} [${queriesSaid(queries)}, ${keysSaid(keys)}]`,
  /** A head's habit and how strong it is. @param {{ habit: keyof typeof HABITS, score: number }} of */
  habit: ({ habit, score }) => `${HABITS[habit][0]} ${score.toFixed(2)}`,
  zooms: (near) => [
    { key: 'near', name: say`last ${near} tokens` },
    { key: 'whole', name: say`whole text` },
  ],
  matrix: say`Attention of the chosen head. Arrow keys move over its cells, Enter explains one.`,
  masked: say`masked`,
  later: say`masked in a later step`,
  point: say`Point at a cell, or use the arrow keys.`,
  tap: say`Tap a cell to read its number.`,
  resting: say`Scores appear when writing pauses.`,
  unread: say`The engine has not read this token yet.`,
  /**
   * @param {{ query: number, key: number, from: any, to: any, value: string }} cell
   */
  cell: ({ query, key, from, to, value }) =>
    say`query ${query} ${quoted(from)} → key ${key} ${to ? quoted(to) : ''}: ${value}`,
  looks: (head, query) => say`Where head ${head + 1} looks from ${quoted(query)}`,
  about: say`Attention shows where a head reads, not why the model answers. Switch the head off to see what changes.`,
  off: say`Switch this head off`,
  /** @param {Head} of */
  caption: ({ layer, head }, from, to) =>
    say`Layer ${layer + 1}, head ${head + 1}: positions ${from} to ${to}, rows are queries, columns are keys`,
  explain: say`Explain this number`,
  choose: say`Choose a cell of the picture.`,
};

/** How alike an encoder finds texts. */
export const SIMILARITY = {
  title: say`Similarity of sentences`,
  about: (width) =>
    say`each text becomes one vector of ${width} numbers; the cosine between two is 1 where they point the same way`,
  label: say`Texts, one per line`,
  caption: say`Cosine similarity of the texts`,
  text: say`Text`,
  texts: [
    'Lily likes to play in the park with her dog.',
    'Tom loves to run in the garden with his cat.',
    'The soup was hot, so she waited.',
    'She waited because the soup was hot.',
  ].join('\n'),
};
