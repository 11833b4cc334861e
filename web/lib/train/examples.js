// examples.js - sequences of token ids to train on: checks them, and makes the packed batches of the trainer
import { fail, messageOf, show } from '../base/errors.js';
import { checkedIds, entriesOf } from '../base/checks.js';
import { MASK, maskedOf, randomOf } from './masked_tokens.js';

/** @import { Ids } from '../api/index.js' */
/**
 * A sequence to learn from.
 * @typedef {object} TrainExample
 * @property {Ids} ids        at most as many as the context, whose default is one more than the longest example has
 * @property {Ids} [targets]  for each position the token that is right there, -1: no part of the loss; default: the
 *   token that follows, and -1 at the last position; of an encoder: hidden tokens, other ones in each epoch, where its
 *   vocabulary has the word [MASK]
 * @property {Ids} [source]   encoder-decoders: what the encoder reads
 */
/** @typedef {readonly (Ids | TrainExample)[]} ExampleList  ids alone: each token after the first is predicted */
/**
 * Data that is no text.
 * @typedef {object} ExampleSet
 * @property {ExampleList | ((step: number) => ExampleList)} examples  all of them, which each epoch has in another
 *   order; or a function that gives those of a step, counted from 1, the same whenever it is called
 * @property {readonly string[]} [vocabulary]  the text of each id; default: the ids as numbers; the
 *   configuration must then give vocab_size
 */
/**
 * An example, checked.
 * @typedef {{ids: number[], targets: number[] | null, source: number[]}} Checked  targets null: to be masked
 */
/**
 * A packed batch: for each sequence n, n_source, n ids, n targets, the ids of the source.
 * @typedef {{packed: Int32Array, n: number}} Batch  n: sequences
 */

/** Rows of one pass of the trainer; a larger batch takes several. */
const PASS_ROWS = 4096;

/** The vocabulary as a tokenizer.json: each text is a token of its own, between spaces. @param {string[]} words */
const tokenizerOf = (words) =>
  JSON.stringify({
    added_tokens: words.map((content, id) => ({ id, content, lstrip: true, special: false })),
    model: { type: 'BPE', vocab: Object.fromEntries(words.map((word, id) => [word, id])), merges: [] },
  });

/** How masked_tokens.js hides tokens. @typedef {{mask: number, vocab: number, least: number}} Mask */

/** Rows that an example takes in a batch. @param {Checked} example */
const rowsOf = ({ ids, source }) => Math.max(ids.length, source.length);

/** @param {unknown} value @param {string} what  for messages @param {number} vocab @returns {number[]} */
function idsOf(value, what, vocab) {
  const list = entriesOf(value) ?? fail('bad-argument', `${what} is ${show(value)}, expected a list of ids`);
  return checkedIds(list, what, vocab);
}

/** Tokens of an example that is not checked yet. @param {any} example */
const lengthOf = (example) =>
  Math.max(Number((example?.ids ?? example)?.length) || 0, Number(example?.source?.length) || 0);

/** @param {unknown} value @param {string} what @param {number} vocab @returns {number[]} */
function targetsOf(value, what, vocab) {
  const list = entriesOf(value);
  const wrong = list?.find((t) => !(Number.isInteger(t) && t >= -1 && t < vocab));
  if (!list || wrong !== undefined)
    fail('bad-argument', `the ${what} hold ${show(wrong)}, expected ids from 0 to ${vocab - 1}, or -1 for none`);
  return list;
}

/**
 * @param {any} example
 * @param {string} what  for messages
 * @param {import('../engine/config/config.js').Config} config
 * @param {boolean} masks  examples without targets are masked
 * @returns {Checked}
 */
