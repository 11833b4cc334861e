// examples.test.js - every example of the documentation runs: the @example blocks of the public calls' JSDoc and the
// JavaScript blocks of the README and of docs/, beside the shipped models. A comment behind a console.log is the
// output that is expected, unless the comment has a colon.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { Model, Session, Tokenizer, Training } from '../../web/lib/api/index.js';
import * as glassformer from '../../web/lib/api/index.js';
import { TextStream } from '../../web/lib/text/text_stream.js';
import { temporaryFolder } from '../temporary.js';
import { readTensors, serve } from './helpers.js';
import { op, pickle, plainOps, safetensors, torchFile } from './checkpoint_files.js';
import { CHAT_FOLDER, written } from './documented.js';
import { LAYOUTS, llmcFile, weightsOf } from './written_layouts.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const library = pathToFileURL(join(top, 'web/lib/api/index.js')).href;
/** Where the public calls are written. */
const FILES = [
  ...[
    'api/index.js',
    'api/model.js',
    'api/session.js',
    'api/training.js',
    'api/dictionary.js',
    'text/tokenizer.js',
    'base/errors.js',
  ],
];

const home = process.cwd();
after(() => process.chdir(home));
const folder = temporaryFolder('examples');

before(() => {
  for (const name of ['stories-1m.gguf', 'stories.gguf', 'dates'])
    symlinkSync(join(top, 'weights', name), join(folder, name));
  mkdirSync(join(folder, 'node_modules/glassformer'), { recursive: true });
  symlinkSync(join(top, 'weights'), join(folder, 'node_modules/glassformer/weights'));
  cpSync(join(top, 'tests/golden/cases/t5_literal_untied'), join(folder, 'my-gpt'), { recursive: true });
  cpSync(join(top, 'tests/golden/cases/t5'), join(folder, 't5-small'), { recursive: true });
  cpSync(join(top, 'tests/golden/formats/unigram.json'), join(folder, 't5-small/tokenizer.json'));
  mkdirSync(join(folder, 'out'));
  cpSync(join(top, 'tests/golden/pytorch/nanogpt/ckpt.pt'), join(folder, 'out/ckpt.pt'));
  cpSync(join(top, 'tests/golden/pytorch/mingpt.pt'), join(folder, 'model.pt'));
  writeFileSync(join(folder, 'mine.safetensors'), ownNames());
  for (const [name, bytes] of Object.entries(writtenFiles())) writeFileSync(join(folder, name), bytes);
  writeFileSync(
    join(folder, 'stories.txt'),
    'The cat sat on the mat. The dog sat on the log.\n<|endoftext|>\n'.repeat(200),
  );
  process.chdir(folder);
});

/** A Llama's tensors under the names of the example in docs/own-checkpoints.md. */
function ownNames() {
  const names = {
    'model.embed_tokens': 'tokens',
    'model.norm': 'norm',
    'model.layers.0.input_layernorm': 'layers.0.attention_norm',
    'model.layers.0.post_attention_layernorm': 'layers.0.ffn_norm',
    ...Object.fromEntries(
      ['q', 'k', 'v', 'o'].map((p) => [`model.layers.0.self_attn.${p}_proj`, `layers.0.attention.w${p}`]),
    ),
    'model.layers.0.mlp.gate_proj': 'layers.0.w1',
    'model.layers.0.mlp.down_proj': 'layers.0.w2',
    'model.layers.0.mlp.up_proj': 'layers.0.w3',
  };
  const tensors = readTensors(join(top, 'tests/golden/cases/llama_1tok/model.safetensors'));
  const renamed = Object.entries(tensors).map(([name, t]) => [`${names[name.replace(/\.weight$/, '')]}.weight`, t]);
  return safetensors(Object.fromEntries(renamed));
}

