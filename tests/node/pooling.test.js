// pooling.test.js - embed(): pooling, normalisation and truncation
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { bert, ids, rowsOf, withWords } from './bert_folders.js';
import { distance, golden, json, openCase, readTensors, refused, sameBits, untilEnd } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

describe('pooling', () => {
  const modules = (...types) =>
    types.map((type, idx) => ({
      idx,
      name: String(idx),
      path: { Transformer: '', Pooling: '1_Pooling', Normalize: '2_Normalize' }[type] ?? `${idx}_${type}`,
      type: `sentence_transformers.models.${type}`,
    }));
  const flags = (name) => ({ word_embedding_dimension: 32, pooling_mode_mean_tokens: false, [name]: true });
  const sentence = (pooling, types = ['Transformer', 'Pooling', 'Normalize'], more = {}) =>
    withWords({ 'modules.json': modules(...types), '1_Pooling/config.json': pooling, ...more });

  test('the files of sentence-transformers decide, and options override them', async () => {
    for (const [pooling, types, expected] of [
      [flags('pooling_mode_mean_tokens'), undefined, { pooling: 'mean', normalize: true }],
      [flags('pooling_mode_cls_token'), ['Transformer', 'Pooling'], { pooling: 'cls', normalize: false }],
      [flags('pooling_mode_lasttoken'), undefined, { pooling: 'last', normalize: true }],
      [{ pooling_mode: 'cls' }, undefined, { pooling: 'cls', normalize: true }],
    ]) {
      const model = await load(sentence(pooling, types, { 'sentence_bert_config.json': { max_seq_length: 12 } }));
      assert.deepEqual(model.pooling, { ...expected, maxTokens: 12, lacks: null });
      const { hidden } = await model.forward(ids);
      const rows = rowsOf(hidden);
      const want = {
        mean: rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length),
        cls: rows[0],
        last: rows.at(-1),
      };
      const unit = (v) => v.map((x) => x / Math.hypot(...v));
      const own = want[expected.pooling];
      assert.ok(distance((await model.embed(ids)).data, expected.normalize ? unit(own) : own) < 1e-6);
      for (const [kind, vector] of Object.entries(want)) {
        const options = { pooling: kind };
        assert.ok(distance((await model.embed(ids, { ...options, normalize: false })).data, vector) < 1e-6);
        assert.ok(distance((await model.embed(ids, { ...options, normalize: true })).data, unit(vector)) < 1e-6);
      }
      model.dispose();
    }
  });

  test('without such files: the mean, not normalised; models that are no encoder have none', async () => {
    const model = await load(bert.source);
    assert.deepEqual(model.pooling, { pooling: 'mean', normalize: false, maxTokens: null, lacks: null });
    model.dispose();
    const gguf = await load(openCase('gguf_bert').source);
    assert.deepEqual(gguf.pooling, { pooling: 'mean', normalize: true, maxTokens: null, lacks: null });
    gguf.dispose();
    const decoder = await untilEnd(create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 }));
    assert.equal(decoder.pooling, null);
  });

  test('a step or a kind of pooling that is lacking is refused by name, unless the caller chooses another', async () => {
    for (const [source, name] of [
      [sentence(flags('pooling_mode_max_tokens')), /pooling_mode_max_tokens/],
      [sentence({ pooling_mode_mean_tokens: true, pooling_mode_cls_token: true }), /mean_tokens with .*cls_token/],
      [sentence({ pooling_mode: 'weightedmean' }), /"weightedmean"/],
      [sentence(flags('pooling_mode_mean_tokens'), ['Transformer', 'Pooling', 'Dense']), /models\.Dense/],
      [sentence(flags('pooling_mode_mean_tokens'), ['Transformer', 'CNN', 'Pooling']), /models\.CNN/],
      [sentence({}), /no pooling/],
    ]) {
      const model = await load(source);
      await refused(model.embed(ids), 'unsupported', name);
      assert.deepEqual((await model.embed(ids, { pooling: 'cls' })).shape, [32]);
      model.dispose();
    }
  });

  test('truncate reads the first tokens and the closing one', async () => {
    const files = { 'sentence_bert_config.json': { max_seq_length: 6 } };
    const model = await untilEnd(load(sentence(flags('pooling_mode_mean_tokens'), undefined, files)));
    const all = await model.encode('a b c d e f g h');
    const cut = await model.embed([...all.slice(0, 5), all.at(-1)]);
    assert.ok(sameBits((await model.embed('a b c d e f g h', { truncate: true })).data, cut.data));
    assert.ok(!sameBits((await model.embed('a b c d e f g h')).data, cut.data));
    assert.ok(sameBits((await model.embed('a b', { truncate: true })).data, (await model.embed('a b')).data));
    const long = 'a '.repeat(20000);
    await refused(model.embed(long), 'context-full');
    assert.ok(sameBits((await model.embed(long, { truncate: true })).data, (await model.embed('a a a a')).data));
    await refused(model.embed('a', { truncate: true, mask: [1, 1, 1] }), 'bad-option', /truncate/);
  });

  test('the page’s own folder input finds 1_Pooling/config.json by its path', async () => {
    const files = await Promise.all(
      [
        ['m/config.json', JSON.stringify(json(join(golden, 'bert/config.json')))],
        ['m/model.safetensors', new Uint8Array(safetensors(readTensors(join(golden, 'bert/model.safetensors'))))],
        ['m/modules.json', JSON.stringify(modules('Transformer', 'Pooling', 'Normalize'))],
        ['m/1_Pooling/config.json', JSON.stringify(flags('pooling_mode_cls_token'))],
      ].map(([path, content]) => {
        const file = new File([content], String(path).split('/').at(-1));
        return Object.defineProperty(file, 'webkitRelativePath', { value: path });
      }),
    );
    for (const list of [files, [...files].reverse()]) {
      const model = await load(list);
      assert.equal(model.pooling.pooling, 'cls');
      model.dispose();
    }
  });

  test('files of a wrong kind are refused or ignored, and never crash', async () => {
    for (const modules of ['[1, null, {}]', '{}', 'null', '[{"type":"a.Pooling","path":"../../x"}]', '[[]]'])
      await load(withWords({ 'modules.json': modules })).then((model) => model.dispose());
    await refused(load(withWords({ 'modules.json': '[' })), 'bad-file', /modules\.json/);
    await refused(load(sentence('{', undefined)), 'bad-file', /1_Pooling\/config\.json/);
  });
});
