// explanation_table.js - one explained number as a table: which columns, which rows in which order, what they add up to
import { say } from '../../state/base/language.js';
import { int, percent, scientific, value } from '../../text/format.js';
import { EXPLANATION as SAY, nameOfPoint } from '../../text/explanation_text.js';

/** @typedef {import('glassformer').Explanation} Explanation */
/** @typedef {Explanation['terms'][number]} Term */
/** @typedef {{ at: string, position: number, head?: number, index?: number }} Cell */

/** Terms shown at first, and how many more each press shows. */
export const ROWS = 12;
export const MORE = 100;

/**
 * A number of any size, small ones in powers of ten.
 * @param {number} x
 */
export const number = (x) =>
  x === 0 || !Number.isFinite(x) || Math.abs(x) >= 1e-3 ? value(x) : `${x < 0 ? '−' : ''}${scientific(Math.abs(x))}`;

/** Whether the point's index is the position of a key. @param {string} at */
export const isKeyed = (at) => /scores|pattern/.test(at);

/**
 * Layer, counted from 1, and name.
 * @param {Cell} cell
 */
export function brief({ at }) {
  const layer = /^(?:blocks|encoder|decoder)\.(\d+)\./.exec(at)?.[1];
  const stack = at.startsWith('encoder') ? 'encoder ' : '';
  return `${stack}${layer === undefined ? '' : say`layer ${Number(layer) + 1}, `}${nameOfPoint(at)}`;
}

/**
 * Indices of the terms, the largest first. Factors of a product keep their order; of a share, the cell's own term comes
 * before all others.
 * @param {Explanation} found
 * @returns {number[]}
 */
export function ordered({ how, terms, index = 0 }) {
  const list = [...terms.keys()];
  if (how === 'product') return list;
  list.sort((a, b) => Math.abs(terms[b].value) - Math.abs(terms[a].value));
  return how === 'share' ? [index, ...list.filter((i) => i !== index)] : list;
}

/**
 * A column of numbers; factor: what the input is multiplied with.
 * @typedef {{ heading: string, of: (term: Term) => number | undefined, has?: boolean, factor?: boolean }} Column
 */
/**
 * The columns between the names of the terms and their values, and the heading of these.
 * @param {Explanation} found
 * @returns {{ columns: Column[], last: string }}
 */
export function columnsOf({ how, terms }) {
  const [first, last] = SAY.columns[how] ?? SAY.columns.sum;
  /** @type {Column[]} */
  const columns = [
    { heading: first, of: (t) => t.input, has: terms.some((t) => t.weight || t.times) },
    { heading: SAY.rounded, of: (t) => t.rounded },
    { heading: SAY.times, of: (t) => t.times?.input ?? t.weight?.value, factor: true },
    { heading: SAY.rounded, of: (t) => t.times?.rounded },
  ];
  const shown = columns.filter(({ of, has }) => has || terms.some((t) => of(t) !== undefined));
  return { columns: how === 'given' ? [] : shown, last };
}

/**
 * The rows below the terms.
 * @param {Explanation} found
 * @param {number[]} rest  indices of the terms that are not shown
 * @returns {{ name: string, value: string, role: string }[]}  role: 'sum', 'computed' or ''
 */
export function footOf(found, rest) {
  const { how, terms, divisor, computed } = found;
  const add = (/** @type {Term[]} */ list) => list.reduce((sum, t) => sum + t.value, 0);
  const line = (/** @type {string} */ name, /** @type {number} */ value, role = '', write = number) => ({
    ...{ name, role },
    value: write(value),
  });
  const result = (/** @type {string} */ name, write = number) => line(name, computed, 'computed', write);
  const sum = say`sum of ${int(terms.length)}`;
  const divided = say`divided by ${number(divisor)}`;
  /** @type {Partial<Record<Explanation['how'], ReturnType<typeof line>[]>>} */
  const lines = {
    sum: [line(sum, add(terms), 'sum'), ...(divisor === 1 ? [] : [result(divided)])],
    share: [line(sum, divisor), result(say`share of the first in the sum`, percent)],
    root: [result(say`root of the sum ÷ ${number(divisor)}`)],
    product: [result(say`product`)],
    tanh: [
      line(sum, add(terms)),
      ...(divisor === 1 ? [] : [line(divided, add(terms) / divisor)]),
      result(found.cap === 1 ? SAY.tanh : SAY.capped(number(found.cap ?? 1))),
    ],
    activation: [result(say`${found.formula} of the number`)],
  };
  return [
    ...(rest.length ? [line(say`${int(rest.length)} more`, add(rest.map((i) => terms[i])))] : []),
    ...(lines[how] ?? []),
    line(SAY.engine, found.value, '', how === 'share' ? percent : number),
  ];
}

/**
 * What is said below the table.
 * @param {Explanation} found
 */
export function noteOf(found) {
  const { how, terms, divisor, computed } = found;
  if (how === 'given') return /hook_embed$/.test(found.at) ? SAY.tableEnds : SAY.positionEnds;
  const most = Math.max(...terms.map((t) => Math.abs(t.value)), 1e-30);
  const gap = Math.abs(computed - found.value) > 2e-4 * Math.max(Math.abs(found.value), most / divisor);
  const rounds = terms.some((t) => t.rounded !== undefined || t.times?.rounded !== undefined);
  return [rounds ? SAY.rounds : '', gap ? SAY.gap : ''].filter(Boolean).join(' ');
}
