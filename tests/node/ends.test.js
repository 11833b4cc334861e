// ends.test.js - a worker that ends unexpectedly, or an engine that traps: every pending call rejects, and a new model
// works
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import { create, depth, load, train } from '../../web/lib/api/index.js';
import { until } from '../patience.js';
import { collect, numbers, refused, stories, untilEnd } from './helpers.js';
import { crippled } from './wasm_file.js';

// ---- ways to end

// The library starts its threads with the Worker of node:worker_threads, which is replaced here: the tests can
// terminate these threads, and run code in them before the package's. A silent thread still computes, but of its
// messages only that of a trap is delivered: what is pending stays pending until the thread ends, however fast it is.
const threads = process.getBuiltinModule('node:worker_threads');
const { Worker } = threads;
let started = [],
  options = {},
  helperOptions = {};
before(() => {
  threads.Worker = class extends Worker {
    constructor(file, given) {
      const { file: other = file, ...more } = started.length ? helperOptions : options; // helpers start last
      super(other, { ...given, ...more });
      this.isSilent = false;
      started.push(this);
    }
    emit(name, ...values) {
      return !(this.isSilent && name === 'message' && !values[0].crash) && super.emit(name, ...values);
    }
  };
});
afterEach(() => {
  started = [];
  options = {};
  helperOptions = {};
});
after(() => {
  threads.Worker = Worker;
});

/** The thread started last, silent from now on. */
const silenced = () => Object.assign(started.at(-1), { isSilent: true });
/** Resolve when the thread with this index has been started. */
const isStarted = (index) => until(() => started.length > index);

/**
 * Options of a worker that runs this code first.
 * @param {string} code
 */
const preface = (code) => ({ execArgv: ['--import', `data:text/javascript,${encodeURIComponent(code)}`] });

const assertGenerates = async (model) =>
  assert.equal((await collect(model.generate([1, 2], { maxTokens: 3, ignoreEos: true }))).steps.length, 3);
const config = { vocab_size: 64, d_model: 64, n_layers: 2, n_heads: 2, context_length: 512 };

/** Everything that waits, and everything that comes, is refused; what frees is not. */
async function assertModelEnded(model, session, pending, code, words) {
  await Promise.all(pending.map((promise) => refused(promise, code, words)));
  for (const call of [
    () => model.encode('a'),
    () => model.forward([1]),
    () => collect(model.generate([1])),
    () => model.points(),
    () => session.eval([1]),
    () => session.rewind(0),
    () => session.fork(),
    () => model.session(),
    () => model.logitLens([1]),
    () => model.weight('embed.weight'),
  ])
    await refused(call(), code, words);
  assert.throws(() => model.memory, { code });
  assert.equal(model.config.nLayers, 2); // properties stay readable
  await session.close();
  model.dispose();
  model.dispose();
  await refused(model.forward([1]), 'bad-state', /disposed/);
}

