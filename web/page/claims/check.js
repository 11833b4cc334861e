// claims/check.js - how a claim is held against a number, and how both are written.
//
// What a claim's run returns is an Outcome. `printed` and `note` are there where a tutorial prints something that its
// own code does not give: then `expected` is what the code gives.

/**
 * @typedef {object} Outcome
 * @property {string} expected
 * @property {string} found
 * @property {boolean} ok
 * @property {string} [printed]  what the tutorial says, where that does not follow from its code
 * @property {string} [note]     why, or what is to be seen
 * @property {{name: string, values: number[]}[]} [series]  for a plot
 *
 * @typedef {object} Claim
 * @property {string} id
 * @property {number} tutorial
 * @property {string} text
 * @property {boolean} [slow]    takes seconds: run only when asked for
 * @property {(glassformer: typeof import('glassformer')) => Promise<Outcome> | Outcome} run
 */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

const raised = (/** @type {number} */ n) =>
  `10${String(n).replace(/./g, (c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)])}`;

/**
 * A number as the page writes it: whole ones with commas, others to four figures, very small and very large ones as 8.5
 * × 10⁻⁷.
 * @param {number} x
 */
export function text(x) {
  if (typeof x !== 'number' || !Number.isFinite(x)) return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return whole.format(x);
  const a = Math.abs(x),
    power = Math.floor(Math.log10(a));
  if (a >= 1e-5 && a < 1e6) return String(Number(x.toFixed(Math.max(0, Math.min(7, 3 - power)))));
  return `${Number((x / 10 ** power).toPrecision(2))} × ${raised(power)}`;
}

/** @param {ArrayLike<number>} shape */
export const shapeText = (shape) => `(${Array.from(shape).join(', ')})`;

/** @param {string | number | boolean | number[]} x */
const show = (x) => (typeof x === 'number' ? text(x) : Array.isArray(x) ? shapeText(x) : String(x));

/**
 * Equal to the last digit.
 * @param {any} expected
 * @param {any} found
 * @param {string} [note]
 * @returns {Outcome}
 */
export const same = (expected, found, note) => ({
  expected: show(expected),
  found: show(found),
  ok: JSON.stringify(expected) === JSON.stringify(found),
  ...(note && { note }),
});

/**
 * Within a tolerance.
 * @param {number} expected
 * @param {number} found
 * @param {number} tolerance
 * @param {string} [note]
 * @returns {Outcome}
 */
export const near = (expected, found, tolerance, note) => ({
  expected: `${text(expected)} ± ${text(tolerance)}`,
  found: text(found),
  ok: Math.abs(found - expected) <= tolerance,
  ...(note && { note }),
});

/**
 * A distance that must stay small; one that is no number fails.
 * @param {number} limit
 * @param {number} found
 * @param {string} [note]
 * @returns {Outcome}
 */
export const atMost = (limit, found, note) => ({
  expected: `within ${text(limit)}`,
  found: `off by ${text(found)}`,
  ok: found <= limit,
  ...(note && { note }),
});

/**
 * Words for both sides, and whether they agree.
 * @param {boolean} ok
 * @param {string} expected
 * @param {string} found
 * @param {string} [note]
 * @returns {Outcome}
 */
export const shown = (ok, expected, found, note) => ({ expected, found, ok, ...(note && { note }) });

/**
 * A number that the tutorial prints and its code does not give.
 * @param {string} printed
 * @param {Outcome} outcome
 * @param {string} note
 * @returns {Outcome}
 */
export const misprint = (printed, outcome, note) => ({ ...outcome, printed, note });

/**
 * Largest difference; NaN and unequal lengths count as infinite.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function distance(a, b) {
  if (a.length !== b.length || !a.length) return Infinity;
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const d = a[i] === b[i] ? 0 : Math.abs(a[i] - b[i]);
    if (!(d <= most)) most = Number.isNaN(d) ? Infinity : d;
  }
  return most;
}

/** @param {ArrayLike<number>} x */
export const sum = (x) => Array.prototype.reduce.call(x, (/** @type {any} */ a, /** @type {any} */ b) => a + b, 0);
/** @param {ArrayLike<number>} x */
export const mean = (x) => sum(x) / x.length;
/**
 * Over all n, not n - 1.
 * @param {ArrayLike<number>} x
 */
