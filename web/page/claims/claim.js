// claims/claim.js - what a claim is, and the models that claims are about: used, freed, refused

import { distance } from './arithmetic.js';
import { asSource } from './checkpoint.js';
import { atMost } from './outcome.js';
import { flat } from './reference/parts.js';
import { messageOf } from '../state/error_message.js';

/**
 * @typedef {import('./outcome.js').Outcome} Outcome
 * @typedef {import('./checkpoint.js').Checkpoint} Checkpoint
 * @typedef {import('glassformer').Model} Model
 * @typedef {typeof import('glassformer')} Glassformer
 *
 * @typedef {object} Claim
 * @property {string} id          begins with the number of its tutorial
 * @property {number} tutorial
 * @property {string} text
 * @property {boolean} [slow]     takes seconds: run only when asked for
 * @property {(glassformer: Glassformer) => Promise<Outcome> | Outcome} run
 */

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
export const claim = (id, text, run) => ({ id, tutorial: Number(id[0]), text, run });

/**
 * Use a model and free it.
 * @template T
 * @param {Promise<Model>} making
 * @param {(model: Model) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function using(making, use) {
  const model = await making;
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/**
 * A claim about a model that is loaded from a checkpoint.
 * @param {string} id
 * @param {string} text
 * @param {() => Checkpoint} make
 * @param {(model: Model, made: Checkpoint, glassformer: Glassformer) => Promise<Outcome>} use
 */
export const ofFile = (id, text, make, use) =>
  claim(id, text, (g) => {
    const made = make();
    return using(g.load(asSource(made)), (model) => use(model, made, g));
  });

/**
 * A claim about a model of this configuration with random weights.
 * @param {string} id
 * @param {string} text
 * @param {any} config
 * @param {number} seed
 * @param {(model: Model, glassformer: Glassformer) => Promise<Outcome>} use
 */
export const ofFresh = (id, text, config, seed, use) =>
  claim(id, text, (g) => using(g.create(config, { seed }), (model) => use(model, g)));

/**
 * The claim that the logits of a checkpoint are those of the tutorial's arithmetic in double precision.
 * @param {string} id
 * @param {string} text
 * @param {() => Checkpoint} make
 * @param {number[]} ids
 * @param {(weights: any, config: any, ids: number[]) => import('./reference/parts.js').Matrix} forward
 * @param {{ source?: number[] }} [options]
 */
export const ofReference = (id, text, make, ids, forward, options) =>
  ofFile(id, text, make, async (model, { weights, config }) => {
    const { logits } = await model.forward(ids, options);
    return atMost(1e-4, distance(logits.data, flat(forward(weights, config, ids))));
  });

/**
 * The largest difference between logits token by token with a cache and those of one full pass.
 * @param {Model} model
 * @param {number[]} ids
 * @param {{ source?: number[] }} [options]
 */
export async function cacheDistance(model, ids, options) {
  const { data, shape } = /** @type {import('glassformer').Tensor} */ ((await model.forward(ids, options)).logits),
    session = await model.session(options);
  const width = shape[1];
  let worst = 0;
  for (const [t, id] of ids.entries())
    worst = Math.max(worst, distance(await session.eval([id]), data.subarray(t * width, (t + 1) * width)));
  return worst;
}

/**
 * These ids and what follows greedily until there are n, by full passes without a cache.
 * @param {Model} model
 * @param {number[]} start
 * @param {number} n
 */
export async function greedily(model, start, n) {
  const all = [...start];
  while (all.length < n) {
    const { data, shape } = (await model.forward(all)).logits,
      last = data.subarray(data.length - shape[1]);
    all.push(last.indexOf(Math.max(...last)));
  }
  return all;
}

/**
 * All of a generation.
 * @param {AsyncGenerator<any, any, void>} generator
 */
export async function written(generator) {
  for (;;) {
    const { done, value } = await generator.next();
    if (done) return value;
  }
}

/**
 * The sentence with which something is refused, '' when it is not.
 * @param {() => any} act
 * @returns {Promise<string>}
 */
export async function refusal(act) {
  try {
    const made = await act();
    made?.dispose?.();
    return '';
  } catch (error) {
    return messageOf(error);
  }
}
