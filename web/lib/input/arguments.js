// arguments.js - checks the arguments and options of a model's calls: types and sizes (base/values.js reads the values)
import { fail, show } from '../base/errors.js';
import { contextFull, number as inRange } from './options.js';
import {
  LIMITS,
  checkedIds,
  entriesOf,
  flag,
  number,
  checkedOptions,
  jsonCopy,
  readValue,
  signal,
  checkedText,
  word,
} from '../base/values.js';

/** @typedef {import('../base/values.js').OptionCheck} Kind */
/**
 * The limits of one model.
 * @typedef {object} Limits
 * @property {number} context  positions of a sequence
 * @property {number} source   positions of a source
 * @property {number} vocab
 * @property {number} row      numbers in the longest row of any point
 */

/**
 * @param {{contextLength: number, config: import('../index.js').Config}} info
 * @returns {Limits}
 */
export function limitsOf({ contextLength, config: { contextLength: own, vocabSize, dModel, dFf, dHead } }) {
  const source = Math.max(contextLength, own);
  return { context: contextLength, source, vocab: vocabSize, row: Math.max(dModel, dFf, dHead, source) };
}

/**
 * Token ids, each a whole number below `vocab`.
 * @param {any} value
 * @param {string} what  its name in error messages
 * @param {number} vocab
 * @param {(n: number) => never} tooMany  @param {number} most
 * @returns {number[]}
 */
function idList(value, what, vocab, most, tooMany) {
  const list =
    readValue(`the ${what}`, () => entriesOf(value, most, tooMany)) ??
    fail('bad-argument', `the ${what} is ${show(value)}, expected text or a list of token ids`);
  return checkedIds(list, what, vocab);
}

/**
 * Ids that the context does not limit: those to decode, and those that the repetition penalty counts.
 * @param {any} value
 * @param {string} what
 * @param {number} vocab
 */
export function idsOf(value, what, vocab) {
  return idList(value, what, vocab, LIMITS.ids, (n) =>
    fail('bad-argument', `the ${what} has ${n} entries, at most ${LIMITS.ids} are taken`),
  );
}

/** @param {any} entry of a list: a text or a list, as opposed to an id */
const isSequence = (entry) => typeof entry === 'string' || (typeof entry === 'object' && entry !== null);

/**
 * What a model runs on: a text or token ids, or a list of several.
 * @param {any} value
 * @param {string} what
 * @param {Limits} limits
 * @param {boolean} [many]  whether several are taken
 * @returns {string | number[] | (string | number[])[]}
 */
