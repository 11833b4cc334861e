// textbook.test.js - the textbook in Chromium: from page to page by keyboard, a thing to do that is noticed, and questions
// whose answers the library has. tests/node/architectures_page.test.js has what the pages say of other models.
import assert from 'node:assert/strict';
import { countParameters } from '../../web/lib/api/index.js';
import { pageTest } from './built_page.js';
import { opened } from './expected.js';
import { held, hold, holding, release } from './holding.js';
import { STORY, openTextbook, openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const PROMPT = 'Once upon a time, a little fox found a';
const model = await opened(MODEL);
const address = (learn) => `#learn=${learn}&model=${MODEL}&t=0&prompt=${encodeURIComponent(PROMPT)}`;

const at = async (page, i) => {
  await says(page, '.textbook .num', new RegExp(`^${i} of `));
  await page.waitForSelector('.textbook .primary');
};
const said = async (page) => (await page.locator('.textbook .idea').innerText()).replace(/\s+/g, ' ');
const here = (page) => says(page, '.textbook .here', /./);

pageTest('the textbook is read from page to page by keyboard', STORY, async ({ page }) => {
  await openTextbook(page);
  const texts = {};
  for (let i = 1; ; i++) {
    await at(page, i);
    texts[await page.locator('#h-textbook').textContent()] = await said(page);
    const last = (await page.locator('.textbook .primary').textContent()).trim() === 'Done';
    await page.keyboard.press('PageDown');
    if (last) break;
  }
  await page.waitForSelector('.textbook', { state: 'hidden' });
  assert.equal(Object.keys(texts).length, 20);
  assert.match(texts.Token, /a fixed list of 2,048/);
  assert.match(texts.Norm, /^Before anything reads/);
});

pageTest(
  'a model with fewer pages is told of from the last one that it has',
  `${STORY}&learn=cache`,
  async ({ page }) => {
    const pages = async () => Number(/\d+$/.exec(await page.locator('.textbook .num').textContent()));
    await says(page, '#h-textbook', /cache/);
    const all = await pages();
    await openView(page, 'experiment');
    await page.locator('#preset').selectOption('tutorial-3');
    await page.locator('#build-kind').selectOption('encoder');
    await page.getByRole('button', { name: 'Make it with random weights' }).click();
    await says(page, '.pill', /random weights/);
    await quiet(page);
    assert.ok((await pages()) < all);
    assert.equal(await page.locator('#h-textbook').textContent(), 'Feed-forward network');
  },
);

pageTest(
  'an address opens a page, which lights its part and has the numbers of the token',
  address('qkv'),
  async ({ page }) => {
    await here(page);
    assert.equal(await page.locator('#h-textbook').textContent(), 'Query, key, value');
    await page.waitForSelector('.view:not([hidden]) .anatomy.textbook-here');
    assert.match(await said(page), /rotated by angles that grow with the position, here 10\./);
    // what is done is noticed
    assert.equal(await page.locator('.textbook .task [role="status"]').textContent(), '');
    await page.locator('.tile').nth(1).press('Enter');
    await says(page, '.textbook .task [role="status"]', /Done/);
  },
);

// What lies above a part comes after it: the views' code, the numbers of the token.
for (const [width, height] of [
  [1440, 900],
  [390, 844],
])
  pageTest(
    `what a page lights is in view, at ${width} x ${height}`,
    { hash: address('embedding'), width, height },
    async ({ page }) => {
      const free = () => {
        const boxOf = (selector) => document.querySelector(selector)?.getBoundingClientRect();
        const [lit, box] = [boxOf('.view:not([hidden]) .textbook-here'), boxOf('.textbook')];
        if (!lit || !box) return false;
        const below = box.width > innerWidth / 2 ? box.top : innerHeight;
        return lit.top >= boxOf('.stays').bottom - 1 && lit.top < below - 100;
      };
      for (let i = 2; ; i++) {
        await at(page, i);
        await quiet(page, free);
        if ((await page.locator('.textbook .primary').textContent()).trim() === 'Done') break;
        await page.keyboard.press('PageDown');
      }
    },
  );

// `before` was read before the prompt's last token was chosen: "Done" stood there at once
pageTest(
  'nothing is done at first, and the button of a page does what it says',
  address('embedding'),
  async ({ page }) => {
    const status = '.textbook .task [role="status"]';
    for (let i = 2; ; i++) {
      await at(page, i);
      const title = await page.locator('#h-textbook').textContent();
      await quiet(page);
      assert.equal(await page.locator(status).textContent(), '', title);
      const does = page.locator('.textbook .does');
      if (!/Counting|Training|Induction/.test(title)) {
        assert.equal(await does.count(), 1, title);
        await does.press('Enter');
        await says(page, status, /Done/);
      }
      if ((await page.locator('.textbook .primary').textContent()).trim() === 'Done') break;
      await page.locator('.textbook .primary').press('Enter');
    }
  },
);

pageTest('the start of a text is named so among the largest weights', address('softmax'), async ({ page }) => {
  await here(page);
  assert.doesNotMatch(await said(page), /\[end\]/);
});

pageTest('the numbers of the pages are those of the pass', address('logits'), async ({ page }) => {
  await here(page);
  const ids = await model.encode(PROMPT);
  const { logits } = await model.forward(ids);
  const row = logits.data.slice(-logits.shape[1]);
  const best = row.reduce((b, x, i) => (x > row[b] ? i : b), 0);
  const word = (await model.decode([ids.at(-1), best])).slice((await model.decode([ids.at(-1)])).length);
  assert.ok((await said(page)).includes(`belongs to “${word}`), await said(page));
  await page.locator('.textbook').getByRole('button', { name: 'Play' }).press('Enter');
  await says(page, '#h-textbook', /Temperature/);
  await page.locator('.textbook').getByRole('button', { name: 'Pause' }).press('Enter');
});

pageTest('a page that is left while its numbers are read leaves no warning', holding(STORY), async ({ page }) => {
  await hold(page, 'forward');
  await openTextbook(page);
  await at(page, 1);
  await held(page);
  await page.keyboard.press('Escape');
  await page.waitForSelector('.textbook', { state: 'hidden' });
  await release(page);
  await quiet(page);
});

pageTest('the norms of a page are those of the chosen token', address('norm'), async ({ page }) => {
  await here(page);
  const { ids, layer, position } = await chosen(page);
  const block = `blocks.${layer}`;
  const points = [`${block}.hook_resid_pre`, `${block}.ln1.hook_normalized`];
  const { captured } = await model.forward(ids, { capture: points });
  const want = points.map((point) => {
    const { data, shape } = captured[point];
    return Math.hypot(...data.subarray(position * shape[1], (position + 1) * shape[1]));
  });
  const told = /vector changes from ([\d.]+) to ([\d.]+)\./
    .exec(await said(page))
    .slice(1)
    .map(Number);
  for (const [i, x] of told.entries()) assert.ok(Math.abs(x - want[i]) < 0.01 * want[i], `${told}, not ${want}`);
});

pageTest(
  'each question is answered by keyboard, and a wrong answer is not accepted',
  address('token'),
  async ({ page }) => {
    const { dModel, dHead, nHeads, nKvHeads, vocabSize, nLayers } = model.config;
    const { rows, total } = countParameters(model.config);
    const ffn = rows.filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0);
    const answers = {
      token: String((await model.encode('Strawberries grow slowly', { addSpecialTokens: false })).length),
      embedding: (vocabSize * dModel).toLocaleString('en'),
      position: 'Yes',
      qkv: String(nHeads),
      heads: String(dHead),
      scores: Math.sqrt(dHead).toFixed(2),
      mask: '10',
      softmax: null, // below
      mix: 'value',
      stream: String(2 * nLayers),
      norm: '0.85',
      ffn: `${((100 * ffn) / total).toFixed(1)} %`,
      logits: '10',
      sampling: '100',
      cache: '1',
      parameters: String(2 * dModel * dHead * (nHeads + nKvHeads)),
      cost: '2',
      training: Math.log(vocabSize).toFixed(2),
      induction: 'b',
      edits: '1',
    };
    for (const [i, id] of Object.keys(answers).entries()) {
      await at(page, i + 1);
      const field = page.locator('.question').getByLabel('your answer');
      await field.fill('zebra');
      await field.press('Enter');
      await says(page, '.verdict', /^Not yet/);
      await field.fill(answers[id] ?? (await largestWeight(page)));
      await field.press('Enter');
      await says(page, '.verdict', /^Right/);
      if (id !== 'edits') await page.locator('.textbook .primary').press('Enter');
    }
    await page.locator('.textbook').getByRole('button', { name: 'Leave' }).press('Enter');
    await openView(page, 'learn');
    await says(page, '.contents [role="status"]', /^20 of 20 questions answered$/);
  },
);

