// string_formats.js - the formats of strings, as patterns of which a text must fit all, and those of numbers
//
// Each leaves out texts that few programs write or that checkers disagree about:
// - date: years 0000 to 9999 (RFC 3339), 29 February only in leap years
// - time, date-time: capital T and Z, an offset, at most 9 digits of a second; no second 60
// - duration: RFC 3339, appendix A; numbers of at most 9 digits
// - email: at most 64 characters; a name without quotes, a hostname with a dot
// - hostname: at most 63 characters, no hyphen beside another; its last part begins with a letter
// - ipv6: without zone
// - uri: scheme://host:port/path?query#fragment, a file, or one of mailto, urn, tel, data (RFC 3986); no user name, no
//   IPv6 address as host, a port of at most 4 digits

const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DAYS_31 = '(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])';
const DAYS_30 = '(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)';
const DATE = `(?:\\d{4}-(?:${DAYS_31}|${DAYS_30}|02-(?:0[1-9]|1\\d|2[0-8]))|${LEAP_YEAR}-02-29)`;
const HOUR = '(?:[01]\\d|2[0-3])';
const TIME = `${HOUR}:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${HOUR}:[0-5]\\d)`;

const N = '\\d{1,9}';
const MINUTES = `${N}M(?:${N}S)?`;
const CLOCK = `T(?:${N}H(?:${MINUTES})?|${MINUTES}|${N}S)`;
const MONTHS = `${N}M(?:${N}D)?`;
const DAYS = `(?:${N}Y(?:${MONTHS})?|${MONTHS}|${N}D)`;

const LABEL = '[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*';
const TOP = '[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*';
const SYMBOLS = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";

const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;
const GROUP = '[\\dA-Fa-f]{1,4}';
const LAST = `(?:${GROUP}:${GROUP}|${IPV4})`;
/** Matches at most n groups, with colons between them. */
const groups = (/** @type {number} */ n) => `(?:(?:${GROUP}:){0,${n - 1}}${GROUP})?`;
const IPV6 = [
  `(?:${GROUP}:){6}${LAST}`,
  `::(?:${GROUP}:){5}${LAST}`,
  ...[4, 3, 2, 1, 0].map((n) => `${groups(5 - n)}::(?:${GROUP}:){${n}}${LAST}`),
  `${groups(6)}::${GROUP}`,
  `${groups(7)}::`,
].join('|');

const IN_PATH = "(?:[\\w.~!$&'()*+,;=:@-]|%[\\dA-F]{2})";
const PORT = '[1-9]\\d{0,3}';
const HOST = `(?:(?:${LABEL}\\.)*${TOP}|${IPV4})`;
const REST = `(?:\\?(?:${IN_PATH}|[/?])*)?(?:#(?:${IN_PATH}|[/?])*)?`;

/** @type {Record<string, string[]>} */
const FORMATS = {
  date: [DATE],
  time: [TIME],
  'date-time': [`${DATE}T${TIME}`],
  duration: [`P(?:${DAYS}(?:${CLOCK})?|${CLOCK}|${N}W)`],
  email: [`${SYMBOLS}(?:\\.${SYMBOLS})*@(?:${LABEL}\\.)+${TOP}`, '.{1,64}'],
  hostname: [`(?:${LABEL}\\.)*${TOP}`, '.{1,63}'],
  ipv4: [IPV4],
  ipv6: [IPV6],
  uuid: ['[\\dA-Fa-f]{8}-(?:[\\dA-Fa-f]{4}-){3}[\\dA-Fa-f]{12}'],
  uri: [
    `[A-Za-z][A-Za-z0-9+.-]*://${HOST}(?::${PORT})?(?:/${IN_PATH}*)*${REST}` +
      `|file://(?:/${IN_PATH}+)+|(?:mailto|urn|tel|data):${IN_PATH}+(?:/${IN_PATH}*)*${REST}`,
  ],
};

/** The formats of strings that are supported. */
export const FORMAT_NAMES = Object.keys(FORMATS);

/**
 * Patterns that each text of a format fits, and that Zod 4 writes beside it. They need too many states, or lookaheads.
 * @type {Record<string, string>}
 */
const IMPLIED = {
  duration: '^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$',
  hostname:
    '^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?' +
    '(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$',
};
/**
 * Whether each text of a format fits a pattern, as far as it is known.
 * @param {string} format
 * @param {string} pattern
 */
export const implies = (format, pattern) => IMPLIED[format] === pattern;

/**
 * The formats of numbers, which OpenAPI defines, with what each adds to a range.
 * @type {Map<string, {low: number, high: number, isInteger: boolean}>}
 */
export const NUMBER_FORMATS = new Map([
  ['int32', { low: -(2 ** 31), high: 2 ** 31 - 1, isInteger: true }],
  ['int64', { low: -Infinity, high: Infinity, isInteger: true }], // no number here has more than 15 digits
  ['float', { low: -Infinity, high: Infinity, isInteger: false }],
  ['double', { low: -Infinity, high: Infinity, isInteger: false }],
]);

/**
 * The patterns of a format; none for a format of numbers, which says nothing about strings.
 * @param {string} name
 * @returns {string[]}
 */
export const formatPatterns = (name) =>
  Object.hasOwn(FORMATS, name) ? FORMATS[name].map((pattern) => `^(?:${pattern})$`) : [];
