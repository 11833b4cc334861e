// fill_lab.js - masked tokens: an encoder fills blanks from both sides, and compares sentences
import { claimRows, curvesOf, indexOfLargest, largest, matrixOf, mean } from './measures.js';
import { paper } from './papers.js';

/** @import { Model, Tensor } from '../../api/index.js' */
/** @import { Figure, Lab } from './labs.js' */
/**
 * What a blank gave. ranks: of the right token after each layer, from 1; right: with both sides, the left, the right.
 * @typedef {{token: number, ranks: number[], right: boolean[]}} Blank
 */

/** Written for this lab: the model has not seen them. */
const STORIES = [
  'One day, a little girl named Mia went to the park with her mom. She saw a big red ball under a tree. Mia ' +
    'wanted to play with the ball. Her mom smiled and said yes.',
  'Once upon a time, there was a small dog named Max. Max liked to run and jump in the garden. One day he ' +
    'found a bone in the grass. He was very happy and took it home.',
  'Tim and his sister were playing with their toys. Tim wanted the blue car, but his sister did not want to ' +
    'share. They both started to cry. Then their dad came and said, "You can take turns."',
  'The sun was hot and the boy was thirsty. He asked his mom for some water. She gave him a cup and he drank ' +
    'it all. "Thank you, Mom," he said with a big smile.',
  'A bird sat on a branch and sang a song. A cat heard the bird and wanted to catch it. The cat jumped, but ' +
    'the bird was too fast. It flew away into the sky.',
  'It was time for bed, but Lily was not tired. She asked her grandma to read a book. The book was about a ' +
    'bear who lived in a forest. Soon Lily closed her eyes and went to sleep.',
];
/** Sentences, each with one that says nearly the same in other words. */
const PAIRS = [
  ['The dog was very happy.', 'The puppy was full of joy.'],
  ['The girl cried because she was sad.', 'Lily felt bad and had tears in her eyes.'],
  ['He ate a big red apple.', 'Tom had some fruit for lunch.'],
  ['It was raining outside.', 'There was a storm and everything got wet.'],
  ['Mom read a book to her son.', 'The boy listened to a story from his mother.'],
  ['The bird flew high in the sky.', 'A duck went up above the clouds.'],
  ['They played with a ball in the park.', 'The kids had a fun game on the grass.'],
  ['The car was very fast.', 'The train went down the road with great speed.'],
  ['She went to bed because she was tired.', 'It was night, and Anna fell asleep.'],
  ['He was scared of the dark.', 'The monster in the shadow made Ben afraid.'],
  ['Dad fixed the broken toy.', 'My father made the doll work again.'],
  ['They shared the cake with their friends.', 'Everyone at the party got a piece of the sweet pie.'],
];
const WAYS = ['both sides', 'left side', 'right side'];
const DEPTH = { name: 'layer', unit: '' };
const RANK = { name: 'mean rank of the right token', unit: '', log: true };

const percent = (/** @type {ArrayLike<any>} */ list) => Math.round(100 * mean(Array.from(list, Number)));

/**
 * @param {Model} model
 * @param {number[]} ids  of a text, with blanks
 * @param {number} at     position of the blank
 * @param {number} token  that was there
 * @returns {Promise<Blank & {says: number}>}
 */
async function fill(model, ids, at, token) {
  const sides = [ids, ids.slice(0, at + 1), [ids[0], ...ids.slice(at)]];
  const said = [];
  for (const [way, side] of sides.entries()) {
    const { data } = (await model.forward(side, { logits: [way === 2 ? 1 : at] })).logits;
    said.push(indexOfLargest(data));
  }
  const lens = await model.logitLens(ids, { top: model.config.vocabSize, position: at });
  const ranks = lens.map(([row]) => 1 + row.findIndex(({ id }) => id === token));
  return { token, ranks, right: said.map((id) => id === token), says: said[0] };
}

/** Cosines of each sentence of PAIRS with each second one. @param {Tensor[]} a @param {Tensor[]} b */
const cosines = (a, b) =>
  a.map(({ data: x }) => b.map(({ data: y }) => x.reduce((sum, value, i) => sum + value * y[i], 0)));

/** The mean of the token embeddings, of length 1. @param {Model} model @param {string} text */
async function averaged(model, text) {
  const { data, shape } = (await model.forward(text, { capture: ['hook_embed'], logits: 'none' })).captured.hook_embed;
  const sums = Float32Array.from({ length: shape[1] }, (_, i) => mean(data.filter((__, j) => j % shape[1] === i)));
  const length = Math.hypot(...sums);
  return { data: sums.map((x) => x / length), shape: [shape[1]] };
}

/**
 * Which second sentence is nearest to each first one, by averaged states and by averaged token embeddings.
 * @param {Model} model
 * @param {number} n  pairs
 */
