// command_line.js - runs a fuzzer from the command line and prints how to repeat a finding; installs what it compares with
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * Packages that are no development dependencies: installed into a folder of build/ at the first use.
 * @param {string} name  of the folder
 * @param {string[]} packages  with their versions
 * @returns {string} path of the folder's package.json
 */
export function installed(name, packages) {
  const folder = fileURLToPath(new URL(`../../build/${name}`, import.meta.url));
  if (!existsSync(join(folder, 'node_modules'))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
    execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], { cwd: folder });
  }
  return join(folder, 'package.json');
}

/**
 * Runs 2000 cases, or those of `--seconds N`, `--cases N`, `--seed N` and `--case N`.
 * @param {string} name  of the file, without .js
 * @param {(how: {seed: number, first: number, cases: number, seconds: number}) =>
 *   Promise<{cases: number, pairs?: number, why?: string, folder?: string}>} fuzz
 */
export async function runFromCommandLine(name, fuzz) {
  const text = { type: /** @type {const} */ ('string') };
  const { values } = parseArgs({ options: { seconds: text, cases: text, seed: text, case: text } });
  const seed = Number(values.seed ?? 1),
    first = Number(values.case ?? 0);
  const cases = values.case === undefined ? Number(values.cases ?? (values.seconds ? Infinity : 2000)) : 1;
  const found = await fuzz({ seed, first, cases, seconds: Number(values.seconds ?? Infinity) });
  const pairs = found.pairs === undefined ? '' : `, ${found.pairs} pairs`;
  if (!found.why) return console.log(`ok   ${name} (${found.cases} cases${pairs})`);
  console.log(
    `FAIL ${name}: seed ${seed}, case ${found.cases}: ${found.why}\n` +
      `  ${found.folder ? `its files are in ${found.folder}; ` : ''}again: ` +
      `node tests/fuzz/${name}.js --seed ${seed} --case ${found.cases}`,
  );
  process.exitCode = 1;
}
