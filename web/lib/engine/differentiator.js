// differentiator.js - gradients in an instance of the binary that trains, with a copy of a loaded model's weights
//
// Same rules as engine/instance.js: a view is created, used and dropped within one function, and results are copies.
import { Trainer } from './trainer.js';
import { restorePiece, savedPiece } from './stored_weights.js';

/** @import { Engine } from './engine.js' */
/** @import { Place } from './engine_captures.js' */
/** A term of a metric: a factor of the logit of a token after a row.
 * @typedef {{row: number, token: number, weight: number}} Term */

export class Differentiator extends Trainer {
  /** Address of the struct gf_gradients. */
  #p = 0;

  /**
   * Copy the weights of a loaded model.
   * @param {Engine} engine
   * @param {{dtype: string}[]} rows  its parameter table
   */
  copy(engine, rows) {
    this.configure(/** @type {import('./config/config.js').Config} */ (engine.config));
    this.#p = this.lendDtypes(
      rows.map(({ dtype }) => dtype),
      (p) => this.pointer(this.x.gf_gradients_new(this.run, p, this.error)),
    );
    const model = this.x.gf_gradients_model(this.#p);
    for (const i of rows.keys())
      for (let at = 0, piece; (piece = savedPiece(engine, i, at)).length; at += piece.length)
        restorePiece(this, model, i, at, piece);
  }

  /**
   * Choose a point whose gradient later passes keep.
   * @param {Place} place
   * @param {boolean} on
   */
  want({ stack, layer, point }, on) {
    this.check(this.x.gf_gradients_want(this.#p, stack, layer, point, on ? 1 : 0, this.error));
  }

  /**
   * Choose a weight whose gradient later passes keep.
   * @param {number} i  roster entry
   * @param {boolean} on
   */
  wantWeight(i, on) {
    this.x.gf_gradients_want_weight(this.#p, i, on ? 1 : 0);
  }

  /**
   * What addEdit and addFeatureEdit change in place of a session: later passes.
   * @returns {import('./engine_captures.js').Edited}
   */
  get edited() {
    const { gf_gradients_change: edit, gf_gradients_change_feature: editFeature } = this.x;
    return { engine: this, ptr: this.#p, edit, editFeature };
  }

  /** Take all edits away. */
  restore() {
    this.x.gf_gradients_restore(this.#p);
  }

  /**
   * Run a pass and its gradients.
   * @param {Term[]} terms  of the metric; none: the loss
   * @param {number[]} ids
   * @param {number[]} source
   * @param {number} embedding  factor of the token embedding
   * @returns {number} the metric
   */
  ask(terms, ids, source, embedding) {
    const tokens = [...ids, ...source];
    const n = terms.length;
    const numbers = 3 + tokens.length + 2 * n;
    return this.lend(8 + 4 * (numbers + n), (p) => {
      const to = new Int32Array(this.memory.buffer, p + 8, numbers);
      to.set([n, ids.length, source.length]);
      to.set(tokens, 3);
      const weights = p + 8 + 4 * numbers;
      const by = new Float32Array(this.memory.buffer, weights, n);
      terms.forEach(({ row, token, weight }, i) => {
        to[3 + tokens.length + i] = row;
        to[3 + tokens.length + n + i] = token;
        by[i] = weight;
      });
      this.check(this.x.gf_gradients_ask(this.#p, p + 8, weights, embedding, p, this.error));
      return new Float64Array(this.memory.buffer, p, 1)[0];
    });
  }

  /**
   * The gradient at a point in the last pass.
   * @param {Place} place
   */
  at({ stack, layer, point }) {
    const out = this.scratch(12);
    const p = this.x.gf_gradients_at(this.#p, stack, layer, point, out);
    const dims = Array.from(new Int32Array(this.memory.buffer, out, 3));
    return { data: this.floats(p, dims[0] * dims[1] * dims[2]), dims };
  }

  /**
   * The gradient of a chosen weight in the last pass; null for one without values of its own.
   * @param {number} i      roster entry
   * @param {number} count  of its values
   */
  weight(i, count) {
    const p = this.x.gf_gradients_weight(this.#p, i);
    return p ? this.floats(p, count) : null;
  }
}
