// hidden.test.js - the text goes on while the page is hidden, and when a visitor comes back to it
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch } from '../../scripts/chromium.js';
import { PATIENCE } from '../patience.js';
import { pageTest, server, unfold } from './built_page.js';
import { continued, opened } from './expected.js';
import { STORY, atLeast, hasIds, prepare } from './page_parts.js';

const model = await opened('weights/stories-1m.gguf');
const prompt = 'Tom and Sue';

/** Runs in a page before its scripts: `hide(true)` makes it as a tab in the background, which gets no frames. */
function hideable() {
  const frame = window.requestAnimationFrame.bind(window);
  /** @type {FrameRequestCallback[]} */
  let waiting = [];
  let isHidden = false;
  window.requestAnimationFrame = (work) => (isHidden ? waiting.push(work) : frame(work));
  Object.defineProperty(document, 'visibilityState', { get: () => (isHidden ? 'hidden' : 'visible') });
  /** @type {any} */ (window).hide = (/** @type {boolean} */ is) => {
    isHidden = is;
    document.dispatchEvent(new Event('visibilitychange'));
    if (!is) for (const work of waiting.splice(0)) frame(work);
  };
}

pageTest(
  'a text is written to its end in a hidden tab, and shown when it is visible again',
  { hash: STORY, prepare: (page) => page.addInitScript(hideable) },
  async ({ page }) => {
    await prepare(page, prompt, { tokens: 60, seed: 7 });
    await page.evaluate(() => {
      /** @type {any} */ (window).hide(true);
      /** @type {HTMLElement} */ (document.querySelector('.go')).click();
    });
    const isWritten = () => performance.getEntriesByName('generation').length > 0;
    await page.waitForFunction(isWritten, undefined, { polling: 50 });
    await page.evaluate(() => /** @type {any} */ (window).hide(false));
    await hasIds(page, await continued(model, prompt, { maxTokens: 60, seed: 7 }));
  },
);

/**
 * A page that was left while it wrote, and come back to.
 * @param {import('playwright-core').BrowserContext} context
 * @returns the page, and why Chromium has not kept it; null: it has
 */
async function returned(context) {
  const page = await context.newPage();
  await page.goto(server.url + STORY);
  await page.waitForSelector('.tok');
  await prepare(page, prompt, { tokens: 100, seed: 7 });
  await page.locator('#pace').selectOption('reading');
  await page.locator('.go').press('Enter');
  await atLeast(page, '.tok:not(.given)', 3);
  await page.goto(`${server.url}not-there`);
  await page.goBack({ waitUntil: 'commit' });
  await page.waitForFunction(() => 'isRestored' in window);
  const why = await page.evaluate(() => {
    const [arrival] = /** @type {any[]} */ (performance.getEntriesByType('navigation'));
    return /** @type {any} */ (window).isRestored ? null : JSON.stringify(arrival.notRestoredReasons);
  });
  return { page, why };
}

test('a page that is left while it writes goes on when the visitor comes back', async () => {
  const browser = await launch({ ignoreDefaultArgs: ['--disable-back-forward-cache'] });
  try {
    const context = await browser.newContext({ reducedMotion: 'reduce', serviceWorkers: 'block' });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(unfold);
    await context.addInitScript(() =>
      addEventListener('pageshow', ({ persisted }) => Object.assign(window, { isRestored: persisted })),
    );
    let { page, why } = await returned(context);
    // A page that has not frozen after 3 s, as on a busy machine, is loaded again; the reason is then "masked".
    for (const end = Date.now() + PATIENCE; why && Date.now() < end;) {
      assert.match(why, /"reasons":\[{"reason":"masked"}\]/);
      await page.close();
      ({ page, why } = await returned(context));
    }
    assert.equal(why, null);
    await page.locator('#pace').selectOption('fast');
    await hasIds(page, await continued(model, prompt, { maxTokens: 100, seed: 7 }));
  } finally {
    await browser.close();
  }
});
