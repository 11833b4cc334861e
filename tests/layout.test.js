// layout.test.js - the structure of the project: which file includes or imports which, what a binary exports, and texts
// that no file may contain.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import prettier from 'prettier';
import ts from 'typescript';
import { builtSums, recordedSums, toolchain } from '../scripts/sums.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const read = (file) => readFileSync(join(top, file), 'utf8');

function files(folder, ending) {
  return readdirSync(join(top, folder), { recursive: true })
    .map(String)
    .filter((name) => ending.test(name))
    .map((name) => `${folder}/${name}`)
    .sort();
}

// train -> model -> glassformer.h -> kernels -> base, wasm -> glassformer.h. The public header uses the types of
// status.h and kernels.h; model/ implements it. Two files of wasm/ have the calls of the trainer.
const mayInclude = {
  base: ['base'],
  kernels: ['kernels', 'base'],
  'glassformer.h': ['kernels', 'base'],
  model: ['model', 'kernels', 'base', 'glassformer.h'],
  wasm: ['wasm', 'glassformer.h'],
  'wasm/train_abi.c': ['train', 'glassformer.h'],
  'wasm/dictionary_abi.c': ['train'],
  train: ['train', 'glassformer.h', 'model', 'kernels', 'base'],
  reference: ['model', 'kernels'],
};

test('C files include only headers of the folders below them', () => {
  const wrong = [];
  let seen = 0;
  for (const file of files('src', /\.[ch]$/)) {
    const area = file.split('/')[1],
      may = mayInclude[file.replace('src/', '')] ?? mayInclude[area];
    assert.ok(may, `${file} lies in no known folder`);
    for (const [, name] of read(file).matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) {
      seen++;
      const target = name.includes('/') || name === 'glassformer.h' ? name.split('/')[0] : area;
      if (!may.includes(target)) wrong.push(`${file} includes ${name}`);
    }
  }
  assert.ok(seen > 0);
  assert.deepEqual(wrong, []);
});

/**
 * Circles in a graph.
 * @param {Map<string, string[]>} needs
 * @returns {string[]}
 */
function circles(needs) {
  const seen = new Set(),
    found = [];
  const visit = (/** @type {string} */ name, /** @type {string[]} */ path) => {
    if (path.includes(name)) return void found.push([...path.slice(path.indexOf(name)), name].join(' -> '));
    if (seen.has(name)) return;
    seen.add(name);
    for (const other of needs.get(name) ?? []) visit(other, [...path, name]);
  };
  for (const name of needs.keys()) visit(name, []);
  return found;
}

const cModule = (/** @type {string} */ file) => file.replace(/\.[ch]$/, ''); // a header and its source are one

test('no two C modules include each other', () => {
  const needs = new Map();
  for (const file of files('src', /\.[ch]$/)) {
    const others = [...read(file).matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)]
      .map((found) => cModule(`src/${found[1]}`))
      .filter((other) => other !== cModule(file));
    needs.set(cModule(file), [...(needs.get(cModule(file)) ?? []), ...others]);
  }
  assert.ok([...needs.values()].flat().length > 100);
  assert.deepEqual(circles(needs), []);
});

