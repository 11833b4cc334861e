#!/usr/bin/env node
// train.js - trains a model from a recipe, with the trainer of the package's `train`; ./build.sh train runs it
//
//   node weights/train.js RECIPE --data FILE [--valid FILE] [--out FOLDER] [--threads N]
//                         [--from MODEL] [--teacher MODEL ...] [key=value ...]
//
// --data synthetic: stories from a grammar (synthetic.js), to try a recipe. --from: start from these weights. FOLDER gets
// tokenizer.json, loss.csv, loss.svg, the model's files and a checkpoint. Ctrl-C ends the run after the current step and
// writes the checkpoint; the same command then continues the run from it.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { completeConfig } from '../web/lib/config/config.js';
import { roster } from '../web/lib/config/roster.js';
import { rowsForOtherPairs } from '../web/lib/config/rope_rows.js';
import { trainerModule } from '../web/lib/engine/binary.js';
import { sharedMemory } from '../web/lib/engine/features.js';
import { openPool } from '../web/lib/engine/threads.js';
import { Trainer } from '../web/lib/train/trainer.js';
import { csv, pointOf, readCsv, svg } from './curve.js';
import { checkFinished, sample } from './finished.js';
import { keys, readRecipe } from './recipe.js';
import { syntheticStories } from './synthetic.js';

const USAGE = `usage: RECIPE --data FILE [--valid FILE] [--out FOLDER] [--threads N]
              [--from MODEL] [--teacher MODEL ...] [key=value ...]

A recipe is a text file of lines key = value (weights/*.recipe). --data synthetic needs no file. The same command goes
on where an earlier one stopped.

`;
const MOST_THREADS = 2; // that share a step: GF_LANES in src/train/trainer.h
const FORMS = ['f32', 'f16', 'q8_0', 'q4_0'];

/**
 * @typedef {object} Run
 * @property {Trainer} trainer
 * @property {import('./recipe.js').Recipe} recipe
 * @property {import('../web/lib/config/config.js').Config} config
 * @property {string} out  folder
 * @property {string} corpus  that of the validation where there is one
 * @property {boolean} isHeld  whether there is one
 * @property {import('./curve.js').Point[]} curve
 */

/** @param {string} text */
const fail = (text) => {
  throw new Error(text);
};

/**
 * Write a file of the run, complete or not at all.
 * @param {string} out
 * @param {string} name
 * @param {string | Uint8Array} content
 */
function write(out, name, content) {
  writeFileSync(join(out, `${name}.part`), content);
  renameSync(join(out, `${name}.part`), join(out, name));
}

/**
 * The corpus, which the recipe may name by its SHA-256.
 * @param {string} data
 * @param {string} out
 * @param {string} sha256  '': any
 */
function corpusOf(data, out, sha256) {
  if (data === 'synthetic') {
    const text = syntheticStories(5000);
    write(out, 'synthetic.txt', text);
    return new TextEncoder().encode(text);
  }
  const bytes = readFileSync(data);
  const found = createHash('sha256').update(bytes).digest('hex');
  if (sha256 && found !== sha256)
    fail(`${data} has SHA-256 ${found}, the recipe expects ${sha256} (data_sha256= accepts any)`);
  return bytes;
}

/**
 * A loaded model whose vocabulary is that of the run, and its configuration.
 * @param {string} file
 * @param {string} vocabulary  tokenizer.json of the run
 */
async function modelOf(file, vocabulary) {
  const { load } = await import('../web/lib/index.js');
  const model = await load(file, { dtype: 'f32' });
  const vocab = (/** @type {string} */ json) => JSON.stringify(Object.entries(JSON.parse(json).model.vocab).sort());
  const tokenizer = (await model.tokenizer) ?? fail(`${file}: a model without a tokenizer`);
  if (vocab(tokenizer.toText()) !== vocab(vocabulary)) fail(`${file}: its vocabulary is not that of this run`);
  return { model, config: completeConfig(model.config) };
}

