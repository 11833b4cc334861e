// tool_grammar.js - the grammar of an answer that may call tools: each call is JSON that fits the schema of its tool
import { choice, complement, rangesOf, repeat, sequence, text } from './expression.js';
import { schemaGrammar } from './json_schema.js';

/** @import { Expression, Grammar } from './expression.js' */
/**
 * Tools of an answer, and the form of their calls, as text/tool_calls.js finds it.
 * @typedef {object} Tools
 * @property {{open: string, close: string, isList: boolean, argumentsKey: string}} form
 * @property {{function: {name: string, parameters?: any}}[]} tools
 * @property {string} choice  'auto', 'required' or the name of the one to call, once
 */

/**
 * Any character but these.
 * @param {string} own
 */
const except = (own) => ({ chars: complement(rangesOf(...own)) });

/**
 * A text that may also be a special token.
 * @param {string} value
 */
const marker = (value) => choice(text(value), { special: value });

/**
 * The grammar of an answer.
 * @param {Tools} tools
 * @param {{strictSchema?: boolean}} options
 * @returns {Grammar & {ignored: string[]}}
 */
export function toolGrammar({ form: { open, close, isList, argumentsKey }, tools, choice: chosen }, options) {
  const isNamed = chosen !== 'auto' && chosen !== 'required';
  const allowed = isNamed ? tools.filter((tool) => tool.function.name === chosen) : tools;
  const more = isNamed ? 0 : Infinity;
  const { rules, root, ignored } = schemaGrammar(schemaOf(allowed, argumentsKey), { ...options, whitespace: 'spaced' });
  const call = { rule: root };
  const listed = sequence(text('['), call, repeat(sequence(text(', '), call), 0, more), text(']'));
  const marked = sequence(marker(open), text('\n'), call, text('\n'), marker(close));
  const calls = !open
    ? call
    : isList
      ? sequence(marker(open), repeat(text(' '), 0, 1), listed)
      : sequence(marked, repeat(sequence(text('\n'), marked), 0, more));
  const other = choice(text(''), sequence(except('{'), repeat(except(''), 0, Infinity)));
  const free = open ? sequence(without(open), choice(text(''), calls)) : choice(calls, other);
  rules.set('the answer', chosen === 'auto' ? free : calls);
  return { rules, root: 'the answer', ignored };
}

/**
 * The schema of one call of any tool. References inside the schema of a tool begin at that schema.
 * @param {Tools['tools']} tools
 * @param {string} argumentsKey
 */
function schemaOf(tools, argumentsKey) {
  const placed = (/** @type {string} */ name, /** @type {any} */ schema) =>
    JSON.parse(JSON.stringify(schema), (key, value) =>
      key === '$ref' && /^#(\/|$)/.test(value) ? `#/$defs/${name}${value.slice(1)}` : value,
    );
  const none = { type: 'object', properties: {}, additionalProperties: false };
  return {
    $defs: Object.fromEntries(
      tools.map(({ function: { name, parameters } }) => [name, placed(name, parameters ?? none)]),
    ),
    anyOf: tools.map(({ function: { name } }) => ({
      type: 'object',
      properties: { name: { const: name }, [argumentsKey]: { $ref: `#/$defs/${name}` } },
      required: ['name', argumentsKey],
      additionalProperties: false,
    })),
  };
}

/**
 * Any text that does not contain another: a state for each number of its characters that were read last (Knuth, Morris
 * and Pratt 1977).
 * @param {string} given
 * @returns {Expression}
 */
function without(given) {
  const own = [...new Set(given)];
  return {
    states: Array.from(given, (_, k) => ({
      edges: [
        [except(given), 0],
        ...own.flatMap((c) => {
          const read = given.slice(0, k) + c;
          let n = read.length;
          while (!given.startsWith(read.slice(read.length - n))) n--;
          return n < given.length ? [/** @type {[Expression, number]} */ ([text(c), n])] : [];
        }),
      ],
      free: [],
      accepting: true,
    })),
  };
}
