// grokking_lab.js - a model memorises pairs of a sum, and much later learns the sum: how it adds by rotations
import { train } from '../../api/index.js';
import { CONFIG, OPTIONS, additionOf } from './grokking_task.js';
import { curvesByStep, heldAccuracy, heldLoss, trainOne } from './lab_training.js';
import { claimRows, curvesOf, mean, percent } from './measures.js';
import { paper } from './papers.js';

/** @import { Model, TrainStep } from '../../api/index.js' */
/** @import { Figure, Lab, LabReport } from './labs.js' */
/**
 * A frequency k of the numbers 0 to p - 1: cos(2 pi k n / p) and sin(2 pi k n / p). share: of the energy.
 * @typedef {{k: number, share: number}} Frequency
 */
/**
 * The logits of all pairs at "=". all: [a, b, c]; bySum: [s, c], their mean over the pairs with a + b = s modulo p.
 * @typedef {{p: number, all: Float32Array, bySum: Float64Array}} Logits
 */

const KEYS = 6;
/** The steps of the run here. Muon generalises ten times sooner than AdamW, which trained the shipped model. */
const STEPS = 400;
const EVERY = 10;
const FASTER = { muon: true, lr: 0.001 };

/**
 * The frequencies of the embedding of the numbers, the strongest first (Nanda et al. 2023, section 4.1).
 * @param {Model} model
 * @param {number} p
 * @returns {Promise<Frequency[]>}
 */
async function frequencies(model, p) {
  const { data, shape } = await model.matrix('embed.weight');
  const d = shape[1];
  const energies = Array.from({ length: (p - 1) / 2 }, (_, i) => {
    let energy = 0;
    for (let j = 0; j < d; j++) {
      const [cosine, sine] = waves(p, i + 1, (n) => data[n * d + j]);
      energy += cosine ** 2 + sine ** 2;
    }
    return energy;
  });
  const all = energies.reduce((sum, e) => sum + e, 0);
  return energies.map((energy, i) => ({ k: i + 1, share: energy / all })).sort((a, b) => b.share - a.share);
}

/**
 * The coefficients of a frequency in p values: those of its cosine and its sine.
 * @param {number} p
 * @param {number} k
 * @param {(n: number) => number} value
 * @returns {[number, number]}
 */
function waves(p, k, value) {
  let cosine = 0,
    sine = 0;
  for (let n = 0; n < p; n++) {
    const angle = (2 * Math.PI * k * n) / p;
    cosine += (2 / p) * value(n) * Math.cos(angle);
    sine += (2 / p) * value(n) * Math.sin(angle);
  }
  return [cosine, sine];
}

/**
 * @param {Model} model
 * @param {number} p
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<LabReport, Logits, void>}
 */
async function* logitsOf(model, p, signal) {
  const all = new Float32Array(p * p * p),
    bySum = new Float64Array(p * p);
  for (let a = 0; a < p; a++) {
    const inputs = Array.from({ length: p }, (_, b) => [a, b, p]);
    const { data, shape } = (await model.forward(inputs, { logits: 'last', signal })).logits;
    const width = shape[shape.length - 1];
    for (let b = 0; b < p; b++)
      for (let c = 0; c < p; c++) {
        const logit = data[b * width + c];
        all[(a * p + b) * p + c] = logit;
        bySum[((a + b) % p) * p + c] += logit / p;
      }
    yield { progress: (0.1 * (a + 1)) / p, doing: `all pairs modulo ${p}`, figures: [] };
  }
  return { p, all, bySum };
}

/**
 * The share of the logits' variance that sums of cosines of k (a + b - c) explain (Nanda et al. 2023, section 4.2).
 * @param {Logits} logits
 * @param {Frequency[]} keys
 */
function explained({ p, all, bySum }, keys) {
  let variance = 0;
  for (let pair = 0; pair < all.length; pair += p) {
    const row = all.subarray(pair, pair + p),
      middle = mean(row);
    for (const x of row) variance += (x - middle) ** 2;
  }
  const byDistance = new Float64Array(p);
  for (let s = 0; s < p; s++) for (let c = 0; c < p; c++) byDistance[(s - c + p) % p] += bySum[s * p + c] / p;
  const sum = keys.reduce((total, { k }) => total + waves(p, k, (n) => byDistance[n])[0] ** 2, 0);
  return ((sum / 2) * p ** 3) / variance;
}

