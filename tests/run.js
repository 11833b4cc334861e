// run.js - runs the test groups that the command line names, and counts results
//
//   node tests/run.js GROUP...     layout native wasm node browser package
//
// `./build.sh test` builds what the groups need and then runs this script. A group that executed no test fails. The
// last line is `N passed, N failed, N skipped`.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { relaxedSimd } from './node-flags.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const top = join(here, '..');

const groups = {
  layout: () => nodeTests([join(here, 'layout.test.js')]),
  native: () =>
    binaries(
      'build/native-test',
      () => true,
      (file) => [file],
    ),
  wasm: () =>
    binaries(
      'build/wasm-test',
      (name) => name.endsWith('.cjs'),
      (file) => [process.execPath, ...relaxedSimd, file],
    ),
  node: () => nodeTests(testFiles('node'), Math.max(2, availableParallelism() - 1)),
  browser: () => nodeTests(testFiles('browser'), 1),
  package: () => nodeTests(testFiles('package'), 1),
};

function testFiles(folder) {
  if (!existsSync(join(here, folder))) return [];
  return readdirSync(join(here, folder))
    .filter((name) => name.endsWith('.test.js'))
    .sort()
    .map((name) => join(here, folder, name));
}

/**
 * Files of Node's test runner, each in its own process.
 * @param {string[]} files
 * @param {boolean | number} [concurrency] browser tests run one at a time, because two Chromiums on two
 *   cores exceed time limits
 */
function nodeTests(files, concurrency = true) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  if (files.length === 0) return count;
  return new Promise((resolve) => {
    const isFile = (event) => event.nesting === 0 && files.includes(event.name);
    const isSuite = (event) => event.details?.type === 'suite';
    const stream = run({ files, concurrency, timeout: 15 * 60_000 })
      .on('test:fail', (event) => {
        if (!isSuite(event) || event.details.error?.failureType === 'hookFailed') count.failed++;
      })
      .on('test:pass', (event) => {
        if (isSuite(event)) return;
        if (isFile(event)) {
          // Node's test runner reports a file without any test as passed
          console.log(`${event.name} has no test.`);
          count.failed++;
        } else if (event.skip !== undefined || event.todo !== undefined) {
          count.skipped++;
        } else {
          count.passed++;
        }
      });
    stream
      .compose(new spec())
      .on('end', () => resolve(count))
      .pipe(process.stdout, { end: false });
  });
}

/**
 * Compiled tests print as tests/native/check.h does: `ok   NAME (N checks)` or `FAIL NAME ...`, last
 * `N passed, N failed` (checks).
 */
async function binaries(folder, isTest, command) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  const files = existsSync(join(top, folder))
    ? readdirSync(join(top, folder), { recursive: true })
        .map(String)
        .sort()
        .filter((name) => isTest(name) && statSync(join(top, folder, name)).isFile())
    : [];
  for (const name of files) {
    const began = performance.now();
    const [program, ...args] = command(join(top, folder, name));
    const { code, output } = await outputOf(program, args);
    const passed = output.match(/^ok +\w/gm)?.length ?? 0,
      failed = output.match(/^FAIL +\w/gm)?.length ?? 0;
    const closing = /^(\d+) passed, (\d+) failed\s*$/m.exec(output);
    const bad = code !== 0 || !closing || failed > 0 || passed === 0;
    count.passed += passed;
    count.failed += bad ? Math.max(1, failed) : 0;
    const ms = Math.round(performance.now() - began),
      counts = `${passed} passed, ${failed} failed, ${closing?.[1] ?? 'no'} checks`;
    console.log(`${bad ? '✖' : '✔'} ${name}: ${counts}, exit ${code} (${ms} ms)`);
    if (bad) console.log(output.replace(/^/gm, '    '));
  }
  return count;
}

function outputOf(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: top, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    child.stderr.on('data', (data) => {
      output += data;
    });
    child.on('error', (error) => resolve({ code: -1, output: error.message }));
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

const total = { passed: 0, failed: 0, skipped: 0 };
const lines = [];
for (const name of process.argv.slice(2)) {
  console.log(`\n== ${name}`);
  const began = performance.now();
  const count = await groups[name]();
  if (count.passed + count.failed === 0) {
    console.log(`The group "${name}" executed nothing.`);
    count.failed++;
  }
  for (const key of Object.keys(total)) total[key] += count[key];
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  lines.push(
    `${name.padEnd(8)} ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped  (${seconds} s)`,
  );
}
console.log(`\n${lines.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;
