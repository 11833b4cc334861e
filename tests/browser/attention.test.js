// attention.test.js - the view Inside in Chromium: heads, the matrix of one head and its stages, against the library in
// Node on the same file. tests/node/panel_texts.test.js has the list beside a head.
import assert from 'node:assert/strict';
import { open, pageTest } from './built_page.js';
import { opened, sum, tensor, withModel } from './expected.js';
import {
  STORIES,
  STORY,
  atLeast,
  choose,
  hasIds,
  ids,
  inAddress,
  insideStory,
  openView,
  read,
  resting,
  runPrompt,
  says,
  shows,
  writtenText,
} from './page_parts.js';
import { quiet } from './quiet.js';

const model = await opened(STORIES);
/** What is said of the selected cell: query, key, value. */
const cellOf = async (page) => {
  const said = await page.locator('#cell').textContent();
  return /query (\d+) .* → key (\d+) [^]*: ([^:]+)$/.exec(said)?.slice(1) ?? assert.fail(said);
};

pageTest(
  'a head and a cell are chosen by keyboard, and the value read is the uncached pass’s',
  insideStory(),
  async ({ page }) => {
    const pattern = await tensor(model, await ids(page), 'blocks.2.attn.hook_pattern'),
      n = pattern.shape[1];
    await page.locator('.tile[aria-checked="true"]').focus();
    for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    await shows(page, () => page.locator('.tile[aria-checked="true"]').getAttribute('aria-label'), 'layer 3, head 2');
    await says(page, '#h-attention', /Layer 3, head 2/);
    await page.locator('.matrix').focus();
    await page.keyboard.press('ArrowLeft'); // the first key selects a cell
    await says(page, '#cell', /→/);
    const seen = new Set();
    const moves = 'ArrowLeft ArrowLeft ArrowUp ArrowUp ArrowLeft PageUp Home ArrowDown ArrowRight ArrowRight';
    for (const key of moves.split(' ')) {
      await page.keyboard.press(key);
      await quiet(page);
      const [q, k, value] = await cellOf(page);
      seen.add(`${q},${k}`);
      const want = pattern.data[(1 * n + Number(q)) * n + Number(k)] * 100;
      if (Number(k) > Number(q)) assert.equal(value, 'masked');
      else if (value === '<0.1 %') assert.ok(want < 0.0501, `${q}, ${k}: expected ${want}`);
      else assert.ok(Math.abs(parseFloat(value) - want) <= 0.051, `${q}, ${k}: ${value}, expected ${want}`);
    }
    assert.ok(seen.size >= 6, `the cursor moved over ${[...seen].join(' ')}`);
    // the same numbers as a table
    await page.locator('.attention .as-table:not(.explain) summary').click();
    await atLeast(page, '.attention .as-table:not(.explain) td', 21);
  },
);

pageTest(
  'each stage of a score has the captured value, also before the mask, and as many queries as the pattern',
  insideStory('&head=1.2&at=3&key=3'),
  async ({ page }) => {
    const shape = () => page.locator('#h-attention small').textContent();
    await quiet(page);
    const size = / (\[.*\])$/.exec(await shape())[1];
    const all = await ids(page);
    const at = (name) => tensor(model, all, `blocks.1.attn.${name}`);
    const [q, k, raw] = [await at('hook_rot_q'), await at('hook_rot_k'), await at('hook_attn_scores_raw')];
    const [, heads, d] = q.shape,
      n = raw.shape[1];
    const vector = ({ data }, at) => data.subarray((at * heads + 2) * d, (at * heads + 3) * d);
    for (const [keys, key, masked] of [
      [['ArrowLeft'], 2, false],
      [Array(5).fill('ArrowRight'), 7, true],
    ]) {
      for (const each of keys) await page.locator('.matrix').press(each);
      // a score that the mask hides is not computed by the engine
      const product = masked
        ? sum([...vector(q, 3)].map((x, i) => x * vector(k, key)[i]))
        : raw.data[(2 * n + 3) * n + key];
      for (const [stage, said, want] of [
        ['scores', 'before scaling', product],
        ['÷ √d', 'scores, scaled', product / Math.sqrt(d)],
        ['masked', 'scores, masked', masked ? 'masked' : product / Math.sqrt(d)],
      ]) {
        await page.getByRole('radio', { name: stage, exact: true }).click();
        await says(page, '#h-attention', new RegExp(said));
        await quiet(page);
        const [query, at, shown] = await cellOf(page);
        assert.deepEqual([query, at], ['3', String(key)], 'the selected cell moved');
        if (want === 'masked') assert.equal(shown, want);
        else assert.ok(Math.abs(read(shown) - want) < 2e-4, `${stage}: ${shown}, expected ${want}`);
        if (masked && want !== 'masked') assert.match(shown, /, masked in a later step$/);
        assert.ok((await shape()).endsWith(size), await shape());
      }
    }
  },
);

pageTest(
  'a phone is not told of arrow keys',
  insideStory('', { width: 390, height: 844, hasTouch: true, isMobile: true }),
  async ({ page }) => {
    await says(page, '#cell', /^Tap a cell/);
  },
);

