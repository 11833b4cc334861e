// call_options.js - checks the types, sizes and ranges of the options of a model's calls
import { fail, show } from '../../base/errors.js';
import { checkedIdList, checkedInput } from './arguments.js';
import { SAMPLER } from '../../engine/config/sampler_fields.js';
import { featureEdit } from './feature_edits.js';
import { count, numberInRange as inRange, within } from '../../run/generation_options.js';
import {
  LIMITS,
  checkedOptions,
  checkedText,
  entriesOf,
  flag,
  isArrayBuffer,
  isUint8Array,
  isWord,
  jsonCopy,
  number,
  oneOf,
  optional,
  signal,
  stableBytes,
  checkThat,
  text,
  tooMany,
  word,
} from '../../base/checks.js';

/** @import { OptionCheck } from '../../base/checks.js' */
/** @import { Limits } from './arguments.js' */

/** The encoder's input. */
const source = optional((value, name, limits) => checkedInput(value, 'source', limits, true));

/**
 * The check of one value for each position, or of a list of such for several inputs.
 * @param {(entry: any, at: string, limits: Limits) => any[]} list  reads one list; `at` is its name, for messages
 * @param {(values: any[], at: string) => any} values  checks and copies its entries
 * @param {boolean} [gaps]  whether an input may have none
 */
const perPosition = (list, values, gaps = false) =>
  optional((value, name, limits) => {
    const entries = list(value, name, limits);
    if (!entries.some((x) => typeof x === 'object' && x !== null)) return values(entries, name);
    return entries.map((entry, i) => {
      const at = `${name}[${i}]`;
      return gaps && (entry ?? null) === null ? undefined : values(list(entry, at, limits), at);
    });
  });
/** A mask, 0 or 1 for each position. */
const mask = perPosition(
  (entry, at, { source: most }) =>
    entriesOf(entry, Math.max(most, LIMITS.sequences), (n) =>
      fail('bad-option', `${at} has ${n} entries, the context holds ${most} positions`),
    ) ?? fail('bad-option', `${at} is ${show(entry)}, expected a list of 0 and 1`),
  (values, at) =>
    Uint8Array.from(values, (x, i) => {
      if (typeof x !== 'number' && typeof x !== 'boolean')
        fail('bad-option', `${at} holds ${show(x)} at index ${i}, expected 0 or 1`);
      if (!(Number(x) >= 0 && Number(x) < Infinity))
        fail(
          'bad-option',
          `${at} holds ${show(x)} at index ${i}, expected 0 or 1: what is added to scores, 0 or -Infinity, ` +
            'is no mask; here 1 is a position that is seen',
        );
      return x ? 1 : 0;
    }),
  true,
);
/** The type of each token. */
const tokenTypes = perPosition(
  (entry, at, { context: most }) =>
    entriesOf(entry, Math.max(most, LIMITS.sequences), tooMany(at, most)) ??
    fail('bad-option', `${at} is ${show(entry)}, expected a list of numbers`),
  (values, at) =>
    values.map((x, i) =>
      Number.isInteger(x) && x >= 0
        ? x
        : fail('bad-option', `${at} holds ${show(x)} at index ${i}, expected a whole number`),
    ),
);

/**
 * A copy of a list of texts, checked.
 * @param {string} name  of the option
 * @param {any} value
 * @param {number} most    texts that are accepted
 * @param {number} length  most characters of each
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

/** @type {OptionCheck} */
const capture = (value, name) => texts(name, value, LIMITS.names, LIMITS.word);
const stop = optional((value, name) => {
  const list = typeof value === 'string' ? [value] : Array.isArray(value) ? entriesOf(value) : null;
  return list?.every((text) => typeof text === 'string' && text)
    ? list
    : fail('bad-option', `${name} is ${show(value)}, expected a text or a list of texts, none of them empty`);
});

const EDIT_FIELDS = ['at', 'scale', 'set', 'add', 'project', 'mean', 'apply', 'head', 'position', 'index'];
const CHANGES = 'scale, set, add, project, mean or apply';

/**
 * The positions of an edit: one, a list, { from, to }, or 'last'. Negative ones count from the end of the input.
 * @param {any} value
 * @param {string} where
 * @param {Limits} limits
 */
function positions(value, where, limits) {
  const whole = (/** @type {any} */ p) => inRange(where, p, -(2 ** 31), 2 ** 31 - 1, true);
  if (value === undefined || value === null || value === 'last') return value === 'last' ? -1 : undefined;
  if (typeof value !== 'object') return whole(value);
  const list = entriesOf(value, limits.source, tooMany(where, limits.source));
  if (list) return list.map(whole);
  const { from = 0, to = null, ...others } = value;
  if ((value.from ?? to) === null || Object.keys(others).length)
    fail('bad-option', `${where} is ${show(value)}, expected a position, a list, last or { from, to }`);
  return { from: whole(from), to: to === null ? null : whole(to) };
}

