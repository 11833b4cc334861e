// read_json.js - reads JSON files that anybody may have written
import { fail } from '../../base/errors.js';
import { LIMITS } from '../../base/checks.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether the lists and objects of a JSON text are nested deeper than a limit.
 * @param {Uint8Array} bytes  valid JSON
 * @param {number} limit
 */
function isNestedDeeper(bytes, limit) {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const lower = bytes[i] | 0x20; // [ and ] become { and }
    if (bytes[i] === QUOTE) {
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
    } else if (lower === 0x7b) {
      if (++depth > limit) return true;
    } else if (lower === 0x7d) depth--;
  }
  return false;
}

/** A text or a number that Python's json writes and JSON has not. */
const NOT_JSON = /"(?:[^"\\]|\\.)*"|-?\b(?:Infinity|NaN)\b/g;
/** The prefix of such a number's name where it stands as a text. */
const MARK = '\u0000number ';

/**
 * The value of a JSON text, in which Infinity, -Infinity and NaN are numbers, as Python writes and reads them.
 * @param {string} text
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const marked = text.replace(NOT_JSON, (found) => (found[0] === '"' ? found : JSON.stringify(MARK + found)));
    if (marked === text) throw error;
    return JSON.parse(marked, (_, value) =>
      typeof value === 'string' && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : value,
    );
  }
}

/**
 * The content of a JSON file. Deep nesting is refused: JavaScript recurses where a list becomes a text or the name of a
 * property.
 * @param {Uint8Array} bytes
 * @param {string} name  of the file, for messages
 * @returns {any}
 */
export function parseJson(bytes, name) {
  let json;
  try {
    json = parsed(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (e) {
    return fail('bad-file', `${name}: this is not JSON (${e instanceof Error ? e.message : e})`, e);
  }
  if (isNestedDeeper(bytes, LIMITS.depth))
    fail('bad-file', `${name}: its lists and objects are nested deeper than ${LIMITS.depth}`);
  return json;
}
