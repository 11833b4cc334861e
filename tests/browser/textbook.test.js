// textbook.test.js - the textbook in Chromium: from page to page by keyboard, a thing to do that is noticed, and a question.
// tests/node/panel_texts.test.js has the numbers and answers, architectures_page.test.js what the pages say of other models.
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { opened } from './expected.js';
import { held, hold, holding, release } from './holding.js';
import { STORY, openTextbook, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const PROMPT = 'Once upon a time, a little fox found a';
const model = await opened(MODEL);
const address = (learn) => `#learn=${learn}&model=${MODEL}&t=0&prompt=${encodeURIComponent(PROMPT)}`;

const at = async (page, i) => {
  await says(page, '.textbook .num', new RegExp(`^${i} of `));
  await page.waitForSelector('.textbook .primary');
};
const said = async (page) => (await page.locator('.textbook .idea').innerText()).replace(/\s+/g, ' ');
const here = (page) => says(page, '.textbook .here', /./);

pageTest(
  'a model with fewer pages is told of from the last one that it has',
  `${STORY}&learn=cache`,
  async ({ page }) => {
    const pages = async () => Number(/\d+$/.exec(await page.locator('.textbook .num').textContent()));
    await says(page, '#h-textbook', /cache/);
    const all = await pages();
    await openView(page, 'experiment');
    await page.locator('#preset').selectOption('tutorial-3');
    await page.locator('#build-kind').selectOption('encoder');
    await page.getByRole('button', { name: 'Make it with random weights' }).click();
    await says(page, '.pill', /random weights/);
    await quiet(page);
    assert.ok((await pages()) < all);
    assert.equal(await page.locator('#h-textbook').textContent(), 'Feed-forward network');
  },
);

pageTest(
  'an address opens a page, which lights its part, has the numbers of the token, checks an answer, and plays on',
  address('qkv'),
  async ({ page }) => {
    await here(page);
    assert.equal(await page.locator('#h-textbook').textContent(), 'Query, key, value');
    await page.waitForSelector('.view:not([hidden]) .anatomy.textbook-here');
    assert.match(await said(page), /rotated by angles that grow with the position, here 10\./);
    // what is done is noticed
    assert.equal(await page.locator('.textbook .task [role="status"]').textContent(), '');
    await page.locator('.tile').nth(1).press('Enter');
    await says(page, '.textbook .task [role="status"]', /Done/);
    const field = page.locator('.question').getByLabel('your answer');
    for (const [answer, verdict] of [
      ['zebra', /^Not yet/],
      [String(model.config.nHeads), /^Right/],
    ]) {
      await field.fill(answer);
      await field.press('Enter');
      await says(page, '.verdict', verdict);
    }
    await page.locator('.textbook').getByRole('button', { name: 'Play' }).press('Enter');
    await says(page, '#h-textbook', /Heads/);
    await page.locator('.textbook').getByRole('button', { name: 'Pause' }).press('Enter');
    await page.locator('.textbook').getByRole('button', { name: 'Leave' }).press('Enter');
    await openView(page, 'learn');
    await says(page, '.contents [role="status"]', /^1 of 20 questions answered$/);
  },
);

// What lies above a part comes after it: the views' code, the numbers of the token.
for (const [width, height] of [
  [1440, 900],
  [390, 844],
])
  pageTest(
    `the textbook is read to its end by keyboard, what a page lights is in view, at ${width} x ${height}`,
    { hash: address('embedding'), width, height },
    async ({ page }) => {
      const free = () => {
        const boxOf = (selector) => document.querySelector(selector)?.getBoundingClientRect();
        const [lit, box] = [boxOf('.view:not([hidden]) .textbook-here'), boxOf('.textbook')];
        if (!lit || !box) return false;
        const below = box.width > innerWidth / 2 ? box.top : innerHeight;
        return lit.top >= boxOf('.stays').bottom - 1 && lit.top < below - 100;
      };
      for (let i = 2; i <= 20; i++) {
        await at(page, i);
        await quiet(page, free);
        await page.keyboard.press('PageDown');
      }
      await page.waitForSelector('.textbook', { state: 'hidden' });
    },
  );

// `before` was read before the prompt's last token was chosen: "Done" stood there at once
pageTest(
  'nothing is done at first, and the button of a page does what it says',
  address('embedding'),
  async ({ page }) => {
    const status = '.textbook .task [role="status"]';
    for (let i = 2; ; i++) {
      await at(page, i);
      const title = await page.locator('#h-textbook').textContent();
      await quiet(page);
      assert.equal(await page.locator(status).textContent(), '', title);
      const does = page.locator('.textbook .does');
      if (!/Counting|Training|Induction/.test(title)) {
        assert.equal(await does.count(), 1, title);
        await does.press('Enter');
        await says(page, status, /Done/);
      }
      if ((await page.locator('.textbook .primary').textContent()).trim() === 'Done') break;
      await page.locator('.textbook .primary').press('Enter');
    }
  },
);

pageTest('a page that is left while its numbers are read leaves no warning', holding(STORY), async ({ page }) => {
  await hold(page, 'forward');
  await openTextbook(page);
  await at(page, 1);
  await held(page);
  await page.keyboard.press('Escape');
  await page.waitForSelector('.textbook', { state: 'hidden' });
  await release(page);
  await quiet(page);
});

for (const [width, height] of [
  [320, 256],
  [1280, 256],
]) {
  pageTest(`the textbook fits a window of ${width} x ${height}`, { hash: STORY, width, height }, async ({ page }) => {
    await openTextbook(page);
    const boxes = () =>
      page.evaluate(() =>
        ['.textbook', '#h-textbook', '.textbook .primary'].map((name) => {
          const { top, bottom } = document.querySelector(name).getBoundingClientRect();
          return { name, top: Math.round(top), bottom: Math.round(bottom) };
        }),
      );
    for (let i = 1; i <= 4; i++) {
      await page.waitForFunction(
        (n) =>
          document.querySelector('.textbook .num').textContent.startsWith(`${n} of`) &&
          document.activeElement.matches('.textbook .primary'),
        i,
      );
      for (const { name, top, bottom } of await boxes())
        assert.ok(top >= 0 && bottom <= height, `${name} reaches from ${top} to ${bottom}`);
      // every line of the text can be scrolled between the upper edge and the buttons
      const last = await page.evaluate(() => {
        const box = document.querySelector('.textbook');
        box.scrollTop = box.scrollHeight;
        return {
          text: box.querySelector('.question').getBoundingClientRect().bottom,
          foot: box.querySelector('.textbook-foot').getBoundingClientRect().top,
        };
      });
      assert.ok(last.text <= last.foot + 1, `the text ends at ${last.text}, the buttons begin at ${last.foot}`);
      await page.locator('.textbook .primary').press('Enter');
    }
  });
}
