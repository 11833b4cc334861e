// count.test.js - the view Count in Chromium: every number of parameters, cost, trace and memory against the library in
// Node on the same file
import assert from 'node:assert/strict';
import { estimate } from '../../web/lib/api/index.js';
import { bytes, int, percent, si } from '../../web/page/text/format.js';
import { pageTest, samePage } from './built_page.js';
import { opened, sum } from './expected.js';
import { atLeast, cells, counts, ids, openView, read, says } from './page_parts.js';
import { quiet } from './quiet.js';

const FILE = 'weights/stories-1m.gguf';
const model = await opened(FILE);
// enough tokens for a speed: on a busy machine steps that were interrupted are left out
const countTest = samePage({ hash: `#model=${FILE}&prompt=Once upon a time&seed=3&written=40`, view: 'count' });

/** The cells of rows of the table by their classes. @returns {Promise<Record<string, string>[]>} */
const parts = (page, rows) =>
  page
    .locator(rows)
    .evaluateAll((list) =>
      list.map((row) =>
        Object.fromEntries(
          Array.from(row.cells, (cell) => [
            cell.tagName === 'TH' ? 'name' : cell.classList[0],
            cell.textContent.replace(/\s+/g, ' ').trim(),
          ]),
        ),
      ),
    );

countTest('every number of the table of parameters is the library’s, by component and by block', async ({ page }) => {
  const { rows, total, bytes: size, nonEmbedding } = model.parameters;
  assert.equal(await page.locator('#h-parameters small').getAttribute('data-total'), String(total));
  for (const by of ['block', 'component']) {
    await page.getByRole('radio', { name: `by ${by}` }).click();
    const keyOf = (row) => (by === 'component' || row.layer === null ? row.component : `Block ${row.layer + 1}`);
    const keys = [...new Set(rows.map(keyOf))];
    await counts(page, '.parameters tr.group', keys.length);
    const shown = await parts(page, '.parameters tr.group');
    const wanted = keys.map((key) => {
      const own = rows.filter((row) => keyOf(row) === key && !row.tiedTo);
      return ['count', 'bytes', 'memoryBytes'].map((name) => sum(own.map((row) => row[name])));
    });
    const written = ([count, ...sizes]) =>
      [int(count), ...sizes.map(int), count ? percent(count / total) : ''].join(' | ');
    const numbersOf = (row) => [row.count, row.bytes, row.resident, row.share].join(' | ');
    assert.deepEqual(shown.map(numbersOf).sort(), wanted.map(written).sort(), by);
    for (const { name, formula, count } of shown) {
      // the numbers of a formula, put in, are the count
      const numbers = / = (.*)$/.exec(formula)?.[1];
      if (!numbers) continue;
      const value = numbers
        .replace(/ (?:biases.*|q, k gains)/g, '')
        .replace(/·/g, '*')
        .replace(/(\d+)²/g, '$1**2');
      assert.match(value, /^[\d +*()]+$/, `${name}: ${formula}`);
      assert.equal(int(Function(`return ${value}`)()), count, `${name}: ${formula}`);
    }
    assert.ok(shown.some(({ formula }) => / = \d/.test(formula)));
  }
  const [end] = await parts(page, '.parameters tfoot tr');
  assert.deepEqual(
    [end.count, end.bytes, end.resident],
    [int(total), int(size), int(sum(rows.map((row) => row.memoryBytes)))],
  );
  assert.ok(end.formula.startsWith(`non-embedding ${int(nonEmbedding)} · `), end.formula);
});

