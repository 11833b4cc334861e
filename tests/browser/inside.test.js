// inside.test.js - the view Inside in Chromium: the numbers of heads, attention and lens against the library in Node on
// the same file
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { figures, percent } from '../../web/page/text/format.js';
import { complete, openView, top, visit } from './built_page.js';
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
  await openView(visitor.page, 'inside');
  return visitor;
}
const idsOf = (page) => page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
const sum = (list) => list.reduce((a, b) => a + b, 0);

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
test('on every screen the type of the anatomy has at least 11 px, and its words have room', async () => {
  const made = (/** @type {any} */ config) =>
    `#made=${encodeURIComponent(
      JSON.stringify({
        ...{ vocab_size: 256, d_model: 32, n_layers: 3, n_heads: 4, d_ff: 48, context_length: 96, seed: 3, ...config },
      }),
    )}&prompt=Once upon a ti&written=${WRITTEN}`;
  const models = {
    shipped: `#model=${FILE}&prompt=Once upon a time&seed=3&written=${WRITTEN}`,
    'norms of outputs': made({ norm_placement: 'sandwich' }),
    'cross-attention': `${made({ kind: 'encoder_decoder', n_encoder_layers: 1 })}&source=two words`,
  };
  for (const [name, hash] of Object.entries(models)) {
    const { page, complaints, close } = await visit({ hash });
    await complete(page, WRITTEN);
    await openView(page, 'inside');
    for (const width of [1440, 1280, 1024, 820, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await quiet(page);
      const { least, met, outside, count } = await wordsOf(page);
      const where = `${name}, ${width} px`;
      assert.ok(count > 20, where);
      assert.ok(least > 10.99, `${where}: ${least} px`);
      assert.deepEqual([met, outside], [[], []], where);
    }
    assert.deepEqual(complaints, []);
    await close();
  }
});

test('on a phone the lens shows as many positions as have room, each with its probability', async () => {
  const { page, complaints, close } = await open('', { width: 390, height: 844 });
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
  const ids = await idsOf(page);
  const lens = await model.logitLens(ids.slice(0, -1), { top: 1 });
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
  assert.deepEqual(complaints, []);
  await close();
});

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

/** Row of a head's attention point, the newest token's left out. */
const rowOf = ({ data, shape: [, n, keys] }, head, query) =>
  data.subarray((head * n + query) * keys, (head * n + query + 1) * keys);

test('the list beside a head has the largest weights of the selected token', async () => {
  const [layer, head, query] = [2, 3, 14];
  const { page, complaints, close } = await open(`&head=${layer}.${head}&at=${query}`);
  await page.locator('.attention').scrollIntoViewIfNeeded();
  await quiet(page);
  const point = `blocks.${layer}.attn.hook_pattern`;
  const { captured } = await model.forward(await idsOf(page), { capture: [point] });
  const row = rowOf(captured[point], head, query);
  const best = [...row].sort((a, b) => b - a).slice(0, 12);
  assert.match(await page.locator('#h-attention').textContent(), /^Layer 3, head 4 /);
  assert.match(await page.locator('.side h3').textContent(), /^Where head 4 looks from “/);
  assert.deepEqual(await page.locator('.attends .num').allTextContents(), best.map(percent));
  assert.deepEqual(complaints, []);
  await close();
});

test('before the mask a score of a later key is q · k, and every stage has as many queries as the pattern', async () => {
  const [layer, head] = [1, 2];
  const { page, complaints, close } = await open(`&head=${layer}.${head}&at=3&key=3`);
  const shape = () => page.locator('#h-attention small').textContent();
  await quiet(page);
  const size = / (\[.*\])$/.exec(await shape())[1];
  const names = ['rot_q', 'rot_k'].map((name) => `blocks.${layer}.attn.hook_${name}`);
  const [q, k] = Object.values((await model.forward(await idsOf(page), { capture: names })).captured);
  const vector = ({ data, shape: [, heads, d] }, at) =>
    data.subarray((at * heads + head) * d, (at * heads + head + 1) * d);
  const d = q.shape[2];
  const product = (query, key) => sum([...vector(q, query)].map((x, i) => x * vector(k, key)[i]));
  await page.locator('.matrix').focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight');
  for (const [stage, factor] of [
    ['scores', 1],
    ['÷ √d', 1 / Math.sqrt(d)],
  ]) {
    await page.getByRole('radio', { name: stage, exact: true }).click();
    await page.waitForFunction(() => /masked in a later step$/.test(document.querySelector('#cell').textContent));
    await quiet(page);
    const said = await page.locator('#cell').textContent();
    const [, query, key, shown] = /query (\d+) .* → key (\d+) .*: (−?[\d.]+), masked in a later step$/.exec(said);
    assert.deepEqual([query, key], ['3', '7']);
    assert.ok(
      Math.abs(Number(shown.replace('−', '-')) - factor * product(3, 7)) < 2e-4,
      `${said}, ${factor * product(3, 7)}`,
    );
    assert.ok((await shape()).endsWith(size), await shape());
    assert.equal(await page.locator('.masked-key').textContent(), 'masked in a later step');
  }
  await page.getByRole('radio', { name: 'masked', exact: true }).click();
  await page.waitForFunction(() => /: masked$/.test(document.querySelector('#cell').textContent));
  assert.ok((await shape()).endsWith(size), await shape());
  assert.deepEqual(complaints, []);
  await close();
});

test('a phone is not told of arrow keys', async () => {
  const { page, close } = await open('', { width: 390, height: 844, hasTouch: true, isMobile: true });
  await page.waitForFunction(() => /^Tap a cell/.test(document.querySelector('#cell').textContent));
  await close();
});

test('the norms and votes of the lens are those of the library, layers and heads counted from 1', async () => {
  const { page, complaints, close } = await open('&at=14');
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForSelector('.vote', { timeout: 20_000 });
  await quiet(page);
  const ids = await idsOf(page);
  const { nLayers, nHeads } = model.config;
  const { captured } = await model.forward(ids.slice(0, 15), { capture: ['*hook_resid_post'] });
  const norms = Array.from({ length: nLayers }, (_, layer) => {
    const { data, shape } = captured[`blocks.${layer}.hook_resid_post`];
    return figures(Math.hypot(...data.subarray(14 * shape[1], 15 * shape[1])));
  });
  assert.deepEqual(await page.locator('.lens td.n').allTextContents(), norms);
  assert.deepEqual(
    await page.locator('.lens tbody th').allTextContents(),
    norms.map((_, layer) => `layer ${layer + 1}`),
  );
  const { parts } = await model.attribution(ids.slice(0, 15), { token: ids[15] });
  const said = parts
    .filter(({ kind }) => kind === 'head')
    .map(
      ({ layer, head, value }) =>
        `layer ${layer + 1}, head ${head + 1}: ${value < 0 ? '−' : '+'}${figures(Math.abs(value))}`,
    );
  const titles = await page.locator('.vote').evaluateAll((list) => list.map((b) => b.title));
  assert.equal(titles.length, nLayers * (nHeads + 1));
  assert.deepEqual(titles.filter((title) => /head/.test(title)).sort(), said.sort());
  assert.deepEqual(complaints, []);
  await close();
});

test('the votes are one tab stop, arrow keys move over them, and one that is pressed is the selected head', async () => {
  const { page, complaints, close } = await open();
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForSelector('.vote', { timeout: 20_000 });
  assert.equal(await page.locator('.vote[tabindex="0"]').count(), 1);
  await page.locator('.vote').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  const title = await page.evaluate(() => document.activeElement.title);
  assert.match(title, /^layer 2, head 2: /);
  assert.equal(await page.locator('.vote[tabindex="0"]').getAttribute('title'), title);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /^Layer 2, head 2/.test(document.querySelector('#h-attention').textContent));
  assert.deepEqual(complaints, []);
  await close();
});

test('the lens asks the engine nothing while another view is open', async () => {
  const { page, complaints, close } = await open();
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForSelector('.vote', { timeout: 20_000 });
  await quiet(page);
  const title = () => page.locator('.lens-card h3').last().textContent();
  const before = await title();
  await page.evaluate(() => {
    window.asked = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (...args) {
      if (args[0]?.args) window.asked.push(args[0].args[0]);
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
  assert.deepEqual(complaints, []);
  await close();
});

test('“Switch this head off” opens the switches with that head off', async () => {
  const { page, complaints, close } = await open('&head=1.2');
  await page.getByRole('button', { name: 'Switch this head off' }).click();
  await page.locator('#ablate').waitFor({ state: 'visible' });
  await page.waitForFunction(() => Math.abs(document.querySelector('#ablate').getBoundingClientRect().top) < 200);
  assert.equal(await page.locator('#view-experiment').isVisible(), true);
  await page.locator('.switches button[aria-pressed="true"][title^="layer 2, head 3"]').waitFor();
  assert.deepEqual(complaints, []);
  await close();
});
