// run.js - compares the speed of this engine with others on the same file, each in a page, and with the machine's
// limits
//
//   ./build.sh bench [--sizes 3M,15M,42M,110M,135M] [--dtypes q8_0,f32,f16,q4_0] [--threads 1,2]
//                    [--backends relaxed,simd] [--caches f32,f16,q8] [--engines glassformer,wllama2,wllama3]
//                    [--repeats 3] [--contexts 64,512,1000] [--neighbour] [--quick] [--cpu] [--node] [--drawing]
//                    [--kernels [FILTER]]
//
// README.md in this folder explains the output.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, homedir, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { launch } from '../../scripts/chromium.js';
import { relaxedSimd } from '../../scripts/node-flags.js';
import { serve } from '../../scripts/serve.js';
import { measureDrawing } from './drawing.js';
import { readLimit } from './limits.js';
import { SIZES, bytesPerToken, modelFile } from './models.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'glassformer/bench');

const list = { type: 'string' },
  flag = { type: 'boolean', default: false };
const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { ...list, default: '15M' },
    dtypes: { ...list, default: 'q8_0' },
    threads: { ...list, default: '1,2' },
    backends: { ...list, default: 'relaxed,simd' },
    caches: { ...list, default: 'f32' },
    engines: { ...list, default: 'glassformer,wllama2,wllama3' },
    contexts: list,
    repeats: list,
    neighbour: flag,
    quick: flag,
    cpu: flag,
    node: flag,
    drawing: flag,
    kernels: flag,
  },
});
const words = (text) => text.split(',').filter(Boolean);
const sizes = words(given.sizes),
  dtypes = words(given.dtypes),
  backends = words(given.backends),
  engines = words(given.engines),
  caches = words(given.caches);
const threads = words(given.threads).map(Number);
const contexts = words(given.contexts ?? (given.quick ? '64' : '64,512,1000')).map(Number);
const prefills = given.quick ? [128] : [128, 512];
const repeats = Number(given.repeats ?? (given.quick ? 1 : 3));
const unknown = [
  ...sizes.filter((s) => !SIZES[s]),
  ...dtypes.filter((d) => !['q8_0', 'f32', 'f16', 'q4_0'].includes(d)),
];
if (unknown.length) {
  console.error(
    `There is no ${unknown.join(', ')}; sizes are ${Object.keys(SIZES).join(', ')}, types q8_0, f32, f16, q4_0.`,
  );
  process.exit(1);
}

const machine = () => `${cpus()[0].model}, ${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)}`;
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

// ---- the measured engines

/**
 * One column of a table.
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} engine
 * @property {string} [backend]
 * @property {string} [kvCache]
 * @property {number} threads
 * @property {string} [library]
 * @property {boolean} [neighbour]
 */

/** @returns {Contender[]} */
function contenders() {
  const all = [];
  for (const n of threads) {
    const suffix = n > 1 ? ` ${n}t` : '';
    for (const engine of engines) {
      if (engine !== 'glassformer')
        all.push({ name: engine + suffix, engine, threads: n, library: `/node_modules/${engine}/esm/` });
      else
        for (const backend of backends)
          for (const kvCache of caches)
            all.push({
              name: `${backend}${kvCache === 'f32' ? '' : ` ${kvCache}`}${suffix}`,
              engine,
              backend,
              kvCache,
              threads: n,
            });
    }
  }
  return given.neighbour
    ? all.flatMap((c) => (c.threads > 1 ? [c, { ...c, name: `${c.name} busy`, neighbour: true }] : [c]))
    : all;
}

// ---- one visit: a fresh page, cold; then warm

/** The processes of the browser's pages: memory in MB (Linux only) and processor time in ms. */
async function rendererUse(browser) {
  const cdp = await browser.newBrowserCDPSession();
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  await cdp.detach();
  const pages = processInfo.filter(({ type }) => type === 'renderer');
  const resident = ({ id }) => {
    try {
      return Number(readFileSync(`/proc/${id}/statm`, 'utf8').split(' ')[1]) * 4096;
    } catch {
      return 0;
    }
  };
  const sum = (of) => pages.reduce((total, each) => total + of(each), 0);
  return {
    memory: existsSync('/proc/self/statm') ? sum(resident) / 1e6 : null,
    cpu: sum(({ cpuTime }) => cpuTime) * 1e3,
  };
}

