// lora_training.test.js - adapters trained for loaded models: PyTorch's loss curves, PEFT's files, switching
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load, train } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { distance, golden, json, readTensors, refused, sameBits, top, untilEnd } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const folder = temporaryFolder('lora');
const cases = json(join(golden, '..', 'lora.json'));

/** The values to begin with, as in tests/golden/make_lora.py. */
const values = (shape, seed, size) => ({
  shape,
  data: Float32Array.from(
    { length: shape[0] * shape[1] },
    (_, i) => (((i * 7919 + seed * 104729) % 2001) - 1000) / size,
  ),
});

/** The adapter that a case begins with, as PEFT's files. */
function beginning({ folder, r, alpha, a, b, modules }) {
  const file = readTensors(join(golden, folder, 'model.safetensors'));
  const tensors = Object.fromEntries(
    modules.flatMap(([name, transposed], i) => {
      const { shape } = file[`${name}.weight`] ?? file[`${name}.weight`.replace('transformer.', '')];
      const [out, into] = transposed ? [...shape].reverse() : shape;
      const B = b ? values([out, r], 2 * i + 2, b) : { shape: [out, r], data: new Float32Array(out * r) };
      return [
        [`base_model.model.${name}.lora_A.weight`, values([r, into], 2 * i + 1, a)],
        [`base_model.model.${name}.lora_B.weight`, B],
      ];
    }),
  );
  return { weights: safetensors(tensors), config: { peft_type: 'LORA', r, lora_alpha: alpha } };
}

const logits = async (model) => (await model.forward([3, 1, 4, 1, 5])).logits.data;
const losses = async (run) => {
  const all = [];
  for await (const { loss } of run) all.push(loss);
  return all;
};

const run = (model, data, options) => train(model, data, { steps: 4, lr: 0.01, ...options });
/** Norm and product with sin(i + 1), as in make_lora.py. */
const summary = ({ data }) => {
  const sum = (f) => data.reduce((all, x, i) => all + f(x, i), 0);
  return [Math.sqrt(sum((x) => x * x)), sum((x, i) => x * Math.sin(i + 1))];
};
/** The tensors and the configuration of an adapter. */
async function adapterOf(training) {
  const [config, weights] = await training.files();
  assert.deepEqual([config.name, weights.name], ['adapter_config.json', 'adapter_model.safetensors']);
  writeFileSync(join(folder, weights.name), weights.bytes);
  return {
    source: { config: config.bytes, weights: weights.bytes },
    config: JSON.parse(new TextDecoder().decode(config.bytes)),
    tensors: readTensors(join(folder, weights.name)),
  };
}

describe('against PyTorch', () => {
  for (const one of cases)
    test(`${one.folder}${one.teacherShare ? ', with a teacher' : ''}: losses and factors are those of PEFT's layers, under PEFT's names`, async () => {
      const model = await untilEnd(load(`${join(golden, one.folder)}/`, { dtype: 'f32' }));
      const { teacherShare } = one;
      const options = { ...one.options, warmup: 0, finalRate: 1, lora: { from: beginning(one) } };
      if (teacherShare) Object.assign(options, { teacher: model, teacherShare });
      const training = run(model, { examples: one.examples }, options);
      const found = await losses(training);
      assert.equal(found.length, one.options.steps);
      const worst = found.reduce((most, x, i) => Math.max(most, Math.abs(x / one.losses[i] - 1)), 0);
      assert.ok(worst < 1e-4, `the losses differ by ${worst}`);
      const { config, tensors } = await adapterOf(training);
      assert.deepEqual(
        [config.peft_type, config.r, config.lora_alpha, config.lora_dropout, config.bias],
        ['LORA', one.r, one.alpha, 0, 'none'],
      );
      assert.equal(config.fan_in_fan_out, one.modules[0][1]);
      const expected = Object.entries(one.trained).flatMap(([name, [a, b]]) => [
        [`base_model.model.${name}.lora_A.weight`, a],
        [`base_model.model.${name}.lora_B.weight`, b],
      ]);
      assert.deepEqual(Object.keys(tensors).sort(), expected.map(([name]) => name).sort());
      for (const [name, values] of expected)
        for (const [i, x] of summary(tensors[name]).entries())
          assert.ok(Math.abs(x - values[i]) < 1e-3 * values[0], `${name}: ${x}, expected ${values[i]}`);
      await training.dispose();
    });
});

