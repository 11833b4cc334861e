// lib.test.js - the library in a page: its worker, its caches and its network requests
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { depth, load, train } from '../../web/lib/api/index.js';
import { serve as listen } from '../node/helpers.js';
import { PATIENCE } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { serveLibrary, top } from './engines/fixture.js';
import { ownTasks } from './tasks.js';

const bytes = readFileSync(join(top, 'tests/golden/cases/gguf_llama_q8_0/model.gguf'));
const sha256 = createHash('sha256').update(bytes).digest('hex');
let server, models, browser, page;
/** What the model server was asked for, and how it answers. */
const asked = [];

before(async () => {
  server = await serveLibrary(false);
  models = await listen((request, response) => {
    asked.push(request.url);
    const closed = request.url.includes('closed') ? {} : { 'access-control-allow-origin': '*' };
    response.writeHead(200, { 'content-length': bytes.length, ...closed });
    if (request.url.includes('broken')) response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
    else response.end(bytes);
  });
  browser = await launch({ shell: true });
  page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(server.url);
  await page.waitForFunction(() => window.library);
});

after(async () => {
  await browser.close();
  await server.close();
  models.close();
});

/** Load in the page and write eight tokens. */
function tryIt(url, options) {
  return page.evaluate(
    async ([url, options]) => {
      const seen = [];
      try {
        const model = await window.library.load(url, { ...options, onProgress: (p) => seen.push(p) });
        const ids = [];
        for await (const step of model.generate([1, 2, 3], { maxTokens: 8, temperature: 0, ignoreEos: true }))
          ids.push(step.id);
        const { backend, memory } = model;
        model.dispose();
        return { ids, backend, memory, fromCache: seen.filter((p) => p.phase === 'download').at(-1)?.fromCache };
      } catch (e) {
        return { code: e.code, message: e.message, ours: e instanceof window.library.GlassformerError };
      }
    },
    [url, options],
  );
}

async function expected() {
  const model = await load(bytes);
  const ids = [];
  for await (const step of model.generate([1, 2, 3], { maxTokens: 8, temperature: 0, ignoreEos: true }))
    ids.push(step.id);
  model.dispose();
  return ids;
}

for (const cache of ['cache-storage', 'opfs']) {
  for (const worker of [true, false]) {
    test(`${cache}, ${worker ? 'in the worker' : 'in the page'}: the second load uses the cache`, async () => {
      const url = `${models.url}${cache}-${worker}.gguf`,
        ids = await expected();
      const first = await tryIt(url, { cache, worker, sha256 });
      assert.deepEqual([first.ids, first.fromCache, first.message], [ids, false, undefined]);
      const count = asked.length;
      const second = await tryIt(url, { cache, worker });
      assert.deepEqual([second.ids, second.fromCache], [ids, true]);
      assert.equal(asked.length, count, 'the network was asked again');
      assert.equal((await tryIt(url, { worker })).fromCache, false);
    });
  }

  test(`${cache}: modelCache lists what was loaded, and removes it`, async () => {
    const url = `${models.url}listed-${cache}.gguf`;
    await tryIt(url, { cache });
    const found = await page.evaluate(
      async ([url, cache]) => {
        const kept = await window.library.modelCache({ cache });
        const own = async () => (await kept.list()).filter((file) => file.url === url);
        const listed = await own();
        return { listed, size: await kept.size(), removed: await kept.delete(url), left: await own() };
      },
      [url, cache],
    );
    assert.deepEqual(found.listed, [{ url, bytes: bytes.length, complete: true }]);
    assert.ok(found.size >= bytes.length);
    assert.deepEqual([found.removed, found.left], [1, []]);
    assert.equal((await tryIt(url, { cache })).fromCache, false);
  });

  test(`${cache}: an incomplete or wrong download is refused and not cached`, async () => {
    const broken = `${models.url}broken-${cache}.gguf`;
    for (let i = 0; i < 2; i++) {
      const count = asked.length;
      const { code, ours } = await tryIt(broken, { cache });
      assert.ok(ours && ['network', 'truncated'].includes(code), code);
      assert.equal(asked.length, count + 1, 'half a file was kept');
    }
    const wrong = await tryIt(`${models.url}wrong-${cache}.gguf`, {
      cache,
      sha256: sha256.replace(/^./, (c) => (c === '0' ? '1' : '0')),
    });
    assert.equal(wrong.code, 'bad-file');
    assert.match(wrong.message, new RegExp(`wrong-${cache}.*${sha256}`));
    const count = asked.length;
    assert.equal((await tryIt(`${models.url}wrong-${cache}.gguf`, { cache })).fromCache, false);
    assert.equal(asked.length, count + 1, 'the refused file was kept');
  });
}

