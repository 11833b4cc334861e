// claim.js - the type of a claim, and what claims are about: configurations, models, passes over them

import { distance, rows } from './arithmetic.js';
import { loaded } from './checkpoints.js';
import { WORDS } from './configs.js';
import { flat } from './double_precision.js';
import { atMost, same, text as numberText } from './outcome.js';
import { reference } from './reference.js';
import { messageOf } from '../../state/base/error_message.js';

/**
 * @typedef {import('./outcome.js').Outcome} Outcome
 * @typedef {import('./checkpoints.js').Checkpoint} Checkpoint
 * @typedef {import('glassformer').Model} Model
 * @typedef {import('glassformer').Tensor} Tensor
 * @typedef {typeof import('glassformer')} Glassformer
 * @typedef {{ source?: any, capture?: string[], edits?: any[] }} PassOptions
 * @typedef {PassOptions & { ids?: number[] }} Pass  ids: WORDS when absent
 *
 * @typedef {(glassformer: Glassformer) => Promise<Outcome> | Outcome} Run
 * @typedef {Record<string, Run>} Runs  by the name of the claim
 *
 * @typedef {object} Claim
 * @property {string} id          the number of its tutorial and its name
 * @property {number} tutorial
 * @property {string} text
 * @property {boolean} slow       takes seconds: run only when asked for
 * @property {Run} run
 */

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

/** A claim about the table of parameters of a configuration or preset.
 * @type {(config: any, use: (table: import('glassformer').ParameterTable, g: Glassformer) => Outcome) => Run} */
export const ofTable = (config, use) => (g) => use(g.countParameters(config), g);

/** The parameters of a configuration or preset are so many.
 * @type {(config: any, expected: string | number, found: (table: import('glassformer').ParameterTable) => any) => Run} */
export const ofCount = (config, expected, found) => ofTable(config, (table) => same(expected, found(table)));

/** A claim about a model that is loaded from a checkpoint.
 * @type {(make: () => Checkpoint, use: (model: Model, made: Checkpoint, g: Glassformer) => Promise<Outcome>) => Run} */
export const ofFile = (make, use) => (g) => {
  const made = make();
  return using(loaded(g, made), (model) => use(model, made, g));
};

/** A claim about a model with random weights.
 * @type {(config: any, seed: number, use: (model: Model, glassformer: Glassformer) => Promise<Outcome>) => Run} */
export const ofFresh = (config, seed, use) => (g) => using(g.create(config, { seed }), (model) => use(model, g));

/**
 * A claim about one pass over a checkpoint.
 * @param {() => Checkpoint} make
 * @param {Pass} pass
 * @param {(c: Record<string, Tensor>, weights: Checkpoint['weights'], logits: Tensor, model: Model, config: any) =>
 *   Outcome | Promise<Outcome>} use  c: what the pass captured
 */
export const ofPass = (make, { ids = WORDS, ...options }, use) =>
  ofFile(make, async (model, { weights, config }) => {
    const { logits, captured } = await model.forward(ids, options);
    return use(captured, weights, logits, model, config);
  });

/**
 * A claim about one pass over a model with random weights.
 * @param {any} config
 * @param {PassOptions & { ids: number[] | number[][], seed?: number }} pass
 * @param {(c: Record<string, Tensor>, logits: Tensor, model: Model) => Outcome | Promise<Outcome>} use
 */
export const ofFreshPass = (config, { ids, seed = 1, ...options }, use) =>
  ofFresh(config, seed, async (model) => {
    const { logits, captured } = await model.forward(ids, options);
    return use(captured, logits, model);
  });

/** The logits of a checkpoint are those of the tutorial's arithmetic in double precision.
 * @param {() => Checkpoint} make @param {Pass} [pass] */
export const ofReference = (make, pass = {}) =>
  ofPass(make, pass, (_, weights, logits, __, config) =>
    atMost(1e-4, distance(logits.data, flat(reference(weights, config, pass.ids ?? WORDS, pass)))),
  );

/** Activations of a pass over a checkpoint are those of the tutorial's arithmetic in double precision.
 * @param {() => Checkpoint} make @param {string[]} capture @param {string} [note] @param {Pass} [pass] */
export const ofStages = (make, capture, note, pass = {}) =>
  ofPass(make, { ...pass, capture }, (c, weights, _, __, config) => {
    /** @type {Record<string, Float64Array>} */
    const stages = {};
    reference(weights, config, pass.ids ?? WORDS, { ...pass, stages });
    return atMost(1e-5, Math.max(...capture.map((name) => distance(c[name].data, stages[name]))), note);
  });

/** Logits token by token with a cache are those of one full pass.
 * @param {() => Checkpoint} make @param {Pass} pass @param {string} [note] */
export const ofCache = (make, pass, note) =>
  ofPass(make, pass, async (_, __, { data, shape: [, width] }, model) => {
    const { ids = WORDS, ...options } = pass,
      session = await model.session(options);
    let worst = 0;
    for (const [t, token] of ids.entries())
      worst = Math.max(worst, distance(await session.eval([token]), data.subarray(t * width, (t + 1) * width)));
    return same('0, to the last bit', worst === 0 ? '0, to the last bit' : numberText(worst), note);
  });

/** The likeliest token. @param {Float32Array} logits */
export const argmax = (logits) => logits.indexOf(Math.max(...logits));

/** Greedy generation, each time, adds the likeliest tokens of full passes without a cache.
 * @param {() => Checkpoint} make @param {number} start  so many WORDS @param {number} n  new tokens */
export const ofGreedy = (make, start, n) =>
  ofFile(make, async (model) => {
    const all = WORDS.slice(0, start);
    const made = async () =>
      (await model.complete(WORDS.slice(0, start), { maxTokens: n, temperature: 0, ignoreEos: true })).ids.join(' ');
    const [first, second] = [await made(), await made()];
    while (all.length < start + n)
      all.push(argmax(/** @type {Float32Array} */ (rows((await model.forward(all)).logits).at(-1))));
    return same(all.slice(start).join(' '), first === second ? first : `${first} and then ${second}`);
  });

/** The sentence with which something is refused, '' when it is not. @param {() => any} act @returns {Promise<string>} */
export async function refusal(act) {
  try {
    const made = await act();
    made?.dispose?.();
    return '';
  } catch (error) {
    return messageOf(error);
  }
}
