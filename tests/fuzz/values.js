// values.js - wrong arguments: of the wrong type, too large, consumed or detached
import { EDGE_KEYS, EDGE_VALUES, define } from './mutate.js';

/** @typedef {import('./mutate.js').Random} Random */

const PLAIN = [
  NaN,
  Infinity,
  -Infinity,
  -0,
  undefined,
  1e-9,
  2 ** 53,
  10n,
  Symbol('odd'),
  () => 1,
  'A',
  '\u{1F600}',
  'hook_embed',
  '*',
  'blocks.0.*',
  'logits',
  'q8_0',
  'f16',
  'auto',
  'https://files.test/x.gguf',
  'hf:a/b',
  'data:,x',
];

/** Made anew each time, as some can be used once. @type {((r: Random) => any)[]} */
const MADE = [
  () => new Float32Array(8),
  () => new Float64Array([NaN]),
  () => new Int32Array([1, 2]),
  () => new Uint8Array(3),
  () => new BigInt64Array(2),
  () => new DataView(new ArrayBuffer(8)),
  () => new ArrayBuffer(16),
  () => new Uint8Array(new SharedArrayBuffer(4)),
  () => new Date(0),
  () => new Map([[1, 2]]),
  () => new Set([1]),
  () => /x/g,
  () => new Error('odd'),
  () => Promise.resolve(1),
  () => new WeakMap(),
  () => new URL('https://files.test/'),
  () => Object.create(null),
  () => Object.create({ length: 3, 0: 1, 1: 2, 2: 3 }),
  () => [1, 2, 3],
  () => [[1], [2, 3]],
  () => [1, 'a'],
  () => [-1],
  () => [1e9],
  () => ['a', 'b'],
  () => [, 1, , 2],
  () => [[[1]]],
  () => ({ at: 'hook_embed', scale: 2 }),
  () => [{ at: '*', scale: 0 }],
  () => [{ at: 'blocks.0.hook_mlp_out', set: [1], position: 0 }],
  () => [{ at: 'hook_embed', add: new Float32Array(8), head: 1 }],
  () => new Blob(['GGUF']),
  () => new Response('GGUF'),
  () => new Response('x', { status: 404 }),
  () =>
    new ReadableStream({
      start(c) {
        c.enqueue(new Uint8Array(4));
        c.close();
      },
    }),
  () =>
    new ReadableStream({
      pull() {
        throw new Error('odd');
      },
    }),
  () => AbortSignal.abort(),
  () => AbortSignal.timeout(1),
  () => ({ aborted: true }),
  (r) => ({ length: r.of([-1, '3', 1.5, NaN, null, {}]) }),
  (r) => ({ length: r.of([2, 3]), 0: 1, 1: 2 }),
  // large
  (r) => 'x'.repeat(r.of([1e5, 1e6, 3e8])),
  (r) => new Array(r.of([70, 3e5, 3e6])).fill(1),
  () => new Float32Array(3e6),
  () => new Array(3e5).fill({ at: 'hook_embed', scale: 1 }),
  () => ({
    toString() {
      throw new Error('odd');
    },
  }),
  () => {
    const loop = /** @type {any} */ ({ a: 1 });
    loop.loop = loop;
    return loop;
  },
  // already consumed or detached
  () => {
    const gone = new Int32Array([1, 2]);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    return gone;
  },
  () => {
    const gone = new ArrayBuffer(4);
    structuredClone(gone, { transfer: [gone] });
    return gone;
  },
  () => {
    const stream = new ReadableStream();
    stream.getReader();
    return stream;
  },
];

/** @param {any} value */
export const isPlain = (value) =>
  value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;

/** @param {any} value */
const isList = (value) => Array.isArray(value) && value.length > 0 && value.length < 1e5;

/**
 * @param {Random} r
 * @returns {any}
 */
export function odd(r) {
  if (r.below(2)) return r.of(MADE)(r);
  const value = r.of(r.below(3) ? PLAIN : EDGE_VALUES);
  return Array.isArray(value) ? [...value] : isPlain(value) ? { ...value } : value;
}

/** Not `length`: a thousand options of that name are tried as values. */
const KEYS = EDGE_KEYS.filter((key) => key !== 'length');

/**
 * Valid arguments, some of them replaced by wrong ones.
 * @param {Random} r
 * @param {any[]} args
 */
export function spoilt(r, args) {
  const list = args.map((a) => (isPlain(a) ? Object.defineProperties({}, Object.getOwnPropertyDescriptors(a)) : a));
  for (let n = r.below(3); n > 0; n--) {
    const i = r.below(list.length),
      value = list[i];
    if (isPlain(value) && r.below(5)) {
      const keys = Object.keys(value);
      if (keys.length && r.below(8)) define(value, r.of(keys), odd(r));
      else define(value, r.of(KEYS), odd(r));
    } else if (isList(value) && r.below(2)) {
      list[i] = [...value];
      list[i][r.below(value.length)] = odd(r);
    } else {
      list[i] = odd(r);
    }
  }
  return list;
}

/**
 * A random choice of options.
 * @param {Random} r
 * @param {Record<string, any>} all
 */
export const some = (r, all) => Object.fromEntries(Object.entries(all).filter(() => !r.below(3)));
