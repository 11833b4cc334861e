// downloads.test.js - in Chromium, Firefox and WebKit: interrupted downloads are resumed, and headers are sent to one
// origin only
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from './drivers/browsers.js';
import { inEachEngine } from './drivers/each_engine.js';
import { load } from '../../web/lib/api/index.js';
import { until as waitFor } from '../patience.js';
import { serveCut } from '../node/cut_server.js';
import { golden } from '../node/helpers.js';
import { serveLibrary } from './engines/fixture.js';

const bytes = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf')),
  SECRET = 'hf_secret-7f3a';
/** What another origin has to send for its validator and its ranges to be seen. */
const OPEN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Content-Range, Accept-Ranges',
};
const CLOSED = { 'access-control-allow-origin': '*' };
const carried = (/** @type {any} */ request) => JSON.stringify(request.headers).includes(SECRET);

/** @param {import('../../web/lib/api/index.js').Model} model */
async function idsOf(model) {
  const ids = [];
  for await (const { id } of model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true })) ids.push(id);
  model.dispose();
  return ids;
}

/**
 * Token ids that the page generates while every connection breaks after some bytes, or the code and message of the
 * error.
 * @param {import('./drivers/browsers.js').Page} page
 * @param {string} url
 * @param {Record<string, any>} options
 * @returns {Promise<any>}
 */
const inPage = (page, url, options) =>
  page.evaluate(
    async (url, options) => {
      try {
        let read = 0;
        const cut = setInterval(() => {
          if (read) fetch(new URL('/cut', url), { mode: 'no-cors' }).catch(() => {});
        }, 20);
        const onProgress = (/** @type {any} */ { phase, loaded }) => {
          if (phase === 'download') read = loaded;
        };
        const model = await /** @type {any} */ (window).library
            .load(url, { ...options, onProgress })
            .finally(() => clearInterval(cut)),
          ids = [];
        for await (const { id } of model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true })) ids.push(id);
        model.dispose();
        return ids;
      } catch (e) {
        return { code: e.code, message: e.message };
      }
    },
    url,
    options,
  );

inEachEngine((own) => {
  /** @type {any} */
  let server, page, want;
  before(async () => {
    want = await idsOf(await load(bytes));
    server = await serveLibrary(false);
    page = await own.browser.open(server.url);
    await until(page, () => /** @type {any} */ (window).programme);
  });
  after(async () => {
    await page?.close();
    await server?.close();
  });

  for (const worker of [true, false]) {
    test(`an interrupted download from another origin is resumed ${worker ? 'in the worker' : 'in the page'}`, async () => {
      const models = await serveCut(
        { '/m.gguf': { bytes, cuts: [9000, 3000], held: true, headers: { 'cache-control': 'no-store' } } },
        OPEN,
      );
      try {
        assert.deepEqual(await inPage(page, `${models.url}m.gguf`, { worker }), want);
        assert.equal(
          models.asked.filter((request) => request.range).length,
          2,
          JSON.stringify(models.asked.map(({ range, status }) => [range, status])),
        );
      } finally {
        models.close();
      }
    });
  }
  test('the model is requested once, before its worker starts; an abort ends the load', async () => {
    const models = await serveCut({ '/m.gguf': { bytes } }, OPEN);
    const begin = () =>
      page.evaluate((/** @type {string} */ url) => {
        const w = /** @type {any} */ (window),
          stop = new AbortController(),
          held = new Promise((go) => Object.assign(w, { go, stop }));
        const worker = async () => {
          await held;
          return new Worker('dist/worker.js', { type: 'module' });
        };
        w.loading = w.library.load(url, { worker, signal: stop.signal });
        w.loading.catch(() => {});
      }, `${models.url}m.gguf`);
    try {
      await begin();
      await waitFor(() => models.asked.length);
      const ids = await page.evaluate(async () => {
        const w = /** @type {any} */ (window),
          list = [];
        w.go();
        const model = await w.loading;
        for await (const { id } of model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true }))
          list.push(id);
        model.dispose();
        return list;
      });
      assert.deepEqual(ids, want);
      assert.equal(models.asked.length, 1);
      await begin();
      const error = await page.evaluate(async () => {
        const w = /** @type {any} */ (window);
        w.stop.abort();
        w.go();
        return w.loading.then(
          () => 'loaded',
          (/** @type {any} */ e) => e.name,
        );
      });
      assert.equal(error, 'AbortError');
    } finally {
      models.close();
    }
  });
  for (const worker of [true, false]) {
    test(`a Response and a stream are read ${worker ? 'by the worker' : 'in the page'}`, async () => {
      const models = await serveCut({ '/m.gguf': { bytes } }, OPEN);
      try {
        const found = await page.evaluate(
          async (/** @type {string} */ url, /** @type {boolean} */ worker) => {
            const ids = [],
              { load } = /** @type {any} */ (window).library;
            for (const source of [await fetch(url), (await fetch(url)).body, { weights: (await fetch(url)).body }]) {
              const model = await load(source, { worker }),
                list = [];
              for await (const { id } of model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true }))
                list.push(id);
              model.dispose();
              ids.push(list);
            }
            return ids;
          },
          `${models.url}m.gguf`,
          worker,
        );
        assert.deepEqual(found, [want, want, want]);
      } finally {
        models.close();
      }
    });
  }
  test('a server that does not expose Content-Range is named in the error', async () => {
    const models = await serveCut(
      {
        '/m.gguf': {
          bytes,
          etag: null,
          modified: 'Sat, 01 Nov 2025 10:00:00 GMT',
          cuts: [9000],
          held: true,
          headers: { 'cache-control': 'no-store' },
        },
      },
      CLOSED,
    );
    try {
      const { code, message } = await inPage(page, `${models.url}m.gguf`, {});
      assert.equal(code, 'network', message);
      assert.match(
        message,
        /cut after \d+ bytes, and the server does not let pages of other origins read Content-Range/,
      );
    } finally {
      models.close();
    }
  });
  test('an Authorization header is sent to the origin of the weights and not to where it redirects', async () => {
    const away = await serveCut({ '/m.gguf': { bytes } }, OPEN),
      home = await serveCut({ '/m.gguf': `${away.url}m.gguf`, '/near.gguf': { bytes } }, OPEN);
    try {
      for (const path of ['m.gguf', 'near.gguf'])
        assert.deepEqual(
          await inPage(page, `${home.url}${path}`, { headers: { authorization: `Bearer ${SECRET}` } }),
          want,
        );
      assert.deepEqual([home.asked.map(carried), away.asked.map(carried)], [[true, true], [false]]);
    } finally {
      home.close();
      away.close();
    }
  });
  test('other headers are sent without redirects, and a redirect is an error', async () => {
    const away = await serveCut({ '/m.gguf': { bytes } }, OPEN),
      home = await serveCut({ '/m.gguf': `${away.url}m.gguf`, '/near.gguf': { bytes } }, OPEN);
    try {
      assert.deepEqual(await inPage(page, `${home.url}near.gguf`, { headers: { 'x-key': SECRET } }), want);
      const { code, message } = await inPage(page, `${home.url}m.gguf`, { headers: { 'x-key': SECRET } });
      assert.equal(code, 'network');
      assert.match(message, /the server redirects/);
      assert.deepEqual([home.asked.map(carried), away.asked.length], [[true, true], 0]);
    } finally {
      home.close();
      away.close();
    }
  });
});
