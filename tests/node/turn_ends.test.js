// turn_ends.test.js - the tokens that end a turn, by their texts; decoders in a pipeline of sentence-transformers
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { endsByText } from '../../web/lib/files/vocabulary/gguf_vocab.js';
import { temporaryFolder } from '../temporary.js';
import { distance } from './helpers.js';
import { packedModels } from './packed_models.js';

const all = packedModels('families.bin');
const { source, config } = all.find(({ name }) => name === 'arcee');

/** A folder with a model of 61 tokens, and further files. */
async function folderWith(added, more = {}, from = source, json = config) {
  const folder = temporaryFolder('ends');
  const vocab = Object.fromEntries(Array.from({ length: 61 }, (_, id) => [`w${id} `, id]));
  const files = {
    'config.json': json,
    'tokenizer.json': { model: { type: 'BPE', vocab, merges: [] }, added_tokens: added, decoder: { type: 'Fuse' } },
    ...more,
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), JSON.stringify(content));
  }
  writeFileSync(join(folder, 'model.safetensors'), new Uint8Array(await from.weights.arrayBuffer()));
  return `${folder}/`;
}

/** A special token, or another one. */
const token = (content, id, special = true) => ({ content, id, special });

/** The end tokens of a folder, but for the 2 of config.json. */
async function endsOf(...given) {
  const model = await load(await folderWith(...given), { worker: false });
  model.dispose();
  return model.special.eos.filter((id) => id !== 2).sort((a, b) => a - b);
}

// The names are those of llama.cpp (llama-vocab.cpp, special_eog_ids).
test('a turn in a folder ends at the tokens that llama.cpp knows, and at eos_token of tokenizer_config.json', async () => {
  assert.deepEqual(await endsOf([token('<|im_end|>', 5), token('<|im_start|>', 6), token('<turn|>', 7)]), [5, 7]);
  assert.deepEqual(await endsOf([token('<|eot_id|>', 5, false)]), [], 'no special token');
  const settings = { 'tokenizer_config.json': { eos_token: { content: '<done>' } } };
  assert.deepEqual(await endsOf([token('<done>', 9), token('[EOS]', 8)], settings), [8, 9]);
});

test('where a message has several parts, <|end|> ends a part', () => {
  const idOf = (texts) => (text) => (texts.includes(text) ? texts.indexOf(text) : null);
  assert.deepEqual(endsByText(idOf(['<|end|>', '<|return|>'])), [0, 1]);
  assert.deepEqual(endsByText(idOf(['<|end|>', '<|return|>', '<|call|>'])), [1, 2]);
  assert.deepEqual(endsByText(idOf(['<|end|>', '<|calls|>', '<|flush|>'])).sort(), [1, 2]);
});

// Qwen3-Embedding is saved as Qwen3ForCausalLM beside modules.json: embed refused it.
test('a decoder in a pipeline of sentence-transformers gives the state of the last token as its vector', async () => {
  const base = all.find(({ name }) => name === 'qwen2-base');
  const [{ ids, data, shape }] = base.runs;
  const modules = [
    { idx: 0, path: '', type: 'sentence_transformers.models.Transformer' },
    { idx: 1, path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  ];
  const more = { 'modules.json': modules, '1_Pooling/config.json': { pooling_mode: 'lasttoken' } };
  const json = { ...base.config, architectures: ['Qwen2ForCausalLM'], tie_word_embeddings: true };
  const folder = await folderWith([], more, base.source, json);
  const model = await load(folder, { dtype: 'f32', worker: false });
  try {
    const vector = await model.embed(ids);
    assert.ok(distance(vector.data, data.subarray(data.length - shape[1])) < 2e-4);
  } finally {
    model.dispose();
  }
});
