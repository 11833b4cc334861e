// ends.test.js - a worker that ends by itself, or an engine that traps: nobody waits for ever, and one can begin again
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import { create, depth, load, train } from '../../web/lib/index.js';
import { collect, numbers, refused, stories } from './helpers.js';

const wasm = (name) => new URL(`../../web/lib/wasm/glassformer-${name}.wasm`, import.meta.url);

// ---- ways to end

// The library starts its threads with this module's Worker, so that they can be held on to, and started with a preface.
const threads = process.getBuiltinModule('node:worker_threads');
const { Worker } = threads;
let started = [],
  options = {};
before(() => {
  threads.Worker = class extends Worker {
    constructor(file, given) {
      super(file, { ...given, ...options });
      started.push(this);
    }
  };
});
afterEach(() => {
  started = [];
  options = {};
});
after(() => {
  threads.Worker = Worker;
});

/**
 * Options of a worker that runs this before anything else.
 * @param {string} code
 */
const preface = (code) => ({ execArgv: ['--import', `data:text/javascript,${encodeURIComponent(code)}`] });

/**
 * The binary with one of its functions replaced by `unreachable`.
 * @param {URL} file
 * @param {string} name of an export
 */
function crippled(file, name) {
  const bytes = Uint8Array.from(readFileSync(file));
  let at = 8;
  const number = () => {
    let n = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      n += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return n;
    }
  };
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes)).filter(
    ({ kind }) => kind === 'function',
  ).length;
  let index = -1;
  while (at < bytes.length) {
    const id = bytes[at++],
      size = number(),
      end = at + size;
    if (id === 7) {
      // exports: name, kind, index
      for (let n = number(); n > 0; n--) {
        const length = number(),
          text = new TextDecoder().decode(bytes.subarray(at, (at += length))),
          kind = bytes[at++],
          i = number();
        if (text === name && kind === 0) index = i;
      }
    } else if (id === 10) {
      // code: bodies by their size
      const count = number();
      for (let i = 0; i < count; i++) {
        const body = number();
        if (i === index - imports) {
          // no locals, unreachable, nop ..., end
          bytes.fill(1, at, at + body);
          bytes.set([0, 0], at);
          bytes[at + body - 1] = 0x0b;
          return bytes;
        }
        at += body;
      }
    }
    at = end;
  }
  return assert.fail(`${name} is not exported`);
}

const writes = async (model) =>
  assert.equal((await collect(model.generate([1, 2], { maxTokens: 3, ignoreEos: true }))).steps.length, 3);
const config = { vocab_size: 64, d_model: 64, n_layers: 2, n_heads: 2, context_length: 512 };

