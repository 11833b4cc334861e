// adapters.test.js - LoRA adapters: the same model as one whose weights were added up before
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { withAdapters } from '../../web/lib/files/adapters/merge_adapters.js';
import { GlassformerError, load } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { collect, golden, json, numbers, readTensors, refused, sameBits, serve } from './helpers.js';
import { adapter } from './lora.js';
import { safetensors } from './checkpoint_files.js';

const folder = temporaryFolder('adapters');

/** A checkpoint whose tensors have the products added, by the definition. */
function merged(name, tensor, added, transposed) {
  const file = readTensors(join(golden, name, 'model.safetensors'));
  for (const [module, { a, b, factor }] of added) {
    const { data } = file[tensor(module)];
    const [rows, r] = b.shape;
    const [, cols] = a.shape;
    for (let o = 0; o < rows; o++)
      for (let i = 0; i < cols; i++) {
        let sum = 0;
        for (let k = 0; k < r; k++) sum += factor * b.data[o * r + k] * a.data[k * cols + i];
        const at = transposed ? i * rows + o : o * cols + i;
        data[at] = data[at] + sum;
      }
  }
  return { weights: safetensors(file), config: json(join(golden, name, 'config.json')) };
}

const logitsOf = async (source, options = {}, ids = [3, 1, 4, 1, 5]) => {
  const model = await load(source, options);
  const { logits } = await model.forward(ids);
  model.dispose();
  return logits.data;
};

const llama = {
  'model.layers.0.self_attn.q_proj': 'q',
  'model.layers.1.self_attn.v_proj': 'v',
  'model.layers.1.mlp.down_proj': 'down',
};
const shapesOf = (name, modules, transposed = false) => {
  const file = readTensors(join(golden, name, 'model.safetensors'));
  return Object.fromEntries(
    Object.keys(modules).map((module) => {
      const full = `${module}.weight`;
      const stored = Object.keys(file).find((t) => full === t || full.endsWith(`.${t}`));
      const [out, into] = file[stored].shape;
      return [module, transposed ? [out, into] : [into, out]];
    }),
  );
};

describe('merging', () => {
  for (const name of ['llama_1tok', 'llama_gqa_f16']) {
    test(`${name}: logits are those of weights that were added up in f32 before`, async () => {
      const modules = Object.entries(llama).filter(([m]) => name !== 'llama_1tok' || m.includes('.0.'));
      const one = adapter(shapesOf(name, Object.fromEntries(modules)));
      const two = adapter(shapesOf(name, { 'model.layers.0.self_attn.q_proj': '' }), {
        r: 2,
        alpha: 1,
        seed: 50,
        extra: { use_rslora: true },
      });
      const source = `${join(golden, name)}/`;
      const adapters = [{ source: { weights: one.weights, config: one.config }, scale: 0.5 }, { source: two }];
      const before = adapters.map(({ source: { weights, config } }) => ({ weights, config }));
      const got = await logitsOf(source, {
        dtype: 'f32',
        adapters: [{ source: before[0], scale: 0.5 }, { source: before[1] }],
      });
      const added = [
        ...Object.entries(one.pairs).map(([m, p]) => [m, { ...p, factor: (0.5 * 6) / 4 }]),
        ...Object.entries(two.pairs).map(([m, p]) => [m, { ...p, factor: 1 / Math.sqrt(2) }]),
      ];
      const want = await logitsOf(
        merged(name, (m) => `${m}.weight`, added, false),
        { dtype: 'f32' },
      );
      const most = got.reduce((m, x, i) => Math.max(m, Math.abs(x - want[i])), 0);
      assert.ok(most < 2e-5, String(most));
      const plain = await logitsOf(source, { dtype: 'f32' });
      assert.ok(plain.reduce((m, x, i) => Math.max(m, Math.abs(x - want[i])), 0) > 1e-2);
      const none = await logitsOf(source, { dtype: 'f32', adapters: [{ source: before[0], scale: 0 }] });
      assert.ok(sameBits(none, plain));
    });
  }

  test('weights stored as [in, out] (GPT-2), with a prefix that the file leaves out', async () => {
    const name = 'gpt2_n_inner';
    const modules = { 'transformer.h.0.attn.c_attn': '', 'transformer.h.1.mlp.c_proj': '' };
    const one = adapter(shapesOf(name, modules, true));
    const file = readTensors(join(golden, name, 'model.safetensors'));
    const stored = (m) => Object.keys(file).find((t) => `${m}.weight`.endsWith(t)) ?? '';
    const added = Object.entries(one.pairs).map(([m, p]) => [m, { ...p, factor: 1.5 }]);
    const want = await logitsOf(merged(name, stored, added, true));
    const { weights, config } = one;
    const got = await logitsOf(`${join(golden, name)}/`, { adapters: [{ source: { weights, config } }] });
    assert.ok(got.reduce((m, x, i) => Math.max(m, Math.abs(x - want[i])), 0) < 2e-5);
  });

  test('weights keep their type, or get the one that is asked for; a folder, an address and a worker give the same', async () => {
    const name = 'llama_gqa_f16';
    const { weights, config } = adapter(shapesOf(name, llama));
    writeFileSync(join(folder, 'adapter_model.safetensors'), weights);
    writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
    const source = `${join(golden, name)}/`;
    const model = await load(source, { adapters: [{ source: `${folder}/` }] });
    assert.equal(model.parameters.rows.find((r) => r.name === 'blocks.0.attn.q.weight')?.dtype, 'f16');
    const want = (await model.forward([3, 1, 4])).logits.data;
    model.dispose();
    const server = await serve((request, response) => {
      response.end(request.url.endsWith('config.json') ? JSON.stringify(config) : weights);
    });
    for (const at of [join(folder, 'adapter_model.safetensors'), `${server.url}lora/`, { weights, config }])
      assert.ok(sameBits(await logitsOf(source, { adapters: [{ source: at }] }, [3, 1, 4]), want));
    assert.ok(
      sameBits(await logitsOf(source, { worker: true, adapters: [{ source: { weights, config } }] }, [3, 1, 4]), want),
    );
    server.close();
    const quantised = await load(source, { dtype: 'q8_0', adapters: [{ source: { weights, config } }] });
    assert.equal(quantised.parameters.rows.find((r) => r.name === 'blocks.0.attn.q.weight')?.dtype, 'q8_0');
    assert.equal((await collect(quantised.generate([1, 2], { maxTokens: 3, temperature: 0 }))).ids.length, 3);
    quantised.dispose();
    const seen = [];
    (await load(source, { adapters: [{ source: { weights, config } }], onProgress: (p) => seen.push(p) })).dispose();
    assert.ok(seen.every((p) => p.total === null || p.loaded <= p.total));
  });
});

