// number_ranges.js - the decimal texts of the numbers between limits, and of the multiples of a number
//
// Limits are compared with the digits of a text. Among texts of at most 15 digits this is what a comparison of the
// numbers gives that JSON.parse reads: two of them are never the same number.
import { chars } from './expression.js';
import { explore, intersection, minimized, statesOf, trimmed } from './machine.js';

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
const SYMBOLS = '0123456789-.';
const MINUS = 10;
const POINT = 11;

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

/**
 * A limit of the digits without a sign; `excluded`: it is no such number itself.
 * @typedef {{whole: string, fraction: string, excluded: boolean}} Limit
 */
/** Limits of the digits; null: there is none. @typedef {{low: Limit | null, high: Limit | null}} Limits */

/**
 * The limits of the digits of positive or negative numbers; null: the range has none of them. -0 is not a number here.
 * @param {Range} range
 * @param {boolean} isNegative
 * @returns {Limits | null}
 */
function limitsOf({ low, high, aboveLow, belowHigh }, isNegative) {
  const [least, most] = isNegative ? [-high, -low] : [low, high];
  const [above, below] = isNegative ? [belowHigh, aboveLow] : [aboveLow, belowHigh];
  if (most < 0) return null;
  return {
    low: { ...decimal(Math.max(0, least)), excluded: least >= 0 && above ? true : isNegative && least <= 0 },
    high: most === Infinity ? null : { ...decimal(most), excluded: below },
  };
}

/**
 * A text that is being read.
 *
 * - sign: 0 before the first character, then 1 or -1
 * - place: 'sign' before the first digit, 'whole', 'point' just after the point, 'fraction'
 * - digits: those before the point; behind it, those that have been read, while they matter
 * - left: how many digits may still follow
 * - low, high: whether the digits are below (-1), equal to (0) or above (1) those of the limits at the same places
 * @typedef {{sign: number, place: 'sign' | 'whole' | 'zero' | 'point' | 'fraction', digits: number, left: number,
 *   low: number, high: number}} Reading
 */

/** Reads the numbers of a range. */
class Reader {
  /** @type {Reading} */
  start = { sign: 0, place: 'sign', digits: 0, left: MAX_DIGITS, low: 0, high: 0 };

  /**
   * @param {Range} range
   * @param {number} places  most digits behind the point
   */
  constructor(range, places) {
    this.limits = { 1: limitsOf(range, false), '-1': limitsOf(range, true) };
    this.places = places;
  }

  /** @param {Reading} reading */
  limitsAt({ sign }) {
    return /** @type {Limits} */ (this.limits[sign < 0 ? '-1' : '1']);
  }

  /**
   * The text with one character more; null: no number begins so.
   * @param {Reading} reading
   * @param {number} symbol
   * @returns {Reading | null}
   */
  read(reading, symbol) {
    if (symbol === MINUS) return reading.sign === 0 && this.limits['-1'] ? { ...reading, sign: -1 } : null;
    if (symbol === POINT) return this.point(reading);
    const { place } = reading;
    const sign = reading.sign || 1;
    if (place === 'zero' || !reading.left || !this.limits[sign < 0 ? '-1' : '1']) return null;
    return place === 'sign' || place === 'whole'
      ? this.wholeDigit({ ...reading, sign }, symbol)
      : this.fractionDigit(reading, symbol);
  }

  /**
   * @param {Reading} reading
   * @param {number} digit
   * @returns {Reading}
   */
  wholeDigit(reading, digit) {
    const { low, high } = this.limitsAt(reading);
    const compared = (/** @type {number} */ so, /** @type {Limit | null} */ limit) =>
      so || !limit ? so : Math.sign(digit - Number(limit.whole[reading.digits] ?? '0'));
    return {
      ...reading,
      place: reading.place === 'sign' && digit === 0 ? 'zero' : 'whole',
      digits: reading.digits + 1,
      left: reading.left - 1,
      low: compared(reading.low, low),
      high: compared(reading.high, high),
    };
  }