/** Another process that computes without end, for as long as fn takes. */
async function besideNeighbour(on, fn) {
  const neighbour = on ? spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }) : null;
  try {
    return await fn();
  } finally {
    neighbour?.kill('SIGKILL');
  }
}

async function visit(browser, server, who, model) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    page.on('pageerror', (error) => console.error(`\n${who.name}: ${error.message}`));
    await page.goto(`${server.url}empty.html`);
    const before = (await rendererUse(browser)).memory;
    const asked = server.requests.length;
    await page.goto(`${server.url}#${encodeURIComponent(JSON.stringify({ ...who, model }))}`);
    await page.waitForFunction(() => window.cold, null, { timeout: 300_000 });
    const cold = await page.evaluate(() => window.cold);
    if (cold.error) throw new Error(`${who.name}: ${cold.error}`);
    const files = new Set(server.requests.slice(asked).map((path) => path.split('?')[0]));
    const result = { load: cold.loadMs, 'first token': cold.firstTokenMs, backend: cold.backend, files };
    const fast = who.engine === 'glassformer';
    await page.evaluate(([ms]) => window.warmUp(64, 32, 2, ms), [fast ? 1500 : 500]);
    if (before !== null) result.memory = (await rendererUse(browser)).memory - before;
    await besideNeighbour(who.neighbour, async () => {
      const measure = (n, k, times) => page.evaluate(([n, k, times]) => window.measure(n, k, times), [n, k, times]);
      for (const n of contexts) {
        const { decode } = await measure(n, n > 64 ? 32 : 64, fast ? 9 : given.quick ? 1 : 3);
        result[`decode @${n}`] = decode;
      }
      for (const n of prefills) result[`prefill ${n}`] = (await measure(n, 1, fast ? 9 : given.quick ? 1 : 3)).prefill;
    });
    if (given.cpu) {
      const times = fast ? 20 : 3;
      const cost = async (n, k) => {
        const { cpu } = await rendererUse(browser);
        await page.evaluate(([n, k, times]) => window.measure(n, k, times), [n, k, times]);
        return ((await rendererUse(browser)).cpu - cpu) / times;
      };
      const prefill = await cost(64, 1);
      result['CPU @64'] = ((await cost(64, 65)) - prefill) / 64;
      result['CPU 128'] = (await cost(128, 1)) / 128;
    }
    await page.evaluate(() => window.end());
    return result;
  } finally {
    await context.close();
  }
}

// ---- the machine's limit for decoding

/** What one token reads, to whole steps of the reader. */
const moved = (name, dtype, kvCache) => Math.ceil(bytesPerToken(name, dtype, 64, kvCache) / 128) * 128;

/** GB/s at which one thread of a page reads that much. */
async function readLimitInPage(browser, server, bytes) {
  const page = await browser.newPage();
  try {
    await page.goto(server.url);
    await page.waitForFunction(() => window.readLimit);
    return await page.evaluate((n) => window.readLimit(n), bytes);
  } finally {
    await page.close();
  }
}

// ---- printing

const digits = (v, unit) =>
  v === undefined || v === null
    ? '–'
    : unit === 'ms/token'
      ? v.toFixed(3)
      : unit === 'ms' || unit === 'KB' || v >= 100
        ? v.toFixed(0)
        : v.toFixed(1);

function printTable(rows, columns) {
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row.cells[i].length)));
  const first = Math.max(...rows.map((row) => row.label.length), 4);
  const line = (label, cells) =>
    console.log(`| ${label.padEnd(first)} | ${cells.map((cell, i) => cell.padStart(widths[i])).join(' | ')} |`);
  line('', columns);
  console.log(`|${'-'.repeat(first + 2)}|${widths.map((w) => `${'-'.repeat(w + 1)}:`).join('|')}|`);
  for (const { label, cells } of rows) line(label, cells);
  console.log();
}

