// date_format.js - the present time as strftime writes it in the C locale
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

const DAY = 86_400_000;
/** Days since the year's first. @param {Date} date */
const dayOfYear = (date) =>
  Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 1)) / DAY,
  );

/** Year and week of ISO 8601. @param {Date} date */
function isoWeek(date) {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() - ((date.getDay() + 6) % 7) + 3);
  return { year: thursday.getFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}

/** Numbers: digits, what fills them, and the value. @type {Record<string, [number, string, (date: Date) => number]>} */
const NUMBERS = {
  d: [2, '0', (date) => date.getDate()],
  e: [2, ' ', (date) => date.getDate()],
  f: [6, '0', (date) => date.getMilliseconds() * 1000],
  H: [2, '0', (date) => date.getHours()],
  I: [2, '0', (date) => date.getHours() % 12 || 12],
  j: [3, '0', (date) => dayOfYear(date) + 1],
  k: [2, ' ', (date) => date.getHours()],
  l: [2, ' ', (date) => date.getHours() % 12 || 12],
  m: [2, '0', (date) => date.getMonth() + 1],
  M: [2, '0', (date) => date.getMinutes()],
  S: [2, '0', (date) => date.getSeconds()],
  s: [1, '0', (date) => Math.floor(date.getTime() / 1000)],
  u: [1, '0', (date) => date.getDay() || 7],
  w: [1, '0', (date) => date.getDay()],
  U: [2, '0', (date) => Math.floor((dayOfYear(date) + 7 - date.getDay()) / 7)],
  W: [2, '0', (date) => Math.floor((dayOfYear(date) + 7 - ((date.getDay() + 6) % 7)) / 7)],
  V: [2, '0', (date) => isoWeek(date).week],
  G: [4, '0', (date) => isoWeek(date).year],
  C: [2, '0', (date) => Math.floor(date.getFullYear() / 100)],
  y: [2, '0', (date) => date.getFullYear() % 100],
  Y: [1, '0', (date) => date.getFullYear()],
};

/** @type {Record<string, (date: Date) => string>} */
const TEXTS = {
  a: (date) => DAYS[date.getDay()].slice(0, 3),
  A: (date) => DAYS[date.getDay()],
  b: (date) => MONTHS[date.getMonth()].slice(0, 3),
  h: (date) => MONTHS[date.getMonth()].slice(0, 3),
  B: (date) => MONTHS[date.getMonth()],
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  P: (date) => (date.getHours() < 12 ? 'am' : 'pm'),
  n: () => '\n',
  t: () => '\t',
  z: () => '',
  Z: () => '',
  '%': () => '%',
};

/** Directives that stand for several. @type {Record<string, string>} */
const LONG = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/**
 * strftime
 * @param {string} format  %- leaves fillers out, %_ and %0 choose them, %^ writes capitals
 * @param {Date} date
 * @returns {string}
 */
export function dateText(format, date) {
  return format.replace(/%([-_0^#]?)([a-zA-Z%])/g, (whole, flag, letter) => {
    if (LONG[letter]) return dateText(LONG[letter], date);
    const text = TEXTS[letter]?.(date);
    if (text !== undefined) return flag === '^' ? text.toUpperCase() : text;
    if (!NUMBERS[letter]) return whole;
    const [digits, filler, value] = NUMBERS[letter];
    const own = { _: ' ', 0: '0' }[/** @type {'_'} */ (flag)] ?? filler;
    return flag === '-' ? String(value(date)) : String(value(date)).padStart(digits, own);
  });
}
