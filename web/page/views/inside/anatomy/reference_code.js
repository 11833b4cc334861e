// reference_code.js - the lines of src/reference/decoder.c that compute a stage, with the sizes and values of one pass
// written behind what they belong to
import { completeConfig } from 'glassformer';

/** @typedef {{ text: string, filled: string }} Piece  filled: what is written behind the text, '' for nothing */
/** @typedef {{ in: string, says: string }} Value  `says` is written at the end of the first line that contains `in` */

const camel = (/** @type {string} */ name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const MARK = /^\/\* \[stage: ([\w ]+)\]/;
const RULE = /^\/\* ----/;

/**
 * Whether decoder.c computes all that a model has, as its function gf_reference_covers says: positions are of three kinds,
 * there are norms and feed-forward layers, and fields that it does not read have their defaults.
 * @param {string} code  of decoder.c
 * @param {any} config   complete
 */
export function covers(code, config) {
  const read = [...code.matchAll(/\bGF_FIELD_(\w+)/g)].map(([, name]) => camel(name)).filter((name) => name in config);
  if (!['learned', 'rope', 'none'].includes(config.position) || [config.norm, config.ffn].includes('none'))
    return false;
  const plain = completeConfig(Object.fromEntries(read.map((name) => [name, config[name]])));
  return Object.keys(plain).every((name) => JSON.stringify(plain[name]) === JSON.stringify(config[name]));
}

/**
 * The lines of a stage: from the comment that opens it to the next one that opens a stage, or to a rule. null: none.
 * @param {string} code
 * @param {string} stage
 */
export function linesOf(code, stage) {
  const lines = code.split('\n');
  const stagesAt = (/** @type {string} */ line) => MARK.exec(line)?.[1].split(' ') ?? [];
  const first = lines.findIndex((line) => stagesAt(line).includes(stage));
  if (first < 0) return null;
  const length = lines.slice(first + 1).findIndex((line) => MARK.test(line) || RULE.test(line));
  const own = length < 0 ? lines.slice(first) : lines.slice(first, first + 1 + length);
  while (own.at(-1) === '') own.pop();
  return { first: first + 1, lines: own };
}

/**
 * Lines with their sizes, wherever a comment has them in brackets and where code reads them first, and with values.
 * @param {string[]} lines
 * @param {Record<string, number>} sizes  by the name of the field
 * @param {Value[]} values
 * @returns {Piece[][]}
 */
export function filled(lines, sizes, values) {
  const seen = new Set();
  const left = [...values];
  let comment = false;
  return lines.map((line) => {
    comment ||= /^\/\*/.test(line);
    const pieces = piecesOf(line, sizes, comment ? null : seen);
    if (/\*\/\s*$/.test(line)) comment = false;
    const at = left.findIndex((value) => !comment && line.includes(value.in));
    if (at >= 0) pieces.push({ text: '', filled: left.splice(at, 1)[0].says });
    return pieces;
  });
}

/** @param {string} line @param {Record<string, number>} sizes @param {Set<string> | null} seen  of code, null in a comment */
function piecesOf(line, sizes, seen) {
  /** @type {Piece[]} */
  const pieces = [];
  let from = 0;
  for (const { 0: name, index } of line.matchAll(/\b[a-z]\w*\b/g)) {
    if (!Object.hasOwn(sizes, name) || seen?.has(name)) continue;
    if (!seen && line.lastIndexOf('[', index) <= line.lastIndexOf(']', index)) continue;
    seen?.add(name);
    pieces.push({ text: line.slice(from, index + name.length), filled: `=${sizes[name]}` });
    from = index + name.length;
  }
  return [...pieces, { text: line.slice(from), filled: '' }];
}
