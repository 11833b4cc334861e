// experts.test.js - mixture of experts: the router's choice, the weighted sum, files in every spelling, counts, refusals
//
// Whole models are compared with Hugging Face's classes in parity.test.js (golden/cases/mixtral and qwen3_moe; qwen2_moe: golden/make_qwen2_moe.py); prefill,
// decode and captures in invariants.test.js; gradients in gradient_test.c.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { f32, text, u32, writeGguf } from '../../web/lib/convert/write_gguf.js';
import { completeConfig } from '../../web/lib/config/config.js';
import { ggufLayout, writeModel } from '../../web/lib/convert/write_model.js';
import { countParameters, create, estimate, load, train } from '../../web/lib/index.js';
import { OPERATIONS, stagesOf } from '../../web/page/views/inside/anatomy/stages.js';
import {
  collect,
  distance,
  golden,
  json,
  numbers,
  openCase,
  readTensors,
  refused,
  safetensors,
  sameBits,
  top,
} from './helpers.js';

const config = {
  vocab_size: 96,
  d_model: 64,
  n_layers: 2,
  n_heads: 4,
  n_kv_heads: 2,
  context_length: 128,
  d_ff: 96,
  n_experts: 6,
  n_experts_used: 2,
  d_expert: 32,
};
const ids = numbers(40, 96, 3);
const point = (name, layer = 0) => `blocks.${layer}.mlp.hook_${name}`;
const rowOf = ({ data, shape }, i) => data.subarray(i * shape[1], (i + 1) * shape[1]);

// ---- the choice and the sum

for (const name of ['mixtral', 'qwen2_moe', 'qwen3_moe'])
  test(`${name}: the router's logits are those of Hugging Face, and its softmax and choice follow from them`, async () => {
    const c = openCase(name);
    const model = await load(c.source, { dtype: 'f32' });
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
        const row = data.subarray(i * shape[1], (i + 1) * shape[1]);
        const sum = row.reduce((n, x) => n + Math.exp(x), 0);
        assert.ok(
          distance(
            rowOf(weights, i),
            Float32Array.from(row, (x) => Math.exp(x) / sum),
          ) < 1e-6,
        );
        const order = [...row.keys()].sort((a, b) => row[b] - row[a]);
        assert.deepEqual([...rowOf(chosen, i)], order.slice(0, chosen.shape[1]));
      }
    }
    model.dispose();
  });

for (const normalised of [true, false])
  test(`the output is the weighted sum of the chosen experts, weights ${normalised ? '' : 'not '}divided by their sum`, async () => {
    const model = await create({ ...config, norm_expert_weights: normalised }, { seed: 5 });
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
      const x = rowOf(captured['blocks.0.ln2.hook_normalized'], i); // gains are 1
      const weights = rowOf(captured[names[0]], i);
      const chosen = [...rowOf(captured[names[1]], i)];
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
      assert.ok(distance(rowOf(captured['blocks.0.hook_mlp_out'], i), want) < 1e-6);
    }
    model.dispose();
  });

test('a shared expert adds its output, weighted by the sigmoid of its gate, which can be captured and edited', async () => {
  const model = await create({ ...config, d_shared_expert: 40 }, { seed: 5 });
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
  const plain = await create(config, { seed: 5 });
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
  plain.dispose();
  model.dispose();
});

test('of equally probable experts the one with the smaller number is chosen', async () => {
  const model = await create(config, { seed: 5 });
  const at = point('router_logits');
  const chosen = async (edits) => [
    ...(await model.forward([1], { edits, capture: [point('expert_indices')] })).captured[point('expert_indices')].data,
  ];
  assert.deepEqual(await chosen([{ at, set: 0 }]), [0, 1]);
  assert.deepEqual(await chosen([{ at, set: [0, 1, 0, 1, 1, 0] }]), [1, 3]);
  model.dispose();
});

test("an edit of the router's logits changes which experts run", async () => {
  const model = await create(config, { seed: 5 });
  const { logits, captured } = await model.forward(ids, { capture: ['*expert_indices'] });
  const edits = [{ at: point('router_logits', 1), position: 39, index: 4, set: 50 }];
  const forced = await model.forward(ids, { edits, capture: ['*expert_indices', '*expert_weights'] });
  assert.equal(rowOf(forced.captured[point('expert_indices', 1)], 39)[0], 4);
  assert.ok(rowOf(forced.captured[point('expert_weights', 1)], 39)[4] > 0.999);
  assert.ok(sameBits(forced.captured[point('expert_indices')].data, captured[point('expert_indices')].data));
  assert.ok(sameBits(forced.logits.data.slice(0, 39 * 96), logits.data.slice(0, 39 * 96)));
  assert.ok(!sameBits(forced.logits.data, logits.data));
  await refused(
    model.forward(ids, { edits: [{ at: point('expert_indices'), set: 1 }] }),
    'bad-argument',
    /the chosen experts cannot be edited: edit the router's logits instead/,
  );
  model.dispose();
});

