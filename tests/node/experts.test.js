// experts.test.js - mixture of experts: the router's choice, the weighted sum, files in every spelling, counts, refusals
//
// Whole models are compared with Hugging Face's classes in parity.test.js (golden/cases/mixtral and qwen3_moe; qwen2_moe: golden/make_qwen2_moe.py); prefill,
// decode and captures in same_bits.test.js; gradients in gradient_test.c.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { countParameters, create, estimate, load, train } from '../../web/lib/api/index.js';
import { OPERATIONS, stagesOf } from '../../web/page/views/inside/anatomy/stages.js';
import { collect, distance, golden, json, openCase, refused, row, sameBits, top, untilEnd } from './helpers.js';
import { expertIds as ids, withExperts as config } from './small_models.js';

const point = (name, layer = 0) => `blocks.${layer}.mlp.hook_${name}`;

for (const name of ['mixtral', 'qwen2_moe', 'qwen3_moe'])
  test(`${name}: the router's logits are those of Hugging Face, and its softmax and choice follow from them`, async () => {
    const c = openCase(name);
    const model = await untilEnd(load(c.source, { dtype: 'f32' }));
    const { captured } = await model.forward(c.about.input_ids, { capture: ['*router*', '*expert*'] });
    const of = (end) => Object.keys(captured).filter((each) => each.endsWith(end));
    const logits = Float32Array.from(of('router_logits').flatMap((each) => [...captured[each].data]));
    assert.ok(distance(logits, c.array('router_logits')) < 2e-4);
    for (const each of of('router_logits')) {
      const { data, shape } = captured[each];
      const weights = captured[each.replace('router_logits', 'expert_weights')];
      const chosen = captured[each.replace('router_logits', 'expert_indices')];
      assert.deepEqual([weights.shape, chosen.shape], [shape, [shape[0], model.config.nExpertsUsed]]);
      for (let i = 0; i < shape[0]; i++) {
        const own = data.subarray(i * shape[1], (i + 1) * shape[1]);
        const sum = own.reduce((n, x) => n + Math.exp(x), 0);
        const softmax = Float32Array.from(own, (x) => Math.exp(x) / sum);
        assert.ok(distance(row(weights, i), softmax) < 1e-6);
        const order = [...own.keys()].sort((a, b) => own[b] - own[a]);
        assert.deepEqual([...row(chosen, i)], order.slice(0, chosen.shape[1]));
      }
    }
  });

for (const normalised of [true, false])
  test(`the output is the weighted sum of the chosen experts, weights ${normalised ? '' : 'not '}divided by their sum`, async () => {
    const model = await untilEnd(create({ ...config, norm_expert_weights: normalised }, { seed: 5 }));
    const names = ['expert_weights', 'expert_indices'].map((name) => point(name));
    const { captured } = await model.forward(ids, {
      capture: [...names, 'blocks.0.hook_mlp_out', 'blocks.0.ln2.hook_normalized'],
    });
    const matrix = (name) =>
      Promise.all(
        Array.from({ length: model.parameters.rows.find((r) => r.name === name).shape[0] }, (_, i) =>
          model.weight(name, i),
        ),
      );
    const times = (m, x) => m.map((w) => w.reduce((n, v, j) => n + v * x[j], 0));
    for (const i of [0, 17, 39]) {
      const x = row(captured['blocks.0.ln2.hook_normalized'], i); // gains are 1
      const weights = row(captured[names[0]], i);
      const chosen = [...row(captured[names[1]], i)];
      const sum = normalised ? chosen.reduce((n, e) => n + weights[e], 0) : 1;
      const want = new Float64Array(64);
      for (const e of chosen) {
        const [gate, up, down] = await Promise.all(
          ['gate', 'up', 'down'].map((name) => matrix(`blocks.0.ffn.experts.${e}.${name}.weight`)),
        );
        const u = times(up, x);
        const inner = times(gate, x).map((g, j) => (g / (1 + Math.exp(-g))) * u[j]);
        times(down, inner).forEach((v, j) => (want[j] += (weights[e] / sum) * v));
      }
      assert.ok(distance(row(captured['blocks.0.hook_mlp_out'], i), want) < 1e-6);
    }
  });