function checkedExample(example, what, config, masks) {
  const { vocab_size: vocab, context_length: most, kind } = config;
  const { ids: given = example, targets, source } = example ?? {};
  const ids = idsOf(given, what, vocab);
  if (kind === 'encoder' && targets === undefined && !masks)
    fail('bad-argument', `${what} has no targets, and the vocabulary has no word ${MASK} to hide tokens with`);
  const next = targets === undefined ? [...ids.slice(1), -1] : targetsOf(targets, `targets of ${what}`, vocab);
  if (next.length !== ids.length)
    fail('bad-argument', `${what} has ${ids.length} ids and ${next.length} targets, expected as many`);
  const isMasked = masks && targets === undefined;
  if (!isMasked && !next.some((t) => t >= 0))
    fail('bad-argument', `${what} has no target: nothing can be learnt from it`);
  if ((kind === 'encoder_decoder') !== (source !== undefined))
    fail('bad-argument', `${what} has ${source ? 'a' : 'no'} source, and the model is of kind ${kind}`);
  const read = source === undefined ? [] : idsOf(source, `source of ${what}`, vocab);
  const checked = { ids, targets: isMasked ? null : next, source: read };
  const rows = rowsOf(checked);
  if (rows > most) fail('context-full', `${what} has ${rows} tokens, the context holds ${most}`);
  return checked;
}

/**
 * @param {any} value
 * @param {string} what  for messages
 * @param {import('../engine/config/config.js').Config} config
 * @param {boolean} masks
 */
function checkedList(value, what, config, masks) {
  const list = entriesOf(value);
  if (!list?.length) fail('bad-argument', `${what}: ${show(value)}, expected a list of at least one example`);
  return list.map((example, i) => checkedExample(example, `example ${i} of ${what}`, config, masks));
}

/**
 * @param {Checked[]} list
 * @param {Mask} [mask]   of examples without targets
 * @param {number} [seed]  that decides what is hidden
 * @returns {Batch}
 */
export function pack(list, mask, seed = 0) {
  const random = randomOf(seed);
  const all = list.flatMap(({ ids: given, targets: found, source }) => {
    const { ids, targets } = found
      ? { ids: given, targets: found }
      : maskedOf(given, /** @type {Mask} */ (mask), random);
    return [ids.length, source.length, ...ids, ...targets, ...source];
  });
  return { packed: Int32Array.from(all), n: list.length };
}

/**
 * Consecutive examples, as many in each batch as have room.
 * @param {Checked[]} list
 * @param {number} rows
 * @param {Mask} mask  the same tokens are hidden each time
 */
function packAll(list, rows, mask) {
  const groups = [/** @type {Checked[]} */ ([])];
  let used = 0;
  for (const example of list) {
    used += rowsOf(example);
    if (used > rows) {
      groups.push([]);
      used = rowsOf(example);
    }
    groups[groups.length - 1].push(example);
  }
  return groups.map((group, i) => pack(group, mask, i));
}

/**
 * The numbers 0 .. n - 1 in an order that depends on the seed (Fisher-Yates).
 * @param {number} n
 * @param {number} seed
 */
