// sizes.js - measures what a visitor downloads before a model: one binary, and all JavaScript that `load` and
// `generate` need, including the tokenizer library, bundled, minified and gzipped.
//
//   node scripts/sizes.js
//
// Builds a small application and runs it in Chromium with the shipped model. The files that it requests until it has
// generated text are the needed ones; the other files of the build are listed too.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { launch } from './chromium.js';
import { serve } from './serve.js';

const top = fileURLToPath(new URL('..', import.meta.url));

/**
 * Limits in bytes, gzipped. The worker is one file with the code of every call, so that every bundler can copy it; it
 * is 64 KB of the JavaScript. The checks of arguments are 6 KB.
 */
export const limits = { wasm: 80_000, train: 80_000, js: 88_000 };

const application = `
import { load } from ${JSON.stringify(join(top, 'dist/index.js'))};
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
 * @returns {Promise<{ name: string, bytes: number, gzip: number, needed: boolean }[]>} every .js and .wasm file of the
 *   build
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
          needed: requested.has(basename(name)),
        };
      })
      .sort((a, b) => Number(b.needed) - Number(a.needed) || b.gzip - a.gzip);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Names of the files that the application requests until it has generated text. */
async function requestsOf(dist) {
  const server = await serve(dist, { also: { '/weights/': join(top, 'weights') } });
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    await page.waitForFunction(() => /^(?:done|failed)/.test(document.title), null, { timeout: 60_000 });
    const title = await page.title();
    if (title !== 'done') throw new Error(`the application ${title}`);
    return new Set(server.requests.map((path) => basename(path)));
  } finally {
    await browser.close();
    await server.close();
  }
}

/**
 * Print the table.
 * @returns {Promise<{ wasm: number, js: number, train: number }>} gzipped bytes of the largest binary, of all needed
 *   JavaScript, and of the binary that trains
 */
export async function report(print = console.log) {
  const line = (name, bytes, zipped, note) =>
    print(`${name.padEnd(36)} ${String(bytes).padStart(8)}  gzip ${String(zipped).padStart(6)}  ${note}`);
  const files = await weigh();
  for (const { name, bytes, gzip, needed } of files) {
    line(
      name,
      bytes,
      gzip,
      name.endsWith('.wasm') ? `limit ${limits.wasm}` : needed ? '' : 'not needed to load and generate',
    );
  }
  const js = files.filter((file) => file.needed && file.name.endsWith('.js'));
  const sum = (key) => js.reduce((total, file) => total + file[key], 0);
  line('JavaScript to load and generate', sum('bytes'), sum('gzip'), `limit ${limits.js}`);
  const trainer = readFileSync(join(top, 'web/lib/wasm/glassformer-train.wasm')),
    train = gzipSync(trainer, { level: 9 }).length;
  line('glassformer-train.wasm', trainer.length, train, `limit ${limits.train}; only in builds that call train`);
  const wasm = files.filter((file) => file.name.endsWith('.wasm'));
  return { wasm: Math.max(0, ...wasm.map((file) => file.gzip)), js: sum('gzip'), train };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await report();