test('a shared expert adds its output, weighted by the sigmoid of its gate, which can be captured and edited', async () => {
  const model = await untilEnd(create({ ...config, d_shared_expert: 40 }, { seed: 5 }));
  const [gate, out] = [point('shared_gate'), 'blocks.0.hook_mlp_out'];
  const of = async (edits = []) =>
    (await model.forward(ids, { edits, capture: [gate, out, point('shared_gate', 1)] })).captured;
  const all = await of();
  assert.deepEqual(all[gate].shape, [40, 1]);
  const [without, half, whole] = [
    (await of([{ at: gate, set: -200 }]))[out].data,
    (await of([{ at: gate, set: 0 }]))[out].data,
    (await of([{ at: gate, set: 200 }]))[out].data,
  ];
  assert.ok(
    distance(
      half,
      Float32Array.from(whole, (v, i) => (v + without[i]) / 2),
    ) < 1e-6,
  );
  const share = Array.from(all[gate].data, (v) => 1 / (1 + Math.exp(-v)));
  const mixed = Float32Array.from(whole, (v, i) => without[i] + share[Math.floor(i / 64)] * (v - without[i]));
  assert.ok(distance(all[out].data, mixed) < 1e-6);
  const plain = await untilEnd(create(config, { seed: 5 }));
  const { rows, total, active } = model.parameters;
  const own = rows.filter(({ name }) => /shared/.test(name));
  assert.deepEqual(
    own.filter(({ layer }) => layer === 0).map(({ name, shape }) => [name.replace('blocks.0.ffn.', ''), shape]),
    [
      ['shared_gate.weight', [1, 64]],
      ['shared_expert.gate.weight', [40, 64]],
      ['shared_expert.up.weight', [40, 64]],
      ['shared_expert.down.weight', [64, 40]],
    ],
  );
  assert.equal(total - plain.parameters.total, 2 * (64 + 3 * 40 * 64));
  assert.equal(active - plain.parameters.active, total - plain.parameters.total); // every token uses it
});

test('of equally probable experts the one with the smaller number is chosen', async () => {
  const model = await untilEnd(create(config, { seed: 5 }));
  const at = point('router_logits');
  const chosen = async (edits) => [
    ...(await model.forward([1], { edits, capture: [point('expert_indices')] })).captured[point('expert_indices')].data,
  ];
  assert.deepEqual(await chosen([{ at, set: 0 }]), [0, 1]);
  assert.deepEqual(await chosen([{ at, set: [0, 1, 0, 1, 1, 0] }]), [1, 3]);
});

test("an edit of the router's logits changes which experts run", async () => {
  const model = await untilEnd(create(config, { seed: 5 }));
  const { logits, captured } = await model.forward(ids, { capture: ['*expert_indices'] });
  const edits = [{ at: point('router_logits', 1), position: 39, index: 4, set: 50 }];
  const forced = await model.forward(ids, { edits, capture: ['*expert_indices', '*expert_weights'] });
  assert.equal(row(forced.captured[point('expert_indices', 1)], 39)[0], 4);
  assert.ok(row(forced.captured[point('expert_weights', 1)], 39)[4] > 0.999);
  assert.ok(sameBits(forced.captured[point('expert_indices')].data, captured[point('expert_indices')].data));
  assert.ok(sameBits(forced.logits.data.slice(0, 39 * 96), logits.data.slice(0, 39 * 96)));
  assert.ok(!sameBits(forced.logits.data, logits.data));
  await refused(
    model.forward(ids, { edits: [{ at: point('expert_indices'), set: 1 }] }),
    'bad-argument',
    /the chosen experts cannot be edited: edit the router's logits instead/,
  );
});

test('a layer with experts has the points of the router, and a layer without them those of neurons', async () => {
  const model = await untilEnd(create({ ...config, expert_layers: [true, false] }, { seed: 5 }));
  const points = (await model.points()).filter((name) => name.includes('.mlp.'));
  assert.deepEqual(points, [
    ...['router_logits', 'expert_weights', 'expert_indices'].map((name) => point(name)),
    ...['pre', 'pre_linear', 'post'].map((name) => point(name, 1)),
  ]);
  // tests/golden/formats/transformer_lens.json: names from TransformerLens's own sources
  const { moe } = json(join(top, 'tests/golden/formats/transformer_lens.json')).components;
  for (const name of moe.hooks) assert.ok(points.includes(`blocks.0.mlp.${name}`), name);
  const { captured } = await model.forward([1, 2, 3], { capture: ['*.mlp.*'] });
  assert.deepEqual(
    Object.values(captured).map((t) => t.shape),
    [
      [3, 6],
      [3, 6],
      [3, 2],
      [3, 96],
      [3, 96],
      [3, 96],
    ],
  );
});

