/// <reference lib="esnext.disposable" preserve="true" />
// training.js - the public class Training; train/training_run.js starts the run
import { fail } from '../base/errors.js';
import { finalizers, keepAlive } from './lifetimes.js';
import { loadOptions } from './input/load_options.js';

/** @import { Bytes, Config, ExampleList, LoadOptions, Model, ParameterTable } from './index.js' */
/** @import { TrainingRun } from '../train/training_run.js' */
/** @import { TrainStep } from '../train/training_worker.js' */
/** @import { Tokenizer } from '../text/tokenizer.js' */

/**
 * Options of train. Learning rates and decays are those of the papers on AdamW (Loshchilov & Hutter 2019) and Muon
 * (Jordan et al. 2024).
 * @typedef {object} TrainOptions
 * @property {number} [steps]         steps of the whole run; default 500
 * @property {number} [batchTokens]   most tokens of one step: whole sequences of the context, or whole examples;
 *   default 1024
 * @property {number} [microTokens]   about the tokens of one pass: a step's passes are added, and memory grows with a
 *   pass; default: half of the step, of examples at most 4096
 * @property {number} [vocabSize] size of the byte-pair encoding that is learnt from the text, 257 (bytes alone) to
 *   8192; default 512
 * @property {Bytes | Tokenizer | object | null} [tokenizer] use this vocabulary: one that an earlier run has learnt
 *   (Training.tokenizer, its GGUF or tokenizer.json)
 * @property {number} [lr]            learning rate of AdamW; default 0.003
 * @property {boolean} [muon]         train the matrices of attention and feed-forward layers by Muon; default true
 * @property {number} [muonLr]        learning rate of Muon; default 0.02
 * @property {number} [dropout]       share of each sublayer's output that is dropped; default 0
 * @property {number} [warmup]        share of the steps in which the rates rise; default 0.02
 * @property {'cosine'|'linear'|'constant'|'wsd'} [schedule] how the rates fall after the warm-up; wsd: along a line, in
 *   the last fifth of the other steps; default cosine
 * @property {number} [finalRate]     share of the rates that the schedule leaves at the end; default 0.02
 * @property {number} [weightDecay]   decoupled, of matrices only; default 0.1
 * @property {number} [clip]          largest norm of the gradient; default 1; 0: none
 * @property {number} [beta1]         AdamW's beta1; default 0.9
 * @property {number} [beta2]         AdamW's beta2; default 0.95
 * @property {number} [eps]           AdamW's epsilon; default 1e-8
 * @property {number} [momentum]      Muon's momentum; default 0.95
 * @property {number} [average]       decay of the running average of the weights that the model gets; default 0: none
 * @property {number} [initStd]       standard deviation of the initial weights; default 0.02
 * @property {boolean} [initScaled]   matrices that write to the residual stream begin smaller, by the square root of
 *   twice the layers, as in GPT-2; default true
 * @property {number} [seed]          0 .. 2^53 - 1; default 1. The same seed gives the same model
 * @property {import('../train/lora_options.js').LoraOptions} [lora]  train a low-rank adapter for a loaded decoder (Hu
 *   et al. 2021) by AdamW; its weights stay. A text is encoded with the model's tokenizer, each story between the
 *   tokens that the model puts before and after a text
 * @property {Model} [teacher]        a share of every target becomes the prediction of this model (distillation, Hinton
 *   et al. 2015, at temperature 1), which has the same vocabulary, that of a text too; `loss` is that of the data alone
 * @property {number} [teacherShare]  0 .. 1; default 0.5
 * @property {string | Uint8Array | ArrayBuffer | Blob | ExampleList | number | null} [validation] a text,
 *   or a list of examples, to validate on; or the share of the data that is held out for it
 * @property {number} [validateEvery] steps between validations; default 50; 0: only after the last
 * @property {Uint8Array | null} [checkpoint] continue from Training.checkpoint(), bit for bit; data and configuration
 *   must be the same
 * @property {number} [threads]       1 to 64, as of load; the results are the same. Two share a step, more change
 *   nothing
 * @property {string | URL | (() => Worker | Promise<Worker>)} [worker] the address of a copy of dist/train_worker.js,
 *   or a function that starts a worker which imports 'glassformer/train_worker'; default: the package's own
 * @property {AbortSignal} [signal]   aborted: the run ends as by dispose, and its calls reject with the signal's reason
 */

/**
 * A training run, made by `train`: an async iterator of its steps. The engine computes a step when it is requested, and
 * one more while the reader works. Steps that take less than about 12 ms are delivered several at once, so `model`,
 * `files` and `checkpoint` may be that many steps ahead of the reader; called at once after a step with a `validation`,
 * they are of that step. Leaving a loop stops the run there; another loop continues it.
 * @implements {AsyncIterableIterator<TrainStep>}
 * @example
 * const text = 'The cat sat on the mat. The dog sat on the log.';
 * const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, text, { steps: 6 });
 * for await (const { step } of run) if (step === 3) break;
 * const { value } = await run.next();
 * console.log(value.step);                                                // 4
 * const [{ name, bytes }] = await run.files({ dtype: 'f16' });
 * console.log(name, bytes.length > 0);                                    // model.gguf true
 * await run.dispose();
 */
