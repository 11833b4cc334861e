// research_options.js - checks the arguments and options of the calls for research
import {
  LIMITS,
  checkedOptions,
  checkedText,
  entriesOf,
  flag,
  isWord,
  number,
  oneOf,
  signal,
  tooMany,
} from '../../base/checks.js';
import { fail, show } from '../../base/errors.js';

/** @import { OptionCheck } from '../../base/checks.js' */
/** @import { Limits } from './arguments.js' */
/**
 * The checks that the core has. They are handed over, because a module that both import would be a file of its own,
 * and the first load of a page larger.
 * @typedef {typeof import('./call_options.js').CHECKS &
 *   {trainerModule: () => Promise<WebAssembly.Module>}} Checks
 */

/** Positions of a metric: one, or a list of several. @type {OptionCheck} */
const positions = (value, name, limits) => {
  const list = Array.isArray(value) ? entriesOf(value, limits.context, tooMany(name, limits.context)) : null;
  if (list && !list.length) fail('bad-option', `${name} is an empty list`);
  return list ? list.map((at, i) => number(at, `${name}[${i}]`, null)) : number(value, name, null);
};
/** A function of the caller's. @type {OptionCheck} */
const own = (value, name, { here }) =>
  typeof value === 'function' && here
    ? value
    : fail(
        'bad-option',
        `${name} ${here ? `is ${show(value)}, expected a function` : 'needs a model without a worker'}`,
      );
/** What a metric can be: one of the first entries, with the others beside it. */
const METRICS = "'loss', { token, minus, as, position }, { kl, position } or { value, slope, position }";

/** The checks of a metric, and of one or several. @type {(checks: Checks) => {one: OptionCheck, each: OptionCheck}} */
const metricOf = ({ token, checkedInput }) => {
  /** @type {OptionCheck} */
  const kl = (value, name, limits) => (value === true ? value : checkedInput(value, name, limits, true));
  const as = oneOf('logit', 'logprob', 'probability');
  /** @type {Record<string, Record<string, OptionCheck>>} */
  const forms = {
    token: { token, minus: token, as, position: positions },
    kl: { kl, position: positions },
    value: { value: own, slope: own, position: positions },
  };
  /** @type {OptionCheck} */
  const one = (value, name, limits) => {
    if (value === 'loss') return value;
    if (!value || typeof value !== 'object') fail('bad-option', `${name} is ${show(value)}, expected ${METRICS}`);
    const form = Object.keys(forms).find((key) => (value[key] ?? null) !== null);
    return form
      ? checkedOptions(name, value, forms[form], limits)
      : fail('bad-option', `${name} names no token: expected ${METRICS}`);
  };
  /** One for all inputs, or one for each. @type {OptionCheck} */
  const each = (value, name, limits) => {
    const list = Array.isArray(value) ? entriesOf(value, LIMITS.sequences, tooMany(name, LIMITS.sequences)) : null;
    if (list && !list.length) fail('bad-option', `${name} is an empty list`);
    return list ? list.map((metric, i) => one(metric, `${name}[${i}]`, limits)) : one(value, name, limits);
  };
  return { one, each };
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
  if (!['position', 'head', 'index'].includes(each))
    fail(
      'bad-option',
      `${name} is ${show(value)}, expected a list of lists of edits, or { at, each: 'position' | 'head' | 'index' }`,
    );
  const changes = ['scale', 'set', 'add', 'project', 'mean'].some((change) => (edit[change] ?? null) !== null);
  const [checked] = edits([changes ? edit : { ...edit, scale: 0 }], name, limits);
  return {
    ...checked,
    each,
    ...(other !== undefined && { from: checkedInput(other, 'input from', limits, true), scale: undefined }),
  };
}

/** Places of a path: names of points, or { at, head }. @type {OptionCheck} */
const places = (value, name) => {
  const list = Array.isArray(value) ? entriesOf(value, LIMITS.names, tooMany(name, LIMITS.names)) : null;
  if (!list?.length) return fail('bad-option', `${name} is ${show(value)}, expected a list of points or { at, head }`);
  return list.map((place, i) => {
    const { at, head, ...others } = typeof place === 'string' ? { at: place, head: undefined } : (place ?? {});
    if (!isWord(at) || Object.keys(others).length)
      fail('bad-option', `${name}[${i}] is ${show(place)}, expected the name of a point or { at, head }`);
    return { at, ...(head !== undefined && { head: number(head, `${name}[${i}].head`, null) }) };
  });
};

