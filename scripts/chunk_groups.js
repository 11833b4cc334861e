// chunk_groups.js - a plugin for esbuild: modules that are imported with `import()` come in a few groups, each one chunk
//
// esbuild makes a chunk of each module that is imported with `import()`, and one more for each set of such modules that
// share code: 150 files, half of them below 1 KB, each of which a bundler emits again. With this plugin
// `import('./batch.js')` becomes `(async (group) => (await group).run_batch_js)(import('group:run'))`. The module
// `group:run` exports the namespaces of all modules of its group. A `.then()` would not do: the regular expression of Vite
// 5 and 6 for `const { a } = await import('./b.js')` misses what stands behind it.
//
// Rspack's development server compiles a group when it is first requested, and reloads the page if this group imports
// another one that the page's own modules import too. Therefore `caller` and `text` have what these import, no more, and
// a build fails if modules of the caller's side import the others.
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * The group of a module by its path in web/lib: the first match. Modules of `apps` have none, so that each lab stays a
 * file of its own.
 * @type {[RegExp, string][]}
 */
const GROUPS = [
  // what the thread that calls the worker needs
  [/^(?:api\/input|base|worker)\//, 'caller'],
  [/^files\/(?:bytes\/tensor_files|huggingface\/weight_names|transfer\/(?:model_cache|requests|sha256))\./, 'caller'],
  [/^(?:files\/adapters\/(?:adapters|deltas)|run\/analysis\/scan_statistics)\./, 'caller'],
  [/^text\/(?!constrain\/constraint\.)/, 'text'],
  // a call without a model: it reads the header of a file
  [/^files\/read_provenance\./, 'provenance'],
  // what the worker needs, or the same thread without one
  [/^train\//, 'train'],
  [
    /^(?:run\/(?:analysis|explain)|run\/inspect\/(?!classify|embed|capture|edits|forward)|engine\/differentiator)/,
    'research',
  ],
  [/^(?:run|engine|text)\//, 'run'],
  [/^files\/adapters\//, 'adapters'],
  [/^files\//, 'files'],
];

/** `import('./file.js')`; comments are matched too, which changes nothing. */
const IMPORT = /\bimport\(\s*'(\.[^']+\.js)',?\s*\)/g;

/** @param {string} name */
const groupOf = (name) => (/\/embedded\//.test(name) ? undefined : GROUPS.find(([modules]) => modules.test(name))?.[1]);

/** @param {string} name  of a module @returns {string} the name of its namespace in the module of its group */
const exported = (name) => name.replace(/\W/g, '_');

/**
 * @param {string} lib  web/lib, absolute
 * @param {string[]} dynamic  modules that are imported with `import()`, relative to `lib`
 * @returns {import('esbuild').Plugin}
 */
export const chunkGroups = (lib, dynamic) => ({
  name: 'chunk-groups',
  setup(b) {
    b.onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice('group:'.length), namespace: 'group' }));
    b.onLoad({ filter: /./, namespace: 'group' }, ({ path }) => ({
      contents: dynamic
        .filter((name) => groupOf(name) === path)
        .map((name) => `export * as ${exported(name)} from './${name}';\n`)
        .join(''),
      resolveDir: lib,
    }));
    b.onLoad({ filter: /\/web\/lib\/.*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(IMPORT, (all, file, at, text) => {
        const name = relative(lib, join(dirname(path), file));
        const group = groupOf(name);
        const from = relative(lib, path);
        if (
          /^(?:api|worker)\//.test(from) &&
          ['files', 'adapters', 'research'].includes(group) &&
          text.slice(0, at).endsWith('await ')
        )
          throw new Error(`${from}: list ${name} in the group caller (scripts/chunk_groups.js)`);
        return group ? `(async (group) => (await group).${exported(name)})(import('group:${group}'))` : all;
      }),
    }));
  },
});
