// training_worker.js - the worker's side of a training run: answers the messages of training_run.js
import { Rate } from '../base/clock.js';
import { concatenate } from '../files/bytes/chunks.js';
import { Trainer } from '../engine/trainer.js';
import { dictionaryCalls } from './dictionaries/dictionary_worker.js';
import { defaultThreads, sharedMemory, whyNoThreads } from '../engine/wasm_features.js';
import { openPool } from '../engine/threads.js';
import { askForHelper, engine, listen, post, postError, watched } from '../worker/message_port.js';
import { camelConfig } from '../engine/config/config.js';
import { fail, show } from '../base/errors.js';
import { parameterTable } from '../engine/config/weight_roster.js';

/** @import { Config } from '../engine/config/config.js' */
/** @import { Batch } from './examples.js' */
/**
 * The arguments of a training run, checked by training_run.js.
 * @typedef {object} Order
 * @property {Config} config             vocab_size: the largest size of a learnt vocabulary
 * @property {Record<string, number>} options  of the trainer, by their names in C
 * @property {string | null} tokenizer   a tokenizer.json, of a text in the trainer's form; null: learnt from the text
 * @property {Uint8Array | null} text    null: each step is sent with its examples
 * @property {Uint8Array | Batch[] | null} held  held-out text for validation, or batches of examples
 * @property {number} validateEvery      in steps; 0: only after the last one
 * @property {Uint8Array | null} checkpoint  to continue from
 * @property {import('../engine/trainer.js').LoraPlan} [lora]  train an adapter, for weights that are given afterwards
 * @property {number} [threads]  the option of train
 * @property {string} [helper]   address of the worker's file, which helper threads run too
 */
/**
 * One step of a training run.
 * @typedef {object} TrainStep
 * @property {number} step    1 .. steps
 * @property {number} steps   of the whole run
 * @property {number} loss    in nats per token, on the batch of this step, before the weights change, with dropout
 * @property {number} norm    of the gradient, before clipping
 * @property {number} rate    factor of the learning rates, 0 .. 1: warm-up, then the schedule
 * @property {number} lr      rate of AdamW in this step
 * @property {number} muonLr  rate of Muon in this step
 * @property {number} tokens  processed since the start of the run
 * @property {number} tokensPerSecond  of this step, without validation; with a coarse clock, of the newest steps, and 0
 *   before there are enough of them
 * @property {number} accuracy  share of the batch's targets that had the largest logit, before the weights change
 * @property {Score | null} validation  on the held-out data, after the step; null when none was due
 */
/**
 * @typedef {object} Score
 * @property {number} nats         loss per token
 * @property {number} bitsPerByte  loss on a text; NaN for examples, which have no bytes
 * @property {number} accuracy     share of the targets that had the largest logit
 */

/** The bytes before the values in a file of weights (src/train/files/weights.c). */
const DIGITS = 64;

/** Steps of a tiny model are posted together, about once a frame. */
const POST_MS = 12;

/** The trainer of the run, which may not be open yet. @type {Trainer | null} */
let trainer = null;
/**
 * The part of the order that later calls need. vocabulary: that of examples
 * @type {Pick<Order, 'config' | 'options' | 'validateEvery' | 'held' | 'lora'> & {vocabulary: string | null}}
 */
let plan;
const rate = new Rate();
/**
 * An error of a step, which is reported by the next call: the steps before it are returned first.
 * @type {{error: unknown} | null}
 */
let failure = null;

/** The plan of the run's adapter. */
const lora = () => plan.lora ?? fail('bad-state', 'the run trains no adapter');

/** The trainer; throws where there is none. */
function requireTrainer() {
  return trainer ?? fail('bad-state', 'the run did not start');
}

