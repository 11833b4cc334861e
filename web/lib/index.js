/// <reference lib="esnext.disposable" preserve="true" />
// index.js - the package: models, sessions, tokenizers, and counting without weights
//
// Nothing heavy lives here. A model runs in a module worker of its own (the default in browsers) or in this thread
// (the default in Node); both are spoken to through remote.js.
import { callOptions, idsOf, inputOf, limitsOf, logitsOf, messagesOf } from './arguments.js';
import { GlassformerError, CODES, fail, guarded, guardedAsync } from './formats/errors.js';
import { LIMITS, number, textOf } from './formats/given.js';
import { camelConfig } from './formats/config.js';
import { configOf, countParameters as count, estimate as estimated } from './formats/estimate.js';
import { PRESETS } from './formats/presets.js';
import { forgotten, kept } from './lifetime.js';
import { engineModule } from './binary.js';
import { whyNoThreads } from './features.js';
import { hasStream, loadOptions, sourceOf, watchedProgress } from './loading.js';
import { Here, There } from './remote.js';
import { startWorker } from './start.js';
import { Session } from './session.js';
import { Tokenizer } from './tokenizer.js';
import { Training } from './training.js';

export { CODES, GlassformerError, PRESETS, Session, Tokenizer, Training };

/** @typedef {string | URL | Blob | ArrayBuffer | Uint8Array} Bytes in Node a string may be a path */
/** @typedef {import('./formats/streamed.js').Streamed} Streamed what a fetch answered, or a stream of bytes; it can be read once */
/** @typedef {ArrayLike<number>} Ids */
/** @typedef {import('./engine.js').Tensor} Tensor row-major, a copy */
/** @typedef {import('./engine.js').MemoryMap} MemoryMap */
/** @typedef {import('./capture.js').Edit} Edit */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./formats/roster.js').ParameterRow} ParameterRow */
/** @typedef {import('./formats/roster.js').ParameterTable} ParameterTable */
/** @typedef {import('./formats/estimate.js').Estimate} Estimate */
/** @typedef {import('./model.js').LoadedTable} LoadedTable */
/** @typedef {import('./model.js').Progress} Progress */
/** @typedef {import('./lens.js').LensToken} LensToken */
/** @typedef {import('./lens.js').Attribution} Attribution */
/** @typedef {import('./explain.js').Cell} Cell */
/** @typedef {import('./explain.js').Explanation} Explanation */
/** @typedef {import('./trace.js').TraceRow} TraceRow */
/** @typedef {import('./train_worker.js').TrainStep} TrainStep */
/**
 * .gguf, a safetensors file with its config, llama2.c's .bin; a folder (an address or path ending in "/", or the files of
 * one, as a file input gives them); 'hf:owner/name[@revision][/file.gguf]'; or a Response or ReadableStream, also for single parts.
 * @typedef {Bytes | Streamed | ArrayLike<File> | {weights: Bytes | Streamed | (Bytes | Streamed)[], config?: Bytes | Streamed | object, tokenizer?: Bytes | Streamed | object}} Source
 */
/** @typedef {import('./formats/errors.js').ErrorCode} ErrorCode */
/** @typedef {import('./formats/presets.js').Preset} Preset */
/** @typedef {import('./formats/config_input.js').ConfigInput} ConfigInput the JSON of any config.json that is read, our own fields, or a preset's name */
/**
 * Our own fields, camelCase.
 * @typedef {object} Config
 * @property {'decoder'|'encoder'|'encoder_decoder'} kind
 * @property {number} vocabSize
 * @property {number} dModel
 * @property {number} nLayers
 * @property {number} nEncoderLayers
 * @property {number} nHeads
 * @property {number} nKvHeads
 * @property {number} dHead
 * @property {number} dFf
 * @property {number} contextLength
 * @property {'layernorm'|'rmsnorm'} norm
 * @property {number} normEps            inside the square root
 * @property {'pre'|'post'} normPlacement
 * @property {boolean} finalNorm
 * @property {boolean} qkNorm
 * @property {'relu'|'gelu_erf'|'gelu_tanh'|'swiglu'} ffn
 * @property {'none'|'sinusoidal'|'learned'|'rope'} position
 * @property {number} ropeTheta
 * @property {'half'|'adjacent'} ropePairs
 * @property {'none'|'linear'|'llama3'} ropeScaling
 * @property {number} ropeFactor
 * @property {number} ropeLowFreqFactor
 * @property {number} ropeHighFreqFactor
 * @property {number} ropeOriginalContext
 * @property {boolean} biasQkv
 * @property {boolean} biasAttnOut
 * @property {boolean} biasFfn
 * @property {boolean} biasNorm
 * @property {boolean} biasHead
 * @property {number} slidingWindow      0: none
 * @property {boolean} tieWordEmbeddings
 * @property {number} embeddingScale
 * @property {boolean} sharedEmbedding
 * @property {boolean} causal
 * @property {boolean} scaleScores
 * @property {boolean} usePosition
 * @property {boolean} useResidual
 * @property {boolean} useNorm
 * @property {boolean} useFinalNorm
 */
