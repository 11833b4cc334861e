// lab_training.js - trains the models of a lab, with reports and curves as they go
import { curvesOf, randomIntegers } from './measures.js';

/** @import { Training, TrainExample, TrainStep } from '../../api/index.js' */
/** @import { Axis, Figure, LabOutcome, LabReport } from './labs.js' */
/**
 * @template T
 * @typedef {[name: string, seen: T[], value: (seen: T) => number]} Curve
 */

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
 * Trains models one after the other, and overlays the losses of held-out examples.
 * @param {string} title  of that figure
 * @param {{name: string, start: () => Training, part?: string}[]} asked  part: what its figure shows, of several
 * @param {(training: Training, name: string) => Promise<Figure[]>} [measure]  called after the last step of each
 * @returns {AsyncGenerator<LabReport, {losses: number[], trained: LabOutcome['trained']}, void>} losses: at the end;
 *   trained: the first model
 */
export async function* trainEach(title, asked, measure) {
  const runs = asked.map(({ name, part }) => ({ name, part, seen: /** @type {TrainStep[]} */ ([]) }));
  /** @type {LabOutcome['trained']} */
  let trained;
  for (const [i, { name, start, part }] of asked.entries()) {
    const [id, about, run] = part ? [`loss-${part}`, `${title}, ${part}`, `${part}, ${name}`] : ['loss', title, name];
    const training = start();
    const files = yield* trainOne(training, async (step, share) => {
      runs[i].seen.push(step);
      const extra = share === 1 && measure ? await measure(training, name) : [];
      const begun = runs
        .slice(0, i + 1)
        .filter((other) => other.part === part)
        .map(({ name, seen }) => /** @type {Curve<TrainStep>} */ ([name, seen, heldLoss]));
      const losses = curvesByStep(id, about, { name: 'loss', unit: 'nats' }, begun);
      const doing = `${run}, step ${step.step}: loss ${heldLoss(step).toFixed(2)}`;
      return { progress: (i + share) / asked.length, doing, figures: [losses, ...extra] };
    });
    trained ??= files;
  }
  return { losses: runs.map(({ seen }) => heldLoss(seen[seen.length - 1])), trained };
}

/**
 * Curves by step.
 * @template {{step: number}} T
 * @param {string} id
 * @param {string} title
 * @param {Axis} y
 * @param {Curve<T>[]} curves
 */
export function curvesByStep(id, title, y, curves) {
  const lines = curves.map(([name, seen, value]) => ({ name, x: seen.map(({ step }) => step), y: seen.map(value) }));
  return curvesOf(id, title, { name: 'step', unit: '' }, y, lines);
}

/** The loss of the held-out examples. @param {TrainStep} step */
export const heldLoss = ({ validation }) => validation?.nats ?? 0;
/** The accuracy on the held-out examples. @param {TrainStep} step */
export const heldAccuracy = ({ validation }) => validation?.accuracy ?? 0;
