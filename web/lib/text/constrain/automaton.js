// automaton.js - runs a network (network.js) over the bytes of a text
//
// A configuration is a node and a frame, the list of nodes at which the open calls continue. A state is the set of
// configurations after some bytes. States and frames are created once and found again, so that steps and masks
// (constraint.js) can be stored in them.
import { fail } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';

/**
 * A node of a network: its edges, which read a byte; its edges that read nothing; its calls; whether it is the last of
 * its rule.
 * @typedef {object} Node
 * @property {[low: number, high: number, to: number][]} edges
 * @property {number[]} free
 * @property {[start: number, to: number][]} calls
 * @property {boolean} end
 */
/**
 * A compiled grammar. what: name of the option, for messages; start: first node of the rule that the text follows.
 * @typedef {{what: string, nodes: Node[], start: number}} Network
 */
/**
 * A set of configurations. reading: those that read a byte, each the number node * FRAMES + frame; accepting: the text
 * may end here; next: the state after each byte, null: no text continues so; mask: see constraint.js.
 * @typedef {object} State
 * @property {number[]} reading
 * @property {boolean} accepting
 * @property {(State | null | undefined)[]} next
 * @property {import('./constraint.js').Mask | null} mask
 */

/** More than there are frames. */
const FRAMES = 2 ** 27;
/** Most configurations of a state. */
const MAX_CONFIGURATIONS = 20_000;
/** Most stored states. When there are more, all are forgotten. */
const MAX_STATES = 20_000;

/** A network with its states. */
export class Automaton {
  /** Node of each frame, and the frame below it. Frame 0 is empty. */
  #frameNodes = [0];
  #frameBelow = [0];
  /** @type {Map<number, number>} */
  #frames = new Map();
  /** @type {Map<string, State>} */
  #states = new Map();
  #nodes;
  #what;

  /** @param {Network} network */
  constructor({ what, nodes, start }) {
    this.#what = what;
    this.#nodes = nodes;
    this.start = /** @type {State} */ (this.#state([start * FRAMES]));
  }

  /**
   * The state after a byte; null: no text continues so.
   * @param {State} state
   * @param {number} byte
   * @returns {State | null}
   */
  step(state, byte) {
    const known = state.next[byte];
    if (known !== undefined) return known;
    const found = [];
    for (const one of state.reading) {
      const node = Math.floor(one / FRAMES);
      for (const [low, high, to] of this.#nodes[node].edges)
        if (byte >= low && byte <= high) found.push(one + (to - node) * FRAMES);
    }
    return (state.next[byte] = this.#state(found));
  }

  /**
   * The state of these configurations and of all that are reached from them without a byte; null: none.
   * @param {number[]} given
   * @returns {State | null}
   */
  #state(given) {
    if (!given.length) return null;
    const found = new Set(given);
    const reading = [];
    let accepting = false;
    for (const one of found) {
      if (found.size > MAX_CONFIGURATIONS) fail('bad-option', `${this.#what} is too ambiguous`);
      const node = Math.floor(one / FRAMES);
      const frame = one - node * FRAMES;
      const { edges, free, calls, end } = this.#nodes[node];
      if (edges.length) reading.push(one);
      if (end && frame) found.add(this.#frameNodes[frame] * FRAMES + this.#frameBelow[frame]);
      if (end && !frame) accepting = true;
      for (const to of free) found.add(to * FRAMES + frame);
      for (const [start, to] of calls) found.add(start * FRAMES + this.#call(to, frame));
    }
    reading.sort((a, b) => a - b);
    const key = `${accepting} ${reading.join(' ')}`;
    const known = this.#states.get(key);
    if (known) return known;
    if (this.#states.size >= MAX_STATES) {
      for (const state of this.#states.values()) {
        state.next.fill(undefined);
        state.mask = null;
      }
      this.#states.clear();
    }
    /** @type {State} */
    const state = { reading, accepting, next: new Array(256).fill(undefined), mask: null };
    this.#states.set(key, state);
    return state;
  }

  /**
   * The frame of a call that continues at `to`. A call at the end of a rule needs none: it continues where the rule's
   * own call does.
   * @param {number} to
   * @param {number} below
   */
  #call(to, below) {
    const { edges, free, calls, end } = this.#nodes[to];
    if (end && !edges.length && !free.length && !calls.length) return below;
    return remembered(this.#frames, to * FRAMES + below, () => {
      this.#frameBelow.push(below);
      return this.#frameNodes.push(to) - 1;
    });
  }
}
