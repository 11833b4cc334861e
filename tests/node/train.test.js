// train.test.js - the native trainer: its output, its files, and that all files of a run have the same model
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load, train as trainInPackage } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { top } from './helpers.js';
import { tinyRecipe as tiny } from './small_runs.js';

const program = join(top, 'weights/train.js');
const skip = !existsSync(join(top, 'build/native/glassformer-train')) && 'the trainer is not built: ./build.sh native';
const workFolder = temporaryFolder('train');

/**
 * @param {string} out
 * @param {string[]} settings
 * @param {(child: import('node:child_process').ChildProcess, line: string) => void} [watch]
 * @param {string} [recipe]
 */
function train(out, settings, watch, recipe = join(top, 'weights/stories-1m.recipe')) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [
      program,
      ...[recipe, '--data', 'synthetic', '--out', join(workFolder, out), ...settings],
    ]);
    let text = '';
    child.stderr.on('data', (bytes) => {
      text += bytes;
    });
    child.stdout.on('data', (bytes) => {
      text += bytes;
      watch?.(child, String(bytes));
    });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(text) : reject(new Error(text))));
  });
}

const losses = (file) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[2]));

async function greedy(source, prompt) {
  const model = await load(source);
  try {
    let text = '';
    for await (const step of model.generate(prompt, { maxTokens: 30, temperature: 0 })) text += step.text;
    return text;
  } finally {
    model.dispose();
  }
}

async function logits(source) {
  const model = await load(source);
  try {
    return (await model.forward('One day, Lily went to the park.')).logits.data;
  } finally {
    model.dispose();
  }
}

// tests/golden/train/synthetic.csv is the loss.csv of this command. Other machines add in another order, and training
// magnifies the difference (measured between two kernels of OpenBLAS: 7e-6 after 40 steps of this rate).
test('the small recipe on the synthetic corpus gives its recorded losses', { skip }, async () => {
  await train('recorded', [
    'steps=60',
    'warmup=0.07',
    'batch_tokens=512',
    'micro_tokens=512',
    'sample_every=0',
    'groups=',
  ]);
  const [got, want] = [
    losses(join(workFolder, 'recorded/loss.csv')),
    losses(join(top, 'tests/golden/train/synthetic.csv')),
  ];
  assert.equal(want.length, 60);
  assert.equal(got.length, 60);
  for (let i = 0; i < 40; i++)
    assert.ok(Math.abs(got[i] - want[i]) <= 1e-3 * want[i], `step ${i + 1}: ${got[i]}, recorded ${want[i]}`);
  const mean = (list) => list.reduce((a, b) => a + b) / list.length;
  assert.ok(Math.abs(mean(got) - mean(want)) <= 0.01 * mean(want), `mean ${mean(got)}, recorded ${mean(want)}`);
  assert.match(readFileSync(join(workFolder, 'recorded/loss.svg'), 'utf8'), /^<svg [\s\S]*<polyline[\s\S]*<\/svg>\n$/);
});

