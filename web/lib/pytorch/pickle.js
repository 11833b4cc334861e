// pickle.js - reads the pickle of a PyTorch checkpoint as plain data, and runs nothing of it
//
// A pickle is a program for a machine with a stack and a memo. Only the opcodes that plain data and tensors need are
// known (pickle_opcodes.js). A global is looked up in the table of the caller, which says what takes its place. Any
// other opcode or global is refused by its name. A dict becomes a Map, a list or tuple an array, bytes and numbers
// themselves.
import { fail, show } from '../base/errors.js';
import { STOP, endOfOpcode } from './pickle_opcodes.js';

/**
 * What takes the place of a callable: it gets the arguments of the call and returns a value.
 * @typedef {(args: unknown[]) => unknown} Callable
 */
/**
 * Marks a value as callable, so that data cannot be called.
 */
export class Global {
  /**
   * @param {string} name  as "module.name"
   * @param {Callable} [call]
   */
  constructor(name, call) {
    this.name = name;
    this.call = call;
  }
}
/**
 * @typedef {object} Meanings
 * @property {(name: string) => Global | null} global  by "module.name"; null: refused
 * @property {(id: unknown) => unknown} persistent  the value of a persistent id
 */

/** What MARK puts on the stack. */
const MARK = Symbol('mark');

/**
 * Reads a pickle.
 * @param {Uint8Array} bytes  exactly one pickle, as pickleLength found it
 * @param {string} where  file name, for messages
 * @param {Meanings} meanings
 * @returns {unknown}
 */
export function readPickle(bytes, where, meanings) {
  return new Unpickler(bytes, where, meanings).run();
}

class Unpickler {
  /**
   * @param {Uint8Array} bytes
   * @param {string} where
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
    this.utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  }

  /**
   * Throw the error for a malformed pickle.
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    return fail('bad-header', `${this.where}: the pickle is not valid: ${why}`);
  }

  run() {
    for (let at = 0; at < this.bytes.length;) {
      const end = endOfOpcode(this.bytes, at, this.where) || this.refuse('it ends inside an opcode');
      if (this.bytes[at] === STOP) {
        if (this.stack.length !== 1) this.refuse(`${this.stack.length} values are left at its end, expected one`);
        return this.pop();
      }
      this.step(this.bytes[at], at + 1, end);
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

  /**
   * @param {number} key
   */
  recall(key) {
    return this.memo.has(key) ? this.memo.get(key) : this.refuse(`it recalls the value ${key}, which it did not store`);
  }

  /**
   * @param {number} key
   */
  store(key) {
    const value = this.pop();
    this.memo.set(key, value);
    this.stack.push(value);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  text(from, to) {
    try {
      return this.utf8.decode(this.bytes.subarray(from, to));
    } catch {
      return this.refuse('a text is not UTF-8');
    }
  }

  /**
   * @param {string} name
   */
  global(name) {
    return (
      this.meanings.global(name) ??
      fail(
        'unsupported',
        `${this.where}: the pickle asks for ${show(name)}, which is not run here: ` +
          'save the tensors alone, torch.save(model.state_dict(), file)',
      )
    );
  }

  /** Call what takes the place of a global. */
  reduce() {
    const args = this.pop();
    const callable = this.pop();
    if (!(callable instanceof Global)) return this.refuse(`it calls ${show(callable)}`);
    if (!callable.call || !Array.isArray(args)) return this.refuse(`it calls ${callable.name} with ${show(args)}`);
    return callable.call(args);
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

  /** The attributes of an OrderedDict, such as _metadata, are dropped; no other object has any. */
  build() {
    this.pop();
    if (!(this.stack.at(-1) instanceof Map)) this.refuse(`it sets attributes of ${show(this.stack.at(-1))}`);
  }

  /**
   * Run one opcode.
   * @param {number} op
   * @param {number} at  of its argument
   * @param {number} end  of its argument
   */
  step(op, at, end) {
    const { view, bytes, stack } = this;
    switch (op) {
      case 0x80:
        if (bytes[at] > 5) this.refuse(`its protocol is ${bytes[at]}, 0 to 5 are known`);
        return;
      case 0x95:
        return; // a frame only says how many bytes belong together
      case 0x63: {
        const [module, name] = this.text(at, end - 1).split('\n');
        return void stack.push(this.global(`${module}.${name}`));
      }
      case 0x93: {
        const name = this.pop();
        return void stack.push(this.global(`${this.pop()}.${name}`));
      }
      case 0x28:
        return void stack.push(MARK);
      case 0x51:
        return void stack.push(this.meanings.persistent(this.pop()));
      case 0x52:
        return void stack.push(this.reduce());
      case 0x62:
        return this.build();
      case 0x71:
        return this.store(bytes[at]);
      case 0x72:
        return this.store(view.getUint32(at, true));
      case 0x94:
        return this.store(this.memo.size);
      case 0x68:
        return void stack.push(this.recall(bytes[at]));
      case 0x6a:
        return void stack.push(this.recall(view.getUint32(at, true)));
      case 0x73: {
        const value = this.pop();
        return this.setItems([this.pop(), value]);
      }
      case 0x75:
        return this.setItems(this.popMark());
      case 0x61: {
        const value = this.pop();
        return void this.filled(/** @type {new () => unknown[]} */ (Array)).push(value);
      }
      case 0x65: {
        const values = this.popMark();
        const list = this.filled(/** @type {new () => unknown[]} */ (Array));
        for (const value of values) list.push(value);
        return;
      }
      default:
        stack.push(this.value(op, at, end));
    }
  }

  /**
   * The value that an opcode pushes.
   * @param {number} op
   * @param {number} at  of its argument
   * @param {number} end  of its argument
   * @returns {unknown}
   */
  value(op, at, end) {
    const { view, bytes } = this;
    switch (op) {
      case 0x29:
      case 0x5d:
        return [];
      case 0x7d:
        return new Map();
      case 0x74:
        return this.popMark();
      case 0x85:
      case 0x86:
      case 0x87: {
        const values = [];
        for (let n = op - 0x84; n > 0; n--) values.unshift(this.pop());
        return values;
      }
      case 0x4e:
        return null;
      case 0x88:
        return true;
      case 0x89:
        return false;
      case 0x4a:
        return view.getInt32(at, true);
      case 0x4b:
        return bytes[at];
      case 0x4d:
        return view.getUint16(at, true);
      case 0x47:
        return view.getFloat64(at);
      case 0x8a:
        return this.long(at + 1, end);
      case 0x58:
        return this.text(at + 4, end);
      case 0x8c:
        return this.text(at + 1, end);
      case 0x42:
        return bytes.slice(at + 4, end);
      default:
        return bytes.slice(at + 1, end); // SHORT_BINBYTES
    }
  }
}
