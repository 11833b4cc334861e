// run.js - compares the speed of this engine with others on the same file, each in a page, and with the machine's
// limits
//
//   ./build.sh bench [--sizes 3M,15M,42M,110M,135M] [--dtypes q8_0,q4_0,q4_k_m,f32,f16] [--threads 1,2]
//                    [--backends relaxed,simd] [--caches default,f32,f16,q8_0]
//                    [--engines glassformer,wllama2,wllama3,onnxruntime] [--isa vnni,avx2,sse] [--against DIR]
//                    [--repeats 3] [--contexts 64,512,1000] [--neighbour] [--quick] [--cold] [--cpu]
//                    [--model FILE.gguf] [--node] [--with-node 24.21.0] [--drawing] [--training] [--pace] [--first-token] [--slow-line] [--kernels [FILTER]] [--page]
//
// README.md in this folder explains the output.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, homedir, loadavg, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { launch } from '../../scripts/chromium.js';
import { relaxedSimd } from '../node-flags.js';
import { serve } from '../../scripts/serve.js';
import { cpuBetween, rendererUse, untilIdle } from './browser_use.js';
import { buildPage, html, writeFolder } from './build_page.js';
import { measureDrawing } from './drawing.js';
import { ONNXRUNTIME, WLLAMA3, fetchNode, fetchPackage } from './fetch.js';
import { measureFirstToken } from './first_token.js';
import { contendersFor, isNative, readmeRows, visitNative } from './given_model.js';
import { ISAS, missing, v8Flags } from './isa.js';
import { compareKernels, printKernels } from './kernels.js';
import { measurePace } from './pace.js';
import { measureTraining } from './training.js';
import { SIZES, bytesPerToken, modelFile } from './models.js';
import { ONNX_TYPES, onnxFile } from './onnx.js';
import { measureSlowLine } from './slow_line.js';
import { measureSpeeds } from './speeds.js';
import { tablesOf } from './tables.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'glassformer/bench');

const list = { type: 'string' },
  flag = { type: 'boolean', default: false };
/** The options of the command line; an unknown one ends the program with a sentence. */
function commandLine(/** @type {import('node:util').ParseArgsOptionsConfig} */ options) {
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    console.error(
      `bench: ${/** @type {Error} */ (error).message.split('.')[0]}; tests/bench/README.md lists the options`,
    );
    process.exit(2);
  }
}
const { values: given, positionals } = commandLine({
  sizes: { ...list, default: '15M,135M' },
  dtypes: { ...list, default: 'q8_0,q4_0,q4_k_m' },
  threads: { ...list, default: '1,2' },
  backends: { ...list, default: 'relaxed,simd' },
  caches: { ...list, default: 'default' },
  engines: { ...list, default: 'glassformer,wllama2,wllama3' },
  contexts: list,
  repeats: list,
  isa: list,
  against: list,
  model: list,
  'with-node': list,
  neighbour: flag,
  quick: flag,
  cold: flag,
  cpu: flag,
  node: flag,
  drawing: flag,
  training: flag,
  pace: flag,
  'first-token': flag,
  'slow-line': flag,
  kernels: flag,
  page: flag,
});
const words = (text) => text.split(',').filter(Boolean);
const sizes = words(given.sizes),
  dtypes = words(given.dtypes),
  backends = words(given.backends),
  engines = words(given.engines),
  caches = words(given.caches);
const threads = words(given.threads).map(Number);
const contexts = words(given.contexts ?? (given.cold ? '' : given.quick ? '64' : '64,512,1000')).map(Number);
const prefills = given.cold ? [] : given.quick ? [128] : [128, 512];
const repeats = Number(given.repeats ?? (given.cold ? 7 : given.quick ? 1 : 3));
/** The instruction sets to measure; undefined: the machine's own, without any flag. */
const isas = given.isa === undefined ? [undefined] : words(given.isa);
/** The checkout to compare with, or null. */
const against = given.against === undefined ? null : resolve(given.against);

