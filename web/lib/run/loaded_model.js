// loaded_model.js - a loaded model beside its engine: text and ids, generation, sessions
//
// It runs in the worker, or in the caller's thread when there is no worker. Arguments and results are data that can be
// posted.
import { Sequence } from './sequence.js';
import { generate } from './generate.js';
import { failContextFull, generationOf, isSequenceList, checkSingleMask } from './generation_defaults.js';
import { fail, show } from '../base/errors.js';
import { camelConfig, hasHead } from '../engine/config/config.js';
import { checkedIds } from '../base/checks.js';
import { defaultKvDtype, tableOf } from './loaded_table.js';

/** @typedef {import('../engine/config/config.js').Config} Config */
/** @typedef {import('../engine/engine.js').Engine} Engine */
/** @typedef {import('../text/tokenizer.js').Tokenizer} Tokenizer */
/** @typedef {ArrayLike<number>} Ids */
/**
 * Arguments of a call that cannot be posted as options.
 * @typedef {object} Hooks
 * @property {AbortSignal} [signal]
 * @property {(p: Progress) => void} [onProgress]
 * @property {typeof globalThis.fetch} [fetch]
 * @property {import('../files/huggingface/weight_names.js').Rename} [rename]  load: the option `names`, if it is a
 *   function
 * @property {import('../engine/threads.js').OnHelper} [onHelper]  load and create: called for each helper thread
 * @property {string} [helper]  address of the worker's file, which helper threads run too
 * @property {{url: string, port: MessagePort}} [prefetched]  the caller's side of load: the model's file, which was
 *   requested already (worker/requests_for_worker.js)
 * @property {typeof globalThis.fetch} [prefetchedFetch]  the worker's side of load: its requests, with that file
 * @property {Promise<WebAssembly.Module>} [engine]  load and create: the compiled binary
 */
/**
 * Progress of a load. loaded and total are bytes; in the phase compile they are 1 when the binary is compiled.
 * @typedef {object} Progress
 * @property {'download'|'compile'|'load'} phase
 * @property {number} loaded
 * @property {number | null} total  null where it is unknown
 * @property {boolean} fromCache
 * @property {number | null} bytesPerSecond  over the last seconds; null before there is one, and in the phase compile
 * @property {number | null} secondsLeft  of the phase, at this rate; null without a rate or a total
 */

/**
 * How embed makes one vector of the states of an encoder, as the model's files say.
 * @typedef {object} Pooling
 * @property {PoolingKind | readonly PoolingKind[] | null} pooling  several: their vectors, one after the other; null:
 *   the files prescribe something else, see `lacks`
 * @property {boolean} normalize         to length 1
 * @property {number | null} maxTokens   most tokens of a text, which is truncated to them; null: the context
 * @property {string | null} lacks       what the files prescribe and embed lacks; null: nothing
 * @property {Record<string, string>} [prompts]  texts that are put before others, by name
 * @property {string} [defaultPrompt]    the text that is put before others unless the caller names another one
 * @property {boolean} [includePrompt]   false: the tokens of such a text are left out of the pooling
 * @property {boolean} [lowerCase]       texts are read in lower case
 */
/**
 * The mean of all positions, that sum divided by the root of their number, their mean weighted by 1, 2, 3, ..., the
 * largest of each component, the state of the first or of the last position, or the pooler's output.
 * @typedef {'mean' | 'mean_sqrt_len' | 'weightedmean' | 'max' | 'cls' | 'last' | 'pooler'} PoolingKind
 */
/** @typedef {'normalize' | DenseLayer} PoolingStep */
/**
 * With what follows the pooling where it is more than `normalize`.
 * @typedef {Pooling & {steps?: PoolingStep[]}} OwnPooling
 */
/**
 * A layer behind the pooling. residual: what is added to its output: its input, or the product with another matrix.
 * @typedef {{inputs: number, outputs: number, weight: Float32Array, bias: Float32Array | null,
 *   activation: 'identity' | 'tanh' | 'relu' | 'gelu' | 'sigmoid' | 'silu', residual: boolean | Float32Array}}
 *   DenseLayer
 */
/**
 * The labels of a classifier. activation: what makes scores of logits, unless a call names another one; pad, eos: ids
 * of the tokens that mark where a decoder's classifier reads; start: the first token of an encoder-decoder's target,
 * null: the last one of its source.
 * @typedef {{names: string[], activation: 'softmax' | 'sigmoid' | 'none', pad: number | null, eos: number | null,
 *   start: number | null}} Labels
 */
/** @type {OwnPooling} */
const PLAIN_POOLING = { pooling: 'mean', normalize: false, maxTokens: null, lacks: null };