test('a server that lets no other origin read is told apart from one that is not there, and from no network', async () => {
  const closed = await tryIt(`${models.url}closed.gguf`, {});
  assert.equal(closed.code, 'network');
  assert.match(closed.message, /the server answers, but without Access-Control-Allow-Origin, so that pages of http:/);
  const nobody = await tryIt('http://127.0.0.1:9/m.gguf', {});
  assert.match(nobody.message, /the request failed: Failed to fetch/);
  await page.context().setOffline(true);
  const offline = await tryIt(`${models.url}m.gguf`, { worker: false });
  await page.context().setOffline(false);
  assert.match(offline.message, /the request failed: this device is offline/);
});

test('a relative address is relative to the page; an HTML page instead of a model is named', async () => {
  const there = await tryIt('weights/stories-3m.gguf', {});
  assert.equal(there.ids?.length, 8, there.message);
  assert.match(there.backend, /relaxed|simd/);
  const { code, message } = await tryIt('index.html', {});
  assert.equal(code, 'html');
  assert.match(message, /index\.html/);
});

test('the page stays responsive while its worker generates, and break frees the session', async () => {
  const { turns, kv, steps } = await page.evaluate(async () => {
    const model = await window.library.load('weights/stories-3m.gguf');
    let turns = 0,
      steps = 0,
      running = true;
    // not a timer: timers run at most every 4 ms, too seldom on a fast machine
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      turns++;
      if (running) port2.postMessage(0);
      else port1.close();
    };
    port2.postMessage(0);
    for (let i = 0; i < 4; i++)
      for await (const step of model.generate('Once', { ignoreEos: true, capture: ['*.hook_pattern'] })) {
        steps += step.id >= 0;
      }
    for await (const step of model.generate('Once', { ignoreEos: true })) if (++steps && step.position > 20) break;
    running = false;
    let kv;
    for (let i = 0; i < 4800; i++) {
      // the worker receives it between two pieces of the abandoned work
      await model.encode('a');
      kv = model.memory.regions.find((r) => r.name === 'kv cache').bytes;
      if (!kv) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    model.dispose();
    return { turns, kv, steps };
  });
  assert.ok(steps > 900);
  assert.equal(kv, 0);
  assert.ok(turns > 100, `the page had ${turns} turns of its own`);
});

test('the library requests nothing from other origins', async () => {
  const requests = [];
  page.on('request', (r) => requests.push(r.url()));
  await tryIt('weights/stories-3m.gguf', {});
  assert.ok(requests.length);
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(server.url)),
    [],
  );
});

