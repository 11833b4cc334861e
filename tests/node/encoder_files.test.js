// encoder_files.test.js - encoders under the tensor names and in the files of their families
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { countParameters, load } from '../../web/lib/api/index.js';
import { distance, golden, json, openCase, readTensors, refused, sameBits } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const bert = openCase('bert');

describe('tensor names', () => {
  const tensors = readTensors(join(golden, 'bert/model.safetensors'));
  const mlm = readTensors(join(golden, 'bert_mlm/model.safetensors'));
  const config = json(join(golden, 'bert/config.json'));
  const renamed = (all, change) => Object.fromEntries(Object.entries(all).map(([name, t]) => [change(name), t]));
  const open = (all, more = {}) => load({ weights: safetensors(all), config: { ...config, ...more } });
  const zero = (...shape) => ({ shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)) });

  test('with and without a prefix, with the oldest names of norms, with buffers', async () => {
    const want = bert.array('out');
    const { attention_mask: mask, token_type_ids: tokenTypes, input_ids: input } = bert.about;
    for (const all of [
      tensors,
      renamed(tensors, (name) => `bert.${name}`),
      renamed(tensors, (name) => `0.auto_model.${name}`),
      renamed(
        tensors,
        (name) =>
          `bert.${name.replace(/LayerNorm\.weight$/, 'LayerNorm.gamma').replace(/LayerNorm\.bias$/, 'LayerNorm.beta')}`,
      ),
      { ...tensors, 'embeddings.position_ids': zero(1, 48), 'embeddings.token_type_ids': zero(1, 48) },
    ]) {
      const model = await open(all);
      const { hidden } = await model.forward(input, { mask, tokenTypes });
      assert.ok(distance(hidden.data, want) < 2e-4);
      assert.deepEqual([model.config.pooler, model.warnings], [true, []]);
      model.dispose();
    }
  });

  test('a checkpoint without pooler, with both heads, with a classifier', async () => {
    const bare = Object.fromEntries(Object.entries(tensors).filter(([name]) => !name.startsWith('pooler.')));
    const model = await open(bare);
    assert.deepEqual([model.config.pooler, model.config.mlmHead], [false, false]);
    assert.equal((await model.forward([1, 2])).pooled, undefined);
    model.dispose();
    const pretraining = await open({
      ...mlm,
      'bert.pooler.dense.weight': zero(32, 32),
      'bert.pooler.dense.bias': zero(32),
      'cls.predictions.decoder.weight': mlm['bert.embeddings.word_embeddings.weight'],
      'cls.predictions.decoder.bias': mlm['cls.predictions.bias'],
      'cls.seq_relationship.weight': zero(2, 32),
      'cls.seq_relationship.bias': zero(2),
    });
    assert.deepEqual([pretraining.config.pooler, pretraining.config.mlmHead], [true, true]);
    assert.equal(pretraining.config.tieWordEmbeddings, true);
    assert.match(pretraining.warnings.join(), /not run, and they were skipped: cls\.seq_relationship/);
    const { logits, pooled } = await pretraining.forward(openCase('bert_mlm').about.input_ids, {
      tokenTypes: openCase('bert_mlm').about.token_type_ids,
    });
    assert.ok(distance(logits.data, openCase('bert_mlm').array('logits')) < 2.3e-4);
    assert.ok(pooled.data.every((x) => x === 0));
    pretraining.dispose();
    const own = await open({ ...mlm, 'cls.predictions.decoder.weight': zero(112, 32) }, { tie_word_embeddings: false });
    const bias = await own.weight('head.bias');
    const { logits: flat } = await own.forward([5]);
    assert.ok(sameBits(flat.data, bias));
    own.dispose();
    const classifier = await open({
      ...renamed(tensors, (name) => `bert.${name}`),
      'classifier.weight': zero(2, 32),
      'classifier.bias': zero(2),
    });
    assert.match(
      classifier.warnings.join(),
      /classifier\.weight, classifier\.bias|classifier\.bias, classifier\.weight/,
    );
    classifier.dispose();
  });

  test('what is missing or unknown is named', async () => {
    const without = (name) => Object.fromEntries(Object.entries(tensors).filter(([n]) => n !== name));
    await refused(
      open(without('encoder.layer.1.attention.self.key.bias')),
      'missing-tensor',
      /layer\.1\.attention\.self\.key\.bias/,
    );
    await refused(open(without('pooler.dense.bias')), 'missing-tensor', /pooler\.dense\.bias/);
    await refused(open({ ...tensors, 'adapter.weight': zero(3) }), 'unknown-tensor', /adapter\.weight/);
    await refused(
      open({ ...tensors, 'embeddings.token_type_embeddings.weight': zero(3, 32) }),
      'bad-shape',
      /\[3, 32\]/,
    );
    for (const [key, value] of [
      ['position_embedding_type', 'relative_key'],
      ['is_decoder', true],
      ['add_cross_attention', true],
      ['hidden_act', 'laplace'],
    ])
      await assert.rejects(open(tensors, { [key]: value }), (error) =>
        error.message.includes(key === 'hidden_act' ? 'ffn' : key),
      );
    await refused(
      load({ weights: safetensors(tensors), config: { ...config, model_type: 'deberta' } }),
      'unsupported',
      /deberta/,
    );
    for (const pad of [-1, 1.5, 4000, 'x'])
      await refused(
        load({ weights: safetensors(tensors), config: { ...config, model_type: 'roberta', pad_token_id: pad } }),
        ['unsupported', 'bad-config'],
        /pad_token_id/,
      );
  });

  test('counts of published models', () => {
    const base = {
      vocab_size: 30522,
      hidden_size: 768,
      num_hidden_layers: 12,
      num_attention_heads: 12,
      intermediate_size: 3072,
      max_position_embeddings: 512,
      type_vocab_size: 2,
    };
    const roberta = { ...base, vocab_size: 50265, max_position_embeddings: 514, type_vocab_size: 1 };
    for (const [config, total] of [
      [{ ...base, model_type: 'bert', architectures: ['BertModel'] }, 109_482_240],
      [{ ...base, model_type: 'bert', architectures: ['BertForMaskedLM'] }, 109_514_298],
      [{ ...roberta, model_type: 'roberta', architectures: ['RobertaModel'] }, 124_645_632],
      [
        { model_type: 'distilbert', vocab_size: 30522, dim: 768, n_layers: 6, n_heads: 12, hidden_dim: 3072 },
        66_362_880,
      ],
      [
        { ...base, model_type: 'bert', hidden_size: 384, num_hidden_layers: 6, intermediate_size: 1536 },
        22_713_216, // all-MiniLM-L6-v2
      ],
    ])
      assert.equal(countParameters(config).total, total, JSON.stringify(config));
  });
});
