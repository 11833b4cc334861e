// worker.test.js - models in a worker: a worker thread here, a module worker in browsers
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { Sha256 } from '../../web/lib/files/transfer/sha256.js';
import { sleep, until } from '../patience.js';
import { collect, numbers, openCase, sameBits, serve, stories, untilEnd } from './helpers.js';

const localModel = await untilEnd(load(stories));
const workerModel = await untilEnd(load(stories, { worker: true }));

describe('a worker and the calling thread give the same results', () => {
  test('for text, ids, tables and points', async () => {
    assert.deepEqual(workerModel.config, localModel.config);
    // a worker may run the binary with threads, which has constants at other addresses
    const table = ({ parameters: { rows, ...sums } }) => ({ ...sums, rows: rows.map(({ address, ...r }) => r) });
    assert.deepEqual(table(workerModel), table(localModel));
    assert.equal(workerModel.backend.split(', one thread')[0], localModel.backend.split(', one thread')[0]);
    assert.deepEqual(await workerModel.encode('Once upon a time'), await localModel.encode('Once upon a time'));
    assert.equal(await workerModel.decode([400, 401]), await localModel.decode([400, 401]));
    assert.deepEqual(await workerModel.points(), await localModel.points());
  });

  test('for forward with all points captured', async () => {
    const ids = numbers(70, 2048);
    const [a, b] = await Promise.all([localModel, workerModel].map((m) => m.forward(ids, { capture: ['*'] })));
    assert.ok(sameBits(a.logits.data, b.logits.data));
    for (const [name, t] of Object.entries(a.captured)) {
      assert.deepEqual(b.captured[name].shape, t.shape);
      assert.ok(sameBits(b.captured[name].data, t.data), name);
    }
  });

  test('for generation, with all fields of steps and summary', async () => {
    const options = {
      maxTokens: 120,
      seed: 9,
      temperature: 0.9,
      logprobs: 3,
      ignoreEos: true,
      capture: ['blocks.5.attn.hook_pattern'],
    };
    const [a, b] = await Promise.all([localModel, workerModel].map((m) => collect(m.generate('One day', options))));
    const plain = ({ ms, captured, ...step }) => step;
    assert.deepEqual(b.steps.map(plain), a.steps.map(plain));
    a.steps.forEach((s, i) =>
      assert.ok(
        sameBits(s.captured['blocks.5.attn.hook_pattern'].data, b.steps[i].captured['blocks.5.attn.hook_pattern'].data),
      ),
    );
    const { prefillMs, decodeMs, tokensPerSecond, ...summary } = a.summary;
    assert.deepEqual({ ...b.summary, prefillMs, decodeMs, tokensPerSecond }, a.summary);
    assert.ok(summary.text && b.summary.tokensPerSecond > 0);
  });

  test('for sessions', async () => {
    const [a, b] = await Promise.all([localModel.session(), workerModel.session()]);
    const ids = numbers(30, 2048);
    assert.ok(sameBits(await a.eval(ids), await b.eval(ids)));
    assert.equal(b.length, 30);
    assert.equal(b.bytes, a.bytes);
    // calls that were not awaited keep their order
    const parts = [b.rewind(10), b.eval(ids.slice(10, 20)), b.eval(ids.slice(20))];
    assert.ok(sameBits(await parts[2], await (await localModel.session()).eval(ids)));
    const long = numbers(200, 2048),
      { logits } = await localModel.forward(long); // more than one chunk; other calls run in between
    for (const session of [a, b]) {
      const [, , row] = await Promise.all([
        session.rewind(0),
        session.eval(long.slice(0, 150)),
        session.eval(long.slice(150)),
      ]);
      assert.ok(sameBits(row, logits.data.slice(-row.length)));
      await session.rewind(30);
    }
    const fork = await b.fork();
    assert.equal(fork.length, 30);
    await Promise.all([b.close(), fork.close(), a.close()]);
    assert.equal(workerModel.memory.regions.find((r) => r.name === 'kv cache').bytes, 0);
  });

  test('two sessions that are opened at once are separate', async () => {
    for (const worker of [false, true]) {
      const fresh = await load(stories, { worker }),
        [a, b] = await Promise.all([fresh.session(), fresh.session()]);
      await a.eval([1, 2, 3]);
      const row = await b.eval([4]),
        { logits } = await fresh.forward([4]);
      assert.ok(sameBits(row, logits.data));
      assert.deepEqual([a.length, b.length], [3, 1]);
      fresh.dispose();
    }
  });

  test('for values that cannot be posted: they are refused', async () => {
    for (const call of [
      (m) => collect(m.generate('A', { onToken: () => {} })),
      (m) => m.forward('A', { edits: [() => 1] }),
    ]) {
      for (const m of [localModel, workerModel])
        await assert.rejects(call(m), (e) => e.constructor.name === 'GlassformerError' && e.code === 'bad-option');
    }
  });

  test('for errors: class, code and message', async () => {
    for (const call of [
      (m) => m.forward(''),
      (m) => m.forward([5000]),
      (m) => collect(m.generate('A', { temperature: -1 })),
      (m) => m.forward('A', { capture: ['nope'] }),
    ]) {
      const [a, b] = await Promise.all(
        [localModel, workerModel].map((m) =>
          call(m).then(
            () => assert.fail('not refused'),
            (e) => e,
          ),
        ),
      );
      assert.deepEqual([b.constructor.name, b.code, b.message], [a.constructor.name, a.code, a.message]);
    }
    await assert.rejects(load(readFileSync(stories).subarray(0, 5000), { worker: true }), { code: 'truncated' });
  });
});

