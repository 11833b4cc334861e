// induction_lab.js - a model of attention alone learns to continue what it has seen: how induction heads form
import { train } from '../../api/index.js';
import { curvesByStep, examplesOf, heldAccuracy, heldLoss, trainOne } from './lab_training.js';
import {
  byLayer,
  claimRows,
  headName,
  mean,
  percent,
  randomIntegers,
  ranked,
  rightOf,
  weightOf,
  zeros,
} from './measures.js';
import { paper } from './papers.js';

/** @import { Edit, Model, TrainExample } from '../../api/index.js' */
/** @import { Figure, Lab, LabOutcome } from './labs.js' */
/** @typedef {{accuracy: number, induction: number[][], previous: number[][]}} Scores  of heads: [layer][head] */
/** @typedef {Scores & {step: number, nats: number}} Seen  at a step; nats: the loss of a token */

const VOCAB = 64;
/** Id 0 begins each sequence. Its tokens come again after 8 to 32 others, so that no fixed distance helps. */
const [LENGTH, LEAST, MOST] = [65, 8, 32];
const BATCH = 32;
const STEPS = 400;
const EVERY = 10;
/** Tokens of the sequences that are measured; they come twice. */
const COPY = 24;
/** @type {import('../../engine/config/config_input.js').OwnConfig} */
const CONFIG = {
  vocab_size: VOCAB,
  context_length: LENGTH,
  d_model: 64,
  n_heads: 2,
  ffn: 'none',
  position: 'rope',
  tie_word_embeddings: false,
};
const NO_HEADS = { induction: [], previous: [] };
const RECIPE = { lr: 0.01, weightDecay: 0, batchTokens: BATCH * LENGTH };

/**
 * A sequence whose tokens repeat with a period. What comes for the first time is not to be predicted.
 * @param {(n: number) => number} random
 * @param {number} period
 * @param {number} length
 * @returns {TrainExample & {ids: number[]}}
 */
function repeating(random, period, length) {
  const pool = Array.from({ length: VOCAB - 1 }, (_, i) => i + 1);
  const copy = Array.from({ length: period }, () => pool.splice(random(pool.length), 1)[0]);
  const ids = [0, ...Array.from({ length: length - 1 }, (_, i) => copy[i % period])];
  return { ids, targets: ids.map((_, i) => (i >= period ? (ids[i + 1] ?? -1) : -1)) };
}

/** What is to be predicted where COPY tokens come again. @param {number[]} ids */
const secondCopy = (ids) => ids.map((_, i) => (i > COPY ? (ids[i + 1] ?? -1) : -1));

/**
 * What the heads of a model attend to in the second copy, and how many of its tokens the model continues rightly.
 * @param {Model} model
 * @param {number[][]} sequences  the begin token, and COPY tokens twice
 * @param {Edit[]} [edits]
 * @returns {Promise<Scores>}
 */
async function scores(model, sequences, edits = []) {
  const { nLayers, nHeads } = model.config;
  const [induction, previous] = [zeros(nLayers, nHeads), zeros(nLayers, nHeads)];
  const queries = Array.from({ length: COPY }, (_, i) => COPY + 1 + i);
  const right = [];
  for (const ids of sequences) {
    const { captured, logits } = await model.forward(ids, { capture: ['*.hook_pattern'], edits });
    for (const [layer, row] of induction.entries())
      for (const head of row.keys()) {
        const pattern = captured[`blocks.${layer}.attn.hook_pattern`];
        const to = (/** @type {number} */ back) => mean(queries.map((q) => weightOf(pattern, head, q, q - back)));
        induction[layer][head] += to(COPY - 1) / sequences.length;
        previous[layer][head] += to(1) / sequences.length;
      }
    right.push(...rightOf(logits, secondCopy(ids)));
  }
  return { accuracy: mean(right), induction, previous };
}

/**
 * The share of tokens for which the induction head's queries prefer the key behind the same token, where the
 * previous-token head has written that token (K-composition: Elhage et al. 2021).
 * @param {Model} model
 * @param {{layer: number, head: number}} below  the previous-token head
 * @param {{layer: number, head: number}} above  the induction head
 */
