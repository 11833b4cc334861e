// start.test.js - starting the package's worker in a page under difficult hosts: missing files, a web page in their
// place, policies, the caller's own worker. The package is served as it is published, unbundled.
import assert from 'node:assert/strict';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../../scripts/chromium.js';
import { load, train } from '../../web/lib/api/index.js';
import { serve } from '../node/helpers.js';
import { PATIENCE } from '../patience.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const file = 'tests/golden/cases/gguf_llama_q8_0/model.gguf';
const options = { maxTokens: 8, temperature: 0, ignoreEos: true };
const config = { d_model: 16, n_layers: 1, n_heads: 2 },
  text = 'The cat sat on the mat. The dog sat on the log.';
const types = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };
let server, browser, expected, losses, width;
/**
 * The server's answer for a path, and its headers for the page; set by each test.
 * @type {{answer: (path: string) => number | string | undefined, headers: Record<string, string>}}
 */
let host = { answer: () => undefined, headers: {} };
/** @type {string[]} */
let asked = [];

before(async () => {
  server = await serve((request, response) => {
    const path = new URL(request.url, 'http://host').pathname,
      answer = host.answer(path);
    asked.push(path);
    if (path === '/') {
      response.writeHead(200, { 'content-type': 'text/html', ...host.headers });
      return response.end('<!doctype html><title></title><script type="module" src="/main.js"></script>');
    }
    if (path === '/main.js' || path === '/own.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      return response.end(
        path === '/own.js'
          ? "import '/dist/worker.js';"
          : "import * as glassformer from '/dist/index.js'; window.glassformer = glassformer;",
      );
    }
    if (typeof answer === 'number') return response.writeHead(answer).end('not here');
    if (typeof answer === 'string') return response.writeHead(200, { 'content-type': 'text/html' }).end(answer);
    const from = join(top, path);
    if (!/^\/(?:dist|tests\/golden)\//.test(path) || !existsSync(from)) return response.writeHead(404).end();
    response.writeHead(200, {
      'content-type': types[extname(from)] ?? 'application/octet-stream',
      'content-length': statSync(from).size,
    });
    createReadStream(from).pipe(response);
  });
  browser = await launch({ shell: true });
  const model = await load(join(top, file));
  expected = [];
  for await (const { id } of model.generate([1, 2, 3], options)) expected.push(id);
  width = model.config.dModel ?? model.config.d_model;
  model.dispose();
  losses = [];
  const run = train(config, text, { steps: 2, threads: 1 });
  for await (const { loss } of run) losses.push(loss);
  await run.dispose();
});

after(async () => {
  await browser?.close();
  server?.close();
});

/**
 * Open a page of this host that generates eight tokens and trains two steps.
 * @param {Partial<typeof host>} how
 * @param {string} [given]  the options of load as JavaScript
 */
async function visit(how, given = '{}') {
  host = { answer: () => undefined, headers: {}, ...how };
  asked = [];
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  try {
    await page.goto(server.url);
    await page.waitForFunction(() => window.glassformer);
    return await page.evaluate(
      async ([address, given, options, config, text]) => {
        const { GlassformerError, load, train } = window.glassformer;
        const failure = (error) => ({
          code: error.code,
          message: error.message,
          ours: error instanceof GlassformerError,
        });
        const result = {};
        try {
          const model = await load(
            address,
            given === 'own' ? { worker: () => new Worker('/own.js', { type: 'module' }) } : JSON.parse(given),
          );
          result.ids = [];
          for await (const { id } of model.generate([1, 2, 3], options)) result.ids.push(id);
          result.backend = model.backend;
          const forward = () => model.forward([1, 2, 3], { capture: ['blocks.0.hook_resid_post'] });
          const [{ captured }] = await Promise.all([forward(), forward()]).catch((error) => {
            result.forward = failure(error);
            return [{ captured: {} }];
          });
          result.captured = captured['blocks.0.hook_resid_post']?.shape;
          result.after = [];
          for await (const { id } of model.generate([1, 2, 3], options)) result.after.push(id);
          model.dispose();
        } catch (error) {
          result.load = failure(error);
        }
        try {
          const run = train(config, text, { steps: 2, threads: 1 });
          result.losses = [];
          for await (const { loss } of run) result.losses.push(loss);
          await run.dispose();
        } catch (error) {
          result.train = failure(error);
        }
        return result;
      },
      [`/${file}`, given, options, config, text],
    );
  } finally {
    await page.close();
  }
}