const unitOf = (measure) =>
  /^(?:decode|prefill)/.test(measure)
    ? 'tokens/s'
    : measure === 'memory'
      ? 'MB'
      : measure === 'download'
        ? 'KB'
        : /^CPU/.test(measure)
          ? 'ms/token'
          : 'ms';

function printModel(name, dtype, who, results, limit) {
  const measures = [
    ...contexts.map((n) => `decode @${n}`),
    ...prefills.map((n) => `prefill ${n}`),
    ...(given.cpu ? ['CPU @64', 'CPU 128'] : []),
    'load',
    'first token',
    'memory',
    'download',
  ];
  const value = (c, measure) => {
    const values = results
      .get(c)
      .map((r) => r[measure])
      .filter((v) => v !== undefined && v !== null);
    return values.length ? median(values) : undefined;
  };
  const rows = measures.map((measure) => ({
    label: `${measure}, ${unitOf(measure)}`,
    cells: who.map((c) => digits(value(c, measure), unitOf(measure))),
  }));
  printTable(
    rows,
    who.map((c) => c.name),
  );

  const peersOf = (c) =>
    who.filter((p) => p.engine !== 'glassformer' && p.threads === c.threads && !!p.neighbour === !!c.neighbour);
  const ours = who.filter((c) => c.engine === 'glassformer' && peersOf(c).length);
  if (ours.length) {
    console.log('Times better than the better wllama with as many threads:');
    printTable(
      measures.map((measure) => ({
        label: measure,
        cells: ours.map((c) => {
          const faster = unitOf(measure) === 'tokens/s';
          const theirs = peersOf(c)
              .map((p) => value(p, measure))
              .filter((v) => v !== undefined),
            mine = value(c, measure);
          if (!theirs.length || mine === undefined) return '–';
          return (faster ? mine / Math.max(...theirs) : Math.min(...theirs) / mine).toFixed(2);
        }),
      })),
      ours.map((c) => c.name),
    );
  }
  const alone = (c) =>
    who.find(
      (p) => p.engine === 'glassformer' && p.backend === c.backend && p.kvCache === c.kvCache && p.threads === 1,
    );
  for (const c of who) {
    if (c.engine !== 'glassformer') continue;
    const rate = value(c, 'decode @64');
    if (rate === undefined) continue;
    if (c.threads > 1 && alone(c))
      console.log(
        `${c.name}: decode @64 is ${(rate / value(alone(c), 'decode @64')).toFixed(2)} times that of one thread`,
      );
    if (c.threads > 1) continue;
    const bytes = moved(name, dtype, c.kvCache),
      speed = (bytes * rate) / 1e9;
    console.log(
      `${c.name}: ${(bytes / 1e6).toFixed(1)} MB per token, ${speed.toFixed(1)} GB/s, ` +
        `${((100 * speed) / limit).toFixed(0)} % of the ${limit.toFixed(1)} GB/s at which one thread reads that much`,
    );
  }
  for (const c of who) console.log(`${c.name}: ${results.get(c)[0]?.backend ?? 'not measured'}`);
  console.log();
}

// ---- runs

/** What a visitor fetches besides the model, KB gzipped. */
function downloadOf(files, dist) {
  let total = 0;
  for (const path of files) {
    if (path === '/' || /\.(?:html|gguf|ico)$/.test(path)) continue;
    const file = path.startsWith('/node_modules/') ? join(top, path) : join(dist, path);
    if (existsSync(file)) total += gzipSync(readFileSync(file), { level: 9 }).length;
  }
  return total / 1e3;
}

