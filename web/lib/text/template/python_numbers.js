// python_numbers.js - Python's integers and floats: arithmetic, reading and writing
import { Float, Undefined, integer, isInt, typeName } from './python_values.js';
import { MOST } from './template_limits.js';

/** Whether a value is a number of Python. @param {any} value */
export const isNumber = (value) => isInt(value) || value instanceof Float;

/**
 * A number as a double.
 * @param {any} value
 * @returns {number}
 */
export function toFloat(value) {
  if (value instanceof Float) return value.value;
  if (value instanceof Undefined) return value.refuse();
  if (!isInt(value)) throw new Error(`expected a number, found ${typeName(value)}`);
  const number = Number(value);
  if (!Number.isFinite(number)) throw new Error('int too large to convert to float');
  return number;
}

/** The remainder of integers, with the sign of the divisor. @param {any} a @param {any} b */
function remainder(a, b) {
  const rest = a % b;
  return rest && rest < 0 !== b < 0 ? rest + b : rest;
}

/** Operations of two integers, numbers or bigints. @type {Record<string, (a: any, b: any) => any>} */
const INTEGERS = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '%': remainder,
  '//': (a, b) => (a - remainder(a, b)) / b,
};

/** Operations of two doubles. @type {Record<string, (a: number, b: number) => number>} */
const FLOATS = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => {
    const rest = a % b;
    if (rest) return rest < 0 !== b < 0 ? rest + b : rest;
    return Number.isNaN(rest) ? rest : b < 0 ? -0 : 0;
  },
  '//': (a, b) => {
    const rest = a % b;
    const quotient = (a - rest) / b - (rest && rest < 0 !== b < 0 ? 1 : 0);
    if (!quotient) return Number.isNaN(quotient) ? quotient : (a < 0 || Object.is(a, -0)) !== b < 0 ? -0 : 0;
    const floor = Math.floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
  },
};

/**
 * The result of an operator between two numbers.
 * @param {string} operator  + - * / // % **
 * @param {any} a
 * @param {any} b
 * @returns {any}
 */
export function arithmetic(operator, a, b) {
  if (['/', '//', '%'].includes(operator) && !toFloat(b)) throw new Error('division by zero');
  if (operator === '**') return power(a, b);
  if (a instanceof Float || b instanceof Float || operator === '/')
    return new Float(FLOATS[operator](toFloat(a), toFloat(b)));
  if (typeof a === 'boolean') a = Number(a);
  if (typeof b === 'boolean') b = Number(b);
  if (typeof a === 'number' && typeof b === 'number') {
    const fast = INTEGERS[operator](a, b);
    if (Number.isSafeInteger(fast)) return fast + 0; // no -0
  }
  return integer(INTEGERS[operator](BigInt(a), BigInt(b)));
}

/** @param {any} a @param {any} b */
function power(a, b) {
  if (isInt(a) && isInt(b) && b >= 0) {
    const [base, exponent] = [BigInt(a), BigInt(b)];
    if (base * base <= 1n) return Number(exponent % 2n ? base : exponent ? base * base : 1n);
    if (BigInt(base.toString(2).length) * exponent > 2n ** 20n) throw new Error('** gives an integer that is too long');
    return integer(base ** exponent);
  }
  const [base, exponent] = [toFloat(a), toFloat(b)];
  if (!base && exponent < 0) throw new Error('0.0 cannot be raised to a negative power');
  if (base === 1 || (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent))) return new Float(1);
  const result = base ** exponent;
  if (Number.isNaN(result) && !Number.isNaN(base) && !Number.isNaN(exponent))
    throw new Error('** of a negative number gives a complex number, which is not supported');
  if (!Number.isFinite(result) && Number.isFinite(base) && Number.isFinite(exponent))
    throw new Error('the result of ** is too large');
  return new Float(result);
}

/** @param {any} value */
export function negated(value) {
  if (value instanceof Float) return new Float(-value.value);
  return arithmetic('-', 0, value);
}

/**
 * A float as Python writes it.
 * @param {number} value
 * @returns {string}
 */
export function floatText(value) {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits, exponent] = value.toExponential().split('e');
  if (+exponent < -4 || +exponent >= 16) return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
  const text = String(value);
  return text.includes('.') ? text : `${text}.0`;
}

