// pattern.js - patterns as machines over code points
//
// A pattern may match anywhere in a text: the machine reads any characters before and behind it. ^ and $ are edges that
// can be followed at the beginning, or after which nothing can be read.
import { remembered } from '../../base/lazy_value.js';
import { complement, connect } from './expression.js';
import { explore, minimized, reaching, trimmed } from './machine.js';

/** @import { Machine } from './machine.js' */
/** @import { Pattern, Ranges } from './regex.js' */
/**
 * A state of a pattern: edges that read a set of characters, that read nothing, that need the beginning or the end.
 * @typedef {{edges: [set: number, to: number][], free: number[], begin: number[], end: number[]}} PatternState
 */

/** Most states, and most edges, before ^, $ and the choices are resolved. */
const MAX_PATTERN_STATES = 20_000;
const MAX_PATTERN_EDGES = 100_000;
/** Most states of a deterministic machine, and most work for it, in edges. With more, it stays nondeterministic. */
const MAX_DETERMINISTIC = 2_000;
const MAX_EDGES = 1_000_000;
/** Most states of a machine that is made smaller: this takes time with their square. */
const MAX_MINIMIZED = 250;
/** The surrogates, which no UTF-8 has. */
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

/** All characters. @type {Ranges} */
const ANY = complement([[FIRST_SURROGATE, LAST_SURROGATE]]);

/** Sets of characters, and the symbols that they consist of: sets of characters that are in the same of them. */
export class Alphabet {
  /** @type {Map<string, number>} */
  #ids = new Map();
  /** The numbers of sets by the object, which a repetition gives many times. @type {Map<Ranges, number>} */
  #given = new Map();
  /** @type {Ranges[]} */
  #sets = [];
  /** The symbols of each set. @type {number[][]} */
  symbols = [];
  /** The characters of each symbol. @type {Ranges[]} */
  ranges = [];

  /**
   * The number of a set.
   * @param {Ranges} ranges
   */
  set(ranges) {
    const found = () => remembered(this.#ids, ranges.join(' '), () => this.#sets.push(ranges) - 1);
    return remembered(this.#given, ranges, found);
  }

  /**
   * Whether a set has a character.
   * @param {number} set
   * @param {number} point
   */
  has(set, point) {
    return this.#sets[set].some(([low, high]) => point >= low && point <= high);
  }

  /** Find the symbols of all sets. */
  split() {
    /** The sets that begin and end at each code point. @type {Map<number, {begin: number[], end: number[]}>} */
    const changes = new Map();
    const at = (/** @type {number} */ point) => remembered(changes, point, () => ({ begin: [], end: [] }));
    this.#sets.forEach((ranges, set) => {
      for (const [low, high] of joined(ranges)) {
        at(low).begin.push(set);
        at(high + 1).end.push(set);
      }
    });
    at(FIRST_SURROGATE);
    at(LAST_SURROGATE + 1);
    /** @type {Map<string, number>} */
    const symbols = new Map();
    /** @type {Set<number>} */
    const open = new Set();
    this.symbols = this.#sets.map(() => []);
    const points = [...changes.keys()].sort((a, b) => a - b);
    points.forEach((point, i) => {
      const { begin, end } = at(point);
      for (const set of end) open.delete(set);
      for (const set of begin) open.add(set);
      if (!open.size || point === FIRST_SURROGATE) return;
      const own = [...open].sort((a, b) => a - b);
      const key = own.join();
      const symbol = symbols.get(key) ?? this.ranges.push([]) - 1;
      if (!symbols.has(key)) for (const set of own) this.symbols[set].push(symbol);
      symbols.set(key, symbol);
      this.ranges[symbol].push([point, points[i + 1] - 1]);
    });
  }

  /**
   * The characters of several symbols, in order.
   * @param {number[]} symbols
   * @returns {Ranges}
   */
  union(symbols) {
    return joined(symbols.flatMap((symbol) => this.ranges[symbol]));
  }
}

/**
 * Ranges of characters, sorted and joined where they touch.
 * @param {Ranges} ranges
 * @returns {Ranges}
 */
function joined(ranges) {
  /** @type {Ranges} */
  const out = [];
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else out.push([low, high]);
  }
  return out;
}

/**
 * The states of a pattern that may match anywhere: from state 0 to state 1.
 * @param {Pattern} pattern
 * @param {Alphabet} alphabet  gets the sets of the pattern
 * @param {() => never} refuse  called when there are too many
 * @returns {PatternState[]}
 */
export function patternStates(pattern, alphabet, refuse) {
  /** @type {PatternState[]} */
  const states = [];
  let edges = 0;
  const node = () =>
    states.length < MAX_PATTERN_STATES ? states.push({ edges: [], free: [], begin: [], end: [] }) - 1 : refuse();
  for (const end of [node(), node()]) states[end].edges.push([alphabet.set(ANY), end]);
  /** @type {import('./expression.js').Nodes} */
  const nodes = {
    node,
    free: (from, to) => states[from].free.push(to),
    each: ({ each }) => each,
    leaf(e, from, to) {
      if (++edges > MAX_PATTERN_EDGES) refuse();
      if ('chars' in e) states[from].edges.push([alphabet.set(e.chars), to]);
      else states[from][/** @type {'begin' | 'end'} */ (e.anchor)].push(to);
    },
  };
  connect(nodes, pattern, 0, 1);
  return states;
}