export class Training {
  #opening;
  #load;
  /** @type {{run: import('../train/training_run.js').TrainingRun | null, disposed: boolean}} */
  #now = { run: null, disposed: false };

  /**
   * Called by train.
   * @ignore
   * @param {(onStart: (run: TrainingRun) => void) => Promise<TrainingRun>} start
   * @param {typeof import('./index.js').load} load
   */
  constructor(start, load) {
    this.#load = load;
    const now = this.#now;
    this.#opening = start((run) => {
      now.run = run;
      if (now.disposed) run.dispose();
    });
    this.#opening.catch(() => {}); // reported to the reader of the first step
    finalizers.register(this, () => now.run?.dispose(), this);
  }

  #about() {
    return this.#now.run?.about ?? fail('bad-state', 'the run has not started: this is known after its first step');
  }

  /**
   * The parameters of the model, as countParameters gives them. Known after the first step, before it throws
   * `bad-state`.
   * @returns {ParameterTable}
   */
  get parameters() {
    return this.#about().parameters;
  }
  /**
   * The complete configuration. Known after the first step, before it throws `bad-state`.
   * @returns {Config}
   */
  get config() {
    return this.#about().config;
  }
  /**
   * The tokenizer of the vocabulary that was learnt. Known after the first step, before it throws `bad-state`.
   * @returns {Tokenizer}
   */
  get tokenizer() {
    return this.#about().tokenizer;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /**
   * Compute the next step.
   * @returns {Promise<IteratorResult<TrainStep, undefined>>}
   */
  async next() {
    return (await this.#opening).next();
  }

  /**
   * Stop the run at this step; `break` in a loop calls it. A later `next` continues it.
   * @returns {Promise<IteratorResult<TrainStep, undefined>>}
   */
  async return() {
    this.#now.run?.stop();
    return { done: true, value: undefined };
  }

  /** Deliver no further step until `resume`. */
  pause() {
    this.#ask((run) => run.pause()).catch(() => {});
  }
  /** Continue after `pause`. */
  resume() {
    this.#ask((run) => run.resume()).catch(() => {});
  }

  /**
   * Call the run when it is open.
   * @template T
   * @param {(run: TrainingRun) => T | Promise<T>} call
   */
  #ask(call) {
    return keepAlive(this.#opening.then(call), this);
  }

  /**
   * A model with the weights as they are now. Later steps do not change it.
   * @param {{dtype?: 'f32'|'f16'|'q8_0'|'q4_0'} & LoadOptions} [options]
   * @returns {Promise<Model>}  the caller's to dispose
   * @example
   * const corpus = 'The cat sat on the mat. The dog sat on the log.';
   * const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, corpus, { steps: 2 });
   * for await (const { step } of run);
   * const model = await run.model();
   * for await (const { text } of model.generate('The', { maxTokens: 3 })) console.log(text);
   * await run.dispose();
   */
  async model(options = {}) {
    const { dtype, ...rest } = loadOptions('load', options);
    const [one, weights, tokenizer] = await this.#ask((run) => run.files({ dtype }, true));
    if (!weights) return this.#load(one.bytes, rest);
    const json = (/** @type {{bytes: Uint8Array}} */ file) => JSON.parse(new TextDecoder().decode(file.bytes));
    return this.#load(
      { weights: weights.bytes, config: json(one), tokenizer: json(tokenizer) },
      { ...(dtype !== 'f16' && { dtype: dtype ?? 'f32' }), ...rest },
    );
  }

  /**
   * The model as files: one GGUF for a decoder whose configuration is that of an architecture of GGUF, such as Llama;
   * config.json, model.safetensors (f32) and tokenizer.json for all others. Of an adapter (the option lora)
   * adapter_config.json and adapter_model.safetensors, as PEFT writes them.
   * @param {{dtype?: 'f32'|'f16'|'q8_0'|'q4_0'}} [options]  dtype: of a GGUF's matrices; default f32
   * @returns {Promise<{name: string, bytes: Uint8Array<ArrayBuffer>}[]>}  copies
   */
  files(options = {}) {
    return this.#ask((run) => run.files(options));
  }

  /**
   * Everything that the next step depends on: weights, optimiser, schedule, vocabulary, random numbers. A run started
   * from it continues after the last step that was computed, bit for bit.
   * @returns {Promise<Uint8Array<ArrayBuffer>>}  a copy
   * @example
   * const config = { d_model: 16, n_layers: 1, n_heads: 2 }, data = 'The cat sat on the mat. The dog sat on the log.';
   * const run = train(config, data, { steps: 200 });
   * await run.next();
   * const checkpoint = await run.checkpoint();
   * await run.dispose();
   * const later = train(config, data, { steps: 200, checkpoint });
   * console.log((await later.next()).value.step > 1);                     // true
   * await later.dispose();
   */
  checkpoint() {
    return this.#ask((run) => run.checkpoint());
  }

  /** End the run and its worker and free all memory, also while it is still starting. Models made from it stay. */
  async dispose() {
    finalizers.unregister(this);
    this.#now.disposed = true;
    this.#now.run?.dispose();
    await this.#opening.catch(() => {});
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  async [Symbol.asyncDispose]() {
    await this.dispose();
  }
}