/**
 * The options of each call.
 * @param {Checks} checks
 * @returns {Record<string, Record<string, OptionCheck>>}
 */
function optionsOf(checks) {
  const { PASS_OPTIONS, checkedInput, edits, inRange } = checks;
  const { one, each: of } = metricOf(checks);
  const from = (/** @type {any} */ value, /** @type {string} */ _, /** @type {Limits} */ limits) =>
    checkedInput(value, 'input from', limits, true);
  const { source: _, sourceMask: __, ...WITHOUT_SOURCE } = PASS_OPTIONS;
  const steps = (/** @type {any} */ value, /** @type {string} */ name) => inRange(name, value, 1, 4096, true);
  return {
    matrix: {},
    circuit: { copying: flag },
    headScores: { edits, signal },
    provenance: { signal },
    sweep: { ...PASS_OPTIONS, metric: of },
    pathPatching: { ...WITHOUT_SOURCE, metric: of, from, senders: places, receivers: places, throughMlps: flag },
    gradients: { ...PASS_OPTIONS, edits, of, at: names },
    attributionPatching: { ...PASS_OPTIONS, of, at: names, from, check: flag },
    integratedGradients: { ...PASS_OPTIONS, of: one, steps },
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
  for (const name of ['metric', 'of', 'at', 'from', 'senders', 'receivers'])
    if (name in known[call] && rest[name] === undefined) fail('bad-option', `${call} needs the option ${name}`);
  if (call === 'matrix') return [[checkedText(args[0], 'the name of a weight', LIMITS.word)], hooks];
  if (call === 'circuit')
    return [[number(args[0], 'layer', null), number(args[1], 'head', null), args[2], rest], hooks];
  if (call === 'headScores') return [[rest], hooks];
  if (call === 'provenance') return [[], hooks];
  const read = checks.checkedInput(args[0], 'input', limits, call !== 'integratedGradients');
  if (call === 'pathPatching') return [[read, rest], hooks];
  if (call === 'sweep') return [[read, { ...rest, editSets: checkedSets(checks, args[1], limits) }], hooks];
  return [[read, { ...rest, module: await checks.trainerModule() }], hooks];
}

const STATISTICS = ['mean', 'covariance', 'top', 'histogram'];

/**
 * The options of scan, checked, with their defaults; edits are checked by the model.
 * @param {any} options
 */
export function scanOptions(options) {
  const whole = (/** @type {number} */ least, /** @type {number} */ most) =>
    /** @type {OptionCheck} */ (
      (value, name) =>
        Number.isInteger(value) && value >= least && value <= most
          ? value
          : fail('bad-option', `${name} is ${show(value)}, expected a whole number from ${least} to ${most}`)
    );
  /** @returns {any[]} */
  const list = (/** @type {any} */ value) =>
    Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(/** @type {any} */ (value)) : [value];
  /** @type {OptionCheck} */
  const range = (value, name) =>
    Array.isArray(value) && value.length === 2 && value.every(Number.isFinite) && value[0] < value[1]
      ? value
      : fail('bad-option', `${name} is ${show(value)}, expected two numbers, the lower one first`);
  const index = whole(0, 2 ** 31 - 1);
  const read = checkedOptions('scan', options, {
    at: (value, name, limits) => names(list(value), name, limits),
    statistic: (value, name) => list(value).map((each) => oneOf(...STATISTICS)(each, name, undefined)),
    values: flag,
    index: (value, name) => list(value).map((i) => index(i, name, undefined)),
    from: index,
    top: whole(1, 1000),
    bins: whole(1, 10000),
    range,
    batch: whole(1, 2 ** 30),
    edits: (value) => value,
    addSpecialTokens: flag,
    signal,
  });
  if (!read.at) fail('bad-option', 'scan needs the option at');
  const statistic = read.statistic ?? [];
  const defaults = { from: 0, top: 10, bins: 50, batch: 65536, index: null, values: !statistic.length };
  return /** @type {any} */ ({ ...defaults, ...read, statistic });
}
