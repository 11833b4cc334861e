// lifecycle.test.js - models, sessions, workers and training runs free everything they used, and a model that was
// loaded before still generates the same text
//
// The counts are small; LIFECYCLE=full node --test tests/node/lifecycle.test.js uses large ones (about half an hour)
// and prints a table. Leftovers are counted after a garbage collection: linear memory, sessions, threads, ports and
// other handles of the process, open files, bytes of the heap and of buffers. The moment of an abort is random; the
// test passes whether it came before or after the end.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create, depth, load, train } from '../../web/lib/api/index.js';
import { Random } from '../fuzz/mutate.js';
import { sleep, until } from '../patience.js';
import { collect, numbers, refused, serve, top, untilEnd } from './helpers.js';
import { limited } from './wasm_file.js';

const full = process.env.LIFECYCLE === 'full';
/**
 * @param {number} few
 * @param {number} many
 */
const count = (few, many) => (full ? many : few);

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const stories = join(top, 'weights/stories-1m.gguf');
const small = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 512 };
const text = readFileSync(new URL('../golden/text/stories.txt', import.meta.url), 'utf8');
const REASON = new Error('enough');
/** Open files of this process, on Linux. */
const FILES = '/proc/self/fd';

/** A model that was there before, in each place, and what it writes. */
let old;
/** @param {any} model */
const generatedText = async (model) =>
  (await collect(model.generate('Once upon a time', { maxTokens: 12, seed: 7 }))).text;
before(async () => {
  old = await Promise.all(
    [false, true].map(async (worker) => {
      const model = await load(stories, { worker, threads: 1 });
      return { model, text: await generatedText(model) };
    }),
  );
  // files that the package loads on demand have been loaded
  await (await create(small, { worker: true, threads: 1 })).dispose();
  for await (const step of train({ d_model: 16, n_layers: 1, n_heads: 2 }, text, { steps: 1, vocabSize: 257 }))
    assert.ok(step);
});
const rows = [];
after(() => {
  for (const { model } of old) model.dispose();
  if (full)
    console.log(
      ['case', 'count', 'ended as', 'heap + buffers', 'resident', 'handles', 'open files'].join(' | '),
      `\n${rows.join('\n')}`,
    );
});
const same = async () => {
  for (const { model, text: want } of old) assert.equal(await generatedText(model), want);
};

/** What the process holds, once nothing is under way. */
async function held() {
  for (let i = 0; i < 2; i++) {
    gc();
    await sleep(20);
  }
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  const handles = process
    .getActiveResourcesInfo()
    .filter((name) => !/Timeout|Immediate|TTYWrap|PipeWrap|CloseReq|TickObject/.test(name)).length;
  return {
    bytes: heapUsed + external + arrayBuffers,
    rss,
    handles,
    files: existsSync(FILES) ? readdirSync(FILES).length : 0,
  };
}

/**
 * Wait until the process holds no more than this: terminated workers, and a compilation for a load that was aborted,
 * need a moment to end.
 * @param {string} name
 * @param {Omit<Awaited<ReturnType<typeof held>>, 'rss'>} most
 */
async function settled(name, most) {
  let now;
  await until(
    async () => {
      now = await held();
      return now.handles <= most.handles && now.files <= most.files && now.bytes < most.bytes;
    },
    () => `${name}: ${JSON.stringify(now)} settle to ${JSON.stringify(most)}: ${process.getActiveResourcesInfo()}`,
  );
  return now;
}

/**
 * Repeat something and assert that nothing is left of it.
 * @param {string} name @param {number} times
 * @param {(i: number) => Promise<string | void>} run  a word for how it ended
 * @param {number} [each]  bytes that a time may leave behind: what the platform keeps of a thread
 * @param {number} [files] that may stay open: those that a thread of Node was reading when it was killed, which Node
 *   never closes
 */