async function inPages() {
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-bench-'));
  const html = (script) => `<!doctype html><html><head><title></title></head><body>${script}</body></html>\n`;
  writeFileSync(join(folder, 'index.html'), html('<script type="module" src="./main.js"></script>'));
  writeFileSync(
    join(folder, 'main.js'),
    `import { start } from ${JSON.stringify(join(top, 'tests/bench/page.js'))};\nstart();\n`,
  );
  await build({
    root: folder,
    base: './',
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    worker: { format: 'es' },
    build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: false },
  });
  writeFileSync(join(folder, 'dist/empty.html'), html(''));
  for (const name of sizes) for (const dtype of dtypes) modelFile(cache, name, dtype);
  const server = await serve(join(folder, 'dist'), {
    also: { '/models/': cache, '/node_modules/': join(top, 'node_modules') },
  });
  const browser = await launch({ handleSIGINT: false });
  try {
    let stopped = false; // Ctrl-C prints the results so far
    process.once('SIGINT', () => {
      stopped = true;
    });
    console.log(`${machine()}; Chromium ${browser.version()}; medians of ${repeats} visits, taken in turn\n`);
    for (const name of sizes) {
      for (const dtype of dtypes) {
        const who = contenders(),
          results = new Map(who.map((c) => [c, []])),
          limits = [];
        for (let i = 0; i < repeats; i++) {
          limits.push(await readLimitInPage(browser, server, moved(name, dtype)));
          for (const c of who) {
            process.stderr.write(`\r\x1b[K${name} ${dtype}, visit ${i + 1} of ${repeats}: ${c.name}`);
            if (stopped) continue;
            const result = await visit(browser, server, c, `/models/${modelFile(cache, name, dtype)}`).catch(
              (error) => {
                console.error(`\n${c.name}: this visit failed: ${error.message}`);
              },
            );
            if (!result) continue;
            result.download = downloadOf(result.files, join(folder, 'dist'));
            results.get(c).push(result);
          }
        }
        process.stderr.write('\r\x1b[K');
        console.log(`## ${name}, ${dtype}\n`);
        printModel(name, dtype, who, results, median(limits));
      }
    }
  } finally {
    await browser.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same runs of this engine in Node, its worker a worker thread. */
async function inNode() {
  const { load } = await import('../../web/lib/index.js');
  const { glassformer } = await import('./engines.js');
  console.log(`${machine()}; Node ${process.versions.node}\n`);
  for (const name of sizes) {
    for (const dtype of dtypes) {
      const who = contenders().filter((c) => c.engine === 'glassformer'),
        results = new Map(who.map((c) => [c, []]));
      for (let i = 0; i < repeats; i++) {
        for (const c of who) {
          const engine = glassformer({ load }),
            start = performance.now();
          await engine.load({ ...c, worker: true, model: join(cache, modelFile(cache, name, dtype)) });
          const result = { load: performance.now() - start, backend: engine.backend() };
          await engine.run(16, 1);
          result['first token'] = performance.now() - start;
          for (const end = performance.now() + 1500; performance.now() < end;) await engine.run(64, 32);
          await besideNeighbour(c.neighbour, async () => {
            const times = async (n, k, of) => {
              const runs = [];
              for (let j = 0; j < 9; j++) runs.push(of(await engine.run(n, k)));
              return median(runs);
            };
            for (const n of contexts)
              result[`decode @${n}`] = await times(n, n > 64 ? 32 : 64, (r) => (r.decoded / r.decodeMs) * 1e3);
            for (const n of prefills) result[`prefill ${n}`] = await times(n, 1, (r) => (n / r.prefillMs) * 1e3);
          });
          engine.close();
          results.get(c).push(result);
        }
      }
      console.log(`## ${name}, ${dtype}, Node\n`);
      printModel(name, dtype, who, results, readLimit(moved(name, dtype)));
    }
  }
}

if (given.kernels) {
  execFileSync(process.execPath, [join(top, 'scripts/bench.js'), ...positionals], { stdio: 'inherit', cwd: top });
} else if (given.drawing) {
  const { tokens, shares, median } = await measureDrawing(top, given.repeats ? repeats : 9);
  console.log(
    `${tokens} tokens of 5M while the page draws each, as a share of the library's speed in an empty page: ` +
      `median ${median.toFixed(2)} of ${shares.map((x) => x.toFixed(2)).join(', ')}`,
  );
} else if (given.node && relaxedSimd.some((option) => !process.execArgv.includes(option))) {
  process.exitCode =
    spawnSync(process.execPath, [...relaxedSimd, ...process.argv.slice(1)], { stdio: 'inherit' }).status ?? 1;
} else if (given.node) {
  await inNode();
} else {
  await inPages();
}