/** @param {Awaited<ReturnType<typeof visit>>} result */
function works(result) {
  const { ids, losses: trained, captured, load, train, forward } = result;
  assert.deepEqual({ load, train, forward }, { load: undefined, train: undefined, forward: undefined });
  assert.deepEqual({ ids, losses: trained, captured }, { ids: expected, losses, captured: [3, width] });
}

test("the package's files are requested once each, and no embedded copy is fetched", async () => {
  works(await visit({}));
  assert.deepEqual(
    asked.filter((path) => /embedded/.test(path)),
    [],
  );
  const files = asked.filter((path) => /worker(?:_more|_files)?\.js$|\.wasm$/.test(path));
  assert.deepEqual(files.map((path) => path.split('/').pop()).sort(), [
    'glassformer-relaxed.wasm',
    'glassformer-train.wasm',
    'train_worker.js',
    'worker.js',
    'worker_more.js',
  ]);
  const early = await visit({ answer: (path) => (path.endsWith('_more.js') ? 404 : undefined) }, '{}');
  assert.deepEqual(early.ids, expected, 'loading and generating need no second script');
});

for (const [what, answer] of /** @type {[string, number | string][]} */ ([
  ['missing', 404],
  ['answered with a web page', '<!doctype html><title>App</title>'],
])) {
  test(`worker files that are ${what} are replaced by the embedded copy`, async () =>
    works(await visit({ answer: (path) => (/\/(?:train_)?worker\.js$/.test(path) ? answer : undefined) })));
  test(`binaries that are ${what} are replaced by the embedded copy`, async () =>
    works(await visit({ answer: (path) => (/\.wasm$/.test(path) ? answer : undefined) })));
  test(`all files beside the bundle are ${what}: the embedded copies are used`, async () =>
    works(await visit({ answer: (path) => (/\/(?:train_)?worker\.js$|\.wasm$/.test(path) ? answer : undefined) })));
}

test('without the embedded copy, a missing file is named with its address and what to do', async () => {
  const { load, train } = await visit({ answer: (path) => (/worker\.js$|embedded/.test(path) ? 404 : undefined) });
  for (const { code, ours, message } of [load, train]) {
    assert.deepEqual([code, ours], ['worker', true]);
    assert.match(
      message,
      /dist\/(?:train_)?worker\.js could not be started: the server answers with status 404.*Serve the package's dist\/(?:train_)?worker\.js/,
    );
  }
});

test('a missing further script of the worker is named with its address, and the model stays usable', async () => {
  for (const [answer, why] of /** @type {[number | string, RegExp][]} */ ([
    [404, /could not be loaded: /],
    ['<!doctype html><title>App</title>', /could not be loaded: /],
  ])) {
    const result = await visit({ answer: (path) => (path.endsWith('/worker_more.js') ? answer : undefined) });
    assert.deepEqual([result.forward.code, result.forward.ours], ['worker', true]);
    assert.match(result.forward.message, why);
    assert.match(
      result.forward.message,
      /^http.*\/dist\/worker_more\.js, a further script.*Serve the package's dist\/worker_more/,
    );
    assert.deepEqual(result.after, expected);
  }
});

test("a worker of the caller's, and its address, are used", async () => {
  works(await visit({}, 'own'));
  assert.ok(asked.includes('/own.js'));
  works(await visit({}, '{"worker":"/dist/worker.js"}'));
  const { load } = await visit({}, '{"worker":"/dist/nowhere.js"}');
  assert.equal(load.code, 'worker');
  assert.match(load.message, /nowhere\.js could not be started: the server answers with status 404/);
});

const csp = (/** @type {string} */ rest) => ({ 'content-security-policy': `default-src 'self'; ${rest}` });

test("the package works under a policy with only 'self' and wasm-unsafe-eval", async () => {
  works(await visit({ headers: csp("script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'") }));
});

test('a policy without wasm-unsafe-eval gives an error with the keyword to add', async () => {
  for (const given of ['{}', '{"worker":false}']) {
    const { load } = await visit({ headers: csp("script-src 'self'; worker-src 'self'") }, given);
    assert.deepEqual([load.code, load.ours], ['blocked', true]);
    assert.match(load.message, /Content-Security-Policy forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src/);
  }
});

test('a policy that forbids workers gives an error that names it; the calling thread works', async () => {
  const headers = csp("script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'");
  const { load } = await visit({ headers });
  assert.deepEqual([load.code, load.ours], ['worker', true]);
  assert.match(load.message, /worker\.js could not be started: .*worker-src/);
  assert.deepEqual((await visit({ headers }, '{"worker":false}')).ids, expected);
});
