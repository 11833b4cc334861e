// run.js - runs the test groups that the command line names, and counts results
//
//   node tests/run.js GROUP...     layout native wasm node package browser faults real arm
//
// `./build.sh test` builds what the groups need and then runs this script. Two files more than there are cores run at
// once, since most files wait now and then; one lane begins with the browsers, the others with the rest. Files of Node and
// files about the built page share processes. A group that executed no test fails. The last line is
// `N passed, N failed, N skipped`.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { relaxedSimd } from './node-flags.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const top = join(here, '..');

/** @typedef {{passed: number, failed: number, skipped: number}} Count */
/** @typedef {{group: string, file: string, work: (file: string) => Promise<Count & {output: string}>}} Job */

/** Group: its files and how one of them is run. @type {Record<string, [() => string[], Job['work']]>} */
const groups = {
  layout: [() => [join(here, 'layout.test.js')], nodeTest],
  native: [nativeTests, (file) => binary(...file.split(' '))],
  wasm: [
    () => filesIn('build/wasm-test', (name) => /wasm-test\/\w+\.cjs$/.test(name)),
    (file) => binary(process.execPath, ...relaxedSimd, file),
  ],
  node: [nodeTests, nodeTest],
  browser: [browserTests, nodeTest],
  package: [() => testFiles('package'), nodeTest],
  faults: [() => testFiles('faults'), nodeTest],
  real: [() => testFiles('real'), nodeTest],
  arm: [
    () => testFiles('node').filter((file) => onArm.has(basename(file, '.test.js'))),
    (file) => nodeTest(file, 3 * 60), // emulated
  ],
};
/** Files of the group node whose results depend on the processor, and what runs in threads. */
const onArm = new Set([
  ...['engine', 'features', 'generate', 'not_finite', 'parity', 'quants', 'reference', 'same_bits'],
  ...['sessions', 'threads', 'training', 'worker'],
]);
const inBrowser = new Set(['browser', 'package', 'faults', 'real']);

/** Files below a folder, the largest first: the last ones to end are then short. */
function filesIn(folder, isTest) {
  if (!existsSync(join(top, folder))) return [];
  return readdirSync(join(top, folder), { recursive: true })
    .map((name) => join(top, folder, String(name)))
    .filter((file) => isTest(file) && statSync(file).isFile())
    .sort((a, b) => statSync(b).size - statSync(a).size);
}
/** Programs with the test that each is to run: those of `every` (tests/native/every.c), and programs of one test. */
function nativeTests() {
  const every = 'build/native-test/every',
    names = existsSync(join(top, every)) ? execFileSync(join(top, every), ['--list'], { encoding: 'utf8' }).trim() : '';
  const others = filesIn('build/native-test', (file) => !['every', ...names.split('\n')].includes(basename(file)));
  return [...others, ...names.split('\n').map((name) => `${every} ${name}`)];
}
const testFiles = (folder) => filesIn(`tests/${folder}`, (name) => name.endsWith('.test.js'));

/** Files that share a process: what each would start anew takes as long as a short test, for pages a server and a
 * browser, in Node the package and its compiled binaries. */
const TOGETHER = { page: 4, node: 5 };

/**
 * Files as fewer ones that import several of them each, long and short ones.
 * @param {string[]} files  the largest first
 * @param {number} most  in one
 */
function together(files, most) {
  const folder = join(top, 'build/together'),
    lots = Math.ceil(files.length / most);
  mkdirSync(folder, { recursive: true });
  return Array.from({ length: lots }, (_, lot) => {
    const mine = files.filter((_, i) => i % lots === lot),
      path = join(folder, `${mine.map((file) => basename(file, '.test.js')).join('-')}.test.js`);
    writeFileSync(path, mine.map((file) => `import ${JSON.stringify(file)};\n`).join(''));
    return path;
  });
}

/** The files of the group browser; those in each engine share a process, those of the built page a few. */
function browserTests() {
  const files = testFiles('browser'),
    [inEngines, ofPage] = ['./drivers/each_engine.js', './built_page.js'].map((part) =>
      files.filter((file) => readFileSync(file, 'utf8').includes(`from '${part}'`)),
    );
  return [
    ...together(inEngines, inEngines.length),
    ...together(ofPage, TOGETHER.page),
    ...together(
      files.filter((file) => ![...inEngines, ...ofPage].includes(file)),
      TOGETHER.page,
    ),
  ];
}

/** What tells that a test changes or measures its process: a global object, the environment, a method, a module of Node,
 * React's state. */
const CHANGES_PROCESS = /globalThis|process\.(?:env|memoryUsage|chdir)|\.mock\b|getBuiltinModule|react-test-renderer/;

/** The files of the group node; those that change or measure their process have one each. */
function nodeTests() {
  const files = testFiles('node'),
    alone = files.filter((file) => CHANGES_PROCESS.test(readFileSync(file, 'utf8')));
  return [
    ...alone,
    ...together(
      files.filter((file) => !alone.includes(file)),
      TOGETHER.node,
    ),
  ];
}

/** How long a process may stay after its last test, in ms: browsers and workers close in that time. */
const CLOSING = 90_000;

