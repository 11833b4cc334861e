// types.js - writes types/ from the JSDoc of web/lib, for TypeScript 5.2 and later, with and without the dom library
//
// The output of tsc is changed in two ways. Typed arrays became generic in TypeScript 5.7: their type arguments are
// removed. A program without the dom library (Node) lacks the names of the web platform: types/platform.d.ts declares
// them as empty interfaces, which merge with the real ones where they exist.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('..', import.meta.url)),
  types = join(top, 'types');

const PLATFORM = `// Names of the web platform in the public types. They merge with those of dom or @types/node.
interface AbortSignal {}
interface Blob {}
interface File {}
interface Headers {}
interface MessagePort {}
interface ReadableStream<R = any> {}
interface RequestInit {}
interface Response {}
interface URL {}
interface Worker {}
declare namespace WebAssembly {
  interface Memory {}
  interface Module {}
}
`;

/** @type {[RegExp, string][]} */
const REWRITES = [
  [/\b(Uint8Array|Float32Array|Float64Array|Int32Array|Uint32Array)<ArrayBuffer>/g, '($1 & { buffer: ArrayBuffer })'],
  [/\b(Uint8Array|Float32Array|Float64Array|Int32Array|Uint32Array)<ArrayBufferLike>/g, '$1'],
  [/typeof globalThis\.fetch/g, '((input: string, init?: RequestInit) => Promise<Response>)'],
];

rmSync(types, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [join(top, 'node_modules/typescript-native/bin/tsc'), '-p', join(top, 'tsconfig.json')],
  {
    stdio: 'inherit',
  },
);
for (const name of readdirSync(types, { recursive: true })
  .map(String)
  .filter((each) => each.endsWith('.d.ts'))) {
  const file = join(types, name);
  let text = readFileSync(file, 'utf8');
  for (const [pattern, by] of REWRITES) text = text.replace(pattern, by);
  if (name === 'index.d.ts') text = `/// <reference path="./platform.d.ts" />\n${text}`;
  writeFileSync(file, text);
}
writeFileSync(join(types, 'platform.d.ts'), PLATFORM);
