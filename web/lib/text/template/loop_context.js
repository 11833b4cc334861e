// loop_context.js - the variable `loop`: where a loop stands among its items
import { isEqual, iterated, sizeOf } from './operators.js';
import { Generator, Opaque, Tuple, Undefined, tupleOf } from './python_values.js';

const NONE = Symbol('none');

/** A loop over items, one after the other. */
export class LoopContext extends Opaque {
  #index = -1;
  #length = -1;
  /** @type {any} */
  #after = NONE;
  #current = NONE;
  #before = NONE;
  #changed = NONE;
  #iterator;
  #items;

  /**
   * @param {any} items
   * @param {number} depth  of recursive loops around it
   * @param {((items: any, depth: number) => any) | null} recurse  writes the body for other items
   */
  constructor(items, depth, recurse) {
    super('LoopContext', {
      attribute: (name) => this.#attribute(name),
      length: () => this.#size(),
      text: () => `<LoopContext ${this.#index + 1}/${this.#size()}>`,
      call: ([inner]) => {
        if (!recurse) throw new Error('a loop that is called needs the word `recursive`');
        return recurse(inner, depth + 1);
      },
    });
    this.depth = depth;
    this.#items = items;
    this.#iterator = iterated(items)[Symbol.iterator]();
  }

  /** @param {string} name @returns {any} */
  #attribute(name) {
    if (name === 'index') return this.#index + 1;
    if (name === 'index0') return this.#index;
    if (name === 'revindex') return this.#size() - this.#index;
    if (name === 'revindex0') return this.#size() - this.#index - 1;
    if (name === 'first') return this.#index === 0;
    if (name === 'last') return this.#next() === NONE;
    if (name === 'length') return this.#size();
    if (name === 'depth') return this.depth + 1;
    if (name === 'depth0') return this.depth;
    if (name === 'previtem') return this.#index ? this.#before : new Undefined('there is no previous item');
    if (name === 'nextitem') return this.#next() === NONE ? new Undefined('there is no next item') : this.#after;
    if (name === 'cycle') return this.#method((args) => this.#cycled(args));
    return name === 'changed' ? this.#method((args) => this.#isChanged(tupleOf(args))) : undefined;
  }

  /** @param {(args: any[]) => any} call */
  #method(call) {
    return new Opaque('method', {
      call: (args, kwargs) => {
        if (kwargs.size) throw new Error('a method of loop takes no arguments by name');
        return call(args);
      },
    });
  }

  /** @param {any[]} args */
  #cycled(args) {
    if (!args.length) throw new Error('no items for cycling given');
    return args[this.#index % args.length];
  }

  /** @param {Tuple} values */
  #isChanged(values) {
    const isSame = this.#changed !== NONE && isEqual(this.#changed, values);
    if (!isSame) this.#changed = /** @type {any} */ (values);
    return !isSame;
  }

  #size() {
    if (this.#length >= 0) return this.#length;
    if (this.#items instanceof Generator) {
      const rest = [...{ [Symbol.iterator]: () => this.#iterator }];
      this.#iterator = rest[Symbol.iterator]();
      this.#length = rest.length + this.#index + 1 + (this.#after === NONE ? 0 : 1);
    } else this.#length = sizeOf(this.#items);
    return this.#length;
  }

  /** The item after this one, which stays the next. */
  #next() {
    if (this.#after === NONE) {
      const { done, value } = this.#iterator.next();
      this.#after = done ? NONE : value;
    }
    return this.#after;
  }

  /** Go to the next item. @returns {{item: any} | null} */
  advance() {
    const item = this.#next();
    if (item === NONE) return null;
    this.#after = NONE;
    this.#index++;
    this.#before = this.#current;
    this.#current = item;
    return { item };
  }
}
