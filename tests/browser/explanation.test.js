// explanation.test.js - the built page in Chromium where a value is explained: its terms against the library's captures,
// and the way from one value to those that make it
import assert from 'node:assert/strict';
import { load } from '../../web/lib/api/index.js';
import { pageTest } from './built_page.js';
import { opened, top } from './expected.js';
import { counts, ids, openView, point, read, run, runPrompt, says } from './page_parts.js';
import { quiet } from './quiet.js';
import { held, hold, holding, release } from './holding.js';

const model = await opened('weights/stories.gguf');

/** Layer and head that a heading counts from 1, counted from 0 as in the names of points. */
function headOf(text) {
  const [, layer, head] = /Layer (\d+), head (\d+)/.exec(text) ?? assert.fail(text);
  return { layer: layer - 1, head: head - 1 };
}

const explanation = (page, panel) =>
  page.locator(`${panel} .explanation`).evaluate((e) => ({
    at: e.querySelector('.number small').textContent,
    value: e.querySelector('.number b').textContent,
    words: e.querySelector('.number').textContent,
    note: e.querySelector(':scope > .hint').textContent,
    terms: [...e.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((c) => c.textContent)),
    steps: e.querySelectorAll('.trail li').length,
    computed: e.querySelector('[data-role="computed"]')?.textContent,
    sum: e.querySelector('[data-role="sum"]')?.textContent,
  }));
const explains = (page, panel, at) =>
  page.waitForFunction(
    ([panel, at]) =>
      document.querySelector(`${panel} .explanation .number small`)?.textContent === at &&
      !document.querySelector(`${panel} .explanation[aria-busy]`),
    [panel, at],
  );

