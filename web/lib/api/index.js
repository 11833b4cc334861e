/// <reference lib="esnext.disposable" preserve="true" />
// index.js - the public interface of the package
//
//   load, create      give a Model     - a loaded model: generate, chat, forward, capture, edits, explanations
//   Model.session     gives a Session  - one sequence that the caller runs token by token, rewinds and forks
//   train             gives a Training - an async iterator of training steps, with a Model at any step
//   Tokenizer         encodes and decodes without a model
//   completeConfig, countParameters, estimate, depth    answer questions about a configuration, without weights
//
// A model runs in a worker of its own (the default in browsers) or in the calling thread (the default in Node);
// worker/model_caller.js is the interface to both. This file, with what it imports at once, is what every page loads:
// everything else is imported on demand.
export { Model } from './model.js';
export { Scan } from './scan.js';
export { Session } from './session.js';
export { Steps } from './steps.js';
export { Training } from './training.js';
export { Dictionary, DictionaryTraining } from './dictionary.js';
export { Tokenizer } from '../text/tokenizer.js';
export { CODES } from '../base/codes.js';
export { GlassformerError } from '../base/errors.js';
export { LIMITS } from '../base/checks.js';
export { PRESETS } from '../engine/config/presets.js';

import { guarded, guardedAsync } from '../base/errors.js';
import { addressed, isBytes, resolvedFile } from '../base/checks.js';
import { camelConfig } from '../engine/config/config.js';
import { parameterTable } from '../engine/config/weight_roster.js';
import { DictionaryTraining } from './dictionary.js';
import { configOf, estimate as estimated } from './estimate.js';
import { cacheOptions, hasStream, loadOptions, checkedSource } from './input/load_options.js';
import { openModel } from './open_model.js';
import { provenanceOfTensors } from './origins.js';
import { packageFiles } from './package_files.js';
import { Scan } from './scan.js';
import { Tokenizer } from '../text/tokenizer.js';
import { Training } from './training.js';

/** @import { Model } from './model.js' */

/**
 * Load a checkpoint. Its bytes are streamed to their final place in memory, so the file is never held as a whole. After
 * a failure all memory is freed.
 * @param {Source} source what to load: an address, a path (Node), 'hf:owner/name', a folder, files, bytes, a Response
 *   or a stream
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}  the caller's to dispose
 * @throws {GlassformerError} for the file: `bad-header`, `bad-config`, `truncated`, `missing-tensor`, `unknown-tensor`,
 *   `duplicate-tensor`, `bad-shape`, `overlap`, `not-finite`, `unknown-format`, `unknown-dtype`, `unsupported`,
 *   `bad-tokenizer`; for the transfer: `not-found`, `network`, `html`, `bad-file`; for this machine: `out-of-memory`,
 *   `blocked`, `worker`, `bad-wasm`, `storage`; `callback` when onProgress or names throws
 * @example
 * const model = await load('stories-1m.gguf');
 * console.log(model.parameters.total, model.config.nLayers);              // 1267072 5
 * model.dispose();
 */
export async function load(source, options = {}) {
  const from = checkedSource(source);
  const checked = loadOptions('load', options);
  return guardedAsync(async () => {
    const streamed = hasStream(from) ? await addressed(from, checked.fetch) : null;
    if (!streamed) return openModel('load', from, checked);
    try {
      return await openModel('load', streamed.source, { ...checked, fetch: streamed.fetch });
    } finally {
      streamed.close();
    }
  }, checked.signal);
}

/**
 * What the option `cache` of `load` has stored: lists it, counts its bytes, removes it, and asks the browser to keep
 * it.
 * @param {CacheOptions} [options]
 * @returns {Promise<ModelCache>}
 * @throws {GlassformerError} `bad-option`, `unsupported`, `storage`
 * @example
 * const cache = await modelCache({ cacheDir: 'models' });                 // in a browser: { cache: 'opfs' }
 * for (const { url, bytes, complete } of await cache.list()) console.log(url, bytes, complete);
 * console.log(await cache.delete('hf:owner/name'), await cache.size());   // 0 0
 */
