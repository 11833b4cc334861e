// address.test.js - addresses of the built page in Chromium: what they keep, and what is said where they cannot be kept
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { load } from '../../web/lib/api/index.js';
import { open, pageTest, server, visitTest } from './built_page.js';
import { top } from './expected.js';
import {
  STORY,
  complete,
  copied,
  hasIds,
  ids,
  inAddress,
  offer,
  openView,
  runPrompt,
  says,
  shows,
  written,
} from './page_parts.js';
import { quiet } from './quiet.js';

pageTest('an address reproduces text, head and cell', {}, async ({ page }) => {
  await runPrompt(page, 'The little bear', { tokens: 18, seed: 5 });
  await page.locator('.tok').nth(9).click();
  await openView(page, 'inside');
  await page.locator('.tile').nth(9).click();
  await inAddress(page, 'written=', 'at=9', 'head=1.1');
  const hash = await page.evaluate(() => location.hash);
  const tab = page.locator('[data-opens="count"]');
  await tab.hover(); // to open it in a tab of its own
  assert.equal(await tab.getAttribute('href'), hash.replace('view=inside', 'view=count'));
  const [text, weights] = [await ids(page), await page.locator('.attends').textContent()];
  const again = await open(hash);
  await shows(
    again.page,
    () => again.page.locator('.tile[aria-checked="true"]').getAttribute('aria-label'),
    'layer 2, head 2',
  );
  await shows(again.page, () => again.page.locator('.attends').textContent(), weights);
  await openView(again.page, 'write');
  await hasIds(again.page, text);
  await again.close();
});

// It once opened stories-1M with another text, unsaid.
pageTest('an address of a model that is not here keeps what holds, and says so', {}, async ({ page }) => {
  await offer(page, 'mine.gguf', readFileSync(`${top}weights/stories-1m.gguf`));
  await says(page, '.pill', /^stories-1m/);
  await runPrompt(page, 'The cat', { tokens: 5 });
  const { hash } = new URL(await copied(page, 'Copy link'));
  assert.match(hash, /from=stories-1m&prompt=The\+cat/);
  assert.doesNotMatch(hash, /written=|ids=|model=|head=/);
  const second = await open(hash);
  await says(second.page, '.told', /made with “stories-1m”/);
  assert.equal(await second.page.getByRole('button', { name: 'Load that model' }).isVisible(), false);
  assert.match(await second.page.locator('.text').innerText(), /The cat$/);
  await second.close();
});

const AWAY = 'https://models.example/far.gguf';
/** @type {string[]} */
const asked = [];
visitTest(
  'a model that lies elsewhere is not asked for until the visitor does',
  {
    hash: `#model=${encodeURIComponent(AWAY)}&prompt=The+cat&ids=1.2.3&head=4.4`,
    prepare: (page) =>
      page.route('https://models.example/**', (route) => {
        asked.push(route.request().url());
        return route.fulfill({
          body: readFileSync(`${top}weights/stories-1m.gguf`),
          headers: { 'access-control-allow-origin': '*' },
        });
      }),
  },
  async ({ page }) => {
    await says(page, '.told', /which is not loaded/);
    await page.waitForSelector('.tok');
    assert.equal(await written(page), 0);
    assert.deepEqual(asked, []);
    await page.getByRole('button', { name: 'Load that model' }).click();
    await says(page, '.pill', /^far\.gguf/);
    assert.deepEqual([...new Set(asked)], [AWAY]);
    assert.equal(await page.locator('.told').isVisible(), false);
  },
);

// A tab that was chosen first led to an address without model and text.
visitTest(
  'an address whose model did not come is kept, whatever view is opened',
  {
    hash: '#model=weights/dates/&source=1+May+1999&written=3',
    prepare: (page) => page.route('**/weights/dates/**', (route) => route.abort()),
  },
  async ({ page }) => {
    await says(page, '.error', /./);
    await openView(page, 'count');
    await inAddress(page, 'view=count', 'model=weights', 'source=1+May+1999', 'written=3');
    const tab = page.locator('[data-opens="learn"]');
    await tab.hover();
    assert.match(await tab.getAttribute('href'), /view=learn&model=weights.*written=3/);
  },
);

// Links had view and class alone, and a change of the language lost what was typed.
visitTest(
  'an address that names no text does not replace what is typed and chosen while no model is there',
  {
    hash: '#lang=en&ask=Old',
    expects: /ERR_FAILED/,
    prepare: (page) => page.route('**/weights/**', (route) => route.abort()),
  },
  async ({ page }) => {
    await says(page, '.error', /./);
    await page.getByLabel('Prompt', { exact: true }).fill('typed');
    const link = async () => {
      for (const view of ['count', 'learn']) await page.locator(`[data-opens="${view}"]`).hover(); // which writes it
      return page.locator('[data-opens="learn"]').getAttribute('href');
    };
    await shows(page, async () => /view=learn&ask=Old&prompt=typed&t=/.test(await link()), true);
    await openView(page, 'count'); // which puts it into the address
    await openView(page, 'write');
    await page.getByLabel('Prompt', { exact: true }).fill('other');
    await shows(page, async () => /view=learn&ask=Old&prompt=other&t=/.test(await link()), true);
  },
);

pageTest('another address put into the same tab is followed, the skip link is not', STORY, async ({ page }) => {
  await page.evaluate(() => {
    window.same = true;
  });
  await page.locator('.skip').press('Enter');
  await quiet(page);
  assert.ok(await page.evaluate(() => window.same), 'the skip link loaded the page again');
  // a change on its way into the address does not overtake it
  await page.evaluate(() => {
    document.querySelector('#sampler-temperature').dispatchEvent(new Event('input'));
    setTimeout(() => {
      location.hash = '#model=weights/stories-1m.gguf&prompt=The+cat&seed=3&written=4';
    }, 290);
  });
  await page.waitForFunction(() => !window.same && document.querySelectorAll('.tok:not(.given)').length === 4);
  const model = await load(`${top}weights/stories-1m.gguf`);
  const given = await model.encode('The cat'),
    want = [...given];
  for await (const step of model.generate(given, { temperature: 0.8, topK: 40, topP: 0.95, seed: 3, maxTokens: 4 }))
    want.push(step.id);
  model.dispose();
  assert.deepEqual(await ids(page), want);
});

// 400,000 characters kept the page from answering for ten seconds.
pageTest(
  'a prompt that is too long for an address is not read, one that is too long for the model stays and can be cut',
  { hash: `#model=weights/stories-1m.gguf&prompt=${'a '.repeat(200_000)}` },
  async ({ page }) => {
    await says(page, '.notice', /more than 100000 characters and was not read/);
    await page.goto('about:blank');
    await page.goto(`${server.url}#model=weights/stories-1m.gguf&prompt=Once upon a time&written=8`);
    await complete(page, 8);
    const box = page.getByLabel('Prompt', { exact: true });
    await box.fill('a '.repeat(50_000));
    await box.press('Enter');
    await says(page, '.over-long', /The prompt has more than 512 tokens/);
    assert.equal(await page.locator('.go').getAttribute('aria-disabled'), 'true');
    assert.equal((await box.inputValue()).length, 100_000);
    await page.locator('.over-long button').click();
    await quiet(page);
    assert.ok((await ids(page)).length > 300);
    await page.locator('.anatomy').scrollIntoViewIfNeeded();
    await page.waitForSelector('.anatomy-svg .lane');
  },
);
