// gguf_archs.test.js - the architectures of GGUF: files of llama.cpp's converter, files that this project writes from
// the families' Hugging Face checkpoints, and refusals by architecture or key
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { windowOf } from '../../web/lib/engine/config/config.js';
import { ALL_ARCHITECTURES } from '../../web/lib/files/gguf/gguf_archs_more.js';
import { ggufModel } from '../../web/lib/files/gguf/gguf_model.js';
import { ggufLayout } from '../../web/lib/files/gguf/write_model.js';
import { text } from '../../web/lib/files/gguf/write_gguf.js';
import { create, load } from '../../web/lib/api/index.js';
import { ggufBytes, ggufs } from '../fuzz/seeds.js';
import { MODELS, randomModel } from './gguf_models.js';
import { collect, distance, noShared, numbers, openCase, refused, sameBits, shared, untilEnd } from './helpers.js';
import { ggufOf, snaked } from './written.js';
import { safetensors } from './checkpoint_files.js';

// [family, architecture, whether the other pairs are rotated, tensors and keys that llama.cpp reads]
const WRITTEN = [
  ['phi4_mini', 'phi3', false, ['attn_qkv', 'rope_factors_long.weight', 'rope.scaling.attn_factor']],
  ['gptj', 'gptj', false, ['output.bias', 'attn_q.weight']],
  ['bloom', 'bloom', false, ['token_embd_norm.bias', 'attn_qkv.bias']],
  ['olmo', 'olmo', true, ['attention.clamp_kqv', 'attention.layer_norm_epsilon']],
  ['olmo2', 'olmo2', false, ['post_attention_norm', 'attn_k_norm']],
  ['stablelm_parallel', 'stablelm', false, ['attn_q_norm', 'rope.dimension_count']],
  ['granite', 'granite', true, ['embedding_scale', 'residual_scale', 'attention.scale', 'logit_scale']],
  ['mixtral', 'llama', true, ['ffn_gate_inp', 'ffn_gate_exps.weight', 'expert_used_count']],
  ['llama_1tok', 'llama', true, ['attn_output.weight', 'rope.freq_base']],
];

describe('a family’s checkpoint, written as GGUF and read again', () => {
  for (const [name, architecture, isPermuted, parts] of WRITTEN)
    test(`${name} is ${architecture}`, async () => {
      const c = openCase(name);
      const model = await load(c.source, { dtype: 'f32' });
      const bytes = await ggufOf(model);
      const again = await load(bytes, { dtype: 'f32' });
      try {
        const header = Buffer.from(bytes).toString('latin1');
        assert.match(header, new RegExp(`general\\.architecture.{12}${architecture}`, 's'));
        for (const part of parts) assert.ok(header.includes(part), `${part} is missing`);
        assert.deepEqual(again.warnings, []);
        const [{ logits: a }, { logits: b }] = [
          await model.forward(c.about.input_ids),
          await again.forward(c.about.input_ids),
        ];
        // the products of q and k are summed in another order where their components were permuted
        if (isPermuted) assert.ok(distance(a.data, b.data) < 1e-4, `${distance(a.data, b.data)}`);
        else assert.ok(sameBits(a.data, b.data));
        assert.ok(distance(b.data, c.array('logits')) <= 2e-4);
        const { ids } = await collect(
          again.generate(c.about.greedy.prompt, { temperature: 0, maxTokens: 32, ignoreEos: true }),
        );
        assert.deepEqual(ids, c.about.greedy.next);
        // what was read from a GGUF is written without another permutation
        const third = await load(await ggufOf(again), { dtype: 'f32' });
        assert.ok(sameBits((await third.forward(c.about.input_ids)).logits.data, b.data));
        third.dispose();
      } finally {
        model.dispose();
        again.dispose();
      }
    });
});

