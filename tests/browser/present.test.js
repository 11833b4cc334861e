// present.test.js - the built page in Chromium as a presentation: one panel at a time in larger type, by the keys of a
// presenter and with an address; a list of the keys everywhere
import assert from 'node:assert/strict';
import { pageTest, visitTest } from './built_page.js';
import { STORY, accessible, inAddress, openShare, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

/** The panels that are seen, but for the prompt. */
const seen = (page) =>
  page
    .locator('main .card[data-panel]:not([data-panel="prompt"]):visible')
    .evaluateAll((list) => list.map((card) => card.dataset.panel));
const typeOf = (page) => page.evaluate(() => parseFloat(getComputedStyle(document.body).fontSize));
const shows = async (page, panel) => {
  await inAddress(page, `present=${panel}`);
  await page.waitForSelector('.presenting'); // its code, and that of a view, comes after the address
  await page.waitForSelector(`.view:not([hidden]) [data-panel="${panel}"]`);
  await quiet(page);
  assert.deepEqual(await seen(page), [panel]);
};

pageTest(
  'a presentation shows one panel of a view at a time in type 1.5 times as large; Escape leaves it',
  `${STORY}&written=8`,
  async ({ page }) => {
    const usual = await typeOf(page);
    await openShare(page);
    await page.getByRole('button', { name: 'Present', exact: true }).press('Enter');
    await shows(page, 'stream');
    assert.equal(await typeOf(page), 1.5 * usual);
    for (const [key, panel] of [
      ['PageDown', 'heads'],
      ['ArrowRight', 'anatomy'],
      ['ArrowRight', 'next'],
      ['PageUp', 'anatomy'],
      ['PageDown', 'next'],
    ]) {
      await page.keyboard.press(key);
      await shows(page, panel);
    }
    await says(page, '.presenting output', /^Next token 4 of 5/);
    await accessible(page, 'presentation');
    // keys of what has the focus are its own
    await page.getByLabel('Prompt', { exact: true }).press('ArrowRight');
    await shows(page, 'next');
    await openView(page, 'count');
    await page.waitForSelector('.view:not([hidden]) [data-panel="parameters"]');
    await quiet(page);
    assert.deepEqual(await seen(page), ['parameters'], 'a view without that panel begins with its first');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.presenting', { state: 'detached' });
    assert.equal(await typeOf(page), usual);
    assert.ok((await seen(page)).length > 3);
  },
);

pageTest(
  'an address opens a presentation, in which the textbook chooses the panel',
  `${STORY}&learn=heads&present=heads`,
  async ({ page }) => {
    await shows(page, 'heads');
    await page.locator('body').press('ArrowRight');
    await says(page, '#h-textbook', /Scores/);
    await shows(page, 'attention');
    const [box, panel] = await page.evaluate(() =>
      ['.textbook', '.view:not([hidden]) .attention'].map((name) =>
        document.querySelector(name).getBoundingClientRect().toJSON(),
      ),
    );
    assert.ok(panel.right <= box.left, 'the box stands beside the panel');
  },
);

{
  let release = () => {};
  const late = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  visitTest(
    'the textbook lights its part and presents its panel also where the code of the view comes late',
    {
      hash: `${STORY}&learn=heads&present=stream`,
      prepare: (page) => page.route(/HeadsCard/, (route) => late.then(() => route.continue())),
    },
    async ({ page }) => {
      await page.waitForSelector('.textbook');
      await page.evaluate(async () => {
        for (let i = 0; i < 90; i++) await new Promise(requestAnimationFrame);
      });
      assert.equal(await page.locator('.textbook-here').count(), 0);
      release();
      await shows(page, 'heads');
      await page.waitForSelector('.textbook-here');
    },
  );
}

pageTest('a key lists the keys, but not where it is typed', STORY, async ({ page }) => {
  await page.getByLabel('Prompt', { exact: true }).press('?');
  assert.equal(await page.locator('dialog.keys').count(), 0);
  await openView(page, 'learn');
  await page.locator('body').press('?');
  await says(page, 'dialog.keys', /Page Down, Page Up/);
  await accessible(page, 'keys');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog.keys', { state: 'detached' });
});

// Panels of 900 px overlapped each other, and the presenter's buttons covered them.
pageTest(
  'each panel of a presentation fits a screen of 1280 by 720, and the buttons cover none',
  { hash: `${STORY}&written=30`, width: 1280, height: 720 },
  async ({ page }) => {
    await openShare(page);
    await page.getByRole('button', { name: 'Present', exact: true }).press('Enter');
    await page.waitForSelector('.presenting');
    for (const view of ['write', 'inside', 'count']) {
      await openView(page, view);
      await quiet(page);
      const next = page.getByRole('button', { name: 'Next panel' });
      for (let more = true; more;) {
        await quiet(page);
        const [name] = await seen(page);
        const at = await page.locator(`[data-panel="${name}"]:visible`).evaluate((card) => ({
          bottom: card.getBoundingClientRect().bottom,
          hidden: card.scrollHeight - card.clientHeight,
        }));
        const bar = await page.locator('.presenting').evaluate((nav) => nav.getBoundingClientRect().top);
        assert.ok(at.bottom <= bar, `${view}, ${name}: ends at ${at.bottom}, the buttons begin at ${bar}`);
        assert.ok(at.hidden <= 1, `${view}, ${name}: ${at.hidden} px are hidden`);
        if (name === 'anatomy') {
          const [picture, title, steppers] = await page.evaluate(() =>
            ['.anatomy-picture', '#h-anatomy', '.steppers'].map((part) =>
              document.querySelector(part).getBoundingClientRect().toJSON(),
            ),
          );
          assert.ok(picture.width > 0.8 * 1280, `${view}: the picture has ${picture.width} of 1280 px`);
          const text = await page.locator('#h-anatomy').evaluate((h2) => {
            const range = document.createRange();
            range.selectNodeContents(h2);
            return range.getBoundingClientRect().right;
          });
          assert.ok(text <= steppers.left || title.bottom <= steppers.top, `${view}: the title meets the steppers`);
        }
        more = (await next.getAttribute('aria-disabled')) !== 'true';
        if (more) await next.press('Enter');
      }
    }
  },
);