  /**
   * How the digits before the point compare with both limits.
   * @param {Reading} reading
   * @returns {{low: number, high: number}}
   */
  comparedWhole(reading) {
    const { low, high } = this.limitsAt(reading);
    const compared = (/** @type {number} */ so, /** @type {Limit} */ limit) =>
      Math.sign(reading.digits - limit.whole.length) || so;
    return { low: low ? compared(reading.low, low) : 1, high: high ? compared(reading.high, high) : -1 };
  }

  /**
   * @param {Reading} reading
   * @returns {Reading | null}
   */
  point(reading) {
    if (reading.place !== 'whole' && reading.place !== 'zero') return null;
    const left = Math.min(this.places, reading.place === 'zero' ? MAX_DIGITS : reading.left);
    return { ...reading, ...this.comparedWhole(reading), place: 'point', digits: 0, left };
  }

  /**
   * @param {Reading} reading
   * @param {number} digit
   * @returns {Reading}
   */
  fractionDigit(reading, digit) {
    const limits = this.limitsAt(reading);
    const compared = (/** @type {number} */ so, /** @type {Limit | null} */ limit) =>
      so || !limit ? so : Math.sign(digit - Number(limit.fraction[reading.digits] ?? '0'));
    const [low, high] = [compared(reading.low, limits.low), compared(reading.high, limits.high)];
    const matters = low === 0 || high === 0;
    return {
      ...reading,
      place: 'fraction',
      digits: matters ? reading.digits + 1 : 0,
      left: reading.left - 1,
      low,
      high,
    };
  }

  /**
   * Whether the text may end here.
   * @param {Reading} reading
   * @returns {boolean}
   */
  accepts(reading) {
    const isWhole = reading.place === 'whole' || reading.place === 'zero';
    if (!isWhole && reading.place !== 'fraction') return false;
    const { low, high } = isWhole ? this.comparedWhole(reading) : reading;
    const digits = isWhole ? 0 : reading.digits;
    const limits = this.limitsAt(reading);
    const fits = (/** @type {number} */ so, /** @type {Limit | null} */ limit, /** @type {number} */ side) => {
      const compared = so || (limit && limit.fraction.length > digits ? -1 : 0);
      return compared ? compared === side : !limit?.excluded;
    };
    return fits(low, limits.low, 1) && fits(high, limits.high, -1);
  }
}

/**
 * The machine of the texts of digits that are multiples of a divisor. It ignores a sign.
 * @param {{divisor: number, places: number}} division  the divisor without its point; the digits behind it
 * @returns {Machine}
 */
function multiples({ divisor, places }) {
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
        edges.push([digit, next * divisor + ((rest * 10 + digit) % divisor)]);
      if (column === 0) edges.push([MINUS, rest], [POINT, divisor + rest]);
      machine.push({ edges, free: [], accepting: (rest * scale) % divisor === 0 });
    }
  }
  return minimized(machine);
}

/**
 * The decimal texts of the numbers of a range that have at most 15 digits and no exponent; null: there are none.
 * @param {Range} range
 * @param {() => never} refuse  called when the divisor needs too many states
 * @returns {Expression | null}
 */
export function numbers(range, refuse) {
  const division = range.of === undefined ? null : divisorOf(range.of);
  if (division && (division.divisor > MAX_DIVISOR || division.places > MAX_DIGITS)) refuse();
  const rests = division && multiples(division);
  if (rests && rests.length > MAX_RESTS) refuse();
  const reader = new Reader(range, range.isInteger ? 0 : (division?.places ?? MAX_DIGITS));
  /** @type {Machine | null} */
  let machine = explore(
    reader.start,
    ({ sign, place, digits, left, low, high }) => `${sign} ${place} ${digits} ${left} ${low} ${high}`,
    (reading) => {
      /** @type {[number, Reading][]} */
      const edges = [];
      for (let symbol = 0; symbol < SYMBOLS.length; symbol++) {
        const to = reader.read(reading, symbol);
        if (to) edges.push([symbol, to]);
      }
      return { edges, accepting: reader.accepts(reading) };
    },
  );
  machine = machine && trimmed(machine);
  if (machine && rests) machine = trimmed(intersection(machine, rests) ?? refuse());
  return machine && statesOf(machine, (symbols) => chars(...symbols.map((symbol) => SYMBOLS[symbol])));
}