/**
 * @typedef {object} LoadOptions
 * @property {'keep'|'f32'|'f16'|'q8_0'|'q4_0'} [dtype]  how matrices are kept; 'keep' (default): as the file stores them; 'f32': for exact work
 * @property {'keep'|'f32'|'f16'|'q8_0'|'q4_0'} [quantize]  older name of dtype; refused when both are given and differ
 * @property {number} [contextLength]        most positions of a run; default: the model's own. More is refused where positions are learned, and a warning elsewhere
 * @property {number} [threads]              in a worker of a cross-origin isolated page, or of Node; default: what suits machine and model
 * @property {'auto'|'simd'|'relaxed'} [backend]
 * @property {'f32'|'f16'|'q8_0'|'q8'} [kvDtype]  how keys and values are kept; default f32; 'q8' is the older name of 'q8_0'
 * @property {'f32'|'f16'|'q8_0'|'q8'} [kvCache]  older name of kvDtype; refused when both are given and differ
 * @property {boolean | string | URL | (() => Worker | Promise<Worker>)} [worker]  true: the package's own worker (default in browsers); false: the calling
 *   thread (default in Node); the address of a copy of its file dist/worker.js; or a function that starts a worker which imports 'glassformer/worker'
 * @property {Bytes | Response | WebAssembly.Module} [wasm]  instead of the package's own file
 * @property {typeof globalThis.fetch} [fetch]
 * @property {'none'|'cache-storage'|'opfs'} [cache]  browsers: keep what was downloaded; default none
 * @property {string} [sha256]               of the one weight file, 64 hexadecimal digits; refused when it differs
 * @property {{causal?: boolean, scaleScores?: boolean, usePosition?: boolean, useResidual?: boolean, useNorm?: boolean, useFinalNorm?: boolean}} [switches]
 *   false leaves that idea out of the loaded model, to see what it was worth; `create` takes the same in its configuration
 * @property {string} [hfEndpoint]           instead of https://huggingface.co
 * @property {AbortSignal} [signal]
 * @property {(p: Progress) => void} [onProgress]  bytes; `total` may be unknown. One that throws ends the load with code 'callback'; a promise that it returns is not
 *   waited for
 */
/**
 * @typedef {object} GenerateOptions
 * @property {number} [maxTokens]           default: until the context is full
 * @property {number} [temperature]         default 1; 0: the most likely token
 * @property {number} [topK]                default 0: off
 * @property {number} [topP]                default 1: off
 * @property {number} [minP]                default 0: off
 * @property {number} [repetitionPenalty]   default 1: off
 * @property {number} [seed]                0 .. 2^53 - 1; drawn when absent and told in the summary; of several prompts the i-th draws with seed + i
 * @property {string | string[]} [stop]     the text before a stop string is given out, the stop string is not
 * @property {number} [logprobs]            how many of the most likely tokens each step tells
 * @property {boolean} [ignoreEos]          go on after an end token, which then is a step
 * @property {number} [beams]               above 1: beam search; steps come when it has ended
 * @property {number} [lengthPenalty]       of a beam search, default 0.6; a sequence of n tokens scores sum(logprob) / ((5 + n) / 6)^lengthPenalty
 * @property {string | Ids | (string | Ids)[]} [source]  what an encoder_decoder reads; of several prompts one for all, or a list
 * @property {ArrayLike<number> | ArrayLike<number>[]} [sourceMask]  0 hides a position of the source; of several sources, a list of such
 * @property {string[]} [capture]           points by name; see Model.points
 * @property {number} [captureBudget]       most bytes of one capture; default 512 MiB
 * @property {Edit[]} [edits]
 * @property {boolean} [addSpecialTokens]   for a text prompt; default true
 * @property {AbortSignal} [signal]
 */
