#!/usr/bin/env node
// cli.js - the package in a terminal: text from a model, parameter tables of configurations
import { parseArgs } from 'node:util';
import { existsSync, fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { progressLine } from './progress.js';
import { defaultCacheDir } from '../node/file_store.js';
import { publicError } from '../base/errors.js';
import { lacking } from '../base/extras.js';
import { load, countParameters, estimate, GlassformerError, PRESETS } from '../index.js';

/** The package's folder: this file lies in dist/ of the package, in web/lib/cli/ of the source tree. */
const PACKAGE = [new URL('../', import.meta.url), new URL('../../../', import.meta.url)].find((url) =>
  existsSync(new URL('package.json', url)),
);
const DEFAULT_MODEL = fileURLToPath(new URL('weights/stories-1m.gguf', PACKAGE));

const HELP = `usage: glassformer [options] [PROMPT]      continue a text; without PROMPT, or with -, standard input
       glassformer --chat [options] [PROMPT]  answer a message; without PROMPT each line of standard input
       glassformer embed [options] [TEXT...]  vectors of texts as JSON lines; without TEXT each line of standard input
       glassformer count [--json] CONFIG      parameters of a config.json, of a checkpoint or of a preset
       glassformer convert SOURCE OUT.gguf    write a checkpoint as GGUF, its matrices in --type (default F16)
       glassformer quantize SOURCE OUT.gguf   the same with a quantised --type (default Q8_0)

  -m, --model SOURCE     .gguf, .bin, a folder ending in /, an address, or hf:owner/name[/file.gguf]
                         (default: the small story model of this package)
      --source TEXT      what an encoder-decoder reads; - for standard input. PROMPT is then optional
      --chat             send the prompt as a message through the model's chat template
      --system TEXT      with --chat: a system message before it
  -n, --max-tokens N     default: until the text ends or the context is full
  -t, --temperature T    default 0.8; 0 takes the most likely token
      --top-k K          default 0 (off)
      --top-p P          default 0.95; 1 is off
      --min-p P          default 0 (off)
      --repetition-penalty R   divides the logits of tokens in prompt and text; default 1 (off)
      --presence-penalty P     subtracted from the logits of generated tokens; default 0
      --frequency-penalty F    the same for each time a token was generated; default 0
      --seed N           default: drawn, and reported at the end
      --stop TEXT        end before this text; may be repeated
      --min-tokens N     do not end before N tokens
      --json-schema FILE the text is JSON that is valid under this schema
      --grammar FILE     the text follows this grammar (GBNF)
      --beams N          beam search with N beams, without drawing tokens
      --lora SOURCE      a LoRA adapter: a folder of PEFT, a GGUF, or hf:owner/name; may be repeated
      --pooling KIND     with embed: how the vectors of the tokens become one (default: as the model says)
      --dtype DTYPE      keep (default), f32, f16, q8_0, q4_0, q6_k, q5_0 or q4_k
      --kv-dtype DTYPE   f32, f16 or q8_0 (default: q8_0 for quantised models, else f32)
      --threads N        compute in a worker with N threads
      --json             the result as JSON instead of text
      --progress         download progress also where standard error is no terminal
  -q, --quiet            nothing on standard error but errors

      --type TYPE        of convert and quantize: F32, F16, BF16, Q8_0, Q4_0 or Q4_1
      --no-tokenizer     convert and quantize: write no vocabulary

  downloads
      --cache-dir DIR    the folder that keeps them
                         (default: ${defaultCacheDir()})
      --no-cache         neither write nor read the download cache
      --token TOKEN      access token of the Hugging Face hub; $HF_TOKEN does the same
                         and is not visible to other users of the machine
      --header 'N: V'    sent to the origin of the model's address only; may be repeated

  -v, --version
  -h, --help

exit status: 0, 1 when something failed, 2 for a wrong usage, 130 when interrupted
presets: ${Object.keys(PRESETS).join(', ')}`;

const OPTIONS = /** @type {const} */ ({
  model: { type: 'string', short: 'm' },
  source: { type: 'string' },
  chat: { type: 'boolean' },
  system: { type: 'string' },
  'max-tokens': { type: 'string', short: 'n' },
  temperature: { type: 'string', short: 't' },
  'top-k': { type: 'string' },
  'top-p': { type: 'string' },
  'min-p': { type: 'string' },
  'repetition-penalty': { type: 'string' },
  'presence-penalty': { type: 'string' },
  'frequency-penalty': { type: 'string' },
  'min-tokens': { type: 'string' },
  'json-schema': { type: 'string' },
  grammar: { type: 'string' },
  beams: { type: 'string' },
  lora: { type: 'string', multiple: true },
  pooling: { type: 'string' },
  type: { type: 'string' },
  'no-tokenizer': { type: 'boolean' },
  seed: { type: 'string' },
  stop: { type: 'string', multiple: true },
  dtype: { type: 'string' },
  'kv-dtype': { type: 'string' },
  threads: { type: 'string' },
  json: { type: 'boolean' },
  progress: { type: 'boolean' },
  quiet: { type: 'boolean', short: 'q' },
  'cache-dir': { type: 'string' },
  'no-cache': { type: 'boolean' },
  token: { type: 'string' },
  header: { type: 'string', multiple: true },
  version: { type: 'boolean', short: 'v' },
  help: { type: 'boolean', short: 'h' },
});

/**
 * @param {string | undefined} text
 * @param {string} name
 * @returns {number | undefined}
 */
function numeric(text, name) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value))
    throw new GlassformerError('bad-option', `--${name} is ${JSON.stringify(text)}, expected a number`);
  return value;
}

