// views.test.js - the views of the page, their addresses, the browser's history, and links for a class
import assert from 'node:assert/strict';
import { VIEWS } from '../../web/page/state/facts/views.js';
import { visitTest } from './built_page.js';
import { atLeast, copied, openCandidates, openShare, openView, resting, settled, stop } from './page_parts.js';
import { quiet } from './quiet.js';

const shownView = (page) => page.evaluate(() => document.querySelector('[data-opens][aria-current]').dataset.opens);
const textOf = (page) => page.locator('#view-write .tok').evaluateAll((list) => list.map((t) => t.dataset.id).join());

visitTest('each view has a tab and an address, and the text stays while views change', {}, async ({ page }) => {
  await settled(page);
  await quiet(page, () => document.querySelectorAll('#view-write .tok').length > 0);
  const before = await textOf(page);
  for (const { id, name } of VIEWS) {
    await page.locator('.tabs-of-views a', { hasText: name }).click();
    await page.waitForFunction((view) => !document.querySelector(`#view-${view}`)?.hidden, id);
    assert.equal(await shownView(page), id);
    assert.equal(await page.locator('.tabs-of-views a[aria-current]').innerText(), name);
    await page.locator(`#view-${id} .card`).first().waitFor();
    if (id !== 'write') assert.match(new URL(page.url()).hash, new RegExp(`[#&]view=${id}`));
    assert.equal(await textOf(page), before);
  }
});

visitTest('back and forward go from view to view without loading a model again', {}, async ({ page, requests }) => {
  await settled(page);
  await openView(page, 'count');
  await openView(page, 'inside');
  await quiet(page);
  const asked = requests.filter((url) => /gguf/.test(url)).length;
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('#view-count').hidden);
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('#view-write').hidden);
  await page.goForward();
  await page.waitForFunction(() => !document.querySelector('#view-count').hidden);
  assert.equal(requests.filter((url) => /gguf/.test(url)).length, asked);
});

visitTest('a view opened before the first model is there is left by going back', {}, async ({ page }) => {
  await openView(page, 'count');
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('#view-write').hidden);
  assert.equal(await shownView(page), 'write');
});

visitTest(
  'an address opens its view with the text and the chosen token',
  {
    hash: '#view=inside&model=weights/stories-1m-q4_0.gguf&prompt=One+day+a+cat&t=0&written=6&at=2',
  },
  async ({ page }) => {
    await page.waitForSelector('.strip');
    // the start token, four words and six written tokens
    await quiet(page, () => document.querySelectorAll('.strip .line span').length === 11);
    assert.equal(await shownView(page), 'inside');
    assert.equal(await page.locator('.strip .line span').first().innerText(), 'start');
    assert.equal(await page.locator('.strip .here').innerText(), ' day'); // after the start token and “One”
  },
);

visitTest(
  'the strip moves the chosen token and writes on',
  {
    hash: '#view=count&model=weights/stories-1m-q4_0.gguf&prompt=One+day+a+cat&t=0&past=1',
  },
  async ({ page }) => {
    await page.waitForSelector('.strip .here');
    await quiet(page);
    const chosen = await page.locator('.strip .chosen').innerText();
    await page.getByRole('button', { name: 'Previous token' }).click();
    await quiet(page);
    assert.notEqual(await page.locator('.strip .chosen').innerText(), chosen);
    const live = await page.evaluateHandle(() => {
      const chosen = document.querySelector('.strip .chosen');
      const values = [chosen.ariaLive];
      new MutationObserver(() => values.push(chosen.ariaLive)).observe(chosen, { attributeFilter: ['aria-live'] });
      return values;
    });
    await page.locator('.strip').getByRole('button', { name: 'Run' }).click();
    await atLeast(page, '.strip .line span:not(.given)', 6);
    await stop(page); // at full speed a text may end before a frame is drawn
    await quiet(page, () => !/Stop/.test(document.querySelector('.strip').textContent));
    assert.deepEqual(await live.jsonValue(), ['polite', 'off', 'polite'], 'no word for each token');
    await openView(page, 'write');
    await resting(page);
    assert.ok(
      (await page.locator('#view-write .tok:not(.given)').count()) > 5,
      'the view that was hidden shows the text',
    );
  },
);

