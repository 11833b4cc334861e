// aborts.test.js - in three engines, every call whose signal is aborted rejects with its reason and frees what it
// opened: the table of engines/abort_table.js, which tests/node/aborts.test.js runs in Node
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGINES, until, whyMissing } from './drivers/browsers.js';
import { browserOf } from './drivers/each_engine.js';
import { serveLibrary } from './engines/fixture.js';

for (const engine of ENGINES)
  test(`${engine}: every call, aborted at every moment, in the page and in a worker`, async (t) => {
    const missing = whyMissing(engine);
    if (missing) return t.skip(missing);
    const [browser, server] = await Promise.all([browserOf(engine), serveLibrary(false)]);
    try {
      const page = await browser.open(server.url);
      await until(page, () => /** @type {any} */ (window).aborts);
      for (const worker of [false, true])
        assert.deepEqual(
          await page.evaluate(async (worker) => {
            const { aborts, library } = /** @type {any} */ (window);
            const table = await aborts.openTable(library.load, 'weights/stories-1m.gguf', worker);
            const failures = [];
            for (const moment of Object.keys(aborts.MOMENTS))
              for (const name of aborts.CALLS) {
                const failure = await aborts.failureOf(table, name, moment);
                if (failure) failures.push(`${name}, aborted ${moment}: ${failure}`);
              }
            table.model.dispose();
            return failures;
          }, worker),
          [],
        );
      await page.close();
    } finally {
      await server.close();
    }
  });
