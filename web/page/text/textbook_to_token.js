// textbook_to_token.js - the textbook's pages from the residual stream to the next token, and of cost, training and
// edits
import { hasFfn, hasNorms, hasTwoStacks, predicts } from '../state/facts/architecture.js';
import { SCALE, activation, keyValueBytes, normed, summing } from './clauses.js';
import { NORM_NAMES, widenedAnywhere } from './ffn_text.js';
import { int, percent, sentences } from './format.js';
import {
  LONGER,
  OTHER_LAYER,
  OTHER_MODEL,
  OTHER_PROMPT,
  OTHER_TOKEN,
  SWITCHED,
  TEMPERATURE,
  TRAINED,
  anatomy,
} from './textbook_parts.js';
import { inductionSaid } from './textbook_examples.js';
import { say } from '../state/base/language.js';

/** @typedef {import('./textbook_pages.js').Page} Page */

/** @type {Page[]} */
export const TO_TOKEN = [
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
    task: { words: say`The next block adds to the same stream.`, ...OTHER_LAYER },
    question: (c) =>
      hasTwoStacks(c)
        ? say`Across all decoder blocks, how many times is something added to a token’s stream?`
        : say`Across all blocks, how many times is something added to a token’s stream?`,
    hint: say`Count what one block adds, then the blocks.`,
  },
  {
    id: 'norm',
    title: say`Norm`,
    ...anatomy('norm1'),
    when: (c) => c.useNorm && hasNorms(c),
    paragraphs: (c) => [SCALE[c.normPlacement], normed(c)],
    task: { words: say`Each layer has a norm of its own.`, ...OTHER_LAYER },
    question: (c) =>
      say`Apply ${NORM_NAMES[c.norm]} with gain 1 to the vector (3, 4). What is the first number? (two decimals)`,
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
    task: { words: say`For another token other neurons become active.`, ...OTHER_TOKEN },
    question: () => say`What percentage of all parameters is in the feed-forward networks?`,
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
        say`Finally the stream is compared with one row per vocabulary token, which gives ${int(c.vocabSize)} scores called logits.`,
        c.tieWordEmbeddings
          ? say`The rows are those of the embedding table, used a second time: the weights are tied, and the table of parameters counts this head as 0.`
          : say`The rows are a table of their own, as large as the embedding.`,
      ]),
      say`Softmax turns the logits into probabilities.`,
    ],
    task: { words: say`See what could have followed it.`, ...OTHER_TOKEN },
    question: () => say`One logit is 2.303 larger than another. How many times more likely is its token?`,
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
      say`The next token is picked at random according to these probabilities. Temperature divides the logits before softmax: below 1 it favours likely tokens; at 0 the most likely token always wins. Top-k keeps the k most likely tokens; top-p the smallest set whose probabilities add up to p. A seed makes the choice repeatable.`,
    ],
    task: {
      words: say`Watch the bars: the model does not run again.`,
      ...TEMPERATURE,
    },
    question: () => say`With top-k = 1, what is the probability of the token that is picked, in per cent?`,
    hint: say`How many tokens are left to choose from?`,
  },
  {
    id: 'cache',
    title: say`The kv cache`,
    view: 'count',
    at: '.memory',
    when: (c) => predicts(c) && c.causal,
    paragraphs: (c, s) => [
      sentences([
        say`Keys and values of earlier tokens never change, so they are cached: one more token costs one new row instead of reading the whole text again. Here that is ${int(c.nLayers * c.nKvHeads * keyValueBytes(c.dHead, s.engine.model?.kvDtype))} bytes per token.`,
        hasTwoStacks(c) && say`Each token of the source takes as much, once.`,
        say`While the model writes, the cache is the green part of the map.`,
      ]),
    ],
    task: { words: say`Its key and value are new in the map.`, ...LONGER },
    question: () => say`For how many tokens are keys and values computed when one token is added to a text of 100?`,
    hint: say`Earlier tokens never change.`,
  },
  {
    id: 'parameters',
    title: say`Counting parameters`,
    view: 'count',
    at: '.parameters',
    paragraphs: (c, s) => [
      say`Each row of the table counts one component from the sizes of the model; the sum is compared with the file. ${percent((s.engine.model?.parameters.rows ?? []).filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0) / (s.engine.model?.parameters.total ?? 1))} of all parameters are in the feed-forward networks.`,
    ],
    task: { words: say`Compare the shares.`, ...OTHER_MODEL },
    question: () =>
      say`How many parameters do the four attention matrices of one layer (W_q, W_k, W_v, W_o) have, without biases?`,
    hint: say`Each matrix has d_model × (number of heads × d_head) entries; W_k and W_v count only the kv heads.`,
  },
  {
    id: 'cost',
    title: say`Cost`,
    view: 'count',
    at: '.cost',
    paragraphs: () => [
      say`For one token each weight of a matrix is read once, multiplied once and added once. Generating is therefore limited by memory speed, and reading a long prompt by arithmetic speed. Attention adds work that grows with the length of the text.`,
    ],
    task: { words: say`Read its time in the table.`, ...LONGER },
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
    task: { words: say`It takes about half a minute. Then use the model in the page.`, ...TRAINED },
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
      say`An induction head finds an earlier occurrence of the current token and attends to what followed it, so the model can continue a pattern that it has seen only once. It takes two heads: one in an earlier layer first tells each token which token came before it.`,
      ...[inductionSaid(s)].filter(Boolean),
    ],
    task: {
      words: say`Read a prompt that says a phrase twice, and look at the head named “induction”.`,
      ...OTHER_PROMPT,
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
      say`Where a head looks does not show what it does. Switch parts off and see how the text changes. If nothing changes, another part may be doing the same job.`,
    ],
    task: { words: say`The text is written again without it, beside the original.`, ...SWITCHED },
    question: () => say`With every head switched off, how many tokens does each prediction depend on?`,
    hint: say`Feed-forward networks see one token at a time.`,
  },
];
