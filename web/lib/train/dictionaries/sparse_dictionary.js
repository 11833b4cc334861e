// sparse_dictionary.js - a sparse dictionary of a model's activations: what the public class Dictionary delegates to
import { fail, show } from '../../base/errors.js';
import { packRows, rowOf, wholeRows } from '../../engine/stored_rows.js';
import { ActiveFeatures } from './active_features.js';
import { captureRows, windowsOf, textsOf } from './dictionary_windows.js';
import { requireSameModel } from '../../run/inspect/model_identity.js';
import { foldGain, gainOf, identified } from './dictionary_model.js';

/** @import { Model } from '../../api/model.js' */
/** @import { Encoder } from '../../engine/dictionary_encoders.js' */
/** @import { StoredRows } from '../../engine/stored_rows.js' */
/**
 * The weights of a dictionary, in one form for all architectures (struct gf_features_spec in src/glassformer.h), with
 * biases of the input, normalisations of the decoder and scales folded in. dtype: of the encoder in the engine; with
 * q8_0 both matrices are packed here, too
 * @typedef {object} DictionaryWeights
 * @property {string} at
 * @property {string | null} out   a transcoder: the point that is reconstructed
 * @property {string} architecture topk, batchtopk, standard, jumprelu or gated
 * @property {number} dIn
 * @property {number} dOut
 * @property {number} size
 * @property {number} k            0: the thresholds alone decide
 * @property {number} from         positions before it have no features
 * @property {0 | 1 | 2} norm
 * @property {boolean} afterGain   it reads the values after the norm's gain and bias, which `attach` folds in
 * @property {string} dtype
 * @property {StoredRows} wEnc   [size, dIn]
 * @property {Float32Array} vectors  bias, threshold, gain, magnitude [4, size]
 * @property {StoredRows} wDec   [size, dOut]
 * @property {Float32Array} bDec   [dOut]
 * @property {Float32Array | null} tableIn   [vocab_size, dIn]
 * @property {Float32Array | null} tableOut  [vocab_size, dOut], of a transcoder
 * @property {Float32Array | null} skip      [dOut, dIn]
 * @property {Record<string, any>} provenance
 */
/** What a token activates, the strongest first.
 * @typedef {{id: number, text: string, features: {feature: number, value: number}[]}} TokenFeatures */

export class SparseDictionary {
  /** @type {Model | null} */
  model;
  /** What was seen of it on texts. @type {ActiveFeatures | null} */
  seen = null;
  /** Windows that were held out of the training. @type {number[][]} */
  heldOut = [];
  /** Seconds of its training. @type {{capture: number, train: number} | null} */
  ms = null;
  /** @type {(() => void)[]} */
  #drops = [];
  #disposed = false;

  /**
   * @param {DictionaryWeights} weights
   * @param {Model | null} model
   */
  constructor(weights, model) {
    this.weights = weights;
    this.model = model;
  }

  /**
   * One that was just trained.
   * @param {Model} model
   * @param {any} o  the order of it
   * @param {{wEnc: Float32Array, bEnc: Float32Array, wDec: Float32Array, bDec: Float32Array,
   *   tableIn: Float32Array | null, tableOut: Float32Array | null}} trained
   * @param {any} more
   */
  static trained(model, o, { bEnc, ...trained }, { windows, heldOut, active, ms, provenance }) {
    const { size } = o;
    const made = new SparseDictionary(
      {
        ...trained,
        at: o.at,
        out: o.out ?? null,
        architecture: 'topk',
        dIn: o.dIn,
        dOut: o.dOut || o.dIn,
        size,
        k: o.k,
        from: o.from,
        norm: 0,
        afterGain: false,
        dtype: 'f32',
        vectors: thresholdVectors(bEnc, new Float32Array(size)),
        skip: null,
        provenance,
      },
      model,
    );
    made.seen = ActiveFeatures.ofRows(windows, o.from, size, o.k, active);
    Object.assign(made, { heldOut, ms });
    return made;
  }

  #require() {
    if (this.#disposed) fail('bad-state', 'the dictionary was disposed');
    return this.model ?? fail('bad-state', 'the dictionary has no model: give { model } to Dictionary.load');
  }