// GGUF has no key for query_pre_attn_scalar: q is multiplied. It has the tanh form of GELU only, and architectures that
// read biases and a head: the exact form is a key of this package's, the biases are 0, the head a copy.
for (const [name, architecture, parts] of [
  ['gemma2', 'gemma2', ['post_attention_norm', 'post_ffw_norm', 'attn_logit_softcapping']],
  ['gemma3_text_scaled', 'gemma3', ['attn_q_norm', 'post_ffw_norm', 'rope.scaling.factor', 'freq_base_swa']],
  ['gpt_neox', 'gptneox', ['attn_qkv.weight', 'use_parallel_residual', 'glassformer.gelu']],
  ['t3_literal', 'gpt2', ['attn_qkv.bias', 'position_embd', 'glassformer.gelu']],
])
  test(`${name}: written as ${architecture}, which computes the same after a change of weights or with a further key`, async () => {
    const c = openCase(name);
    const model = await load(c.source, { dtype: 'f32' });
    const bytes = await ggufOf(model);
    const header = Buffer.from(bytes).toString('latin1');
    assert.match(header, new RegExp(`general\\.architecture.{12}${architecture}`, 's'));
    for (const part of parts) assert.ok(header.includes(part), `${part} is missing`);
    const again = await load(bytes, { dtype: 'f32' });
    const ids = c.about.input_ids;
    assert.ok(distance((await again.forward(ids)).logits.data, (await model.forward(ids)).logits.data) < 1e-4);
    assert.ok(distance((await again.forward(ids)).logits.data, c.array('logits')) <= 2e-4);
    for (const m of [model, again]) m.dispose();
  });

const small = { vocab_size: 64, d_model: 32, n_layers: 4, n_heads: 4, n_kv_heads: 2, d_ff: 64, context_length: 64 };

// tests/real/wllama.test.js: llama.cpp computes the same from these files
describe('a model of each architecture, written and read again', () => {
  const models = { ...MODELS, 'starcoder2 windows': { ...MODELS.starcoder2, sliding_window: 9 } };
  for (const [i, [name, fields]] of Object.entries(models).entries())
    test(name, async () => {
      const [architecture] = name.split(' ');
      const { config, weights } = randomModel(fields);
      const source = {
        weights: safetensors(weights),
        config: { model_type: 'glassformer', ...config },
      };
      const model = await untilEnd(load(source, { dtype: 'f32' }));
      const layout = ggufLayout(config);
      assert.equal(layout.architecture, architecture);
      const again = await untilEnd(load(await ggufOf(model), { dtype: 'f32' }));
      const ids = numbers(40, config.vocab_size);
      const [a, b] = [(await model.forward(ids)).logits.data, (await again.forward(ids)).logits.data];
      // the products of q and k are summed in another order where their components were permuted
      if (layout.permute) assert.ok(distance(a, b) < 1e-4, `${distance(a, b)}`);
      else assert.ok(sameBits(a, b));
      // blocks of both quantised types have 32 columns: an architecture needs one of them
      for (const type of ['F16', i % 2 ? 'Q8_0' : 'Q4_0']) {
        const stored = await load(await ggufOf(model, { type }));
        assert.ok(stored.parameters.rows.some(({ dtype }) => dtype === type.toLowerCase()));
        assert.ok(stored.parameters.bytes < again.parameters.bytes);
        stored.dispose();
      }
    });
});

test('what GGUF cannot say is refused by the architecture and the field', async () => {
  for (const [fields, words] of [
    [{ rotary_kv_heads: 1 }, /has rotary_kv_heads 2, the model has 1/],
    [{ ffn: 'reglu' }, /the nearest, \w+, has ffn "swiglu", the model has "reglu"/],
    [{ rope_scaling: 'dynamic', rope_factor: 2, rope_original_context: 16 }, /rope_scaling "none".*"dynamic"/],
    [{ norm_placement: 'post' }, /norm_placement|final_norm/],
    [{ residual_scale: 0.5, ffn: 'relu' }, /granite, has ffn|has (ffn|residual_scale)/],
    [{ kind: 'encoder', causal: false, ffn: 'reglu' }, /has ffn/],
  ]) {
    const model = await create({ ...small, ...fields }, { seed: 1 });
    await refused(ggufOf(model), 'unsupported', words);
    model.dispose();
  }
  const model = await untilEnd(create(small, { seed: 1 }));
  assert.equal(ggufLayout(snaked(model)).architecture, 'llama');
});

