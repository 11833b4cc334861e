// textbook_to_attention.js - the textbook's pages from the text to the end of attention
import { embedWidth, hasTwoStacks, positionKind, scoreScale, windowOf } from '../state/facts/architecture.js';
import { POSITION, cut, order, scaling, windows } from './clauses.js';
import { int, positionsSaid, quoted, sentences, tokensSaid } from './format.js';
import { CELL, OTHER_HEAD, OTHER_LAYER, OTHER_PROMPT, OTHER_TOKEN, SCALED, anatomy, matrix } from './textbook_parts.js';
import { blocks } from './stages_text.js';
import { say } from '../state/base/language.js';

/** @typedef {import('./textbook_pages.js').Page} Page */

/** @type {Page[]} */
export const TO_ATTENTION = [
  {
    id: 'token',
    title: say`Token`,
    view: 'write',
    at: '.stream',
    paragraphs: (c, s) => [
      say`A model works with numbers, not with letters. ${cut(s, c)}: frequent words are one piece, rare ones several. Each piece is a token and has a number, its id.`,
      say`The model writes in the same way: it predicts one token at a time and appends it.`,
    ],
    task: { words: say`Put a long or invented word into the prompt and look at its tokens.`, ...OTHER_PROMPT },
    question: () => say`How many tokens does “Strawberries grow slowly” become?`,
    hint: say`Type the sentence as the prompt and count its pieces.`,
  },
  {
    id: 'embedding',
    title: say`Embedding`,
    ...anatomy('embed'),
    paragraphs: (c, s) => [
      sentences([
        c.dEmbed
          ? say`The id of a token picks one row of a table, the embedding: ${int(embedWidth(c))} numbers, from which a matrix makes ${int(c.dModel)}, that stand for the token from here on.`
          : say`The id of a token picks one row of a table, the embedding: ${int(embedWidth(c))} numbers that stand for the token from here on.`,
        say`They are learned, and similar tokens get similar rows.`,
      ]),
      s.attention.head.layer === 0
        ? say`The grey strips on the left show these rows; darker means a larger number.`
        : say`In layer 1 the grey strips on the left show these rows.`,
    ],
    task: { words: say`Its strip is another row.`, ...OTHER_TOKEN },
    question: (c) =>
      say`The table has ${int(c.vocabSize)} rows of ${int(embedWidth(c))} numbers. How many parameters is that?`,
    hint: say`Rows times numbers in a row.`,
  },
  {
    id: 'position',
    title: say`Position`,
    ...anatomy('embed'),
    paragraphs: (c, s) => {
      const kind = positionKind(c);
      return [POSITION[kind === 'none' && !c.causal ? 'unmasked' : kind], order(c, s.attention.head.layer)].filter(
        Boolean,
      );
    },
    task: { words: say`Compare the two positions.`, ...OTHER_TOKEN },
    question: () =>
      say`A word appears twice in a text. Do both occurrences get the same row of the embedding table? (yes or no)`,
    hint: say`What selects the row: the token, or its position?`,
  },
  {
    id: 'qkv',
    title: say`Query, key, value`,
    ...anatomy('qkv'),
    paragraphs: (c) => [
      sentences([
        say`Three matrices turn each vector into a query (blue: what the token looks for), a key (vermilion: what it can be found by) and a value (green: what it passes on).`,
        c.nHeads > 1 && say`Each of the ${int(c.nHeads)} heads does this by itself.`,
        c.nKvHeads < c.nHeads && say`Groups of ${c.nHeads / c.nKvHeads} heads share keys and values.`,
      ]),
    ],
    task: { words: say`Each head has matrices of its own.`, ...OTHER_HEAD },
    question: () => say`How many queries does one token have in one layer?`,
    hint: say`Each head makes one.`,
  },
  {
    id: 'heads',
    title: say`Heads`,
    view: 'inside',
    at: '.heads',
    set: { view: { openStage: '' } },
    paragraphs: (c) => [
      sentences([
        c.nHeads === 1
          ? say`The ${int(c.dModel)} numbers of a vector are read by one head, in a space of its own with d_head = ${int(c.dHead)} numbers.`
          : say`The ${int(c.dModel)} numbers of a vector are read by ${int(c.nHeads)} heads in parallel. Each head projects them to its own d_head = ${int(c.dHead)} numbers.`,
        say`Heads learn what to look for. Many form a habit, such as attending to the previous token or to the first one.`,
      ]),
    ],
    task: { words: say`The heads of each layer have other patterns.`, ...OTHER_LAYER },
    question: () => say`How many numbers does one head’s query have?`,
    hint: say`It is called d_head: look among the sizes of the model.`,
  },
  {
    id: 'scores',
    title: say`Scores`,
    ...matrix({ form: 'raw', zoom: 'near', stack: 'self' }),
    paragraphs: (c) => [
      sentences([
        say`A head multiplies each query with each key. Rows are queries, columns are keys. Longer vectors give larger products, so ${scaling(c)}.`,
        scoreScale(c) < 1 && say`Without that one score swamps the rest, and softmax picks one token.`,
      ]),
    ],
    task: {
      words: say`The colours stay, the legend changes.`,
      ...SCALED,
    },
    question: () => say`By what number does this model divide the products? (two decimals)`,
    hint: say`It is the root of the numbers in a key, where the model divides at all.`,
  },
  {
    id: 'mask',
    title: say`Mask`,
    ...matrix({ form: 'masked', stack: 'self' }),
    when: (c) => c.causal,
    paragraphs: (c, s) => {
      const window = windowOf(c, s.attention.head.layer);
      return [
        sentences([
          say`A token may not attend to later tokens: while generating they do not exist yet, and in training they would give away the answer. Those cells are masked. That is not the same as zero: they take no part at all.`,
          window && say`Tokens more than ${positionsSaid(window - 1)} back are masked too.`,
          windows(c),
        ]),
      ];
    },
    task: { words: say`It outlines one pair of a query and a key.`, ...CELL },
    question: () => say`In a text of 4 tokens, how many query–key pairs are left?`,
    hint: say`The first token sees one key, the second two: add them up.`,
  },
  {
    id: 'softmax',
    title: say`Softmax`,
    ...matrix({ form: 'pattern', stack: 'self' }),
    paragraphs: (c, s) => [
      sentences([
        say`Softmax turns each row of scores into weights that are positive and add up to 1.`,
        !c.causal && say`Here every token may look at every other, earlier or later.`,
        say`The list on the right has the largest for ${quoted(s.text.tokens[Math.max(0, s.text.cursor)] ?? { text: '', id: -1 })}.`,
      ]),
    ],
    task: { words: say`Its weights are another row of the picture.`, ...OTHER_TOKEN },
    question: () => say`Which token gets the largest weight in the chosen head, for the chosen token?`,
    hint: say`It has the longest bar beside the picture of the head.`,
  },
  {
    id: 'mix',
    title: say`Mixing`,
    ...anatomy('out'),
    paragraphs: () => [
      say`Each head adds up the values, weighted by its attention (the green ribbons: thicker means more weight). Another matrix combines the heads, and the result is added to the stream.`,
    ],
    task: { words: say`Its ribbons come from other tokens.`, ...OTHER_HEAD },
    question: () => say`A head gives one token the weight 1. Its output is that token’s query, key or value?`,
    hint: say`What is multiplied by the weights and added up?`,
  },
  {
    id: 'cross',
    title: say`Cross-attention`,
    ...matrix({ form: 'pattern', stack: 'cross' }),
    when: hasTwoStacks,
    paragraphs: (c, s) => [
      say`What was read went through ${blocks(c.nEncoderLayers)} of the encoder, where every token sees every other. Here the text that is written reads it: queries from one text, keys and values from the other. No mask is needed, since the whole source, ${tokensSaid(s.text.sourceTokens.length)}, is there from the start.`,
    ],
    task: { words: say`See where it looked while it was written.`, ...OTHER_TOKEN },
    question: () => say`How many attentions does one decoder block have?`,
    hint: say`One text is its own, the other is the source.`,
  },
];
