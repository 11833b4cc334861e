// train_options.js - checks the arguments of train, and makes of them the message that starts a run
import { within } from '../run/generation_options.js';
import { planOf } from './examples.js';
import { sequencesOf, withMask } from './masked_tokens.js';
import { loraOption, ofLora } from './lora_options.js';
import { TRAIN_FIELDS } from './train_fields.js';
import { completeConfig } from '../engine/config/config.js';
import { fail, messageOf, show } from '../base/errors.js';
import {
  LIMITS,
  unchecked,
  fileOrObject,
  flag,
  isBytes,
  isWord,
  jsonCopy,
  oneOf,
  optional,
  resolvedFile,
  signal,
  stableBytes,
  checkThat,
  checkedText,
} from '../base/checks.js';
import { presetConfig } from '../engine/config/presets.js';
import { openTokenizer } from '../files/source.js';
import { Tokenizer } from '../text/tokenizer.js';

/** @import { OptionCheck } from '../base/checks.js' */
/** @import { Order } from './training_worker.js' */
/** @import { Batch, ExampleSet } from './examples.js' */
/** @import { Lora } from './lora_options.js' */
/** @import { Config } from '../engine/config/config.js' */
/** @import { Model } from '../api/model.js' */
/** @typedef {string | Uint8Array | ArrayBuffer | Blob} Text */
/**
 * A model whose predictions become a share of every target.
 * @typedef {{model: Model, config: Config, share: number}} Teacher
 */

/** Default sizes of a model, which a page trains in minutes. */
const DEFAULT_SIZES = { vocab_size: 512, context_length: 128 };
/** The separator between stories; id 0 of every vocabulary. */
const SEPARATOR = '<|endoftext|>';

const workerFile = checkThat(
  'the address of a worker file or a function that starts one',
  (value) => typeof value === 'function' || value instanceof URL || isWord(value),
);
/** @type {OptionCheck} */
const vocabulary = (value, name) => {
  if (value instanceof Tokenizer) return value;
  return isBytes(value) || typeof value === 'object'
    ? fileOrObject(value, name)
    : fail('bad-option', `${name} is ${show(value)}, expected a Tokenizer, a file or an object`);
};
const bytes = checkThat('bytes from run.checkpoint()', (value) => value instanceof Uint8Array);
const heldOut = checkThat(
  'held-out data or a share between 0 and 1',
  (value) =>
    (typeof value === 'number' && value > 0 && value < 1) ||
    Array.isArray(value) ||
    (isBytes(value) && !(value instanceof URL)),
);
/**
 * @param {import('./train_fields.js').TrainField} field
 * @returns {OptionCheck}
 */
function checkOf(field) {
  if (field.type === 'word') return optional(oneOf(...field.words));
  return field.type === 'flag' ? flag : optional(within(field.least, field.most, field.type === 'whole'));
}
/** The options of train. @type {Record<string, OptionCheck>} */
export const TRAIN_OPTIONS = {
  ...Object.fromEntries(TRAIN_FIELDS.map((field) => [field.name, checkOf(field)])),
  worker: (value, name, limits) => resolvedFile(workerFile(value, name, limits), name),
  threads: within(1, 64, true),
  vocabSize: within(257, 8192, true), // at least the 256 bytes and the separator; pairs are counted in a square table
  tokenizer: optional(vocabulary),
  validation: optional(heldOut),
  checkpoint: optional((value, name, limits) => stableBytes(bytes(value, name, limits))),
  signal,
  lora: loraOption,
  teacher: unchecked,
};

/**
 * A caller's configuration or preset name as a complete configuration, with the sizes of the data.
 * @param {object | string} config
 * @param {{vocab_size?: number, context_length: number}} sizes  context_length: where the configuration has none
 * @param {boolean} [learnt]  vocab_size replaces the configuration's; default true
 * @returns {import('../engine/config/config.js').Config}
 */
export function configOf(config, sizes, learnt = true) {
  const input =
    typeof config === 'string'
      ? presetConfig(checkedText(config, 'the preset', LIMITS.word))
      : jsonCopy(config, 'the configuration', { code: 'bad-config', functions: true });
  if (input === null || typeof input !== 'object')
    fail('bad-argument', `expected a configuration, found ${show(config)}`);
  const { vocabSize, vocab_size: given = vocabSize, ...fields } = /** @type {Record<string, any>} */ (input);
  const vocab_size = learnt ? sizes.vocab_size : (given ?? sizes.vocab_size);
  const context = fields.context_length ?? fields.contextLength ?? sizes.context_length;
  delete fields.contextLength;
  return completeConfig({ ...fields, vocab_size, context_length: context });
}

/**
 * The bytes of a text to train on, checked.
 * @param {unknown} text
 * @param {string} what  name of the argument, for messages
 * @returns {Promise<Uint8Array>}
 */
