// inside.test.js - the view Inside in Chromium: the numbers of heads, attention and lens against the library in Node on
// the same file
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { figures, percent } from '../../web/page/text/format.js';
import { complete, top, visit } from './built_page.js';
import { quiet } from './quiet.js';

const FILE = 'weights/stories-1m.gguf';
const WRITTEN = 20;

/** @type {any} */
let model;
before(async () => {
  model = await load(top + FILE);
});
after(() => model?.dispose());

async function open(more = '', how = {}) {
  const visitor = await visit({
    hash: `#model=${FILE}&prompt=Once upon a time&seed=3&written=${WRITTEN}${more}`,
    ...how,
  });
  await complete(visitor.page, WRITTEN);
  return visitor;
}
const idsOf = (page) => page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
const sum = (list) => list.reduce((a, b) => a + b, 0);

test('what a head looks at on average is what its weights say', async () => {
  const { page, complaints, close } = await open();
  const { layer, head } = { layer: 3, head: 1 };
  await page.locator(`.tile[aria-label="layer ${layer + 1}, head ${head + 1}"]`).click();
  await page.waitForFunction(
    (text) => document.querySelector('.head-profile h3')?.textContent === text,
    `Where head ${head + 1} of layer ${layer + 1} looks, on average`,
  );
  await quiet(page);
  const ids = await idsOf(page);
  const point = `blocks.${layer}.attn.hook_pattern`;
  const {
    data,
    shape: [, n],
  } = (await model.forward(ids, { capture: [point] })).captured[point];
  const queries = ids.map((_, q) => q).slice(1, -1); // the newest token has not been read, the first sees only itself
  const mean = (of) =>
    sum(queries.map((q) => of(data.subarray((head * n + q) * n, (head * n + q) * n + q + 1), q))) / queries.length;
  const on = (chosen) => mean((row, q) => sum([...row].filter((_, k) => chosen(k, q))));
  const bits = mean((row) => -sum([...row].filter((w) => w > 0).map((w) => w * Math.log2(w))));
  const shown = await page.locator('.profile dd .num').allTextContents();
  assert.deepEqual(await page.locator('.profile dt').allTextContents(), [
    'the token itself',
    'the token before',
    'the first token',
    'earlier copies of it',
    'what followed earlier copies',
    'spread over about',
  ]);
  assert.deepEqual(shown, [
    percent(on((k, q) => k === q)),
    percent(on((k, q) => k === q - 1)),
    percent(on((k) => k === 0)),
    percent(on((k, q) => k < q && ids[k] === ids[q])),
    percent(on((k, q) => k > 0 && k < q && ids[k - 1] === ids[q])),
    `${figures(2 ** bits)} tokens`,
  ]);
  assert.deepEqual(complaints, []);
  await close();
});
