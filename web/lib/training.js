/// <reference lib="esnext.disposable" preserve="true" />
// training.js - a run of training on the caller's side; train.js starts it, train_worker.js is the other end
import { fail } from './formats/errors.js';
import { forgotten, kept } from './lifetime.js';
import { loadOptions } from './loading.js';

/** @typedef {import('./index.js').LoadOptions} LoadOptions */
/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Config} Config */
/** @typedef {import('./index.js').ParameterTable} ParameterTable */
/** @typedef {import('./train_worker.js').TrainStep} TrainStep */
/** @typedef {import('./tokenizer.js').Tokenizer} Tokenizer */

/**
 * A run of training: an iterator of its steps. The engine computes when a step is wanted, and the next one while the reader is busy; quick
 * steps come several at once, those of about 12 ms, so that model, files and checkpoint may be as many steps ahead of the reader. Leaving the
 * loop stops it there; another loop goes on.
 * @implements {AsyncIterableIterator<TrainStep>}
 */
export class Training {
  #opening;
  #load;
  /** @type {{run: import('./train.js').Run | null, disposed: boolean}} */
  #now = { run: null, disposed: false };

  /**
   * Called by train.
   * @param {(begun: (run: import('./train.js').Run) => void) => Promise<import('./train.js').Run>} start
   * @param {typeof import('./index.js').load} load
   */
  constructor(start, load) {
    this.#load = load;
    const now = this.#now;
    this.#opening = start((run) => {
      now.run = run;
      if (now.disposed) run.dispose();
    });
    this.#opening.catch(() => {}); // told to whoever asks for a step
    forgotten.register(this, () => now.run?.dispose(), this);
  }

  #about() { return this.#now.run?.about ?? fail('bad-state', 'the run has not begun: this is known after its first step'); }

  /** What is being trained, as countParameters tells it. @returns {ParameterTable} */
  get parameters() { return this.#about().parameters; }
  /** @returns {Config} */
  get config() { return this.#about().config; }
  /** Of the vocabulary that was learnt. @returns {Tokenizer} */
  get tokenizer() { return this.#about().tokenizer; }

  [Symbol.asyncIterator]() { return this; }

  /** The next step. @returns {Promise<IteratorResult<TrainStep, undefined>>} */
  async next() { return (await this.#opening).next(); }

  /** Called by `break`. @returns {Promise<IteratorResult<TrainStep, undefined>>} */
  async return() {
    this.#now.run?.stop();
    return { done: true, value: undefined };
  }

  /** Give out no further step until `resume`. */
  pause() { this.#opening.then((run) => run.pause(), () => {}); }
  resume() { this.#opening.then((run) => run.resume(), () => {}); }

  /**
   * A model with the weights as they are now; it stays as it is and is the caller's to dispose.
   * @param {{dtype?: 'f32'|'f16'|'q8_0'|'q4_0'} & LoadOptions} [options]
   * @returns {Promise<Model>}
   */
  async model(options = {}) {
    const { dtype, ...rest } = loadOptions('load', options);
    const [one, weights, tokenizer] = await this.files({ dtype });
    if (!weights) return this.#load(one.bytes, rest);
    const json = (/** @type {{bytes: Uint8Array}} */ file) => JSON.parse(new TextDecoder().decode(file.bytes));
    return this.#load({ weights: weights.bytes, config: json(one), tokenizer: json(tokenizer) }, { ...(dtype !== 'f16' && { quantize: dtype ?? 'f32' }), ...rest });
  }

  /**
   * The model as files: one GGUF for the architectures of Llama and GPT-2, config.json, model.safetensors (f32) and tokenizer.json for all others.
   * @param {{dtype?: 'f32'|'f16'|'q8_0'|'q4_0'}} [options]  dtype: of a GGUF's matrices; default f32
   * @returns {Promise<{name: string, bytes: Uint8Array<ArrayBuffer>}[]>}
   */
  files(options = {}) { return kept(this.#opening.then((run) => run.files(options)), this); }

  /** All that the next step depends on, for `train(config, data, { checkpoint })`: it begins behind the last step computed, read or not. @returns {Promise<Uint8Array<ArrayBuffer>>} */
  checkpoint() { return kept(this.#opening.then((run) => run.checkpoint()), this); }

  /** Free everything; also while it is still being opened. */
  async dispose() {
    forgotten.unregister(this);
    this.#now.disposed = true;
    this.#now.run?.dispose();
    await this.#opening.catch(() => {});
  }

  [Symbol.dispose]() { this.dispose(); }

  async [Symbol.asyncDispose]() { await this.dispose(); }
}