describe('every family', () => {
  const sources = [join(top, 'weights/stories-1m.gguf')];
  for (const name of ['gpt_neox', 'bloom', 'qwen3_moe', 'gemma2', 'gguf_gptneox'])
    sources.push(`${join(golden, name)}/`);
  for (const source of sources)
    test(`${source.split('/').at(-1) || source.split('/').at(-2)}: the files give the model of the run`, async () => {
      const files = source.endsWith('/') ? readdirSync(source).filter((name) => name.endsWith('.gguf')) : [];
      const from = files.length ? join(source, files[0]) : source;
      const model = await load(from, { dtype: 'f32' });
      const training = run(
        model,
        {
          examples: [
            [3, 1, 4, 1, 5, 9],
            [2, 7, 1],
          ],
        },
        { lora: { rank: 3, modules: 'all-linear' } },
      );
      const all = await losses(training);
      assert.ok(
        all.every((x, i) => i === 0 || x < all[i - 1]),
        String(all),
      );
      const whole = await training.model();
      const { source: adapter } = await adapterOf(training);
      const merged = await load(from, { dtype: 'f32', adapters: [{ source: adapter }] });
      const [before, want, got] = await Promise.all([model, whole, merged].map(logits));
      assert.ok(distance(got, want) < 1e-4 * (1 + distance(want, before)), `${distance(got, want)}`);
      assert.ok(distance(want, before) > 1e-2);
      await model.setAdapter(await model.addAdapter(adapter));
      assert.ok(distance(await logits(model), got) === 0);
      for (const one of [model, whole, merged]) one.dispose();
      await training.dispose();
    });
});

test('a text is encoded with the model’s tokenizer; validation, a checkpoint and an adapter continue the run', async () => {
  const model = await untilEnd(load(join(top, 'weights/stories-1m.gguf')));
  const text = 'Once upon a time there was a robot named Zork.<|endoftext|>Zork ate a bolt. It was good.';
  const options = { steps: 6, lora: { rank: 2 }, validation: 'Zork was a robot.' };
  const whole = run(model, text, options);
  const steps = [];
  for await (const step of whole) steps.push(step);
  assert.ok(steps.at(-1).loss < steps[0].loss && steps.at(-1).validation.nats > 0);
  assert.equal(
    steps[0].tokens,
    (await model.encode('Once upon a time there was a robot named Zork.')).length +
      (await model.encode('Zork ate a bolt. It was good.')).length,
  );
  const [one, two] = await Promise.all([1, 2].map((threads) => losses(run(model, text, { ...options, threads }))));
  assert.deepEqual(one, two);
  assert.deepEqual(
    one,
    steps.map(({ loss }) => loss),
  );
  const begun = run(model, text, options);
  for await (const { step } of begun) if (step === 3) break;
  const checkpoint = await begun.checkpoint();
  await begun.dispose();
  const later = run(model, text, { ...options, checkpoint });
  for await (const step of later) assert.equal(step.loss, steps[step.step - 1].loss);
  const [a, b] = [await adapterOf(whole), await adapterOf(later)];
  assert.deepEqual(Buffer.from(a.source.weights), Buffer.from(b.source.weights));
  assert.deepEqual(a.config.target_modules, ['q_proj', 'v_proj']);
  const next = run(model, text, { lora: { from: a.source } });
  const { value } = await next.next();
  assert.ok(value.loss < steps.at(-1).loss);
  const other = run(model, text, { ...options, lora: { rank: 3 }, checkpoint });
  await refused(other.next(), ['bad-config', 'bad-file'], /checkpoint/);
  for (const one of [whole, later, next, other]) await one.dispose();
  assert.ok(sameBits(await logits(model), await logits(await load(join(top, 'weights/stories-1m.gguf')))));
});

