// number_ranges.js - the decimal texts of the numbers between limits, and of the multiples of a number
//
// Limits are patterns of digits. Among texts of at most 15 digits this is what a comparison of the numbers gives that
// JSON.parse reads: two of them are never the same number.
import { fail } from '../../base/errors.js';
import { intersection, minimized, statesOf, trimmed } from './machine.js';
import { Alphabet } from './pattern.js';
import { machineOf } from './json_strings.js';

/** @import { Expression } from './expression.js' */
/** @import { Machine } from './machine.js' */
/**
 * Which numbers: whether without a point; limits, which are infinite where there is none, and whether these themselves
 * are excluded; what they are multiples of, if anything.
 * @typedef {{isInteger: boolean, low: number, high: number, aboveLow: boolean, belowHigh: boolean, of?: number}} Range
 */

/** Most digits of a number. */
const MAX_DIGITS = 15;
/** The largest integer: JSON.parse gives all up to it exactly. */
export const LARGEST = 10 ** MAX_DIGITS - 1;
/** Largest divisor without its point, and most states of the smallest machine of its multiples. */
const MAX_DIVISOR = 1000;
const MAX_RESTS = 256;

/**
 * Digits of a number that is not negative, before and behind the point.
 * @param {number} value
 * @returns {{whole: string, fraction: string}}
 */
function decimal(value) {
  const [digits, exponent = '0'] = String(value).split('e');
  const [whole, fraction = ''] = digits.split('.');
  const all = whole + fraction;
  const point = whole.length + Number(exponent);
  return {
    whole: all.slice(0, Math.max(0, point)).padEnd(point, '0').replace(/^0+/, '') || '0',
    fraction: ('0'.repeat(Math.max(0, -point)) + all.slice(Math.max(0, point))).replace(/0+$/, ''),
  };
}

/**
 * The whole number that a divisor is after its point is moved, and by how many places.
 * @param {number} value  above 0
 * @returns {{divisor: number, places: number}}
 */
function divisorOf(value) {
  const { whole, fraction } = decimal(value);
  return { divisor: Number(whole + fraction), places: fraction.length };
}

/**
 * Whether a number is a multiple of another, both as their decimal texts.
 * @param {number} value
 * @param {number} of
 * @returns {boolean}
 */
export function isMultiple(value, of) {
  const [a, b] = [decimal(Math.abs(value)), decimal(of)];
  const places = Math.max(a.fraction.length, b.fraction.length);
  const [x, y] = [a, b].map(({ whole, fraction }) => BigInt(whole + fraction.padEnd(places, '0')));
  return x % y === 0n;
}

/** The pattern of all digits, without a sign. */
const ANY = '[\\d.]*';

/**
 * The pattern of the digits, without a sign, that are above or below a limit, or the limit itself; null: no number here
 * has such digits. It has an alternative for each place at which the digits may differ first.
 * @param {number} limit
 * @param {boolean} isAbove
 * @param {boolean} excluded  whether the limit is no such number itself
 */
function beside(limit, isAbove, excluded) {
  const { whole, fraction: exact } = decimal(Math.min(limit, LARGEST + 1));
  const { length } = whole;
  if (length > MAX_DIGITS) return isAbove ? null : ANY;
  const fraction = exact.slice(0, MAX_DIGITS).replace(/0+$/, '');
  const isEqual = exact.length > MAX_DIGITS ? !isAbove : !excluded; // no text here has all digits of a longer limit
  const rest = '(?:\\.\\d+)?';
  const out = isEqual ? [fraction ? `${whole}\\.${fraction}0*` : `${whole}(?:\\.0+)?`] : [];
  if (isAbove) out.push(`\\d{${length + 1},}${rest}`, `${whole}\\.${fraction}\\d*[1-9]\\d*`);
  else if (length > 1) out.push(`\\d{1,${length - 1}}${rest}`);
  const other = (/** @type {string} */ digit) => (isAbove ? `[${Number(digit) + 1}-9]` : `[0-${Number(digit) - 1}]`);
  const end = isAbove ? '9' : '0';
  for (const [i, digit] of [...whole].entries())
    if (digit !== end) out.push(`${whole.slice(0, i)}${other(digit)}\\d{${length - i - 1}}${rest}`);
  for (const [i, digit] of [...fraction].entries()) {
    const before = fraction.slice(0, i);
    if (digit !== end) out.push(`${whole}\\.${before}${other(digit)}\\d*`);
    if (!isAbove) out.push(before ? `${whole}\\.${before}` : whole);
  }
  return out.join('|');
}

