// dictionary_worker.js - the worker's side of a dictionary that is trained: answers the messages of dictionary_run.js
import { DictionaryTrainer } from '../../engine/dictionary_trainer.js';
import { sharedMemory } from '../../engine/wasm_features.js';
import { engine } from '../../worker/message_port.js';
import { fail } from '../../base/errors.js';

/** @import { DictionaryOrder, DictionaryScore } from '../../engine/dictionary_trainer.js' */

/** Steps are posted together, several times a second. */
const POST_MS = 100;

/** @type {DictionaryTrainer | null} */
let trainer = null;
const required = () => trainer ?? fail('bad-state', 'the dictionary was not opened');

/**
 * The calls that training_worker.js adds to its own.
 * @param {(instance: DictionaryTrainer, module: WebAssembly.Module, threads?: number, file?: string) => number}
 *   openThreads  gives a pool, or 0
 */
export const dictionaryCalls = (openThreads) => ({
  /**
   * @param {DictionaryOrder} order
   * @param {number} [threads]  the option of dictionary
   * @param {string} [helper]   address of the worker's file
   */
  async openDictionary(order, threads, helper) {
    const module = await engine;
    trainer = await DictionaryTrainer.start(module, sharedMemory);
    trainer.open(order, openThreads(trainer, module, threads, helper));
  },

  /**
   * @param {number} first
   * @param {Int32Array} tokens
   * @param {Float32Array} x
   * @param {Float32Array} [y]
   */
  putRows: (first, tokens, x, y) => required().put(first, tokens, x, y),

  prepareDictionary: () => required().prepare(),

  /**
   * Run steps for a tenth of a second, at least one.
   * @param {number} most
   * @returns {DictionaryScore} the means over these steps; dead: of the last
   */
  dictionarySteps(most) {
    const began = performance.now();
    let [fvu, l0, rows, done] = [0, 0, 0, 0];
    let score;
    do {
      score = required().step();
      fvu += score.fvu;
      l0 += score.l0;
      rows += score.rows;
    } while (++done < most && performance.now() - began < POST_MS);
    return { ...score, rows, fvu: fvu / done, l0: l0 / done };
  },

  /** The weights, and what the rows activate. */
  dictionaryResult() {
    const trained = required();
    return { weights: trained.weights(), active: trained.encode() };
  },
});