const postNorm = { norm: 'layernorm', norm_placement: 'post', final_norm: false, embed_norm: true, n_token_types: 2 };
const biased = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };
const bothSides = { sliding_window: 5, rope_theta: 160000, rope_local_theta: 10000 };
const ENCODERS = {
  bert: {
    ...{ ...postNorm, ...biased, ffn: 'gelu_tanh', position: 'learned', pooler: true, n_kv_heads: 4 },
    ...{ position_offset: 2, position_pad_id: 1 },
  },
  'nomic-bert': { ...postNorm, ffn: 'swiglu', n_kv_heads: 4 },
  'jina-bert-v3': { ...postNorm, ...biased, ffn: 'gelu_erf', n_kv_heads: 4 },
  eurobert: {},
  'modern-bert': {
    ...{ norm: 'layernorm', bias_norm: false, first_norm: false, embed_norm: true, ffn: 'geglu_tanh', n_kv_heads: 4 },
    ...{ ...bothSides, window_layers: [false, true, true, false] },
  },
  'gemma-embedding': {
    ...{ ffn: 'geglu_tanh', norm_placement: 'sandwich', qk_norm: true, embedding_scale: 32 ** 0.5 },
    ...{ ...bothSides, window_layers: [true, true, false] },
  },
};

describe('an encoder of each architecture, written without its pooler and read again', () => {
  for (const [name, fields] of Object.entries(ENCODERS))
    test(name, async () => {
      const { config, weights } = randomModel({ ...small, kind: 'encoder', ...fields });
      const own = { weights: safetensors(weights), config: { model_type: 'glassformer', ...config } };
      const model = await untilEnd(load(own, { dtype: 'f32' }));
      assert.equal(ggufLayout(config).architecture, name);
      const again = await untilEnd(load(await ggufOf(model), { dtype: 'f32' }));
      const ids = numbers(40, config.vocab_size - 2).map((id) => id + 2); // none of padding
      const [a, b] = [(await model.forward(ids)).hidden.data, (await again.forward(ids)).hidden.data];
      assert.ok(distance(a, b) < 1e-4, `${distance(a, b)}`);
    });
});

/**
 * The configuration that a header gives, from its metadata and the names of some tensors.
 * @param {string} architecture
 * @param {Record<string, any>} [meta]  keys without the architecture's name
 * @param {string[]} [names]
 */
function configOf(architecture, meta = {}, names = []) {
  const usual = {
    context_length: 128,
    embedding_length: 64,
    block_count: 8,
    feed_forward_length: 96,
    'attention.head_count': 4,
    'attention.layer_norm_rms_epsilon': Math.fround(1e-6),
    'attention.layer_norm_epsilon': Math.fround(1e-5),
  };
  const all = Object.entries({ ...usual, ...meta }).map(([key, value]) => [`${architecture}.${key}`, value]);
  const entries = ['token_embd.weight', ...names].map((name) => ({ name, shape: [32, 64], dtype: 'f32' }));
  const gguf = { meta: new Map([['general.architecture', architecture], ...all]), entries };
  return ggufModel('x.gguf', gguf, [], null, ALL_ARCHITECTURES).config;
}