/**
 * The patterns that the texts of a range have all; null: there are none. -0 is not a number here.
 * @param {Range} range
 * @param {number} places  most digits behind the point
 */
function patternsOf({ low, high, aboveLow, belowHigh }, places) {
  const isNegative = low < 0;
  const isPositive = high >= 0;
  const from = [isPositive && beside(Math.max(0, low), true, aboveLow && low >= 0)];
  const to = [isPositive && beside(high, false, belowHigh)];
  if (isNegative) {
    from.push(beside(Math.max(0, -high), true, isPositive || belowHigh));
    to.push(beside(-low, false, aboveLow));
  }
  const limits = [from, to].map((digits) =>
    digits.flatMap((one, i) => (one ? `${i ? '-' : ''}(?:${one})` : [])).join('|'),
  );
  if (!limits.every(Boolean)) return null;
  const format = `-?(?:0|[1-9]\\d*)${places ? `(?:\\.\\d{1,${places}})?` : ''}`;
  const digits = `-?(?:0(?:\\.\\d*)?|(?:\\d\\.?){1,${MAX_DIGITS}})`;
  return [format, digits, ...limits].map((pattern) => `^(?:${pattern})$`);
}

/**
 * The machine of the texts of digits that are multiples of a divisor. It ignores a sign.
 * @param {{divisor: number, places: number}} division  the divisor without its point; the digits behind it
 * @param {number[]} symbols  of the digits, the sign and the point
 * @returns {Machine}
 */
function multiples({ divisor, places }, symbols) {
  const [minus, point] = symbols.slice(10);
  /** @type {Machine} */
  const machine = [];
  // The rests before the point, then those behind it after 0, 1, ... digits. Digits that a text leaves out are 0.
  for (let column = 0; column <= places + 1; column++) {
    const next = column && column + 1;
    let scale = 1;
    for (let i = Math.max(0, column - 1); i < places; i++) scale = (scale * 10) % divisor;
    for (let rest = 0; rest < divisor; rest++) {
      /** @type {[number, number][]} */
      const edges = [];
      for (let digit = 0; digit < 10 && next <= places + 1; digit++)
        edges.push([symbols[digit], next * divisor + ((rest * 10 + digit) % divisor)]);
      if (column === 0) edges.push([minus, rest], [point, divisor + rest]);
      machine.push({ edges, free: [], accepting: (rest * scale) % divisor === 0 });
    }
  }
  return minimized(machine);
}

/**
 * The decimal texts of the numbers of a range that have at most 15 digits and no exponent; null: there are none.
 * @param {Range} range
 * @returns {Expression | null}
 */
export function numbers(range) {
  const tooMany = () => fail('unsupported', `multiples of ${range.of} need too many states: use a smaller multipleOf`);
  const division = range.of === undefined ? null : divisorOf(range.of);
  if (division && (division.divisor > MAX_DIVISOR || division.places > MAX_DIGITS)) tooMany();
  const patterns = patternsOf(range, range.isInteger ? 0 : (division?.places ?? MAX_DIGITS));
  if (!patterns) return null;
  const alphabet = new Alphabet();
  const sets = Array.from('0123456789-.', (c) => alphabet.set([[c.charCodeAt(0), c.charCodeAt(0)]]));
  let machine = machineOf(patterns, alphabet);
  if (machine && division) {
    const rests = multiples(
      division,
      sets.map((set) => alphabet.symbols[set][0]),
    );
    if (rests.length > MAX_RESTS) tooMany();
    machine = trimmed(intersection(machine, rests) ?? tooMany());
  }
  return machine && statesOf(machine, (symbols) => ({ chars: alphabet.union(symbols) }));
}
