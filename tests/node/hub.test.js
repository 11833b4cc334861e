// hub.test.js - what a pasted address of a model means, and what the models offered by name need
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countParameters } from '../../web/lib/api/index.js';
import { HUB, downloadOf, expectedSpeed, memoryOf, sourceOf } from '../../web/page/state/facts/hub.js';
import { readRate } from '../../web/page/state/calls/read_rate.js';
import { nameOf } from '../../web/page/state/facts/shipped_models.js';

/** Fields of their config.json. */
const LLAMA = { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', tie_word_embeddings: true };
const CONFIGS = {
  'SmolLM2 360M Instruct': {
    ...{ ...LLAMA, vocab_size: 49152, d_model: 960, n_layers: 32, n_heads: 15, n_kv_heads: 5, d_ff: 2560 },
    context_length: 8192,
  },
  'Qwen3 0.6B': {
    ...{ ...LLAMA, vocab_size: 151936, d_model: 1024, n_layers: 28, n_heads: 16, n_kv_heads: 8, d_ff: 3072 },
    ...{ context_length: 40960, d_head: 128, qk_norm: true },
  },
  'Gemma 3 270M Instruct': {
    ...{ model_type: 'gemma3_text', vocab_size: 262144, hidden_size: 640, num_hidden_layers: 18 },
    ...{ num_attention_heads: 4, num_key_value_heads: 1, head_dim: 256, intermediate_size: 2048 },
    ...{ max_position_embeddings: 32768, hidden_activation: 'gelu_pytorch_tanh', rms_norm_eps: 1e-6 },
    ...{ sliding_window: 512, rope_theta: 1e6, rope_local_base_freq: 1e4, query_pre_attn_scalar: 256 },
  },
  'all-MiniLM-L6-v2': {
    ...{ model_type: 'bert', vocab_size: 30522, hidden_size: 384, num_hidden_layers: 6, num_attention_heads: 12 },
    ...{ intermediate_size: 1536, max_position_embeddings: 512, type_vocab_size: 2, hidden_act: 'gelu' },
    ...{ layer_norm_eps: 1e-12, architectures: ['BertModel'] },
  },
};

test('a pasted hub page, owner/name, hf: and other addresses are sources of the library', () => {
  for (const [pasted, source, name] of [
    ['openai-community/gpt2', 'hf:openai-community/gpt2', 'gpt2'],
    [' hf:openai-community/gpt2 ', 'hf:openai-community/gpt2', 'gpt2'],
    ['https://huggingface.co/openai-community/gpt2', 'hf:openai-community/gpt2', 'gpt2'],
    ['https://hf.co/openai-community/gpt2/', 'hf:openai-community/gpt2', 'gpt2'],
    ['https://huggingface.co/a/b/tree/main', 'hf:a/b', 'b'],
    ['https://huggingface.co/a/b/blob/v2/sub/c.gguf', 'hf:a/b@v2/sub/c.gguf', 'c.gguf'],
    ['https://huggingface.co/a/b/resolve/main/c.gguf', 'https://huggingface.co/a/b/resolve/main/c.gguf', 'c.gguf'],
    ['https://example.org/models/c.gguf', 'https://example.org/models/c.gguf', 'c.gguf'],
  ]) {
    assert.equal(sourceOf(pasted), source);
    assert.equal(nameOf(source), name);
  }
  for (const wrong of ['', 'gpt2', 'a/b/c', 'ftp://example.org/c.gguf', 'javascript:alert(1)', 'hf:gpt2', 'two words'])
    assert.equal(sourceOf(wrong), null, wrong);
});

test('the parameters of the models offered by name are those of their configurations', () => {
  const of = (name) => HUB.find((model) => name.test(model.name)) ?? assert.fail();
  assert.equal(of(/^GPT-2/).parameters, countParameters('gpt2').total);
  assert.equal(of(/^SmolLM2 135M/).parameters, countParameters('smollm2-135m').total);
  for (const [name, config] of Object.entries(CONFIGS))
    assert.equal(HUB.find((model) => model.name === name).parameters, countParameters(config).total, name);
});

test('bytes to download are those of the files, and bytes of memory those that the engine keeps', () => {
  // Sizes of the files on the hub, whose headers are 30,536 and 14,283 bytes long.
  for (const [model, bytes] of [
    [HUB[0], 269_060_552],
    [HUB[1], 548_105_171],
  ])
    assert.ok(bytes - downloadOf(model) > 0 && bytes - downloadOf(model) < 40_000, model.name);
  const small = { ...HUB[0], parameters: 3200 };
  assert.deepEqual([memoryOf(small, 'q8_0'), memoryOf(small, 'q4_0'), memoryOf(small, 'keep')], [3600, 2000, 6400]);
});

test('the speed to expect is that of reading all weights once for each token', () => {
  assert.equal(expectedSpeed(268_000_000, 8e6), (8e6 * 1000) / 268_000_000); // 8 GB per second
});

test('the rate at which this machine reads weights is measured once', async () => {
  const [first, second] = await Promise.all([readRate(), readRate()]);
  assert.ok(first > 0 && Number.isFinite(first));
  assert.equal(second, first);
});