async function repeated(name, times, run, each = 20_000, files = 0) {
  const ended = {};
  const warm = Math.ceil(times / 5);
  let from;
  for (let i = 0; i < times; i++) {
    if (i === warm) from = await held();
    const how = (await run(i)) ?? 'done';
    ended[how] = (ended[how] ?? 0) + 1;
  }
  from ??= await held();
  const now = await settled(name, {
      handles: from.handles,
      files: from.files + files,
      bytes: from.bytes + 2 ** 22 + each * (times - warm),
    }),
    grown = now.bytes - from.bytes,
    resident = now.rss - from.rss;
  const mib = (n) => `${n < 0 ? '' : '+'}${(n / 2 ** 20).toFixed(1)} MiB`;
  rows.push(
    [
      name,
      times,
      Object.entries(ended)
        .map(([how, n]) => `${how} ${n}`)
        .join(', '),
      mib(grown),
      mib(resident),
      `${from.handles} → ${now.handles}`,
      `${from.files} → ${now.files}`,
    ].join(' | '),
  );
  if (full) assert.ok(resident < 2 ** 27, `${name}: ${resident} bytes more are resident after ${times - warm} times`);
  await same();
  return ended;
}

/**
 * Wait until no session has bytes: stopped calls end later.
 * @param {any} model
 */
const sessionsAreFreed = (model) =>
  until(async () => {
    await model.points();
    return !model.memory.regions.find((region) => region.name === 'kv cache').bytes;
  }, 'no bytes in sessions');

