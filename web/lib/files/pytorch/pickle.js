// pickle.js - reads the pickle of a PyTorch checkpoint as plain data, and runs nothing of it
//
// A pickle is a program for a machine with a stack and a memo. Only the opcodes that plain data and tensors need are
// known (pickle_opcodes.js). A global is looked up in the table of the caller, which says what takes its place. Any
// other opcode or global is refused by its name. A dict becomes a Map, a list, tuple or set an array, bytes and numbers
// themselves.
import { fail, show } from '../../base/errors.js';
import { utf8Text } from '../bytes/chunks.js';
import { Global } from './pickle_globals.js';
import { OPCODES, STOP, endOfOpcode } from './pickle_opcodes.js';

/**
 * @typedef {object} Meanings
 * @property {(name: string) => Global | null} global  by "module.name"; null: refused
 * @property {(id: unknown) => unknown} persistent  the value of a persistent id
 * @property {(target: unknown, state: unknown) => boolean} setState  gives an object its state; false: it has none
 */

/** What MARK puts on the stack. */
const MARK = Symbol('mark');

/** Reads a pickle: the machine on which its opcodes run. */
export class Unpickler {
  /**
   * @param {Uint8Array} bytes  exactly one pickle, as pickleLength found it
   * @param {string} where  file name, for messages
   * @param {Meanings} meanings
   */
  constructor(bytes, where, meanings) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.where = where;
    this.meanings = meanings;
    /** @type {unknown[]} */
    this.stack = [];
    /** @type {Map<number, unknown>} */
    this.memo = new Map();
  }

  /**
   * Throw the error for a malformed pickle.
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    return fail('bad-header', `${this.where}: the pickle is not valid: ${why}`);
  }

  /** The value that the pickle describes. */
  run() {
    for (let at = 0; at < this.bytes.length;) {
      const end = endOfOpcode(this.bytes, at, this.where) || this.refuse('it ends inside an opcode');
      if (this.bytes[at] === STOP) {
        if (this.stack.length !== 1) this.refuse(`${this.stack.length} values are left at its end, expected one`);
        return this.pop();
      }
      OPCODES[this.bytes[at]].run(this, at + 1, end);
      at = end;
    }
    return this.refuse('it has no end');
  }

  pop() {
    if (!this.stack.length) this.refuse('it takes a value from an empty stack');
    const value = this.stack.pop();
    return value === MARK ? this.refuse('it takes a mark as a value') : value;
  }

  /** The values above the topmost mark, which is removed with them. */
  popMark() {
    const mark = this.stack.lastIndexOf(MARK);
    if (mark < 0) this.refuse('a mark is missing');
    const values = this.stack.splice(mark);
    values.shift();
    return values;
  }

  /**
   * The value below those that were taken, which a SETITEMS or APPENDS fills.
   * @template T
   * @param {new () => T} Kind
   * @returns {T}
   */
  filled(Kind) {
    const value = this.stack.at(-1);
    if (value instanceof Kind) return value;
    return this.refuse(
      `it fills ${show(value)}, expected a ${/** @type {unknown} */ (Kind) === Map ? 'dict' : 'list'}`,
    );
  }

  /** @param {unknown} value */
  push(value) {
    this.stack.push(value);
  }

  mark() {
    this.push(MARK);
  }

  /**
   * The topmost values, in the order in which they were pushed.
   * @param {number} n
   */
  popTuple(n) {
    const values = [];
    for (; n > 0; n--) values.unshift(this.pop());
    return values;
  }

  /** @param {number} key */
  recall(key) {
    if (!this.memo.has(key)) this.refuse(`it recalls the value ${key}, which it did not store`);
    this.push(this.memo.get(key));
  }

  /** @param {number} key */
  store(key) {
    const value = this.pop();
    this.memo.set(key, value);
    this.push(value);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  text(from, to) {
    return utf8Text(this.bytes.subarray(from, to), () => this.refuse('a text is not UTF-8'));
  }

  /** @param {unknown[]} parts  of its name */
  pushGlobal(parts) {
    const name = parts.join('.');
    const global = this.meanings.global(name);
    if (!global)
      fail(
        'unsupported',
        `${this.where}: the pickle asks for ${show(name)}, which is not run here: ` +
          'save the tensors alone, torch.save(model.state_dict(), file)',
      );
    this.push(global);
  }

  /** Call what takes the place of a global, or make an object of a class. */
  reduce() {
    const args = this.pop();
    const callable = this.pop();
    if (!(callable instanceof Global)) return this.refuse(`it calls ${show(callable)}`);
    if (!callable.call || !Array.isArray(args)) return this.refuse(`it calls ${callable.name} with ${show(args)}`);
    this.push(callable.call(args));
  }

  /**
   * The integer of a LONG1.
   * @param {number} from
   * @param {number} to
   */
  long(from, to) {
    let n = 0n;
    for (let i = to - 1; i >= from; i--) n = (n << 8n) | BigInt(this.bytes[i]);
    n = BigInt.asIntN(8 * (to - from), n);
    return to > from && Number.isSafeInteger(Number(n)) ? Number(n) : to > from ? n : 0;
  }

  /**
   * Set pairs of keys and values in the dict on top of the stack.
   * @param {unknown[]} pairs
   */
  setItems(pairs) {
    if (pairs.length % 2) this.refuse('a key has no value');
    const map = this.filled(/** @type {new () => Map<unknown, unknown>} */ (Map));
    for (let i = 0; i < pairs.length; i += 2) map.set(pairs[i], pairs[i + 1]);
  }

  /**
   * Append values to the list on top of the stack.
   * @param {unknown[]} values
   */
  append(values) {
    const list = this.filled(/** @type {new () => unknown[]} */ (Array));
    for (const value of values) list.push(value);
  }

  /** Set the state of the object on top of the stack. */
  build() {
    const state = this.pop();
    const target = this.stack.at(-1);
    if (!this.meanings.setState(target, state)) this.refuse(`it sets attributes of ${show(target)}`);
  }
}
