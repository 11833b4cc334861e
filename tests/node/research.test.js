// research.test.js - metrics, several inputs, edits inside the calls for research, and path patching, each against other
// passes: finite differences, sums by hand, and edits of the stream
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { openCase, refused, stories, top } from './helpers.js';

const near = (/** @type {number} */ got, /** @type {number} */ want, by = 1e-5) =>
  assert.ok(Math.abs(got - want) <= by * (1 + Math.abs(want)), `${got}, expected ${want}`);

describe('metrics, inputs and edits', async () => {
  const model = await load(stories, { dtype: 'f32', kvDtype: 'f32' });
  const ids = await model.encode('Lily and Tom went to the park. Lily');
  const others = [ids.with(2, 50), ids.with(5, 90)];
  const n = ids.length;
  const { dModel: d, dHead, nHeads, nLayers } = model.config;
  const logits = async (input, edits) => (await model.forward(input, { edits, logits: [-1] })).logits.data;
  const softmax = (row) => {
    const e = Array.from(row, (x) => Math.exp(x - Math.max(...row)));
    const sum = e.reduce((a, b) => a + b);
    return e.map((x) => x / sum);
  };
  const off = [{ at: 'blocks.2.hook_mlp_out', scale: 0 }];
  const swept = async (metric, sets = [off], input = ids) => model.sweep(input, sets, { metric });

  test('a metric can be a probability, its logarithm, a divergence, or a function', async () => {
    const [p, q] = [softmax(await logits(ids, off)), softmax(await logits(ids))];
    const value = async (metric) => (await swept(metric)).values.data[0];
    near(await value({ token: 5, as: 'probability' }), p[5]);
    near(await value({ token: 5, minus: 8, as: 'logprob' }), Math.log(p[5] / p[8]));
    const kl = (a, b) => a.reduce((sum, x, i) => sum + x * Math.log(x / b[i]), 0);
    near(await value({ kl: true }), kl(q, p));
    near(await value({ kl: others[0] }), kl(softmax(await logits(others[0])), p));
    near(await value({ value: ({ data, shape }) => data[5] * shape[0] }), (await logits(ids, off))[5]);
    const each = await Promise.all([-1, 2].map((position) => value({ token: 5, position })));
    near(await value({ token: 5, position: [-1, 2] }), (each[0] + each[1]) / 2);
    await refused(value({ value: () => NaN }), 'bad-option', /returned NaN, expected a finite number/);
    const apart = await load(stories, { worker: true });
    const own = { metric: { value: () => 0 } };
    await refused(apart.sweep(ids, [[]], own), 'bad-option', /value needs a model without a worker/);
    apart.dispose();
  });

  test('several inputs give the mean and its standard error', async () => {
    const one = async (input, token) => (await swept({ token }, [off], input)).values.data[0];
    const list = [ids, ...others];
    const values = [await one(ids, 5), await one(others[0], 6), await one(others[1], 7)];
    const mean = (values[0] + values[1] + values[2]) / 3;
    const error = Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 2 / 3);
    const got = await swept([{ token: 5 }, { token: 6 }, { token: 7 }], [off], list);
    near(got.values.data[0], mean);
    near(got.standardError.values.data[0], error);
    assert.equal(got.n, 3);
    const losses = await Promise.all(list.map((input) => model.loss(input)));
    near((await model.loss(list)).loss, losses.reduce((sum, { loss }) => sum + loss, 0) / 3);
    const from = list.map((input) => input.with(1, 60));
    const grid = (input, other) =>
      model.sweep(input, { at: '*.hook_z', each: 'head', from: other }, { metric: 'loss' });
    near(
      (await grid(list, from)).values.data[3],
      (await Promise.all(list.map((x, i) => grid(x, from[i])))).reduce(
        (sum, { values: { data } }) => sum + data[3] / 3,
        0,
      ),
    );
    const slopes = await model.gradients(list, { of: { token: 5 }, at: ['*.hook_z'] });
    assert.equal(slopes.standardError.gradients['blocks.1.attn.hook_z'].data.length, n * d);
    await refused(swept([{ token: 5 }], [off], list), 'bad-option', /metric has 1 entries for 3 inputs/);
    const short = model.gradients([ids, ids.slice(1)], { of: 'loss', at: ['*.hook_z'] });
    await refused(short, 'bad-option', /as many tokens/);
  });

  test('a grid of neurons is an edit of each', async () => {
    const at = 'blocks.1.mlp.hook_post';
    const { values } = await model.sweep(ids, { at, each: 'index' }, { metric: { token: 5 } });
    assert.deepEqual(values.shape, [1, model.config.dFf]);
    assert.equal(values.data[7], (await logits(ids, [{ at, index: 7, scale: 0 }]))[5]);
    const patched = await model.sweep(ids, { at, each: 'index', from: others[0] }, { metric: { token: 5 } });
    const { data } = (await model.forward(others[0], { capture: [at], logits: 'none' })).captured[at];
    const edits = ids.map((_, position) => ({ at, position, index: 7, set: data[position * model.config.dFf + 7] }));
    assert.equal(patched.values.data[7], (await logits(ids, edits))[5]);
  });

  /** The derivative along a direction at the first stream, by differences of passes. */
  async function slope(of, edits) {
    const at = 'blocks.0.hook_resid_pre';
    const along = Float32Array.from({ length: n * d }, (_, i) => Math.cos(0.7 * i));
    const moved = (by) => [{ at, add: { shape: [n, d], data: along.map((x) => x * by) } }, ...edits];
    const [up, down] = (await model.sweep(ids, [moved(0.002), moved(-0.002)], { metric: of })).values.data;
    const { value, gradients } = await model.gradients(ids, { of, at: [at], edits });
    near(value, (await model.sweep(ids, [edits], { metric: of })).values.data[0], 1e-3);
    return [gradients[at].data.reduce((sum, x, i) => sum + x * along[i], 0), (up - down) / 0.004];
  }
  const POINTS = [
    'hook_resid_pre',
    'attn.hook_q',
    'attn.hook_k',
    'attn.hook_v',
    'attn.hook_z',
    'attn.hook_rot_q',
    'hook_attn_out',
    'hook_resid_mid',
    'mlp.hook_pre',
    'mlp.hook_pre_linear',
    'mlp.hook_post',
    'hook_mlp_out',
    'hook_resid_post',
  ];

  test('gradients go through edits, at every point that allows it', async () => {
    for (const name of POINTS) {
      const at = `blocks.1.${name}`;
      const { captured } = await model.forward(ids, { capture: [at], logits: 'none' });
      const direction = Array.from({ length: captured[at].shape.at(-1) }, (_, i) => Math.sin(i + 1));
      for (const edit of [{ scale: 0.5 }, { set: 0.1, position: 3 }, { add: 0.2 }, { project: direction }]) {
        const [got, want] = await slope({ token: 5, minus: 8 }, [
          { at, ...edit },
          { at, scale: 2, index: 3 },
        ]);
        assert.ok(Math.abs(got - want) < 0.02 * (1 + Math.abs(want)), `${at} ${Object.keys(edit)}: ${got}, ${want}`);
      }
    }
    const at = ['hook_embed'];
    const refusedAt = (edit) => model.gradients(ids, { of: 'loss', at, edits: [edit] });
    await refused(refusedAt({ at: 'blocks.0.attn.hook_pattern', scale: 0 }), 'unsupported', /not implemented/);
    const plain = () => model.gradients(ids, { of: 'loss', at });
    assert.deepEqual(await plain(), await plain()); // no edit stays
  });

  test('gradients of probabilities, divergences and functions are those of finite differences', async () => {
    const own = { value: ({ data }) => data[5] ** 2, slope: ({ data }) => data.map((x, i) => (i === 5 ? 2 * x : 0)) };
    for (const of of [
      { token: 11, as: 'probability' },
      { token: 5, minus: 8, as: 'logprob', position: [2, -1] },
      { kl: others[0] },
      own,
      'loss',
    ]) {
      const [got, want] = await slope(of, off);
      assert.ok(Math.abs(got - want) < 0.03 * (1e-3 + Math.abs(want)), `${JSON.stringify(of)}: ${got}, ${want}`);
    }
    const lone = model.gradients(ids, { of: { value: () => 1 }, at: ['hook_embed'] });
    await refused(lone, 'bad-option', /needs slope/);
  });

  test('paths into the last stream are what the heads add to it', async () => {
    const last = `blocks.${nLayers - 1}.hook_resid_post`;
    const options = { from: others[0], senders: ['*.attn.hook_z'], receivers: [last], metric: { token: 5 } };
    const { values, senders, base } = await model.pathPatching(ids, options);
    assert.equal(senders.length, nLayers * nHeads);
    assert.equal(base, (await logits(ids))[5]);
    const at = 'blocks.2.attn.hook_result';
    const [here, there] = await Promise.all(
      [ids, others[0]].map(async (x) => (await model.forward(x, { capture: [at], logits: 'none' })).captured[at].data),
    );
    const add = Float32Array.from({ length: n * d }, (_, i) => {
      const k = (Math.floor(i / d) * nHeads + 1) * d + (i % d); // head 1
      return there[k] - here[k];
    });
    near(values.data[2 * nHeads + 1], (await logits(ids, [{ at: last, add: { shape: [n, d], data: add } }]))[5], 1e-4);
    // into the queries of a head: those of the stream with that sum, all else as it was
    const receiver = { at: 'blocks.4.attn.hook_q', head: 2 };
    const into = await model.pathPatching(ids, { ...options, receivers: [receiver] });
    const stream = [{ at: 'blocks.4.hook_resid_pre', add: { shape: [n, d], data: add } }];
    const { data } = (await model.forward(ids, { capture: [receiver.at], edits: stream, logits: 'none' })).captured[
      receiver.at
    ];
    const set = Float32Array.from(
      { length: n * dHead },
      (_, i) => data[(Math.floor(i / dHead) * nHeads + 2) * dHead + (i % dHead)],
    );
    near(
      into.values.data[2 * nHeads + 1],
      (await logits(ids, [{ ...receiver, set: { shape: [n, dHead], data: set } }]))[5],
      1e-4,
    );
    await refused(model.pathPatching(ids, { ...options, senders: [] }), 'bad-option', /senders/);
    await refused(model.pathPatching(ids, { ...options, from: [1] }), 'bad-option', /from has 1 tokens/);
  });

  test('the lens, attributions, explanations and scores of heads take edits', async () => {
    const edits = [
      { at: 'blocks.1.hook_resid_post', add: 0.3 },
      { at: 'blocks.2.attn.hook_z', head: 1, scale: 0 },
      { at: 'blocks.3.hook_attn_out', scale: 0.5, position: -1 },
    ];
    const own = await logits(ids, edits);
    const lens = await model.logitLens(ids, { edits, top: 1, position: -1 });
    assert.equal(lens.at(-1)[0][0].id, own.indexOf(Math.max(...own)));
    const { sum, logit, parts } = await model.attribution(ids, { token: 5, edits });
    near(logit, own[5]);
    near(sum, logit, 1e-3);
    const added = parts.filter(({ kind, value }) => kind === 'edit' && Math.abs(value) > 1e-4).map(({ name }) => name);
    assert.deepEqual(added, ['blocks.1.hook_resid_post', 'blocks.3.hook_resid_mid']);
    const cell = { at: 'blocks.4.hook_resid_mid', index: 3, edits };
    const { value, computed, edited } = await model.explain(ids, cell);
    near(value, computed, 1e-4);
    assert.equal(edited, undefined);
    assert.equal((await model.explain(ids, { ...cell, at: 'blocks.1.hook_resid_post' })).edited, true);
    const [plain, changed] = [await model.headScores(), await model.headScores({ edits })];
    assert.deepEqual(changed[1], plain[1]); // before the edit
    assert.notDeepEqual(changed[3], plain[3]);
    const final = model.logitLens(ids, { edits: [{ at: 'ln_final.hook_normalized', scale: 2 }] });
    await refused(final, 'unsupported', /final norm/);
  });

  test('a circuit without its copying score reads neither embedding nor head', async () => {
    assert.equal((await model.circuit(0, 1, 'OV', { copying: false })).copying, undefined);
    await refused(model.circuit(0, 1, 'OV', { copies: false }), 'bad-option', /copies/);
  });

  test("a circuit's matrix is rounded once to f32", async () => {
    const config = { vocab_size: 300, d_model: 36, n_layers: 1, n_heads: 6 };
    const own = await create(config, { seed: 5, dtype: 'f32' });
    const { matrix } = await own.circuit(0, 4, 'OV');
    const [v, o] = [await own.matrix('blocks.0.attn.v.weight'), await own.matrix('blocks.0.attn.o.weight')];
    const want = Float32Array.from(matrix.data, (_, at) => {
      let sum = 0;
      for (let k = 24; k < 30; k++) sum += v.data[k * 36 + Math.floor(at / 36)] * o.data[(at % 36) * 36 + k];
      return sum;
    });
    matrix.data.forEach((x, at) => near(x, want[at], 2 ** -24 * Math.abs(want[at])));
  });

  test('provenance names the version of package.json, and other weights have another sum', async () => {
    const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
    const own = await model.provenance();
    assert.deepEqual([own.glassformer, own.kvDtype, own.dtypes], [version, 'f32', { f32: model.parameters.total }]);
    const small = { vocab_size: 50, d_model: 16, n_layers: 1, n_heads: 2 };
    const sums = [];
    for (const seed of [1, 1, 2]) sums.push((await (await create(small, { seed })).provenance()).weights);
    assert.equal(sums[0], sums[1]);
    assert.notEqual(sums[0], sums[2]);
    assert.match(sums[0], /^[0-9a-f]{64}$/);
  });

  test('a path needs a decoder', async () => {
    const encoder = await load(openCase('bert').source);
    const options = { from: [1, 2], senders: ['*.attn.hook_z'], receivers: ['hook_embed'], metric: 'loss' };
    await refused(encoder.pathPatching([1, 2], options), 'unsupported', /encoder/);
    const attention = await create({ vocab_size: 50, d_model: 16, n_layers: 2, n_heads: 2, ffn: 'none' }, { seed: 3 });
    const { values } = await attention.pathPatching([1, 2, 3], {
      ...options,
      from: [1, 4, 3],
      receivers: ['blocks.1.hook_resid_post'],
    });
    assert.deepEqual(values.shape, [4]);
  });
});