describe("the engine's worker", () => {
  const begin = async (more) => {
    const model = await create(config, { worker: true, threads: 1, ...more }),
      session = await model.session();
    await session.eval([1, 2, 3]);
    return { model, session };
  };
  const busy = (model, session) => [
    collect(model.generate([1], { ignoreEos: true })),
    model.forward(numbers(400, 64)),
    session.eval([4]),
  ];

  test('a worker that is terminated from outside rejects all calls', async () => {
    const { model, session } = await begin();
    const thread = silenced();
    const pending = busy(model, session);
    await thread.terminate();
    await assertModelEnded(model, session, pending, 'worker', /^the worker failed: it ended with exit code 1$/);
    const again = await begin();
    await assertGenerates(again.model);
    again.model.dispose();
  });

  test('a worker that is terminated between two steps rejects the next step', async () => {
    const { model } = await begin();
    const steps = model.generate([1], { ignoreEos: true });
    await steps.next();
    await started.at(-1).terminate();
    await refused(collect(steps), 'worker', /exit code/);
    await refused(
      steps.next().then(({ done }) => {
        assert.ok(done);
        return model.decode([1]);
      }),
      'worker',
      /exit code/,
    );
    model.dispose();
  });

  test('a worker that is terminated while it loads rejects the load', async () => {
    const loading = load(stories, { worker: true, onProgress: () => void silenced().terminate() }); // at its first report
    await refused(loading, 'worker', /exit code/);
  });

  // Node does not close files that a thread is importing when it is terminated.
  test("an aborted load terminates its worker after the worker's first answer", async () => {
    const { Worker: Kept } = threads,
      reason = new Error('enough');
    for (const when of ['at once', 'later']) {
      const controller = new AbortController(),
        ends = [];
      let exited = false;
      threads.Worker = class extends Kept {
        constructor(...args) {
          super(...args);
          let said = 'before its answer';
          this.once('message', () => {
            said = 'after its answer';
          });
          this.end = () => {
            ends.push(said);
            return super.terminate();
          };
          this.once('exit', () => {
            exited = true;
          });
          if (when === 'at once') controller.abort(reason);
          else queueMicrotask(() => controller.abort(reason));
        }
        terminate() {
          return this.end();
        }
      };
      try {
        await assert.rejects(load(stories, { worker: true, threads: 1, signal: controller.signal }), reason);
      } finally {
        threads.Worker = Kept;
      }
      await until(() => exited, when);
      assert.deepEqual(ends, ['after its answer'], when);
    }
  });

  test('a worker that runs out of memory rejects all calls', async () => {
    options = { resourceLimits: { maxOldGenerationSizeMb: 24 } };
    const model = await load(stories, { worker: true });
    const pending = [model.encode('all the words of the world '.repeat(100_000)), model.forward([1, 2])];
    await Promise.all(pending.map((promise) => refused(promise, 'worker', /memory/)));
    model.dispose();
    options = {};
    const again = await untilEnd(load(stories, { worker: true }));
    await assertGenerates(again);
  });

  test('an uncaught error in the worker rejects all calls', async () => {
    options = preface(`
      const { parentPort } = process.getBuiltinModule('node:worker_threads'), { on } = parentPort;
      parentPort.on = (name, hear) => on.call(parentPort, name, (message) => { if (message.method === 'decode') throw new Error('of its own'); hear(message); });`);
    const { model, session } = await begin();
    await refused(model.decode([1]), 'worker', /of its own/);
    await assertModelEnded(model, session, [], 'worker', /of its own/);
  });

  test('a trap in the worker rejects all calls', async () => {
    const { model, session } = await begin({ wasm: crippled('simd', 'gf_session_sample') });
    await model.forward([1]); // does not sample
    silenced();
    await assertModelEnded(
      model,
      session,
      [collect(model.generate([1])), model.forward(numbers(400, 64))],
      'crashed',
      /engine crashed.*unreachable/,
    );
  });

  test("a trap in the caller's own thread rejects all calls", async () => {
    const { model, session } = await begin({ wasm: crippled('simd', 'gf_session_sample'), worker: false });
    const other = model.generate([1, 2]);
    await assertModelEnded(
      model,
      session,
      [collect(model.generate([1])), other.next()],
      'crashed',
      /engine crashed.*unreachable/,
    );
    await assertGenerates((await begin({ worker: false })).model);
  });

  test('a trap during loading rejects the load', async () => {
    const bad = crippled('simd', 'gf_tensor_write');
    for (const worker of [true, false]) await refused(load(stories, { worker, wasm: bad }), 'crashed', /unreachable/);
  });
});

