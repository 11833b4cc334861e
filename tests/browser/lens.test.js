// lens.test.js - the panel of the logit lens and of the votes in Chromium, against the library in Node on the same file
import assert from 'node:assert/strict';
import { figures, percent } from '../../web/page/text/format.js';
import { pageTest, samePage } from './built_page.js';
import { opened } from './expected.js';
import { SMALL, STORIES, counts, ids, insideStory, made, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

const model = await opened(STORIES);

const storyTest = samePage(insideStory());
const lens = async (page) => {
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForSelector('.vote');
  await quiet(page);
};

pageTest(
  'on a phone the lens shows as many positions as have room, each with its probability',
  insideStory('', { width: 390, height: 844 }),
  async ({ page }) => {
    await page.locator('.lens-card').scrollIntoViewIfNeeded();
    await page.locator('.lens td.n').first().waitFor();
    await quiet(page);
    const { wide, room, sideways } = await page.evaluate(() => {
      const region = /** @type {Element} */ (document.querySelector('.lens-card .scroll'));
      return {
        wide: region.scrollWidth,
        room: region.clientWidth,
        sideways: document.documentElement.scrollWidth - innerWidth,
      };
    });
    assert.deepEqual([wide <= room, sideways], [true, 0], `${wide} px in ${room} px`);
    const all = await ids(page);
    const lens = await model.logitLens(all.slice(0, -1), { top: 1 });
    const rows = await page
      .locator('.lens tbody tr')
      .evaluateAll((/** @type {Element[]} */ list) =>
        list.map((row) => [...row.querySelectorAll('td small')].map((cell) => cell.textContent)),
      );
    assert.equal(rows.length, model.config.nLayers);
    assert.deepEqual(
      rows,
      lens.map((/** @type {any[][]} */ layer) => layer.slice(-3).map(([best]) => percent(best.probability))),
    );
    assert.ok(await page.locator('.lens td small').first().isVisible());
  },
);

storyTest('the lens ends in the model’s own answer, and the votes add up to the logit', async ({ page }) => {
  await lens(page);
  const all = await ids(page),
    n = all.length - 1;
  const { data, shape } = (await model.forward(all.slice(0, n))).logits;
  const [, size] = shape;
  assert.equal(await page.locator('.lens tbody tr').count(), model.config.nLayers);
  const last = await page
    .locator('.lens tbody tr')
    .last()
    .locator('td:not(.n)')
    .evaluateAll((cells) =>
      cells.map(
        (c) => [...c.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.textContent).textContent,
      ),
    );
  const [anchor] = await model.encode('a', { addSpecialTokens: false });
  for (let i = 0; i < last.length; i++) {
    const p = n - last.length + i,
      row = data.subarray(p * size, (p + 1) * size);
    const best = row.indexOf(row.reduce((a, b) => Math.max(a, b), -Infinity));
    const word = (await model.decode([anchor, best])).slice(1).trim();
    if (word) assert.equal(last[i], word, `position ${p}`);
  }
  const said = await page.locator('.lens-card .hint').last().textContent();
  const [, total, logit] = /add up to (-?\d+\.\d+); the logit is (-?\d+\.\d+)/.exec(said) ?? assert.fail(said);
  const want = data[(n - 1) * size + all[n]];
  assert.ok(Math.abs(Number(logit) - want) < 0.001, `${said}, expected ${want}`);
  // Q8_0 keeps activations in int8 blocks, so each projected part is rounded by itself
  assert.ok(Math.abs(Number(total) - Number(logit)) < 0.1, said);
});

storyTest(
  'the norms and votes of the lens are those of the library, layers and heads counted from 1',
  async ({ page }) => {
    await lens(page);
    const all = await ids(page),
      read = all.slice(0, -1);
    const { nLayers, nHeads } = model.config;
    const { captured } = await model.forward(read, { capture: ['*hook_resid_post'] });
    const norms = Array.from({ length: nLayers }, (_, layer) => {
      const { data, shape } = captured[`blocks.${layer}.hook_resid_post`];
      return figures(Math.hypot(...data.slice(-shape[1])));
    });
    assert.deepEqual(await page.locator('.lens td.n').allTextContents(), norms);
    assert.deepEqual(
      await page.locator('.lens tbody th').allTextContents(),
      norms.map((_, layer) => `layer ${layer + 1}`),
    );
    const { parts } = await model.attribution(read, { token: all.at(-1) });
    const said = parts
      .filter(({ kind }) => kind === 'head')
      .map(
        ({ layer, head, value }) =>
          `layer ${layer + 1}, head ${head + 1}: ${value < 0 ? '−' : '+'}${figures(Math.abs(value))}`,
      );
    const titles = await page.locator('.vote').evaluateAll((list) => list.map((b) => b.title));
    assert.equal(titles.length, nLayers * (nHeads + 1));
    assert.deepEqual(titles.filter((title) => /head/.test(title)).sort(), said.sort());
  },
);

storyTest(
  'the votes are one tab stop, arrow keys move over them, and one that is pressed is the selected head',
  async ({ page }) => {
    await page.locator('.lens-card').scrollIntoViewIfNeeded();
    await page.waitForSelector('.vote');
    assert.equal(await page.locator('.vote[tabindex="0"]').count(), 1);
    await page.locator('.vote').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    const title = await page.evaluate(() => document.activeElement.title);
    assert.match(title, /^layer 2, head 2: /);
    assert.equal(await page.locator('.vote[tabindex="0"]').getAttribute('title'), title);
    await page.keyboard.press('Enter');
    await says(page, '#h-attention', /^Layer 2, head 2/);
  },
);

storyTest('the lens asks the engine nothing while another view is open', async ({ page }) => {
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForSelector('.vote');
  await quiet(page);
  const title = () => page.locator('.lens-card h3').last().textContent();
  const before = await title();
  await page.evaluate(() => {
    window.asked = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (...args) {
      if (args[0]?.method) window.asked.push(args[0].method);
      return post.apply(this, args);
    };
  });
  await openView(page, 'write');
  await page.locator('.tok').nth(9).click();
  await quiet(page);
  assert.equal(await title(), before);
  const asked = await page.evaluate(() => window.asked);
  assert.equal(asked.filter((name) => /logitLens|attribution/.test(name)).length, 0, asked.join());
  await openView(page, 'inside');
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForFunction((old) => document.querySelectorAll('.lens-card h3')[1].textContent !== old, before);
});

// "An encoder predicts none": a head for masked words does say which token belongs at each place.
pageTest(
  'an encoder with a head for masked words has a lens: each place, read from both sides',
  `#${made({ ...SMALL, kind: 'encoder', mlmHead: true, ffn: 'gelu_erf', norm: 'layernorm', position: 'learned' }, 1)}&prompt=hello`,
  async ({ page }) => {
    await openView(page, 'inside');
    await page.locator('.lens-card').scrollIntoViewIfNeeded();
    await counts(page, '.lens tbody td:not(.n)', 2 * 5);
    await says(page, '.lens-card .hint', /most likely token at this place/);
  },
);