/**
 * @param {string[]} lines "Name: value"
 * @returns {[string, string][]}
 */
function headersOf(lines) {
  return lines.map((line) => {
    const colon = line.indexOf(':');
    // not quoted: it may be a secret
    if (colon < 1) throw new GlassformerError('bad-option', "--header has no name: expected --header 'Name: value'");
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
}

/**
 * Options of load that the command line names.
 * @param {Record<string, any>} o
 * @param {string} source
 * @returns {import('../index.js').LoadOptions}
 */
function loadOptions(o, source) {
  const threads = numeric(o.threads, 'threads');
  const isRemote = /^(hf|https?):/.test(source);
  if (o['cache-dir'] !== undefined && o['no-cache'])
    throw new GlassformerError('bad-option', '--cache-dir and --no-cache cannot be combined');
  return {
    dtype: o.dtype,
    kvDtype: o['kv-dtype'],
    token: o.token,
    ...(threads !== undefined && { threads, worker: true }),
    ...(o.header && { headers: headersOf(o.header) }),
    ...(o.lora && { adapters: o.lora.map((/** @type {string} */ adapter) => ({ source: adapter })) }),
    ...(isRemote && !o['no-cache'] && { cache: 'file', cacheDir: o['cache-dir'] }),
  };
}

/**
 * Load a model. Without a cache when the default cache folder cannot be written.
 * @param {string} source @param {import('../index.js').LoadOptions} options @param {boolean} isDefaultCache
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
 * The text of a file that an option names.
 * @param {string} file
 * @param {string} name  of the option
 */
async function fileText(file, name) {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new GlassformerError('not-found', `--${name}: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {string} file */
async function schemaOf(file) {
  const text = await fileText(file, 'json-schema');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new GlassformerError(
      'bad-option',
      `--json-schema: ${file}: not JSON: ${/** @type {Error} */ (error).message}`,
    );
  }
}

/**
 * Options of generate that the command line names.
 * @param {Record<string, any>} o
 * @returns {Promise<import('../index.js').GenerateOptions>}
 */
async function generateOptions(o) {
  const number = (/** @type {string} */ name) => numeric(o[name], name);
  const beams = number('beams');
  const draws = beams === undefined || beams === 1;
  return {
    maxTokens: number('max-tokens'),
    minTokens: number('min-tokens'),
    temperature: number('temperature') ?? (draws ? 0.8 : undefined),
    topK: number('top-k'),
    topP: number('top-p') ?? (draws ? 0.95 : undefined),
    minP: number('min-p'),
    repetitionPenalty: number('repetition-penalty'),
    presencePenalty: number('presence-penalty'),
    frequencyPenalty: number('frequency-penalty'),
    seed: number('seed'),
    stop: o.stop,
    ...(beams !== undefined && { beams }),
    ...(o['json-schema'] !== undefined && { json: await schemaOf(o['json-schema']) }),
    ...(o.grammar !== undefined && { grammar: await fileText(o.grammar, 'grammar') }),
  };
}

/**
 * Load the model that the options name, use it and free it. An interrupt ends the process with status 130.
 * @param {Record<string, any>} o
 * @param {(model: import('../index.js').Model, signal: AbortSignal) => Promise<void>} use
 */
async function withModel(o, use) {
  const source = o.model ?? DEFAULT_MODEL;
  if (!o.model && !existsSync(DEFAULT_MODEL)) {
    throw new GlassformerError(
      'not-found',
      'this installation has no model of its own: ' +
        'name one with --model (a .gguf file, a folder ending in /, or hf:owner/name)',
    );
  }
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  const { signal } = controller;
  const line = o.quiet ? null : progressLine(process.stderr, o.progress);
  /** @type {import('../index.js').Model | undefined} */
  let model;
  try {
    const options = { ...loadOptions(o, source), signal, onProgress: line?.onProgress };
    model = await loadModel(source, options, o['cache-dir'] === undefined);
    line?.clear();
    await use(model, signal);
  } catch (error) {
    line?.clear();
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
  if (o.system !== undefined && !o.chat) throw new GlassformerError('bad-option', '--system belongs to --chat');
  const given = await generateOptions(o);
  await withModel(o, async (model, signal) => {
    const source = o.source === '-' ? await inputText() : o.source;
    const options = { ...given, signal, ...(source !== undefined && { source }) };
    const messages = [
      ...(o.system === undefined ? [] : [{ role: 'system', content: o.system }]),
      { role: 'user', content: prompt },
    ];
    const steps = o.chat ? model.chat(messages, options) : model.generate(prompt, options);
    for (let first = true; ; first = false) {
      const { done, value } = await steps.next();
      if (first && !o.json && !o.chat) process.stdout.write(prompt); // after everything that may be refused
      if (!done) {
        if (!o.json) process.stdout.write(value.text);
        continue;
      }
      if (o.json) console.log(JSON.stringify({ prompt, ...(source !== undefined && { source }), ...value }));
      else if (!o.quiet) {
        const { ids, tokensPerSecond, stopReason, seed } = value;
        const speed = `${ids.length} tokens, ${tokensPerSecond.toFixed(0)} a second (${model.backend})`;
        process.stderr.write(`\n\n${speed}, ended by ${stopReason}, seed ${seed}\n`);
      }
      return;
    }
  });
}

/**
 * Answer each line of standard input.
 * @param {Record<string, any>} o
 */
async function chat(o) {
  if (o.source !== undefined) throw new GlassformerError('bad-option', '--source and --chat cannot be combined');
  const given = await generateOptions(o);
  const { converse } = await import('./chat.js');
  await withModel(o, (model, signal) => converse(model, { ...given, signal }, o));
}

/**
 * Print the vectors of texts.
 * @param {string[]} given  [] : the lines of standard input
 * @param {Record<string, any>} o
 */
async function embed(given, o) {
  const texts = given.length ? given : ((await standardInput()) ?? '').split(/\r?\n/).filter(Boolean);
  if (!texts.length)
    throw new GlassformerError('empty-prompt', 'embed: there is no text, neither as argument nor on standard input');
  await withModel(o, async (model, signal) => {
    const options = { signal, ...(o.pooling !== undefined && { pooling: o.pooling }) };
    for (const text of texts) {
      const { data } = await model.embed(text, options);
      // nine digits give back the same f32
      console.log(JSON.stringify({ text, embedding: Array.from(data, (x) => Number(x.toPrecision(9))) }));
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
    throw new GlassformerError(
      'bad-option',
      `quantize: --type is ${JSON.stringify(type)}, expected Q8_0, Q4_0 or Q4_1`,
    );
  const { convert } = await import('../convert/convert.js').catch(lacking('convert'));
  const line = o.quiet ? null : progressLine(process.stderr, o.progress);
  const options = { ...loadOptions(o, source), onProgress: line?.onProgress };
  try {
    const written = await convert(source, out, { type, vocabulary: !o['no-tokenizer'], options });
    line?.clear();
    if (!o.quiet) console.log(`${out}: ${written.bytes} bytes, matrices as ${written.type}`);
  } catch (error) {
    line?.clear();
    throw error;
  }
}

/**
 * The same; null where it is a terminal or nothing was connected.
 * @returns {Promise<string | null>}
 */
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
 * @returns {Promise<string | null>} null: wrong usage
 */
async function promptOf(positionals) {
  if (positionals.length > 1) return null;
  if (positionals.length === 1 && positionals[0] !== '-') return positionals[0];
  if (positionals[0] === '-') return inputText();
  return (await standardInput()) || null;
}

/**
 * @param {string} name preset or file
 * @returns {Promise<import('../index.js').ConfigInput>}
 */
async function configOf(name) {
  if (Object.hasOwn(PRESETS, name)) return /** @type {import('../index.js').Preset} */ (name);
  const file = name.endsWith('/') ? `${name}config.json` : name;
  if (!existsSync(file))
    throw new GlassformerError(
      'not-found',
      `${name}: neither a file nor a preset (${Object.keys(PRESETS).join(', ')})`,
    );
  if (!file.endsWith('.json')) {
    const model = await load(file);
    try {
      return model.config;
    } finally {
      model.dispose();
    }
  }
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new GlassformerError('bad-config', `${file}: not JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * @param {string} name
 * @param {boolean} json
 */
async function count(name, json) {
  const config = await configOf(name);
  const table = countParameters(config);
  const contextLength = 1024;
  const cost = estimate(config, { contextLength, kvDtype: 'f16' });
  if (json) return console.log(JSON.stringify({ ...table, estimate: { contextLength, ...cost } }, null, 1));
  /** @type {Map<string, {tensors: number, count: number}>} */
  const parts = new Map();
  for (const row of table.rows) {
    const key =
      row.stack === 'encoder' && table.rows.some((r) => r.stack === 'decoder')
        ? `encoder ${row.component}`
        : row.component;
    const part = parts.get(key) ?? { tensors: 0, count: 0 };
    parts.set(key, { tensors: part.tensors + 1, count: part.count + row.count });
  }
  const n = (/** @type {number} */ x) => x.toLocaleString('en-US').padStart(18);
  for (const [part, { tensors, count: sum }] of parts) {
    const tied = part === 'head' && sum === 0 ? '  shared with the embedding' : '';
    const name = part.replace(/_/g, ' ').padEnd(26);
    const percent = ((100 * sum) / table.total).toFixed(2).padStart(8);
    console.log(`${name}${String(tensors).padStart(6)} tensors${n(sum)}${percent} %${tied}`);
  }
  console.log(`${'total'.padEnd(26)}${String(table.rows.length).padStart(6)} tensors${n(table.total)}`);
  if (table.active < table.total) console.log(`${'used by one token'.padEnd(40)}${n(table.active)}`);
  console.log(`${'without embeddings'.padEnd(40)}${n(table.nonEmbedding)}`);
  console.log(`${'bytes in f32'.padEnd(40)}${n(table.bytes)}`);
  console.log(`${`kv cache of ${contextLength} tokens in f16, bytes`.padEnd(40)}${n(cost.kvBytes)}`);
  console.log(`${`FLOPs a token at ${contextLength} tokens`.padEnd(40)}${n(cost.flopsPerToken)}`);
}

// A closed pipe, as from `| head`, is no error.
process.stdout.on('error', (error) => {
  if (/** @type {any} */ (error).code !== 'EPIPE') throw error;
  process.exit();
});
try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: OPTIONS });
  if (values.help) console.log(HELP);
  else if (values.version) console.log(JSON.parse(await readFile(new URL('package.json', PACKAGE), 'utf8')).version);
  else if (positionals[0] === 'count' && positionals.length === 2) await count(positionals[1], !!values.json);
  else if (positionals[0] === 'embed') await embed(positionals.slice(1), values);
  else if ((positionals[0] === 'convert' || positionals[0] === 'quantize') && positionals.length === 3)
    await convertTo(positionals[0], positionals.slice(1), values);
  else if (values.chat && !positionals.length) await chat(values);
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
  console.error(`glassformer: ${e.message}${'code' in e && e.code === 'internal' ? `\n${e.cause?.stack ?? ''}` : ''}`);
  process.exitCode = usage ? 2 : 1;
}