test('a layer with experts has the points of the router, and a layer without them those of neurons', async () => {
  const model = await create({ ...config, expert_layers: [true, false] }, { seed: 5 });
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
  model.dispose();
});

// ---- the same bits by every path

describe('prefill and decode, builds and threads give the same bits', () => {
  for (const dtype of ['f32', 'f16', 'q8_0', 'q4_0', 'q4_k', 'q5_0', 'q6_k'])
    test(`weights in ${dtype}`, async () => {
      const wide = { ...config, d_model: 256, d_expert: 256, n_experts: 5, d_shared_expert: 256 };
      const made = { seed: 3, dtype };
      const model = await create(wide, made);
      const rows = model.parameters.rows.filter(({ name }) => name.includes('.ffn.'));
      assert.ok(rows.every((r) => r.dtype === (/(router|shared_gate)\.weight$/.test(r.name) ? 'f32' : dtype)));
      const { logits } = await model.forward(ids);
      const session = await model.session();
      for (const [i, id] of ids.entries()) assert.ok(sameBits(await session.eval([id]), rowOf(logits, i)), `row ${i}`);
      model.dispose();
      for (const options of [{ backend: 'simd' }, { backend: 'relaxed' }, { worker: true, threads: 3 }]) {
        const other = await create(wide, { ...made, ...options }).catch((e) => {
          assert.equal(e.code, 'unsupported'); // this Node has no relaxed SIMD
        });
        if (!other) continue;
        for (let pass = 0; pass < 3; pass++)
          assert.ok(sameBits((await other.forward(ids)).logits.data, logits.data), JSON.stringify(options));
        other.dispose();
      }
    });

  test('several sessions in one pass, each with experts of its own', async () => {
    const model = await create(config, { seed: 3 });
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
    model.dispose();
  });
});

// ---- counts

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
  const model = await create({ ...config, expert_layers: [false, true] }, { seed: 3 });
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
  model.dispose();
});

test('the page: stages with experts add up to the model, and their points exist', async () => {
  const model = await create({ ...config, n_layers: 3, expert_layers: [true, false] }, { seed: 3 });
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
  model.dispose();
});

// ---- files

/** The golden checkpoint with other names of the experts. */
function restacked(name) {
  const c = openCase(name);
  const tensors = readTensors(join(c.folder, 'model.safetensors'));
  const isExpert = /^(model\.layers\.\d+)\.(?:mlp|block_sparse_moe)\.experts\.(\d+)\.(\w+)\.weight$/;
  const out = {};
  const layers = new Map();
  for (const [key, t] of Object.entries(tensors)) {
    const [, block, expert, matrix] = isExpert.exec(key) ?? [];
    if (!block) {
      out[key.replace('block_sparse_moe.gate', 'mlp.gate')] = t;
      continue;
    }
    const part = { w1: 'gate', w3: 'up', w2: 'down' }[matrix] ?? matrix.replace('_proj', '');
    const list = layers.get(block) ?? { gate: [], up: [], down: [] };
    list[part][Number(expert)] = t;
    layers.set(block, list);
  }
  return { c, out, layers };
}
const joined = (list) => {
  const data = new Float32Array(list.reduce((n, t) => n + t.data.length, 0));
  let at = 0;
  for (const t of list) data.set(t.data, (at += t.data.length) - t.data.length);
  return { data, shape: [list.length, ...list[0].shape] };
};
const sharedConfig = (name) => json(join(golden, name, 'config.json'));

/** Stacked as newer releases of transformers have them in memory. */
function stackedFile(name, change = (tensors) => tensors) {
  const { out, layers } = restacked(name);
  for (const [block, { gate, up, down }] of layers) {
    const both = joined(gate.flatMap((t, e) => [t, up[e]]));
    const [n, rows, cols] = both.shape;
    out[`${block}.mlp.experts.gate_up_proj`] = { data: both.data, shape: [n / 2, 2 * rows, cols] };
    out[`${block}.mlp.experts.down_proj`] = joined(down);
  }
  return safetensors(change(out));
}

for (const name of ['mixtral', 'qwen3_moe'])
  test(`${name}: experts in stacked tensors are the same model`, async () => {
    const { about, source, array } = openCase(name);
    const [one, other] = [await load(source), await load({ weights: stackedFile(name), config: sharedConfig(name) })];
    const { logits } = await other.forward(about.input_ids);
    assert.ok(distance(logits.data, array('logits')) < 2e-4);
    assert.ok(sameBits(logits.data, (await one.forward(about.input_ids)).logits.data));
    one.dispose();
    other.dispose();
  });

