// encoders.test.js - BERT and its relatives: outputs, pooling, token types, tensor names, tokenizers, refusals. The
// numbers of whole passes are compared with Hugging Face's and llama.cpp's in parity.test.js
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { engineModule } from '../../web/lib/engine/binary.js';
import { Tokenizer, countParameters, create, load, train } from '../../web/lib/index.js';
import { ggufWordPiece, vocabTxtJson, wordPieceJson } from '../../web/lib/encoders/wordpiece.js';
import { distance, golden, json, numbers, openCase, readTensors, refused, safetensors, sameBits } from './helpers.js';

const folder = mkdtempSync(join(tmpdir(), 'glassformer-encoders-'));
after(() => rmSync(folder, { recursive: true }));

/** 57 tokens: the special ones, letters and their continuations. */
const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ...letters, ...letters.map((c) => `##${c}`)];
let made = 0;
/** Whether this Node has relaxed SIMD. */
const relaxed = await engineModule({ backend: 'relaxed' }).then(
  () => true,
  () => false,
);

/**
 * A folder with the files of a case and others.
 * @param {string} name  of the case
 * @param {Record<string, any>} [files]  texts, bytes or JSON by path
 * @returns {string}
 */
function folderOf(name, files = {}) {
  const to = join(folder, String(made++));
  mkdirSync(to);
  for (const file of ['config.json', 'model.safetensors']) cpSync(join(golden, name, file), join(to, file));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(to, path, '..'), { recursive: true });
    const plain = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(join(to, path), plain ? content : JSON.stringify(content));
  }
  return `${to}/`;
}

/** A folder of the BERT case with a vocabulary. @param {Record<string, any>} [files] */
const withWords = (files) => folderOf('bert', { 'vocab.txt': `${vocabulary.join('\n')}\n`, ...files });

const rowsOf = ({ data, shape: [n, d] }) => Array.from({ length: n }, (_, i) => data.slice(i * d, (i + 1) * d));
const bert = openCase('bert');
const ids = bert.about.input_ids.slice(0, 23);

describe('one pass by every path has the same bits', () => {
  test('a batch gives the rows of single calls, padded with zeros', async () => {
    const model = await load(bert.source);
    const batch = [ids, ids.slice(0, 7), ids.slice(3, 4)];
    const types = batch.map((b) => b.map((_, i) => (i > 2 ? 1 : 0)));
    const { hidden, pooled } = await model.forward(batch, { tokenTypes: types });
    assert.deepEqual(
      [hidden.shape, pooled.shape],
      [
        [3, 23, 32],
        [3, 32],
      ],
    );
    const vectors = await model.embed(batch, { tokenTypes: types });
    assert.deepEqual(vectors.shape, [3, 32]);
    for (const [i, one] of batch.entries()) {
      const single = await model.forward(one, { tokenTypes: types[i] });
      const from = hidden.data.subarray(i * 23 * 32, (i + 1) * 23 * 32);
      assert.ok(sameBits(from.slice(0, one.length * 32), single.hidden.data));
      assert.ok(from.slice(one.length * 32).every((x) => x === 0));
      assert.ok(sameBits(rowsOf(pooled)[i], single.pooled.data));
      assert.ok(sameBits(rowsOf(vectors)[i], (await model.embed(one, { tokenTypes: types[i] })).data));
    }
    model.dispose();
  });

  test('a mask at the end gives what the shorter text gives', async () => {
    for (const name of ['bert', 'roberta', 'distilbert', 'mpnet']) {
      const model = await load(openCase(name).source);
      const { about } = openCase(name);
      const n = about.attention_mask.indexOf(0);
      const types = about.token_type_ids;
      const whole = await model.forward(about.input_ids, { mask: about.attention_mask, tokenTypes: types });
      const short = await model.forward(about.input_ids.slice(0, n), { tokenTypes: types?.slice(0, n) });
      assert.ok(sameBits(whole.hidden.data.slice(0, n * 32), short.hidden.data), name);
      const vector = await model.embed(about.input_ids, { mask: about.attention_mask, tokenTypes: types });
      const other = await model.embed(about.input_ids.slice(0, n), { tokenTypes: types?.slice(0, n) });
      assert.ok(sameBits(vector.data, other.data), name);
      model.dispose();
    }
  });

  for (const name of ['bert', 'bert_mlm', 'roberta', 'distilbert', 'mpnet'])
    test(`${name}: both binaries, threads, capture`, async () => {
      const { source, about } = openCase(name);
      const options = { mask: about.attention_mask, tokenTypes: about.token_type_ids };
      const results = [];
      const backends = relaxed ? ['simd', 'relaxed'] : ['simd'];
      for (const how of backends.flatMap((backend) => [{ backend }, { backend, threads: 3, worker: true }])) {
        const model = await load(source, /** @type {any} */ (how));
        const plain = await model.forward(about.input_ids, options);
        const seen = await model.forward(about.input_ids, { ...options, capture: ['*'] });
        for (const kind of ['logits', 'hidden', 'pooled'])
          if (plain[kind]) assert.ok(sameBits(plain[kind].data, seen[kind].data), `${kind} with capture`);
        results.push(plain);
        model.dispose();
      }
      for (const other of results.slice(1))
        for (const kind of ['logits', 'hidden', 'pooled'])
          if (results[0][kind]) assert.ok(sameBits(results[0][kind].data, other[kind].data), kind);
    });
});

