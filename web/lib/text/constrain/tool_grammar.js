// tool_grammar.js - the grammar of an answer that may call tools: the arguments of each call fit the schema of its
// tool, and an answer without calls that of the option json
import { choice, complement, rangesOf, repeat, sequence, text } from './expression.js';
import { schemaGrammar } from './schema_grammar.js';

/** @import { Expression, Grammar } from './expression.js' */
/** @import { Tools } from '../tool_calls.js' */

/**
 * Any character but these.
 * @param {string} own
 */
const except = (own) => ({ chars: complement(rangesOf(...own)) });

/** @param {Expression} own */
const optional = (own) => repeat(own, 0, 1);

/**
 * A text, in which what looks like a special token may also be one.
 * @param {string} value
 * @returns {Expression}
 */
const marked = (value) =>
  sequence(
    ...value
      .split(/(<[|\uff5c][^<>]*?[|\uff5c]>|<\/?\w+>|\[[A-Z_]+\])/)
      .map((part, i) => (i % 2 ? choice(text(part), { special: part }) : text(part)))
      .filter((part) => !('text' in part) || part.text),
  );

/** Words of JSON that Python writes in its own way, too. @type {Record<string, string>} */
const PYTHON = { true: 'True', false: 'False', null: 'None' };

/**
 * An expression whose rules have other names.
 * @param {any} e
 * @param {string} prefix
 * @param {Record<string, string>} words  other spellings of texts
 * @returns {any}
 */
function renamed(e, prefix, words) {
  const inner = (/** @type {any} */ own) => renamed(own, prefix, words);
  if ('rule' in e) return { rule: prefix + e.rule };
  if ('all' in e) return { all: e.all.map(inner) };
  if ('any' in e) return { any: e.any.map(inner) };
  if ('each' in e) return { ...e, each: inner(e.each) };
  if ('text' in e && words[e.text]) return choice(e, text(words[e.text]));
  if (!('states' in e)) return e;
  const edges = (/** @type {{edges: [any, number][]}} */ state) =>
    state.edges.map(([own, to]) => /** @type {[any, number]} */ ([inner(own), to]));
  return { states: e.states.map((/** @type {any} */ state) => ({ ...state, edges: edges(state) })) };
}

/** The rules of the calls of one answer. */
class CallGrammar {
  /** @type {Map<string, Expression>} */
  rules = new Map();
  /** @type {Set<string>} */
  ignored = new Set();

  /** @param {Tools} given @param {Parameters<typeof schemaGrammar>[1]} options */
  constructor({ form, tools, choice: chosen, parallel }, options) {
    this.options = options;
    this.form = form;
    const isNamed = chosen !== 'auto' && chosen !== 'required';
    this.mostFurther = isNamed || !parallel ? 0 : Infinity;
    this.tools = isNamed ? tools.filter((tool) => tool.function.name === chosen) : tools;
  }

  /**
   * JSON that fits a schema. A space behind : and , may be missing.
   * @param {any} schema
   * @param {string} name  of its rules
   * @param {Record<string, string>} [words]
   * @returns {Expression}
   */
  json(schema, name, words = {}) {
    const read = schemaGrammar(schema, { ...this.options, whitespace: 'spaced' });
    read.rules.set('gap', optional(text(' ')));
    return this.added(read, name, words);
  }

  /**
   * The root of other rules, which become rules of this grammar.
   * @param {ReturnType<typeof schemaGrammar>} read
   * @param {string} name
   * @param {Record<string, string>} [words]
   * @returns {Expression}
   */
  added({ rules, root, ignored }, name, words = {}) {
    for (const [rule, own] of rules) this.rules.set(`${name}: ${rule}`, renamed(own, `${name}: `, words));
    for (const one of ignored) this.ignored.add(one);
    return { rule: `${name}: ${root}` };
  }

  /** One call, and others where the answer may have several. @param {Expression} one @param {Expression} between */
  several(one, between) {
    return sequence(one, repeat(sequence(between, one), 0, this.mostFurther));
  }

  /** All calls of the answer. @returns {Expression} */
  calls() {
    const { open, close, style, before, after, bare, endsAnswer } = this.form;
    const blank = optional(choice(text(' '), text('\n')));
    const list = (/** @type {Expression} */ call) => sequence(text('['), this.several(call, text(', ')), text(']'));
    if (style === 'list') return sequence(marked(open), blank, list(this.object()), marked(close));
    if (style === 'python') return sequence(marked(open), list(this.each((tool) => this.python(tool))), marked(close));
    if (bare)
      return sequence(
        open ? optional(marked(open)) : text(''),
        open ? this.several(this.object(), text('; ')) : this.object(),
      );
    const call = style === 'object' ? sequence(blank, this.object(), blank) : this.each((tool) => this.named(tool));
    const end = endsAnswer ? optional(marked(after)) : marked(after);
    const one = sequence(marked(before), call, end);
    return sequence(marked(open), endsAnswer ? one : this.several(one, optional(text('\n'))), marked(close));
  }

  /** One of the tools. @param {(tool: Tools['tools'][number]['function']) => Expression} write @returns {Expression} */
  each(write) {
    return choice(...this.tools.map((tool) => write(tool.function)));
  }