/**
 * @typedef {object} ForwardOptions
 * @property {string | Ids | (string | Ids)[]} [source]
 * @property {ArrayLike<number> | ArrayLike<number>[]} [sourceMask]  0 hides a position of the source; of several sources, a list of such
 * @property {ArrayLike<number> | ArrayLike<number>[]} [mask]        encoders: 0 hides a position; decoders: 0 marks padding at the end
 * @property {string[]} [capture]
 * @property {number} [captureBudget]
 * @property {Edit[]} [edits]
 * @property {boolean} [addSpecialTokens]
 * @property {AbortSignal} [signal]
 */
/**
 * @typedef {object} ForwardResult
 * @property {Tensor} logits    [positions, vocab_size]; of several sequences [sequence, positions, vocab_size], where a shorter one ends in
 *   zeros. An encoder has none: see hidden
 * @property {Tensor} [hidden]  encoders: the last states [positions, d_model]
 * @property {Record<string, Tensor>} captured  by point name
 */

/**
 * What training a model takes; rates and decays as in the papers of AdamW (Loshchilov & Hutter 2019) and Muon (Jordan et al. 2024).
 * @typedef {object} TrainOptions
 * @property {number} [steps]         default 500
 * @property {number} [batchTokens]   of one step, at most: whole sequences of the context; default 1024
 * @property {number} [vocabSize]     byte-pair encoding learnt from the text, 257 (bytes alone) to 8192 tokens; default 512
 * @property {Bytes | Tokenizer | object | null} [tokenizer]  instead: a vocabulary that an earlier run learnt, its Training.tokenizer, GGUF or
 *   tokenizer.json
 * @property {number} [lr]            AdamW's learning rate; default 0.003
 * @property {boolean} [muon]         matrices of attention and feed-forward layers by Muon; default true
 * @property {number} [muonLr]        default 0.02
 * @property {number} [dropout]       share of each sublayer's output; default 0
 * @property {number} [warmup]        share of the steps in which the rates rise; default 0.02
 * @property {number} [finalRate]     share of the rates that a cosine leaves at the end; default 0.02
 * @property {number} [weightDecay]   decoupled, matrices only; default 0.1
 * @property {number} [clip]          the gradient's largest norm; default 1, 0: none
 * @property {number} [seed]          0 .. 2^53 - 1; default 1. One seed, one model
 * @property {string | Uint8Array | ArrayBuffer | Blob | number | null} [validation]  a text to validate on, or the share of the data to hold out for it
 * @property {number} [validateEvery] steps; default 50, 0: only after the last
 * @property {Uint8Array | null} [checkpoint]  go on from Training.checkpoint(), to the bit; data and configuration must be the same
 * @property {string | URL | (() => Worker | Promise<Worker>)} [worker]  the address of a copy of dist/train_worker.js, or a function that starts a
 *   worker which imports 'glassformer/train_worker'; default: the package's own
 * @property {AbortSignal} [signal]   ends the run as dispose does; what waits and what comes after rejects with its reason
 */

const isNode = !!globalThis.process?.versions?.node;

/**
 * Load a checkpoint. Bytes stream to their final place, the file is never held whole; on any failure nothing stays.
 * @param {Source} source
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}
 */
export async function load(source, options = {}) {
  const from = sourceOf(source), checked = loadOptions('load', options);
  return guardedAsync(async () => {
    const streamed = hasStream(from) ? (await import('./formats/streamed.js')).addressed(from, checked.fetch) : null;
    if (!streamed) return open('load', from, checked);
    try {
      return await open('load', streamed.source, { ...checked, fetch: streamed.fetch });
    } finally {
      streamed.close();
    }
  }, checked.signal);
}

/**
 * A model with random weights: normal with standard deviation 0.02, gains 1, biases 0. One seed, one model, everywhere.
 * @param {ConfigInput} config
 * @param {{seed?: number} & Omit<LoadOptions, 'cache'|'fetch'|'hfEndpoint'|'sha256'|'switches'>} [options]
 * @returns {Promise<Model>}
 */
export async function create(config, options = {}) {
  const complete = guarded(() => configOf(config)), checked = loadOptions('create', options);
  return guardedAsync(() => open('create', complete, checked), checked.signal);
}