/** @param {import('../files/source.js').Checkpoint} checkpoint  whose `stream` would keep the files in memory */
const originOf = ({ config, format, architecture, tensors }) => ({ config, format, architecture, tensors });

/**
 * Labels without names.
 * @param {number} n
 * @returns {Labels}
 */
const numberedLabels = (n) => ({
  names: Array.from({ length: n }, (_, i) => `LABEL_${i}`),
  activation: n === 1 ? 'sigmoid' : 'softmax',
  ...{ pad: null, eos: null, start: null },
});

/** A model in an engine. It owns the engine, the tokenizer and its sessions. */
export class LoadedModel {
  /** @type {import('./session_table.js').SessionTable | null} */
  #sessions = null;
  /** @type {import('./inspect/capture.js').Points | null} */
  #points = null;
  /** @type {Map<number, string>} */
  #texts = new Map();
  /** @type {Map<number, Promise<import('./inspect/feature_values.js').OpenedEncoder>>} */
  #dictionaries = new Map();

  /**
   * @param {Engine} engine  with a sealed model
   * @param {import('../files/source.js').Checkpoint | null} checkpoint
   * @param {Tokenizer | null} tokenizer
   * @param {Record<string, any>} options
   * @param {string[]} warnings
   */
  constructor(engine, checkpoint, tokenizer, options, warnings) {
    this.engine = engine;
    this.config = /** @type {Config} */ (engine.config);
    this.tokenizer = tokenizer;
    this.chatTemplate = options.chatTemplate ?? checkpoint?.chatTemplate ?? null;
    this.toolTemplate = options.chatTemplate === undefined ? (checkpoint?.toolTemplate ?? null) : null;
    const { eos, ...special } = checkpoint?.special ?? { bos: null, eos: [], addBos: false };
    this.special = { ...special, eos: eos.filter((id) => id < engine.config.vocab_size) };
    /** How embed makes one vector of the states of an encoder. @type {OwnPooling | null} */
    this.pooling = this.config.kind === 'encoder' ? { ...PLAIN_POOLING, ...checkpoint?.pooling } : null;
    /** Of a classifier; of one without files they are numbered. @type {Labels | null} */
    this.labels = this.config.n_labels ? (checkpoint?.labels ?? numberedLabels(this.config.n_labels)) : null;
    this.warnings = warnings;
    this.name = checkpoint?.name ?? '';
    /** Which tensor of the files has which weights, for adapters; null for a model without files. */
    this.origin = checkpoint && originOf(checkpoint);
    /** Another object after each change of the weights: the key of what is computed from them and kept. */
    this.weights = {};
    this.contextLength = options.contextLength ?? this.config.context_length;
    this.table = tableOf(engine);
    this.kvDtype = options.kvDtype ?? defaultKvDtype(this.table.rows.map(({ dtype }) => dtype));
    this.#open().close(); // throws now, instead of at the first call, when memory for contextLength is missing
  }

  /** The properties of the public Model, which are sent to the caller's side once. */
  info() {
    const { pooling } = this;
    const { steps: _, ...shown } = pooling ?? {};
    return {
      config: camelConfig(this.config),
      parameters: this.table,
      backend: this.engine.backend,
      name: this.name,
      warnings: this.warnings,
      special: this.special,
      hasTokenizer: !!this.tokenizer,
      chatTemplate: this.chatTemplate,
      toolTemplate: this.toolTemplate,
      pooling: pooling && shown,
      labels: this.labels?.names ?? null,
      contextLength: this.contextLength,
      kvDtype: this.kvDtype,
    };
  }

  /** How linear memory is used. */
  memory() {
    return this.engine.memoryMap();
  }

  // ---- text and ids

  /**
   * The ids of a text. Throws `no-tokenizer` without a tokenizer.
   * @param {string} text
   * @param {{addSpecialTokens?: boolean}} [options]
   * @returns {number[]}
   */
  encode(text, options) {
    return this.withRows(this.tokenizerForText().encode(text, options));
  }

  /** The tokenizer. Throws `no-tokenizer` without one. */
  tokenizerForText() {
    return (
      this.tokenizer ?? fail('no-tokenizer', 'this model came without a tokenizer: give token ids instead of text')
    );
  }

  /**
   * The text of ids. Throws `no-tokenizer` without a tokenizer.
   * @param {number[]} ids
   * @returns {string}
   */
  decode(ids) {
    if (!this.tokenizer) fail('no-tokenizer', 'this model came without a tokenizer: ids cannot be decoded');
    return this.tokenizer.decode(ids);
  }

