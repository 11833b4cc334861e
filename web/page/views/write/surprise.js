// surprise.js - bits of each token, how far the text came from what the model expected, as two paths of bars

import { scaleLinear } from 'd3-scale';

export const HEIGHT = 40; // of the drawing's own units; its width is 100
const FEWEST = 24; // tokens that share the width
const FEWEST_BITS = 8; // at the top of the drawing
const GAP = 0.22; // of a bar's width

/**
 * @param {import('../../state/state.js').Token[]} tokens
 * @param {number} chosen  its index, none where there is no such token
 * @returns null where too few probabilities are known
 */
export function surpriseOf(tokens, chosen) {
  const bits = tokens.map((t) => (t.logprob === null ? 0 : -t.logprob / Math.LN2));
  const known = tokens.filter((t) => t.logprob !== null).length;
  if (known < 4) return null;
  const most = bits.indexOf(Math.max(...bits));
  const x = scaleLinear([0, Math.max(FEWEST, bits.length)], [0, 100]);
  const y = scaleLinear([0, Math.max(FEWEST_BITS, bits[most])], [0.3, HEIGHT]).clamp(true);
  const width = (x(1) * (1 - GAP)).toFixed(3);
  const bar = (/** @type {number} */ i) =>
    `M${x(i).toFixed(2)} ${HEIGHT}v${(-y(bits[i])).toFixed(2)}h${width}v${y(bits[i]).toFixed(2)}z`;
  return {
    all: bits.map((_, i) => bar(i)).join(''),
    chosen: chosen >= 0 && chosen < bits.length ? bar(chosen) : '',
    mean: bits.reduce((sum, b) => sum + b, 0) / known,
    most,
    mostBits: bits[most],
    /** The token at this share of the width. */
    at: (/** @type {number} */ share) => Math.floor(x.invert(100 * share)),
  };
}
