// sequence.js - one sequence in the engine: encoder pass, prefill in chunks, decode, with captures and edits
import { fail } from '../base/errors.js';
import { Yielder } from '../base/event_loop.js';

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { EngineSession } from '../engine/engine_session.js' */

/**
 * @typedef {object} ObserveOptions
 * @property {string[]} [capture]  names or patterns of points
 * @property {number} [captureBudget]  most bytes captured in one pass
 * @property {import('./inspect/edits.js').Edit[]} [edits]
 */

/** An engine session with its captures and edits. Its owner closes it. */
export class Sequence {
  /** @type {import('./inspect/capture.js').Recorder | null} */
  #recorder = null;
  /**
   * Throws when a pass over this many positions would capture more than the budget.
   * @type {(queries: number) => void}
   */
  checkBudget = () => {};
  /** Number of rows of logits of the last eval. */
  #rows = 0;
  /**
   * Sets the captures and edits of this sequence in another one; null without any.
   * @type {((sequence: Sequence) => void) | null}
   */
  observeSequence = null;
  /** Whether values were changed in its passes. */
  isEdited = false;

  /** Whether there are neither captures nor edits: only then the sequence can share a pass with others. */
  get unobserved() {
    return !this.observeSequence;
  }

  /**
   * @param {LoadedModel} model
   * @param {EngineSession} session  closed by `close`
   */
  constructor(model, session) {
    this.model = model;
    this.session = session;
  }

  /**
   * Set the captures and edits of all later passes.
   * @param {ObserveOptions & {source?: string | ArrayLike<number>}} o
   * @param {number} positions  most that the sequence will have
   * @param {number} [end]  those of its input, from whose end negative positions count
   * @param {Yielder} [yielder]  of the passes that edits need
   */
  async observe(o, positions, end, yielder = new Yielder()) {
    const { capture = [], captureBudget, edits: given = [], source } = o;
    if (capture?.length === 0 && given?.length === 0) return;
    // loaded at the first capture or edit
    const { CAPTURE_BUDGET, Recorder } = await import('./inspect/capture.js');
    const { applyEdits, withMeans } = await import('./inspect/edits.js');
    const { forwardOne } = await import('./inspect/forward.js');
    const sourceLength = source === undefined ? 0 : this.model.ids(source, 'source').length;
    const edits = await withMeans(this.model, { ...o, edits: given }, (ids, options) =>
      forwardOne(this.model, ids, options, yielder),
    );
    const points = await this.model.points();
    const budget = captureBudget ?? CAPTURE_BUDGET;
    const names = points.match(capture);
    /** @param {Sequence} sequence */
    const observeSequence = (sequence) => {
      sequence.observeSequence = observeSequence;
      sequence.isEdited = sequence.isEdited || edits.length > 0;
      applyEdits(sequence.session, points, edits, { own: positions, source: sourceLength, end });
      if (!names.length) return;
      sequence.#recorder = new Recorder(sequence.session, names);
      sequence.checkBudget = (queries) => {
        const bytes = points.bytes(names, queries, sequence.session.length + queries, sourceLength);
        if (bytes > budget) {
          fail(
            'capture-too-large',
            `capturing ${names.length} points at ${queries} positions takes ${bytes} bytes, ` +
              `more than the budget of ${budget}; name fewer points or raise captureBudget`,
          );
        }
      };
    };
    observeSequence(this);
  }

  /** Let later passes of the decoder end where nothing that is captured is computed any more. They have no logits. */
  stopAfterCaptures() {
    this.#recorder?.stopAfter(this.model.config.n_layers);
  }

  /**
   * Run the encoder of an encoder-decoder. Other models have no source.
   * @param {{source?: string | ArrayLike<number>, sourceMask?: ArrayLike<number>}} o
   * @param {Yielder} yielder
   */
  async encodeSource({ source, sourceMask }, yielder) {
    const { model } = this;
    if (model.config.kind !== 'encoder_decoder') {
      if (source !== undefined || sourceMask !== undefined)
        fail('bad-option', `source is an option of encoder_decoder models, this model is of kind ${model.config.kind}`);
      return;
    }
    if (source === undefined)
      fail('bad-option', 'this is an encoder-decoder model: pass { source } with the text or ids to read');
    const ids = model.ids(source, 'source');
    this.checkBudget(0);
    this.session.encode(ids, model.mask(sourceMask, ids.length, 'sourceMask'));
    this.#recorder?.gather(true);
    await yielder.yieldIfDue();
  }

  /**
   * Run the pass of a model that is only an encoder.
   * @param {number[]} ids
   * @param {ArrayLike<number> | null} mask  0 hides a position
   * @param {ArrayLike<number> | null} [types]  of the tokens
   */
  encodeOnly(ids, mask, types = null) {
    this.checkBudget(ids.length);
    this.session.encode(ids, mask, types);
    this.#recorder?.gather();
  }

  /**
   * Run tokens through the decoder in chunks. Between chunks it yields, and an abort takes effect.
   * @param {ArrayLike<number>} ids
   * @param {Yielder} yielder
   * @param {(first: number, n: number) => void} [each]  called after each chunk with the first of its rows that have
   *   logits, and their number
   * @param {number} [wanted]  the first row whose logits are read; default: without `each` the last one
   */
  async prefill(ids, yielder, each, wanted = each ? 0 : ids.length - 1) {
    const { model } = this;
    // With bidirectional attention there is one chunk: every row reads the keys of all later rows.
    const chunk = model.config.causal ? model.engine.schema.chunk : ids.length;
    const all = Array.from(ids);
    this.checkBudget(all.length);
    if (all.length > chunk) this.session.plan(Math.min(this.session.length + all.length, this.session.context));
    for (let at = 0; at < all.length; at += chunk) {
      const part = all.slice(at, at + chunk);
      const drop = this.#recorder ? 0 : Math.min(Math.max(wanted - at, 0), part.length);
      this.#eval(part, drop);
      if (drop < part.length) each?.(at + drop, part.length - drop);
      await yielder.yieldIfDue();
    }
  }

  /**
   * Run the last token of `ids`, which follows the positions in the cache.
   * @param {number[]} ids  all tokens of the sequence
   */
  advance(ids) {
    this.checkBudget(this.model.config.causal ? 1 : ids.length);
    if (this.model.config.causal) {
      this.#eval([ids[ids.length - 1]]);
    } else {
      // With bidirectional attention earlier positions read the new one: all are computed again.
      this.session.rewind(0);
      this.#eval(ids);
    }
  }

  /** Must be called after Engine.evalAll has run one token of this sequence. */
  afterSharedPass() {
    this.#rows = 1;
  }

  /** @param {number[]} ids @param {number} [drop] */
  #eval(ids, drop = 0) {
    this.session.eval(ids, drop);
    this.#rows = ids.length - drop;
    this.#recorder?.gather();
  }

  /**
   * The k most likely next tokens.
   * @param {number} k
   */
  top(k) {
    const { model } = this;
    return this.session
      .top(this.#rows - 1, 1, model.config.vocab_size, k)[0]
      .map(({ id, logprob }) => ({ id, text: model.tokenText(id), logprob }));
  }

  /** The values captured since the last call; undefined without captures. */
  takeCaptured() {
    return this.#recorder?.take();
  }

  /** An independent copy with the same captures and edits, owned by the caller. */
  fork() {
    const copy = new Sequence(this.model, this.session.fork());
    copy.isEdited = this.isEdited;
    try {
      this.observeSequence?.(copy);
    } catch (error) {
      copy.close();
      throw error;
    }
    copy.#rows = this.#rows;
    return copy;
  }

  close() {
    this.session.close();
  }
}
