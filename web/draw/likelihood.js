// likelihood.js - how likely a model finds tokens: probabilities, entropies, the largest of many

/** The logarithm of the sum of the exponentials of logits. @param {Float32Array} logits */
function logSum(logits) {
  let max = -Infinity;
  for (let i = 0; i < logits.length; i++) if (logits[i] > max) max = logits[i];
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - max);
  return max + Math.log(sum);
}

/** Natural logarithm of the probability that these logits give a token.
 * @param {Float32Array} logits @param {number} id */
export const logprob = (logits, id) => logits[id] - logSum(logits);

const CHUNK = 32768; // values between two pauses of a long walk: a vocabulary may have a quarter of a million tokens
const TOP = 32; // of a row's tokens that are kept in order

/**
 * Put a place among the largest so far, the largest first; of equal ones the first.
 * @param {number[]} places @param {Float32Array} values @param {number} i @param {number} n
 */
function insert(places, values, i, n) {
  if (places.length === n && !(values[i] > values[places[n - 1]])) return;
  let low = 0;
  for (let high = places.length; low < high;) {
    const middle = (low + high) >> 1;
    if (values[places[middle]] >= values[i]) low = middle + 1;
    else high = middle;
  }
  places.splice(low, 0, i);
  if (places.length > n) places.pop();
}

/**
 * The places of the largest values, the largest first; of equal ones the first.
 * @param {Float32Array} values
 * @param {number} n
 */
export function largestIn(values, n) {
  /** @type {number[]} */
  const places = [];
  for (let i = 0; i < values.length; i++) insert(places, values, i, n);
  return places;
}

/** @typedef {{ sum: number, entropy: number, order: number[], sums: Map<number, number> }} Row */
/** @type {WeakMap<Float32Array, Row>} several panels draw one row */
const known = new WeakMap();

/** Computes what is known of a row; it pauses after each chunk. @param {Float32Array} logits @returns {Generator<void, Row>} */
function* measuring(logits) {
  const found = known.get(logits);
  if (found) return found;
  /** @type {number[]} */
  const order = [];
  for (let from = 0; from < logits.length; from += CHUNK, yield)
    for (let i = from; i < Math.min(logits.length, from + CHUNK); i++) insert(order, logits, i, TOP);
  const max = logits[order[0]];
  let [total, weighted] = [0, 0];
  for (let from = 0; from < logits.length; from += CHUNK, yield)
    for (let i = from; i < Math.min(logits.length, from + CHUNK); i++) {
      const e = Math.exp(logits[i] - max);
      total += e;
      if (e > 0) weighted += e * (logits[i] - max);
    }
  const entropy = Math.max(0, Math.log(total) - weighted / total) / Math.LN2;
  const row = { sum: max + Math.log(total), entropy, order, sums: new Map() };
  known.set(logits, row);
  return row;
}

/** The sum at a temperature above 0; it pauses after each chunk.
 * @param {Float32Array} logits @param {number} temperature @returns {Generator<void, number>} */
function* summing(logits, temperature) {
  const { sum, order, sums } = yield* measuring(logits);
  if (temperature === 1) return sum;
  const found = sums.get(temperature);
  if (found !== undefined) return found;
  const max = logits[order[0]];
  let total = 0;
  for (let from = 0; from < logits.length; from += CHUNK, yield)
    for (let i = from; i < Math.min(logits.length, from + CHUNK); i++)
      total += Math.exp((logits[i] - max) / temperature);
  const answer = max / temperature + Math.log(total);
  sums.set(temperature, answer);
  return answer;
}

/** @template Result @param {Generator<void, Result>} walk */
function finished(walk) {
  for (;;) {
    const { done, value } = walk.next();
    if (done) return value;
  }
}

/** The logarithm of the sum of the exponentials of logits, the entropy of their softmax in bits, the ids of the largest.
 * @param {Float32Array} logits */
export const summed = (logits) => finished(measuring(logits));

/** The logarithm of the sum of the exponentials of logits, each divided by a temperature above 0.
 * @param {Float32Array} logits @param {number} temperature */
export const sumAt = (logits, temperature) => finished(summing(logits, temperature));

/**
 * Computes the same in short tasks, so that whoever asks next has it at once.
 * @param {Float32Array} logits
 * @param {number} temperature
 * @param {() => Promise<void>} rest  lets the page paint
 */
export async function prepare(logits, temperature, rest) {
  for (const walk = summing(logits, temperature || 1); !walk.next().done;) await rest();
}

/**
 * The likeliest tokens of a row of logits.
 * @param {Float32Array} logits [vocab_size]
 * @param {number} n
 * @returns {{ id: number, model: number }[]}
 */
export function likeliest(logits, n) {
  const { sum, order } = summed(logits);
  return (n <= TOP ? order.slice(0, n) : largestIn(logits, n)).map((id) => ({ id, model: Math.exp(logits[id] - sum) }));
}