/**
 * Give the weights of a model: to the run, or to the teacher that was taken last.
 * @param {Trainer} trainer
 * @param {import('../web/lib/index.js').Model} model
 * @param {import('../web/lib/config/config.js').Config} from  its configuration
 * @param {import('../web/lib/config/config.js').Config} to    that of the weights given
 */
async function give(trainer, model, from, to) {
  for (const [i, { name, shape, tiedTo }] of [...roster(to)].entries()) {
    if (tiedTo) continue;
    const { data } = await model.matrix(name);
    const rows =
      from.rope_pairs === to.rope_pairs ? data : rowsForOtherPairs(from, from.rope_pairs, name, data, shape[1] ?? 1);
    trainer.giveWeight(i, rows);
  }
  model.dispose();
}

/**
 * Start from the weights of a model of the same configuration.
 * @param {Run} run
 * @param {string} file
 * @param {string} vocabulary
 */
async function startFrom({ trainer, config }, file, vocabulary) {
  const { model, config: theirs } = await modelOf(file, vocabulary);
  for (const [name, value] of Object.entries(config))
    if (name !== 'rope_pairs' && JSON.stringify(value) !== JSON.stringify(theirs[/** @type {'d_model'} */ (name)]))
      fail(`${file}: ${name} is ${theirs[/** @type {'d_model'} */ (name)]}, the recipe has ${value}`);
  await give(trainer, model, theirs, config);
  trainer.x.gf_train_begin(trainer.run);
}

/**
 * @param {{[name: string]: any}} values  of the command line
 * @param {string} file  the recipe
 * @param {string[]} settings
 * @returns {Promise<Run>}
 */
async function openRun(values, file, settings) {
  const { data = fail('--data FILE is needed'), valid, out, from, teacher = [] } = values;
  const threads = Number(values.threads);
  if (!/^\d+$/.test(values.threads) || threads < 1 || threads > 64)
    fail(`--threads is ${values.threads}, expected 1 to 64`);
  const recipe = readRecipe(file, settings);
  const { texts, own, options } = recipe;
  const config = completeConfig(recipe.fields, file);
  const pairs = config.kind === 'encoder_decoder';
  if (pairs && texts.groups) fail('groups = replaces words of stories, but this corpus has pairs');
  if (pairs && options.repeat_share) fail('repeat_share = repeats passages of stories, but this corpus has pairs');
  mkdirSync(out, { recursive: true });
  const beside = (/** @type {string} */ name) => readFileSync(join(dirname(file), name), 'utf8');
  const resumed = existsSync(join(out, 'checkpoint'));

  const module = await trainerModule(threads > 1 ? 'train-threads' : 'train');
  const trainer = await Trainer.start(module, sharedMemory);
  if (threads > 1) {
    const helper = new URL('../web/lib/train_worker.js', import.meta.url).href;
    trainer.x.gf_train_set_pool(trainer.run, openPool(trainer, module, Math.min(threads, MOST_THREADS), helper));
  }
  trainer.configure(config, options);
  if (resumed) trainer.vocabulary(readFileSync(join(out, 'tokenizer.json'), 'utf8'));
  else if (texts.tokenizer) trainer.vocabulary(beside(texts.tokenizer));
  const held = valid ? readFileSync(valid) : null;
  const corpus = corpusOf(data, out, texts.data_sha256);
  config.vocab_size = trainer.open(corpus, held);
  if (texts.groups) trainer.groups(beside(texts.groups));
  const run = {
    trainer,
    recipe,
    config,
    out,
    corpus: new TextDecoder().decode(held ?? corpus),
    isHeld: !!held,
    curve: [],
  };
  const vocabulary = new TextDecoder().decode(trainer.file('tokenizer'));
  if (from) await startFrom(run, from, vocabulary);
  for (const each of teacher) {
    const { model, config: theirs } = await modelOf(each, vocabulary);
    trainer.teach(theirs, own.teacher_share / teacher.length);
    await give(trainer, model, theirs, theirs);
  }
  if (resumed) resume(run, from);
  write(out, 'tokenizer.json', vocabulary);
  return run;
}

/**
 * Continue from the checkpoint in the folder.
 * @param {Run} run
 * @param {string} [from]
 */
