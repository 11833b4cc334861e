// compare.test.js - the view Experiment in Chromium where models are compared and built. tests/node/panel_texts.test.js has
// what is told of two shipped models, roster.test.js the counts of known sizes.
import assert from 'node:assert/strict';
import { open, pageTest, visit } from './built_page.js';
import { cells, copied, fast, ids, openView, read, run, saved, says, shows, written } from './page_parts.js';

const total = async (page, column) => read(await page.locator('.compare-models tr.total td').nth(column).textContent());

pageTest(
  'a shipped model is told from the loaded one; an encoder-decoder with grouped queries and a d_head is built, and writes',
  {},
  async ({ page }) => {
    await openView(page, 'experiment');
    await page.locator('#preset').selectOption({ label: 'stories-GPT-2' });
    await shows(page, () => page.locator('.compare-models thead th').nth(2).textContent(), 'stories-GPT-2');
    assert.deepEqual((await cells(page, '.changes tbody tr')).find(([name]) => name === 'positions')?.slice(1), [
      'rotary',
      'learned',
    ]);
    assert.equal(await page.locator('.flows .box.head.differs').count(), 0);
    await page.locator('#preset').selectOption({ label: 'stories-5M' });
    await says(page, '.changes', /Both have the same settings/);
    assert.equal(await page.locator('.flows .differs, .flows .unlike').count(), 0);
    await page.locator('#preset').selectOption('tutorial-5');
    await page.locator('#build-kind').selectOption('encoder_decoder');
    for (const [key, value] of [
      ['vocabSize', 300],
      ['dModel', 48],
      ['nLayers', 2],
      ['nHeads', 6],
      ['nKvHeads', 2],
      ['dHead', 16],
      ['slidingWindow', 4],
    ])
      await page.locator(`#build-${key}`).fill(String(value));
    await page.locator('#build-position').selectOption('rope');
    await page.locator('#build-ropeTheta').fill('500');
    await page.locator('#build-qkNorm').check();
    await page.locator('.further summary').press('Enter');
    await page.locator('#build-ropeScaling').selectOption('linear');
    await page.locator('#build-ropeFactor').fill('2.5');
    // as many as the decoder's, since nobody said
    assert.equal(await page.locator('#build-nEncoderLayers').inputValue(), '2');
    await page.locator('#build-nEncoderLayers').fill('3');
    // by hand: q 96 x 48, k and v 32 x 48, o 48 x 96, norms of q and k 16 each in self-attention only; FFN 2 x 48 x 192;
    // LayerNorms 2 x 48
    const attention = 96 * 48 + 2 * 32 * 48 + 48 * 96,
      own = attention + 2 * 16,
      ffn = 2 * 48 * 192,
      norm = 96;
    const want = 300 * 48 + 3 * (own + ffn + 2 * norm) + norm + 2 * (own + attention + ffn + 3 * norm) + norm;
    await shows(page, () => total(page, 1), want);
    await page.getByRole('button', { name: 'Make it with random weights' }).click();
    await says(page, '.pill', /random weights/);
    await openView(page, 'write');
    await page.waitForSelector('.tok');
    await fast(page, 4);
    await run(page);
    assert.equal(await written(page), 4);
    assert.equal(await page.locator('.error').isVisible(), false);
    assert.match(await page.locator('.anatomy-svg').textContent(), /6 heads, cross-attention[^]*Encoder, 3 blocks/);
    const { config } = (await saved(page)).model;
    const built = {
      ...{ kind: 'encoder_decoder', dHead: 16, nKvHeads: 2, slidingWindow: 4, ropeTheta: 500, ropeScaling: 'linear' },
      ...{ ropeFactor: 2.5, qkNorm: true, nEncoderLayers: 3 },
    };
    assert.deepEqual(Object.fromEntries(Object.keys(built).map((key) => [key, config[key]])), built);
    // its address is all that it takes to have it again, text included
    const link = new URL(await copied(page, 'Copy link'));
    const second = await open(link.hash);
    assert.match(await second.page.locator('.pill').first().textContent(), /^random weights/);
    assert.deepEqual(await ids(second.page), await ids(page));
    await second.close();
    const q = new URLSearchParams(link.hash.slice(1));
    for (const bad of [
      { ...JSON.parse(q.get('made')), nKvHeads: 4 },
      { ...JSON.parse(q.get('made')), vocabSize: 1e7 },
      'no description',
    ]) {
      q.set('made', JSON.stringify(bad));
      const third = await visit({ hash: `#${q}` });
      await says(third.page, '.told', /made with “random weights”/);
      await says(third.page, '.pill', /^stories/);
      assert.equal(await written(third.page), 0);
      await third.close();
    }
    // what cannot be is refused in a sentence, and nothing is made of it
    await openView(page, 'experiment');
    await page.locator('#build-nKvHeads').fill('4');
    await says(page, '.compare-models .wrong', /n_heads 6 is not a multiple of n_kv_heads 4/);
    assert.equal(
      await page.getByRole('button', { name: 'Make it with random weights' }).getAttribute('aria-disabled'),
      'true',
    );
  },
);