function stop(message) {
  console.error(message);
  process.exit(1);
}
/** @param {string} option @param {(string | undefined)[]} values @param {string[]} allowed */
function check(option, values, allowed) {
  const unknown = values.filter((value) => value !== undefined && !allowed.includes(value));
  if (unknown.length) stop(`--${option}: there is no ${unknown.join(', ')}; choose from ${allowed.join(', ')}.`);
}
check('sizes', sizes, Object.keys(SIZES));
check('dtypes', dtypes, ['q8_0', 'q4_0', 'q4_k_m', 'f32', 'f16']);
check('engines', engines, ['glassformer', 'wllama2', 'wllama3', 'onnxruntime']);
check('isa', isas, Object.keys(ISAS));
if (against && !existsSync(against)) stop(`--against: there is no folder ${against}.`);
if (given['with-node'] && !/^\d+(?:\.\d+){0,2}$/.test(given['with-node']))
  stop(`--with-node is ${given['with-node']}, expected a version, for example 24.21.0.`);
/** The file to measure instead of the models of --sizes and --dtypes, or null. */
const file = given.model === undefined ? null : resolve(given.model);
if (file && !existsSync(file)) stop(`--model: there is no file ${file}.`);
if (file && (given.isa || against || given.node)) stop('--model takes none of --isa, --against and --node.');
if (given.drawing && (given.isa || against)) stop('--drawing takes neither --isa nor --against.');

const machine = () => `${cpus()[0].model}, ${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)}`;

/** The package of a checkout as npm publishes it, which is what pages load. */
function builtPackage(checkout) {
  const file = join(checkout, 'dist/index.js');
  return existsSync(file) ? file : stop(`${checkout} has no dist/index.js: run ./build.sh package there.`);
}
/** The package of a checkout for Node: its sources when their binaries are built, otherwise as npm publishes it. */
const packageForNode = (checkout) =>
  existsSync(join(checkout, 'web/lib/api/wasm')) ? join(checkout, 'web/lib/api/index.js') : builtPackage(checkout);
/** A checkout's commit, with + where files differ from it. */
function commitOf(checkout) {
  try {
    const git = (...args) => execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') ? '+' : '');
  } catch {
    return 'no commit';
  }
}
function printConditions(what) {
  console.log(`${machine()}; ${what}`);
  if (against) console.log(`before: ${commitOf(against)}, built in ${against}; now: ${commitOf(top)}`);
  console.log();
}

// ---- the measured engines

/** @typedef {import('./tables.js').Contender} Contender */

/**
 * @param {string} dtype
 * @param {(string | undefined)[]} measured  instruction sets
 * @returns {Contender[]}
 */
function contenders(dtype, measured) {
  const all = [];
  for (const n of threads) {
    const suffix = n > 1 ? ` ${n}t` : '';
    for (const engine of engines) {
      if (engine === 'onnxruntime') {
        if (ONNX_TYPES[dtype]) all.push({ name: engine + suffix, engine, threads: n, library: '/onnxruntime-web/' });
      } else if (engine !== 'glassformer')
        all.push({ name: engine + suffix, engine, threads: n, library: `/${engine}/esm/` });
      else
        for (const backend of backends)
          for (const kvDtype of caches) {
            const name = `${backend}${kvDtype === 'default' ? '' : ` ${kvDtype}`}${suffix}`,
              ours = { name, engine, backend, kvDtype, threads: n };
            all.push(ours);
            if (against) all.push({ ...ours, name: `before ${name}`, before: true });
          }
    }
  }
  const busy = given.neighbour
    ? all.flatMap((c) => (c.threads > 1 ? [c, { ...c, name: `${c.name} busy`, neighbour: true }] : [c]))
    : all;
  return busy.flatMap((c) => measured.map((isa) => (isa ? { ...c, isa } : c)));
}

/** What to run in a visit. Slow engines run less often. */
const speedsOf = (who) => ({
  contexts,
  prefills,
  cpu: given.cpu,
  times: who.engine !== 'glassformer' ? (given.quick ? 1 : 3) : given.cpu ? 20 : 9,
});

