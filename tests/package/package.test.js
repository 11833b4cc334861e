// package.test.js - the packed tarball: its files, its types in a strict TypeScript program, and an empty Node project
// that generates the same token ids as the library in this tree. Bundlers are in bundlers.test.js.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { temporaryFolder } from '../temporary.js';
import { entries } from '../../scripts/entries.js';
import { load } from '../../web/lib/api/index.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const model = join(top, 'weights/stories-1m.gguf');
const noModel = !existsSync(model) && 'weights/stories-1m.gguf is missing';
const prompt = 'Once upon a time';
const options = { maxTokens: 32, temperature: 0 };

const folder = temporaryFolder('package');
const project = join(folder, 'project');
let tarball, packed, expected;

/** A command's standard output; all that it said when it fails. */
function output(program, args, cwd) {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
  });
  if (error) throw error;
  assert.equal(status, 0, `${program} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** A package of this repository in the project. */
function linked(name) {
  const link = join(project, 'node_modules', name);
  mkdirSync(join(link, '..'), { recursive: true });
  if (!existsSync(link)) symlinkSync(join(top, 'node_modules', name), link);
}

function write(path, text) {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
}

before(async () => {
  [packed] = JSON.parse(output('npm', ['pack', '--json', '--pack-destination', folder], top));
  tarball = join(folder, packed.filename);
  write(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  output('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], project);
  if (noModel) return;
  const engine = await load(model);
  expected = [];
  for await (const step of engine.generate(prompt, options)) expected.push(step.id);
  engine.dispose();
  assert.equal(expected.length, options.maxTokens);
});

test('the tarball contains the library, its binaries, its types, the licence, and nothing else', () => {
  const files = packed.files.map((file) => file.path);
  for (const wanted of [
    'LICENSE',
    'README.md',
    'package.json',
    'types/index.d.ts',
    'types/worker.d.ts',
    'weights/stories-1m.gguf',
    'weights/stories-1m.md',
    ...entries.map((name) => `dist/${name}`),
  ]) {
    assert.ok(files.includes(wanted), `${wanted} is missing`);
  }
  const strange = files.filter(
    (file) =>
      !/^(?:LICENSE|README\.md|package\.json|dist\/[\w/-]+(?:\.iife)?\.(?:js|wasm)|dist\/THIRD_PARTY_LICENSES\.txt|CHANGELOG\.md|types\/(?:index|worker|conversation|ai-sdk|openai|openai_fetch|chat_run|react|vue|labs|elements|jsx|jsx-(?:react|vue|svelte|solid)|wasm)\.d\.ts|types\/platform\.d\.ts|weights\/stories-1m\.(?:gguf|md))$/.test(
        file,
      ),
  );
  assert.deepEqual(strange, []);
});

test('no script that a bundler copies is as large as 244 KiB, from which webpack warns', () => {
  for (const name of entries.filter((each) => /^(?:embedded_|worker|train_worker).*\.js$/.test(each))) {
    const { size } = statSync(join(project, 'node_modules/glassformer/dist', name));
    assert.ok(size < 244 * 1024, `${name} has ${size} bytes`);
  }
});

test('publint reports no problem', async () => {
  const pkgDir = join(project, 'node_modules/glassformer');
  const { messages, pkg } = await publint({ pkgDir, strict: true });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test('each adapter is at most 12 KB of JavaScript, gzipped, beside the package itself, the elements 40 KB', () => {
  const read = (name) => readFileSync(join(project, 'node_modules/glassformer/dist', name), 'utf8');
  const chunks = (text) => [...text.matchAll(/\.\/(chunk-\w+\.js)/g)].map(([, name]) => name);
  for (const name of ['ai-sdk', 'openai', 'react', 'vue']) {
    const own = read(`${name}.js`);
    const texts = /react|vue/.test(name) ? [own] : [own, ...chunks(own).map(read)];
    const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
    assert.ok(bytes > 500 && bytes < 12_000, `${name}: ${bytes}`);
  }
  const elements = gzipSync(read('elements.js')).length;
  assert.ok(elements > 5000 && elements < 40_000, `elements: ${elements}`);
});

test('the types resolve with every kind of module resolution that reads exports', () => {
  const attw = join(top, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  output('node', [attw, '--no-color', '--profile', 'esm-only', '--', tarball], folder);
});

// npm warned of the script prepare.
test('the package has no script that npm would run at an installation', () => {
  const { scripts } = JSON.parse(readFileSync(join(project, 'node_modules/glassformer/package.json'), 'utf8'));
  const run = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];
  assert.deepEqual(
    Object.keys(scripts).filter((name) => run.includes(name)),
    [],
  );
});

test('every type that docs/api.md lists can be imported', () => {
  const [, document] = readFileSync(join(top, 'docs/api.md'), 'utf8').split('## Type Aliases\n');
  const names = Array.from(document.matchAll(/^### (\w+)$/gm), ([, name]) => name);
  assert.ok(names.length > 60, `${names.length} names`);
  write(join(project, 'names.ts'), `export type { ${names.join(', ')} } from 'glassformer';\n`);
  checked(['names.ts']);
});

/** Compiles files of the project with the strictest options. */
function checked(files, more = {}) {
  const compilerOptions = {
    ...{
      target: 'es2022',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2023', 'dom', 'dom.asynciterable', 'dom.iterable'],
    },
    ...{ types: [], strict: true, noEmit: true, exactOptionalPropertyTypes: true, jsx: 'react-jsx', ...more },
  };
  write(join(project, 'tsconfig.checked.json'), JSON.stringify({ compilerOptions, files }));
  output('node', [join(top, 'node_modules/typescript-native/bin/tsc'), '-p', 'tsconfig.checked.json'], project);
}

test('undefined is an absent option, and wasm files and elements in templates have types', () => {
  const modules = [
    'react',
    '@types/react',
    'csstype',
    'vue',
    '@vue',
    'svelte',
    'solid-js',
    'seroval',
    'openai',
    '@ai-sdk',
    'zod',
  ];
  for (const name of modules) linked(name);
  write(
    join(project, 'options.ts'),
    `
import wasm from 'glassformer/wasm/glassformer-simd.wasm';
import { load } from 'glassformer';
import { fetchOf } from 'glassformer/openai';
import OpenAI from 'openai';
const model = await load('x', { wasm, signal: undefined, contextLength: undefined, onProgress: undefined });
model.generate('x', { signal: undefined, maxTokens: undefined, stop: undefined });
await model.forward('x', { capture: undefined, edits: [{ at: 'x', head: undefined, scale: 0 }] });
export const client = new OpenAI({ apiKey: '-', fetch: fetchOf(model) });
`,
  );
  write(
    join(project, 'react.tsx'),
    `
import type {} from 'glassformer/jsx/react';
import { useChat, useModel } from 'glassformer/react';
export function Figure() {
  const { model } = useModel('x');
  const { messages, send } = useChat(model, { tools: { weather: { execute: async () => 'rain' } } });
  return <><glass-attention model={model} layer={1} text={messages.at(-1)?.role} onchoose={() => send('Hi')} />
    <glass-former src="x" compact /></>;
}
// @ts-expect-error a misspelt attribute
export const wrong = <glass-former scr="x" />;
`,
  );
  write(
    join(project, 'other.ts'),
    `
import type {} from 'glassformer/jsx/vue';
import type {} from 'glassformer/jsx/svelte';
import type {} from 'glassformer/jsx/solid';
import type { GlobalComponents } from 'vue';
import type { SvelteHTMLElements } from 'svelte/elements';
import type { JSX } from 'solid-js';
import { ref } from 'vue';
import { useChat, useModel } from 'glassformer/vue';
const { model } = useModel(ref('x'));
const { state, send } = useChat(model);
export const shown: string | undefined = state.value.messages.at(-1)?.role, sent = send('x');
export const props: InstanceType<GlobalComponents['glass-former']>['$props'] = { src: 'x', compact: true };
export const svelte: SvelteHTMLElements['glass-attention'] = { layer: 1, src: 'x' };
export const solid: JSX.IntrinsicElements['glass-tokens'] = { src: 'x', 'prop:data': ['a'] };
// @ts-expect-error a misspelt attribute
export const wrong: SvelteHTMLElements['glass-former'] = { scr: 'x' };
`,
  );
  checked(['options.ts', 'react.tsx', 'other.ts'], { skipLibCheck: true });
});

test('the types are those of the public interface, without the classes behind it', () => {
  const text = readFileSync(join(project, 'node_modules/glassformer/types/index.d.ts'), 'utf8');
  assert.ok(text.length < 180_000, `${text.length} characters`);
  assert.doesNotMatch(text.replace(/\/\*\*[^]*?\*\//g, ''), /WorkerModel|TrainingRun|EngineSession|\bimport\(/);
});

test('a CommonJS program requires every entry, and gets the same module as an import', () => {
  write(
    join(project, 'required.cjs'),
    `
const { countParameters, GlassformerError } = require('glassformer');
const { PRESETS } = require('glassformer/inline');
import('glassformer').then((module) => {
  console.log(countParameters('gpt2').total, 'gpt2' in PRESETS, module.GlassformerError === GlassformerError);
  require('glassformer/worker'), require('glassformer/worker_more'), require('glassformer/train_worker');
  if (!require('glassformer/openai').openai || !require('glassformer/ai-sdk').languageModel) throw new Error('an adapter');
});
`,
  );
  assert.equal(output('node', ['required.cjs'], project), '124439808 true true\n');
});

for (const [module, resolution] of [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
]) {
  test(`a strict TypeScript consumer compiles (${resolution})`, () => {
    write(
      join(project, 'consumer.ts'),
      `
import { load, create, train, depth, countParameters, estimate, Session, Tokenizer, GlassformerError } from 'glassformer';
import type { ErrorCode, Explanation, Preset } from 'glassformer';

const model = await load(new Uint8Array(), { dtype: 'keep', contextLength: 128, onProgress: ({ phase, loaded }) => console.log(phase, loaded) });
const layers: number = model.config.nLayers;
const ids: number[] = await model.encode('text');
for await (const step of model.generate('text', { maxTokens: 3, temperature: 0, logprobs: 2, signal: AbortSignal.timeout(1000) })) {
  const id: number = step.id;
  const text: string = step.text;
  console.log(id, text, step.top?.[0]?.logprob);
}
const { logits, captured } = await model.forward(ids, { capture: ['*.attn.hook_pattern'] });
const data: Float32Array<ArrayBuffer> = logits.data;
const shape: number[] | undefined = captured['blocks.0.attn.hook_pattern']?.shape;
const total: number = countParameters({ model_type: 'gpt2' }).total;
const session = await model.session();
const row: Float32Array<ArrayBuffer> = await session.eval([1, 2]);
session.rewind(1);
session.close();
const tokenizer = await Tokenizer.load({});
console.log(layers, data, shape, total, row, tokenizer.decode(tokenizer.encode('text')));
model.dispose();
try { await load('missing'); } catch (error) { if (error instanceof GlassformerError) console.log(error.code); }
const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, 'text', { steps: 2, validation: 0.1 });
for await (const s of run) console.log(s.loss, s.validation?.bitsPerByte);
const trained: number = run.parameters.total + (await run.model({ dtype: 'f16', worker: false })).config.dModel + run.tokenizer.vocabSize;
const file = new Blob([(await run.files({ dtype: 'q8_0' }))[0]!.bytes, await run.checkpoint()]);
const gradients: number[] = (await depth({ n_layers: 24 })).map((layer) => layer.weights);
console.log(trained, file.size, gradients);
const preset: Preset = 'gpt2', code: ErrorCode = new GlassformerError('worker', 'gone').code, vocabSize: number = tokenizer.vocabSize;
const cell: Explanation = await model.explain('text', { at: 'logits', index: 3 });
const { hidden } = await model.forward(['a', 'b'], { mask: [[1], [1, 0]], sourceMask: new Uint8Array([1]) });
console.log(preset, code, vocabSize, cell.terms.length, hidden?.shape, estimate('gpt2', { contextLength: 8, kvDtype: 'q8_0' }).kvBytes);
const saved = new Blob([await session.save(), logits.data, row, (await model.weight('embed')).subarray(1), await model.distribution(row)]);
const texts = ['a', 'b'] as const, edits = [{ at: 'hook_embed', scale: 0 }] as const;
await model.forward(texts, { capture: texts, edits, mask: [[1], [1]] as const });
await model.embed(texts, { pair: texts });
const messages = [{ role: 'user', content: 'Hi', name: 'Ada', tools: [1] }] as const;
interface Own { role: string; content: string; at: Date }
const own: readonly Own[] = [];
model.chat(messages, { stop: texts }); model.chat(own);
await create({ d_model: 8, window_layers: [true, false] as const });
console.log(saved.size);
// @ts-expect-error only the package makes sessions
new Session();
// @ts-expect-error a misspelt option is found
await load('x', { quantise: 'keep' });
// @ts-expect-error as is one that belongs to load
await create('gpt2', { switches: { causal: false } });
// @ts-expect-error and a misspelt preset
countParameters('gpt3');
// @ts-expect-error what is the tokenizer's own stays its own
tokenizer.lib;
`,
    );
    write(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'es2022',
          module,
          moduleResolution: resolution,
          lib: ['es2023', 'dom', 'dom.asynciterable'],
          types: [],
          strict: true,
          noEmit: true,
        },
        files: ['consumer.ts'],
      }),
    );
    output('node', [join(top, 'node_modules/typescript-native/bin/tsc'), '-p', 'tsconfig.json'], project);
  });
}

test('an empty Node project generates the same ids', { skip: noModel }, () => {
  write(
    join(project, 'run.js'),
    `
