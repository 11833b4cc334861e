// head_play.test.js - the steps of a head's arithmetic against captures of a pass, and vectors through norms against the
// engine's
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '../../web/lib/api/index.js';
import { dot, headRows, made, mixed, stepsOf } from '../../web/page/views/inside/anatomy/head_arithmetic.js';
import { normSteps } from '../../web/page/views/inside/anatomy/vector_steps.js';

const SMALL = { vocab_size: 96, d_model: 32, n_layers: 2, n_heads: 4, n_kv_heads: 2, d_ff: 40, context_length: 64 };
const IDS = Array.from({ length: 14 }, (_, i) => (i * 37 + 5) % 96);
const POINTS = {
  q: 'rot_q',
  k: 'rot_k',
  v: 'v',
  raw: 'attn_scores_raw',
  scaled: 'attn_scores_scaled',
  score: 'attn_scores',
};

/** A pass of a model with random weights. @param {object} config */
async function pass(config) {
  const model = await create({ ...SMALL, ...config }, { seed: 3 });
  const { captured } = await model.forward(IDS, { capture: ['*'] });
  model.dispose();
  return captured;
}
const near = (/** @type {ArrayLike<number>} */ got, /** @type {ArrayLike<number>} */ want, most = 1e-4) => {
  assert.equal(got.length, want.length);
  Array.from(got).forEach((x, i) => assert.ok(Math.abs(x - want[i]) < most, `number ${i}: ${x}, expected ${want[i]}`));
};

describe('the arithmetic of a head', async () => {
  const captured = await pass({});
  const at = (/** @type {string} */ name) => captured[`blocks.1.attn.hook_${name}`];
  const of = {
    ...Object.fromEntries(Object.entries(POINTS).map(([name, point]) => [name, at(point)])),
    weight: at('pattern'),
    out: at('result'),
  };
  const [HEAD, QUERY] = [3, 11];
  const head = headRows(/** @type {any} */ (of), QUERY, HEAD, true);

  test('the values of all rows add up to z, the earlier ones as one row', () => {
    assert.deepEqual(
      head.rows.map(({ key, several, masked }) => [key, several, masked]),
      [[3, true, false], ...Array.from({ length: 10 }, (_, i) => [i + 3, false, i === 9])],
    );
    near(mixed(head.rows), at('z').data.subarray((QUERY * 4 + HEAD) * 8, (QUERY * 4 + HEAD + 1) * 8), 5e-3);
    near([head.rows.reduce((sum, { weight }) => sum + weight, 0)], [1]);
    for (const { power, weight } of head.rows) near([power / head.sum], [weight]);
  });

  test('the first score is made number by number, and each step comes after those it needs', () => {
    const steps = stepsOf(head);
    assert.deepEqual(
      steps.filter(({ at: what }) => what === 'product').map(({ row, i }) => [row, i]),
      Array.from({ length: 8 }, (_, i) => [1, i]),
    );
    const [, first] = head.rows;
    near([dot(head.q, /** @type {Float32Array} */ (first.k), 8)], [first.raw], 5e-3);
    const order = ['score', 'scale', 'mask', 'power', 'sum', 'weight', 'mix', 'project'];
    const firstOf = order.map((what) => steps.findIndex((step) => step.at === what));
    assert.deepEqual(
      [...firstOf].sort((a, b) => a - b),
      firstOf,
    );
    assert.equal(steps.filter(({ at: what }) => what === 'score').length, 9); // the masked key has none
    assert.ok(!made(steps, firstOf[0], 'score', 2) && made(steps, firstOf[0] + 1, 'score', 2));
    assert.ok(made(steps, steps.length - 1, 'weight', 0));
  });

  // Keys after those shown were left out: their weights, z and the sum were those of a part.
  test('without a mask the keys that are not shown are one row, and all weights add up to 1', async () => {
    const captured = await pass({ kind: 'encoder', position: 'learned' });
    const at = (/** @type {string} */ name) => captured[`blocks.1.attn.hook_${name}`];
    const points = { ...POINTS, q: 'q', k: 'k', weight: 'pattern', out: 'result' };
    const of = Object.fromEntries(Object.entries(points).map(([name, point]) => [name, at(point)]));
    const open = headRows(/** @type {any} */ (of), 2, HEAD, false);
    assert.deepEqual(
      open.rows.map(({ key, several, masked }) => [key, several, masked]),
      [[4, true, false], ...Array.from({ length: 10 }, (_, i) => [i, false, false])],
    );
    near(mixed(open.rows), at('z').data.subarray((2 * 4 + HEAD) * 8, (2 * 4 + HEAD + 1) * 8), 5e-3);
    near([open.rows.reduce((sum, { weight }) => sum + weight, 0)], [1]);
    for (const { power, weight } of open.rows) near([power / open.sum], [weight]);
  });
});

test('a vector through a norm is what the engine computes', async () => {
  for (const norm of /** @type {const} */ (['layernorm', 'rmsnorm'])) {
    const captured = await pass({ norm, norm_eps: 1e-5 });
    const row = (/** @type {string} */ point) => captured[point].data.subarray(5 * 32, 6 * 32);
    const steps = normSteps(row('blocks.1.hook_resid_pre'), norm, 1e-5);
    near(steps.at(-1)?.numbers ?? [], row('blocks.1.ln1.hook_normalized'), 1e-3);
    assert.equal(steps.length, norm === 'layernorm' ? 3 : 2);
  }
});