pageTest(
  'one weight is explained by terms that make it, and the way goes on to its query and its key, by keyboard',
  {},
  async ({ page, requests }) => {
    await runPrompt(page, 'One day a bird', { tokens: 10 });
    await openView(page, 'inside');
    const all = await ids(page);
    await page.locator('.matrix').focus();
    for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowUp']) await page.keyboard.press(key);
    await quiet(page); // each key is seen in the frame after it
    assert.match(await page.locator('#cell').textContent(), /: [\d.]+ %$/);
    assert.ok(!requests.some((url) => /explanation/i.test(url)), 'fetched before anybody asked');
    await page.keyboard.press('Enter');
    const [, q, k] = /query (\d+) .* → key (\d+) /.exec(await page.locator('#cell').textContent()).map(Number);
    const { layer, head } = headOf(await page.locator('#h-attention').textContent());
    const { captured } = await model.forward(all, { capture: [`blocks.${layer}.attn.*`] });
    const point = (name) => `blocks.${layer}.attn.${name}`;
    const cell = (name, index = k) => {
      const { data, shape } = captured[point(name)];
      const [, n] = shape;
      return data[(Number(head) * n + q) * n + index];
    };
    const vector = (name, position) => {
      const { data, shape } = captured[point(name)];
      const [, heads, d] = shape;
      return data.subarray((position * heads + Number(head)) * d, (position * heads + Number(head) + 1) * d);
    };
    await explains(page, '.attention', point('hook_pattern'));
    const weight = await explanation(page, '.attention');
    assert.ok(
      Math.abs(read(weight.value) - cell('hook_pattern')) < 6e-4 &&
        Math.abs(read(weight.computed) - cell('hook_pattern')) < 6e-4,
      `${weight.value}, ${weight.computed}, expected ${cell('hook_pattern')}`,
    );
    assert.match(weight.terms[0][0], new RegExp(`^key ${k} `));
    const most = Math.max(...Array.from({ length: q + 1 }, (_, i) => cell('hook_attn_scores', i)));
    for (const [name, score, power] of weight.terms) {
      const want = cell('hook_attn_scores', Number(/^key (\d+)/.exec(name)[1]));
      assert.ok(
        Math.abs(read(score) - want) < 1e-4 && Math.abs(read(power) - Math.exp(want - most)) < 1e-4,
        `${name}: ${score}, ${power}, expected ${want}`,
      );
    }
    // down to the score of this key
    await page.locator('.explanation tbody .follow').first().press('Enter');
    await explains(page, '.attention', point('hook_attn_scores'));
    assert.ok(
      await page.evaluate(() => document.activeElement.matches('.explanation .number')),
      'what was asked for has no focus',
    );
    const score = await explanation(page, '.attention');
    const [vq, vk] = [vector('hook_rot_q', q), vector('hook_rot_k', k)];
    assert.ok(Math.abs(read(score.value) - cell('hook_attn_scores')) < 1e-4);
    // The engine's f16 cache rounds the key; the terms contain that.
    assert.ok(Math.abs(read(score.computed) - cell('hook_attn_scores')) < 2e-4);
    for (const [name, x, y, roundedY, product] of score.terms) {
      const i = Number(/^dimension (\d+)$/.exec(name)[1]);
      assert.ok(
        Math.abs(read(x) - vq[i]) < 1e-4 &&
          Math.abs(read(y) - vk[i]) < 1e-4 &&
          Math.abs(read(roundedY) - vk[i]) < Math.abs(vk[i]) / 2048 + 1e-4 &&
          Math.abs(read(product) - read(x) * read(roundedY)) < 1e-4 * (1 + Math.abs(vq[i]) + Math.abs(vk[i])),
        `${name}: ${x} times ${y} (${roundedY}) is ${product}`,
      );
    }
    // to the other factor, which is the key's, and back along the trail
    const [i, y] = [Number(score.terms[0][0].split(' ')[1]), score.terms[0][2]];
    await page.locator('.explanation tbody tr').first().locator('.follow').nth(1).press('Enter');
    await explains(page, '.attention', point('hook_rot_k'));
    const key = await explanation(page, '.attention');
    assert.equal(key.value, y);
    assert.equal(key.steps, 3);
    assert.ok(Math.abs(read(key.value) - vk[i]) < 1e-4);
    await page.locator('.trail .follow').first().press('Enter');
    await explains(page, '.attention', point('hook_pattern'));
    assert.deepEqual((await explanation(page, '.attention')).terms, weight.terms);
    // another stage, another cell
    await page.getByRole('radio', { name: 'scores', exact: true }).click();
    await explains(page, '.attention', point('hook_attn_scores_raw'));
    // Before the scaling, too, the terms add up to what the engine has, though it rounds query and key.
    const raw = cell('hook_attn_scores_raw');
    assert.ok(Math.abs(read((await explanation(page, '.attention')).sum) - raw) < 1e-4 * (1 + Math.abs(raw)));
  },
);

pageTest('a logit is followed down to the embedding, and what is read there is in the file', {}, async ({ page }) => {
  await runPrompt(page, 'Once upon a time', { tokens: 12 });
  const all = await ids(page);
  await point(page, '.anatomy [data-part="next"]:has(.on) .bar-hit', 'Explain');
  await explains(page, '.part-card', 'logits');
  const {
    logits: {
      data,
      shape: [n, size],
    },
    captured,
  } = await model.forward(all, { capture: ['hook_embed', '*hook_resid*'] });
  const first = await explanation(page, '.part-card');
  assert.ok(
    Math.abs(read(first.value) - data[(n - 2) * size + all.at(-1)]) < 1e-3,
    `${first.value}, expected ${data[(n - 2) * size + all.at(-1)]}`,
  );
  let seen;
  for (let i = 0; i < 60; i++) {
    seen = await explanation(page, '.part-card');
    const where = captured[seen.at],
      [, index] = /number (\d+) at/.exec(seen.words) ?? [];
    // attention may have led to another position
    const column = where && Array.from({ length: n }, (_, p) => where.data[p * where.shape[1] + Number(index)]);
    assert.ok(
      !column || column.some((x) => Math.abs(x - read(seen.value)) < 1e-4),
      `${seen.words}, expected one of ${column}`,
    );
    if (/explanation ends here/.test(seen.note)) break;
    const before = seen.steps;
    await page.getByRole('button', { name: /^Explain the (largest|first) term$/ }).press('Enter');
    await counts(page, '.part-card .trail li', before + 1);
  }
  assert.equal(seen.at, 'hook_embed', `ended at ${seen.words}`);
  assert.match(seen.terms[0][0], new RegExp(`^token (${all.join('|')})$`));
});

