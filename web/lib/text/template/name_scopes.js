// name_scopes.js - which names a scope has before they are set, and what Jinja2 refuses when it compiles a template
//
// Jinja2 decides while it compiles whether a name in a scope is its own, one of an outer scope, or one that the caller
// gave. A name that a scope sets without having read it before is undefined until then, also where the caller gave one:
// each node that opens a scope gets these names as `unset`.
import { FILTERS } from './filters.js';
import { TESTS } from './value_tests.js';

/** @import { Node } from './expression_parser.js' */

/** What gives a name its value when its scope begins. @typedef {'given' | 'outer' | 'own' | 'unset'} Origin */

/** The names of one scope. */
class Names {
  /** @type {Map<string, Origin>} */
  origins = new Map();
  /** @type {Set<string>} */
  stored = new Set();

  /** @param {Names | null} outer */
  constructor(outer) {
    this.outer = outer;
  }

  /** @param {string} name @returns {boolean} */
  knows(name) {
    return this.origins.has(name) || Boolean(this.outer?.knows(name));
  }

  /** @param {string} name @param {string} use  load, store or parameter */
  add(name, use) {
    if (use === 'load') {
      if (!this.knows(name)) this.origins.set(name, 'given');
      return;
    }
    this.stored.add(name);
    if (use === 'parameter') this.origins.set(name, 'own');
    else if (!this.origins.has(name)) this.origins.set(name, this.outer?.knows(name) ? 'outer' : 'unset');
  }

  copy() {
    const copy = new Names(this.outer);
    copy.origins = new Map(this.origins);
    copy.stored = new Set(this.stored);
    return copy;
  }

  /** Take over the branches of an `if`, of which one runs. @param {Names[]} branches */
  merge(branches) {
    const before = new Set(this.stored);
    for (const { origins, stored } of branches) {
      for (const [name, origin] of origins) this.origins.set(name, origin);
      for (const name of stored) this.stored.add(name);
    }
    for (const name of this.stored)
      if (!before.has(name)) this.origins.set(name, this.outer?.knows(name) ? 'outer' : 'given');
  }

  get unset() {
    return [...this.origins].filter(([, origin]) => origin === 'unset').map(([name]) => name);
  }
}

/** @param {any} value @returns {Node[]} */
const childrenOf = (value) =>
  Object.values(value).flatMap((part) =>
    Array.isArray(part) ? part.filter((one) => one?.type) : part?.type ? [part] : [],
  );

/** What of a statement belongs to the scope around it. @type {Record<string, (node: Node) => Node[]>} */
const OUTER = {
  For: ({ iter }) => [iter],
  With: ({ values }) => values,
  CallBlock: ({ call }) => [call],
  FilterBlock: ({ filter }) => [filter],
  SetBlock: ({ target }) => [target],
  Macro: ({ name }) => [{ type: 'Name', name, use: 'store' }],
  Generation: () => [],
  Autoescape: () => [],
  Block: () => [],
};

/**
 * Add the names that a node uses in a scope.
 * @param {Node} node
 * @param {Names} names
 */
function addNames(node, names) {
  if (node.type === 'Name') names.add(node.name, node.use);
  else if (node.type === 'NamespaceEntry') names.add(node.name, 'load');
  else if (node.type === 'If') addBranches(node.branches, node.other, names);
  else for (const part of OUTER[node.type]?.(node) ?? childrenOf(node)) addNames(part, names);
}

/** @param {Node[]} branches @param {Node[]} other @param {Names} names */
function addBranches([first, ...more], other, names) {
  addNames(first.test, names);
  const added = (/** @type {(own: Names) => void} */ add) => {
    const own = names.copy();
    add(own);
    return own;
  };
  const addAll = (/** @type {Node[]} */ nodes) => (/** @type {Names} */ own) =>
    nodes.forEach((one) => addNames(one, own));
  names.merge([
    added(addAll(first.body)),
    added((own) => more.forEach((branch) => addBranches([branch], [], own))),
    added(addAll(other)),
  ]);
}

/** The names among `given` that nodes read before they set them. @param {Node[]} nodes @param {string[]} given */
export function undeclared(nodes, given) {
  const names = new Set(given);
  const found = new Set();
  const visit = (/** @type {Node} */ node) => {
    if (node.type === 'Block') return;
    if (node.type === 'Name' && node.use === 'load' && names.has(node.name)) found.add(node.name);
    else if (node.type === 'Name') names.delete(node.name);
    childrenOf(node).forEach(visit);
  };
  nodes.forEach(visit);
  return found;
}

/** Gives each node its names, and refuses what Jinja2 refuses. */
class Scopes {
  /** @type {Map<string, Node>} */
  blocks = new Map();

