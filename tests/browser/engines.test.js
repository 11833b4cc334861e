// engines.test.js - the library in Chromium, Firefox and WebKit, with and without cross-origin isolation: every result
// has the bits of Node's
//
//   ENGINES=webkit node --test tests/browser/engines.test.js      one engine only; also for engines_page.test.js
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { openBrowser, until } from './drivers/browsers.js';
import { inEachEngine } from './drivers/each_engine.js';
import { PROBES } from '../../web/lib/engine/wasm_features.js';
import * as library from '../../web/lib/api/index.js';
import { serveLibrary, top } from './engines/fixture.js';
import { MODELS, QUESTIONS, ask, trains } from './engines/programme.js';

/** @typedef {import('./drivers/browsers.js').Page} Page */

const STORIES = readFileSync(`${top}tests/golden/text/stories.txt`, 'utf8'),
  SMALL = 'stories-1m.gguf';

/** What Node answers, asked once for all engines. @type {Map<string, Promise<any>>} */
const known = new Map();
/**
 * @param {string} name
 * @param {() => Promise<any>} work
 */
async function once(name, work) {
  if (!known.has(name)) known.set(name, work());
  const { backend, ...answers } = await known.get(name);
  return answers;
}
const inNode = (/** @type {string} */ model) =>
  once(model, () => ask(library, `${top}weights/${model}`, { backend: 'simd' }, QUESTIONS));

/**
 * Results of a page, or `failed`.
 * @param {Page} page
 * @param {string} model
 * @param {Record<string, any>} options
 * @returns {Promise<any>}
 */
const inPage = (page, model, options) =>
  page.evaluate(
    async (model, options, questions) => {
      const { library, programme } = /** @type {any} */ (window);
      try {
        return await programme.ask(library, `weights/${model}`, options, questions);
      } catch (e) {
        return { failed: `${e.code ?? e.name}: ${e.message}` };
      }
    },
    model,
    options,
    QUESTIONS,
  );

