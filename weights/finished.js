// finished.js - what the model of a training run writes, and its bits per byte: computed by the engine that runs models
import { load } from '../web/lib/index.js';

/** @import { Model } from '../web/lib/index.js' */
/** @import { Run } from './train.js' */

const PROMPT = 'Once upon a time, there was a little';
/** Pairs whose answers are printed during the training. */
const SHOWN = 5;

/**
 * The model of a run, with its weights as they are now.
 * @param {Run} run
 * @param {string} [form]  of a GGUF
 * @returns {Promise<Model>} the caller's to dispose
 */
async function modelOf({ trainer, config }, form) {
  if (form) return load(trainer.file('gguf', form));
  const json = (/** @type {'config' | 'tokenizer'} */ kind) => JSON.parse(new TextDecoder().decode(trainer.file(kind)));
  return load(
    { weights: trainer.file('safetensors'), config: json('config'), tokenizer: json('tokenizer') },
    { dtype: 'f32' },
  );
}

/** @param {Run} run @returns {string[][]} source and target of each pair */
const pairsOf = ({ corpus }) =>
  corpus
    .split('\n')
    .map((line) => line.trim().split('\t'))
    .filter(([source]) => source);

/** The target that a model generates for a source. @param {Model} model @param {string} source */
async function answer(model, source) {
  let text = '';
  for await (const step of model.generate([0], { source, temperature: 0, maxTokens: model.config.contextLength - 1 }))
    text += step.text;
  return text;
}

/**
 * Print a story that the model continues, or its answers to some pairs.
 * @param {Run} run
 */
export async function sample(run) {
  const model = await modelOf(run);
  const pairs = run.config.kind === 'encoder_decoder' ? pairsOf(run) : [];
  for (let i = 0; i < SHOWN && pairs.length; i++) {
    const [source] = pairs[(i * 7919) % pairs.length]; // 7919 is prime
    console.log(`  ${source} -> ${await answer(model, source)}`);
  }
  if (!pairs.length) {
    let text = PROMPT;
    for await (const step of model.generate(PROMPT, { temperature: 0.8, seed: run.trainer.steps, maxTokens: 200 }))
      text += step.text;
    console.log(`  ${text}`);
  }
  model.dispose();
}

/** Print how many pairs of the corpus a model answers exactly, and its other answers. @param {Run} run */
async function printExact(run) {
  const model = await modelOf(run);
  const pairs = pairsOf(run);
  let exact = 0;
  for (const [source, target] of pairs) {
    const text = await answer(model, source);
    if (text === target) exact++;
    else console.log(`  ${source} -> ${text}, not ${target}`);
  }
  console.log(`${exact} of ${pairs.length} exact`);
  model.dispose();
}

/**
 * Bits per byte of stories, each by itself after a separator, in windows of the context as in training.
 * @param {Model} model
 * @param {string} corpus
 */
async function bitsPerByte(model, corpus) {
  const { contextLength: context, vocabSize } = model.config;
  const tokenizer = /** @type {import('../web/lib/index.js').Tokenizer} */ (await model.tokenizer);
  let nats = 0,
    bytes = 0;
  for (const story of corpus.split('<|endoftext|>').map((each) => each.trim())) {
    if (!story) continue;
    const ids = [0, ...tokenizer.encode(story, { addSpecialTokens: false }), 0];
    bytes += Buffer.byteLength(story);
    for (let at = 0; at < ids.length - 1; at += context) {
      const { logits } = await model.forward(ids.slice(at, Math.min(at + context, ids.length - 1)));
      for (let i = 0; i < logits.shape[0]; i++) {
        const row = logits.data.subarray(i * vocabSize, (i + 1) * vocabSize);
        const top = row.reduce((a, b) => Math.max(a, b), -Infinity);
        nats += Math.log(row.reduce((sum, x) => sum + Math.exp(x - top), 0)) + top - row[ids[at + i + 1]];
      }
    }
  }
  return nats / Math.LN2 / bytes;
}

/**
 * Print a file that has been written, with the bits per byte of the validation stories; of pairs the exact answers.
 * @param {Run} run
 * @param {string} name  of a GGUF; '': pairs
 * @param {string} [form]
 */
export async function checkFinished(run, name, form) {
  if (!name) return run.isHeld ? printExact(run) : sample(run);
  if (!run.isHeld) return console.log(name);
  const model = await modelOf(run, form);
  console.log(`${name}: ${(await bitsPerByte(model, run.corpus)).toFixed(4)} bits/byte`);
  model.dispose();
}