export async function modelCache(options = {}) {
  return guardedAsync(async () => {
    const checked = cacheOptions(options);
    return (await import('../files/transfer/model_cache.js')).openModelCache(checked);
  });
}

/**
 * Make a model with random weights: normal with standard deviation 0.02, gains 1, biases 0. The same seed gives the
 * same model on every machine.
 * @param {ConfigInput} config
 * @param {CreateOptions} [options]
 * @returns {Promise<Model>}  the caller's to dispose
 * @throws {GlassformerError} `bad-config`, `out-of-memory`, `blocked`, `worker`
 * @example
 * const fresh = await create({ vocab_size: 100, d_model: 32, n_layers: 2, n_heads: 4 }, { seed: 1 });
 * console.log((await fresh.forward([1, 2, 3])).logits.shape);             // [ 3, 100 ]
 * fresh.dispose();
 */
export async function create(config, options = {}) {
  const complete = guarded(() => configOf(config));
  const checked = loadOptions('create', options);
  return guardedAsync(() => openModel('create', complete, checked), checked.signal);
}

/**
 * The complete configuration that `create` would use, with defaults for all missing fields.
 * @param {ConfigInput} config
 * @returns {Config}  the caller's to change
 * @throws {GlassformerError} `bad-config`, `unsupported`
 * @example
 * const config = completeConfig({ vocab_size: 100, d_model: 32, n_layers: 2, n_heads: 4 });
 * console.log(config.dHead, config.ffn, config.position);                 // 8 swiglu rope
 */
export function completeConfig(config) {
  return /** @type {any} */ (guarded(() => camelConfig(configOf(config))));
}

/**
 * Count the parameters of a configuration, weight by weight. Needs no weights and allocates nothing.
 * @param {ConfigInput} config
 * @returns {ParameterTable}
 * @throws {GlassformerError} `bad-config`, `unsupported`
 * @example
 * console.log(countParameters('gpt2').total);                             // 124439808
 * console.log(countParameters({ vocab_size: 100, d_model: 32, n_layers: 2, n_heads: 4 }).rows[0].name);
 */
export function countParameters(config) {
  return guarded(() => parameterTable(configOf(config)));
}

/**
 * The floating-point operations and bytes that a configuration takes, by formula. Needs no weights.
 *
 * The exact count includes every matrix that a token is multiplied by. Lookup tables do not count; a tied embedding
 * counts as the head.
 * Attention adds 4 x d_head for each head and key: scores and their weighted sum.
 * @param {ConfigInput} config
 * @param {import('./estimate.js').EstimateOptions} options
 * @returns {Estimate}
 * @throws {GlassformerError} `bad-config`, `bad-argument`, `bad-option`
 * @example
 * const cost = estimate('llama2-7b', { contextLength: 4096, dtype: 'q8_0', kvDtype: 'f16' });
 * console.log(cost.kvBytes / 2 ** 30, 'GiB');                             // 2 GiB
 */
export function estimate(config, options) {
  return guarded(() => estimated(config, options));
}

const training = () => import('../train/training_run.js');