export function variance(x) {
  const m = mean(x);
  let s = 0;
  for (let i = 0; i < x.length; i++) s += (x[i] - m) ** 2;
  return s / x.length;
}
/**
 * Root of the mean square.
 * @param {ArrayLike<number>} x
 */
export function rms(x) {
  let s = 0;
  for (let i = 0; i < x.length; i++) s += x[i] ** 2;
  return Math.sqrt(s / x.length);
}
/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export const minus = (a, b) => Float64Array.from(a, (v, i) => v - b[i]);
/** @param {ArrayLike<number>[]} list */
export const plus = (...list) => Float64Array.from(list[0], (_, i) => list.reduce((s, x) => s + x[i], 0));

/**
 * Rows of a tensor's last axis.
 * @param {{data: Float32Array, shape: number[]}} t
 * @returns {Float32Array[]}
 */
export function rows({ data, shape }) {
  const width = shape[shape.length - 1];
  return Array.from({ length: data.length / width }, (_, i) => data.subarray(i * width, (i + 1) * width));
}

/**
 * In double.
 * @param {ArrayLike<number>} logits
 * @param {number} [temperature]
 */
export function softmax(logits, temperature = 1) {
  const top = Math.max(...Array.from(logits));
  const e = Float64Array.from(logits, (v) => Math.exp((v - top) / temperature)),
    total = sum(e);
  return e.map((v) => v / total);
}

/**
 * In bits.
 * @param {ArrayLike<number>} p
 */
export const entropy = (p) => -sum(Array.from(p, (v) => (v > 0 ? v * Math.log2(v) : 0)));

/**
 * Mean cross-entropy of each token given those before it.
 * @param {{data: ArrayLike<number>, shape: number[]}} logits [T, V]
 * @param {number[]} ids
 */
export function loss({ data, shape: [, v] }, ids) {
  let s = 0;
  for (let t = 0; t + 1 < ids.length; t++)
    s -= Math.log(softmax(Array.prototype.slice.call(data, t * v, (t + 1) * v))[ids[t + 1]]);
  return s / (ids.length - 1);
}

/**
 * Numbers in 0 .. 1 that are the same every time (mulberry32).
 * @param {number} seed
 */
export function uniform(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Draws of a unit normal (Box and Muller).
 * @param {number} seed
 */
export function normal(seed) {
  const u = uniform(seed);
  return () => Math.sqrt(-2 * Math.log(1 - u())) * Math.cos(2 * Math.PI * u());
}

/**
 * Token ids.
 * @param {number} n
 * @param {number} vocabulary
 * @param {number} [seed]
 * @returns {number[]}
 */
export function ids(n, vocabulary, seed = 1) {
  const u = uniform(seed);
  return Array.from({ length: n }, () => Math.floor(u() * vocabulary));
}

/**
 * Use a model and free it.
 * @template T
 * @param {Promise<import('glassformer').Model>} making
 * @param {(model: import('glassformer').Model) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function using(making, use) {
  const model = await making;
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/**
 * All of a generation.
 * @param {AsyncGenerator<any, any, void>} generator
 */
export async function written(generator) {
  for (;;) {
    const { done, value } = await generator.next();
    if (done) return value;
  }
}

/**
 * The sentence with which something is refused, '' when it is not.
 * @param {() => any} act
 * @returns {Promise<string>}
 */
export async function refusal(act) {
  try {
    const made = await act();
    made?.dispose?.();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Scalars of some rows of a parameter table.
 * @param {{rows: any[]}} table
 * @param {string} component
 * @param {number | null} [layer] any when absent
 */
export const count = (table, component, layer) =>
  sum(
    table.rows
      .filter((r) => r.component === component && (layer === undefined || r.layer === layer))
      .map((r) => r.count),
  );

/**
 * Scalars of one block.
 * @param {{rows: any[]}} table
 * @param {number} [layer]
 */
export const block = (table, layer = 0) => sum(table.rows.filter((r) => r.layer === layer).map((r) => r.count));