/**
 * The part of the logits that depends on a + b by the key frequencies, [s, c].
 * @param {Logits} logits
 * @param {Frequency[]} keys
 */
function keyPart({ p, bySum }, keys) {
  const part = new Float64Array(p * p);
  for (let c = 0; c < p; c++)
    for (const { k } of keys) {
      const [cosine, sine] = waves(p, k, (s) => bySum[s * p + c]);
      for (let s = 0; s < p; s++) {
        const angle = (2 * Math.PI * k * s) / p;
        part[s * p + c] += cosine * Math.cos(angle) + sine * Math.sin(angle);
      }
    }
  return part;
}

/**
 * The share of right answers, and the losses: of the logits as they are, with the key frequencies only (restricted),
 * and without them (excluded; Nanda et al. 2023, section 5.1).
 * @param {Logits} logits
 * @param {Frequency[]} keys
 * @param {readonly {ids: import('../../api/index.js').Ids}[]} pairs
 */
function losses(logits, keys, pairs) {
  const { p, all } = logits,
    part = keyPart(logits, keys),
    overall = Float64Array.from({ length: p }, (_, c) =>
      mean(Array.from({ length: p }, (__, s) => logits.bySum[s * p + c])),
    );
  const sums = { right: 0, loss: 0, restricted: 0, excluded: 0 };
  for (const { ids } of pairs) {
    const [a, b] = [ids[0], ids[1]],
      s = (a + b) % p,
      row = all.subarray((a * p + b) * p, (a * p + b + 1) * p);
    const key = (/** @type {number} */ c) => part[s * p + c];
    sums.right += Number(row.indexOf(Math.max(...row)) === s) / pairs.length;
    sums.loss += crossEntropy(p, s, (c) => row[c]) / pairs.length;
    sums.restricted += crossEntropy(p, s, (c) => overall[c] + key(c)) / pairs.length;
    sums.excluded += crossEntropy(p, s, (c) => row[c] - key(c)) / pairs.length;
  }
  return sums;
}

/** -ln softmax of a logit. @param {number} n @param {number} target @param {(i: number) => number} logit */
function crossEntropy(n, target, logit) {
  let sum = 0;
  const most = Math.max(...Array.from({ length: n }, (_, i) => logit(i)));
  for (let i = 0; i < n; i++) sum += Math.exp(logit(i) - most);
  return most + Math.log(sum) - logit(target);
}

/**
 * The curves of a run of one's own.
 * @param {TrainStep[]} seen
 * @param {number} p
 * @returns {Figure[]}
 */
function curves(seen, p) {
  const [taught, unseen] = ['pairs it is taught', 'pairs it never sees'];
  const loss = { name: 'loss', unit: 'nats', log: true };
  return [
    curvesByStep('accuracy', `Right answers modulo ${p}, trained here`, { name: 'share', unit: '' }, [
      [taught, seen, (step) => step.accuracy],
      [unseen, seen, heldAccuracy],
    ]),
    curvesByStep('loss', `Loss modulo ${p}, trained here`, loss, [
      [taught, seen, (step) => step.loss],
      [unseen, seen, heldLoss],
    ]),
  ];
}

/** The spectrum of the embedding. @param {Frequency[]} all @param {number} p @returns {Figure} */
const spectrum = (all, p) => {
  const inOrder = [...all].sort((a, b) => a.k - b.k);
  const curve = { name: 'embedding', x: inOrder.map(({ k }) => k), y: inOrder.map(({ share }) => share) };
  const axes = /** @type {const} */ ([
    { name: 'frequency', unit: '' },
    { name: 'share of the energy', unit: '' },
  ]);
  return curvesOf('spectrum', `Frequencies of the shipped model, modulo ${p}`, axes[0], axes[1], [curve]);
};

