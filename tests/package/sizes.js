// sizes.js - measures what a visitor downloads before a model: one binary, and all JavaScript that `load` and
// `generate` need, bundled, minified and gzipped.
//
//   node tests/package/sizes.js
//
// Builds a small application and runs it in Chromium with the shipped model. The files that it requests before it calls
// `load` are those of the start. The files that it requests until it has generated text are the needed ones; the other
// files of the build are listed too.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { PATIENCE } from '../patience.js';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';

const top = fileURLToPath(new URL('../..', import.meta.url)),
  binaries = join(top, 'web/lib/api/wasm');

/**
 * Limits in bytes, gzipped. `wasm`: each binary; `training`: each one that trains. `start`: the JavaScript of a page that imports
 * the package, before it calls `load`. `js`: all JavaScript until text is generated. worker.js is 65 KB of it;
 * worker_more.js, with the code of other formats and calls, is requested when it is needed. `scripts`: the files that Vite writes.
 */
export const limits = { wasm: 71_800, training: 88_100, start: 23_500, js: 88_500, scripts: 40 };

const application = `
import { load } from ${JSON.stringify(join(top, 'dist/index.js'))};
document.title = 'started';
await new Promise((resolve) => { window.goOn = resolve; });
try {
  const model = await load(new URL('/weights/stories-1m.gguf', document.baseURI));
  for await (const step of model.generate('Once', { maxTokens: 4 })) document.title += step.text;
  model.dispose();
  document.title = 'done';
} catch (error) {
  document.title = 'failed: ' + error;
}
`;

/**
 * Build and run the application, and measure its files.
 * @returns {Promise<{ name: string, bytes: number, gzip: number, start: boolean, needed: boolean }[]>} every .js and
 *   .wasm file of the build
 */
export async function weigh() {
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-sizes-'));
  try {
    writeFileSync(
      join(folder, 'index.html'),
      '<!doctype html><html><head><title></title></head><body>' +
        '<script type="module" src="./main.js"></script></body></html>\n',
    );
    writeFileSync(join(folder, 'main.js'), application);
    await build({
      root: folder,
      base: './',
      configFile: false,
      logLevel: 'error',
      publicDir: false,
      build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: false },
    });
    const requested = await requestsOf(join(folder, 'dist'));
    return readdirSync(join(folder, 'dist'), { recursive: true })
      .map(String)
      .filter((name) => /\.(?:js|wasm)$/.test(name))
      .map((name) => {
        const bytes = readFileSync(join(folder, 'dist', name));
        return {
          name: basename(name),
          bytes: bytes.length,
          gzip: gzipSync(bytes, { level: 9 }).length,
          start: requested.start.has(basename(name)),
          needed: requested.all.has(basename(name)),
        };
      })
      .sort((a, b) => Number(b.needed) - Number(a.needed) || b.gzip - a.gzip);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Names of the files that the application requests before it calls `load`, and until it has generated text. */
async function requestsOf(dist) {
  const server = await serve(dist, { also: { '/weights/': join(top, 'weights') } });
  const browser = await launch({ shell: true });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    const requested = () => new Set(server.requests.map((path) => basename(path)));
    await page.goto(server.url);
    await page.waitForFunction(() => window.goOn);
    const start = requested();
    await page.evaluate(() => window.goOn());
    await page.waitForFunction(() => /^(?:done|failed)/.test(document.title));
    const title = await page.title();
    if (title !== 'done') throw new Error(`the application ${title}`);
    return { start, all: requested() };
  } finally {
    await browser.close();
    await server.close();
  }
}

/**
 * Print the table.
 * @returns {Promise<{ wasm: Record<string, number>, engine: number, start: number, js: number, count: number }>} gzipped
 *   bytes of every binary of the package by its name, of the largest binary that runs models, of the JavaScript before
 *   `load`, and of all needed JavaScript; count: scripts of the build
 */
export async function report(print = console.log) {
  const line = (name, bytes, zipped, note) =>
    print(`${name.padEnd(36)} ${String(bytes).padStart(8)}  gzip ${String(zipped).padStart(6)}  ${note}`);
  const files = await weigh(),
    scripts = files.filter((file) => file.name.endsWith('.js'));
  for (const { name, bytes, gzip, needed } of scripts)
    line(name, bytes, gzip, needed ? '' : 'not needed to load and generate');
  const sum = (list, key) => list.reduce((total, file) => total + file[key], 0);
  const start = scripts.filter((file) => file.start),
    js = scripts.filter((file) => file.needed);
  line('JavaScript before load is called', sum(start, 'bytes'), sum(start, 'gzip'), `limit ${limits.start}`);
  line('JavaScript to load and generate', sum(js, 'bytes'), sum(js, 'gzip'), `limit ${limits.js}`);
  print(`${scripts.length} scripts, limit ${limits.scripts}`);
  const wasm = {};
  for (const name of readdirSync(binaries).filter((file) => file.endsWith('.wasm'))) {
    const bytes = readFileSync(join(binaries, name));
    wasm[name] = gzipSync(bytes, { level: 9 }).length;
    line(
      name,
      bytes.length,
      wasm[name],
      `limit ${/train/.test(name) ? `${limits.training}; only builds that call train` : limits.wasm}`,
    );
  }
  const engine = Math.max(...Object.keys(wasm).map((name) => (/train/.test(name) ? 0 : wasm[name])));
  return { wasm, engine, start: sum(start, 'gzip'), js: sum(js, 'gzip'), count: scripts.length };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await report();
