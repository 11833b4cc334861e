// command_line.js - runs a fuzzer from the command line and prints how to repeat a finding
import { parseArgs } from 'node:util';

/**
 * Runs 2000 cases, or those of `--seconds N`, `--cases N`, `--seed N` and `--case N`.
 * @param {string} name  of the file, without .js
 * @param {(how: {seed: number, first: number, cases: number, seconds: number}) =>
 *   Promise<{cases: number, why?: string, folder?: string}>} fuzz
 */
export async function runFromCommandLine(name, fuzz) {
  const text = { type: /** @type {const} */ ('string') };
  const { values } = parseArgs({ options: { seconds: text, cases: text, seed: text, case: text } });
  const seed = Number(values.seed ?? 1),
    first = Number(values.case ?? 0);
  const cases = values.case === undefined ? Number(values.cases ?? (values.seconds ? Infinity : 2000)) : 1;
  const found = await fuzz({ seed, first, cases, seconds: Number(values.seconds ?? Infinity) });
  if (!found.why) return console.log(`ok   ${name} (${found.cases} cases)`);
  console.log(
    `FAIL ${name}: seed ${seed}, case ${found.cases}: ${found.why}\n` +
      `  ${found.folder ? `its files are in ${found.folder}; ` : ''}again: ` +
      `node tests/fuzz/${name}.js --seed ${seed} --case ${found.cases}`,
  );
  process.exitCode = 1;
}
