// network.js - compiles a grammar to a network of nodes over bytes
//
// Each rule is a network: edges read a byte of a range, `free` edges read nothing, and a call reads what another rule
// says and then continues. The rules of a grammar are checked here; automaton.js runs the network.
import { fail } from '../../base/errors.js';
import { MAX_NODES, connect } from './expression.js';
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

  node() {
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
      rule = { start: this.node(), end: this.node() };
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
    connect(this, expression, start, end);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  free(from, to) {
    this.#nodes[from].free.push(to);
  }

  /**
   * An expression that is copied several times is a rule of its own, and its copies are calls.
   * @param {{each: Expression, least: number, most: number}} e
   */
  each({ each, least, most }) {
    if ('rule' in each || Math.max(least, Number.isFinite(most) ? most : 0) <= 1) return each;
    const name = ` ${this.#rules.size}`; // a space: no rule of a grammar has this name
    this.#rule(name, true);
    this.#define(name, each);
    return { rule: name };
  }

  /**
   * @param {Exclude<Expression, {any: any} | {all: any} | {each: any}>} e
   * @param {number} from
   * @param {number} to
   */
  leaf(e, from, to) {
    const path = (/** @type {Iterable<number>} */ bytes) =>
      this.#path(
        Array.from(bytes, (byte) => [byte, byte]),
        from,
        to,
      );
    if ('text' in e) path(utf8.encode(e.text));
    else if ('special' in e) path([0xff, ...utf8.encode(e.special)]);
    else if ('chars' in e)
      for (const [low, high] of e.chars) for (const bytes of utf8Sequences(low, high)) this.#path(bytes, from, to);
    else if ('rule' in e) this.#nodes[from].calls.push([this.#rule(e.rule).start, to]);
    else {
      const nodes = e.states.map(() => this.node());
      this.free(from, nodes[0]); // not `from` itself: edges may lead back to the first state
      e.states.forEach(({ edges, free, accepting }, i) => {
        for (const [one, next] of edges) connect(this, one, nodes[i], nodes[next]);
        for (const next of free) this.free(nodes[i], nodes[next]);
        if (accepting) this.free(nodes[i], to);
      });
    }
  }

  /**
   * @param {[number, number][]} bytes
   * @param {number} from
   * @param {number} to
   */
  #path(bytes, from, to) {
    let at = from;
    for (const [i, [low, high]] of bytes.entries()) {
      const next = i === bytes.length - 1 ? to : this.node();
      this.#nodes[at].edges.push([low, high, next]);
      at = next;
    }
    if (!bytes.length) this.free(from, to);
  }

  /**
   * Throw when a rule that the root needs never ends, or begins with itself: the set of its configurations would have
   * no end.
   * @param {string} root
   */
  #checkRules(root) {
    const ending = this.#passable(true);
    const needed = new Set([this.#rule(root).start]);
    for (const node of needed) {
      const name = this.#names.get(node);
      if (name !== undefined && !ending.has(node)) fail('bad-option', `${this.#what}: ${ruleText(name)} never ends`);
      for (const to of this.#following(node, ending, true)) needed.add(to);
      for (const [start] of this.#nodes[node].calls) needed.add(start);
    }
    const empty = this.#passable(false);
    /** Rules that were visited; true: which begin with the one that is visited now. @type {Map<number, boolean>} */
    const visited = new Map();
    /**
     * The rules that are being visited, each with the rules that may begin it and are not visited yet.
     * @type {[number, number[]][]}
     */
    const open = [];
    const visit = (/** @type {number} */ start) => {
      if (visited.get(start))
        fail('bad-option', `${this.#what}: ${ruleText(this.#names.get(start))} begins with itself (left recursion)`);
      if (visited.has(start)) return;
      visited.set(start, true);
      const reached = new Set([start]);
      for (const node of reached) for (const to of this.#following(node, empty, false)) reached.add(to);
      open.push([
        start,
        [...new Set([...reached].flatMap((node) => this.#nodes[node].calls.map(([called]) => called)))],
      ]);
    };
    for (const first of this.#names.keys()) {
      visit(first);
      while (open.length) {
        const [start, rest] = open[open.length - 1];
        const next = rest.pop();
        if (next !== undefined) visit(next);
        else visited.set(start, !open.pop());
      }
    }
  }

  /**
   * The nodes that follow one inside its rule.
   * @param {number} node
   * @param {Set<number>} passable  first nodes of rules whose calls are passed, among others
   * @param {boolean} readsBytes  whether edges that read bytes are followed
   */
  *#following(node, passable, readsBytes) {
    const { edges, free, calls } = this.#nodes[node];
    if (readsBytes) for (const [, , to] of edges) yield to;
    yield* free;
    for (const [start, to] of calls) if (passable.has(start)) yield to;
  }

  /**
   * The nodes from which the end of their rule is reached.
   * @param {boolean} readsBytes  false: without reading, so that what follows may be empty
   */
  #passable(readsBytes) {
    /** Nodes by those that follow, each with another one that must be found too. @type {[number, number?][][]} */
    const before = this.#nodes.map(() => []);
    this.#nodes.forEach(({ edges, free, calls }, node) => {
      if (readsBytes) for (const [, , to] of edges) before[to].push([node]);
      for (const to of free) before[to].push([node]);
      for (const [start, to] of calls) {
        before[start].push([node, to]);
        before[to].push([node, start]);
      }
    });
    const found = new Set(this.#nodes.flatMap(({ end }, node) => (end ? [node] : [])));
    for (const node of found)
      for (const [one, other] of before[node]) if (other === undefined || found.has(other)) found.add(one);
    return found;
  }
}

/** @param {string} [name] */
const ruleText = (name = ' ') => (name[0] === ' ' ? 'a repeated part' : `the rule ${name}`);

/**
 * The network of a grammar.
 * @param {Grammar} grammar
 * @param {string} what  name of the option, for messages
 * @returns {Network}
 */
export const networkOf = (grammar, what) => new Compiler(what).network(grammar);