test('no C modules call each other in a circle', () => {
  const code = new Map(files('src', /\.c$/).map((file) => [file, read(file).replace(/\/\*[\s\S]*?\*\//g, '')]));
  const definedIn = new Map();
  for (const [file, text] of code)
    for (const [, name] of text.matchAll(/^(?!static)[a-z][\w ]*[ *](gf_\w+)\([^;{]*\)\s*\{/gm))
      definedIn.set(name, cModule(file));
  assert.ok(definedIn.size > 300, `${definedIn.size} functions found`);
  const needs = new Map();
  for (const [file, text] of code) {
    const others = [...text.matchAll(/\bgf_\w+/g)].map(([name]) => definedIn.get(name));
    needs.set(
      cModule(file),
      [...new Set(others)].filter((other) => other && other !== cModule(file)),
    );
  }
  assert.deepEqual(circles(needs), []);
});

const imports = (file) =>
  [
    ...read(file).matchAll(
      /(?:^|[;\s])(?:import|export)\s[^;'"]*?from\s+'([^']+)'|(?:^|\s)import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm,
    ),
  ].map((found) => found[1] ?? found[2] ?? found[3]);

// Shown as texts beside what they compute, and a binary that the page measures.
const SHOWN = [
  ...['src/reference/decoder.c', 'src/kernels/int8_by_1.h', 'src/kernels/simd.h'].map((file) => `${file}?raw`),
  'build/scalar/glassformer-scalar.wasm?url',
  'package.json', // its version
];

test("the page imports drawing, and the library only by the package's name", () => {
  const wrong = [];
  for (const file of files('web/page', /\.(?:js|svelte)$/)) {
    for (const name of imports(file)) {
      if (!name.startsWith('.')) continue; // the package is imported by its name
      const target = posix.join(dirname(file), name);
      if (!/^web\/(?:page|draw)\//.test(target) && !SHOWN.includes(target)) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

// Which folder of the page may not import which. Types in comments do not count.
const notAbove = {
  state: ['text', 'parts', 'views'],
  parts: ['views'],
  text: ['parts', 'views'],
};
// The rooms of web/page/state: each imports only itself and those before it.
const STATE_ROOMS = ['base', 'facts', 'store', 'calls', 'place'];

test('folders of the page import only what lies below them, and claims/ from one place with import()', () => {
  const wrong = [],
    claims = [];
  const floor = (path) => (path.startsWith('web/page/state/') ? STATE_ROOMS.indexOf(path.split('/')[3]) : Infinity);
  for (const file of files('web/page', /\.(?:js|svelte)$/)) {
    const above = notAbove[file.split('/')[2]] ?? [];
    assert.notEqual(floor(file), -1, `${file} lies in no room of the state`);
    const code = read(file).replace(/\/\*[\s\S]*?\*\//g, '');
    for (const [, name] of code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)) {
      const target = posix.join(dirname(file), name);
      if (above.includes(target.split('/')[2])) wrong.push(`${file} imports ${target}`);
      const room = floor(target);
      if (room > floor(file) && room < Infinity) wrong.push(`${file} imports ${target}`);
      if (target.startsWith('web/page/views/claims/') && !file.startsWith('web/page/views/claims/'))
        claims.push([file, target]);
    }
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(claims, [['web/page/views/view_code.js', 'web/page/views/claims/Tutorials.svelte']]);
  assert.match(read('web/page/views/view_code.js'), /import\('.\/claims\/Tutorials.svelte'\)/);
});

/** Files of the page, and of the drawing that it shares with the elements. @param {RegExp} pattern */
const ofPage = (pattern) => [...files('web/page', pattern), ...files('web/draw', pattern)];

// Most lines of a file of the page.
const MAX_LINES = 250;

test('no file of the page is longer than 250 lines', () => {
  const long = ofPage(/\.(?:js|svelte|css)$/)
    .map((file) => ({ file, lines: read(file).split('\n').length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES);
  assert.deepEqual(long, []);
});

// Most lines of a function of the page.
const MAX_FUNCTION = 60;

test('no function of the page is longer than 60 lines', () => {
  const long = [];
  let seen = 0;
  for (const file of ofPage(/\.(?:js|svelte)$/)) {
    const scripts = file.endsWith('.svelte')
      ? [...read(file).matchAll(/<script[^>]*>([^]*?)<\/script>/g)]
      : [[, read(file)]];
    const code = ts.createSourceFile(file, scripts.map(([, text]) => text).join(''), ts.ScriptTarget.Latest, true);
    const visit = (node) => {
      if (ts.isFunctionLike(node) && node.body) {
        const [from, to] = [node.getStart(code), node.end].map((at) => code.getLineAndCharacterOfPosition(at).line);
        seen++;
        if (to - from + 1 > MAX_FUNCTION)
          long.push(`${file}: ${to - from + 1} lines, ${node.getText(code).slice(0, 40)}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(code);
  }
  assert.ok(seen > 1000, `${seen} functions found`);
  assert.deepEqual(long, []);
});

// The rooms of web/lib, with web/draw below them: layout.json. `rooms` is the order in which each imports only those
// before it. `lazy` lists folders and files that other code imports with import() only: a page that does not use them
// does not download them.
/** @type {{rooms: string[], lazy: string[]}} */
const layout = JSON.parse(read('tests/layout.json'));
const sources = [...files('web/draw', /\.js$/), ...files('web/lib', /\.js$/)];
const inLib = (file) => file.replace(/^web\/(?:lib\/)?/, '');
const roomOf = (file) => file.split('/')[0];
/** Every import, dynamic ones too, without those in comments and types. */
const arrows = sources.flatMap((file) => {
  const code = read(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '');
  return [...code.matchAll(/(?:\bfrom|\bimport)\s*(\(?)\s*'(\.[^']+)'/g)].map(([, bracket, name]) => ({
    from: inLib(file),
    to: inLib(posix.join(dirname(file), name)),
    lazy: bracket === '(',
  }));
});

test('tests/layout.json lists the rooms of web/lib', () => {
  assert.deepEqual([...layout.rooms].sort(), [...new Set(sources.map((file) => roomOf(inLib(file))))].sort());
});

test('the README of each folder says what it is for and names each of its files on a line', () => {
  const wrong = [];
  const cSources = files('src', /\.[ch]$/).filter((file) => dirname(file) !== 'src');
  const ofPageFolders = files('web/page', /\.(?:js|svelte)$/).filter((file) =>
    /^web\/page\/(?!public)\w+\//.test(file),
  );
  const inFolders = [...sources, ...cSources, ...ofPageFolders];
  for (const folder of new Set(inFolders.map((file) => dirname(file)).concat('web/page/state', 'scripts'))) {
    const text = read(`${folder}/README.md`);
    if (!text.startsWith(`# ${basename(folder)}/\n\n`))
      wrong.push(`${folder}/README.md begins with ${text.slice(0, 40)}`);
    const named = [...text.matchAll(/^- `([\w.]+)`: \S/gm)].map(([, name]) => name).sort();
    const all = readdirSync(join(top, folder)).filter((name) => /\.(?:js|svelte|c|h|sh|sha256)$/.test(name));
    const found = all.filter((name) => !name.endsWith('.h') || !all.includes(name.replace('.h', '.c'))); // one line for both
    for (const name of found) if (!named.includes(name)) wrong.push(`${folder}/README.md has no line of ${name}`);
    for (const name of named)
      if (!found.includes(name)) wrong.push(`${folder}/README.md names ${name}, which is not there`);
  }
  assert.deepEqual(wrong, []);
});

test('tests/README.md has a line for each test file', () => {
  const sections = read('tests/README.md').split('\n## ');
  for (const folder of ['node', 'browser', 'native']) {
    const section = sections.find((text) => text.startsWith(`${folder}/\n`)) ?? '';
    const named = [...section.matchAll(/^- `([\w.]+)`: \S/gm)].map(([, name]) => name);
    const found = readdirSync(join(top, 'tests', folder));
    assert.deepEqual(
      found.filter((name) => /[._]test\.(?:js|c)$/.test(name) && !named.includes(name)),
      [],
      `tests of ${folder}/ without a line`,
    );
    assert.deepEqual(
      named.filter((name) => !found.includes(name)),
      [],
      `lines of ${folder}/ without a file`,
    );
  }
});

test('each room of web/lib imports only those that tests/layout.json lists before it', () => {
  assert.ok(arrows.length > 150, `${arrows.length} imports found`);
  const floor = (/** @type {string} */ file) => layout.rooms.indexOf(roomOf(file));
  assert.deepEqual(
    arrows.filter(({ from, to }) => floor(to) > floor(from)).map(({ from, to }) => `${from} imports ${to}`),
    [],
  );
});

test('what tests/layout.json calls lazy is imported with import() only', () => {
  const within = (/** @type {string} */ file, /** @type {string} */ part) =>
    file === part || file.startsWith(`${part}/`);
  for (const part of layout.lazy) {
    const entering = arrows.filter(({ from, to }) => within(to, part) && !within(from, part));
    assert.ok(entering.length > 0, `nothing imports ${part}`);
    assert.deepEqual(
      entering.filter(({ from, lazy }) => !lazy && !layout.lazy.some((other) => within(from, other))),
      [],
    );
  }
});

test('no files of web/lib import each other in a circle', () => {
  const needs = new Map();
  for (const { from, to } of arrows) needs.set(from, [...(needs.get(from) ?? []), to]);
  assert.deepEqual(circles(needs), []);
});

test('each name of a file stands once in web/, without its case, underscores and extension', () => {
  // A worker's entry point has the name of the module that it runs, a style sheet that of its view.
  const allowed = ['readme', 'index', 'worker', 'trainworker'];
  const names = files('web', /\.\w+$/)
    .filter((file) => !file.startsWith('web/lib/api/wasm/') && !file.startsWith('web/page/style/'))
    .map((file) => basename(file).replace(/\..*/, '').replaceAll('_', '').toLowerCase());
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i && !allowed.includes(name)),
    [],
  );
});

test('imported packages are the declared ones', () => {
  const { dependencies = {}, devDependencies } = JSON.parse(read('package.json'));
  const check = (folder, allowed) =>
    files(folder, /\.js$/).flatMap((file) =>
      imports(file)
        .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((name) => !allowed.includes(name))
        .map((name) => `${file} imports ${name}`),
    );
  assert.deepEqual(check('web/lib', ['react', 'vue']), []); // not bundled
  assert.deepEqual(check('web/page', [...Object.keys(devDependencies), 'glassformer']), []);
  assert.deepEqual(dependencies, {});
});

// Most columns of a line of the library.
const MAX_COLUMNS = 120;

test('JavaScript is formatted by Prettier, and no line of the library is longer than 120 columns', async () => {
  const options = await prettier.resolveConfig(join(top, 'package.json'));
  const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.js', '*.svelte'], {
    cwd: top,
    encoding: 'utf8',
  });
  const wrong = [];
  for (const file of tracked.split('\n').filter(Boolean)) {
    if (!existsSync(join(top, file))) continue; // deleted, and the deletion not yet staged
    const text = read(file);
    if (!(await prettier.check(text, { ...options, filepath: file })))
      wrong.push(`${file}: npx prettier --write ${file}`);
    if (!file.startsWith('web/lib/')) continue;
    text.split('\n').forEach((line, i) => {
      if (line.length > MAX_COLUMNS) wrong.push(`${file}:${i + 1} has ${line.length} columns`);
    });
  }
  assert.deepEqual(wrong, []);
});

test('svelte-check finds no error in the page', () => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      'node_modules/svelte-check/bin/svelte-check',
      '--tsconfig',
      'web/page/tsconfig.json',
      '--output',
      'machine-verbose',
    ],
    { cwd: top, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  const lines = stdout.split('\n').map((line) => line.slice(line.indexOf(' ') + 1));
  const problems = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  assert.ok(
    lines.some((line) => line.startsWith('COMPLETED')),
    stdout.slice(0, 2000),
  );
  assert.deepEqual(
    problems
      .filter(({ type, filename }) => type === 'ERROR' || filename.endsWith('.svelte'))
      .map(({ filename, start, message }) => `${filename}:${start.line + 1} ${message}`),
    [],
  );
});

test('no line of the C sources is longer than 120 columns', () => {
  const wrong = [];
  for (const file of files('src', /\.[ch]$/)) {
    read(file)
      .split('\n')
      .forEach((line, i) => {
        if (line.length > MAX_COLUMNS) wrong.push(`${file}:${i + 1} has ${line.length} columns`);
      });
  }
  assert.deepEqual(wrong, []);
});

test('the type of model_type lists every model family', async () => {
  const { FAMILIES } = await import('../web/lib/files/huggingface/families_all.js');
  const { ANY_TEXT } = await import('../web/lib/files/huggingface/families_pictures.js');
  const typedef = /@typedef \{([^}]*)\} ModelType/.exec(read('web/lib/engine/config/config_input.js'))[1];
  const listed = [...typedef.matchAll(/'([^']*)'/g)].map(([, name]) => name);
  assert.deepEqual(listed.sort(), Object.keys({ ...FAMILIES, ...ANY_TEXT }).sort());
});

const binaries = files('web/lib/api/wasm', /\.wasm$/);
const names = (list) =>
  read(`src/wasm/${list}`)
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter(Boolean);
const lists = { run: names('exports.txt'), train: names('train_exports.txt') };
// Exports that the linker adds: the memory, the start function, and globals of its stack and table.
const runtime = [
  'memory',
  '__stack_pointer',
  '_initialize',
  '__indirect_function_table',
  '_emscripten_stack_restore',
  '_emscripten_stack_alloc',
  'emscripten_stack_get_current',
  'malloc',
  'free',
];

test('there is two binaries for each variant, and two for training', () => {
  assert.deepEqual(
    binaries.map((file) => basename(file)),
    [
      'glassformer-relaxed-threads.wasm',
      'glassformer-relaxed.wasm',
      'glassformer-simd-threads.wasm',
      'glassformer-simd.wasm',
      'glassformer-train-threads.wasm',
      'glassformer-train.wasm',
    ],
  );
});

for (const file of binaries) {
  test(`${basename(file)} exports the names of its list and imports only what is allowed`, () => {
    const exported = lists[file.includes('-train') ? 'train' : 'run'];
    // Node 20 has relaxed SIMD behind a flag.
    if (process.versions.node.startsWith('20.')) setFlagsFromString('--experimental-wasm-relaxed-simd');
    const module = new WebAssembly.Module(readFileSync(join(top, file)));
    const found = WebAssembly.Module.exports(module).map((entry) => entry.name);
    assert.deepEqual(
      found.filter((name) => !runtime.includes(name) || exported.includes(name)).sort(),
      [...exported].sort(),
    );
    const needs = WebAssembly.Module.imports(module).map((entry) => `${entry.module}.${entry.name}`);
    // Threads share a memory that JavaScript creates, and each has its own stack in it.
    const threads = file.includes('-threads');
    assert.deepEqual(needs.sort(), [
      'env.emscripten_notify_memory_growth',
      'env.gf_now_ms',
      ...(threads ? ['env.memory'] : []),
    ]);
    assert.deepEqual([found.includes('memory'), found.includes('__stack_pointer')], [!threads, threads]);
  });
}

test('the wasm files have the sums recorded in scripts/wasm.sha256', (t) => {
  const { name, pinned } = toolchain(),
    recorded = recordedSums();
  assert.equal(recorded.trim().split('\n').length, binaries.length, 'one sum for each binary');
  if (builtSums() !== recorded && !pinned)
    return t.skip(
      `the sums are those of the packages that scripts/toolchain.sh pins; these files were compiled by ${name}`,
    );
  assert.equal(builtSums(), recorded, 'after a change of src: ./build.sh wasm --record');
});

test('every exported name is declared in the public header, in kernels.h, pool.h, dictionary.h or in src/wasm', () => {
  const declared =
    read('src/glassformer.h') +
    read('src/kernels/kernels.h') +
    read('src/base/pool.h') +
    read('src/train/dictionary.h') +
    files('src/wasm', /\.[ch]$/)
      .map(read)
      .join('\n');
  assert.deepEqual(
    Object.values(lists)
      .flat()
      .filter((name) => !['malloc', 'free'].includes(name) && !new RegExp(`\\b${name}\\(`).test(declared)),
    [],
  );
});

/** [what, pattern, which files] */
const forbidden = [
  ['input escapes by construction', /\.(innerHTML|outerHTML)\s*=|insertAdjacentHTML|document\.write/, /^web\/page\//],
  [
    'no code from strings; a worker from a Blob only where its file cannot be used (base/spawn.js)',
    /(?<![.#\w])eval\((?![^)]*\)\s*\{)|new Function\(|createObjectURL\([^)]*(?:javascript|Worker)/,
    /^web\/(?!lib\/base\/spawn\.js)/,
  ],
  [
    'bundlers give a bare process a polyfill, or refuse it: globalThis.process',
    /(?<![.\w$])process\??\.\w|typeof process\b/,
    /^web\/lib\/(?!apps\/cli\/)/,
  ],
  [
    'no content network, but in a text to paste into another page (copied_figure.js)',
    /unpkg|jsdelivr|cdnjs|googleapis|gstatic/,
    /^web\/(?!page\/views\/write\/copied_figure\.js)/,
  ],
  ['library code neither prints nor leaves', /\b(?:printf|puts|exit|abort)\(/, /^src\/(?:base|kernels|model|wasm)\//],
  ['floating point stays exact', /-ffast-math/, /^(?:build\.sh|scripts\/)/],
  ['a lock file names no registry', /"resolved"/, /^package-lock\.json$/],
];

test('no file contains a forbidden text', () => {
  const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: top, encoding: 'utf8' })
    .trim()
    .split('\n');
  const wrong = [];
  for (const file of tracked) {
    const rules = forbidden.filter(([, , where]) => where.test(file));
    if (rules.length === 0 || !/\.(?:js|c|h|html|css|json|sh)$/.test(file)) continue;
    const text = read(file);
    for (const [what, pattern] of rules)
      if (pattern.test(text)) wrong.push(`${file}: ${what}: ${pattern.exec(text)[0]}`);
  }
  assert.deepEqual(wrong, []);
});
