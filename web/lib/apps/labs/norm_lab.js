// norm_lab.js - the norm before or after each sublayer: gradients at the start, and training with and without warm-up
import { trainEach } from './lab_training.js';
import { claimRows, curvesOf, randomIntegers } from './measures.js';
import { paper } from './papers.js';
import { LENGTH, sortingOf, trainSorting } from './sorting_task.js';

/** @import { TrainOptions } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */

const [SHALLOW, DEEP] = [3, 12];
const STEPS = 240;
const EVERY = 10;
/** The share of the steps in which the rate rises. */
const WARMUP = 0.2;
const PLACES = /** @type {const} */ (['pre', 'post']);
/** The block of 2017. */
const BLOCK = /** @type {const} */ ({ d_model: 32, n_heads: 4, ffn: 'relu', context_length: 2 * LENGTH });
/** Adam and the first weights as in the paper: Xavier's deviation of a matrix of d_model rows and columns, in all. */
const ADAM = /** @type {const} */ ({
  muon: false,
  beta2: 0.98,
  finalRate: 1,
  initStd: BLOCK.d_model ** -0.5,
  initScaled: false,
  validateEvery: EVERY,
});

/** @param {'pre' | 'post'} norm_placement @param {number} n_layers @param {number} seed @param {TrainOptions} how */
const start = (norm_placement, n_layers, seed, how) =>
  trainSorting({ ...BLOCK, n_layers, norm_placement }, { ...ADAM, ...how }, { seed, most: LENGTH, batch: 64 });

/**
 * The gradient of the loss that reaches each layer of a fresh model: the root mean square over its matrices.
 * @param {'pre' | 'post'} place
 * @param {number} layers
 * @param {number[][]} sequences
 * @param {number} seed
 */
async function gradientsAtStart(place, layers, sequences, seed) {
  const training = start(place, layers, seed, { steps: 1 });
  const model = await training.model();
  await training.dispose();
  const sums = Array.from({ length: layers }, () => ({ squares: 0, n: 0 }));
  for (const ids of sequences) {
    const { gradients } = await model.gradients(ids, { of: 'loss', at: ['blocks.*.weight'] });
    for (const [name, { data, shape }] of Object.entries(gradients)) {
      if (shape.length !== 2) continue;
      const layer = sums[Number(name.split('.')[1])];
      for (const x of data) layer.squares += x * x;
      layer.n += data.length;
    }
  }
  model.dispose();
  return sums.map(({ squares, n }) => Math.sqrt(squares / n));
}

/** @type {Lab['run']} */
async function* run({ seed, size, change: lr, signal }) {
  const [sequences, steps] = size === 'short' ? [1, EVERY] : [16, STEPS];
  const random = randomIntegers(seed);
  const measured = Array.from({ length: sequences }, () => sortingOf(random, LENGTH).ids);
  const x = { name: 'layer', unit: '' };
  const y = { name: 'root mean square', unit: 'nats' };
  /** @type {number[][][]} */
  const [shallow, deep] = [[], []];
  for (const place of PLACES) {
    shallow.push(await gradientsAtStart(place, SHALLOW, measured, seed));
    deep.push(await gradientsAtStart(place, DEEP, measured, seed));
    const curves = deep.map((list, i) => ({ name: `${PLACES[i]}-norm`, x: list.map((_, layer) => layer), y: list }));
    const figures = [curvesOf('gradients', 'Gradient that reaches each layer, before training', x, y, curves)];
    yield { progress: 0, doing: `gradients with ${place}-norm`, figures };
  }
  const asked = PLACES.flatMap((place) =>
    [0, WARMUP].map((warmup) => ({
      name: `${place}-norm, ${warmup ? 'warm-up' : 'no warm-up'}`,
      start: () => start(place, DEEP, seed, { steps, signal, lr, warmup }),
    })),
  );
  const { losses, trained } = yield* trainEach(`Loss of sorting, ${DEEP} layers`, asked);
  return { found: findings(shallow, deep, losses), trained };
}

/** @param {number[][]} shallow @param {number[][]} deep @param {number[]} losses @returns {[string, boolean][]} */
function findings(shallow, deep, [preCold, preWarm, postCold, postWarm]) {
  const last = (/** @type {number[]} */ list) => list[list.length - 1];
  const [pre, post] = deep.map((list) => list[0] / last(list));
  const [preFalls, postFalls] = deep.map((list, i) => last(list) / last(shallow[i]));
  const both = (/** @type {number} */ cold, /** @type {number} */ warm) =>
    `loss ${cold.toFixed(2)} without warm-up, ${warm.toFixed(2)} with it`;
  return [
    [`${post.toFixed(2)} times that of the last, with pre-norm ${pre.toFixed(2)} times`, post < 0.5],
    [`to ${preFalls.toFixed(2)} of it`, preFalls > 0.4 && preFalls < 0.6],
    [`${postFalls.toFixed(2)} times that of 3 layers`, postFalls > 0.8 && postFalls < 1.25],
    [both(postCold, postWarm), postCold > postWarm + 0.5],
    [both(preCold, preWarm), preCold < preWarm + 0.1],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'norm',
  title: 'Norm before or after',
  claim:
    'With the norm after each residual sum, as in 2017, a deep transformer needs a learning rate that rises slowly. ' +
    'With the norm before each sublayer it does not.',
  references: [
    paper('Xiong et al. 2020', 'sections 3.2 and 3.3, figure 2, theorem 1'),
    {
      paper: 'Building a Transformer: The Complete Forward Pass',
      where: 'tutorial 1, section 2, "Residual Connections"',
    },
  ],
  claims: [
    ...claimRows('Tutorial 1', [
      [
        'With post-norm the gradient shrinks on its way to the first layer',
        '"a product of such factors can shrink or distort the signal"',
        'less than half of that of the last layer',
      ],
    ]),
    ...claimRows('Xiong et al. 2020', [
      [
        'With pre-norm the gradient of the last layer falls with the square root of the depth',
        'theorem 1',
        'from 3 to 12 layers to half',
      ],
      ['With post-norm it does not depend on the depth', 'theorem 1', 'the same at 12 layers'],
      ['Post-norm without warm-up fails', 'section 3.2, figure 2', 'a loss far above that with warm-up: 0.5 nats'],
      ['Pre-norm needs no warm-up', 'section 4, figure 4', 'as low a loss without it'],
    ]),
  ],
  look: [
    'Gradient: with post-norm it is about even over the layers, it does not shrink on its way to the first; PyTorch ' +
      'gives the same. With pre-norm the first layers get the most, the last ones the less the deeper the model is.',
    'Loss: all four models have 12 layers, the same examples and the same first matrices.',
  ],
  refutes: 'A model with post-norm that learns as well without warm-up.',
  model: null,
  change: { title: 'Learning rate', values: [0.0005, 0.001, 0.005], default: 0.001 },
  run,
};