/** The methods that training_run.js calls by messages, beside those of the trainer. */
const calls = {
  ...dictionaryCalls(startThreads),

  /**
   * Start the run.
   * @param {Order} order
   */
  async open({ checkpoint, text, threads, ...order }) {
    const { config, options, held } = order;
    const module = await engine,
      t = (trainer = await Trainer.start(module, sharedMemory));
    t.x.gf_train_set_pool(t.run, startThreads(t, module, threads, order.helper)); // before it is open
    const vocabulary = text ? null : order.tokenizer;
    plan = { ...order, vocabulary };
    t.configure(config, options);
    if (order.lora) return t.openLora(order.lora);
    if (vocabulary) {
      t.open(null, null);
      return startExamples(t, config, vocabulary, checkpoint);
    }
    const saved = checkpoint ? unpackCheckpoint(checkpoint) : null;
    const json = saved ? saved.tokenizer : order.tokenizer;
    if (json !== null) t.vocabulary(json);
    config.vocab_size = t.open(text, /** @type {Uint8Array | null} */ (held));
    if (saved) t.load(saved.state);
    const tokenizer = new TextDecoder().decode(t.file('tokenizer'));
    if (json !== null) checkTokenIds(JSON.parse(json), JSON.parse(tokenizer));
    return started(t, config, tokenizer);
  },

  /**
   * Begin to train the adapter.
   * @param {Uint8Array | null} checkpoint
   */
  adapt(checkpoint) {
    const t = requireTrainer();
    t.adapt(lora());
    return startExamples(t, plan.config, /** @type {string} */ (plan.vocabulary), checkpoint);
  },

  /** The factors of the adapter, for lora_files.js. */
  factors: () => requireTrainer().factors(lora()),

  /**
   * Run further steps: as many as fit into a frame, and at least one.
   * @param {Batch[]} [batches]  of examples: those of the next steps
   * @returns {TrainStep[]} empty after the last step
   */
  steps(batches) {
    const t = requireTrainer();
    const { options, validateEvery, held } = plan,
      { steps } = options;
    const began = performance.now();
    const earlierFailure = failure;
    /** @type {TrainStep[]} */
    const done = [];
    failure = null;
    if (earlierFailure) throw earlierFailure.error;
    try {
      while (t.steps < steps && (!done.length || performance.now() - began < POST_MS)) {
        const from = performance.now(),
          batch = batches?.[done.length];
        if (batch) t.give(batch);
        else if (batches) break;
        const { counted, ...s } = t.step();
        const tokensPerSecond = rate.add(counted, performance.now() - from);
        const due = held && (s.step === steps || (validateEvery && s.step % validateEvery === 0));
        done.push({
          ...s,
          lr: s.rate * options.lr,
          muonLr: s.rate * options.muon_lr,
          steps,
          tokensPerSecond,
          validation: due ? t.validate(Array.isArray(held) ? held : null) : null,
        });
        if (due) break; // what is asked for after it is of this step
      }
    } catch (error) {
      if (!done.length) throw error;
      failure = { error };
    }
    return done;
  },

  /** The model as the files of a folder. */
  folder: () => folderOf(requireTrainer(), plan.vocabulary),

  /** The values of the weights in roster order, without those of a tied head. */
  weights: () => new Float32Array(requireTrainer().file('weights').slice(DIGITS).buffer),

  /** A checkpoint: the state on which the next step depends, and the vocabulary. */
  checkpoint() {
    const t = requireTrainer();
    return packCheckpoint(t.file('state'), plan.vocabulary ? utf8.encode(plan.vocabulary) : t.file('tokenizer'));
  },

  /**
   * Measure how much gradient reaches each layer of a model with random weights.
   * @param {Config} config
   * @param {number} seed
   * @param {number} tokens
   */
  async depth(config, seed, tokens) {
    const t = await Trainer.start(await engine);
    t.configure(config);
    return t.depth(config.n_layers, seed, tokens);
  },
};

const utf8 = new TextEncoder();

/** Threads that share a step, at most: it is computed in two halves, GF_LANES in src/train/trainer.h. */
const MOST_THREADS = 2;

/**
 * Start helper threads where the memory of an instance is shared. The results are those of one thread.
 * @param {import('../engine/instance.js').Instance} t
 * @param {WebAssembly.Module} module  of its instance
 * @param {number} [threads]  the option of train
 * @param {string} [file]  address of the worker's file; default: that of this worker
 * @returns {number} address of the pool; 0: there is none
 */
