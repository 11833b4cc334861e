// trainer.js - one instance of the binary that trains, with its memory
//
// Same rules as engine/instance.js: a view is created, used and dropped within one function, and results are copies.
import { fail } from '../base/errors.js';
import { Instance, instantiate } from './instance.js';
import { restorePiece } from './stored_weights.js';

/** @import { Config } from './config/config.js' */
/**
 * What an adapter (LoRA) consists of. scale: alpha / rank; modules: of each the first weight in the roster, how many it
 * has, and its shape [out, in]; dtypes: of each roster entry of the model; factors: A and B of each module to begin
 * with; null: PEFT's beginning.
 * @typedef {{rank: number, scale: number, modules: {entry: number, count: number, shape: number[]}[],
 *   dtypes: string[], factors: Float32Array[] | null}} LoraPlan
 */

/** The files of a run by their number in src/wasm/train_abi.c. */
const KINDS = ['weights', 'config', 'safetensors', 'tokenizer', 'state'];
const F64 = 8;

const utf8 = new TextEncoder();

/** One training run in an instance of its own. */
export class Trainer extends Instance {
  /** Address of the numbers that calls return. */
  #out = this.alloc(8 * F64);
  /** Address of the run. */
  run = this.x.gf_train_new() || fail('out-of-memory', 'there is no memory for a run');
  /** Address of the run whose weights are given: this one, or that of the teacher. */
  #given = this.run;

  /**
   * Create an instance.
   * @param {WebAssembly.Module} module see binary.js
   * @param {() => WebAssembly.Memory} [sharedMemory]  creates the memory of a binary with threads
   * @returns {Promise<Trainer>}
   */
  static async start(module, sharedMemory) {
    return new this((await instantiate(module, sharedMemory)).exports);
  }

  /**
   * Set the configuration and the options.
   * @param {Config} config
   * @param {Record<string, number>} [options]  by their names in C
   * @param {number} [run]  default: its own
   */
  configure(config, options = {}, run = this.run) {
    for (const field of this.schema.fields) {
      const value = config[/** @type {keyof Config} */ (field)];
      for (const one of value === undefined ? [] : [value].flat())
        this.#set(run, field, typeof one === 'string' ? this.schema.enums[field].indexOf(one) : Number(one));
    }
    for (const [name, value] of Object.entries(options)) this.#set(run, name, value);
  }

