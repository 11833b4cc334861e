// anatomy.test.js - the picture of a pass in Chromium: its stages, lanes and words, and the values of a stage
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { opened } from './expected.js';
import { STORY, accessible, counts, ids, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

const FILE = 'weights/stories-1m.gguf';
const model = await opened(FILE);
const WRITTEN = 20;

/**
 * The words of the anatomy: the smallest type on the screen, words that meet, words that leave the picture.
 * @param {any} page
 */
const wordsOf = (page) =>
  page.locator('.anatomy-svg').evaluate((/** @type {SVGSVGElement} */ svg) => {
    const frame = svg.getBoundingClientRect();
    const unit = frame.width / svg.viewBox.baseVal.width;
    const words = [...svg.querySelectorAll('text')]
      .filter((element) => element.textContent?.trim())
      .map((element) => ({
        text: element.textContent,
        size: parseFloat(getComputedStyle(element).fontSize) * unit,
        box: element.getBoundingClientRect(),
      }));
    const meets = (/** @type {DOMRect} */ a, /** @type {DOMRect} */ b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4; // of the lines' heights
    return {
      least: Math.min(...words.map(({ size }) => size)),
      met: words.flatMap((one, i) =>
        words.slice(0, i).flatMap((other) => (meets(one.box, other.box) ? [`${other.text} | ${one.text}`] : [])),
      ),
      outside: words
        .filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1)
        .map(({ text }) => text),
      count: words.length,
    };
  });

// At 1024 the whole picture was scaled to the width of the card, with type of 7 to 9 px.
const made = (/** @type {any} */ config) =>
  `#made=${encodeURIComponent(
    JSON.stringify({
      ...{ vocab_size: 256, d_model: 32, n_layers: 3, n_heads: 4, d_ff: 48, context_length: 96, seed: 3, ...config },
    }),
  )}&prompt=Once upon a ti&written=${WRITTEN}`;
for (const [name, hash] of Object.entries({
  shipped: `#model=${FILE}&prompt=Once upon a time&seed=3&written=${WRITTEN}`,
  'norms of outputs': made({ norm_placement: 'sandwich' }),
  'learned positions': `${made({ position: 'learned', norm: 'layernorm', ffn: 'gelu_tanh' })}&head=1.0`,
  'cross-attention': `${made({ kind: 'encoder_decoder', n_encoder_layers: 1 })}&source=two words`,
}))
  pageTest(
    `on every screen the type of the anatomy has at least 11 px, and its words have room: ${name}`,
    hash,
    async ({ page }) => {
      for (const view of ['inside', 'write'])
        for (const width of [1440, 1280, 1024, 820, 390]) {
          await openView(page, view);
          await page.setViewportSize({ width, height: 900 });
          await quiet(page);
          const { least, met, outside, count } = await wordsOf(page);
          assert.ok(count > 20, `${view}, ${width} px`);
          assert.ok(least > 10.99, `${view}, ${width} px: ${least} px`);
          assert.deepEqual([met, outside], [[], []], `${view}, ${width} px`);
        }
    },
  );

pageTest(
  'the end of the chosen lane divides among the next tokens by their probabilities',
  { hash: `${STORY}&written=12`, width: 1440, height: 900 },
  async ({ page }) => {
    await page.waitForSelector('.ribbon.fan');
    await quiet(page);
    const [ribbons, bars] = await page.evaluate(() => [
      [...document.querySelectorAll('.ribbon.fan')].map((path) => {
        const d = path
          .getAttribute('d')
          .match(/-?[\d.]+/g)
          .map(Number); // from its upper left corner back to the lower one
        const box = /** @type {SVGGraphicsElement} */ (path).getBBox();
        return { from: Math.abs(d[1] - d.at(-1)), end: box.x + box.width, on: path.classList.contains('on') };
      }),
      [...document.querySelectorAll('.bar-part')].map((part) => ({
        percent: parseFloat(part.querySelector('.mono-text').textContent.replace('<', '')),
        word: /** @type {SVGGraphicsElement} */ (part.querySelector('.bar-word')).getBBox().x,
        on: !!part.querySelector('.on'),
      })),
    ]);
    assert.equal(ribbons.length, bars.length);
    assert.equal(ribbons.filter(({ on }) => on).length, 1);
    ribbons.forEach(({ from, end, on }, i) => {
      assert.equal(on, bars[i].on);
      assert.ok(Math.abs(from - 0.14 * bars[i].percent) < 0.13, `${from} of 14 for ${bars[i].percent} %`);
      assert.ok(end < bars[i].word && end > bars[i].word - 12, `ends at ${end}, the word begins at ${bars[i].word}`);
    });
  },
);

pageTest(
  'a stage of the loaded architecture opens its values, as a picture and as a table, a few columns at a time',
  `#model=${FILE}&prompt=Once upon a time&seed=3&written=8`,
  async ({ page }) => {
    for (const word of ['Embedding', `${model.config.nHeads} heads`, 'Next token'])
      await page.locator('.stage', { hasText: word }).first().waitFor();
    await page.locator('.stage', { hasText: 'SwiGLU' }).press('Enter');
    await page.waitForSelector('.inspector canvas:visible');
    await page.locator('.stage', { hasText: 'Scores (tied head)' }).waitFor();
    await page.getByRole('radio', { name: 'activated gate × up', exact: true }).press('Enter');
    await page.locator('.values .as-table summary').press('Enter');
    const all = await ids(page);
    const point = /(blocks\.\d\.mlp\.hook_post)/.exec(await page.locator('.values .cell').textContent())[1];
    const { data, shape } = (await model.forward(all, { capture: [point] })).captured[point];
    const [n, width] = shape;
    const shown = async (from) => {
      await page.waitForFunction(
        (text) => document.querySelector('.values .takes output').textContent === text,
        `${from} to ${Math.min(width, from + 16) - 1} of ${width}`,
      );
      const rows = await page
        .locator('.values tbody tr')
        .evaluateAll((list) =>
          list.map((row) => [...row.querySelectorAll('td')].map((c) => Number(c.textContent.replace('−', '-')))),
        );
      assert.deepEqual([rows.length, rows[0].length], [n, Math.min(16, width - from)]);
      rows.forEach((row, p) =>
        row.forEach((x, i) =>
          assert.ok(
            Math.abs(x - data[p * width + from + i]) < 2e-4,
            `position ${p}, number ${from + i}: ${x}, expected ${data[p * width + from + i]}`,
          ),
        ),
      );
    };
    await shown(0);
    await page.getByRole('button', { name: 'Next numbers' }).press('Enter');
    await shown(16);
    await page.getByRole('button', { name: 'Previous numbers' }).press('Enter');
    await shown(0);
    await accessible(page, 'the table', '.anatomy');
  },
);

// The lanes' ribbons once shared a class with the diagram of two models, whose style showed what was hidden.
pageTest(
  'the picture of a pass has a lane for each token and no more, and all keys where there is no mask',
  '#model=weights/stories-1m.gguf&prompt=The cat',
  async ({ page }) => {
    const drawn = (selector) =>
      page.locator(selector).evaluateAll((list) => list.filter((e) => getComputedStyle(e).display !== 'none').length);
    await page.locator('.anatomy').scrollIntoViewIfNeeded();
    await page.waitForFunction(
      () => document.querySelectorAll('.tok').length === 3 && document.querySelector('.anatomy-svg .lane'),
    );
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll('.anatomy-svg .lane')].filter((e) => getComputedStyle(e).display !== 'none')
          .length === 3,
    );
    assert.equal(await drawn('.anatomy-svg .lane-flow'), 3);
    assert.equal(await drawn('.anatomy-svg .dot:not(.early)'), 9);
    assert.equal(await drawn('.anatomy-svg .dot.masked'), 3);
    await openView(page, 'experiment');
    await page.locator('#preset').selectOption('tutorial-3');
    await page.locator('#build-kind').selectOption('encoder');
    await page.getByRole('button', { name: 'Make it with random weights' }).click();
    await says(page, '.pill', /random weights/);
    await openView(page, 'write');
    await counts(page, '.tok', 7);
    await page.locator('.anatomy').scrollIntoViewIfNeeded();
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll('.anatomy-svg .lane')].filter((e) => getComputedStyle(e).display !== 'none')
          .length === 7,
    );
    assert.equal(await drawn('.anatomy-svg .dot:not(.early)'), 49);
    assert.equal(await page.locator('.anatomy-svg .dot.masked').count(), 0);
  },
);