describe('stopping', () => {
  const held = (model) => model.memory.regions.find((r) => r.name === 'kv cache').bytes;
  /** Wait for the cache to be freed: the worker receives the abort when it next yields. */
  const isFreed = (model) =>
    until(async () => {
      await model.points();
      return !held(model);
    }, 'no bytes in the cache');

  test('break frees the session, and a slow reader makes the worker wait', async () => {
    let n = 0;
    for await (const step of workerModel.generate('One', { ignoreEos: true })) {
      assert.ok(step);
      if (++n === 2) break;
    }
    await workerModel.encode('a');
    const slow = workerModel.generate('One', { ignoreEos: true, seed: 1 });
    await slow.next();
    await sleep(100);
    await slow.return();
    await isFreed(workerModel);
  });

  test('a reader that takes a thousand steps late gets all of them', async () => {
    const long = await create(
      { vocab_size: 50, d_model: 16, n_layers: 1, n_heads: 2, context_length: 3000 },
      { seed: 1, worker: true },
    );
    const generator = long.generate([1], { maxTokens: 2000, seed: 3 });
    await generator.next();
    await sleep(150);
    const { steps, summary } = await collect(generator);
    assert.equal(steps.length, 1999);
    assert.deepEqual(
      steps.map((s) => s.position),
      Array.from({ length: 1999 }, (_, i) => i + 2),
    );
    assert.equal(summary.ids.length, 2000);
    long.dispose();
  });

  test('an abort rejects with its reason, and the worker answers the next call', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    await assert.rejects(async () => {
      for await (const step of workerModel.generate('One', { ignoreEos: true, signal: controller.signal }))
        if (step.position > 5) controller.abort(reason);
    }, reason);
    await assert.rejects(workerModel.forward('A', { signal: AbortSignal.abort(reason) }), reason);
    const deep = await create(
      { vocab_size: 64, d_model: 256, n_layers: 8, n_heads: 4, context_length: 1024 },
      { seed: 1, worker: true },
    );
    const during = new AbortController(),
      call = deep.forward(new Array(1024).fill(1), { signal: during.signal });
    during.abort(reason); // before any answer can be received
    await assert.rejects(call, reason);
    assert.equal((await deep.forward([1, 2])).logits.shape[0], 2);
    deep.dispose();
  });

  // The worker continued until its reader called next() again, which a reader may never do after an abort.
  test('an abort ends a generation whose reader has stopped reading', async () => {
    const controller = new AbortController(),
      steps = workerModel.generate('One', { ignoreEos: true, seed: 1, signal: controller.signal });
    await steps.next();
    controller.abort();
    await isFreed(workerModel);
    await assert.rejects(steps.next(), { name: 'AbortError' }); // although the worker may have finished in the meantime

    const late = new AbortController(),
      model = await load(stories, { worker: true }),
      left = model.generate('One', { ignoreEos: true, signal: late.signal });
    await left.next();
    model.dispose();
    late.abort(); // must not throw an error that cannot be caught
    await assert.rejects(left.next(), ({ name, code }) => name === 'AbortError' || code === 'disposed');
  });

  test('after an abort no steps are delivered, though some had arrived', async () => {
    const controller = new AbortController(),
      reason = new Error('enough'),
      steps = workerModel.generate('One', { ignoreEos: true, seed: 1, signal: controller.signal });
    await steps.next();
    await until(async () => {
      await workerModel.encode('a');
      return held(workerModel);
    });
    await sleep(100); // the worker runs ahead meanwhile
    controller.abort(reason);
    await assert.rejects(steps.next(), reason);
    await isFreed(workerModel);
  });

  test('a worker computes at most 256 steps more than its reader has taken, and stops after its return', async (t) => {
    const threads = process.getBuiltinModule('node:worker_threads'),
      { Worker } = threads;
    let posted = 0;
    threads.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        this.on('message', ({ steps }) => {
          posted += steps?.length ?? 0;
        });
      }
    };
    let long;
    try {
      long = await create(
        { vocab_size: 50, d_model: 16, n_layers: 1, n_heads: 2, context_length: 3000 },
        { seed: 1, worker: true, threads: 1 },
      );
    } finally {
      threads.Worker = Worker;
    }
    t.after(() => long.dispose()); // also where an assertion fails: a worker keeps the process alive
    const generator = long.generate([1], { maxTokens: 2900, seed: 3 });
    await generator.next();
    /** Wait for as many steps and then until no more come. */
    const postedAtLeast = async (n) => {
      for (let last = -1; last !== posted || posted < n;) {
        last = posted;
        await sleep(200);
      }
    };
    await postedAtLeast(200);
    assert.ok(posted <= 256 + 50, `${posted} steps`); // 50: the steps of one more message
    let read = 1;
    for (; read < 1000; read++) await generator.next();
    await postedAtLeast(1000);
    assert.ok(posted <= read + 256 + 50, `${posted} steps after ${read} were read`);
    await generator.return(); // a third of the text is left to compute, for which there is no credit
    await isFreed(long);
  });

  test('dispose fails pending calls', async () => {
    const model = await load(stories, { worker: true });
    const generator = model.generate('A', { ignoreEos: true });
    await generator.next();
    const waiting = model.forward(numbers(200, 2048));
    model.dispose();
    await assert.rejects(waiting, { code: 'bad-state' });
    await assert.rejects(collect(generator), { code: 'bad-state' });
    await assert.rejects(model.encode('A'), { code: 'bad-state' });
  });
});