async function paraphrases(model, n) {
  const pairs = PAIRS.slice(0, n);
  const vectors = (/** @type {(text: string) => Promise<Tensor>} */ of) =>
    Promise.all([0, 1].map((side) => Promise.all(pairs.map((pair) => of(pair[side])))));
  const [states, words] = [
    await vectors((text) => model.embed(text, { normalize: true })),
    await vectors((text) => averaged(model, text)),
  ].map(([a, b]) => cosines(a, b));
  const labels = pairs.map((_, i) => i + 1);
  /** @type {[string, string]} */
  const title = ['First sentences beside second ones, by their states', 'cosine'];
  const texts = pairs.map(([a, b], i) => ({ name: `pair ${i + 1}`, text: `${a} ${b}` }));
  /** @type {Figure[]} */
  const figures = [
    matrixOf('sentences', title, ['first sentence', labels], ['second sentence', labels], states, [0.5, 1]),
    { id: 'pairs', kind: 'texts', title: 'The sentences', texts },
  ];
  return {
    figures,
    n,
    found: [states, words].map((table) => table.filter((row, i) => indexOfLargest(row) === i).length),
  };
}

/** @type {Lab['run']} */
async function* run({ model, size, change }) {
  const [mask] = await model.encode('[MASK]', { addSpecialTokens: false });
  const stories = size === 'short' ? [STORIES[0].slice(0, 60)] : STORIES;
  /** @type {Blank[]} */
  const blanks = [];
  const meanRanks = () => {
    const layers = Array.from({ length: model.config.nLayers }, (_, layer) => layer);
    return layers.map((layer) => Math.exp(mean(blanks.map(({ ranks }) => Math.log(ranks[layer])))));
  };
  for (const [i, story] of stories.entries()) {
    const ids = await model.encode(story);
    const apart = Math.ceil((ids.length - 1) / change);
    const texts = [];
    for (let at = 1; at < ids.length; at++) {
      const hidden = ids.map((id, j) => (j > 0 && (j - at) % apart === 0 ? mask : id));
      const { says, ...blank } = await fill(model, hidden, at, ids[at]);
      blanks.push(blank);
      if (at % 8 !== 4) continue;
      const [name, said, right] = await Promise.all(
        [hidden.slice(1), [says], [ids[at]]].map((list) => model.decode(list)),
      );
      texts.push({ name, text: `says “${said.trim()}”, it was “${right.trim()}”` });
    }
    const y = meanRanks();
    const curve = { name: 'all blanks so far', x: y.map((_, layer) => layer), y };
    yield {
      progress: (0.9 * (i + 1)) / stories.length,
      doing: story.slice(0, 40),
      figures: [
        curvesOf('ranks', 'Where the right token stands after each layer', DEPTH, RANK, [curve]),
        { id: 'blanks', kind: 'texts', title: 'Some blanks of this story', texts },
      ],
    };
  }
  const { figures, found, n } = await paraphrases(model, size === 'short' ? 2 : PAIRS.length);
  yield { progress: 1, doing: 'sentences', figures };
  const counts = blanks.map(({ token }) => blanks.filter((other) => other.token === token).length);
  const [commonest, [both, left, right]] = [
    Math.round((100 * largest(counts)) / blanks.length),
    WAYS.map((_, way) => percent(blanks.map((blank) => blank.right[way]))),
  ];
  const ranks = meanRanks();
  return {
    found: [
      [`${both} % of ${blanks.length}, the commonest token ${commonest} %`, both >= 3 * commonest],
      [`${both} %, from the left ${left} %, from the right ${right} %`, both >= Math.max(left, right) + 5],
      [ranks.map((rank) => rank.toFixed(1)).join(', '), ranks.every((rank, i) => !i || rank < ranks[i - 1])],
      [`${found[0]} of ${n}, by averaged embeddings ${found[1]}`, found[0] <= found[1]],
    ],
  };
}

/** @type {Lab} */
export const lab = {
  name: 'fill',
  title: 'Fill the blank',
  claim:
    'An encoder that was trained to find hidden tokens uses the words on both sides of a blank. The answer rises ' +
    'from layer to layer.',
  references: [paper('Devlin et al. 2019', 'sections 3.1 and 5.1'), paper('Reimers and Gurevych 2019', 'table 1')],
  claims: [
    ...claimRows('Devlin et al. 2019', [
      ['A blank is filled from the words around it', 'section 3.1', '3 times as often right as the commonest token'],
      ['Both sides are used', 'section 5.1, table 5', 'at least 5 points above either side alone'],
    ]),
    ...claimRows('nostalgebraist 2020', [
      ['The right token rises from layer to layer', 'logit lens', 'its mean rank is lower after each layer'],
    ]),
    ...claimRows('Reimers and Gurevych 2019', [
      ['Averaged states find no more paraphrases than averaged embeddings', 'table 1', 'not more of the pairs'],
    ]),
  ],
  look: [
    'Ranks: 1 means that the layer would fill the blank rightly; the mean is geometric.',
    'Blanks: many wrong answers fit as well.',
    'Sentences: those that mean the same are on the diagonal.',
  ],
  refutes: 'As many blanks filled right from one side alone, or ranks that do not fall.',
  model: 'fill/',
  change: { title: 'Blanks in a story at a time', values: [1, 4, 16], default: 1 },
  run,
};
