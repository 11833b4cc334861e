// positions_page.test.js - the pictures of positions: what they read off a pass agrees with the formulas of the papers
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../web/lib/api/index.js';
import {
  anglesOf,
  biasesOf,
  positionKindAt,
  positionPicture,
} from '../../web/page/views/inside/anatomy/position_picture.js';

const SIZES = { kind: 'decoder', vocab_size: 40, d_model: 16, n_layers: 1, n_heads: 2, d_ff: 16, context_length: 64 };
const IDS = [3, 17, 5, 39, 0, 8, 22];
const near = (/** @type {number} */ x, /** @type {number} */ y) => assert.ok(Math.abs(x - y) < 1e-5, `${x}, not ${y}`);

/** What the page reads. */
const reading = (model, values) => ({ model, values, forward: (ids, how) => model.forward(ids, how) });

/** @param {object} config @param {(model: any, values: any) => Promise<void>} check */
async function withModel(config, check) {
  const model = await create({ ...SIZES, ...config }, { seed: 4 });
  await check(model, async (/** @type {string[]} */ capture) => (await model.forward(IDS, { capture })).captured);
  model.dispose();
}

for (const [pairs, rotary_dim, rotary_kv_heads] of /** @type {const} */ ([
  ['half', 0, 0],
  ['adjacent', 4, 0],
  ['half', 0, 2],
]))
  test(`pairs ${pairs} turn by the frequencies of Su et al. 2021 times the position, of ${rotary_kv_heads || 'all'} heads`, () =>
    withModel(
      { position: 'rope', n_heads: rotary_kv_heads ? 4 : 2, d_head: 8, rope_pairs: pairs, rotary_dim, rotary_kv_heads },
      async (model, values) => {
        const n = (rotary_dim || 8) / 2;
        const names = ['blocks.0.attn.hook_q', 'blocks.0.attn.hook_rot_q'];
        const of = await values(names);
        const [q, rotated] = names.map((name) => of[name]);
        const angles = anglesOf(q, rotated, 3, { half: pairs === 'half', pairs: n, turning: 2 });
        angles.forEach((angle, i) => near(angle, 3 * model.config.ropeTheta ** (-i / n)));
        const { curves, dials } = await positionPicture(reading(model, values), 'turns', {
          layer: 0,
          position: 3,
          head: 1,
        });
        assert.equal(dials.length, n);
        const still = await positionPicture(reading(model, values), 'turns', { layer: 0, position: 3, head: 2 });
        if (rotary_kv_heads) assert.equal(still, null);
        assert.deepEqual([curves[0][0], curves[0].length], [1, 64]);
        near(curves[0][5], angles.reduce((sum, _, i) => sum + Math.cos(5 * model.config.ropeTheta ** (-i / n)), 0) / n);
      },
    ));

test('the bias of each head is its slope of Press et al. 2022 times the distance', () =>
  withModel({ position: 'alibi', n_heads: 4 }, async (model, values) => {
    const names = ['blocks.0.attn.hook_attn_scores', 'blocks.0.attn.hook_attn_scores_scaled'];
    const of = await values(names);
    const [scores, scaled] = names.map((name) => of[name]);
    biasesOf(scores, scaled, 6).forEach((biases, h) => {
      assert.equal(biases.length, 7);
      biases.forEach((bias, back) => near(bias, -back * 2 ** (-2 * (h + 1))));
    });
  }));

for (const sinusoid_pairs of ['adjacent', 'half'])
  test(`sinusoids, pairs ${sinusoid_pairs}, are the table; products are of whole rows`, () =>
    withModel({ position: 'sinusoidal', sinusoid_pairs }, async (model, values) => {
      const { data } = (await values(['hook_pos_embed'])).hook_pos_embed;
      const picture = await positionPicture(reading(model, values), 'table', {
        layer: 0,
        position: 2,
        head: 0,
      });
      assert.deepEqual([picture.table.data.length, picture.table.width, picture.curves[0].length], [800, 16, 50]);
      data.forEach((x, i) => near(x, picture.table.data[i]));
      near(picture.curves[0][2], 1);
      near(picture.curves[0][4], picture.curves[0][0]); // sinusoids: a product depends on the distance alone
    }));

test('a learned table has the rows of the weight, and each stage shows its kind', () =>
  withModel({ position: 'learned' }, async (model, values) => {
    const { data } = await model.matrix('position.weight');
    const picture = await positionPicture(reading(model, values), 'table', {
      layer: 0,
      position: 2,
      head: 0,
    });
    assert.deepEqual(picture.table.data, data.slice(0, 50 * 16));
    assert.equal(positionKindAt('embed', model.config, 0), 'table');
    assert.equal(positionKindAt('qkv', model.config, 0), null);
    assert.equal(positionKindAt('qkv', { ...model.config, position: 'rope' }, 0), 'turns');
    assert.equal(positionKindAt('heads', { ...model.config, position: 'alibi' }, 0), 'bias');
  }));
