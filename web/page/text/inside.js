// inside.js - sentences of the view Inside: heads, attention, where the answer comes from. Layers and heads are counted
// from 1 here, and from 0 only in the names of points.

import { quoted } from './format.js';

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
  /** @param {number} layers @param {number} heads */
  about: (layers, heads) => `${layers} layers × ${heads} heads, a row per token`,
  /** @param {Head} of */
  profile: ({ layer, head }) => `Where head ${head + 1} of layer ${layer + 1} looks, on average`,
  spread: 'spread over about',
  /** @param {string} tokens */
  tokens: (tokens) => `${tokens} tokens`,
};

/** What a head looks at, by the measures of head_profile.js. */
export const HABITS = {
  self: 'the token itself',
  previous: 'the token before',
  first: 'the first token',
  same: 'earlier copies of it',
  after: 'what followed earlier copies',
};
