// word_wrap.js - the filter wordwrap: Python's textwrap.wrap, line by line
import { lengthOf, linesOf, points } from './code_points.js';
import { joined } from './python_text.js';
import { step } from './template_limits.js';

const BLANK = '[\\t\\n\\v\\f\\r ]';
const WORD = '[\\p{L}\\p{N}_!"\'&.,?]';
const LETTER = '[\\p{L}_]';
const NOT_BLANK = '[^\\t\\n\\v\\f\\r ]';
/** Matches the hyphens behind which a word may break. */
const HYPHEN = `-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${LETTER}-))(?=${LETTER}-?${LETTER})`;
/** Dashes between words. */
const DASHES = '-{2,}(?=[\\p{L}\\p{N}_])';
/** Blanks, dashes, and words up to where they may break. */
const CHUNKS = new RegExp(
  `(${BLANK}+|(?<=${WORD})${DASHES}|${NOT_BLANK}+?(?:${HYPHEN}|(?=${BLANK}|$)|(?<=${WORD})(?=${DASHES})))`,
  'u',
);
const SIMPLE = new RegExp(`(${BLANK}+)`);

/**
 * Lines of at most a width.
 * @param {string} text  one line
 * @param {number} width
 * @param {boolean} breaks  long words
 * @param {boolean} hyphens  a line may end behind a hyphen
 * @returns {string[]}
 */
function linesWithin(text, width, breaks, hyphens) {
  if (width <= 0) throw new Error(`invalid width ${width} (must be > 0)`);
  const chunks = text
    .split(hyphens ? CHUNKS : SIMPLE)
    .filter(Boolean)
    .reverse();
  const isBlank = (/** @type {string} */ chunk) => new RegExp(`^${BLANK}*$`).test(chunk);
  const lines = [];
  while (chunks.length) {
    /** @type {string[]} */
    const line = [];
    let length = 0;
    if (lines.length && isBlank(chunks[chunks.length - 1])) chunks.pop();
    while (chunks.length && length + lengthOf(chunks[chunks.length - 1]) <= width) {
      const chunk = /** @type {string} */ (chunks.pop());
      line.push(chunk);
      length += lengthOf(chunk);
    }
    if (chunks.length && lengthOf(chunks[chunks.length - 1]) > width)
      takeLong(chunks, line, width - length, breaks, hyphens);
    if (line.length && isBlank(line[line.length - 1])) line.pop();
    if (line.length) lines.push(line.join(''));
  }
  return lines;
}

/**
 * Take a part of a word that fits no line.
 * @param {string[]} chunks
 * @param {string[]} line
 * @param {number} left
 * @param {boolean} breaks
 * @param {boolean} hyphens
 */
function takeLong(chunks, line, left, breaks, hyphens) {
  const all = points(/** @type {string} */ (chunks.pop()));
  step(all.length);
  let end = left;
  if (!breaks) {
    if (line.length) chunks.push([...all].join(''));
    else line.push([...all].join(''));
    return;
  }
  if (hyphens && all.length > left) {
    const hyphen = [...all].slice(0, left).lastIndexOf('-');
    if (hyphen > 0 && [...all].slice(0, hyphen).some((c) => c !== '-')) end = hyphen + 1;
  }
  line.push([...all].slice(0, end).join(''));
  chunks.push([...all].slice(end).join(''));
}

/**
 * @param {string} text
 * @param {number} width
 * @param {boolean} breaks  words that are longer than a line
 * @param {string} between  lines
 * @param {boolean} hyphens  a line may end behind a hyphen
 */
export const wrapped = (text, width, breaks, between, hyphens) =>
  joined(
    linesOf(text).map((line) => joined(linesWithin(line, width, breaks, hyphens), between)),
    between,
  );