/**
 * Visits all contenders in turn, in every second round in reverse order.
 * @param {string} title @param {Contender[]} who
 * @param {(c: Contender) => Promise<Record<string, any>>} visitOf
 */
async function inTurn(title, who, visitOf) {
  const results = new Map(who.map((c) => [c, []]));
  let stopped = false; // Ctrl-C prints the results so far
  const onStop = () => {
    stopped = true;
  };
  process.once('SIGINT', onStop);
  for (let round = 0; round < repeats; round++) {
    for (const c of round % 2 ? who.toReversed() : who) {
      if (stopped) continue;
      const name = c.isa ? `${c.name}, ${c.isa}` : c.name;
      process.stderr.write(`\r\x1b[K${title}, visit ${round + 1} of ${repeats}: ${name}`);
      try {
        results.get(c).push({ ...(await visitOf(c)), round });
      } catch (error) {
        console.error(`\n${name}: this visit failed: ${error.message}`);
      }
    }
  }
  process.off('SIGINT', onStop);
  process.stderr.write('\r\x1b[K');
  return results;
}

// ---- one visit: a fresh page, cold; then warm

/** Another process that computes without end, for as long as fn takes. */
async function besideNeighbour(on, fn) {
  const neighbour = on ? spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }) : null;
  try {
    return await fn();
  } finally {
    neighbour?.kill('SIGKILL');
  }
}

async function visit(browser, server, who, model, bytes) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    page.on('pageerror', (error) => console.error(`\n${who.name}: ${error.message}`));
    await page.goto(`${server.url}empty.html`);
    await untilIdle(browser);
    const before = await rendererUse(browser);
    const asked = server.requests.length,
      side = who.before ? 'before' : 'now';
    await page.goto(`${server.url}${side}/#${encodeURIComponent(JSON.stringify({ ...who, model }))}`);
    await page.waitForFunction(() => window.cold, null, { timeout: 300_000 });
    const cold = await page.evaluate(() => window.cold);
    if (cold.error) throw new Error(cold.error);
    const files = new Set(server.requests.slice(asked).map((path) => path.split('?')[0]));
    const result = { load: cold.loadMs, 'first token': cold.firstTokenMs, backend: cold.backend, files };
    result['CPU first token'] = cpuBetween(before, await rendererUse(browser));
    const fast = who.engine === 'glassformer';
    await page.evaluate(([ms]) => window.warmUp(64, 32, 2, ms), [fast ? 1500 : 500]);
    if (before.memory !== null) result.memory = (await rendererUse(browser)).memory - before.memory;

    /** Runs of n and k tokens in the page: rates, and processor time of one run. */
    async function measure(n, k, times) {
      const start = await rendererUse(browser);
      const rates = await page.evaluate(([n, k, times]) => window.measure(n, k, times), [n, k, times]);
      return { ...rates, cpu: cpuBetween(start, await rendererUse(browser)) / times };
    }
    await besideNeighbour(who.neighbour, async () => {
      Object.assign(result, await measureSpeeds(measure, speedsOf(who)));
    });
    if (hasLimit(who)) result.limit = await page.evaluate((n) => window.readLimit(n), bytes);
    await page.evaluate(() => window.end());
    return result;
  } finally {
    await context.close();
  }
}

// ---- the machine's limit for decoding

/** What one token reads, to whole steps of the reader. */
const moved = (name, dtype, kvDtype) => Math.ceil(bytesPerToken(name, dtype, 64, kvDtype) / 128) * 128;

/** Whether a visit also measures the GB/s at which one thread, of the same page or process, reads that much. */
const hasLimit = (c) => !file && c.engine === 'glassformer' && c.threads === 1;

/** What the browser computes with. */
async function probeInPage(browser, server) {
  const page = await browser.newPage();
  try {
    await page.goto(`${server.url}now/`);
    await page.waitForFunction(() => window.probe);
    return await page.evaluate(() => window.probe());
  } finally {
    await page.close();
  }
}

// ---- printing

