// unit.test.js - the built page in Chromium: the card of a neuron and of a head, against the library in Node on the same
// file; a blank that is filled; the tree of a beam search, and a source with tokens left out
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { load } from '../../web/lib/api/index.js';
import { pageTest } from './built_page.js';
import { bitsPerToken, opened, top } from './expected.js';
import { accessible, cells, copied, counts, ids, openView, read, says, shows } from './page_parts.js';
import { quiet } from './quiet.js';

const FILE = 'weights/stories-1m.gguf';
const TEXT = `#model=${FILE}&prompt=Once upon a time&seed=3&written=12`;
const model = await opened(FILE);

const card = (page) => page.locator('dialog.unit');
const responses = async (page) => {
  await page.waitForSelector('dialog.unit .responses li');
  return page
    .locator('dialog.unit .responses li')
    .evaluateAll((list) =>
      list.map((li) => [li.querySelector('.num').textContent, li.querySelector('mark').textContent, li.textContent]),
    );
};

pageTest(
  'a neuron has a card: where it responds, what it makes likelier, a switch and an address',
  { hash: `${TEXT}&open=ffn`, view: 'inside' },
  async ({ page }) => {
    const first = page.locator('.inspector .neurons button').first();
    await first.press('Enter');
    const [, layer, index] = /unit=(\d+)\.n(\d+)/.exec(
      await page.waitForFunction(() => /unit=[^&]*/.exec(location.hash)?.[0]).then((hash) => hash.jsonValue()),
    );
    const point = `blocks.${layer}.mlp.hook_post`;
    const strongest = await responses(page);
    assert.equal(strongest.length, 8);
    // the first response is what the engine computes of that text
    const text = 'Once upon a time, there was a little girl named Lily. She liked to play in the park with her dog.';
    const tokens = await model.encode(text);
    const { data, shape } = (await model.forward(tokens, { capture: [point] })).captured[point];
    const most = Math.max(...tokens.slice(1).map((_, i) => data[(i + 1) * shape[1] + Number(index)]));
    assert.ok(read(strongest[0][0]) >= most - 0.01, `${strongest[0]}, at least ${most}`);
    strongest.slice(1).forEach(([value], i) => assert.ok(read(value) <= read(strongest[i][0])));
    // its column of the down projection, times gain, times the rows of the head
    const down = await model.matrix(`blocks.${layer}.ffn.down.weight`);
    const [gain, head] = [await model.weight('final_norm.weight'), await model.matrix('head.weight')];
    const direction = Array.from(gain, (g, i) => g * down.data[i * down.shape[1] + Number(index)]);
    const logits = Array.from({ length: head.shape[0] }, (_, id) =>
      direction.reduce((sum, x, i) => sum + x * head.data[id * direction.length + i], 0),
    );
    const best = logits.indexOf(Math.max(...logits));
    const word = (await model.decode([best])).trim();
    await shows(page, () => page.locator('dialog.unit .small-bars .w').first().textContent(), word);
    await accessible(page, 'the card of a neuron', 'dialog.unit');
    await card(page).getByRole('button', { name: 'Switch off' }).press('Enter');
    await card(page).getByRole('button', { name: 'Switch on' }).waitFor();
    const all = await ids(page);
    const loss = await bitsPerToken(model, all, { edits: [{ at: point, index: Number(index), scale: 0 }] });
    const said = await page.locator('dialog.unit [role="status"]', { hasText: 'takes' }).textContent();
    assert.ok(Math.abs(Number(/takes ([\d.]+) bits/.exec(said)[1]) - loss) < 2e-3, `${said}, expected ${loss}`);
    const link = await copied(page, 'Copy a link to this card');
    assert.match(link, new RegExp(`unit=${layer}.n${index}&off=${layer}.n${index}`));
    await page.keyboard.press('Escape');
    await counts(page, 'dialog.unit', 0);
    await page.waitForFunction(() => !location.hash.includes('unit=') && location.hash.includes('off='));
  },
);

pageTest(
  'a head has a card, opened by its address on a phone: the token before, where that is its habit',
  { hash: `${TEXT}&view=inside&unit=1.0`, width: 390, height: 844 },
  async ({ page }) => {
    const strongest = await responses(page);
    await says(page, '#h-unit', /^Layer 2, head 1/);
    for (const [value, , text] of strongest) assert.ok(read(value) > 0.5 && /→ /.test(text), text);
    await page.waitForSelector('dialog.unit .small-bars li');
    await accessible(page, 'the card of a head', 'dialog.unit');
    await page.getByRole('button', { name: 'Close' }).click();
    await counts(page, 'dialog.unit', 0);
    await page.getByRole('button', { name: 'About this head' }).first().click();
    await says(page, '#h-unit', /^Layer \d, head \d/);
  },
);

