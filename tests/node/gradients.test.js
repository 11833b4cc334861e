// gradients.test.js - gradients of loaded models against PyTorch's in double precision (golden/make_gradients.py), and what
// is computed from them
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { distance, json, openCase, refused, stories, top } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const cases = json(join(top, 'tests/golden/gradients.json'));

/** The weights of a golden model by our names (make_golden.py, Writer). */
function weightsOf(name) {
  const bytes = readFileSync(join(top, `tests/golden/models/${name}.gold`));
  let at = 8;
  const u32 = () => bytes.readUInt32LE((at += 4) - 4);
  const text = () => bytes.toString('latin1', at + 1, (at += 1 + bytes[at]));
  text();
  for (let left = u32(); left; left--) {
    text();
    at += 8;
  }
  const tensors = {};
  for (let left = u32(); left; left--) {
    const weight = text();
    const [dims, rows, cols] = [u32(), u32(), u32()];
    const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + 4 * rows * cols));
    at += data.byteLength;
    tensors[weight] = { data, shape: dims === 1 ? [cols] : [rows, cols] };
  }
  return tensors;
}

const FLAG = /^(use_|bias_|tie_|shared_|causal|scale_scores|final_norm|qk_norm)/;

function openGolden(name) {
  const config = { model_type: 'glassformer', ...cases.find((c) => c.name === name).config };
  for (const field of Object.keys(config)) if (FLAG.test(field)) config[field] = Boolean(config[field]);
  const tensors = weightsOf(name);
  return load(
    { weights: safetensors(tensors), config },
    { dtype: 'f32', names: Object.fromEntries(Object.keys(tensors).map((ours) => [ours, ours])) },
  );
}

/** The numbers that stand for a tensor: its norm, its products with sin(i + 1) and cos(2 i). */
function summary(data) {
  const out = [0, 0, 0];
  data.forEach((x, i) => {
    out[0] += x * x;
    out[1] += x * Math.sin(i + 1);
    out[2] += x * Math.cos(2 * i);
  });
  return [Math.sqrt(out[0]), out[1], out[2]];
}

for (const { name, circuit } of cases.filter((c) => c.circuit)) {
  test(`${name}: the circuits of a head have LAPACK's singular values and copying score`, async () => {
    const model = await openGolden(name);
    const { layer, head, ov, qk, copying, element } = circuit;
    const d = model.config.dModel;
    for (const [i, [kind, values]] of [
      ['OV', ov],
      ['QK', qk],
    ].entries()) {
      const got = await model.circuit(layer, head, kind);
      assert.deepEqual(got.matrix.shape, [d, d]);
      assert.ok(Math.abs(got.matrix.data[d + 2] - element[i]) < 1e-6 * values[0]);
      values.forEach((x, k) => assert.ok(Math.abs(got.singularValues[k] - x) < 1e-7 * values[0], `${kind} ${k}: ${x}`));
      if (kind === 'OV') assert.ok(Math.abs(got.copying - copying) < 1e-6, `${got.copying}, expected ${copying}`);
    }
    model.dispose();
  });
}

for (const { name, ids, source = [], config, runs } of cases) {
  test(`${name}: gradients at every point and weight are PyTorch's`, async () => {
    const model = await (config ? openGolden(name) : load(openCase(name).source, { dtype: 'f32' }));
    const options = source.length ? { source } : {};
    for (const { of, value, gradients: want } of runs) {
      const at = ['*', ...model.parameters.rows.filter((r) => !r.tiedTo).map((r) => r.name)];
      const got = await model.gradients(ids, { of, at, ...options });
      assert.ok(Math.abs(got.value - value) < 1e-4 * (1 + Math.abs(value)), `${got.value}, expected ${value}`);
      for (const [point, numbers] of Object.entries(want)) {
        const found = got.gradients[point];
        assert.ok(found, `${point} has no gradient`);
        // The gradient of a scale is a sum over a row in which nearly everything cancels.
        const [size] = want[point.replace('hook_scale', 'hook_normalized')];
        summary(found.data).forEach((x, i) => {
          const near = 1e-4 * (size + 1e-2) * (i ? Math.sqrt(3) : 1);
          assert.ok(Math.abs(x - numbers[i]) < near, `${point}, number ${i}: ${x}, expected ${numbers[i]}`);
        });
      }
      for (const point of config ? await model.points() : [])
        assert.ok(point in want || /hook_result|hook_scale/.test(point), `${point} was not compared`);
    }
    model.dispose();
  });
}