for (const worker of [false, true]) {
  const where = worker ? 'in a worker' : 'in this thread';

  describe(`models, ${where}`, () => {
    test('leave nothing behind when they are loaded and disposed', async () => {
      await repeated(`load and dispose ${where}`, count(15, 1000), async () => {
        const model = await load(stories, { worker, threads: 1 });
        const { ids } = await collect(model.generate('A', { maxTokens: 2 }));
        assert.equal(ids.length, 2);
        model.dispose();
      });
    });

    test('leave nothing behind when they are disposed during pending calls', async () => {
      await repeated(
        `dispose under way ${where}`,
        count(10, 100),
        async (i) => {
          const model = await load(stories, { worker, threads: 1 }),
            session = await model.session();
          const pending = [
            model.forward(numbers(200, 2048)),
            session.eval(numbers(50, 2048)),
            collect(model.generate('A')),
            model.logitLens('One'),
          ].map((p) =>
            p.then(
              () => 'done',
              (e) => e.code,
            ),
          );
          // The first time all calls end, so that whatever is imported at the first call is not counted later.
          await (i ? sleep(new Random(7, i).below(20)) : Promise.all(pending));
          model.dispose();
          for (const how of await Promise.all(pending)) assert.ok(how === 'done' || how === 'bad-state', how);
        },
        20_000,
        worker ? Infinity : 0,
      ); // in the source tree a worker imports files on demand; the package's worker is one file
    });

    test('free the memory of two hundred forks', async () => {
      const model = await untilEnd(create(small, { seed: 1, worker, threads: 1 })),
        session = await model.session({ capture: ['blocks.0.attn.hook_pattern'] }),
        sizes = [];
      await session.eval([1, 2, 3]);
      await repeated(
        `200 forks ${where}`,
        count(3, 5),
        async () => {
          const forks = [session];
          for (let i = 0; i < 200; i++) forks.push(await forks[i % 7 ? forks.length - 1 : 0].fork());
          for (const fork of forks.slice(1)) await fork.eval([4, 5]);
          await Promise.all(forks.slice(1).map((fork) => fork.close()));
          await model.points();
          sizes.push(model.memory.totalBytes);
        },
        2 ** 21,
      );
      assert.equal(sizes.at(-1), sizes[1], `linear memory grows: ${sizes}`);
      const { logits } = await model.forward([1, 2, 3, 4]);
      assert.deepEqual((await session.eval([4])).slice(), logits.data.slice(-64));
      await session.close();
      await sessionsAreFreed(model);
    });

    test('work again after memory was exhausted and freed', async () => {
      const model = await untilEnd(
          create({ ...small, context_length: 4096 }, { seed: 1, worker, threads: 1, wasm: limited(400) }),
        ),
        want = (await model.forward([1, 2, 3])).logits.data; // 25 MiB of linear memory
      const sizes = [];
      await repeated(
        `memory exhausted ${where}`,
        count(2, 20),
        async () => {
          const sessions = [];
          for (let full = false; !full;) {
            try {
              sessions.push(await model.session());
              await sessions.at(-1).eval(new Array(600).fill(1));
            } catch (error) {
              assert.equal(error.code, 'out-of-memory', error.stack);
              full = true;
            }
          }
          assert.ok(sessions.length > 3, `${sessions.length}`);
          await refused(
            model.forward(new Array(4000).fill(1), { capture: ['*'], captureBudget: 1e10 }),
            'out-of-memory',
          );
          await Promise.all(sessions.map((session) => session.close()));
          await sessionsAreFreed(model);
          assert.deepEqual((await model.forward([1, 2, 3])).logits.data, want);
          sizes.push(model.memory.totalBytes);
        },
        2 ** 20,
      );
      assert.ok(
        sizes.every((size) => size <= 400 * 65536),
        `${sizes}`,
      );
    });
  });

  describe(`aborts at random moments, ${where}`, () => {
    const times = count(6, 100);
    /**
     * @param {number} i
     * @param {number} most ms
     */
    const moment = (i, most) => {
      const controller = new AbortController(),
        ms = (new Random(5, i).below(1000) / 1000) * most;
      const timer = setTimeout(() => controller.abort(REASON), ms);
      return { signal: controller.signal, over: () => clearTimeout(timer) };
    };
    /**
     * @param {number} i
     * @param {number} most
     * @param {(signal: AbortSignal) => Promise<any>} call
     */
    const aborted = async (i, most, call) => {
      const { signal, over } = moment(i, most);
      try {
        await call(signal);
        return 'completed';
      } catch (error) {
        assert.equal(error, REASON);
        return 'aborted';
      } finally {
        over();
      }
    };

    test('of a download leave nothing behind', async () => {
      const bytes = readFileSync(stories);
      const server = await serve((request, response) => {
        response.writeHead(200, { 'content-length': bytes.length });
        let at = 0;
        const more = () => {
          if (response.destroyed) return;
          response.write(bytes.subarray(at, (at += 1 << 17)));
          if (at < bytes.length) setTimeout(more, 1);
          else response.end();
        };
        more();
      });
      try {
        await repeated(
          `abort a download ${where}`,
          times,
          async (i) =>
            aborted(i, 60, async (signal) =>
              (await load(`${server.url}model.gguf`, { worker, threads: 1, signal })).dispose(),
            ),
          2 ** 18,
        );
      } finally {
        server.close();
      }
    });
    test('of compiling and loading leave nothing behind', async () => {
      const binary = readFileSync(new URL('../../web/lib/api/wasm/glassformer-simd.wasm', import.meta.url));
      await repeated(`abort compile and load ${where}`, times, async (i) =>
        aborted(i, worker ? 150 : 40, async (signal) =>
          (await load(stories, { worker, threads: 1, signal, wasm: Uint8Array.from(binary) })).dispose(),
        ),
      );
    });
    test('of prefill, generation and capture leave nothing behind', async () => {
      const { model } = old[Number(worker)],
        ids = numbers(200, 2048);
      await repeated(
        `abort prefill ${where}`,
        times,
        async (i) => aborted(i, 40, (signal) => model.forward(ids, { signal })),
        2 ** 18,
      );
      await repeated(
        `abort decode ${where}`,
        times,
        async (i) => aborted(i, 60, (signal) => collect(model.generate('One', { ignoreEos: true, seed: i, signal }))),
        2 ** 16,
      );
      await repeated(
        `abort a batch and beams ${where}`,
        times,
        async (i) =>
          aborted(i, 60, (signal) =>
            collect(
              model.generate(i % 2 ? ['One', 'Two', 'A'] : 'One', {
                maxTokens: 60,
                ...(i % 2 ? {} : { beams: 4 }),
                signal,
              }),
            ),
          ),
        2 ** 16,
      );
      await repeated(
        `abort a capture ${where}`,
        times,
        async (i) => aborted(i, 60, (signal) => model.forward(ids, { capture: ['*'], signal })),
        2 ** 18,
      );
      await repeated(
        `abort lens, trace, session ${where}`,
        times,
        async (i) =>
          aborted(i, 60, async (signal) => {
            if (i % 3 === 0) return model.logitLens(ids, { signal });
            if (i % 3 === 1) return model.trace(ids, { signal });
            const session = await model.session({ signal });
            try {
              await session.eval(ids, { signal });
            } finally {
              await session.close();
            }
          }),
        2 ** 18,
      );
      await sessionsAreFreed(model);
    });
    test('breaking out of a generation leaves nothing behind', async () => {
      const { model } = old[Number(worker)];
      await repeated(
        `break out of a text ${where}`,
        times,
        async (i) => {
          let left = 1 + (i % 5);
          for await (const step of model.generate('One', { ignoreEos: true, seed: i }))
            if (!--left) return `after ${step.position > 0 ? 'steps' : 'none'}`;
        },
        2 ** 16,
      );
      await sessionsAreFreed(model);
    });
    if (worker) {
      test('of training leave nothing behind', async () => {
        await repeated('abort a training', times, async (i) =>
          aborted(i, 250, async (signal) => {
            const run = train({ d_model: 32, n_layers: 1, n_heads: 2 }, text, { steps: 20, vocabSize: 300, signal });
            try {
              await collect(run);
            } finally {
              await run.dispose();
            }
          }),
        );
        await repeated('abort a depth', times, async (i) =>
          aborted(i, 150, (signal) => depth({ n_layers: 4, d_model: 32, n_heads: 2 }, { tokens: 512, signal })),
        );
        await repeated('train and dispose', count(5, 100), async () => {
          const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, text, { steps: 2, vocabSize: 257 });
          await collect(run);
          await run.dispose();
        });
      });
    }
  });
}

