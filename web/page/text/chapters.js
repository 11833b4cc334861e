// chapters.js - the chapters of "Learn": what a concept is, one thing to try, one question. All of it holds for the
// architecture that is loaded.
import { embedWidth, isGated, positionKind, predicts } from '../state/architecture.js';
import { EFFECT, FFN_NAMES, activationOf, widenedAnywhere } from './ffn.js';
import { int } from './format.js';
import { factor } from './formulas.js';

/**
 * @typedef {object} Chapter
 * @property {string} id
 * @property {string} title
 * @property {(c: any) => string[]} paragraphs  c: the configuration
 * @property {{ words: string, button: string, view: string, set?: import('../state/store.js').Patch }} task
 * @property {(c: any) => string} question      asked of `questions.js` under the same id
 * @property {(c: any) => boolean} [when]       the loaded model has such a part
 */

const POSITION = {
  learned: 'A second table has a row for each position, which is added.',
  sinusoidal: 'Sines and cosines of the position are added.',
  rope: 'Order enters later: queries and keys are rotated by angles that grow with the position.',
  alibi: 'Order enters later: from each score the distance of the key is subtracted (ALiBi).',
  distance: 'Order enters later: to each score a learned number for the distance of the key is added.',
  none: 'Nothing tells this model where in the text a token stands, except the mask.',
};
/** @param {any} c */
const activation = (c) =>
  isGated(c)
    ? `${FFN_NAMES[c.ffn]} multiplies each by a gate, which a second matrix computes from the same input`
    : `${FFN_NAMES[c.ffn].split('-')[0]} ${EFFECT[activationOf(c.ffn)]}`;

/** What a sliding window does, where there is one. @param {any} c */
function windows(c) {
  if (!c.slidingWindow) return '';
  const some = c.windowLayers?.length ? 'In some layers a' : 'A';
  return ` ${some} sliding window leaves only the last ${int(c.slidingWindow)} tokens, the token itself among them.`;
}

/** What a norm rescales, and when. @type {Record<string, [string, string]>} */
const NORMED = {
  pre: ['a vector', 'before it is read'],
  post: ['a vector', 'after each sum'],
  sandwich: ['a vector', 'before it is read and again before what was computed from it is added'],
  output: ['the output of attention or FFN', 'before it is added'],
};
/** @param {any} c */
function normWords(c) {
  if (!c.useNorm)
    return 'Most models rescale vectors from layer to layer by a norm. In this one the norms inside the blocks are switched off.';
  const [what, when] = NORMED[c.normPlacement];
  const how =
    c.norm === 'rmsnorm'
      ? `RMSNorm divides ${what} by its root mean square ${when}`
      : `LayerNorm subtracts the mean of ${what} and divides by its standard deviation ${when}`;
  return `${how}, so that sizes stay alike from layer to layer.`;
}

