// hardship.test.js - the built page in Chromium where less is there than it would like: no storage, code that does not come, a folder
// that holds no model, a low or a narrow window.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { visit } from './built_page.js';

const SMALL = '#model=weights/stories-1m.gguf&prompt=Once upon a time';
const ours = (/** @type {string[]} */ complaints) => complaints.filter((text) => !/^Failed to load resource|blocked by Playwright/.test(text));

/** A page of the small stories, once its text is there. */
async function open(how = {}) {
  const visitor = await visit({ hash: SMALL, ...how });
  await visitor.page.waitForSelector('.tok', { timeout: 30_000 });
  return visitor;
}
const theme = (page) => page.evaluate(() => document.documentElement.dataset.theme);

// With site data blocked the first panel once stopped the module, and nothing worked.
for (const [what, take] of /** @type {[string, () => void][]} */ ([
  ['blocked', () => Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); } })],
  ['full', () => { Storage.prototype.setItem = () => { throw new DOMException('The quota has been exceeded.', 'QuotaExceededError'); }; }],
])) {
  test(`where storage is ${what}, theme and guided walk work, and last as long as the page`, async () => {
    const { page, complaints, close } = await open({ colorScheme: 'light', prepare: (page) => page.addInitScript(take) });
    await page.getByRole('button', { name: 'Dark theme' }).click();
    assert.equal(await theme(page), 'dark');
    await page.getByRole('button', { name: 'Guided walk' }).click();
    await page.locator('.walk .primary').click();
    await page.waitForFunction(() => /^2 of /.test(document.querySelector('.walk .num').textContent));
    await page.locator('.walk').getByRole('button', { name: 'Leave' }).click();
    await page.waitForSelector('.walk', { state: 'hidden' });
    assert.deepEqual(complaints, []);
    await close();
  });
}
