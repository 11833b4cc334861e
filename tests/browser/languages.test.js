// languages.test.js - the built page in Chromium in other languages: which is chosen, what is kept, and that nothing breaks
// where text is longer, or read from right to left
import assert from 'node:assert/strict';
import { MIRRORED } from '../sentences.js';
import { pageTest } from './built_page.js';
import { STORY, inAddress, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

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

pageTest(
  'what has no translation says that it is English',
  {
    hash: `${STORY}&lang=zh`,
    prepare: (page) =>
      page.route('**/zh-*.json', (route) => route.fulfill({ json: { '': { lang: 'zh-Hans' }, Heads: '头' } })),
  },
  async ({ page }) => {
    await page.waitForSelector('.heads');
    const english = (name) => page.locator(name).evaluate((element) => element.closest('[lang]').lang);
    assert.equal(await english('#h-heads'), 'zh-Hans');
    assert.equal(await english('.stream'), 'en', 'a panel by its heading');
    assert.equal(await english('.tagline p:not(.lab-links)'), 'en');
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
    },
  );