  /**
   * A scope with what stands in it.
   * @param {Node[]} nodes
   * @param {Names | null} outer
   * @param {{parameters?: string[], targets?: Node[], before?: Node[], inLoop?: boolean}} [how]  before: what it
   *   evaluates before its statements
   * @returns {string[]} unset
   */
  open(nodes, outer, { parameters = [], targets = [], before = [], inLoop = false } = {}) {
    const names = new Names(outer);
    const asParameter = (/** @type {Node} */ node) => {
      if (node.type === 'Name') names.add(node.name, 'parameter');
      else if (node.type === 'Tuple') node.items.forEach(asParameter);
      else addNames(node, names);
    };
    for (const name of parameters) names.add(name, 'parameter');
    targets.forEach(asParameter);
    for (const node of [...before, ...nodes]) addNames(node, names);
    for (const name of parameters) names.add(name, 'parameter');
    for (const node of before) this.expression(node, false);
    this.statements(nodes, names, false, inLoop);
    return names.unset;
  }

  /**
   * @param {Node[]} nodes
   * @param {Names} names
   * @param {boolean} isSoft  inside an `if`, where a missing filter is refused when it runs
   * @param {boolean} inLoop  whether it may break
   */
  statements(nodes, names, isSoft, inLoop) {
    for (const node of nodes) {
      const { type } = node;
      if (type === 'If') {
        for (const { test, body } of node.branches) {
          this.expression(test, true);
          this.statements(body, names, true, inLoop);
        }
        this.statements(node.other, names, true, inLoop);
      } else if (type === 'For') this.#loop(node, names, isSoft, inLoop);
      else if (type === 'Break' || type === 'Continue') {
        if (!inLoop) throw new Error(`${type.toLowerCase()} stands outside a loop`);
      } else if (['Macro', 'CallBlock', 'Generation'].includes(type)) this.#macro(node, names, isSoft);
      else if (type === 'Block') {
        if (this.blocks.has(node.name)) throw new Error(`block ${node.name} is defined twice`);
        this.blocks.set(node.name, node);
      } else this.#simple(node, names, isSoft, inLoop);
    }
  }

  /** @param {Node} node @param {Names} names @param {boolean} isSoft @param {boolean} inLoop */
  #simple(node, names, isSoft, inLoop) {
    const outer = OUTER[node.type]?.(node);
    for (const part of outer ?? childrenOf(node)) this.expression(part, isSoft && node.type !== 'FilterBlock');
    if (!outer) return;
    const { targets = [], body } = node;
    const before = [node.value].filter((one) => one?.type);
    node.unset = this.open(body, names, { targets, before, inLoop });
    if (node.type === 'SetBlock' && node.filter) this.expression(node.filter, false);
  }

  /** @param {Node} node @param {Names} names @param {boolean} isSoft @param {boolean} inLoop */
  #loop(node, names, isSoft, inLoop) {
    this.expression(node.iter, isSoft);
    const { target, test, body, other } = node;
    const isStored = (/** @type {Node} */ one) =>
      (one.type === 'Name' && one.use === 'store' && one.name === 'loop') || childrenOf(one).some(isStored);
    if ([target, ...body, ...other].some(isStored)) throw new Error('loop cannot be set inside a loop');
    if (test) this.expression(test, false);
    node.unset = this.open(body, names, { parameters: ['loop'], targets: [target], inLoop: true });
    node.unsetOther = this.open(other, names, { inLoop: node.recursive ? false : inLoop });
  }

  /** @param {Node} node @param {Names} names @param {boolean} isSoft */
  #macro(node, names, isSoft) {
    if (node.call) this.expression(node.call, isSoft);
    const own = node.args.map((/** @type {Node} */ { name }) => name);
    const special = undeclared(node.body, ['caller', 'kwargs', 'varargs']);
    const caller = own.indexOf('caller');
    if (special.has('caller') && caller >= 0 && caller < own.length - node.defaults.length)
      throw new Error('the parameter caller of a macro needs a default');
    node.special = [...special].filter((name) => !own.includes(name));
    const { args: targets, defaults: before } = node;
    node.unset = this.open(node.body, names, { targets, before, parameters: node.special });
  }

  /** @param {Node} node @param {boolean} isSoft */
  expression(node, isSoft) {
    const [table, what] = node.type === 'Test' ? [TESTS, 'test'] : [FILTERS, 'filter'];
    if (['Test', 'Filter'].includes(node.type) && !isSoft && !Object.hasOwn(table, node.name))
      throw new Error(`there is no ${what} named ${node.name}`);
    for (const part of childrenOf(node)) this.expression(part, isSoft || node.type === 'Condition');
  }
}

/**
 * The names of all scopes of a template.
 * @param {Node[]} nodes
 * @returns {{unset: string[], blocks: Map<string, Node>}}
 */
export function scopesOf(nodes) {
  const scopes = new Scopes();
  const unset = scopes.open(nodes, null);
  for (const block of scopes.blocks.values()) block.unset = scopes.open(block.body, null);
  return { unset, blocks: scopes.blocks };
}
