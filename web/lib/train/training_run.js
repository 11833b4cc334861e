// training_run.js - the caller's side of training: checks the options, starts the worker and requests steps from it as
// they are read
import { numberInRange } from '../input/options.js';
import { completeConfig } from '../config/config.js';
import { fail, guardedAsync, messageOf, show } from '../base/errors.js';
import {
  LIMITS,
  fileOrObject,
  flag,
  number as anyNumber,
  isBytes,
  checkedOptions,
  jsonCopy,
  readValue,
  signal,
  stableBytes,
  checkedText,
  word,
} from '../base/checks.js';
import { presetConfig } from '../config/presets.js';
import { openTokenizer } from '../checkpoint/source.js';
import { Tokenizer } from '../tokenizer.js';
import { WorkerModel } from '../worker/remote.js';
import { startWorker } from '../worker/start.js';
import { trainerModule } from '../engine/binary.js';

/** @import { Order, TrainStep } from './train_worker.js' */
/** @typedef {string | Uint8Array | ArrayBuffer | Blob} Text */

/** Default sizes of a model, which a page trains in minutes. */
const DEFAULT_SIZES = { vocab_size: 512, context_length: 128 };
/**
 * The tokenizer.json, in the trainer's form, of Tokenizers that come from training runs.
 * @type {WeakMap<object, string>}
 */
const learntVocabularies = new WeakMap();
/** The separator between stories; id 0 of every vocabulary. */
const SEPARATOR = '<|endoftext|>';

/**
 * Options that are passed to the trainer as they are, with their names there, defaults and ranges.
 * @type {[name: string, nameInC: string, byDefault: number, least: number, most: number, whole?: boolean][]}
 */
const NUMBERS = [
  ['steps', 'steps', 500, 1, 1e7, true],
  ['batchTokens', 'batch_tokens', 1024, 2, 1 << 20, true],
  ['seed', 'seed', 1, 0, Number.MAX_SAFE_INTEGER, true],
  ['lr', 'lr', 0.003, 0, 1],
  ['muonLr', 'muon_lr', 0.02, 0, 1],
  ['dropout', 'dropout', 0, 0, 0.9],
  ['warmup', 'warmup', 0.02, 0, 1],
  ['finalRate', 'final_rate', 0.02, 0, 1],
  ['weightDecay', 'weight_decay', 0.1, 0, 10],
  ['clip', 'clip', 1, 0, 1e6],
];
/** @type {import('../base/checks.js').OptionCheck} */
const workerFile = (value, name) =>
  typeof value === 'function' ||
  (isBytes(value) && (value instanceof URL || (typeof value === 'string' && value.length <= LIMITS.word)))
    ? value
    : fail(
        'bad-option',
        `${name} is ${show(value)}, expected the address of a worker file or a function that starts one`,
      );
/** @type {import('../base/checks.js').OptionCheck} */
const vocabulary = (value, name) => {
  if (value === null || value instanceof Tokenizer) return value;
  return isBytes(value) || typeof value === 'object'
    ? fileOrObject(value, name)
    : fail('bad-option', `${name} is ${show(value)}, expected a Tokenizer, a file or an object`);
};
/** @type {import('../base/checks.js').OptionCheck} */
const saved = (value, name) =>
  value === null
    ? null
    : value instanceof Uint8Array
      ? stableBytes(value)
      : fail('bad-option', `${name} is ${show(value)}, expected bytes from run.checkpoint()`);
/** @type {import('../base/checks.js').OptionCheck} */
const heldOut = (value, name) =>
  value === null || typeof value === 'number' || (isBytes(value) && !(value instanceof URL))
    ? value
    : fail('bad-option', `${name} is ${show(value)}, expected a text or a share between 0 and 1`);
const CHECKS = {
  ...Object.fromEntries(NUMBERS.map(([name]) => [name, anyNumber])),
  worker: workerFile,
  muon: flag,
  vocabSize: anyNumber,
  tokenizer: vocabulary,
  validation: heldOut,
  validateEvery: anyNumber,
  checkpoint: saved,
  signal,
};

