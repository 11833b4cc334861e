// labs.js - published findings about transformers, each a lab that measures its claims again: `glassformer/labs`
import { GlassformerError } from '../../api/index.js';
import { VERSION } from '../../base/version.js';
import { joinedClaims } from './lab_seeds.js';

/** @import { Model } from '../../api/index.js' */
/**
 * What a lab is: plain data, and `run`. The texts are plain sentences.
 * @typedef {object} Lab
 * @property {string} name
 * @property {string} title
 * @property {string} claim      the finding, in one or two sentences
 * @property {{paper: string, where: string, url?: string}[]} references  where: section, figure or table
 * @property {{claim: string, source: string, expected: string}[]} claims  what a run measures
 * @property {string[]} look     what to look at in the figures
 * @property {string} refutes    what would refute the claim
 * @property {string | null} model  the file in `weights/` that `run` measures; null: the lab trains its own
 * @property {Change} change     the one thing that a visitor can change
 * @property {(options: RunOptions) => AsyncGenerator<LabReport, LabOutcome, void>} run  model: of a lab that names one
 */
/** @typedef {Required<Omit<LabOptions, 'signal' | 'seeds'>> & {signal?: AbortSignal}} RunOptions */
/** @typedef {{title: string, values: number[], default: number}} Change what a run is given as `change` */
/**
 * @typedef {object} LabOptions
 * @property {Model} [model]     loaded from the lab's file; it stays the caller's
 * @property {number} [seed]     default 1
 * @property {number} [seeds]    runs, with as many seeds from `seed` on; default 1
 * @property {'full' | 'short'} [size]  default 'full'; 'short' is for tests: seconds, and no finding
 * @property {number} [change]   one of the values of Lab.change; default: its default
 * @property {AbortSignal} [signal]
 */
/**
 * What a run has so far. A figure replaces the one before it with the same id.
 * @typedef {object} LabReport
 * @property {number} progress   from 0 to 1
 * @property {string} doing      a few words
 * @property {Figure[]} figures  those that are new or have changed
 */
/** @typedef {Curves | Matrix | Texts} Figure */
/** @typedef {{name: string, unit: string, log?: boolean}} Axis unit: '' where there is none */
/**
 * @typedef {{id: string, kind: 'curves', title: string, x: Axis, y: Axis,
 *   curves: {name: string, x: number[], y: number[]}[]}} Curves
 */
/**
 * values: [row][column]; range: the values at the ends of the scale of colours
 * @typedef {{id: string, kind: 'matrix', title: string, unit: string, rows: {name: string, labels: string[]},
 *   columns: {name: string, labels: string[]}, values: number[][], range: [number, number]}} Matrix
 */
/** @typedef {{id: string, kind: 'texts', title: string, texts: {name: string, text: string}[]}} Texts */
/**
 * What `Lab.run` ends with. found: for each of the lab's claims what was measured, and whether the claim holds;
 * trained: the files of the model, of a lab that trains.
 * @typedef {{found: [string, boolean][], trained?: {name: string, bytes: Uint8Array}[]}} LabOutcome
 */
/**
 * A sentence of a finding beside what was measured: over several seeds the means with their 95 % intervals. holds: null
 * where seeds differ, which is inconclusive; runs: what each of several seeds gave
 * @typedef {{claim: string, source: string, expected: string, measured: string, holds: boolean | null,
 *   runs?: {seed: number, measured: string, holds: boolean}[]}} Claim
 */
/**
 * What `runLab` ends with. seed: the first of `seeds`, which are given where there are several; seconds: without those
 * of the reader; provenance: of the model that was given (Model.provenance), otherwise the version alone; trained: with
 * the last seed
 * @typedef {{lab: string, seed: number, seeds?: number[], seconds: number, claims: Claim[],
 *   provenance: Partial<import('../../api/index.js').Provenance>, trained?: LabOutcome['trained']}} LabResult
 */
/** Most seeds of a run. */
const MOST_SEEDS = 100;

