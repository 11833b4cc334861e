// split_worker.js - builds the package's worker as two scripts: worker.js loads and runs GGUF files; worker_more.js has
// the modules that worker.js imports with `import()`
//
// Bundlers copy a file that is named by `new URL('./file', import.meta.url)` without reading it, and give it another
// name. Chunks that import one another by name would not be found. Therefore the second script has no imports: it takes
// what it uses of the first from globalThis.glassformerMore (web/lib/worker/more.js), and leaves its modules there.
import { build } from 'esbuild';
import { join, relative } from 'node:path';

/** @typedef {import('esbuild').BuildOptions} BuildOptions */
/** @typedef {{core: string, more: string}} Scripts texts of worker.js and worker_more.js */

/** `import{a as b,c}from"core:base/errors.js";` in minified code, and an import without names. */
const IMPORT = /import\{([^}]*)\}from"core:([^"]+)";/g;
const BARE = /import"core:[^"]+";/g;
/** `import("more:inspect/inspect.js")`, and the same of a module of worker.js, in minified code. */
const DYNAMIC = /import\("(more|core):([^"]+)"\)/g;

/**
 * @param {BuildOptions} common  options of both builds
 * @param {string} lib  folder of the source tree, absolute
 * @returns {Promise<Scripts>}
 */
export async function splitWorker(common, lib) {
  const options = { ...common, absWorkingDir: lib, write: false, minify: true, metafile: true };
  const { core, more } = await modules(options, lib);
  const { text, used } = await buildMore(options, lib, core, more);
  return { core: await buildCore(options, lib, core, used), more: text };
}

/**
 * The modules of both scripts, relative to `lib`.
 * @param {BuildOptions} options
 * @param {string} lib
 * @returns {Promise<{core: Set<string>, more: string[]}>} core: all that the worker imports statically; more: those that
 *   it imports with `import()`
 */
async function modules(options, lib) {
  const { metafile } = await build({
    ...options,
    metafile: true,
    entryPoints: [join(lib, 'worker/worker.js'), join(lib, 'worker/more.js')],
    outdir: lib,
    format: 'esm',
  });
  /** @type {Set<string>} */
  const core = new Set();
  const visit = (/** @type {string} */ path) => {
    if (core.has(path)) return;
    core.add(path);
    for (const each of metafile.inputs[path].imports)
      if (each.kind === 'import-statement' && !each.external) visit(each.path);
  };
  visit('worker/worker.js');
  visit('worker/more.js');
  const dynamic = Object.values(metafile.inputs)
    .flatMap((input) => input.imports)
    .filter((each) => each.kind === 'dynamic-import' && !each.external && !core.has(each.path))
    .map((each) => each.path);
  return { core, more: [...new Set(dynamic)].sort() };
}

/**
 * Gives modules an address of a scheme that stays in the output. Modules that the entry imports are kept, although
 * package.json lists no module of the source tree under sideEffects.
 * @param {string} lib
 * @param {string} scheme
 * @param {(path: string, kind: string) => boolean} isExternal
 * @returns {import('esbuild').Plugin}
 */
const external = (lib, scheme, isExternal) => ({
  name: scheme,
  setup: (b) =>
    b.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
      const file = join(resolveDir, path);
      const name = relative(lib, file);
      if (isExternal(name, kind)) return { path: `${scheme}:${name}`, external: true };
      return resolveDir === lib ? { path: file, sideEffects: true } : undefined;
    }),
});

/**
 * @param {BuildOptions} options
 * @param {string} lib
 * @param {Set<string>} core
 * @param {string[]} more
 * @returns {Promise<{text: string, used: Map<string, Set<string>>}>} used: names that the text takes from core, by module
 */
async function buildMore(options, lib, core, more) {
  const contents =
    more.map((path, i) => `import * as m${i} from './${path}';`).join('\n') +
    `\nglobalThis.glassformerMore.modules = { ${more.map((path, i) => `'${path}': m${i}`).join(', ')} };`;
  const { outputFiles } = await build({
    ...options,
    stdin: { contents, resolveDir: lib },
    format: 'esm',
    plugins: [external(lib, 'core', (path) => core.has(path))],
  });
  /** @type {Map<string, Set<string>>} */
  const used = new Map();
  const namesOf = (/** @type {string} */ path) => {
    const names = used.get(path) ?? new Set();
    used.set(path, names);
    return names;
  };
  const text = only(outputFiles)
    .replace(BARE, '')
    .replace(IMPORT, (_, list, path) => {
      const names = list.split(',').map((/** @type {string} */ each) => each.split(' as '));
      for (const [name] of names) namesOf(path).add(name);
      return `const{${names.map((/** @type {string[]} */ pair) => pair.join(':')).join(',')}}=core["${path}"];`;
    })
    .replace(DYNAMIC, (_, _scheme, path) => {
      namesOf(path).add('*');
      return `Promise.resolve(core["${path}"])`;
    });
  const left = /\bimport\b[\s{*("].{60}|\bexport\b[\s{*].{60}/.exec(text);
  if (left) throw new Error(`worker_more.js still has an import or export: ${left[0]}`);
  return { text: `"use strict";(()=>{const{core}=globalThis.glassformerMore;${text}})();\n`, used };
}

/**
 * @param {BuildOptions} options
 * @param {string} lib
 * @param {Set<string>} core
 * @param {Map<string, Set<string>>} used  names that worker_more.js takes
 * @returns {Promise<string>} its only import() has the comments by which bundlers leave it alone; minifying drops them
 */
async function buildCore(options, lib, core, used) {
  const parts = [...used].map(([path, names], i) => {
    if (names.has('*')) return { statement: `import * as all_${i} from './${path}';`, entry: `'${path}': all_${i}` };
    const pairs = [...names].map((name) => `${name} as ${name}_${i}`);
    return {
      statement: `import { ${pairs.join(', ')} } from './${path}';`,
      entry: `'${path}': { ${[...names].map((name) => `${name}: ${name}_${i}`).join(', ')} }`,
    };
  });
  const contents =
    `import './worker/more.js';\nimport './worker/worker.js';\n` +
    parts.map(({ statement }) => statement).join('\n') +
    `\nglobalThis.glassformerMore.core = { ${parts.map(({ entry }) => entry).join(', ')} };`;
  const { outputFiles } = await build({
    ...options,
    stdin: { contents, resolveDir: lib },
    format: 'iife',
    banner: { js: '"use strict";' },
    plugins: [external(lib, 'more', (path, kind) => kind === 'dynamic-import' && !core.has(path))],
  });
  return only(outputFiles)
    .replace(DYNAMIC, 'globalThis.glassformerMore.load("$2")')
    .replace(/\bimport\((\w+)\)/g, 'import(/* webpackIgnore: true */ /* @vite-ignore */ $1)');
}

/**
 * The text of a build with one output.
 * @param {import('esbuild').OutputFile[] | undefined} files
 */
function only(files = []) {
  if (files.length !== 1) throw new Error(`expected one file, found ${files.length}`);
  return files[0].text;
}