/**
 * A configuration with all that it leaves open filled in, as the model that `create` makes of it tells it.
 * @param {ConfigInput} config
 * @returns {Config}
 */
export function completeConfig(config) {
  return /** @type {any} */ (guarded(() => camelConfig(configOf(config))));
}

/**
 * Count every parameter of a configuration: no weights, no allocation.
 * @param {ConfigInput} config
 * @returns {ParameterTable}
 */
export function countParameters(config) { return guarded(() => count(config)); }

/**
 * What running a configuration costs: parameters, FLOPs and bytes.
 * @param {ConfigInput} config
 * @param {Parameters<typeof estimated>[1]} options  dtype of the weights (f32), kvDtype of the cache (f16; 'q8' is the older name of 'q8_0')
 * @returns {Estimate}
 */
export function estimate(config, options) { return guarded(() => estimated(config, options)); }

/** @param {'load'|'create'} method @param {any} what @param {Record<string, any>} options  checked */
async function open(method, what, options) {
  const { worker = !isNode, signal: given, onProgress: told, fetch, wasm, backend, ...rest } = options;
  if (worker && typeof worker !== 'function' && typeof Worker === 'undefined' && !isNode) fail('unsupported', 'there are no workers here: use { worker: false }');
  given?.throwIfAborted();
  const { signal, onProgress, end } = watchedProgress(told, given);
  /** @type {import('./remote.js').Remote | null} */
  let remote = null;
  try {
    const engine = engineModule({ backend, wasm, threaded: whyNoThreads(rest.threads, !!worker) === null });
    engine.catch(() => {}); // reported by the call that needs it
    const { worker: started = null, address = null } = worker ? await startWorker('worker', worker, signal) : {};
    remote = started ? new There(started) : new Here();
    const info = await remote.call(method, [what, rest], { signal, onProgress, fetch, engine, helper: address ?? undefined });
    signal?.throwIfAborted();
    return new Model(remote, info);
  } catch (error) {
    remote?.close();
    throw error;
  } finally {
    end();
  }
}

/**
 * Train a model on a text, in a worker, step by step as they are read:
 * `for await (const { step, loss } of train({ d_model: 64, n_layers: 2, n_heads: 4 }, text)) ...`
 * @param {ConfigInput} config  our own fields, or a preset's name; vocab_size comes from the vocabulary, context_length is 128 where nothing else is said
 * @param {string | Uint8Array | ArrayBuffer | Blob} data  stories, with <|endoftext|> between them; a text without is cut into windows of the
 *   context. For an encoder_decoder lines of source, tab, target
 * @param {TrainOptions} [options]
 * @returns {Training} at once; what cannot be trained rejects its first step
 */
export function train(config, data, options = {}) {
  return new Training(async (begun) => (await guardedAsync(() => import('./train.js'))).startRun(config, data, options, begun), load);
}

/**
 * How much gradient reaches each layer of a fresh decoder (weights normal(0, 0.02)), in one pass over random tokens. With
 * `norm_placement: 'post'`, `use_norm: false` or `use_residual: false` in the configuration: what Xiong et al. 2020 say of norms, and He et
 * al. 2016 of residuals.
 * @param {ConfigInput} config  as for train; vocab_size is 256
 * @param {{seed?: number, tokens?: number, signal?: AbortSignal}} [options]  tokens: default 256
 * @returns {Promise<{weights: number, stream: number}[]>} by layer, first layer first, root mean squares: weights of the loss's gradient
 *   (nats a token) with respect to the block's matrices, stream of the residual stream itself behind the block
 */
export async function depth(config, options = {}) {
  return (await guardedAsync(() => import('./train.js'))).depth(config, options);
}

/** @param {unknown} error @returns {AsyncGenerator<any, any, void>} which is refused when its first step is asked for */
async function* refusal(error) { throw error; }

/** A loaded model. It never changes; runs and sessions on it are independent of one another. */
export class Model {
  #remote;
  #info;
  #limits;
  /** @type {Promise<Tokenizer> | null} */
  #tokenizer = null;
  #disposed = false;

  /** Called by load and create. @param {import('./remote.js').Remote} remote @param {any} info */
  constructor(remote, info) {
    this.#remote = remote;
    this.#info = info;
    Object.freeze(info.config); // flat: every field is a number, a word, or true or false
    this.#limits = limitsOf(info);
    forgotten.register(this, () => remote.close(), this);
  }

