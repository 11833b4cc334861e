// sweep.test.js - a sweep gives what forward with each set of edits gives, bit for bit; scores of heads; whole weights
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { openCase, refused, sameBits, stories, untilEnd } from './helpers.js';

/** The metric of each set by a pass of its own. */
async function oneByOne(model, input, sets, { token, minus, position = -1 }, options) {
  const values = [];
  for (const edits of sets) {
    const { logits } = await model.forward(input, { edits, logits: [position], ...options });
    values.push(logits.data[token] - (minus === undefined ? 0 : logits.data[minus]));
  }
  return Float32Array.from(values);
}

/** Sets of edits of every kind, at points of every place of a model. */
async function someSets(model, ids, options) {
  const names = (await model.points()).filter((name) => !/expert|hook_router|hook_shared|hook_result/.test(name));
  const { captured } = await model.forward(ids, { capture: names, ...options });
  return names.flatMap((at, i) => {
    const set = captured[at];
    return [
      [{ at, scale: 0.5 }],
      [{ at, add: 0.25, position: i % 3 }],
      [
        { at, set },
        { at: names[(i * 7) % names.length], scale: 1.5, position: 'last' },
      ],
    ];
  });
}

for (const [name, options] of [
  ['llama_gqa_f16', {}],
  ['gpt_neox', {}],
  ['gptj', {}],
  ['gemma2', {}],
  ['opt_postnorm', {}],
  ['llama_dynamic', {}],
  ['t5', { source: [3, 4, 5, 6] }],
  ['marian', { source: [3, 4, 5, 6] }],
])
  test(`${name}: a sweep has the bits of single passes`, async () => {
    const model = await untilEnd(load(openCase(name).source, { dtype: 'f32' }));
    const ids = [3, 9, 4, 7, 5, 6];
    const sets = await someSets(model, ids, options);
    const metric = { token: 5, minus: 8 };
    const { base, values } = await model.sweep(ids, sets, { metric, ...options });
    assert.deepEqual(values.shape, [sets.length]);
    assert.ok(sameBits(values.data, await oneByOne(model, ids, sets, metric, options)));
    assert.ok(sameBits(Float32Array.of(base), await oneByOne(model, ids, [[]], metric, options)));
    // at a position that some of the edits do not reach, and as a loss
    const early = { ...metric, position: 1 };
    const at1 = (await model.sweep(ids, sets, { metric: early, ...options })).values.data;
    assert.ok(sameBits(at1, await oneByOne(model, ids, sets, early, options)));
    const losses = (await model.sweep(ids, sets, { metric: 'loss', ...options })).values.data;
    for (let i = 0; i < sets.length; i += 5) {
      const { loss } = await model.loss(ids, { edits: sets[i], ...options });
      assert.ok(Math.abs(losses[i] - loss) < 1e-6 * (1 + loss), `set ${i}: ${losses[i]}, ${loss}`);
    }
  });

