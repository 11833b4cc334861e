// walk.js - the stops of the guided walk: short texts that hold for the architecture that is loaded, and what each
// shows
import { int, percent, quoted } from './format.js';

/**
 * @typedef {import('../state/store.js').State} State
 * @typedef
 *   {{ title: string, view: import('../state/views.js').View, at: string, text: (s: State, c: any) => string, set?: (s: State) => Partial<State>, when?: (c: any) => boolean }}
 *   Stop `c` is the configuration: what is said is true of the model that is loaded; `when` it has such a part
 */

const twoStacks = (/** @type {any} */ c) => c.kind === 'encoder_decoder';
const writes = (/** @type {any} */ c) => c.kind !== 'encoder';

const POSITION = {
  learned: 'A second row, chosen by the place in the text, is added.',
  sinusoidal: 'Sines and cosines of the place in the text are added, a pattern of its own for each place.',
  rope: 'Nothing in them says yet where in the text the piece stands.',
  none: 'Nothing in them says where in the text the piece stands, and nothing later will: all that this model knows of order is the mask.',
};
const BEND = {
  relu: 'what is below zero becomes zero',
  gelu_erf: 'what is below zero is pushed towards it',
  gelu_tanh: 'what is below zero is pushed towards it',
  swiglu: 'one half decides how much of the other passes',
};

/**
 * How the text was cut.
 * @param {State} s
 * @param {any} c
 */
function pieces(s, c) {
  const list = twoStacks(c) ? s.sourceTokens : s.tokens.filter((t) => t.given);
  const one = list.length > 1 && list.every((t) => t.text && [...t.text].length === 1);
  return `${twoStacks(c) ? 'The text that it reads' : 'Your text'} is cut into ${int(list.length)} pieces, here ${one ? 'single letters' : 'words and parts of words'}, from a fixed list of ${int(c.vocabSize)}`;
}

