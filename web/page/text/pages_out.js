// pages_out.js - the textbook's pages from the residual stream to the next token, and of cost, training and edits
import { hasFfn, hasNorms, hasTwoStacks, predicts } from '../state/facts/architecture.js';
import { SCALE, activation, keyValueBytes, normed, summing } from './clauses.js';
import { NORM_NAMES, widenedAnywhere } from './ffn_text.js';
import { int, percent, sentences } from './format.js';
import { changed, otherPrompt, otherToken, otherLayer, otherModel, switched, longer, anatomy } from './page_parts.js';
import { inductionSaid } from './textbook_examples.js';
import { say } from '../state/base/language.js';

/** @typedef {import('./textbook_pages.js').Page} Page */

/** @type {Page[]} */
export const PAGES_OUT = [
  {
    id: 'stream',
    title: say`Residual stream`,
    ...anatomy('resid'),
    paragraphs: (c) => [
      sentences([
        summing(c),
        c.nLayers === 1
          ? say`This model has one block.`
          : say`${int(c.nLayers)} blocks do this one after another, each with weights of its own.`,
      ]),
    ],
    task: { words: say`Step to another layer above the picture.`, done: otherLayer },
    question: (c) =>
      hasTwoStacks(c)
        ? say`How many times is something added to the stream of a token in all decoder blocks together?`
        : say`How many times is something added to the stream of a token in all blocks together?`,
    hint: say`Count what one block adds, then the blocks.`,
  },
  {
    id: 'norm',
    title: say`Norm`,
    ...anatomy('norm1'),
    when: (c) => c.useNorm && hasNorms(c),
    paragraphs: (c) => [SCALE[c.normPlacement], normed(c)],
    task: { words: say`Step to another layer: it has a norm of its own.`, done: otherLayer },
    question: (c) =>
      say`${NORM_NAMES[c.norm]} of the vector (3, 4), its gain being 1: what is the first number? (two decimals)`,
    hint: say`RMSNorm divides by the root of the mean of the squares; LayerNorm subtracts the mean first.`,
  },
  {
    id: 'ffn',
    title: say`Feed-forward network`,
    ...anatomy('ffn'),
    when: hasFfn,
    paragraphs: (c) => [
      say`${c.parallelResidual ? say`Beside attention, and from the same stream,` : say`After attention`} each token is worked on alone: ${int(c.dModel)} numbers become ${widenedAnywhere(c)}, ${activation(c)}, and they become ${int(c.dModel)} again. Much of what a model knows about words is stored here.`,
    ],
    task: { words: say`Choose another token: other units are active.`, done: otherToken },
    question: () => say`What share of all parameters do the feed-forward networks have, in per cent?`,
    hint: say`The table under Count has a column of shares.`,
  },
  {
    id: 'logits',
    title: say`Logits`,
    view: 'write',
    at: '.next:not([hidden])',
    set: { view: { candidates: true } },
    when: predicts,
    paragraphs: (c) => [
      sentences([
        say`At the end the stream is compared with one row for each token: ${int(c.vocabSize)} logits.`,
        c.tieWordEmbeddings
          ? say`The rows are those of the embedding table, used a second time: the weights are tied, and the table of parameters counts this head as 0.`
          : say`The rows are a table of their own, as large as the embedding.`,
      ]),
      say`Softmax makes probabilities of the logits.`,
    ],
    task: { words: say`Choose a token of the text and look at what could have followed it.`, done: otherToken },
    question: () => say`One logit is larger than another by 2.303. How many times as probable is its token?`,
    hint: say`Softmax raises e to each logit: the difference is what counts.`,
  },
  {
    id: 'sampling',
    title: say`Temperature and top-k`,
    view: 'write',
    at: '.next:not([hidden])',
    set: { view: { candidates: true } },
    when: predicts,
    paragraphs: () => [
      say`The next token is drawn. Temperature divides the logits before softmax: below 1 the likeliest gain, at 0 the likeliest is always taken. Top-k keeps the k likeliest tokens; top-p the smallest set whose probabilities add up to p. A seed makes the draw repeatable.`,
    ],
    task: {
      words: say`Move the temperature and watch the bars: the model does not run again.`,
      done: changed((s) => s.sampler.temperature),
    },
    question: () => say`With top-k = 1, what is the probability of the token that is drawn, in per cent?`,
    hint: say`How many tokens are left to draw from?`,
  },
  {
    id: 'cache',
    title: say`The kv cache`,
    view: 'count',
    at: '.memory',
    when: (c) => predicts(c) && c.causal,
    paragraphs: (c, s) => [
      sentences([
        say`Keys and values of what was read do not change, so they are kept: one more token costs one row, not the whole text again. Here that is ${int(c.nLayers * c.nKvHeads * keyValueBytes(c.dHead, s.run.model?.kvDtype))} bytes a token.`,
        hasTwoStacks(c) && say`Each token of the source takes as much, once.`,
        say`The green part of the map grows as the text does.`,
      ]),
    ],
    task: { words: say`Write one more token (Step) and look at the map again.`, done: longer },
    question: () => say`For how many tokens are keys and values computed when one token is added to a text of 100?`,
    hint: say`What has been read does not change.`,
  },
  {
    id: 'parameters',
    title: say`Counting parameters`,
    view: 'count',
    at: '.parameters',
    paragraphs: (c, s) => [
      say`Each row of the table counts one component from the sizes of the model; the sum is compared with the file. ${percent((s.run.model?.parameters.rows ?? []).filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0) / (s.run.model?.parameters.total ?? 1))} of all parameters are in the feed-forward networks.`,
    ],
    task: { words: say`Load another model and compare the shares.`, done: otherModel },
    question: () =>
      say`How many parameters have the four matrices of one attention (W_q, W_k, W_v, W_o) in one layer, without biases?`,
    hint: say`A matrix has d_model rows for each number that the heads together make of it.`,
  },
  {
    id: 'cost',
    title: say`Cost`,
    view: 'count',
    at: '.cost',
    paragraphs: () => [
      say`For one token each weight of a matrix is read once, multiplied once and added once. Writing is therefore limited by how fast weights can be read, and reading a long prompt by how fast one can multiply. Attention adds work that grows with the length of the text.`,
    ],
    task: { words: say`Write one more token (Step) and read its time.`, done: longer },
    question: () => say`How many floating-point operations does one weight of a matrix take part in for one token?`,
    hint: say`It is multiplied, and the product is added.`,
  },
  {
    id: 'training',
    title: say`Training`,
    view: 'train',
    at: '.train',
    paragraphs: () => [
      say`Matrices begin as small random numbers, the gains of the norms as 1 and biases as 0. Training shows the model a text, compares its predictions with what follows, and moves every parameter a little so that the loss falls.`,
      say`The loss is the mean surprise: minus the natural logarithm of the probability of the correct token.`,
    ],
    task: { words: say`Train a small model on your own text, and use it.`, done: otherModel },
    question: (c) =>
      say`Before training all ${int(c.vocabSize)} tokens are about equally likely. What is the loss then? (two decimals)`,
    hint: say`Each token then has the probability 1 in as many: minus its natural logarithm.`,
  },
  {
    id: 'induction',
    title: say`Induction`,
    view: 'write',
    at: '.heads',
    when: (c) => predicts(c) && c.causal && c.nLayers > 1,
    paragraphs: (c, s) => [
      say`A head can look for an earlier place where the present token stood, and attend to what followed it there. With it a model continues a pattern that it has seen once, in its prompt. Two heads do this together: one in an earlier layer tells each token what came before it.`,
      ...[inductionSaid(s)].filter(Boolean),
    ],
    task: {
      words: say`Give it a prompt that says a phrase twice, then look at the head named “induction”.`,
      done: otherPrompt,
    },
    question: () => say`The text is A B C A. Which letter does an induction head predict?`,
    hint: say`What followed the first A?`,
  },
  {
    id: 'edits',
    title: say`Edits`,
    view: 'experiment',
    at: '.ablate',
    set: { view: { openStage: '' } },
    paragraphs: () => [
      say`Where a head looks is not yet what it is for. Switch parts off and see how the text changes: what changes nothing alone may still be replaced by another part. Then load a model of your own: nothing leaves this page.`,
    ],
    task: { words: say`Switch off one head, or one feed-forward network.`, done: switched },
    question: () => say`With every head switched off, on how many tokens of a text does a prediction depend?`,
    hint: say`Feed-forward networks see one token at a time.`,
  },
];
