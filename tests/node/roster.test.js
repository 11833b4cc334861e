// roster.test.js - the roster: every weight of a configuration, computed from the configuration alone
import assert from 'node:assert/strict';
import { readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { Engine } from '../../web/lib/engine/engine.js';
import { engineModule } from '../../web/lib/engine/binary.js';
import { packageFiles } from '../../web/lib/api/package_files.js';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { estimate } from '../../web/lib/api/estimate.js';
import { readConfig } from '../../web/lib/files/huggingface/huggingface.js';
import { PRESETS } from '../../web/lib/engine/config/presets.js';
import { dtypeBytes, parameterTable, roster } from '../../web/lib/engine/config/weight_roster.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { safetensors } from './checkpoint_files.js';
import { completeConfig as completed, countParameters, create } from '../../web/lib/api/index.js';
import { golden, json, noShared, shared } from './helpers.js';
import { randomClassifier, randomConfig, randomVariant } from './random_config.js';

const product = (shape) => shape.reduce((a, b) => a * b, 1);
const sum = (rows, pick = () => true) => rows.filter(pick).reduce((n, r) => n + r.count, 0);
const by = (table, component, layer = 0) => sum(table.rows, (r) => r.component === component && r.layer === layer);

test('published parameter counts are reproduced exactly', () => {
  const totals = {
    gpt2: 124_439_808,
    'gpt2-medium': 354_823_168,
    'gpt2-large': 774_030_080,
    'gpt2-xl': 1_557_611_200,
    'llama-7b': 6_738_415_616,
    'llama3-8b': 8_030_261_248,
    'llama3-70b': 70_553_706_496,
    'smollm2-135m': 134_515_008,
    'modern-124m': 123_551_232,
    'modern-124m-untied': 162_148_608,
    'tutorial-2': 296_424,
  };
  for (const [name, total] of Object.entries(totals)) assert.equal(countParameters(name).total, total, name);
});

test('completeConfig gives the config that a model created from it has', async () => {
  for (const config of [
    'tutorial-3',
    { kind: 'encoder_decoder', vocab_size: 90, d_model: 36, n_layers: 2, n_heads: 3, norm_placement: 'post' },
    { model_type: 'gpt2', n_layer: 1, n_embd: 32, n_head: 2, vocab_size: 70, n_positions: 20 },
  ]) {
    const model = await create(config);
    const rounded = (c) =>
      // the engine stores f32
      Object.fromEntries(Object.entries(c).map(([key, v]) => [key, typeof v === 'number' ? Math.fround(v) : v]));
    assert.deepEqual(rounded(completed(config)), rounded(model.config));
    model.dispose();
  }
  const { dFf, nKvHeads, nEncoderLayers, finalNorm, biasNorm } = completed({
    kind: 'encoder_decoder',
    vocabSize: 90,
    dModel: 36,
    nLayers: 2,
    nHeads: 3,
    normPlacement: 'post',
  });
  assert.deepEqual(
    { dFf, nKvHeads, nEncoderLayers, finalNorm, biasNorm },
    { dFf: 128, nKvHeads: 3, nEncoderLayers: 2, finalNorm: false, biasNorm: false },
  );
});

test("counts of tutorial 1's model by component", () => {
  const table = countParameters('modern-124m');
  assert.equal(table.nonEmbedding, 84_953_856);
  assert.equal(
    sum(table.rows, (r) => r.component === 'embedding'),
    38_597_376,
  );
  assert.equal(
    sum(table.rows, (r) => r.layer === 0),
    7_079_424,
  );
  assert.deepEqual([by(table, 'attention'), by(table, 'ffn'), by(table, 'norm')], [2_359_296, 4_718_592, 1_536]);
  const head = table.rows.at(-1);
  assert.deepEqual(
    [head.name, head.count, head.bytes, head.tiedTo, head.formula],
    ['head.weight', 0, 0, 'embed.weight', '0, shared with the embedding'],
  );
  assert.equal(table.bytes, 4 * table.total);
  const untied = countParameters('modern-124m-untied');
  assert.equal(
    untied.nonEmbedding - table.nonEmbedding,
    38_597_376,
    'an untied head stays in the count without embeddings',
  );
  assert.equal(untied.bytes - table.bytes, 154_389_504);
});

test("counts of tutorial 3's small block, and of the same block at another width", () => {
  const block = countParameters('tutorial-3');
  assert.equal(
    sum(block.rows, (r) => r.layer === 0),
    49_408,
  );
  assert.deepEqual([by(block, 'attention'), by(block, 'ffn'), by(block, 'norm')], [16_384, 32_768, 256]);
  const wide = countParameters({ ...PRESETS['tutorial-3'], d_model: 128 });
  assert.deepEqual([by(wide, 'ffn'), by(wide, 'attention')], [131_072, 65_536]);
});

test('the rule of 12 D^2 parameters per block holds within 5 %', () => {
  for (const name of ['gpt2', 'tutorial-5', 'tutorial-5-walk', 'tutorial-5-quiz']) {
    const c = completeConfig(PRESETS[name]);
    const blocks = sum(countParameters(name).rows, (r) => r.layer !== null);
    assert.ok(Math.abs(blocks / (12 * c.d_model ** 2 * c.n_layers) - 1) < 0.05, `${name}: ${blocks}`);
  }
});

test('estimate gives bytes of the kv cache, FLOPs per token and bytes of the weights', () => {
  assert.equal(estimate('llama-7b', { contextLength: 4096, kvDtype: 'f16' }).kvBytes, 2_147_483_648);
  assert.equal(estimate('llama3-70b', { contextLength: 131_072 }).kvBytes / 2 ** 30, 40);
  const seven = estimate('llama-7b', { contextLength: 1 });
  assert.ok(Math.abs(seven.flopsPerToken2N / 14e9 - 1) < 0.05, `${seven.flopsPerToken2N}`);
  const small = {
    vocab_size: 10,
    d_model: 4,
    n_layers: 1,
    n_heads: 2,
    d_ff: 8,
    ffn: 'relu',
    position: 'none',
    tie_word_embeddings: false,
  };
  // 4 projections of 4x4, up and down of 4x8, head of 10x4, two FLOPs each; 7 keys: scores and weighted sum
  assert.equal(estimate(small, { contextLength: 7 }).flopsPerToken, 2 * (4 * 16 + 2 * 32 + 40) + 4 * 4 * 7);
  const rows = Object.fromEntries(countParameters(small).rows.map(({ name, flops }) => [name, flops]));
  assert.deepEqual([rows['embed.weight'], rows['blocks.0.ffn.up.weight'], rows['head.weight']], [0, 64, 80]);
  assert.equal(
    estimate({ ...small, sliding_window: 3 }, { contextLength: 7 }).flopsPerToken,
    2 * (4 * 16 + 2 * 32 + 40) + 4 * 4 * 3,
  );
  assert.equal(estimate('gpt2', { contextLength: 8, batch: 3 }).kvBytes, 3 * 12 * 2 * 8 * 768 * 2);
  const q8 = estimate('modern-124m', { contextLength: 8, dtype: 'q8_0' });
  assert.equal(q8.weightBytes, ((123_551_232 - 25 * 768) / 32) * 34 + 25 * 768 * 4);
  assert.throws(() => estimate('gpt2', { contextLength: 0 }), { code: 'bad-argument' });
  assert.throws(() => estimate('gpt2', { contextLength: 8, dtype: 'q3_k' }), { code: 'bad-argument' });
  assert.equal(dtypeBytes(64, 'q4_0'), 36);
});

/** Component sums under the names that the cases use. */
const groups = {
  token_embedding: 'embedding',
  wte: 'embedding',
  embed: 'embedding',
  position_embedding: 'position',
  wpe: 'position',
  attention: 'attention',
  ffn: 'ffn',
  mlp: 'ffn',
  norms: ['norm', 'final_norm'],
  lm_head: 'head',
  final_linear: 'head',
  encoder_attention: 'encoder attention',
  encoder_ffn: 'encoder ffn',
  encoder_norms: 'encoder norm',
  decoder_self_attention: 'decoder attention',
  decoder_cross_attention: 'decoder cross_attention',
  decoder_ffn: 'decoder ffn',
  decoder_norms: 'decoder norm',
};

function checkCases(root) {
  let n = 0;
  for (const name of readdirSync(root)) {
    const file = join(root, name, 'config.json');
    const want = existsSync(file) && json(join(root, name, 'case.json')).param_counts;
    if (!want) continue;
    const table = countParameters(json(file));
    for (const [group, count] of Object.entries(want)) {
      const names = [groups[group]].flat();
      const got =
        group === 'total'
          ? table.total
          : sum(table.rows, (r) => names.includes(r.component) || names.includes(`${r.stack} ${r.component}`));
      assert.ok(group === 'total' || groups[group], `${name}: the group ${group} is not known`);
      assert.equal(got, count, `${name}: ${group}`);
    }
    n++;
  }
  return n;
}

test('counts by component equal those of an independent implementation', () => {
  assert.ok(checkCases(golden) >= 4);
});

test('counts by component equal those of the shared cases', { skip: noShared }, () => {
  assert.ok(checkCases(join(shared, 'cases')) > 40);
  const t1 = json(join(shared, 'cases/t1_param_counts_123_6M.json'));
  assert.equal(countParameters('modern-124m').total, t1.total);
  for (const [name, want] of Object.entries(json(join(shared, 'cases/gpt2_param_counts.json'))))
    assert.equal(countParameters(name).total, want.total, name);
});

test('engine and library enumerate the same weights in the same order', async () => {
  const engine = await Engine.start(await engineModule(packageFiles));
  fc.assert(
    fc.property(fc.oneof(randomConfig, randomVariant, randomClassifier), (fields) => {
      const config = completeConfig(fields);
      const mine = parameterTable(config).rows;
      const theirs = engine.roster(config);
      assert.deepEqual(
        mine.map((r) => [r.name, r.component, r.stack, r.layer, r.count]),
        theirs.map((r) => [r.name, r.component, r.stack, r.layer, r.count]),
      );
      assert.deepEqual(
        mine.map((r) => product(r.shape)),
        theirs.map((r) => product(r.shape)),
      );
    }),
    { numRuns: 300 },
  );
});

test("the table's sum equals the number of scalars in a file of those weights, and its bytes / 4", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(randomConfig, randomVariant, randomClassifier), async (fields) => {
      const config = completeConfig(fields);
      const tensors = [...roster(config)].map(({ name, shape }) => ({
        name,
        shape,
        dtype: 'F32',
        data: new Float32Array(product(shape)),
      }));
      const weights = safetensors(tensors);
      const checkpoint = await openCheckpoint({ weights, config: { model_type: 'glassformer', ...fields } });
      let bytes = 0;
      await checkpoint.stream({
        begin() {},
        write(view) {
          bytes += view.length;
        },
        end() {},
      });
      assert.equal(bytes / 4, parameterTable(config).total);
      assert.deepEqual(checkpoint.config, config);
    }),
    { numRuns: 100 },
  );
});

