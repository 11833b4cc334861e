#!/usr/bin/env node
// cli.js - the package in a terminal: text from a model, parameter tables of configurations
import { parseArgs } from 'node:util';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { outward } from './formats/errors.js';
import { load, countParameters, estimate, GlassformerError, PRESETS } from './index.js';

/** The package's folder: this file lies in dist/ of the package, in web/lib/ of the source tree. */
const PACKAGE = [new URL('../', import.meta.url), new URL('../../', import.meta.url)].find((url) => existsSync(new URL('package.json', url)));
const DEFAULT_MODEL = fileURLToPath(new URL('weights/stories-1m.gguf', PACKAGE));

const HELP = `usage: glassformer [options] PROMPT        continue a text
       glassformer count [--json] CONFIG      parameters of a config.json, a checkpoint's, or a preset

  -m, --model SOURCE     .gguf, .bin, a folder ending in /, an address, or hf:owner/name[/file.gguf]
                         (default: the small story model of this package)
  -n, --max-tokens N     default: until the text ends or the context is full
  -t, --temperature T    default 0.8; 0 takes the most likely token
      --top-k K          default 0 (off)
      --top-p P          default 0.95; 1 is off
      --seed N           default: drawn, and told at the end
      --quantize DTYPE   keep (default), f32, f16, q8_0 or q4_0
      --json             the result as JSON instead of text
  -h, --help

presets: ${Object.keys(PRESETS).join(', ')}`;

/** @param {string | undefined} text @param {string} name @returns {number | undefined} */
function numeric(text, name) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) throw new GlassformerError('bad-option', `--${name} is ${JSON.stringify(text)}, expected a number`);
  return value;
}

/** @param {string} prompt @param {Record<string, any>} o */
async function write(prompt, o) {
  const source = o.model ?? DEFAULT_MODEL;
  if (!o.model && !existsSync(DEFAULT_MODEL)) {
    throw new GlassformerError('not-found', 'this installation has no model of its own: name one with --model (a .gguf file, a folder ending in /, or hf:owner/name)');
  }
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  const { signal } = controller;
  /** @type {import('./index.js').Model | undefined} */
  let model;
  try {
    model = await load(source, { quantize: o.quantize, signal });
    const steps = model.generate(prompt, {
      maxTokens: numeric(o['max-tokens'], 'max-tokens'), temperature: numeric(o.temperature, 'temperature') ?? 0.8, topK: numeric(o['top-k'], 'top-k'),
      topP: numeric(o['top-p'], 'top-p') ?? 0.95, seed: numeric(o.seed, 'seed'), signal,
    });
    for (let first = true; ; first = false) {
      const { done, value } = await steps.next();
      if (first && !o.json) process.stdout.write(prompt); // now that nothing was refused
      if (!done) { if (!o.json) process.stdout.write(value.text); continue; }
      if (o.json) console.log(JSON.stringify({ prompt, ...value }));
      else process.stderr.write(`\n\n${value.ids.length} tokens, ${value.tokensPerSecond.toFixed(0)} a second (${model.backend}), ended by ${value.stopReason}, seed ${value.seed}\n`);
      return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stdout.write('\n');
    process.exitCode = 130;
  } finally {
    model?.dispose();
  }
}

/** @param {string} name preset or file @returns {Promise<import('./index.js').ConfigInput>} */
async function configOf(name) {
  if (Object.hasOwn(PRESETS, name)) return /** @type {import('./index.js').Preset} */ (name);
  const file = name.endsWith('/') ? `${name}config.json` : name;
  if (!existsSync(file)) throw new GlassformerError('not-found', `${name}: neither a file nor a preset (${Object.keys(PRESETS).join(', ')})`);
  if (!file.endsWith('.json')) {
    const model = await load(file);
    try { return model.config; } finally { model.dispose(); }
  }
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new GlassformerError('bad-config', `${file}: not JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {string} name @param {boolean} json */
async function count(name, json) {
  const config = await configOf(name);
  const table = countParameters(config);
  const contextLength = 1024;
  const cost = estimate(config, { contextLength, kvDtype: 'f16' });
  if (json) return console.log(JSON.stringify({ ...table, estimate: { contextLength, ...cost } }, null, 1));
  /** @type {Map<string, {tensors: number, count: number}>} */
  const parts = new Map();
  for (const row of table.rows) {
    const key = row.stack === 'encoder' && table.rows.some((r) => r.stack === 'decoder') ? `encoder ${row.component}` : row.component;
    const part = parts.get(key) ?? { tensors: 0, count: 0 };
    parts.set(key, { tensors: part.tensors + 1, count: part.count + row.count });
  }
  const n = (/** @type {number} */ x) => x.toLocaleString('en-US').padStart(18);
  for (const [part, { tensors, count: sum }] of parts) {
    const tied = part === 'head' && sum === 0 ? '  shared with the embedding' : '';
    console.log(`${part.replace(/_/g, ' ').padEnd(26)}${String(tensors).padStart(6)} tensors${n(sum)}${(100 * sum / table.total).toFixed(2).padStart(8)} %${tied}`);
  }
  console.log(`${'total'.padEnd(26)}${String(table.rows.length).padStart(6)} tensors${n(table.total)}`);
  console.log(`${'without embeddings'.padEnd(40)}${n(table.nonEmbedding)}`);
  console.log(`${'bytes in f32'.padEnd(40)}${n(table.bytes)}`);
  console.log(`${`kv cache of ${contextLength} tokens in f16, bytes`.padEnd(40)}${n(cost.kvBytes)}`);
  console.log(`${`FLOPs a token at ${contextLength} tokens`.padEnd(40)}${n(cost.flopsPerToken)}`);
}

// Who reads may have enough: `| head` is no error.
process.stdout.on('error', (error) => {
  if (/** @type {any} */ (error).code !== 'EPIPE') throw error;
  process.exit();
});
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      model: { type: 'string', short: 'm' }, 'max-tokens': { type: 'string', short: 'n' }, temperature: { type: 'string', short: 't' },
      'top-k': { type: 'string' }, 'top-p': { type: 'string' }, seed: { type: 'string' }, quantize: { type: 'string' },
      json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) console.log(HELP);
  else if (positionals[0] === 'count' && positionals.length === 2) await count(positionals[1], !!values.json);
  else if (positionals.length === 1) await write(positionals[0], values);
  else { console.error(HELP); process.exitCode = 2; }
} catch (error) {
  const usage = String(/** @type {any} */ (error)?.code).startsWith('ERR_PARSE_ARGS'), e = usage ? /** @type {Error} */ (error) : outward(error);
  console.error(`glassformer: ${e.message}${'code' in e && e.code === 'internal' ? `\n${e.cause?.stack ?? ''}` : ''}`);
  process.exitCode = usage ? 2 : 1;
}