const GGUF_NAMES = {
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  lm_head: 'output',
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'mlp.gate': 'ffn_gate_inp',
};
/** Rows of q and k in the order of GGUF's llama: neighbours are rotated together. */
function permuted({ data, shape: [rows, cols] }, heads) {
  const half = rows / heads / 2;
  const out = new Float32Array(data.length);
  for (let r = 0; r < rows; r++) {
    const [head, i] = [Math.floor(r / (2 * half)), r % (2 * half)];
    out.set(data.subarray(r * cols, (r + 1) * cols), (head * 2 * half + 2 * (i % half) + Math.floor(i / half)) * cols);
  }
  return { data: out, shape: [rows, cols] };
}

/** Mixtral as GGUF: `single` as in files of 2023, a tensor for each expert. */
function mixtralGguf({ single = false, meta = {}, change = (list) => list } = {}) {
  const { c, out, layers } = restacked('mixtral');
  const { config: hf } = c;
  const list = [];
  const add = (name, { data, shape }) => list.push({ name, shape, type: 'F32', data });
  for (const [key, t] of Object.entries(out)) {
    const [, layer, part] = /^(?:model\.layers\.(\d+)\.)?(.+)\.weight$/.exec(key);
    const heads = { 'self_attn.q_proj': hf.num_attention_heads, 'self_attn.k_proj': hf.num_key_value_heads }[part];
    add(`${layer ? `blk.${layer}.` : ''}${GGUF_NAMES[part]}.weight`, heads ? permuted(t, heads) : t);
  }
  for (const [block, parts] of layers)
    for (const [part, of] of Object.entries(parts)) {
      const stem = `blk.${block.split('.').at(-1)}.ffn_${part}`;
      if (single) of.forEach((t, e) => add(`${stem}.${e}.weight`, t));
      else add(`${stem}_exps.weight`, joined(of));
    }
  const known = {
    'general.architecture': text('llama'),
    'llama.embedding_length': u32(hf.hidden_size),
    'llama.block_count': u32(hf.num_hidden_layers),
    'llama.attention.head_count': u32(hf.num_attention_heads),
    'llama.attention.head_count_kv': u32(hf.num_key_value_heads),
    'llama.feed_forward_length': u32(hf.intermediate_size),
    'llama.context_length': u32(hf.max_position_embeddings),
    'llama.attention.layer_norm_rms_epsilon': f32(hf.rms_norm_eps),
    'llama.rope.freq_base': f32(hf.rope_theta),
    'llama.expert_count': u32(hf.num_local_experts),
    'llama.expert_used_count': u32(hf.num_experts_per_tok),
  };
  return writeGguf(Object.fromEntries(Object.entries({ ...known, ...meta }).filter(([, v]) => v)), change(list));
}

for (const single of [false, true])
  test(`GGUF of Mixtral, ${single ? 'a tensor for each expert' : 'experts stacked'}`, async () => {
    const { about, array } = openCase('mixtral');
    const model = await load(mixtralGguf({ single }));
    const { logits } = await model.forward(about.input_ids);
    assert.ok(distance(logits.data, array('logits')) < 2e-4);
    const { ids: next } = await collect(
      model.generate(about.greedy.prompt, { temperature: 0, maxTokens: 32, ignoreEos: true }),
    );
    assert.deepEqual(next, about.greedy.next);
    model.dispose();
  });

test('a model with experts is written as qwen3moe and read again; what llama.cpp lacks is refused', async () => {
  const own = { ...config, qk_norm: true, norm_expert_weights: true };
  const model = await create(own, { seed: 5 });
  const rows = new Map(model.parameters.rows.map((r) => [r.name, r.shape]));
  const weight = async (name) => {
    const [n, d] = rows.get(name);
    if (d === undefined) return model.weight(name);
    const list = await Promise.all(Array.from({ length: n }, (_, i) => model.weight(name, i)));
    return Float32Array.from(list.flatMap((row) => [...row]));
  };
  const chunks = [];
  for await (const chunk of writeModel(completeConfig(own), weight, { type: 'Q8_0' })) chunks.push(chunk);
  const again = await load(new Uint8Array(Buffer.concat(chunks)));
  const { nExperts, nExpertsUsed, dExpert } = again.config;
  assert.deepEqual([nExperts, nExpertsUsed, dExpert], [6, 2, 32]);
  const types = new Map(again.parameters.rows.map((r) => [r.name, r.dtype]));
  assert.equal(types.get('blocks.1.ffn.router.weight'), 'f32');
  assert.equal(types.get('blocks.1.ffn.experts.3.down.weight'), 'q8_0');
  const quantised = await create(own, { seed: 5, dtype: 'q8_0' });
  const [{ logits: a }, { logits: b }] = [await again.forward(ids), await quantised.forward(ids)];
  assert.ok(distance(a.data, b.data) < 1e-3 * Math.max(...b.data.map(Math.abs)));
  for (const each of [model, again, quantised]) each.dispose();
  for (const [change, name] of [
    [{ expert_layers: [true, false] }, 'expert_layers'],
    [{ norm_expert_weights: false }, 'norm_expert_weights'],
  ])
    assert.throws(() => ggufLayout(completeConfig({ ...own, ...change })), new RegExp(`qwen3moe, has ${name}`));
});