describe('points', () => {
  test('embedding, token types, head and pooler are captured under their names', async () => {
    const model = await load(bert.source);
    const tokenTypes = ids.map((_, i) => i % 2);
    const { hidden, pooled, captured } = await model.forward(ids, { tokenTypes, capture: ['*'] });
    const types = await Promise.all([0, 1].map((row) => model.weight('token_type.weight', row)));
    const seen = rowsOf(captured.hook_token_type_embed);
    seen.forEach((row, i) => assert.ok(sameBits(row, types[i % 2])));
    const sum = captured.hook_embed.data.map(
      (x, i) => x + captured.hook_pos_embed.data[i] + captured.hook_token_type_embed.data[i],
    );
    const [first] = rowsOf({ data: sum, shape: [23, 32] });
    const mean = first.reduce((a, b) => a + b, 0) / 32;
    const scale = Math.sqrt(first.reduce((a, b) => a + (b - mean) ** 2, 0) / 32 + 1e-12);
    assert.ok(Math.abs(captured['embed.ln.hook_scale'].data[0] - scale) < 1e-5);
    assert.deepEqual(captured['pooler.hook_pooler_out'].shape, [1, 32]);
    assert.ok(sameBits(captured['pooler.hook_pooler_out'].data, pooled.data));
    assert.ok(sameBits(captured['blocks.2.hook_resid_post'].data, hidden.data));
    model.dispose();
    const mlm = await load(openCase('bert_mlm').source);
    const points = await mlm.points();
    assert.ok(points.includes('mlm_head.ln.hook_normalized') && !points.includes('pooler.hook_pooler_out'));
    mlm.dispose();
  });

  test('edits at these points change the outputs that follow from them', async () => {
    const model = await load(openCase('bert_mlm').source);
    const plain = await model.forward(ids);
    const edited = async (edit) => model.forward(ids, { edits: [edit] });
    const head = await edited({ at: 'mlm_head.ln.hook_normalized', position: 4, scale: 0 });
    assert.ok(sameBits(head.hidden.data, plain.hidden.data));
    const changed = rowsOf(head.logits).map((row, i) => !sameBits(row, rowsOf(plain.logits)[i]));
    assert.deepEqual(
      changed.flatMap((c, i) => (c ? [i] : [])),
      [4],
    );
    // the other type for all tokens, by an edit and by the option
    const one = await model.weight('token_type.weight', 1);
    const byEdit = await edited({ at: 'hook_token_type_embed', set: one });
    const byOption = await model.forward(ids, { tokenTypes: ids.map(() => 1) });
    assert.ok(sameBits(byEdit.logits.data, byOption.logits.data));
    assert.ok(distance(byOption.logits.data, plain.logits.data) > 1);
    model.dispose();
    const pooler = await load(bert.source);
    const { pooled } = await pooler.forward(ids, { edits: [{ at: 'pooler.hook_pooler_out', index: 3, set: 0.5 }] });
    assert.equal(pooled.data[3], 0.5);
    pooler.dispose();
  });

  test('trace lists every operation once, with all parameters', async () => {
    for (const name of ['bert', 'bert_mlm', 'distilbert']) {
      const model = await load(openCase(name).source);
      const rows = await model.trace(ids);
      const whole = rows.filter((row) => row.layer === null).map((row) => row.name);
      assert.deepEqual(
        whole,
        { bert: ['embed', 'pooler'], bert_mlm: ['embed', 'head_transform', 'head'], distilbert: ['embed'] }[name],
      );
      assert.ok(
        rows.every(
          (row) => (row.stack === 'encoder' && row.flops > 0 && row.bytes > 0 && row.ms >= 0) || row.op === 'attn.rope',
        ),
      );
      const sum = rows.reduce((n, row) => n + row.parameters, 0);
      assert.equal(sum, model.parameters.total, name);
      model.dispose();
    }
  });

  test('explain computes every value of the encoder from its terms', async () => {
    for (const name of ['bert', 'roberta', 'mpnet', 'distilbert']) {
      const { source, about } = openCase(name);
      const model = await load(source);
      const input = [...about.input_ids.slice(0, 4), about.input_ids.at(-1), ...about.input_ids.slice(5, 8)];
      const tokenTypes = name === 'bert' ? [0, 0, 0, 1, 1, 1, 0, 1] : undefined;
      for (const at of await model.points()) {
        const options = { at, tokenTypes, position: 5, index: 3 };
        if (at.endsWith('hook_scale')) options.index = 0;
        if (at === 'pooler.hook_pooler_out') options.position = 0; // it reads the first token
        const { value, computed, how } = await model.explain(input, options);
        if (how !== 'masked')
          assert.ok(Math.abs(value - computed) < 2e-5 * Math.max(1, Math.abs(value)), `${name} ${at}: ${computed}`);
        if (how !== 'masked') assert.ok(Number.isFinite(value), at);
      }
      model.dispose();
    }
  });

  test('the logit lens of a masked language model ends in its own logits', async () => {
    const model = await load(openCase('bert_mlm').source);
    const { logits } = await model.forward(ids);
    const lens = await model.logitLens(ids, { top: 1 });
    assert.equal(lens.length, 3);
    for (const [i, row] of rowsOf(logits).entries())
      assert.equal(
        lens[2][i][0].id,
        row.reduce((best, x, k) => (x > row[best] ? k : best), 0),
      );
    await refused(model.attribution(ids), 'unsupported', /mlm_head/);
    for (const at of ['logits', 'mlm_head.ln.hook_scale']) {
      const { value, computed } = await model.explain(ids, { at, position: 1, index: 0 });
      assert.ok(Math.abs(value - computed) < 2e-5 * Math.max(1, Math.abs(value)), `${at}: ${value}, ${computed}`);
    }
    model.dispose();
  });
});

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
        const options = /** @type {any} */ ({ pooling: kind });
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
    const decoder = await create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 });
    assert.equal(decoder.pooling, null);
    decoder.dispose();
  });

  test('a step or a kind of pooling that is lacking is refused by name, unless the caller chooses another', async () => {
    for (const [source, name] of [
      [sentence(flags('pooling_mode_max_tokens')), /pooling_mode_max_tokens/],
      [sentence({ pooling_mode_mean_tokens: true, pooling_mode_cls_token: true }), /mean_tokens with .*cls_token/],
      [sentence({ pooling_mode: 'weightedmean' }), /"weightedmean"/],
      [sentence(flags('pooling_mode_mean_tokens'), ['Transformer', 'Pooling', 'Dense']), /models\.Dense/],
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
    const model = await load(sentence(flags('pooling_mode_mean_tokens'), undefined, files));
    const all = await model.encode('a b c d e f g h');
    const cut = await model.embed([...all.slice(0, 5), all.at(-1)]);
    assert.ok(sameBits((await model.embed('a b c d e f g h', { truncate: true })).data, cut.data));
    assert.ok(!sameBits((await model.embed('a b c d e f g h')).data, cut.data));
    assert.ok(sameBits((await model.embed('a b', { truncate: true })).data, (await model.embed('a b')).data));
    const long = 'a '.repeat(20000);
    await refused(model.embed(long), 'context-full');
    assert.ok(sameBits((await model.embed(long, { truncate: true })).data, (await model.embed('a a a a')).data));
    await refused(model.embed('a', { truncate: true, mask: [1, 1, 1] }), 'bad-option', /truncate/);
    model.dispose();
  });

  test('the page’s own folder input finds 1_Pooling/config.json by its path', async () => {
    const files = await Promise.all(
      [
        ['m/config.json', JSON.stringify(json(join(golden, 'bert/config.json')))],
        ['m/model.safetensors', new Uint8Array(safetensors(readTensors(join(golden, 'bert/model.safetensors'))))],
        ['m/modules.json', JSON.stringify(modules('Transformer', 'Pooling', 'Normalize'))],
        ['m/1_Pooling/config.json', JSON.stringify(flags('pooling_mode_cls_token'))],
      ].map(([path, content]) => {
        const file = new File([/** @type {any} */ (content)], String(path).split('/').at(-1));
        return Object.defineProperty(file, 'webkitRelativePath', { value: path });
      }),
    );
    for (const list of [files, [...files].reverse()]) {
      const model = await load(/** @type {any} */ (list));
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

describe('pairs and token types', () => {
  test('a pair has the types of its texts', async () => {
    const model = await load(withWords());
    const tokenizer = await model.tokenizer;
    const both = tokenizer.encodePair('ab', 'c');
    const [cls, sep, a, b, c] = ['[CLS]', '[SEP]', 'a', '##b', 'c'].map((t) => vocabulary.indexOf(t));
    assert.deepEqual(both, { ids: [cls, a, b, sep, c, sep], tokenTypes: [0, 0, 0, 0, 1, 1] });
    assert.deepEqual(tokenizer.encodePair('ab', 'c', { addSpecialTokens: false }), {
      ids: [a, b, c],
      tokenTypes: [0, 0, 1],
    });
    const byPair = await model.forward('ab', { pair: 'c' });
    const byTypes = await model.forward(both.ids, { tokenTypes: both.tokenTypes });
    assert.ok(sameBits(byPair.hidden.data, byTypes.hidden.data));
    const many = await model.forward(['ab', 'q'], { pair: ['c', 'd e'] });
    assert.deepEqual(many.hidden.shape, [2, 6, 32]);
    assert.ok(sameBits(many.hidden.data.slice(0, 6 * 32), byPair.hidden.data));
    assert.ok(
      sameBits((await model.embed('ab', { pair: 'c' })).data, (await model.embed(['ab'], { pair: ['c'] })).data),
    );
    model.dispose();
  });

  test('wrong ones are refused', async () => {
    const model = await load(withWords());
    for (const [input, options, words] of [
      [[5, 6], { tokenTypes: [0] }, /tokenTypes has 1 entries, the sequence has 2 positions/],
      [[5, 6], { tokenTypes: [0, 2] }, /tokenTypes holds 2, this model has 2 token types/],
      [[5, 6], { tokenTypes: [0, -1] }, /holds -1/],
      [[5, 6], { tokenTypes: [0, 0.5] }, /holds 0.5/],
      [[5, 6], { tokenTypes: [0, 'x'] }, /holds "x"/],
      [[5, 6], { tokenTypes: 'ab' }, /expected a list/],
      [[5, 6], { tokenTypes: [[0, 0]] }, /list of lists/],
      [[[5, 6]], { tokenTypes: [[0, 0], [1]] }, /tokenTypes has 2 rows, there are 1 sequences/],
      [[5, 6], { pair: 'a' }, /pair needs an input given as text/],
      ['a', { pair: 'b', tokenTypes: [0, 0] }, /cannot be combined/],
      [['a', 'b'], { pair: 'c' }, /pair is one text, there are 2 sequences/],
      ['a', { pair: 5 }, /pair is 5/],
      ['a', { pooling: 'max' }, /pooling|no option/],
    ])
      await refused(model.forward(/** @type {any} */ (input), /** @type {any} */ (options)), 'bad-option', words);
    await refused(model.embed('a', /** @type {any} */ ({ pooling: 'max' })), 'bad-option', /mean, cls, last, pooler/);
    model.dispose();
    const decoder = await create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 });
    await refused(decoder.forward([1], { tokenTypes: [0] }), 'bad-option', /kind decoder/);
    decoder.dispose();
    const plain = await load(openCase('distilbert').source);
    await refused(plain.forward([1], { tokenTypes: [0] }), 'bad-option', /0 token types/);
    await refused(plain.embed([1], { pooling: 'pooler' }), 'bad-option', /no pooler/);
    plain.dispose();
  });
});

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
      ['hidden_act', 'tanh'],
    ])
      await assert.rejects(open(tensors, { [key]: value }), (error) =>
        error.message.includes(key === 'hidden_act' ? 'ffn' : key),
      );
    await refused(
      load({ weights: safetensors(tensors), config: { ...config, model_type: 'nomic_bert' } }),
      'unsupported',
      /nomic_bert/,
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
      assert.equal(countParameters(/** @type {any} */ (config)).total, total, JSON.stringify(config));
  });
});

