// features_lab.js - features of a sparse dictionary against neurons and random directions
import { dictionary } from '../../api/index.js';
import { claimRows, curvesOf, mean, randomIntegers } from './measures.js';
import { paper } from './papers.js';
import { written } from './written_stories.js';

/** @import { Dictionary, DictionaryOptions, Model } from '../../api/index.js' */
/** @import { Figure, Lab, LabReport, RunOptions } from './labs.js' */

const STREAM = 'blocks.2.hook_resid_post';
const MLP = 'blocks.2.hook_mlp_out';
/** The cosine from which on two features are the same one. */
const SAME = 0.7;
/** Tokens of a feature whose probabilities are measured. */
const PROMOTED = 5;
const FULL = { stories: 120, size: 512, tokens: 14000, heldOut: 3000, epochs: 4, ablated: 40 };
const SHORT = { stories: 12, size: 64, tokens: 700, heldOut: 150, epochs: 1, ablated: 4 };

/**
 * Trains a dictionary, with the curve of what it leaves unexplained.
 * @param {Model} model
 * @param {string[]} texts
 * @param {DictionaryOptions} options
 * @param {{name: string, x: number[], y: number[]}[]} curves  its own is added
 * @param {string} name
 * @returns {AsyncGenerator<LabReport, Dictionary, void>}
 */
async function* learn(model, texts, options, curves, name) {
  const curve = { name, x: /** @type {number[]} */ ([]), y: /** @type {number[]} */ ([]) };
  curves.push(curve);
  const run = dictionary(model, texts, options);
  for await (const { phase, tokens, fvu } of run) {
    if (phase !== 'train') continue;
    curve.x.push(tokens);
    curve.y.push(fvu);
    /** @type {Figure} */
    const figure = curvesOf(
      'unexplained',
      'Variance that the features leave unexplained',
      { name: 'tokens', unit: '' },
      { name: 'share', unit: '' },
      curves,
    );
    yield { progress: (0.2 * curves.length) / 3, doing: `${name}: ${fvu.toFixed(3)} is left`, figures: [figure] };
  }
  return run.dictionary();
}

/** A direction of length 1. @param {(n: number) => number} random @param {number} d */
function direction(random, d) {
  const sum = () => mean(Array.from({ length: 12 }, () => random(1000) / 999 - 0.5));
  const row = Float32Array.from({ length: d }, sum);
  const length = Math.hypot(...row);
  return row.map((x) => x / length);
}

/**
 * How far the tokens that a feature promotes fall where it is most active: mean log probability, without the feature,
 * and with a random direction of the same length added.
 * @param {Model} model
 * @param {Dictionary} features
 * @param {number} index
 * @param {(n: number) => number} random
 */
async function falls(model, features, index, random) {
  const { direction: own, contexts, promoted } = await features.feature(index, { contexts: 1, tokens: PROMOTED });
  const [{ tokens, at, value }] = contexts;
  const ids = tokens.slice(0, at + 1).map(({ id }) => id);
  const dose = value * Math.hypot(...own);
  const logprob = async (/** @type {import('../../api/index.js').Edit[]} */ edits) => {
    const { data } = (await model.forward(ids, { logits: 'last', edits })).logits;
    const most = data.reduce((a, b) => Math.max(a, b), -Infinity);
    const all = most + Math.log(data.reduce((sum, x) => sum + Math.exp(x - most), 0));
    return mean(promoted.map(({ id }) => data[id] - all));
  };
  const position = ids.length - 1;
  const add = direction(random, own.length).map((x) => dose * x);
  const before = await logprob([]);
  const without = own.map((x) => -value * x);
  return [
    before - (await logprob([{ at: STREAM, position, add: without }])),
    before - (await logprob([{ at: STREAM, position, add }])),
  ];
}

/**
 * The share of the features that have a partner in another dictionary.
 * @param {Float32Array[]} a  directions
 * @param {Float32Array[]} b
 */
function partnered(a, b) {
  const unit = (/** @type {Float32Array} */ row) => {
    const length = Math.hypot(...row) || 1;
    return row.map((x) => x / length);
  };
  const others = b.map(unit);
  const found = a.map(unit).filter((row) =>
    others.some((other) => {
      let cosine = 0;
      for (let i = 0; i < row.length; i++) cosine += row[i] * other[i];
      return cosine > SAME;
    }),
  );
  return found.length / a.length;
}

/** @param {Dictionary} features @param {number[]} which */
const directions = (features, which) =>
  Promise.all(which.map(async (i) => (await features.feature(i, { contexts: 1, tokens: 1 })).direction));

