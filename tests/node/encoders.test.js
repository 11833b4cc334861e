// encoders.test.js - BERT and its relatives: outputs, pooling, token types, tensor names, tokenizers, refusals. The
// numbers of whole passes are compared with Hugging Face's and llama.cpp's in parity.test.js
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { engineModule } from '../../web/lib/engine/binary.js';
import { packageFiles } from '../../web/lib/api/package_files.js';
import { create, load, train } from '../../web/lib/api/index.js';
import { bert, ids, rowsOf, vocabulary, withWords } from './bert_folders.js';
import { distance, numbers, openCase, refused, sameBits, untilEnd } from './helpers.js';

/** Whether this Node has relaxed SIMD. */
const relaxed = await engineModule(packageFiles, { backend: 'relaxed' }).then(
  () => true,
  () => false,
);

describe('one pass by every path has the same bits', () => {
  test('a batch gives the rows of single calls, padded with zeros', async () => {
    const model = await untilEnd(load(bert.source));
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
  });

  test('inputs that share a pass have the vectors of single calls', async () => {
    // passes of 128 tokens, of 64 inputs and of the rest
    const batch = [5, 23, 1, 23, 23, 12, 23, 2, ...Array(90).fill(1)].map((n) => ids.slice(0, n));
    const mask = batch.map((b) => b.map((_, i) => (b.length > 20 && i % 4 === 2 ? 0 : 1)));
    const tokenTypes = batch.map((b) => b.map((_, i) => (i > b.length / 2 ? 1 : 0)));
    mask[1] = null; // an input without a mask
    for (const dtype of ['f32', 'q8_0']) {
      const model = await untilEnd(load(bert.source, { dtype }));
      for (const pooling of ['mean', 'cls', 'last', 'pooler']) {
        const vectors = rowsOf(await model.embed(batch, { pooling, mask, tokenTypes, normalize: false }));
        for (const [i, one] of batch.slice(0, 9).entries()) {
          const own = { mask: mask[i], tokenTypes: tokenTypes[i] };
          const { hidden, pooled } = await model.forward(one, own);
          const single = await model.embed(one, { ...own, pooling, normalize: false });
          const want = { cls: hidden.data.slice(0, 32), pooler: pooled.data }[pooling] ?? single.data;
          assert.ok(sameBits(vectors[i], want), `${pooling} ${i}`);
        }
      }
    }
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
      await refused(model.embed([5, 6], { mask: [null, [1, 1]] }), 'bad-option', /list of masks/);
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
        const model = await load(source, how);
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
    const mlm = await untilEnd(load(openCase('bert_mlm').source));
    const points = await mlm.points();
    assert.ok(points.includes('mlm_head.ln.hook_normalized') && !points.includes('pooler.hook_pooler_out'));
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
    const pooler = await untilEnd(load(bert.source));
    const { pooled } = await pooler.forward(ids, { edits: [{ at: 'pooler.hook_pooler_out', index: 3, set: 0.5 }] });
    assert.equal(pooled.data[3], 0.5);
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
    const model = await untilEnd(load(openCase('bert_mlm').source));
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
  });
});

describe('pairs and token types', () => {
  test('a pair has the types of its texts', async () => {
    const model = await untilEnd(load(withWords()));
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
  });

  test('a configuration that is given as a file leaves the folder its vocabulary', async () => {
    const weights = withWords();
    const model = await untilEnd(load({ weights, config: `${weights}config.json` })); // had no tokenizer
    assert.equal((await model.tokenizer)?.vocabSize, vocabulary.length);
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
      await refused(model.forward(input, options), 'bad-option', words);
    await refused(
      model.embed('a', { pooling: 'median' }),
      'bad-option',
      /mean, mean_sqrt_len, weightedmean, max, cls, last, pooler/,
    );
    model.dispose();
    const decoder = await create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 });
    await refused(decoder.forward([1], { tokenTypes: [0] }), 'bad-option', /kind decoder/);
    decoder.dispose();
    const plain = await untilEnd(load(openCase('distilbert').source));
    await refused(plain.forward([1], { tokenTypes: [0] }), 'bad-option', /0 token types/);
    await refused(plain.embed([1], { pooling: 'pooler' }), 'bad-option', /no pooler/);
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
    const config = { kind: 'encoder', vocab_size: 300, d_model: 16, n_layers: 1, n_heads: 2 };
    await refused(train(config, 'a story. '.repeat(400), { steps: 1 }).next(), 'unsupported', /encoder/);
  });
});

test('RoBERTa counts positions by tokens that are not padding', async () => {
  const { source, about } = openCase('roberta');
  const model = await untilEnd(load(source));
  assert.deepEqual([model.contextLength, model.config.positionOffset, model.config.positionPadId], [46, 2, 1]);
  const text = about.input_ids.slice(0, 4);
  const position = async (list) =>
    rowsOf((await model.forward(list, { capture: ['hook_pos_embed'] })).captured.hook_pos_embed);
  const table = await Promise.all([1, 2, 3, 4].map((row) => model.weight('position.weight', row)));
  const rows = await position([1, text[0], 1, 1, text[1], text[2]]);
  for (const [i, row] of [0, 1, 0, 0, 2, 3].entries()) assert.ok(sameBits(rows[i], table[row]), `${i}`);
  assert.equal((await position(numbers(46, 100, 3))).length, 46);
  await refused(model.forward(numbers(47, 100, 3)), 'context-full');
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
    const model = await create({ ...base, ...fields }, { seed: 3 });
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
