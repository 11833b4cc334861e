// hardship.test.js - the built page in Chromium under bad conditions: no storage, code that fails to load, a folder
// without a model, a low or narrow window
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openView, visit } from './built_page.js';

const SMALL = '#model=weights/stories-1m.gguf&prompt=Once upon a time';
const ours = (/** @type {string[]} */ complaints) =>
  complaints.filter((text) => !/^Failed to load resource|blocked by Playwright/.test(text));

/** A page of the small stories, once its text is there. */
async function open(how = {}) {
  const visitor = await visit({ hash: SMALL, ...how });
  await visitor.page.waitForSelector('.tok', { timeout: 30_000 });
  return visitor;
}
const theme = (page) => page.evaluate(() => document.documentElement.dataset.theme);

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
  test(`where storage is ${what}, theme and guided walk work until the page is closed`, async () => {
    const { page, complaints, close } = await open({
      colorScheme: 'light',
      prepare: (page) => page.addInitScript(take),
    });
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

test('a view whose code fails to load says so and loads on retry, and the page is still cached', async () => {
  const late = '**/assets/{Learn,Lesson}-*.js'; // both are in the view "Learn"
  const { page, complaints, close } = await visit({
    hash: `${SMALL}&view=learn`,
    prepare: (page) => page.route(late, (route) => route.abort()),
  });
  for (const view of ['#view-lesson', '#view-learn'])
    await page.locator(`${view} [role="alert"]`).filter({ hasText: 'could not be fetched' }).waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.unroute(late);
  await page.locator('#view-learn').getByRole('button', { name: 'Try again' }).press('Enter');
  await page.waitForSelector('#view-learn .tutorials');
  assert.equal(
    await page.evaluate(() => document.activeElement.id),
    'view-learn',
    'a button that is gone had the focus',
  );
  // one whose view is opened anew needs no button
  await openView(page, 'write');
  await page.locator('[data-opens="learn"]').click();
  await page.waitForSelector('#view-lesson .lesson');
  assert.equal(
    await page.locator('#view-lesson > .card > [role="alert"], #view-learn > .card > [role="alert"]').count(),
    0,
  );
  assert.equal(await page.locator('.tutorials, .lesson').count(), 2, 'a panel was made twice');
  assert.deepEqual(ours(complaints), []);
  await close();
});

test('an explanation whose code fails to load says so and loads on retry', async () => {
  const late = /\/assets\/explanation[^/]*\.js$/i;
  const { page, complaints, close } = await open({
    hash: `${SMALL}&open=ffn&key=1`,
    serviceWorkers: 'block',
    prepare: (page) => page.route(late, (route) => route.abort()),
  });
  const missing = (/** @type {string} */ where) =>
    page.locator(`${where} [role="alert"]`).filter({ hasText: 'could not be fetched' });
  await openView(page, 'inside');
  await page.locator('.attention .explain summary').press('Enter');
  await missing('.attention').waitFor();
  await page.locator('.values-box').press('Enter');
  await missing('.anatomy').waitFor();
  await page.unroute(late);
  for (let i = 0; i < 2; i++) await page.locator('.attention .explain summary').press('Enter');
  await page.waitForSelector('.attention .explanation .number');
  await page.locator('.values-box').press('Enter');
  await page.waitForSelector('.anatomy .explanation .number');
  for (const where of ['.attention', '.anatomy']) assert.equal(await missing(where).count(), 0, where);
  assert.deepEqual(ours(complaints), []);
  await close();
});

/** Drop what is no file list of a real one, but reads like it. */
const drop = (page, where, how) =>
  page.evaluate(
    ([where, how]) => {
      const file = new File(['some words'], 'notes');
      if (how === 'unreadable file')
        file.text = () => Promise.reject(new DOMException('The file is gone.', 'NotFoundError'));
      const entry = {
        isDirectory: /folder/.test(how),
        name: file.name,
        createReader: () => ({
          readEntries: (done, failed) =>
            how === 'unreadable folder' ? failed(new DOMException('The folder is gone.', 'NotFoundError')) : done([]),
        }),
      };
      const event = new Event('drop', { bubbles: true, cancelable: true });
      Object.defineProperty(event, 'dataTransfer', {
        value: { files: [file], items: [{ webkitGetAsEntry: () => entry }], types: ['Files'] },
      });
      document.querySelector(where).dispatchEvent(event);
    },
    [where, how],
  );

test('a folder without a model, and an unreadable file, are refused with a message', async () => {
  const { page, complaints, close } = await open();
  const refused = async (/** @type {RegExp} */ words) => {
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.querySelector('.error [role="alert"]').textContent),
      words.source,
      { timeout: 5000 },
    );
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.waitForFunction(() => document.querySelector('.error').hidden);
  };
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-folder-'));
  try {
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'inner', 'config.json'), '{}');
    await page.locator('#model-folder').setInputFiles(folder);
    await refused(/^glassformer-folder-\S*: no file lies in this folder itself/);
  } finally {
    rmSync(folder, { recursive: true });
  }
  await drop(page, 'main', 'folder');
  await refused(/^notes: no file lies in this folder itself/);
  await drop(page, 'main', 'unreadable folder');
  await refused(/^notes could not be read: The folder is gone/);
  await openView(page, 'train');
  await page.waitForSelector('#train-text');
  const before = await page.locator('#train-text').inputValue();
  for (const [how, words] of [
    ['folder', 'notes is a folder'],
    ['unreadable file', 'notes could not be read: The file is gone.'],
  ]) {
    await drop(page, '#train-text', how);
    await page.locator('.train .wrong').filter({ hasText: words }).waitFor({ timeout: 5000 });
  }
  assert.equal(await page.locator('#train-text').inputValue(), before);
  assert.equal(await page.locator('.error').isVisible(), false);
  await drop(page, '#train-text', 'file');
  await page.waitForFunction(
    () =>
      document.querySelector('#train-text').value === 'some words' &&
      !document.querySelector('.train .wrong').textContent,
  );
  assert.deepEqual(complaints, []);
  await close();
});