/** @type {Stop[]} */
const STOPS = [
  {
    title: 'Tokens and their rows',
    view: 'inside',
    at: '.anatomy',
    set: () => ({ openStage: 'embed' }),
    text: (s, c) =>
      `A model works with numbers. ${pieces(s, c)}. The number of a piece picks one row of a table: ${c.dModel} values that stand for it from here on. ${s.head.layer === 0 ? 'The grey strips on the left are these rows, stronger where a value is large.' : 'In layer 1 the grey strips on the left are these rows.'} ${POSITION[c.usePosition ? c.position : 'none']}`,
  },
  {
    title: 'One scale',
    view: 'inside',
    at: '.anatomy',
    set: () => ({ openStage: 'norm1' }),
    when: (c) => c.useNorm,
    text: (_, c) =>
      c.normPlacement === 'post'
        ? 'After each sum the stream is brought to one size, so that no stage has to cope with very large or very small numbers. In this kind of block that happens to the stream itself: whatever comes later reads it rescaled.'
        : 'Before anything reads a vector, it is brought to one size, so that no stage has to cope with very large or very small numbers. The stream itself, the thin line that runs straight past, is left as it is in this kind of block.',
  },
  {
    title: 'Query, key, value',
    view: 'inside',
    at: '.anatomy',
    set: () => ({ openStage: 'qkv' }),
    text: (_, c) =>
      `Three matrices turn each vector into a query (blue), what the token looks for, a key (vermilion), what it can be found by, and a value (green), what it contributes, once for each of ${c.nHeads} heads. ${c.nKvHeads < c.nHeads ? `Groups of ${c.nHeads / c.nKvHeads} heads share keys and values. ` : ''}${c.position === 'rope' && c.usePosition ? 'Queries and keys are then rotated by an angle that grows with their position: this is how order gets in.' : ''}`,
  },
  {
    title: 'Scores',
    view: 'inside',
    at: '.attention',
    set: () => ({ openStage: '', stage: 'raw', zoom: 'near', stack: 'self' }),
    text: (_, c) =>
      `A head multiplies each query with each key. Rows are queries, columns are keys. Longer vectors give larger products, so ${c.scaleScores ? `the next stage divides by √${c.dHead}; switch between the two and watch the legend, not the picture` : `most models now divide by √${c.dHead}; this one was told not to`}.`,
  },
  {
    title: 'Mask',
    view: 'inside',
    at: '.attention',
    set: () => ({ stage: 'masked', stack: 'self' }),
    when: (c) => c.causal,
    text: (_, c) =>
      `A token must not look at what comes after it: during writing there is nothing there yet, and in training it would be the answer. These cells are struck out, which is not the same as zero: they do not take part at all.${c.slidingWindow ? ` Nor do those more than ${c.slidingWindow - 1} tokens back.` : ''}`,
  },
  {
    title: 'Softmax weights the values',
    view: 'inside',
    at: '.attention',
    set: () => ({ stage: 'pattern', stack: 'self' }),
    text: (s) =>
      `Each row becomes weights that add up to 1. The list on the right writes the largest out for ${quoted(s.tokens[Math.max(0, s.cursor)] ?? { text: '', id: 0 })}. With these weights the values are added up: in the anatomy, green ribbons as thick as their share. One more matrix brings the heads together, and the result is added to the stream. Choose other heads: each has a habit of its own.`,
  },
  {
    title: 'Across',
    view: 'inside',
    at: '.attention',
    set: () => ({ stage: 'pattern', stack: 'cross' }),
    when: twoStacks,
    text: (s, c) =>
      `What was read went through ${c.nEncoderLayers} blocks of its own, in which every token sees every other. Here the text that is written reads it: queries from one text, keys and values from the other. No mask is needed, since all ${int(s.sourceTokens.length)} tokens are there from the start. Follow the rows to see where it looked while it wrote.`,
  },
  {
    title: 'The wide layer',
    view: 'inside',
    at: '.anatomy',
    set: () => ({ openStage: 'ffn' }),
    text: (s, c) =>
      `Now each position works by itself: ${c.dModel} values become ${c.dFf}, ${BEND[c.ffn]}, and the result becomes ${c.dModel} values again. ${percent((s.model?.parameters.rows ?? []).filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0) / (s.model?.parameters.total ?? 1))} of all parameters are in these layers.`,
  },
  {
    title: 'The stream',
    view: 'inside',
    at: '.anatomy',
    set: () => ({ openStage: 'resid' }),
    text: (_, c) =>
      `${!c.useResidual ? 'In most models every part of a block adds to what came in. This one was told not to: each part passes on only what it made, and what it does not pass on is gone.' : !c.useNorm || c.normPlacement !== 'post' ? 'Both halves of a block only add to the stream; nothing overwrites it.' : 'Every part of a block adds to the stream and a norm then rescales the sum, so that what was added early is still there, if ever more faintly.'} ${c.nLayers === 1 ? 'This model has one block.' : `${c.nLayers} blocks do this one after another, each with weights of its own. Step through the layers above the picture.`}`,
  },
  {
    title: 'Back to words',
    view: 'count',
    at: '.parameters',
    set: () => ({ openStage: '' }),
    when: writes,
    text: (_, c) =>
      c.tieWordEmbeddings
        ? 'The last vector is compared with every row of the embedding table, the same one as at the beginning. That is why this table counts the head as 0: it is shared, not forgotten.'
        : 'The last vector is compared with one row for each token. This head is a table of its own here, as large as the embedding.',
  },
  {
    title: 'Choosing',
    view: 'write',
    at: '.next',
    when: writes,
    text: (s) =>
      `The result is a chance for every piece of the list. Temperature flattens or sharpens it, top-k and top-p cut its tail: move the sliders and watch the bars, the model need not run again. ${s.sampler.temperature === 0 ? 'At temperature 0, as now, the likeliest is always taken. ' : ''}Choose another bar than the one drawn, and the text goes on from there.`,
  },
  {
    title: 'Remembering',
    view: 'count',
    at: '.memory',
    when: (c) => writes(c) && c.causal,
    text: (_, c) =>
      `Keys and values of what was read do not change, so they are kept: one more token costs one row, not the whole text again. Here that is ${int(2 * c.nLayers * c.nKvHeads * c.dHead * 4)} bytes a token${twoStacks(c) ? ', and as much for each token of the source, made once' : ''}. The green part of the map grows as the text does.`,
  },
  {
    title: 'Take it apart',
    view: 'experiment',
    at: '.ablate',
    set: () => ({ openStage: '' }),
    text: (_, c) =>
      `Where a head looks is not yet what it is for. ${writes(c) ? 'The logit lens under “Inside” reads the stream with the head after each layer and divides the logit of the chosen token among all parts. Here, switch parts off and see how the text changes. Then load' : 'Load'} a model of your own: nothing leaves this page.`,
  },
];

/**
 * The stops that the loaded model has.
 * @param {State} s
 */
export const stopsOf = (s) => (s.model ? STOPS.filter((stop) => stop.when?.(s.model?.config) ?? true) : []);

export const WALK = {
  back: 'Back',
  next: 'Next',
  done: 'Done',
  leave: 'Leave',
  start: 'Guided walk',
  of: (/** @type {number} */ i, /** @type {number} */ n) => `${i} of ${n}`,
};