async function bytesOf(text, what) {
  const size =
    typeof text === 'string'
      ? text.length
      : text instanceof Blob
        ? text.size
        : text instanceof ArrayBuffer || text instanceof Uint8Array
          ? text.byteLength
          : fail('bad-argument', `${what} is ${show(text)}, expected a text, its bytes or a Blob`);
  if (size > LIMITS.trainingText) {
    const unit = typeof text === 'string' ? 'characters' : 'bytes';
    fail('bad-argument', `${what} has ${size} ${unit}, at most ${LIMITS.trainingText} are taken`);
  }
  if (typeof text === 'string') return new TextEncoder().encode(text);
  if (text instanceof Blob)
    return new Uint8Array(
      await text.arrayBuffer().catch((error) => fail('bad-file', `${what} cannot be read: ${messageOf(error)}`, error)),
    );
  return stableBytes(/** @type {Uint8Array | ArrayBuffer} */ (text));
}

/**
 * The stories of a text, without the spaces around them.
 * @param {unknown} text
 * @param {string} what  name of the argument, for messages
 */
async function storiesOf(text, what) {
  const stories = new TextDecoder().decode(await bytesOf(text, what)).split(SEPARATOR);
  return stories.map((story) => story.trim()).filter(Boolean);
}

/**
 * Divides a text into one to train on and the last share of it, which is held out. The held-out part begins at a story
 * (or at a line of pairs) where the text has several, otherwise at a word or at least at a character.
 * @param {Uint8Array} text
 * @param {number} share  0 .. 1
 * @param {string} mark   separator between stories
 * @returns {{text: Uint8Array, held: Uint8Array}}
 */
export function holdOut(text, share, mark) {
  const letters = new TextDecoder('latin1').decode(text); // one letter for each byte
  let last = letters.trimEnd(); // up to the end of the last story, without separators and white space after it
  while (last.endsWith(mark)) last = last.slice(0, -mark.length).trimEnd();
  const want = Math.min(Math.floor(text.length * (1 - share)), Math.max(last.length - 1, 0));
  const ends = [letters.indexOf(mark, want), letters.lastIndexOf(mark, want)]
    .filter((at) => at >= 0)
    .map((at) => at + mark.length);
  const space = letters.slice(want).search(/[ \n\r\t]/); // no \s: bytes of UTF-8 characters would match it
  let letter = want;
  while ((text[letter] & 0xc0) === 0x80) letter++; // inside a character of UTF-8
  ends.push(...(space >= 0 ? [want + space] : []), letter);
  const full = (/** @type {string} */ part) => part.replaceAll(mark, '').trim() !== '';
  const at = ends.find((end) => full(letters.slice(0, end)) && full(letters.slice(end)));
  if (at === undefined) fail('bad-option', `validation is ${share}: the text is too short to hold out a share of it`);
  return { text: text.slice(0, at), held: text.slice(at) };
}

/**
 * The arguments of train, checked, as the message that starts the run.
 * @param {object | string} config
 * @param {Text | ExampleSet} data
 * @param {Record<string, any>} o
 * @param {(order: Order) => Promise<Tokenizer>} learnt  opens a run, for its vocabulary alone
 * @returns {Promise<{order: Order, batchOf?: (step: number) => Batch, adapter: Lora | null, teacher: Teacher | null}>}
 *   batchOf: of examples, the batch of a step; adapter: that is trained, with the option lora
 */
export async function checkedOrder(config, data, o, learnt) {
  const { validation = null, checkpoint = null } = o;
  const options = Object.fromEntries(
    TRAIN_FIELDS.map((field) => {
      const value = o[field.name] ?? field.default;
      return [field.member, field.type === 'word' ? field.words.indexOf(value) : Number(value)];
    }),
  );
  const { validate_every: validateEvery, teacher_share: share } = options;
  const examples = /** @type {any} */ (data)?.examples === undefined ? null : data;
  if (!o.lora && typeof (/** @type {any} */ (config)?.adapt) === 'function')
    fail(
      'bad-argument',
      'to fine-tune a loaded model, pass { lora: {} }; to train a new one, pass a configuration instead of a model',
    );
  const teacher = teacherOf(o, share);
  const given = /** @type {Record<string, any>} */ ({ ...o, validation });
  if (teacher && !o.lora && !examples)
    given.tokenizer = (await teacher.model.tokenizer) ?? fail('no-tokenizer', 'the teacher has no tokenizer');
  const plan = o.lora
    ? await ofLora(config, data, given, options, storiesOf)
    : examples
      ? ofExamples(config, /** @type {ExampleSet} */ (examples), given, options)
      : await ofText(config, /** @type {Text} */ (data), given, options, learnt);
  const { batchOf, adapter, ...rest } = { adapter: null, ...plan };
  const order = { ...rest, options: { ...options, ...plan.options }, validateEvery, checkpoint };
  return { order, batchOf, adapter, teacher };
}

/**
 * The options of a teacher.
 * @param {Record<string, any>} o
 * @param {number} share  teacherShare or its default
 * @returns {Teacher | null}
 */
