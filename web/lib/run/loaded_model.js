// loaded_model.js - a loaded model beside its engine: its sequences, generations, sessions and dictionaries
//
// It runs in the worker, or in the caller's thread when there is no worker. Arguments and results are data that can be
// posted.
import { Sequence } from './sequence.js';
import { generate } from './generate.js';
import { failContextFull, generationOf, isSequenceList } from './generation_options.js';
import { fail } from '../base/errors.js';
import { camelConfig, hasHead } from '../engine/config/config.js';
import { defaultKvDtype } from './kv_cache_type.js';
import { ModelText } from './model_text.js';
import { tableOf } from './weight_table.js';

/** @import { Config } from '../engine/config/config.js' */
/** @import { Engine } from '../engine/engine.js' */
/** @import { Labels } from '../files/huggingface/classifiers.js' */
/** @import { OwnPooling } from '../files/huggingface/sentence_transformers.js' */
/** @import { Tokenizer } from '../text/tokenizer.js' */

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
export class LoadedModel extends ModelText {
  /** @type {import('./session_table.js').SessionTable | null} */
  #sessions = null;
  /** @type {import('./inspect/capture.js').Points | null} */
  #points = null;
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
    const { eos, ...special } = checkpoint?.special ?? { bos: null, eos: [], addBos: false };
    const config = /** @type {Config} */ (engine.config);
    super(config, tokenizer, { ...special, eos: eos.filter((id) => id < config.vocab_size) });
    this.engine = engine;
    this.chatTemplate = options.chatTemplate ?? checkpoint?.chatTemplate ?? null;
    this.toolTemplate = options.chatTemplate === undefined ? (checkpoint?.toolTemplate ?? null) : null;
    /** How embed makes one vector of the states of an encoder. @type {OwnPooling | null} */
    this.pooling = config.kind === 'encoder' ? { ...PLAIN_POOLING, ...checkpoint?.pooling } : null;
    /** The labels of a classifier; numbers where it has no files. @type {Labels | null} */
    this.labels = config.n_labels ? (checkpoint?.labels ?? numberedLabels(config.n_labels)) : null;
    this.warnings = warnings;
    this.name = checkpoint?.name ?? '';
    /** The tensors of the files, from which adapters find the weights; null for a model without files. */
    this.origin = checkpoint && originOf(checkpoint);
    /** Another object after each change of the weights: the key of what is computed from them and kept. */
    this.weights = {};
    this.contextLength = options.contextLength ?? config.context_length;
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
   * @param {import('../engine/dictionary_encoders.js').Encoder} encoder
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
