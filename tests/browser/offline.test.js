// offline.test.js - the built page in Chromium with its service worker: a second visit without a network
import assert from 'node:assert/strict';
import { visitTest } from './built_page.js';
import { STORY, choose, counts, kept, openView, says } from './page_parts.js';
import { train, trained } from './training_parts.js';

visitTest(
  'a visitor who has asked for it can train and open every shipped model without a network; nobody else fetches them',
  { hash: STORY, serviceWorkers: 'allow', expects: /ERR_INTERNET_DISCONNECTED|Failed to fetch/ },
  async ({ page }) => {
    await page.waitForSelector('.tok');
    const first = await kept(page);
    // 12 MB of models were fetched before anybody asked for them
    assert.deepEqual(
      first.filter((name) => /\.(?:gguf|safetensors)$|train-.*\.wasm$/.test(name)),
      ['stories-1m.gguf'], // its own
    );
    await page.locator('.pill').first().click();
    await page.getByRole('button', { name: 'Keep all of them' }).click();
    await says(page, '.keep-all output', /^Kept/);
    await page.keyboard.press('Escape');
    const files = await kept(page);
    for (const file of [/^glassformer-train-.*\.wasm$/, /^train_worker-.*\.js$/, /^Train-.*\.js$/, /^tokenizer\.json$/])
      assert.ok(
        files.some((name) => file.test(name)),
        `${file} is not kept: ${files.join(', ')}`,
      );
    await page.context().setOffline(true);
    await page.reload();
    await page.waitForSelector('.tok');
    await openView(page, 'train');
    await train(page, { steps: 6, every: 3 });
    await trained(page, /^Done, 6 steps/);
    await counts(page, '.samples li', 3);
    for (const name of ['dates', 'stories-GPT-2', 'stories-5M', 'stories-1M Q4_0', 'stories-1M']) {
      await choose(page, name);
      assert.equal(await page.locator('.error').isVisible(), false, name);
    }
    // each view opens
    for (const view of ['inside', 'count', 'experiment', 'learn', 'labs', 'write']) {
      await openView(page, view);
      assert.equal(
        await page
          .locator(`#view-${view} [role="alert"]`)
          .filter({ hasText: /failed to load/ })
          .count(),
        0,
        view,
      );
    }
  },
);
