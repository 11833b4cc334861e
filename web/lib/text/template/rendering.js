// rendering.js - a template while it is rendered: its text, calls, loops, macros and blocks
import { EXPRESSIONS } from './expression_rules.js';
import { FILTERS } from './filters.js';
import { escape } from './html_text.js';
import { LoopContext } from './loop_context.js';
import { bound } from './call_arguments.js';
import { undeclared } from './name_scopes.js';
import { isTrue, iterated, listOf } from './operators.js';
import { str } from './python_text.js';
import { Dict, Generator, Markup, Opaque, Undefined, textOf, typeName, tupleOf } from './python_values.js';
import { STATEMENTS } from './statement_rules.js';
import { NamespaceValue } from './template_globals.js';
import { checkSize, deeper, enter, leave, step } from './template_limits.js';
import { Scope, UNSET } from './template_scope.js';
import { TESTS } from './value_tests.js';

/** @import { Node } from './expression_parser.js' */

/**
 * How a list of statements ended: at its end, or at a `break` or `continue`.
 * @typedef {undefined | 'break' | 'continue'} End
 */

/** A template while it is rendered. */
export class Rendering {
  /** What is written now. */
  #out = '';
  /** Whether what is printed is escaped. */
  autoescape = false;

  /**
   * @param {Map<string, any>} given  variables and globals
   * @param {{unset: string[], blocks: Map<string, Node>}} scopes
   */
  constructor(given, { unset, blocks }) {
    const all = new Scope(null);
    all.values = given;
    this.root = new Scope(all, unset);
    this.blocks = blocks;
  }

  /** @param {Node[]} nodes  the statements of the template */
  render(nodes) {
    if (undeclared(nodes, ['self']).has('self')) this.root.values.set('self', this.#self());
    return this.#captured(() => this.#run(nodes, this.root));
  }

  /** @param {string} text */
  #write(text) {
    checkSize(this.#out.length + text.length);
    this.#out += text;
  }

  /** The text that a function writes. @param {() => void} run @returns {string} */
  #captured(run) {
    const before = this.#out;
    this.#out = '';
    run();
    const text = this.#out;
    this.#out = before;
    return text;
  }

  /**
   * Run with or without escaping.
   * @template T
   * @param {boolean} autoescape
   * @param {() => T} run
   * @returns {T}
   */
  escaping(autoescape, run) {
    const before = this.autoescape;
    this.autoescape = autoescape;
    const value = run();
    this.autoescape = before;
    return value;
  }