/** The checkpoints of the recipes in docs/own-checkpoints.md. */
function writtenFiles() {
  const layout = (name, rename = (n) => n) => LAYOUTS[name].tensors().map((t) => ({ ...t, name: rename(t.name) }));
  const own = (model, rename = (n) => n) => weightsOf(model).map(([name, t]) => ({ name: rename(name), ...t }));
  const beside = (key, values) => ({
    wrap: (state) =>
      op.dict([
        [op.text(key[0]), state],
        [op.text(key[1]), plainOps(values)],
      ]),
  });
  const characters = Array.from('abcdefghijklmnopqrstuvwxyz .,!?\n:;-&3');
  return {
    'meta.pkl': pickle(plainOps({ vocab_size: 37, stoi: Object.fromEntries(characters.map((c, i) => [c, i])) })),
    'stories.pt': torchFile(
      layout("llama2.c's ckpt.pt"),
      beside(['model', 'model_args'], LAYOUTS["llama2.c's ckpt.pt"].saved),
    ),
    'gpt.pth': torchFile(layout('the GPT of the book')),
    'llama.pth': torchFile(layout('the Llama of the book')),
    'lm.pt': torchFile(own('encoder_post', (name) => name.replace(/^encoder\./, 'transformer_encoder.'))),
    'translator.pt': torchFile(own('translator')),
    'annotated.pt': torchFile(own('annotated')),
    'last.ckpt': torchFile(
      layout('nanoGPT, the state dict alone', (name) => `_forward_module.model._orig_mod.${name}`),
      beside(['state_dict', 'hyper_parameters'], { n_head: 4, lr: 0.001 }),
    ),
    'gpt2.pth': torchFile(layout('TransformerLens')),
    'heads.pth': torchFile(layout('the GPT of the lecture, a tensor for each head')),
    'lit_model.pth': torchFile(layout('lit-gpt, a Llama')),
    'gpt2_124M.bin': llmcFile(3),
  };
}

/**
 * JSDoc comments of a file with the first line of what each describes.
 * @param {string} file
 * @returns {{comment: string, code: string}[]}
 */
function documented(file) {
  const text = readFileSync(join(top, 'web/lib', file), 'utf8');
  return [...text.matchAll(/^( *)\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n(?=(.*)$)/gm)].map(([, , comment, code]) => ({
    comment,
    code: code.trim(),
  }));
}

/**
 * The @example blocks of a comment, without the leading stars.
 * @param {string} comment
 */
function examplesOf(comment) {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
  const examples = [];
  let inside = false;
  for (const line of lines) {
    if (/^@\w+/.test(line)) inside = line.trim() === '@example';
    if (line.trim() === '@example') examples.push([]);
    else if (inside) examples[examples.length - 1].push(line);
  }
  return examples.map((each) => each.join('\n').trim());
}

let count = 0;
/**
 * Run a program as a module in the folder of the models.
 * @param {string} source
 * @param {string} [prelude]
 * @returns {Promise<string>} what it printed
 */