pageTest(
  'a value of a stage is chosen by mouse and by keyboard, in a model of two stacks, and explained',
  { hash: '#model=weights/dates/' },
  async ({ page }) => {
    await page.locator('#pace').selectOption('fast');
    await run(page);
    await page.locator('.stage', { hasText: 'heads, cross-attention' }).press('Enter');
    await page.getByRole('radio', { name: 'z, the mixed values' }).click();
    await page.locator('.values-box').focus();
    for (const key of ['ArrowUp', 'ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
    const layer = Number(/layer (\d+)/.exec(await page.locator('.anatomy-svg').textContent())[1]) - 1;
    const point = `decoder.${layer}.cross_attn.hook_z`;
    await explains(page, '.anatomy', point);
    const dates = await load(`${top}weights/dates/`);
    const all = await ids(page);
    const source = 'Friday the 13th of September, 2024';
    const pattern = `decoder.${layer}.cross_attn.hook_pattern`,
      made = `decoder.${layer}.cross_attn.hook_v`;
    const { captured } = await dates.forward(all, { source, capture: [point, pattern, made] });
    dates.dispose();
    const said = await page.locator('.values .cell').textContent(); // the row above that of the selected token
    const [position, h, index] = [
      all.length - 3,
      Number(/head (\d+), /.exec(said)[1]) - 1,
      Number(/, (\d+): /.exec(said)[1]),
    ];
    const {
      shape: [, heads, d],
    } = captured[point];
    const seen = await explanation(page, '.anatomy');
    const z = captured[point].data[(position * heads + h) * d + index];
    assert.ok(Math.abs(read(seen.value) - z) < 1e-4, `${seen.words}, expected ${z}`);
    const {
      data: p,
      shape: [, queries, keys],
    } = captured[pattern];
    for (const [name, weight, v] of seen.terms) {
      const key = Number(/^key (\d+) /.exec(name)[1]);
      assert.ok(
        Math.abs(read(weight) - p[(h * queries + position) * keys + key]) < 1e-4 &&
          Math.abs(read(v) - captured[made].data[(key * heads + h) * d + index]) < 1e-4,
        `${name}: ${weight} times ${v}`,
      );
    }
    // a click on the picture asks as well
    await page.locator('.values-box canvas').click({ position: { x: 40, y: 20 } });
    await page.waitForFunction(
      (before) => document.querySelector('.anatomy .explanation .number').textContent !== before,
      seen.words,
    );
    // and the way leads into the encoder
    await page.locator('.anatomy .explanation tbody tr').first().locator('.follow').nth(1).press('Enter');
    await explains(page, '.anatomy', made);
    await page.getByRole('button', { name: /^Explain the (largest|first) term$/ }).press('Enter');
    await says(page, '.anatomy .explanation .number small', /^encoder\./);
  },
);

pageTest(
  'no cell is chosen any more while one is being explained',
  holding('#model=weights/stories-1m.gguf&prompt=Once upon a time&key=1'),
  async ({ page }) => {
    await openView(page, 'inside');
    await page.locator('.attention .explain summary').press('Enter');
    await page.waitForSelector('.attention .explanation .number');
    await hold(page, 'explain');
    await page.locator('.matrix').press('ArrowLeft');
    await held(page);
    await page.locator('.matrix').press('Escape');
    await says(page, '.attention .explanation', /Choose a cell of the picture\.$/);
    await release(page);
    await quiet(page);
    assert.match(await page.locator('.attention .explanation').textContent(), /Choose a cell of the picture\.$/);
    assert.equal(await page.locator('.attention .explanation').getAttribute('aria-busy'), null);
  },
);