import { load } from 'glassformer';
const model = await load(${JSON.stringify(model)});
const ids = [];
for await (const step of model.generate(${JSON.stringify(prompt)}, ${JSON.stringify(options)})) ids.push(step.id);
console.log(JSON.stringify({ ids, backend: model.backend }));
model.dispose();
`,
  );
  const { ids, backend } = JSON.parse(output('node', ['run.js'], project));
  assert.deepEqual(ids, expected);
  assert.match(backend, /simd|relaxed/);
});

test('a wasm file can be imported by its path and passed as a compiled module', { skip: noModel }, () => {
  write(
    join(project, 'module.js'),
    `
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { load } from 'glassformer';
const file = fileURLToPath(import.meta.resolve('glassformer/wasm/glassformer-simd.wasm'));
const model = await load(${JSON.stringify(model)}, { wasm: await WebAssembly.compile(await readFile(file)), backend: 'simd' });
const ids = [];
for await (const step of model.generate(${JSON.stringify(prompt)}, ${JSON.stringify(options)})) ids.push(step.id);
console.log(JSON.stringify(ids));
model.dispose();
`,
  );
  assert.deepEqual(JSON.parse(output('node', ['module.js'], project)), expected);
});

// load asked for worker: false
test('a host without workers loads in its own thread by itself', { skip: noModel }, () => {
  write(
    join(project, 'host.js'),
    `