describe('what an encoder cannot do is refused in words', () => {
  test('calls that need a next token', async () => {
    const model = await load(withWords());
    const words = /this model is an encoder: it has no next token; use embed or forward/;
    await refused(model.generate('a').next(), 'unsupported', words);
    await refused(model.generate([[5], [6]]).next(), 'unsupported', words);
    await refused(model.session(), 'unsupported', words);
    await refused(model.logitLens('a'), 'unsupported', /encoder without a head: it has no logits/);
    await refused(model.attribution('a'), 'unsupported', /encoder without a head/);
    await refused(model.explain('a', { at: 'logits' }), 'unsupported', /encoder without a head/);
    model.dispose();
    const config = { kind: 'encoder', vocab_size: 300, d_model: 16, n_layers: 1, n_heads: 2, mlm_head: true };
    await refused(train(config, 'a story. '.repeat(400), { steps: 1 }).next(), 'unsupported', /encoder/);
  });

  test('the parts of encoders need one', () => {
    const decoder = { vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 };
    for (const [fields, words] of [
      [{ n_token_types: 2 }, /n_token_types 2 needs kind encoder/],
      [{ position: 'learned', position_offset: 2, position_pad_id: 1 }, /position_pad_id 1 needs kind encoder/],
      [{ kind: 'encoder', position: 'learned', position_pad_id: 1 }, /position_pad_id 1 needs position_offset above 0/],
    ])
      assert.throws(() => countParameters({ ...decoder, ...fields }), words);
    assert.equal(countParameters({ ...decoder, pooler: true, mlm_head: true }).total, countParameters(decoder).total);
  });
});