/**
 * Start a worker for training, and compile its binary.
 * @param {Exclude<import('../worker/start.js').WorkerOption, boolean>} [workerOption]
 * @param {AbortSignal} [signal]
 */
async function startTrainer(workerOption, signal) {
  const engine = trainerModule();
  engine.catch(() => {}); // the first call reports the error
  const { worker } = await startWorker('train_worker', workerOption, signal);
  return { remote: new WorkerModel(worker, 'run'), engine };
}

/**
 * A caller's configuration or preset name as a complete configuration, with its own vocabulary size.
 * @param {object | string} config
 * @param {Record<string, number>} sizes  vocab_size, and the default of context_length
 * @returns {import('../config/config.js').Config}
 */
function configOf(config, sizes) {
  const input =
    typeof config === 'string'
      ? presetConfig(checkedText(config, 'the preset', LIMITS.word))
      : jsonCopy(config, 'the configuration', { code: 'bad-config', functions: true });
  if (input === null || typeof input !== 'object')
    fail('bad-argument', `expected a configuration, found ${show(config)}`);
  const { vocab_size: _, vocabSize: __, ...fields } = /** @type {Record<string, any>} */ (input);
  const context = fields.context_length ?? fields.contextLength ?? sizes.context_length;
  delete fields.contextLength;
  return completeConfig({ ...fields, vocab_size: sizes.vocab_size, context_length: context });
}

/**
 * The bytes of a text to train on, checked.
 * @param {unknown} text
 * @param {string} what  name of the argument, for messages
 * @returns {Promise<Uint8Array>}
 */
