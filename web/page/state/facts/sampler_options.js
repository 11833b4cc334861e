// sampler_options.js - the table of the page's sampler options: state, addresses, controls and copied programs follow
// from it
import { say } from '../base/language.js';

/** The library's options of sampling; ignoreEos: write on after an end token.
 * @typedef {{ temperature: number, topK: number, topP: number, seed: number, ignoreEos: boolean }} Sampler
 * @typedef {keyof Sampler} Name
 */
/**
 * @template Value
 * @typedef {object} Option
 * @property {Value} default
 * @property {string} key       its name in an address, which holds every number, and a switch that is on as 1
 * @property {string} label     of its control
 * @property {'slider' | 'number' | 'checkbox'} control
 * @property {number} [least]
 * @property {number} [most]
 * @property {number} [step]    1: whole numbers only
 * @property {number} [end]     largest value of its slider, where that is not `most`
 * @property {(value: Value) => string} [said]  its value in words
 * @property {number} [off]     the value at which it leaves the probabilities as they are; only options that change them
 *   have one
 * @property {(value: Value) => boolean} [cuts]  whether it leaves tokens out
 */

const SLIDER = /** @type {const} */ ({ control: 'slider' });

/** @type {{ [N in Name]: Option<Sampler[N]> }} */
export const SAMPLER = {
  temperature: {
    ...{ ...SLIDER, default: 0.8, key: 't', label: say`temperature`, least: 0, most: 2, step: 0.05, off: 1 },
    said: (t) => (t === 0 ? say`0, greedy` : t.toFixed(2)),
    cuts: (t) => t === 0,
  },
  topK: {
    ...{ ...SLIDER, default: 40, key: 'k', label: say`top-k`, least: 0, most: 1e6, end: 200, step: 1, off: 0 },
    said: (k) => (k === 0 ? say`off` : String(k)),
    cuts: (k) => k > 0,
  },
  topP: {
    ...{ ...SLIDER, default: 0.95, key: 'p', label: say`top-p`, least: 0.05, most: 1, step: 0.01, off: 1 },
    said: (p) => (p === 1 ? say`off` : p.toFixed(2)),
    cuts: (p) => p < 1,
  },
  seed: { default: 1337, key: 'seed', label: say`seed`, control: 'number', least: 0, most: 2 ** 32 - 1, step: 1 },
  ignoreEos: { default: false, key: 'past', label: say`continue after end-of-story`, control: 'checkbox' },
};

/** Its rows as a list. */
export const SAMPLER_OPTIONS = /** @type {[Name, Option<any>][]} */ (Object.entries(SAMPLER));

/** What each option is before anybody has set it. */
export const samplerDefaults = () =>
  /** @type {Sampler} */ (Object.fromEntries(SAMPLER_OPTIONS.map(([name, option]) => [name, option.default])));

const RULES = SAMPLER_OPTIONS.filter(([, { off }]) => off !== undefined);

/** The options that change the probabilities. @typedef {Pick<Sampler, 'temperature' | 'topK' | 'topP'>} Rule */

/** What decides the sampler's probabilities. @param {Rule} sampler */
export const ruleOf = (sampler) =>
  /** @type {Rule} */ (Object.fromEntries(RULES.map(([name]) => [name, sampler[name]])));

/** The rule that leaves the probabilities as they are. */
export const plainRule = () => /** @type {Rule} */ (Object.fromEntries(RULES.map(([name, { off }]) => [name, off])));

/** @param {Rule | null | undefined} a @param {Rule} b */
export const sameRule = (a, b) => RULES.every(([name]) => a?.[name] === b[name]);

/** Whether a rule leaves tokens out. @param {Rule} rule */
export const cuts = (rule) => RULES.some(([name, option]) => option.cuts?.(rule[name]));