function teacherOf({ teacher: model, teacherShare, tokenizer, vocabSize }, share) {
  if (!model) return teacherShare === undefined ? null : fail('bad-option', 'teacherShare is given without a teacher');
  if (typeof model.adapt !== 'function') fail('bad-option', `teacher is ${show(model)}, expected a loaded model`);
  if (tokenizer || vocabSize !== undefined)
    fail('bad-option', 'tokenizer and vocabSize are those of the teacher, which predicts the same tokens');
  const config = completeConfig(model.config);
  if (config.kind === 'encoder')
    fail('unsupported', 'the teacher must be a decoder or encoder-decoder; this one is an encoder');
  return { model, config, share };
}

/** @param {import('../engine/config/config.js').Config} config */
function checkedTrainable(config) {
  const { kind, mlm_head: head } = config;
  return kind !== 'encoder' || head ? config : fail('unsupported', 'an encoder without mlm_head has no token to learn');
}

/**
 * What depends on the data, of a run on examples.
 * @param {object | string} config
 * @param {ExampleSet} data
 * @param {Record<string, any>} o
 * @param {Record<string, number>} options  by their names in C
 */
function ofExamples(config, data, { validation, vocabSize, tokenizer }, options) {
  if (vocabSize !== undefined || tokenizer)
    fail('bad-option', 'vocabSize and tokenizer are options of a text: the vocabulary of examples is part of the data');
  return planOf(data, options, validation, (found) => checkedTrainable(configOf(config, found, false)));
}

/**
 * What depends on the data, of a run on a text.
 * @param {object | string} config
 * @param {Text} data
 * @param {Record<string, any>} o
 * @param {Record<string, number>} options  by their names in C
 * @param {(order: Order) => Promise<Tokenizer>} learnt
 */
async function ofText(config, data, o, options, learnt) {
  const { validation, vocabSize = DEFAULT_SIZES.vocab_size, tokenizer = null } = o;
  const complete = checkedTrainable(configOf(config, { ...DEFAULT_SIZES, vocab_size: vocabSize }));
  const { kind, context_length: context } = complete;
  const { batch_tokens: batch, micro_tokens: micro } = options;
  if (batch < context) fail('bad-option', `batchTokens is ${batch}, less than one sequence of the context, ${context}`);
  // A batch is divided into passes of equal size, at least two where possible: the trainer computes two at a time.
  const sequences = Math.floor(batch / context);
  let perPass = Math.max(1, Math.min(sequences >> 1, Math.floor(micro / context)));
  while (sequences % perPass) perPass--;
  const text = await bytesOf(data, 'data');
  const parts =
    typeof validation === 'number'
      ? holdOut(text, validation, kind === 'encoder_decoder' ? '\n' : SEPARATOR)
      : { text, held: validation === null ? null : await bytesOf(validation, 'validation') };
  const vocabulary = tokenizer === null ? null : await vocabularyOf(tokenizer);
  if (kind === 'encoder') return ofMaskedText(config, parts, { vocabSize, vocabulary }, options, learnt);
  return {
    config: complete,
    options: { batch_tokens: sequences * context, micro_tokens: perPass * context },
    tokenizer: vocabulary,
    ...parts,
    batchOf: undefined,
  };
}

/**
 * What depends on the data, of an encoder that learns the masked tokens of a text: those of a run on examples.
 * @param {object | string} config
 * @param {{text: Uint8Array, held: Uint8Array | null}} parts
 * @param {{vocabSize: number, vocabulary: string | null}} o
 * @param {Record<string, number>} options  by their names in C
 * @param {(order: Order) => Promise<Tokenizer>} learnt
 */
async function ofMaskedText(config, { text, held }, { vocabSize, vocabulary }, options, learnt) {
  const tiny = completeConfig({ d_model: 2, n_layers: 1, n_heads: 1, vocab_size: vocabSize, context_length: 2 });
  const sizes = { batch_tokens: 2, micro_tokens: 2, steps: 1 };
  const order = { config: tiny, options: sizes, tokenizer: vocabulary, text, held: null };
  const tokenizer = withMask((await learnt({ ...order, validateEvery: 0, checkpoint: null })).toText());
  const vocab = tokenizer.vocabSize;
  const complete = configOf(config, { ...DEFAULT_SIZES, vocab_size: vocab });
  const cut = (/** @type {Uint8Array} */ part) => sequencesOf(tokenizer, part, SEPARATOR, complete.context_length);
  const plan = planOf({ examples: cut(text) }, options, held && cut(held), () => complete, {
    mask: vocab - 1,
    vocab: vocab - 1,
    least: 1,
  });
  return { ...plan, tokenizer: tokenizer.toText() };
}

/**
 * A vocabulary as a tokenizer.json in the trainer's form.
 * @param {any} source
 * @returns {Promise<string>}
 */
async function vocabularyOf(source) {
  const text = source instanceof Tokenizer ? source.toText() : JSON.stringify(await openTokenizer(source));
  const { vocab, merges } = JSON.parse(text).model ?? {};
  if (!vocab || Array.isArray(vocab) || !Array.isArray(merges))
    fail('bad-tokenizer', 'the tokenizer is not byte-pair encoding with merges');
  return JSON.stringify({
    model: { vocab, merges: merges.map((/** @type {string | string[]} */ m) => (Array.isArray(m) ? m.join(' ') : m)) },
  });
}
