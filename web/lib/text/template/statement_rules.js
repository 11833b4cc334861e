// statement_rules.js - what each statement of a template does
import { isTrue } from './operators.js';
import { Scope } from './template_scope.js';

/** @import { Node } from './expression_parser.js' */
/** @import { Rendering } from './rendering.js' */

/** @typedef {(rendering: Rendering, node: Node, scope: Scope) => any} Rule */

/** What statements do; they return how they end. @type {Record<string, Rule>} */
export const STATEMENTS = {
  Data: (r, { text }) => r.data(text),
  Output: (r, { node }, scope) => r.print(r.evaluate(node, scope)),
  Print: (r, { nodes }, scope) => nodes.forEach((/** @type {Node} */ { node }) => r.print(r.evaluate(node, scope))),
  If: (r, node, scope) => r.branch(node, scope),
  For: (r, node, scope) => r.loop(node, scope),
  Break: () => 'break',
  Continue: () => 'continue',
  Set: (r, { target, node }, scope) => r.assign(target, r.evaluate(node, scope), scope),
  SetBlock: (r, node, scope) => {
    const [text, end, inner] = r.captureBody(node, scope);
    if (end) return end;
    return r.assign(node.target, r.filtered(text, node.filter, inner), scope);
  },
  FilterBlock: (r, node, scope) => {
    const [text, end, inner] = r.captureBody(node, scope);
    if (end) return end;
    return r.writeText(r.filtered(text, node.filter, inner));
  },
  With: (r, node, scope) => {
    const inner = new Scope(scope, node.unset);
    node.targets.forEach((/** @type {Node} */ target, /** @type {number} */ i) =>
      r.assign(target, r.evaluate(node.values[i], scope), inner),
    );
    return r.body(node, inner);
  },
  Autoescape: (r, node, scope) => {
    const inner = new Scope(scope, node.unset);
    return r.escaping(isTrue(r.evaluate(node.value, inner)), () => r.body(node, inner));
  },
  Macro: (r, node, scope) => void scope.values.set(node.name, r.macro(node, scope)),
  CallBlock: (r, node, scope) => {
    const callee = r.evaluate(node.call.node, scope);
    const [args, kwargs] = r.args(node.call, scope);
    r.writeText(r.call(callee, args, kwargs.set('caller', r.macro(node, scope))));
  },
  Generation: (r, node, scope) => r.writeText(r.call(r.macro(node, scope), [], new Map())),
  Block: (r, node, scope) => r.block(node, scope),
  Load: (_, { kind }) => {
    throw new Error(`${kind} has no other template to load`);
  },
};
