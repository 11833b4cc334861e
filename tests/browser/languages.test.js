// languages.test.js - the built page in Chromium in other languages: which is chosen, what is kept, and that nothing breaks
// where text is longer, or read from right to left
import assert from 'node:assert/strict';
import { MIRRORED } from '../sentences.js';
import { readFileSync } from 'node:fs';
import { pageTest, visitTest } from './built_page.js';
import { STORY, accessible, inAddress, kept, offer, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';
import { button, train } from './training_parts.js';

const html = (page) => page.evaluate(() => [document.documentElement.lang, document.documentElement.dir]);
const tabs = (page) => page.locator('.tabs-of-views').innerText();
const ENGLISH = /^Write\s/;
const CHINESE = /^写作\s/;

pageTest(
  'the browser’s language is spoken, an address before it; its links keep it',
  { locale: 'zh-CN' },
  async ({ page, requests }) => {
    assert.deepEqual(await html(page), ['zh-Hans', 'ltr']);
    assert.match(await tabs(page), CHINESE);
    await inAddress(page, 'lang=zh');
    assert.match(await page.locator('[data-opens="inside"]').getAttribute('href'), /lang=zh/);
    assert.equal(requests.filter((url) => /\/zh-[\w-]+\.json$/.test(url)).length, 1);
    await page.getByLabel('语言').selectOption('en');
    await says(page, '.tabs-of-views', /Write/);
    await page.reload();
    await page.waitForSelector('.tok');
    assert.match(await tabs(page), ENGLISH, 'what was chosen is kept');
  },
);

pageTest(
  'English asks for no catalogue, and another language can be chosen by keyboard',
  STORY,
  async ({ page, requests }) => {
    assert.match(await tabs(page), ENGLISH);
    assert.deepEqual(
      requests.filter((url) => /\.json$/.test(url)),
      [],
    );
    await page.getByLabel('Language').focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction(() => document.documentElement.lang === 'zh-Hans');
    await page.waitForSelector('.tok');
    assert.match(await tabs(page), CHINESE);
    await inAddress(page, 'lang=zh', 'prompt=Once');
  },
);

pageTest(
  'a part that is off is called so in the language of the page',
  `${STORY}&lang=zh&view=experiment&off=0.1`,
  async ({ page }) => {
    assert.match(await page.locator('.switches [aria-pressed="true"]').textContent(), /已关\s*$/);
  },
);

pageTest(
  'where the catalogue does not come the page is in English',
  {
    hash: `${STORY}&lang=zh`,
    expects: /ERR_FAILED/,
    prepare: (page) => page.route('**/zh-*.json', (route) => route.abort()),
  },
  async ({ page }) => {
    assert.match(await tabs(page), ENGLISH);
    assert.deepEqual(await html(page), ['en', '']);
  },
);

visitTest(
  'a visitor who comes again without a network has the language',
  {
    hash: `${STORY}&lang=zh`,
    serviceWorkers: 'allow',
    expects: /ERR_INTERNET_DISCONNECTED|Failed to fetch/,
  },
  async ({ page }) => {
    await page.waitForSelector('.tok');
    assert.ok((await kept(page)).some((name) => /^zh-.*\.json$/.test(name)));
    await page.context().setOffline(true);
    await page.reload();
    await page.waitForSelector('.tok');
    assert.match(await tabs(page), CHINESE);
  },
);

pageTest('the textbook is read and answered in Chinese', `${STORY}&lang=zh&learn=mix`, async ({ page }) => {
  await says(page, '#h-textbook', /^混合$/);
  const field = page.locator('.question').getByLabel('你的答案');
  for (const answer of ['值', 'Value']) {
    await field.fill('查询');
    await field.press('Enter');
    await says(page, '.verdict', /^还不对/);
    await field.fill(answer);
    await field.press('Enter');
    await says(page, '.verdict', /^正确/);
  }
  await accessible(page, 'textbook');
});

pageTest('a model that is in no address is not lost without a question', STORY, async ({ page }) => {
  const languages = page.getByLabel('Language');
  await offer(page, 'own.gguf', readFileSync(new URL('../../weights/stories-1m.gguf', import.meta.url)));
  await says(page, '.pill', /^stories-1m/);
  const answers = [false, true];
  page.on('dialog', (dialog) => (answers.shift() ? dialog.accept() : dialog.dismiss()));
  await languages.selectOption('zh');
  assert.equal(await languages.inputValue(), 'en');
  assert.match(await tabs(page), ENGLISH);
  await languages.selectOption('zh');
  await page.waitForFunction(() => document.documentElement.lang === 'zh-Hans');
  assert.deepEqual(answers, []);
});

pageTest(
  'a training run under way is not lost without a question',
  { hash: STORY, view: 'train' },
  async ({ page }) => {
    await train(page, { steps: 50_000, every: 10_000 });
    await page.waitForSelector('#train .primary[aria-disabled="true"]');
    let asked = '';
    page.on('dialog', (dialog) => {
      asked = dialog.message();
      void dialog.dismiss();
    });
    await page.getByLabel('Language').selectOption('zh');
    assert.match(asked, /training run will be lost/);
    assert.match(await tabs(page), ENGLISH);
    await button(page, 'Stop').click();
  },
);

/** Pairs of panels in view that lie on each other, and what is wider than its panel. */
const collisions = (page) =>
  page.evaluate(() => {
    const boxes = [...document.querySelectorAll('.view:not([hidden]) [data-panel]:not([hidden])')]
      .map((element) => ({ name: element.dataset.panel, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width && box.height);
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return [
      ...boxes.flatMap((a, i) =>
        boxes
          .slice(i + 1)
          .filter((b) => meet(a.box, b.box))
          .map((b) => `${a.name} on ${b.name}`),
      ),
      ...(document.documentElement.scrollWidth > innerWidth
        ? [`the page is ${document.documentElement.scrollWidth} px wide`]
        : []),
    ];
  });

for (const [width, height] of [
  [1440, 900],
  [390, 844],
])
  pageTest(
    `from right to left nothing lies on anything else, at ${width} px`,
    {
      hash: `${STORY}&lang=zh&written=20`,
      width,
      height,
      prepare: (page) => page.route('**/zh-*.json', (route) => route.fulfill({ json: MIRRORED })),
    },
    async ({ page }) => {
      assert.deepEqual(await html(page), ['ar', 'rtl']);
      for (const view of ['write', 'inside', 'count', 'learn']) {
        await openView(page, view);
        await quiet(page);
        assert.deepEqual(await collisions(page), [], view);
      }
      await openView(page, 'inside');
      // the next of them is on the left
      await page.locator('.attention .tabs [aria-checked="true"]').first().press('ArrowRight');
      await quiet(page);
      assert.deepEqual(
        await page
          .locator('.attention .tabs')
          .first()
          .getByRole('radio')
          .evaluateAll((list) => list.map((tab) => tab.getAttribute('aria-checked'))),
        ['false', 'false', 'true', 'false'],
      );
      for (const name of ['.stream .tok', '.matrix', '.heads canvas', '.anatomy text'])
        assert.equal(
          await page
            .locator(name)
            .first()
            .evaluate((element) => getComputedStyle(element).direction),
          'ltr',
          name,
        );
      await openView(page, 'write');
      // so is the next panel of a presentation
      await page.locator('[data-role="share"]').press('Enter');
      await page.locator('[data-role="present"]').press('Enter');
      await inAddress(page, 'present=stream');
      await page.waitForSelector('.presenting'); // its code comes after the address
      await page.keyboard.press('ArrowLeft');
      await inAddress(page, 'present=heads');
      await page.keyboard.press('ArrowRight');
      await inAddress(page, 'present=stream');
      await page.keyboard.press('Escape');
      await quiet(page);
      await openView(page, 'learn');
      await page.locator('.contents ol ol button').first().press('Enter');
      for (let i = 1; i <= 20; i++) {
        await says(page, '.textbook .num', new RegExp(`⟧${i} of `));
        if (i % 4 === 0) {
          await quiet(page);
          const box = await page.locator('.textbook').boundingBox();
          assert.ok(box.x >= 0 && box.x + box.width <= width, `page ${i}`);
          assert.deepEqual(await collisions(page), [], `page ${i}`);
        }
        if (i < 20) await page.keyboard.press('PageDown');
      }
    },
  );
