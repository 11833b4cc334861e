// package.js - builds dist/, the content of the npm package, from web/lib: entries for bundlers and Node, one file for
// a CDN, self-contained workers, the WebAssembly binaries, and the embedded copies for hosts where files are missing.
//
//   node scripts/package.js [--have]     --have: build nothing, exit with status 0 when all files exist
import { build } from 'esbuild';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { chunkGroups } from './chunk_groups.js';
import { apps, binaries, entries } from './entries.js';
import { licenceTexts } from './licences.js';
import { splitWorker } from './split_worker.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const lib = join(top, 'web/lib'),
  dist = join(top, 'dist'),
  part = join(top, 'build/dist-part');

/**
 * Resolves web/lib/embedded/embedded_NAME.js to dist/embedded_NAME.js, a separate file that an application fetches only when it
 * needs it; for inline.js the copies are bundled.
 * @param {boolean} external
 * @returns {import('esbuild').Plugin}
 */
const embedded = (external) => ({
  name: 'embedded',
  setup: (b) =>
    b.onResolve({ filter: /\/embedded\/embedded_\w+\.js$/ }, ({ path }) => {
      const file = path.replace('embedded/', '');
      return external ? { path: file, external } : { path: join(part, file) };
    }),
});

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  target: 'es2022',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
  external: ['node:*'],
  absWorkingDir: top,
};

/**
 * The trainer's worker as one classic-compatible script: no imports, no import.meta, so that every bundler can copy it
 * and every engine runs it once. The entry is the worker itself: esbuild would drop the only import of
 * web/lib/api/train_worker.js, because package.json lists no module of the source tree under sideEffects.
 */
async function trainWorker() {
  const file = join(part, 'train_worker.js');
  await build({
    ...common,
    entryPoints: [join(lib, 'train/training_worker.js')],
    outfile: file,
    format: 'iife',
    minify: true,
    banner: { js: '"use strict";' },
  });
  const text = readFileSync(file, 'utf8');
  if (/\bimport\s*\(|import\.meta|\bexport\s*\{/.test(text)) throw new Error('train_worker.js is not self-contained');
  if (text.length < 1000) throw new Error('train_worker.js is empty');
  return text;
}

/**
 * @param {string} name of a binary
 * @returns {string} base64 of its raw deflate stream, as package_files.js reads it
 */
const packed = (name) =>
  deflateRawSync(readFileSync(join(lib, 'api/wasm', `glassformer-${name}.wasm`)), { level: 9 }).toString('base64');

/**
 * @param {string} name  worker, worker_more, worker_files, engine or train
 * @param {import('../web/lib/api/package_files.js').Embedded} copies
 */
function writeEmbedded(name, copies) {
  const file = `embedded_${name}.js`;
  writeFileSync(
    join(part, file),
    `// ${file} - see web/lib/api/embedded/${file}\nexport const embedded = ${JSON.stringify(copies)};\n`,
  );
}

/**
 * One minified file, a module or a classic script (.iife.js).
 * @param {string} entry  in web/lib
 * @param {string} name
 * @param {boolean} external  whether the embedded copies stay files of their own
 */
const oneFile = (entry, name, external) =>
  build({
    ...common,
    // ASCII: a page without a declared encoding reads a classic script in its own
    ...(name.endsWith('.iife.js')
      ? { format: 'iife', globalName: 'glassformer', charset: 'ascii' }
      : { format: 'esm' }),
    entryPoints: [join(lib, 'api', entry)],
    outfile: join(part, name),
    minify: true,
    // package.json lists no module of the source tree under sideEffects; esbuild would drop the initialiser of index.js,
    // whose exports a script may use before any element is there.
    ignoreAnnotations: true,
    logOverride: { 'empty-import-meta': 'silent' }, // addresses of files, which a classic script does not request
    plugins: [embedded(external)],
  });

/**
 * Modules whose code an application needs apart from other calls of index.js. Their chunks have only the code that each
 * needs, so that a page that imports `load` alone does not fetch tokenizers or tables of configurations.
 */
const parts = ['api/open_model.js', 'text/tokenizer.js', 'api/estimate.js'];
/** An entry of esbuild, whose code is in chunks that index.js has too; the entry itself is not kept. @param {string} name */
const fileOfPart = (name) => `part-${basename(name, '.js')}`;

/**
 * The entries for Node and for bundlers, which minify: not minified, in chunks. Chunks are in the folder of the entries,
 * because file addresses are relative.
 * @returns {Promise<string[]>} the modules in them
 */
async function chunked() {
  /** @type {import('esbuild').BuildOptions} */
  const options = {
    ...common,
    format: 'esm',
    entryPoints: {
      index: join(lib, 'api/index.js'),
      cli: join(lib, 'apps/cli/cli.js'),
      ...Object.fromEntries(Object.entries(apps).map(([name, file]) => [name, join(lib, `${file}.js`)])),
      ...Object.fromEntries(parts.map((file) => [fileOfPart(file), join(lib, file)])),
    },
    external: [...common.external, 'react', 'vue'],
    outdir: part,
    splitting: true,
    chunkNames: 'chunk-[hash]',
  };
  const { metafile } = await build({ ...options, metafile: true, write: false, plugins: [embedded(true)] });
  const dynamic = Object.values(metafile.inputs)
    .flatMap((input) => input.imports)
    .filter(({ kind, external }) => kind === 'dynamic-import' && !external)
    .map(({ path }) => relative(lib, join(top, path)));
  await build({ ...options, plugins: [embedded(true), chunkGroups(lib, [...new Set(dynamic)].sort())] });
  for (const file of parts) rmSync(join(part, `${fileOfPart(file)}.js`));
  return Object.keys(metafile.inputs);
}

async function pack() {
  rmSync(part, { recursive: true, force: true });
  mkdirSync(join(part, 'wasm'), { recursive: true });
  for (const name of binaries) copyFileSync(join(lib, 'api/wasm', name), join(part, 'wasm', name));

  for (const [name, text] of Object.entries(await splitWorker(common, lib))) {
    writeFileSync(join(part, `${name}.js`), text);
    writeEmbedded(name, { worker: text });
  }
  writeFileSync(join(part, 'worker_rest.js'), "import './worker_more.js';\nimport './worker_files.js';\n");
  writeEmbedded('engine', { wasm: { simd: packed('simd'), relaxed: packed('relaxed') } });
  writeEmbedded('train', { worker: await trainWorker(), wasm: { train: packed('train') } });

  const inputs = await chunked();
  // For a CDN or an import map; for hosts without files beside it; for pages opened from disk, which import no modules.
  await oneFile('index.js', 'glassformer.js', true);
  await oneFile('inline.js', 'inline.js', false);
  await oneFile('../apps/elements/elements_page.js', 'glassformer.iife.js', false);
  writeFileSync(join(part, 'THIRD_PARTY_LICENSES.txt'), licenceTexts(inputs));

  rmSync(dist, { recursive: true, force: true });
  renameSync(part, dist);
}

if (process.argv.includes('--have')) process.exit(entries.every((name) => existsSync(join(dist, name))) ? 0 : 1);
await pack();