test('RoBERTa counts positions by tokens that are not padding', async () => {
  const { source, about } = openCase('roberta');
  const model = await load(source);
  assert.deepEqual([model.contextLength, model.config.positionOffset, model.config.positionPadId], [46, 2, 1]);
  const text = about.input_ids.slice(0, 4);
  const position = async (list) =>
    rowsOf((await model.forward(list, { capture: ['hook_pos_embed'] })).captured.hook_pos_embed);
  const table = await Promise.all([1, 2, 3, 4].map((row) => model.weight('position.weight', row)));
  const rows = await position([1, text[0], 1, 1, text[1], text[2]]);
  for (const [i, row] of [0, 1, 0, 0, 2, 3].entries()) assert.ok(sameBits(rows[i], table[row]), `${i}`);
  assert.equal((await position(numbers(46, 100, 3))).length, 46);
  await refused(model.forward(numbers(47, 100, 3)), 'context-full');
  model.dispose();
});

test('a created encoder with every part runs the same by every path', async () => {
  const base = { kind: 'encoder', vocab_size: 40, n_layers: 2, n_heads: 2, context_length: 40 };
  for (const fields of [
    {
      d_model: 24,
      norm: 'layernorm',
      norm_placement: 'post',
      embed_norm: true,
      position: 'learned',
      position_offset: 3,
      position_pad_id: 7,
      n_token_types: 5,
      pooler: true,
      mlm_head: true,
      bias_head: true,
      ffn: 'gelu_erf',
    },
    { d_model: 32, n_token_types: 1, mlm_head: true, tie_word_embeddings: false, ffn: 'swiglu' },
    { d_model: 16, position: 'sinusoidal', pooler: true, ffn: 'relu', norm: 'layernorm' },
  ]) {
    const model = await create(/** @type {any} */ ({ ...base, ...fields }), { seed: 3 });
    const input = numbers(33, 40, 5);
    const tokenTypes = fields.n_token_types ? input.map((x) => x % fields.n_token_types) : undefined;
    const plain = await model.forward(input, { tokenTypes });
    const seen = await model.forward(input, { tokenTypes, capture: ['*'] });
    for (const kind of ['logits', 'hidden', 'pooled']) {
      const has = { logits: fields.mlm_head, hidden: true, pooled: fields.pooler }[kind];
      assert.equal(!!plain[kind], !!has, kind);
      if (has) assert.ok(sameBits(plain[kind].data, seen[kind].data), kind);
    }
    const sum = (await model.trace(input)).reduce((n, row) => n + row.parameters, 0);
    assert.equal(sum, model.parameters.total);
    model.dispose();
  }
});

