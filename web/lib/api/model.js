/// <reference lib="esnext.disposable" preserve="true" />
// model.js - a loaded model on the caller's side; run/loaded_model.js is the other end
import { checkedIdList, checkedInput, checkedLogits, limitsOf } from './input/arguments.js';
import { CHECKS, callOptions } from './input/call_options.js';
import { loadOptions } from './input/load_options.js';
import { guardedAsync, refusal } from '../base/errors.js';
import { LIMITS, number, checkedText } from '../base/checks.js';
import { VERSION } from '../base/version.js';
import { unlessAborted } from '../base/event_loop.js';
import { originOf } from './origins.js';
import { withJson } from './tensor_json.js';
import { finalizers, keepAlive, unproxied } from './lifetimes.js';
import { constraining } from '../worker/constraining_remote.js';
import { trainerModule } from '../engine/binary.js';
import { LocalModel } from '../worker/model_caller.js';
import { packageFiles } from './package_files.js';
import { KeptConversation } from './kept_conversation.js';
import { valueOf } from './schema_value.js';
import { Session } from './session.js';
import { freeing } from '../worker/retry_out_of_memory.js';
import { Steps } from './steps.js';

/** @import { Attribution, Config, Edit, Explanation, ForwardOptions, ForwardResult } from './index.js' */
/** @import { GenerateOptions, Ids, LensToken, LoadedTable, MemoryMap, Tensor, TraceRow } from './index.js' */
/** @import { AttributionExtras, ChatExtras, ClassifyExtras, Classified, Completion } from './call_types.js' */
/** @import { DistributionOptions, EmbedExtras, ExplainExtras, LensExtras, LossExtras } from './call_types.js' */
/** @import { Message, PairOptions, ReadOptions, SessionOptions, ValueOf, WritingOptions } from './call_types.js' */
/** @import { Tokenizer } from '../text/tokenizer.js' */
/** @import { Call } from '../worker/model_caller.js' */

/** Calls for research whose first argument is an input. */
const READS = new Set(['sweep', 'pathPatching', 'gradients', 'attributionPatching', 'integratedGradients']);

/**
 * A loaded model, made by `load`, `create` or `Training.model`. Only setAdapter changes its weights; calls and sessions
 * are independent of one another. Arrays in results are copies that belong to the caller. Every method rejects with a
 * GlassformerError: `bad-argument` and `bad-option` for arguments of the wrong type or size (see LIMITS), `bad-state`
 * after `dispose`.
 */
export class Model {
  static {
    unproxied(this);
  }
  #remote;
  #info;
  #limits;
  /** @type {Promise<Tokenizer> | null} */
  #tokenizer = null;
  /** The newest conversation of `chat`. */
  #conversation;
  #disposed = false;
  /** @internal Another number after each change of the weights. */
  weightsVersion = 0;