async function bytesOf(text, what) {
  const size = readValue(what, () =>
    typeof text === 'string'
      ? text.length
      : text instanceof Blob
        ? text.size
        : text instanceof ArrayBuffer || text instanceof Uint8Array
          ? text.byteLength
          : fail('bad-argument', `${what} is ${show(text)}, expected a text, its bytes or a Blob`),
  );
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
 * @param {Text} data
 * @param {Record<string, any>} o
 * @returns {Promise<Order>}
 */
async function checkedOrder(config, data, o) {
  const {
    muon = true,
    vocabSize = DEFAULT_SIZES.vocab_size,
    tokenizer = null,
    validation = null,
    validateEvery = 50,
    checkpoint = null,
  } = o;
  /** @type {Record<string, number>} */
  const options = { muon: Number(muon) };
  for (const [name, nameInC, byDefault, ...range] of NUMBERS)
    options[nameInC] = numberInRange(name, o[name] ?? byDefault, ...range);
  // At least the 256 bytes and the separator. The trainer counts all pairs of tokens in a square table.
  numberInRange('vocabSize', vocabSize, 257, 8192, true);
  numberInRange('validateEvery', validateEvery, 0, Number.MAX_SAFE_INTEGER, true);
  const complete = configOf(config, { ...DEFAULT_SIZES, vocab_size: vocabSize });
  const { kind, context_length: context } = complete;
  const { batch_tokens: batch } = options;
  if (kind === 'encoder') fail('unsupported', 'an encoder alone has no next token to learn');
  if (batch < context) fail('bad-option', `batchTokens is ${batch}, less than one sequence of the context, ${context}`);
  // A batch is divided into passes of equal size, at least two where possible: the trainer computes two at a time.
  const sequences = Math.floor(batch / context);
  let perPass = Math.max(1, sequences >> 1);
  while (sequences % perPass) perPass--;
  Object.assign(options, { batch_tokens: sequences * context, micro_tokens: perPass * context });
  let text = await bytesOf(data, 'data');
  let held = null;
  if (typeof validation === 'number') {
    if (!(validation > 0 && validation < 1))
      fail('bad-option', `validation is ${validation}, expected a text or a share between 0 and 1`);
    ({ text, held } = holdOut(text, validation, kind === 'encoder_decoder' ? '\n' : SEPARATOR));
  } else if (validation !== null) {
    held = await bytesOf(validation, 'validation');
  }
  return {
    config: complete,
    options,
    tokenizer: tokenizer === null ? null : await vocabularyOf(tokenizer),
    text,
    held,
    validateEvery,
    checkpoint,
  };
}

/**
 * A vocabulary as a tokenizer.json in the trainer's form.
 * @param {any} source
 * @returns {Promise<string>}
 */
async function vocabularyOf(source) {
  const known = learntVocabularies.get(source);
  if (known) return known;
  const json =
    source instanceof Tokenizer ? JSON.parse(source.toText()) : /** @type {any} */ (await openTokenizer(source));
  const { vocab, merges } = json.model ?? {};
  if (!vocab || Array.isArray(vocab) || !Array.isArray(merges))
    fail('bad-tokenizer', 'the tokenizer is not byte-pair encoding with merges');
  return JSON.stringify({
    model: { vocab, merges: merges.map((/** @type {string | string[]} */ m) => (Array.isArray(m) ? m.join(' ') : m)) },
  });
}

/**
 * Starts a training run.
 * @param {object | string} config
 * @param {Text} data
 * @param {Record<string, any>} options
 * @param {(run: TrainingRun) => void} onStart  called when there is a run to dispose, before it is open
 * @returns {Promise<TrainingRun>} open
 */
export async function startTraining(config, data, options, onStart) {
  const checked = checkedOptions('train', options, CHECKS);
  return guardedAsync(() => start(config, data, checked, onStart), checked.signal);
}

/**
 * Starts a training run from checked options.
 * @param {any} config
 * @param {Text} data
 * @param {Record<string, any>} options
 * @param {(run: TrainingRun) => void} onStart
 * @returns {Promise<TrainingRun>}
 */
async function start(config, data, options, onStart) {
  const { signal: stop, worker } = options;
  stop?.throwIfAborted();
  const order = await checkedOrder(config, data, options);
  stop?.throwIfAborted();
  const { remote, engine } = await startTrainer(worker, stop);
  const run = new TrainingRun(remote, engine, stop);
  onStart(run);
  try {
    await run.open(order);
  } catch (error) {
    run.dispose();
    throw error;
  }
  return run;
}

/** One training run, in a worker of its own. */
export class TrainingRun {
  #remote;
  #engine;
  #signal;
  /**
   * Configuration, parameter table and tokenizer; null before the run is open.
   * @type {{config: any, parameters: import('../config/roster.js').ParameterTable, tokenizer: Tokenizer} | null}
   */
  about = null;
  /** @type {TrainStep[]} steps received and not yet read */
  #queue = [];
  /** @type {Promise<TrainStep[]> | null} the request for further steps */
  #request = null;
  /** @type {Promise<any>} the last call of `next`, which a concurrent call waits for */
  #lastRead = Promise.resolve();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #prefetchTimer;
  /** @type {{wait: Promise<void>, go: () => void} | null} */
  #paused = null;
  #onAbort = () => this.dispose();

  /**
   * @param {WorkerModel} remote
   * @param {Promise<WebAssembly.Module>} engine
   * @param {AbortSignal} [signal]
   */
  constructor(remote, engine, signal) {
    this.#remote = remote;
    this.#engine = engine;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * @param {string} method
   * @param {any[]} args
   * @returns {Promise<any>}
   */
  async #call(method, ...args) {
    try {
      return await this.#remote.call(method, args, { engine: method === 'open' ? this.#engine : undefined });
    } catch (error) {
      this.#signal?.throwIfAborted();
      throw error;
    }
  }

  /** @param {Order} order */
  async open(order) {
    const { config, parameters, tokenizer } = await this.#call('open', order);
    this.about = { config, parameters, tokenizer: new Tokenizer(JSON.parse(tokenizer)) };
    learntVocabularies.set(this.about.tokenizer, tokenizer);
  }

  /** @returns {Promise<IteratorResult<TrainStep, undefined>>} */
  next() {
    const step = this.#lastRead.then(() => this.#next());
    this.#lastRead = step.catch(() => {});
    return step;
  }

  /** @returns {Promise<IteratorResult<TrainStep, undefined>>} */
  async #next() {
    while (this.#paused || !this.#queue.length) {
      if (this.#paused) {
        await this.#paused.wait;
        continue;
      }
      const steps = this.#requestSteps();
      this.#request = null; // a failure is reported once; the next reader requests again
      this.#queue = await steps;
      if (!this.#queue.length) return { done: true, value: undefined };
    }
    const value = /** @type {TrainStep} */ (this.#queue.shift());
    // The next step is computed while the reader uses this one. A timer, because a reader that ends its loop here calls
    // `stop` before.
    if (!this.#queue.length && value.step < value.steps)
      this.#prefetchTimer = setTimeout(() => this.#requestSteps(), 0);
    return { done: false, value };
  }

  #requestSteps() {
    this.stop();
    this.#request ??= this.#call('steps');
    this.#request.catch(() => {});
    return this.#request;
  }

  /** Request no further steps until the next read. */
  stop() {
    clearTimeout(this.#prefetchTimer);
  }

  /** Request no further steps, and let reads wait, until `resume`. */
  pause() {
    this.stop();
    if (this.#paused) return;
    let go = () => {};
    this.#paused = {
      wait: new Promise((resolve) => {
        go = resolve;
      }),
      go,
    };
  }

  resume() {
    this.#paused?.go();
    this.#paused = null;
  }

  /**
   * @param {{dtype?: string}} options
   * @returns {Promise<{name: string, bytes: Uint8Array<ArrayBuffer>}[]>}
   */
  files(options) {
    const { dtype = 'f32' } = checkedOptions('files', options, { dtype: word });
    this.stop();
    if (!['f32', 'f16', 'q8_0', 'q4_0'].includes(dtype))
      fail('bad-option', `dtype is ${show(dtype)}, expected f32, f16, q8_0 or q4_0`);
    return this.#call('files', dtype);
  }

  /** @returns {Promise<Uint8Array<ArrayBuffer>>} */
  checkpoint() {
    this.stop();
    return this.#call('checkpoint');
  }

  dispose() {
    this.stop();
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#remote.close();
    this.#queue = [];
    this.resume(); // waiting readers get the error
  }
}

/**
 * Measures how much gradient reaches each layer of a model with random weights.
 * @param {object | string} config
 * @param {{seed?: number, tokens?: number, signal?: AbortSignal}} options
 * @returns {Promise<{weights: number, stream: number}[]>}
 */
export async function depth(config, options) {
  const {
    seed = 1,
    tokens = 256,
    signal: given,
  } = checkedOptions('depth', options, { seed: anyNumber, tokens: anyNumber, signal });
  numberInRange('seed', seed, 0, Number.MAX_SAFE_INTEGER, true);
  numberInRange('tokens', tokens, 2, 1 << 16, true);
  return guardedAsync(() => measureDepth(config, seed, tokens, given), given);
}

/**
 * @param {any} config
 * @param {number} seed
 * @param {number} tokens
 * @param {AbortSignal | undefined} given
 * @returns {Promise<{weights: number, stream: number}[]>}
 */
async function measureDepth(config, seed, tokens, given) {
  const complete = configOf(config, { vocab_size: 256, context_length: 128 });
  if (complete.kind !== 'decoder') fail('unsupported', `depth is measured in decoders, not in kind ${complete.kind}`);
  given?.throwIfAborted();
  const { remote, engine } = await startTrainer(undefined, given);
  const stop = () => remote.close();
  given?.addEventListener('abort', stop, { once: true });
  try {
    return await remote.call('depth', [complete, seed, tokens], { engine });
  } catch (error) {
    given?.throwIfAborted();
    throw error;
  } finally {
    given?.removeEventListener('abort', stop);
    remote.close();
  }
}
