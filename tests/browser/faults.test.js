// faults.test.js - in Chromium, some behaviours of the server of tests/faults, and storage without room.
// Node tests all behaviours (tests/node/faults.test.js), and `./build.sh test faults` does in three engines; here are those
// that depend on the network code of a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch } from '../../scripts/chromium.js';
import { testInPages } from '../faults/pages.js';
import { PATIENCE } from '../patience.js';
import { serveLibrary } from './engines/fixture.js';

testInPages('chromium', [
  'cut once',
  'cut without Content-Length',
  'ETag changes',
  'Content-Length too small',
  'gzip, cut',
  'a redirect loop',
]);

// Nothing said that a file was not stored.
test('a load goes on without room, and a warning names the file that was not stored', async () => {
  const [browser, server] = await Promise.all([launch({ shell: true }), serveLibrary(false)]);
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(server.url);
    await page.waitForFunction(() => /** @type {any} */ (window).programme);
    const session = await page.context().newCDPSession(page);
    await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(server.url).origin, quotaSize: 100_000 });
    for (const cache of ['cache-storage', 'opfs'])
      for (const worker of [true, false]) {
        const { tokens, warnings } = await page.evaluate(
          async (options) => {
            const model = await /** @type {any} */ (window).library.load('weights/stories-1m.gguf', options);
            let tokens = 0;
            for await (const _ of model.generate('Once', { maxTokens: 3 })) tokens++;
            model.dispose();
            return { tokens, warnings: model.warnings };
          },
          { cache, worker },
        );
        assert.equal(tokens, 3);
        assert.match(warnings.join('\n'), new RegExp(`^the cache "${cache}" did not store http.*stories-1m\\.gguf: .`));
      }
  } finally {
    await browser.close();
    await server.close();
  }
});
