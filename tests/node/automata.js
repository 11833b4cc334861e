// automata.js - the automata of schemas and grammars, and whether they read a text
import { Automaton } from '../../web/lib/text/constrain/automaton.js';
import { compiled } from '../../web/lib/text/constrain/compile.js';

const utf8 = new TextEncoder();

/**
 * Whether an automaton reads a text to its end.
 * @param {Automaton} automaton
 * @param {string} text
 * @returns {boolean}
 */
export function reads(automaton, text) {
  let state = automaton.start;
  for (const byte of utf8.encode(text)) if (!(state = automaton.step(state, byte))) return false;
  return state.accepting;
}

/** The automaton of a JSON schema, with any white space if not said otherwise. */
export const schemaAutomaton = (json, whitespace = 'any') => new Automaton(compiled({ json, whitespace }).network);
/** The automaton of a grammar in GBNF. */
export const grammarAutomaton = (grammar) => new Automaton(compiled({ grammar }).network);
