// expression_parser.js - reads the expressions of a template
import { deeper } from './template_limits.js';

/** @import { TokenStream } from './token_stream.js' */
/**
 * A node of the syntax tree: its type, and what belongs to it in the order of the source.
 * @typedef {{type: string, [part: string]: any}} Node
 */

const CONSTANTS = new Map([
  ...['true', 'True'].map((name) => /** @type {[string, any]} */ ([name, true])),
  ...['false', 'False'].map((name) => /** @type {[string, any]} */ ([name, false])),
  ...['none', 'None'].map((name) => /** @type {[string, any]} */ ([name, null])),
]);

/** Reads expressions from a stream of tokens. */
export class ExpressionParser {
  /** @param {TokenStream} stream */
  constructor(stream) {
    this.stream = stream;
  }

  /** Like an expression, but `1, 2` without parentheses is a tuple. */
  /**
   * @param {{condition?: boolean, end?: string, inParentheses?: boolean, item?: () => Node}} [how]  condition: it may
   *   have an inline `if`; end: a name that ends it; item: reads an entry
   * @returns {Node}
   */
  tuple({ condition = true, end, inParentheses = false, item = () => this.expression(condition) } = {}) {
    const { stream } = this;
    const items = [];
    let isTuple = false;
    while (!(stream.is('}}', '%}', ')') || (end && stream.isName(end)))) {
      items.push(item());
      if (!stream.skip(',')) break;
      isTuple = true;
    }
    if (!isTuple && items.length) return items[0];
    if (!isTuple && !inParentheses) stream.unexpected('an expression');
    return { type: 'Tuple', items };
  }

  /** @param {boolean} [condition] @returns {Node} */
  expression(condition = true) {
    return deeper(() => (condition ? this.#conditional() : this.#binary(0)));
  }

  /** @returns {Node} */
  #conditional() {
    let node = this.#binary(0);
    while (this.stream.skipName('if')) {
      const test = this.#binary(0);
      const other = this.stream.skipName('else') ? deeper(() => this.#conditional()) : null;
      node = { type: 'Condition', test, then: node, other };
    }
    return node;
  }

  /** Operators from the weakest. @param {number} level @returns {Node} */
  #binary(level) {
    const { stream } = this;
    if (level === 2) return this.#not();
    if (level === 4) return this.#chain(['+', '-'], () => this.#concatenation());
    if (level === 5) return this.#chain(['*', '/', '//', '%'], () => this.#chain(['**'], () => this.unary()));
    const [name, type] = level ? ['and', 'And'] : ['or', 'Or'];
    let left = this.#binary(level + 1);
    while (stream.skipName(name)) left = { type, left, right: this.#binary(level + 1) };
    return left;
  }

  /** @returns {Node} */
  #not() {
    if (this.stream.skipName('not')) return { type: 'Not', node: deeper(() => this.#not()) };
    const expr = this.#binary(4);
    const ops = [];
    for (;;) {
      const operator = this.#comparison();
      if (!operator) return ops.length ? { type: 'Compare', expr, ops } : expr;
      ops.push({ type: operator, expr: this.#binary(4) });
    }
  }

  /** @returns {string | undefined} */
  #comparison() {
    const { stream } = this;
    if (stream.is('==', '!=', '<', '<=', '>', '>=')) return stream.next().type;
    if (stream.skipName('in')) return 'in';
    if (!stream.isName('not') || stream.following.value !== 'in' || stream.following.type !== 'name') return;
    stream.next();
    stream.next();
    return 'not in';
  }

  /** @param {string[]} operators @param {() => Node} operand @returns {Node} */
  #chain(operators, operand) {
    let left = operand();
    while (this.stream.is(...operators)) {
      const operator = this.stream.next().type;
      left = { type: 'Binary', operator, left, right: operand() };
    }
    return left;
  }

  /** @returns {Node} */
  #concatenation() {
    const nodes = [this.#binary(5)];
    while (this.stream.skip('~')) nodes.push(this.#binary(5));
    return nodes.length > 1 ? { type: 'Concatenation', nodes } : nodes[0];
  }

  /** @param {boolean} [filtered]  it may have filters @returns {Node} */
  unary(filtered = true) {
    const { stream } = this;
    let node;
    if (stream.is('-', '+')) {
      const sign = stream.next().type;
      node = { type: 'Sign', sign, node: deeper(() => this.unary(false)) };
    } else node = this.primary();
    node = this.postfix(node);
    return filtered ? this.#filtered(node) : node;
  }

  /** @param {boolean} [inNamespace]  a.b is a name @returns {Node} */
  primary(inNamespace = false) {
    const { stream } = this;
    if (stream.is('(')) {
      stream.next();
      const node = this.tuple({ inParentheses: true });
      stream.expect(')');
      return node;
    }
    if (stream.is('[')) return this.#list();
    if (stream.is('{')) return this.#dict();
    if (!stream.is('name', 'string', 'integer', 'float')) return stream.unexpected('an expression');
    const { type, value } = stream.next();
    if (type === 'string') {
      let text = value;
      while (stream.is('string')) text += stream.next().value;
      return { type: 'Constant', value: text };
    }
    if (type !== 'name') return { type: 'Constant', value };
    if (CONSTANTS.has(value)) return { type: 'Constant', value: CONSTANTS.get(value) };
    if (inNamespace && stream.skip('.'))
      return { type: 'NamespaceEntry', name: value, attribute: stream.expect('name').value };
    return { type: 'Name', name: value, use: 'load' };
  }

  /** @returns {Node} */
  #list() {
    return { type: 'List', items: this.#listed('[', ']', () => this.expression()) };
  }

  /** @returns {Node} */
  #dict() {
    const pair = () => {
      const key = this.expression();
      this.stream.expect(':');
      return { type: 'Pair', key, value: this.expression() };
    };
    return { type: 'Dict', items: this.#listed('{', '}', pair) };
  }

  /** @template T @param {string} open @param {string} close @param {() => T} item @returns {T[]} */
  #listed(open, close, item) {
    const { stream } = this;
    stream.expect(open);
    const items = [];
    while (!stream.is(close)) {
      if (items.length) stream.expect(',');
      if (stream.is(close)) break;
      items.push(item());
    }
    stream.expect(close);
    return items;
  }

  /** Attributes, entries and calls of a value. @param {Node} node @returns {Node} */
  postfix(node) {
    const { stream } = this;
    for (;;) {
      if (stream.is('.')) node = this.#attribute(node);
      else if (stream.is('[')) node = this.#subscript(node);
      else if (stream.is('(')) node = { type: 'Call', node, ...this.args() };
      else return node;
    }
  }

  /** @param {Node} node @returns {Node} */
  #attribute(node) {
    this.stream.expect('.');
    if (this.stream.is('name')) return { type: 'Attribute', node, name: this.stream.next().value };
    return { type: 'Entry', node, key: { type: 'Constant', value: this.stream.expect('integer').value } };
  }

  /** @param {Node} node @returns {Node} */
  #subscript(node) {
    const keys = this.#listed('[', ']', () => this.#key());
    if (keys.length === 1) return { type: keys[0].type === 'Slice' ? 'SliceOf' : 'Entry', node, key: keys[0] };
    if (keys.some(({ type }) => type === 'Slice')) throw new Error('slices of several dimensions are not supported');
    return { type: 'Entry', node, key: { type: 'Tuple', items: keys } };
  }

  /** @returns {Node} */
  #key() {
    const { stream } = this;
    const bounds = [null, null, null];
    let at = 0;
    const isEnd = () => stream.is(':', ']', ',');
    if (!stream.is(':')) {
      bounds[0] = /** @type {any} */ (this.expression());
      if (!stream.is(':')) return /** @type {any} */ (bounds[0]);
    }
    while (++at < 3 && stream.skip(':')) if (!isEnd()) bounds[at] = /** @type {any} */ (this.expression());
    return { type: 'Slice', bounds };
  }

