// loss_curve.js - the losses of a training run as a curve of few points, and its range

const CURVE = 400; // points; of more steps each point is a mean
const LOWEST = 0.01; // nats at the foot of the plot

/**
 * @param {{ step: number, loss: number }[]} steps
 * @returns {[number, number][]}
 */
export function curveOf(steps) {
  const each = Math.ceil(steps.length / CURVE);
  /** @type {[number, number][]} */
  const points = [];
  for (let i = 0; i < steps.length; i += each) {
    const part = steps.slice(i, i + each);
    points.push([part[part.length - 1].step, part.reduce((sum, s) => sum + s.loss, 0) / part.length]);
  }
  return points;
}

/**
 * Lowest and highest value of the axis.
 * @param {number[]} losses
 * @param {number} nothing  loss of a model that guesses
 * @returns {[number, number]}
 */
export const rangeOf = (losses, nothing) => [
  Math.max(LOWEST, Math.min(0.8, ...losses.map((y) => y / 1.2))),
  Math.max(nothing, ...losses) * 1.3,
];

/**
 * Nats a token of a model that knows only how often each token comes.
 * @param {number[]} ids
 */
export function unigramLoss(ids) {
  const counts = new Map();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  let nats = 0;
  for (const n of counts.values()) nats -= (n / ids.length) * Math.log(n / ids.length);
  return nats;
}

const RISEN = 1.02; // times the least loss on text held out: less is noise

/**
 * Since which step the loss on text held out rises, 0 where it does not.
 * @param {{ step: number, nats: number }[]} validated
 */
export function memorised(validated) {
  const least = validated.reduce((best, each) => (each.nats < best.nats ? each : best), validated[0]);
  return least && validated[validated.length - 1].nats > RISEN * least.nats ? least.step : 0;
}