  /** @returns {import('../../run/inspect/model_identity.js').Origin} */
  get #origin() {
    const { at, provenance } = this.weights;
    return { at, model: provenance.model, name: provenance.name };
  }

  /** @returns {Encoder} for the engine of a model */
  encoder() {
    if (this.#disposed) fail('bad-state', 'the dictionary was disposed');
    const { dIn: d, size, dtype, k, from, norm, wEnc: w, vectors, tableIn: table } = this.weights;
    return { d, size, dtype, k, from, norm, w, vectors, table, origin: this.#origin };
  }

  /**
   * What an edit of a feature gives the engine.
   * @param {number} feature
   * @param {string} where
   */
  edited(feature, where) {
    const { at, out, dOut } = this.weights;
    if (out)
      fail('unsupported', `${where}: a transcoder reads ${at} and writes ${out}: its features cannot be edited there`);
    return { at, direction: rowOf(this.weights.wDec, feature, dOut) };
  }

  /** Keep the matrices in 8 bits. */
  pack() {
    const { wEnc, wDec, dIn, dOut } = this.weights;
    this.weights.wEnc = packRows(wholeRows(wEnc, dIn), dIn);
    this.weights.wDec = packRows(wholeRows(wDec, dOut), dOut);
  }

  /** @param {() => void} drop  frees the encoder of an engine */
  onDispose(drop) {
    this.#drops.push(drop);
  }

  dispose() {
    this.#disposed = true;
    for (const drop of this.#drops.splice(0)) drop();
  }

  /**
   * @param {any} owner  the Dictionary, by which the model knows the encoder
   * @param {any} input
   * @param {{addSpecialTokens?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<TokenFeatures[]>}
   */
  async encode(owner, input, options = {}) {
    const model = this.#require();
    const found = await model.encodeFeatures(owner, input, { ...options, at: this.weights.at });
    const tokenizer = model.tokenizer && (await model.tokenizer);
    const stream = tokenizer?.stream();
    return found.ids.map((/** @type {number} */ id, /** @type {number} */ t) => {
      const features = [];
      for (let e = found.start[t]; e < found.start[t + 1]; e++)
        features.push({ feature: found.index[e], value: found.value[e] });
      return { id, text: stream?.push(id) ?? '', features: features.sort((a, b) => b.value - a.value) };
    });
  }

  /**
   * Replace what is known of the features by what they do on a text.
   * @param {any} owner
   * @param {any} text
   * @param {{tokens?: number, signal?: AbortSignal}} [options]
   */
  async gather(owner, text, { tokens = 20000, signal } = {}) {
    const model = this.#require();
    const { at, from, size } = this.weights;
    const windows = await windowsOf(model, textsOf(text), from, tokens);
    const found = [];
    for (const ids of windows) found.push(await model.encodeFeatures(owner, ids, { at, signal }));
    this.seen = ActiveFeatures.ofWindows(windows, from, size, found);
  }

  /**
   * @param {number} feature
   * @param {{contexts?: number, tokens?: number}} [options]
   */
  async feature(feature, { contexts = 8, tokens = 8 } = {}) {
    const { size, wDec, dOut } = this.weights;
    if (!Number.isInteger(feature) || feature < 0 || feature >= size)
      fail('bad-argument', `feature is ${show(feature)}, the dictionary has ${size}`);
    const model = this.#require();
    const direction = rowOf(wDec, feature, dOut);
    const tokenizer = model.tokenizer && (await model.tokenizer);
    const text = (/** @type {number} */ id) => tokenizer?.idToText(id) ?? '';
    const isStream = dOut === model.config.dModel;
    const found = isStream ? await model.directionTokens(direction, tokens) : { promoted: [], suppressed: [] };
    const named = (/** @type {{id: number, logit: number}} */ { id, logit }) => ({ id, text: text(id), logit });
    return {
      feature,
      direction,
      ...(this.seen?.describe(feature, contexts, text) ?? { count: 0, density: NaN, histogram: null, contexts: [] }),
      promoted: found.promoted.map(named),
      suppressed: found.suppressed.map(named),
    };
  }

  /**
   * @param {any} owner
   * @param {{text?: any, tokens?: number, signal?: AbortSignal}} [options]
   */
  async report(owner, { text, tokens = 4000, signal } = {}) {
    const model = this.#require();
    const { reportOf } = await import('./dictionary_report.js');
    const windows =
      text === undefined ? this.heldOut : await windowsOf(model, textsOf(text), this.weights.from, tokens);
    if (!windows.length) fail('bad-state', 'the dictionary has no held-out text: give { text } to report');
    return reportOf(model, owner, this.weights, windows, signal);
  }

  /** @param {{dtype?: 'f32' | 'int8'}} [options] */
  async files(options) {
    return (await import('./write_dictionary.js')).writeDictionary(this.weights, this.model, options);
  }

  /** @param {Model} model */
  async attach(model) {
    await requireSameModel(identified(model), this.#origin, 'bad-file');
    const { at, out, dIn, dOut } = this.weights;
    const names = await model.points();
    for (const name of [at, ...(out ? [out] : [])])
      if (!names.includes(name))
        fail('bad-file', `the dictionary belongs to another model: this one has no point ${show(name)}`);
    // one pass shows the widths
    const { captured } = await model.forward([0], { capture: out ? [at, out] : [at], logits: 'none' });
    for (const [name, d] of /** @type {[string, number][]} */ ([[at, dIn], ...(out ? [[out, dOut]] : [])]))
      if (captured[name].data.length !== d)
        fail(
          'bad-file',
          `the dictionary belongs to another model: its rows at ${name} have ${d} values, ` +
            `those of this model ${captured[name].data.length}`,
        );
    if (this.weights.afterGain) foldGain(this.weights, await gainOf(model, at));
    this.model = model;
  }
}

/**
 * The vectors of an encoder whose features have a bias and a threshold.
 * @param {Float32Array} bias
 * @param {Float32Array} threshold
 */
export function thresholdVectors(bias, threshold) {
  const size = bias.length;
  const vectors = new Float32Array(4 * size);
  vectors.set(bias);
  vectors.set(threshold, size);
  vectors.fill(1, 2 * size, 3 * size);
  vectors.set(bias, 3 * size);
  return vectors;
}