test('files whose experts do not agree with their configuration are refused', async () => {
  const gguf = (meta, change) => load(mixtralGguf({ meta, change }));
  await refused(
    gguf({ 'llama.expert_count': u32(5) }),
    'bad-shape',
    /blk\.0\.ffn_gate_inp\.weight: shape \[4, 32\], expected \[5, 32\]/,
  );
  await refused(gguf({ 'llama.expert_used_count': u32(5) }), 'bad-config', /n_experts_used 5 is more than n_experts 4/);
  await refused(
    gguf({ 'llama.expert_used_count': u32(0) }),
    'bad-config',
    /n_experts_used 0 must be above 0 with n_experts 4/,
  );
  await refused(gguf({ 'llama.expert_used_count': null }), 'bad-config', /llama\.expert_used_count is missing/);
  await refused(gguf({ 'llama.expert_count': u32(2 ** 31) }), 'bad-config', /n_experts is 2147483648, expected/);
  await refused(gguf({ 'llama.expert_count': null }), 'unknown-tensor', /ffn_gate_inp\.weight/);
  await refused(gguf({ 'llama.expert_weights_scale': f32(2) }), 'unsupported', /expert_weights_scale 2/);
  const only = (name, patch) => (list) => list.map((t) => (t.name === name ? { ...t, ...patch(t) } : t));
  const up = 'blk.1.ffn_up_exps.weight';
  await refused(
    gguf(
      {},
      only(up, ({ data, shape: [n, r, c] }) => ({ shape: [n - 1, r, c], data: data.slice(0, (n - 1) * r * c) })),
    ),
    'bad-shape',
    /blk\.1\.ffn_up_exps\.weight: shape \[3, 20, 32\], expected \[4, 20, 32\]/,
  );
  await refused(
    gguf(
      {},
      only(up, ({ shape: [n, r, c] }) => ({ shape: [n * r, c] })),
    ),
    'bad-shape',
    /shape \[80, 32\], expected \[4, 20, 32\]/,
  );
  await refused(
    gguf({}, (list) => list.filter(({ name }) => name !== up)),
    'missing-tensor',
    /blk\.1\.ffn_up_exps\.weight is missing/,
  );

  const hf = (change, weights = stackedFile('qwen3_moe')) =>
    load({ weights, config: { ...sharedConfig('qwen3_moe'), ...change } });
  await refused(hf({ num_experts: 7 }), 'bad-shape', /expected \[7, 32\]|expected \[7, 24, 32\]/);
  await refused(hf({ num_experts_per_tok: 7 }), 'bad-config', /num_experts_per_tok 7 is more than num_experts 6/);
  await refused(
    hf({ moe_intermediate_size: 0 }),
    'bad-config',
    /moe_intermediate_size 0 must be above 0 with num_experts 6/,
  );
  await refused(hf({ decoder_sparse_step: 0 }), 'unsupported', /decoder_sparse_step 0/);
  await refused(hf({ mlp_only_layers: 'all' }), 'unsupported', /mlp_only_layers/);
  await refused(hf({ mlp_only_layers: [] }), ['missing-tensor', 'unknown-tensor'], /mlp/);
  const short = (tensors) => {
    const { [Object.keys(tensors).find((each) => each.endsWith('down_proj'))]: _, ...rest } = tensors;
    return rest;
  };
  await refused(hf({}, stackedFile('qwen3_moe', short)), 'missing-tensor', /experts\.down_proj is missing/);
});

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

test('impossible configurations are refused with the reason', async () => {
  for (const [change, reason] of [
    [{ n_experts_used: 7 }, /n_experts_used 7 is more than n_experts 6/],
    [{ n_experts_used: 0 }, /n_experts_used 0 must be above 0 with n_experts 6/],
    [{ d_expert: 0 }, /d_expert 0 must be above 0 with n_experts 6/],
    [{ bias_ffn: true }, /experts have no biases/],
    [{ kind: 'encoder', causal: false }, /n_experts 6 needs kind decoder/],
  ])
    await refused(create({ ...config, ...change }), 'bad-config', reason);
});

// ---- training

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
