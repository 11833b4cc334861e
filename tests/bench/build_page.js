// build_page.js - builds the measured page with a checkout's package, and a folder with the benchmark as a page that
// anyone can open (anywhere.js)
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));

export const html = (script) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Benchmark</title></head><body>${script}</body></html>\n`;

/**
 * Builds the measured page.
 * @param {string} out  its folder
 * @param {string} library  dist/index.js of a checkout
 */
export async function buildPage(out, library) {
  const root = mkdtempSync(join(tmpdir(), 'glassformer-bench-page-'));
  try {
    writeFileSync(join(root, 'index.html'), html('<script type="module" src="./main.js"></script>'));
    writeFileSync(
      join(root, 'main.js'),
      `import { load } from ${JSON.stringify(library)};\n` +
        `import { start } from ${JSON.stringify(join(here, 'page.js'))};\nstart(load);\n`,
    );
    await build({
      root,
      base: './',
      configFile: false,
      logLevel: 'error',
      publicDir: false,
      worker: { format: 'es' },
      build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: false, outDir: out, emptyOutDir: true },
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * Writes the benchmark as a static folder: its page, the measured page, wllama and the models.
 * @param {string} out
 * @param {string} library  dist/index.js
 * @param {string} wllama  folder of the package's esm files; none where it does not exist
 * @param {{ name: string, dtype: string, path: string, bytes: number }[]} models  bytes: that one token reads
 */
export async function writeFolder(out, library, wllama, models) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(out, 'models'), { recursive: true });
  await buildPage(join(out, 'now'), library);
  for (const file of ['anywhere.js', 'speeds.js']) cpSync(join(here, file), join(out, file));
  cpSync(join(here, 'anywhere.html'), join(out, 'index.html'));
  if (existsSync(wllama)) cpSync(wllama, join(out, 'wllama2'), { recursive: true });
  const list = models.map(({ path, ...model }) => {
    const file = `${model.name}-${model.dtype}.gguf`;
    cpSync(path, join(out, 'models', file));
    return { ...model, file };
  });
  writeFileSync(join(out, 'models.json'), JSON.stringify({ models: list, wllama: existsSync(wllama) }));
}