const families = {
  llama: ['steps=60', ...tiny],
  gpt2: [
    'steps=60',
    ...tiny,
    'norm=layernorm',
    'ffn=gelu_tanh',
    'position=learned',
    'bias_qkv=1',
    'bias_attn_out=1',
    'bias_ffn=1',
  ],
  glassformer: ['steps=60', ...tiny, 'norm=layernorm', 'ffn=gelu_erf', 'position=learned'],
};
for (const [family, settings] of Object.entries(families)) {
  test(`${family}: the written folder and GGUF files have the same weights`, { skip }, async () => {
    await train(family, settings);
    const folder = join(workFolder, family);
    assert.equal(JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')).model_type, family);
    const want = await greedy(`${folder}/`, 'One day, Lily');
    assert.ok(want.length > 20, want);
    assert.equal(await greedy(join(folder, 'stories-1m-f32.gguf'), 'One day, Lily'), want);
    const [ofFolder, ofGguf] = await Promise.all([`${folder}/`, join(folder, 'stories-1m-f32.gguf')].map(logits));
    const most = ofFolder.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
    assert.ok(ofFolder.every((x, i) => Math.abs(x - ofGguf[i]) <= 1e-6 * most));
    for (const form of ['f16', 'q8_0', 'q4_0'])
      assert.ok((await greedy(join(folder, `stories-1m-${form}.gguf`), 'One day, Lily')).length > 20, form);
  });
}

test('a model that GGUF has no architecture for is written as a folder only', { skip }, async () => {
  const text = await train('own', ['steps=30', ...tiny, 'norm_placement=post', 'ffn=relu']);
  assert.match(text, /no architecture of GGUF computes what this model does/);
  assert.equal(JSON.parse(readFileSync(join(workFolder, 'own/config.json'), 'utf8')).model_type, 'glassformer');
  assert.ok((await greedy(`${join(workFolder, 'own')}/`, 'One day')).length > 10);
});

test('a run that is interrupted and continued writes the same bytes as an uninterrupted one', { skip }, async () => {
  const settings = [
    'steps=400',
    ...tiny,
    'dropout=0.1',
    'average=0.99',
    'checkpoint_every=0',
    'validate_every=7',
    '--valid',
    join(top, 'tests/golden/text/stories.txt'),
  ];
  await train('whole', settings);
  let interrupted = false;
  const first = await train('halves', settings, (child) => {
    if (!interrupted) interrupted = child.kill('SIGINT');
  });
  assert.doesNotMatch(first, /step 400\/400/);
  const second = await train('halves', settings);
  assert.match(second, /going on after step \d+/);
  for (const name of ['checkpoint', 'loss.csv', 'loss.svg', 'model.safetensors', 'stories-1m-q8_0.gguf']) {
    assert.ok(
      readFileSync(join(workFolder, 'whole', name)).equals(readFileSync(join(workFolder, 'halves', name))),
      name,
    );
  }
});

test('without arguments it prints every key of a recipe', { skip }, () => {
  const { status, stdout } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  assert.equal(status, 2);
  for (const line of readFileSync(join(top, 'weights/dates/dates.recipe'), 'utf8').split('\n')) {
    const key = /^\w+/.exec(line)?.[0];
    if (key) assert.match(stdout, new RegExp(`\\b${key}\\b`));
  }
  assert.match(stdout, /position: none, sinusoidal, learned, rope, alibi\n[^]* {2}muon_lr = 0\.02\n/);
});

test("training follows a teacher's predictions, and a teacher that does not fit is refused", { skip }, async () => {
  const recipe = (name, settings) => {
    writeFileSync(join(workFolder, `${name}.recipe`), [`name = ${name}`, ...settings].join('\n'));
    return join(workFolder, `${name}.recipe`);
  };
  const small = tiny.map((line) => line.replace('n_layers=2', 'n_layers=1'));
  await train('teacher', ['steps=80'], undefined, recipe('large', tiny));
  await train('older', ['steps=40', 'seed=2'], undefined, recipe('large', tiny));
  const pupil = recipe('small', [...small, 'teacher = large.recipe', 'teacher_share = 1']),
    from = join(workFolder, 'teacher/large-f32.gguf');
  await train('alone', ['steps=30'], undefined, pupil);
  await train('taught', ['steps=30', '--teacher', from], undefined, pupil);
  await train('half', ['steps=30', '--teacher', from, 'teacher_share=0.5'], undefined, pupil);
  await train('twice', ['steps=30', '--teacher', from, '--teacher', from], undefined, pupil);
  await train(
    'two',
    ['steps=30', '--teacher', from, '--teacher', join(workFolder, 'older/large-f32.gguf')],
    undefined,
    pupil,
  );
  await train('unheard', ['steps=30', '--teacher', from, 'teacher_share=0'], undefined, pupil);
  const [alone, taught, half, unheard, twice, two] = ['alone', 'taught', 'half', 'unheard', 'twice', 'two'].map(
    (name) => losses(join(workFolder, name, 'loss.csv')),
  );
  assert.deepEqual(unheard, alone);
  assert.equal(taught[0], alone[0]); // the reported loss is that of the true tokens
  assert.ok(
    taught.every((loss, i) => i === 0 || loss !== alone[i]) && half.every((loss, i) => i === 0 || loss !== taught[i]),
  );
  assert.ok(
    twice.every((loss, i) => Math.abs(loss - taught[i]) < 1e-3) &&
      two.every((loss, i) => i === 0 || loss !== taught[i]),
  );
  // the package has the same losses; OpenBLAS adds in another order
  const teacher = await load(from);
  const numbers = tiny.map((line) => line.split('=')).filter(([key]) => /^(d_|n_|context)/.test(key));
  const run = trainInPackage(
    { ...Object.fromEntries(numbers.map(([key, value]) => [key, Number(value)])), n_layers: 1 },
    readFileSync(join(workFolder, 'half/synthetic.txt')),
    { steps: 30, batchTokens: 256, microTokens: 128, teacher, teacherShare: 0.5 },
  );
  for await (const { step, loss } of run)
    assert.ok(Math.abs(loss - half[step - 1]) < 1e-4, `step ${step}: ${loss}, natively ${half[step - 1]}`);
  await run.dispose();
  teacher.dispose();
  for (const list of [taught, half, two]) assert.ok(list[29] < 0.8 * list[0], `${list[0]} to ${list[29]}`);

  await assert.rejects(
    train('wrong', ['steps=1', '--teacher', join(workFolder, 'alone/small-f32.gguf')], undefined, pupil),
    /small-f32\.gguf: n_layers is 1, the recipe has 2/,
  );
  await assert.rejects(
    train('wrong', ['steps=1', ...Array(5).fill(['--teacher', from]).flat()], undefined, pupil),
    /more than 4 teachers/,
  );
  await assert.rejects(
    train('wrong', ['steps=1', '--teacher', from], undefined, recipe('plain', small)),
    /the recipe does not say which recipe made it/,
  );
  recipe(
    'large',
    tiny.map((line) =>
      line.replace('context_length=64', 'context_length=32').replace('micro_tokens=128', 'micro_tokens=64'),
    ),
  );
  await assert.rejects(
    train('wrong', ['steps=1', '--teacher', from], undefined, pupil),
    /large-f32\.gguf: context_length is 64, the recipe has 32/,
  );
});

test('a folder continues one run: other data or options are refused, --from is ignored', { skip }, async () => {
  const corpus = (name, text) => {
    writeFileSync(join(workFolder, name), text);
    return ['data_sha256=', '--data', join(workFolder, name)];
  };
  const cats = corpus('cats.txt', 'The cat sat on the mat.\n<|endoftext|>\n'.repeat(40)),
    dogs = corpus('dogs.txt', 'The dog ran in the fog.\n<|endoftext|>\n'.repeat(40));
  await assert.rejects(
    train('one', [...tiny, ...corpus('none.txt', ' \n')]),
    /none\.txt: there is no text to learn from/,
  );
  // the next run used the vocabulary that a failed start had left
  assert.ok(!existsSync(join(workFolder, 'one/tokenizer.json')));
  await assert.rejects(
    train('one', [...tiny, ...cats, '--valid', join(workFolder, 'none.txt')]),
    /none\.txt: there is no text/,
  );
  await train('one', [...tiny, ...cats, 'steps=3']);
  await assert.rejects(train('one', [...tiny, ...dogs, 'steps=6']), /checkpoint: the checkpoint belongs to other data/);
  await assert.rejects(
    train('one', [...tiny, ...cats, 'steps=6', 'average=0.9']),
    /the checkpoint was made without average = /,
  );
  const text = await train('one', [...tiny, ...cats, 'steps=6', '--from', join(workFolder, 'one/stories-1m-f32.gguf')]);
  assert.match(text, /going on after step 3 of .*one, not from the file of --from\n/);
  await assert.rejects(
    train('two', [...tiny, ...dogs, 'steps=6', '--from', join(workFolder, 'one/stories-1m-f32.gguf')]),
    /stories-1m-f32\.gguf: (its vocabulary or its weights are not|the file has \d+ bytes, the weights of this recipe)/,
  );
});

test('pairs: targets are kept whole for any length, and bits per byte count the target only', { skip }, async () => {
  const line = (i) => `${'x'.repeat(205)}${i}\t${String(i).repeat(300)}\n`;
  writeFileSync(
    join(workFolder, 'pairs.txt'),
    Array.from({ length: 10 }, (_, i) => line(i))
      .join('')
      .repeat(5),
  );
  const text = await train('pairs', [
    ...tiny,
    'task=pairs',
    'data_sha256=',
    '--data',
    join(workFolder, 'pairs.txt'),
    '--valid',
    join(workFolder, 'pairs.txt'),
    'kind=encoder_decoder',
    'n_encoder_layers=1',
    'context_length=224',
    'vocab_size=320',
    'micro_tokens=1024',
    'batch_tokens=2048',
    'lr=0.01',
    'steps=120',
  ]);
  assert.match(text, /\n50 of 50 exact/);
  const [, nats, bits] = /validation ([\d.]+) nats, ([\d.]+) bits/.exec(text) ?? [];
  const tokens = JSON.parse(readFileSync(join(workFolder, 'pairs/tokenizer.json'), 'utf8'));
  assert.ok(tokens && Number(nats) < 0.1 && Number(bits) < Number(nats), `${nats}, ${bits}`);
  await assert.rejects(
    train('wrong', [
      ...tiny,
      'task=pairs',
      'groups=stories.groups',
      '--data',
      join(workFolder, 'pairs.txt'),
      'data_sha256=',
    ]),
    /groups = replaces words of stories/,
  );
});

test('an interrupt while the finished model is written and evaluated ends the program', { skip }, async () => {
  writeFileSync(
    join(workFolder, 'long.txt'),
    'The cat sat on the mat and looked at the dog.\n<|endoftext|>\n'.repeat(8000),
  );
  const waits = train(
    'measured',
    [...tiny, 'steps=1', 'validate_every=0', '--valid', join(workFolder, 'long.txt')],
    (child, text) => {
      if (/^f32: /m.test(text)) child.kill('SIGTERM'); // evaluated, first of four
    },
  );
  await assert.rejects(waits);
  assert.ok(existsSync(join(workFolder, 'measured/model.safetensors')));
  assert.ok(!existsSync(join(workFolder, 'measured/stories-1m-f32.gguf')));
});

test('wrong recipe keys, values and corpora are refused', { skip }, async () => {
  await assert.rejects(
    train('wrong', [...tiny, `data_sha256=${'0'.repeat(64)}`, '--data', join(top, 'package.json')]),
    /has SHA-256 [0-9a-f]{64}/,
  );
  await assert.rejects(train('wrong', ['d_modle=3']), /a recipe has no key d_modle/);
  await assert.rejects(train('wrong', ['name=a/b']), /name: a\/b: it names files/);
  await assert.rejects(train('wrong', ['beta1=1']), /beta1: out of range/);
  await assert.rejects(train('wrong', ['eps=0']), /eps: out of range/); // weights without a gradient became NaN
  await assert.rejects(train('wrong', ['--threads', 'two']), /--threads is two, expected 1 to 64/);
  await assert.rejects(train('wrong', ['n_layers=0']), /n_layers is 0/);
  await assert.rejects(train('wrong', [...tiny, 'batch_tokens=32']), /passes of 32 rows do not hold a context of 64/);
});