/** The same model with its dequantised weights, in f32. */
async function dequantised(model) {
  const tensors = {};
  for (const { name, shape, tiedTo } of model.parameters.rows)
    if (!tiedTo) tensors[name] = { shape, data: (await model.matrix(name)).data };
  const snake = (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const fields = Object.entries(model.config).filter(([, value]) => value !== null);
  const config = { model_type: 'glassformer', ...Object.fromEntries(fields.map(([key, x]) => [snake(key), x])) };
  return load({ weights: safetensors(tensors), config }, { dtype: 'f32' });
}

// the weights that stay were once copied in f32, a gigabyte for Gemma 3 270M
describe('the weights that stay are trained with as they are stored', () => {
  const ids = Array.from({ length: 70 }, (_, i) => (i * i * 7 + 3) % 2000);
  const wide = { d_model: 256, n_layers: 3, n_heads: 4, d_ff: 256, vocab_size: 2000, context_length: 128 };
  const file = (name, dtype) => [`${name}, ${dtype}`, () => load(join(top, `weights/${name}.gguf`), { dtype })];
  for (const [name, open] of [
    file('stories-1m', 'keep'),
    file('stories-1m-q4_0', 'keep'),
    ...['q4_0', 'q5_0', 'f16'].map((type) => file('stories-1m', type)),
    ...['q6_k', 'q4_k'].map((dtype) => [`random weights, ${dtype}`, () => create(wide, { seed: 4, dtype })]),
  ])
    test(`${name}: steps and gradients have the bits of the dequantised model`, async () => {
      const stored = await untilEnd(open());
      const floats = await untilEnd(dequantised(stored));
      assert.ok(stored.memory.totalBytes < floats.memory.totalBytes);
      const found = [];
      for (const model of [stored, floats]) {
        const training = run(model, { examples: [ids] }, { lora: { rank: 3, modules: 'all-linear' } });
        const all = await losses(training);
        const at = ['blocks.1.hook_resid_pre', 'blocks.2.attn.k.weight', 'blocks.0.norm1.weight', 'embed.weight'];
        const { value, gradients } = await model.gradients(ids, { of: { token: 5, minus: 9 }, at });
        found.push({ all, value, gradients });
        await training.dispose();
      }
      assert.deepEqual(found[0].all, found[1].all);
      assert.ok(found[0].all[3] < found[0].all[0]);
      assert.equal(found[0].value, found[1].value);
      for (const [name, { data, shape }] of Object.entries(found[0].gradients)) {
        assert.ok(sameBits(data, found[1].gradients[name].data), name);
        assert.equal(
          data.length,
          shape.reduce((a, b) => a * b),
        );
        assert.ok(
          data.some((x) => x !== 0),
          name,
        );
      }
    });
});

test('a GGUF with sentence pieces and fused matrices: its own tokenizer, and the adapter without a copy of the model', async () => {
  const from = join(golden, 'gguf_phi3', 'model.gguf');
  const model = await load(from, { dtype: 'f32' });
  const data = { examples: [[3, 1, 4, 1, 5]] };
  const training = run(model, data, { lora: { rank: 2, modules: 'all-linear' } });
  await losses(training);
  assert.deepEqual(training.tokenizer.encode('hello'), (await model.tokenizer).encode('hello'));
  await refused(training.model(), 'unsupported', /the option adapters/);
  const { source, config } = await adapterOf(training);
  assert.deepEqual(config.target_modules, ['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj']);
  const next = run(model, data, { lora: { from: source } });
  const { loss } = (await next.next()).value;
  const before = (await model.loss(data.examples[0])).loss;
  await model.setAdapter(await model.addAdapter(source));
  const after = (await model.loss(data.examples[0])).loss;
  assert.ok(Math.abs(loss - after) < 1e-4 && after < before - 0.01, `${loss}, ${after}, before ${before}`);
  for (const one of [training, next, model]) await one.dispose();
});

test('what cannot be trained is refused with a sentence', async () => {
  const data = { examples: [[1, 2, 3]] };
  const model = await untilEnd(load(`${join(golden, 'llama_gqa_f16')}/`));
  const first = async (of, options, what = data) => {
    const training = train(of, what, options);
    await training.next().finally(() => training.dispose());
  };
  for (const [lora, words] of [
    [5, /lora is 5, expected \{ rank/],
    [null, /lora is null/],
    [[], /lora is/],
    [{ rank: 0 }, /lora\.rank is 0/],
    [{ rank: 1.5 }, /lora\.rank is 1\.5/],
    [{ rank: '4' }, /rank is "4"/],
    [{ alpha: NaN }, /alpha/],
    [{ modules: [] }, /lora\.modules/],
    [{ modules: 'q_proj' }, /lora\.modules is "q_proj"/],
    [{ modules: ['q_proj', 'nothing'] }, /"nothing", the model has down_proj, gate_proj, up_proj, k_proj/],
    [{ dropout: 0.1 }, /dropout/],
  ])
    await refused(first(model, { lora }), 'bad-option', words);
  for (const option of [{ muon: true }, { vocabSize: 300 }, { average: 0.9 }, { initStd: 0.1 }, { tokenizer: {} }])
    await refused(first(model, { lora: {}, ...option }), 'bad-option', new RegExp(Object.keys(option)[0]));
  await refused(first({ d_model: 16, n_layers: 1, n_heads: 2 }, { lora: {} }), 'bad-argument', /a loaded model/);
  await refused(first(model, {}), 'bad-argument', /pass \{ lora: \{\} \}/);
  await refused(first(model, { lora: { from: 7 } }), ['bad-argument', 'bad-option']);
  await refused(first(model, { lora: {} }, 'a text'), 'no-tokenizer');
  await refused(first(model, { lora: {} }, { examples: [[999]] }), 'bad-token');
  for (const [name, words] of [
    ['t5', /decoders/],
    ['llama_dynamic', /cannot be trained/],
  ]) {
    const other = await load(`${join(golden, name)}/`);
    await refused(first(other, { lora: {} }), 'unsupported', words);
    other.dispose();
  }
  const training = untilEnd(train(model, data, { steps: 1, lora: { rank: 1 } }));
  await training.next();
  await refused(training.files({ dtype: 'q8_0' }), 'bad-option', /f32/);
});