  /**
   * The ids of a text, each of which has a row in the embedding: a tokenizer may know more tokens than the model.
   * @param {number[]} ids
   */
  withRows(ids) {
    const { vocab_size: size, encoder_vocab_size: ofEncoder } = this.config;
    const most = Math.max(size, ofEncoder);
    const without = ids.find((id) => id >= most);
    if (without !== undefined)
      fail(
        'bad-token',
        `the text holds ${show(this.tokenizer?.idToText(without))}, the token ${without}, ` +
          `which the tokenizer has and the model has not: its embedding has ${most} rows`,
      );
    return ids;
  }

  /**
   * The tokens of a text or of ids, each with its text. Throws `no-tokenizer` without a tokenizer.
   * @param {string | number[]} input
   * @param {{addSpecialTokens?: boolean, alone?: boolean}} [options]
   */
  tokens(input, { alone = false, ...options } = {}) {
    const tokenizer = this.tokenizerForText();
    const ids = typeof input === 'string' ? tokenizer.encode(input, options) : input;
    const stream = tokenizer.stream();
    return ids.map((id) => ({ id, text: alone ? tokenizer.idToText(id) : stream.push(id) }));
  }

  /** The vocabulary for a Tokenizer on the caller's side; null without one. */
  tokenizerText() {
    return this.tokenizer && this.tokenizer.toText();
  }

  /**
   * The text of one token alone; '' without a tokenizer.
   * @param {number} id
   */
  tokenText(id) {
    if (!this.tokenizer) return '';
    const text = this.#texts.get(id) ?? this.tokenizer.idToText(id);
    this.#texts.set(id, text);
    return text;
  }

  /**
   * A decoder for the tokens that follow a prompt; null without a tokenizer.
   * @param {number[]} prompt
   */
  decoder(prompt) {
    return this.tokenizer ? this.tokenizer.stream(prompt) : null;
  }

  /**
   * The ids of an input, checked. A target of an encoder-decoder that is a text or empty begins with the model's first
   * tokens, and has no last one. Any other empty input is refused.
   * @param {string | Ids} input
   * @param {string} what  name of the input, for messages
   * @param {boolean} [addSpecialTokens]
   * @returns {number[]} at least one
   */
  ids(input, what, addSpecialTokens = true) {
    const isTarget = this.config.kind === 'encoder_decoder' && !what.startsWith('source') && addSpecialTokens;
    const { bos, start = bos === null ? [] : [bos] } = this.special;
    const isBegun = isTarget && typeof input === 'string' && !!this.special.start;
    const ids =
      typeof input !== 'string'
        ? checkedIds(Array.from(input), what, this.vocabularyOf(what))
        : input || this.config.kind === 'encoder'
          ? this.encode(input, { addSpecialTokens: addSpecialTokens && !isBegun })
          : [];
    if (isTarget && (isBegun || !ids.length) && start.length) return [...start, ...ids];
    return ids.length ? ids : fail('empty-prompt', `the ${what} is empty: ${show(input)} has no tokens`);
  }

  /**
   * How many tokens an input may name: the encoder of two stacks may have a vocabulary of its own.
   * @param {string} what  name of the input
   */
  vocabularyOf(what) {
    const { vocab_size: size, encoder_vocab_size: ofEncoder } = this.config;
    return (what.startsWith('source') && ofEncoder) || size;
  }

  /**
   * A mask, checked.
   * @param {ArrayLike<number> | undefined} mask
   * @param {number} n  positions of the sequence
   * @param {string} what  name of the option
   * @returns {ArrayLike<number> | null} null without a mask
   */
  mask(mask, n, what) {
    if (mask === undefined || mask === null) return null;
    checkSingleMask(mask, what);
    if (mask.length !== n) fail('bad-option', `${what} has ${mask.length} entries, the sequence has ${n} positions`);
    if (!Array.from(mask).some(Boolean)) fail('bad-option', `${what} hides every position`);
    return mask;
  }

  // ---- captures and sequences

  /** The capture points of this model. */
  async points() {
    const { Points } = await import('./inspect/capture.js');
    if (!this.#points) {
      const session = this.#open();
      try {
        this.#points = new Points(this.engine, this.config, session);
      } finally {
        session.close();
      }
    }
    return this.#points;
  }

