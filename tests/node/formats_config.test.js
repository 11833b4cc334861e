// formats_config.test.js - configurations of Hugging Face: what is read, what is refused and why
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { FAMILIES } from '../../web/lib/files/huggingface/families_all.js';
import { readHfConfig } from '../../web/lib/files/huggingface/huggingface.js';
import { GlassformerError } from '../../web/lib/api/index.js';
import { json, top } from './helpers.js';
import { hf } from './small_files.js';

test('features of a config.json that the engine lacks are refused, and named', () => {
  const qwen = { ...hf, model_type: 'qwen2' };
  const cases = [
    [{ ...hf, model_type: 'mamba' }, 'unsupported', /"mamba"/],
    [{ ...hf, model_type: undefined }, 'bad-config', /model_type is missing/],
    [{ ...hf, hidden_act: 'xielu' }, 'unsupported', /xielu/],
    [{ ...hf, rope_scaling: { rope_type: 'mrope', factor: 4 } }, 'unsupported', /mrope/],
    [{ ...hf, rope_scaling: { rope_type: 'yarn' } }, 'unsupported', /without a factor/],
    [{ ...hf, rope_scaling: { type: 'dynamic' } }, 'unsupported', /without a factor/],
    [{ ...hf, rope_scaling: { type: 'longrope', short_factor: [1] } }, 'unsupported', /long_factor/],
    [{ ...hf, rope_scaling: { rope_type: 'linear' } }, 'unsupported', /without a factor/],
    [{ ...hf, quantization_config: { bits: 4 } }, 'unsupported', /quantization_config/],
    [{ ...hf, partial_rotary_factor: 0.5 }, 'unsupported', /partial_rotary_factor 0\.5/],
    [{ ...hf, attn_logit_softcapping: 50 }, 'unsupported', /softcapping/],
    [{ ...hf, sliding_window: 64 }, 'unsupported', /sliding_window/],
    // neither had an effect: a model that reads both ways was causal, and rope_theta that of no file
    [{ ...hf, is_causal: false }, 'unsupported', /is_causal false/],
    [{ ...hf, rope_parameters: { full_attention: { rope_theta: 1e6 } } }, 'unsupported', /each kind of layer/],
    [
      { ...qwen, use_sliding_window: true, sliding_window: 8, max_window_layers: '1' },
      'unsupported',
      /max_window_layers/,
    ],
    [{ ...qwen, layer_types: ['chunked_attention'] }, 'unsupported', /chunked_attention/],
    [{ ...qwen, layer_types: ['full_attention', 'sliding_attention'] }, 'unsupported', /layer_types/],
    [{ ...hf, num_attention_heads: 0 }, 'bad-config', /num_attention_heads is 0/],
    [{ ...hf, num_attention_heads: 3 }, 'bad-config', /hidden_size 8 is not divisible by num_attention_heads 3/],
    [{ ...hf, vocab_size: '6' }, 'bad-config', /"6"/],
    [
      { ...hf, num_hidden_layers: 1e9 },
      'bad-config',
      /num_hidden_layers is 1000000000, expected a whole number from 1 to 4096/,
    ],
    [
      { ...hf, hidden_size: 2 ** 31 },
      'bad-config',
      /hidden_size is 2147483648, expected a whole number from 1 to 65536/,
    ],
    [{ ...hf, rms_norm_eps: '1e-5' }, 'bad-config', /rms_norm_eps/],
    [{ ...hf, max_position_embeddings: 0 }, 'bad-config', /max_position_embeddings/],
    [{ ...hf, eos_token_id: 'x' }, 'bad-config', /eos_token_id/],
    [
      { model_type: 'gpt2', n_embd: 8, n_layer: 1, n_head: 2, vocab_size: 6, add_cross_attention: true },
      'unsupported',
      /add_cross_attention/,
    ],
    [
      { model_type: 'gpt2', n_embd: 8, n_layer: 1, n_head: 2, vocab_size: 6, activation_function: 'laplace' },
      'bad-config',
      /laplace/,
    ],
    [
      {
        model_type: 'bare-bones-ml-transformer',
        vocab_size: 6,
        hidden_size: 8,
        num_layers: 1,
        num_heads: 2,
        ff_size: 8,
        shared_embedding: false,
      },
      'unsupported',
      /shared_embedding/,
    ],
    [
      { model_type: 'glassformer', vocab_size: 6, d_model: 8, n_layers: 1, n_heads: 2, d_hidden: 3 },
      'bad-config',
      /d_hidden/,
    ],
  ];
  for (const [config, code, message] of cases) {
    assert.throws(
      () => readHfConfig(config),
      (e) => {
        assert.equal(e.code, code, e.message);
        assert.match(e.message, message);
        return true;
      },
    );
  }
});