async function composition(model, below, above) {
  const { data: embed, shape } = await model.matrix('embed.weight');
  const ov = (await model.circuit(below.layer, below.head, 'OV')).matrix.data;
  const qk = (await model.circuit(above.layer, above.head, 'QK')).matrix.data;
  const [n, d] = shape;
  /** rows [n, d] times a matrix [d, d] @param {ArrayLike<number>} rows @param {Float32Array} matrix */
  const times = (rows, matrix) =>
    Float32Array.from({ length: n * d }, (_, i) => {
      let sum = 0;
      for (let k = 0; k < d; k++) sum += rows[i - (i % d) + k] * matrix[k * d + (i % d)];
      return sum;
    });
  const [queries, keys] = [times(embed, qk), times(embed, ov)];
  const found = Array.from({ length: n }, (_, query) => {
    const row = Array.from({ length: n }, (__, key) => {
      let sum = 0;
      for (let k = 0; k < d; k++) sum += queries[query * d + k] * keys[key * d + k];
      return sum;
    });
    return row.indexOf(Math.max(...row)) === query;
  });
  return found.filter(Boolean).length / n;
}

/**
 * Starts to train a model.
 * @param {number} n_layers
 * @param {number} n_heads
 * @param {{steps: number, seed: number, signal?: AbortSignal}} options
 * @param {number[][]} sequences  to validate on
 */
function start(n_layers, n_heads, options, sequences) {
  const examples = examplesOf(options.seed, BATCH, (random) =>
    repeating(random, LEAST + random(MOST - LEAST + 1), LENGTH),
  );
  const vocabulary = Array.from({ length: VOCAB }, (_, i) => String(i));
  const validation = sequences.map((ids) => ({ ids, targets: secondCopy(ids) }));
  return train(
    { ...CONFIG, n_layers, n_heads },
    { examples, vocabulary },
    { ...options, ...RECIPE, validation, validateEvery: EVERY },
  );
}

/**
 * The curves of a run, and the heads as they are now.
 * @param {Seen[]} history  of two layers
 * @param {Seen[]} single   of one layer
 * @returns {Figure[]}
 */
function figuresOf(history, single) {
  const nats = (/** @type {Seen} */ seen) => seen.nats;
  const { induction, previous } = history[history.length - 1];
  return [
    curvesByStep('loss', 'Loss of tokens that were there before', { name: 'loss', unit: 'nats a token' }, [
      ['two layers', history, nats],
      ['one layer', single, nats],
    ]),
    curvesByStep('scores', 'The best heads', { name: 'attention', unit: '' }, [
      ['induction, second layer', history, ({ induction }) => Math.max(...induction[1])],
      ['previous token, first layer', history, ({ previous }) => Math.max(...previous[0])],
    ]),
    byLayer('induction', 'Attention on what followed the token before', '', induction, [0, 1]),
    byLayer('previous', 'Attention on the previous token', '', previous, [0, 1]),
  ];
}

/** The first step with more than half of the last value. @param {Seen[]} history @param {(seen: Seen) => number} of */
const halfway = (history, of) => history.find((seen) => of(seen) > of(history[history.length - 1]) / 2)?.step ?? 0;

/**
 * @param {Model} model        of two layers
 * @param {Seen[][]} histories  of two layers and of one
 * @param {number[][]} sequences
 * @param {number} steps
 * @returns {Promise<[string, boolean][]>}
 */