/**
 * Train a model on a text or on sequences of token ids, in a worker. The run is an async iterator of its steps; the
 * engine computes only while steps are read.
 * @param {import('../engine/config/config_input.js').TrainConfig | Model} config  of a text vocab_size comes from the
 *   vocabulary that is learnt; context_length is 128 unless given. With the option `lora`: a loaded model, which stays
 *   as it is
 * @param {string | Uint8Array | ArrayBuffer | Blob | ExampleSet} data stories with <|endoftext|> between them; a text
 *   without is cut into windows of the context. For an encoder-decoder: lines of source, tab, target. An encoder with
 *   mlm_head learns the tokens that [MASK] hides, 15 % of the text (Devlin et al. 2018)
 * @param {TrainOptions} [options]
 * @returns {Training}  returned at once, the caller's to dispose; errors reject the first step
 * @throws {GlassformerError} at the first step: `bad-config`, `bad-option`, `unsupported`, `bad-file` for a wrong
 *   checkpoint, `worker`
 * @example
 * const text = 'The cat sat on the mat. The dog sat on the log.';
 * const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, text, { steps: 5 });
 * for await (const { step, loss } of run) console.log(step, loss);        // loss: nats a token
 * const trained = await run.model();
 * await run.dispose();
 * @example
 * // a + b modulo 5: the token after "=" counts, the others do not
 * const sums = [[1, 2], [3, 4], [4, 4]].map(([a, b]) => ({ ids: [a, b, 5], targets: [-1, -1, (a + b) % 5] }));
 * const data = { examples: sums, vocabulary: ['0', '1', '2', '3', '4', '='] };
 * const adding = train({ d_model: 16, n_layers: 1, n_heads: 2 }, data, { steps: 50, lr: 0.01 });
 * for await (const { accuracy } of adding) if (accuracy === 1) break;
 * await adding.dispose();
 */
export function train(config, data, options = {}) {
  return new Training(
    async (begun) => (await training()).startTraining(packageFiles, config, data, options, begun),
    load,
  );
}

/**
 * Measure how much gradient reaches each layer of a fresh decoder (weights normal(0, 0.02)), in one pass over random
 * tokens. Compare
 * `norm_placement` 'pre' and 'post' (Xiong et al. 2020), `use_norm: false`, and `use_residual: false` (He et al. 2016).
 * @param {import('../engine/config/config_input.js').TrainConfig} config  as train takes it; vocab_size is 256
 * @param {{seed?: number, tokens?: number, signal?: AbortSignal}} [options]  tokens: of the pass, default 256
 * @returns {Promise<{weights: number, stream: number}[]>} one for each layer, the first layer first. Both are root mean
 *   squares of the loss's gradient (nats a token): `weights` with respect to the block's matrices, `stream` with
 *   respect to the residual stream after the block
 * @throws {GlassformerError} `bad-config`, `unsupported`, `worker`
 * @example
 * const layers = await depth({ d_model: 32, n_layers: 4, n_heads: 4, norm_placement: 'post' });
 * console.log(layers.length, layers[0].weights > 0);                      // 4 true
 */
export async function depth(config, options = {}) {
  return (await training()).depth(packageFiles, config, options);
}

/**
 * Train a sparse dictionary of a model's activations at a point: a TopK autoencoder (Gao et al. 2024) in C, in a
 * worker. The same text, options and seed give the same dictionary on every machine.
 * @param {Model} model
 * @param {string | readonly string[]} text  texts, or one with <|endoftext|> between them
 * @param {DictionaryOptions} options
 * @returns {DictionaryTraining} an async iterator of the progress; `dictionary()` gives the result
 * @throws {GlassformerError} at the first step: `bad-option`, `bad-argument`, `unknown-point`, `worker`
 * @example
 * const story = 'Once upon a time there was a cat. The cat liked to play with a ball.';
 * const run = dictionary(model, story, { at: 'blocks.2.hook_resid_post', size: 64, k: 4, tokens: 64, epochs: 2 });
 * for await (const { phase, tokens, fvu } of run) console.log(phase, tokens, fvu);
 * const features = await run.dictionary();
 * const [{ features: first }] = (await features.encode('The cat')).slice(-1);
 * const edits = [{ dictionary: features, feature: first[0].feature, scale: 0 }];
 * for await (const { text } of model.generate('The cat', { edits, maxTokens: 3 })) console.log(text);
 */
export function dictionary(model, text, options) {
  return new DictionaryTraining(model, text, options);
}