  /** @param {Parameters<import('./remote.js').Remote['call']>} args */
  #call(...args) { return kept(this.#remote.call(...args), this); }

  /** Frozen; completeConfig gives one to change. @returns {Readonly<Config>} */
  get config() { return this.#info.config; }
  /** Every weight as it is kept, held against the engine's own list; rows also tell `address` and `memoryBytes`.
   * @returns {LoadedTable} */
  get parameters() { return this.#info.parameters; }
  /** What computes, and why not with threads: "relaxed, signed dot, 2 threads", "simd128, one thread: the page is not cross-origin
   * isolated", ... @returns {string} */
  get backend() { return this.#info.backend; }
  /** What the file held that was not needed, and weights kept otherwise than asked. @returns {string[]} */
  get warnings() { return this.#info.warnings; }
  /** Linear memory, as of the last answer of the engine. @returns {MemoryMap} */
  get memory() { return this.#remote.memory(); }
  /** Token ids that begin a text (of an encoder_decoder: a target) and that end it. @returns {{bos: number | null, eos: number[]}} */
  get special() { return this.#info.special; }
  /** Most positions of a run. @returns {number} */
  get contextLength() { return this.#info.contextLength; }
  /** The Jinja template that came with the model and that chat uses; null without one. @returns {string | null} */
  get chatTemplate() { return this.#info.chatTemplate; }
  /**
   * The model's tokenizer on this side, for what should not wait: `const tokenizer = await model.tokenizer`, then `tokenizer.encode(text)` and
   * `tokenizer.decode(ids)` at once. Null without one. Built when it is first asked for, so that a load does not wait for it; it is the caller's
   * and works on after the model was disposed.
   * @returns {Promise<Tokenizer> | null}
   */
  get tokenizer() {
    if (!this.#info.hasTokenizer) return null;
    this.#tokenizer ??= guardedAsync(() => Promise.all([import('./model_tokenizer.js'), this.#call('tokenizerText', [])]).then(([{ tokenizerOf }, text]) => tokenizerOf(text)));
    this.#tokenizer.catch(() => { this.#tokenizer = null; });
    return this.#tokenizer;
  }

  /**
   * @param {string} text special tokens in it are parsed
   * @param {{addSpecialTokens?: boolean}} [options] default true, as in Hugging Face
   * @returns {Promise<number[]>}
   */
  async encode(text, options) { return this.#call('encode', [textOf(text, 'the text'), callOptions('encode', options)[0]]); }

  /** @param {Ids} ids @returns {Promise<string>} */
  async decode(ids) { return this.#call('decode', [idsOf(ids, 'list of ids', this.#limits.vocab)]); }

  /**
   * Continue a prompt, token by token. `break` stops the engine; an aborted signal rejects with its reason. Several prompts
   * at once: steps say which `sequence` they belong to, and the summary's `sequences` hold each prompt followed by its new tokens.
   * An empty prompt is refused; that of an encoder_decoder, whose `source` has to hold something, is the token that begins a target.
   * @param {string | Ids | (string | Ids)[]} prompt
   * @param {GenerateOptions} [options]
   * @returns {AsyncGenerator<Step, Summary, void>}
   */
  generate(prompt, options) {
    try {
      const [rest, hooks] = callOptions('generate', options, this.#limits);
      return kept(this.#remote.generate([inputOf(prompt, 'prompt', this.#limits, true), rest], hooks), this);
    } catch (error) { return refusal(error); }
  }

  /**
   * Continue a conversation: the messages go through the chat template that came with the model.
   * @param {{role: string, content: string}[]} messages
   * @param {GenerateOptions & {template?: Record<string, any>}} [options]  template: further values for the template
   * @returns {AsyncGenerator<Step, Summary, void>}
   */
  async *chat(messages, options) {
    const [{ template, ...rest }, hooks] = callOptions('chat', options, this.#limits), list = messagesOf(messages);
    const prompt = await guardedAsync(async () => (await import('./chat.js')).chatPrompt(this.#info, list, template, (ids) => this.decode(ids)));
    return yield* this.generate(prompt, { ...rest, ...hooks, addSpecialTokens: false });
  }

  /** @param {string} call @param {any} input @param {any} options @param {boolean} [many]  whether several sequences are taken */
  async #ask(call, input, options, many) {
    const [rest, hooks] = callOptions(call, options, this.#limits);
    return this.#call('more', [call, [inputOf(input, 'input', this.#limits, many), rest]], hooks);
  }

  /**
   * Run a whole sequence and tell the logits after each position, and whatever was captured.
   * @param {string | Ids | (string | Ids)[]} input
   * @param {ForwardOptions} [options]
   * @returns {Promise<ForwardResult>}
   */
  async forward(input, options) {
    return this.#ask('forward', input, options, true);
  }

  /**
   * Encoders: the mean of the hidden states.
   * @param {string | Ids} input
   * @param {{mask?: ArrayLike<number>, addSpecialTokens?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<Tensor>} [d_model]
   */
  async embed(input, options) {
    return this.#ask('embed', input, options, true);
  }

  /**
   * The probabilities from which a token would be drawn: the sampler applied to logits, without running the model.
   * @param {ArrayLike<number>} logits [vocab_size]
   * @param {Pick<GenerateOptions, 'temperature'|'topK'|'topP'|'minP'|'repetitionPenalty'> & {seen?: Ids}} [options]  seen: tokens that
   *   the repetition penalty counts
   * @returns {Promise<Float32Array>}
   */
  async distribution(logits, options) {
    return this.#call('more', ['distribution', [logitsOf(logits), callOptions('distribution', options, this.#limits)[0]]]);
  }

  /**
   * What the model would say after each layer: final norm and head applied to the residual stream.
   * @param {string | Ids} input
   * @param {{top?: number, source?: string | Ids, sourceMask?: ArrayLike<number>, addSpecialTokens?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<LensToken[][][]>} [layer][position], the `top` (5) most likely tokens; the last layer's are the model's own
   */
  async logitLens(input, options) {
    return this.#ask('logitLens', input, options);
  }

  /**
   * One logit as a sum: embedding, each head, each feed-forward layer, biases; every norm's scale held at what it was.
   * @param {string | Ids} input
   * @param {{token?: number | string, position?: number, source?: string | Ids, sourceMask?: ArrayLike<number>, addSpecialTokens?: boolean, signal?: AbortSignal}} [options]
   *   token: default the most likely one; position: default the last
   * @returns {Promise<Attribution>}
   */
  async attribution(input, options) {
    return this.#ask('attribution', input, options);
  }

  /**
   * One number and the terms that made it: a cell of any point (see `points`), or a logit. Each term says where its input was made, so that
   * asking goes on.
   * @param {string | Ids} input
   * @param {Omit<Cell, 'position'> & {position?: number, source?: string | Ids, sourceMask?: ArrayLike<number>, addSpecialTokens?: boolean, signal?: AbortSignal}} options
   *   at: a point's name, or 'logits'; position: default the last; head; index: place in the row, key of a score or pattern, token of a logit
   * @returns {Promise<Explanation>}
   */
  async explain(input, options) {
    return this.#ask('explain', input, options);
  }

  /**
   * Every operation of one pass, in order: shapes, parameters, FLOPs, bytes moved, measured time.
   * @param {string | Ids} input
   * @param {{source?: string | Ids, sourceMask?: ArrayLike<number>, addSpecialTokens?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<TraceRow[]>}
   */
  async trace(input, options) {
    return this.#ask('trace', input, options);
  }

  /**
   * A weight's numbers, dequantised: a vector, or one row of a matrix.
   * @param {string} name as in `parameters`
   * @param {number} [row]
   * @returns {Promise<Float32Array>}
   */
  async weight(name, row = 0) { return this.#call('more', ['weight', [textOf(name, 'the name of a weight', LIMITS.word), number(row, 'row', null)]]); }

  /** Every point that capture and edits can name. @returns {Promise<string[]>} */
  async points() { return this.#call('pointNames', []); }

  /**
   * A timeline that the caller drives.
   * @param {{source?: string | Ids, sourceMask?: ArrayLike<number>, capture?: string[], captureBudget?: number, edits?: Edit[], signal?: AbortSignal}} [options]
   * @returns {Promise<Session>}
   */
  async session(options) {
    const [rest, hooks] = callOptions('session', options, this.#limits);
    return new Session(this, this.#remote, this.#limits, await this.#call('session', ['open', [rest]], hooks));
  }

  /** Free everything. Runs under way fail with 'bad-state'. */
  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    forgotten.unregister(this);
    this.#remote.close();
  }

  [Symbol.dispose]() { this.dispose(); }
}