  /** Open an engine session, owned by the caller. */
  #open() {
    return this.engine.openSession(this.contextLength, this.kvDtype);
  }

  /**
   * Open a sequence with its captures and edits, owned by the caller.
   * @param {import('./sequence.js').ObserveOptions & {source?: any}} [o]
   * @param {number} [positions]  most that it will have; default: the context length
   * @param {number} [end]  those of its input, from whose end edits may count
   * @param {import('../base/event_loop.js').Yielder} [yielder]  of the passes that edits need
   */
  async openSequence(o = {}, positions = this.contextLength, end = undefined, yielder = undefined) {
    const sequence = new Sequence(this, this.#open());
    try {
      await sequence.observe(o, Math.min(positions, this.contextLength), end, yielder);
      return sequence;
    } catch (error) {
      sequence.close();
      throw error;
    }
  }

  /** Tokens that are never generated, as the files of some encoder-decoders say. */
  get never() {
    return (this.special.never ?? []).filter((id) => id < this.config.vocab_size);
  }

  /**
   * What changes the logits of a generation; null when neither an option nor the model does.
   * @param {import('./generate.js').GenerationOptions} o
   * @param {number[]} prompt
   */
  async controls(o, prompt) {
    const never = this.never.map((id) => [id, -Infinity]);
    if (!o.controls && !never.length) return null;
    const controls = { ...o.controls, logitBias: [...never, ...(o.controls?.logitBias ?? [])] };
    return (await import('./logit_controls.js')).controlsOf(this, { ...o, controls }, prompt);
  }

  /**
   * Throw when a sequence is longer than the context.
   * @param {number} n  tokens
   * @param {string} what  name of the sequence, for the message
   */
  checkLength(n, what) {
    if (n > this.contextLength) failContextFull(what, n, this.contextLength);
  }

  /**
   * Throw for models that are only an encoder.
   * @param {string} call  name of the call, for the message
   */
  requireDecoder(call) {
    this.requireTokens(call);
    if (this.config.kind === 'encoder')
      fail('unsupported', `${call}: this model is an encoder: it has no next token; use embed or forward`);
  }

  /**
   * Throw for classifiers, whose logits are those of labels.
   * @param {string} call  name of the call, for the message
   */
  requireTokens(call) {
    if (this.config.n_labels)
      fail('unsupported', `${call}: this model is a classifier: it has labels in place of tokens; use classify`);
  }

  /**
   * Throw for encoders without a head.
   * @param {string} call  name of the call, for the message
   */
  requireLogits(call) {
    if (!hasHead(this.config))
      fail('unsupported', `${call}: this model is an encoder without a head: it has no logits; use embed or forward`);
  }

  /**
   * Continue one prompt or several.
   * @param {any} prompt  text, ids, or a list of several
   * @param {Record<string, any>} options
   * @param {import('./generate.js').Delivery} hooks
   * @param {import('./session_table.js').InSession} [inSession]  continue a session instead of a new sequence
   * @returns {AsyncGenerator<import('./generate.js').Step[], import('./generate.js').Summary, void>}
   */
  async *generate(prompt, options, hooks, inSession) {
    // Synchronous up to here: a later message about the session finds the generation running.
    const sessions = /** @type {import('./session_table.js').SessionTable} */ (this.#sessions);
    if (inSession) return yield* sessions.generate(prompt, options, hooks, inSession);
    this.requireDecoder('generate');
    const o = generationOf(options);
    const many = isSequenceList(prompt);
    const prompts = (many ? Array.from(prompt) : [prompt]).map((p) => this.ids(p, 'prompt', options.addSpecialTokens));
    if (!prompts.length) fail('empty-prompt', 'the list of prompts is empty');
    for (const p of prompts) this.checkLength(p.length, 'prompt');
    const search = o.beams > 1 ? await import('./beams.js') : null;
    if (many) return yield* (await import('./batch.js')).generateMany(this, prompts, o, hooks, search?.searchEach);
    return yield* (search?.beamSearch ?? generate)(this, prompts[0], o, hooks);
  }

  /** The sequences of the caller's sessions. */
  async sessions() {
    // Two calls may be waiting here: the table is created once, below.
    const { SessionTable } = await import('./session_table.js');
    return (this.#sessions ??= new SessionTable(this));
  }

  /**
   * Take the encoder of a sparse dictionary. Synchronous up to the import: a later message may name it at once.
   * @param {number} id
   * @param {import('../engine/engine_features.js').Encoder} encoder
   */
  async addDictionary(id, encoder) {
    const opened = import('./inspect/feature_values.js').then(({ open }) => open(this, encoder));
    this.#dictionaries.set(id, opened);
    await opened;
  }

  /** @param {number} id */
  async dropDictionary(id) {
    const opened = this.dictionary(id);
    this.#dictionaries.delete(id);
    (await import('./inspect/feature_values.js')).close(this, await opened);
  }

  /** @param {number} id */
  dictionary(id) {
    return this.#dictionaries.get(id) ?? fail('bad-state', 'the dictionary was disposed');
  }

  /** Free the engine. */
  dispose() {
    this.engine.close();
  }
}
