// network.js - compiles a grammar to a network of nodes over bytes
//
// Each rule is a network: edges read a byte of a range, `free` edges read nothing, and a call reads what another rule
// says and then continues. The rules of a grammar are checked here; automaton.js runs the network.
import { fail } from '../base/errors.js';
import { MAX_NODES } from './expression.js';
import { utf8Sequences } from './utf8.js';

/** @import { Expression, Grammar } from './expression.js' */
/** @import { Network, Node } from './automaton.js' */

const utf8 = new TextEncoder();

/** Compiles one grammar. */
class Compiler {
  /** @type {Node[]} */
  #nodes = [];
  /** First and last node by name of the rule. @type {Map<string, {start: number, end: number}>} */
  #rules = new Map();
  /** The rule of each call, by its first node. @type {Map<number, string>} */
  #names = new Map();
  #what;

  /** @param {string} what  name of the option, for messages */
  constructor(what) {
    this.#what = what;
  }

  /**
   * @param {Grammar} grammar
   * @returns {Network}
   */
  network({ rules, root }) {
    for (const name of rules.keys()) this.#rule(name, true);
    for (const [name, expression] of rules) this.#define(name, expression);
    this.#checkRules(root);
    return { what: this.#what, nodes: this.#nodes, start: this.#rule(root).start };
  }

  /** @returns {number} */
  #node() {
    if (this.#nodes.length >= MAX_NODES)
      fail('bad-option', `${this.#what} takes more than ${MAX_NODES} states: make its repetitions or lengths smaller`);
    return this.#nodes.push({ edges: [], free: [], calls: [], end: false }) - 1;
  }

  /**
   * @param {string} name
   * @param {boolean} [isNew]
   */
  #rule(name, isNew) {
    let rule = this.#rules.get(name);
    if (!rule && isNew) {
      rule = { start: this.#node(), end: this.#node() };
      this.#rules.set(name, rule);
      this.#names.set(rule.start, name);
    }
    return rule ?? fail('bad-option', `${this.#what}: there is no rule ${name}`);
  }

  /**
   * @param {string} name
   * @param {Expression} expression
   */
  #define(name, expression) {
    const { start, end } = this.#rule(name);
    this.#nodes[end].end = true;
    this.#add(expression, start, end);
  }