describe('refusals', () => {
  const name = 'llama_1tok';
  const source = `${join(golden, name)}/`;
  const q = 'model.layers.0.self_attn.q_proj';
  const good = adapter(shapesOf(name, { [q]: '' }));
  const tensor = (shape) => ({
    shape,
    data: new Float32Array(shape.reduce((x, y) => x * y, 1)),
  });
  const files = (shapes) =>
    safetensors(
      Object.fromEntries(Object.entries(shapes).map(([n, s]) => [`base_model.model.${n}.weight`, tensor(s)])),
    );
  const shapes = { a: good.pairs[q].a.shape, b: good.pairs[q].b.shape };

  for (const [what, weights, config, code, words] of [
    [
      'a module that the model lacks',
      files({ 'model.layers.9.x.lora_A': [4, 8], 'model.layers.9.x.lora_B': [8, 4] }),
      {},
      'unknown-tensor',
      /adapter 0: the model has no tensor model\.layers\.9\.x\.weight/,
    ],
    [
      'a wrong name',
      files({ [`${q}.weight_a`]: [4, 8] }),
      {},
      'unsupported',
      /expected names such as base_model\.model/,
    ],
    [
      'an embedding',
      safetensors({ 'base_model.model.model.embed_tokens.lora_embedding_A': tensor([4, 8]) }),
      {},
      'unsupported',
      /lora_embedding_A/,
    ],
    ['A without B', files({ [`${q}.lora_A`]: shapes.a }), {}, 'missing-tensor', /has no lora_B/],
    [
      'ranks that differ',
      files({ [`${q}.lora_A`]: shapes.a, [`${q}.lora_B`]: [shapes.b[0], 3] }),
      {},
      'bad-shape',
      /ranks differ/,
    ],
    ['another r', good.weights, { r: 8 }, 'bad-shape', /has 4 rows, r is 8/],
    [
      'a wrong width',
      files({ [`${q}.lora_A`]: [4, shapes.a[1] + 1], [`${q}.lora_B`]: shapes.b }),
      {},
      'bad-shape',
      /expected \[\d+, r\] and \[r, \d+\]/,
    ],
    ['a vector', files({ [`${q}.lora_A`]: [4], [`${q}.lora_B`]: shapes.b }), {}, 'bad-shape', /expected a matrix/],
    ['no tensor', safetensors({}), {}, 'missing-tensor', /there are no tensors/],
    ['another method', good.weights, { peft_type: 'IA3' }, 'unsupported', /peft_type is "IA3"/],
    ['DoRA', good.weights, { use_dora: true }, 'unsupported', /use_dora/],
    ['another rank by pattern', good.weights, { rank_pattern: { q_proj: 8 } }, 'bad-shape', /has 4 rows, r is 8/],
    ['a pattern that is no name', good.weights, { alpha_pattern: { '(a+)+': 8 } }, 'unsupported', /key "\(a\+\)\+"/],
    ['an alpha by pattern that is no number', good.weights, { alpha_pattern: { q_proj: '8' } }, 'bad-config', /"8"/],
    ['modules to save', good.weights, { modules_to_save: ['lm_head'] }, 'unsupported', /modules_to_save/],
    ['biases', good.weights, { bias: 'all' }, 'unsupported', /bias "all"/],
    ...['pissa', 'pissa_niter_16', 'olora', 'corda', 'loftq', 'lora_ga'].map((way) => [
      `a beginning that changes the base: ${way}`,
      good.weights,
      { init_lora_weights: way },
      'unsupported',
      /init_lora_weights "\w+" .*path_initial_model/,
    ]),
    ['use_rslora that is no flag', good.weights, { use_rslora: 'yes' }, 'bad-config', /use_rslora is "yes"/],
    ['a quantised A', good.weights, { use_qalora: true }, 'unsupported', /use_qalora/],
    ['an unknown key with a value', good.weights, { use_later_lora: 2 }, 'unsupported', /use_later_lora 2/],
    ['r 0', good.weights, { r: 0 }, 'bad-config', /r is 0/],
    ['a lora_alpha that is no number', good.weights, { lora_alpha: 'x' }, 'bad-config', /lora_alpha/],
    ['bytes without a header', new Uint8Array(20), {}, 'bad-header', /./],
  ])
    test(what, () =>
      refused(
        load(source, { adapters: [{ source: { weights, config: { ...good.config, ...config } } }] }),
        code,
        words,
      ),
    );

  test('keys without effect are read, flags as Python has them, and lora_alpha and r are 8 where they are absent', async () => {
    const logitsWith = async (config) => {
      const model = await load(source, { adapters: [{ source: { weights: good.weights, config } }] });
      const logits = [...(await model.forward([1, 2, 3])).logits.data];
      model.dispose();
      return logits;
    };
    const { lora_alpha: _, ...rest } = good.config;
    const neutral = {
      init_lora_weights: 'mica',
      use_rslora: 0,
      use_dora: 0,
      megatron_config: null,
      layers_pattern: 'layers',
    };
    const eight = await logitsWith({ ...rest, lora_alpha: 8 });
    assert.deepEqual(await logitsWith({ ...rest, ...neutral }), eight);
    const rooted = await logitsWith({ ...rest, lora_alpha: 8, use_rslora: true });
    assert.deepEqual(await logitsWith({ ...rest, use_rslora: 1 }), rooted);
    assert.notDeepEqual(rooted, eight);
    // the first key that ends a name counts; PEFT writes ^ before whole names
    for (const alpha_pattern of [
      { v_proj: 3, q_proj: 8, [q]: 3 },
      { [`^${q}`]: 8 },
      { 'self_attn.q_proj': 8, proj: 5 },
    ])
      assert.deepEqual(await logitsWith({ ...rest, lora_alpha: 5, alpha_pattern }), eight);
    const four = { r: 32, rank_pattern: { 'layers.0.self_attn.q_proj': 4 } };
    assert.deepEqual(await logitsWith({ ...rest, ...four, lora_alpha: 8 }), eight);
    for (const alpha_pattern of [{ proj: 5 }, { 'ayers.0.self_attn.q_proj': 5 }])
      // ends of words are no names
      assert.deepEqual(await logitsWith({ ...rest, lora_alpha: 8, alpha_pattern }), eight);
    const wide = files({ [`${q}.lora_A`]: [8, shapes.a[1]], [`${q}.lora_B`]: [shapes.b[0], 8] });
    const { r: __, ...withoutR } = rest;
    const model = await load(source, { adapters: [{ source: { weights: wide, config: withoutR } }] });
    model.dispose();
  });

  test('any file in which bytes were changed or cut off is read or refused', async () => {
    const bytes = new Uint8Array(good.weights);
    for (const [i, at] of numbers(60, bytes.length, 9).entries()) {
      const changed = bytes.slice(0, i % 3 ? bytes.length : at);
      if (i % 3) changed[i % 2 ? at % 300 : at] ^= 1 << (i % 8);
      const loading = load(source, { adapters: [{ source: { weights: changed, config: good.config } }] });
      await loading.then(
        (model) => model.dispose(),
        (error) => assert.ok(error instanceof GlassformerError && error.code !== 'internal', error.stack),
      );
    }
  });

  test('wrong options, and a checkpoint of llama2.c', async () => {
    const { weights, config } = good;
    for (const adapters of [
      5,
      'x',
      [5],
      [{}],
      [{ source: { weights, config }, scale: NaN }],
      [{ source: { weights, config }, scale: '1' }],
      [{ source: { weights, config }, typo: 1 }],
    ])
      await refused(load(source, { adapters }), ['bad-option', 'bad-argument'], /adapters/);
    await refused(load(source, { adapters: [{ source: 7 }] }), 'bad-argument');
    await refused(load(source, { adapters: [{ source: new Response(weights) }] }), 'bad-option', /not a Response/);
    await refused(load(source, { adapters: [{ source: weights }] }), 'bad-argument', /needs \{ weights, config \}/);
    await refused(load(source, { adapters: [{ source: join(folder, 'none.safetensors') }] }), 'not-found');
    assert.throws(() => withAdapters({ format: 'llama2c' }, [], false, null), {
      code: 'unsupported',
      message: /safetensors, PyTorch and GGUF checkpoints, this one is a llama2c/,
    });
  });
});
