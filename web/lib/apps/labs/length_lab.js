// length_lab.js - five kinds of position encoding learn to sort lists, and sort longer ones than they were trained on
import { trainEach } from './lab_training.js';
import { claimRows, curvesOf, mean, percent, randomIntegers, rightOf } from './measures.js';
import { paper } from './papers.js';
import { sortingOf, trainSorting } from './sorting_task.js';

/** @import { Model, Training } from '../../api/index.js' */
/** @import { Curves, Lab } from './labs.js' */

const WAYS = /** @type {const} */ ([
  ['none', 'no positions'],
  ['learned', 'learned'],
  ['sinusoidal', 'sinusoidal'],
  ['rope', 'RoPE'],
  ['alibi', 'ALiBi'],
]);
const LEAST = 2;
const STEPS = 300;
const EVERY = 20;
/** Lists of each length that are measured. */
const LISTS = 100;
const SIZES = /** @type {const} */ ({ d_model: 64, n_layers: 2, n_heads: 4, ffn: 'gelu_erf' });

/**
 * The share of numbers that a model writes at their places, by the length of the list.
 * @param {Model} model
 * @param {number} most   numbers in a list
 * @param {number} lists  of each length
 * @param {number} seed
 * @returns {Promise<{x: number[], y: number[]}>}
 */
async function byLength(model, most, lists, seed) {
  const x = Array.from({ length: most - LEAST + 1 }, (_, i) => LEAST + i);
  const y = [];
  for (const n of x) {
    const random = randomIntegers(seed * 257 + n);
    const sortings = Array.from({ length: lists }, () => sortingOf(random, n));
    const { data, shape } = (await model.forward(sortings.map(({ ids }) => ids))).logits;
    const all = sortings.flatMap(({ targets }) => targets);
    y.push(mean(rightOf({ data, shape: [all.length, shape[2]] }, all)));
  }
  return { x, y };
}

/** @type {Lab['run']} */
async function* run({ seed, size, change: longest, signal }) {
  const [lists, steps] = size === 'short' ? [5, EVERY] : [LISTS, STEPS];
  const config = { ...SIZES, context_length: 4 * longest };
  const options = { steps, signal, validateEvery: EVERY };
  const task = { seed, least: LEAST, most: longest, batch: 64 };
  const asked = WAYS.map(([position, name]) => ({
    name,
    start: () => trainSorting({ ...config, position }, options, task),
  }));
  /** @type {Curves['curves']} */
  const curves = [];
  const measure = async (/** @type {Training} */ training, /** @type {string} */ name) => {
    const model = await training.model();
    try {
      curves.push({ name, ...(await byLength(model, 2 * longest, lists, seed)) });
    } finally {
      model.dispose();
    }
    const [x, y] = ['numbers in a list', 'share'].map((axis) => ({ name: axis, unit: '' }));
    return [curvesOf('accuracy', `Numbers at their places, trained on up to ${longest}`, x, y, curves)];
  };
  const { trained } = yield* trainEach(`Loss, lists of ${LEAST} to ${longest}`, asked, measure);
  const inside = curves.map(({ x, y }) => mean(y.filter((_, i) => x[i] <= longest)));
  const beyond = curves.map(({ x, y }) => mean(y.filter((_, i) => x[i] > longest)));
  return { found: findings(inside, beyond), trained };
}

/** @param {number[]} inside @param {number[]} beyond  by way: the shares @returns {[string, boolean][]} */
function findings(inside, beyond) {
  const least = Math.min(...inside);
  const others = Math.max(...beyond.slice(1));
  const falls = (/** @type {number} */ way) => `${percent(inside[way])} inside, ${percent(beyond[way])} beyond`;
  return [
    [WAYS.map(([, name], way) => `${name} ${percent(inside[way])}`).join(', '), least >= 0.9],
    ...[1, 2, 3].map((way) => /** @type {[string, boolean]} */ ([falls(way), beyond[way] < inside[way] - 0.2])),
    [falls(4), beyond[4] >= inside[4] - 0.05],
    [`${percent(beyond[0])} beyond, the best other one ${percent(others)}`, beyond[0] >= others],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'length',
  title: 'Longer than trained',
  claim:
    'What a model makes of positions decides whether it works on longer sequences than it was trained on: learned ' +
    'and rotary positions do not, linear biases and no positions at all do.',
  references: [
    paper('Press et al. 2022', 'section 2.2, figure 1'),
    paper('Kazemnejad et al. 2023', 'abstract and section 4'),
  ],
  claims: [
    ...claimRows('Kazemnejad et al. 2023', [
      ['Inside the trained lengths all learn the task', 'section 4', 'at least 90 % right with each'],
      ['Learned positions fail beyond the trained length', 'abstract', 'at least 20 points fewer right'],
    ]),
    ...claimRows('Press et al. 2022', [
      ['Sinusoidal positions fail beyond the trained length', 'figure 1', 'at least 20 points fewer right'],
      ['RoPE fails beyond the trained length', 'figure 1', 'at least 20 points fewer right'],
      ['ALiBi does not fail beyond the trained length', 'figure 1', 'at most 5 points fewer right'],
    ]),
    ...claimRows('Kazemnejad et al. 2023', [
      ['No positions at all work best beyond it', 'abstract', 'as many right as with the best other one'],
    ]),
  ],
  look: [
    'Loss: how fast each model learns the trained lengths.',
    'Numbers at the right place: the curves part where the lists get longer than those of training, the task is ' +
      'the same. It needs no positions: the next number is found by its value.',
  ],
  refutes: 'Curves that lie on each other beyond the trained length.',
  model: null,
  change: { title: 'Longest list in training', values: [6, 8, 12], default: 8 },
  run,
};
