// types.js - writes types/ from the JSDoc of web/lib, for TypeScript 5.2 and later, with and without the dom library
//
// tsc writes a file for each module into build/types/lib; a bundler of declarations joins what the public types need into
// types/index.d.ts. The adapters' types import those. A program without the dom library (Node) lacks the names of
// the web platform: types/platform.d.ts declares them as empty interfaces, which merge with the real ones where they
// exist.
import { generateDtsBundle } from 'dts-bundle-generator';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { apps } from './entries.js';
import { JSX_TYPES } from './jsx_types.js';

const top = fileURLToPath(new URL('..', import.meta.url)),
  modules = join(top, 'build/types/lib'),
  types = join(top, 'types');

const PLATFORM = `// Names of the web platform in the public types. They merge with those of dom or @types/node.
interface AbortSignal {}
interface Blob {}
interface File {}
interface Headers {}
interface MessagePort {}
interface ReadableStream<R = any> {}
interface Request {}
interface RequestInit {}
interface Response {}
interface URL {}
interface Worker {}
declare namespace WebAssembly {
  interface Memory {}
  interface Module {}
}
`;

/**
 * Changes of tsc's output. Typed arrays became generic in TypeScript 5.7: what their `of` returns has the right form in
 * every version. A constructor that only the package calls becomes private, so that the types of its arguments are not
 * published. A type that only renames a type of another module is exported from there, under one name.
 * @type {[RegExp, string][]}
 */
const REWRITES = [
  [/\b((?:Uint8|Float32|Float64|Int32|Uint32)Array)<ArrayBuffer>/g, "ReturnType<$1Constructor['of']>"],
  [/\b((?:Uint8|Float32|Float64|Int32|Uint32)Array)<ArrayBufferLike>/g, '$1'],
  [/typeof globalThis\.fetch/g, '((input: string, init?: RequestInit) => Promise<Response>)'],
  [/\/\*\*(?:(?!\*\/)[^])*@ignore(?:(?!\*\/)[^])*\*\/\s*constructor\([^]*?\);/g, 'private constructor();'],
  [/^export type (\w+) = import\((['"])(\.[^'"]+)\2\)\.\1;$/gm, "import type { $1 } from '$3';\nexport type { $1 };"],
];

/**
 * The descriptions of the types of a module, which TypeScript 7 leaves out.
 * @param {string} source
 * @returns {[string, string][]}
 */
function descriptions(source) {
  const comments = Array.from(source.matchAll(/\/\*\*(?:(?!\*\/)[^])*@typedef(?:(?!\*\/)[^])*/g), ([comment]) =>
    comment
      .replace(/^\/\*\*/, '')
      .replace(/^ \* ?/gm, '')
      .split('@typedef'),
  );
  return comments.flatMap(([before, ...types]) =>
    types.map((type) => {
      const [, name, after = ''] = /^[^]*\}\s+(\w+)([^]*)$/.exec(type.replace(/\n@\w+ [^]*/, '')) ?? [];
      return /** @type {[string, string]} */ ([name, `${before} ${after}`.replace(/@\w+ \w+/g, '').trim()]);
    }),
  );
}

/**
 * Declarations with a description before each type that has none.
 * @param {string} text
 * @param {[string, string][]} about
 */
const described = (text, about) =>
  about.reduce(
    (all, [name, words]) =>
      words
        ? all.replace(
            new RegExp(`(?<!\\*/\\n)^(?=(?:export )?type ${name}(?![\\w$]))`, 'm'),
            `/**\n * ${words.replaceAll('\n', '\n * ')}\n */\n`,
          )
        : all,
    text,
  );

/**
 * Declarations whose optional members also take undefined, which exactOptionalPropertyTypes tells apart.
 * @param {string} text
 */
function withUndefined(text) {
  const file = ts.createSourceFile('x.d.ts', text, ts.ScriptTarget.Latest, true);
  /** @type {[at: number, inserted: string][]} */
  const changes = [];
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isPropertySignature(node) && node.questionToken && node.type) {
      const isFunction = ts.isFunctionTypeNode(node.type) || ts.isConditionalTypeNode(node.type);
      if (isFunction) changes.push([node.type.getStart(file), '(']);
      changes.push([node.type.end, `${isFunction ? ')' : ''} | undefined`]);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return changes
    .sort(([a], [b]) => b - a)
    .reduce((all, [at, inserted]) => all.slice(0, at) + inserted + all.slice(at), text);
}

/** What a bundler gives for a file of wasm: Cloudflare's a module, others an address. */
const WASM = `declare const file: WebAssembly.Module;\nexport default file;\n`;

const LIBRARY = '/// <reference lib="esnext.disposable" preserve="true" />\n';

for (const folder of [types, modules]) rmSync(folder, { recursive: true, force: true });
const tsc = join(top, 'node_modules/typescript-native/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(top, 'tsconfig.json')], { stdio: 'inherit' });
/** @type {Map<string, string | null>} of all modules; null: two have a type of this name */
const all = new Map();
for (const name of readdirSync(modules, { recursive: true }).map(String)) {
  if (!name.endsWith('.d.ts')) continue;
  const file = join(modules, name);
  let text = readFileSync(file, 'utf8');
  for (const [pattern, by] of REWRITES) text = text.replace(pattern, by);
  const about = descriptions(readFileSync(join(top, 'web/lib', name.replace(/\.d\.ts$/, '.js')), 'utf8'));
  for (const [type, words] of about) all.set(type, all.has(type) && all.get(type) !== words ? null : words);
  text = described(text, about);
  writeFileSync(file, text);
}
const [bundle] = generateDtsBundle(
  [{ filePath: join(modules, 'api/index.d.ts'), output: { noBanner: true, exportReferencedTypes: true } }],
  { preferredConfigPath: join(top, 'tsconfig.json') },
);
// of two types with one name, only that of api/index.js is exported
const joined = described(
  Array.from(bundle.matchAll(/^\t\w+\$\d+ as (\w+),$/gm), ([, name]) => name).reduce(
    (all, name) => all.replace(new RegExp(`^export (?=type ${name}\\b)`, 'm'), ''),
    bundle,
  ),
  [...all].map(([name, words]) => [name, words ?? '']),
);
mkdirSync(types);
const beside = ['conversation', 'openai_fetch', 'chat_run'].map((name) => [name, `apps/clients/${name}`]);
for (const [name, file] of [...Object.entries(apps), ...beside]) {
  const text = readFileSync(join(modules, `${file}.d.ts`), 'utf8');
  const own = text.replace(/(['"])(?:\.{1,2}\/)+(?:api\/)?(?:call_types|model|index)\.js\1/g, "'./index.js'");
  writeFileSync(join(types, `${name}.d.ts`), withUndefined(own));
}
writeFileSync(
  join(types, 'index.d.ts'),
  `/// <reference path="./platform.d.ts" />\n${LIBRARY}${withUndefined(joined)}`,
);
for (const [name, text] of Object.entries(JSX_TYPES)) writeFileSync(join(types, `${name}.d.ts`), text);
writeFileSync(join(types, 'wasm.d.ts'), WASM);
writeFileSync(join(types, 'worker.d.ts'), '// A script of a worker: it exports nothing.\nexport {};\n');
writeFileSync(join(types, 'platform.d.ts'), PLATFORM);
const declared = readdirSync(types).map((name) => join(types, name));
const wrong = ts.createProgram(declared, {}).getSyntacticDiagnostics();
if (wrong.length)
  throw new Error(ts.formatDiagnostics(wrong, { ...ts.createCompilerHost({}), getNewLine: () => '\n' }));
