// object_members.js - what is between the braces of an object, and in arrays without repetitions: machines of whole
// members
import { canonical } from './schema_keywords.js';
import { fail } from '../../base/errors.js';
import { choice, sequence, text } from './expression.js';
import { explore, statesOf, trimmed } from './machine.js';

/** @import { Expression } from './expression.js' */
/** @import { Machine } from './machine.js' */
/** @typedef {{expression: Expression, isRequired: boolean}} Member  its name and value */

/** Most values of an enum whose arrays may be without repetitions: there is a state for each set of them. */
const MAX_UNIQUE = 10;
/** The symbol of a comma; others are the places of members. */
const COMMA = -1;

/**
 * A machine whose symbols are members and commas, as an expression.
 * @param {Machine | null} machine
 * @param {Expression[]} members
 */
function written(machine, members) {
  if (!machine) return fail('unsupported', 'its members need too many states: make its limits smaller');
  const space = { rule: 'space' };
  const comma = sequence(space, text(','), { rule: 'gap' });
  const one = (/** @type {number} */ symbol) => (symbol === COMMA ? comma : members[symbol]);
  const states = statesOf(machine, (symbols) => choice(...symbols.map(one)));
  return sequence(space, states, space);
}

/**
 * What is between the braces of an object: members in this order, then any number of others.
 * @param {Member[]} members
 * @param {Expression | null} other  each further member; null: there is none. Two of them may have the same name, so
 *   that only the first one counts as a property
 * @param {[number, number]} counts  least and most properties
 * @returns {Expression}
 */
export function membersOf(members, other, [least, most]) {
  const { length } = members;
  const isCounted = least > 1 || most < (other ? Infinity : length);
  const top = !isCounted ? 0 : Number.isFinite(most) ? most : least;
  const after = (/** @type {number} */ count) => Math.min(count + 1, top);
  const canFollow = (/** @type {number} */ count) => !isCounted || count < most;
  const isEnough = (/** @type {number} */ count) => !isCounted || count >= least;
  const lastRequired = members.reduce((last, { isRequired }, i) => (isRequired ? i : last), -1);
  /**
   * A state: what may come next, from which member on, and how many were written.
   * @typedef {[string, number, number]} At
   */
  /** @type {Record<string, (i: number, count: number) => {edges: [number, At][], free?: At[], accepting: boolean}>} */
  const states = {
    begin: (i, count) => ({
      edges: [],
      free: most > 0 ? [['member', i, count]] : [],
      accepting: least === 0 && lastRequired < 0,
    }),
    member(i, count) {
      if (i < length)
        return {
          edges: [[i, ['comma', i + 1, after(count)]]],
          free: members[i].isRequired ? [] : [['member', i + 1, count]],
          accepting: false,
        };
      const isOpen = other && isEnough(count + 1);
      return { edges: isOpen ? [[length, ['further', i, after(count)]]] : [], accepting: false };
    },
    comma: (i, count) => ({
      edges: canFollow(count) ? [[COMMA, ['member', i, count]]] : [],
      accepting: lastRequired < i && isEnough(count),
    }),
    further: (i, count) => ({ edges: canFollow(count) ? [[COMMA, ['other', i, count]]] : [], accepting: true }),
    other: (i, count) => ({ edges: [[length, ['further', i, after(count)]]], accepting: false }),
  };
  const machine = explore(/** @type {At} */ (['begin', 0, 0]), String, ([what, i, count]) => states[what](i, count));
  const possible = machine && trimmed(machine);
  if (machine && !possible)
    fail(
      least > length && other ? 'unsupported' : 'bad-option',
      `its ${length} listed and required properties do not fit minProperties and maxProperties`,
    );
  return written(possible, [...members.map(({ expression }) => expression), other ?? text('')]);
}

/**
 * What is between the brackets of an array that has each of some values at most once.
 * @param {any[]} values
 * @param {[number, number]} counts  least and most items
 * @returns {Expression}
 */
export function uniqueItems(values, [least, most]) {
  const texts = [...new Map(values.map((value) => [canonical(value), JSON.stringify(value)])).values()];
  const { length } = texts;
  if (length > MAX_UNIQUE)
    fail('unsupported', `uniqueItems of ${length} values is not supported, only of up to ${MAX_UNIQUE}`);
  if (least > length) fail('bad-option', `minItems is ${least}, but there are ${length} different items`);
  const machine = explore(
    { used: 0, count: 0, isNext: true },
    ({ used, isNext }) => `${used} ${isNext}`,
    ({ used, count, isNext }) => {
      const left = texts.map((_, i) => i).filter((i) => count < most && !(used & (1 << i)));
      const edges = isNext
        ? left.map((i) => [i, { used: used | (1 << i), count: count + 1, isNext: false }])
        : left.length
          ? [[COMMA, { used, count, isNext: true }]]
          : [];
      return { edges: /** @type {any} */ (edges), accepting: count >= least && (!isNext || !count) };
    },
  );
  return written(machine && trimmed(machine), texts.map(text));
}
