// mutate.js - seeded mutations of valid bytes and of JSON values

/** A generator of whole numbers (splitmix32): the same seed and case, the same numbers. */
export class Random {
  /**
   * @param {number} seed
   * @param {number} n
   */
  constructor(seed, n) {
    this.state = (Math.imul(seed, 0x9e3779b9) ^ Math.imul(n + 1, 0x85ebca6b)) >>> 0;
  }

  /**
   * A whole number below n.
   * @param {number} n
   */
  below(n) {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return Math.floor((((x ^ (x >>> 15)) >>> 0) / 2 ** 32) * n);
  }

  /**
   * @template T
   * @param {T[]} list
   * @returns {T}
   */
  of(list) {
    return list[this.below(list.length)];
  }
}

const EDGE_BYTES = [0, 1, 0x20, 0x22, 0x5c, 0x7b, 0x7f, 0x80, 0xc3, 0xf0, 0xff];
const EDGE_WORDS = [
  0n,
  1n,
  2n,
  31n,
  0xffn,
  0xffffn,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x100000000n,
  0x7f800000n,
  0x7fc00000n,
  2n ** 40n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 16n,
  2n ** 64n - 1n,
];

/**
 * A random position in n bytes; half of the positions are in the header.
 * @param {Random} r
 * @param {number} n
 */
const place = (r, n) => r.below(n > 512 && r.below(2) ? 512 : n);

/**
 * One change.
 * @param {Random} r
 * @param {Buffer} b
 * @param {Buffer} other
 * @returns {Buffer}
 */
function change(r, b, other) {
  if (!b.length) return b;
  const at = place(r, b.length),
    n = 1 + r.below(Math.min(2 ** r.below(14), b.length - at));
  const piece = b.subarray(at, at + n),
    before = b.subarray(0, at),
    after = b.subarray(at + n);
  switch (r.below(8)) {
    case 0:
      b[at] ^= 1 << r.below(8);
      return b;
    case 1:
      b[at] = r.of(EDGE_BYTES);
      return b;
    case 2:
      b[at] = r.below(256);
      return b;
    case 3: {
      const word = r.of(EDGE_WORDS),
        size = r.of([4, 8]);
      if (at + size > b.length) return b;
      if (size === 8) b.writeBigUInt64LE(word, at);
      else b.writeUInt32LE(Number(word & 0xffffffffn), at);
      return b;
    }
    case 4:
      return Buffer.concat([before, after]);
    case 5:
      return Buffer.concat([before, piece, piece, after]);
    case 6: {
      const from = place(r, other.length);
      return Buffer.concat([before, other.subarray(from, from + n), r.below(2) ? piece : Buffer.alloc(0), after]);
    }
    default:
      return r.below(4) ? b : before;
  }
}

/**
 * @param {Random} r
 * @param {Uint8Array} bytes left as they are
 * @param {Uint8Array} other pieces come from here
 * @returns {Uint8Array}
 */
export function mutateBytes(r, bytes, other) {
  let b = Buffer.from(bytes);
  do b = change(r, b, Buffer.from(other));
  while (r.below(3));
  return new Uint8Array(b);
}

export const EDGE_VALUES = [
  null,
  true,
  false,
  0,
  -1,
  1,
  2,
  0.5,
  -0.5,
  3,
  31,
  1e9,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e308,
  '',
  'x',
  '0',
  'constructor',
  '__proto__',
  'toString',
  'length',
  '\ud800',
  '\u0000',
  [],
  {},
  [[]],
  [null],
  [0],
  [''],
  { a: 1 },
  { type: 'Sequence' },
  { length: 1 },
  { toString: 1, valueOf: 1 },
  'x'.repeat(1e4),
  Array(1000).fill(0),
]; // not longer: inserted for each space of a text, they would give a longer but valid text
export const EDGE_KEYS = ['__proto__', 'constructor', 'toString', 'length', '', '0', 'type', 'x'.repeat(300)];

/**
 * All objects and lists inside a value.
 * @param {any} value
 * @param {any[]} [found]
 * @returns {any[]}
 */
function containers(value, found = []) {
  if (value === null || typeof value !== 'object') return found;
  found.push(value);
  for (const part of Object.values(value)) if (found.length < 2000) containers(part, found);
  return found;
}

/**
 * @param {Random} r
 * @param {any} root an object or a list, changed in place
 */
export function mutateJson(r, root) {
  do {
    const all = containers(root),
      owner = r.of(all.slice(0, r.below(2) ? 12 : all.length)),
      keys = Object.keys(owner);
    if (!keys.length) continue;
    const key = r.of(keys),
      value = owner[key];
    switch (r.below(9)) {
      case 0:
        if (Array.isArray(owner)) owner.splice(Number(key), 1);
        else delete owner[key];
        break;
      case 1:
        if (Array.isArray(owner)) owner.splice(Number(key), 0, value);
        else {
          delete owner[key];
          define(owner, r.of(EDGE_KEYS), value);
        }
        break;
      case 2:
        owner[key] = [value];
        break;
      case 3:
        owner[key] = structuredClone(r.of(all));
        break; // the value may contain the place itself: the copy ends there
      case 4:
        define(owner, r.of(EDGE_KEYS), structuredClone(r.of(EDGE_VALUES)));
        break;
      case 5:
        if (typeof value === 'number') {
          owner[key] = r.of([value + 1, value - 1, -value, value / 2, value * 2, String(value)]);
          break;
        }
      // falls through
      default:
        owner[key] = structuredClone(r.of(EDGE_VALUES));
    }
  } while (r.below(3));
}

/**
 * A value nested more deeply than a stack allows.
 * @param {Random} r
 * @param {Uint8Array} json
 * @returns {Uint8Array}
 */
export function nest(r, json) {
  const b = Buffer.from(json),
    colon = b.indexOf(':', place(r, b.length) - 1) + 1,
    deep = 1e5;
  return new Uint8Array(
    Buffer.concat([
      b.subarray(0, colon),
      Buffer.from(colon ? `${'['.repeat(deep)}${']'.repeat(deep)},"x":` : ''),
      b.subarray(colon),
    ]),
  );
}

/**
 * Set a key, also one that assignment treats specially, such as __proto__.
 * @param {object} owner
 * @param {string} key
 * @param {unknown} value
 */
export function define(owner, key, value) {
  if (Array.isArray(owner)) {
    owner.push(value);
    return;
  }
  Object.defineProperty(owner, key, { value, writable: true, enumerable: true, configurable: true });
}
