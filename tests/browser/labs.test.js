// labs.test.js - the view Labs of the built page in Chromium: the list, the address of each lab, a run to its verdicts,
// stop and resume, what is saved, the model of a lab in the other views
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { LABS, openLab } from '../../web/lib/apps/labs/labs.js';
import { pageTest, samePage, visitTest } from './built_page.js';
import { STORY, accessible, atLeast, cells, inAddress, openView, says, settled, shows } from './page_parts.js';
import { quiet } from './quiet.js';

const cacheTest = samePage({ hash: `${STORY}&lab=cache&size=short` });
const main = '[data-role="lab-run"]';
const names = (/** @type {any} */ page) => page.locator('.labs-list a').allTextContents();
/** Run the open lab to its end. @param {import('playwright-core').Page} page */
async function runLab(page) {
  await page.locator(main).press('Enter');
  await page.locator('[data-role="measured"]').waitFor();
}
/** What a button saves. @param {import('playwright-core').Page} page @param {string} button */
async function saved(page, button) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.lab-card').getByRole('button', { name: button }).first().click(),
  ]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
}

visitTest('no lab is fetched before the view is opened', {}, async ({ page, requests }) => {
  await settled(page);
  await quiet(page);
  assert.deepEqual(
    requests.filter((url) => /LabsView-|\/labs\//.test(url)),
    [],
  );
  await page.locator('[data-opens="labs"]').click();
  await page.locator('.lab-card').waitFor();
  assert.ok(requests.some((url) => /LabsView-/.test(url)));
});

visitTest('the address #lab=NAME opens that lab, another name says so', { hash: '#lab=ioi' }, async ({ page }) => {
  await page.locator('[data-lab="ioi"]').waitFor();
  await page.locator('[data-role="recorded"]').waitFor();
  await page.evaluate(() => (location.hash = '#lab=none'));
  await says(page, '.lab-card .wrong', /there is no lab "none"/);
});

cacheTest('a lab opens with its recorded run drawn, beside its claims', async ({ page }) => {
  const recorded = JSON.parse(
    await readFile(new URL('../../web/page/views/labs/recorded/cache_figures.json', import.meta.url), 'utf8'),
  );
  await page.locator('.lab-figures.recorded .curve').first().waitFor();
  const ids = await page.locator('.lab-figure').evaluateAll((list) => list.map(({ dataset }) => dataset.figure));
  assert.deepEqual(ids.sort(), recorded.map(({ id }) => id).sort());
  await says(page, '[data-role="recorded"]', /seeds 1 to 5/);
  const box = (/** @type {string} */ part) => page.locator(part).boundingBox();
  const [figures, said] = await Promise.all(['.lab-figures', '.lab-said'].map(box));
  assert.ok(
    said.x >= figures.x + figures.width && Math.abs(said.y - figures.y) < 2,
    'claims are not beside the figures',
  );
});

cacheTest('a run is stopped, resumed and begun anew, and the model of the page stays', async ({ page }) => {
  const model = await page.locator('.pill').first().textContent();
  await page.locator(main).focus();
  // stopped in the turn of its first figure: a report later it may be done
  await page.evaluate((main) => {
    const button = document.querySelector(main);
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.lab-figures:not(.recorded) .lab-figure')) return;
      observer.disconnect();
      button.click();
    }).observe(document.querySelector('.lab-card'), { childList: true, subtree: true });
    button.click();
  }, main);
  await says(page, '.lab-card', /Stopped at \d/);
  assert.equal(await page.evaluate((main) => document.activeElement === document.querySelector(main), main), true);
  assert.equal(await page.locator(main).textContent(), 'Resume');
  await runLab(page);
  assert.equal(await page.locator(main).textContent(), 'Run again');
  await runLab(page);
  assert.equal(await page.locator('.pill').first().textContent(), model);
});