test("training is fetched at the first train and has Node's losses", async (t) => {
  const config = { d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 },
    options = { steps: 40, vocabSize: 300, batchTokens: 512, validation: 0.1, threads: 1 };
  const text = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8');
  const fetched = () =>
    [
      ...new Set(
        server.requests.filter((path) => /train/.test(path)).map((path) => basename(path).replace(/-.{8}\./, '.')),
      ),
    ].sort();
  assert.deepEqual(fetched(), []);
  const { result: inPage, tasks } = await ownTasks(browser, page, () =>
    page.evaluate(
      async ([config, text, options]) => {
        const losses = [];
        const run = window.library.train(config, text, options);
        for await (const { loss, validation } of run) losses.push(loss, validation?.nats ?? 0);
        const model = await run.model();
        const [{ name, bytes }] = await run.files({ dtype: 'q8_0' }),
          { bytes: checkpoint } = { bytes: await run.checkpoint() };
        const ids = [];
        for await (const step of model.generate('Once', { maxTokens: 10, temperature: 0, ignoreEos: true }))
          ids.push(step.id);
        await run.dispose();
        model.dispose();
        const deep = await window.library.depth({ ...config, n_layers: 24, norm_placement: 'post' });
        return {
          losses,
          name,
          magic: new TextDecoder().decode(bytes.slice(0, 4)),
          length: checkpoint.length,
          ids,
          deep,
        };
      },
      [config, text, options],
    ),
  );
  assert.deepEqual(fetched(), ['glassformer-train.wasm', 'train_worker.js']);

  const losses = [],
    ids = [],
    run = train(config, text, options);
  for await (const { loss, validation } of run) losses.push(loss, validation?.nats ?? 0);
  assert.deepEqual(inPage.losses, losses);
  const model = await run.model();
  for await (const step of model.generate('Once', { maxTokens: 10, temperature: 0, ignoreEos: true }))
    ids.push(step.id);
  model.dispose();
  assert.deepEqual(inPage.ids, ids);
  assert.deepEqual([inPage.name, inPage.magic, inPage.length], ['model.gguf', 'GGUF', (await run.checkpoint()).length]);
  await run.dispose();
  assert.deepEqual(inPage.deep, await depth({ ...config, n_layers: 24, norm_placement: 'post' }));
  t.diagnostic(`longest task of the page's thread: ${Math.max(...tasks).toFixed(1)} ms of its own time`);
});

test('a worker that the browser ends rejects all calls, in use or idle, of a model or of a training run', async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.addInitScript(() => {
    const { Worker } = window;
    window.started = [];
    window.Worker = class extends Worker {
      constructor(...how) {
        super(...how);
        window.started.push(this);
      }
    };
  });
  await page.goto(server.url);
  await page.waitForFunction(() => window.library);
  const said = await page.evaluate(async () => {
    const { load, train } = window.library,
      said = [];
    const tell = (promise) =>
      promise.then(
        (value) => said.push(value),
        (e) => said.push(`${e.name} ${e.code}: ${e.message}`),
      );
    const all = async (steps) => {
      for await (const step of steps) if (!step) break;
    };
    for (const busy of [true, false]) {
      const model = await load('weights/stories-3m.gguf'),
        pending = busy ? [all(model.generate('Once', { ignoreEos: true })), model.forward('Once')] : [];
      if (!busy) await model.encode('Once');
      window.started.at(-1).terminate();
      await Promise.all(pending.map(tell));
      await new Promise((resolve) => setTimeout(resolve, 200));
      await tell(model.encode('Once'));
      model.dispose();
    }
    const run = train({ d_model: 32, n_layers: 1, n_heads: 2 }, 'The cat sat on the mat. '.repeat(50), {
      vocabSize: 257,
    });
    await run.next();
    window.started.at(-1).terminate();
    await tell(all(run));
    await run.dispose();
    const again = await load('weights/stories-3m.gguf');
    window.started.at(-1).dispatchEvent(new MessageEvent('messageerror'));
    await tell(again.encode('Once'));
    return said;
  });
  const ended = 'GlassformerError worker: the worker failed: it was ended from outside';
  assert.deepEqual(said, [
    ended,
    ended,
    ended,
    ended,
    ended,
    'GlassformerError worker: the worker failed: its file or a message could not be read',
  ]);
  await page.close();
});