inEachEngine((own) => {
  const { engine } = own;

  for (const isolate of [false, true]) {
    describe(isolate ? 'isolated' : 'not isolated', () => {
      /** @type {Awaited<ReturnType<typeof serveLibrary>>} */
      let server;
      /** @type {Page} */
      let page;
      before(async () => {
        server = await serveLibrary(isolate);
        page = await own.browser.open(server.url);
        await until(page, () => /** @type {any} */ (window).programme);
      });
      after(async () => {
        await page?.close();
        await server?.close();
      });

      test('the page is isolated exactly where the server sends the headers', async (t) => {
        t.diagnostic(own.browser.version);
        assert.equal(await page.evaluate(() => crossOriginIsolated), isolate);
      });

      for (const model of MODELS) {
        test(`${model}: texts, captures, edits, lens, sessions and batches have Node's bits`, async (t) => {
          const { backend, ...answers } = await inPage(page, model, {});
          t.diagnostic(String(backend));
          assert.deepEqual(answers, await inNode(model));
          if (!isolate) assert.match(backend, /one thread: the page is not cross-origin isolated$/);
        });
      }

      for (const backend of /** @type {const} */ (['simd', 'relaxed'])) {
        test(`backend ${backend}, ${isolate ? 'two threads' : "in the page's own thread"}, has Node's bits`, async (t) => {
          const {
            backend: used,
            failed,
            ...answers
          } = await inPage(page, SMALL, { backend, ...(isolate ? { threads: 2 } : { worker: false }) });
          if (!(await page.evaluate((bytes) => WebAssembly.validate(new Uint8Array(bytes)), [...PROBES[backend]]))) {
            assert.equal(`${engine} ${backend}`, 'webkit relaxed'); // the other engines have both
            assert.match(failed, /^unsupported: backend relaxed was requested/);
            return t.skip(`${own.browser.version} lacks an instruction of the relaxed binary`);
          }
          assert.deepEqual({ failed, ...answers }, { failed: undefined, ...(await inNode(SMALL)) });
          assert.match(
            used,
            isolate
              ? new RegExp(`^${backend}.*, 2 threads$`)
              : new RegExp(`^${backend}.*one thread: it computes in the caller's thread`),
          );
        });
      }

      if (isolate)
        test('a helper thread that ends, ends the model instead of blocking it', async () => {
          const { backend, error } = await page.evaluate(async () => {
            const { library, Worker } = /** @type {any} */ (window),
              ids = Array.from({ length: 64 }, (_, i) => i + 5);
            const helper = new Promise((resolve) => {
              window.Worker = class extends Worker {
                constructor(/** @type {any[]} */ ...args) {
                  super(...args);
                  this.addEventListener('message', (/** @type {MessageEvent} */ e) => e.data.joined && resolve(this));
                }
              };
            });
            const model = await library.load('weights/stories.gguf', { threads: 2 });
            window.Worker = Worker;
            helper.then((/** @type {any} */ thread) => thread.terminate());
            try {
              for (;;) await model.forward(ids);
            } catch (/** @type {any} */ error) {
              return { backend: model.backend, error: `${error.code}: ${error.message}` };
            }
          });
          assert.match(backend, /, 2 threads$/);
          assert.equal(error, 'worker: the worker failed: one of its helper threads ended');
        });

      test("training with two threads, or with one where they cannot be, has Node's losses, file, checkpoint and depth", async () => {
        const before = server.requests.length;
        assert.deepEqual(
          await page.evaluate((text) => {
            const { library, programme } = /** @type {any} */ (window);
            return programme.trains(library, text, 2);
          }, STORIES),
          await once('training', () => trains(library, STORIES, 1)),
        );
        const wanted = server.requests.slice(before).filter((url) => /train-threads\.wasm/.test(url));
        assert.equal(wanted.length, Number(isolate));
      });

      for (const cache of ['cache-storage', 'opfs']) {
        test(`${cache}: the first load uses the network, the second one the cache`, async (t) => {
          const { answers, failed } = await page.evaluate((cache) => {
            const { library, programme } = /** @type {any} */ (window);
            return programme.keeps(library, `weights/stories-1m.gguf?${cache}`, cache).then(
              (answers) => ({ answers }),
              (e) => ({ failed: `${e.code ?? e.name}: ${e.message}` }),
            );
          }, cache);
          if (cache === 'opfs' && !(await page.evaluate(() => 'getDirectory' in (navigator.storage ?? {})))) {
            assert.equal(engine, 'webkit'); // WebKitGTK has no such cache; Safari has one
            assert.match(failed, /^unsupported: opfs was requested/);
            return t.skip(`${own.browser.version} has no private file system`);
          }
          const [first, second] = answers ?? assert.fail(failed);
          assert.deepEqual([first.fromCache, second.fromCache, second.ids], [false, true, first.ids]);
          assert.equal(server.requests.filter((path) => path.includes(`?${cache}`)).length, 1);
        });
      }

      test('the console has no error or warning, and files of threads are fetched where they can be', async () => {
        assert.deepEqual(await page.complaints(), []);
        assert.equal(
          server.requests.some((path) => /threads?[.-]/.test(path)),
          isolate,
        );
      });
    });
  }

  // Where SharedArrayBuffer is switched off, WebKit still reports an isolated page: threads were started, and every
  // load failed.
  if (engine === 'webkit') {
    test('isolated, without SharedArrayBuffer: one thread, and the backend text says why', async () => {
      const [server, other] = [await serveLibrary(true), await openBrowser(engine, { sharedMemory: false })];
      try {
        const page = await other.open(server.url);
        await until(page, () => /** @type {any} */ (window).programme);
        assert.deepEqual(await page.evaluate(() => [crossOriginIsolated, typeof SharedArrayBuffer]), [
          true,
          'undefined',
        ]);
        const { backend, ...answers } = await inPage(page, SMALL, { threads: 2 });
        assert.deepEqual(answers, await inNode(SMALL));
        assert.match(
          backend,
          /one thread: the page is cross-origin isolated, but this browser has no SharedArrayBuffer$/,
        );
      } finally {
        await other.close();
        await server.close();
      }
    });
  }
});