export function inputOf(value, what, limits, many = false) {
  const most = what === 'source' ? limits.source : limits.context;
  let characters = LIMITS.text;
  /**
   * @param {string} text
   * @param {string} name
   */
  const textIn = (text, name) => {
    const room = LIMITS.textPerPosition * most;
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
  const full = (name) => (n) => contextFull(name, n, most);
  if (typeof value === 'string') return textIn(value, what);
  return readValue(`the ${what}`, () => {
    if (!many || !Array.isArray(value)) return idList(value, what, limits.vocab, most, full(what));
    /**
     * @param {number} n
     * @param {any} first
     * @returns {never}
     */
    const tooMany = (n, first) =>
      isSequence(first)
        ? fail('bad-argument', `the ${what} is a list of ${n} sequences, at most ${LIMITS.sequences} are taken`)
        : full(what)(n);
    const list = /** @type {any[]} */ (entriesOf(value, Math.max(most, LIMITS.sequences), (n) => tooMany(n, value[0])));
    if (list.length > (isSequence(list[0]) ? LIMITS.sequences : most)) tooMany(list.length, list[0]);
    if (!isSequence(list[0])) return checkedIds(list, what, limits.vocab);
    return list.map((one, i) =>
      typeof one === 'string'
        ? textIn(one, `${what} ${i}`)
        : idList(one, `${what} ${i}`, limits.vocab, most, full(`${what} ${i}`)),
    );
  });
}

// ---- options

/** @type {Kind} */
const source = (value, name, limits) => (value === null ? undefined : inputOf(value, 'source', limits, true));

/** 0 or 1 for each position, or a list of such. @type {Kind} */
const mask = (value, name, limits) => {
  if (value === null) return undefined;
  /**
   * @param {any} one
   * @param {string} at
   * @returns {any[]}
   */
  const list = (one, at) =>
    entriesOf(one, Math.max(limits.source, LIMITS.sequences), (n) =>
      fail('bad-option', `${at} has ${n} entries, the context holds ${limits.source} positions`),
    ) ?? fail('bad-option', `${at} is ${show(one)}, expected a list of 0 and 1`);
  /**
   * @param {any[]} all
   * @param {string} at
   */
  const bits = (all, at) =>
    Uint8Array.from(all, (x, i) => {
      if (typeof x !== 'number' && typeof x !== 'boolean')
        fail('bad-option', `${at} holds ${show(x)} at place ${i}, expected 0 or 1`);
      return x ? 1 : 0;
    });
  const all = list(value, name);
  if (!all.some((x) => typeof x === 'object' && x !== null)) return bits(all, name);
  return all.map((one, i) =>
    one === undefined || one === null ? undefined : bits(list(one, `${name}[${i}]`), `${name}[${i}]`),
  );
};

/**
 * @param {string} name
 * @param {number} most
 * @returns {(n: number) => never}
 */
const tooMany = (name, most) => (n) => fail('bad-option', `${name} has ${n} entries, at most ${most} are taken`);

/**
 * @param {string} name
 * @param {any} value
 * @param {number} most
 * @param {number} length
 * @returns {string[]}
 */
function texts(name, value, most, length) {
  const list = entriesOf(value, most, tooMany(name, most));
  if (!list || !Array.isArray(value)) return fail('bad-option', `${name} is ${show(value)}, expected a list of texts`);
  list.forEach((text, i) => {
    if (typeof text !== 'string' || text.length > length)
      fail('bad-option', `${name}[${i}] is ${show(text)}, expected a text of at most ${length} characters`);
  });
  return list;
}

/** @type {Kind} */
const capture = (value, name) => texts(name, value, LIMITS.names, LIMITS.word);
/** @type {Kind} */
const stop = (value, name) => {
  if (value === null) return undefined;
  const list =
    typeof value === 'string'
      ? [value]
      : Array.isArray(value)
        ? entriesOf(value, LIMITS.stops, tooMany(name, LIMITS.stops))
        : null;
  const fine = list?.every((text) => typeof text === 'string' && text && text.length <= LIMITS.stopLength);
  return fine
    ? list
    : fail(
        'bad-option',
        `${name} is ${show(value)}, expected a text or a list of texts, none of them empty or longer than ${LIMITS.stopLength} characters`,
      );
};

const EDIT = ['at', 'scale', 'set', 'add', 'head', 'position', 'index'];

/** @type {Kind} */
const edits = (value, name, limits) => {
  const list = entriesOf(value, LIMITS.edits, tooMany(name, LIMITS.edits));
  if (!list || !Array.isArray(value)) return fail('bad-option', `${name} is ${show(value)}, expected a list`);
  let left = LIMITS.editNumbers;
  /**
   * One number, or one for each place of a row.
   * @param {any} given
   * @param {string} where
   */
  const row = (given, where) => {
    if (given === undefined || given === null || typeof given === 'number') return given;
    const most = Math.min(limits.row, left);
    const numbers =
      entriesOf(given, most, (n) =>
        fail(
          'bad-option',
          most < limits.row
            ? `${name}: at most ${LIMITS.editNumbers} numbers are taken`
            : `${where} has ${n} entries, the longest row of this model has ${limits.row}`,
        ),
      ) ?? fail('bad-option', `${where} is ${show(given)}, expected a number, or a list of numbers for one row`);
    left -= numbers.length;
    const bad = numbers.findIndex((x) => typeof x !== 'number');
    return bad < 0
      ? Float32Array.from(numbers)
      : fail('bad-option', `${where} holds ${show(numbers[bad])} at place ${bad}, expected numbers`);
  };
  return list.map((wanted, i) => {
    const where = `${name}[${i}]`;
    return readValue(where, () => {
      if (wanted === null || typeof wanted !== 'object' || Array.isArray(wanted) || ArrayBuffer.isView(wanted))
        fail('bad-option', `${where} is ${show(wanted)}, expected { at, scale | set | add }`);
      const { at, scale, set, add, ...places } = Object.fromEntries(EDIT.map((field) => [field, wanted[field]]));
      const unknown = Object.keys(wanted).find((field) => !EDIT.includes(field));
      if (unknown !== undefined) fail('bad-option', `${where}: there is no field ${show(unknown)}`);
      if (typeof at !== 'string' || at.length > LIMITS.word)
        fail('bad-option', `${where}.at is ${show(at)}, expected the name of a point`);
      if (scale !== undefined && !Number.isFinite(scale))
        fail('bad-option', `${where}.scale is ${show(scale)}, expected a number`);
      for (const [field, place] of Object.entries(places))
        inRange(`${where}.${field}`, place ?? 0, 0, 2 ** 31 - 1, true);
      if ((scale ?? set ?? add ?? null) === null)
        fail('bad-option', `${where} changes nothing: give scale, set or add`);
      return { at, scale, set: row(set, `${where}.set`), add: row(add, `${where}.add`), ...places };
    });
  });
};

/** @type {Kind} */
const token = (value, name) =>
  typeof value === 'string' ? checkedText(value, name, LIMITS.word) : number(value, name, null);
/** @type {Kind} */
const seen = (value, name, limits) => (value === null ? undefined : idsOf(value, `list ${name}`, limits.vocab));
/** @type {Kind} */
const template = (value, name) =>
  value === null ? undefined : jsonCopy(value, name, { values: LIMITS.tokenizer, code: 'bad-option', functions: true });

const reads = { source, sourceMask: mask, signal };
/** Its range is checked here, since it is otherwise read only when something is captured. @type {Kind} */
const captureBudget = (value, name) => (value === null ? undefined : inRange(name, value, 0, Infinity));
const sees = { capture, captureBudget, edits };
const samples = { temperature: number, topK: number, topP: number, minP: number, repetitionPenalty: number };
const generates = {
  ...reads,
  ...sees,
  ...samples,
  maxTokens: number,
  seed: number,
  stop,
  logprobs: number,
  ignoreEos: flag,
  beams: number,
  lengthPenalty: number,
  addSpecialTokens: flag,
};
const asks = { ...reads, addSpecialTokens: flag };

/** The options of every call, and their checks. @type {Record<string, Record<string, Kind>>} */
const CALLS = {
  encode: { addSpecialTokens: flag },
  generate: generates,
  chat: { ...generates, template },
  forward: { ...asks, ...sees, mask },
  embed: { mask, addSpecialTokens: flag, signal },
  distribution: { ...samples, seen },
  logitLens: { ...asks, top: number },
  attribution: { ...asks, token, position: number },
  explain: { ...asks, at: word, position: number, head: number, index: number },
  trace: asks,
  session: { ...reads, ...sees },
  eval: { signal },
};

/**
 * The options of a model's call, and its signal, which is not posted with them.
 * @param {string} call
 * @param {any} options
 * @param {Limits} [limits]
 * @returns {[Record<string, any>, {signal?: AbortSignal}]}
 */
export function callOptions(call, options, limits) {
  const { signal: given, ...rest } = checkedOptions(call, options, CALLS[call], limits);
  return [rest, { signal: given }];
}

/**
 * @param {any} value
 * @returns {Float32Array}
 */
export function logitsOf(value) {
  const list = readValue('logits', () =>
    entriesOf(value, LIMITS.ids, (n) =>
      fail('bad-argument', `logits has ${n} entries, at most ${LIMITS.ids} are taken`),
    ),
  );
  if (!list?.length || !list.every((x) => typeof x === 'number'))
    fail('bad-argument', `logits is ${show(value)}, expected numbers`);
  return Float32Array.from(/** @type {number[]} */ (list));
}

/**
 * @param {any} value
 * @returns {{role: string, content: string}[]}
 */
export function messagesOf(value) {
  return readValue('messages', () => {
    const list = Array.isArray(value) ? jsonCopy(value, 'messages', { values: LIMITS.messages * 8 }) : null;
    if (list?.length > LIMITS.messages)
      fail('bad-argument', `messages has ${list.length} entries, at most ${LIMITS.messages} are taken`);
    if (
      !list?.length ||
      list.some((/** @type {any} */ m) => typeof m?.role !== 'string' || typeof m?.content !== 'string')
    ) {
      fail('bad-argument', `messages is ${show(value)}, expected a list of { role, content }`);
    }
    return list;
  });
}