  /** A text that was captured, as a value. @param {string} text */
  #value(text) {
    return this.autoescape ? new Markup(text) : text;
  }

  /**
   * @param {Node[]} nodes
   * @param {Scope} scope
   * @returns {End}
   */
  #run(nodes, scope) {
    for (const node of nodes) {
      step();
      enter();
      const end = STATEMENTS[node.type](this, node, scope);
      leave();
      if (end) return end;
    }
    return undefined;
  }

  /** @param {Node} node @param {Scope} scope @returns {any} */
  evaluate(node, scope) {
    step();
    enter();
    const value = EXPRESSIONS[node.type](this, node, scope);
    leave();
    return value;
  }

  /** @param {Node[]} nodes @param {Scope} scope @returns {any[]} */
  all(nodes, scope) {
    return nodes.map((node) => this.evaluate(node, scope));
  }

  /** @param {Node} node  a call, filter or test @param {Scope} scope @returns {[any[], Map<string, any>]} */
  args({ args, kwargs, more, named }, scope) {
    const list = this.all(args, scope);
    const byName = new Map();
    for (const { key, value } of kwargs) byName.set(key, this.evaluate(value, scope));
    if (more) list.push(...listOf(this.evaluate(more, scope)));
    if (named) {
      const dict = this.evaluate(named, scope);
      if (!(dict instanceof Dict)) throw new Error(`argument after ** must be a mapping, not ${typeName(dict)}`);
      for (const [key, value] of dict.entries) {
        if (byName.has(textOf(key))) throw new Error(`a call has two values for ${key}`);
        byName.set(textOf(key), value);
      }
    }
    return [list, byName];
  }

  /**
   * @param {any} value
   * @param {any[]} args
   * @param {Map<string, any>} kwargs
   * @returns {any}
   */
  call(value, args, kwargs) {
    if (value instanceof Undefined) value.refuse();
    if (!(value instanceof Opaque) || !value.call) throw new Error(`'${typeName(value)}' object is not callable`);
    return deeper(() => /** @type {any} */ (value).call(args, kwargs));
  }

  /**
   * The value of a filter.
   * @param {string} name
   * @param {any} value
   * @param {any[]} args
   * @param {Map<string, any>} [kwargs]
   * @returns {any}
   */
  filter(name, value, args, kwargs = new Map()) {
    if (!Object.hasOwn(FILTERS, name)) throw new Error(`there is no filter named ${name}`);
    const [signature, run] = FILTERS[name];
    const [own, ...given] = bound(name, `/value ${signature}`, [value, ...args], kwargs);
    return run(this, own, ...given);
  }

  /**
   * Whether a test holds.
   * @param {string} name
   * @param {any} value
   * @param {any[]} args
   * @param {Map<string, any>} [kwargs]
   * @returns {boolean}
   */
  test(name, value, args, kwargs = new Map()) {
    if (!Object.hasOwn(TESTS, name)) throw new Error(`there is no test named ${name}`);
    const [signature, run] = TESTS[name];
    const [own, ...given] = bound(name, `/value ${signature}`, [value, ...args], kwargs);
    return run(own, ...given);
  }

  /** Write a value. @param {any} value */
  print(value) {
    this.#write(this.autoescape ? escape(value).text : str(value));
  }

  /** Write what a block gives, which must be a text. @param {any} value */
  writeText(value) {
    this.#write(textOf(value));
  }

  /** Write text of the template. @param {string} text */
  data(text) {
    this.#write(text);
  }

  /**
   * Give names their values.
   * @param {Node} target
   * @param {any} value
   * @param {Scope} scope
   */
  assign(target, value, scope) {
    if (target.type === 'Name') scope.values.set(target.name, value);
    else if (target.type === 'NamespaceEntry') {
      const space = scope.get(target.name);
      if (!(space instanceof NamespaceValue)) throw new Error('cannot assign attribute on non-namespace object');
      space.set(target.attribute, value);
    } else {
      const values = Array.from(iterated(value));
      if (values.length !== target.items.length)
        throw new Error(`${target.items.length} values are assigned, ${values.length} were found`);
      target.items.forEach((/** @type {Node} */ item, /** @type {number} */ i) => this.assign(item, values[i], scope));
    }
  }

  /** @param {Node} node @param {Scope} scope @returns {End} */
  branch({ branches, other }, scope) {
    const taken = branches.find((/** @type {Node} */ { test }) => isTrue(this.evaluate(test, scope)));
    return this.#run(taken ? taken.body : other, scope);
  }

  /** @param {Node} node @param {Scope} scope @returns {End} */
  loop(node, scope) {
    const items = this.evaluate(node.iter, scope);
    if (!node.recursive) return this.#loopOver(node, scope, items, 0, null);
    /** @type {(items: any, depth: number) => any} */
    const recurse = (inner, depth) =>
      this.#value(this.#captured(() => this.#loopOver(node, scope, inner, depth, recurse)));
    this.writeText(recurse(items, 0));
    return undefined;
  }

  /**
   * @param {Node} node
   * @param {Scope} scope
   * @param {any} items
   * @param {number} depth
   * @param {((items: any, depth: number) => any) | null} recurse
   * @returns {End}
   */
  #loopOver(node, scope, items, depth, recurse) {
    const loop = new LoopContext(node.test ? this.#selected(node, scope, items) : items, depth, recurse);
    let isComplete = false;
    for (let one = loop.advance(); one; one = loop.advance()) {
      step();
      const inner = new Scope(scope, node.unset);
      inner.values.set('loop', loop);
      this.assign(node.target, one.item, inner);
      const end = this.#run(node.body, inner);
      if (end === 'break') break;
      // Jinja2 does this, too: `else` runs also where the first iterations were left with continue
      isComplete ||= !end;
    }
    if (isComplete || !node.other.length) return undefined;
    return this.#run(node.other, new Scope(scope, node.unsetOther));
  }

  /** Items for which the condition of a loop holds. @param {Node} node @param {Scope} scope @param {any} items */
  #selected({ target, test }, scope, items) {
    const { assign, evaluate } = this;
    const source = iterated(items);
    const self = this;
    return new Generator(
      (function* () {
        for (const item of source) {
          const inner = new Scope(scope);
          assign.call(self, target, item, inner);
          if (isTrue(evaluate.call(self, test, inner))) yield item;
        }
      })(),
    );
  }

  /**
   * A macro, or the body of a call block.
   * @param {Node} node
   * @param {Scope} scope  around it
   * @returns {Opaque}
   */
  macro(node, scope) {
    const names = node.args.map((/** @type {Node} */ { name }) => name);
    const { special } = node;
    // what a macro prints is escaped as where it stands, what it returns as where it is called
    const lexical = this.autoescape;
    /** @type {(args: any[], kwargs: Map<string, any>) => any} */
    const call = (args, kwargs) => {
      const inner = new Scope(scope, node.unset);
      this.#parameters(node, names, args, new Map(kwargs), inner);
      return this.#value(this.escaping(lexical, () => this.#captured(() => this.#run(node.body, inner))));
    };
    const attributes = /** @type {Record<string, any>} */ ({
      ...{ name: node.name ?? null, arguments: tupleOf(names), caller: special.includes('caller') },
      ...{ catch_kwargs: special.includes('kwargs'), catch_varargs: special.includes('varargs') },
      explicit_caller: names.includes('caller'),
    });
    const attribute = (/** @type {string} */ own) => (Object.hasOwn(attributes, own) ? attributes[own] : undefined);
    return new Opaque('Macro', {
      call,
      attribute,
      text: () => `<Macro ${node.name ? `'${node.name}'` : 'anonymous'}>`,
    });
  }

  /**
   * Set the parameters of a macro.
   * @param {Node} node
   * @param {string[]} names
   * @param {any[]} args
   * @param {Map<string, any>} rest
   * @param {Scope} scope
   */
  #parameters({ args: { length }, defaults, special, name: macro }, names, args, rest, scope) {
    names.forEach((name, i) => {
      // a value by name is read only where one by position is missing
      const isByName = i >= args.length && rest.has(name);
      scope.values.set(name, i < args.length ? args[i] : isByName ? rest.get(name) : UNSET);
      if (isByName) rest.delete(name);
    });
    if (special.includes('caller')) {
      scope.values.set('caller', rest.get('caller') ?? new Undefined('No caller defined'));
      rest.delete('caller');
    }
    if (special.includes('kwargs')) scope.values.set('kwargs', new Dict(rest));
    else if (rest.size) throw new Error(`macro ${macro} takes no keyword argument ${[...rest.keys()][0]}`);
    if (special.includes('varargs')) scope.values.set('varargs', tupleOf(args.slice(length)));
    else if (args.length > length) throw new Error(`macro ${macro} takes not more than ${length} argument(s)`);
    names.forEach((name, i) => {
      if (scope.values.get(name) !== UNSET) return;
      const value = defaults[i - length + defaults.length];
      const missing = () => new Undefined(`parameter '${name}' was not provided`);
      scope.values.set(name, value ? this.evaluate(value, scope) : missing());
    });
  }

  /**
   * The text of statements in a scope of their own.
   * @param {Node} node
   * @param {Scope} scope
   * @returns {[string, End, Scope]}
   */
  captureBody({ body, unset }, scope) {
    const inner = new Scope(scope, unset);
    /** @type {End} */
    let end;
    const text = this.#captured(() => {
      end = this.#run(body, inner);
    });
    return [text, end, inner];
  }

  /** A text through the filters of a block. @param {string} text @param {Node | null} filter @param {Scope} scope */
  filtered(text, filter, scope) {
    const value = this.#value(text);
    if (!filter) return value;
    const all = [];
    for (let node = filter; node; node = node.node) all.unshift(node);
    return all.reduce((own, node) => this.filter(node.name, own, ...this.args(node, scope)), value);
  }

  /** @param {Node} node @param {Scope} inner  its scope @returns {End} */
  body(node, inner) {
    return this.#run(node.body, inner);
  }

  /** Write a block. @param {Node} node @param {Scope} scope */
  block(node, scope) {
    if (node.required) throw new Error(`Required block '${node.name}' not found`);
    const inner = new Scope(node.scoped ? scope : this.root, node.unset);
    const names = undeclared(node.body, ['self', 'super']);
    if (names.has('self')) inner.values.set('self', this.#self());
    if (names.has('super')) inner.values.set('super', new Undefined(`there is no parent block called '${node.name}'.`));
    this.escaping(false, () => this.#run(node.body, inner));
  }

  /** The variable `self`, whose attributes are the blocks. */
  #self() {
    const attribute = (/** @type {string} */ name) => {
      const node = this.blocks.get(name);
      if (!node) return undefined;
      return new Opaque('BlockReference', {
        call: () => this.#value(this.#captured(() => this.block({ ...node, scoped: false }, this.root))),
      });
    };
    return new Opaque('TemplateReference', { attribute });
  }
}