describe('loading from a server', () => {
  test("uses the caller's fetch, with and without a worker, chunk by chunk", async () => {
    const c = openCase('llama_gqa_f16');
    const asked = [];
    const server = await serve((request, response) => {
      const file = `${c.folder}${request.url}`;
      try {
        response.writeHead(200, { 'content-length': statSync(file).size });
      } catch {
        return response.writeHead(404).end();
      }
      createReadStream(file, { highWaterMark: 10000 }).pipe(response);
    });
    const want = c.array('logits');
    for (const worker of [false, true]) {
      asked.length = 0;
      const seen = [];
      const model = await load(server.url, {
        worker,
        dtype: 'f32',
        onProgress: (p) => seen.push(p),
        fetch: (url, init) => {
          asked.push(String(url));
          return fetch(url, init);
        },
      });
      const { logits } = await model.forward(c.about.input_ids);
      assert.ok(logits.data.every((v, i) => Math.abs(v - want[i]) < 2e-4));
      assert.ok(asked.includes(`${server.url}model.safetensors`), asked.join());
      assert.ok(seen.some((p) => p.phase === 'download' && p.total > 0));
      model.dispose();
      const failing = async () => {
        throw new TypeError('no network today');
      };
      await assert.rejects(
        load(server.url, { worker, fetch: failing }),
        (e) => e.code === 'network' && /no network today/.test(e.message),
      );
      const reason = new Error('given up');
      const controller = new AbortController();
      const hanging = load(server.url, {
        worker,
        signal: controller.signal,
        fetch: (url, init) =>
          new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal.reason))),
      });
      setTimeout(() => controller.abort(reason), 20);
      await assert.rejects(hanging, reason);
    }
    server.close();
  });

  test('accepts blobs, buffers and the files of a folder', async () => {
    const c = openCase('llama_1tok');
    const bytes = readFileSync(`${c.folder}/model.safetensors`);
    const want = c.array('logits');
    const config = new TextEncoder().encode(JSON.stringify(c.config));
    const files = [new File([bytes], 'model.safetensors'), new File([config], 'config.json')];
    for (const worker of [false, true]) {
      for (const source of [
        { weights: new Blob([bytes]), config: c.config },
        { weights: bytes, config },
        { weights: [Uint8Array.from(bytes).buffer], config: c.config },
        ...(worker ? [] : [files]),
      ]) {
        // Node loses the name of a File when it is posted
        const model = await load(source, { worker, dtype: 'f32' });
        const { logits } = await model.forward(c.about.input_ids);
        assert.ok(logits.data.every((v, i) => Math.abs(v - want[i]) < 2e-4));
        model.dispose();
      }
    }
    assert.ok(bytes.length > 0, 'the caller still has the bytes');
  });
});

test('a checksum is verified for a path, bytes and a download', async () => {
  const bytes = readFileSync(stories),
    sha256 = createHash('sha256').update(bytes).digest('hex');
  const other = createHash('sha256').update('else').digest('hex');
  const server = await serve((request, response) =>
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes),
  );
  for (const source of [stories, bytes, new Blob([bytes]), { weights: bytes }, `${server.url}model.gguf`]) {
    (await load(source, { sha256: sha256.toUpperCase() })).dispose();
    await assert.rejects(
      load(source, { sha256: other }),
      (e) => e.code === 'bad-file' && e.message.includes(sha256) && e.message.includes(other),
    );
  }
  await assert.rejects(load(stories, { sha256: 'abc' }), { code: 'bad-option' });
  await assert.rejects(load(`${stories}.not`, { sha256 }), { code: 'not-found' });
  await assert.rejects(load(`${openCase('llama_1tok').folder}/`, { sha256 }), { code: 'bad-option' });
  await assert.rejects(load(stories, { cache: 'opfs' }), { code: 'unsupported' });
  server.close();
  for (const n of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    // lengths around every boundary of SHA-256 padding
    const part = bytes.subarray(1000, 1000 + n),
      hash = new Sha256();
    for (let at = 0; at < n; at += 37) hash.update(part.subarray(at, at + 37));
    assert.equal(hash.digest(), createHash('sha256').update(part).digest('hex'), `${n} bytes`);
  }
});
