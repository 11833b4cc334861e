// pages.js - the caches of a browser in two of its pages, while the server fails in the ways of this folder
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../browser/drivers/browsers.js';
import { inEngine } from '../browser/drivers/each_engine.js';
import { serveLibrary } from '../browser/engines/fixture.js';
import { checkFaults, idsOf } from './matrix.js';

/**
 * Load in a page. Its source runs there.
 * @param {string} url
 * @param {object} options
 * @param {string} idsOfSource
 */
const loadInPage = (url, options, idsOfSource) =>
  /** @type {any} */ (window).library.load(url, options).then(
    async (/** @type {any} */ model) => ({ ids: await (0, eval)(`(${idsOfSource})`)(model) }),
    (/** @type {any} */ error) => ({ code: error.code, message: error.message }),
  );

/**
 * Tests of an engine.
 * @param {import('../browser/drivers/browsers.js').Engine} engine
 * @param {string[]} [names]  of behaviours
 */
export function testInPages(engine, names) {
  inEngine(engine, (own) => {
    /** @type {any} */
    let server;
    /** @type {import('../browser/drivers/browsers.js').Page[]} */
    let pages = [];
    before(async () => {
      server = await serveLibrary(false);
      pages = [await own.browser.open(server.url), await own.browser.open(server.url)];
      for (const page of pages) await until(page, () => /** @type {any} */ (window).programme);
    });
    after(async () => {
      for (const page of pages) await page.close();
      await server?.close();
    });
    for (const cache of ['cache-storage', 'opfs']) {
      test(`${cache}: right tokens or one sentence, and the copy is intact`, async (t) => {
        if (cache === 'opfs' && !(await pages[0].evaluate(() => 'getDirectory' in (navigator.storage ?? {})))) {
          assert.equal(engine, 'webkit'); // WebKitGTK has no such cache; Safari has one
          return t.skip('this WebKit has no private file system');
        }
        // WebKit's private session deletes caches that no page has open
        if (cache === 'cache-storage')
          await pages[0].evaluate(async () => {
            /** @type {any} */ (window).open = await caches.open('glassformer-models-1');
          });
        const loads = [true, false].map(
          (worker, i) => (/** @type {string} */ url, /** @type {object} */ options) =>
            pages[i].evaluate(loadInPage, url, { cache, worker, ...options }, String(idsOf)),
        );
        await checkFaults(loads.slice(0, 1), names);
        await checkFaults(loads, names);
      });
    }
  });
}