/** The features that are active. @param {Dictionary} features */
const active = (features) =>
  Array.from(features.densities() ?? [], (density, i) => ({ density, i }))
    .filter(({ density }) => density > 0)
    .map(({ i }) => i);

/** @type {Lab['run']} */
async function* run({ model, seed, size, change: k, signal }) {
  const { stories, ablated, ...sizes } = size === 'short' ? SHORT : FULL;
  const texts = (yield* written(model, stories, seed, signal)).split('\n\n');
  const options = { ...sizes, k, seed, signal };
  /** @type {{name: string, x: number[], y: number[]}[]} */
  const curves = [];
  const stream = yield* learn(model, texts, { ...options, at: STREAM }, curves, 'stream');
  const report = await stream.report({ signal });
  const again = yield* learn(model, texts, { ...options, at: STREAM, seed: seed + 1000 }, curves, 'another seed');
  const [own, other] = [active(stream), active(again)];
  const shared = partnered(await directions(stream, own), await directions(again, other));
  const mlp = yield* learn(model, texts, { ...options, at: MLP, tokenTable: false }, curves, 'MLP output');
  const ofMlp = await mlp.report({ signal });
  const random = randomIntegers(seed);
  let more = 0;
  const chosen = Array.from({ length: ablated }, (_, i) => own[Math.floor(((i + 0.5) * own.length) / ablated)]);
  for (const [i, index] of chosen.entries()) {
    const [feature, control] = await falls(model, stream, index, random);
    more += Number(feature > control);
    yield { progress: 0.6 + (0.4 * (i + 1)) / ablated, doing: `feature ${index} is taken away`, figures: [] };
  }
  for (const each of [stream, again, mlp]) each.dispose();
  return { found: findings(report, ofMlp, shared, more, ablated) };
}

/**
 * @param {Awaited<ReturnType<Dictionary['report']>>} stream
 * @param {Awaited<ReturnType<Dictionary['report']>>} mlp
 * @param {number} shared  of the features with a partner
 * @param {number} more    features whose tokens fall more than with a random direction
 * @param {number} of
 * @returns {[string, boolean][]}
 */
function findings({ dictionary: own, random, neurons }, mlp, shared, more, of) {
  const left = [own, random, neurons].map(({ fvu }) => fvu.toFixed(3));
  const losses = [mlp.dictionary, mlp.neurons, mlp].map(({ loss }) => loss.toFixed(3));
  return [
    [`${left[0]} of the variance is left, by random directions ${left[1]}`, own.fvu <= random.fvu / 2],
    [`${left[0]} of the variance is left, by components ${left[2]}`, own.fvu <= neurons.fvu / 2],
    [
      `loss ${losses[0]} with features, with neurons ${losses[1]}, as it is ${losses[2]}`,
      mlp.dictionary.loss < mlp.neurons.loss,
    ],
    [`for ${more} of ${of}`, more >= 0.75 * of],
    [`${Math.round(100 * shared)} % of them`, shared < 0.5],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'features',
  title: 'Features of a dictionary',
  claim:
    'A sparse dictionary describes the activations of a model by few features, better than as many neurons or random ' +
    'directions. A feature that is taken away takes the tokens with it that it promotes. Another seed finds others.',
  references: [
    paper('Cunningham et al. 2023', 'section 3'),
    paper('Bricken et al. 2023', 'sections on neurons and on ablations'),
    paper('Paulo and Belrose 2025', 'section 3'),
  ],
  claims: [
    ...claimRows('Cunningham et al. 2023', [
      [
        'Few features describe the stream better than as many random directions',
        'section 3',
        'at most half as much of the variance is left',
      ],
      [
        'They describe it better than as many of its components',
        'section 3',
        'at most half as much of the variance is left',
      ],
    ]),
    ...claimRows('Bricken et al. 2023', [
      [
        'Few features of the MLP’s output keep the loss lower than as many of its neurons',
        'neurons',
        'a lower loss with them in its place',
      ],
      [
        'Without a feature its tokens fall more than with a random direction of the same length',
        'ablations',
        'for at least 3 of 4 features, by chance 2',
      ],
    ]),
    ...claimRows('Paulo and Belrose 2025', [
      ['Another seed finds other features', 'section 3', `less than half have a partner with a cosine above ${SAME}`],
    ]),
  ],
  look: [
    'The curves: the share of the variance that is left falls as the dictionary learns. A low share alone proves ' +
      'nothing, since a model with random weights also has one.',
  ],
  refutes: 'Random directions or neurons that leave as little, and ablations that do no more than they.',
  model: 'stories-1m.gguf',
  change: { title: 'Features of a token', values: [8, 16, 32], default: 16 },
  run,
};
