// tab_memory.js - how much memory a tab of Chromium takes at its peak to load a GGUF of 500 MB in Q4_K from a server
//
//   ./build.sh package && node tests/bench/tab_memory.js [MB]
//
// The file is synthetic. The page is cross-origin isolated; the server answers Range. Each load runs in a browser of
// its own, with the package's cache and without. The peak is VmHWM of the tab's renderer process, less what a tab has that
// loaded and disposed of a small model. Linux only.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { writeQ4K } from './load_memory.js';

const MB = 1e6;
const top = fileURLToPath(new URL('../..', import.meta.url));

/** Peak and present size of the renderer whose page this browser shows, in bytes. */
function renderer(/** @type {string} */ marker) {
  const of = (/** @type {string} */ text, /** @type {string} */ key) =>
    1024 * Number(new RegExp(`${key}:\\s+(\\d+)`).exec(text)?.[1]);
  let largest = { peak: 0, now: 0 };
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!command.includes('--type=renderer') || !command.includes(marker)) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const found = { peak: of(status, 'VmHWM'), now: of(status, 'VmRSS') };
      if (found.peak > largest.peak) largest = found;
    } catch {
      // the process has ended
    }
  return largest;
}

/** Load the file in a new browser, and generate. */
async function measure(/** @type {string} */ base, /** @type {object} */ options) {
  const marker = `--js-flags=--stack-size=${900 + Math.floor(Math.random() * 90)}`; // tells this browser's processes apart
  const browser = await launch({ args: [marker] });
  try {
    const page = await browser.newPage();
    await page.goto(base);
    const run = (/** @type {string} */ name, /** @type {object} */ how) =>
      page.evaluate(async ([address, how]) => {
        const { load } = await import(`${location.origin}/dist/index.js`);
        const model = await load(new URL(address, location.href).href, how);
        const ids = [];
        for await (const { id } of model.generate([1, 2, 3], { maxTokens: 8, ignoreEos: true, temperature: 0 }))
          ids.push(id);
        const { regions, totalBytes } = await model.memory;
        const weights = regions.find((/** @type {any} */ r) => r.name === 'weights')?.bytes ?? 0;
        const result = { ids: ids.length, weights, linear: totalBytes, isolated: crossOriginIsolated };
        await model.dispose();
        return result;
      }, /** @type {[string, object]} */ ([name, how]));
    await run('/weights/stories-1m.gguf', { cache: 'none' });
    const before = renderer(marker).now;
    const found = await run('/q4k.gguf', options);
    return { ...found, before, peak: renderer(marker).peak };
  } finally {
    await browser.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'glassformer-tab-'));
writeFileSync(join(folder, 'index.html'), '<!doctype html>');
const server = await serve(folder, { also: { '/dist/': join(top, 'dist'), '/weights/': join(top, 'weights') } });
try {
  const size = Number(process.argv[2] ?? 500) * MB;
  writeQ4K(join(folder, 'q4k.gguf'), size);
  const fixed = (/** @type {number} */ n) => (n / MB).toFixed(0).padStart(6);
  console.log('MB: file, weights, linear memory, peak of the load in the renderer, its share of the weights');
  for (const options of [{ cache: 'none' }, {}]) {
    const { before, peak, weights, linear, ids, isolated } = await measure(server.url, options);
    const stored = statSync(join(folder, 'q4k.gguf')).size;
    console.log(
      `${[stored, weights, linear, peak - before].map(fixed).join(' ')}  ${((peak - before) / weights).toFixed(2)}`,
      JSON.stringify(options),
      `${ids} tokens${isolated ? ', isolated' : ''}`,
    );
  }
} finally {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}
