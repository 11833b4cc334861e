// activations.test.js - every kind of feed-forward layer in each table that has one: the engine's, explain's, the page's
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../web/lib/api/index.js';
import { FFN_KINDS, FIELDS, activationOf, isGated } from '../../web/lib/engine/config/config_fields.js';
import { ACTIVATIONS } from '../../web/lib/run/explain/formulas_ffn.js';
import { isGated as isGatedByName } from '../../web/page/state/facts/architecture.js';
import * as page from '../../web/page/text/ffn_text.js';

const SMALL = { vocab_size: 96, d_model: 32, n_layers: 1, n_heads: 4, d_ff: 40, context_length: 64 };
const IDS = Array.from({ length: 14 }, (_, i) => (i * 37 + 5) % 96);
const KINDS = FIELDS.ffn.words.filter((ffn) => ffn !== 'none');

const near = (/** @type {ArrayLike<number>} */ got, /** @type {number[]} */ want, /** @type {number} */ most) =>
  want.forEach((x, i) => assert.ok(Math.abs(x - got[i]) < most, `number ${i}: ${got[i]}, expected ${x}`));

test('each activation has a function and a row of the page, and nothing else has', () => {
  const functions = [...new Set(KINDS.map((ffn) => activationOf({ ffn })))].sort();
  assert.deepEqual(Object.keys(FFN_KINDS), FIELDS.ffn.words);
  assert.deepEqual(Object.keys(ACTIVATIONS).sort(), functions);
  assert.deepEqual(Object.keys(page.ACTIVATIONS).sort(), functions);
  assert.deepEqual(Object.keys(page.FFN_NAMES).sort(), [...KINDS].sort());
  for (const { title, effect, lens } of Object.values(page.ACTIVATIONS)) assert.ok(title && effect && lens, title);
});

for (const ffn of KINDS)
  test(`${ffn}: engine, explain, trace and page have the same function`, async () => {
    const [name, gated] = [activationOf({ ffn }), isGated({ ffn })];
    assert.equal(page.activationOf(ffn), name);
    assert.equal(isGatedByName({ ffn }), gated);
    const model = await create({ ...SMALL, ffn }, { seed: 3 });
    const edits = [{ at: 'blocks.0.ln2.hook_normalized', scale: 10 }]; // so that neurons are between -4 and 4
    const { captured } = await model.forward(IDS, { capture: ['*'], edits });
    const [pre, linear, post] = ['pre', 'pre_linear', 'post'].map((at) => captured[`blocks.0.mlp.hook_${at}`]?.data);
    const neurons = (/** @type {(x: number) => number} */ f) =>
      Array.from(pre, (x, i) => f(x) * (gated ? linear[i] : 1));
    near(post, neurons(ACTIVATIONS[name]), 1e-5);
    near(post, neurons(page.ACTIVATIONS[name].f), 3e-3);
    const cell = await model.explain(IDS, { at: 'blocks.0.mlp.hook_post', position: 5, index: 7 });
    near([cell.value], [cell.computed], 1e-5);
    const rows = await model.trace(IDS);
    const { flops } = rows.find((/** @type {any} */ row) => row.op === 'ffn.act');
    assert.equal(flops, FFN_KINDS[ffn].flops * IDS.length * SMALL.d_ff);
    model.dispose();
  });