const measures = () => [
  ...contexts.map((n) => `decode @${n}`),
  ...prefills.map((n) => `prefill ${n}`),
  ...(given.cpu
    ? [...contexts.map((n) => `CPU decode @${n}`), ...prefills.map((n) => `CPU prefill ${n}`), 'CPU first token']
    : []),
  'load',
  'first token',
  'memory',
  'download',
];

/**
 * @param {string} title @param {string} name @param {string} dtype
 * @param {import('./tables.js').Results} results
 */
function printModel(title, name, dtype, results) {
  const tables = tablesOf(measures(), results),
    all = [...results.keys()],
    measured = [...new Set(all.map(({ isa }) => isa))];
  console.log(`## ${title}\n`);
  for (const isa of measured) {
    const who = all.filter((c) => c.isa === isa);
    if (isa) console.log(`### ${ISAS[isa].label}\n`);
    tables.print(who);
    printShares(who, tables, name, dtype);
    for (const c of who) console.log(`${c.name}: ${results.get(c)[0]?.backend ?? 'not measured'}`);
    console.log();
  }
  if (measured.length > 1) tables.printSideBySide(all, measured);
}

/** How much faster two threads are than one, and which share of the machine's limit decoding reaches. */
function printShares(who, { valueOf }, name, dtype) {
  const ours = who.filter((c) => c.engine === 'glassformer' && !c.before);
  for (const c of ours) {
    const rate = valueOf(c, 'decode @64');
    if (rate === undefined) continue;
    const one = ours.find((p) => p.backend === c.backend && p.kvDtype === c.kvDtype && p.threads === 1);
    if (c.threads > 1) {
      if (one)
        console.log(
          `${c.name}: decode @64 is ${(rate / valueOf(one, 'decode @64')).toFixed(2)} times that of one thread`,
        );
      continue;
    }
    const bytes = moved(name, dtype, c.kvDtype),
      speed = (bytes * rate) / 1e9,
      limit = valueOf(c, 'limit');
    console.log(
      `${c.name}: ${(bytes / 1e6).toFixed(1)} MB per token, ${speed.toFixed(1)} GB/s, ` +
        `${((100 * speed) / limit).toFixed(0)} % of the ${limit.toFixed(1)} GB/s at which one thread of the same page reads that much`,
    );
  }
}

// ---- runs

/** What a visitor fetches besides the model, KB gzipped. `folders`: by the path under which they are served. */
function downloadOf(requested, folders) {
  let total = 0;
  for (const path of requested) {
    if (path.endsWith('/') || /\.(?:html|gguf|onnx|ico)$/.test(path)) continue;
    const at = Object.keys(folders).find((prefix) => path.startsWith(prefix)),
      file = join(folders[at], path.slice(at.length));
    if (existsSync(file)) total += gzipSync(readFileSync(file), { level: 9 }).length;
  }
  return total / 1e3;
}

/**
 * A given file, in pages and natively.
 * @param {string} path @param {(c: Contender) => Promise<Record<string, any>>} inPage
 */
async function measureFile(path, inPage) {
  const who = contendersFor(threads);
  const results = await inTurn(basename(path), who, (c) =>
    isNative(c) ? visitNative(path, { threads: c.threads, ...speedsOf(c) }) : inPage(c),
  );
  const tables = tablesOf(measures(), results);
  tables.print(who);
  for (const c of who) console.log(`${c.name}: ${results.get(c)[0]?.backend ?? 'not measured'}`);
  console.log(`\n${new Date().toISOString().slice(0, 10)}; glassformer, wllama, times, llama.cpp:`);
  const shown = [...contexts.map((n) => `decode @${n}`), ...prefills.map((n) => `prefill ${n}`)];
  for (const row of readmeRows(who, shown, tables.valueOf)) console.log(row);
}

