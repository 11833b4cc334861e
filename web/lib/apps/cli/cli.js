#!/usr/bin/env node
// cli.js - the package in a terminal: text from a model, parameter tables of configurations
import { parseArgs } from 'node:util';
import { existsSync, fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { progressLine } from './progress.js';
import { COMMANDS, HELP, helpOf } from './cli_help.js';
import {
  OPTIONS,
  commandOf,
  generateOptions,
  loadOptions,
  numeric,
  optionNamed,
  portOf,
  usageMessage,
  wrongUsage,
} from './cli_options.js';
import { harmless, printLine } from './terminal.js';
import { count } from './count_parameters.js';
import { fail, publicError } from '../../base/errors.js';
import { load } from '../../api/index.js';

/** The package's folder: this file lies in dist/ of the package, in web/lib/apps/cli/ of the source tree. */
const PACKAGE = [new URL('../', import.meta.url), new URL('../../../../', import.meta.url)].find((url) =>
  existsSync(new URL('package.json', url)),
);
/** @param {string} name  of a file in weights/ */
const shipped = (name) => fileURLToPath(new URL(`weights/${name}`, PACKAGE));

/**
 * Load a model. Without a cache when the default cache folder cannot be written.
 * @param {string} source @param {import('../../api/index.js').LoadOptions} options @param {boolean} isDefaultCache
 */
async function loadModel(source, options, isDefaultCache) {
  try {
    return await load(source, options);
  } catch (error) {
    if (!isDefaultCache || /** @type {any} */ (error)?.code !== 'storage') throw error;
    return load(source, { ...options, cache: 'none', cacheDir: undefined });
  }
}

/**
 * Load the model that the options name, use it and free it. An interrupt ends the process with status 130.
 * @param {Record<string, any>} o
 * @param {(model: import('../../api/index.js').Model, signal: AbortSignal) => Promise<void>} use
 * @param {string} [file]  of weights/, without the option
 */
async function withModel(o, use, file = 'stories-1m.gguf') {
  const source = o.model ?? shipped(file);
  if (!o.model && !existsSync(source)) {
    fail(
      'not-found',
      `this installation has no ${file}: ` +
        'name a model with --model (a .gguf file, a folder ending in /, or hf:owner/name)',
    );
  }
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  const { signal } = controller;
  const line = o.quiet ? null : progressLine(process.stderr, o.progress);
  /** @type {import('../../api/index.js').Model | undefined} */
  let model;
  try {
    const options = { ...loadOptions(o, source), signal, onProgress: line?.onProgress };
    model = await loadModel(source, options, o['cache-dir'] === undefined).finally(() => line?.clear());
    await use(model, signal);
    signal.throwIfAborted(); // a conversation ends at an interrupt without an error
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stdout.write('\n');
    process.exitCode = 130;
  } finally {
    model?.dispose();
  }
}

/**
 * Continue a text, or answer one message.
 * @param {string} prompt
 * @param {Record<string, any>} o
 */
async function write(prompt, o) {
  if (o.system !== undefined && !o.chat) fail('bad-option', '--system belongs to --chat');
  const given = await generateOptions(o);
  await withModel(o, async (model, signal) => {
    const source = o.source === '-' ? await inputText() : o.source;
    const options = { ...given, signal, ...(source !== undefined && { source }) };
    const messages = [
      ...(o.system === undefined ? [] : [{ role: 'system', content: o.system }]),
      { role: 'user', content: prompt },
    ];
    const steps = o.chat ? model.chat(messages, options) : model.generate(prompt, options);
    let before = o.chat ? '' : prompt; // is written after everything that may be refused
    for await (const { text } of steps) {
      if (!o.json) process.stdout.write(harmless(process.stdout, before + text));
      before = '';
    }
    const summary = await steps.result;
    if (o.json) {
      const given = { prompt, ...(source !== undefined && { source }) };
      return printLine(JSON.stringify({ ...given, ...summary, provenance: await model.provenance({ signal }) }));
    }
    process.stdout.write(harmless(process.stdout, before));
    const { ids, tokensPerSecond, stopReason, seed } = summary;
    const speed = `${ids.length} tokens, ${tokensPerSecond.toFixed(0)} a second (${model.backend})`;
    if (!o.quiet) process.stderr.write(`\n\n${speed}, ended by ${stopReason}, seed ${seed}\n`);
  });
}

/**
 * Answer each line of standard input.
 * @param {Record<string, any>} o
 */
async function chat(o) {
  if (o.source !== undefined) fail('bad-option', '--source and --chat cannot be combined');
  const given = await generateOptions(o);
  const { converse } = await import('./chat.js');
  await withModel(o, (model, signal) => converse(model, { ...given, signal }, o));
}

/**
 * The texts of a command that reads several.
 * @param {string} command
 * @param {string[]} given  [] : the lines of standard input
 */
async function textsOf(command, given) {
  const texts = given.length ? given : ((await standardInput()) ?? '').split(/\r?\n/).filter(Boolean);
  if (!texts.length) fail('empty-prompt', `${command}: there is no text, neither as argument nor on standard input`);
  return texts;
}

/**
 * Print the labels of texts.
 * @param {string[]} given  [] : the lines of standard input
 * @param {Record<string, any>} o
 */
async function classify(given, o) {
  const texts = await textsOf('classify', given);
  const { pair } = o;
  await withModel(o, async (model, signal) => {
    for (const text of texts) {
      const { logits: _, ...result } = await model.classify(text, { signal, ...(pair !== undefined && { pair }) });
      const input = { text, ...(pair !== undefined && { pair }) };
      printLine(JSON.stringify({ ...input, ...result, provenance: await model.provenance({ signal }) }));
    }
  });
}

/**
 * Print the vectors of texts.
 * @param {string[]} given  [] : the lines of standard input
 * @param {Record<string, any>} o
 */
async function embed(given, o) {
  const texts = await textsOf('embed', given);
  await withModel(o, async (model, signal) => {
    const options = { signal, ...(o.pooling !== undefined && { pooling: o.pooling }) };
    for (const text of texts) {
      const { data } = await model.embed(text, options);
      // nine digits give back the same f32
      const embedding = Array.from(data, (x) => Number(x.toPrecision(9)));
      printLine(JSON.stringify({ text, embedding, provenance: await model.provenance({ signal }) }));
    }
  });
}

/**
 * Write a checkpoint as GGUF.
 * @param {'convert' | 'quantize'} command
 * @param {string[]} files  source and target
 * @param {Record<string, any>} o
 */
async function convertTo(command, [source, out], o) {
  const type = o.type ?? (command === 'quantize' ? 'Q8_0' : 'F16');
  if (command === 'quantize' && !/^q/i.test(type))
    fail(
      'bad-option',
      `quantize: --type is ${JSON.stringify(type)}, expected Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q5_K, Q4_K, Q4_0 or Q4_1`,
    );
  const { convert } = await import('./convert.js');
  const line = o.quiet ? null : progressLine(process.stderr, o.progress);
  const how = { type, vocabulary: !o['no-tokenizer'] };
  const options = { ...loadOptions(o, source), onProgress: line?.onProgress };
  const written = await convert(source, out, { ...how, options }).finally(() => line?.clear());
  if (!o.quiet) printLine(`${out}: ${written.bytes} bytes, matrices as ${written.type}`);
}

/**
 * Run a lab with the model that it measures.
 * @param {string} name
 * @param {Record<string, any>} o
 */
async function lab(name, o) {
  const { modelOfLab, runLab } = await import('./run_lab.js');
  const file = await modelOfLab(name);
  const { seed } = await generateOptions({ seed: o.seed });
  const seeds = o.seeds === undefined ? undefined : numeric(o.seeds, 'seeds');
  const options = { seed, seeds, size: o.short ? /** @type {const} */ ('short') : /** @type {const} */ ('full') };
  if (file === null) return runLab(name, options, o);
  await withModel(o, (model, signal) => runLab(name, { ...options, model, signal }, o), file);
}

/**
 * Answer OpenAI's HTTP interface until an interrupt.
 * @param {Record<string, any>} o
 */
async function serveModel(o) {
  const port = portOf(o);
  const { serve } = await import('./serve.js');
  await withModel(o, (model, signal) =>
    serve(model, {
      port,
      signal,
      origins: o['allow-origin'] ?? [],
      name: o.model ?? 'stories-1m',
      listening: (url) =>
        console.log(`${url} answers chat/completions, responses, embeddings and models. Ctrl+C ends it.`),
    }),
  );
}

/** The same; null where it is a terminal or nothing was connected. */
async function standardInput() {
  let stat;
  try {
    stat = fstatSync(0);
  } catch {
    return null;
  } // closed
  return stat.isFIFO() || stat.isFile() || stat.isSocket() ? inputText() : null;
}

/** The text of standard input without its last line break. */
async function inputText() {
  return (await readAll(process.stdin)).replace(/\r?\n$/, '');
}

/**
 * @param {string[]} positionals
 * @returns {Promise<string | null>} null: there is none
 */
async function promptOf(positionals) {
  if (positionals.length === 1 && positionals[0] !== '-') return positionals[0];
  if (positionals[0] === '-') return inputText();
  return (await standardInput()) || null;
}

// A closed pipe, as from `| head`, is no error.
process.stdout.on('error', (error) => {
  if (/** @type {any} */ (error).code !== 'EPIPE') throw error;
  process.exit();
});
try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: OPTIONS });
  const { help, version } = values,
    command = help || version ? undefined : commandOf(positionals, values);
  const wrong = help || version || command ? null : wrongUsage(positionals);
  if (help) console.log(Object.hasOwn(COMMANDS, positionals[0] ?? '') ? helpOf(positionals[0]) : HELP);
  else if (version) console.log(JSON.parse(await readFile(new URL('package.json', PACKAGE), 'utf8')).version);
  else if (wrong) {
    console.error(wrong);
    process.exitCode = 2;
  } else if (command === 'count') await count(positionals[1], !!values.json);
  else if (command === 'lab' && positionals.length === 1) await (await import('./run_lab.js')).listLabs();
  else if (command === 'lab') await lab(positionals[1], values);
  else if (command === 'serve') await serveModel(values);
  else if (command === 'embed') await embed(positionals.slice(1), values);
  else if (command === 'classify') await classify(positionals.slice(1), values);
  else if (command === 'convert' || command === 'quantize') await convertTo(command, positionals.slice(1), values);
  else if (command === 'dictionary') {
    const { trainDictionary } = await import('./train_dictionary.js');
    const [, file, out] = positionals;
    await withModel(values, (model, signal) => trainDictionary(model, [file, out], values, signal));
  } else if (values.chat && !positionals.length) await chat(values);
  else {
    const prompt = values.source !== undefined && !positionals.length ? '' : await promptOf(positionals);
    if (prompt === null) {
      console.error(HELP);
      process.exitCode = 2;
    } else await write(prompt, values);
  }
} catch (error) {
  const usage = String(/** @type {any} */ (error)?.code).startsWith('ERR_PARSE_ARGS');
  const e = usage ? /** @type {Error} */ (error) : publicError(error);
  const message = harmless(process.stderr, usage ? usageMessage(e) : optionNamed(e));
  console.error(`glassformer: ${message}${'code' in e && e.code === 'internal' ? `\n${e.cause?.stack ?? ''}` : ''}`);
  process.exitCode = usage ? 2 : 1;
}
