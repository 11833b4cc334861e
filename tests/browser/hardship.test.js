// hardship.test.js - the built page in Chromium under bad conditions: no storage, code that fails to load
import assert from 'node:assert/strict';
import { pageTest, visitTest } from './built_page.js';
import { STORY, counts, openTextbook, openView, says } from './page_parts.js';

const FETCHED = /Failed to load resource/;

// With site data blocked, an error in the first panel once stopped the whole module.
for (const [what, take] of /** @type {[string, () => void][]} */ ([
  [
    'blocked',
    () =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        },
      }),
  ],
  [
    'full',
    () => {
      Storage.prototype.setItem = () => {
        throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
      };
    },
  ],
])) {
  pageTest(
    `where storage is ${what}, theme and textbook work until the page is closed`,
    { hash: STORY, colorScheme: 'light', prepare: (page) => page.addInitScript(take) },
    async ({ page }) => {
      await page.getByRole('button', { name: 'Dark theme' }).click();
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
      await openTextbook(page);
      await page.locator('.textbook .primary').click();
      await says(page, '.textbook .num', /^2 of /);
      await page.locator('.textbook').getByRole('button', { name: 'Leave' }).click();
      await page.waitForSelector('.textbook', { state: 'hidden' });
    },
  );
}

const late = '**/assets/{Learn,Train}-*.js';
/** Runs in a page before its scripts: its service worker, whose requests no test can abort, waits for `letKeep()`. */
function keepLater() {
  const register = navigator.serviceWorker.register.bind(navigator.serviceWorker);
  /** @type {Promise<void>} */
  const allowed = new Promise((resolve) => {
    /** @type {any} */ (window).letKeep = resolve;
  });
  navigator.serviceWorker.register = (...what) => allowed.then(() => register(...what));
}
visitTest(
  'a view whose code fails to load says so and loads on retry, and the page is still cached',
  {
    hash: `${STORY}&view=learn`,
    expects: FETCHED,
    serviceWorkers: 'allow',
    prepare: async (page) => {
      await page.addInitScript(keepLater);
      await page.route(late, (route) => route.abort());
    },
  },
  async ({ page }) => {
    const missing = (view) => page.locator(`${view} [role="alert"]`).filter({ hasText: 'failed to load' });
    await missing('#view-learn').waitFor();
    await page.locator('[data-opens="train"]').click();
    await missing('#view-train').waitFor();
    const again = page.waitForEvent('requestfailed', (request) => /Learn-/.test(request.url()));
    await page.locator('[data-opens="learn"]').click(); // asks for it once more
    await again;
    await missing('#view-learn').waitFor();
    await page.evaluate(() => window.letKeep());
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.unroute(late);
    await page.locator('#view-learn').getByRole('button', { name: 'Try again' }).press('Enter');
    await page.waitForSelector('#view-learn .tutorials');
    await page.waitForFunction(() => document.activeElement.matches('main')); // the button that had the focus is gone
    // one whose view is opened anew needs no button
    await openView(page, 'write');
    await page.locator('[data-opens="train"]').click();
    await page.waitForSelector('#view-train .train');
    assert.equal(
      await page.locator('#view-train > .card > [role="alert"], #view-learn > .card > [role="alert"]').count(),
      0,
    );
    await counts(page, '.tutorials, #view-train .train', 2); // no panel was made twice
  },
);

const explanation = /\/assets\/explanation[^/]*\.js$/i;
pageTest(
  'an explanation whose code fails to load says so and loads on retry',
  {
    hash: `${STORY}&open=ffn&key=1`,
    expects: FETCHED,
    prepare: (page) => page.route(explanation, (route) => route.abort()),
  },
  async ({ page }) => {
    const missing = (/** @type {string} */ where) =>
      page.locator(`${where} [role="alert"]`).filter({ hasText: 'failed to load' });
    await openView(page, 'inside');
    await page.waitForSelector('.values-box'); // hidden until the values are there
    await page.locator('.attention .explain summary').press('Enter');
    await missing('.attention').waitFor();
    await page.locator('.values-box').press('Enter');
    await missing('.anatomy').waitFor();
    await page.unroute(explanation);
    for (let i = 0; i < 2; i++) await page.locator('.attention .explain summary').press('Enter');
    await page.waitForSelector('.attention .explanation .number');
    await page.locator('.values-box').press('Enter');
    await page.waitForSelector('.anatomy .explanation .number');
    for (const where of ['.attention', '.anatomy']) assert.equal(await missing(where).count(), 0, where);
  },
);
