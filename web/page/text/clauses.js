// clauses.js - clauses of the textbook about a part, by the architecture that is loaded
import { hasFfn, hasTwoStacks, isGated, rotates, rotatesAnywhere, scoreScale } from '../state/facts/architecture.js';
import { isSpecial } from '../state/facts/special_tokens.js';
import { ACTIVATIONS, FFN_NAMES, activationOf, shortTitle } from './ffn_text.js';
import { int, sentences, tokensSaid } from './format.js';
import { factor } from './stage_formulas.js';
import { say } from '../state/base/language.js';

const placed = (how) => sentences([say`A token’s embedding does not say where the token is in the text.`, how]);
/** How order gets in, by the kind of position. */
export const POSITION = {
  learned: placed(say`A second table has a row for each position, which is added.`),
  sinusoidal: placed(say`A fixed pattern of sines and cosines, different for every position, is added.`),
  rope: placed(say`Order enters later: queries and keys are rotated by angles that grow with the position.`),
  alibi: placed(say`Order comes in later: each score is lowered in proportion to the key’s distance (ALiBi).`),
  distance: placed(say`Order comes in later: a learned number for the key’s distance is added to each score.`),
  none: say`Only the mask tells this model where a token is in the text.`,
  unmasked: say`Nothing tells this model where in the text a token stands.`,
};

/** What is said of the rotation in the shown layer, if layers differ. */
export const order = (c, layer) =>
  !rotatesAnywhere(c) || rotates(c, layer)
    ? ''
    : say`Other layers rotate queries and keys by their positions. This one does not.`;

/** What norms are for, by their place. */
export const SCALE = {
  pre: say`Before anything reads a vector, it is brought to one size, so that no stage has to cope with very large or very small numbers. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.`,
  post: say`After each sum the stream is brought to one size, so that no stage has to cope with very large or very small numbers. In this kind of block that happens to the stream itself: whatever comes later reads it rescaled.`,
  sandwich: say`Before anything reads a vector, it is brought to one size, and so is what each part of a block computes, before it is added. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.`,
  output: say`What each part of a block computes is brought to one size before it is added, so that no part outweighs the others. In this kind of block the parts read the stream, the thin line that runs straight past, as it is.`,
};

/** What a norm rescales, and when. @type {Record<string, [string, string]>} */
const NORMED = {
  pre: [say`a vector`, say`before it is read`],
  post: [say`a vector`, say`after each sum`],
  sandwich: [say`a vector`, say`before it is read and again before what was computed from it is added`],
  output: [say`the output of attention or FFN`, say`before it is added`],
};
export function normed(c) {
  const [what, when] = NORMED[c.normPlacement];
  return c.norm === 'rmsnorm'
    ? say`RMSNorm divides ${what} by its root mean square ${when}.`
    : say`LayerNorm subtracts the mean of ${what} and divides by its standard deviation ${when}.`;
}

/** What happens between the two matrices of the FFN. */
export const activation = (c) =>
  isGated(c)
    ? say`${FFN_NAMES[c.ffn]} multiplies each by a gate, which a second matrix computes from the same input`
    : `${shortTitle(FFN_NAMES[c.ffn])} ${ACTIVATIONS[c.ffn].effect}`;

/** What a sliding window does, where there is one. */
export function windows(c) {
  if (!c.slidingWindow) return '';
  return c.windowLayers?.length
    ? say`In some layers a sliding window leaves only the last ${tokensSaid(c.slidingWindow)}, the token itself among them.`
    : say`A sliding window leaves only the last ${tokensSaid(c.slidingWindow)}, the token itself among them.`;
}

/** How the next stage changes the scores. */
export function scaling(c) {
  const scale = scoreScale(c);
  const most = say`most models now divide by √${c.dHead}`;
  if (c.scaleScores === false) return say`${most}; this one was told not to`;
  if (scale === 1) return say`${most}; this one takes the products as they are`;
  const how = c.scoreScale > 0 ? say`multiplies by ${factor(scale)}` : say`divides by √${c.dHead}`;
  return say`the next stage ${how}; switch between the two and watch the legend, not the picture`;
}

/** A key and its value in the cache. @param {string} [type]  of the cache */
export const keyValueBytes = (dHead, type) =>
  type === 'q8_0' ? 4 * Math.ceil(dHead / 4) + dHead + 8 : 2 * dHead * (type === 'f16' ? 2 : 4);

/** What becomes of the outputs of a block's parts. */
export function summing(c) {
  if (!c.useResidual)
    return say`In most models each part of a block adds its output to its input. Here that is switched off: each part passes on only its own output, and everything else is lost.`;
  if (c.normPlacement === 'post' && c.useNorm)
    return say`Every part of a block adds to the stream and a norm then rescales the sum, so that what was added early is still there, if ever more faintly.`;
  if (!hasFfn(c)) return say`Every block only adds to the stream; nothing overwrites it.`;
  return c.parallelResidual
    ? say`Both halves of a block read the same stream and add to it at once; nothing overwrites it.`
    : say`Both halves of a block only add to the stream; nothing overwrites it.`;
}

/**
 * How the text was cut.
 * @param {import('../state/store/state.js').State} s
 */
export function cut(s, c) {
  const list = (hasTwoStacks(c) ? s.text.sourceTokens : s.text.tokens.filter((t) => t.given)).filter(
    ({ id }) => !isSpecial(id), // the start of a text is none of its pieces
  );
  const whose = hasTwoStacks(c) ? say`The text that it reads` : say`Your text`;
  if (list.length === 1) return say`${whose} is one piece of a fixed list of ${int(c.vocabSize)}`;
  const one = list.every((t) => t.text && [...t.text].length === 1);
  return say`${whose} is cut into ${int(list.length)} pieces, here ${one ? say`single letters` : say`words and parts of words`}, from a fixed list of ${int(c.vocabSize)}`;
}
