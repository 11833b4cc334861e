// expert_files.test.js - files of models with experts: stacked tensors, GGUF, and those that disagree with their configuration
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { f32, safetensors, text, torchFile, u32, writeGguf } from './checkpoint_files.js';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { ggufLayout, writeModel } from '../../web/lib/files/gguf/write_model.js';
import { create, load } from '../../web/lib/api/index.js';
import { collect, distance, golden, json, openCase, readTensors, refused, sameBits, untilEnd } from './helpers.js';
import { expertIds as ids, withExperts as config } from './small_models.js';

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
function stackedFile(name, change = (tensors) => tensors, fileOf = safetensors) {
  const { out, layers } = restacked(name);
  for (const [block, { gate, up, down }] of layers) {
    const both = joined(gate.flatMap((t, e) => [t, up[e]]));
    const [n, rows, cols] = both.shape;
    out[`${block}.mlp.experts.gate_up_proj`] = { data: both.data, shape: [n / 2, 2 * rows, cols] };
    out[`${block}.mlp.experts.down_proj`] = joined(down);
  }
  return fileOf(change(out));
}

for (const name of ['mixtral', 'qwen3_moe'])
  test(`${name}: experts in stacked tensors are the same model`, async () => {
    const { about, source, array } = openCase(name);
    const [one, other] = [await load(source), await load({ weights: stackedFile(name), config: sharedConfig(name) })];
    const { logits } = await other.forward(about.input_ids);
    assert.ok(distance(logits.data, array('logits')) < 2e-4);
    assert.ok(sameBits(logits.data, (await one.forward(about.input_ids)).logits.data));
    // Every expert got the numbers of the first one.
    const weights = stackedFile(name, undefined, (tensors) =>
      torchFile(Object.entries(tensors).map(([key, t]) => ({ name: key, ...t }))),
    );
    const torch = await load({ weights, config: sharedConfig(name) });
    assert.ok(sameBits(logits.data, (await torch.forward(about.input_ids)).logits.data));
    for (const model of [one, other, torch]) model.dispose();
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
    const model = await untilEnd(load(mixtralGguf({ single })));
    const { logits } = await model.forward(about.input_ids);
    assert.ok(distance(logits.data, array('logits')) < 2e-4);
    const { ids: next } = await collect(
      model.generate(about.greedy.prompt, { temperature: 0, maxTokens: 32, ignoreEos: true }),
    );
    assert.deepEqual(next, about.greedy.next);
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
