// training_run.js - the caller's side of training: starts the worker and requests steps from it as they are read
import { count, within } from '../run/generation_options.js';
import { fail, guardedAsync, show } from '../base/errors.js';
import { checkedOptions, oneOf, signal } from '../base/checks.js';
import { withMetadata } from '../files/bytes/tensor_files.js';
import { Tokenizer } from '../text/tokenizer.js';
import { WorkerModel } from '../worker/model_caller.js';
import { startWorker } from '../worker/start_worker.js';
import { trainerModule } from '../engine/binary.js';
import { whyNoThreads } from '../engine/wasm_features.js';
import { adapterFiles, wholeFiles } from './lora_files.js';
import { runProvenance } from './run_provenance.js';
import { TRAIN_OPTIONS, checkedOrder, configOf } from './train_options.js';

/**
 * @typedef {import('../engine/binary.js').BinaryFiles & import('../worker/start_worker.js').WorkerFiles} PackageFiles
 */
/** @import { Order, TrainStep } from './training_worker.js' */
/** @import { Teacher, Text } from './train_options.js' */
/** @import { Batch, ExampleSet } from './examples.js' */
/** @import { Lora } from './lora_options.js' */

/** Steps of examples that are sent at once, at most. */
const MOST_AHEAD = 32;

/**
 * Start a worker for training, and compile its binary.
 * @param {PackageFiles} files
 * @param {Exclude<import('../worker/start_worker.js').WorkerOption, boolean>} [workerOption]
 * @param {AbortSignal} [signal]
 * @param {number} [threads]  the option of train
 */
export async function startTrainer(files, workerOption, signal, threads) {
  const engine =
    whyNoThreads(threads, true) === null
      ? trainerModule(files, 'train-threads').catch(() => trainerModule(files))
      : trainerModule(files);
  engine.catch(() => {}); // the first call reports the error
  const { worker, address } = await startWorker(files, 'train_worker', workerOption, signal);
  return { remote: new WorkerModel(worker, 'run'), engine, helper: address ?? undefined };
}

/**
 * Starts a training run.
 * @param {PackageFiles} files
 * @param {object | string} config
 * @param {Text | ExampleSet} data
 * @param {Record<string, any>} given
 * @param {(run: TrainingRun) => void} onStart  called when there is a run to dispose, before it is open
 * @returns {Promise<TrainingRun>} open
 */
export async function startTraining(files, config, data, given, onStart) {
  const options = checkedOptions('train', given, TRAIN_OPTIONS);
  const { signal: stop, worker, threads } = options;
  /** @param {{order: Order} & Omit<Parts, 'remote' | 'engine' | 'signal' | 'provenance'>} asked */
  const opened = async ({ order, ...parts }) => {
    stop?.throwIfAborted();
    const provenance = runProvenance(data, options, order, parts.adapter ?? null);
    const { helper, ...started } = await startTrainer(files, worker, stop, threads);
    const run = new TrainingRun({ ...started, signal: stop, provenance, ...parts });
    onStart(run);
    try {
      return { run, tokenizer: await run.open({ ...order, threads, helper }) };
    } catch (error) {
      run.dispose();
      throw error;
    }
  };
  const learnt = async (/** @type {Order} */ order) => {
    const { run, tokenizer } = await opened({ order });
    run.dispose();
    return tokenizer;
  };
  return guardedAsync(async () => {
    stop?.throwIfAborted();
    return (await opened(await checkedOrder(config, data, options, learnt))).run;
  }, stop);
}

/**
 * What a run consists of. batchOf: of examples; adapter: that is trained
 * @typedef {{remote: WorkerModel, engine: Promise<WebAssembly.Module>, signal?: AbortSignal,
 *   batchOf?: (step: number) => Batch, adapter?: Lora | null, teacher?: Teacher | null,
 *   provenance: ReturnType<typeof runProvenance>}} Parts
 */
