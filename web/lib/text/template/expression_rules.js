// expression_rules.js - the value of each expression of a template
import { attributeOf, itemOf } from './attributes.js';
import { escape } from './html_text.js';
import { COMPARISONS, isTrue, operated, sliceOf } from './operators.js';
import { isNumber, negated, toFloat } from './python_numbers.js';
import { joined, str } from './python_text.js';
import { Dict, Markup, Undefined, isText, tupleOf } from './python_values.js';

/** @import { Node } from './expression_parser.js' */
/** @import { Rule } from './statement_rules.js' */

/** The values of expressions. @type {Record<string, Rule>} */
export const EXPRESSIONS = {
  Constant: (_, { value }) => value,
  Name: (_, { name }, scope) => {
    const value = scope.get(name);
    return value === undefined ? new Undefined(`'${name}' is undefined`) : value;
  },
  Tuple: (r, { items }, scope) => tupleOf(r.all(items, scope)),
  List: (r, { items }, scope) => r.all(items, scope),
  Dict: (r, { items }, scope) =>
    new Dict(items.map((/** @type {Node} */ { key, value }) => [r.evaluate(key, scope), r.evaluate(value, scope)])),
  Condition: (r, { test, then, other }, scope) => {
    if (isTrue(r.evaluate(test, scope))) return r.evaluate(then, scope);
    return other ? r.evaluate(other, scope) : new Undefined('an inline if is false and has no else');
  },
  Or: (r, { left, right }, scope) => {
    const value = r.evaluate(left, scope);
    return isTrue(value) ? value : r.evaluate(right, scope);
  },
  And: (r, { left, right }, scope) => {
    const value = r.evaluate(left, scope);
    return isTrue(value) ? r.evaluate(right, scope) : value;
  },
  Not: (r, { node }, scope) => !isTrue(r.evaluate(node, scope)),
  Compare: (r, { expr, ops }, scope) => {
    let left = r.evaluate(expr, scope);
    return ops.every((/** @type {Node} */ { type, expr: next }) => {
      const right = r.evaluate(next, scope);
      const holds = COMPARISONS[type](left, right);
      left = right;
      return holds;
    });
  },
  Binary: (r, { operator, left, right }, scope) =>
    operated(operator, r.evaluate(left, scope), r.evaluate(right, scope)),
  Sign: (r, { sign, node }, scope) => {
    const value = r.evaluate(node, scope);
    if (!isNumber(value)) toFloat(value); // refuses it
    return sign === '-' ? negated(value) : typeof value === 'boolean' ? Number(value) : value;
  },
  Concatenation: (r, { nodes }, scope) => {
    const values = r.all(nodes, scope);
    if (r.autoescape && values.some((value) => value instanceof Markup))
      return new Markup(
        joined(
          values.map((value) => escape(isText(value) ? value : str(value)).text),
          '',
        ),
      );
    return joined(values.map(str), '');
  },
  Attribute: (r, { node, name }, scope) => attributeOf(r.evaluate(node, scope), name),
  Entry: (r, { node, key }, scope) => itemOf(r.evaluate(node, scope), r.evaluate(key, scope)),
  SliceOf: (r, { node, key }, scope) => {
    const value = r.evaluate(node, scope);
    const bounds = key.bounds.map((/** @type {Node | null} */ one) => (one ? r.evaluate(one, scope) : null));
    return sliceOf(value, bounds);
  },
  Call: (r, node, scope) => {
    const callee = r.evaluate(node.node, scope);
    return r.call(callee, ...r.args(node, scope));
  },
  Filter: (r, node, scope) => {
    const value = r.evaluate(node.node, scope);
    return r.filter(node.name, value, ...r.args(node, scope));
  },
  Test: (r, node, scope) => {
    const value = r.evaluate(node.node, scope);
    return r.test(node.name, value, ...r.args(node, scope));
  },
};
