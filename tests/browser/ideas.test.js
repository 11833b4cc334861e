// ideas.test.js - the panel "Break it" in Chromium: each idea of the transformer left out by itself, against the library
// in Node
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { bitsPerToken, withModel } from './expected.js';
import { STORY, atLeast, cells, counts, ids, makeRandom, openView, read, says } from './page_parts.js';
import { quiet } from './quiet.js';

/** The library's loss of a text in bits a token, and how its beginning goes on. */
async function tried(api, ids, given, options = {}) {
  let text = '';
  for await (const step of api.generate(given, { ...options, temperature: 0, maxTokens: 24 })) text += step.text;
  return { bits: await bitsPerToken(api, ids, options), text: text.trim() };
}
const tryAll = async (page) => {
  await openView(page, 'experiment');
  await quiet(page); // while a text is written nothing is tried
  await page.getByRole('button', { name: 'Break it, one idea at a time' }).click();
  await atLeast(page, '.broken tbody tr', 5);
  await page.waitForFunction(() => document.querySelector('.break progress').hidden);
  return cells(page, '.broken tbody tr');
};
const IDEAS = {
  'without the mask': 'causal',
  'without ÷ √d': 'scaleScores',
  'without positions': 'usePosition',
  'without the residual stream': 'useResidual',
  'without norms in the blocks': 'useNorm',
  'without the final norm': 'useFinalNorm',
};
/** Each row is what the library gives for a model without that idea. */
async function isTheLibrarys(rows, path, within, work) {
  for (const [name, bits, text] of rows) {
    const key = Object.entries(IDEAS).find(([title]) => name.startsWith(title))?.[1];
    const want = await withModel(path, work, key && { switches: { [key]: false } });
    assert.ok(Math.abs(read(bits) - want.bits) < within * want.bits + 1e-6, `${name}: ${bits}, expected ${want.bits}`);
    assert.equal(text, want.text || '(no text)', name);
  }
}

pageTest(
  'each idea is left out by itself, on a fixed text, and on the text above where that is chosen',
  '#model=weights/stories-1m.gguf&prompt=The cat&seed=3&written=20',
  async ({ page }) => {
    const rows = await tryAll(page),
      path = 'weights/stories-1m.gguf';
    const fixed = /“([^]+)”/.exec(await page.locator('.break .hint').textContent())[1];
    assert.ok(fixed.length > 100);
    await isTheLibrarys(rows, path, 0.01, async (api) =>
      tried(api, await api.encode(fixed), await api.encode(fixed.slice(0, fixed.indexOf('.') + 1))),
    );
    assert.equal(rows.length, 7);
    await page.locator('#break-text').selectOption('own');
    assert.equal(await page.locator('.broken').isVisible(), false, 'the figures of another text are still there');
    const own = await tryAll(page);
    assert.notEqual(own[0][1], rows[0][1]);
    const all = await ids(page);
    assert.ok(Math.abs(read(own[0][1]) - (await withModel(path, (api) => bitsPerToken(api, all)))) < 0.006);
  },
);

pageTest(
  'an encoder-decoder and a model built here are broken too; an encoder is told why not',
  '#model=weights/dates/&source=the 1st of may, 1999&prompt=&t=0&written=10',
  async ({ page }) => {
    const rows = await tryAll(page),
      all = await ids(page);
    await isTheLibrarys(rows, 'weights/dates/', 0.06, (api) =>
      tried(api, all, all.slice(0, 1), { source: 'the 1st of may, 1999' }),
    );
    assert.equal(rows.length, 6, 'it has no final norm to leave out');
    await makeRandom(page, 'tutorial-3'); // its context holds 16 tokens
    const random = await tryAll(page);
    assert.ok(
      random.every(([, bits]) => Math.abs(read(bits) - 8) < 1),
      `256 tokens, all alike, are 8 bits: ${random.map(([, bits]) => bits).join(', ')}`,
    );
    await openView(page, 'write');
    assert.ok((await page.locator('.tok').count()) <= 8, 'the prompt leaves no room to write');
    await makeRandom(page, 'tutorial-3', 'encoder');
    await says(page, '.break', /an encoder has no loss to compare/);
    assert.equal(await page.getByRole('button', { name: 'Break it, one idea at a time' }).isVisible(), false);
    assert.match(await page.locator('.ablate h2').textContent(), /predicts no token/);
  },
);

pageTest('ideas tried on the text above are gone with it', `${STORY}&seed=3&written=20`, async ({ page }) => {
  const prompt = async (text) => {
    await openView(page, 'write');
    await page.getByLabel('Prompt', { exact: true }).fill(text);
    await counts(page, '.tok:not(.given)', 0);
    await openView(page, 'experiment');
    await quiet(page);
  };
  await tryAll(page);
  await prompt('The cat');
  assert.equal(await page.locator('.broken').isVisible(), true, 'the fixed text is still the same');
  await page.locator('#break-text').selectOption('own');
  await tryAll(page);
  await prompt('The cat sat on');
  await page.locator('.broken').waitFor({ state: 'hidden' });
  await openView(page, 'write');
  await page.locator('#pace').selectOption('reading');
  await page.locator('#past').check(); // it does not end before it is looked at
  await page.locator('#max-tokens').fill('400');
  await page.locator('#max-tokens').press('Tab');
  await page.locator('.go').click();
  await atLeast(page, '.tok:not(.given)', 2);
  await openView(page, 'experiment');
  await page.getByRole('button', { name: 'Break it, one idea at a time' }).click();
  assert.match(await page.locator('.break .hint').textContent(), /still being written/);
});

pageTest(
  '“Break it” fits a width of 360 px while it measures',
  { hash: STORY, width: 360, height: 800 },
  async ({ page }) => {
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
      before > 0 && tall < 48 && wide > 100,
      `a button ${tall} px tall, ${before} px at rest, beside a bar of ${wide} px`,
    );
  },
);