describe('grids, scores and weights of a trained model', async () => {
  const model = await load(stories, { dtype: 'f32' });
  const ids = await model.encode('Lily and Tom went to the park. Lily');
  const other = ids.map((id, i) => (i === 3 ? 100 : id));
  const metric = { token: 5 };
  const { nLayers, nHeads } = model.config;

  test('a grid of layers and positions patches each cell with the values of the other text', async () => {
    const grid = { at: 'blocks.*.hook_resid_pre', each: 'position', from: other };
    const { values, points, base } = await model.sweep(ids, grid, { metric });
    assert.deepEqual(values.shape, [nLayers, ids.length]);
    assert.equal(points[2], 'blocks.2.hook_resid_pre');
    const { captured, logits } = await model.forward(other, { capture: [grid.at], logits: 'last' });
    const sets = points.flatMap((at) =>
      ids.map((_, position) => {
        const { data, shape } = captured[at];
        return [{ at, position, set: data.slice(position * shape[1], (position + 1) * shape[1]) }];
      }),
    );
    assert.ok(sameBits(values.data, await oneByOne(model, ids, sets, metric)));
    assert.equal(values.data[3], logits.data[5]); // the embedding of the token that differs
    assert.equal(values.data[2], base);
  });

  test('a grid of positions of the encoder has those of the source', async () => {
    const sizes = { vocab_size: 50, d_model: 16, n_layers: 1, n_encoder_layers: 1, n_heads: 2 };
    const pair = await create({ ...sizes, kind: 'encoder_decoder' }, { seed: 3 });
    const source = [3, 4, 5, 6, 7];
    const at = 'encoder.0.hook_resid_post';
    const { values } = await pair.sweep([1, 2], { at, each: 'position' }, { source, metric });
    assert.deepEqual(values.shape, [1, 5]);
    const edits = [{ at, position: 4, scale: 0 }];
    const { logits } = await pair.forward([1, 2], { source, edits, logits: 'last' });
    assert.equal(values.data[4], logits.data[5]);
  });

  test('a grid of heads switches each off', async () => {
    const { values } = await model.sweep(ids, { at: '*.hook_z', each: 'head' }, { metric });
    assert.deepEqual(values.shape, [nLayers, nHeads]);
    const sets = Array.from({ length: nLayers * nHeads }, (_, i) => [
      { at: `blocks.${Math.floor(i / nHeads)}.attn.hook_z`, head: i % nHeads, scale: 0 },
    ]);
    assert.ok(sameBits(values.data, await oneByOne(model, ids, sets, metric)));
    const patch = await model.sweep(ids, { at: '*.hook_pattern', each: 'head', from: other }, { metric });
    const { captured } = await model.forward(other, { capture: ['blocks.1.attn.hook_pattern'] });
    const own = captured['blocks.1.attn.hook_pattern'];
    const size = ids.length ** 2;
    const set = { shape: [ids.length, ids.length], data: own.data.slice(2 * size, 3 * size) };
    const want = await oneByOne(model, ids, [[{ at: 'blocks.1.attn.hook_pattern', head: 2, set }]], metric);
    assert.equal(patch.values.data[nHeads + 2], want[0]);
  });

  test('wrong sets, grids and metrics are refused', async () => {
    const sweep = (sets, options = { metric }) => model.sweep(ids, sets, options);
    await refused(sweep([[{ at: 'nowhere', scale: 0 }]]), 'unknown-point', /nowhere/);
    await refused(sweep([[]], {}), 'bad-option', /metric/);
    await refused(sweep([[]], { metric: 'logits' }), 'bad-option', /'loss'/);
    await refused(sweep([[]], { metric: { token: 5, position: 99 } }), 'bad-option', /position/);
    await refused(sweep({ at: '*.hook_z' }), 'bad-option', /each/);
    await refused(sweep({ at: '*.hook_mlp_out', each: 'head' }), 'bad-option', /no heads/);
    await refused(sweep({ at: '*.hook_z', each: 'head', from: [1] }), 'bad-option', /from has 1 tokens/);
    const shared = await create({ vocab_size: 50, d_model: 16, n_layers: 1, n_heads: 4, n_kv_heads: 2 }, { seed: 3 });
    const qk = shared.sweep([1, 2], { at: '*.attn.hook_*', each: 'head' }, { metric });
    await refused(qk, 'bad-option', /hook_k has 2, blocks.0.attn.hook_q 4/);
    await refused(sweep([{ at: '*.hook_z', scale: 0 }]), 'bad-option', /editSets\[0\]/);
  });

  test('head scores are mean weights of the patterns over random tokens that come twice', async () => {
    const scores = await model.headScores();
    assert.deepEqual([scores.length, scores[0].length], [nLayers, nHeads]);
    for (const { previous, first, self, duplicate, induction } of scores.flat())
      for (const x of [previous, first, self, duplicate, induction]) assert.ok(x >= 0 && x <= 1);
    const encoder = await load(openCase('bert').source);
    await refused(encoder.headScores(), 'unsupported', /causal decoder/);
    const short = await create({ vocab_size: 50, d_model: 16, n_layers: 1, n_heads: 2, context_length: 2 });
    await refused(short.headScores(), 'unsupported', /3 positions/);
    // a head without position attends equally to the token and to its copy
    const plain = await create({ vocab_size: 50, d_model: 16, n_layers: 1, n_heads: 2, position: 'none' }, { seed: 3 });
    for (const { self, duplicate } of (await plain.headScores())[0]) assert.ok(Math.abs(self - duplicate) < 1e-6);
  });

  test('a matrix holds the rows of its weight', async () => {
    const { data, shape } = await model.matrix('blocks.1.attn.o.weight');
    assert.ok(sameBits(data.subarray(3 * shape[1], 4 * shape[1]), await model.weight('blocks.1.attn.o.weight', 3)));
    assert.deepEqual((await model.matrix('final_norm.weight')).shape, [model.config.dModel]);
    await refused(model.matrix('nothing'), 'bad-argument', /no weight/);
    await refused(model.circuit(0, 99, 'OV'), 'bad-option', /head/);
    await refused(model.circuit(0, 0, 'VO'), 'bad-argument', /OV/);
  });
});
