// licences.js - the licence texts of what a build contains: bundled packages, and the C library inside the binaries
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('..', import.meta.url));

/** musl is the C library of Emscripten. The text is that of its file COPYRIGHT, without the list of authors. */
const MUSL = `musl (MIT), as Emscripten builds it; in the WebAssembly binaries

Copyright © 2005-2020 Rich Felker, et al.

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

/**
 * The licence text of an installed package.
 * @param {string} name
 */
function textOf(name) {
  const folder = join(top, 'node_modules', name);
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (!file) throw new Error(`${name} ${version} (${license}) ships no licence text`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}

/**
 * The content of THIRD_PARTY_LICENSES.txt.
 * @param {string[]} modules  paths of the modules of a build; those outside node_modules are passed over
 */
export function licenceTexts(modules) {
  const names = modules.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [MUSL, ...[...new Set(names)].sort().map(textOf)].join(`\n${'-'.repeat(100)}\n\n`);
}