/**
 * Numbers of an edit, copied.
 * @param {any} values
 * @param {string} where
 * @param {number} [longest]  that are accepted
 */
function numbers(values, where, longest) {
  const read =
    entriesOf(values, longest, (n) =>
      fail('bad-option', `${where} has ${n} entries, the longest row of this model has ${longest}`),
    ) ?? fail('bad-option', `${where} is ${show(values)}, expected a number, or a list of numbers for one row`);
  const bad = read.findIndex((x) => typeof x !== 'number');
  return bad < 0
    ? Float32Array.from(read)
    : fail('bad-option', `${where} holds ${show(read[bad])} at index ${bad}, expected numbers`);
}

/**
 * `set`, `add` or `project` of an edit: one number, one for each index of a row, or a tensor.
 * @param {any} values
 * @param {string} where
 * @param {Limits} limits
 */
function editValues(values, where, limits) {
  if (values === undefined || values === null || typeof values === 'number') return values;
  const { shape, data } = values;
  // What Session.eval returns is a list and a tensor of one axis.
  if (!Array.isArray(shape) || shape.length < 2) return numbers(values, where, limits.row);
  const tensor = { shape: shape.map(Number), data: numbers(data, where) };
  return tensor.shape.reduce((a, b) => a * b, 1) === tensor.data.length
    ? tensor
    : fail('bad-option', `${where} has ${tensor.data.length} numbers, its shape is [${tensor.shape}]`);
}

/** @type {OptionCheck} */
const edits = (value, name, limits) => {
  const list = entriesOf(value, LIMITS.edits, tooMany(name, LIMITS.edits));
  if (!list || !Array.isArray(value)) return fail('bad-option', `${name} is ${show(value)}, expected a list`);
  return list.map((edit, i) => {
    const where = `${name}[${i}]`;
    if (edit === null || typeof edit !== 'object' || Array.isArray(edit) || ArrayBuffer.isView(edit))
      fail('bad-option', `${where} is ${show(edit)}, expected { at, and one of ${CHANGES} }`);
    if (edit.dictionary !== undefined) return featureEdit(edit, where, limits, positions);
    const fields = Object.fromEntries(EDIT_FIELDS.map((field) => [field, edit[field]]));
    const { at, scale, set, add, project, mean, apply, position, ...places } = fields;
    const unknown = Object.keys(edit).find((field) => !EDIT_FIELDS.includes(field));
    if (unknown !== undefined) fail('bad-option', `${where}: there is no field ${show(unknown)}`);
    if (!isWord(at)) fail('bad-option', `${where}.at is ${show(at)}, expected the name of a point`);
    if (scale !== undefined && !Number.isFinite(scale))
      fail('bad-option', `${where}.scale is ${show(scale)}, expected a number`);
    for (const [field, place] of Object.entries(places)) inRange(`${where}.${field}`, place ?? 0, 0, 2 ** 31 - 1, true);
    if ((scale ?? set ?? add ?? project ?? mean ?? apply ?? null) === null)
      fail('bad-option', `${where} changes nothing: give ${CHANGES}`);
    if ((apply ?? null) !== null && typeof apply !== 'function')
      fail('bad-option', `${where}.apply is ${show(apply)}, expected a function`);
    if (apply && !limits.here) fail('bad-option', `${where}.apply needs a model without a worker`);
    const other = Object.keys(fields).find(
      (field) => field !== 'at' && field !== 'apply' && (fields[field] ?? null) !== null,
    );
    if (apply && other)
      fail('bad-option', `${where}.${other} is given with apply, which is an edit of all values of a point by itself`);
    return {
      at,
      scale,
      set: editValues(set, `${where}.set`, limits),
      add: editValues(add, `${where}.add`, limits),
      project: editValues(project, `${where}.project`, limits),
      mean: (mean ?? null) === null ? undefined : checkedInput(mean, `text of ${where}.mean`, limits),
      ...(apply && { apply }),
      position: positions(position, `${where}.position`, limits),
      ...places,
    };
  });
};
/**
 * The edits of one input, or a list of such for each of several.
 * @type {OptionCheck}
 */
const editsOfEach = (value, name, limits) => {
  const list = Array.isArray(value) ? entriesOf(value, LIMITS.edits, tooMany(name, LIMITS.edits)) : null;
  return list && Array.isArray(list[0])
    ? list.map((own, i) => edits(own, `${name}[${i}]`, limits))
    : edits(list ?? value, name, limits);
};

