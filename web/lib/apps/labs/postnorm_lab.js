// postnorm_lab.js - the depth at which a model with post-norm needs a learning rate that rises slowly
import { trainEach } from './lab_training.js';
import { claimRows, curvesOf } from './measures.js';
import { paper } from './papers.js';
import { NUMBERS, trainSorting } from './sorting_task.js';

/** @import { TrainOptions } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */

const DEPTHS = /** @type {const} */ ([3, 6, 12]);
const [SHALLOW, MIDDLE, DEEP] = DEPTHS;
/** Numbers in a list. */
const MOST = 6;
const STEPS = 160;
const EVERY = 10;
/** The share of the steps in which the rate rises. */
const [WARMUP, SHORT] = [0.2, 0.05];
/** The loss of a guess, and the least one of a model that is said to have learned nothing. */
const GUESS = Math.log(NUMBERS);
const NOTHING = 3.8;
/** How far apart losses are that differ. */
const APART = 0.5;
/** The block of 2017. */
const BLOCK = /** @type {const} */ ({ d_model: 32, n_heads: 4, ffn: 'relu', context_length: 2 * MOST });
/** Adam and the first weights as in the lab "norm"; after the warm-up the rate stays. */
const ADAM = /** @type {const} */ ({
  ...{ muon: false, beta2: 0.98, finalRate: 1, validateEvery: EVERY },
  ...{ initStd: BLOCK.d_model ** -0.5, initScaled: false },
});
/** The ways to train at each depth. @type {[name: string, place: 'pre' | 'post', warmup: number][]} */
const WAYS = [
  ['post-norm, no warm-up', 'post', 0],
  ['post-norm, warm-up', 'post', WARMUP],
  ['pre-norm, no warm-up', 'pre', 0],
];
/** Further runs at the depth in the middle; factor: of the learning rate. */
const CONTROLS = /** @type {[name: string, place: 'pre' | 'post', warmup: number, factor: number][]} */ ([
  ['post-norm, no warm-up, nine tenths of the rate', 'post', 0, 1 - WARMUP / 2],
  ['post-norm, no warm-up, a fifth of the rate', 'post', 0, 0.2],
  ['post-norm, a quarter of the warm-up', 'post', SHORT, 1],
  ['pre-norm, warm-up', 'pre', WARMUP, 1],
]);

/** @type {Lab['run']} */
async function* run({ seed, size, change, signal }) {
  const start =
    (
      /** @type {number} */ n_layers,
      /** @type {'pre' | 'post'} */ norm_placement,
      /** @type {number} */ warmup,
      factor = 1,
    ) =>
    () => {
      /** @type {TrainOptions} */
      const how = { steps: size === 'short' ? EVERY : STEPS, lr: change * factor, warmup, signal };
      return trainSorting({ ...BLOCK, n_layers, norm_placement }, { ...ADAM, ...how }, { seed, most: MOST, batch: 32 });
    };
  const asked = [
    ...DEPTHS.flatMap((layers) =>
      WAYS.map(([name, place, warmup]) => ({ name, part: `${layers} layers`, start: start(layers, place, warmup) })),
    ),
    ...CONTROLS.map(([name, ...how]) => ({ name, part: `${MIDDLE} layers`, start: start(MIDDLE, ...how) })),
  ];
  const { losses, trained } = yield* trainEach('Loss of sorting', asked);
  const curves = WAYS.map(([name], way) => ({ name, x: [...DEPTHS], y: DEPTHS.map((_, i) => losses[3 * i + way]) }));
  const axes = /** @type {const} */ ([
    { name: 'layers', unit: '' },
    { name: 'loss', unit: 'nats' },
  ]);
  yield {
    progress: 1,
    doing: 'losses by depth',
    figures: [curvesOf('depth', 'Loss at the end, by depth', ...axes, curves)],
  };
  return { found: findings(losses), trained };
}