  /** { name, arguments } of a tool. @returns {Expression} */
  object() {
    return this.json(schemaOf(this.tools, this.form.argumentsKey), 'call');
  }

  /** @param {Tools['tools'][number]['function']} tool @returns {Expression} */
  named({ name, parameters }) {
    const { style, separator } = this.form;
    const own = parameters ?? NO_PARAMETERS;
    const given = style === 'braces' ? this.braces({ type: 'object', ...own }, name) : this.json(own, name);
    return sequence(text(name), marked(separator), given);
  }

  /** A call of Python. @param {Tools['tools'][number]['function']} tool @returns {Expression} */
  python({ name, parameters = NO_PARAMETERS }) {
    const { $defs, definitions } = parameters;
    const value = (/** @type {any} */ schema, /** @type {string} */ key) =>
      this.json({ $defs, definitions, ...schema }, `${name} ${key}`, PYTHON);
    return sequence(text(`${name}(`), members(parameters, ', ', '=', value), text(')'));
  }

  /**
   * A value as FunctionGemma writes it.
   * @param {any} schema
   * @param {string} name
   * @returns {Expression}
   */
  braces(schema, name) {
    const quote = marked('<escape>');
    const own = schema.enum ?? ('const' in schema ? [schema.const] : null);
    const written = (/** @type {any} */ value) =>
      typeof value === 'string' ? sequence(quote, text(value), quote) : text(JSON.stringify(value));
    if (own) return choice(...own.map(written));
    const types = [schema.type ?? ['string', 'number', 'boolean']].flat();
    const kinds = /** @type {Record<string, () => Expression>} */ ({
      string: () => sequence(quote, without('<escape>'), quote),
      array: () => {
        const item = this.braces(schema.items ?? {}, `${name} items`);
        return sequence(text('['), optional(sequence(item, repeat(sequence(text(','), item), 0, Infinity))), text(']'));
      },
      object: () =>
        sequence(
          text('{'),
          members(schema, ',', ':', (inner, key) => this.braces(inner, `${name} ${key}`)),
          text('}'),
        ),
    });
    return choice(...types.map((type) => kinds[type]?.() ?? this.json({ ...schema, type }, `${name} ${type}`)));
  }

  /**
   * What the answer may be instead of a call, and before calls.
   * @param {Expression} calls
   * @param {any} json  schema of an answer without calls; undefined: any text
   * @returns {Expression}
   */
  free(calls, json) {
    const { open, before, bare, channels } = this.form;
    const value = json === undefined ? null : this.added(schemaGrammar(json, this.options), 'json');
    if (channels) {
      const final = sequence(marked('<|channel|>final<|message|>'), value ?? without('<|'));
      return sequence(this.analysis(), choice(calls, final));
    }
    if (value) return choice(calls, value);
    const any = repeat(except(''), 0, Infinity);
    if (bare) return choice(calls, text(''), sequence(except('{'), any));
    return sequence(without(open || before), choice(text(''), calls));
  }

  /** What a model that writes in channels may think before its answer. @returns {Expression} */
  analysis() {
    return optional(
      sequence(marked('<|channel|>analysis<|message|>'), without('<|'), marked('<|end|><|start|>assistant')),
    );
  }

  /** @returns {Expression} a call that must come, with the analysis before it */
  required() {
    return this.form.channels ? sequence(this.analysis(), this.calls()) : this.calls();
  }
}

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Properties in the order of a schema; those that are not required may be missing.
 * @param {any} schema
 * @param {string} between
 * @param {string} colon
 * @param {(schema: any, key: string) => Expression} value
 * @returns {Expression}
 */
function members({ properties = {}, required = [] }, between, colon, value) {
  const keys = Object.keys(properties);
  // state 2 i: before property i, and none was written; 2 i + 1: some were
  const states = Array.from({ length: 2 * keys.length + 2 }, (_, state) => {
    const [i, hasSome] = [state >> 1, state & 1];
    if (i === keys.length) return { edges: [], free: [], accepting: true };
    const key = keys[i];
    const own = sequence(
      text(`${hasSome ? between : ''}${key}${colon}`),
      value(properties[key], `${key}${hasSome || ''}`),
    );
    return {
      edges: [/** @type {[Expression, number]} */ ([own, 2 * i + 3])],
      free: required.includes(key) ? [] : [state + 2],
      accepting: false,
    };
  });
  return { states };
}

/**
 * The grammar of an answer.
 * @param {Tools} tools
 * @param {Parameters<typeof schemaGrammar>[1]} options
 * @param {any} [json]  schema of an answer without calls
 * @returns {Grammar & {ignored: string[]}}
 */
export function toolGrammar(tools, options, json) {
  const grammar = new CallGrammar(tools, options);
  const answer = tools.choice === 'auto' ? grammar.free(grammar.calls(), json) : grammar.required();
  grammar.rules.set('the answer', answer);
  return { rules: grammar.rules, root: 'the answer', ignored: [...grammar.ignored] };
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
  return {
    $defs: Object.fromEntries(
      tools.map(({ function: { name, parameters } }) => [name, placed(name, parameters ?? NO_PARAMETERS)]),
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
