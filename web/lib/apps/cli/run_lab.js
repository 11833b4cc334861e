// run_lab.js - runs a lab and prints its claims beside what was measured
import { printLine } from './terminal.js';

/** @import { Model } from '../../api/index.js' */

const labs = () => import('../labs/labs.js');

/** The names of the labs and what they claim, a line each. */
export async function listLabs() {
  const { LABS, openLab } = await labs();
  for (const name of LABS) console.log(`${name.padEnd(12)}${(await openLab(name)).claim}`);
}

/**
 * The file in `weights/` that a lab measures; null: it trains its own model.
 * @param {string} name
 */
export async function modelOfLab(name) {
  return (await (await labs()).openLab(name)).model;
}

/**
 * @param {string} name
 * @param {{model?: Model, seed?: number, seeds?: number, size: 'full' | 'short', signal?: AbortSignal}} options
 * @param {{json?: boolean, quiet?: boolean}} o
 */
export async function runLab(name, options, { json, quiet }) {
  const run = (await labs()).runLab(name, options);
  let doing = '';
  for (;;) {
    const { done, value } = await run.next();
    if (done) {
      const { trained: _, ...result } = value;
      if (json) return printLine(JSON.stringify(result, null, 2));
      for (const { claim, source, expected, measured, holds } of result.claims)
        printLine(`${claim} (${source})\n  expected: ${expected}\n  measured: ${measured}\n  ${verdict(holds)}\n`);
      const seeds = result.seeds ? `seeds ${result.seeds[0]} to ${result.seeds.at(-1)}` : `seed ${result.seed}`;
      return console.log(`${seeds}, ${result.seconds.toFixed(0)} seconds`);
    }
    if (!quiet && value.doing !== doing) process.stderr.write(`${Math.round(100 * value.progress)} % ${value.doing}\n`);
    doing = value.doing;
  }
}

const verdict = (/** @type {boolean | null} */ holds) =>
  holds === null ? 'it is inconclusive here: seeds differ' : holds ? 'it holds here' : 'it does not hold here';