import { readFileSync } from 'node:fs';
const [bytes, wasm] = [${JSON.stringify(model)}, 'node_modules/glassformer/dist/wasm/glassformer-simd.wasm'].map((f) => readFileSync(f));
globalThis.process = undefined; // as in a service worker
const { load } = await import('glassformer');
const model = await load(new Uint8Array(bytes), { wasm: new Uint8Array(wasm), backend: 'simd' });
const { ids } = await model.complete(${JSON.stringify(prompt)}, ${JSON.stringify(options)});
console.log(JSON.stringify(ids));
model.dispose();
`,
  );
  assert.deepEqual(JSON.parse(output('node', ['host.js'], project)), expected);
});

test(
  "a copy of the worker's file captures and loads a folder, in Node, by the further scripts of the package",
  { skip: noModel },
  () => {
    write(
      join(project, 'copied.js'),
      `
import { copyFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { load } from 'glassformer';
copyFileSync('node_modules/glassformer/dist/worker.js', 'my-worker.cjs');
const model = await load(${JSON.stringify(model)}, { worker: resolve('my-worker.cjs') });
const { captured } = await model.forward([1, 2, 3], { capture: ['blocks.0.hook_resid_post'] });
const folder = await load(${JSON.stringify(join(top, 'tests/golden/cases/gptj'))}, { worker: resolve('my-worker.cjs') });
console.log(JSON.stringify([captured['blocks.0.hook_resid_post'].shape[0], folder.config.parallelResidual]));
model.dispose();
folder.dispose();
`,
    );
    assert.deepEqual(JSON.parse(output('node', ['copied.js'], project)), [3, true]);
  },
);

test('the command line generates text', { skip: noModel }, () => {
  const text = output(
    'node',
    ['node_modules/.bin/glassformer', '--temperature', '0', '--max-tokens', '8', prompt],
    project,
  );
  assert.ok(text.length > prompt.length, `it wrote ${JSON.stringify(text)}`);
});
