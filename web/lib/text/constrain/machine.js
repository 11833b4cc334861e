// machine.js - finite automata over numbered symbols
//
// A symbol stands for a set of characters that are treated alike. Whoever builds a machine keeps the characters.
import { remembered } from '../../base/lazy_value.js';

/** @import { Expression } from './expression.js' */
/**
 * A state: its edges, each with the symbol that it reads; the states that follow without reading; whether the text may
 * end here.
 * @typedef {{edges: [symbol: number, to: number][], free: number[], accepting: boolean}} MachineState
 */
/** A machine begins in its state 0. @typedef {MachineState[]} Machine */

/** Most states of a machine, and most edges. */
const MAX_STATES = 50_000;
const MAX_EDGES = 2_000_000;

/**
 * The machine whose states are found by following edges from a first one; null: there are more than `limit`, more than
 * MAX_EDGES edges, or `visit` gave up.
 * @template T
 * @param {T} start
 * @param {(state: T) => string | number} keyOf  equal for the same state
 * @param {(state: T) => {edges: [number, T][], free?: T[], accepting: boolean} | null} visit
 * @param {number} [limit]
 * @returns {Machine | null}
 */
export function explore(start, keyOf, visit, limit = MAX_STATES) {
  const places = new Map([[keyOf(start), 0]]);
  const queue = [start];
  const placeOf = (/** @type {T} */ state) => remembered(places, keyOf(state), () => queue.push(state) - 1);
  /** @type {Machine} */
  const machine = [];
  let edges = 0;
  for (const state of queue) {
    const found = queue.length <= limit ? visit(state) : null;
    if (!found || (edges += found.edges.length) > MAX_EDGES) return null;
    machine.push({
      edges: found.edges.map(([symbol, to]) => [symbol, placeOf(to)]),
      free: (found.free ?? []).map(placeOf),
      accepting: found.accepting,
    });
  }
  return machine;
}

/**
 * The machine of the texts that two machines accept; null: it has too many states.
 * @param {Machine} a
 * @param {Machine} b
 * @returns {Machine | null}
 */
export function intersection(a, b) {
  /** Targets of b's states by symbol. @type {Map<number, number[]>[]} */
  const targets = b.map(({ edges }) => {
    const by = new Map();
    for (const [symbol, to] of edges) remembered(by, symbol, () => []).push(to);
    return by;
  });
  return explore(
    [0, 0],
    ([p, q]) => p * b.length + q,
    ([p, q]) => ({
      edges: a[p].edges.flatMap(([symbol, to]) =>
        (targets[q].get(symbol) ?? []).map((other) => /** @type {[number, number[]]} */ ([symbol, [to, other]])),
      ),
      free: [...a[p].free.map((to) => [to, q]), ...b[q].free.map((to) => [p, to])],
      accepting: a[p].accepting && b[q].accepting,
    }),
  );
}

/**
 * Most symbols of a text; Infinity: it has no end, or some states follow each other in a circle without reading.
 * @param {Machine} machine  trimmed
 */
function longest(machine) {
  const before = new Uint32Array(machine.length); // edges to each state from states that were not visited
  for (const { edges, free } of machine) {
    for (const [, to] of edges) before[to]++;
    for (const to of free) before[to]++;
  }
  if (before[0]) return Infinity;
  const lengths = new Uint32Array(machine.length);
  const queue = [0];
  for (const state of queue) {
    const { edges, free } = machine[state];
    for (const [to, read] of [...edges.map(([, to]) => [to, 1]), ...free.map((to) => [to, 0])]) {
      lengths[to] = Math.max(lengths[to], lengths[state] + read);
      if (--before[to] === 0) queue.push(to);
    }
  }
  return queue.length < machine.length ? Infinity : lengths.reduce((a, b) => Math.max(a, b));
}

/**
 * The machine of those texts that have `least` to `most` symbols; null: it has too many states.
 * @param {Machine} machine  trimmed
 * @param {number} least
 * @param {number} most  may be Infinity
 * @returns {Machine | null}
 */
export function counted(machine, least, most) {
  if (most !== Infinity && longest(machine) <= most) most = Infinity;
  if (least === 0 && most === Infinity) return machine;
  const top = most === Infinity ? least : most; // a text that has more symbols is counted no further
  return explore(
    [0, 0],
    ([p, n]) => p + n * machine.length,
    ([p, n]) => ({
      edges: n < most ? machine[p].edges.map(([symbol, to]) => [symbol, [to, Math.min(n + 1, top)]]) : [],
      free: machine[p].free.map((to) => [to, n]),
      accepting: machine[p].accepting && n >= least,
    }),
  );
}

/**
 * The states from which some states are reached, and these.
 * @template T
 * @param {T[]} states
 * @param {number[]} some
 * @param {(state: T) => number[]} following
 */
export function reaching(states, some, following) {
  /** @type {number[][]} */
  const sources = states.map(() => []);
  states.forEach((state, from) => following(state).forEach((to) => sources[to].push(from)));
  const found = new Set(some);
  for (const state of found) for (const from of sources[state]) found.add(from);
  return found;
}

/**
 * The machine without the states from which no accepting one is reached; null: none is left.
 * @param {Machine} machine  whose states are all reached from its first
 * @returns {Machine | null}
 */
export function trimmed(machine) {
  const accepting = machine.flatMap((state, i) => (state.accepting ? [i] : []));
  const ending = reaching(machine, accepting, ({ edges, free }) => [...edges.map(([, to]) => to), ...free]);
  if (!ending.has(0)) return null;
  return explore(
    0,
    (state) => state,
    (state) => ({
      edges: machine[state].edges.filter(([, to]) => ending.has(to)),
      free: machine[state].free.filter((to) => ending.has(to)),
      accepting: machine[state].accepting,
    }),
  );
}

/**
 * The smallest machine that accepts the same texts. States are told apart by what they accept after 0, 1, ... symbols,
 * so that it takes as many rounds as texts are long: for machines of short cycles.
 * @param {Machine} machine  with one edge for each symbol of a state, at most, and no free ones
 * @returns {Machine}
 */
export function minimized(machine) {
  machine = machine.map((state) => ({ ...state, edges: [...state.edges].sort((a, b) => a[0] - b[0]) }));
  let groups = machine.map(({ accepting }) => Number(accepting));
  for (let count = 0, before = -1; count !== before;) {
    /** @type {Map<string, number>} */
    const found = new Map();
    const next = machine.map(({ edges }, i) => {
      const key = `${groups[i]} ${edges.map(([symbol, to]) => `${symbol}:${groups[to]}`)}`;
      return remembered(found, key, () => found.size);
    });
    [before, count, groups] = [count, found.size, next];
  }
  const first = new Map([...groups.entries()].reverse().map(([state, group]) => [group, state]));
  return Array.from({ length: first.size }, (_, group) => {
    const { edges, free, accepting } = machine[/** @type {number} */ (first.get(group))];
    return { edges: edges.map(([symbol, to]) => [symbol, groups[to]]), free, accepting };
  });
}

/**
 * @param {Machine} machine
 * @param {(symbols: number[]) => Expression} charsOf  one character of these symbols
 * @returns {Expression}
 */
export function statesOf(machine, charsOf) {
  return {
    states: machine.map(({ edges, free, accepting }) => {
      /** @type {Map<number, number[]>} */
      const symbols = new Map();
      for (const [symbol, to] of edges) remembered(symbols, to, () => []).push(symbol);
      return { edges: [...symbols].map(([to, own]) => [charsOf(own), to]), free, accepting };
    }),
  };
}