/**
 * The states that follow some states without a character.
 * @param {PatternState[]} states
 * @param {Iterable<number>} from
 * @param {('free' | 'begin' | 'end')[]} kinds  of edges that are followed
 * @returns {Set<number>}
 */
function closure(states, from, kinds) {
  const found = new Set(from);
  for (const state of found) for (const kind of kinds) for (const to of states[state][kind]) found.add(to);
  return found;
}

/**
 * The machine of the texts in which a pattern is found, or is not found; null: there is no such text.
 * @param {PatternState[]} states  of patternStates
 * @param {boolean} isNegative
 * @param {Alphabet} alphabet  split
 * @param {() => never} refuse  called when the machine needs too many states or edges
 * @returns {Machine | null}
 */
export function patternMachine(states, isNegative, alphabet, refuse) {
  /** The states from which the pattern's end is reached where the text ends. */
  const ending = reaching(states, [1], ({ free, end }) => [...free, ...end]);
  const start = {
    states: [...closure(states, [0], ['free', 'begin'])].sort((a, b) => a - b),
    accepting: closure(states, [0], ['free', 'begin', 'end']).has(1),
  };
  let machine = deterministic(states, alphabet, ending, start);
  if (!machine) {
    const edges = states.reduce((n, own) => own.edges.reduce((sum, [set]) => sum + alphabet.symbols[set].length, n), 0);
    if (isNegative || edges > MAX_EDGES) refuse();
    return trimmed(nondeterministic(states, alphabet, ending, start));
  }
  // Each of its states reads every symbol, since a pattern may begin anywhere.
  if (isNegative) machine = machine.map((state) => ({ ...state, accepting: !state.accepting }));
  const all = trimmed(machine);
  return all && all.length <= MAX_MINIMIZED ? minimized(all) : all;
}

/**
 * Whether a pattern is found in a text. The time grows with the product of their lengths, for any pattern.
 * @param {PatternState[]} states  of patternStates
 * @param {Alphabet} alphabet
 * @param {string} text
 * @returns {boolean}
 */
export function isFound(states, alphabet, text) {
  let own = closure(states, [0], text ? ['free', 'begin'] : ['free', 'begin', 'end']);
  const points = Array.from(text, (c) => /** @type {number} */ (c.codePointAt(0)));
  points.forEach((point, i) => {
    const targets = [...own].flatMap((state) =>
      states[state].edges.filter(([set]) => alphabet.has(set, point)).map(([, to]) => to),
    );
    own = closure(states, targets, i < points.length - 1 ? ['free'] : ['free', 'end']);
  });
  return own.has(1);
}

/** @typedef {{states: number[], accepting: boolean}} Subset  states that a text may be in */

/**
 * @param {PatternState[]} states
 * @param {Alphabet} alphabet
 * @param {Set<number>} ending
 * @param {Subset} start
 * @returns {Machine | null}
 */
function deterministic(states, { symbols }, ending, start) {
  let work = 0;
  /** @param {Iterable<number>} targets @returns {Subset} */
  const subset = (targets) => {
    const found = closure(states, targets, ['free']);
    work += found.size;
    // After the pattern's end everything is accepted: the other states add nothing.
    if (found.has(1)) return { states: [1], accepting: true };
    const own = [...found].sort((a, b) => a - b);
    return { states: own, accepting: own.some((state) => ending.has(state)) };
  };
  return explore(
    start.states.includes(1) ? { states: [1], accepting: true } : start,
    ({ states: own, accepting }) => `${accepting} ${own}`,
    ({ states: own, accepting }) => {
      /** @type {Map<number, Set<number>>} */
      const targets = new Map();
      for (const state of own)
        for (const [set, to] of states[state].edges) {
          work += symbols[set].length;
          if (work > MAX_EDGES) return null;
          for (const symbol of symbols[set]) remembered(targets, symbol, () => new Set()).add(to);
        }
      /** Subsets by their targets, which several symbols share. @type {Map<string, Subset>} */
      const known = new Map();
      /** @type {[number, Subset][]} */
      const edges = [...targets].map(([symbol, own]) => [
        symbol,
        remembered(known, [...own].join(), () => subset(own)),
      ]);
      return work > MAX_EDGES ? null : { edges, accepting };
    },
    MAX_DETERMINISTIC,
  );
}

/**
 * @param {PatternState[]} states
 * @param {Alphabet} alphabet
 * @param {Set<number>} ending
 * @param {Subset} start
 * @returns {Machine}
 */
const nondeterministic = (states, { symbols }, ending, start) => [
  { edges: [], free: start.states.map((state) => state + 1), accepting: start.accepting },
  ...states.map(({ edges, free }, state) => ({
    edges: edges.flatMap(([set, to]) =>
      symbols[set].map((symbol) => /** @type {[number, number]} */ ([symbol, to + 1])),
    ),
    free: free.map((to) => to + 1),
    accepting: ending.has(state),
  })),
];
