// classify.test.js - heads of classification give the labels and scores of transformers and sentence-transformers
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { distance, top } from './helpers.js';
import { packedModels } from './packed_models.js';

/** How far a logit may be off: sums in f32 over two to four layers, behind heads with weights around 1. */
const MOST = 2e-4;
/** The same of a probability. */
const SHARE = 1e-5;

const folder = (name) => join(top, 'tests/golden/classifiers', name);
const caseOf = (name) => JSON.parse(readFileSync(join(folder(name), 'case.json'), 'utf8'));
const SETTINGS = { dtype: 'f32', kvDtype: 'f32' };

/** Call `use` with a model, which is then disposed. */
async function using(source, use, options) {
  const model = await load(source, { ...SETTINGS, ...options });
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

describe('classifiers as transformers 5.24 saves them', () => {
  for (const { name, config, source, runs } of packedModels('classifiers.bin'))
    test(name, () =>
      using(source, async (model) => {
        assert.deepEqual(model.warnings, []);
        const n = Object.keys(config.id2label ?? { 0: '', 1: '' }).length;
        assert.equal(model.labels.length, n);
        for (const { ids, types, shape, data } of runs) {
          const options = types && { tokenTypes: types };
          const result = await model.classify(ids, options);
          assert.deepEqual(result.logits.shape, result.tokens ? shape : shape.slice(1));
          const off = distance(result.logits.data, data);
          assert.ok(off <= MOST, `the logits of ${ids.length} tokens are ${off} off`);
          const [of0] = result.tokens ?? [result];
          assert.deepEqual(
            of0.scores.map(({ label }) => label),
            model.labels,
          );
          const best = Math.max(...data.subarray(0, n));
          assert.equal(of0.label, model.labels[data.indexOf(best)]);
        }
        const [first, second] = runs.filter(({ types }) => !types);
        const together = await model.classify([first.ids, second.ids]);
        assert.deepEqual(together, [await model.classify(first.ids), await model.classify(second.ids)]);
      }),
    );
});

test('scores of a text are those of the pipeline of transformers', () =>
  using(folder('sentiment'), async (model) => {
    assert.deepEqual(model.labels, ['NEGATIVE', 'POSITIVE']);
    for (const { text, scores } of caseOf('sentiment').texts) {
      const found = await model.classify(text);
      for (const { label, score } of scores.flat()) {
        const own = found.scores.find((each) => each.label === label);
        assert.ok(Math.abs(own.score - score) < SHARE, `${label} of ${text}: ${own.score}, ${score}`);
      }
      assert.equal(found.label, scores.flat()[0].label);
      assert.equal(found.score, Math.max(...found.scores.map((each) => each.score)));
    }
  }));

test('words and entities are those of the pipeline of transformers, with the label of the first token', () =>
  using(folder('ner'), async (model) => {
    for (const { text, entities } of caseOf('ner').texts) {
      const { tokens, words, entities: found } = await model.classify(text);
      const ids = await model.encode(text);
      assert.deepEqual(
        tokens.map(({ id }) => id),
        ids,
      );
      assert.deepEqual(
        found.map(({ label, text: own }) => ({ label, text: own })),
        entities.map(({ label, text: own }) => ({ label, text: own })),
      );
      found.forEach(({ score }, i) => assert.ok(Math.abs(score - entities[i].score) < SHARE));
      for (const { start, end, label } of words) {
        assert.equal(label, tokens[start].label);
        assert.ok(end > start && start > 0 && end < ids.length, 'special tokens are no words');
      }
    }
    const { words } = await model.classify('Charles Babbage walked');
    assert.deepEqual(
      words.map(({ text, start, end }) => [text, start, end]),
      [['charles', 1, 2], ['babbage', 2, 4], ["walked", 4, 6]], // prettier-ignore
    );
  }));

describe('a cross-encoder of sentence-transformers', () => {
  const { pairs, sigmoid, identity, settings, config } = caseOf('reranker');
  const [queries, documents] = [0, 1].map((k) => pairs.map((pair) => pair[k]));
  const isNear = (found, want) =>
    found.forEach(({ score }, i) => assert.ok(Math.abs(score - want[i]) < MOST, `${i}: ${score}, expected ${want[i]}`));

  test('scores of pairs, of which a long one is truncated', () =>
    using(folder('reranker'), async (model) => {
      isNear(await model.classify(queries, { pair: documents, truncate: true }), sigmoid);
      isNear(await model.classify(queries, { pair: documents, truncate: true, activation: 'none' }), identity);
      const one = await model.classify(queries[0], { pair: documents[0] });
      assert.ok(Math.abs(one.logits.data[0] - identity[0]) < MOST);
      assert.deepEqual(await model.classify(queries[0], { pair: documents.slice(0, 2) }), [
        one,
        await model.classify(queries[1], { pair: documents[1] }),
      ]);
      await assert.rejects(model.classify(queries[2], { pair: documents[2] }), { code: 'context-full' });
    }));

  test('the activation that its files name', async () => {
    const own = temporaryFolder('reranker');
    cpSync(folder('reranker'), own, { recursive: true });
    writeFileSync(join(own, 'config_sentence_transformers.json'), JSON.stringify(settings));
    await using(own, async (model) => {
      isNear(await model.classify(queries, { pair: documents, truncate: true }), identity);
    });
    for (const older of [
      { sbert_ce_default_activation_function: 'torch.nn.modules.linear.Identity' },
      { sentence_transformers: { activation_fn: 'torch.nn.modules.linear.Identity' } },
    ]) {
      const source = { weights: join(folder('reranker'), 'model.safetensors'), config: { ...config, ...older } };
      await using(source, async (model) => {
        assert.deepEqual(model.warnings, []);
        const { score, logits } = await model.classify([2, 5, 3]);
        assert.equal(score, logits.data[0]);
      });
    }
  });
});

test('zero-shot labels are those of the pipeline of transformers', () =>
  using(folder('nli'), async (model) => {
    for (const { sequence, labels, scores } of caseOf('nli').zeroShot) {
      const pair = labels.map((label) => `this text is about ${label}.`);
      const results = await model.classify(sequence, { pair });
      const index = model.labels.indexOf('entailment');
      const weights = results.map(({ logits }) => Math.exp(logits.data[index]));
      const sum = weights.reduce((a, b) => a + b, 0);
      scores.forEach((score, i) => assert.ok(Math.abs(weights[i] / sum - score) < SHARE));
    }
  }));

test('activations follow problem_type', async () => {
  const models = packedModels('classifiers.bin');
  const of = (name) => models.find((each) => each.name === name);
  await using(of('bert-multi').source, async (model) => {
    const { scores, logits } = await model.classify([3, 4, 5]);
    scores.forEach(({ score }, i) => assert.ok(Math.abs(score - 1 / (1 + Math.exp(-logits.data[i]))) < 1e-12));
    assert.deepEqual(model.labels, ['a', 'b', 'c', 'd']);
  });
  await using(of('roberta-regression').source, async (model) => {
    const { score, logits } = await model.classify([3, 4, 5]);
    assert.equal(score, logits.data[0]);
  });
  await using(of('bert-one').source, async (model) => {
    const { label, score, scores, logits } = await model.classify([3, 4, 5]);
    assert.deepEqual([label, scores], ['LABEL_0', [{ label, score }]]);
    assert.ok(Math.abs(score - 1 / (1 + Math.exp(-logits.data[0]))) < 1e-12);
  });
});

test('a worker gives the same result', () =>
  using(folder('ner'), async (model) => {
    const here = await model.classify(['The film was great.', 'she walked in Paris']);
    await using(
      folder('ner'),
      async (other) => {
        assert.deepEqual(await other.classify(['The film was great.', 'she walked in Paris']), here);
        assert.deepEqual(other.labels, model.labels);
      },
      { worker: true },
    );
  }));

test('forward gives the logits of a classifier, and captures and edits reach its input', () =>
  using(folder('nli'), async (model) => {
    const text = 'The film was great.';
    const at = 'classifier.hook_input';
    const { logits, captured, pooled } = await model.forward(text, { capture: [at] });
    const { logits: own } = await model.classify(text);
    assert.deepEqual([logits.shape, Array.from(logits.data)], [[1, 3], Array.from(own.data)]);
    assert.deepEqual(Array.from(captured[at].data), Array.from(pooled.data));
    const edits = [{ at, scale: 0 }];
    const { logits: without } = await model.classify(text, { edits });
    const bias = await model.weight('head.bias');
    assert.deepEqual(Array.from(without.data), Array.from(bias));
    const head = model.parameters.rows.filter(({ name }) => name.startsWith('head.'));
    assert.deepEqual(
      head.map(({ name, shape }) => [name, shape]),
      [['head.weight', [3, 16]], ['head.bias', [3]]], // prettier-ignore
    );
  }));

test('calls that need tokens are refused, and so is classify without labels', async () => {
  const config = { vocab_size: 20, d_model: 8, n_layers: 1, n_heads: 2, n_labels: 2, label_pooling: 'last' };
  const model = await create(config, { seed: 1 });
  const plain = await create({ ...config, n_labels: 0, label_pooling: 'none' }, { seed: 1 });
  try {
    assert.deepEqual(model.labels, ['LABEL_0', 'LABEL_1']);
    assert.equal(plain.labels, null);
    const refusal = { code: 'unsupported', message: /is a classifier: it has labels in place of tokens; use classify/ };
    await assert.rejects(model.generate([1]).text(), refusal);
    await assert.rejects(model.loss([1, 2]), refusal);
    await assert.rejects(model.session(), refusal);
    assert.equal((await model.circuit(0, 0, 'OV')).copying, undefined);
    await assert.rejects(plain.classify([1]), { code: 'unsupported', message: /no head of classification/ });
    await assert.rejects(model.classify([]), { code: 'empty-prompt' });
    await assert.rejects(model.classify([1], { activation: 'tanh' }), { code: 'bad-option' });
  } finally {
    model.dispose();
    plain.dispose();
  }
});

describe('gradients and attribution reach a label', () => {
  for (const { name, config, source, runs } of packedModels('classifiers.bin').filter(
    ({ name: n }) => !/^modern/.test(n),
  ))
    test(name, () =>
      using(source, async (model) => {
        const ids = runs[0].ids.slice(0, 7);
        const o = config.is_encoder_decoder ? { source: ids } : {};
        const label = model.labels.at(-1);
        const { logit, sum, parts, text } = await model.attribution(ids, { ...o, token: label });
        assert.ok(Math.abs(logit - sum) < 1e-4, `${logit}, the parts add up to ${sum}`);
        assert.equal(text, label);
        assert.ok(parts.length > 2);
        const of = { token: label, ...(model.labels.length > 1 && { minus: model.labels[0] }) };
        const at = ['hook_embed', 'decoder.hook_embed', 'head.weight'].filter((each) =>
          config.is_encoder_decoder ? each !== 'hook_embed' : !each.startsWith('decoder'),
        );
        if (config.input_embedding_size) return; // there is no gradient of a projected embedding
        const { value, gradients } = await model.gradients(ids, { ...o, of, at });
        const { logits } = await model.forward(ids, { ...o, logits: model.config.kind === 'encoder' ? 'all' : 'last' });
        const last = logits.data.subarray(-model.labels.length);
        const want = last.at(-1) - (model.labels.length > 1 ? last[0] : 0);
        assert.ok(Math.abs(value - want) < MOST, `${value}, expected ${want}`);
        for (const each of at)
          assert.ok(
            gradients[each].data.some((x) => x !== 0),
            `${each} has no gradient`,
          );
      }),
    );
});

test('labels that do not exist are refused', () =>
  using(folder('sentiment'), async (model) => {
    await assert.rejects(model.attribution('dull', { token: 'GOOD' }), {
      code: 'bad-option',
      message: /token is "GOOD", expected one of the labels NEGATIVE, POSITIVE/,
    });
    await assert.rejects(model.gradients('dull', { of: { token: 2 }, at: ['*'] }), { code: 'bad-option' });
    await assert.rejects(model.gradients('dull', { of: 'loss', at: ['*'] }), { code: 'unsupported' });
  }));
