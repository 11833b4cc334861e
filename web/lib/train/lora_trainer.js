// lora_trainer.js - an instance of the binary that trains, whose run trains an adapter (LoRA) for given weights
//
// Same rules as engine/instance.js: a view is created, used and dropped within one function, and results are copies.
import { Trainer } from './trainer.js';

/**
 * What is trained. scale: alpha / rank; modules: of each the first weight in the roster, how many it has, and its shape
 * [out, in]; factors: A and B of each module to begin with; null: PEFT's beginning.
 * @typedef {object} LoraPlan
 * @property {number} rank
 * @property {number} scale
 * @property {{entry: number, count: number, shape: number[]}[]} modules
 * @property {Float32Array[] | null} factors
 */

export class LoraTrainer extends Trainer {
  /** @type {LoraPlan} */
  #plan = { rank: 0, scale: 0, modules: [], factors: null };

  /**
   * Open the run. Its weights are then given one by one.
   * @param {LoraPlan} plan
   */
  openLora(plan) {
    const { rank, scale, modules } = (this.#plan = plan);
    this.lend(8 * modules.length, (p) => {
      const pairs = modules.flatMap(({ entry, count }) => [entry, count]);
      new Int32Array(this.memory.buffer, p, pairs.length).set(pairs);
      this.check(this.x.gf_train_open_lora(this.run, rank, scale, p, modules.length, this.error));
    });
  }

  /** Begin to train, after the last weight. */
  adapt() {
    this.#plan.factors?.forEach((values, i) => {
      new Float32Array(this.memory.buffer, this.x.gf_train_factor(this.run, i) >>> 0, values.length).set(values);
    });
    this.x.gf_train_adapt(this.run);
  }

  /** A and B of each module as they are now. */
  factors() {
    const { rank, modules } = this.#plan;
    return modules.map(({ shape: [rows, cols] }, i) => ({
      a: this.floats(this.x.gf_train_factor(this.run, 2 * i), rank * cols),
      b: this.floats(this.x.gf_train_factor(this.run, 2 * i + 1), rows * rank),
    }));
  }
}