const POOLINGS = oneOf('mean', 'mean_sqrt_len', 'weightedmean', 'max', 'cls', 'last', 'pooler');
/** One kind of pooling, or several. @type {OptionCheck} */
const poolingKinds = (value, name, limits) =>
  Array.isArray(value) && value.length && value.length <= LIMITS.names
    ? value.map((kind, i) => POOLINGS(kind, `${name}[${i}]`, limits))
    : POOLINGS(value, name, limits);

/** The positions whose logits are returned. */
const logitRows = optional((value, name, limits) =>
  ['all', 'last', 'none'].includes(value)
    ? value
    : (entriesOf(value, limits.context, tooMany(name, limits.context))?.map((p) =>
        inRange(`a position in ${name}`, p, -limits.context, limits.context - 1, true),
      ) ?? fail('bad-option', `${name} is ${show(value)}, expected all, last, none or a list of positions`)),
);

/** @type {OptionCheck} */
const token = (value, name) =>
  typeof value === 'string' ? checkedText(value, name, LIMITS.word) : number(value, name, null);
const seen = optional((value, name, limits) => checkedIdList(value, `list ${name}`, limits.vocab));
const template = optional((value, name) => jsonCopy(value, name, { code: 'bad-option', functions: true }));

/** What Session.save returned, copied. */
const state = optional(
  (value, name, limits) =>
    new Uint8Array(
      stableBytes(checkThat('a Uint8Array', (v) => isUint8Array(v) || isArrayBuffer(v))(value, name, limits)),
    ),
);

/** What is added to the logits of tokens, by id: an object or a Map, as a list of pairs. */
const logitBias = optional((value, name, limits) => {
  if (typeof value !== 'object' || Array.isArray(value) || ArrayBuffer.isView(value))
    fail('bad-option', `${name} is ${show(value)}, expected an object of numbers by token id`);
  return (value instanceof Map ? [...value] : Object.entries(value)).map(([key, bias]) => {
    const id = typeof key === 'string' && /^\d+$/.test(key) ? Number(key) : key;
    if (!Number.isInteger(id) || id < 0 || id >= limits.vocab)
      fail('bad-option', `${name} has the key ${show(key)}, token ids are whole numbers from 0 to ${limits.vocab - 1}`);
    if (bias !== -Infinity) inRange(`${name} of token ${id}`, bias, -100, 100);
    return [id, bias];
  });
});
const jsonOption = optional((value, name) => jsonCopy(value, name, { code: 'bad-option' }));
/**
 * A JSON schema; whether its keywords are supported is checked where it is compiled (text/constrain/schema_grammar.js).
 * A schema of another library is converted by its own code (Standard JSON Schema, standardschema.dev).
 */
const schema = optional((value, name, limits) => {
  const own = value['~standard'];
  if (own && !own.jsonSchema)
    fail(
      'bad-option',
      `${name} is a schema of ${show(own.vendor)} that cannot convert itself to JSON Schema: ` +
        'use zod 4.2 or later, toStandardJsonSchema of @valibot/to-json-schema, or a JSON schema',
    );
  return jsonOption(
    checkThat(
      'a JSON schema, which is an object, or true for any value',
      (v) => v === true || (typeof v === 'object' && !Array.isArray(v)),
    )(own ? own.jsonSchema.input({ target: 'draft-2020-12' }) : value, name, limits),
    name,
    limits,
  );
});

/** The second text of a pair, or one for each of several inputs. */
const pair = optional((value, name, limits) =>
  typeof value === 'string'
    ? checkedText(value, name, LIMITS.textPerPosition * limits.context)
    : texts(name, value, LIMITS.sequences, LIMITS.textPerPosition * limits.context),
);

const SOURCE_OPTIONS = { source, sourceMask: mask, signal };
/** The range is checked here, because the option is used only when something is captured. */
const captureBudget = optional(within(0, Infinity));
const CAPTURE_OPTIONS = { capture, captureBudget, edits };
/**
 * The check of an option of the sampler.
 * @param {import('../../engine/config/sampler_fields.js').SamplerField} field
 * @returns {OptionCheck}
 */
const sampling =
  ({ least, aboveLeast, most, whole, off }) =>
  (value, name) => {
    inRange(name, value, least, most, whole);
    return aboveLeast && Math.fround(value) <= least
      ? fail('bad-option', `${name} is ${value}, expected a number above ${least} (${off}: off)`)
      : value;
  };
/**
 * The options of gf_session_sample: their ranges are checked here and nowhere else.
 * @type {Record<string, OptionCheck>}
 */
