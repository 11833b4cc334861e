// template_parser.js - reads a template: text, and the statements between {% and %}
import { ExpressionParser } from './expression_parser.js';
import { deeper } from './template_limits.js';
import { TokenStream } from './token_stream.js';

/** @import { Node } from './expression_parser.js' */

/** Reads statements; they have a colon at their end, if people write one. */
class TemplateParser extends ExpressionParser {
  /** The statements by their names. @type {Record<string, () => Node>} */
  #statements = {
    for: () => this.#for(),
    if: () => this.#if(),
    block: () => this.#block(),
    extends: () => this.#load('extends'),
    include: () => this.#load('include'),
    import: () => this.#load('import'),
    from: () => this.#load('from'),
    print: () => this.#print(),
    macro: () => this.#macro(),
    set: () => this.#set(),
    with: () => this.#with(),
    autoescape: () => ({ type: 'Autoescape', value: this.expression(), body: this.#body('endautoescape') }),
    call: () => this.#call(),
    filter: () => ({ type: 'FilterBlock', filter: this.filters(null, true), body: this.#body('endfilter') }),
    generation: () => ({ type: 'Generation', args: [], defaults: [], body: this.#body('endgeneration') }),
    break: () => ({ type: 'Break' }),
    continue: () => ({ type: 'Continue' }),
  };

  /**
   * Text and statements up to one of these names, which is read next; all, where there is none.
   * @param {string[]} ends
   * @returns {Node[]}
   */
  statements(...ends) {
    return deeper(() => {
      /** @type {Node[]} */
      const out = [];
      const { stream } = this;
      while (!stream.is('end')) {
        if (stream.is('data')) out.push({ type: 'Data', text: stream.next().value });
        else if (stream.skip('{{')) {
          out.push({ type: 'Output', node: this.tuple() });
          stream.expect('}}');
        } else {
          stream.expect('{%');
          if (stream.isName(...ends)) return out;
          out.push(this.#statement());
          stream.expect('%}');
        }
      }
      return ends.length ? stream.unexpected(ends.join(' or ')) : out;
    });
  }

  /** @returns {Node} */
  #statement() {
    const { type, value } = this.stream.current;
    if (type !== 'name' || !Object.hasOwn(this.#statements, value)) return this.stream.unexpected('a statement');
    this.stream.next();
    return this.#statements[value]();
  }

  /** The statements of a tag up to one of these names. @param {string[]} ends @returns {Node[]} */
  #upTo(...ends) {
    this.stream.skip(':');
    this.stream.expect('%}');
    return this.statements(...ends);
  }

  /** @param {string} end */
  #body(end) {
    const body = this.#upTo(end);
    this.stream.next();
    return body;
  }

  /**
   * What is assigned to.
   * @param {{use?: string, end?: string, inNamespace?: boolean, nameOnly?: boolean}} [how]
   * @returns {Node}
   */
  #target({ use = 'store', end, inNamespace = false, nameOnly = false } = {}) {
    const item = () => this.primary(inNamespace);
    const target = nameOnly ? { type: 'Name', name: this.stream.expect('name').value, use } : this.tuple({ item, end });
    this.#assignable(target, use);
    return target;
  }

  /** @param {Node} target @param {string} use */
  #assignable(target, use) {
    if (target.type === 'Tuple') for (const item of target.items) this.#assignable(item, use);
    else if (target.type === 'Name' && !/^(?:[Tt]rue|[Ff]alse|[Nn]one)$/.test(target.name)) target.use = use;
    else if (target.type !== 'NamespaceEntry') throw new Error(`cannot assign to ${target.name ?? target.type}`);
  }

  /** @returns {Node} */
  #for() {
    const target = this.#target({ end: 'in' });
    this.stream.expectName('in');
    const iter = this.tuple({ condition: false, end: 'recursive' });
    const test = this.stream.skipName('if') ? this.expression() : null;
    const recursive = this.stream.skipName('recursive');
    const body = this.#upTo('endfor', 'else');
    const other = this.stream.next().value === 'else' ? this.#body('endfor') : [];
    return { type: 'For', target, iter, test, recursive, body, other };
  }

  /** @returns {Node} */
  #if() {
    const branches = [];
    for (;;) {
      const test = this.tuple({ condition: false });
      branches.push({ type: 'Branch', test, body: this.#upTo('elif', 'else', 'endif') });
      const { value } = this.stream.next();
      if (value !== 'elif') return { type: 'If', branches, other: value === 'else' ? this.#body('endif') : [] };
    }
  }

  /** @returns {Node} */
  #block() {
    const { stream } = this;
    const name = stream.expect('name').value;
    const scoped = stream.skipName('scoped');
    const required = stream.skipName('required');
    const body = this.#body('endblock');
    stream.skipName(name);
    return { type: 'Block', name, scoped, required, body };
  }

  /** Another template, which is not there. @param {string} kind @returns {Node} */
  #load(kind) {
    const { stream } = this;
    const node = this.expression();
    const names = [];
    if (kind === 'import') {
      stream.expectName('as');
      names.push(this.#target({ nameOnly: true }));
    }
    if (kind === 'from') {
      stream.expectName('import');
      do {
        if (!stream.is('name') || this.#context()) break;
        const own = this.#target({ nameOnly: true });
        names.push(stream.skipName('as') ? this.#target({ nameOnly: true }) : own);
      } while (stream.skip(','));
    }
    if (kind === 'include' && stream.skipName('ignore')) stream.expectName('missing');
    this.#context();
    return { type: 'Load', kind, node, names };
  }

  /** `with context` */
  #context() {
    const isContext = this.stream.isName('with', 'without') && this.stream.following.value === 'context';
    if (isContext) for (let n = 0; n < 2; n++) this.stream.next();
    return isContext;
  }

  /** @returns {Node} */
  #print() {
    const nodes = [];
    while (!this.stream.is('%}')) {
      if (nodes.length) this.stream.expect(',');
      nodes.push({ type: 'Output', node: this.expression() });
    }
    return { type: 'Print', nodes };
  }

  /** The parameters of a macro or of a caller. */
  #signature() {
    const { stream } = this;
    const [args, defaults] = [/** @type {Node[]} */ ([]), /** @type {Node[]} */ ([])];
    stream.expect('(');
    while (!stream.is(')')) {
      if (args.length) stream.expect(',');
      args.push(this.#target({ nameOnly: true, use: 'parameter' }));
      if (stream.skip('=')) defaults.push(this.expression());
      else if (defaults.length) throw new Error('a parameter without a default follows one with a default');
    }
    stream.expect(')');
    if (new Set(args.map(({ name }) => name)).size < args.length) throw new Error('two parameters have the same name');
    return { args, defaults };
  }

  /** @returns {Node} */
  #macro() {
    const { name } = this.#target({ nameOnly: true });
    return { type: 'Macro', name, ...this.#signature(), body: this.#body('endmacro') };
  }

  /** @returns {Node} */
  #call() {
    const signature = this.stream.is('(') ? this.#signature() : { args: [], defaults: [] };
    const call = this.expression();
    if (call.type !== 'Call') throw new Error('expected a call after {% call %}');
    return { type: 'CallBlock', ...signature, call, body: this.#body('endcall') };
  }

  /** @returns {Node} */
  #set() {
    const target = this.#target({ inNamespace: true });
    if (this.stream.skip('=')) return { type: 'Set', node: this.tuple(), target };
    const filter = this.filters(null);
    return { type: 'SetBlock', target, filter, body: this.#body('endset') };
  }

  /** @returns {Node} */
  #with() {
    const [targets, values] = [/** @type {Node[]} */ ([]), /** @type {Node[]} */ ([])];
    while (!this.stream.is('%}')) {
      if (targets.length) this.stream.expect(',');
      targets.push(this.#target({ use: 'parameter' }));
      this.stream.expect('=');
      values.push(this.expression());
    }
    return { type: 'With', targets, values, body: this.#body('endwith') };
  }
}

/** The statements of a template. @param {string} source @returns {Node[]} */
export const parseTemplate = (source) => new TemplateParser(new TokenStream(source)).statements();
