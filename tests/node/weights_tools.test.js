// weights_tools.test.js - the tools in weights/: each starts, and two write files that load; shipped files are reproducible
//
// The tools import modules of web/lib, which no other test of them loads: two of these had moved, and grow.js and
// quantize.js ended with ERR_MODULE_NOT_FOUND.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../temporary.js';
import { load } from '../../web/lib/api/index.js';
import { convert } from '../../web/lib/apps/cli/convert.js';

const weights = fileURLToPath(new URL('../../weights/', import.meta.url));
const run = (...args) => spawnSync(process.execPath, args, { cwd: weights, encoding: 'utf8' });

test('each tool of weights/ prints its usage when it gets no arguments', () => {
  // train.js prints that of the trainer: train.test.js
  for (const tool of ['dates/make', 'grow', 'induction', 'make', 'prepare', 'quantize', 'samples']) {
    const { status, stderr } = run(`${tool}.js`);
    assert.equal(status, 2, `${tool}: ${stderr}`);
    assert.match(stderr, new RegExp(`^usage: node weights/${tool}\\.js`));
  }
});

test('quantize.js writes a Q4_0 of a story model that loads and still predicts a story', async () => {
  const folder = temporaryFolder('weights');
  const [text, out] = [join(folder, 'stories.txt'), join(folder, 'q4.gguf')];
  const story = 'Once upon a time, there was a little girl named Lily. She loved to play in the park.';
  writeFileSync(text, `${story}\n<|endoftext|>\nTom had a red ball. He played with it all day.\n`);
  const { status, stderr, stdout } = run('quantize.js', 'stories-1m.gguf', out, '--text', text);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /calibrated on 2 stories/);
  assert.equal(readFileSync(out).length, readFileSync(join(weights, 'stories-1m-q4_0.gguf')).length);
  const losses = [];
  for (const file of [join(weights, 'stories-1m.gguf'), out]) {
    const model = await load(file, { worker: false });
    losses.push((await model.loss(story)).loss);
    model.dispose();
  }
  assert.ok(losses[1] < losses[0] + 0.2, `${losses[1]} nats, as Q8_0 ${losses[0]}`);
});

// Both were written by a trainer that wrote GGUF itself. A value of Q8_0 is rounded to itself.
test('a file of weights/ is written again with the same bytes', async () => {
  const out = join(temporaryFolder('again'), 'again.gguf');
  for (const name of ['stories-1m', 'stories-gpt2']) {
    const file = join(weights, `${name}.gguf`);
    await convert(file, out, { type: 'q8_0', vocabulary: true, name, options: { worker: false } });
    assert.ok(readFileSync(out).equals(readFileSync(file)), name);
  }
});