pageTest(
  'with 512 tokens a pixel of a small head is the largest of the weights it stands for',
  { hash: STORY, expects: /willReadFrequently/ },
  async ({ page }) => {
    await page.locator('#past').check();
    await runPrompt(page, 'Once upon a time', { tokens: 600 });
    await openView(page, 'inside');
    await page.locator('.heads').scrollIntoViewIfNeeded();
    await quiet(page);
    const { layer, head } = { layer: 3, head: 2 };
    const tile = page.locator(`.tile[aria-label="layer ${layer + 1}, head ${head + 1}"] canvas`);
    // the layers that were not shown while the text was written are read when it rests
    await page.waitForFunction(
      (c) => c.getContext('2d').getImageData(0, c.height - 1, 1, 1).data[3],
      await tile.elementHandle(),
    );
    const { size, pixels } = await tile.evaluate((c) => ({
      size: c.width,
      pixels: [...new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)],
    }));
    const { data, shape } = await tensor(model, await ids(page), `blocks.${layer}.attn.hook_pattern`);
    const [, n] = shape;
    assert.equal(n, 512);
    const wide = n / size;
    assert.ok(size <= 128 && Number.isInteger(wide), `${size} pixels`);
    // the newest token has not been read: its row is missing
    const largest = (y, x) => {
      let most = 0;
      for (let q = y * wide; q < Math.min(n - 1, (y + 1) * wide); q++)
        for (let k = x * wide; k <= Math.min(q, (x + 1) * wide - 1); k++)
          most = Math.max(most, data[(head * n + q) * n + k]);
      return most;
    };
    const lightness = (rgba) => (rgba & 255) + ((rgba >> 8) & 255) + ((rgba >> 16) & 255);
    const seen = [];
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) {
        if (x > y) assert.equal(pixels[y * size + x], 0, 'a masked cell is painted');
        else seen.push([largest(y, x), lightness(pixels[y * size + x])]);
      }
    seen.sort(([a], [b]) => a - b);
    // the palette darkens with the weight, in 256 steps
    const wrong = seen.filter(([, light], i) => i && light > seen[i - 1][1]).length;
    assert.ok(wrong === 0, `${wrong} of ${seen.length} pixels are lighter than one of a smaller weight`);
    assert.ok(seen.at(-1)[1] < seen[0][1] - 200, 'the picture is flat');
    // its address goes past the end as well
    const written = await ids(page);
    await inAddress(page, 'past=1', '&written=5');
    const again = await open(await page.evaluate(() => location.hash));
    await openView(again.page, 'write');
    await hasIds(again.page, written);
    assert.ok(await again.page.locator('#past').isChecked());
    await again.close();
  },
);

pageTest(
  'dates: the encoder-decoder reads a date and writes it as numbers, and shows where it looked',
  STORY,
  async ({ page }) => {
    const heading = (said) => says(page, '#h-attention', new RegExp(said));
    await choose(page, 'dates');
    await shows(page, () => writtenText(page), '2024-09-13', 'what it opens with');
    await resting(page);
    await openView(page, 'inside');
    await heading('^Across, layer 2, head 2');
    await openView(page, 'write');
    await page.locator('#pace').selectOption('fast');
    const source = 'the 1st of may, 1999';
    await page.locator('#source').fill(source);
    await page.locator('#source').press('Enter');
    await shows(page, () => writtenText(page), '1999-05-01', 'the date typed');
    await resting(page);
    // a row for each character written, against the library's own
    const all = await ids(page);
    const { data, shape } = await withModel('weights/dates/', (dates) =>
      tensor(dates, all, 'decoder.1.cross_attn.hook_pattern', { source }),
    );
    const [, queries, keys] = shape;
    assert.deepEqual([queries, keys], [11, 20]);
    await page.locator('.tok').nth(3).click();
    await openView(page, 'inside');
    await heading('pattern \\[10 queries, 20 keys\\]');
    const row = data.subarray((queries + 3) * keys, (queries + 4) * keys); // head 1
    const best = row.indexOf(row.reduce((a, b) => Math.max(a, b), 0));
    await shows(
      page,
      async () => (await page.locator('.attends li').first().textContent()).replace(/\s/g, ''),
      `${source[best]}${(row[best] * 100).toFixed(1).replace(/\.0$/, '')}%`,
      'the strongest key of the fourth character',
    );
    // each stack has rows
    for (const [name, shape] of [
      ['encoder', '20 queries, 20 keys'],
      ['decoder', '10 queries, 10 keys'],
      ['across', '10 queries, 20 keys'],
    ]) {
      await page.getByRole('radio', { name, exact: true }).click();
      await heading(`\\[${shape}\\]`);
    }
    await openView(page, 'write');
    await page.getByRole('button', { name: '20991231' }).click();
    await shows(page, () => writtenText(page), '2099-12-31', 'an example');
    await inAddress(page, 'source=20991231', 'written=10');
    const again = await open(await page.evaluate(() => location.hash));
    await openView(again.page, 'write');
    await shows(again.page, () => writtenText(again.page), '2099-12-31', 'from its address');
    // back to stories: their own beginning
    await choose(again.page, 'stories-5M');
    await says(again.page, '.text', /Once upon a time/);
    await again.page.locator('.source').waitFor({ state: 'hidden' });
    await again.close();
  },
);
