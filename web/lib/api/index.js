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
import { addressed } from '../base/checks.js';
import { camelConfig } from '../engine/config/config.js';
import { parameterTable } from '../engine/config/weight_roster.js';
import { DictionaryTraining } from './dictionary.js';
import { configOf, estimate as estimated } from './estimate.js';
import { hasStream, loadOptions, checkedSource } from './input/load_options.js';
import { openModel } from './open_model.js';
import { packageFiles } from './package_files.js';
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
 * @param {import('../engine/config/config_input.js').TrainConfig} config  as for train; vocab_size is 256
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
 * A tensor as a file of numpy (numpy.save).
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
 * Tensors by name, such as `captured`, as a safetensors file.
 * @param {Record<string, Tensor>} tensors
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 * @example
 * const { captured } = await model.forward([1, 2, 3], { capture: ['*.hook_pattern'] });
 * const bytes = await toSafetensors(captured);
 */
export async function toSafetensors(tensors) {
  return (await import('../files/bytes/tensor_files.js')).toSafetensors(tensors);
}

// ---- types of options and results

/** @typedef {import('../files/bytes/open_file.js').Bytes} Bytes in Node a string may be a path */
/**
 * @typedef {import('../base/streamed.js').Streamed} Streamed what a fetch answered, or a stream of bytes; it can be
 *   read once
 */
/** @typedef {ArrayLike<number>} Ids */
/** @typedef {import('../engine/engine.js').Tensor} Tensor row-major, a copy; JSON.stringify gives { shape, data } */
/** @typedef {import('../engine/engine.js').MemoryMap} MemoryMap */
/** @typedef {import('../run/inspect/edits.js').Edit} PointEdit */
/** @typedef {PointEdit | FeatureEdit} Edit */
/**
 * A change of a feature of a dictionary: its value z becomes scale z + add, that is, the difference times the feature's
 * direction is added to the values. Consecutive edits of one dictionary read its features before the values change.
 * @typedef {object} FeatureEdit
 * @property {import('./dictionary.js').Dictionary} dictionary
 * @property {number} feature
 * @property {number} [scale]    default 1; 0 removes the feature
 * @property {number} [add]      default 0
 * @property {string} [at]       default: the dictionary's own point
 * @property {import('../run/inspect/edits.js').Edit['position']} [position]  as of other edits; default: all
 */
/** @typedef {import('../run/generate.js').Step} Step */
/** @typedef {import('../run/generate.js').Summary} Summary */
/** @typedef {import('../engine/config/weight_roster.js').ParameterRow} ParameterRow */
/** @typedef {import('../engine/config/weight_roster.js').ParameterTable} ParameterTable */
/** @typedef {import('./estimate.js').Estimate} Estimate */
/** @typedef {import('../run/loaded_table.js').LoadedTable} LoadedTable */
/** @typedef {import('../run/loaded_model.js').Progress} Progress */
/** @typedef {import('../run/inspect/classify.js').Classification} Classification */
/** @typedef {import('../run/inspect/classify.js').TokenClassification} TokenClassification */
/** @typedef {import('../run/inspect/words.js').LabelledSpan} LabelledSpan */
/** @typedef {import('../run/inspect/classify.js').LabelScore} LabelScore */
/** @typedef {import('../run/loaded_model.js').Pooling} Pooling */
/** @typedef {import('../run/loaded_model.js').PoolingKind} PoolingKind */
/** @typedef {import('../run/inspect/logit_lens.js').LensToken} LensToken */
/** @typedef {import('../run/inspect/attribution.js').Attribution} Attribution */
/** @typedef {import('../run/inspect/loss.js').Loss} Loss */
/** @typedef {import('../run/analysis/metric.js').Metric} Metric */
/** @typedef {import('../run/analysis/sweep.js').Grid} Grid */
/** @typedef {import('../run/analysis/sweep.js').Sweep} Sweep */
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
/**
 * The parts of a checkpoint. config and tokenizer replace those beside the weights.
 * @typedef {object} SourceParts
 * @property {Bytes | Streamed | readonly (Bytes | Streamed)[]} weights  one file, or all files of a sharded checkpoint
 * @property {Bytes | Streamed | object} [config]     a config.json, as a file or as an object
 * @property {Bytes | Streamed | object} [tokenizer]  a tokenizer.json, as a file or as an object
 */
/**
 * A checkpoint: a .gguf file or the first of its parts, a safetensors file, a PyTorch state dict (.pt, .pth, .bin),
 * llama2.c's .bin; a folder (an address or path ending
 * in "/", or the files of a file input); 'hf:owner/name[@revision][/file.gguf]'; or a Response or ReadableStream.
 * @typedef {Bytes | Streamed | ArrayLike<File> | SourceParts} Source
 */