describe('workers that are terminated', () => {
  const threads = process.getBuiltinModule('node:worker_threads'),
    { Worker } = threads;
  let started = [];
  before(() => {
    threads.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        started.push(this);
      }
    };
  });
  after(() => {
    threads.Worker = Worker;
  });

  test('at random moments of load, generation and session leave nothing behind', async () => {
    await repeated(
      'kill a worker',
      count(8, 100),
      async (i) => {
        started = [];
        const work = (async () => {
          const model = await load(stories, { worker: true, threads: 1 + (i % 2) });
          try {
            const session = await model.session();
            await session.eval(numbers(40, 2048));
            await collect(model.generate('One', { ignoreEos: true }));
            await session.close();
          } finally {
            model.dispose();
          }
        })().then(
          () => 'completed',
          (error) => error.code,
        );
        await until(() => started.length);
        await sleep(new Random(9, i).below(250));
        await started[0].terminate();
        const how = await work;
        assert.ok(how === 'completed' || how === 'worker', how);
        return how;
      },
      20_000,
      Infinity,
    );
  });
  test('at random moments of training leave nothing behind', async () => {
    await repeated(
      'kill a trainer',
      count(5, 50),
      async (i) => {
        started = [];
        const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, text, { steps: 200, vocabSize: 257 }),
          work = collect(run).then(
            () => 'completed',
            (error) => error.code,
          );
        await until(() => started.length);
        await sleep(new Random(11, i).below(200));
        await started[0].terminate();
        const how = await work;
        await run.dispose();
        assert.ok(how === 'completed' || how === 'worker', how);
        return how;
      },
      20_000,
      Infinity,
    );
  });
});

test('memory that ends at any step is an error; earlier models, and the model itself, stay usable', async () => {
  const first = async (model) => Array.from((await model.forward([1, 2, 3])).logits.data.subarray(0, 50));
  const earlier = await untilEnd(load(stories, { worker: false }));
  const want = await first(earlier);
  const ends = new Set();
  for (let pages = 16, fits = false; !fits; pages += 36) {
    let model;
    try {
      model = await load(stories, { worker: false, wasm: limited(pages), contextLength: 256 });
      await model.forward(new Array(200).fill(5), { capture: ['*'] });
      fits = true;
    } catch ({ code }) {
      assert.equal(code, 'out-of-memory');
      ends.add(model ? 'forward' : 'load');
    }
    for (const each of model ? [model, earlier] : [earlier]) assert.deepEqual(await first(each), want);
    model?.dispose();
  }
  assert.deepEqual([...ends], ['load', 'forward']);
});