  /**
   * Add what leads from one node to another.
   * @param {Expression} e
   * @param {number} from
   * @param {number} to
   */
  #add(e, from, to) {
    if ('text' in e)
      this.#path(
        [...utf8.encode(e.text)].map((byte) => [byte, byte]),
        from,
        to,
      );
    else if ('special' in e)
      this.#path(
        [0xff, ...utf8.encode(e.special)].map((byte) => [byte, byte]),
        from,
        to,
      );
    else if ('chars' in e) {
      for (const [low, high] of e.chars) for (const bytes of utf8Sequences(low, high)) this.#path(bytes, from, to);
    } else if ('any' in e) for (const one of e.any) this.#add(one, from, to);
    else if ('rule' in e) {
      this.#nodes[from].calls.push([this.#rule(e.rule).start, to]);
    } else if ('all' in e) {
      let at = from;
      for (const [i, one] of e.all.entries()) {
        const next = i === e.all.length - 1 ? to : this.#node();
        this.#add(one, at, next);
        at = next;
      }
      if (!e.all.length) this.#nodes[from].free.push(to);
    } else if ('states' in e) this.#states(e.states, from, to);
    else this.#repeat(e, from, to);
  }

  /**
   * @param {import('./expression.js').StateExpression[]} states
   * @param {number} from
   * @param {number} to
   */
  #states(states, from, to) {
    const nodes = states.map(() => this.#node());
    this.#nodes[from].free.push(nodes[0]); // not `from` itself: edges may lead back to the first state
    states.forEach(({ edges, free, accepting }, i) => {
      for (const [one, next] of edges) this.#add(one, nodes[i], nodes[next]);
      this.#nodes[nodes[i]].free.push(...free.map((next) => nodes[next]), ...(accepting ? [to] : []));
    });
  }

  /**
   * @param {{each: Expression, least: number, most: number}} e
   * @param {number} from
   * @param {number} to
   */
  #repeat({ each, least, most }, from, to) {
    let one = each;
    if (!('rule' in each) && Math.max(least, Number.isFinite(most) ? most : 0) > 1) {
      const name = ` ${this.#rules.size}`; // a space: no rule of a grammar has this name
      this.#rule(name, true);
      this.#define(name, each);
      one = { rule: name };
    }
    let at = from;
    for (let i = 0; i < least; i++) {
      const next = this.#node();
      this.#add(one, at, next);
      at = next;
    }
    if (most === Infinity) {
      const loop = this.#node();
      this.#nodes[at].free.push(loop);
      this.#add(one, loop, loop);
      at = loop;
    }
    for (let i = least; Number.isFinite(most) && i < most; i++) {
      this.#nodes[at].free.push(to);
      const next = this.#node();
      this.#add(one, at, next);
      at = next;
    }
    this.#nodes[at].free.push(to);
  }

  /**
   * @param {[number, number][]} bytes
   * @param {number} from
   * @param {number} to
   */
  #path(bytes, from, to) {
    let at = from;
    for (const [i, [low, high]] of bytes.entries()) {
      const next = i === bytes.length - 1 ? to : this.#node();
      this.#nodes[at].edges.push([low, high, next]);
      at = next;
    }
    if (!bytes.length) this.#nodes[from].free.push(to);
  }

  /**
   * Throw when a rule that the root needs never ends, or begins with itself: the set of its configurations would have
   * no end.
   * @param {string} root
   */
  #checkRules(root) {
    const ending = this.#passable(true);
    const needed = new Set([root]);
    for (const name of needed) {
      if (!ending.has(name)) fail('bad-option', `${this.#what}: ${ruleText(name)} never ends`);
      for (const called of this.#called(name, ending, true)) needed.add(called);
    }
    const empty = this.#passable(false);
    /** Rules that were visited; true: which begin with the one that is visited now. @type {Map<string, boolean>} */
    const visited = new Map();
    /** Those rules, with the rules that may begin them and are not visited yet. @type {[string, string[]][]} */
    const open = [];
    const visit = (/** @type {string} */ name) => {
      if (visited.get(name)) fail('bad-option', `${this.#what}: ${ruleText(name)} begins with itself (left recursion)`);
      if (visited.has(name)) return;
      visited.set(name, true);
      open.push([name, this.#called(name, empty, false)]);
    };
    for (const first of this.#rules.keys()) {
      visit(first);
      while (open.length) {
        const [name, rest] = open[open.length - 1];
        const next = rest.pop();
        if (next !== undefined) visit(next);
        else visited.set(name, !open.pop());
      }
    }
  }

  /**
   * The rules whose end is reached.
   * @param {boolean} readsBytes  false: without reading, so that the rule may be empty
   * @returns {Set<string>}
   */
  #passable(readsBytes) {
    /** Rules by those that they call. @type {Map<string, string[]>} */
    const callers = new Map();
    const all = new Set(this.#rules.keys());
    for (const name of all)
      for (const called of this.#called(name, all, true)) {
        const known = callers.get(called);
        if (known) known.push(name);
        else callers.set(called, [name]);
      }
    /** @type {Set<string>} */
    const found = new Set();
    const queue = all;
    for (const name of queue) {
      queue.delete(name); // it is put into the queue again when a rule is found that it calls
      const { start, end } = this.#rule(name);
      if (found.has(name) || !this.#reached(start, found, readsBytes).has(end)) continue;
      found.add(name);
      for (const caller of callers.get(name) ?? []) queue.add(caller);
    }
    return found;
  }

  /**
   * The rules that are called inside a rule. The parameters are those of #reached.
   * @param {string} name
   * @param {Set<string>} passable
   * @param {boolean} readsBytes
   * @returns {string[]}
   */
  #called(name, passable, readsBytes) {
    /** @type {Set<string>} */
    const called = new Set();
    for (const node of this.#reached(this.#rule(name).start, passable, readsBytes))
      for (const [start] of this.#nodes[node].calls) called.add(this.#nameAt(start));
    return [...called];
  }

  /** @param {number} start  first node of a rule */
  #nameAt(start) {
    return /** @type {string} */ (this.#names.get(start));
  }

  /**
   * The nodes that are reached inside a rule.
   * @param {number} start
   * @param {Set<string>} passable  rules whose calls are passed
   * @param {boolean} readsBytes  whether edges that read bytes are followed
   */
  #reached(start, passable, readsBytes) {
    const reached = new Set([start]);
    for (const node of reached) {
      const { edges, free, calls } = this.#nodes[node];
      if (readsBytes) for (const [, , to] of edges) reached.add(to);
      for (const to of free) reached.add(to);
      for (const [called, to] of calls) if (passable.has(this.#nameAt(called))) reached.add(to);
    }
    return reached;
  }
}

/** @param {string} name */
const ruleText = (name) => (name[0] === ' ' ? 'a repeated part' : `the rule ${name}`);

/**
 * The network of a grammar.
 * @param {Grammar} grammar
 * @param {string} what  name of the option, for messages
 * @returns {Network}
 */
export const networkOf = (grammar, what) => new Compiler(what).network(grammar);