function shuffled(n, seed) {
  const order = Array.from({ length: n }, (_, i) => i);
  const random = randomOf(seed);
  for (let i = n - 1; i > 0; i--) {
    const j = random() % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/**
 * The examples of each step, counted from 1: all of them where they fit, otherwise the next ones of an epoch.
 * @param {Checked[]} list
 * @param {number} size  examples of a step
 * @param {number} seed
 * @param {(list: Checked[], step: number) => Batch} packed
 * @returns {(step: number) => Batch}
 */
function inEpochs(list, size, seed, packed) {
  const isFixed = list.every((example) => example.targets);
  const all = size >= list.length && isFixed ? packed(list, 0) : null;
  let order = shuffled(list.length, seed),
    epoch = 0;
  return (step) =>
    all ??
    packed(
      Array.from({ length: size }, (_, i) => {
        const at = (step - 1) * size + i,
          now = Math.floor(at / list.length);
        if (now !== epoch) order = shuffled(list.length, seed + now);
        epoch = now;
        return list[order[at % list.length]];
      }),
      step,
    );
}

/** The largest of numbers from 1 up, which may be more than a call has arguments. @param {number[]} list */
const largest = (list) => list.reduce((most, x) => Math.max(most, x), 1);

/**
 * What the caller's function returns for a step.
 * @param {Function} examples
 * @param {number} step
 * @param {string} what  for the message
 */
function givenBy(examples, step, what) {
  try {
    return examples(step);
  } catch (error) {
    return fail('bad-argument', `${what} cannot be read: ${messageOf(error)}`, error);
  }
}

/**
 * What a run on examples needs: the completed configuration, the trainer's sizes, and the batch of each step.
 * @param {ExampleSet} data
 * @param {Record<string, number>} options  by their names in C
 * @param {any} validation  the option
 * @param {(sizes: {vocab_size?: number, context_length: number}) => import('../engine/config/config.js').Config}
 *   configOf
 * @param {Mask | null} [given]  of a text
 */
export function planOf(data, options, validation, configOf, given = null) {
  const { seed, batch_tokens: batchTokens, micro_tokens: micro } = options;
  const { examples, vocabulary } = data;
  const words = vocabulary === undefined ? undefined : entriesOf(vocabulary);
  const areTexts = words?.every((word) => typeof word === 'string' && word) && new Set(words).size === words.length;
  if (words !== undefined && !areTexts) fail('bad-argument', 'the vocabulary is no list of different texts');
  const isStream = typeof examples === 'function';
  const longest = isStream ? 127 : largest((entriesOf(examples) ?? []).map(lengthOf));
  const config = configOf({ vocab_size: words?.length, context_length: longest + 1 });
  const texts = words ?? Array.from({ length: config.vocab_size }, (_, id) => String(id));
  if (texts.length !== config.vocab_size)
    fail('bad-config', `vocab_size is ${config.vocab_size}, the vocabulary has ${texts.length} texts`);
  const mask = given ?? { mask: texts.indexOf(MASK), vocab: texts.length, least: 0 },
    masks = config.kind === 'encoder' && mask.mask >= 0;
  const packed = (/** @type {Checked[]} */ list, /** @type {number} */ step) =>
    pack(list, mask, (seed + Math.imul(step, 0x85ebca6b)) | 0);
  if (isStream && typeof validation === 'number')
    fail('bad-option', `validation is ${validation}: of what a function gives no share is held out, give a list`);
  const split = isStream
    ? { all: [], held: [] }
    : splitOf(checkedList(examples, 'the examples', config, masks), validation, seed);
  if (validation !== null && typeof validation !== 'number')
    split.held = checkedList(validation, 'validation', config, masks);
  const most = isStream ? config.context_length : largest(split.all.map(rowsOf));
  const total = split.all.reduce((sum, example) => sum + rowsOf(example), 0);
  const rows = isStream ? batchTokens : Math.min(batchTokens, total);
  if (rows < most) fail('bad-option', `batchTokens is ${batchTokens}, less than one example of ${most} tokens`);
  const passes = Math.max(2, Math.ceil(rows / Math.min(micro, PASS_ROWS))),
    passRows = Math.max(Math.ceil(rows / passes) + most - 1, config.context_length);
  const streamed = (/** @type {number} */ step) => {
    const what = `the examples of step ${step}`,
      list = checkedList(givenBy(/** @type {Function} */ (examples), step, what), what, config, masks);
    const n = list.reduce((sum, example) => sum + rowsOf(example), 0);
    if (n > batchTokens) fail('bad-argument', `${what} have ${n} tokens, more than batchTokens, ${batchTokens}`);
    return packed(list, step);
  };
  const size = total <= rows ? split.all.length : Math.floor(rows / most);
  return {
    config,
    text: null,
    options: { batch_tokens: passes * passRows, micro_tokens: passRows },
    tokenizer: tokenizerOf(texts),
    held: split.held.length ? packAll(split.held, rows, mask) : null,
    batchOf: isStream ? streamed : inEpochs(split.all, size, seed, packed),
  };
}

/**
 * Hold out a share of the examples, chosen by the seed.
 * @param {Checked[]} list
 * @param {unknown} share
 * @param {number} seed
 */
function splitOf(list, share, seed) {
  if (typeof share !== 'number') return { all: list, held: /** @type {Checked[]} */ ([]) };
  const n = Math.max(1, Math.round(list.length * share));
  if (n >= list.length) fail('bad-option', `validation is ${share}: of ${list.length} examples none would be left`);
  const order = shuffled(list.length, ~seed).map((i) => list[i]);
  return { all: order.slice(n), held: order.slice(0, n) };
}
