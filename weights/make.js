#!/usr/bin/env node
// make.js - trains a shipped model that the package itself trains, and writes its files and loss.csv
//
//   node weights/make.js addition | sorting | induction [FOLDER]     default: the model's folder
//   node weights/make.js fill TRAIN.txt VALID.txt [FOLDER]
//
// The texts of `fill` are those of weights/stories.recipe.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toHalf } from '../web/lib/files/gguf/encode_half.js';
import { train } from '../web/lib/api/index.js';
import { CONFIG, OPTIONS, additionOf } from '../web/lib/apps/labs/grokking_task.js';
import { runLab } from '../web/lib/apps/labs/labs.js';
import { LENGTH, trainSorting } from '../web/lib/apps/labs/sorting_task.js';

const SEPARATOR = '<|endoftext|>';
const HELD_OUT = 200; // stories that `fill` is validated with
/** BERT with today's block: the norm before each sublayer, rotary positions, SwiGLU, no biases (Warner et al. 2024). */
const ENCODER = {
  kind: 'encoder',
  mlm_head: true,
  d_model: 96,
  n_layers: 4,
  n_heads: 4,
  d_ff: 192,
  context_length: 128,
};

const [model, ...rest] = process.argv.slice(2);

/** Each makes the model of its name. @type {Record<string, () => Promise<void>>} */
const MODELS = {
  /** a + b modulo 113, from three tenths of all pairs. */
  addition() {
    const { taught, held, vocabulary } = additionOf(113);
    const sizes = { seed: 1, steps: 2000, batchTokens: 3 * taught.length };
    const options = { ...OPTIONS, ...sizes, validation: held, validateEvery: 20 };
    return makeModel(train(CONFIG, { examples: taught, vocabulary }, options));
  },
  /** Ten numbers in order. */
  sorting: () => makeModel(trainSorting({}, { steps: 4000, validateEvery: 40 }, { seed: 1, most: LENGTH, held: 500 })),
  /** Two layers of attention that continue what they have seen before: the first model of the lab, with seed 1. */
  async induction() {
    const run = runLab('induction', { seed: 1 });
    let report = await run.next();
    for (; !report.done; report = await run.next()) console.log(report.value.doing);
    write(report.value.trained ?? []);
    for (const { claim, measured } of report.value.claims) console.log(`${claim}: ${measured}`);
  },
  /** An encoder that finds hidden words of children's stories (Devlin et al. 2018); its weights as F16. */
  async fill() {
    const text = readFileSync(/** @type {string} */ (rest.shift()), 'utf8');
    const held = readFileSync(/** @type {string} */ (rest.shift()), 'utf8');
    const validation = held.split(SEPARATOR).slice(0, HELD_OUT).join(SEPARATOR);
    const options = { vocabSize: 1024, steps: 3600, batchTokens: 2048, validateEvery: 100, seed: 1 };
    const run = train(ENCODER, text, { ...options, validation });
    await makeModel(run, (name, bytes) => (name.endsWith('.safetensors') ? inHalf(bytes) : bytes));
    console.log('by frequency:', byFrequency(run.tokenizer, text, validation));
  },
};

/** @param {{name: string, bytes: Uint8Array}[]} files */
function write(files) {
  const [folder = fileURLToPath(new URL(model, import.meta.url))] = rest;
  mkdirSync(folder, { recursive: true });
  for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes);
}

/**
 * Run a training to its end.
 * @param {import('../web/lib/api/index.js').Training} run  disposed at the end
 * @param {(name: string, bytes: Uint8Array) => Uint8Array} [stored]  the bytes that are written of a file
 */
async function makeModel(run, stored = (_, bytes) => bytes) {
  const curve = ['step,loss,accuracy,held_out_loss,held_out_accuracy'];
  for await (const { step, loss, accuracy, validation } of run) {
    if (!validation) continue;
    curve.push([step, ...[loss, accuracy, validation.nats, validation.accuracy].map((x) => x.toPrecision(5))].join());
    if (step % 100 === 0) console.log(curve.at(-1));
  }
  const files = (await run.files()).map(({ name, bytes }) => ({ name, bytes: stored(name, bytes) }));
  write([...files, { name: 'loss.csv', bytes: new TextEncoder().encode(`${curve.join('\n')}\n`) }]);
  await run.dispose();
}

/** A safetensors file with its F32 values as F16. @param {Uint8Array} file */
function inHalf(file) {
  const n = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + n)));
  for (const each of Object.values(header)) {
    if (!each.data_offsets) continue;
    each.dtype = 'F16';
    each.data_offsets = each.data_offsets.map((/** @type {number} */ at) => at / 2);
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const start = 8 + Math.ceil(json.length / 8) * 8;
  const values = new Float32Array(file.slice(8 + n).buffer);
  const out = new Uint8Array(start + 2 * values.length).fill(0x20, 8, start);
  new DataView(out.buffer).setBigUint64(0, BigInt(start - 8), true);
  out.set(json, 8);
  new Uint16Array(out.buffer, start).set(Array.from(values, toHalf));
  return out;
}

/**
 * Nats and share of right guesses where every token is guessed by its frequency in the taught text.
 * @param {any} tokenizer
 * @param {string} text
 * @param {string} validation
 */
function byFrequency(tokenizer, text, validation) {
  const idsOf = (/** @type {string} */ part) =>
    part.split(SEPARATOR).flatMap((story) => tokenizer.encode(story.trim(), { addSpecialTokens: false }));
  const counts = new Float64Array(tokenizer.vocabSize).fill(1);
  for (const id of idsOf(text.slice(0, 4e6))) counts[id]++;
  const all = counts.reduce((sum, n) => sum + n);
  const best = counts.indexOf(Math.max(...counts));
  const held = idsOf(validation);
  const nats = held.reduce((sum, id) => sum - Math.log(counts[id] / all), 0) / held.length;
  return { nats, accuracy: held.filter((id) => id === best).length / held.length };
}

if (!MODELS[model]) {
  console.error('usage: node weights/make.js addition | sorting | induction | fill TRAIN.txt VALID.txt [FOLDER]');
  process.exit(2);
}
await MODELS[model]();
