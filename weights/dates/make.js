#!/usr/bin/env node
// make.js - generates the training data of the model `dates`: dates as people write them, with their ISO form
//
//   node weights/dates/make.js FOLDER [--seed 1] [--train 200000] [--valid 2000]
//
// Writes train.tsv and valid.tsv, with lines "as written TAB yyyy-mm-dd". One day in twenty occurs only in valid.tsv,
// so that training never sees it in any form. Dates with slashes have the month first, those with dots or dashes the
// day. What has the form of a date but is none, as 30 February, is answered "no such day"; what is no date "not a date".
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { disturbed, misspelt } from './noise.js';

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const ORDINALS = (
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth ' +
  'sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth ' +
  'twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first'
).split(' ');
const FIRST_YEAR = 1800;
const LAST_YEAR = 2100;
const LONGEST = 48; // bytes that the model's context holds

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

/** @typedef {{ y: number, m: number, d: number }} Day  m from 1; it need not exist */

/** Ways to write a date, those with numbers alone last. @type {((x: Day & { month: string, short: string, week: string }) => string)[]} */
const FORMS = [
  ({ y, d, month }) => `${month} ${d}, ${y}`,
  ({ y, d, month }) => `${d} ${month} ${y}`,
  ({ y, d, month }) => `${ordinal(d)} ${month} ${y}`,
  ({ y, d, month }) => `${month} ${ordinal(d)}, ${y}`,
  ({ y, d, month }) => `the ${ordinal(d)} of ${month} ${y}`,
  ({ y, d, month }) => `the ${ordinal(d)} of ${month}, ${y}`,
  ({ y, d, month }) => `the ${ORDINALS[d - 1] ?? ordinal(d)} of ${month}, ${y}`,
  ({ y, d, month }) => `${month} the ${ORDINALS[d - 1] ?? ordinal(d)}, ${y}`,
  ({ y, d, month, week }) => `${week}, ${month} ${d}, ${y}`,
  ({ y, d, month, week }) => `${week}, ${d} ${month} ${y}`,
  ({ y, d, month, week }) => `${week} the ${ordinal(d)} of ${month}, ${y}`,
  ({ y, d, short }) => `${short} ${d}, ${y}`,
  ({ y, d, short }) => `${d} ${short} ${y}`,
  ({ y, d, short }) => `${two(d)}-${short}-${y}`,
  ({ y, d, short, week }) => `${week.slice(0, 3)} ${d} ${short} ${y}`,
  ({ y, d, short, week }) => `${week.slice(0, 3)}, ${short}. ${d}, ${y}`,
  ({ y, d, month }) => `${y}, ${month} ${d}`,
  ({ y, d, month }) => `${y} ${month} ${ordinal(d)}`,
  ({ y, m, d }) => `${d}.${m}.${y}`,
  ({ y, m, d }) => `${two(d)}.${two(m)}.${y}`,
  ({ y, m, d }) => `${two(d)}-${two(m)}-${y}`,
  ({ y, m, d }) => `${m}/${d}/${y}`,
  ({ y, m, d }) => `${two(m)}/${two(d)}/${y}`,
  ({ y, m, d }) => `${y}-${two(m)}-${two(d)}`,
  ({ y, m, d }) => `${y}/${two(m)}/${two(d)}`,
  ({ y, m, d }) => `${y}${two(m)}${two(d)}`,
];
const NUMBERS = 8; // of them, with numbers alone