test('an architecture’s defaults are those of llama.cpp', () => {
  const gemma2 = configOf('gemma2');
  assert.deepEqual([gemma2.score_softcap, gemma2.logit_softcap, gemma2.sliding_window], [50, 30, 4096]);
  assert.deepEqual(gemma2.window_layers, [true, false]);
  assert.deepEqual([gemma2.score_scale, gemma2.embedding_scale], [0.25, 8]);
  const large = { block_count: 46, 'attention.key_length': 32, 'attention.value_length': 32 };
  assert.equal(configOf('gemma2', large).score_scale, 0.25, '27B: the width of the model over the heads');
  assert.equal(configOf('gemma2', { ...large, block_count: 42 }).score_scale, 32 ** -0.5);
  const gemma3 = configOf('gemma3', { 'attention.sliding_window': 16, 'rope.freq_base': 1e6 });
  assert.deepEqual(gemma3.window_layers, [true, true, true, true, true, false]);
  assert.deepEqual([gemma3.rope_theta, gemma3.rope_local_theta], [1e6, 10000]);
  assert.deepEqual([gemma3.score_softcap, gemma3.logit_softcap], [0, 0]);
  assert.equal(configOf('gemma3').sliding_window, 0);
  const flags = [true, false, false, true, true, false, true, false];
  const mixed = { 'attention.sliding_window': 16, 'attention.sliding_window_pattern': flags };
  const given = configOf('gemma3', mixed);
  assert.deepEqual(
    flags.map((_, l) => windowOf(given, l) > 0),
    flags,
  );
  assert.deepEqual(configOf('smollm3').rope_layers, [true, true, true, false]);
  const stablelm = configOf('stablelm', { use_parallel_residual: true }, ['blk.0.ffn_norm.weight']);
  assert.deepEqual([stablelm.parallel_residual, stablelm.shared_norm, stablelm.qk_norm], [false, false, false]);
  assert.equal(configOf('gptneox', { use_parallel_residual: false }).parallel_residual, false);
  assert.equal(configOf('phi3', { 'attention.sliding_window': 0 }).sliding_window, 0);
  assert.equal(configOf('phi3', { 'attention.sliding_window': 2047 }).sliding_window, 2047);
  const granite = configOf('granite', { logit_scale: 8, 'attention.scale': Math.fround(0.015), embedding_scale: 12 });
  assert.deepEqual([granite.logit_scale, granite.score_scale, granite.embedding_scale], [0.125, 0.015, 12]);
  assert.equal(granite.residual_scale, 1);
  const olmo3 = configOf('olmo2', {
    'attention.sliding_window': 16,
    'rope.scaling.type': 'yarn',
    'rope.scaling.factor': 8,
    'rope.scaling.original_context_length': 128,
  });
  assert.deepEqual(olmo3.window_layers, [true, true, true, false]);
  assert.equal(olmo3.rope_local_theta, 10000, 'layers with a window rotate without scaling');
  assert.equal(olmo3.context_length, 1024);
  assert.equal(olmo3.rope_attention_factor, 0.1 * Math.log(8) + 1);
  const deep = { 'rope.scaling.type': 'yarn', 'rope.scaling.factor': 4, 'rope.scaling.yarn_log_multiplier': 1 };
  assert.equal(configOf('llama', deep).rope_attention_factor, 1);
  assert.equal(configOf('llama', { ...deep, 'rope.scaling.yarn_attn_factor': 1.5 }).rope_attention_factor, 1.5);
});