// The entry in several files was an error of the code internal.
test('a module service worker runs the entry in one file, and the other one names it', async () => {
  const folder = temporaryFolder('service-worker');
  const files = await serve(folder, { also: { '/dist/': `${top}dist`, '/weights/': `${top}weights` } });
  writeFileSync(join(folder, 'index.html'), '');
  try {
    await page.goto(files.url);
    const answers = [];
    for (const entry of ['index', 'inline']) {
      writeFileSync(
        join(folder, `${entry}.js`),
        `import { load } from '/dist/${entry}.js';
        onmessage = ({ source }) =>
          load('/weights/stories-1m.gguf', { worker: false })
            .then((model) => model.forward('Once', { capture: ['*.hook_pattern'] }))
            .then(({ captured }) => source.postMessage(Object.keys(captured)[0]))
            .catch(({ code, message }) => source.postMessage(code + ' ' + message));`,
      );
      answers.push(
        await page.evaluate(async (entry) => {
          const options = { type: 'module', scope: `./${entry}/` };
          const { installing } = await navigator.serviceWorker.register(`./${entry}.js`, options);
          const answer = new Promise((resolve) =>
            navigator.serviceWorker.addEventListener('message', ({ data }) => resolve(data), { once: true }),
          );
          navigator.serviceWorker.startMessages();
          installing.postMessage('load');
          return answer;
        }, entry),
      );
    }
    assert.match(answers[0], /^unsupported .*import\(\).*glassformer\/inline/);
    assert.equal(answers[1], 'blocks.0.attn.hook_pattern');
  } finally {
    await files.close();
  }
});

// Both hung for ever; an idle machine takes 5 s.
test('a worker of the caller that closes is an error, one that imports the package later works', async () => {
  await page.goto(server.url);
  await page.waitForFunction(() => window.library);
  const answers = await page.evaluate(async () => {
    const { load } = window.library;
    const answer = async (text) => {
      const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
      try {
        const model = await load('weights/stories-1m.gguf', { worker: () => new Worker(address, { type: 'module' }) });
        const { shape } = (await model.forward('Once', { capture: ['hook_embed'] })).captured['hook_embed'];
        model.dispose();
        return shape.length;
      } catch ({ code, message }) {
        return `${code} ${message}`;
      }
    };
    const file = new URL('dist/worker.js', document.baseURI);
    return Promise.all(['close();', '', `setTimeout(() => import(${JSON.stringify(file)}), 300);`].map(answer));
  });
  for (const text of answers.slice(0, 2)) assert.match(text, /^worker the worker you passed did not answer/);
  assert.equal(answers[2], 2);
});

// Resuming ended with the page.
test('a download that a reload of the page cuts off continues after it', async () => {
  const weights = readFileSync(join(top, 'weights/stories.gguf'));
  const ranges = [];
  const slow = await listen(({ headers: { range } }, response) => {
    ranges.push(range);
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    response.writeHead(range ? 206 : 200, {
      ...{ 'access-control-allow-origin': '*', 'access-control-allow-headers': '*', etag: '"one"' },
      ...{ 'access-control-expose-headers': 'ETag, Content-Range', 'cache-control': 'no-store' },
      'content-length': weights.length - start,
      ...(range && { 'content-range': `bytes ${start}-${weights.length - 1}/${weights.length}` }),
    });
    if (range) response.end(weights.subarray(start));
    else response.write(weights.subarray(0, 5_000_000)); // the rest never comes
  });
  const url = `${slow.url}m.gguf`;
  try {
    for (const cache of ['cache-storage', 'opfs']) {
      ranges.length = 0;
      await page.goto(server.url);
      await page.waitForFunction(() => window.library);
      await page.evaluate(
        async ([url, cache]) => {
          const name = 'glassformer-models-1'; // of download_store.js
          const isRecorded = async () => {
            if (cache === 'cache-storage')
              return (await (await caches.open(name)).keys()).some((request) => /partial$/.test(request.url));
            const root = await navigator.storage.getDirectory();
            for await (const [file, handle] of await root.getDirectoryHandle(name, { create: true }))
              if (/partial$/.test(file) && (await handle.getFile()).size) return true;
            return false;
          };
          window.library.load(url, { cache }).catch(() => {});
          while (!(await isRecorded())) await new Promise((resolve) => setTimeout(resolve, 20));
        },
        [url, cache],
      );
      await page.reload();
      await page.waitForFunction(() => window.library);
      assert.equal((await tryIt(url, { cache })).ids?.length, 8);
      assert.match(String(ranges), /^,bytes=[1-9]\d*-$/);
    }
  } finally {
    slow.close();
  }
});
