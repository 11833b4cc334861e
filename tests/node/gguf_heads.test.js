// gguf_heads.test.js - what llama.cpp computes of small GGUF files, heads of classification and layers behind the
// pooling among it: recorded by tests/golden/make_llama_cpp.py; and classifiers that are written as GGUF
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { convert } from '../../web/lib/apps/cli/convert.js';
import { ByteReader } from '../../web/lib/files/bytes/chunks.js';
import { readGguf } from '../../web/lib/files/gguf/gguf.js';
import { withWords } from './bert_folders.js';
import { bool, encode, f32, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { temporaryFolder } from '../temporary.js';
import { distance, json, numbers, refused, top } from './helpers.js';
import { COMPARED, comparedModel } from './llama_cpp_models.js';
import { packedModels } from './packed_models.js';
import { ggufOf } from './written.js';

const folder = temporaryFolder('heads');
const EXACT = { dtype: 'f32', kvDtype: 'f32' };
/** Rounding of llama.cpp's table of GELU, in f16. */
const MOST = 0.003;

/** Call `use` with a model, which is then disposed. */
async function using(source, use, options = EXACT) {
  const model = await load(source, options);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

const softmax = (row) => {
  const sum = row.reduce((all, x) => all + Math.exp(x), 0);
  return row.map((x) => Math.exp(x) / sum);
};

describe('a GGUF gives what llama.cpp computes of it', () => {
  const { ids, models } = json(join(top, 'tests/golden/llama_cpp.json'));
  for (const name of Object.keys(COMPARED))
    test(name, async () =>
      using(await comparedModel(name), async (model) => {
        const { logits, states, vector, rank } = models[name];
        if (rank) {
          const found = Array.from((await model.classify(ids)).logits.data);
          // llama.cpp gives probabilities of a decoder
          assert.ok(distance(model.config.kind === 'decoder' ? softmax(found) : found, rank) < MOST);
        } else if (vector) {
          assert.ok(distance((await model.embed(ids, { normalize: false })).data, vector) < MOST);
          const { data } = await model.embed(ids);
          assert.ok(Math.abs(Math.hypot(...data) - 1) < 1e-5);
        } else {
          const { logits: own, hidden } = await model.forward(ids);
          const { data, shape } = own ?? hidden;
          const rows = states ?? { [shape[0] - 1]: logits };
          for (const [i, row] of Object.entries(rows))
            assert.ok(distance(data.subarray(i * shape[1], (Number(i) + 1) * shape[1]), row) < MOST, `row ${i}`);
        }
      }),
    );
});

describe('classifiers as transformers saves them, written as GGUF', () => {
  const WRITTEN = new Set(
    (
      'bert-text bert-two-types bert-one bert-multi ernie-text roberta-text roberta-regression xlm-roberta-text ' +
      'camembert-text qwen3-text modernbert-text'
    ).split(' '),
  );
  for (const { name, config, source, runs } of packedModels('classifiers.bin'))
    test(`${name} ${WRITTEN.has(name) ? 'gives the same logits' : 'is refused'}`, () =>
      using(source, async (model) => {
        const labels = { names: model.labels, activation: 'none', pad: config.pad_token_id ?? null };
        const written = ggufOf(model, { labels });
        if (!WRITTEN.has(name)) return refused(written, 'unsupported', /GGUF/);
        await using(await written, async (again) => {
          assert.deepEqual(again.labels, model.labels);
          for (const { ids, types, data } of runs) {
            const result = await again.classify(ids, types && { tokenTypes: types });
            assert.ok(distance(result.logits.data, data) <= 2e-4);
            assert.equal(result.score, Math.max(...result.logits.data));
          }
        });
      }));
});

describe('convert', () => {
  const write = async (name, files) => {
    const out = join(folder, `${name}.gguf`);
    await convert(files, out, { type: 'f32', vocabulary: true, options: {} });
    return out;
  };

  test('a cross-encoder keeps its labels, tokens of pairs and scores, and quantised ones their head', async () => {
    const own = join(top, 'tests/golden/classifiers/reranker');
    const { pairs, sigmoid } = json(join(own, 'case.json'));
    const file = await write('reranker', own);
    await using(file, async (model) => {
      for (const [i, [text, pair]] of pairs.entries()) {
        const { score } = await model.classify(text, { pair, truncate: true });
        assert.ok(Math.abs(score - sigmoid[i]) < 1e-5);
      }
      await refused(model.embed('a'), 'unsupported', /pooling_type 4/);
    });
    const small = join(folder, 'small.gguf');
    await convert(own, small, { type: 'q8_0', vocabulary: true, options: {} });
    assert.ok(readFileSync(small).length < readFileSync(file).length);
    await refused(write('ner', join(top, 'tests/golden/classifiers/ner')), 'unsupported', /label_pooling/);
  });

  test('an encoder keeps its pooling and its Dense layers, and what GGUF cannot say is refused', async () => {
    const bytes = await comparedModel('gemma-embedding dense');
    const first = join(folder, 'first.gguf');
    writeFileSync(first, bytes);
    const second = await write('second', first);
    const ids = numbers(12, 300, 3);
    await using(second, async (model) => {
      assert.equal(model.pooling.pooling, 'mean');
      const want = await using(first, (one) => one.embed(ids));
      assert.deepEqual((await model.embed(ids)).data, want.data);
      assert.deepEqual((await model.embed(ids, { pooling: 'cls', normalize: false })).shape, [64]);
    });
    const modules = ['Transformer', 'Pooling'].map((kind, i) => ({ type: `x.${kind}`, path: i ? '1_Pooling' : '' }));
    const pooled = (mode) => withWords({ 'modules.json': modules, '1_Pooling/config.json': { pooling_mode: mode } });
    await refused(write('max', pooled('max')), 'unsupported', /vectors by max, and GGUF knows the poolings mean, cls/);
    await refused(write('two', pooled(['mean', 'cls'])), 'unsupported', /vectors by mean and cls/);
    await using(await write('cls', pooled('cls')), async (model) => assert.equal(model.pooling.pooling, 'cls'));
  });
});

/** A model of the table with other metadata, and other bytes of tensors. */
async function changed(name, more, tensorOf = (tensor) => tensor) {
  const bytes = await comparedModel(name);
  const chunks = (async function* () {
    yield bytes;
  })();
  const { meta, entries } = await readGguf(new ByteReader(chunks, { name, total: bytes.length }), 0);
  const typed = (value) =>
    typeof value === 'string'
      ? text(value)
      : typeof value === 'boolean'
        ? bool(value)
        : Array.isArray(value)
          ? texts(value)
          : (Number.isInteger(value) ? u32 : f32)(value);
  const tensors = entries.map(({ name, shape, offset, bytes: n }) => {
    const data = new Float32Array(bytes.slice(offset, offset + n).buffer);
    return tensorOf({ name, shape, type: 'F32', data });
  });
  const own = Object.fromEntries(Array.from(meta, ([key, value]) => [key, typed(value)]));
  return writeGguf({ ...own, ...more }, tensors);
}

test('Dense layers of Q8_0 are read, and embed names another type', async () => {
  const as = (type) =>
    changed('gemma-embedding dense', {}, (tensor) => {
      if (!tensor.name.startsWith('dense_')) return tensor;
      return { ...tensor, type, data: type === 'Q4_0' ? encode(type, tensor.data) : tensor.data };
    });
  const ids = numbers(12, 300, 4);
  const exact = await using(await as('F32'), (model) => model.embed(ids));
  for (const [type, most] of [
    ['F16', 1e-3],
    ['BF16', 1e-2],
    ['Q8_0', 1e-2],
  ])
    await using(await as(type), async (model) => {
      const off = distance((await model.embed(ids)).data, exact.data);
      assert.ok(off > 0 && off < most, `${type}: ${off}`);
    });
  await using(await as('Q4_0'), (model) =>
    refused(model.embed(ids), 'unsupported', /dense_2\.weight of the type Q4_0/),
  );
});

test('labels have the names that the file gives, their number, or are refused', async () => {
  const key = 'bert.classifier.output_labels';
  await refused(load(await changed('bert labels', { [key]: texts(['a', 'b']) })), 'bad-header', /3 texts/);
  await refused(load(await changed('bert labels', { [key]: u32(3) })), 'bad-header', /3 texts/);
  await using(await changed('bert labels', { [key]: texts(['a', 'b', 'c']) }), async (model) => {
    assert.deepEqual(model.labels, ['a', 'b', 'c']);
    const { scores } = await model.classify([5, 6]);
    assert.ok(Math.abs(scores.reduce((sum, { score }) => sum + score, 0) - 1) < 1e-5);
  });
});