describe('prefill and decode, builds and threads give the same bits', () => {
  for (const dtype of ['f32', 'f16', 'q8_0', 'q4_0', 'q4_k', 'q5_0', 'q6_k'])
    test(`weights in ${dtype}`, async () => {
      const wide = { ...config, d_model: 256, d_expert: 256, n_experts: 5, d_shared_expert: 256 };
      const made = { seed: 3, dtype };
      const model = await create(wide, { ...made, backend: 'simd' });
      const rows = model.parameters.rows.filter(({ name }) => name.includes('.ffn.'));
      assert.ok(rows.every((r) => r.dtype === (/(router|shared_gate)\.weight$/.test(r.name) ? 'f32' : dtype)));
      const { logits } = await model.forward(ids);
      const session = await model.session();
      for (const [i, id] of ids.entries()) assert.ok(sameBits(await session.eval([id]), row(logits, i)), `row ${i}`);
      model.dispose();
      for (const options of [{ backend: 'relaxed' }, { worker: true, threads: 3 }]) {
        const other = await create(wide, { ...made, ...options }).catch((e) => {
          assert.equal(e.code, 'unsupported'); // this Node has no relaxed SIMD
        });
        if (!other) continue;
        const passes = options.threads ? 3 : 1; // helpers join once they have started
        for (let pass = 0; pass < passes; pass++)
          assert.ok(sameBits((await other.forward(ids)).logits.data, logits.data), JSON.stringify(options));
        other.dispose();
      }
    });

  test('several sessions in one pass, each with experts of its own', async () => {
    const model = await untilEnd(create(config, { seed: 3 }));
    const prompts = [ids.slice(0, 3), ids.slice(5, 20), ids.slice(30)];
    const alone = [];
    for (const prompt of prompts) alone.push((await collect(model.generate(prompt, { maxTokens: 20, seed: 7 }))).ids);
    const together = await Promise.all(
      prompts.map((prompt) => collect(model.generate(prompt, { maxTokens: 20, seed: 7 }))),
    );
    assert.deepEqual(
      together.map((r) => r.ids),
      alone,
    );
  });
});

test('published models: parameters in all, and those that a token uses', () => {
  const mixtral = countParameters({
    model_type: 'mixtral',
    ...{ vocab_size: 32000, hidden_size: 4096, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8 },
    ...{ intermediate_size: 14336, num_local_experts: 8, num_experts_per_tok: 2 },
  });
  assert.deepEqual([mixtral.total, mixtral.active], [46702792704, 12879925248]); // "46.7B", "12.9B"
  const qwen = countParameters({
    model_type: 'qwen3_moe',
    ...{
      vocab_size: 151936,
      hidden_size: 2048,
      num_hidden_layers: 48,
      num_attention_heads: 32,
      num_key_value_heads: 4,
    },
    ...{ head_dim: 128, intermediate_size: 6144, moe_intermediate_size: 768, num_experts: 128, num_experts_per_tok: 8 },
  });
  assert.deepEqual([qwen.total, (qwen.active / 1e9).toFixed(2)], [30532122624, '3.35']); // "30.5B", "3.3B"
  const dense = countParameters({ ...config, n_experts: 0, n_experts_used: 0 });
  assert.equal(dense.active, dense.total);
});

test('estimate counts the matrices of the experts that a token uses', () => {
  const one = estimate({ ...config, n_experts_used: 1 }, { contextLength: 64 });
  const two = estimate(config, { contextLength: 64 });
  assert.equal(two.flopsPerToken - one.flopsPerToken, 2 * 2 * 3 * 64 * 32); // layers, matrices
  assert.equal(two.flopsPerToken2N, 2 * countParameters(config).active);
  assert.equal(two.weightBytes, 4 * countParameters(config).total);
});

