#!/usr/bin/env node
// make.js - trains the model `fill`, an encoder that finds hidden words of children's stories (Devlin et al. 2018)
//
//   node weights/fill/make.js TRAIN.txt VALID.txt [FOLDER]     default: this folder
//
// The texts are those of weights/stories.recipe. Writes the model's files, the weights as F16, and loss.csv; then prints
// the loss and accuracy of guessing by the frequency of the tokens.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { train } from '../../web/lib/index.js';
import { toHalf } from '../../web/lib/convert/encode_half.js';
import { makeModel } from '../train_examples.js';

const SEPARATOR = '<|endoftext|>';
const HELD_OUT = 200; // stories that are validated with
/** BERT with today's block: the norm before each sublayer, rotary positions, SwiGLU, no biases (Warner et al. 2024). */
const CONFIG = {
  kind: 'encoder',
  mlm_head: true,
  d_model: 96,
  n_layers: 4,
  n_heads: 4,
  d_ff: 192,
  context_length: 128,
};

const [trainFile, validFile, folder = dirname(fileURLToPath(import.meta.url))] = process.argv.slice(2);
const text = readFileSync(trainFile, 'utf8');
const validation = readFileSync(validFile, 'utf8').split(SEPARATOR).slice(0, HELD_OUT).join(SEPARATOR);

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

/** Nats and share of right guesses where every token is guessed by its frequency in the taught text. @param {any} tokenizer */
function byFrequency(tokenizer) {
  const idsOf = (/** @type {string} */ part) =>
    part.split(SEPARATOR).flatMap((story) => tokenizer.encode(story.trim(), { addSpecialTokens: false }));
  const counts = new Float64Array(tokenizer.vocabSize).fill(1);
  const taught = idsOf(text.slice(0, 4e6));
  for (const id of taught) counts[id]++;
  const all = counts.reduce((sum, n) => sum + n);
  const best = counts.indexOf(Math.max(...counts));
  const held = idsOf(validation);
  const nats = held.reduce((sum, id) => sum - Math.log(counts[id] / all), 0) / held.length;
  return { nats, accuracy: held.filter((id) => id === best).length / held.length };
}

const options = { vocabSize: 1024, steps: 3600, batchTokens: 2048, validateEvery: 100, seed: 1 };
const run = train(CONFIG, text, { ...options, validation });
await makeModel(folder, run, (name, bytes) => (name.endsWith('.safetensors') ? inHalf(bytes) : bytes));
console.log('by frequency:', byFrequency(run.tokenizer));