describe('WordPiece', () => {
  test('the vocabulary of a GGUF gives the ids of llama.cpp', async () => {
    const { source, about } = openCase('gguf_bert');
    const model = await load(source);
    for (const [text, want] of Object.entries(about.tokenize)) {
      const got = text ? await model.encode(text, { addSpecialTokens: false }) : [];
      assert.deepEqual(got, want, text);
    }
    assert.deepEqual(await model.encode('once [MASK] a time'), [
      2,
      ...about.tokenize['Once upon a time'].with(1, 4),
      3,
    ]);
    assert.equal(await model.decode([93, 109, 24, 107]), 'once upon a time');
    model.dispose();
  });

  test('vocab.txt with the settings of tokenizer_config.json', async () => {
    const tokens = [
      '[PAD]',
      '[UNK]',
      '[CLS]',
      '[SEP]',
      '[MASK]',
      'un',
      '##aff',
      '##able',
      'Un',
      'é',
      'e',
      '中',
      '文',
      ',',
      '!',
    ];
    const make = (config, end = '\n') => new Tokenizer(vocabTxtJson(tokens.join(end) + end, config, 'vocab.txt'));
    const plain = { addSpecialTokens: false };
    const lower = make(null);
    // Devlin et al. 2019 split "unaffable" into un ##aff ##able
    assert.deepEqual(lower.encode('UNaffable, é中文!'), [2, 5, 6, 7, 13, 10, 11, 12, 14, 3]);
    assert.deepEqual(lower.encode('unaffablex  un', plain), [1, 5]);
    assert.deepEqual(lower.encode('[MASK] un', plain), [4, 5]);
    assert.deepEqual(lower.encode('un'.repeat(51), plain), [1]); // more than 100 characters
    assert.equal(lower.decode([5, 6, 7, 13, 10]), 'unaffable, e');
    const cased = make({ do_lower_case: false }, '\r\n');
    assert.deepEqual(cased.encode('Unaffable é', plain), [8, 6, 7, 9]);
    const accents = make({ strip_accents: false });
    assert.deepEqual(accents.encode('É', plain), [9]);
    const whole = make({ tokenize_chinese_chars: false });
    assert.deepEqual(whole.encode('中文', plain), [1]);
    const other = make({ cls_token: { content: 'un' }, sep_token: 'e', tokenizer_class: 'MPNetTokenizer' });
    assert.deepEqual(other.encodePair('é', 'é').ids, [5, 10, 10, 10, 10, 10]);
  });

  test('malformed vocabularies are refused', () => {
    assert.throws(() => vocabTxtJson('a\na\n', null, 'vocab.txt'), /vocab\.txt: a token is there twice/);
    assert.throws(
      () => vocabTxtJson('a\nb\n', null, 'vocab.txt'),
      /vocab\.txt: the token \[CLS\] is not in the vocabulary/,
    );
    const good = wordPieceJson(vocabulary, {}, 'v');
    for (const [change, words] of [
      [{ unk_token: 'none' }, /unknown token "none"/],
      [{ unk_token: 5 }, /unknown token 5/],
      [{ continuing_subword_prefix: 5 }, /continuing_subword_prefix is 5/],
      [{ max_input_chars_per_word: 0 }, /max_input_chars_per_word is 0/],
      [{ max_input_chars_per_word: 1e9 }, /max_input_chars_per_word/],
      [{ vocab: { a: 0, b: 0 } }, /belongs to two tokens/],
      [{ vocab: [] }, /not an object/],
      [{ vocab: {} }, /unknown token/],
    ])
      assert.throws(() => new Tokenizer({ ...good, model: { ...good.model, ...change } }), words);
    const older = { ...good, model: { ...good.model, type: undefined } };
    assert.deepEqual(new Tokenizer(older).encode('ab'), new Tokenizer(good).encode('ab'));
    const prefixless = { ...good, model: { type: 'WordPiece', vocab: good.model.vocab } };
    assert.deepEqual(new Tokenizer(prefixless).encode('ab'), new Tokenizer(good).encode('ab'));
  });

  test('any text gives ids of the vocabulary, and never fails', () => {
    const tokenizer = new Tokenizer(wordPieceJson(vocabulary, {}, 'v'));
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        const one = tokenizer.encode(a);
        assert.ok(one.every((id) => id >= 0 && id < vocabulary.length));
        assert.deepEqual([one[0], one.at(-1)], [2, 3]);
        const { ids: both, tokenTypes } = tokenizer.encodePair(a, b);
        assert.equal(both.length, tokenTypes.length);
        tokenizer.decode(both);
      }),
      { numRuns: 500 },
    );
  });

  test('GGUF tokens without the mark of a word are continuations, those in brackets are not', () => {
    const json = ggufWordPiece(
      'f',
      ['[UNK]', '[CLS]', '[SEP]', '\u2581ab', 'c', '\u2581[', '[unused1]'],
      [2, 3, 3, 1, 1, 1, 1],
      {
        unk: 0,
        cls: 1,
        sep: 2,
        pad: null,
        mask: null,
      },
    );
    assert.deepEqual(Object.keys(json.model.vocab), ['[UNK]', '[CLS]', '[SEP]', 'ab', '##c', '[', '[unused1]']);
    assert.equal(json.normalizer.lowercase, true);
    const cased = ggufWordPiece('f', ['[UNK]', '[CLS]', '[SEP]', '\u2581The'], [2, 3, 3, 1], {
      unk: 0,
      cls: 1,
      sep: 2,
      pad: null,
      mask: null,
    });
    assert.equal(cased.normalizer.lowercase, false);
  });
});
