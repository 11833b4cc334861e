// training_threads.test.js - training with several threads: the results of one, and no thread that outlives its run
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { create, train } from '../../web/lib/api/index.js';
import { PATIENCE } from '../patience.js';
import { classic, small, text, tiny, trained } from './small_runs.js';

const threadsOfNode = process.getBuiltinModule('node:worker_threads');

/** The number of threads that a call starts. */
async function threadsOf(call) {
  const { Worker } = threadsOfNode;
  let started = 0;
  threadsOfNode.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      started++;
    }
  };
  try {
    await call();
    return started;
  } finally {
    threadsOfNode.Worker = Worker;
  }
}

describe('threads', () => {
  const examples = Array.from({ length: 64 }, (_, i) => Array.from({ length: 8 + (i % 9) }, (_, k) => (i * k) % 50));
  const pairs = Array.from({ length: 40 }, (_, i) => `${i} and one\t${i + 1}`).join('\n');
  for (const [name, config, data, options] of [
    ['stories', tiny, text, { ...small, validation: 0.1, validateEvery: 3 }],
    ['pairs', { ...classic, kind: 'encoder_decoder' }, pairs, { ...small, vocabSize: 257 }],
    ['examples', { ...tiny, vocab_size: 50 }, { examples }, { batchTokens: 300, dropout: 0.1 }],
    ['one pass a step', tiny, text, { ...small, batchTokens: 64, average: 0.9 }],
  ])
    test(`${name}: two and three threads give the steps, files and checkpoint of one`, async () => {
      const results = [];
      for (const threads of [1, 2, 3])
        results.push(
          await trained(config, data, { ...options, steps: 6, threads }, async (run, all) => ({
            steps: all.map(({ tokensPerSecond: _, ...step }) => step),
            files: await run.files(),
            checkpoint: await run.checkpoint(),
          })),
        );
      const [one, ...others] = results;
      for (const other of others) assert.deepEqual(other, one);
    });

  test('an adapter: two threads give the steps and files of one', async () => {
    const model = await create({ ...tiny, vocab_size: 50 });
    const results = [];
    for (const threads of [1, 2])
      results.push(
        await trained(
          model,
          { examples },
          { lora: { rank: 2 }, batchTokens: 300, steps: 4, threads },
          async (run, all) => ({
            losses: all.map(({ loss, norm }) => [loss, norm]),
            files: await run.files(),
          }),
        ),
      );
    model.dispose();
    assert.deepEqual(results[1], results[0]);
  });

  test('a run starts as many helpers as can share a step', async () => {
    for (const [threads, started] of [
      [1, 1],
      [2, 2],
      [3, 2],
    ])
      assert.equal(await threadsOf(() => trained(tiny, text, { ...small, steps: 1, threads }, () => {})), started);
  });

  test('a number out of range is refused as by load', async () => {
    for (const threads of [0, 65, 1.5])
      await assert.rejects(train(tiny, text, { threads }).next(), { code: 'bad-option', message: /^threads is / });
  });

  test('the helpers of runs that were aborted, that failed and that were left end with the program', () => {
    const program = `
      import { train } from ${JSON.stringify(String(new URL('../../web/lib/api/index.js', import.meta.url)))};
      const config = ${JSON.stringify(tiny)}, data = ${JSON.stringify(text.slice(0, 4000))};
      const start = (options) => train(config, data, { vocabSize: 257, batchTokens: 128, threads: 2, ...options });
      const controller = new AbortController();
      const aborted = start({ steps: 1e6, signal: controller.signal });
      await aborted.next();
      controller.abort();
      const failing = start({ lr: 1, weightDecay: 10, clip: 0, warmup: 0, muon: false, steps: 1e4 });
      let code = '';
      try { for await (const _ of failing); } catch (error) { code = error.code; }
      const left = start({ steps: 1e6 });
      await left.next();
      console.log(code);
    `;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      timeout: PATIENCE,
      encoding: 'utf8',
    });
    assert.equal(out.trim(), 'not-finite');
  });
});
