// research_options.js - checks the arguments and options of the calls for research
import { LIMITS, checkedOptions, checkedText, entriesOf, flag, number, signal, tooMany } from '../../base/checks.js';
import { fail, show } from '../../base/errors.js';

/** @import { OptionCheck } from '../../base/checks.js' */
/** @import { Limits } from './arguments.js' */
/**
 * The checks that the core has. They are handed over, because a module that both import would be a file of its own,
 * and the first load of a page larger.
 * @typedef {typeof import('./call_options.js').CHECKS &
 *   {trainerModule: () => Promise<WebAssembly.Module>}} Checks
 */

/** @type {(checks: Checks) => OptionCheck} */
const metricOf =
  ({ token }) =>
  (value, name, limits) => {
    if (value === 'loss') return value;
    if (!value || typeof value !== 'object' || Array.isArray(value))
      fail('bad-option', `${name} is ${show(value)}, expected 'loss' or { token, minus, position }`);
    const { token: id, ...read } = checkedOptions(name, value, { token, minus: token, position: number }, limits);
    return id === undefined ? fail('bad-option', `${name} names no token`) : { token: id, ...read };
  };
/** @type {OptionCheck} */
const names = (value, name) => {
  const list = Array.isArray(value) ? entriesOf(value, LIMITS.names, tooMany(name, LIMITS.names)) : null;
  return list?.length && list.every((x) => typeof x === 'string' && x.length <= LIMITS.word)
    ? list
    : fail('bad-option', `${name} is ${show(value)}, expected a list of names of points or weights`);
};
/**
 * The edits of a sweep: a list of lists, or a grid.
 * @param {Checks} checks
 * @param {any} value
 * @param {Limits} limits
 */
function checkedSets({ edits, checkedInput }, value, limits) {
  const name = 'editSets';
  if (Array.isArray(value)) {
    const list = entriesOf(value, LIMITS.edits, tooMany(name, LIMITS.edits)) ?? [];
    return list.map((set, i) => edits(set, `${name}[${i}]`, limits));
  }
  const { each, from: other, ...edit } = typeof value === 'object' && value ? value : {};
  if (each !== 'position' && each !== 'head')
    fail(
      'bad-option',
      `${name} is ${show(value)}, expected a list of lists of edits, or { at, each: 'position' | 'head' }`,
    );
  const changes = ['scale', 'set', 'add', 'project', 'mean'].some((change) => (edit[change] ?? null) !== null);
  const [checked] = edits([changes ? edit : { ...edit, scale: 0 }], name, limits);
  return {
    ...checked,
    each,
    ...(other !== undefined && { from: checkedInput(other, 'input from', limits), scale: undefined }),
  };
}

/**
 * The options of each call.
 * @param {Checks} checks
 * @returns {Record<string, Record<string, OptionCheck>>}
 */
function optionsOf(checks) {
  const { PASS_OPTIONS, checkedInput, inRange } = checks;
  const of = metricOf(checks);
  const from = (/** @type {any} */ value, /** @type {string} */ _, /** @type {Limits} */ limits) =>
    checkedInput(value, 'input from', limits);
  const steps = (/** @type {any} */ value, /** @type {string} */ name) => inRange(name, value, 1, 4096, true);
  return {
    matrix: {},
    circuit: {},
    headScores: { signal },
    sweep: { ...PASS_OPTIONS, metric: of },
    gradients: { ...PASS_OPTIONS, of, at: names },
    attributionPatching: { ...PASS_OPTIONS, of, at: names, from, check: flag },
    integratedGradients: { ...PASS_OPTIONS, of, steps },
  };
}

/**
 * The arguments of a call for research, checked, and its signal.
 * @param {Checks} checks
 * @param {string} call
 * @param {any[]} args
 * @param {any} options
 * @param {Limits} limits
 * @returns {Promise<[any[], {signal?: AbortSignal}]>}
 */
export async function checkedCall(checks, call, args, options, limits) {
  const known = optionsOf(checks);
  const [rest, hooks] = checks.callOptions(call, options, limits, known);
  for (const name of ['metric', 'of', 'at', 'from'])
    if (name in known[call] && rest[name] === undefined) fail('bad-option', `${call} needs the option ${name}`);
  if (call === 'matrix') return [[checkedText(args[0], 'the name of a weight', LIMITS.word)], hooks];
  if (call === 'circuit') return [[number(args[0], 'layer', null), number(args[1], 'head', null), args[2]], hooks];
  if (call === 'headScores') return [[], hooks];
  const read = checks.checkedInput(args[0], 'input', limits);
  if (call === 'sweep') return [[read, { ...rest, editSets: checkedSets(checks, args[1], limits) }], hooks];
  return [[read, { ...rest, module: await checks.trainerModule() }], hooks];
}
