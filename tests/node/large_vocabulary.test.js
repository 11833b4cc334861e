// large_vocabulary.test.js - the page with a vocabulary of 262,144 tokens: what a pass sends to it, and sums in short tasks
//
// Each token sorted all logits on the page's thread, in tasks of 160 to 310 ms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { likeliest, prepare, sumAt, summed } from '../../web/draw/likelihood.js';
import { until } from '../patience.js';
import { logprobOf } from './helpers.js';
import { made } from './page_text.js';

const V = 262_144;
const CONFIG = { vocabSize: V, dModel: 32, nLayers: 2, nHeads: 2, dFf: 32, contextLength: 64 };

test('a pass sends the last row of logits only, and the engine adds up the others', async () => {
  const { state, errors, calls } = made();
  await calls.make(CONFIG, 3, { prompt: '5 262143 70000 12 9 33 1 2 3 4 5 6 7 8 9 10 11' });
  const { tokens, logits } = state.text;
  assert.deepEqual([errors, tokens.length, [...logits.keys()]], [[], 17, [16]]);
  await until(() => tokens[16].logprob !== null);
  const ids = tokens.map(({ id }) => id);
  const { data } = (await state.engine.model.api.forward(ids)).logits;
  assert.deepEqual(logits.get(16), data.slice(16 * V));
  for (const at of [1, 2, 16]) {
    const want = logprobOf(data.subarray((at - 1) * V, at * V), ids[at]);
    assert.ok(Math.abs(tokens[at].logprob - want) < 1e-4, `${at}: ${tokens[at].logprob}, expected ${want}`);
  }
});

test('sums, entropy and the largest of a row are those of plain loops, and are computed with pauses', async () => {
  let seed = 1;
  const draw = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (const [n, levels] of [
    [7, 1000],
    [50_000, 1000],
    [V, 1e6],
  ]) {
    const row = Float32Array.from({ length: n }, () => Math.floor(draw() * levels) / (levels / 20)); // ties
    let pauses = 0;
    await prepare(row, 0.7, async () => void pauses++);
    assert.ok(pauses >= n / 32768, `${pauses} pauses`);
    const sum = (t) => Math.log(row.reduce((all, x) => all + Math.exp(x / t), 0));
    const whole = sum(1);
    const entropy = row.reduce((all, x) => all - Math.exp(x - whole) * (x - whole), 0) / Math.LN2;
    const order = Array.from(row.keys()).sort((a, b) => row[b] - row[a] || a - b);
    for (const [found, want] of [
      [summed(row).sum, whole],
      [sumAt(row, 0.7), sum(0.7)],
      [summed(row).entropy, entropy],
    ])
      assert.ok(Math.abs(found - want) < 1e-6, `${found}, expected ${want}`);
    for (const most of [5, 40])
      assert.deepEqual(
        likeliest(row, most).map(({ id }) => id),
        order.slice(0, most),
      );
  }
});
