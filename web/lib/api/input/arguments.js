// arguments.js - checks the types and sizes of the arguments of a model's calls; call_options.js has their options
import { fail, show } from '../../base/errors.js';
import { failContextFull, isSequenceList } from '../../run/generation_options.js';
import { LIMITS, checkedIds, entriesOf } from '../../base/checks.js';

/**
 * The limits of one model.
 * @typedef {object} Limits
 * @property {number} context  positions of a sequence
 * @property {number} source   positions of a source
 * @property {number} vocab    vocab_size
 * @property {number} sourceVocab  tokens that a source may hold
 * @property {number} row      numbers in the longest row of any point
 * @property {(dictionary: any) => number} attach  gives the model a dictionary, and returns its number
 * @property {boolean} here    whether it runs in this thread, so that options can be functions
 */

/**
 * The limits of a model.
 * @param {{contextLength: number, config: import('../index.js').Config}} info
 * @param {boolean} here
 * @param {Limits['attach']} attach
 * @returns {Limits}
 */
export function limitsOf({ contextLength, config }, here, attach) {
  const { contextLength: own, vocabSize: vocab, encoderVocabSize, dModel, dFf, dEncoderFf, dHead } = config;
  const source = Math.max(contextLength, own);
  const row = Math.max(dModel, dFf, dEncoderFf, dHead, source);
  return { context: contextLength, source, vocab, sourceVocab: encoderVocabSize || vocab, row, here, attach };
}

/**
 * A copy of a list of token ids, checked.
 * @param {any} value
 * @param {string} what  name of the value, for messages
 * @param {number} vocab  vocab_size
 * @param {number} [most]  ids that the context holds
 * @returns {number[]}
 */
export function checkedIdList(value, what, vocab, most) {
  const list =
    entriesOf(value, most, (n) => failContextFull(what, n, /** @type {number} */ (most))) ??
    fail('bad-argument', `the ${what} is ${show(value)}, expected text or a list of token ids`);
  return checkedIds(list, what, vocab);
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
  const room = LIMITS.textPerPosition * most;
  /**
   * @param {any} sequence
   * @param {string} name
   */
  const one = (sequence, name) => {
    const vocab = what === 'source' ? limits.sourceVocab : limits.vocab;
    if (typeof sequence !== 'string') return checkedIdList(sequence, name, vocab, most);
    return cut || sequence.length <= room
      ? sequence.slice(0, room)
      : fail(
          'context-full',
          `the ${name} has ${sequence.length} characters, a context of ${most} positions holds at most ${room}`,
        );
  };
  if (!many || !isSequenceList(value)) return one(value, what);
  if (value.length > LIMITS.sequences)
    fail('bad-argument', `the ${what} is a list of ${value.length} sequences, at most ${LIMITS.sequences} are taken`);
  return Array.from(value, (sequence, i) => one(sequence, `${what} ${i}`));
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
  const list = entriesOf(value, vocab, wrongLength);
  if (!list?.every((x) => typeof x === 'number')) fail('bad-argument', `logits is ${show(value)}, expected numbers`);
  if (list?.length !== vocab) wrongLength(list?.length ?? 0);
  return Float32Array.from(/** @type {number[]} */ (list));
}