cacheTest('a lab runs to its verdicts, and its figures are drawn and saved', async ({ page }) => {
  await runLab(page);
  await accessible(page, 'labs');
  const { claims } = await openLab('cache');
  const rows = await cells(page, '.lab-claims tbody tr');
  assert.equal(rows.length, claims.length);
  for (const [, , measured, verdict] of rows) {
    assert.doesNotMatch(measured, /^–?$/);
    assert.match(verdict, /^(✓ holds|✗ does not hold)$/);
  }
  assert.equal(rows[0][3], '✓ holds', 'the same tokens');
  await atLeast(page, '.lab-figure .curves > svg .curve', 2);
  assert.match(await page.locator('[data-figure="texts"]').innerText(), /Once upon a time[^]*forgotten offset/);
  const json = await saved(page, 'Save JSON');
  assert.equal(json.name, 'cache.json');
  const { lab, size, claims: found, figures } = JSON.parse(json.text);
  assert.deepEqual(
    [lab, size, found.length, figures.map(({ id }) => id)],
    ['cache', 'short', claims.length, ['time', 'texts']],
  );
  const svg = await saved(page, 'Save SVG Time for a text');
  assert.equal(svg.name, 'cache-time.svg');
  assert.match(svg.text, /without cache/);
  const wrong = await page.evaluate((text) => {
    const document = new DOMParser().parseFromString(text, 'image/svg+xml');
    const strokes = [...document.querySelectorAll('path')].map((path) => path.getAttribute('stroke'));
    return { error: document.querySelector('parsererror')?.textContent, plain: strokes.filter((s) => !s), strokes };
  }, svg.text);
  assert.deepEqual([wrong.error, wrong.plain], [undefined, []]);
  assert.ok(new Set(wrong.strokes).size >= 2, 'the curves have their colours');
});

cacheTest('the model of a lab opens in the page', async ({ page }) => {
  await page.getByRole('button', { name: 'Open this model' }).press('Enter');
  await page.locator('#view-write:not([hidden])').waitFor();
  await says(page, '.pill', /^stories-1M ·/);
});

cacheTest('every lab has a link, an address, and its claims before it runs', async ({ page }) => {
  await openView(page, 'labs');
  const labs = await Promise.all(LABS.map(openLab));
  await shows(page, async () => (await names(page)).join(), labs.map(({ title }) => title).join());
  for (const lab of labs) {
    await page.locator('.labs-list a', { hasText: lab.title }).press('Enter');
    await page.locator(`[data-lab="${lab.name}"]`).waitFor();
    await inAddress(page, 'view=labs', `lab=${lab.name}`, 'size=short');
    const claims = async () => (await cells(page, '.lab-claims tbody tr')).map(([claim]) => claim).join();
    await shows(page, claims, lab.claims.map(({ claim }) => claim).join());
    assert.equal(await page.locator('.labs-list a[aria-current]').textContent(), lab.title);
  }
});

pageTest(
  'a matrix is drawn with its scale, read as a table, and saved with its colours; axe-core finds nothing on a phone',
  { hash: `${STORY}&lab=ioi&size=short`, width: 390, height: 844, colorScheme: 'dark' },
  async ({ page }) => {
    await runLab(page);
    const figure = page.locator('.lab-figure:has(.cells)').first();
    await figure.locator('summary').press('Enter');
    await figure.locator('tbody td').first().waitFor();
    await accessible(page, 'labs');
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    const inks = () =>
      figure.locator('rect').evaluateAll((list) => list.map((cell) => cell.getAttribute('fill-opacity')));
    assert.ok(new Set(await inks()).size > 3, 'the matrix is empty');
    assert.match((await saved(page, 'Save SVG')).text, /<rect[^>]* fill="rgb/);
  },
);

visitTest('a line on the first screen leads to a lab', { width: 1440 }, async ({ page }) => {
  await page.locator('.lab-links a').last().press('Enter');
  await page.locator('[data-lab="grokking"]').waitFor();
});