visitTest(
  'a link for a class carries question and hidden parts, and one button shows them',
  {
    hash: '#model=weights/stories-1m-q4_0.gguf&prompt=One+day&ask=What+comes+next%3F&hide=next,nonsense',
  },
  async ({ page }) => {
    await page.waitForSelector('.tok');
    await quiet(page);
    const card = page.locator('[data-panel="assignment"]');
    assert.match(await card.innerText(), /What comes next\?/);
    assert.match(await card.innerText(), /Hidden everywhere on the page: what follows the chosen token/);
    assert.equal(await page.locator('[data-panel="next"] .bar').first().isVisible(), false);
    await card.getByRole('button', { name: 'Show what is hidden' }).click();
    await page.locator('[data-panel="next"] .bar').first().waitFor({ state: 'attached' }); // not what stood in its place
    await openCandidates(page);
    await page.locator('[data-panel="next"] .bar').first().waitFor({ state: 'visible' });
    // and the dialog makes such a link
    await openShare(page);
    await page.getByRole('button', { name: 'Link for a class' }).click();
    const dialog = page.locator('dialog.class-link');
    await dialog.getByLabel('Question').fill('Why this word?');
    await dialog.getByLabel('where the heads look').check();
    const link = new URL(await copied(page, 'Copy the link'));
    const q = new URLSearchParams(link.hash.slice(1));
    assert.equal(q.get('ask'), 'Why this word?');
    assert.equal(q.get('hide'), 'attention');
    assert.equal(q.get('prompt'), 'One day');
  },
);

visitTest(
  'on paper each panel of the open view stands whole and is drawn for the paper, and nothing that only a screen needs',
  { hash: '#model=weights/stories-1m-q4_0.gguf&prompt=One+day', colorScheme: 'dark' },
  async ({ page }) => {
    await page.waitForSelector('.tok');
    await openView(page, 'inside');
    await quiet(page);
    // what a browser does before it makes the pages
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({ media: 'print' });
    for (const panel of ['anatomy', 'heads', 'attention', 'lens'])
      await page.locator(`[data-panel="${panel}"]`).waitFor({ state: 'visible' });
    // empty cards of a view that is not open
    assert.equal(await page.locator('[data-panel="stream"]').isVisible(), false);
    assert.match(await page.locator('.print-head').innerText(), /^stories-1M Q4_0 · “One day” · .*\n+.*One day/s);
    // the wide picture, as wide as the paper, its values painted anew
    const drawn = await page.locator('.anatomy').evaluate((card) => ({
      paper: card.clientWidth,
      svg: card.querySelector('svg').getBoundingClientRect().width,
      wide: card.querySelector('svg').getAttribute('viewBox').startsWith('0 0 1400 '),
      canvas: card.querySelector('canvas').width,
    }));
    assert.ok(drawn.wide && drawn.svg <= drawn.paper && drawn.svg > 0.9 * drawn.paper, JSON.stringify(drawn));
    assert.ok(Math.abs(drawn.canvas - drawn.svg) < 2, JSON.stringify(drawn));
    await page.locator('.tabs-of-views').waitFor({ state: 'hidden' });
    const cut = await page
      .locator('main .card')
      .evaluateAll((cards) =>
        cards.filter((card) => getComputedStyle(card).overflowY !== 'visible').map((card) => card.dataset.panel),
      );
    assert.deepEqual(cut, []);
  },
);

visitTest(
  'little moves while Inside comes by its address: the foot of the page stays below',
  {
    hash: '#view=inside',
    prepare: (page) =>
      page.addInitScript(() => {
        window.moved = 0;
        new PerformanceObserver((list) => {
          for (const { value } of list.getEntries()) window.moved += value;
        }).observe({ type: 'layout-shift', buffered: true });
      }),
  },
  async ({ page }) => {
    await settled(page);
    await quiet(page);
    const moved = await page.evaluate(() => window.moved);
    assert.ok(moved < 0.05, `layout shift ${moved}`); // 0.18 when the foot was moved
  },
);