describe('helper threads', () => {
  const wide = { ...config, d_model: 256, n_layers: 2 };
  const helped = { worker: true, threads: 2 };
  /**
   * Run passes until the model fails, for at most `ms`.
   * @param {object} more
   * @param {number} [ms]
   */
  const forwardFor = async (more, ms = 240_000) => {
    const model = await create(wide, { ...helped, ...more });
    assert.match(model.backend, /, 2 threads$/);
    try {
      for (const until = Date.now() + ms; Date.now() < until;) await model.forward(numbers(100, 64));
    } finally {
      model.dispose();
    }
  };

  test('a trap in one helper ends the model instead of waiting for its tile', async () => {
    await refused(forwardFor({ wasm: crippled('simd-threads', 'gf_pool_worker') }), 'crashed', /unreachable/);
  });

  test('a helper that ends after it has joined ends the model', async () => {
    helperOptions = preface(
      'WebAssembly.Instance = class { exports = { __stack_pointer: {}, gf_pool_worker: () => process.exit(3) }; };',
    );
    await refused(forwardFor({}), 'worker', /one of its helper threads ended/);
  });

  test('a helper that cannot start does not stop the model', async () => {
    // ends before it has joined; is refused with an exception
    for (const file of [new URL('file:///nowhere.js'), 'no path']) {
      helperOptions = { file };
      await forwardFor({}, 500);
      started = [];
    }
  });

  test('a failed load reports its own cause, also when helpers were running', async () => {
    const bytes = readFileSync(stories),
      cut = bytes.subarray(0, bytes.length - 1000);
    const fetch = async () => new Response(new Blob([cut]).stream()); // of unknown length
    for (let i = 0; i < 5; i++)
      await refused(load('https://files.test/model.gguf', { ...helped, fetch }), 'truncated', /the file ends/);
  });
});

describe("the trainer's worker", () => {
  const text = readFileSync(new URL('../golden/text/stories.txt', import.meta.url), 'utf8');
  const begin = async () => {
    const run = train({ d_model: 32, n_layers: 1, n_heads: 2 }, text, { vocabSize: 300 });
    await run.next();
    return run;
  };
  const assertRunEnded = async (run, pending, code, words) => {
    await Promise.all(pending.map((promise) => refused(promise, code, words)));
    // steps that the worker has reported are given first
    const rest = async () => {
      while (!(await run.next()).done);
    };
    for (const call of [rest, () => run.files(), () => run.checkpoint(), () => run.model()])
      await refused(call(), code, words);
    assert.equal(run.config.dModel, 32);
    await run.return();
    await run.dispose();
    await refused(run.next(), 'bad-state', /disposed/);
  };

  test('a worker that is terminated from outside fails training; a new run works', async () => {
    const run = await begin();
    const thread = silenced();
    const pending = [run.checkpoint(), run.files()];
    await thread.terminate();
    await assertRunEnded(run, pending, 'worker', /^the worker failed: it ended with exit code 1$/);
    await (await begin()).dispose();
  });

  test('a worker that is terminated before it starts rejects the run', async () => {
    const run = untilEnd(train({ d_model: 32, n_layers: 1, n_heads: 2 }, text)),
      first = run.next();
    await isStarted(0);
    await silenced().terminate();
    await refused(first, 'worker', /exit code/);
  });

  const bad = (name) =>
    preface(`
    const bytes = Uint8Array.from(atob('${Buffer.from(crippled('train', name)).toString('base64')}'), (c) => c.charCodeAt(0));
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = (_, imports) => instantiate.call(WebAssembly, new WebAssembly.Module(bytes), imports);`);

  test('a trap in the trainer fails the run', async () => {
    options = bad('gf_train_validate');
    const run = train({ d_model: 32, n_layers: 1, n_heads: 2 }, text, {
      vocabSize: 300,
      validation: 0.1,
      validateEvery: 5,
    });
    await refused(collect(run), 'crashed', /engine crashed.*unreachable/);
    await assertRunEnded(run, [], 'crashed', /engine crashed.*unreachable/);
  });

  test('a worker that ends during depth() rejects the call', async () => {
    options = bad('gf_train_depth');
    await refused(depth({ n_layers: 2, d_model: 16, n_heads: 2 }), 'crashed', /unreachable/);
    options = {};
    const measuring = depth({ n_layers: 40, d_model: 64, n_heads: 2 }, { tokens: 4096 });
    await isStarted(1);
    await silenced().terminate();
    await refused(measuring, 'worker', /exit code/);
  });
});