/** One training run, in a worker of its own. */
export class TrainingRun {
  #parts;
  /** Steps that the worker has computed, and those of the whole run. */
  #computed = 0;
  #total = 0;
  /** How many steps of examples are sent at once: twice as many as the last request computed. */
  #ahead = 1;
  /**
   * Configuration, parameter table and tokenizer; null before the run is open.
   * @type {{config: any, parameters: import('../engine/config/weight_roster.js').ParameterTable, tokenizer: Tokenizer}
   *   | null}
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

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    parts.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * @param {string} method
   * @param {any[]} args
   * @returns {Promise<any>}
   */
  async #call(method, ...args) {
    const { remote, engine, signal: stop } = this.#parts;
    try {
      return await remote.call(method, args, { engine: method === 'open' ? engine : undefined });
    } catch (error) {
      stop?.throwIfAborted();
      throw error;
    }
  }

  /** @param {Order} order @returns {Promise<Tokenizer>} of its vocabulary */
  async open(order) {
    const { adapter, teacher } = this.#parts;
    let opened = await this.#call('open', order);
    if (adapter) {
      await this.#giveStored(adapter.model);
      opened = await this.#call('adapt', order.checkpoint);
    }
    const { config, parameters, tokenizer, step } = opened;
    this.#computed = step;
    this.#total = order.options.steps;
    if (teacher) {
      await this.#call('teach', teacher.config, teacher.share);
      await this.#giveWeights(teacher.model);
    }
    const own = await adapter?.model.tokenizer;
    this.about = { config, parameters, tokenizer: own ?? new Tokenizer(JSON.parse(tokenizer)) };
    return this.about.tokenizer;
  }

  /**
   * Copy the weights of a loaded model as they are stored, piece by piece.
   * @param {Lora['model']} model
   */
  async #giveStored(model) {
    for (const i of model.parameters.rows.keys())
      for (let at = 0, piece; (piece = await model.storedWeight(i, at)).length; at += piece.length)
        await this.#call('restoreWeight', i, at, piece);
  }

  /**
   * Copy the weights of a loaded model in f32, one after the other.
   * @param {Lora['model']} model
   */
  async #giveWeights(model) {
    for (const [i, { name, tiedTo }] of model.parameters.rows.entries())
      if (!tiedTo) await this.#call('giveWeight', i, (await model.matrix(name)).data);
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
    this.#request ??= this.#steps();
    this.#request.catch(() => {});
    return this.#request;
  }

  /** @returns {Promise<TrainStep[]>} */
  async #steps() {
    const batchOf = this.#parts.batchOf,
      first = this.#computed + 1,
      length = Math.min(this.#ahead, this.#total - this.#computed);
    /** @type {TrainStep[]} */
    const steps = await this.#call('steps', batchOf && Array.from({ length }, (_, i) => batchOf(first + i)));
    this.#ahead = Math.min(2 * Math.max(steps.length, 1), MOST_AHEAD);
    this.#computed = steps.at(-1)?.step ?? this.#computed;
    return steps;
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
    this.#paused = { wait: new Promise((resolve) => (go = resolve)), go };
  }

  resume() {
    this.#paused?.go();
    this.#paused = null;
  }

  /**
   * @param {{dtype?: string}} options
   * @param {boolean} [whole]  the model, also where an adapter is trained
   * @returns {Promise<{name: string, bytes: Uint8Array<ArrayBuffer>}[]>}
   */
  async files(options, whole = false) {
    const { dtype = 'f32' } = checkedOptions('files', options, { dtype: oneOf('f32', 'f16', 'q8_0', 'q4_0') });
    this.stop();
    const { adapter, batchOf, provenance: told } = this.#parts;
    // asked for when the weights have arrived, and with them all steps before
    const provenance = () => told(this.#computed);
    if (!batchOf && this.about) {
      const { config, tokenizer } = this.about;
      const { ggufOf } = await import('./trained_gguf.js');
      const bytes = await ggufOf(config, tokenizer, () => this.#call('weights'), dtype, whole ? null : provenance);
      if (bytes) return [{ name: 'model.gguf', bytes }];
    }
    if (adapter && !whole) {
      if (dtype !== 'f32') fail('bad-option', `dtype is ${show(dtype)}, an adapter is written as f32`);
      const { modules, model: _, ...lora } = adapter;
      return adapterFiles(modules, lora, await this.#call('factors'), await provenance());
    }
    const files = await this.#call('folder'); // examples are ids of any vocabulary
    if (whole) return adapter ? wholeFiles(files, adapter.model) : files;
    const [config, weights, tokenizer] = files;
    const metadata = { format: 'pt', provenance: JSON.stringify(await provenance()) };
    return [config, { ...weights, bytes: withMetadata(weights.bytes, metadata) }, tokenizer];
  }

  /** @returns {Promise<Uint8Array<ArrayBuffer>>} */
  checkpoint() {
    this.stop();
    return this.#call('checkpoint');
  }

  dispose() {
    this.stop();
    this.#parts.signal?.removeEventListener('abort', this.#onAbort);
    this.#parts.remote.close();
    this.#queue = [];
    this.resume(); // waiting readers get the error
  }
}

/**
 * Measures how much gradient reaches each layer of a model with random weights.
 * @param {PackageFiles} files
 * @param {any} config
 * @param {{seed?: number, tokens?: number, signal?: AbortSignal}} options
 * @returns {Promise<{weights: number, stream: number}[]>}
 */
export async function depth(files, config, options) {
  const checks = { seed: count, tokens: within(2, 1 << 16, true), signal };
  const { seed = 1, tokens = 256, signal: given } = checkedOptions('depth', options, checks);
  return guardedAsync(async () => {
    const complete = configOf(config, { vocab_size: 256, context_length: 128 });
    if (complete.kind !== 'decoder') fail('unsupported', `depth is measured in decoders, not in kind ${complete.kind}`);
    given?.throwIfAborted();
    const { remote, engine } = await startTrainer(files, undefined, given, 1);
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
  }, given);
}