/** A file of Node's test runner, in a process of its own, for so many minutes at most. */
function nodeTest(file, minutes = 40) {
  const result = { passed: 0, failed: 0, skipped: 0, output: '' };
  return new Promise((resolve) => {
    const isFile = (event) => event.nesting === 0 && file === event.name;
    const isSuite = (event) => event.details?.type === 'suite';
    const controller = new AbortController();
    let under = 0, // tests that are declared and have not ended
      closing;
    const declared = (/** @type {number} */ more) => (event) => {
      if (isFile(event)) return;
      clearTimeout(closing);
      under += more;
      if (under > 0) return;
      closing = setTimeout(() => {
        result.output += `${file}: the tests have ended and the process has not: a server, a browser or a timer is open.\n`;
        controller.abort();
      }, CLOSING);
    };
    const stream = run({ files: [file], concurrency: 1, timeout: minutes * 60_000, signal: controller.signal })
      .on('test:enqueue', declared(1))
      .on('test:complete', declared(-1))
      .on('test:fail', (event) => {
        if (!isSuite(event) || event.details.error?.failureType === 'hookFailed') result.failed++;
      })
      .on('test:pass', (event) => {
        if (isSuite(event)) return;
        if (isFile(event)) {
          // Node's test runner reports a file without any test as passed
          result.output += `${event.name} has no test.\n`;
          result.failed++;
        } else if (event.skip !== undefined || event.todo !== undefined) {
          result.skipped++;
        } else {
          result.passed++;
        }
      });
    stream
      .compose(new spec())
      .on('data', (text) => {
        result.output += text;
      })
      .on('end', () => {
        clearTimeout(closing);
        resolve({ ...result, output: result.output.split('\nℹ tests ')[0] });
      });
  });
}

/**
 * Compiled tests print as tests/native/check.h does: `ok   NAME (N checks)` or `FAIL NAME ...`, and at the end of each
 * file `N passed, N failed` (checks).
 */
async function binary(program, ...args) {
  const { code, output } = await outputOf(program, args);
  const passed = output.match(/^ok +\w/gm)?.length ?? 0,
    failed = output.match(/^FAIL +\w/gm)?.length ?? 0;
  const closing = [...output.matchAll(/^(\d+) passed, \d+ failed\s*$/gm)];
  const bad = code !== 0 || !closing.length || failed > 0 || passed === 0;
  const checks = closing.reduce((sum, [, n]) => sum + Number(n), 0);
  const counts = `${passed} passed, ${failed} failed, ${checks} checks`;
  return {
    passed,
    failed: bad ? Math.max(1, failed) : 0,
    skipped: 0,
    output: `${bad ? '✖' : '✔'} ${counts}, exit ${code}\n${bad ? output.replace(/^/gm, '    ') : ''}`,
  };
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

/** Processor time of all ended processes that this one began, with theirs, in s; 0 where the system does not say it. */
function processorSeconds() {
  if (!existsSync('/proc/self/stat')) return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100; // cutime and cstime, in ticks of 10 ms
}
let measured = processorSeconds(); // the builds are children of this process, too

/** Run jobs one after another: those of its own kind first, then the others'. Both lists are shared with the other lanes. */
async function runLane(own, others) {
  for (let job; (job = own.shift() ?? others.shift());) {
    const began = performance.now();
    const { output, ...count } = await job.work(job.file);
    const seconds = (performance.now() - began) / 1000,
      processor = processorSeconds();
    const own = processor - measured;
    measured = processor;
    for (const key of Object.keys(count)) totals[job.group][key] += count[key];
    totals[job.group].seconds += own;
    const took = `${seconds.toFixed(1)} s, ${own.toFixed(1)} s of processor time`;
    console.log(`\n== ${relative(top, job.file)} (${took})\n${output.trimEnd()}`);
  }
}

const names = process.argv.slice(2);
rmSync(join(top, 'build/together'), { recursive: true, force: true });
/** Counts and processor time by group. @type {Record<string, Count & {seconds: number}>} */
const totals = {};
const jobs = names.flatMap((group) => {
  const [files, work] = groups[group];
  totals[group] = { passed: 0, failed: 0, skipped: 0, seconds: 0 };
  return files().map((file) => ({ group, file, work }));
});
const [browsers, rest] = [true, false].map((is) => jobs.filter(({ group }) => inBrowser.has(group) === is));
await Promise.all(
  Array.from({ length: availableParallelism() + 2 }, (_, lane) =>
    lane === 0 ? runLane(browsers, rest) : runLane(rest, browsers),
  ),
);

console.log(`\nThe tests took ${(performance.now() / 1000).toFixed(0)} s.`);
const sum = { passed: 0, failed: 0, skipped: 0 };
for (const group of names) {
  const count = totals[group];
  if (count.passed + count.failed === 0) {
    console.log(`The group "${group}" executed nothing.`);
    count.failed++;
  }
  for (const key of Object.keys(sum)) sum[key] += count[key];
  const { passed, failed, skipped, seconds } = count;
  console.log(
    `${group.padEnd(8)} ${passed} passed, ${failed} failed, ${skipped} skipped  (${seconds.toFixed(1)} s of processor time)`,
  );
}
console.log(`\n${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
process.exitCode = sum.failed > 0 ? 1 : 0;
