// figures.test.js - the built page in Chromium: the figures of a view are saved as SVG, PNG, HTML and CSV, each with
// title, model, prompt and address
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { pageTest } from './built_page.js';
import { accessible, openCandidates, openShare, settled } from './page_parts.js';

const HASH = '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=12';

/** Version, SHA-256 of the weights, their types, type of the cache, binary. */
const IDENTIFIED = /glassformer \d+\.\d+\.\d+ · SHA-256 [0-9a-f]{64} · q8_0, f32 · kv f16 · (?:simd|relaxed)/;

/** @param {import('playwright-core').Page} page @param {string} name */
const saved = (page, name) => savedBy(page, page.getByRole('button', { name, exact: true }));

/** @param {import('playwright-core').Page} page @param {import('playwright-core').Locator} button */
async function savedBy(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), button.press('Enter')]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** Opens the dialog. @param {import('playwright-core').Page} page */
async function opened(page) {
  await openShare(page);
  await page.locator('[data-role="figures"]').press('Enter');
  await page.locator('dialog.figures li').first().waitFor();
}

pageTest(
  'a figure is saved as a drawing, as pixels and as a page, with where it is from',
  { hash: HASH },
  async ({ page }) => {
    await openCandidates(page);
    await page.locator('[data-panel="next"] .bar').nth(9).waitFor();
    await settled(page);
    const words = (
      await page.locator('[data-panel="next"] .bar').first().locator('span:not(.hidden)').allInnerTexts()
    ).join(' ');
    const { width } = await page.locator('[data-panel="next"]').boundingBox();
    await opened(page);
    await accessible(page, 'save figures', 'dialog.figures');
    const svg = await saved(page, 'Save Next token as SVG');
    assert.equal(svg.name, 'next-token.svg');
    const { error, title, about, texts, rects, size } = await page.evaluate((source) => {
      const root = new DOMParser().parseFromString(source, 'image/svg+xml').documentElement;
      const of = (/** @type {string} */ name) => [...root.querySelectorAll(name)];
      return {
        error: of('parsererror').length,
        title: of('title')[0].textContent,
        about: of('desc')[0].textContent,
        texts: of('text').map(({ textContent }) => textContent),
        rects: of('rect').length,
        size: Number(root.getAttribute('width')),
      };
    }, svg.bytes.toString());
    assert.deepEqual([error, title], [0, 'Next token']);
    assert.match(about, /^stories-1M[^·]* · “Once upon a time” · http[^ ]*#.*seed=3/);
    assert.match(about, IDENTIFIED);
    for (const word of words.split(/\s+/).filter(Boolean))
      assert.ok(
        texts.some((text) => text.includes(word)),
        `${word} of the first row`,
      );
    assert.ok(rects > 10, `${rects} rectangles`);
    assert.ok(Math.abs(size - width - 32) < 1, `${size}, the panel has ${width}`);
    const png = await saved(page, 'Save Next token as PNG');
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
    assert.ok(Math.abs(png.bytes.readUInt32BE(16) - 2 * size) <= 2, 'two pixels for one');
    const html = (await saved(page, 'Save Heads as HTML')).bytes.toString();
    assert.match(html, /<h1>Heads<\/h1>[^]*<a href="http[^"]*seed=3[^]*<svg[^]*href="data:image\/png/);
    assert.match(html, IDENTIFIED);
    assert.doesNotMatch(html, /<script|<link|src=/);
  },
);

// A control character in a token made the SVG malformed and the PNG a picture that nothing decodes.
pageTest(
  'control characters of a prompt leave the drawing well formed and the pixels whole',
  { hash: HASH.replace('Once', 'On%01ce%0C %EF%BF%BE%EF%BF%BF\u0085').replace('seed=3', 'seed=2') },
  async ({ page }) => {
    await openCandidates(page);
    await page.locator('[data-panel="next"] .bar').nth(9).waitFor();
    await settled(page);
    await opened(page);
    for (const figure of ['Next token', 'Heads']) {
      const svg = await saved(page, `Save ${figure} as SVG`);
      const png = await saved(page, `Save ${figure} as PNG`);
      const found = await page.evaluate(
        async ([source, data]) => {
          const { documentElement: root } = new DOMParser().parseFromString(source, 'image/svg+xml');
          const pixels = new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]);
          const { width } = await createImageBitmap(pixels);
          return {
            errors: root.querySelectorAll('parsererror').length,
            rects: root.querySelectorAll('rect, image').length,
            ratio: width / Number(root.getAttribute('width')),
          };
        },
        [svg.bytes.toString(), png.bytes.toString('base64')],
      );
      assert.equal(found.errors, 0);
      assert.ok(found.rects > 0);
      assert.ok(Math.abs(found.ratio - 2) < 0.05, `${found.ratio} pixels for one`);
    }
  },
);

pageTest('a file is named after its figure in every language', { hash: `${HASH}&lang=zh` }, async ({ page }) => {
  await opened(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('dialog.figures li button').first().press('Enter'),
  ]);
  assert.match(download.suggestedFilename(), /^\p{L}.*\.svg$/u);
});

pageTest('tables are saved as CSV', { hash: HASH, view: 'count' }, async ({ page }) => {
  const table = page.locator('[data-panel="parameters"] table');
  await table.locator('tr.total').waitFor();
  const group = table.locator('tr.group').first();
  const [name, count] = await Promise.all(['th', '.count'].map((cell) => group.locator(cell).innerText()));
  await opened(page);
  const { name: file, bytes } = await saved(page, 'Save Parameters as CSV');
  const lines = bytes.toString().split(/\r?\n/);
  assert.equal(file, 'parameters.csv');
  assert.equal(lines[0], 'Parameters');
  assert.match(lines[1], /stories-1M.*seed=3/);
  assert.match(lines[1], IDENTIFIED);
  const row = lines.find((line) => line.startsWith(name.trim()));
  assert.ok(row?.includes(`"${count.trim()}"`), `${row} has ${count}`);
  await page.locator('dialog.figures').press('Escape');
  const own = (await saved(page, 'Save as CSV')).bytes.toString();
  assert.match(
    own,
    new RegExp(`^# ${IDENTIFIED.source}[^\n]* · seed 3 · "Once upon a time" · http[^\n]*\nname,component,`),
  );
  const { rows, provenance } = JSON.parse((await saved(page, 'Save as JSON')).bytes.toString());
  assert.ok(rows.length > 10);
  assert.deepEqual([provenance.seed, provenance.prompt, provenance.kvDtype], [3, 'Once upon a time', 'f16']);
  await openShare(page);
  const entry = page.locator('[data-role="figures"]').locator('xpath=preceding-sibling::button[1]');
  const whole = JSON.parse((await savedBy(page, entry)).bytes.toString());
  assert.deepEqual(whole.provenance, { ...provenance, address: whole.provenance.address });
});