/**
 * @typedef {LoadOnly | 'fetch' | 'headers' | 'hfEndpoint' | 'sha256' | 'token'} DownloadOption
 * @typedef {'adapters' | 'cache' | 'cacheDir' | 'chatTemplate' | 'config' | 'names' | 'switches'} LoadOnly
 */
/**
 * Options of `create`: those of `load` that do not concern files, and `seed`, 0 .. 2^53 - 1, drawn when absent.
 * @typedef {{seed?: number} & Omit<LoadOptions, DownloadOption>} CreateOptions
 */
/** @typedef {import('../base/errors.js').ErrorCode} ErrorCode */
/** @typedef {import('../engine/config/presets.js').Preset} Preset */
/**
 * @typedef {import('../engine/config/config_input.js').ConfigInput} ConfigInput the JSON of any config.json that is
 *   read, our own fields, or a preset's name
 */
/** @typedef {import('../engine/config/config_fields.js').CamelConfig} Config our own fields, camelCase */
/**
 * Parts of the architecture; false removes the part.
 * @typedef {object} Switches
 * @property {boolean} [causal]        the causal mask
 * @property {boolean} [scaleScores]   the division of scores by sqrt(d_head)
 * @property {boolean} [usePosition]   position embeddings, or RoPE
 * @property {boolean} [useResidual]   residual connections
 * @property {boolean} [useNorm]       the norms inside the blocks
 * @property {boolean} [useFinalNorm]  the norm before the head
 */
/**
 * The name of a tensor in a file; transposed: it is stored [in, out]; gain: that of a norm is stored minus 1, or the
 * norm divides by the standard deviation of the sample.
 * @typedef {string |
 *   {name: string, transposed?: boolean, gain?: 'factor' | 'minus-one' | 'sample-deviation'}} WeightName
 */
/**
 * @typedef {object} LoadOptions
 * @property {'keep'|'f32'|'f16'|'q8_0'|'q4_0'|'q6_k'|'q5_0'|'q4_k'} [dtype] of matrices in memory; default 'keep': as
 *   the file stores them; 'f32' gives the most exact numbers
 * @property {number} [contextLength] maximum sequence length in tokens; default: the model's own. More than that adds a
 *   warning, and is refused where positions are learned
 * @property {number} [threads] 1 to 64; several compute in a worker, and a page has to be cross-origin isolated;
 *   default: in a worker what suits machine and model, otherwise 1
 * @property {'auto'|'simd'|'relaxed'} [backend] which binary; default 'auto': relaxed SIMD where there is some. Both
 *   give the same numbers
 * @property {'f32'|'f16'|'q8_0'} [kvDtype] of the key/value cache; default: 'f16' where the model's matrices are
 *   quantised, else 'f32'. 'q8_0' takes half the memory of 'f16' and is less exact. A pass with a key or value above
 *   65504, which 'f16' cannot hold, is refused as `not-finite`
 * @property {boolean | string | URL | (() => Worker | Promise<Worker>)} [worker] true: the package's own worker
 *   (default in browsers, and in Node with several threads); false: the calling thread (default in Node and where there
 *   are no workers); the address of a copy of its file dist/worker.js with dist/worker_more.js beside it; or a function
 *   that starts a worker which imports 'glassformer/worker'
 * @property {Bytes | Response | WebAssembly.Module} [wasm]  the engine's binary, instead of the package's own file
 * @property {typeof globalThis.fetch} [fetch] makes the requests for the model's files; called in the calling thread;
 *   default: the global one
 * @property {'none'|'cache-storage'|'opfs'|'file'} [cache] store downloads: in browsers 'cache-storage' or 'opfs', in
 *   Node 'file'; default none
 * @property {string} [chatTemplate] a Jinja template for `chat`, instead of the one in the model's files
 * @property {string} [cacheDir] the folder of cache 'file'; default: `glassformer` in the user's cache folder
 *   ($XDG_CACHE_HOME or ~/.cache, ~/Library/Caches, %LOCALAPPDATA%)
 * @property {string} [sha256]               expected SHA-256 of the weight file, 64 hexadecimal digits; another file
 *   is rejected
 * @property {readonly {source: Source, scale?: number}[]} [adapters] LoRA adapters of a safetensors, PyTorch or GGUF
 *   checkpoint: a folder of PEFT with adapter_config.json and adapter_model.safetensors, { weights, config }, or a GGUF
 *   of llama.cpp. Each is multiplied by its scale, default 1, and added to the weights in f32, before they are stored
 *   as `dtype`
 * @property {Switches} [switches] removes parts from the loaded model, to see what they contribute; `create` takes the
 *   same fields in its configuration
 * @property {Record<string, any>} [config] of safetensors and PyTorch checkpoints: keys that replace those of its
 *   files, or complete what is read off the tensors where there is no config.json: { n_head: 12 }
 * @property {Record<string, WeightName | readonly string[]> | ((name: string) => WeightName | null | undefined)}
 *   [names] of the tensors in safetensors and PyTorch files: an object with our names as keys (see Model.parameters;
 *   `N` stands for the layer, .weight and .bias may be left out, `H` in the file's name stands for the head), or a
 *   function that gets our name and returns the one in the file. Weights with the same name are stacked in one tensor.
 *   The key `ignore` lists tensors that are no weights
 * @property {string} [hfEndpoint]           instead of https://huggingface.co (in Node: $HF_ENDPOINT)
 * @property {string} [token] access token of the hub, for 'hf:' sources; default in Node: $HF_TOKEN, for
 *   https://huggingface.co and $HF_ENDPOINT only
 * @property {Record<string, string> | readonly (readonly [string, string])[] | Headers} [headers] sent with requests to
 *   the origin of the weights' address only; a redirect to another origin is followed without them. In browsers a
 *   redirect is an error, unless the only header is `authorization`
 * @property {AbortSignal} [signal]          aborted: the call rejects with the signal's reason and frees all memory
 * @property {(p: Progress) => void} [onProgress] called at most about 20 times a second with bytes; `total` may be
 *   null. If it throws, the load fails with code 'callback'; a promise that it returns is not awaited
 */
