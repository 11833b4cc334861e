// sorting_lab.js - a model of one layer of attention sorts a list: its attention is the permutation
import { curvesByStep, heldAccuracy, heldLoss, trainOne } from './lab_training.js';
import {
  attentionOf,
  claimRows,
  indexOfLargest,
  matrixOf,
  mean,
  percent,
  randomIntegers,
  rightOf,
} from './measures.js';
import { paper } from './papers.js';
import { LENGTH, sortingOf, trainSorting } from './sorting_task.js';

/** @import { Model, Tensor, TrainStep } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */
/** @typedef {ReturnType<typeof sortingOf>} Sorting */

const PATTERN = 'blocks.0.attn.hook_pattern';
const LISTS = 500;
/** The steps of the run here. */
const STEPS = 300;
const EVERY = 10;

/**
 * The pattern in which each output attends to nothing but its number: the next place where it stands twice.
 * @param {Sorting} sorting
 * @param {Tensor} pattern  of the model; its other rows stay
 * @returns {Tensor}
 */
function permutation({ ids, targets }, { data, shape }) {
  const [heads, n] = shape;
  const exact = data.slice();
  const free = ids.slice(0, n / 2);
  for (let query = n / 2; query < n; query++) {
    const place = free.indexOf(targets[query]);
    free[place] = -1;
    for (let head = 0; head < heads; head++) {
      const row = (head * n + query) * n;
      exact.fill(0, row, row + n)[row + place] = 1;
    }
  }
  return { data: exact, shape };
}

/**
 * Measures one list.
 * @param {Model} model
 * @param {Sorting} sorting
 * @returns {Promise<{attention: number[][], shares: number[]}>} of the outputs: those that are right; that have the
 *   strongest attention on their number, of the heads together and of at least one; that are right with the permutation
 *   as pattern; and 1 if the whole list is right
 */
async function measure(model, sorting) {
  const { ids, targets } = sorting;
  const n = ids.length / 2;
  const { logits, captured } = await model.forward(ids, { capture: [PATTERN] });
  const pattern = captured[PATTERN];
  const heads = Array.from({ length: pattern.shape[0] }, (_, head) => head);
  const finds = (/** @type {number[][]} */ rows) => rows.map((row, i) => ids[indexOfLargest(row)] === targets[n + i]);
  const byHead = heads.map((head) => finds(attentionOf(pattern, [head], n, n)));
  const attention = attentionOf(pattern, heads, n, n);
  const either = attention.map((_, i) => byHead.some((found) => found[i]));
  const forced = await model.forward(ids, { edits: [{ at: PATTERN, set: permutation(sorting, pattern) }] });
  const right = rightOf(logits, targets);
  const lists = [right, finds(attention).map(Number), either.map(Number), rightOf(forced.logits, targets)];
  return { attention, shares: [...lists.map(mean), Math.min(...right)] };
}

/** @type {Lab['run']} */
async function* run({ model, seed, size, change: n, signal }) {
  const [lists, steps] = size === 'short' ? [20, 2 * EVERY] : [LISTS, STEPS];
  const random = randomIntegers(seed);
  /** @type {number[][]} */
  const measured = [];
  for (let i = 0; i < lists; i++) {
    const { ids, targets } = sortingOf(random, LENGTH);
    const { attention, shares } = await measure(model, { ids, targets });
    measured.push(shares);
    if (i % 20) continue;
    const [rows, columns] = [targets.slice(LENGTH), ids.slice(0, LENGTH)];
    const texts = /** @type {[string, string]} */ (['Where the shipped model looks', 'mean of the heads']);
    const figures = i ? [] : [matrixOf('attention', texts, ['written', rows], ['list', columns], attention, [0, 1])];
    yield { progress: (0.2 * i) / lists, doing: `list ${i + 1} of ${lists}`, figures };
  }
  const circuits = [0, 1].map((head) => model.circuit(0, head, 'OV'));
  const copying = (await Promise.all(circuits)).map((circuit) => circuit.copying ?? 0);
  /** @type {TrainStep[]} */
  const seen = [];
  const training = trainSorting({}, { steps, signal, validateEvery: EVERY }, { seed, most: n });
  const trained = yield* trainOne(training, (step, share) => {
    seen.push(step);
    const title = `Numbers at their places, lists of ${n}, trained here`;
    const figures = [
      curvesByStep('accuracy', title, { name: 'share', unit: '' }, [['unseen lists', seen, heldAccuracy]]),
      curvesByStep('loss', 'Loss, trained here', { name: 'loss', unit: 'nats' }, [
        ['lists of the step', seen, ({ loss }) => loss],
        ['unseen lists', seen, heldLoss],
      ]),
    ];
    const doing = `lists of ${n}, step ${step.step}: ${percent(heldAccuracy(step))} right`;
    return { progress: 0.2 + 0.8 * share, doing, figures };
  });
  const [right, found, either, forced, whole] = measured[0].map((_, i) => mean(measured.map((shares) => shares[i])));
  return {
    found: [
      [`${percent(right, 2)} of the numbers, ${percent(whole, 1)} of the lists`, right >= 0.99],
      [`for ${percent(found, 1)}, of at least one head for ${percent(either, 1)}`, found >= 0.99],
      [`${percent(forced, 2)} of the numbers`, forced >= 0.99],
      [`copying ${copying.map((x) => x.toFixed(2)).join(' and ')}`, Math.min(...copying) > 0.5],
    ],
    trained,
  };
}

/** @type {Lab} */
export const lab = {
  name: 'sorting',
  title: 'Sorting by attention',
  claim:
    'One layer of attention without a feed-forward layer learns to sort a list: each output looks at the number that ' +
    'comes next, and copies it. The attention is the permutation.',
  references: [paper('McDougall 2023', 'solution, attention patterns and OV circuit')],
  claims: claimRows('ARENA 2023, Sorted List', [
    ['One layer of attention sorts', 'model', 'at least 99 % of the numbers at their places'],
    [
      'The strongest attention of the heads together is on the number that comes next',
      'attention patterns',
      'for at least 99 % of the numbers',
    ],
    ['With the permutation itself as attention it sorts as well', 'attention patterns', 'at least 99 % of the numbers'],
    ['Heads copy the number they attend to', 'OV circuit', 'copying above 0.5 in each head'],
  ]),
  look: [
    'The matrix: each row is a number that the model writes, the columns are the list as it was given. One dark cell ' +
      'in each row and column is a permutation; the heads share the rows.',
    'The run here: most numbers are right soon, neighbours and numbers that stand twice come last.',
  ],
  refutes: 'Attention that is spread evenly, or outputs that stay right where the attention is on other numbers.',
  model: 'sorting/',
  change: { title: 'Numbers in a list of the run here', values: [6, 10, 14], default: 10 },
  run,
};