/** Parts that no golden model has. @type {[string, any][]} */
const PARTS = [
  ['norms of q and k after the rotation', { qkNorm: true, qkNormRotated: true }],
  ['no norm before the first attention', { firstNorm: false, embedNorm: true }],
  ['sums with the norms', { residualNormed: true }],
  ['scores by layer', { scoresByLayer: true }],
  ['layers with the same weights', { nLayerGroups: 1 }],
  ['a layer before the head', { mlmHead: true, headActivation: 'mish' }],
  ['scaled distances', { position: 'alibi', alibiScaled: true, alibiMax: 4 }],
  ...['quick_gelu', 'mish', 'tanh', 'relu2'].map((ffn) => /** @type {[string, any]} */ ([ffn, { ffn }])),
];

for (const [name, part] of PARTS) {
  test(`${name}: the gradient of the embedding is the slope of the loss along it`, async () => {
    const sizes = { vocabSize: 40, dModel: 16, nLayers: 2, nHeads: 2, dFf: 24, contextLength: 8, embeddingScale: 50 };
    const model = await create({ ...sizes, ...part }, { seed: 3 });
    try {
      const ids = [3, 17, 5, 30, 8, 21];
      const at = 'hook_embed';
      const { gradients } = await model.gradients(ids, { of: 'loss', at: [at] });
      const { data, shape } = gradients[at];
      const size = Math.hypot(...data);
      const step = 0.02;
      const moved = async (/** @type {number} */ by) => {
        const add = { data: data.map((x) => (x / size) * by), shape };
        return (await model.loss(ids, { edits: [{ at, add }] })).loss;
      };
      const slope = (await moved(step) - await moved(-step)) / (2 * step); // prettier-ignore
      assert.ok(Math.abs(slope - size) < 0.01 * size, `${slope}, expected ${size}`);
    } finally {
      model.dispose();
    }
  });
}

// The tables were those of the whole context: "no memory for the activations of 3 tokens".
test('gradients of a few tokens need the memory of these, however long the context is', async () => {
  const config = { vocabSize: 64, dModel: 64, nLayers: 1, nHeads: 1, dFf: 64, position: 'none' };
  const slopes = async (contextLength) => {
    const model = await create({ ...config, contextLength }, { seed: 1 });
    const { gradients } = await model.gradients([1, 2, 3], { of: 'loss', at: ['blocks.0.hook_resid_pre'] });
    model.dispose();
    return gradients['blocks.0.hook_resid_pre'].data;
  };
  assert.deepEqual(await slopes(2 ** 22), await slopes(3));
});

