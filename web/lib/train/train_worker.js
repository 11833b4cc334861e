// train_worker.js - the worker's side of a training run: answers the messages of train.js
import { Rate } from '../base/clock.js';
import { Trainer } from './trainer.js';
import { listen, post, postError, watched } from '../worker/port.js';
import { camelConfig } from '../formats/config.js';
import { GlassformerError, fail, show } from '../base/errors.js';
import { parameterTable } from '../formats/roster.js';

/** @typedef {import('../formats/config.js').Config} Config */
/**
 * What train.js has checked.
 * @typedef {object} Order
 * @property {Config} config             vocab_size: what a learnt vocabulary may have
 * @property {Record<string, number>} options  of the trainer, by their names in C
 * @property {string | null} tokenizer   a tokenizer.json in the trainer's own writing
 * @property {Uint8Array} text
 * @property {Uint8Array | null} held    to validate on
 * @property {number} validateEvery      steps; 0: only after the last
 * @property {Uint8Array | null} checkpoint
 */
/**
 * @typedef {object} TrainStep
 * @property {number} step    1 .. steps
 * @property {number} steps   of the whole run
 * @property {number} loss    nats a token, of the weights before the step on its batch, with dropout
 * @property {number} norm    of its gradient, before clipping
 * @property {number} rate    share of the learning rates, 0 .. 1: warm-up and cosine
 * @property {number} tokens  learnt from so far
 * @property {number} tokensPerSecond of this step without validation; of the newest steps where the clock is too coarse
 *   for one, 0 before there are enough of them
 * @property {{nats: number, bitsPerByte: number} | null} validation nats a token, of the weights behind the step; null:
 *   none was due
 */

/** Steps of a tiny model are posted together, about once a frame. */
const POST_MS = 12;

/** @type {Trainer | null} */
let trainer = null;
/**
 * Of the order; its texts and checkpoint are not kept.
 * @type {{steps: number, validateEvery: number, validates: boolean}}
 */
let plan;
const rate = new Rate();
/** An error is reported after the steps computed before it. @type {{error: unknown} | null} */
let failure = null;

function running() {
  return trainer ?? fail('bad-state', 'the run did not start');
}

const calls = {
  /** @param {Order} order */
  async open({ config, options, checkpoint, text, held, validateEvery, ...order }) {
    const t = await Trainer.start(await engine);
    plan = { steps: options.steps, validateEvery, validates: held !== null };
    t.configure(config, options);
    const saved = checkpoint ? unwrap(checkpoint) : null;
    const json = saved ? saved.tokenizer : order.tokenizer;
    if (json !== null) t.vocabulary(json);
    config.vocab_size = t.open(text, held);
    if (saved) t.load(saved.state);
    const tokenizer = new TextDecoder().decode(t.file('tokenizer'));
    if (json !== null) sameTokens(JSON.parse(json), JSON.parse(tokenizer));
    trainer = t;
    await watched;
    return { config: camelConfig(config), parameters: parameterTable(config), tokenizer };
  },

  /**
   * The next steps: as many as fit into a frame, one at least; none after the last.
   * @returns {TrainStep[]}
   */
  steps() {
    const t = running();
    const { steps, validateEvery, validates } = plan;
    const began = performance.now();
    const told = failure;
    /** @type {TrainStep[]} */
    const done = [];
    failure = null;
    if (told) throw told.error;
    try {
      while (t.steps < steps && (!done.length || performance.now() - began < POST_MS)) {
        const from = performance.now();
        const { counted, ...s } = t.step();
        const tokensPerSecond = rate.add(counted, performance.now() - from);
        const due = validates && (s.step === steps || (validateEvery && s.step % validateEvery === 0));
        done.push({ ...s, steps, tokensPerSecond, validation: due ? t.validate() : null });
      }
    } catch (error) {
      if (!done.length) throw error;
      failure = { error };
    }
    return done;
  },

  /**
   * The model as files: one GGUF where that has a name for the architecture, a folder's otherwise.
   * @param {string} dtype
   */
  files(dtype) {
    const t = running();
    try {
      return [{ name: 'model.gguf', bytes: t.file('gguf', dtype) }];
    } catch (error) {
      if (!(error instanceof GlassformerError && error.code === 'unsupported')) throw error;
    }
    return [
      { name: 'config.json', bytes: t.file('config') },
      { name: 'model.safetensors', bytes: t.file('safetensors') },
      { name: 'tokenizer.json', bytes: t.file('tokenizer') },
    ];
  },

  /** Everything that the next step depends on, and the vocabulary. */
  checkpoint() {
    const t = running();
    return wrap(t.file('state'), t.file('tokenizer'));
  },

  /**
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

/**
 * A checkpoint: the trainer's state, a tokenizer.json, the length of that.
 * @param {Uint8Array} state
 * @param {Uint8Array} tokenizer
 */
function wrap(state, tokenizer) {
  const bytes = new Uint8Array(state.length + tokenizer.length + 4);
  bytes.set(state);
  bytes.set(tokenizer, state.length);
  new DataView(bytes.buffer).setUint32(bytes.length - 4, tokenizer.length, true);
  return bytes;
}

/**
 * @param {Uint8Array} bytes
 * @returns {{state: Uint8Array, tokenizer: string}}
 */
function unwrap(bytes) {
  const end = bytes.length - 4;
  const n = end < 0 ? 0 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(end, true);
  const tokenizer = n <= end ? new TextDecoder().decode(bytes.subarray(end - n, end)) : '';
  try {
    if (JSON.parse(tokenizer).model.vocab) return { state: bytes.subarray(0, end - n), tokenizer };
  } catch {
    /* said below */
  }
  return fail('bad-file', 'the checkpoint was not written by this package, or is incomplete');
}

/**
 * The trainer numbers tokens in its own way: a vocabulary in another order would be read as something else.
 * @param {any} given
 * @param {any} made
 */
function sameTokens(given, made) {
  const [theirs, ours] = [given, made].map((json) => /** @type {Record<string, number>} */ (json.model.vocab));
  const odd = Object.keys({ ...ours, ...theirs }).find((token) => theirs[token] !== ours[token]);
  if (odd !== undefined)
    fail(
      'bad-tokenizer',
      `the token ${show(odd)} has the number ${theirs[odd] ?? 'none'} in the tokenizer, ${ours[odd] ?? 'none'} in the trainer: it takes vocabularies that it has learnt itself`,
    );
}

/** The compiled binary comes in a message of its own. @type {(module: WebAssembly.Module) => void} */
let deliver;
/** @type {Promise<WebAssembly.Module>} */
const engine = new Promise((resolve) => {
  deliver = resolve;
});

listen(async (data) => {
  if (data.engine) return deliver(data.engine);
  const { id, method, args } = data;
  try {
    const value = await /** @type {any} */ (calls)[method](...args);
    post({ id, value });
  } catch (error) {
    postError(id, error);
  }
});
