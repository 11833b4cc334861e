// lab_training.js - trains the models of a lab, with reports and curves as they go
import { curvesOf, randomIntegers } from './measures.js';

/** @import { Training, TrainExample, TrainStep } from '../index.js' */
/** @import { Axis, Figure, LabOutcome, LabReport } from './labs.js' */
/** @typedef {{name: string, seen: TrainStep[]}} Run  seen: the steps with a validation */

/**
 * The examples of each step, as train takes them.
 * @param {number} seed
 * @param {number} n  of a step
 * @param {(random: (n: number) => number) => TrainExample} one
 */
export const examplesOf = (seed, n, one) => (/** @type {number} */ step) => {
  const random = randomIntegers(seed * 65537 + step);
  return Array.from({ length: n }, () => one(random));
};

/**
 * Trains to the end, with a report after each validation, and disposes the run.
 * @param {Training} training
 * @param {(step: TrainStep, share: number) => LabReport | Promise<LabReport>} report  share: of the steps, 0 to 1
 * @returns {AsyncGenerator<LabReport, NonNullable<LabOutcome['trained']>, void>} the files of the model
 */
export async function* trainOne(training, report) {
  try {
    for await (const step of training) if (step.validation) yield await report(step, step.step / step.steps);
    return await training.files();
  } finally {
    await training.dispose();
  }
}

/**
 * Trains models one after the other, to compare them.
 * @param {{name: string, start: () => Training}[]} asked
 * @param {(runs: Run[]) => Figure[]} figuresOf
 * @param {(training: Training, run: Run) => Promise<void>} [measure]  called after the last step of each
 * @returns {AsyncGenerator<LabReport, {runs: Run[], trained: LabOutcome['trained']}, void>} trained: the first one
 */
export async function* trainEach(asked, figuresOf, measure) {
  /** @type {Run[]} */
  const runs = [];
  /** @type {LabOutcome['trained']} */
  let trained;
  for (const [i, { name, start }] of asked.entries()) {
    const run = { name, seen: /** @type {TrainStep[]} */ ([]) };
    runs.push(run);
    const training = start();
    const files = yield* trainOne(training, async (step, share) => {
      run.seen.push(step);
      if (share === 1) await measure?.(training, run);
      const doing = `${name}, step ${step.step}: loss ${step.validation?.nats.toFixed(2)}`;
      return { progress: (i + share) / asked.length, doing, figures: figuresOf(runs) };
    });
    trained ??= files;
  }
  return { runs, trained };
}

/**
 * Curves by step.
 * @template {{step: number}} T
 * @param {string} id
 * @param {string} title
 * @param {Axis} y
 * @param {[name: string, seen: T[], value: (seen: T) => number][]} curves
 */
export function curvesByStep(id, title, y, curves) {
  const lines = curves.map(([name, seen, value]) => ({ name, x: seen.map(({ step }) => step), y: seen.map(value) }));
  return curvesOf(id, title, { name: 'step', unit: '' }, y, lines);
}

/** Of held-out examples. @param {TrainStep} step */
export const heldLoss = ({ validation }) => validation?.nats ?? 0;
/** Of held-out examples. @param {TrainStep} step */
export const heldAccuracy = ({ validation }) => validation?.accuracy ?? 0;

/** The last value of a run. @param {Run} run @param {(step: TrainStep) => number} value */
export const lastOf = ({ seen }, value) => value(seen[seen.length - 1]);
