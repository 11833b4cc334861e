// differentiator.js - gradients in an instance of the binary that trains, with f32 copies of a loaded model's weights
//
// Same rules as engine/instance.js: a view is created, used and dropped within one function, and results are copies.
import { Trainer } from './trainer.js';
import { tensorRow } from './engine_captures.js';

/** @import { Engine } from './engine.js' */
/** @import { Place } from './engine_captures.js' */

export class Differentiator extends Trainer {
  /** Address of the struct gf_gradients. */
  #p = 0;

  /**
   * Copy the weights of a loaded model.
   * @param {Engine} engine
   * @param {{shape: number[]}[]} rows  its parameter table
   */
  copy(engine, rows) {
    this.configure(/** @type {import('./config/config.js').Config} */ (engine.config));
    this.#p = this.pointer(this.x.gf_gradients_new(this.run, this.error));
    for (const [i, { shape }] of rows.entries()) {
      const cols = shape[shape.length - 1];
      const to = this.x.gf_gradients_weight(this.#p, i, 0) >>> 0;
      for (let r = 0; to && r < (shape.length > 1 ? shape[0] : 1); r++)
        new Float32Array(this.memory.buffer, to + 4 * r * cols, cols).set(tensorRow(engine, i, r, cols));
    }
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
   * Run a pass and its gradients.
   * @param {{row: number, token: number, minus: number}} metric  row -1: the loss
   * @param {number[]} ids
   * @param {number[]} source
   * @param {number} embedding  factor of the token embedding
   * @returns {number} the metric
   */
  ask({ row, token, minus }, ids, source, embedding) {
    const numbers = [row, token, minus, ids.length, source.length, ...ids, ...source];
    return this.lend(8 + 4 * numbers.length, (p) => {
      new Int32Array(this.memory.buffer, p + 8, numbers.length).set(numbers);
      this.check(this.x.gf_gradients_ask(this.#p, p + 8, embedding, p, this.error));
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
   * The gradient of a weight in the last pass; null for one without values of its own.
   * @param {number} i      roster entry
   * @param {number} count  of its values
   */
  weight(i, count) {
    const p = this.x.gf_gradients_weight(this.#p, i, 1);
    return p ? this.floats(p, count) : null;
  }
}