function resume(run, from) {
  const { trainer, out } = run;
  trainer.load(readFileSync(join(out, 'checkpoint')));
  run.curve = readCsv(readFileSync(join(out, 'loss.csv'), 'utf8'), trainer.steps);
  console.log(`going on after step ${trainer.steps} of ${out}${from ? ', not from the file of --from' : ''}`);
}

/** @param {Run} run */
function saveCheckpoint({ trainer, recipe, out, curve }) {
  write(out, 'checkpoint', trainer.file('state'));
  write(out, 'loss.csv', csv(curve));
  if (curve.length) write(out, 'loss.svg', svg(curve, recipe.texts.name));
}

/**
 * Run the steps that are left, until `stopped` says so.
 * @param {Run} run
 * @param {() => boolean} stopped
 */
async function steps(run, stopped) {
  const { trainer, recipe, isHeld, curve } = run;
  const { options, own } = recipe;
  const [began, first] = [performance.now(), trainer.steps];
  const due = (/** @type {number} */ every, /** @type {number} */ step) => every > 0 && step % every === 0;
  let smooth = NaN,
    counted = 0;
  while (trainer.steps < options.steps && !stopped()) {
    const s = trainer.step();
    const last = s.step === options.steps;
    const score = isHeld && (last || due(own.validate_every, s.step)) ? trainer.validate(null) : null;
    curve.push(pointOf(s, score || null));
    smooth = Number.isNaN(smooth) ? s.loss : 0.98 * smooth + 0.02 * s.loss;
    counted += s.counted;
    if (last || score || s.step % 20 === 0) {
      const seconds = (performance.now() - began) / 1000;
      const left = (seconds / (s.step - first)) * (options.steps - s.step);
      console.log(
        `step ${s.step}/${options.steps}  loss ${smooth.toFixed(4)}  norm ${s.norm.toFixed(2)}  ` +
          `${(counted / seconds).toFixed(0)} tokens/s  ${(left / 60).toFixed(0)} min left` +
          (score ? `  validation ${score.nats.toFixed(4)} nats, ${score.bitsPerByte.toFixed(4)} bits/byte` : ''),
      );
    }
    if (due(own.sample_every, s.step)) await sample(run);
    if (due(own.checkpoint_every, s.step)) saveCheckpoint(run);
    await new Promise((resolve) => setImmediate(resolve)); // signals arrive
  }
  saveCheckpoint(run);
}

/**
 * Write the model's files. GGUF files are for the architectures of Llama and GPT-2.
 * @param {Run} run
 */
async function writeModel(run) {
  const { trainer, recipe, out } = run;
  for (const [name, kind] of /** @type {const} */ ([
    ['config.json', 'config'],
    ['model.safetensors', 'safetensors'],
  ]))
    write(out, name, trainer.file(kind));
  /** @type {string[]} */
  const files = [];
  for (const form of run.config.kind === 'encoder_decoder' ? [] : FORMS) {
    const name = `${recipe.texts.name}-${form}.gguf`;
    try {
      write(out, name, trainer.file('gguf', form, recipe.texts.name));
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'unsupported') throw error;
      console.log(/** @type {Error} */ (error).message);
      break;
    }
    files.push(name);
    await checkFinished(run, name, form);
  }
  if (run.config.kind === 'encoder_decoder') await checkFinished(run, '');
  else if (files.length) await sample(run);
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries(['data', 'valid', 'from'].map((name) => [name, { type: 'string' }])),
      out: { type: 'string', default: 'build/train' },
      threads: { type: 'string', default: '1' },
      teacher: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    },
  });
  const [file, ...settings] = positionals;
  if (!file || values.help) {
    console.log(USAGE + keys());
    return values.help ? 0 : 2;
  }
  const run = await openRun(values, file, settings);
  let stopping = false;
  const stop = () => {
    stopping = true;
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  await steps(run, () => stopping);
  process.off('SIGINT', stop).off('SIGTERM', stop); // the same command writes files anew that are not complete
  if (!stopping) await writeModel(run);
  return 0;
}

process.exit(
  await main().catch((error) => {
    console.error(`train.js: ${error.message}`);
    return 1;
  }),
);