/**
 * Run thousands of texts, and keep their values at points or statistics of them, in memory bounds: an async iterator of
 * its progress, with the values of each step. Texts that are longer than the context are cut at it.
 * @param {Model} model
 * @param {Iterable<string | Ids> | AsyncIterable<string | Ids>} texts
 * @param {ScanOptions} options
 * @returns {Scan}
 * @throws {GlassformerError} at the first step: `bad-option`, `unknown-point`, `unsupported` for an encoder-decoder
 * @example
 * const texts = ['The cat sat on the mat.', 'The dog sat on the log.'];
 * const neurons = scan(model, texts, { at: 'blocks.1.mlp.hook_post', index: [3, 7], statistic: ['mean', 'top'] });
 * for await (const { tokens } of neurons) console.log(tokens);
 * const { mean, top } = (await neurons.result()).points['blocks.1.mlp.hook_post'];
 * console.log(mean.shape, await model.decode(top[1][0].ids));
 */
export function scan(model, texts, options) {
  return new Scan(model, texts, options);
}

/**
 * What tensors of results, or a file of this package, come from. Of tensors it is package, model, weights, types,
 * binary, call, prompt, seed and options; toNpz and toSafetensors write it by themselves, and this is for files of your
 * own. Files are those of toNpz, toSafetensors and Training.files (its weights).
 * @template {Record<string, Tensor> | Bytes} T
 * @param {T} of  tensors by name, such as `captured`; or a file
 * @returns {Promise<(T extends Bytes ? TrainingProvenance : never) | OriginProvenance |
 *   (OriginProvenance & {tensors: string[]})[] | null>}  a list where several calls gave the tensors; null where none
 *   did, or where the file does not say
 * @example
 * const { captured } = await model.forward('Once upon', { capture: ['*.hook_pattern'] });
 * const { call, prompt, weights } = await provenanceOf(captured);
 * console.log(call, prompt, weights.length);                              // forward Once upon 64
 */
export async function provenanceOf(of) {
  if (!isBytes(of)) return provenanceOfTensors(/** @type {Record<string, Tensor>} */ (of));
  return guardedAsync(async () => {
    const file = resolvedFile(of, 'the file');
    return (await import('../files/read_provenance.js')).readProvenance(file);
  });
}

/**
 * A tensor as a file of numpy (numpy.save), which has no place for its provenance: toNpz has one.
 * @param {Tensor} tensor
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 * @example
 * const { logits } = await model.forward([1, 2, 3]);
 * console.log((await toNpy(logits)).length);                              // 24704
 */
export async function toNpy(tensor) {
  return (await import('../files/bytes/tensor_files.js')).toNpy(tensor);
}

/**
 * Tensors by name, such as `captured`, as an archive of numpy (numpy.savez): `numpy.load(file)[name]`. Its member
 * provenance.json has what provenanceOf tells of them: `json.loads(numpy.load(file)['provenance.json'])`.
 * @param {Record<string, Tensor>} tensors
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 * @example
 * const { captured } = await model.forward([1, 2, 3], { capture: ['*.hook_pattern'] });
 * const bytes = await toNpz(captured);
 */
export async function toNpz(tensors) {
  const { toNpz } = await import('../files/bytes/tensor_files.js');
  return toNpz(tensors, await provenanceOfTensors(tensors));
}

/**
 * Tensors by name, such as `captured`, as a safetensors file. `provenance` in its metadata is the JSON of what
 * provenanceOf tells of them.
 * @param {Record<string, Tensor>} tensors
 * @param {Record<string, string>} [metadata]  more texts by name for its header; a provenance of your own replaces that
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 * @example
 * const { captured } = await model.forward([1, 2, 3], { capture: ['*.hook_pattern'] });
 * const bytes = await toSafetensors(captured);
 */
export async function toSafetensors(tensors, metadata) {
  const { toSafetensors } = await import('../files/bytes/tensor_files.js');
  const found = await provenanceOfTensors(tensors);
  return toSafetensors(tensors, found ? { provenance: JSON.stringify(found), ...metadata } : metadata);
}