/** @typedef {import('../engine/config/sampler_fields.js').SamplingOptions & GenerateExtras} GenerateOptions */
/**
 * What GenerateOptions has beside the options of the sampler.
 * @typedef {object} GenerateExtras
 * @property {number} [maxTokens]           most new tokens; default: until the context is full
 * @property {number} [presencePenalty] subtracted from the logits of tokens that were generated, not of those of the
 *   prompt, as OpenAI defines it; -100 to 100, default 0: off
 * @property {number} [frequencyPenalty] the same, as often as the token was generated; default 0: off
 * @property {Record<number, number> | Map<number, number>} [logitBias] added to the logits of tokens, by id: -100 to
 *   100, or -Infinity, which excludes the token. All of these changes come before the temperature
 * @property {object | true} [json] a JSON schema: the text is a JSON value that is valid under it; `true`: any value.
 *   A keyword that limits values and is not supported is refused by name, as is a form of a `pattern`. Ends with the
 *   stop reason 'eos' or 'grammar'; a text that maxTokens or the context cuts off is incomplete
 * @property {'compact' | 'any'} [whitespace] between the tokens of `json`; default 'compact': none
 * @property {boolean} [strictSchema] refuse unknown keywords and formats of `json`, which the summary names otherwise
 * @property {string} [grammar] a grammar in GBNF, the form of llama.cpp, whose rule `root` the text follows
 * @property {number} [minTokens] end tokens are excluded, and stop texts that begin there have no effect, in the first
 *   minTokens new tokens; default 0. A complete text of `json` or `grammar` ends in any case
 * @property {number} [seed] 0 .. 2^53 - 1; default: drawn, and reported in the summary. Of several prompts the i-th
 *   draws with seed + i
 * @property {string | readonly string[]} [stop] stop before any of these texts; the text before it is delivered, the
 *   stop text is not
 * @property {number} [logprobs]            how many of the most likely tokens each step lists in `top`; default 0
 * @property {boolean} [ignoreEos] continue after an end token, which is then a step like any other; default false
 * @property {number} [beams] 1 to 64, default 1; above 1: beam search with this many beams; all steps are delivered at
 *   its end. It draws nothing and captures nothing: sampling options, penalties, logitBias, logprobs, capture, json and
 *   grammar are refused beside it
 * @property {number} [lengthPenalty] of a beam search, default 0.6; a sequence of n tokens scores sum(logprob) / ((5 +
 *   n) / 6)^lengthPenalty
 * @property {string | Ids | readonly (string | Ids)[]} [source] encoder-decoders: what the encoder reads; of several
 *   prompts one for all, or a list
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [sourceMask] one number for each position of the source,
 *   0 hides it; of several sources a list of such
 * @property {readonly string[]} [capture]  points by name, `*` matches anything; see Model.points
 * @property {number} [captureBudget]       most bytes of one capture; default 512 MiB
 * @property {readonly Edit[]} [edits]      changes of values inside the model while it runs
 * @property {boolean} [addSpecialTokens]   put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal] aborted: the generator rejects with the signal's reason, and the engine stops
 */
