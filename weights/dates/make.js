#!/usr/bin/env node
// make.js - generates the training data of the model `dates`: dates as people write them, with their ISO form
//
//   node weights/dates/make.js FOLDER [--seed 1] [--train 60000] [--valid 1000]
//
// Writes train.tsv and valid.tsv, with lines "as written TAB yyyy-mm-dd". One day in twenty occurs only in valid.tsv,
// so that training never sees it in any form. Dates with slashes have the month first, those with dots or dashes the
// day.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const FIRST = Date.UTC(1900, 0, 1) / 864e5;
const LAST = Date.UTC(2099, 11, 31) / 864e5;

/**
 * The random number generator mulberry32: short, and good enough here.
 * @param {number} seed
 * @returns {() => number} 0 <= x < 1
 */
function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param {number} d 1 .. 31 */
const ordinal = (d) =>
  d + (d % 10 === 1 && d !== 11 ? 'st' : d % 10 === 2 && d !== 12 ? 'nd' : d % 10 === 3 && d !== 13 ? 'rd' : 'th');
/** @param {number} n */
const two = (n) => String(n).padStart(2, '0');

/**
 * The 22 ways to write a date.
 * @type {((x: { y: number, m: number, d: number, month: string, short: string, week: string }) => string)[]}
 */
const FORMS = [
  ({ y, d, month }) => `${month} ${d}, ${y}`,
  ({ y, d, month }) => `${d} ${month} ${y}`,
  ({ y, d, month }) => `${ordinal(d)} ${month} ${y}`,
  ({ y, d, month }) => `${month} ${ordinal(d)}, ${y}`,
  ({ y, d, month }) => `the ${ordinal(d)} of ${month} ${y}`,
  ({ y, d, month }) => `the ${ordinal(d)} of ${month}, ${y}`,
  ({ y, d, month, week }) => `${week}, ${month} ${d}, ${y}`,
  ({ y, d, month, week }) => `${week}, ${d} ${month} ${y}`,
  ({ y, d, month, week }) => `${week} the ${ordinal(d)} of ${month}, ${y}`,
  ({ y, d, short }) => `${short} ${d}, ${y}`,
  ({ y, d, short }) => `${d} ${short} ${y}`,
  ({ y, d, short }) => `${two(d)}-${short}-${y}`,
  ({ y, d, short, week }) => `${week.slice(0, 3)} ${d} ${short} ${y}`,
  ({ y, d, month }) => `${y}, ${month} ${d}`,
  ({ y, d, month }) => `${y} ${month} ${ordinal(d)}`,
  ({ y, m, d }) => `${d}.${m}.${y}`,
  ({ y, m, d }) => `${two(d)}.${two(m)}.${y}`,
  ({ y, m, d }) => `${two(d)}-${two(m)}-${y}`,
  ({ y, m, d }) => `${m}/${d}/${y}`,
  ({ y, m, d }) => `${two(m)}/${two(d)}/${y}`,
  ({ y, m, d }) => `${y}/${two(m)}/${two(d)}`,
  ({ y, m, d }) => `${y}${two(m)}${two(d)}`,
];

/**
 * @param {number} day days since 1970
 * @param {() => number} draw
 */
function write(day, draw) {
  const date = new Date(day * 864e5);
  const [y, m, d] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  const month = MONTHS[m - 1];
  let text = FORMS[Math.floor(draw() * FORMS.length)]({
    y,
    m,
    d,
    month,
    short: month.slice(0, 3),
    week: DAYS[date.getUTCDay()],
  });
  const style = draw();
  if (style < 0.15) text = text.toLowerCase();
  else if (style < 0.2) text = text.toUpperCase();
  return `${text}\t${y}-${two(m)}-${two(d)}`;
}

/**
 * Whether a day belongs to valid.tsv; depends on the day only, not on the seed.
 * @param {number} day
 */
const kept = (day) => random(day)() < 0.05;

const {
  positionals: [folder],
  values,
} = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    train: { type: 'string', default: '60000' },
    valid: { type: 'string', default: '1000' },
  },
});
if (!folder) {
  console.error('usage: node weights/dates/make.js FOLDER [--seed N] [--train LINES] [--valid LINES]');
  process.exit(2);
}
const draw = random(Number(values.seed));
mkdirSync(folder, { recursive: true });
for (const [name, count] of /** @type {[string, number][]} */ ([
  ['train', Number(values.train)],
  ['valid', Number(values.valid)],
])) {
  const lines = new Set();
  while (lines.size < count) {
    const day = FIRST + Math.floor(draw() * (LAST - FIRST + 1));
    if (kept(day) === (name === 'valid')) lines.add(write(day, draw));
  }
  writeFileSync(join(folder, `${name}.tsv`), [...lines].join('\n') + '\n');
}