test('trace lists the router and the experts; its parameters are the model', async () => {
  const model = await untilEnd(create({ ...config, expert_layers: [false, true] }, { seed: 3 }));
  const rows = await model.trace(ids.slice(0, 5));
  const of = (name) => rows.find((r) => r.name === name);
  assert.ok(of('blocks.0.ffn.up') && !of('blocks.0.ffn.experts') && !of('blocks.1.ffn.up'));
  assert.deepEqual(
    [of('blocks.1.ffn.router').parameters, of('blocks.1.ffn.experts').parameters],
    [6 * 64, 6 * 3 * 32 * 64],
  );
  assert.equal(
    rows.reduce((n, r) => n + r.parameters, 0),
    model.parameters.total,
  );
  const bytes = async (n) => (await model.trace(ids.slice(0, n))).find((r) => r.name === 'blocks.1.ffn.experts').bytes;
  assert.equal(await bytes(1), 4 * (2 * 3 * 32 * 64 + 2 * 64));
  assert.equal(await bytes(5), 4 * (6 * 3 * 32 * 64 + 2 * 5 * 64));
});

test('the page: stages with experts add up to the model, and their points exist', async () => {
  const model = await untilEnd(create({ ...config, n_layers: 3, expert_layers: [true, false] }, { seed: 3 }));
  const points = await model.points();
  const rows = await model.trace(ids.slice(0, 5));
  for (let layer = 0; layer < 3; layer++) {
    const stages = stagesOf(model.config, model.parameters.rows, layer, 5, 0);
    assert.equal(
      stages.reduce((n, s) => n + s.params, 0),
      model.parameters.total,
    );
    for (const [name] of stages.flatMap((s) => s.points)) assert.ok(points.includes(name), name);
    const ffn = stages.find((s) => s.id === 'ffn');
    assert.match(`${ffn.title} ${ffn.shape}`, layer === 1 ? /^SwiGLU \[5, 96\]$/ : /^Experts, 2 of 6 2 × \[5, 32\]$/);
  }
  const known = Object.values(OPERATIONS).flat();
  assert.deepEqual(
    rows.filter(({ op }) => !known.includes(op)),
    [],
  );
});

const sharedConfig = (name) => json(join(golden, name, 'config.json'));

test('layers with experts follow decoder_sparse_step and mlp_only_layers', () => {
  const layers = (change) => {
    const { rows } = countParameters({ ...sharedConfig('qwen3_moe'), num_hidden_layers: 6, ...change });
    return [...new Set(rows.filter((r) => r.name.includes('router')).map((r) => r.layer))];
  };
  assert.deepEqual(layers({}), [0, 2, 3, 4, 5]);
  assert.deepEqual(layers({ mlp_only_layers: [], decoder_sparse_step: 2 }), [1, 3, 5]);
  assert.deepEqual(layers({ mlp_only_layers: [3], decoder_sparse_step: 2 }), [1, 5]);
  assert.deepEqual(layers({ mlp_only_layers: [0, 1, 2, 3, 4, 5] }), []);
});

test('a model with experts learns, and runs as it was trained', async () => {
  const size = { d_model: 32, n_layers: 2, n_heads: 2, d_ff: 48, context_length: 64 };
  const stories = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8');
  const run = train({ ...size, n_experts: 4, n_experts_used: 2, d_expert: 24, expert_layers: [false, true] }, stories, {
    vocabSize: 300,
    batchTokens: 256,
    steps: 60,
    seed: 1,
    lr: 3e-3,
  });
  try {
    const losses = [];
    for await (const { loss } of run) losses.push(loss);
    const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
    assert.ok(mean(losses.slice(-5)) < 0.8 * mean(losses.slice(0, 5)), `${losses.slice(0, 5)} to ${losses.slice(-5)}`);
    const model = await run.model();
    assert.deepEqual([model.config.nExperts, model.config.dExpert, model.config.expertLayers], [4, 24, [false, true]]);
    const { logits } = await model.forward(ids);
    const files = await run.files();
    const read = await load({
      weights: files.find(({ name }) => name.endsWith('.safetensors')).bytes,
      config: JSON.parse(new TextDecoder().decode(files.find(({ name }) => name === 'config.json').bytes)),
    });
    assert.ok(sameBits((await read.forward(ids)).logits.data, logits.data));
    model.dispose();
    read.dispose();
  } finally {
    await run.dispose();
  }
});
