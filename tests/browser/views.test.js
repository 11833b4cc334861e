// views.test.js - the views of the page, their addresses, the browser's history, and links for a class
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VIEWS } from '../../web/page/state/views.js';
import { axe, openView, resting, settled, visit } from './built_page.js';
import { quiet } from './quiet.js';

const shownView = (page) => page.evaluate(() => document.querySelector('[data-opens][aria-current]').dataset.opens);
const textOf = (page) => page.locator('#view-write .tok').evaluateAll((list) => list.map((t) => t.dataset.id).join());

test('each view has a tab and an address, and the text stays while views change', async () => {
  const { page, complaints, close } = await visit();
  await settled(page);
  await quiet(page, () => document.querySelectorAll('#view-write .tok').length > 0);
  const before = await textOf(page);
  for (const { id, name } of VIEWS) {
    await page.locator('.tabs-of-views a', { hasText: name }).click();
    await page.waitForFunction((view) => !document.querySelector(`#view-${view}`)?.hidden, id);
    assert.equal(await shownView(page), id);
    assert.equal(await page.locator('.tabs-of-views a[aria-current]').innerText(), name);
    assert.equal(await page.locator(`#view-${id} .card`).first().isVisible(), true, `${id} is empty`);
    if (id !== 'write') assert.match(new URL(page.url()).hash, new RegExp(`[#&]view=${id}`));
    assert.equal(await textOf(page), before);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('back and forward go from view to view without loading a model again', async () => {
  const { page, requests, close } = await visit();
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
  await close();
});

test('a view opened before the first model is there is left by going back', async () => {
  const { page, close } = await visit();
  await openView(page, 'count');
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('#view-write').hidden);
  assert.equal(await shownView(page), 'write');
  await close();
});

test('an address opens its view with the text and the chosen token', async () => {
  const { page, close } = await visit({
    hash: '#view=inside&model=weights/stories-1m-q4_0.gguf&prompt=One+day+a+cat&t=0&written=6&at=2',
  });
  await page.waitForSelector('.strip', { timeout: 60_000 });
  // the start token, four words and six written tokens
  await quiet(page, () => document.querySelectorAll('.strip .line span').length === 11);
  assert.equal(await shownView(page), 'inside');
  assert.equal(await page.locator('.strip .line span').first().innerText(), 'start');
  assert.equal(await page.locator('.strip .here').innerText(), ' day'); // after the start token and “One”
  await close();
});

test('the strip moves the chosen token and writes on', async () => {
  const { page, close } = await visit({
    hash: '#view=count&model=weights/stories-1m-q4_0.gguf&prompt=One+day+a+cat&t=0&pace=fast',
  });
  await page.waitForSelector('.strip .here', { timeout: 60_000 });
  await quiet(page);
  const chosen = await page.locator('.strip .chosen').innerText();
  await page.getByRole('button', { name: 'Token before' }).click();
  await quiet(page);
  assert.notEqual(await page.locator('.strip .chosen').innerText(), chosen);
  await page.locator('.strip').getByRole('button', { name: 'Run' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.strip .line span:not(.given)').length > 5);
  await openView(page, 'write');
  await resting(page);
  assert.ok(
    (await page.locator('#view-write .tok:not(.given)').count()) > 5,
    'the view that was hidden shows the text',
  );
  await close();
});

test('a link for a class carries question and hidden parts, and one button shows them', async () => {
  const { page, close } = await visit({
    hash: '#model=weights/stories-1m-q4_0.gguf&prompt=One+day&ask=What+comes+next%3F&hide=next,nonsense',
  });
  await page.waitForSelector('.tok', { timeout: 60_000 });
  await quiet(page);
  const card = page.locator('[data-panel="assignment"]');
  assert.match(await card.innerText(), /What comes next\?/);
  assert.match(await card.innerText(), /Hidden: the probabilities of the next token\./);
  assert.equal(await page.locator('[data-panel="next"] .bar').first().isVisible(), false);
  await card.getByRole('button', { name: 'Show what is hidden' }).click();
  await page.locator('[data-panel="next"] .bar').first().waitFor({ state: 'visible' });
  // and the dialog makes such a link
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Link for a class' }).click();
  const dialog = page.locator('dialog.class-link');
  await dialog.getByLabel('Question').fill('Why this word?');
  await dialog.getByLabel('the small pictures of the heads').check();
  await dialog.getByRole('button', { name: 'Copy the link' }).click();
  await dialog.getByText('Copied').waitFor();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  const q = new URLSearchParams(link.hash.slice(1));
  assert.equal(q.get('ask'), 'Why this word?');
  assert.equal(q.get('hide'), 'heads');
  assert.equal(q.get('prompt'), 'One day');
  await close();
});

test('at 200 % zoom of a window of 1440 px no view is wider than the window', async () => {
  const { page, close } = await visit({ width: 720, height: 450, deviceScaleFactor: 2 });
  await settled(page);
  for (const { id } of VIEWS) {
    await openView(page, id);
    await quiet(page);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, id);
  }
  await close();
});

test('in forced colours filled buttons and the chosen tab keep text that differs from what lies behind it', async () => {
  const { page, close } = await visit({ forcedColors: 'active' });
  await settled(page);
  for (const { id } of VIEWS) {
    await openView(page, id);
    // Where colours are forced, the browser lays a plate of the canvas colour behind the text.
    const plates = await page.locator('.go:visible, .primary:visible, [data-opens][aria-current]').evaluateAll((list) =>
      list.map((button) => {
        const { forcedColorAdjust, color, backgroundColor } = getComputedStyle(button);
        return [forcedColorAdjust, color !== backgroundColor];
      }),
    );
    assert.ok(plates.length > 0);
    for (const plate of plates) assert.deepEqual(plate, ['none', true], id);
  }
  await close();
});

for (const how of [{}, { colorScheme: 'dark' }, { forcedColors: 'active' }, { width: 390, height: 844 }])
  test(`axe finds nothing in any view, ${JSON.stringify(how)}`, async () => {
    const { page, close } = await visit(how);
    await settled(page);
    await page.evaluate(axe);
    for (const { id } of VIEWS) {
      await openView(page, id);
      await quiet(page);
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(
        violations.map((v) => `${id}: ${v.id}: ${v.nodes.map((n) => n.target).join(' | ')}`),
        [],
      );
    }
    await close();
  });
