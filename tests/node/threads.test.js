// threads.test.js - one, two and three threads give the same numbers, bit for bit, and leave nothing behind
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { create, load } from '../../web/lib/api/index.js';
import { threadCount } from '../../web/lib/engine/threads.js';
import { PATIENCE, until } from '../patience.js';
import { collect, numbers, sameBits, stories, untilEnd } from './helpers.js';

const library = new URL('../../web/lib/api/index.js', import.meta.url);

/** A thread's line in the list of the system; null once it has ended. @param {string} id */
function lineOf(id) {
  try {
    return readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
  } catch {
    return null; // also where it ends between the search of its file and the reading
  }
}
/** Threads of this process, by number, with the processor time they took. */
const tasks = () =>
  new Map(
    readdirSync('/proc/self/task').flatMap((id) => {
      const fields = lineOf(id)
        ?.replace(/^.*\) /, '')
        .split(' ');
      return fields ? [[id, Number(fields[11])]] : []; // utime
    }),
  );
const noTasks = !existsSync('/proc/self/task') && "the system does not list a process's threads";

// Wide enough that every matrix has several tiles, with a partial tile where there can be one.
const config = {
  model_type: 'llama',
  hidden_size: 256,
  intermediate_size: 704,
  num_hidden_layers: 2,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  vocab_size: 1000,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  tie_word_embeddings: true,
};

describe('the number of threads does not change any value', () => {
  // products of weights and attention over the cache are split among threads independently of each other
  const pairs = [
    ['f32', 'f32'],
    ['f16', 'f16'],
    ['q8_0', 'q8_0'],
    ['q4_0', 'f16'],
    ['f32', 'q8_0'],
    ['q8_0', 'f32'],
  ];
  for (const [dtype, kvDtype] of pairs) {
    test(`weights in ${dtype}, cache in ${kvDtype}`, async () => {
      const ids = numbers(70, config.vocab_size);
      let first;
      for (const threads of [1, 2, 3]) {
        const model = await create(config, { seed: 3, dtype, kvDtype, worker: true, threads });
        try {
          assert.match(model.backend, threads === 1 ? /, one thread$/ : new RegExp(`, ${threads} threads$`));
          for (let i = 0; i < (threads === 1 ? 1 : 3); i++) {
            // helpers join once they have started, so the first passes run without them
            const { logits, captured } = await model.forward(ids, { capture: ['*'] });
            const { steps } = await collect(model.generate(ids.slice(0, 9), { maxTokens: 12, seed: 5 }));
            const seen = { logits, captured, drawn: steps.map(({ id, logprob }) => [id, logprob]) };
            first ??= seen;
            assert.ok(sameBits(seen.logits.data, first.logits.data), `logits of ${threads} threads`);
            for (const [name, t] of Object.entries(first.captured))
              assert.ok(sameBits(seen.captured[name].data, t.data), `${name} of ${threads} threads`);
            assert.deepEqual(seen.drawn, first.drawn);
          }
        } finally {
          model.dispose();
        }
      }
    });
  }
});

// One helper: of more threads than free cores, one may never be there while there is work. Long passes: beside other
// work helpers are left out after some.
test('a helper thread does part of the work', { skip: noTasks }, async () => {
  const before = tasks();
  const model = await untilEnd(
    create({ ...config, num_hidden_layers: 24 }, { dtype: 'q8_0', worker: true, threads: 2 }),
  );
  const ids = numbers(256, config.vocab_size),
    deadline = Date.now() + 240_000;
  let busy = [];
  while (busy.length < 2 && Date.now() < deadline) {
    await model.forward(ids);
    busy = [...tasks()].filter(([id, ticks]) => !before.has(id) && ticks >= 20);
  }
  assert.ok(busy.length >= 2, `${busy.length} new threads took at least 0.2 s of processor time`);
});

test('small models and one thread start no helpers, and the backend says why', async () => {
  const model = await load(stories, { worker: true });
  assert.match(model.backend, /, one thread: enough for this (?:model|machine)$/);
  model.dispose();
  const here = await untilEnd(load(stories, { threads: 2, worker: false }));
  assert.match(here.backend, /, one thread: it computes in the caller's thread, not in a worker$/);
  assert.deepEqual(here.warnings, [
    "threads: 2 has no effect: one thread computes in the caller's thread, several need { worker: true }",
  ]);
});

// threads: 2 without worker: true computed with one thread, and only `backend` said so
test('in Node several threads start a worker by themselves', async () => {
  const model = await untilEnd(create(config, { seed: 3, threads: 2 }));
  assert.match(model.backend, /, 2 threads$/);
  assert.deepEqual(model.warnings, []);
  const alone = await untilEnd(create(config, { seed: 3 }));
  assert.match(alone.backend, /, one thread: it computes in the caller's thread/);
  const [there, here] = await Promise.all([model, alone].map((m) => m.forward(numbers(70, config.vocab_size))));
  assert.ok(sameBits(there.logits.data, here.logits.data));
});

test('a small model uses one thread on every machine, a larger one as many as the machine allows', () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  try {
    for (const [cores, most] of [
      [1, 1],
      [2, 1],
      [4, 2],
      [8, 4],
      [64, 4],
    ]) {
      Object.defineProperty(globalThis, 'navigator', { value: { hardwareConcurrency: cores }, configurable: true });
      assert.deepEqual([0, 1e6, 4e6 - 1, 4e6, 1e9].map(threadCount), [1, 1, 1, most, most], `${cores} cores`);
    }
  } finally {
    if (before) Object.defineProperty(globalThis, 'navigator', before);
    else delete globalThis.navigator;
  }
});

test('disposing a model ends its helper threads', { skip: noTasks }, async (t) => {
  const threads = process.getBuiltinModule('node:worker_threads'),
    { Worker } = threads;
  let ended = 0;
  threads.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      this.once('exit', () => ended++);
    }
  };
  t.after(() => Object.assign(threads, { Worker }));
  /** How many threads a model starts. Threads of earlier models may be about to end. */
  const round = async () => {
    const earlier = tasks();
    ended = 0;
    const model = await create(config, { dtype: 'q8_0', worker: true, threads: 3 });
    await model.forward([1, 2, 3]);
    const own = [...tasks().keys()].filter((id) => !earlier.has(id));
    model.dispose();
    await until(() => ended === 3);
    return own.length;
  };
  await round();
  const before = tasks().size;
  for (let i = 0; i < 3; i++) assert.ok((await round()) >= 3, 'helpers are threads');
  // the system still lists a thread for a moment after its end
  await until(
    () => tasks().size <= before,
    () => `${tasks().size} threads, ${before} before`,
  );
});

test('a program ends by itself after it has disposed its models during their work', () => {
  const program = `
    import { create } from ${JSON.stringify(library.href)};
    for (let i = 0; i < 2; i++) {
      const model = await create(${JSON.stringify(config)}, { dtype: 'q8_0', worker: true, threads: 3 });
      const steps = model.generate([1, 2, 3], { ignoreEos: true });
      for (let n = 0; n < 5; n++) await steps.next();
      model.dispose();
    }
    console.log('done');`;
  const { status, stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: PATIENCE,
    cwd: fileURLToPath(new URL('.', library)),
  });
  assert.equal(signal, null, 'it did not end');
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'done\n');
});