test('what is malformed, or not supported, is refused by its key', () => {
  const window = { 'attention.sliding_window': 16 };
  const cases = [
    ['mamba', {}, 'unsupported', /the architecture "mamba" is not supported, expected one of llama, .*command-r/],
    ['gemma3', { ...window, 'attention.sliding_window_pattern': [true] }, 'unsupported', /gemma3\..*_pattern \[true\]/],
    ['gemma3', { ...window, 'attention.sliding_window_pattern': 'often' }, 'unsupported', /_pattern "often"/],
    ['gemma3', { ...window, 'attention.sliding_window_pattern': -1 }, 'unsupported', /_pattern -1/],
    ['gemma2', { attn_logit_softcapping: -1 }, 'bad-config', /score_softcap is -1/],
    ['gemma2', { attn_logit_softcapping: 'hot' }, 'bad-config', /gemma2\.attn_logit_softcapping is "hot"/],
    ['llama', { attn_logit_softcapping: 50 }, 'unsupported', /llama\.attn_logit_softcapping 50 is not supported/],
    ['bloom', { 'attention.max_alibi_bias': 4 }, 'unsupported', /bloom\.attention\.max_alibi_bias 4/],
    ['starcoder2', { 'rope.dimension_count': 8 }, 'unsupported', /starcoder2\.rope\.dimension_count 8/],
    ['gptneox', { 'rope.dimension_count': 7 }, 'bad-config', /rotary_dim 7 is odd/],
    ['gptneox', { 'rope.dimension_count': 18 }, 'bad-config', /rotary_dim 18 is more than d_head 16/],
    ['gptneox', { use_parallel_residual: 1 }, 'bad-config', /use_parallel_residual is 1, expected true or false/],
    ['granite', {}, 'bad-config', /granite\.logit_scale is missing/],
    ['granite', { logit_scale: 0 }, 'bad-config', /logit_scale is Infinity/],
    ['phi3', { 'attention.head_count_kv': [4, 4, 2, 4, 4, 4, 4, 4] }, 'unsupported', /differs from layer to layer/],
    ['olmo', { 'attention.clamp_kqv': NaN }, 'bad-config', /clip_qkv is NaN/],
    ['smollm3', { block_count: 1e9 }, 'bad-config', /n_layers is 1000000000/],
    // llama.cpp multiplies by it whatever the type is; it was skipped.
    ['llama', { 'rope.scaling.attn_factor': 1.25 }, 'unsupported', /llama\.rope\.scaling\.attn_factor 1\.25/],
    ['qwen2', { 'rope.scaling.type': 'yarn', 'rope.scaling.factor': 0 }, 'bad-config', /rope_factor is 0/],
  ];
  for (const [architecture, meta, code, message] of cases)
    assert.throws(() => configOf(architecture, meta), { code, message }, `${architecture} ${JSON.stringify(meta)}`);
});

test('tables of rotary factors that do not belong together are refused', async () => {
  const seed = ggufs.find(({ meta }) => meta[0][1].value === 'phi3');
  const without = (name) => ({
    ...seed,
    tensors: seed.tensors.filter((t) => t.name !== `rope_factors_${name}.weight`),
  });
  await refused(load(ggufBytes(without('short'))), 'missing-tensor', /rope_factors_short\.weight is missing/);
  await refused(load(ggufBytes(without('long'))), 'missing-tensor', /rope_factors_long\.weight is missing/);
  const with3 = { ...seed, tensors: [{ name: 'rope_freqs.weight', shape: [4], type: 'F32' }, ...seed.tensors] };
  await refused(load(ggufBytes(with3)), 'unsupported', /rope_freqs\.weight beside other tables/);
  const wide = seed.tensors.map((t) => (t.name.startsWith('rope') ? { ...t, shape: [8] } : t));
  await refused(
    load(ggufBytes({ ...seed, tensors: wide })),
    'bad-shape',
    /has 8 factors, expected one for each pair of rope\.dimension_count, 4/,
  );
  const yarn = { ...seed, meta: [...seed.meta, ['phi3.rope.scaling.type', text('yarn')]] };
  await refused(load(ggufBytes(yarn)), 'unsupported', /phi3\.rope\.scaling "yarn" together/);
});

describe('every shared GGUF of these architectures', { skip: noShared }, () => {
  const root = join(shared ?? '', 'cases/gguf');
  if (!shared || !existsSync(root)) return;
  for (const name of readdirSync(root).filter((each) => existsSync(join(root, each, 'case.json')))) {
    const c = openCase(name, root);
    // encoders have no logits: encoders.test.js
    if (!Object.hasOwn(ALL_ARCHITECTURES, c.about.architecture) || !c.about.greedy) continue;
    test(name, async () => {
      const model = await untilEnd(load(c.source, { dtype: 'f32' }));
      const { logits } = await model.forward(c.about.input_ids);
      assert.ok(distance(logits.data, c.array('logits')) <= 2e-4);
      const { ids } = await collect(
        model.generate(c.about.greedy.prompt, { temperature: 0, maxTokens: 32, ignoreEos: true }),
      );
      assert.deepEqual(ids, c.about.greedy.next);
      for (const { tokenize } of Object.values(c.about.llama_cpp))
        for (const [i, want] of (tokenize ?? []).entries())
          assert.deepEqual(await model.encode(c.about.tokenize_samples[i], { addSpecialTokens: false }), want);
    });
  }
});
