// render_template.js - renders a chat template, which comes with a model and is not trusted, within limits
import { Environment, Interpreter, Template, parse, tokenize } from '@huggingface/jinja';

/** Limits of one rendering. Templates of published models stay below a hundredth of each. */
const MOST = {
  /** Nodes of the syntax tree that are evaluated, and entries of the lists that they make. */
  steps: 5_000_000,
  /** Characters of a text; entries and characters of a list or an object and of all that it holds. */
  size: 2 ** 20,
  /** Numbers of a range; a loop over them takes a kilobyte each. */
  range: 100_000,
  /** Nodes inside one another. */
  depth: 400,
  /** Time in ms. */
  time: 5000,
};

/** A value of the interpreter. @typedef {{value: unknown}} Value */

/**
 * A text without these characters at its beginning, its end or both, as Python removes them.
 * @param {string} text
 * @param {string} characters
 * @param {string} side  'l', 'r' or ''
 */
function stripped(text, characters, side) {
  const all = [...text];
  let [from, to] = [0, all.length];
  while (side !== 'r' && from < to && characters.includes(all[from])) from++;
  while (side !== 'l' && to > from && characters.includes(all[to - 1])) to--;
  return all.slice(from, to).join('');
}

/** Evaluates a template as Jinja2 does where the library does not, and throws when one of the limits is reached. */
class LimitedInterpreter extends /** @type {any} */ (Interpreter) {
  #steps = 0;
  #depth = 0;
  #end = performance.now() + MOST.time;
  /** Sizes of lists and objects, which never change. @type {WeakMap<object, number>} */
  #sizes = new WeakMap();
  /** Statements that are bodies of loops. */
  #bodies = new WeakSet();
  /** Environments of loops that `break` has ended. */
  #ended = new WeakSet();

  /** @param {Environment} environment  the globals and variables */
  constructor(environment) {
    super(environment);
  }

  /**
   * The value of a node of the syntax tree; the interpreter calls it for each.
   * @param {any} statement
   * @param {any} environment
   * @returns {Value}
   */
  evaluate(statement, environment) {
    if (++this.#steps > MOST.steps) throw new Error(`it takes more than ${MOST.steps} steps`);
    if (performance.now() > this.#end) throw new Error(`it takes more than ${MOST.time} ms`);
    if (++this.#depth > MOST.depth) throw new Error(`it is nested more than ${MOST.depth} deep`);
    if (statement?.type === 'For') this.#bodies.add(statement.body);
    let value;
    try {
      value = super.evaluate(statement, environment);
    } catch (/** @type {any} */ error) {
      if (/^(Break|Continue)$/.test(statement?.type)) error.leaves = statement.type;
      throw error;
    } finally {
      this.#depth--;
    }
    if (this.#size(value) > MOST.size)
      throw new Error(`a text or list of it has more than ${MOST.size} characters and entries`);
    return value;
  }

  /**
   * The text of statements. Of an iteration that `break` or `continue` leaves, what it has written stays; the library
   * drops it. What an iteration sets, it sets for itself; in the library the next one finds it.
   * @param {any[]} statements
   * @param {any} environment
   * @returns {Value}
   */
  evaluateBlock(statements, environment) {
    const text = super.evaluateBlock([], environment);
    if (this.#ended.has(environment)) return text;
    const isBody = this.#bodies.has(statements);
    const own = isBody ? new Environment(environment) : environment;
    try {
      for (const statement of statements) text.value += super.evaluateBlock([statement], own).value;
    } catch (/** @type {any} */ error) {
      if (!error.leaves) throw error;
      text.value += error.written ?? '';
      if (!isBody) throw Object.assign(error, { written: text.value });
      if (error.leaves === 'Break') this.#ended.add(environment);
    }
    return text;
  }

  /**
   * A call. The library's strip, lstrip and rstrip take no characters.
   * @param {any} call
   * @param {any} environment
   * @returns {Value}
   */
  evaluateCallExpression(call, environment) {
    const { callee, args } = call;
    const [, side] = (!callee.computed && /^([lr]?)strip$/.exec(callee.property?.value)) || [];
    if (side !== undefined && args.length === 1) {
      /** @type {any[]} */
      const [text, characters] = [callee.object, args[0]].map((node) => this.evaluate(node, environment));
      if (text.type === 'StringValue' && characters.type === 'StringValue')
        return new text.constructor(stripped(text.value, characters.value, side));
    }
    return super.evaluateCallExpression(call, environment);
  }

  /**
   * The size of a value as text, where a part that occurs twice counts twice.
   * @param {Value} value
   * @returns {number}
   */
  #size(value) {
    const inner = value.value;
    if (typeof inner === 'string') return inner.length;
    if (typeof inner !== 'object' || inner === null) return 1;
    const known = this.#sizes.get(inner);
    if (known !== undefined) return known;
    this.#sizes.set(inner, 1); // of a namespace that holds itself
    const parts = Array.isArray(inner) ? inner : inner instanceof Map ? [...inner.values()] : [];
    this.#steps += parts.length;
    const size = parts.reduce((sum, part) => sum + this.#size(part), parts.length);
    this.#sizes.set(inner, size);
    return size;
  }
}

/**
 * The function `range` of templates.
 * @param {number} first  the end, when it is the only number
 * @param {number} [end]  excluded
 * @param {number} [step]
 * @returns {number[]}
 */
function range(first, end, step = 1) {
  const [from, to] = end === undefined || end === null ? [0, first] : [first, end];
  const n = Math.max(0, Math.ceil((to - from) / step));
  if (!(n <= MOST.range)) throw new Error(`range(${from}, ${to}, ${step}) has more than ${MOST.range} numbers`);
  return Array.from({ length: n }, (_, i) => from + i * step);
}

/** What templates find besides their variables. */
const GLOBALS = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  range,
  raise_exception: (/** @type {string} */ message) => {
    throw new Error(message);
  },
  strftime_now: (/** @type {string} */ format) => new Template('{{ strftime_now(format) }}').render({ format }),
};

/**
 * A chat template as text.
 * @param {string} template
 * @param {Record<string, any>} variables
 * @returns {string}
 * @throws {Error} what is wrong in the template, or which limit it reached
 */
export function renderTemplate(template, variables) {
  const environment = new Environment();
  for (const [name, value] of Object.entries({ ...GLOBALS, ...variables })) environment.set(name, value);
  const program = parse(tokenize(template, { lstrip_blocks: true, trim_blocks: true }));
  return /** @type {string} */ (new LimitedInterpreter(environment).run(program).value);
}
