// gguf_archs.test.js - the architectures of GGUF: files of llama.cpp's converter, files that this project writes from
// the families' Hugging Face checkpoints, and refusals by architecture or key
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { snake } from '../../web/lib/formats/config.js';
import { ARCHITECTURES } from '../../web/lib/formats/gguf_archs.js';
import { openCheckpoint } from '../../web/lib/formats/source.js';
import { ggufLayout, writeModel } from '../../web/lib/formats/write_model.js';
import { bool, f32, f32s, i32s, text, texts, u32, writeGguf } from '../../web/lib/formats/write_gguf.js';
import { create, load } from '../../web/lib/index.js';
import { collect, distance, golden, noShared, numbers, openCase, refused, sameBits, shared } from './helpers.js';

/** The configuration of a model in snake_case. */
const snaked = (/** @type {any} */ { config }) =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [snake(key), value]));

/**
 * A model as the bytes of a GGUF.
 * @param {any} model
 * @param {object} [options]
 */
async function bytesOf(model, options) {
  const config = snaked(model);
  const rows = new Map(model.parameters.rows.map((r) => [r.name, r.shape]));
  const weight = async (/** @type {string} */ name) => {
    const [n, d] = rows.get(name);
    if (d === undefined) return model.weight(name);
    const out = new Float32Array(n * d);
    for (let i = 0; i < n; i++) out.set(await model.weight(name, i), i * d);
    return out;
  };
  const chunks = [];
  for await (const chunk of writeModel(config, weight, options)) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}

/**
 * The header of a file: architecture, keys without its name, and names of the tensors of the first block and outside.
 * @param {Uint8Array} bytes
 */
const keysOf = (bytes) => [
  ...new Set(
    Buffer.from(bytes)
      .toString('latin1')
      .match(/[a-z0-9-]+\.[a-z_.]+[a-z]/g),
  ),
];

// [family, architecture, whether the other pairs are rotated, tensors and keys that llama.cpp reads]
const WRITTEN = [
  ['phi4_mini', 'phi3', false, ['attn_qkv', 'rope_factors_long.weight', 'rope.scaling.attn_factor']],
  ['gptj', 'gptj', false, ['output.bias', 'attn_q.weight']],
  ['bloom', 'bloom', false, ['token_embd_norm.bias', 'attn_qkv.bias']],
  ['olmo', 'olmo', true, ['attention.clamp_kqv', 'attention.layer_norm_epsilon']],
  ['olmo2', 'olmo2', false, ['post_attention_norm', 'attn_k_norm']],
  ['stablelm_parallel', 'stablelm', false, ['attn_q_norm', 'rope.dimension_count']],
  ['granite', 'granite', true, ['embedding_scale', 'residual_scale', 'attention.scale', 'logit_scale']],
  ['llama_1tok', 'llama', true, ['attn_output.weight', 'rope.freq_base']],
];

describe('a family’s checkpoint, written as GGUF and read again', () => {
  for (const [name, architecture, isPermuted, parts] of /** @type {[string, string, boolean, string[]][]} */ (WRITTEN))
    test(`${name} is ${architecture}`, async () => {
      const c = openCase(name);
      const model = await load(c.source, { dtype: 'f32' });
      const bytes = await bytesOf(model, { architecture });
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
        const third = await load(await bytesOf(again), { dtype: 'f32' });
        assert.ok(sameBits((await third.forward(c.about.input_ids)).logits.data, b.data));
        third.dispose();
      } finally {
        model.dispose();
        again.dispose();
      }
    });
});

// GGUF has no key for query_pre_attn_scalar: llama.cpp takes the width of a head, except in the models of 27 billion.
for (const [name, architecture, parts] of [
  ['gemma2', 'gemma2', ['post_attention_norm', 'post_ffw_norm', 'attn_logit_softcapping']],
  ['gemma3_text_scaled', 'gemma3', ['attn_q_norm', 'post_ffw_norm', 'rope.scaling.factor', 'freq_base_swa']],
])
  test(`${name}: written as ${architecture} where its scores are scaled by the width of a head`, async () => {
    const c = openCase(name);
    const original = await load(c.source, { dtype: 'f32' });
    await refused(bytesOf(original, { architecture }), 'unsupported', new RegExp(`^${architecture} has score_scale`));
    await refused(bytesOf(original), 'unsupported', new RegExp(`the nearest, ${architecture}, has score_scale`));
    const config = { ...c.config, query_pre_attn_scalar: c.config.head_dim };
    const model = await load({ weights: join(c.folder, 'model.safetensors'), config }, { dtype: 'f32' });
    const bytes = await bytesOf(model);
    const header = Buffer.from(bytes).toString('latin1');
    for (const part of [`general.architecture`, ...parts]) assert.ok(header.includes(part), `${part} is missing`);
    const again = await load(bytes, { dtype: 'f32' });
    const ids = c.about.input_ids;
    assert.ok(sameBits((await again.forward(ids)).logits.data, (await model.forward(ids)).logits.data));
    for (const m of [original, model, again]) m.dispose();
  });

