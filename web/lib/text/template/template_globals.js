// template_globals.js - the functions that templates find beside their variables
import { fromKeys } from './attributes.js';
import { bound } from './call_arguments.js';
import { dateText } from './date_format.js';
import { iterated } from './operators.js';
import { repr, str } from './python_text.js';
import { Dict, Opaque, Range, Undefined, indexOf, textOf } from './python_values.js';

/** @import { Callable } from './python_values.js' */

/** A namespace, whose entries `set` changes. */
export class NamespaceValue extends Opaque {
  #entries = new Map();
  #isPrinted = false;

  /** @param {Dict} dict */
  constructor(dict) {
    super('Namespace', { attribute: (name) => this.#entries.get(name), text: () => this.#text() });
    for (const [name, value] of dict.entries) this.set(name, value);
  }

  /** @param {any} name @param {any} value */
  set(name, value) {
    if (typeof name === 'string' && name.startsWith('_'))
      throw new Error(`a namespace takes no attribute that begins with _: ${name}`);
    this.#entries.set(name, value);
  }

  #text() {
    if (this.#isPrinted) return '<Namespace {...}>';
    this.#isPrinted = true;
    const text = `<Namespace ${repr(new Dict(this.#entries))}>`;
    this.#isPrinted = false;
    return text;
  }
}

/** dict() @type {Callable} */
function dictOf(args, kwargs) {
  const [given] = bound('dict', '/given? **named', args, kwargs);
  const dict = new Dict();
  if (given instanceof Dict) for (const [key, value] of given.entries) dict.set(key, value);
  else if (given !== undefined)
    for (const pair of iterated(given)) {
      const [key, value, ...more] = iterated(pair);
      if (value === undefined || more.length) throw new Error('dict() needs pairs of a key and a value');
      dict.set(key, value);
    }
  for (const [key, value] of kwargs) dict.set(key, value);
  return dict;
}

/** range() @type {Callable} */
function rangeOf(args, kwargs) {
  const [first, end, step = 1] = bound('range', '/first /end? /step?', args, kwargs);
  return end === undefined ? new Range(0, indexOf(first), 1) : new Range(indexOf(first), indexOf(end), indexOf(step));
}

/** cycler() @type {Callable} */
function cyclerOf(items, kwargs) {
  if (kwargs.size || !items.length) throw new Error('cycler() needs at least one item');
  let at = 0;
  const attributes = /** @type {Record<string, () => any>} */ ({
    current: () => items[at],
    pos: () => at,
    next: () => method(() => items[(at = (at + 1) % items.length) ? at - 1 : items.length - 1]),
    reset: () =>
      method(() => {
        at = 0;
        return null;
      }),
  });
  return new Opaque('Cycler', {
    attribute: (name) => (Object.hasOwn(attributes, name) ? attributes[name]() : undefined),
  });
}

/** @param {() => any} run */
const method = (run) =>
  new Opaque('method', {
    call: (args, kwargs) => {
      bound('method', '', args, kwargs);
      return run();
    },
  });

/** joiner() @type {Callable} */
function joinerOf(args, kwargs) {
  const [separator = ', '] = bound('joiner', 'sep?', args, kwargs);
  let isUsed = false;
  return new Opaque('Joiner', {
    call: () => {
      const text = isUsed ? separator : '';
      isUsed = true;
      return text;
    },
  });
}

/** @param {string} type @param {Callable} call @param {(name: string) => any} [attribute] */
const callable = (type, call, attribute) => new Opaque(type, { call, attribute });

/** @returns {[string, any][]} */
export const globals = () => [
  ['range', callable('function', rangeOf)],
  [
    'dict',
    callable('TemplateDict', dictOf, (name) =>
      name === 'fromkeys'
        ? callable('method', (args, kwargs) => {
            const [keys, value = null] = bound('fromkeys', '/keys /value?', args, kwargs);
            return fromKeys(keys, value);
          })
        : undefined,
    ),
  ],
  ['cycler', callable('type', cyclerOf)],
  ['joiner', callable('type', joinerOf)],
  ['namespace', callable('type', (args, kwargs) => new NamespaceValue(dictOf(args, kwargs)))],
  [
    'lipsum',
    callable('function', () => {
      throw new Error('lipsum is not supported');
    }),
  ],
  [
    'raise_exception',
    callable('function', (args, kwargs) => {
      const [message] = bound('raise_exception', 'message', args, kwargs);
      throw new Error(message instanceof Undefined ? 'raise_exception' : str(message));
    }),
  ],
  [
    'strftime_now',
    callable('function', (args, kwargs) => {
      const [format] = bound('strftime_now', 'format', args, kwargs);
      return dateText(textOf(format), new Date());
    }),
  ],
];
