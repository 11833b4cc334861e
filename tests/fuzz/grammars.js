// grammars.js - compares automata of grammars with the npm package gbnf, an independent reader of GBNF
//
//   node tests/fuzz/grammars.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case is a random grammar with texts that its automaton reads, texts that are one character longer or shorter, and
// random ones; both must read the same ones. Three things that the package reads wrongly or not at all do not occur:
// characters above U+FFFF, repetitions of what may be empty, and digits in names.
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { grammarAutomaton, reads } from '../node/automata.js';
import { numbersOf, randomText } from '../node/random_patterns.js';
import { installed, runFromCommandLine } from './command_line.js';

const CHARACTERS = [...'abcé漢1'];
const CLASSES = ['[a-c]', '[^ab]', '[é漢]', '[a1]', '[0-9]', '[^a-c1]'];

/** Random grammars of one sequence of numbers. */
class Grammars {
  /** @param {() => number} random  from 0 to 1 */
  constructor(random) {
    this.random = random;
  }
  /** @param {number} n */
  below = (n) => Math.floor(this.random() * n);
  /** @param {ArrayLike<string>} list */
  one = (list) => list[this.below(list.length)];
  /** @param {number} most @param {() => string} make */
  some = (most, make) => Array.from({ length: 1 + this.below(most) }, make);
  text = (most = 3) => this.some(most, () => this.one(CHARACTERS)).join('');

  /** @param {number} depth @param {string[]} names @returns {string} */
  expression = (depth, names) =>
    this.some(3, () => this.some(3, () => this.item(depth, names)).join(' ')).join(this.one([' | ', ' ', '|']));

  /** @param {number} depth @param {string[]} names */
  item(depth, names) {
    const kind = this.below(4);
    if (depth && kind === 0) return `(${this.expression(depth - 1, names)})${this.one(['', '', '?'])}`;
    if (names.length && kind === 1) return `${this.one(names)}${this.one(['', '', '?'])}`;
    return `${kind === 2 ? this.one(CLASSES) : JSON.stringify(this.text())}${this.one(['', '', '', '?', '*', '+'])}`;
  }

  /** Rules name later rules only, so that none begins with itself. */
  grammar() {
    const names = ['root', 'left', 'right'].slice(0, 1 + this.below(3));
    return names.map((name, i) => `${name} ::= ${this.expression(i ? 1 : 2, names.slice(i + 1))}\n`).join('');
  }
}

/**
 * @param {{seed: number, first: number, cases: number, seconds: number}} how
 * @returns {Promise<{cases: number, why?: string}>} why: a finding, in case number `cases`
 */
async function fuzz({ seed, first, cases, seconds }) {
  const folder = dirname(installed('gbnf', ['gbnf@0.1.41']));
  // by its file, because the package has no working CommonJS
  const { default: parse } = await import(pathToFileURL(`${folder}/node_modules/gbnf/dist/index.js`).href);
  const end = performance.now() + 1000 * seconds;
  let n = first;
  for (; n < first + cases && performance.now() < end; n++) {
    const random = new Grammars(numbersOf(seed * 100_003 + n));
    const grammar = random.grammar();
    const automaton = grammarAutomaton(grammar);
    const other = parse(grammar);
    const read = Array.from({ length: 6 }, () => randomText(automaton, random.random));
    const near = read.flatMap((text) => [text.slice(0, -1), text + random.one(CHARACTERS)]);
    for (const text of [...read, ...near, ...random.some(6, () => random.text(5))]) {
      if (text.length > 40 || /[\ud800-\udfff]/.test(text)) continue;
      if (reads(automaton, text) !== readsToEnd(other, text))
        return { cases: n, why: `${grammar}${JSON.stringify(text)} is read by one of both` };
    }
  }
  return { cases: n - first };
}

/** @param {any} state  of gbnf @param {string} text */
function readsToEnd(state, text) {
  try {
    for (const character of text) state = state.add(character);
  } catch {
    return false; // it throws where nothing can follow
  }
  return [...state].some(({ type }) => type === 'END' || type === 'end');
}

await runFromCommandLine('grammars', fuzz);
