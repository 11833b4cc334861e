// sizes.js - what a visitor downloads before a model: each binary, and all JavaScript that `load`
// and `generate` need, tokenizer library included, bundled, minified and gzipped.
//
//   node scripts/sizes.js
//
// The chat template library is fetched only by `chat` and is listed apart; Node's own modules and
// the code that only Node runs never reach a browser but are counted, being part of the bundle.
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const top = fileURLToPath(new URL('..', import.meta.url));

export const limits = { wasm: 60_000, js: 40_000 };

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** @returns {{ name: string, bytes: number, gzip: number }[]} one for each binary */
export function wasmSizes() {
  const folder = join(top, 'web/lib/wasm');
  return readdirSync(folder).filter((name) => name.endsWith('.wasm')).sort().map((name) => {
    const bytes = readFileSync(join(folder, name));
    return { name, bytes: bytes.length, gzip: gzip(bytes) };
  });
}

/**
 * Bundle the library as an application would, with its worker.
 * @returns {Promise<{ name: string, bytes: number, gzip: number, onlyChat: boolean }[]>} one for each chunk
 */
export async function jsSizes() {
  const chunks = new Map();
  const collect = { name: 'collect', generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (!file.fileName.endsWith('.js')) continue;
      const code = file.type === 'chunk' ? file.code : file.source;
      chunks.set(file.fileName, { code: Buffer.from(code), modules: Object.keys(file.modules ?? {}) });
    }
  } };
  await build({
    root: top, configFile: false, logLevel: 'error', publicDir: false, base: './',
    plugins: [{
      name: 'entry',
      resolveId: (id) => (id === 'virtual:entry' ? '\0entry' : null),
      load: (id) => (id === '\0entry' ? `export { load } from ${JSON.stringify(join(top, 'web/lib/index.js'))};` : null),
    }, collect],
    worker: { format: 'es', plugins: () => [collect] },
    build: {
      write: false, minify: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: false,
      rolldownOptions: { input: 'virtual:entry', preserveEntrySignatures: 'strict', external: /^node:/ },
    },
  });
  return [...chunks].map(([name, { code, modules }]) => ({
    name: basename(name), bytes: code.length, gzip: gzip(code),
    onlyChat: modules.length > 0 && modules.every((id) => id.includes('@huggingface/jinja')),
  })).sort((a, b) => b.gzip - a.gzip);
}

/** Print both tables. @returns {Promise<{ wasm: number, js: number }>} the largest binary, all JavaScript; gzipped */
export async function report(print = console.log) {
  const line = (name, bytes, zipped, note) => print(`${name.padEnd(36)} ${String(bytes).padStart(8)}  gzip ${String(zipped).padStart(6)}  ${note}`);
  const wasm = wasmSizes(), js = await jsSizes();
  for (const file of wasm) line(file.name, file.bytes, file.gzip, `limit ${limits.wasm}`);
  for (const file of js) line(file.name, file.bytes, file.gzip, file.onlyChat ? 'for chat only' : '');
  const needed = js.filter((file) => !file.onlyChat);
  const sum = (key) => needed.reduce((total, file) => total + file[key], 0);
  line('JavaScript for load and generate', sum('bytes'), sum('gzip'), `limit ${limits.js}`);
  return { wasm: Math.max(...wasm.map((file) => file.gzip)), js: sum('gzip') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await report();