/** @type {Chapter[]} */
export const CHAPTERS = [
  {
    id: 'tokens',
    title: 'Tokens',
    paragraphs: (c) => [
      `A model does not read letters. A tokenizer cuts the text into pieces from a fixed list, here ${int(c.vocabSize)} of them: frequent words are one piece, rare ones several. Each piece has a number, its id.`,
      'The model writes in the same way: it predicts one piece at a time and appends it.',
    ],
    task: {
      words: 'Type a long or invented word into the prompt and look at its tokens.',
      button: 'Go to the text',
      view: 'write',
    },
    question: () => 'Into how many tokens is “Strawberries grow slowly” cut?',
  },
  {
    id: 'embedding',
    title: 'Embedding',
    paragraphs: (c) => [
      `Each id picks one row of the embedding table. A row has ${int(embedWidth(c))} numbers${c.dEmbed ? `, from which a matrix makes ${int(c.dModel)}` : ''}; they are learned, and similar tokens get similar rows.`,
      POSITION[positionKind(c)],
    ],
    task: {
      words: 'Open the first stage of the anatomy: each lane shows the row of its token.',
      button: 'Open the embedding',
      view: 'inside',
      set: { view: { openStage: 'embed' } },
    },
    question: (c) =>
      `The table has ${int(c.vocabSize)} rows of ${int(embedWidth(c))} numbers. How many parameters are that?`,
  },
  {
    id: 'attention',
    title: 'Attention',
    paragraphs: (c) => [
      `Every token makes a query, a key and a value in each of ${int(c.nHeads)} heads. A head multiplies the query of a token with the keys of the others; softmax makes weights of the products, and with these weights the values are added up.`,
      c.causal
        ? `A token may not look at later ones: they are masked, because in training they are the answer.${windows(c)}`
        : `Here every token may look at every other, earlier or later.${windows(c)}`,
    ],
    task: {
      words: 'Choose a token and a head, and see where the head looks.',
      button: 'Open the heads',
      view: 'inside',
      set: { attention: { stage: 'pattern' } },
    },
    question: () =>
      'Which token gets the largest weight in the chosen head, for the chosen token of your text? (See “Inside”.)',
  },
  {
    id: 'ffn',
    title: 'Feed-forward network',
    paragraphs: (c) => [
      `${c.parallelResidual ? 'Beside attention, and from the same stream,' : 'After attention'} each token is worked on alone: ${int(c.dModel)} numbers become ${widenedAnywhere(c)}, ${activation(c)}, and they become ${int(c.dModel)} again.`,
      'Much of what a model knows about words is stored here.',
    ],
    task: {
      words: 'Open the FFN, and switch off its strongest neuron.',
      button: 'Open the FFN',
      view: 'inside',
      set: { view: { openStage: 'ffn' } },
    },
    question: () => 'What share of all parameters do the feed-forward networks have, in per cent?',
  },
  {
    id: 'stream',
    title: 'Residual stream and norms',
    paragraphs: (c) => [
      c.useResidual
        ? `Attention and FFN do not replace the vector of a token, they add to it${c.parallelResidual ? ', both at once' : ''}. The sum that runs through all blocks is the residual stream.`
        : 'In most models attention and FFN add to the vector of a token. This one was told not to: each passes on only its own output.',
      normWords(c),
    ],
    task: {
      words: 'Run the model without the residual connection, and read what it writes.',
      button: 'Break it',
      view: 'experiment',
    },
    question: (c) =>
      c.kind === 'encoder_decoder'
        ? 'How many times is something added to the stream of a token in the decoder’s blocks?'
        : 'How many times is something added to the stream of a token in all blocks together?',
  },
  {
    id: 'logits',
    title: 'Logits and probabilities',
    when: predicts,
    paragraphs: (c) => [
      `At the end the stream is compared with one row for each token: ${int(c.vocabSize)} scores, the logits. ${c.tieWordEmbeddings ? 'The rows are those of the embedding table, used a second time.' : 'The rows are a table of their own.'}${c.logitSoftcap > 0 ? ` A soft cap keeps each logit between −${factor(c.logitSoftcap)} and ${factor(c.logitSoftcap)}.` : ''}`,
      'Softmax makes probabilities of the logits: all are positive, and they add up to 1.',
    ],
    task: {
      words: 'Choose a token of the text and look at what could have followed it.',
      button: 'Go to the text',
      view: 'write',
    },
    question: () => 'One logit is larger than another by 2.303. How many times as probable is its token?',
  },
  {
    id: 'sampling',
    title: 'Sampling',
    when: predicts,
    paragraphs: () => [
      'The next token is drawn from the probabilities. Temperature divides the logits before softmax: below 1 the likeliest gain, at 0 the likeliest is always taken.',
      'Top-k keeps the k likeliest tokens; top-p keeps the smallest set whose probabilities add up to p. A seed makes the draw repeatable.',
    ],
    task: {
      words: 'Move the temperature and watch the bars: the model does not have to run again.',
      button: 'Go to the sampler',
      view: 'write',
    },
    question: () => 'With top-k = 1, what is the probability of the token that is drawn, in per cent?',
  },
  {
    id: 'training',
    title: 'Training',
    paragraphs: () => [
      'All parameters begin as random numbers. Training shows the model a text, compares its predictions with what follows, and moves every parameter a little so that the loss falls.',
      'The loss is the mean surprise: minus the natural logarithm of the probability of the correct token.',
    ],
    task: {
      words: 'Train a small model on your own text, in this tab.',
      button: 'Go to training',
      view: 'train',
    },
    question: (c) =>
      `Before training all ${int(c.vocabSize)} tokens are about equally likely. What is the loss then? (two decimals)`,
  },
  {
    id: 'encoder-decoder',
    title: 'Encoder and decoder',
    paragraphs: (c) => [
      'The transformer of 2017 has two stacks. The encoder reads a source text, every token seeing every other. The decoder writes, and in each block a second attention takes its keys and values from the encoder’s output.',
      c.kind === 'encoder_decoder'
        ? `The loaded model is of this kind: ${c.nEncoderLayers} encoder blocks and ${c.nLayers} decoder blocks.`
        : 'The model that is loaded has one stack. “dates”, among the models of this page, has two.',
    ],
    task: {
      words: 'Load “dates”, let it read a date, and watch its cross-attention.',
      button: 'Choose a model',
      view: 'models',
    },
    question: () => 'How many attentions does one decoder block of such a model have?',
  },
];

export const CHAPTER_WORDS = {
  title: 'Chapters',
  about: 'nine concepts, each with one thing to try and one question',
  task: 'Try it',
  question: 'Question',
  answer: 'your answer',
  check: 'Check',
  right: (/** @type {string} */ answer) => `Right: ${answer}.`,
  wrong: 'Not yet. Look again, or try another answer.',
  unknown: 'The question needs a text: write one first.',
  done: (/** @type {number} */ n, /** @type {number} */ all) => `${n} of ${all} questions answered`,
};
