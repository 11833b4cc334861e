// split_worker.js - builds the package's worker as three scripts: worker.js loads and runs GGUF files; worker_files.js and
// worker_more.js have the modules that worker.js imports with `import()`: readers of files, and less common calls
//
// Why several scripts, and why none imports another. Bundlers copy a file that is named by
// `new URL('./file', import.meta.url)` without reading it, and give it another name. Chunks that import one another by
// name would not be found. Therefore each script is one text without imports, and what one needs of another it takes
// from `globalThis.glassformerMore` (web/lib/worker/second_script.js):
//
//   core     the modules of worker.js that the other scripts use too, by path; worker.js puts them there
//   modules  the modules of the other scripts, by path; each script puts its own there when it runs
//   load     a function of worker.js: it runs a script once, then gives a module of `modules`
//
// The few modules that both other scripts use and worker.js does not (5 KB, without state) are in both.
//
// How an import() of worker.js becomes a call of `load`. The sources say, for example,
// `const { forward } = await import('./inspect/forward.js')`. When esbuild bundles worker.js, this file replaces the module
// by a stub with one export, whose name is `then`:
//
//   export const then = (...both) => globalThis.glassformerMore.load('worker_more', 'run/inspect/forward.js').then(...both);
//
// `import()` gives a promise of the module's namespace, an object with the exports as its members. A promise that is
// resolved with an object that has a member `then`, a thenable, calls that function with its own two callbacks and takes
// over the result: it resolves to what `then` passes on. Here that is the namespace of the real module, once
// its script has run. So `await import(...)` in the sources gives the same object as without a bundler, and no
// source needs to know of the scripts. No module of ours has an export `then` of its own.
import { build } from 'esbuild';
import { join, relative } from 'node:path';
import { minify } from 'vite';

/** @typedef {import('esbuild').BuildOptions} BuildOptions */

/**
 * The only import() that is left. Comments tell bundlers to leave it alone; they must not be minified. It stands last:
 * Parcel 2 repeats an import() that it cannot resolve in the next `Promise.resolve().then(...)`.
 */
const FOOTER = 'globalThis.glassformerImport=(a)=>import(/* webpackIgnore: true */ /* @vite-ignore */ a);';

/**
 * The script of a module that is imported with `import()`.
 * @param {string} name  relative to web/lib
 * @returns {import('../web/lib/worker/message_port.js').SecondScript}
 */
const scriptOf = (name) => (/^files\//.test(name) ? 'worker_files' : 'worker_more');

/**
 * @param {BuildOptions} common  options of all builds
 * @param {string} lib  folder of the source tree, absolute
 * @returns {Promise<Record<'worker' | import('../web/lib/worker/message_port.js').SecondScript, string>>} the texts
 */
export async function splitWorker(common, lib) {
  // esbuild drops what is not used; Oxc then gives shorter names, which saves 3 % of the gzipped scripts
  /** @type {BuildOptions} */
  const options = { ...common, absWorkingDir: lib, write: false, minify: true, format: 'iife' };
  const { core, more } = await modules(options, lib);
  /** @type {Set<string>} */
  const shared = new Set();
  const second = async (/** @type {string} */ script) => {
    const own = more.filter((name) => scriptOf(name) === script);
    return bundle(options, lib, namespaces(own, 'modules'), '', (name) => {
      if (!core.has(name)) return null;
      shared.add(name);
      return `module.exports = globalThis.glassformerMore.core[${JSON.stringify(name)}];`;
    });
  };
  const scripts = { worker_more: await second('worker_more'), worker_files: await second('worker_files') };
  const start = `import './worker/second_script.js';\nimport './worker/model_worker.js';\n`;
  const worker = await bundle(options, lib, start + namespaces([...shared].sort(), 'core'), FOOTER, (name, kind) =>
    kind === 'dynamic-import' && !core.has(name)
      ? `export const then = (...both) => globalThis.glassformerMore.load('${scriptOf(name)}', ${JSON.stringify(name)}).then(...both);`
      : null,
  );
  return { worker, ...scripts };
}

/**
 * The modules of all scripts, relative to `lib`.
 * @param {BuildOptions} options
 * @param {string} lib
 * @returns {Promise<{core: Set<string>, more: string[]}>} core: all that the worker imports statically; more: those that
 *   it imports with `import()`
 */
async function modules(options, lib) {
  const entryPoints = ['worker/model_worker.js', 'worker/second_script.js'];
  const { metafile } = await build({ ...options, metafile: true, entryPoints, outdir: lib });
  const { inputs } = /** @type {import('esbuild').Metafile} */ (metafile);
  /** @type {Set<string>} */
  const core = new Set();
  const visit = (/** @type {string} */ path) => {
    if (core.has(path)) return;
    core.add(path);
    for (const each of inputs[path].imports) if (each.kind === 'import-statement' && !each.external) visit(each.path);
  };
  entryPoints.forEach(visit);
  const dynamic = Object.values(inputs)
    .flatMap((input) => input.imports)
    .filter((each) => each.kind === 'dynamic-import' && !each.external && !core.has(each.path))
    .map((each) => each.path);
  return { core, more: [...new Set(dynamic)].sort() };
}

/**
 * Statements that put modules into globalThis.glassformerMore.
 * @param {string[]} paths
 * @param {'core'|'modules'} key
 */
const namespaces = (paths, key) =>
  paths.map((path, i) => `import * as m${i} from './${path}';\n`).join('') +
  `Object.assign(globalThis.glassformerMore.${key}, { ${paths.map((path, i) => `'${path}': m${i}`).join(', ')} });`;

/**
 * One script.
 * @param {BuildOptions} options
 * @param {string} lib
 * @param {string} contents  of its entry
 * @param {string} footer
 * @param {(name: string, kind: string) => string | null} stub  text of a module that another script has
 */
async function bundle(options, lib, contents, footer, stub) {
  /** @type {import('esbuild').Plugin} */
  const others = {
    name: 'others',
    setup(b) {
      /** @type {Map<string, string>} */
      const texts = new Map();
      b.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
        const file = join(resolveDir, path);
        const name = relative(lib, file);
        const text = stub(name, kind);
        if (text !== null) {
          texts.set(name, text);
          return { path: name, namespace: 'other' };
        }
        // Modules that the entry imports are kept, although package.json lists none of them under sideEffects.
        return resolveDir === lib ? { path: file, sideEffects: true } : undefined;
      });
      b.onLoad({ filter: /./, namespace: 'other' }, ({ path }) => ({ contents: texts.get(path) }));
    },
  };
  const { outputFiles = [] } = await build({ ...options, stdin: { contents, resolveDir: lib }, plugins: [others] });
  const { code, errors } = await minify('worker.js', outputFiles[0].text, { mangle: { toplevel: true } });
  if (errors.length) throw new Error(errors.map(({ message }) => message).join('\n'));
  return `"use strict";\n${code}${footer}`;
}
