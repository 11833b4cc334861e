// exits.test.js - a program of Node ends when nothing is pending, though it disposed of nothing
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { PATIENCE } from '../patience.js';
import { stories } from './helpers.js';

/** What a program prints that uses the package and then ends by itself. */
async function printed(program) {
  const library = new URL('../../web/lib/api/index.js', import.meta.url).href;
  const code = `import { load, train } from '${library}'; ${program}`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', code],
    { timeout: PATIENCE },
  );
  return stdout;
}

for (const threads of [1, 2])
  test(`with a model in a worker, threads: ${threads}`, async () =>
    assert.equal(
      await printed(`
        const model = await load(${JSON.stringify(stories)}, { worker: true, threads: ${threads} });
        const { logits } = await model.forward('Once upon a time');
        const session = await model.session();
        await session.eval('Once');
        for await (const { position } of model.generate('Once', { maxTokens: 3 })) if (position > 2) break;
        console.log(logits.shape.length);`),
      '2\n',
    ));

test('with a model in the calling thread', async () =>
  assert.equal(
    await printed(`
      const model = await load(${JSON.stringify(stories)}, { worker: false, threads: 2 });
      console.log((await model.forward('Once upon a time')).logits.shape.length);`),
    '2\n',
  ));

test('with a finished training', async () =>
  assert.equal(
    await printed(`
      const sizes = { d_model: 16, n_layers: 1, n_heads: 2, d_ff: 32, context_length: 32 };
      const run = train(sizes, 'A cat sat. '.repeat(200), { steps: 2, vocabSize: 270, batchTokens: 64 });
      for await (const { step } of run) console.log(step);`),
    '1\n2\n',
  ));