/** An integer in decimal digits. @param {number | bigint} value */
export function integerText(value) {
  const text = String(value);
  if (text.length > MOST.digits) throw new Error(`an integer has more than ${MOST.digits} digits`);
  return text;
}

/**
 * A double times a power of ten, rounded to an integer, half to even, from its exact value.
 * @param {number} value  finite, not negative
 * @param {number} places
 * @returns {bigint}
 */
export function scaled(value, places) {
  if (places > MOST.digits) throw new Error(`a number is written with more than ${MOST.digits} digits`);
  let [numerator, denominator] = [0n, 1n];
  let exponent = 0;
  while (!Number.isInteger(value)) {
    value *= 2 ** 52;
    exponent += 52;
  }
  numerator = BigInt(value);
  denominator = 1n << BigInt(exponent);
  if (places >= 0) numerator *= 10n ** BigInt(places);
  else denominator *= 10n ** BigInt(Math.min(-places, 400));
  const [quotient, twice] = [numerator / denominator, (numerator % denominator) * 2n];
  return quotient + (twice > denominator || (twice === denominator && quotient % 2n) ? 1n : 0n);
}

/**
 * Python's round().
 * @param {any} value
 * @param {number} places
 * @returns {any}
 */
export function rounded(value, places) {
  if (isInt(value)) {
    if (places >= 0) return integer(BigInt(value));
    const unit = 10n ** BigInt(Math.min(-places, MOST.digits));
    const [whole, own] = [BigInt(value), remainder(BigInt(value), unit)];
    const down = whole - own;
    return integer(own * 2n > unit || (own * 2n === unit && (down / unit) % 2n) ? down + unit : down);
  }
  const number = toFloat(value);
  if (!Number.isFinite(number) || places > 323) return new Float(number);
  const digits = scaled(Math.abs(number), places);
  const result = Number(`${digits}e${-places}`);
  return new Float(number < 0 || Object.is(number, -0) ? -result : result);
}

/** Digits of other scripts as ASCII. @param {string} text */
const asciiDigits = (text) =>
  text.replace(/[^\x00-\x7f]/gu, (own) => {
    if (!/\p{Nd}/u.test(own)) return own;
    const code = /** @type {number} */ (own.codePointAt(0));
    let first = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
    return String((code - first) % 10);
  });

/**
 * The number that int() reads.
 * @param {string} text  without white space around it
 * @param {number} base  2 to 36, or 0: as its prefix says
 * @returns {number | bigint | undefined}  undefined: it is none
 */
export function readInteger(text, base) {
  const [, sign, own] = /^([+-]?)(.*)$/s.exec(asciiDigits(text)) ?? [];
  const prefix = { 0: '0[box]', 2: '0b', 8: '0o', 16: '0x' }[base];
  const prefixed = prefix && new RegExp(`^${prefix}_?(?=.)`, 'i').exec(own);
  const radix = base || (prefixed ? { b: 2, o: 8, x: 16 }[own[1].toLowerCase()] : 10) || 10;
  const digits = prefixed ? own.slice(prefixed[0].length) : own;
  if (!/^[0-9a-z]+(_[0-9a-z]+)*$/i.test(digits) || (!base && !prefixed && /^0[\d_]*[1-9]/.test(digits))) return;
  let value = 0n;
  for (const digit of digits.replaceAll('_', '').toLowerCase()) {
    const number = parseInt(digit, 36);
    if (number >= radix) return;
    value = value * BigInt(radix) + BigInt(number);
  }
  if (digits.length > MOST.digits && radix & (radix - 1)) return;
  return integer(sign === '-' ? -value : value);
}

/**
 * The number that float() reads.
 * @param {string} text  without white space around it
 * @returns {number | undefined}  undefined: it is none
 */
export function readFloat(text) {
  const own = asciiDigits(text);
  const special = /^([+-]?)(?:(inf|infinity)|nan)$/i.exec(own);
  if (special) return special[2] ? (special[1] === '-' ? -Infinity : Infinity) : NaN;
  const digits = '\\d+(?:_\\d+)*';
  return new RegExp(`^[+-]?(?:${digits}\\.?(?:${digits})?|\\.${digits})(?:e[+-]?${digits})?$`, 'i').test(own)
    ? Number(own.replaceAll('_', ''))
    : undefined;
}