countTest('each matrix has a place of its own in linear memory, and q, k and v are one', async ({ page }) => {
  await page.getByRole('button', { name: /Attention, \d+ blocks/ }).click();
  const rows = model.parameters.rows.filter((r) => r.component === 'attention');
  const places = (await page.locator('tr.tensor:not([hidden]) .numbers').allTextContents()).map((text) =>
    /^at ([\d,. ]+) in linear memory, ([\d,. ]+) bytes there(?:, one matrix with (.*))?(?:: .*)?$/
      .exec(text)
      ?.slice(1, 3)
      .map((x) => Number(x.replace(/\D/g, ''))),
  );
  assert.deepEqual(
    places.map(([, size]) => size),
    rows.map((r) => r.memoryBytes),
  );
  const matrices = new Map();
  for (const [start, size] of places) matrices.set(start, (matrices.get(start) ?? 0) + size);
  assert.equal(matrices.size, 2 * model.config.nLayers);
  const list = [...matrices].sort(([a], [b]) => a - b);
  list.forEach(([start], i) =>
    assert.ok(i === 0 || start >= list[i - 1][0] + list[i - 1][1], `two matrices at ${start}`),
  );
  const head = page.locator('tr.group', { hasText: 'Head' });
  assert.match(await head.textContent(), /shared with the embedding/);
  assert.equal((await head.locator('.count').textContent()).trim(), '0');
});

countTest('every number of the cost of a token is the library’s estimate', async ({ page }) => {
  await quiet(page);
  const kvDtype = model.kvDtype;
  const at = (length) => estimate(model.config, { contextLength: length, kvDtype });
  const length = await page.locator('.tok').count();
  assert.equal(await page.locator('#h-cost small').textContent(), `at position ${length}`);
  const shown = Object.fromEntries(
    (await cells(page, '.cost table:first-of-type tr')).map(([name, ...rest]) => [name, rest]),
  );
  const here = at(length);
  assert.deepEqual(shown.FLOPs, [`2N rule ${si(here.flopsPerToken2N)}`, `exact ${si(here.flopsPerToken)}`]);
  assert.deepEqual(shown['kv cache'], [`${int(at(1).kvBytes)} B per token`, `${bytes(here.kvBytes)} so far`]);
  const { rows } = model.parameters,
    table = rows.find(({ component }) => component === 'embedding');
  // every weight as it is in memory, the tied table whole for the head and one row of it, and the cache
  const read = sum(rows.map((row) => row.memoryBytes)) + table.memoryBytes / table.shape[0] + here.kvBytes;
  assert.equal(shown['Bytes read'][0], bytes(read));
  // speeds: the shown time, multiplied again
  const ms = parseFloat(shown.Time[0]);
  assert.match(shown.Time[0], /^[\d.]+ ms measured$/);
  const unit = (text) =>
    parseFloat(text) * { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 }[/ ([kMGT]?)\D+\/s$/.exec(text)[1]];
  for (const [text, amount] of [
    [shown['Bytes read'][1], read],
    [shown.Time[1], here.flopsPerToken],
  ])
    assert.ok(Math.abs(((unit(text) / 1000) * ms) / amount - 1) < 0.02, `${text} in ${ms} ms, ${amount} in all`);
  const later = await cells(page, '.cost h3 + table tbody tr');
  assert.ok(later.length >= 3);
  const own = 2 * at(1).flopsPerToken - at(2).flopsPerToken;
  for (const [position, flops, share, kv] of later) {
    const want = at(Number(position.replace(/\D/g, '')));
    assert.deepEqual(
      [flops, share, kv],
      [si(want.flopsPerToken), percent((want.flopsPerToken - own) / want.flopsPerToken), bytes(want.kvBytes)],
      position,
    );
  }
  assert.equal(Number(later.at(-1)[0].replace(/\D/g, '')), model.config.contextLength);
});

countTest('the operations of a measured pass are the library’s, and their times add up', async ({ page }) => {
  await page.locator('.trace').scrollIntoViewIfNeeded();
  await page.waitForSelector('.trace tfoot td');
  const all = await ids(page);
  assert.match(await page.locator('#h-trace small').textContent(), new RegExp(`^${all.length} tokens in one pass`));
  const trace = await model.trace(all);
  const shown = await cells(page, '.trace tbody tr');
  const [[, flops, ms]] = await cells(page, '.trace tfoot tr');
  assert.equal(flops, si(sum(trace.map((row) => row.flops))));
  const only = (op) => si(sum(trace.filter((row) => row.op === op).map((row) => row.flops)));
  const row = Object.fromEntries(shown.map(([name, count]) => [name, count]));
  assert.equal(row['q, k, v'], only('attn.qkv'));
  assert.equal(row['Scores, softmax, weighted values'], only('attn.attend'));
  assert.equal(row['FFN, down'], only('ffn.down'));
  assert.equal(row.Head, only('head'));
  const msOf = (time) => (time.startsWith('<') ? 0 : parseFloat(time));
  const times = shown.map(([, , time]) => msOf(time));
  assert.ok(msOf(ms) > 0, `${ms} in all`); // even if the clock has steps of 0.1 ms
  assert.ok(Math.abs(sum(times) - msOf(ms)) < 0.1 * shown.length + 0.1, `${times}, ${ms} in all`);
});