/** Everything that waits, and everything that comes, is refused; what frees is not. */
async function over(model, session, pending, code, words) {
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
  assert.equal(model.config.nLayers, 2); // what is known stays known
  await session.close();
  model.dispose();
  model.dispose();
  await refused(model.forward([1]), code, words);
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

  test('ended from outside', async () => {
    const { model, session } = await begin();
    const pending = busy(model, session);
    await started.at(-1).terminate();
    await over(model, session, pending, 'worker', /^the worker failed: it ended with exit code 1$/);
    const again = await begin();
    await writes(again.model);
    again.model.dispose();
  });

  test('ended while a reader is between two steps', async () => {
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

  test('ended while it loads', async () => {
    const loading = load(stories, { worker: true });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await started.at(-1).terminate();
    await refused(loading, 'worker', /exit code/);
  });

  // Node leaves files open that a thread was importing when it was ended.
  test('not wanted any more before it has answered, it is ended once it has', async () => {
    const { Worker: Kept } = threads,
      reason = new Error('enough');
    for (const when of ['at once', 'later']) {
      const controller = new AbortController(),
        ends = /** @type {string[]} */ ([]);
      let exited = false;
      threads.Worker = class extends Kept {
        constructor(/** @type {any[]} */ ...args) {
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
      for (let i = 0; i < 600 && !exited; i++)
        await new Promise((resolve) => {
          setTimeout(resolve, 50);
        }); // what runs meanwhile keeps the process, the thread does not
      assert.deepEqual([exited, ends], [true, ['after its answer']], when);
    }
  });

  test('out of memory', async () => {
    options = { resourceLimits: { maxOldGenerationSizeMb: 24 } };
    const model = await load(stories, { worker: true });
    const pending = [model.encode('all the words of the world '.repeat(100_000)), model.forward([1, 2])];
    await Promise.all(pending.map((promise) => refused(promise, 'worker', /memory/)));
    model.dispose();
    options = {};
    const again = await load(stories, { worker: true });
    await writes(again);
    again.dispose();
  });

  test('an error that nobody catches', async () => {
    options = preface(`
      const { parentPort } = process.getBuiltinModule('node:worker_threads'), { on } = parentPort;
      parentPort.on = (name, hear) => on.call(parentPort, name, (message) => { if (message.method === 'decode') throw new Error('of its own'); hear(message); });`);
    const { model, session } = await begin();
    await refused(model.decode([1]), 'worker', /of its own/);
    await over(model, session, [], 'worker', /of its own/);
  });

  test('a trap', async () => {
    const { model, session } = await begin({ wasm: crippled(wasm('simd'), 'gf_session_sample') });
    await model.forward([1]); // does not sample
    await over(
      model,
      session,
      [collect(model.generate([1])), model.forward(numbers(400, 64))],
      'crashed',
      /broke off.*unreachable/,
    );
  });

  test("a trap in the caller's own thread", async () => {
    const { model, session } = await begin({ wasm: crippled(wasm('simd'), 'gf_session_sample'), worker: false });
    const other = model.generate([1, 2]);
    await over(model, session, [collect(model.generate([1])), other.next()], 'crashed', /broke off.*unreachable/);
    await writes((await begin({ worker: false })).model);
  });

  test('a trap in the middle of loading', async () => {
    const bad = crippled(wasm('simd'), 'gf_tensor_write');
    for (const worker of [true, false]) await refused(load(stories, { worker, wasm: bad }), 'crashed', /unreachable/);
  });
});

describe('threads that help', () => {
  const wide = { ...config, d_model: 256, n_layers: 2 };
  const helped = { worker: true, threads: 2 };
  /**
   * Passes until the model fails, or for as long.
   * @param {object} more
   * @param {number} [ms]
   */
  const forwardFor = async (more, ms = 30_000) => {
    const model = await create(wide, { ...helped, ...more });
    assert.match(model.backend, /, 2 threads$/);
    try {
      for (const until = Date.now() + ms; Date.now() < until;) await model.forward(numbers(100, 64));
    } finally {
      model.dispose();
    }
  };

  test('a trap in one ends the model, which would wait for its tile', async () => {
    await refused(forwardFor({ wasm: crippled(wasm('simd-threads'), 'gf_pool_worker') }), 'crashed', /unreachable/);
  });

  // In the engine's worker: its own helpers begin with a preface, or another file.
  const inWorker = (change) =>
    preface(`
    const threads = process.getBuiltinModule('node:worker_threads'), { Worker } = threads;
    threads.Worker = class extends Worker { constructor(file, options) { ${change} } };`);

  test('one that ends after it has joined ends the model', async () => {
    const leaves = `WebAssembly.Instance = class { exports = { __stack_pointer: {}, gf_pool_worker: () => process.exit(3) }; };`;
    options = inWorker(
      `super(file, { execArgv: ['--import', 'data:text/javascript,' + ${JSON.stringify(encodeURIComponent(leaves))}] });`,
    );
    await refused(forwardFor({}), 'worker', /one of its helper threads ended/);
  });

  test('one that cannot start is missed by nobody', async () => {
    options = inWorker('super(new URL("file:///nowhere.js"), options);');
    await forwardFor({}, 500);
  });

  test('a load that fails says why, whoever helped', async () => {
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
  const ended = async (run, pending, code, words) => {
    await Promise.all(pending.map((promise) => refused(promise, code, words)));
    for (const call of [() => run.next(), () => run.files(), () => run.checkpoint(), () => run.model()])
      await refused(call(), code, words);
    assert.equal(run.config.dModel, 32);
    await run.return();
    await run.dispose();
    await refused(run.next(), code, words);
  };

  test('ended from outside', async () => {
    const run = await begin();
    for (let queued = 0; queued < 20; queued++) await run.next();
    const pending = [run.checkpoint(), run.files()];
    await started.at(-1).terminate();
    await ended(run, pending, 'worker', /^the worker failed: it ended with exit code 1$/);
    await (await begin()).dispose();
  });

  test('ended before it has begun', async () => {
    const run = train({ d_model: 32, n_layers: 1, n_heads: 2 }, text),
      first = run.next();
    while (!started.length) await new Promise((resolve) => setTimeout(resolve, 1));
    await started.at(-1).terminate();
    await refused(first, 'worker', /exit code/);
    await run.dispose();
  });

  const bad = (name) =>
    preface(`
    const bytes = Uint8Array.from(atob('${Buffer.from(crippled(wasm('train'), name)).toString('base64')}'), (c) => c.charCodeAt(0));
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = (_, imports) => instantiate.call(WebAssembly, new WebAssembly.Module(bytes), imports);`);

  test('a trap', async () => {
    options = bad('gf_train_validate');
    const run = train({ d_model: 32, n_layers: 1, n_heads: 2 }, text, {
      vocabSize: 300,
      validation: 0.1,
      validateEvery: 5,
    });
    await refused(collect(run), 'crashed', /broke off.*unreachable/);
    await ended(run, [], 'crashed', /broke off.*unreachable/);
  });

  test('depth', async () => {
    options = bad('gf_train_depth');
    await refused(depth({ n_layers: 2, d_model: 16, n_heads: 2 }), 'crashed', /unreachable/);
    options = {};
    const measuring = depth({ n_layers: 40, d_model: 64, n_heads: 2 }, { tokens: 4096 });
    while (started.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    await started.at(-1).terminate();
    await refused(measuring, 'worker', /exit code/);
  });
});
