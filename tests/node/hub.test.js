// hub.test.js - what a pasted address of a model means, and what the models offered by name need
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countParameters } from '../../web/lib/api/index.js';
import { HUB, downloadOf, memoryOf, sourceOf } from '../../web/page/state/facts/hub.js';
import { nameOf } from '../../web/page/state/facts/shipped_models.js';

/** Qwen2.5 0.5B, from its config.json. */
const QWEN = {
  vocab_size: 151936,
  d_model: 896,
  n_layers: 24,
  n_heads: 14,
  n_kv_heads: 2,
  d_ff: 4864,
  context_length: 32768,
  norm: 'rmsnorm',
  ffn: 'swiglu',
  position: 'rope',
  bias_qkv: true,
  tie_word_embeddings: true,
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
  assert.equal(of(/^SmolLM2/).parameters, countParameters('smollm2-135m').total);
  assert.equal(of(/^Qwen/).parameters, countParameters(QWEN).total);
});

test('bytes to download are those of the files, and bytes of memory those that the engine keeps', () => {
  // Sizes of the files on the hub, whose headers are 30,536, 14,283 and 32,288 bytes long.
  for (const [model, bytes] of [
    [HUB[0], 269_060_552],
    [HUB[1], 548_105_171],
    [HUB[2], 988_097_824],
  ])
    assert.ok(bytes - downloadOf(model) > 0 && bytes - downloadOf(model) < 40_000, model.name);
  const small = { ...HUB[0], parameters: 3200 };
  assert.deepEqual([memoryOf(small, 'q8_0'), memoryOf(small, 'q4_0'), memoryOf(small, 'keep')], [3600, 2000, 6400]);
});