  /**
   * @param {number} run
   * @param {string} name
   * @param {number} value
   */
  #set(run, name, value) {
    this.#lendBytes(utf8.encode(name), (p) => this.check(this.x.gf_train_set(run, p, value, this.error)));
  }

  /**
   * Use the vocabulary of a tokenizer.json instead of one learnt from the text.
   * @param {string} json
   */
  vocabulary(json) {
    const bytes = utf8.encode(json);
    this.#lendBytes(bytes, (p) => this.check(this.x.gf_train_vocabulary(this.run, p, bytes.length, this.error)));
  }

  /**
   * Learn the vocabulary, where none is set, and prepare the first step.
   * @param {Uint8Array | null} text  null: batches are given
   * @param {Uint8Array | null} held  held-out text for validation
   * @returns {number} tokens of the vocabulary
   */
  open(text, held) {
    // The run owns both buffers. An instance that has no memory for the second one is not used any more.
    const [p, q] = [text, held].map((bytes) => (bytes ? this.#put(this.alloc(bytes.length + 1), bytes) : 0));
    this.check(this.x.gf_train_open(this.run, p, text?.length ?? 0, q, held?.length ?? 0, this.error));
    return this.x.gf_train_vocab_size(this.run);
  }

  /**
   * Open a run that trains an adapter. The weights of the model are then restored one by one.
   * @param {LoraPlan} plan
   */
  openLora({ rank, scale, modules, dtypes }) {
    this.lend(8 * modules.length, (p) => {
      const pairs = modules.flatMap(({ entry, count }) => [entry, count]);
      new Int32Array(this.memory.buffer, p, pairs.length).set(pairs);
      this.lendDtypes(dtypes, (q) =>
        this.check(this.x.gf_train_open_lora(this.run, rank, scale, p, modules.length, q, this.error)),
      );
    });
  }

  /**
   * Lend the numbers of the types of each roster entry.
   * @template T
   * @param {string[]} dtypes
   * @param {(p: number) => T} call
   */
  lendDtypes(dtypes, call) {
    return this.lend(dtypes.length, (p) => {
      new Uint8Array(this.memory.buffer, p, dtypes.length).set(dtypes.map((d) => this.schema.dtypes.indexOf(d)));
      return call(p);
    });
  }

  /**
   * Give a piece of the model that an adapter is trained for, as savedPiece returns it.
   * @param {number} entry
   * @param {number} from
   * @param {Uint8Array} bytes
   */
  restoreWeight(entry, from, bytes) {
    restorePiece(this, this.x.gf_train_model(this.run), entry, from, bytes);
  }

  /** Begin to train the adapter, after the last weight. @param {LoraPlan} plan */
  adapt({ factors }) {
    factors?.forEach((values, i) => {
      new Float32Array(this.memory.buffer, this.x.gf_train_factor(this.run, i) >>> 0, values.length).set(values);
    });
    this.check(this.x.gf_train_adapt(this.run, this.error));
  }

  /** A and B of each module as they are now. @param {LoraPlan} plan */
  factors({ rank, modules }) {
    return modules.map(({ shape: [rows, cols] }, i) => ({
      a: this.floats(this.x.gf_train_factor(this.run, 2 * i), rank * cols),
      b: this.floats(this.x.gf_train_factor(this.run, 2 * i + 1), rows * rank),
    }));
  }

  /**
   * Learn also from the predictions of a decoder, whose weights are then given.
   * @param {Config} config  of the teacher
   * @param {number} share   of every target that becomes the teacher's prediction
   */
  teach(config, share) {
    this.#given = this.x.gf_train_new() || fail('out-of-memory', 'there is no memory for a teacher');
    this.configure(config, {}, this.#given);
    this.check(this.x.gf_train_teach(this.run, this.#given, share, this.error));
  }

  /**
   * Give the values of a weight.
   * @param {number} entry  of the roster
   * @param {Float32Array} values
   */
  giveWeight(entry, values) {
    const p = this.x.gf_train_weight(this.#given, entry) >>> 0;
    if (p) new Float32Array(this.memory.buffer, p, values.length).set(values);
  }

  /**
   * Fill the batch of the next step.
   * @param {import('../train/examples.js').Batch} batch
   */
  give({ packed, n }) {
    this.#lendBytes(new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength), (p) =>
      this.check(this.x.gf_train_give(this.run, p, n, this.error)),
    );
  }

  /**
   * @returns {{step: number, loss: number, norm: number, rate: number, tokens: number, counted: number,
   *   accuracy: number}} loss in nats a token before the step, norm of its gradient, share of the learning rates,
   *   tokens so far and in this step, share of those that had the largest logit
   */
  step() {
    this.check(this.x.gf_train_step(this.run, this.#out, this.error));
    const [step, loss, norm, rate, tokens, counted, right] = this.#numbers(7);
    return { step, loss, norm, rate, tokens, counted, accuracy: right / counted };
  }

  /** @param {number} n  of the numbers that the last call returned */
  #numbers(n) {
    return new Float64Array(this.memory.buffer, this.#out, n);
  }

  /** Steps done. */
  get steps() {
    return this.x.gf_train_steps(this.run);
  }

  /**
   * @param {import('../train/examples.js').Batch[] | null} held  null: the text that is held out
   * @returns {import('../train/training_worker.js').Score}
   */
  validate(held) {
    this.#numbers(4).fill(0);
    if (!held) this.check(this.x.gf_train_validate(this.run, this.#out, this.error));
    for (const batch of held ?? []) {
      this.give(batch);
      this.check(this.x.gf_train_score(this.run, this.#out, this.error));
    }
    const [loss, n, right, bytes] = this.#numbers(4);
    return { nats: loss / n, bitsPerByte: bytes ? loss / Math.LN2 / bytes : NaN, accuracy: right / n };
  }

  /**
   * @param {'weights'|'config'|'safetensors'|'tokenizer'|'state'} kind
   * @returns {Uint8Array<ArrayBuffer>}
   */
  file(kind) {
    const p = this.pointer(this.x.gf_train_file(this.run, KINDS.indexOf(kind), this.#out, this.error)) >>> 0;
    const [n] = new Uint32Array(this.memory.buffer, this.#out, 1);
    try {
      return new Uint8Array(this.memory.buffer, p, n).slice();
    } finally {
      this.x.gf_abi_free(p);
    }
  }

  /**
   * Continue from a state that `file` returned.
   * @param {Uint8Array} state
   */
  load(state) {
    this.#lendBytes(state, (p) => this.check(this.x.gf_train_load(this.run, p, state.length, this.error)));
  }

  /**
   * How much gradient reaches each layer of a model with random weights.
   * @param {number} layers
   * @param {number} seed
   * @param {number} tokens
   * @returns {{weights: number, stream: number}[]} root mean squares, first layer first
   */
  depth(layers, seed, tokens) {
    return this.lend(2 * layers * F64, (p) => {
      this.check(this.x.gf_train_depth(this.run, seed, tokens, p, this.error));
      const values = new Float64Array(this.memory.buffer, p, 2 * layers);
      return Array.from({ length: layers }, (_, l) => ({ weights: values[2 * l], stream: values[2 * l + 1] }));
    });
  }

  // ---- memory, private to this file

  /**
   * Write bytes to an address, and a 0 after them.
   * @param {number} p
   * @param {Uint8Array} bytes
   */
  #put(p, bytes) {
    const view = new Uint8Array(this.memory.buffer, p, bytes.length + 1);
    view.set(bytes);
    view[bytes.length] = 0;
    return p;
  }

  /**
   * Copy bytes to linear memory for the time of one call.
   * @param {Uint8Array} bytes
   * @param {(p: number) => void} call
   */
  #lendBytes(bytes, call) {
    this.lend(bytes.length + 1, (p) => call(this.#put(p, bytes)));
  }
}
