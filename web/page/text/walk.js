// walk.js - the stops of the guided walk: short texts that hold for the architecture that is loaded, and what each
// shows
import {
  embedWidth,
  hasAlibi,
  hasDistanceBias,
  hasTwoStacks,
  isGated,
  positionKind,
  predicts,
  rotates,
  rotatesAnywhere,
  scoreScale,
  windowOf,
} from '../state/architecture.js';
import { EFFECT, activationOf, widenedAnywhere } from './ffn.js';
import { int, percent, quoted } from './format.js';
import { factor } from './formulas.js';

/**
 * @typedef {import('../state/state.js').State} State
 * @typedef
 *   {{ title: string, view: import('../state/views.js').View, at: string, text: (s: State, c: any) => string, set?: import('../state/store.js').Patch, when?: (c: any) => boolean }}
 *   Stop `c` is the configuration: what is said is true of the model that is loaded; `when` it has such a part
 */

const POSITION = {
  learned: 'A second row, chosen by the place in the text, is added.',
  sinusoidal: 'Sines and cosines of the place in the text are added, a pattern of its own for each place.',
  rope: 'Nothing in them says yet where in the text the piece stands.',
  alibi: 'Nothing in them says yet where in the text the piece stands.',
  distance: 'Nothing in them says yet where in the text the piece stands.',
  none: 'Nothing in them says where in the text the piece stands, and nothing later will: all that this model knows of order is the mask.',
};
/** What happens between the two matrices of the FFN. @param {any} c */
const bend = (c) =>
  isGated(c)
    ? 'a second matrix makes a gate for each, which decides how much of it passes'
    : `the activation ${EFFECT[activationOf(c.ffn)].replace('numbers below zero', 'what is below zero')}`;

/** The norm of the first stop, by its place. @type {Record<string, string>} */
const SCALE = {
  pre: 'Before anything reads a vector, it is brought to one size, so that no stage has to cope with very large or very small numbers. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.',
  post: 'After each sum the stream is brought to one size, so that no stage has to cope with very large or very small numbers. In this kind of block that happens to the stream itself: whatever comes later reads it rescaled.',
  sandwich:
    'Before anything reads a vector, it is brought to one size, and so is what each part of a block computes, before it is added. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.',
  output:
    'What each part of a block computes is brought to one size before it is added, so that no part outweighs the others. In this kind of block the parts read the stream, the thin line that runs straight past, as it is.',
};

/** How the next stage changes the scores. @param {any} c */
function scaling(c) {
  const scale = scoreScale(c);
  const most = `most models now divide by √${c.dHead}`;
  if (c.scaleScores === false) return `${most}; this one was told not to`;
  if (scale === 1) return `${most}; this one takes the products as they are`;
  const how = c.scoreScale > 0 ? `multiplies by ${factor(scale)}` : `divides by √${c.dHead}`;
  return `the next stage ${how}; switch between the two and watch the legend, not the picture`;
}

/** How order gets into queries, keys and scores. @param {any} c @param {number} layer */
function order(c, layer) {
  if (hasAlibi(c))
    return 'Neither knows its place: order gets in with the scores, from which the distance of the key is subtracted (ALiBi).';
  if (hasDistanceBias(c))
    return 'Neither knows its place: order gets in with the scores, to which a learned number for the distance of the key is added.';
  if (!rotatesAnywhere(c)) return '';
  if (!rotates(c, layer)) return 'Other layers rotate queries and keys by their positions. This one does not.';
  return 'Queries and keys are then rotated by an angle that grows with their position: this is how order gets in.';
}

/** A key and its value in the cache. @param {number} dHead @param {string} [type]  of the cache */
const keyValueBytes = (dHead, type) =>
  type === 'q8_0' ? 4 * Math.ceil(dHead / 4) + dHead + 8 : 2 * dHead * (type === 'f16' ? 2 : 4);