const SAMPLING_OPTIONS = {
  ...Object.fromEntries(SAMPLER.map((field) => [field.name, sampling(field)])),
  temperature: (value, name) =>
    typeof value === 'number' && value < 0
      ? fail('bad-option', `${name} is ${show(value)}, expected 0 to 1000000; 0 always takes the most likely token`)
      : inRange(name, value, 0, 1e6),
};
const PENALTIES = { presencePenalty: within(-100, 100), frequencyPenalty: within(-100, 100), logitBias };
/**
 * Options of a generation in a session, which has its source, captures and edits already.
 * @type {Record<string, OptionCheck>}
 */
const SESSION_GENERATION_OPTIONS = {
  ...SAMPLING_OPTIONS,
  ...PENALTIES,
  json: schema,
  whitespace: optional(oneOf('compact', 'any')),
  strictSchema: flag,
  grammar: optional(text),
  maxTokens: (value, name, limits) => (value === Infinity ? value : count(value, name, limits)),
  minTokens: count,
  seed: count,
  stop,
  logprobs: (value, name, limits) => inRange(name, value, 0, limits.vocab, true),
  ignoreEos: flag,
  addSpecialTokens: flag,
  signal,
};
const GENERATION_OPTIONS = {
  ...SOURCE_OPTIONS,
  ...CAPTURE_OPTIONS,
  ...SESSION_GENERATION_OPTIONS,
  beams: within(1, 64, true),
  lengthPenalty: within(0, 100),
};
/**
 * A session, or null. Model.chat checks that it is one of its own.
 * @type {OptionCheck}
 */
const session = (value) => value ?? undefined;
/** How a conversation is written; text/tool_calls.js checks the tools. */
const WRITING_OPTIONS = {
  template,
  tools: jsonOption,
  toolChoice: jsonOption,
  parallelToolCalls: flag,
  continue: flag,
};
const PASS_OPTIONS = { ...SOURCE_OPTIONS, addSpecialTokens: flag };
const FINITE = { allowNonFinite: flag };
const TYPE_OPTIONS = { pair, tokenTypes };

/**
 * The options of every call, and their checks.
 * @type {Record<string, Record<string, OptionCheck>>}
 */
const CALLS = {
  encode: { addSpecialTokens: flag },
  tokens: { addSpecialTokens: flag, alone: flag },
  generate: GENERATION_OPTIONS,
  chat: { ...GENERATION_OPTIONS, ...WRITING_OPTIONS, session },
  prompt: WRITING_OPTIONS,
  forward: {
    ...PASS_OPTIONS,
    ...TYPE_OPTIONS,
    ...CAPTURE_OPTIONS,
    ...FINITE,
    edits: editsOfEach,
    mask,
    logits: logitRows,
  },
  loss: { ...PASS_OPTIONS, ...FINITE, edits, perToken: flag },
  embed: {
    ...TYPE_OPTIONS,
    mask,
    addSpecialTokens: flag,
    pooling: optional(poolingKinds),
    prompt: optional((value, name) => checkedText(value, name, LIMITS.word)),
    normalize: flag,
    truncate: flag,
    signal,
  },
  classify: {
    ...TYPE_OPTIONS,
    mask,
    addSpecialTokens: flag,
    edits,
    truncate: flag,
    activation: optional(oneOf('softmax', 'sigmoid', 'none')),
    signal,
  },
  distribution: { ...SAMPLING_OPTIONS, ...PENALTIES, seen, generated: seen },
  logitLens: { ...PASS_OPTIONS, ...TYPE_OPTIONS, edits, top: number, position: number },
  attribution: { ...PASS_OPTIONS, ...TYPE_OPTIONS, edits, token, position: number },
  explain: {
    ...PASS_OPTIONS,
    ...TYPE_OPTIONS,
    ...FINITE,
    edits,
    at: word,
    position: number,
    head: number,
    index: number,
  },
  trace: { ...PASS_OPTIONS, ...TYPE_OPTIONS },
  session: { ...SOURCE_OPTIONS, ...CAPTURE_OPTIONS, ...FINITE, state },
  eval: { signal },
  'session.generate': SESSION_GENERATION_OPTIONS,
};

/**
 * The options of a model's call, checked and copied. The signal is returned separately, because it cannot be posted.
 * @param {string} call  its name
 * @param {any} options
 * @param {Limits} [limits]
 * @param {Record<string, Record<string, OptionCheck>>} [calls]  the options of every call
 * @returns {[Record<string, any>, {signal?: AbortSignal}]}
 */
export function callOptions(call, options, limits, calls = CALLS) {
  const { signal: callerSignal, ...rest } = checkedOptions(call, options, calls[call], limits);
  return [rest, { signal: callerSignal }];
}

/** What the checks of analysis/ use of this file. */
export const CHECKS = { callOptions, checkedInput, edits, token, inRange, PASS_OPTIONS };