test('what is no configuration is refused', () => {
  const base = { vocab_size: 10, d_model: 8, n_layers: 1, n_heads: 2 };
  for (const [change, message] of [
    [{ d_model: '8' }, /d_model is "8"/],
    [{ norm: 'batchnorm' }, /one of layernorm, rmsnorm/],
    [{ d_hidden: 3 }, /no field "d_hidden"/],
    [{ dModel: 8 }, /given twice/],
    [{ final_norm: 1 }, /true or false/],
    [{ n_heads: 3 }, /d_model 8 is not divisible by n_heads 3/],
  ])
    assert.throws(() => countParameters({ ...base, ...change }), {
      name: 'GlassformerError',
      code: 'bad-config',
      message,
    });
  assert.throws(() => countParameters('gpt-2'), { message: 'there is no preset "gpt-2": did you mean gpt2?' });
  assert.throws(() => countParameters('gpt5'), { code: 'bad-argument', message: /there is no preset "gpt5"/ });
  for (const nothing of [null, 5, [], undefined])
    assert.throws(() => countParameters(nothing), { code: 'bad-argument' });
});

test('fields may be in camelCase, and the defaults are those of a modern decoder', () => {
  const short = readConfig({
    vocabSize: 100,
    dModel: 48,
    nLayers: 2,
    nHeads: 4,
    nKvHeads: 2,
    tieWordEmbeddings: false,
  });
  assert.deepEqual(
    [short.d_model, short.n_kv_heads, short.d_head, short.d_ff, short.tie_word_embeddings],
    [48, 2, 12, 128, false],
  );
  assert.deepEqual(
    [short.norm, short.norm_eps, short.norm_placement, short.final_norm, short.ffn, short.position, short.rope_pairs],
    ['rmsnorm', 1e-6, 'pre', true, 'swiglu', 'rope', 'half'],
  );
});

test("every preset's counts equal the products in their formulas", () => {
  for (const name of Object.keys(PRESETS)) {
    const { rows, total } = countParameters(name);
    assert.equal(sum(rows), total);
    for (const r of rows) {
      if (r.tiedTo) continue;
      const c = completeConfig(PRESETS[name]);
      assert.equal(
        r.formula.split(' × ').reduce((n, f) => n * c[f], 1),
        r.count,
        `${name}: ${r.name} = ${r.formula}`,
      );
    }
  }
});
