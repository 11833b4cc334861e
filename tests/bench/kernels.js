// kernels.js - runs the compiled kernel benchmark: as compiled; or for several instruction sets or two checkouts, in
// turn, and prints the best figure of each row side by side
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { report } from '../package/sizes.js';
import { relaxedSimd } from '../node-flags.js';
import { ISAS, v8Flags } from './isa.js';
import { printTable } from './tables.js';

/** Figures of a line, the one to compare first. */
const UNITS = [/G weights\/s/, /G(?:FL)?OPS/, /ns per .*/, /GB\/s/];

/**
 * What a run printed: for each row the figure to compare.
 * @param {string} output
 * @returns {Map<string, { value: number, unit: string }>}
 */
export function figuresOf(output) {
  const figures = new Map();
  for (const line of output.split('\n')) {
    const numbers = [...line.matchAll(/ ([\d.]+) (G weights\/s|GFLOPS|GOPS|GB\/s|ns per .*)/g)];
    if (!numbers.length) continue;
    const label = line.slice(0, numbers[0].index).trim().replace(/ +/g, ' ');
    const at = UNITS.map((unit) => numbers.find(([, , name]) => unit.test(name))).find(Boolean);
    figures.set(label, { value: Number(at[1]), unit: at[2].trim() });
  }
  return figures;
}

/**
 * Run the benchmarks in build/bench one after the other, native and as WebAssembly under Node, then print the download
 * sizes.
 * @param {string} folder  build/bench
 * @param {string[]} filter
 */
export async function printKernels(folder, filter) {
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    const file = join(folder, name);
    if (!statSync(file).isFile()) continue;
    console.log(`\n== ${name}`);
    const [program, ...args] = name.endsWith('.cjs') ? [process.execPath, ...relaxedSimd, file] : [file];
    const { status } = spawnSync(program, [...args, ...filter], { stdio: 'inherit' });
    if (status !== 0) process.exit(1);
  }
  console.log('\n== sizes');
  await report();
}

/**
 * @param {object} job
 * @param {{ name: string, folder: string }[]} job.checkouts  each with a compiled build/bench
 * @param {(string | undefined)[]} job.isas
 * @param {string} job.node  the Node that runs WebAssembly
 * @param {string[]} job.flags  for Node
 * @param {number} job.rounds
 * @param {string[]} job.filter
 */
export function compareKernels({ checkouts, isas, node, flags, rounds, filter }) {
  const columns = [];
  for (const { name, folder } of checkouts) {
    const builds = join(folder, 'build/bench');
    for (const build of readdirSync(builds)) {
      const file = join(builds, build, build === 'native' ? 'kernels_bench' : 'kernels_bench.cjs');
      for (const isa of build === 'native' ? [undefined] : isas) {
        const [program, ...args] = build === 'native' ? [file] : [node, ...flags, ...(isa ? v8Flags(isa) : []), file];
        columns.push({
          name: [name, build, isa && ISAS[isa].label].filter(Boolean).join(' '),
          run: () =>
            execFileSync(program, [...args, ...filter], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
          best: new Map(),
        });
      }
    }
  }
  for (let i = 0; i < rounds; i++) {
    for (const column of i % 2 ? columns.toReversed() : columns) {
      process.stderr.write(`\r\x1b[Kround ${i + 1} of ${rounds}: ${column.name}`);
      const output = column.run();
      column.kernels = /^kernels: (.*)$/m.exec(output)?.[1];
      for (const [label, figure] of figuresOf(output)) {
        const best = column.best.get(label),
          better = figure.unit.startsWith('ns') ? Math.min : Math.max;
        column.best.set(label, { ...figure, value: best ? better(best.value, figure.value) : figure.value });
      }
    }
  }
  process.stderr.write('\r\x1b[K');
  const labels = [...new Set(columns.flatMap(({ best }) => [...best.keys()]))];
  printTable(
    labels.map((label) => ({
      label: `${label}, ${columns.find(({ best }) => best.has(label)).best.get(label).unit}`,
      cells: columns.map(({ best }) => {
        const value = best.get(label)?.value;
        return value === undefined ? '–' : value < 1 ? value.toFixed(3) : value.toFixed(1);
      }),
    })),
    columns.map(({ name }) => name),
  );
  for (const { name, kernels } of columns) console.log(`${name}: ${kernels}`);
}
