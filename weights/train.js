#!/usr/bin/env node
// train.js - trains a recipe by the trainer in C, for which it reads models and writes GGUF files
//
//   ./build.sh train RECIPE --data FILE [...]      builds the trainer and runs this file
//
// The arguments are those of src/train/train.c, which prints them when there are none. --from and --teacher name models
// that `load` reads; the trainer gets their weights (src/train/files/weights.c). Of the folder that a finished run
// leaves, the model is also written as NAME-f32.gguf, NAME-f16.gguf, NAME-q8_0.gguf and NAME-q4_0.gguf.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GlassformerError, load } from '../web/lib/api/index.js';
import { configOf } from '../web/lib/api/estimate.js';
import { convert } from '../web/lib/apps/cli/convert.js';
import { FIELDS } from '../web/lib/engine/config/config_fields.js';
import { completeConfig } from '../web/lib/engine/config/config.js';
import { rowsForOtherPairs } from '../web/lib/engine/config/rope_rows.js';
import { differencesOf } from '../web/lib/files/gguf/write_model.js';
import { tokensOf } from '../web/lib/files/gguf/write_vocab.js';

/** @import { Config } from '../web/lib/engine/config/config.js' */
/** @import { Model } from '../web/lib/api/index.js' */

const PROGRAM = fileURLToPath(new URL('../build/native/glassformer-train', import.meta.url));
/** The program's exit status when a signal has ended a run, which the same command continues. */
const STOPPED = 3;

/**
 * The settings of a recipe.
 * @param {string[]} lines  key = value  # remark
 * @returns {Record<string, string>}
 */
function settingsOf(lines) {
  const pairs = lines.map((line) => /^\s*(\w+)\s*=\s*([^#]*?)\s*(#.*)?$/.exec(line)).filter((pair) => pair !== null);
  return Object.fromEntries(pairs.map(([, key, value]) => [key, value]));
}

/** @param {string} file */
const recipeLines = (file) => readFileSync(file, 'utf8').split('\n');

/**
 * The configuration of a recipe, but for the size of the vocabulary, which the corpus may make smaller.
 * @param {Record<string, string>} settings
 * @param {number} vocabSize
 * @returns {Config}
 */
function configIn(settings, vocabSize) {
  /** @type {Record<string, any>} */
  const fields = { vocab_size: vocabSize };
  for (const [field, { type }] of Object.entries(FIELDS)) {
    if (field === 'vocab_size' || !(field in settings)) continue;
    const one = (/** @type {string} */ word) =>
      type === 'word' ? word : type.startsWith('flag') ? /^\s*(1|true)\s*$/.test(word) : Number(word);
    fields[field] = type.endsWith('s') ? settings[field].split(',').map(one) : one(settings[field]);
  }
  return completeConfig(fields, 'the recipe');
}

/**
 * The weights of a model in the trainer's form, for a recipe.
 * @param {string} file  what `load` reads
 * @param {Record<string, string>} settings  of the recipe
 * @returns {Promise<Buffer>}
 */
async function weightsOf(file, settings) {
  const model = await load(file, { dtype: 'f32', worker: false });
  try {
    const config = /** @type {Config} */ (/** @type {unknown} */ (configOf(model.config)));
    const wanted = configIn(settings, config.vocab_size);
    const [other] = differencesOf(config, wanted);
    if (other) throw new Error(`${file}: ${other.field} is ${other.theirs}, the recipe has ${other.ours}`);
    const vocabulary = JSON.parse((await model.tokenizer)?.toText() ?? '{}');
    if (vocabulary.model?.type !== 'BPE')
      throw new Error(`${file}: it has no byte-level BPE, which the trainer learns`);
    const lines = tokensOf(vocabulary).tokens;
    const parts = [];
    for (const { name, shape, count, tiedTo } of model.parameters.rows) {
      if (tiedTo) continue;
      const { data } = await model.matrix(name);
      const isOther = wanted.position === 'rope' && wanted.rope_pairs !== config.rope_pairs;
      const cols = shape[1] ?? 1;
      const values = isOther ? rowsForOtherPairs(config, config.rope_pairs, name, data, cols) : data;
      parts.push(Buffer.from(values.buffer, values.byteOffset, values.byteLength));
      lines.push(`${name} ${count}`);
    }
    const digits = createHash('sha256')
      .update(lines.map((line) => `${line}\n`).join(''))
      .digest('hex');
    return Buffer.concat([Buffer.from(digits), ...parts]);
  } finally {
    model.dispose();
  }
}

/**
 * The arguments for the program: models are replaced by files of their weights.
 * @param {string[]} args
 * @param {Record<string, string>} settings
 * @param {string} folder  for these files
 */
async function withWeights(args, settings, folder) {
  const out = [...args];
  for (const [i, option] of args.entries()) {
    const [file, ofTeacher] = [args[i + 1], option === '--teacher'];
    if (!ofTeacher && option !== '--from') continue;
    if (file === undefined || (ofTeacher && !settings.teacher)) continue; // the program says what is missing
    const recipe = ofTeacher ? settingsOf(recipeLines(join(dirname(args[0]), settings.teacher))) : settings;
    out[i + 1] = join(folder, `${i}-${basename(file)}`);
    writeFileSync(out[i + 1], await weightsOf(file, recipe));
  }
  return out;
}

/**
 * Run the program. Signals are passed on to it.
 * @param {string[]} args
 * @returns {Promise<number>} its exit status
 */
function run(args) {
  const child = spawn(PROGRAM, args, { stdio: 'inherit' });
  const pass = (/** @type {NodeJS.Signals} */ signal) => void child.kill(signal);
  const signals = /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGTERM']);
  for (const signal of signals) process.on(signal, pass);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      for (const signal of signals) process.off(signal, pass);
      resolve(code ?? 1);
    });
  });
}

/**
 * Write the decoder in a run's folder as GGUF files.
 * @param {string} folder
 * @param {string} name
 */
async function writeGguf(folder, name) {
  for (const type of ['f32', 'f16', 'q8_0', 'q4_0']) {
    const out = join(folder, `${name}-${type}.gguf`);
    try {
      await convert(`${folder}/`, out, { type, vocabulary: true, name, options: { worker: false } });
    } catch (error) {
      if (!(error instanceof GlassformerError && error.code === 'unsupported')) throw error;
      return console.log(error.message);
    }
    console.log(basename(out));
  }
}

const args = process.argv.slice(2);
const settings = existsSync(args[0] ?? '') ? settingsOf([...recipeLines(args[0]), ...args.slice(1)]) : {};
const room = mkdtempSync(join(tmpdir(), 'glassformer-train-'));
try {
  const status = await run(await withWeights(args, settings, room));
  const at = args.indexOf('--out');
  const isWritten = status === 0 && args[0] !== '--help' && settings.task !== 'pairs';
  if (isWritten) await writeGguf(at < 0 ? 'build/train' : args[at + 1], settings.name ?? 'model');
  process.exitCode = status === STOPPED ? 0 : status;
} catch (error) {
  console.error(`train: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 1;
} finally {
  rmSync(room, { recursive: true });
}