async function findings(model, [history, single], sequences, steps) {
  const last = history[history.length - 1];
  const lone = single[single.length - 1];
  const window = Math.ceil(steps / 8 / EVERY);
  const drops = history.map(({ nats }, i) => nats - (history[i + window] ?? last).nats);
  const share = Math.max(...drops) / (history[0].nats - last.nats);
  const [above] = ranked([[], last.induction[1]]);
  const [below] = ranked([last.previous[0]]);
  const formed = [
    halfway(history, ({ induction }) => induction[1][above.head]),
    halfway(history, ({ previous }) => previous[0][below.head]),
  ];
  const without = await scores(model, sequences, [{ at: 'blocks.0.attn.hook_z', head: below.head, scale: 0 }]);
  const unseen = sequences[0].slice(1).map((_, i) => ({ position: i + 1, index: i, set: -1e30 }));
  const hidden = unseen.map((cell) => ({ at: 'blocks.0.attn.hook_attn_scores', ...cell }));
  const blind = await scores(model, sequences, hidden);
  const { copying = 0 } = await model.circuit(1, above.head, 'OV');
  const matched = await composition(model, below, above);
  return [
    [`${percent(share)} of the drop within ${window * EVERY} of ${steps} steps`, share > 0.5],
    [
      `${headName(above)}: ${above.value.toFixed(2)}, ${headName(below)}: ${below.value.toFixed(2)}`,
      above.value > 0.9 && below.value > 0.3,
    ],
    [`half of it at steps ${formed.join(' and ')}`, Math.abs(formed[0] - formed[1]) <= steps / 8],
    [`${percent(lone.accuracy)} right, with two layers ${percent(last.accuracy)}`, lone.accuracy < 0.2],
    [
      `${percent(without.accuracy)} right without ${headName(below)}, ${percent(blind.accuracy)} if no head sees it`,
      without.accuracy < 0.2 && last.accuracy > 0.9,
    ],
    [`copying ${copying.toFixed(2)}, keys found for ${percent(matched)} of the tokens`, copying > 0.5 && matched > 0.5],
  ];
}

/** @type {Lab['run']} */
async function* run({ seed, size, change: heads, signal }) {
  const steps = size === 'short' ? 2 * EVERY : STEPS;
  const random = randomIntegers(seed);
  const sequences = Array.from({ length: 8 }, () => repeating(random, COPY, 2 * COPY + 1).ids);
  /** @type {Seen[][]} */
  const histories = [[], []];
  /** @type {Model | undefined} */
  let model;
  /** @type {LabOutcome['trained']} */
  let trained;
  try {
    for (const [i, layers] of [2, 1].entries()) {
      const training = start(layers, heads, { steps, seed, signal }, sequences);
      const files = yield* trainOne(training, async (seen, share) => {
        const [nats, accuracy] = [heldLoss(seen), heldAccuracy(seen)];
        if (layers === 2) {
          model?.dispose();
          model = await training.model();
        }
        const heads = layers === 2 && model ? await scores(model, sequences) : NO_HEADS;
        histories[i].push({ ...heads, step: seen.step, nats, accuracy });
        const doing = `${layers} layers, step ${seen.step}: loss ${nats.toFixed(2)}`;
        return { progress: (i + share) / 2, doing, figures: figuresOf(histories[0], histories[1]) };
      });
      trained ??= files;
    }
    const found = await findings(/** @type {Model} */ (model), histories, sequences, steps);
    return { found, trained };
  } finally {
    model?.dispose();
  }
}

/** @type {Lab} */
export const lab = {
  name: 'induction',
  title: 'Induction heads form',
  claim:
    'A model of attention alone with two layers learns, at once, to continue what it has seen before: a head of the ' +
    'first layer marks each token with the one before it, a head of the second finds the mark and copies.',
  references: [
    paper('Olsson et al. 2022', 'arguments 1 and 2'),
    paper('Elhage et al. 2021', 'section "Two-layer attention-only transformers"'),
  ],
  claims: [
    ...claimRows('Olsson et al. 2022', [
      ['The loss drops suddenly', 'argument 1', 'more than half of its fall within an eighth of the steps'],
      ['An induction head stands above a previous-token head', 'argument 1', 'attention above 0.9, and above 0.3'],
      ['Both form at the same time', 'argument 1', 'within an eighth of the steps'],
      ['A one-layer model cannot learn this', 'argument 1', 'less than 20 % right after as many steps'],
      [
        'Ablating the previous-token head stops the copying',
        'argument 3',
        'from more than 90 % to less than 20 % right',
      ],
    ]),
    ...claimRows('Elhage et al. 2021', [
      ['The circuits copy (OV) and compare (QK)', 'two layers', 'copying above 0.5, most tokens find their key'],
    ]),
  ],
  look: [
    'Loss: both models learn first which tokens are in the sequence, then only one goes on.',
    'The best heads: both curves rise where the loss falls.',
  ],
  refutes: 'A loss that falls evenly, one layer that gets there too, or copying that survives without the lower head.',
  model: null,
  change: { title: 'Heads in each layer', values: [1, 2, 4], default: 2 },
  run,
};