async function run(source, prelude = '') {
  const program = source
    .replace(/from 'glassformer'/g, `from ${JSON.stringify(library)}`)
    .replace(
      /^(.*)console\.log\((.*)\); *\/\/ (.*)$/gm,
      (_, before, args, comment) => `${before}__print(${JSON.stringify(comment)}, ${args});`,
    )
    .replace(/\bconsole\.log\(/g, '__print(null, ')
    .replace(/\bprocess\.stdout\.write\(/g, '__print(null, ');
  const printed = [];
  const g = globalThis;
  g.__print = (expected, ...values) => {
    const text = format(...values);
    printed.push(text);
    if (expected !== null && !expected.includes(':')) assert.equal(text, expected.trim());
  };
  const file = join(folder, `example-${count++}.mjs`);
  writeFileSync(file, `${prelude}\n${program}\n`);
  await import(pathToFileURL(file).href);
  return printed.join('\n');
}

const everything = `import { CODES, GlassformerError, PRESETS, Tokenizer, completeConfig, countParameters, create, depth, dictionary, estimate, load, modelCache, provenanceOf, scan, toNpy, toNpz, toSafetensors, train } from ${JSON.stringify(library)};`;

for (const file of FILES) {
  for (const { comment, code } of documented(file)) {
    for (const [i, example] of examplesOf(comment).entries()) {
      test(`${file}: ${code.replace(/ \{$/, '').slice(0, 80)}${i ? `, example ${i + 1}` : ''}`, async () => {
        const model = !/\b(?:const|let) model\b/.test(example) && /\bmodel\b/.test(example);
        await run(example, everything + (model ? "const model = await load('stories-1m.gguf');" : ''));
      });
    }
  }
}

test('every public call has a description, and those that take arguments an example', () => {
  const all = FILES.flatMap(documented);
  const described = (name, code) => {
    const found = all.filter((each) => code.test(each.code));
    assert.ok(
      found.some(({ comment }) => /^[\s*]*[A-Z"'`]/.test(comment)),
      `${name} has no description`,
    );
    return found;
  };
  const lacks = [];
  const functions = Object.entries(glassformer)
    .filter(([, value]) => typeof value === 'function' && !/^class/.test(String(value)))
    .map(([name]) => name);
  assert.ok(functions.length >= 7);
  for (const name of functions) {
    const found = described(name, new RegExp(`^export (?:async )?function ${name}\\(`));
    if (!found.some(({ comment }) => examplesOf(comment).length)) lacks.push(name);
  }
  for (const [Class, file] of [
    [Model, 'api/model.js'],
    [Session, 'api/session.js'],
    [Training, 'api/training.js'],
    [Tokenizer, 'text/tokenizer.js'],
    [TextStream, 'text/text_stream.js'],
  ]) {
    const comments = documented(file),
      members = Object.getOwnPropertyNames(Class.prototype).filter((name) => name !== 'constructor');
    for (const name of members) {
      if (Class === TextStream && !['push', 'end'].includes(name)) continue;
      if (name === '__v_skip') continue; // Vue reads it
      const found = comments.filter(({ code }) =>
        new RegExp(`^(?:async )?(?:get )?\\*? ?(?:async \\*)?${name}\\(`).test(code),
      );
      const own = found.filter(({ comment }) => /^[\s*]*[A-Z"'\`]/.test(comment));
      assert.ok(own.length, `${Class.name}.${name} has no description`);
      if (
        Class === Model &&
        Class.prototype.hasOwnProperty(name) &&
        typeof Object.getOwnPropertyDescriptor(Class.prototype, name)?.value === 'function' &&
        name !== 'dispose' &&
        !own.some(({ comment }) => comment.includes('@internal')) &&
        !own.some(({ comment }) => examplesOf(comment).length)
      )
        lacks.push(`${Class.name}.${name}`);
    }
  }
  assert.deepEqual(lacks, []);
});

/**
 * A server that answers the hf: addresses of the documents with one small model, which has a byte tokenizer and a chat
 * template.
 */
async function hub() {
  const letters26 = Array.from('abcdefghijklmnopqrstuvwxyz');
  const words = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', '.', ...letters26, ...letters26.map((c) => `##${c}`)];
  while (words.length < 112) words.push(`[unused${words.length}]`);
  const requests = [];
  const server = await serve((request, response) => {
    const path = new URL(request.url ?? '/', 'http://hub').pathname,
      name = path.split('/').at(-1) ?? '';
    requests.push(path);
    const classifier = {
      distilbert: 'sentiment',
      'cross-encoder': 'reranker',
      facebook: 'nli',
      dslim: 'ner',
    }[path.split('/')[1]];
    const shared = ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'];
    if (classifier && shared.includes(name))
      return response.end(readFileSync(join(top, 'tests/golden/classifiers', classifier, name)));
    if (classifier) return response.writeHead(404).end();
    const encoder = { 'sentence-transformers': 'bert', 'google-bert': 'bert_mlm' }[path.split('/')[1]];
    if (encoder && name === 'vocab.txt') return response.end(`${words.join('\n')}\n`);
    if (encoder && ['config.json', 'model.safetensors'].includes(name))
      return response.end(readFileSync(join(top, 'tests/golden/cases', encoder, name)));
    if (encoder) return response.writeHead(404).end();
    if (!CHAT_FOLDER[name]) return response.writeHead(404).end();
    response.end(CHAT_FOLDER[name]);
  });
  process.env.HF_ENDPOINT = server.url.slice(0, -1);
  return {
    requests,
    close: () => {
      delete process.env.HF_ENDPOINT;
      server.close();
    },
  };
}

const CALLS = [
  'load',
  'create',
  'train',
  'depth',
  'countParameters',
  'completeConfig',
  'estimate',
  'modelCache',
  'Tokenizer',
  'GlassformerError',
];
/** The README and the documents that people write; the examples of docs/api.md are those of the JSDoc. */
const DOCUMENTS = ['README.md', ...written];

/**
 * Run a JavaScript block of a document. Public calls that it does not import, and the model, are provided.
 * @param {string} code
 */
async function runBlock(code) {
  const imported = [...code.matchAll(/import \{([^}]*)\}/g)].flatMap(([, names]) =>
    names.split(',').map((name) => name.trim()),
  );
  const model = /\bmodel\b/.test(code) && !/\b(?:const|let|using) model\b/.test(code);
  const names = CALLS.filter(
    (name) => (new RegExp(`\\b${name}\\b`).test(code) || (model && name === 'load')) && !imported.includes(name),
  );
  const hubServer = /load\('hf:/.test(code) ? await hub() : null;
  try {
    await run(
      code.replace(/steps: 500/, 'steps: 5'),
      `import { ${names.join(', ')} } from ${JSON.stringify(library)};${model ? "const model = await load('stories-1m.gguf');" : ''}`,
    );
    if (hubServer)
      assert.ok(
        hubServer.requests.some((path) => path.endsWith('model.safetensors')),
        hubServer.requests.join(' '),
      );
  } finally {
    hubServer?.close();
  }
}

for (const document of DOCUMENTS) {
  const blocks = [...readFileSync(join(top, document), 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)];
  for (const [i, [, code]] of blocks.entries())
    test(`${document}: JavaScript block ${i + 1}: ${code.split('\n')[0].slice(0, 70)}`, () => runBlock(code));
}
