// bench.js - runs the compiled benchmarks one after the other, native and as WebAssembly under Node, and then prints
// the download sizes. Its arguments are passed to the benchmarks.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { report } from './sizes.js';
import { relaxedSimd } from './node-flags.js';

for (const build of readdirSync('build/bench')) {
  for (const name of readdirSync(`build/bench/${build}`)) {
    const file = `build/bench/${build}/${name}`;
    console.log(`\n== ${file}`);
    const [program, ...args] = name.endsWith('.cjs') ? [process.execPath, ...relaxedSimd, file] : [file];
    const { status } = spawnSync(program, [...args, ...process.argv.slice(2)], { stdio: 'inherit' });
    if (status !== 0) process.exit(1);
  }
}
console.log('\n== sizes');
await report();