/** What becomes of the outputs of a block's parts. @param {any} c */
function summing(c) {
  if (!c.useResidual)
    return 'In most models every part of a block adds to what came in. This one was told not to: each part passes on only what it made, and what it does not pass on is gone.';
  if (c.normPlacement === 'post' && c.useNorm)
    return 'Every part of a block adds to the stream and a norm then rescales the sum, so that what was added early is still there, if ever more faintly.';
  return c.parallelResidual
    ? 'Both halves of a block read the same stream and add to it at once; nothing overwrites it.'
    : 'Both halves of a block only add to the stream; nothing overwrites it.';
}

/**
 * How the text was cut.
 * @param {State} s
 * @param {any} c
 */
function pieces(s, c) {
  const list = hasTwoStacks(c) ? s.text.sourceTokens : s.text.tokens.filter((t) => t.given);
  const one = list.length > 1 && list.every((t) => t.text && [...t.text].length === 1);
  return `${hasTwoStacks(c) ? 'The text that it reads' : 'Your text'} is cut into ${int(list.length)} pieces, here ${one ? 'single letters' : 'words and parts of words'}, from a fixed list of ${int(c.vocabSize)}`;
}

/** @type {Stop[]} */
const STOPS = [
  {
    title: 'Tokens and their rows',
    view: 'inside',
    at: '.anatomy',
    set: { view: { openStage: 'embed' } },
    text: (s, c) =>
      `A model works with numbers. ${pieces(s, c)}. The number of a piece picks one row of a table: ${embedWidth(c)} values${c.dEmbed ? `, from which a matrix makes ${c.dModel},` : ''} that stand for it from here on. ${s.attention.head.layer === 0 ? 'The grey strips on the left are these rows, stronger where a value is large.' : 'In layer 1 the grey strips on the left are these rows.'} ${POSITION[positionKind(c)]}`,
  },
  {
    title: 'One scale',
    view: 'inside',
    at: '.anatomy',
    set: { view: { openStage: 'norm1' } },
    when: (c) => c.useNorm,
    text: (_, c) => SCALE[c.normPlacement],
  },
  {
    title: 'Query, key, value',
    view: 'inside',
    at: '.anatomy',
    set: { view: { openStage: 'qkv' } },
    text: (s, c) =>
      `Three matrices turn each vector into a query (blue), what the token looks for, a key (vermilion), what it can be found by, and a value (green), what it contributes, once for each of ${c.nHeads} heads. ${c.nKvHeads < c.nHeads ? `Groups of ${c.nHeads / c.nKvHeads} heads share keys and values. ` : ''}${order(c, s.attention.head.layer)}`,
  },
  {
    title: 'Scores',
    view: 'inside',
    at: '.attention',
    set: { view: { openStage: '' }, attention: { stage: 'raw', zoom: 'near', stack: 'self' } },
    text: (_, c) =>
      `A head multiplies each query with each key. Rows are queries, columns are keys. Longer vectors give larger products, so ${scaling(c)}.`,
  },
  {
    title: 'Mask',
    view: 'inside',
    at: '.attention',
    set: { attention: { stage: 'masked', stack: 'self' } },
    when: (c) => c.causal,
    text: (s, c) =>
      `A token must not look at what comes after it: during writing there is nothing there yet, and in training it would be the answer. These cells are struck out, which is not the same as zero: they do not take part at all.${windowOf(c, s.attention.head.layer) ? ` Nor do those more than ${windowOf(c, s.attention.head.layer) - 1} tokens back.` : c.slidingWindow ? ' Other layers also leave out what is far back.' : ''}`,
  },
  {
    title: 'Softmax weights the values',
    view: 'inside',
    at: '.attention',
    set: { attention: { stage: 'pattern', stack: 'self' } },
    text: (s) =>
      `Each row becomes weights that add up to 1. The list on the right writes the largest out for ${quoted(s.text.tokens[Math.max(0, s.text.cursor)] ?? { text: '', id: 0 })}. With these weights the values are added up: in the anatomy, green ribbons as thick as their share. One more matrix brings the heads together, and the result is added to the stream. Choose other heads: each has a habit of its own.`,
  },
  {
    title: 'Across',
    view: 'inside',
    at: '.attention',
    set: { attention: { stage: 'pattern', stack: 'cross' } },
    when: hasTwoStacks,
    text: (s, c) =>
      `What was read went through ${c.nEncoderLayers} blocks of its own, in which every token sees every other. Here the text that is written reads it: queries from one text, keys and values from the other. No mask is needed, since all ${int(s.text.sourceTokens.length)} tokens are there from the start. Follow the rows to see where it looked while it wrote.`,
  },
  {
    title: 'The wide layer',
    view: 'inside',
    at: '.anatomy',
    set: { view: { openStage: 'ffn' } },
    text: (s, c) =>
      `Now each position works by itself: ${c.dModel} values become ${widenedAnywhere(c)}, ${bend(c)}, and the result becomes ${c.dModel} values again. ${percent((s.run.model?.parameters.rows ?? []).filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0) / (s.run.model?.parameters.total ?? 1))} of all parameters are in these layers.`,
  },
  {
    title: 'The stream',
    view: 'inside',
    at: '.anatomy',
    set: { view: { openStage: 'resid' } },
    text: (_, c) =>
      `${summing(c)} ${c.nLayers === 1 ? 'This model has one block.' : `${c.nLayers} blocks do this one after another, each with weights of its own. Step through the layers above the picture.`}`,
  },
  {
    title: 'Back to words',
    view: 'count',
    at: '.parameters',
    set: { view: { openStage: '' } },
    when: predicts,
    text: (_, c) =>
      c.tieWordEmbeddings
        ? 'The last vector is compared with every row of the embedding table, the same one as at the beginning. That is why this table counts the head as 0: it is shared, not forgotten.'
        : 'The last vector is compared with one row for each token. This head is a table of its own here, as large as the embedding.',
  },
  {
    title: 'Choosing',
    view: 'write',
    at: '.next',
    when: predicts,
    text: (s) =>
      `The result is a chance for every piece of the list. Temperature flattens or sharpens it, top-k and top-p cut its tail: move the sliders and watch the bars, the model need not run again. ${s.sampler.temperature === 0 ? 'At temperature 0, as now, the likeliest is always taken. ' : ''}Choose another bar than the one drawn, and the text goes on from there.`,
  },
  {
    title: 'Remembering',
    view: 'count',
    at: '.memory',
    when: (c) => predicts(c) && c.causal,
    text: (s, c) =>
      `Keys and values of what was read do not change, so they are kept: one more token costs one row, not the whole text again. Here that is ${int(c.nLayers * c.nKvHeads * keyValueBytes(c.dHead, s.run.model?.kvDtype))} bytes a token${hasTwoStacks(c) ? ', and as much for each token of the source, made once' : ''}. The green part of the map grows as the text does.`,
  },
  {
    title: 'Take it apart',
    view: 'experiment',
    at: '.ablate',
    set: { view: { openStage: '' } },
    text: (_, c) =>
      `Where a head looks is not yet what it is for. ${predicts(c) ? 'The logit lens under “Inside” reads the stream with the head after each layer; where parts simply add up, the logit of the chosen token is divided among them. Here, switch parts off and see how the text changes. Then load' : 'Load'} a model of your own: nothing leaves this page.`,
  },
];

/**
 * The stops that the loaded model has.
 * @param {State} s
 */
export const stopsOf = (s) => (s.run.model ? STOPS.filter((stop) => stop.when?.(s.run.model?.config) ?? true) : []);

export const WALK = {
  back: 'Back',
  next: 'Next',
  done: 'Done',
  leave: 'Leave',
  of: (/** @type {number} */ i, /** @type {number} */ n) => `${i} of ${n}`,
};