/** The ids of the prompt, and the head and the token that the page has chosen. */
async function chosen(page) {
  await page.waitForFunction(() => /head=/.test(location.hash)); // the address is written a moment after the text
  const [at, cursor] = await page.evaluate(() => {
    const q = new URLSearchParams(location.hash.slice(1));
    return [q.get('head'), q.get('at')];
  });
  const ids = await model.encode(PROMPT);
  const [layer, head] = at.split('.').map(Number);
  return { ids, layer, head, position: cursor === null ? ids.length - 1 : Number(cursor) };
}

/** The token that the library finds to have the largest weight in the head and for the token that are chosen. */
async function largestWeight(page) {
  const { ids, layer, head, position } = await chosen(page);
  const point = `blocks.${layer}.attn.hook_pattern`;
  const { captured } = await model.forward(ids, { capture: [point] });
  const [, n] = captured[point].shape;
  const weights = captured[point].data.subarray((head * n + position) * n, (head * n + position + 1) * n);
  const most = weights.reduce((b, x, i) => (x > weights[b] ? i : b), 0);
  const texts = await Promise.all(ids.map((_, i) => model.decode(ids.slice(0, i + 1))));
  return texts[most].slice(most ? texts[most - 1].length : 0).trim();
}

for (const [width, height] of [
  [320, 256],
  [1280, 256],
]) {
  pageTest(`the textbook fits a window of ${width} x ${height}`, { hash: STORY, width, height }, async ({ page }) => {
    await openTextbook(page);
    const boxes = () =>
      page.evaluate(() =>
        ['.textbook', '#h-textbook', '.textbook .primary'].map((name) => {
          const { top, bottom } = document.querySelector(name).getBoundingClientRect();
          return { name, top: Math.round(top), bottom: Math.round(bottom) };
        }),
      );
    for (let i = 1; i <= 4; i++) {
      await page.waitForFunction(
        (n) =>
          document.querySelector('.textbook .num').textContent.startsWith(`${n} of`) &&
          document.activeElement.matches('.textbook .primary'),
        i,
      );
      for (const { name, top, bottom } of await boxes())
        assert.ok(top >= 0 && bottom <= height, `${name} reaches from ${top} to ${bottom}`);
      // every line of the text can be scrolled between the upper edge and the buttons
      const last = await page.evaluate(() => {
        const box = document.querySelector('.textbook');
        box.scrollTop = box.scrollHeight;
        return {
          text: box.querySelector('.question').getBoundingClientRect().bottom,
          foot: box.querySelector('.textbook-foot').getBoundingClientRect().top,
        };
      });
      assert.ok(last.text <= last.foot + 1, `the text ends at ${last.text}, the buttons begin at ${last.foot}`);
      await page.locator('.textbook .primary').press('Enter');
    }
  });
}