function startThreads(t, module, threads = defaultThreads(), file = globalThis.location?.href) {
  if (t.memory.buffer instanceof ArrayBuffer || !file || whyNoThreads(threads) !== null) return 0;
  return openPool(t, module, Math.min(threads, MOST_THREADS), file, askForHelper);
}

/**
 * What the caller learns of a run that is open.
 * @param {Trainer} t
 * @param {Config} config
 * @param {string} tokenizer  tokenizer.json
 */
async function started(t, config, tokenizer) {
  await watched;
  return { config: camelConfig(config), parameters: parameterTable(config), tokenizer, step: t.steps };
}

/**
 * Start a run on examples.
 * @param {Trainer} t  open
 * @param {Config} config
 * @param {string} vocabulary  tokenizer.json
 * @param {Uint8Array | null} checkpoint
 */
function startExamples(t, config, vocabulary, checkpoint) {
  const saved = checkpoint && unpackCheckpoint(checkpoint);
  if (saved && saved.tokenizer !== vocabulary)
    fail(
      'bad-config',
      'the checkpoint was saved with another vocabulary: pass the same text, or the tokenizer of that run',
    );
  if (saved) t.load(saved.state);
  return started(t, config, vocabulary);
}

/**
 * The model as the files of a folder.
 * @param {Trainer} t
 * @param {string | null} vocabulary  tokenizer.json of examples, whose id 0 is no separator
 */
function folderOf(t, vocabulary) {
  const { bos_token_id: _, eos_token_id: __, ...config } = JSON.parse(new TextDecoder().decode(t.file('config')));
  return [
    { name: 'config.json', bytes: vocabulary ? utf8.encode(JSON.stringify(config, null, 2)) : t.file('config') },
    { name: 'model.safetensors', bytes: t.file('safetensors') },
    { name: 'tokenizer.json', bytes: vocabulary ? utf8.encode(vocabulary) : t.file('tokenizer') },
  ];
}

/**
 * The bytes of a checkpoint: the trainer's state | a tokenizer.json | u32 length of the tokenizer.json.
 * @param {Uint8Array} state
 * @param {Uint8Array} tokenizer
 */
function packCheckpoint(state, tokenizer) {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, tokenizer.length, true);
  return concatenate([state, tokenizer, length], state.length + tokenizer.length + 4);
}

/**
 * The parts of a checkpoint.
 * @param {Uint8Array} bytes
 * @returns {{state: Uint8Array, tokenizer: string}}
 */
function unpackCheckpoint(bytes) {
  const end = bytes.length - 4;
  const n = end < 0 ? 0 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(end, true);
  const tokenizer = n <= end ? new TextDecoder().decode(bytes.subarray(end - n, end)) : '';
  try {
    if (JSON.parse(tokenizer).model) return { state: bytes.subarray(0, end - n), tokenizer };
  } catch {
    // the error is thrown below
  }
  return fail('bad-file', 'the checkpoint was not written by this package, or is incomplete');
}

/**
 * Throws when a vocabulary has other ids than the trainer assigns to its tokens.
 * @param {any} callerJson   the caller's tokenizer.json
 * @param {any} trainerJson  the trainer's
 */
function checkTokenIds(callerJson, trainerJson) {
  const [ids, trainerIds] = [callerJson, trainerJson].map(
    (json) => /** @type {Record<string, number>} */ (json.model.vocab),
  );
  const wrong = Object.keys({ ...trainerIds, ...ids }).find((token) => ids[token] !== trainerIds[token]);
  if (wrong !== undefined)
    fail(
      'bad-tokenizer',
      `the token ${show(wrong)} has the id ${ids[wrong] ?? 'none'} in the tokenizer and ` +
        `${trainerIds[wrong] ?? 'none'} in the trainer, which accepts only vocabularies that it has learnt itself`,
    );
}

listen(async ({ id, method, args }) => {
  try {
    const receiver = /** @type {any} */ (method in calls ? calls : requireTrainer());
    post({ id, value: await receiver[method](...args) });
  } catch (error) {
    postError(id, error);
  }
});