pageTest(
  'an encoder fills a blank: ten words with the engine’s probabilities, and one is written',
  '#model=weights/fill/',
  async ({ page }) => {
    const fill = await load(`${top}weights/fill/`);
    await says(page, '#h-next', /Fill the blank.*instead of “\[MASK\]”/);
    const at = (await ids(page)).findIndex((id) => id === 1024);
    const { logits } = await fill.forward(await ids(page));
    const row = logits.data.subarray(at * logits.shape[1], (at + 1) * logits.shape[1]);
    const sum = row.reduce((all, x) => all + Math.exp(x), 0);
    const best = Array.from(row.keys())
      .sort((a, b) => row[b] - row[a])
      .slice(0, 10);
    await counts(page, '.bar button[data-id]', 10);
    const shown = await page.locator('.bar button').evaluateAll((list) => list.map((b) => Number(b.dataset.id)));
    assert.deepEqual(shown, best);
    const said = read(await page.locator('.bar .num').first().textContent());
    assert.ok(Math.abs(said - Math.exp(row[best[0]]) / sum) < 1e-3);
    const word = (await fill.decode([best[0]])).trim();
    await page.locator('.bar button').first().press('Enter');
    await shows(
      page,
      () => page.getByLabel('Prompt', { exact: true }).inputValue(),
      `Once upon a time, there was a little ${word} named Lily. She liked to play in the park.`,
    );
    fill.dispose();
  },
);

pageTest(
  'an encoder tells how alike texts are, by the cosines of the library',
  { hash: '#model=weights/fill/', view: 'inside' },
  async ({ page }) => {
    const texts = ['The dog ran home.', 'The cat ran home.', 'It rained all night.'];
    await page.getByLabel('Texts, one per line').fill(texts.join('\n'));
    await says(page, '.similarity tbody tr:nth-child(3) th', /It rained/);
    const fill = await load(`${top}weights/fill/`);
    const vectors = await Promise.all(texts.map(async (text) => (await fill.embed(text, { normalize: true })).data));
    const want = vectors.map((a) => vectors.map((b) => a.reduce((sum, x, i) => sum + x * b[i], 0).toFixed(2)));
    assert.deepEqual(
      (await cells(page, '.similarity tbody tr')).map((row) => row.slice(1)),
      want,
    );
    await accessible(page, 'similarity', '.similarity');
    // two models of one name
    const files = ['config.json', 'tokenizer.json', 'model.safetensors'].map((name) => ({
      ...{ name, mimeType: 'application/octet-stream' },
      buffer: readFileSync(`${top}weights/fill/${name}`),
    }));
    const cosines = async () => String((await cells(page, '.similarity tbody tr')).map((row) => row.slice(1)));
    for (const same of [true, false]) {
      const { buffer } = files[2];
      if (!same) buffer.fill(0, buffer.length >> 1, 3 * (buffer.length >> 2));
      await page.locator('#model-file').setInputFiles(files);
      await quiet(page);
      await says(page, '.pill', /^model\.safetensors/);
      await shows(page, async () => (await cosines()) === String(want), same, 'cosines of the model that is loaded');
    }
    fill.dispose();
  },
);

pageTest(
  'beams are a tree whose best end is the library’s, and a token of the source is hidden by a press',
  { hash: '#model=weights/dates/&source=3 jan 2001', view: 'inside' },
  async ({ page }) => {
    const dates = await load(`${top}weights/dates/`);
    const source = '3 jan 2001';
    const answer = async (sourceMask) => {
      const how = { source, sourceMask, beams: 3, lengthPenalty: 0, temperature: 0, maxTokens: 24 };
      let text = '';
      for await (const step of dates.generate('', how)) text += step.text;
      return text;
    };
    await page.locator('.lens-card').scrollIntoViewIfNeeded();
    await page.locator('.beams').scrollIntoViewIfNeeded();
    const whole = await answer();
    await says(page, '.beams .answer', new RegExp(`^Answer: ${whole}`));
    await page.waitForSelector('.beams svg text.won.end');
    assert.ok((await page.locator('.beams svg path').count()) > 12);
    const tokens = await dates.encode(source);
    const m = tokens.length - 1; // the last digit of the year
    await page.locator('.beams .source button').nth(m).press('Enter');
    const mask = tokens.map((_, i) => Number(i !== m));
    const without = await answer(mask);
    assert.notEqual(without, whole);
    await says(page, '.beams .answer', new RegExp(`^Without “1”: ${without}`));
    await accessible(page, 'the tree of beams', '.beams');
    await openView(page, 'write');
    dates.dispose();
  },
);
