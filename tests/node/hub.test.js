// hub.test.js - what a pasted address of a model means, and what the models offered by name need
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countParameters } from '../../web/lib/index.js';
import { HUB, memoryOf, sourceOf } from '../../web/page/state/hub.js';
import { nameOf } from '../../web/page/state/models.js';

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
  const of = (/** @type {RegExp} */ name) => HUB.find((model) => name.test(model.name)) ?? assert.fail();
  assert.equal(of(/^GPT-2/).parameters, countParameters('gpt2').total);
  assert.equal(of(/^SmolLM2/).parameters, countParameters('smollm2-135m').total);
  assert.equal(memoryOf({ ...HUB[0], parameters: 3200 }, 'q8_0'), 3400);
  assert.equal(memoryOf({ ...HUB[0], parameters: 3200 }, 'q4_0'), 1800);
  assert.equal(memoryOf(HUB[0], 'keep'), HUB[0].fileBytes);
});
