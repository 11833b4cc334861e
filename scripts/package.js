// package.js - builds what the npm package ships, dist/, from web/lib: entries for bundlers and Node, one file for a CDN, self-contained
// workers, the WebAssembly binaries, and the copies embedded for hosts where files are missing.
//
//   node scripts/package.js [--have]     --have: exit status 0 when everything is there
import { build } from 'esbuild';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { binaries, entries } from './entries.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const lib = join(top, 'web/lib'), dist = join(top, 'dist'), part = join(top, 'build/dist-part');

/** The embedded copies stay files of their own: an application fetches them only when it has to. */
const EMBEDDED = ['./embedded_worker.js', './embedded_engine.js', './embedded_train.js'];

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true, target: 'es2022', platform: 'neutral', mainFields: ['module', 'main'], charset: 'utf8', legalComments: 'none', logLevel: 'warning',
  external: ['node:*'], absWorkingDir: top,
};

/** A worker as one classic-compatible script: no imports, no import.meta, so that every bundler can copy it and every engine runs it once. @param {string} name */
async function worker(name) {
  const file = join(part, `${name}.js`);
  await build({ ...common, entryPoints: [join(lib, `${name}.js`)], outfile: file, format: 'iife', minify: true, banner: { js: '"use strict";' } });
  const text = readFileSync(file, 'utf8');
  if (/\bimport\s*\(|import\.meta|\bexport\s*\{/.test(text)) throw new Error(`${name}.js is not self-contained`);
  return text;
}

/** @param {string} name  of a binary @returns {string} base64 of its raw deflate stream, as files.js reads it */
const packed = (name) => deflateRawSync(readFileSync(join(lib, 'wasm', `glassformer-${name}.wasm`)), { level: 9 }).toString('base64');

/** @param {string} file @param {import('../web/lib/files.js').Embedded} embedded */
function writeEmbedded(file, embedded) {
  writeFileSync(join(part, file), `// ${file} - see web/lib/${file}\nexport const embedded = ${JSON.stringify(embedded)};\n`);
}

/** The licences of the packages that a build has bundled. @param {import('esbuild').Metafile} metafile */
function licences(metafile) {
  const names = Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter((name) => name !== undefined);
  return [...new Set(names)].sort().map((name) => {
    const folder = join(top, 'node_modules', name);
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (!file) throw new Error(`${name} ${version} (${license}) ships no licence text`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  }).join(`\n${'-'.repeat(100)}\n\n`);
}

async function pack() {
  rmSync(part, { recursive: true, force: true });
  mkdirSync(join(part, 'wasm'), { recursive: true });
  for (const name of binaries) copyFileSync(join(lib, 'wasm', name), join(part, 'wasm', name));

  writeEmbedded('embedded_worker.js', { worker: await worker('worker') });
  writeEmbedded('embedded_engine.js', { wasm: { simd: packed('simd'), relaxed: packed('relaxed') } });
  writeEmbedded('embedded_train.js', { worker: await worker('train_worker'), wasm: { train: packed('train') } });

  const esm = { ...common, format: /** @type {const} */ ('esm') };
  // Readable, in chunks: for bundlers, which minify, and for Node. Chunks stay beside the entries, because file addresses are relative.
  const { metafile } = await build({ ...esm, metafile: true, entryPoints: [join(lib, 'index.js'), join(lib, 'cli.js')], outdir: part, splitting: true, chunkNames: 'chunk-[hash]', external: [...common.external, ...EMBEDDED] });
  // One file for a CDN or an import map.
  await build({ ...esm, entryPoints: [join(lib, 'index.js')], outfile: join(part, 'glassformer.js'), minify: true, external: [...common.external, ...EMBEDDED] });
  await build({
    ...esm, entryPoints: [join(lib, 'inline.js')], outfile: join(part, 'inline.js'), minify: true,
    plugins: [{ name: 'embedded', setup: (b) => b.onResolve({ filter: /^\.\/embedded_(?:worker|engine|train)\.js$/ }, ({ path }) => ({ path: join(part, path) })) }],
  });
  writeFileSync(join(part, 'THIRD_PARTY_LICENSES.txt'), licences(metafile));

  rmSync(dist, { recursive: true, force: true });
  renameSync(part, dist);
}

if (process.argv.includes('--have')) process.exit(entries.every((name) => existsSync(join(dist, name))) ? 0 : 1);
await pack();
