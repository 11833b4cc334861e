// clauses.js - what the textbook says of a part, by the architecture that is loaded
import { hasFfn, hasTwoStacks, isGated, rotates, rotatesAnywhere, scoreScale } from '../state/architecture.js';
import { EFFECT, FFN_NAMES, activationOf } from './ffn.js';
import { int } from './format.js';
import { factor } from './formulas.js';

/** How order gets in, by the kind of position. */
export const POSITION = {
  learned:
    'The row of a token does not tell where it stands. A second table has a row for each position, which is added.',
  sinusoidal:
    'The row of a token does not tell where it stands. Sines and cosines of the position are added, a pattern of its own for each place.',
  rope: 'The row of a token does not tell where it stands. Order enters later: queries and keys are rotated by angles that grow with the position.',
  alibi:
    'The row of a token does not tell where it stands. Order enters later: from each score the distance of the key is subtracted (ALiBi).',
  distance:
    'The row of a token does not tell where it stands. Order enters later: to each score a learned number for the distance of the key is added.',
  none: 'Nothing tells this model where in the text a token stands, except the mask.',
};

/** Of the layer that is shown, where layers differ. */
export const order = (c, layer) =>
  !rotatesAnywhere(c) || rotates(c, layer)
    ? ''
    : 'Other layers rotate queries and keys by their positions. This one does not.';

/** What norms are for, by their place. */
export const SCALE = {
  pre: 'Before anything reads a vector, it is brought to one size, so that no stage has to cope with very large or very small numbers. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.',
  post: 'After each sum the stream is brought to one size, so that no stage has to cope with very large or very small numbers. In this kind of block that happens to the stream itself: whatever comes later reads it rescaled.',
  sandwich:
    'Before anything reads a vector, it is brought to one size, and so is what each part of a block computes, before it is added. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.',
  output:
    'What each part of a block computes is brought to one size before it is added, so that no part outweighs the others. In this kind of block the parts read the stream, the thin line that runs straight past, as it is.',
};

/** What a norm rescales, and when. @type {Record<string, [string, string]>} */
const NORMED = {
  pre: ['a vector', 'before it is read'],
  post: ['a vector', 'after each sum'],
  sandwich: ['a vector', 'before it is read and again before what was computed from it is added'],
  output: ['the output of attention or FFN', 'before it is added'],
};
export function normed(c) {
  const [what, when] = NORMED[c.normPlacement];
  const how =
    c.norm === 'rmsnorm'
      ? `RMSNorm divides ${what} by its root mean square ${when}`
      : `LayerNorm subtracts the mean of ${what} and divides by its standard deviation ${when}`;
  return `${how}.`;
}

/** What happens between the two matrices of the FFN. */
export const activation = (c) =>
  isGated(c)
    ? `${FFN_NAMES[c.ffn]} multiplies each by a gate, which a second matrix computes from the same input`
    : `${FFN_NAMES[c.ffn].split('-')[0]} ${EFFECT[activationOf(c.ffn)]}`;

/** What a sliding window does, where there is one. */
export function windows(c) {
  if (!c.slidingWindow) return '';
  const some = c.windowLayers?.length ? 'In some layers a' : 'A';
  return ` ${some} sliding window leaves only the last ${int(c.slidingWindow)} tokens, the token itself among them.`;
}

/** How the next stage changes the scores. */
export function scaling(c) {
  const scale = scoreScale(c);
  const most = `most models now divide by √${c.dHead}`;
  if (c.scaleScores === false) return `${most}; this one was told not to`;
  if (scale === 1) return `${most}; this one takes the products as they are`;
  const how = c.scoreScale > 0 ? `multiplies by ${factor(scale)}` : `divides by √${c.dHead}`;
  return `the next stage ${how}; switch between the two and watch the legend, not the picture`;
}

/** A key and its value in the cache. @param {string} [type]  of the cache */
export const keyValueBytes = (dHead, type) =>
  type === 'q8_0' ? 4 * Math.ceil(dHead / 4) + dHead + 8 : 2 * dHead * (type === 'f16' ? 2 : 4);

/** What becomes of the outputs of a block's parts. */
export function summing(c) {
  if (!c.useResidual)
    return 'In most models every part of a block adds to what came in. This one was told not to: each part passes on only what it made, and what it does not pass on is gone.';
  if (c.normPlacement === 'post' && c.useNorm)
    return 'Every part of a block adds to the stream and a norm then rescales the sum, so that what was added early is still there, if ever more faintly.';
  if (!hasFfn(c)) return 'Every block only adds to the stream; nothing overwrites it.';
  return c.parallelResidual
    ? 'Both halves of a block read the same stream and add to it at once; nothing overwrites it.'
    : 'Both halves of a block only add to the stream; nothing overwrites it.';
}

/**
 * How the text was cut.
 * @param {import('../state/state.js').State} s
 */
export function cut(s, c) {
  const list = hasTwoStacks(c) ? s.text.sourceTokens : s.text.tokens.filter((t) => t.given);
  const one = list.length > 1 && list.every((t) => t.text && [...t.text].length === 1);
  return `${hasTwoStacks(c) ? 'The text that it reads' : 'Your text'} is cut into ${int(list.length)} pieces, here ${one ? 'single letters' : 'words and parts of words'}, from a fixed list of ${int(c.vocabSize)}`;
}