const small = { vocab_size: 64, d_model: 32, n_layers: 4, n_heads: 4, n_kv_heads: 2, d_ff: 64, context_length: 64 };
const rows = { norm: 'layernorm', ffn: 'gelu_tanh', bias_qkv: true, bias_attn_out: true, bias_ffn: true };
/** @type {Record<string, object>} */
const CREATED = {
  qwen2: {
    bias_qkv: true,
    rope_scaling: 'yarn',
    rope_factor: 4,
    rope_original_context: 16,
    rope_attention_factor: 1.3,
  },
  qwen3: { qk_norm: true, d_head: 16, tie_word_embeddings: false },
  gemma: { ffn: 'geglu_tanh', embedding_scale: 32 ** 0.5, rope_scaling: 'linear', rope_factor: 2 },
  gpt2: { ...rows, n_kv_heads: 4, position: 'learned' },
  phi2: {
    ...rows,
    rotary_dim: 4,
    parallel_residual: true,
    shared_norm: true,
    bias_head: true,
    tie_word_embeddings: false,
  },
  gptneox: { ...rows, n_kv_heads: 4, rotary_dim: 2, tie_word_embeddings: false },
  starcoder2: { ...rows, sliding_window: 9 },
  stablelm: { norm: 'layernorm', bias_qkv: true, rotary_dim: 4, tie_word_embeddings: false },
  smollm3: { rope_pairs: 'adjacent', rope_layers: [true, true, true, false] },
  'command-r': {
    norm: 'layernorm',
    bias_norm: false,
    rope_pairs: 'adjacent',
    parallel_residual: true,
    shared_norm: true,
    qk_norm: true,
    qk_norm_kind: 'layernorm',
    qk_norm_span: 'each_head',
    logit_scale: 0.0625,
  },
  llama: {
    rope_pairs: 'adjacent',
    rope_scaling: 'llama3',
    rope_factor: 8,
    rope_original_context: 32,
    rope_theta: 500000,
  },
};

describe('a model of each other architecture, written and read again', () => {
  for (const [architecture, fields] of Object.entries(CREATED))
    test(architecture, async () => {
      const model = await create({ ...small, ...fields }, { seed: 5, dtype: 'f32' });
      const again = await load(await bytesOf(model), { dtype: 'f32' });
      const ids = numbers(40, small.vocab_size);
      const [a, b] = [await model.forward(ids), await again.forward(ids)];
      assert.ok(sameBits(a.logits.data, b.logits.data));
      for (const type of ['F16', 'Q8_0', 'Q4_0']) {
        const bytes = await bytesOf(model, { type });
        const stored = await load(bytes);
        assert.ok(stored.parameters.rows.some(({ dtype }) => dtype === type.toLowerCase()));
        assert.ok(stored.parameters.bytes < again.parameters.bytes);
        stored.dispose();
      }
      assert.match(Buffer.from(await bytesOf(model)).toString('latin1'), new RegExp(`${architecture}\\.block_count`));
      model.dispose();
      again.dispose();
    });
});

test('what GGUF cannot say is refused by the architecture and the field', async () => {
  for (const [fields, words] of /** @type {[object, RegExp][]} */ ([
    [{ ffn: 'reglu' }, /the nearest, \w+, has ffn "swiglu", the model has "reglu"/],
    [{ rope_scaling: 'dynamic', rope_factor: 2, rope_original_context: 16 }, /rope_scaling "none".*"dynamic"/],
    [{ norm_placement: 'post' }, /norm_placement|final_norm/],
    [{ residual_scale: 0.5, ffn: 'relu' }, /granite, has ffn|has (ffn|residual_scale)/],
    [{ kind: 'encoder', causal: false }, /kind encoder/],
  ])) {
    const model = await create({ ...small, ...fields }, { seed: 1 });
    await refused(bytesOf(model), 'unsupported', words);
    model.dispose();
  }
  const model = await create(small, { seed: 1 });
  await refused(bytesOf(model, { architecture: 'gpt2' }), 'unsupported', /^gpt2 has /);
  await refused(bytesOf(model, { architecture: 'mamba' }), 'unsupported', /"mamba" is not known/);
  assert.equal(ggufLayout(/** @type {any} */ (snaked(model))).architecture, 'llama');
  model.dispose();
});