/** @type {Record<string, () => Promise<{lab: Lab}>>} */
const MODULES = {
  cache: () => import('./cache_lab.js'),
  ioi: () => import('./ioi_lab.js'),
  fill: () => import('./fill_lab.js'),
  sinks: () => import('./sinks_lab.js'),
  induction: () => import('./induction_lab.js'),
  grokking: () => import('./grokking_lab.js'),
  sorting: () => import('./sorting_lab.js'),
  length: () => import('./length_lab.js'),
  norm: () => import('./norm_lab.js'),
  postnorm: () => import('./postnorm_lab.js'),
  width: () => import('./width_lab.js'),
  rmsnorm: () => import('./rmsnorm_lab.js'),
  gelu: () => import('./gelu_lab.js'),
  features: () => import('./features_lab.js'),
  alignment: () => import('./alignment_lab.js'),
};

/** The names of all labs, in the order of a list. @type {readonly string[]} */
export const LABS = Object.freeze(Object.keys(MODULES));

/**
 * A lab by its name.
 * @param {string} name
 * @returns {Promise<Lab>}
 * @throws {GlassformerError} `not-found`
 */
export async function openLab(name) {
  if (!Object.hasOwn(MODULES, name))
    throw new GlassformerError(
      'not-found',
      `there is no lab ${JSON.stringify(name)}, expected one of ${LABS.join(', ')}`,
    );
  return (await MODULES[name]()).lab;
}

/**
 * Run a lab. It computes only while reports are read: not reading pauses it, `return` (or leaving a loop) ends it.
 * @param {string} name
 * @param {LabOptions} [options]
 * @returns {AsyncGenerator<LabReport, LabResult, void>}
 * @throws {GlassformerError} at the first report: `not-found`, `bad-option`; the reason of the signal
 */
export async function* runLab(name, { model, seed = 1, seeds = 1, size = 'full', change, signal } = {}) {
  const lab = await openLab(name);
  if (lab.model && !model)
    throw new GlassformerError('bad-option', `the lab ${name} needs the option model, loaded from ${lab.model}`);
  if (change !== undefined && !lab.change.values.includes(change))
    throw new GlassformerError('bad-option', `change is ${change}, expected one of ${lab.change.values.join(', ')}`);
  if (!(Number.isInteger(seeds) && seeds >= 1 && seeds <= MOST_SEEDS))
    throw new GlassformerError('bad-option', `seeds is ${seeds}, expected 1 to ${MOST_SEEDS}`);
  const all = Array.from({ length: seeds }, (_, i) => seed + i);
  const options = { model: /** @type {Model} */ (model), size, change: change ?? lab.change.default, signal };
  /** @type {Claim[][]} */
  const runs = [];
  let seconds = 0;
  /** @type {LabOutcome['trained']} */
  let trained;
  for (const [i, own] of all.entries()) {
    const steps = runOne(lab, { ...options, seed: own });
    try {
      for (;;) {
        const { done, value } = await steps.next();
        if (done) {
          runs.push(value.claims);
          seconds += value.seconds;
          trained = value.trained;
          break;
        }
        const doing = seeds > 1 ? `seed ${own}: ${value.doing}` : value.doing;
        yield { ...value, progress: (i + value.progress) / seeds, doing };
      }
    } finally {
      await steps.return(/** @type {any} */ (undefined));
    }
  }
  const many = seeds > 1 && { seeds: all };
  const claims = many ? joinedClaims(all, runs) : runs[0];
  const provenance = lab.model && model ? await model.provenance({ signal }) : { glassformer: VERSION };
  return { lab: name, seed, ...many, seconds, claims, provenance, ...(trained && { trained }) };
}

/**
 * A run with one seed.
 * @param {Lab} lab
 * @param {RunOptions} options
 * @returns {AsyncGenerator<LabReport, {claims: Claim[], seconds: number, trained?: LabOutcome['trained']}, void>}
 */
async function* runOne(lab, options) {
  const run = lab.run(options);
  let ms = 0;
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      const start = performance.now();
      const { done, value } = await run.next();
      ms += performance.now() - start;
      if (done) {
        const { found, trained } = value;
        const claims = lab.claims.map((claim, i) => ({ ...claim, measured: found[i][0], holds: found[i][1] }));
        return { claims, seconds: ms / 1000, trained };
      }
      yield value;
    }
  } finally {
    await run.return(/** @type {any} */ (undefined));
  }
}
