// template_limits.js - what one rendering may take, because a template comes with a model and is not trusted
//
// Rendering is synchronous, so that one rendering runs at a time: its counters are those of this module.

/** Limits of one rendering. Templates of published models stay below a tenth of each. */
export const MOST = {
  /** Nodes of the syntax tree that are evaluated, and entries of the lists that they make. */
  steps: 20_000_000,
  /** Characters of a text, entries of a list. */
  size: 2 ** 20,
  /** Numbers of a range, as in Jinja2's sandbox. */
  range: 100_000,
  /** Nodes inside one another, while the template is read and while it is evaluated. */
  depth: 400,
  /** Decimal digits of an integer, as in Python, and of the fraction of a formatted number. */
  digits: 4300,
  /** Time in ms. */
  time: 5000,
};

/** Calls of `step` between two comparisons of the time. */
const CALLS = 64;

let steps = 0;
let calls = 0;
let depth = 0;
let end = 0;

/** Begin a rendering. */
export function beginRendering() {
  steps = 0;
  depth = 0;
  end = performance.now() + MOST.time;
}

/** Count work, and compare the time. @param {number} [n] */
export function step(n = 1) {
  steps += n;
  if (steps > MOST.steps) throw new Error(`it takes more than ${MOST.steps} steps`);
  if (++calls % CALLS === 0 && performance.now() > end) throw new Error(`it takes more than ${MOST.time} ms`);
}

/** Go one level deeper. After an error the depth is wrong, and the rendering at its end. */
export function enter() {
  if (++depth > MOST.depth) throw new Error(`it is nested more than ${MOST.depth} deep`);
}

/** Come back from a level. */
export function leave() {
  depth--;
}

/**
 * Run what lies one level deeper.
 * @template T
 * @param {() => T} run
 * @returns {T}
 */
export function deeper(run) {
  enter();
  const value = run();
  leave();
  return value;
}

/** Refuse a text or list that would be too long, before it is made. @param {number} length */
export function checkSize(length) {
  if (!(length <= MOST.size)) throw new Error(`a text or list of it has more than ${MOST.size} characters and entries`);
}