async function inPages() {
  for (const checkout of [top, against]) if (checkout) builtPackage(checkout);
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-bench-')),
    site = join(folder, 'site');
  await buildPage(join(site, 'now'), builtPackage(top));
  if (against) await buildPage(join(site, 'before'), builtPackage(against));
  writeFileSync(join(site, 'empty.html'), html(''));
  const also = { '/models/': file ? dirname(file) : cache, '/wllama2/': join(top, 'node_modules/wllama2') };
  if (engines.includes('wllama3')) also['/wllama3/'] = fetchPackage(cache, '@wllama/wllama', WLLAMA3);
  if (engines.includes('onnxruntime'))
    also['/onnxruntime-web/'] = join(fetchPackage(cache, 'onnxruntime-web', ONNXRUNTIME), 'dist');
  const model = (c, name, dtype) => (c.engine === 'onnxruntime' ? onnxFile : modelFile)(cache, name, dtype);
  for (const name of file ? [] : sizes)
    for (const dtype of dtypes) for (const c of contenders(dtype, [undefined])) model(c, name, dtype);

  const server = await serve(site, { also });
  const browsers = new Map(); // instruction set -> the browser that is limited to it
  try {
    for (const isa of isas) {
      const args = isa && ISAS[isa].without.length ? [`--js-flags=${v8Flags(isa).join(' ')}`] : [];
      const browser = await launch({ handleSIGINT: false, args });
      browsers.set(isa, browser);
      const why = isa ? missing(isa, await probeInPage(browser, server)) : null;
      if (!why) continue;
      console.log(why);
      browsers.delete(isa);
      await browser.close();
    }
    if (!browsers.size) return;
    const measured = [...browsers.keys()];
    printConditions(
      `Chromium ${browsers.get(measured[0]).version()}; medians of ${repeats} visits, taken in turn` +
        (given.cpu ? '; CPU: processor time' : ''),
    );
    if (file)
      await measureFile(file, async (c) => {
        const result = await visit(browsers.get(measured[0]), server, c, `/models/${basename(file)}`, 0);
        return { ...result, download: downloadOf(result.files, { ...also, '/': site }) };
      });
    for (const name of file ? [] : sizes) {
      for (const dtype of dtypes) {
        const results = await inTurn(`${name} ${dtype}`, contenders(dtype, measured), async (c) => {
          const file = `/models/${model(c, name, dtype)}`,
            result = await visit(browsers.get(c.isa), server, c, file, moved(name, dtype, c.kvDtype));
          return { ...result, download: downloadOf(result.files, { ...also, '/': site }) };
        });
        printModel(`${name}, ${dtype}`, name, dtype, results);
      }
    }
  } finally {
    for (const browser of browsers.values()) await browser.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The path of the Node that runs WebAssembly, and its flags for relaxed SIMD. */
function otherNode() {
  if (given['with-node']) return { node: fetchNode(cache, given['with-node']), flags: [] };
  if (isas.some((isa) => isa && ISAS[isa].without.length)) {
    const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
    if (!/--enable-avx-vnni\b/.test(known))
      stop(`Node ${process.versions.node} has no flag for AVX-VNNI: add --with-node 24.21.0 to --isa.`);
  }
  return { node: process.execPath, flags: relaxedSimd };
}

/** The same runs of this engine in Node, each visit in a process of its own, its worker a worker thread. */
async function inNode() {
  const { node, flags } = otherNode();
  const script = join(top, 'tests/bench/node_visit.js');
  const child = (isa, job) =>
    new Promise((done, failed) => {
      const process = spawn(node, [...flags, ...(isa ? v8Flags(isa) : []), script, JSON.stringify(job)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      process.stdout.on('data', (data) => {
        output += data;
      });
      process.on('error', failed);
      process.on('close', (status) =>
        status === 0 ? done(JSON.parse(output)) : failed(new Error(`Node ended with ${status}`)),
      );
    });
  const measured = [];
  for (const isa of isas) {
    const why = isa ? missing(isa, (await child(isa, { probe: true })).found) : null;
    if (why) console.log(why);
    else measured.push(isa);
  }
  if (!measured.length) return;
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1);
  printConditions(`Node ${version}; medians of ${repeats} visits, taken in turn`);
  const library = (c) => packageForNode(c.before ? against : top);
  for (const name of sizes) {
    for (const dtype of dtypes) {
      const model = join(cache, modelFile(cache, name, dtype));
      const who = contenders(dtype, measured).filter((c) => c.engine === 'glassformer');
      const results = await inTurn(`${name} ${dtype}, Node`, who, (c) => {
        const bytes = hasLimit(c) && moved(name, dtype, c.kvDtype);
        return besideNeighbour(c.neighbour, () =>
          child(c.isa, { ...c, model, library: library(c), speeds: speedsOf(c), bytes }),
        );
      });
      printModel(`${name}, ${dtype}, Node`, name, dtype, results);
    }
  }
}

/** The kernels: as compiled, or side by side with --isa and --against. */
async function kernels() {
  if (!given.isa && !against) {
    await printKernels(join(top, 'build/bench'), positionals);
    return;
  }
  const { node, flags } = otherNode();
  const measured = isas.filter((isa) => {
    if (!isa) return true;
    const args = [...flags, ...v8Flags(isa), join(top, 'tests/bench/node_visit.js'), JSON.stringify({ probe: true })];
    const why = missing(isa, JSON.parse(execFileSync(node, args, { encoding: 'utf8' })).found);
    if (why) console.log(why);
    return !why;
  });
  for (const folder of [top, against])
    if (folder && !existsSync(join(folder, 'build/bench')))
      stop(`${folder} has no build/bench: run ./build.sh bench --kernels there, which compiles it.`);
  const rounds = Number(given.repeats ?? 1);
  printConditions(`the best of ${rounds} round${rounds > 1 ? 's' : ''} of every column, taken in turn`);
  compareKernels({
    checkouts: [...(against ? [{ name: 'before', folder: against }] : []), { name: against ? 'now' : '', folder: top }],
    isas: measured,
    node,
    flags,
    rounds,
    filter: positionals,
  });
}

/** Writes the benchmark as a page into build/benchmark and serves it. */
async function asPage() {
  const folder = join(top, 'build/benchmark'),
    models = sizes.flatMap((name) =>
      dtypes.map((dtype) => ({
        name,
        dtype,
        path: join(cache, modelFile(cache, name, dtype)),
        bytes: bytesPerToken(name, dtype, 64),
      })),
    );
  await writeFolder(folder, builtPackage(top), join(top, 'node_modules/wllama2/esm'), models);
  const { url } = await serve(folder);
  console.log(`${url} is the benchmark as a page; its files are in ${folder}. Ctrl-C ends the server.`);
}

if (given.page) {
  await asPage();
} else if (given.kernels) {
  await kernels();
} else if (given['first-token']) {
  printConditions(`first token of a cold page, one thread; medians of ${repeats} visits, taken in turn`);
  const models = sizes.flatMap((size) =>
    dtypes.map((dtype) => ({ title: `${size}, ${dtype}`, file: modelFile(cache, size, dtype) })),
  );
  const libraries = { now: builtPackage(top), ...(against && { before: builtPackage(against) }) };
  await measureFirstToken(libraries, cache, models, repeats);
} else if (given['slow-line']) {
  await measureSlowLine(top, repeats);
} else if (given.training) {
  printConditions('the best step, and the median turn, of one and of two threads in turn');
  await measureTraining(top, given.repeats ? repeats : 9);
} else if (given.pace) {
  printConditions('what the keeper of the pace of two threads measures and decides while 2,000 tokens are written');
  const model = file ?? join(cache, modelFile(cache, sizes[0], dtypes[0]));
  await measurePace(join(top, 'web/lib'), model, { runs: given.repeats ? repeats : 20, threads: 2, tokens: 2000 });
} else if (given.drawing) {
  const { tokens, ...shares } = await measureDrawing(top, given.repeats ? repeats : 9);
  console.log(`${tokens} tokens of stories-5M while the page draws them, as a share of the speed in an empty page`);
  for (const [what, list] of Object.entries(shares)) {
    list.sort((a, b) => a - b);
    console.log(`${what}: median ${list[list.length >> 1].toFixed(2)} of ${list.map((x) => x.toFixed(2)).join(', ')}`);
  }
} else if (given.node) {
  await inNode();
} else {
  await inPages();
}
