// scan.test.js - a scan of many texts has the values of single passes, and statistics of them by hand
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, scan } from '../../web/lib/api/index.js';
import { openCase, refused, sameBits, stories } from './helpers.js';

const near = (/** @type {number} */ got, /** @type {number} */ want, by = 1e-4) =>
  assert.ok(Math.abs(got - want) <= by * (1 + Math.abs(want)), `${got}, expected ${want}`);
const TEXTS = ['The cat sat on the mat.', 'Lily and Tom went to the park.', 'Once upon a time', 'The dog ran.'];
const at = 'blocks.1.mlp.hook_post';

/** The rows of single passes from a position on. */
async function rowsOf(model, texts, from) {
  const rows = [];
  for (const [text, input] of texts.entries()) {
    const { data, shape } = (await model.forward(input, { capture: [at], logits: 'none' })).captured[at];
    const width = data.length / shape[0];
    for (let t = from; t < shape[0]; t++)
      rows.push({ text, position: t, row: data.subarray(t * width, (t + 1) * width) });
  }
  return rows;
}

test('values have the bits of forward, in steps, also of an encoder', async () => {
  const model = await load(stories);
  const bert = await load(openCase('bert').source);
  for (const [one, texts] of [
    [model, TEXTS],
    [bert, [[1, 2, 3], [4, 5], [6, 7, 8, 9]]], // prettier-ignore
  ]) {
    const run = scan(one, texts, { at, batch: 20 });
    const windows = [];
    let last = 0;
    for await (const step of run) {
      assert.ok(step.texts > last);
      last = step.texts;
      windows.push(...step.windows);
    }
    assert.deepEqual(
      windows.map(({ text }) => text),
      texts.map((_, i) => i),
    );
    const rows = await rowsOf(one, texts, 0);
    const data = windows.flatMap(({ values }) => Array.from(values[at].data));
    assert.ok(sameBits(Float32Array.from(data), Float32Array.from(rows.flatMap(({ row }) => Array.from(row)))));
    assert.deepEqual((await run.result()).texts, texts.length);
  }
});

test('mean, covariance, strongest places and histogram are those of the rows, in any batches', async () => {
  const model = await load(stories, { dtype: 'f32' });
  const index = [3, 20, 41];
  const options = { at, index, from: 1, statistic: ['covariance', 'top', 'histogram'], top: 4, bins: 5 };
  const range = /** @type {const} */ ([-1, 1]);
  const texts = [...TEXTS, Array.from({ length: 150 }, (_, i) => 3 + ((37 * i) % 900))]; // more than a pass
  const rows = await rowsOf(model, texts, 1);
  const n = rows.length;
  for (const batch of [1, 1e6]) {
    const { points, tokens } = await scan(model, texts, { ...options, range, batch }).result();
    const { mean, variance, covariance, top, histogram, rows: counted } = points[at];
    assert.deepEqual([counted, tokens], [n, n + texts.length]);
    const column = (c) => rows.map(({ row }) => row[index[c]]);
    const means = index.map((_, c) => column(c).reduce((a, b) => a + b) / n);
    for (let a = 0; a < 3; a++) {
      near(mean.data[a], means[a]);
      for (let b = 0; b < 3; b++) {
        const [x, y] = [column(a), column(b)];
        const want = x.reduce((sum, v, i) => sum + (v - means[a]) * (y[i] - means[b]), 0) / (n - 1);
        near(covariance.data[3 * a + b], want);
        if (a === b) near(variance.data[a], want);
      }
      const order = rows.toSorted((p, q) => q.row[index[a]] - p.row[index[a]]).slice(0, 4);
      assert.deepEqual(
        top[a].map(({ text, position }) => [text, position]),
        order.map(({ text, position }) => [text, position]),
      );
      const bins = [0, 0, 0, 0, 0];
      for (const x of column(a)) bins[Math.min(4, Math.max(0, Math.floor((5 * (x + 1)) / 2)))]++;
      assert.deepEqual(Array.from(histogram.counts.data.subarray(5 * a, 5 * a + 5)), bins);
    }
    const [{ ids, at: place, text, position }] = top[0];
    const all = typeof texts[text] === 'string' ? await model.encode(texts[text]) : texts[text];
    assert.equal(ids[place], all[position]);
  }
});

test('texts come from an iterator, are cut at the context, and edits change them', async () => {
  const model = await load(stories, { contextLength: 8 });
  async function* texts() {
    yield Array.from({ length: 19 }, (_, i) => i + 1);
  }
  const windows = [];
  for await (const step of scan(model, texts(), { at })) windows.push(...step.windows);
  assert.deepEqual(
    windows.map(({ start, ids }) => [start, ids.length]),
    [[0, 8], [8, 8], [16, 3]], // prettier-ignore
  );
  const off = { at, edits: [{ at, scale: 0 }], statistic: 'mean' };
  const { points } = await scan(model, [[1, 2, 3]], off).result();
  assert.ok(points[at].mean.data.every((x) => x === 0));
});

test('an abort ends a scan with its reason, and wrong arguments are refused', async () => {
  const model = await load(stories, { worker: true });
  const stop = new AbortController();
  const run = scan(model, Array(1000).fill(TEXTS[0]), { at, statistic: 'mean', batch: 50, signal: stop.signal });
  await run.next();
  const reason = new Error('enough');
  stop.abort(reason);
  await assert.rejects(run.next(), (error) => error === reason);
  await refused(run.result(), 'bad-state', /ended/);
  const result = (texts, options) => scan(model, texts, options).result();
  await refused(result('one text', { at }), 'bad-argument', /expected a list/);
  await refused(result(TEXTS, {}), 'bad-option', /needs the option at/);
  await refused(result(TEXTS, { at: 'nowhere' }), 'unknown-point', /nowhere/);
  await refused(result(TEXTS, { at: '*.hook_pattern' }), 'bad-option', /no row for each position/);
  await refused(result(TEXTS, { at, index: [9999] }), 'bad-option', /index is 9999/);
  await refused(result(TEXTS, { at, statistic: 'median' }), 'bad-option', /mean, covariance/);
  await refused(result([TEXTS[0], undefined], { at }), 'bad-argument', /the text 1 is undefined/);
  const thrown = new TypeError('of the caller');
  const broken = (function* () {
    yield TEXTS[0];
    throw thrown;
  })();
  const { code, cause, message } = await result(broken, { at }).catch((error) => error);
  assert.deepEqual([code, cause, message], ['callback', thrown, 'the iterator of texts threw: of the caller']);
  model.dispose();
});
