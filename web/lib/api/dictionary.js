/// <reference lib="esnext.disposable" preserve="true" />
// dictionary.js - the public classes Dictionary and DictionaryTraining; train/ has what they do
import { fail, guardedAsync, show } from '../base/errors.js';
import { entriesOf, isReadable, resolvedFile } from '../base/checks.js';
import { packageFiles } from './package_files.js';
import { loadOptions } from './input/load_options.js';

/** @import { Ids, Model } from './index.js' */
/** @import { SparseDictionary, TokenFeatures } from '../train/dictionaries/sparse_dictionary.js' */
/** @import { DictionaryReport } from '../train/dictionaries/dictionary_report.js' */
/** @import { DictionaryStep } from '../train/dictionaries/dictionary_run.js' */
/** @import { FeatureContext } from '../train/dictionaries/active_features.js' */
/**
 * A feature of a dictionary. density: share of the tokens that activate it; histogram: counts of its values in equal
 * parts of 0 to `most`; contexts: its strongest places, then places from the rest of its range; promoted, suppressed:
 * the tokens whose logits its direction raises and lowers most
 * @typedef {{feature: number, direction: Float32Array, count: number, density: number,
 *   histogram: {most: number, counts: number[]} | null, contexts: FeatureContext[],
 *   promoted: {id: number, text: string, logit: number}[], suppressed: {id: number, text: string, logit: number}[]}}
 *   Feature
 */
/**
 * Options of dictionary.
 * @typedef {object} DictionaryOptions
 * @property {string} at           the point that is read; see Model.points
 * @property {string} [out]        a transcoder: the point that is reconstructed, such as hook_mlp_out of the MLP whose
 *   input is read
 * @property {number} [size]       number of features; default 1024
 * @property {number} [k]          features that a position activates at most; default 16
 * @property {boolean} [tokenTable] describe what is left after the mean of the position's token has been subtracted;
 *   default true
 * @property {number} [from]       positions before it are left out, since the first one's norm is many times that of
 *   others; default 1
 * @property {number} [tokens]     number of tokens that it learns from; default 100000
 * @property {number} [heldOut]    tokens after them that `report` reads; default 4000
 * @property {number} [epochs]     default 5
 * @property {number} [batch]      tokens of a step; default 512
 * @property {number} [lr]         learning rate of Adam; default 0.006 at a width of 128, falling with its square root
 * @property {number} [decay]      share of the steps, at the end, in which the rate falls to 0; default 0.3
 * @property {number} [seed]       0 .. 2^53 - 1; default 1
 * @property {number} [threads]    1 to 64, as of train; the results are the same
 * @property {string | URL | (() => Worker | Promise<Worker>)} [worker]  as in train
 * @property {AbortSignal} [signal] aborted: the run rejects with the signal's reason
 */

/**
 * A sparse dictionary of the activations of a model at one point: its features are directions, of which each position
 * activates few (Bricken et al. 2023). Made by `dictionary`, or read by `Dictionary.load`. An edit can name one:
 * `{ dictionary, feature, scale: 0 }`.
 */
export class Dictionary {
  #core;

  /**
   * Called by dictionary and Dictionary.load.
   * @ignore
   * @param {SparseDictionary} core
   */
  constructor(core) {
    this.#core = core;
  }

  /**
   * Read a dictionary in SAELens's format (cfg.json with sae_weights.safetensors: standard, gated, TopK, BatchTopK,
   * JumpReLU, transcoders with and without a skip), or in that of Gemma Scope 2 (config.json with params.safetensors).
   * @param {string | URL | ArrayLike<File>} source  a folder: an address, a path (Node) or
   *   'hf:owner/name[@revision][/folder]'; or its files
   * @param {{model?: Model, dtype?: 'f32' | 'f16' | 'q8_0'} & Pick<import('./index.js').LoadOptions,
   *   'fetch' | 'signal' | 'token' | 'headers' | 'hfEndpoint'>} [options]  model: the one that it describes, which is
   *   compared with it; dtype: of the encoder in the engine, default f32; with q8_0 the matrices outside it have 8
   *   bits, too
   * @returns {Promise<Dictionary>}
   * @throws {GlassformerError} `bad-file` for a dictionary of another model, `unsupported`, `not-found`, and the errors
   *   of `load` for files
   */
  static async load(source, { model, dtype = 'f32', ...rest } = {}) {
    const from = isReadable(source) ? resolvedFile(source, 'the source') : entriesOf(source);
    if (!from) fail('bad-argument', `the source is ${show(source)}, expected a folder or the files of one`);
    const options = loadOptions('load', rest);
    return guardedAsync(async () => {
      const { loadDictionary } = await import('../train/dictionaries/dictionary_load.js');
      return new Dictionary(await loadDictionary(from, { model, dtype, ...options }));
    }, options.signal);
  }

