// request_headers.js - checks the options `headers` and `token`, and brings headers into a form that can be posted
//
// No message quotes a value, because it may be a secret.
import { fail, show } from '../../base/errors.js';
import { LIMITS, entriesOf, isWord, tooMany } from '../../base/checks.js';

/** @typedef {[name: string, value: string][]} HeaderPairs */

const MAX_HEADERS = 256;
/** Headers that the package or the platform sets. */
const RESERVED = ['range', 'if-range', 'host', 'content-length', 'accept-encoding', 'connection', 'transfer-encoding'];

/**
 * The type of a value, for messages.
 * @param {unknown} value
 */
const typeName = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/**
 * The headers of an option, checked.
 * @param {any} value  a Headers object, a list of pairs, or an object
 * @param {string} option  its name
 * @returns {HeaderPairs}
 */
export function headerPairs(value, option) {
  if (value === null || typeof value !== 'object')
    fail('bad-option', `${option} is of type ${typeName(value)}, expected an object of names and values`);
  const refuse = tooMany('headers', MAX_HEADERS);
  const list =
    value instanceof Headers
      ? [...value]
      : Array.isArray(value)
        ? (entriesOf(value, MAX_HEADERS, refuse) ?? [])
        : Object.entries(value);
  if (list.length > MAX_HEADERS) refuse(list.length);
  const headers = new Headers();
  for (const [i, pair] of list.entries()) {
    const [name, text] =
      Array.isArray(pair) && pair.length === 2
        ? pair
        : fail('bad-option', `${option} holds something other than a name and a value at index ${i}`);
    if (!isWord(name))
      fail('bad-option', `${option} holds a name of type ${typeName(name)} at index ${i}, expected a short text`);
    if (!isWord(text))
      fail(
        'bad-option',
        `${option}: the value of ${show(name)} is of type ${typeName(text)}, ` +
          `expected a text of at most ${LIMITS.word} characters`,
      );
    if (RESERVED.includes(name.toLowerCase()))
      fail('bad-option', `${option} may not hold ${show(name)}: the package sets it itself`);
    try {
      headers.append(name, text);
    } catch {
      fail('bad-option', `${option}: ${show(name)} or its value contains characters that no header can have`);
    }
  }
  return [...headers];
}

/**
 * An access token, checked.
 * @param {any} value
 * @param {string} option  its name
 * @returns {string}
 */
export function headerToken(value, option) {
  if (typeof value !== 'string')
    fail('bad-option', `${option} is of type ${typeName(value)}, expected an access token as a text`);
  return value.length <= LIMITS.word && /^[\x21-\x7e]+$/.test(value)
    ? value
    : fail('bad-option', `${option} contains characters that no access token has, or none`);
}