/**
 * Options of Session.generate. Source, captures and edits are options of Model.session.
 * @typedef {Omit<GenerateOptions, 'source'|'sourceMask'|'capture'|'captureBudget'|'edits'|'beams'|'lengthPenalty'>}
 *   SessionGenerateOptions
 */
/**
 * @typedef {object} ForwardOptions
 * @property {string | Ids | readonly (string | Ids)[]} [source] encoder-decoders: what the encoder reads; of several
 *   inputs one for all, or a list
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [sourceMask] one number for each position of the source,
 *   0 hides it; of several sources a list of such
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [mask] encoders: 0 hides a position; decoders: 0 marks
 *   padding at the end
 * @property {string | readonly string[]} [pair]     encoders: a second text, after an input given as text; of several
 *   inputs a list
 * @property {ArrayLike<number> | readonly ArrayLike<number>[]} [tokenTypes] encoders: the type of each token, default
 *   0; of several inputs a list of such
 * @property {readonly string[]} [capture]  points by name, `*` matches anything; see Model.points
 * @property {number} [captureBudget]       most bytes of one capture; default 512 MiB
 * @property {readonly Edit[] | readonly (readonly Edit[])[]} [edits] changes of values inside the model while it runs;
 *   of several inputs also a list of such for each
 * @property {'all' | 'last' | 'none' | readonly number[]} [logits] after which positions; negative ones count from the
 *   end; default all. Few are much faster where the vocabulary is large
 * @property {boolean} [allowNonFinite]     return NaN and infinities, which are otherwise the error not-finite; default
 *   false
 * @property {boolean} [addSpecialTokens]   put the tokens that the tokenizer prescribes around a text; default true
 * @property {AbortSignal} [signal]         aborted: the call rejects with the signal's reason
 */
/**
 * @typedef {object} ForwardResult
 * @property {Tensor} logits [positions, vocab_size], of the positions that the option `logits` names; of several
 *   sequences [sequence, positions, vocab_size], where a shorter one ends in zeros. An encoder has none, except with
 *   the head of a masked language model: see hidden
 * @property {Tensor} [hidden]  encoders: the last states [positions, d_model]
 * @property {Tensor} [pooled]  encoders with a pooler: its output [d_model]
 * @property {Record<string, Tensor>} captured  by point name
 */

/** @typedef {import('./dictionary.js').Feature} Feature */
/** @typedef {import('../train/dictionaries/dictionary_run.js').DictionaryStep} DictionaryStep */
/** @typedef {import('../train/dictionaries/dictionary_report.js').DictionaryReport} DictionaryReport */
/** @typedef {import('../train/dictionaries/sparse_dictionary.js').TokenFeatures} TokenFeatures */
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
 * @property {number} [tokens]     of the text that it learns from; default 100000
 * @property {number} [heldOut]    tokens after them that `report` reads; default 4000
 * @property {number} [epochs]     default 5
 * @property {number} [batch]      tokens of a step; default 512
 * @property {number} [lr]         learning rate of Adam; default 0.006 at a width of 128, falling with its square root
 * @property {number} [decay]      share of the steps, at the end, in which the rate falls to 0; default 0.3
 * @property {number} [seed]       0 .. 2^53 - 1; default 1
 * @property {number} [threads]    1 to 64, as of train; the results are the same
 * @property {string | URL | (() => Worker | Promise<Worker>)} [worker]  as of train
 * @property {AbortSignal} [signal] aborted: the run rejects with the signal's reason
 */
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
 * @property {number} [beta2]         AdamW's beta1; default 0.95
 * @property {number} [eps]           of AdamW; default 1e-8
 * @property {number} [momentum]      of Muon; default 0.95
 * @property {number} [average]       decay of the running average of the weights that the model gets; default 0: none
 * @property {number} [initStd]       standard deviation of the initial weights; default 0.02
 * @property {boolean} [initScaled]   matrices that write to the residual stream begin smaller, by the square root of
 *   twice the layers, as in GPT-2; default true
 * @property {number} [seed]          0 .. 2^53 - 1; default 1. The same seed gives the same model
 * @property {import('../train/lora_order.js').LoraOptions} [lora]  train a low-rank adapter for a loaded decoder (Hu et
 *   al. 2021) by AdamW; its weights stay. A text is encoded with the model's tokenizer, each story between the tokens
 *   that the model puts before and after a text
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