describe('of a trained model', async () => {
  const model = await load(stories, { dtype: 'f32' });
  const ids = await model.encode('Lily and Tom went to the park. Lily');
  const other = ids.map((id, i) => (i === 3 ? 100 : id));

  test('every head result has the gradient of their sum, and a patch of all values its difference', async () => {
    const { gradients } = await model.gradients(ids, { of: 'loss', at: ['*.hook_result', '*.hook_attn_out'] });
    const [heads, d] = [model.config.nHeads, model.config.dModel];
    gradients['blocks.1.attn.hook_result'].data.forEach((x, i) => {
      const position = Math.floor(i / (heads * d));
      assert.equal(x, gradients['blocks.1.hook_attn_out'].data[position * d + (i % d)]);
    });
  });

  test('attribution patching estimates what patching does', async () => {
    const of = { token: 5, minus: 7 };
    const at = ['blocks.*.attn.hook_z'];
    const whole = await model.attributionPatching(ids, { from: other, of, at, check: true });
    const { estimates, effects, spearman, value } = whole;
    assert.ok(spearman > 0.8, `Spearman ${spearman}`);
    assert.deepEqual(Object.keys(estimates), Object.keys(effects));
    for (const name of Object.keys(estimates)) assert.deepEqual(estimates[name].shape, effects[name].shape);
    const both = ['blocks.1.attn.hook_attn_scores', 'blocks.1.attn.hook_pattern'];
    const patched = (await model.attributionPatching(ids, { from: other, of, at: both, check: true })).effects;
    assert.ok(distance(...both.map((name) => patched[name].data)) < 1e-4);
    await refused(model.attributionPatching(ids, { from: [1], of, at }), 'bad-option', /from has 1 tokens/);
    // the same weights in q8_0, where the rounding of activations hid the effects (Spearman 0.29 for 0.97)
    const rounded = await load(stories);
    const check = await rounded.attributionPatching(ids, { from: other, of, at, check: true });
    assert.deepEqual([check.spearman, check.effects, check.value], [spearman, effects, value]);
    rounded.dispose();
  });

  test('integrated gradients are complete: their sum is the change of the metric', async () => {
    const learned = await openGolden('gpt2');
    const byTheory = async (/** @type {any} */ of, /** @type {any} */ from, /** @type {any} */ input) => {
      const { tokens, value, baseline, remainder, warning } = await from.integratedGradients(input, { of });
      const left = value - baseline - tokens.data.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b);
      assert.ok(Math.abs(left - remainder) < 1e-4 * Math.abs(value - baseline), `${left}, reported ${remainder}`);
      assert.ok(Math.abs(left) < 0.01 * Math.abs(value - baseline), `${left} of ${value} - ${baseline}`);
      assert.equal(warning, undefined);
    };
    await byTheory('loss', learned, [1, 2, 3]);
    // Without added positions each RMSNorm takes the length of the embedding away: the metric changes at factors from
    // 1e-15 to 1, and 2,048 equal steps gave -0.9 for -3.5.
    await byTheory({ token: 300 }, model, 'Once upon a time there was');
    await byTheory('loss', model, 'Once upon a time there was');
  });

  test('integrated gradients with too few steps return the remainder and a warning', async () => {
    const few = await model.integratedGradients('Once upon a time there was', { of: { token: 300 }, steps: 4 });
    assert.ok(Math.abs(few.remainder) > 0.05 * Math.abs(few.value - few.baseline));
    assert.match(few.warning, /miss the change of the metric by \d+ %: raise steps/);
  });

  test('what cannot be differentiated is refused by name', async () => {
    await refused(model.gradients(ids, { of: 'loss', at: ['nowhere'] }), 'unknown-point', /nowhere/);
    await refused(model.gradients(ids, { of: 'loss' }), 'bad-option', /needs the option at/);
    await refused(model.gradients(ids, { at: ['*'] }), 'bad-option', /needs the option of/);
    await refused(model.gradients(ids, { of: {}, at: ['*'] }), 'bad-option', /no token/);
    await refused(model.gradients(ids, { of: 'loss', at: ['head.weight'] }), 'bad-option', /tied to embed.weight/);
    const short = await load(stories, { contextLength: 4 });
    await refused(short.gradients('Once upon a time there', { of: 'loss', at: ['hook_embed'] }), 'context-full');
    const encoder = await load(openCase('bert').source);
    await refused(encoder.gradients([1, 2], { of: { token: 3 }, at: ['*'] }), 'unsupported', /without a head/);
    const masked = await load(openCase('bert_mlm').source);
    await refused(masked.gradients([1, 2], { of: 'loss', at: ['*'] }), 'unsupported', /no next token/);
    const clipped = await create({ vocab_size: 20, d_model: 8, n_layers: 1, n_heads: 1, clip_qkv: 1 });
    await refused(clipped.gradients([1, 2], { of: 'loss', at: ['*'] }), 'unsupported', /clip_qkv/);
  });
});
