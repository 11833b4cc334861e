// pooling.test.js - embed(): pooling, normalisation and truncation
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { bert, ids, rowsOf, vocabulary, withWords } from './bert_folders.js';
import { distance, golden, json, openCase, readTensors, refused, sameBits, shared, untilEnd } from './helpers.js';
import { safetensors, torchFile } from './checkpoint_files.js';

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

  const mean = flags('pooling_mode_mean_tokens');
  const dense = ['Transformer', 'Pooling', 'Dense'];
  const byKind = (rows) => {
    const column = (of) => Array.from(rows[0], (_, j) => of(rows.map((row) => row[j])));
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    return {
      mean: column((x) => sum(x) / x.length),
      mean_sqrt_len: column((x) => sum(x) / Math.sqrt(x.length)),
      weightedmean: column((x) => sum(x.map((v, i) => v * (i + 1))) / sum(x.map((_, i) => i + 1))),
      max: column((x) => Math.max(...x)),
      cls: [...rows[0]],
      last: [...rows.at(-1)],
    };
  };

  test('every kind of pooling, and several at once', async () => {
    const names = ['cls', 'max', 'mean', 'mean_sqrt_len_tokens', 'weightedmean', 'lasttoken'];
    const kinds = ['cls', 'max', 'mean', 'mean_sqrt_len', 'weightedmean', 'last'];
    const old = ['cls_token', 'max_tokens', 'mean_tokens', 'mean_sqrt_len_tokens', 'weightedmean_tokens', 'lasttoken'];
    const all = Object.fromEntries(old.map((name) => [`pooling_mode_${name}`, true]));
    for (const config of [{ pooling_mode: names }, all]) {
      const model = await load(sentence(config, ['Transformer', 'Pooling']));
      assert.deepEqual(model.pooling.pooling, kinds);
      const want = byKind(rowsOf((await model.forward(ids)).hidden));
      const whole = await model.embed(ids);
      assert.deepEqual(whole.shape, [6 * 32]);
      assert.ok(
        distance(
          whole.data,
          kinds.flatMap((kind) => want[kind]),
        ) < 1e-5,
      );
      for (const kind of kinds)
        assert.ok(distance((await model.embed(ids, { pooling: kind })).data, want[kind]) < 1e-5);
      assert.ok(
        distance((await model.embed(ids, { pooling: ['max', 'cls'] })).data, [...want.max, ...want.cls]) < 1e-5,
      );
      model.dispose();
    }
    for (const [i, name] of names.entries()) {
      const model = await load(sentence({ pooling_mode: name }, ['Transformer', 'Pooling']));
      assert.equal(model.pooling.pooling, kinds[i]);
      model.dispose();
    }
  });

  test('Dense layers follow the pooling, with activation, bias and residual, in safetensors and torch.save', async () => {
    const weight = { shape: [5, 32], data: Float32Array.from({ length: 160 }, (_, i) => Math.sin(i)) };
    const bias = { shape: [5], data: Float32Array.of(0.1, -0.2, 0.3, -0.4, 0.5) };
    const residual = { shape: [5, 32], data: weight.data.map((x) => x / 2) };
    const given = { 'linear.weight': weight, 'linear.bias': bias, 'residual.weight': residual };
    const list = Object.entries(given).map(([name, { shape, data }]) => ({ name, shape, dtype: 'F32', data }));
    const torch = torchFile(list.map(({ name, shape, data }) => ({ key: name, name, shape, data })));
    for (const [activation, f, useResidual] of [
      ['torch.nn.modules.activation.Tanh', Math.tanh, false],
      ['torch.nn.modules.linear.Identity', (x) => x, true],
      ['torch.nn.modules.activation.ReLU', (x) => Math.max(0, x), false],
    ])
      for (const file of [{ 'model.safetensors': safetensors(given) }, { 'pytorch_model.bin': torch }]) {
        const config = { activation_function: activation, use_residual: useResidual };
        const inFolder = Object.entries(file).map(([name, bytes]) => [`2_Dense/${name}`, new Uint8Array(bytes)]);
        const more = { '2_Dense/config.json': config, ...Object.fromEntries(inFolder) };
        const model = await load(sentence(mean, [...dense, 'Normalize'], more));
        assert.deepEqual(model.pooling, { pooling: 'mean', normalize: true, maxTokens: null, lacks: null });
        const x = byKind(rowsOf((await model.forward(ids)).hidden)).mean;
        const times = (m, i) => x.reduce((s, v, j) => s + v * m.data[i * 32 + j], 0);
        const y = Array.from(bias.data, (b, i) => f(times(weight, i) + b) + (useResidual ? times(residual, i) : 0));
        const unit = y.map((v) => v / Math.hypot(...y));
        assert.ok(distance((await model.embed(ids)).data, unit) < 1e-5);
        assert.ok(distance((await model.embed(ids, { normalize: false })).data, y) < 1e-5);
        assert.deepEqual((await model.embed([ids, ids])).shape, [2, 5]);
        assert.deepEqual((await model.embed(ids, { pooling: 'cls' })).shape, [32]);
        model.dispose();
      }
    await refused(load(sentence(mean, dense)), 'not-found', /2_Dense: there is neither model\.safetensors/);
  });

  test('prompts are put before texts: the default one, one by its name, any text, or none', async () => {
    const settings = { prompts: { query: 'q a ', document: '' }, default_prompt_name: 'query' };
    const file = { 'config_sentence_transformers.json': settings };
    const model = await untilEnd(load(sentence(mean, ['Transformer', 'Pooling'], file)));
    assert.deepEqual([model.pooling.prompts, model.pooling.defaultPrompt], [settings.prompts, 'q a ']);
    const same = async (a, b) => assert.ok(sameBits((await a).data, (await b).data));
    await same(model.embed('b c'), model.embed('q a b c', { prompt: '' }));
    await same(model.embed('b c', { prompt: 'x ' }), model.embed('x b c', { prompt: 'document' }));
    await same(model.embed(['b', 'c d']), model.embed(['b', 'c d'], { prompt: 'query' }));
    await refused(model.embed('b', { prompt: 5 }), 'bad-argument', /prompt/);
    const left = await untilEnd(
      load(sentence({ pooling_mode: 'mean', include_prompt: false }, ['Transformer', 'Pooling'], file)),
    );
    const rows = rowsOf((await left.forward('q a b c')).hidden).slice(3); // behind [CLS] q a
    assert.ok(distance((await left.embed('b c')).data, byKind(rows).mean) < 1e-6);
    const wrong = { 'config_sentence_transformers.json': { ...settings, default_prompt_name: 'other' } };
    await refused(load(sentence(mean, undefined, wrong)), 'bad-file', /default_prompt_name is "other"/);
  });

  test('the most tokens of release 6, an empty text, lower case, and a transformer in a subfolder', async () => {
    const six = { 'tokenizer_config.json': { model_max_length: 6, do_lower_case: false } };
    const model = await untilEnd(load(sentence(mean, undefined, six)));
    assert.equal(model.pooling.maxTokens, 6);
    const [cut, start] = await Promise.all(['a b c d e f g', 'a b c d'].map((text) => model.embed(text)));
    assert.ok(sameBits(cut.data, start.data));
    const ends = [vocabulary.indexOf('[CLS]'), vocabulary.indexOf('[SEP]')];
    assert.ok(sameBits((await model.embed('')).data, (await model.embed(ends)).data));
    const lower = { ...six, 'sentence_bert_config.json': { do_lower_case: true } };
    const small = await untilEnd(load(sentence(mean, undefined, lower)));
    assert.ok(sameBits((await small.embed('A B')).data, (await model.embed('a b')).data));
    const files = { 'modules.json': modules('Transformer', 'Pooling').map((m, i) => (i ? m : { ...m, path: '0_T' })) };
    const whole = sentence(mean, undefined, six);
    mkdirSync(join(whole, '0_T'));
    for (const name of ['config.json', 'model.safetensors', 'vocab.txt', 'tokenizer_config.json'])
      renameSync(join(whole, name), join(whole, '0_T', name));
    writeFileSync(join(whole, 'modules.json'), JSON.stringify(files['modules.json']));
    const inside = await untilEnd(load(whole));
    assert.deepEqual(inside.pooling, { pooling: 'mean', normalize: false, maxTokens: 6, lacks: null });
    const plain = (await model.embed('a b c d e f g', { normalize: false })).data;
    assert.ok(sameBits((await inside.embed('a b c d e f g')).data, plain));
  });

  // sentence-transformers 6.2.0 with transformers 5.24.0: its vectors of ten texts, rounded to six digits
  test(
    'vectors as sentence-transformers gives them',
    { skip: !shared || !existsSync(join(shared, 'sentences')) },
    async () => {
      for (const name of ['mean', 'prompt-default']) {
        const folder = `${join(shared, 'sentences', name)}/`;
        const model = await load(folder);
        const { texts, emb } = json(join(folder, 'case.json'));
        const { data } = await model.embed(texts);
        assert.ok(Math.max(...emb.flat().map((x, i) => Math.abs(x - data[i]))) < 1e-5, name);
        model.dispose();
      }
    },
  );

  test('a step or a kind of pooling that is lacking is refused by name, unless the caller chooses another', async () => {
    for (const [source, name] of [
      [sentence({ pooling_mode: 'median' }), /"median"/],
      [sentence({ pooling_mode: ['mean', 'median'] }), /\["mean", ?"median"\]/],
      [
        sentence(mean, dense, { '2_Dense/config.json': { activation_function: 'a.Softplus' } }),
        /activation "a\.Softplus"/,
      ],
      [sentence(mean, dense, { '2_Dense/config.json': { module_input_name: 'tokens' } }), /Dense layer of "tokens"/],
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
    const cut = await model.embed([...all.slice(0, 5), all.at(-1)]); // ids are taken as they are
    assert.ok(sameBits((await model.embed('a b c d e f g h', { truncate: true })).data, cut.data));
    assert.ok(sameBits((await model.embed('a b c d e f g h')).data, cut.data));
    assert.ok(!sameBits((await model.embed(all)).data, cut.data));
    assert.ok(!sameBits((await model.embed('a b c d e f g h', { truncate: false })).data, cut.data));
    assert.ok(sameBits((await model.embed('a b', { truncate: true })).data, (await model.embed('a b')).data));
    const long = 'a '.repeat(20000);
    await refused(model.embed(long, { truncate: false }), 'context-full');
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