  /** The arguments of a call. */
  args() {
    const { stream } = this;
    const [args, kwargs] = [/** @type {Node[]} */ ([]), /** @type {Node[]} */ ([])];
    let [more, named] = [/** @type {Node | null} */ (null), /** @type {Node | null} */ (null)];
    const ensure = (/** @type {boolean} */ fits) => fits || stream.unexpected('arguments in another order');
    stream.expect('(');
    for (let isFirst = true; !stream.is(')'); isFirst = false) {
      if (!isFirst) stream.expect(',');
      if (stream.is(')')) break;
      if (stream.skip('*')) {
        ensure(!more && !named);
        more = this.expression();
      } else if (stream.skip('**')) {
        ensure(!named);
        named = this.expression();
      } else if (stream.is('name') && stream.following.type === '=') {
        ensure(!named);
        const key = stream.next().value;
        stream.next();
        ensure(!kwargs.some((other) => other.key === key));
        kwargs.push({ type: 'Keyword', key, value: this.expression() });
      } else {
        ensure(!more && !named && !kwargs.length);
        args.push(this.expression());
      }
    }
    stream.expect(')');
    return { args, kwargs, more, named };
  }

  /** Filters and tests of a value. @param {Node} node @returns {Node} */
  #filtered(node) {
    const { stream } = this;
    for (;;) {
      if (stream.is('|')) node = /** @type {Node} */ (this.filters(node));
      else if (stream.skipName('is')) node = this.#test(node);
      else if (stream.is('(')) node = { type: 'Call', node, ...this.args() };
      else return node;
    }
  }

  /** @returns {string} */
  #dotted() {
    let name = this.stream.expect('name').value;
    while (this.stream.skip('.')) name += `.${this.stream.expect('name').value}`;
    return name;
  }

  /**
   * @param {Node | null} node  null: what a block has written
   * @param {boolean} [isBegun]  the first filter stands without |
   * @returns {Node | null}
   */
  filters(node, isBegun = false) {
    const { stream } = this;
    while (isBegun || stream.skip('|')) {
      const name = this.#dotted();
      const none = { args: [], kwargs: [], more: null, named: null };
      node = { type: 'Filter', node, name, ...(stream.is('(') ? this.args() : none) };
      isBegun = false;
    }
    return node;
  }

  /** @param {Node} node @returns {Node} */
  #test(node) {
    const { stream } = this;
    const isNegated = stream.skipName('not');
    const name = this.#dotted();
    let own = { args: /** @type {Node[]} */ ([]), kwargs: [], more: null, named: null };
    if (stream.is('(')) own = /** @type {any} */ (this.args());
    else if (stream.is('name', 'string', 'integer', 'float', '[', '{') && !stream.isName('else', 'or', 'and')) {
      if (stream.isName('is')) throw new Error('tests with `is` cannot be chained');
      own.args.push(this.postfix(this.primary()));
    }
    const test = { type: 'Test', node, name, ...own };
    return isNegated ? { type: 'Not', node: test } : test;
  }
}
