// claims/claim.js - what a claim is, and the models that claims are about: used, freed, refused

import { distance } from './arithmetic.js';
import { loaded } from './checkpoint.js';
import { WORDS } from './configs.js';
import { atMost, same, text as numberText } from './outcome.js';
import { flat } from './reference/parts.js';
import { messageOf } from '../state/error_message.js';

/**
 * @typedef {import('./outcome.js').Outcome} Outcome
 * @typedef {import('./checkpoint.js').Checkpoint} Checkpoint
 * @typedef {import('glassformer').Model} Model
 * @typedef {import('glassformer').Tensor} Tensor
 * @typedef {typeof import('glassformer')} Glassformer
 * @typedef {{ source?: any, capture?: string[], edits?: any[] }} PassOptions
 * @typedef {PassOptions & { ids?: number[] }} Pass  ids: WORDS when absent
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
    return using(loaded(g, made), (model) => use(model, made, g));
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
 * A claim about one pass over a checkpoint.
 * @param {string} id
 * @param {string} text
 * @param {() => Checkpoint} make
 * @param {Pass} pass
 * @param {(c: Record<string, Tensor>, weights: Checkpoint['weights'], logits: Tensor, model: Model, config: any) =>
 *   Outcome | Promise<Outcome>} use  c: what the pass captured
 */
export const ofPass = (id, text, make, { ids = WORDS, ...options }, use) =>
  ofFile(id, text, make, async (model, { weights, config }) => {
    const { logits, captured } = await model.forward(ids, options);
    return use(captured, weights, logits, model, config);
  });

/**
 * A claim about one pass over a model of this configuration with random weights.
 * @param {string} id
 * @param {string} text
 * @param {any} config
 * @param {PassOptions & { ids: number[] | number[][], seed?: number }} pass
 * @param {(c: Record<string, Tensor>, logits: Tensor, model: Model) => Outcome | Promise<Outcome>} use
 */
export const ofFreshPass = (id, text, config, { ids, seed = 1, ...options }, use) =>
  ofFresh(id, text, config, seed, async (model) => {
    const { logits, captured } = await model.forward(ids, options);
    return use(captured, logits, model);
  });

/**
 * The claim that the logits of a checkpoint are those of the tutorial's arithmetic in double precision.
 * @param {string} id
 * @param {string} text
 * @param {() => Checkpoint} make
 * @param {(weights: any, config: any, ids: number[]) => import('./reference/parts.js').Matrix} forward
 * @param {Pass} [pass]
 */
export const ofReference = (id, text, make, forward, pass = {}) =>
  ofPass(id, text, make, pass, (_, weights, logits, __, config) =>
    atMost(1e-4, distance(logits.data, flat(forward(weights, config, pass.ids ?? WORDS)))),
  );

/**
 * The claim that logits token by token with a cache are those of one full pass.
 * @param {string} id
 * @param {string} text
 * @param {() => Checkpoint} make
 * @param {Pass} pass
 * @param {string} [note]
 */
export const ofCache = (id, text, make, pass, note) =>
  ofPass(id, text, make, pass, async (_, __, { data, shape: [, width] }, model) => {
    const { ids = WORDS, ...options } = pass,
      session = await model.session(options);
    let worst = 0;
    for (const [t, token] of ids.entries())
      worst = Math.max(worst, distance(await session.eval([token]), data.subarray(t * width, (t + 1) * width)));
    return same('0, to the last bit', worst === 0 ? '0, to the last bit' : numberText(worst), note);
  });

/** The likeliest token. @param {Float32Array} logits */
export const argmax = (logits) => logits.indexOf(Math.max(...logits));

/**
 * These ids and what follows greedily until there are n, by full passes without a cache.
 * @param {Model} model
 * @param {number[]} start
 * @param {number} n
 */
export async function greedily(model, start, n) {
  const all = [...start];
  while (all.length < n) {
    const { data, shape } = (await model.forward(all)).logits;
    all.push(argmax(data.subarray(data.length - shape[1])));
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
