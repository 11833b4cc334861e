// arguments.js - checks the types and sizes of the arguments of a model's calls; call_options.js has their options
import { fail, show } from '../../base/errors.js';
import { failContextFull, isSequence } from '../../run/generation_options.js';
import { LIMITS, checkedIds, entriesOf, readValue } from '../../base/checks.js';

/**
 * The limits of one model.
 * @typedef {object} Limits
 * @property {number} context  positions of a sequence
 * @property {number} source   positions of a source
 * @property {number} vocab    vocab_size
 * @property {number} row      numbers in the longest row of any point
 * @property {boolean} here    whether it runs in this thread, so that options can be functions
 */

/**
 * The limits of a model.
 * @param {{contextLength: number, config: import('../index.js').Config}} info
 * @param {boolean} here
 * @returns {Limits}
 */
export function limitsOf({ contextLength, config: { contextLength: own, vocabSize, dModel, dFf, dHead } }, here) {
  const source = Math.max(contextLength, own);
  return { context: contextLength, source, vocab: vocabSize, row: Math.max(dModel, dFf, dHead, source), here };
}

/**
 * A copy of a list of token ids, checked.
 * @param {any} value
 * @param {string} what  name of the value, for messages
 * @param {number} vocab  vocab_size
 * @param {number} most  ids that are accepted
 * @param {(n: number) => never} tooMany  throws the error for more
 * @returns {number[]}
 */
function idList(value, what, vocab, most, tooMany) {
  const list =
    readValue(`the ${what}`, () => entriesOf(value, most, tooMany)) ??
    fail('bad-argument', `the ${what} is ${show(value)}, expected text or a list of token ids`);
  return checkedIds(list, what, vocab);
}

/**
 * Token ids whose number the context does not limit: those to decode, and those that the repetition penalty applies to.
 * @param {any} value
 * @param {string} what  name of the value, for messages
 * @param {number} vocab  vocab_size
 */
export function checkedIdList(value, what, vocab) {
  return idList(value, what, vocab, LIMITS.ids, (n) =>
    fail('bad-argument', `the ${what} has ${n} entries, at most ${LIMITS.ids} are taken`),
  );
}

/**
 * The input of a pass: a text or token ids, or a list of several such sequences. Copied and checked.
 * @param {any} value
 * @param {string} what  name of the value, for messages
 * @param {Limits} limits
 * @param {boolean} [many]  whether several sequences are accepted
 * @param {boolean} [cut]  whether what no context can hold is cut off a text instead of being refused
 * @returns {string | number[] | (string | number[])[]}
 */
export function checkedInput(value, what, limits, many = false, cut = false) {
  const most = what === 'source' ? limits.source : limits.context;
  let characters = LIMITS.text;
  /**
   * @param {string} text
   * @param {string} name
   */
  const limitedText = (text, name) => {
    const room = LIMITS.textPerPosition * most;
    if (cut) text = text.slice(0, room);
    if (text.length > room)
      fail(
        'context-full',
        `the ${name} has ${text.length} characters, a context of ${most} positions holds at most ${room}`,
      );
    if ((characters -= text.length) < 0)
      fail(
        'bad-argument',
        `the ${name} is too long: all texts of a call together have at most ${LIMITS.text} characters`,
      );
    return text;
  };
  /**
   * @param {string} name
   * @returns {(n: number) => never}
   */
  const tooManyTokens = (name) => (n) => failContextFull(name, n, most);
  if (typeof value === 'string') return limitedText(value, what);
  return readValue(`the ${what}`, () => {
    if (!many || !Array.isArray(value)) return idList(value, what, limits.vocab, most, tooManyTokens(what));
    /**
     * @param {number} n
     * @param {any} first
     * @returns {never}
     */
    const tooMany = (n, first) =>
      isSequence(first)
        ? fail('bad-argument', `the ${what} is a list of ${n} sequences, at most ${LIMITS.sequences} are taken`)
        : tooManyTokens(what)(n);
    const list = /** @type {any[]} */ (entriesOf(value, Math.max(most, LIMITS.sequences), (n) => tooMany(n, value[0])));
    if (list.length > (isSequence(list[0]) ? LIMITS.sequences : most)) tooMany(list.length, list[0]);
    if (!isSequence(list[0])) return checkedIds(list, what, limits.vocab);
    return list.map((sequence, i) =>
      typeof sequence === 'string'
        ? limitedText(sequence, `${what} ${i}`)
        : idList(sequence, `${what} ${i}`, limits.vocab, most, tooManyTokens(`${what} ${i}`)),
    );
  });
}

/**
 * Logits of the caller's, copied and checked.
 * @param {any} value
 * @param {number} vocab  vocab_size
 * @returns {Float32Array} [vocab_size]
 */
export function checkedLogits(value, vocab) {
  const wrongLength = (/** @type {number} */ n) =>
    fail('bad-argument', `logits has ${n} entries, expected one for each of the ${vocab} tokens`);
  const list = readValue('logits', () => entriesOf(value, vocab, wrongLength));
  if (!list?.every((x) => typeof x === 'number')) fail('bad-argument', `logits is ${show(value)}, expected numbers`);
  if (list?.length !== vocab) wrongLength(list?.length ?? 0);
  return Float32Array.from(/** @type {number[]} */ (list));
}