test("the Hugging Face families' defaults and alternative key names are read", () => {
  const read = (change) => readHfConfig({ ...hf, ...change }).config;
  assert.equal(read({ num_key_value_heads: null }).n_kv_heads, 2);
  assert.equal(read({ model_type: 'mistral' }).sliding_window, 4096, "an absent window is the family's default");
  assert.equal(read({ model_type: 'mistral', sliding_window: null }).sliding_window, 0, 'an explicit null is none');
  assert.equal(read({ model_type: 'mistral', sliding_window: 8 }).sliding_window, 8);
  const qwen2 = read({ model_type: 'qwen2', sliding_window: 8 });
  assert.deepEqual([qwen2.bias_qkv, qwen2.bias_attn_out, qwen2.sliding_window], [true, false, 0]);
  assert.equal(
    read({ model_type: 'qwen2', use_sliding_window: true, sliding_window: 8, max_window_layers: 0 }).sliding_window,
    8,
  );
  const gemma3 = (change) => read({ model_type: 'gemma3_text', query_pre_attn_scalar: 4, ...change }).rope_local_theta;
  assert.deepEqual([gemma3({}), gemma3({ rope_local_base_freq: 5000 })], [10000, 5000]);
  const qwen3 = read({ model_type: 'qwen3', attention_bias: true });
  assert.deepEqual([qwen3.qk_norm, qwen3.d_head, qwen3.bias_attn_out], [true, 128, true]);
  const llama3 = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
  const old = read({ rope_theta: 5e5, rope_scaling: { rope_type: 'llama3', ...llama3 } });
  assert.deepEqual(read({ rope_parameters: { rope_type: 'llama3', rope_theta: 5e5, ...llama3 } }), old);
  assert.deepEqual(
    [old.rope_theta, old.rope_scaling, old.rope_factor, old.rope_original_context],
    [5e5, 'llama3', 8, 64],
  );
  const gpt2 = readHfConfig({
    model_type: 'gpt2',
    vocab_size: 6,
    n_embd: 8,
    n_layer: 1,
    n_head: 2,
    n_ctx: 12,
    eos_token_id: 5,
  });
  assert.deepEqual(
    [gpt2.config.ffn, gpt2.config.d_ff, gpt2.config.context_length, gpt2.config.tie_word_embeddings, gpt2.special.eos],
    ['gelu_tanh', 32, 12, true, [5]],
  );
  assert.deepEqual(readHfConfig({ ...hf, use_cache: true, odd_thing: 3, other: null }).warnings, [
    'config.json: odd_thing is not known and was not used',
  ]);
  assert.deepEqual(
    readHfConfig({
      model_type: 'glassformer',
      architectures: ['x'],
      ...completeConfig({ vocab_size: 6, d_model: 8, n_layers: 1, n_heads: 2 }),
    }).config.d_ff,
    64,
  );
});

// Older and newer releases of transformers write the same model with other keys.
test('every spelling of a configuration of Hugging Face gives the same model', () => {
  const spellings = json(join(top, 'tests/golden/formats/family_configs.json'));
  let n = 0;
  for (const [name, { today, ...others }] of Object.entries(spellings)) {
    if (!Object.hasOwn(FAMILIES, today.model_type)) continue;
    const { config, warnings } = readHfConfig(today);
    assert.deepEqual(warnings, [], name);
    for (const [spelling, other] of Object.entries(others)) {
      const read = readHfConfig(other);
      assert.deepEqual([read.config, read.warnings], [config, []], `${name}, ${spelling}`);
      n++;
    }
  }
  assert.ok(n > 50, `${n} spellings`);
});

test('any value in place of one in a configuration of Hugging Face is read or refused', () => {
  const spellings = json(join(top, 'tests/golden/formats/family_configs.json'));
  const odd = [{ toString: 1, valueOf: 1 }, [{ toString: 1 }]];
  const values = [null, true, -1, 0.5, 1e300, 'x', {}, [], [null], [[[], 1e300]], [[['global'], 1e300]], ...odd];
  /** Places in a JSON value. @type {(value: any, path?: string[]) => string[][]} */
  const places = (value, path = []) =>
    value !== null && typeof value === 'object'
      ? Object.keys(value).flatMap((key) => [[...path, key], ...places(value[key], [...path, key])])
      : [];
  let refusals = 0;
  for (const [name, all] of Object.entries(spellings))
    for (const given of Object.values(all))
      for (const path of places(given))
        for (const value of values) {
          const changed = structuredClone(given);
          const last = path.at(-1);
          path.slice(0, -1).reduce((part, key) => part[key], changed)[last] = value;
          try {
            readHfConfig(changed);
          } catch (error) {
            const where = `${name}: ${path.join('.')} = ${JSON.stringify(value)}: ${error.stack}`;
            assert.ok(error instanceof GlassformerError && error.code !== 'internal', where);
            refusals++;
          }
        }
  assert.ok(refusals > 5000, `${refusals} refusals`);
});

// Each of these threw a TypeError or a RangeError.
test('values of a config.json that cannot be computed with are refused', () => {
  const stubborn = { toString: 1, valueOf: 1 };
  let deep = [];
  for (let i = 0; i < 1e5; i++) deep = [deep];
  const qwen = { ...hf, model_type: 'qwen2', use_sliding_window: true };
  const gpt = { model_type: 'gpt-prenorm-erf', vocab_size: 6, d_model: 8, n_layers: 1, n_heads: 2, context: 16 };
  for (const config of [
    { ...qwen, layer_types: 5 },
    { ...qwen, max_window_layers: stubborn },
    { ...qwen, num_hidden_layers: stubborn },
    { ...gpt, mlp_mult: stubborn },
    { ...gpt, activation: stubborn },
    { ...gpt, d_model: stubborn },
    { ...hf, vocab_size: deep },
  ]) {
    assert.throws(
      () => readHfConfig(config),
      (e) => e.name === 'GlassformerError' && ['bad-config', 'unsupported'].includes(e.code) && e.message.length < 300,
    );
  }
  assert.equal(readHfConfig({ ...gpt, mlp_mult: 2 }).config.d_ff, 16);
});
