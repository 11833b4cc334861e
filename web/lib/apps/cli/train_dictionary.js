// train_dictionary.js - trains a sparse dictionary on a text, and writes its files and its features
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, messageOf } from '../../base/errors.js';
import { dictionary } from '../../api/index.js';
import { numeric } from './cli_options.js';
import { printLine } from './terminal.js';

/** @import { Dictionary, Model } from '../../api/index.js' */

/** Options that are numbers. */
const NUMBERS = ['size', 'k', 'tokens', 'epochs', 'seed', 'threads'];
/** Features that are printed. */
const SHOWN = 10;

/** @param {number} x @param {number} digits */
const fixed = (x, digits) => x.toFixed(digits);

/**
 * A line of a feature: its strongest place, between brackets, and what it promotes.
 * @param {Dictionary} made
 * @param {number} index
 */
async function lineOf(made, index) {
  const { contexts, density, promoted } = await made.feature(index, { contexts: 1, tokens: 4 });
  const [{ tokens = [], at = 0 } = {}] = contexts;
  const text = tokens.map((token, i) => (i === at ? `[${token.text}]` : token.text)).join('');
  const words = promoted.map((token) => JSON.stringify(token.text)).join(' ');
  const share = `${fixed(100 * density, 2).padStart(5)} %`;
  return `${String(index).padStart(6)}  ${share}  ${text.replaceAll('\n', ' ')}  -> ${words}`;
}

/**
 * @param {Model} model
 * @param {[file: string, out: string]} paths  of the text, and of the folder
 * @param {Record<string, any>} o  the options of the command line
 * @param {AbortSignal} signal
 */
export async function trainDictionary(model, [file, out], o, signal) {
  if (!o.at) fail('bad-option', '--at is missing: the name of a point, such as blocks.2.hook_resid_post');
  const text = await readFile(file, 'utf8').catch((error) => fail('not-found', messageOf(error)));
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, numeric(o[name], name)]));
  const run = dictionary(model, text, { at: o.at, ...numbers, signal });
  let last = -Infinity;
  for await (const { phase, tokens, of, fvu } of run) {
    if (o.quiet || performance.now() - last < 1000) continue;
    last = performance.now();
    const doing = phase === 'capture' ? 'reading the text' : `learning, ${fixed(fvu, 3)} of the variance unexplained`;
    process.stderr.write(`${Math.round((100 * tokens) / of)} % ${doing}\n`);
  }
  const made = await run.dictionary();
  await mkdir(out, { recursive: true });
  for (const { name, bytes } of await made.files()) await writeFile(join(out, name), bytes);
  const report = await made.report({ signal });
  if (o.json) return printLine(JSON.stringify({ ...made.provenance, report }, null, 2));
  const { loss, l0, dead, dictionary: own, table, mean, random } = report;
  printLine(`${out}: ${made.size} features, ${fixed(l0, 1)} active, ${dead} never active in the held-out text`);
  printLine(`loss of the model: ${fixed(loss, 3)}; with a reconstruction in place of the values:`);
  for (const [name, one] of Object.entries({ dictionary: own, table, random, mean }))
    if (one) printLine(`  ${name.padEnd(12)} ${fixed(one.loss, 3)}   variance unexplained ${fixed(one.fvu, 3)}`);
  const densities = Array.from(/** @type {Float32Array} */ (made.densities()));
  const busiest = densities.map((_, i) => i).sort((a, b) => densities[b] - densities[a]);
  printLine(`the ${SHOWN} features that are active most often:`);
  for (const index of busiest.slice(0, SHOWN)) printLine(await lineOf(made, index));
}