/** @type {Lab['run']} */
async function* run({ model, seed, size, change, signal }) {
  const p = model.config.vocabSize - 1;
  const all = await frequencies(model, p),
    keys = all.slice(0, KEYS);
  yield { progress: 0, doing: 'frequencies of the embedding', figures: [spectrum(all, p)] };
  const logits = yield* logitsOf(model, p, signal),
    measured = losses(logits, keys, additionOf(p).held);
  const steps = size === 'short' ? 2 * EVERY : STEPS;
  const { taught, held, vocabulary } = additionOf(change);
  const options = { ...OPTIONS, ...FASTER, steps, seed, signal, validation: held, validateEvery: EVERY };
  const training = train(CONFIG, { examples: taught, vocabulary }, { ...options, batchTokens: 3 * taught.length });
  /** @type {TrainStep[]} */
  const seen = [];
  const trained = yield* trainOne(training, (step, share) => {
    seen.push(step);
    const doing = `modulo ${change}, step ${step.step}: ${percent(heldAccuracy(step))} of unseen pairs right`;
    return { progress: 0.1 + 0.9 * share, doing, figures: curves(seen, change) };
  });
  return { found: findings(measured, keys, explained(logits, keys), seen, p), trained };
}

/**
 * @param {ReturnType<typeof losses>} measured
 * @param {Frequency[]} keys
 * @param {number} share  of the logits' variance
 * @param {TrainStep[]} seen
 * @param {number} p
 * @returns {[string, boolean][]}
 */
function findings({ right, loss, restricted, excluded }, keys, share, seen, p) {
  const energy = keys.reduce((sum, key) => sum + key.share, 0);
  const names = keys.map(({ k }) => k).join(', ');
  const first = seen.find(({ accuracy }) => accuracy >= 0.99)?.step;
  const later = seen.find(({ validation }) => (validation?.accuracy ?? 0) >= 0.99)?.step;
  return [
    [`${(100 * right).toFixed(2)} % of them`, right >= 0.99],
    [`${percent(energy)} in the frequencies ${names}`, energy >= 0.9],
    [`${percent(share)} of the variance`, share >= 0.9],
    [
      `loss ${restricted.toFixed(4)} with these only, ${excluded.toFixed(2)} without them, ${loss.toFixed(4)} with all`,
      restricted < 0.1 && excluded > Math.log(p),
    ],
    [
      `99 % of the taught pairs at step ${first ?? 'none'}, of the others at step ${later ?? 'none'}`,
      !!first && !!later && later >= 2 * first,
    ],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'grokking',
  title: 'Grokking: from memorising to a rule',
  claim:
    'A model that is taught three tenths of all sums modulo a prime first memorises them; much later it ' +
    'answers all others too. It then adds by rotations of a few frequencies.',
  references: [paper('Nanda et al. 2023', 'sections 4 and 5'), paper('Power et al. 2022', 'figure 1')],
  claims: [
    ...claimRows('Nanda et al. 2023', [
      ['It answers pairs that it never saw', 'section 3', 'at least 99 % of them'],
      ['Few frequencies carry the embedding', 'section 4.1', 'at least 90 % of its energy in six'],
      ['Logits are sums of cosines of a + b - c', 'section 4.2', 'at least 90 % of their variance'],
      [
        'The answer needs these frequencies, and no others',
        'section 5.1',
        'a loss below 0.1 with them, above chance without',
      ],
    ]),
    ...claimRows('Power et al. 2022', [
      ['It memorises the taught pairs first', 'figure 1', 'the unseen pairs take at least twice as many steps'],
    ]),
  ],
  look: [
    'Right answers: the taught pairs are all right long before the others follow.',
    'The spectrum: a few frequencies stand out of the embedding of 113 numbers.',
    'The loss of unseen pairs rises first, and falls later.',
    'The run here uses Muon, which needs a tenth of the steps of AdamW, with which the shipped model was trained.',
  ],
  refutes: 'Unseen pairs that follow the taught ones at once, or an embedding with all frequencies alike.',
  model: 'addition/',
  change: { title: 'Modulus of the run here', values: [41, 53, 61], default: 53 },
  run,
};