/** @param {number[]} losses  of WAYS at each depth, then of CONTROLS @returns {[string, boolean][]} */
function findings(losses) {
  const [[shallow], [cold, warm, pre], [, deep, deepPre], [lower, fifth, short, preWarm]] = [0, 3, 6, 9].map((at) =>
    losses.slice(at, at + (at < 9 ? 3 : 4)),
  );
  const said = (/** @type {number} */ loss) => loss.toFixed(2);
  const alone = (/** @type {number} */ loss) => `loss ${said(loss)}, by guessing ${said(GUESS)}`;
  return [
    [
      `loss ${said(cold)} without warm-up, ${said(lower)} at nine tenths of the rate, ${said(warm)} with warm-up`,
      Math.min(cold, lower) >= warm + APART,
    ],
    [alone(cold), cold >= NOTHING],
    [`loss ${said(short)} with a quarter of the warm-up, ${said(warm)} with all of it`, short >= warm + APART],
    [alone(fifth), fifth <= GUESS - APART],
    [`loss ${said(pre)} without warm-up, ${said(preWarm)} with it`, pre < preWarm + 0.1],
    [alone(shallow), shallow <= GUESS - APART],
    [alone(deep), deep >= NOTHING],
    [alone(deepPre), deepPre <= GUESS - APART],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'postnorm',
  title: 'Warm-up and depth',
  claim:
    'With the norm after each residual sum, a deep enough transformer learns only if the learning rate rises slowly. ' +
    'With the norm before each sublayer it learns at every depth without.',
  references: [
    paper('Xiong et al. 2020', 'sections 3.2 and 4, figures 2 and 4'),
    paper('Vaswani et al. 2017', 'section 5.3'),
    {
      paper: 'Building a Transformer: The Complete Forward Pass',
      where: 'tutorial 1, section 2, "Residual Connections"',
    },
    { paper: 'The transformer block', where: 'tutorial 3, "Pre-norm vs post-norm"' },
    { paper: 'The full GPT', where: 'tutorial 5, "Residual connections"' },
  ],
  claims: [
    ...claimRows('Xiong et al. 2020', [
      [
        `With ${MIDDLE} layers, post-norm needs warm-up`,
        'section 3.2, figure 2',
        `a loss far above that with warm-up: ${APART} nats`,
      ],
      ['Without warm-up it learns nothing', 'section 3.2, figure 2', `at least ${NOTHING} nats`],
      ['A quarter of the warm-up is too short', 'section 3.2, figure 2', `a loss at least ${APART} nats higher`],
      [
        'At a fifth of the learning rate it learns without warm-up',
        'section 3.2, figure 2',
        `a loss at least ${APART} nats below that of a guess`,
      ],
      ['Pre-norm needs no warm-up', 'section 4, figure 4', 'as low a loss without it'],
    ]),
    ...claimRows('Tutorial 5', [
      [
        `With ${SHALLOW} layers, post-norm learns without warm-up`,
        '"This works for shallow networks"',
        `a loss at least ${APART} nats below that of a guess`,
      ],
    ]),
    ...claimRows('Tutorial 1', [
      [
        `With ${DEEP} layers, post-norm fails even with warm-up`,
        '"gets harder to train the deeper you go"',
        `at least ${NOTHING} nats`,
      ],
    ]),
    ...claimRows('Tutorial 3', [
      [
        `With ${DEEP} layers, pre-norm learns without warm-up`,
        '"regardless of depth"',
        `a loss at least ${APART} nats below that of a guess`,
      ],
    ]),
  ],
  look: [
    `Depth: with post-norm, ${SHALLOW} layers learn either way, ${MIDDLE} far better with warm-up, ${DEEP} not at all.`,
    'Loss: all runs have the same examples, and at one depth the same first matrices. Nine tenths of the rate from ' +
      'the first step on is the same sum of rates as with warm-up.',
    'Learning rate: at 0.01, one of the seeds 1 to 5 fails with warm-up, too.',
  ],
  refutes: `A run of ${MIDDLE} layers with post-norm that learns as well without warm-up.`,
  model: null,
  // the default was chosen with seeds 11 to 14, after 0.01 with the recorded ones; the depths with seeds 1 to 3
  change: { title: 'Learning rate', values: [0.005, 0.0075, 0.01], default: 0.0075 },
  run,
};