// ---- types of options and results

/** @typedef {import('../files/bytes/open_file.js').Bytes} Bytes in Node a string may be a path */
/**
 * @typedef {import('../base/stream_source.js').Streamed} Streamed what a fetch answered, or a stream of bytes; it can
 *   be read once
 */
/** @typedef {ArrayLike<number>} Ids */
/**
 * Which cache is meant, as in the options of `load`.
 * @typedef {object} CacheOptions
 * @property {'cache-storage' | 'opfs' | 'file'} [cache]  default: 'file' in Node, 'cache-storage' in browsers
 * @property {string} [cacheDir]    the folder of cache 'file'
 * @property {string} [hfEndpoint]  the mirror of the Hugging Face Hub that hf: addresses mean
 */
/** @typedef {import('../files/transfer/model_cache.js').ModelCache} ModelCache */
/** @typedef {import('../files/transfer/model_cache.js').CachedFile} CachedFile */
/** @typedef {import('../engine/engine.js').Tensor} Tensor row-major, a copy; JSON.stringify gives { shape, data } */
/** @typedef {import('../engine/engine.js').MemoryMap} MemoryMap */
/** @typedef {import('../run/inspect/edits.js').Edit} PointEdit */
/** @typedef {PointEdit | FeatureEdit} Edit */
/** @typedef {import('./call_types.js').FeatureEdit} FeatureEdit */
/** @typedef {import('../run/generate.js').Step} Step */
/** @typedef {import('../run/generate.js').Summary} Summary */
/** @typedef {import('../engine/config/weight_roster.js').ParameterRow} ParameterRow */
/** @typedef {import('../engine/config/weight_roster.js').ParameterTable} ParameterTable */
/** @typedef {import('./estimate.js').Estimate} Estimate */
/** @typedef {import('../run/weight_table.js').LoadedTable} LoadedTable */
/** @typedef {import('../run/load_model.js').Progress} Progress */
/** @typedef {import('../run/inspect/classify.js').Classification} Classification */
/** @typedef {import('../run/inspect/classify.js').TokenClassification} TokenClassification */
/** @typedef {import('../run/inspect/labelled_words.js').LabelledSpan} LabelledSpan */
/** @typedef {import('../run/inspect/classify.js').LabelScore} LabelScore */
/** @typedef {import('../files/huggingface/sentence_transformers.js').Pooling} Pooling */
/** @typedef {import('../files/huggingface/sentence_transformers.js').PoolingKind} PoolingKind */
/** @typedef {import('../run/inspect/logit_lens.js').LensToken} LensToken */
/** @typedef {import('../run/inspect/attribution.js').Attribution} Attribution */
/** @typedef {import('../run/inspect/loss.js').Loss} Loss */
/** @typedef {import('../run/analysis/metric.js').Metric} Metric */
/** @typedef {Metric | readonly Metric[]} Metrics a list: one for each of several inputs */
/** @typedef {import('../run/analysis/path_patching.js').Place} PathPlace */
/** @typedef {import('../run/analysis/path_patching.js').PathEffects} PathEffects */
/** @typedef {import('../run/analysis/sweep.js').Grid} Grid */
/** @typedef {import('../run/analysis/sweep.js').Sweep} Sweep */
/** @typedef {import('./scan.js').ScanOptions} ScanOptions */
/** @typedef {import('./scan.js').ScanStep} ScanStep */
/** @typedef {import('./scan.js').ScanResult} ScanResult */
/** @typedef {import('./scan.js').PointStatistics} PointStatistics */
/** @typedef {import('../run/analysis/scan_statistics.js').ScanPlace} ScanPlace */
/**
 * What identifies a model in a result. glassformer: the version of the package; name: of the file, '' without one;
 * weights: SHA-256 of all weights as they are in memory, in the order of Model.parameters; dtypes: how many of them
 * have each type; kvDtype, backend: as of the model
 * @typedef {{glassformer: string, name: string, weights: string, dtypes: Record<string, number>, kvDtype: string,
 *   backend: string}} Provenance
 */
