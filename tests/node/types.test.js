// types.test.js - the package's type declarations: correct calls compile, misspelt ones do not
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PATIENCE } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { top } from './helpers.js';

const llama = {
  model_type: 'llama',
  hidden_size: 4,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  vocab_size: 8,
  intermediate_size: 8,
  hidden_act: 'silu',
  rope_scaling: null,
  torch_dtype: 'float32',
  architectures: ['LlamaForCausalLM'],
  _name_or_path: 'x',
  pretraining_tp: 1,
  eos_token_id: [1, 2],
};
const own = {
  model_type: 'glassformer',
  d_model: 4,
  n_layers: 2,
  n_heads: 2,
  vocab_size: 8,
  norm: 'layernorm',
  bias_qkv: true,
};

/** Configurations in every accepted form. */
const CONFIGURATIONS = `
import { completeConfig, countParameters, create, depth, estimate, PRESETS, train } from 'glassformer';
import type { Config, ConfigInput } from 'glassformer';
import llama from './llama.json' with { type: 'json' };
import own from './own.json' with { type: 'json' };
countParameters(llama); countParameters(own); countParameters(JSON.parse('{}')); countParameters('gpt2');
countParameters({ d_model: 64, n_layers: 2, n_heads: 4, vocab_size: 9 });
countParameters({ dModel: 64, nLayers: 2, nHeads: 4, vocabSize: 9, norm: 'layernorm' });
countParameters({ model_type: 'gpt2', n_embd: 3, n_layer: 2 });
countParameters({ model_type: 'gpt-prenorm-erf', d_model: 8, max_seq_len: 9, tie_weights: false });
countParameters(completeConfig('gpt2')); countParameters({ ...PRESETS['gpt2'], vocab_size: 3 }); countParameters(PRESETS.gpt2);
const unknown: Record<string, unknown> = {}, loose: object = {};
countParameters(unknown); countParameters(loose);
const given: ConfigInput = { kind: 'encoder', d_model: 3 };
const model = await create(given), config: Config = model.config;
estimate(config, { contextLength: 3, kvDtype: 'q8_0' });
await depth({ n_layers: 3, norm_placement: 'post' });
// @ts-expect-error a misspelt field
countParameters({ d_modle: 64, n_layers: 2 });
// @ts-expect-error a misspelt field in camelCase
countParameters({ dModell: 64, nLayers: 2 });
// @ts-expect-error a misspelt field of Hugging Face's
countParameters({ model_type: 'gpt2', n_embed: 3 });
// @ts-expect-error a misspelt word
await create({ norm: 'layernrom', d_model: 3 });
// @ts-expect-error a field of another family without its model_type
train({ n_layer: 3 }, 'text');
// @ts-expect-error the configuration of a model is frozen
model.config.nLayers = 3;
`;

/** Each option, its older name and the properties of a model. */
const OPTIONS = `
import { z } from 'zod';
import { load, Tokenizer, train } from 'glassformer';
await load('x', { dtype: 'q8_0', kvDtype: 'q8_0' });
await load('x', { dtype: 'keep', kvDtype: 'q8_0' });
const model = await load('x'), tokenizer: Tokenizer | null = await model.tokenizer, template: string | null = model.chatTemplate;
const ids: number[] | undefined = tokenizer?.encode(template ?? '');
model.generate('x', { stop: '.' }); model.generate('x', { stop: ['.'] });
const session = await model.session();
const done: Promise<void> = session.dispose();
for await (const { text, id } of session.generate('x', { stop: '.', seed: 3 })) console.log(text.length, id + 1);
for await (const step of model.chat([{ role: 'user', content: 'x' }], { session })) console.log(step.position);
const { value, done: ended } = await session.generate([1]).next();
if (ended && value) console.log(value.prefilledTokens + value.reusedTokens);
// @ts-expect-error a beam search has sequences of its own
session.generate('x', { beams: 2 });
await using other = await model.session();
using last = await load('x');
tokenizer?.dispose();
await train({ d_model: 8 }, 'text').dispose();
console.log(ids, done, other, last);
const { value: person } = await model.complete('x', { json: z.object({ age: z.int() }) });
const age: number | undefined = person?.age, any: string = (await model.complete('x', { json: { type: 'object' } })).value;
// @ts-expect-error the value is that of the schema
person?.name;
console.log(age, any);
// @ts-expect-error no such type of numbers
await load('x', { dtype: 'q9' });
// @ts-expect-error nor of a cache
await load('x', { kvDtype: 'q4_0' });
// @ts-expect-error a number is no text
model.generate('x', { stop: 5 });
`;

test('the compiler accepts correct configurations, options and properties, and finds misspelt ones', () => {
  const folder = temporaryFolder('types');
  const program = (text) =>
    text
      .replaceAll("'glassformer'", JSON.stringify(join(top, 'web/lib/api/index.js')))
      .replaceAll("'zod'", JSON.stringify(join(top, 'node_modules/zod/index.js')));
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    allowJs: true,
    checkJs: false,
    resolveJsonModule: true,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    lib: ['es2022', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    typeRoots: [join(top, 'node_modules/@types')],
  };
  const files = {
    'package.json': '{ "type": "module" }',
    'llama.json': JSON.stringify(llama),
    'own.json': JSON.stringify(own),
    'configurations.ts': program(CONFIGURATIONS),
    'options.ts': program(OPTIONS),
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['configurations.ts', 'options.ts'] }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { stdout, stderr } = spawnSync(process.execPath, [join(top, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    encoding: 'utf8',
    timeout: PATIENCE,
  });
  assert.equal(stdout + stderr, '');
});