  /**
   * Called by load and create.
   * @ignore
   * @param {import('../worker/model_caller.js').Remote} remote
   * @param {any} info
   */
  constructor(remote, info) {
    this.#remote = freeing({ remote, generate: constraining(remote, info) }, () => this.#conversation.free());
    this.#info = info;
    Object.freeze(info.config); // every field is a number, a word, true or false, or a list of these
    for (const value of Object.values(info.config)) Object.freeze(value);
    /** @type {WeakMap<object, number>} */
    const numbers = new WeakMap();
    let last = 0;
    this.#limits = limitsOf(info, remote instanceof LocalModel, (dictionary) => {
      const known = numbers.get(dictionary);
      if (known) return known;
      const id = ++last;
      // The call that names it follows, and reports a failure.
      remote.call('addDictionary', [id, dictionary.encoder()]).catch(() => numbers.delete(dictionary));
      dictionary.onDispose(() => remote.call('dropDictionary', [id]).catch(() => {}));
      numbers.set(dictionary, id);
      return id;
    });
    this.#conversation = new KeptConversation(this, this.#remote, this.#info, this.#limits);
    finalizers.register(this, () => remote.close(), this);
  }

  /**
   * @param {Call} method
   * @param {any[]} args
   * @param {{signal?: AbortSignal}} [hooks]
   * @param {(value: any) => unknown} [undo]  undoes what the call opened, when it was aborted
   */
  #call(method, args, hooks, undo) {
    return keepAlive(unlessAborted(this.#remote.call(method, args, hooks), hooks?.signal, undo), this);
  }

  /**
   * The complete configuration, frozen. `completeConfig(model.config)` is a copy that can be changed.
   * @returns {Readonly<Config>}
   */
  get config() {
    return this.#info.config;
  }
  /**
   * Every weight in memory: name, shape, dtype, bytes, and its address in linear memory. The total is compared with the
   * engine's own count.
   * @returns {LoadedTable}
   */
  get parameters() {
    return this.#info.parameters;
  }
  /**
   * The name that the file states: general.name of a GGUF; '' where there is none.
   * @returns {string}
   */
  get name() {
    return this.#info.name;
  }
  /**
   * The binary in use, the number of threads, and the reason when there is only one: "relaxed, signed dot, 2 threads",
   * or "simd128, one thread: the page is not cross-origin isolated".
   * @returns {string}
   */
  get backend() {
    return this.#info.backend;
  }
  /**
   * Sentences about parts of the file that were not needed, weights with another dtype than requested, a context longer
   * than the model's own, a binary that was replaced because it does not compile here, and calls of tools whose form is
   * not known.
   * @returns {string[]}
   */
  get warnings() {
    return this.#info.warnings;
  }
  /**
   * How the engine's linear memory is divided, in bytes, as of the engine's last answer.
   * @returns {MemoryMap}
   */
  get memory() {
    return this.#remote.memory();
  }
  /**
   * Ids of the token that begins a text (of an encoder-decoder: a target) and of those that end it. start: of
   * encoder-decoders of Hugging Face, all tokens before the first one of a target.
   * @returns {{bos: number | null, eos: number[], start?: number[]}}
   */
  get special() {
    return this.#info.special;
  }
  /**
   * The maximum sequence length: prompt plus new tokens.
   * @returns {number}
   */
  get contextLength() {
    return this.#info.contextLength;
  }
  /**
   * How keys and values are stored in the cache.
   * @returns {'f32'|'f16'|'q8_0'}
   */
  get kvDtype() {
    return this.#info.kvDtype;
  }
  /**
   * The Jinja template that came with the model and that `chat` uses; null without one.
   * @returns {string | null}
   */
  get chatTemplate() {
    return this.#info.chatTemplate;
  }
  /**
   * The template that `chat` uses where it is given tools, if it is another one; null otherwise.
   * @returns {string | null}
   */
  get toolTemplate() {
    return this.#info.toolTemplate;
  }
  /**
   * How `embed` makes one vector of the states of an encoder: as modules.json of sentence-transformers or the GGUF
   * says, otherwise the mean, not normalised. null for models that are no encoder. maxTokens: most tokens of a text,
   * which is truncated to them (null: texts are not truncated); prompts, defaultPrompt: texts before others; lacks:
   * what the files prescribe and embed lacks (null: nothing).
   * @returns {Readonly<import('./index.js').Pooling> | null}
   */
  get pooling() {
    return this.#info.pooling;
  }
  /**
   * The labels of a classifier, in the order of its logits; null for other models.
   * @returns {readonly string[] | null}
   */
  get labels() {
    return this.#info.labels;
  }
  /**
   * The model's tokenizer on the caller's side, whose calls are synchronous; null for a model without one. It is built
   * at the first access, belongs to the caller and works after the model was disposed.
   * @returns {Promise<Tokenizer> | null}
   * @example
   * const tokenizer = await model.tokenizer;
   * console.log(tokenizer.encode('Once upon'));                           // [ 0, 423, 436 ]
   */
  get tokenizer() {
    if (!this.#info.hasTokenizer) return null;
    this.#tokenizer ??= guardedAsync(() =>
      Promise.all([import('../text/model_tokenizer.js'), this.#call('tokenizerText', [])]).then(
        ([{ tokenizerOf }, text]) => tokenizerOf(text),
      ),
    );
    this.#tokenizer.catch(() => {
      this.#tokenizer = null;
    });
    return this.#tokenizer;
  }

  /**
   * Token ids of a text.
   * @param {string} text  names of special tokens in it become those tokens
   * @param {{addSpecialTokens?: boolean}} [options] addSpecialTokens: put the tokens around it that the tokenizer
   *   prescribes; default true, as in Hugging Face
   * @returns {Promise<number[]>}
   * @throws {GlassformerError} `no-tokenizer`
   * @example
   * console.log(await model.encode('Once upon a time'));                   // [ 0, 423, 436, 259, 395 ]
   */
  async encode(text, options) {
    return this.#call('encode', [checkedText(text, 'the text'), callOptions('encode', options)[0]]);
  }

  /**
   * The tokens of a text or of a list of ids, each with its text.
   * @param {string | Ids} input
   * @param {{addSpecialTokens?: boolean, alone?: boolean}} [options]  addSpecialTokens: as for `encode`. alone: the
   *   text of each token in the middle of any sentence; default false: what it adds to the text before it, where a
   *   character whose bytes are in several tokens belongs to the token that completes it
   * @returns {Promise<{id: number, text: string}[]>}  text: '' for an id that the tokenizer does not know
   * @throws {GlassformerError} `no-tokenizer`, `bad-token` for an id that the model does not have
   * @example
   * const tokens = await model.tokens('Once upon');
   * console.log(tokens.map(({ text }) => text));                          // [ '<|endoftext|>', 'Once', ' upon' ]
   */
  async tokens(input, options) {
    const text = typeof input === 'string' ? checkedText(input, 'the text') : null;
    const ids = text ?? checkedIdList(input, 'list of ids', this.#limits.vocab);
    return this.#call('tokens', [ids, callOptions('tokens', options)[0]]);
  }

  /**
   * The text of token ids, special tokens included.
   * @param {Ids} ids
   * @returns {Promise<string>}
   * @throws {GlassformerError} `no-tokenizer`, `bad-token`
   * @example
   * console.log(await model.decode(await model.encode('a red ball')));    // <|endoftext|>a red ball
   */
  async decode(ids) {
    return this.#call('decode', [checkedIdList(ids, 'list of ids', this.#limits.vocab)]);
  }

  /**
   * Continue a prompt, token by token. The iterator yields a Step for each new token and returns a Summary. `break`
   * stops the engine. Given several prompts, it runs them together: a step's `sequence` says which prompt it belongs
   * to, and the summary's `sequences` hold each prompt followed by its new tokens.
   * @param {string | Ids | readonly (string | Ids)[]} prompt an empty one is refused, except of an encoder-decoder,
   *   whose target begins with a token of its own
   * @param {GenerateOptions} [options]
   * @returns {Steps}
   * @throws {GlassformerError} at the first step: `empty-prompt`, `context-full`, `no-tokenizer`, `bad-token`,
   *   `unknown-point`, `capture-too-large`
   * @example
   * let text = '';
   * const options = { maxTokens: 20, temperature: 0.8, seed: 1 };
   * for await (const step of model.generate('Once upon a time', options)) text += step.text;
   * console.log(text);
   */
  generate(prompt, options) {
    try {
      return this.#begin(prompt, options, callOptions('generate', options, this.#limits));
    } catch (error) {
      return new Steps(refusal(error));
    }
  }

  /**
   * @param {any} prompt
   * @param {any} given  options
   * @param {ReturnType<typeof callOptions>} options  checked
   */
  #begin(prompt, given, [rest, hooks]) {
    const read = checkedInput(prompt, 'prompt', this.#limits, true);
    const origin = () => originOf(this, 'generate', read, given);
    return new Steps(keepAlive(this.#remote.generate([read, rest], hooks), this), origin);
  }

  /**
   * Continue a prompt to its end: the summary of `generate`, with the option `json` also the value of the text.
   * @template [S=any]  type of the schema
   * @param {string | Ids | readonly (string | Ids)[]} prompt
   * @param {Omit<GenerateOptions, 'json'> & {json?: S}} [options]  json: as of GenerateOptions; the value has the type
   *   that a schema of Zod or Valibot tells
   * @returns {Promise<Completion<ValueOf<S>>>}
   * @throws {GlassformerError} those of `generate`
   * @example
   * const json = { type: 'object', properties: { age: { type: 'integer', maximum: 9 } }, required: ['age'] };
   * const { value, text } = await model.complete('Tim is', { json, seed: 1 });
   * console.log(value.age <= 9, text.includes('age'));                    // true true
   */
  async complete(prompt, options) {
    const schema = options?.json;
    const checked = callOptions('generate', options, this.#limits);
    const summary = await this.#begin(prompt, options, checked).result;
    if (checked[0].json === undefined) return summary;
    const { summaries } = summary;
    if (!summaries) return { ...summary, ...(await valueOf(summary, schema)) };
    const values = await Promise.all(summaries.map((each) => valueOf(each, schema)));
    const issues = values.flatMap((each) => each.issues ?? []);
    return {
      ...summary,
      value: /** @type {any} */ (values.map(({ value }) => value)),
      ...(issues.length && { issues }),
    };
  }

  /**
   * Continue a conversation. The messages become one prompt by the chat template that came with the model; otherwise
   * this is `generate`, with the same steps. The model keeps the keys and values of the newest conversation, so that
   * the next turn runs only the tokens that differ or are new: the summary's `prefilledTokens`; `reusedTokens` are the
   * others. With the option `session` a session keeps them. Every token is run again with `source`, `capture`, `edits`
   * or `beams`, in a model with bidirectional attention, and in a second `chat` while a first one runs.
   * @param {readonly Message[]} messages
   * @param {GenerateOptions & ChatExtras} [options]
   * @returns {Steps}
   * @throws {GlassformerError} at the first step: `no-chat-template`, and those of `generate`
   * @example
   * try {
   *   const messages = [{ role: 'user', content: 'Hello' }];
   *   for await (const { text } of model.chat(messages, { maxTokens: 20 })) console.log(text);
   * } catch (error) {
   *   console.log(error.code);    // no-chat-template
   * }
   */
  chat(messages, options) {
    return new Steps(this.#conversation.chat(messages, options), () => originOf(this, 'chat', messages, options));
  }

  /**
   * The prompt that `chat` gives the model, without running it.
   * @param {readonly Message[]} messages
   * @param {WritingOptions} [options]
   * @returns {Promise<{text: string, ids: number[]}>}
   * @throws {GlassformerError} `no-chat-template`, `no-tokenizer`
   * @example
   * const own = await load('stories-1m.gguf', { chatTemplate: '{{ messages[0].role }}: {{ messages[0].content }}' });
   * console.log((await own.prompt([{ role: 'user', content: 'Hello' }])).text);     // user: Hello
   */
  async prompt(messages, options) {
    const writing = callOptions('prompt', options, this.#limits)[0];
    const { text } = await this.#conversation.prompt(messages, writing, { reads: false });
    return { text, ids: await this.encode(text, { addSpecialTokens: false }) };
  }

  /**
   * @param {'forward' | 'loss' | 'embed' | 'classify' | 'logitLens' | 'attribution' | 'explain' | 'trace'} call
   * @param {any} input
   * @param {any} options
   * @param {boolean} [many] whether several sequences are taken
   */
  async #ask(call, input, options, many) {
    const [rest, hooks] = callOptions(call, options, this.#limits);
    const isCut = rest.truncate ?? (call === 'embed' && (this.pooling?.maxTokens ?? null) !== null);
    const read = checkedInput(input, 'input', this.#limits, many, isCut);
    const origin = originOf(this, call, read, options);
    return withJson(await this.#call(call, [read, rest], hooks), origin);
  }

  /**
   * Run a whole sequence and return the logits after each position and the captured points. Capture does not change a
   * bit of the logits.
   * @param {string | Ids | readonly (string | Ids)[]} input
   * @param {ForwardOptions} [options]
   * @returns {Promise<ForwardResult>}
   * @throws {GlassformerError} `context-full`, `unknown-point`, `capture-too-large`, `not-finite`
   * @example
   * const { logits, captured } = await model.forward([1, 2, 3], { capture: ['blocks.*.attn.hook_pattern'] });
   * console.log(logits.shape);                                            // [ 3, 2048 ]
   * console.log(captured['blocks.0.attn.hook_pattern'].shape);            // [ 4, 3, 3 ]
   * @example
   * // the same pass with head 2 of layer 1 switched off
   * await model.forward([1, 2, 3], { edits: [{ at: 'blocks.1.attn.hook_z', head: 2, scale: 0 }] });
   */
  async forward(input, options) {
    return this.#ask('forward', input, options, true);
  }

  /**
   * What an input activates in a dictionary: called by Dictionary.
   * @internal
   * @param {import('./dictionary.js').Dictionary} dictionary
   * @param {string | Ids} input
   * @param {any} [options]  at, addSpecialTokens, signal
   */
  encodeFeatures(dictionary, input, { signal, ...options } = {}) {
    const read = checkedInput(input, 'input', this.#limits);
    return this.#call('encodeFeatures', [this.#limits.attach(dictionary), read, options], { signal });
  }

  /**
   * The tokens whose logits a direction of the stream changes most: called by Dictionary.
   * @internal
   * @param {Float32Array} direction  [d_model]
   * @param {number} n  tokens that are raised, and that are lowered
   * @returns {Promise<Record<'promoted' | 'suppressed', {id: number, logit: number}[]>>}
   */
  directionTokens(direction, n) {
    return this.#call('directionTokens', [direction, n]);
  }

  /**
   * A batch of a scan: called by scan.
   * @internal
   * @param {readonly (string | Ids)[]} texts
   * @param {any} options  checked, but for edits
   * @param {AbortSignal} [signal]
   */
  scanTexts(texts, { edits, ...options }, signal) {
    const long = { ...this.#limits, context: LIMITS.sequences }; // they are cut at the context
    const list = texts.map((text, i) => checkedInput(text, `text ${options.first + i}`, long));
    const [checked] = callOptions('logitLens', { edits }, this.#limits);
    return this.#call('scanTexts', [list, { ...options, ...checked }], { signal });
  }

  /**
   * How well a model predicts a text: the mean of -ln p of its tokens after the first, in nats a token. Faster than
   * `forward`, because no logits are copied.
   * @param {string | Ids | readonly (string | Ids)[]} input  at least two tokens; of several the means over them, with
   *   n and standardError
   * @param {ReadOptions & LossExtras} [options]
   * @returns {Promise<import('./index.js').Loss>}
   * @throws {GlassformerError} `unsupported` for an encoder, `context-full`, `unknown-point`, `not-finite`
   * @example
   * const { loss, perToken } = await model.loss('Once upon a time', { perToken: true });
   * console.log(loss < 3, perToken.shape);                                // true [ 4 ]
   * const without = await model.loss('Once upon a time', { edits: [{ at: '*.hook_mlp_out', scale: 0 }] });
   * console.log(without.loss > loss);                                     // true
   */
  async loss(input, options) {
    return this.#ask('loss', input, options, true);
  }

  /**
   * Encoders: one vector for a text, from the last hidden states as `Model.pooling` says. The cosine similarity of two
   * texts is the sum of the products of their normalised vectors.
   * @param {string | Ids | readonly (string | Ids)[]} input
   * @param {EmbedExtras} [options]
   * @returns {Promise<Tensor>} [d_model]; of several inputs [input, d_model]
   * @throws {GlassformerError} `unsupported` for a model that is not an encoder, or whose files ask for another pooling
   * @example
   * const config = { kind: 'encoder', vocab_size: 100, d_model: 32, n_layers: 2, n_heads: 4 };
   * const encoder = await create(config, { seed: 1 });
   * const { data: a } = await encoder.embed([1, 2, 3], { normalize: true });
   * const { data: b } = await encoder.embed([1, 2, 4], { normalize: true });
   * const cosine = a.reduce((sum, x, i) => sum + x * b[i], 0);
   * console.log(cosine > 0 && cosine < 1);                                // true
   */
  async embed(input, options) {
    return this.#ask('embed', input, options, true);
  }

  /**
   * Classifiers: the label of a text with its score, or a label for each token, from the head that the checkpoint has.
   * The scores are probabilities: those of one label of several add up to 1 (softmax), those of labels that exclude
   * nothing, or of a single label, are each between 0 and 1 (sigmoid), as config.json says (problem_type). A single
   * label of a cross-encoder of sentence-transformers has the activation that its files name; of a regression the score
   * is the logit itself.
   * @template {string | Ids | readonly (string | Ids)[]} I
   * @template {ClassifyExtras} [O=ClassifyExtras]
   * @param {I} input
   * @param {O} [options]
   * @returns {Promise<I extends string | Ids
   *   ? O extends { pair: readonly string[] } ? Classified[] : Classified
   *   : Classified[]>} of several inputs, or of several second texts, a list
   * @throws {GlassformerError} `unsupported` for a model without such a head, `context-full`, `not-finite`
   * @example
   * const config = { vocab_size: 100, d_model: 32, n_layers: 2, n_heads: 4, n_labels: 3, label_pooling: 'last' };
   * const classifier = await create(config, { seed: 1 });
   * const { label, score, scores, logits } = await classifier.classify([5, 2, 7]);
   * console.log(label === scores.find((each) => each.score === score).label, logits.shape); // true [ 3 ]
   */
  async classify(input, options) {
    return this.#ask('classify', input, options, true);
  }

  /**
   * The probabilities from which `generate` would draw the next token: temperature, penalty and cut-offs applied to
   * logits, without running the model.
   * @param {ArrayLike<number>} logits  [vocab_size]
   * @param {DistributionOptions} [options]
   * @returns {Promise<Float32Array<ArrayBuffer>>}  [vocab_size], their sum is 1; 0 for a token that was cut off
   * @throws {GlassformerError} `bad-argument` for logits of another length, `bad-token` for ids in the options
   * @example
   * const { logits } = await model.forward([1, 2, 3]);
   * const last = logits.data.subarray(-2048);
   * const probabilities = await model.distribution(last, { temperature: 0.8, topK: 5 });
   * console.log(probabilities.filter((p) => p > 0).length);               // 5
   */
  async distribution(logits, options) {
    const read = checkedLogits(logits, this.#limits.vocab);
    return this.#call('distribution', [read, callOptions('distribution', options, this.#limits)[0]]);
  }

  /**
   * The most likely tokens after each layer: final norm and head applied to the residual stream (the "logit lens").
   * @param {string | Ids} input
   * @param {ReadOptions & PairOptions & LensExtras} [options]
   * @returns {Promise<LensToken[][][]>}  [layer][position][rank]; the last layer's are the model's own
   * @throws {GlassformerError} `unsupported` for an encoder without a head, `not-finite`
   * @example
   * const layers = await model.logitLens([1, 2, 3], { top: 1 });
   * console.log(layers.length, layers[0].length);                         // 5 3
   */
  async logitLens(input, options) {
    return this.#ask('logitLens', input, options);
  }

  /**
   * One logit as a sum of terms: embedding, each head, each feed-forward layer, biases. Every norm's scale, and the
   * factor by which a logit_softcap makes the logit smaller, are held at their values in this pass; so are the factors
   * of the activations before a classifier, whose logits are those of labels.
   * @param {string | Ids} input
   * @param {ReadOptions & AttributionExtras} [options]
   * @returns {Promise<Attribution>}
   * @throws {GlassformerError} `unsupported` for an encoder without a classifier, `not-finite`
   * @example
   * const { logit, sum, parts } = await model.attribution('Once upon a time', { token: ',' });
   * console.log(Math.abs(logit - sum) < 0.1, parts[0].name);              // true embed
   */
  async attribution(input, options) {
    return this.#ask('attribution', input, options);
  }

  /**
   * One value of a pass and the terms it was computed from: a cell of any point, or a logit. A term's `from` names the
   * cell of its input, so that a value can be traced back to the embedding.
   * @param {string | Ids} input
   * @param {ReadOptions & PairOptions & ExplainExtras} options
   * @returns {Promise<Explanation>}
   * @throws {GlassformerError} `bad-option` without `at`, `unknown-point`, `unsupported`, `not-finite`
   * @example
   * const { value, formula, terms } = await model.explain([1, 2, 3], { at: 'blocks.0.hook_resid_post', index: 7 });
   * console.log(terms.map((term) => term.name).join(' + '));              // hook_resid_mid + hook_mlp_out
   */
  async explain(input, options) {
    return this.#ask('explain', input, options);
  }

  /**
   * Every operation of one pass, in order: shapes, parameters, floating-point operations, bytes moved, measured
   * milliseconds.
   * @param {string | Ids} input
   * @param {ReadOptions & PairOptions} [options]
   * @returns {Promise<TraceRow[]>}
   * @example
   * const rows = await model.trace([1, 2, 3]);
   * console.log(rows[0].name, rows.at(-1).name);                          // embed head
   */
  async trace(input, options) {
    return this.#ask('trace', input, options);
  }

  /**
   * The values of a weight, dequantised: a vector, or one row of a matrix.
   * @param {string} name   a name in `parameters`
   * @param {number} [row]  default 0
   * @returns {Promise<Float32Array<ArrayBuffer>>}
   * @example
   * const { name, shape } = model.parameters.rows[0];
   * console.log((await model.weight(name, 5)).length === shape[1]);       // true
   */
  async weight(name, row = 0) {
    return this.#call('weight', [checkedText(name, 'the name of a weight', LIMITS.word), number(row, 'row', null)]);
  }

  /**
   * A call for research: its arguments and options are checked by code that is loaded at the first one.
   * @param {keyof typeof import('../run/analysis/analysis.js')} call
   * @param {any[]} args
   * @param {any} [options]
   */
  async #study(call, args, options) {
    const { checkedCall } = await import('./input/research_options.js');
    const [checked, hooks] = await checkedCall(
      { ...CHECKS, trainerModule: () => trainerModule(packageFiles) },
      call,
      args,
      options,
      this.#limits,
    );
    const origin = READS.has(call)
      ? originOf(this, call, args[0], args[1] ? { ...options, edits: args[1] } : options)
      : originOf(this, call, undefined, { of: args });
    return withJson(await this.#call(call, checked, hooks), origin);
  }

  /**
   * What identifies the model in a result: write it beside numbers that leave, with the prompt and the seed. The same
   * values give the same numbers on every machine.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<import('./index.js').Provenance>}
   * @example
   * const { glassformer, weights, kvDtype } = await model.provenance();
   * console.log(glassformer, weights.length, kvDtype);                    // 0.1.0 64 f16
   */
  async provenance(options) {
    const { name, backend, kvDtype } = this.#info;
    const found = await this.#study('provenance', [], options);
    return { glassformer: VERSION, name, ...found, kvDtype, backend };
  }

  /**
   * All values of a weight, dequantised.
   * @param {string} name   a name in `parameters`, or TransformerLens's, such as 'blocks.0.attn.W_Q', for its shape
   * @returns {Promise<Tensor>}
   * @example
   * console.log((await model.matrix('blocks.0.attn.o.weight')).shape);    // [ 128, 128 ]
   * console.log((await model.matrix('blocks.0.attn.W_O')).shape);         // [ 4, 32, 128 ]
   */
  async matrix(name) {
    return this.#study('matrix', [name]);
  }

  /**
   * A circuit of a head: its matrix over the residual stream, the singular values of that, and of 'OV' the copying
   * score.
   * @param {number} layer
   * @param {number} head
   * @param {'OV' | 'QK'} kind  what the head writes for what it reads, or what its queries look for in keys
   * @param {{copying?: boolean}} [options]  copying: compute the copying score, which reads all rows of embedding and
   *   head; default true
   * @returns {Promise<import('./index.js').Circuit>}
   * @throws {GlassformerError} `unsupported` for an encoder-decoder
   * @example
   * const { singularValues, copying } = await model.circuit(0, 1, 'OV');
   * console.log(singularValues.length, Math.abs(copying) <= 1);           // 32 true
   */
  async circuit(layer, head, kind, options) {
    return this.#study('circuit', [layer, head, kind], options);
  }

  /**
   * What each head attends to as a rule, measured on random tokens that come twice: mean weights on the previous token,
   * the first, itself, the same token in the first copy (duplicate), and the one after that (induction).
   * @param {{edits?: readonly Edit[], signal?: AbortSignal}} [options]
   * @returns {Promise<import('./index.js').HeadScores[][]>} [layer][head]
   * @throws {GlassformerError} `unsupported` for all but causal decoders
   * @example
   * const scores = await model.headScores();
   * console.log(scores.length, scores[0].length, scores[0][0].previous < 1);    // 5 4 true
   */
  async headScores(options) {
    return this.#study('headScores', [], options);
  }

  /**
   * A metric with each of many sets of edits, as `forward` with each would give it, but faster: what lies below the
   * first edit of a set, and with a causal mask before it, is computed once.
   * @param {string | Ids | readonly (string | Ids)[]} input  several: the means over them, with n and standardError
   * @param {readonly (readonly Edit[])[] | import('./index.js').Grid} editSets  sets of edits; or one edit for each
   *   position, head or index of each point that matches: { at, each: 'position', from: other } is a grid of patches
   * @param {ReadOptions & {metric: import('./index.js').Metrics}} options  metric: for several inputs one, or a list
   * @returns {Promise<import('./index.js').Sweep>}
   * @throws {GlassformerError} `unsupported` for an encoder, `unknown-point`, `bad-option`
   * @example
   * const ids = await model.encode('Lily and Tom went home');
   * const metric = { token: ' ', minus: '.' };
   * const { base, values } = await model.sweep(ids, { at: '*.hook_z', each: 'head' }, { metric });
   * console.log(values.shape, values.data[0] !== base);                   // [ 5, 4 ] true
   */
  async sweep(input, editSets, options) {
    return this.#study('sweep', [input, editSets], options);
  }

  /**
   * What reaches receivers from senders along the residual stream alone: the metric where the receivers have the values
   * that they would have if one sender had its value on another input, while the outputs of all other heads and of the
   * feed-forward layers stayed as they are (path patching, Wang et al. 2022).
   * @param {string | Ids | readonly (string | Ids)[]} input  several: the means over them, with n and standardError
   * @param {{from: string | Ids | readonly (string | Ids)[], senders: readonly import('./index.js').PathPlace[],
   *   receivers: readonly import('./index.js').PathPlace[], metric: import('./index.js').Metrics,
   *   throughMlps?: boolean, addSpecialTokens?: boolean, signal?: AbortSignal}} options  from: an input with as
   *   many tokens; senders: places such as '*.attn.hook_z' (each head is one) or { at, head }; receivers: places that
   *   are changed together, such as { at: 'blocks.4.attn.hook_q', head: 2 } or the last 'hook_resid_post', for what
   *   reaches the logits; throughMlps: feed-forward layers compute again what they read; default false
   * @returns {Promise<import('./index.js').PathEffects>}
   * @throws {GlassformerError} `unsupported` for all but decoders, `unknown-point`, `bad-option`
   * @example
   * const [ids, from] = [await model.encode('Lily saw a cat'), await model.encode('Lily saw a dog')];
   * const receivers = ['blocks.4.hook_resid_post'];
   * const options = { from, senders: ['*.attn.hook_z'], receivers, metric: { token: '.', minus: ',' } };
   * const { values, senders } = await model.pathPatching(ids, options);
   * console.log(values.shape, senders[1]);          // [ 20 ] { at: 'blocks.0.attn.hook_z', head: 1 }
   */
  async pathPatching(input, options) {
    return this.#study('pathPatching', [input], options);
  }

  /**
   * The gradient of a loss, of logits or of another metric, at points and weights. The first call fetches the
   * binary that trains and copies the weights to it as f32; quantised weights are used as they are dequantised. Cells
   * of scores and patterns that the mask hides have gradient 0.
   * @param {string | Ids | readonly (string | Ids)[]} input  several: the means over them, with n and standardError
   * @param {ReadOptions & {of: import('./index.js').Metrics, at: readonly string[], edits?: readonly Edit[]}} options
   *   at: names of points and weights, `*` matches anything; 'hook_embed' gives saliency; edits: of the stream, of q,
   *   k, v and z, and of the feed-forward layer, and of features there, whose derivative goes through their encoder
   * @returns {Promise<import('./index.js').Gradients>}
   * @throws {GlassformerError} `unsupported` for the loss of an encoder, a sourceMask and options that cannot be
   *   trained, `out-of-memory`
   * @example
   * const at = ['*.hook_z', 'embed.weight'];
   * const { value, gradients } = await model.gradients('Once upon a', { of: 'loss', at });
   * console.log(value > 0, gradients['blocks.0.attn.hook_z'].shape);      // true [ 4, 4, 32 ]
   */
  async gradients(input, options) {
    return this.#study('gradients', [input], options);
  }

  /**
   * Estimates what patching would do, at every cell of points at once: gradient times the difference of the values on
   * another input.
   * @param {string | Ids | readonly (string | Ids)[]} input  several: the means over them, with n and standardError
   * @param {ReadOptions & {of: import('./index.js').Metrics, at: readonly string[],
   *   from: string | Ids | readonly (string | Ids)[], check?: boolean}} options  from: an input with as
   *   many tokens, whose values would be set; check: also patch each cell
   * @returns {Promise<import('./index.js').PatchEstimates>}
   * @throws {GlassformerError} those of `gradients` and of `sweep`
   * @example
   * const options = { from: [1, 2, 9, 4], of: { token: 5 }, at: ['*.hook_z'], check: true };
   * const { estimates, spearman } = await model.attributionPatching([1, 2, 3, 4], options);
   * console.log(estimates['blocks.0.attn.hook_z'].shape, spearman <= 1);  // [ 4, 4 ] true
   */
  async attributionPatching(input, options) {
    return this.#study('attributionPatching', [input], options);
  }

  /**
   * How much the embedding of each token contributes: the gradients between embeddings of 0 and the input's,
   * integrated. The sum of the contributions is the change of the metric, but for the remainder of the integral.
   * @param {string | Ids} input
   * @param {ReadOptions & {of: import('./index.js').Metric, steps?: number}} options  steps: of the integral at most,
   *   1 .. 4096; default 128
   * @returns {Promise<import('./index.js').TokenAttributions>}
   * @throws {GlassformerError} those of `gradients`
   * @example
   * const { tokens, value, baseline } = await model.integratedGradients('Once upon a', { of: { token: ' time' } });
   * console.log(tokens.shape, value > baseline);                          // [ 4 ] true
   */
  async integratedGradients(input, options) {
    return this.#study('integratedGradients', [input], options);
  }

  /**
   * Read a LoRA adapter and compute the weights with it, as `load` with the option `adapters` does, from those in
   * memory. They are kept beside the model's, in as many bytes as the matrices that the adapter changes, until
   * `dispose`; the model itself stays as it is.
   * @param {import('./index.js').Source} source  an entry of load's option `adapters`
   * @param {{scale?: number, signal?: AbortSignal}} [options]  scale: a factor of what is added; default 1
   * @returns {Promise<number>}  the adapter, for setAdapter
   * @throws {GlassformerError} those of `load`; `not-finite`
   * @example
   * const training = train(model, 'Zork ate a bolt. It was good.', { lora: { rank: 4 }, steps: 5 });
   * for await (const { step, loss } of training) console.log(step, loss);
   * const [config, weights] = await training.files();
   * const half = await model.addAdapter({ config: config.bytes, weights: weights.bytes }, { scale: 0.5 });
   * await model.setAdapter(half);
   * await training.dispose();
   */
  async addAdapter(source, options) {
    return this.adapt('addAdapter', source, options);
  }

  /**
   * Use the weights with an adapter, or the model's own, whose bits are those from before. The conversation that `chat`
   * keeps is forgotten.
   * @param {number | null} adapter  from addAdapter; null: none
   * @throws {GlassformerError} `bad-state` while a session, a generation or another call is open: its keys and values
   *   are of the weights before
   * @example
   * const training = train(model, 'Zork ate a bolt. It was good.', { lora: { rank: 4 }, steps: 20, lr: 0.01 });
   * for await (const { step, loss } of training) console.log(step, loss);
   * const [config, weights] = await training.files();
   * const zork = await model.addAdapter({ config: config.bytes, weights: weights.bytes });
   * const plain = await model.loss('Zork ate a bolt.');
   * await model.setAdapter(zork);
   * console.log((await model.loss('Zork ate a bolt.')).loss < plain.loss);    // true
   * await model.setAdapter(null);
   * await training.dispose();
   */
  async setAdapter(adapter) {
    await this.#conversation.free();
    this.weightsVersion++;
    return this.#call('setAdapter', [adapter]);
  }

  /**
   * A call on an adapter that is read first. Called by train/, too.
   * @internal
   * @param {'addAdapter' | 'modules'} call
   * @param {any} source  modules: undefined: none
   * @param {any} [options]
   */
  async adapt(call, source, options) {
    const { deltasOf } = await import('../files/adapters/deltas.js');
    return this.#call(call, [await deltasOf(call, source, options, loadOptions)]);
  }

  /**
   * A piece of a weight as it is stored. Called by train/.
   * @internal
   * @param {number} entry  row of the parameter table
   * @param {number} from   byte
   * @returns {Promise<Uint8Array>}
   */
  async storedWeight(entry, from) {
    return this.#call('storedWeight', [entry, from]);
  }

  /**
   * The names of all points that `capture`, `edits` and `explain` accept. They are TransformerLens's, without its batch
   * axis.
   * @returns {Promise<string[]>}
   * @example
   * console.log((await model.points()).includes('blocks.0.attn.hook_pattern'));    // true
   */
  async points() {
    return this.#call('points', []);
  }

  /**
   * Open a session: a sequence that the caller runs token by token, rewinds and forks. It has a key/value cache of its
   * own until it is disposed.
   * @param {SessionOptions} [options]
   * @returns {Promise<Session>}
   * @throws {GlassformerError} `out-of-memory`, `unknown-point`; with `state` also `truncated`, `bad-file`,
   *   `bad-token`, `not-finite`, `context-full`, and `unsupported` for a version that is not known
   * @example
   * const session = await model.session();
   * const logits = await session.eval('Once upon a');
   * console.log(logits.length, session.length);                           // 2048 4
   * await session.dispose();
   */
  async session(options) {
    const [rest, hooks] = callOptions('session', options, this.#limits);
    const close = (/** @type {{session: number}} */ opened) =>
      this.#remote.call('closeSession', [opened.session]).catch(() => {});
    const opened = await this.#call('openSession', [rest], hooks, close);
    return new Session(this, this.#remote, this.#limits, opened, options);
  }

  /**
   * Free all memory and end the worker. Pending calls reject with `bad-state`. A second call does nothing.
   * `using model = await load(...)` calls it at the end of a block.
   */
  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    finalizers.unregister(this);
    this.#remote.close();
  }

  [Symbol.dispose]() {
    this.dispose();
  }
}