/**
 * What a tensor comes from. weights, dtypes: null where the model was disposed or has got other weights since the call;
 * call: the method; prompt: text or ids, or a list of several; options: those that change the values; position: of a
 * session's first new token
 * @typedef {Omit<Provenance, 'weights' | 'dtypes'> & {weights: string | null, dtypes: Record<string, number> | null,
 *   call: string, prompt?: any, seed?: number, position?: number, options?: Record<string, any>}} OriginProvenance
 */
/** @typedef {import('../train/run_provenance.js').TrainingProvenance} TrainingProvenance */
/** @typedef {import('../run/analysis/circuit.js').Circuit} Circuit */
/** @typedef {import('../run/analysis/head_scores.js').HeadScores} HeadScores */
/** @typedef {import('../run/analysis/gradients.js').Gradients} Gradients */
/** @typedef {import('../run/analysis/gradients.js').PatchEstimates} PatchEstimates */
/** @typedef {import('../run/analysis/integrated_gradients.js').TokenAttributions} TokenAttributions */
/** @typedef {import('../run/explain/explain.js').Cell} Cell */
/** @typedef {import('../run/explain/explain.js').Explanation} Explanation */
/** @typedef {import('../run/inspect/trace.js').TraceRow} TraceRow */
/** @typedef {import('../train/training_worker.js').TrainStep} TrainStep */
/** @typedef {import('../train/examples.js').ExampleSet} ExampleSet */
/** @typedef {import('../train/examples.js').TrainExample} TrainExample */
/** @typedef {import('../train/examples.js').ExampleList} ExampleList */
/** @typedef {import('../train/training_worker.js').Score} Score */
/** @typedef {import('./load_types.js').SourceParts} SourceParts */
/** @typedef {import('./load_types.js').Source} Source */
/** @typedef {import('./load_types.js').DownloadOption} DownloadOption */
/** @typedef {import('./load_types.js').LoadOnly} LoadOnly */
/** @typedef {import('./load_types.js').CreateOptions} CreateOptions */
/** @typedef {import('./load_types.js').Switches} Switches */
/** @typedef {import('./load_types.js').WeightName} WeightName */
/** @typedef {import('./load_types.js').LoadOptions} LoadOptions */
/** @typedef {import('../base/errors.js').ErrorCode} ErrorCode */
/** @typedef {import('../engine/config/presets.js').Preset} Preset */
/**
 * @typedef {import('../engine/config/config_input.js').ConfigInput} ConfigInput the JSON of any config.json that is
 *   read, our own fields, or a preset's name
 */
/** @typedef {import('../engine/config/config_fields.js').CamelConfig} Config our own fields, camelCase */
/** @typedef {import('./call_types.js').GenerateOptions} GenerateOptions */
/** @typedef {import('./call_types.js').GenerateExtras} GenerateExtras */
/** @typedef {import('./call_types.js').SessionGenerateOptions} SessionGenerateOptions */
/** @typedef {import('./call_types.js').ForwardOptions} ForwardOptions */
/** @typedef {import('./call_types.js').ForwardResult} ForwardResult */

/** @typedef {import('./dictionary.js').Feature} Feature */
/** @typedef {import('./dictionary.js').DictionaryOptions} DictionaryOptions */
/** @typedef {import('../train/dictionaries/dictionary_run.js').DictionaryStep} DictionaryStep */
/** @typedef {import('../train/dictionaries/dictionary_report.js').DictionaryReport} DictionaryReport */
/** @typedef {import('../train/dictionaries/sparse_dictionary.js').TokenFeatures} TokenFeatures */
/** @typedef {import('./training.js').TrainOptions} TrainOptions */