  /** The point whose values it reads. @returns {string} */
  get at() {
    return this.#core.weights.at;
  }
  /** The point that a transcoder reconstructs; null for other dictionaries. @returns {string | null} */
  get out() {
    return this.#core.weights.out;
  }
  /** Number of features. @returns {number} */
  get size() {
    return this.#core.weights.size;
  }
  /** Features that a position activates at most; 0: thresholds alone decide. @returns {number} */
  get k() {
    return this.#core.weights.k;
  }
  /** topk, standard, jumprelu, gated, or the kind of transcoder. @returns {string} */
  get architecture() {
    return this.#core.weights.architecture;
  }
  /**
   * How it was made: options, seed and model of its training, or what its files say.
   * @returns {Record<string, any>}
   */
  get provenance() {
    return this.#core.weights.provenance;
  }
  /** Milliseconds of its training; null for one that was read. @returns {{capture: number, train: number} | null} */
  get ms() {
    return this.#core.ms;
  }

  /**
   * What each position of an input activates, the strongest first.
   * @param {string | Ids} input
   * @param {{addSpecialTokens?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<TokenFeatures[]>}
   */
  encode(input, options) {
    return this.#core.encode(this, input, options);
  }

  /**
   * Find out where a text activates the features, for `feature` and `densities`. A dictionary that was trained knows it
   * of its text.
   * @param {string | readonly string[]} text
   * @param {{tokens?: number, signal?: AbortSignal}} [options]  tokens: at most; default 20000
   * @returns {Promise<void>}
   */
  gather(text, options) {
    return this.#core.gather(this, text, options);
  }

  /**
   * Share of the tokens that activate each feature; null before `gather` of a dictionary that was read.
   * @returns {Float32Array | null}
   */
  densities() {
    return this.#core.seen?.densities() ?? null;
  }

  /**
   * @param {number} index
   * @param {{contexts?: number, tokens?: number}} [options]  number of strongest contexts and of tokens; default 8
   * @returns {Promise<Feature>}
   */
  feature(index, options) {
    return this.#core.feature(index, options);
  }

  /**
   * How much it explains of held-out text, and what the model's loss is with its reconstruction in place of the values,
   * beside the mean, the token table alone, neurons and random directions.
   * @param {{text?: string | readonly string[], tokens?: number, signal?: AbortSignal}} [options]  text: default that
   *   which was held out of the training; tokens: of the text, at most; default 4000
   * @returns {Promise<DictionaryReport>}
   */
  report(options) {
    return this.#core.report(this, options);
  }

  /**
   * Its files in SAELens's format, with `provenance` in metadata.glassformer of cfg.json; a token table is a file of
   * its own, and a TopK transcoder is written as a TopK dictionary. int8: a quarter of the size, for Dictionary.load
   * alone.
   * @param {{dtype?: 'f32' | 'int8'}} [options]
   * @returns {Promise<{name: string, bytes: Uint8Array<ArrayBuffer>}[]>}
   */
  files(options) {
    return this.#core.files(options);
  }

  /** Free its memory in the engines of models. */
  dispose() {
    this.#core.dispose();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /** @internal */
  encoder() {
    return this.#core.encoder();
  }
  /**
   * @internal
   * @param {number} feature
   * @param {string} where
   */
  edited(feature, where) {
    return this.#core.edited(feature, where);
  }
  /** @internal @param {() => void} drop */
  onDispose(drop) {
    this.#core.onDispose(drop);
  }
}

/**
 * The training of a dictionary, made by `dictionary`: an async iterator of its progress. Leaving the loop ends it.
 * @implements {AsyncIterableIterator<DictionaryStep>}
 */
export class DictionaryTraining {
  #steps;
  #signal;
  /** @type {Dictionary | null} */
  #made = null;

  /**
   * Called by dictionary.
   * @ignore
   * @param {Model} model
   * @param {any} text
   * @param {any} options
   */
  constructor(model, text, options) {
    this.#signal = options?.signal;
    this.#steps = (async function* () {
      const { trainDictionary } = await import('../train/dictionaries/dictionary_run.js');
      return yield* trainDictionary(packageFiles, model, text, options);
    })();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<DictionaryStep, undefined>>} */
  async next() {
    const { done, value } = await guardedAsync(() => this.#steps.next(), this.#signal);
    if (!done) return { done, value };
    if (value) this.#made = new Dictionary(value);
    return { done: true, value: undefined };
  }

  /** @returns {Promise<IteratorResult<DictionaryStep, undefined>>} */
  async return() {
    await this.#steps.return(/** @type {any} */ (undefined));
    return { done: true, value: undefined };
  }

  /**
   * Train to the end, where that has not happened yet.
   * @returns {Promise<Dictionary>}
   * @throws {GlassformerError} `bad-state` after the loop was left before the end
   */
  async dictionary() {
    while (!(await this.next()).done);
    return this.#made ?? fail('bad-state', 'the training of the dictionary was ended before it was done');
  }
}