pageTest(
  'the map of memory names every region, and the cache of two texts is predicted by hand',
  '#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10',
  async ({ page }) => {
    await openView(page, 'count');
    await says(page, '.memory', /kv cache of 11 tokens and 10 of the source/);
    const predicted = await page.locator('.memory tr', { hasText: 'kv cache of' }).locator('td').first().textContent();
    assert.equal(read(predicted.replaceAll(',', '')), 2 * 2 * 64 * 4 * (11 + 10)); // k and v, two layers, d_model, f32
    const kinds = await page.locator('.map .piece').evaluateAll((list) => list.map((e) => e.className));
    // the worker has written to the end of the text, whose cache is free again
    assert.deepEqual(kinds, ['piece base', 'piece weights', 'piece scratch', 'piece free']);
  },
);

// 717,568 bytes predicted, 796,672 there, and not a word about the difference.
countTest('the difference between the bytes of the file and those of memory is named', async ({ page }) => {
  await says(page, '.memory .hint', /bytes more because the scales of quantised blocks are f32 there/);
  const [, predicted, actual] = (await cells(page, '.memory tbody tr'))[0];
  const said = read(/([\d,]+) bytes more/.exec(await page.locator('.memory .hint').innerText())[1]);
  assert.equal(said, read(actual) - read(predicted));
});

pageTest(
  'opened while the text is written, the cache has what the engine says, whatever the page has read of it',
  `#model=${FILE}&prompt=Once upon a time&seed=3&written=50&past=1&pace=reading`,
  async ({ page }) => {
    await page.locator('#max-tokens').fill('400'); // it is not to end meanwhile
    await page.locator('.go').click();
    await openView(page, 'count');
    const perPosition = estimate(model.config, { contextLength: 1, kvDtype: model.kvDtype }).kvBytes;
    for (const n of [60, 70]) {
      await atLeast(page, '.strip .line span', 40);
      await page.waitForFunction(
        (n) => Number(/(\d+)/.exec(document.querySelector('#h-cost small').textContent)[1]) >= n,
        n,
      );
      const [name, predicted, actual] = (await cells(page, '.memory tbody tr'))[1];
      assert.ok(read(predicted) <= read(actual), `${name}: ${predicted} predicted, ${actual} actual`);
      const held = Number(/(\d+) (?:tokens|positions)/.exec(name)[1]);
      assert.equal(read(predicted), held * perPosition, name);
    }
    assert.equal(await page.locator('.strip').getByRole('button', { name: 'Stop' }).count(), 1, 'the text rests');
  },
);

countTest(
  'builds with and without SIMD are measured in turn, write the same text and show their loops',
  async ({ page }) => {
    const panel = page.locator('[data-panel="simd"]'),
      button = panel.getByRole('button');
    await button.click();
    await says(page, '[data-panel="simd"]', /All wrote the same 65 tokens/);
    await says(page, '[data-panel="simd"] button', /^Measure$/);
    const rows = await cells(page, '[data-panel="simd"] tbody tr');
    assert.deepEqual(
      rows.map(([name]) => name),
      ['without SIMD', 'SIMD128', 'relaxed SIMD'],
    );
    const instructions = [/\(a >> 16\) \* \(b >> 16\)/, /wasm_i32x4_dot_i16x8/, /wasm_i(?:16x8|32x4)_relaxed_dot/];
    for (const [i, [, speed, times, code]] of rows.entries()) {
      assert.ok(parseFloat(speed.replaceAll(/\D/g, '')) > 0 && parseFloat(times) > 0, `${speed}, ${times}`);
      assert.match(code, /^for \(const char \*end/);
      assert.match(code, instructions[i]);
    }
  },
);