for (const [width, height] of [
  [320, 256],
  [1280, 256],
]) {
  test(`the guided walk fits a window of ${width} x ${height}`, async () => {
    const { page, close } = await open({ width, height });
    // in a narrow window its button is under "Learn" only
    if (width < 544) await openView(page, 'learn');
    const start = page.getByRole('button', { name: /^Guided walk$|walk through the views/ });
    await start.first().click();
    await page.waitForSelector('.walk .primary');
    const boxes = () =>
      page.evaluate(() =>
        ['.walk', '#h-walk', '.walk .primary'].map((name) => {
          const { top, bottom } = document.querySelector(name).getBoundingClientRect();
          return { name, top: Math.round(top), bottom: Math.round(bottom) };
        }),
      );
    for (let i = 1; i <= 4; i++) {
      await page.waitForFunction(
        (n) =>
          document.querySelector('.walk .num').textContent.startsWith(`${n} of`) &&
          document.activeElement.matches('.walk .primary'),
        i,
      );
      for (const { name, top, bottom } of await boxes())
        assert.ok(top >= 0 && bottom <= height, `${name} reaches from ${top} to ${bottom}`);
      // every line of the text can be scrolled between the upper edge and the buttons
      const last = await page.evaluate(() => {
        const walk = document.querySelector('.walk');
        walk.scrollTop = walk.scrollHeight;
        return {
          text: walk.querySelector('p').getBoundingClientRect().bottom,
          foot: walk.querySelector('.walk-foot').getBoundingClientRect().top,
        };
      });
      assert.ok(last.text <= last.foot + 1, `the text ends at ${last.text}, the buttons begin at ${last.foot}`);
      await page.locator('.walk .primary').press('Enter');
    }
    await close();
  });
}

test('“Break it” fits a width of 360 px while it measures', async () => {
  const { page, close } = await open({ width: 360, height: 800 });
  await openView(page, 'experiment');
  await page.waitForSelector('.break .buttons button');
  const { over, before, tall, wide } = await page.evaluate(() => {
    const [tools, button, progress] = ['', ' button', ' progress'].map((part) =>
      document.querySelector(`.break .buttons${part}`),
    );
    const before = button.getBoundingClientRect().height;
    progress.hidden = false;
    const right = Math.max(...[...tools.querySelectorAll('*')].map((e) => e.getBoundingClientRect().right));
    return {
      over: right - tools.getBoundingClientRect().right,
      before,
      tall: button.getBoundingClientRect().height,
      wide: progress.getBoundingClientRect().width,
    };
  });
  assert.ok(over <= 0, `${over} px too wide`);
  assert.ok(
    before > 0 && tall < 40 && wide > 100,
    `a button ${tall} px tall, ${before} px at rest, beside a bar of ${wide} px`,
  );
  await close();
});