const leap = (/** @type {number} */ y) => (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
/** @param {number} y @param {number} m */
const daysIn = (y, m) => (m === 2 ? 28 + Number(leap(y)) : 30 + Number([1, 3, 5, 7, 8, 10, 12].includes(m)));

/** @param {() => number} draw @returns {Day} */
function someDay(draw) {
  const y = FIRST_YEAR + Math.floor(draw() * (LAST_YEAR - FIRST_YEAR + 1));
  if (draw() < 0.04) return { y: y - (y % 4), m: 2, d: 29 }; // in leap years, and in 1800, 1900 and 2100
  const m = 1 + Math.floor(draw() * 12);
  return { y, m, d: 1 + Math.floor(draw() * daysIn(y, m)) };
}

/** A day that does not exist. @param {() => number} draw @returns {Day} */
function noDay(draw) {
  const kind = draw();
  const y = FIRST_YEAR + Math.floor(draw() * (LAST_YEAR - FIRST_YEAR + 1));
  if (kind < 0.4) return { y: leap(y) ? y - 1 : y, m: 2, d: 29 };
  if (kind < 0.6) return { y, m: 2, d: 30 + Math.floor(draw() * 2) };
  if (kind < 0.85) return { y, m: [4, 6, 9, 11][Math.floor(draw() * 4)], d: 31 };
  if (kind < 0.93) return { y, m: 13 + Math.floor(draw() * 19), d: 1 + Math.floor(draw() * 28) };
  return { y, m: 1 + Math.floor(draw() * 12), d: 32 + Math.floor(draw() * 8) };
}

/** @param {Day} day @returns {string} */
const answer = ({ y, m, d }) => (m > 12 || d > daysIn(y, m) ? 'no such day' : `${y}-${two(m)}-${two(d)}`);

/**
 * @param {Day} day
 * @param {() => number} draw
 */
function write(day, draw) {
  const { y, m, d } = day;
  const name = MONTHS[m - 1] ?? '';
  const spelt = m <= 12 && draw() < 0.1 ? misspelt(name, MONTHS, draw) : name;
  const week = m <= 12 ? DAYS[new Date(Date.UTC(y, m - 1, d)).getUTCDay()] : '';
  const first = m > 12 ? FORMS.length - NUMBERS : 0;
  const form = FORMS[first + Math.floor(draw() * (FORMS.length - first))];
  const text = disturbed(form({ ...day, month: spelt, short: name.slice(0, 3), week }), draw);
  return `${cased(text, draw)}\t${answer(day)}`;
}

/** @param {string} text @param {() => number} draw */
function cased(text, draw) {
  const style = draw();
  return style < 0.15 ? text.toLowerCase() : style < 0.2 ? text.toUpperCase() : text;
}

const WORDS = (
  'hello world the a one two three day night today tomorrow yesterday next last week month year never always time ' +
  'once upon there was little fox cat dog what is your name good morning how are you I do not know when where why ' +
  'please write tell me story of in on at and or but red blue big small house car tree water ' +
  MONTHS.concat(DAYS).join(' ')
).split(' ');

/** A text that is no date: words, letters or a number. @param {() => number} draw */
function words(draw) {
  const kind = draw();
  const letters = (/** @type {number} */ n) =>
    Array.from({ length: n }, () => String.fromCharCode(97 + Math.floor(draw() * 26))).join('');
  const list = Array.from({ length: 1 + Math.floor(draw() * 5) }, () =>
    kind < 0.7 ? WORDS[Math.floor(draw() * WORDS.length)] : letters(1 + Math.floor(draw() * 8)),
  );
  if (kind > 0.9) list.push(String(Math.floor(10 ** (1 + 2 * draw()))));
  return `${cased(list.join(' '), draw)}\tnot a date`;
}

/**
 * Whether a day belongs to valid.tsv; depends on the day only, not on the seed.
 * @param {Day} day
 */
const kept = ({ y, m, d }) => random(y * 10000 + m * 100 + d)() < 0.05;

const {
  positionals: [folder],
  values,
} = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    train: { type: 'string', default: '200000' },
    valid: { type: 'string', default: '2000' },
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
    const kind = draw();
    const day = kind < 0.88 ? someDay(draw) : noDay(draw);
    if (kind >= 0.96) lines.add(words(draw));
    else if (kept(day) === (name === 'valid')) {
      const line = write(day, draw);
      if (line.indexOf('\t') <= LONGEST) lines.add(line);
    }
  }
  writeFileSync(join(folder, `${name}.tsv`), [...lines].join('\n') + '\n');
}
