// adapters_switch.test.js - adapters beside a loaded model: switched on and off, the weights' bits stay
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { collect, golden, refused, sameBits, untilEnd } from './helpers.js';
import { adapter, matrix } from './lora.js';
import { safetensors } from './checkpoint_files.js';

const HEADS = 'model.layers.0.self_attn.';
/** Models of families and types, and the shapes [in, out] of modules of each. */
const MODELS = {
  llama_gqa_f16: {
    [`${HEADS}q_proj`]: [64, 64],
    [`${HEADS}k_proj`]: [64, 32],
    'model.layers.1.mlp.down_proj': [176, 64],
  },
  gpt2_n_inner: { 'transformer.h.0.attn.c_attn': [48, 144], 'transformer.h.1.mlp.c_fc': [48, 80] },
};
const IDS = [3, 1, 4, 1, 5];
const source = (name) => `${join(golden, name)}/`;
const filesOf = (name, options) => {
  const { weights, config } = adapter(MODELS[name], options);
  return { weights, config };
};
const logitsOf = async (model) => (await model.forward(IDS)).logits.data;

describe('switching', () => {
  for (const name of Object.keys(MODELS))
    for (const options of [{}, { dtype: 'q8_0' }, { worker: true }])
      test(`${name}, ${JSON.stringify(options)}: on is the model that is loaded with it, off the one before, bit for bit`, async () => {
        const [one, two] = [filesOf(name), filesOf(name, { r: 2, seed: 9 })];
        const model = await untilEnd(load(source(name), options));
        const plain = await logitsOf(model);
        const first = await model.addAdapter(one, { scale: 0.5 });
        const second = await model.addAdapter(two);
        assert.ok(sameBits(await logitsOf(model), plain), 'adding changes nothing');
        const isExact = options.dtype !== 'q8_0'; // the sums are of the weights in memory
        for (const [on, entry] of [
          [first, { source: one, scale: 0.5 }],
          [second, { source: two }],
        ]) {
          const merged = await load(source(name), { ...options, adapters: [entry] });
          const expected = await logitsOf(merged);
          merged.dispose();
          await model.setAdapter(on);
          const found = await logitsOf(model);
          assert.ok(!sameBits(found, plain));
          if (isExact) assert.ok(sameBits(found, expected));
          const third = await model.addAdapter(one);
          assert.ok(sameBits(await logitsOf(model), found), 'adding another keeps the one in use');
          assert.ok(third > second);
        }
        for (let i = 0; i < 3; i++) {
          await model.setAdapter(null);
          assert.ok(sameBits(await logitsOf(model), plain));
          await model.setAdapter(first);
          assert.ok(!sameBits(await logitsOf(model), plain));
        }
      });

  // The pass reads the table spread by distance, which was made once.
  test('an adapter of the table of relative positions', async () => {
    const config = { model_type: 'glassformer', vocab_size: 8, d_model: 8, n_layers: 1, n_heads: 2, ffn: 'none' };
    Object.assign(config, { norm: 'none', final_norm: false, position: 'none', context_length: 16 });
    Object.assign(config, { relative_buckets: 4, relative_max_distance: 8 });
    const tensors = { 'embed.weight': matrix(8, 8, 1), 'relative_bias.weight': matrix(4, 2, 2) };
    for (const [i, name] of ['q', 'k', 'v', 'o'].entries())
      tensors[`blocks.0.attn.${name}.weight`] = matrix(8, 8, 3 + i);
    const given = { weights: safetensors(tensors), config };
    const { weights, config: lora } = adapter({ relative_bias: [2, 4] }, { alpha: 400 });
    const merged = await load(given, { adapters: [{ source: { weights, config: lora } }] });
    const model = await load(given);
    const plain = await logitsOf(model);
    await model.setAdapter(await model.addAdapter({ weights, config: lora }));
    assert.ok(sameBits(await logitsOf(model), await logitsOf(merged)));
    assert.ok(!sameBits(await logitsOf(model), plain));
    await model.setAdapter(null);
    assert.ok(sameBits(await logitsOf(model), plain));
    model.dispose();
    merged.dispose();
  });

  test('gradients are those of the weights in use', async () => {
    const model = await untilEnd(load(source('llama_gqa_f16'), { dtype: 'f32' }));
    const value = async () => (await model.gradients(IDS, { of: 'loss', at: ['hook_embed'] })).value;
    const before = await value();
    const lora = await model.addAdapter(filesOf('llama_gqa_f16'));
    await model.setAdapter(lora);
    assert.notEqual(await value(), before);
    await model.setAdapter(null);
    assert.equal(await value(), before);
  });

  test('integrated gradients are all of the same weights', async () => {
    const model = await untilEnd(load(source('llama_gqa_f16'), { dtype: 'f32' }));
    const lora = await model.addAdapter(filesOf('llama_gqa_f16'));
    const attributions = async () => (await model.integratedGradients(IDS, { of: 'loss', steps: 200 })).tokens.data;
    const wanted = [await attributions()];
    await model.setAdapter(lora);
    wanted.push(await attributions());
    let isDone = false;
    const found = attributions().finally(() => (isDone = true));
    for (let i = 0; !isDone; i++) {
      await model.setAdapter(i % 2 ? lora : null).catch(() => {});
      await new Promise(setImmediate);
    }
    const data = await found;
    assert.ok(wanted.some((one) => sameBits(data, one)));
  });

  test('an open session or generation is no place to switch', async () => {
    const model = await untilEnd(load(source('llama_gqa_f16')));
    const lora = await model.addAdapter(filesOf('llama_gqa_f16'));
    const session = await model.session();
    await refused(model.setAdapter(lora), 'bad-state', /cannot switch adapters while a session/);
    await session.dispose();
    const steps = model.generate(IDS, { maxTokens: 20, seed: 1, ignoreEos: true });
    await steps.next();
    await refused(model.setAdapter(lora), 'bad-state');
    await steps.return();
    await model.setAdapter(lora);
    assert.equal((await collect(model.generate(IDS, { maxTokens: 3, seed: 1, ignoreEos: true }))).ids.length, 3);
  });

  test('what is no adapter is refused', async () => {
    const model = await load(source('llama_gqa_f16'));
    const { weights, config } = filesOf('llama_gqa_f16');
    for (const wrong of [0, -1, 0.5, 'push', undefined, {}]) await refused(model.setAdapter(wrong), 'bad-argument');
    for (const options of [{ scale: 'x' }, { scale: NaN }, { typo: 1 }])
      await refused(model.addAdapter({ weights, config }, options), ['bad-option', 'bad-argument']);
    for (const wrong of [7, null, undefined, {}, weights])
      await refused(model.addAdapter(wrong), ['bad-argument', 'bad-option']);
    await refused(model.addAdapter(filesOf('gpt2_n_inner')), 'unknown-tensor');
    await refused(model.addAdapter({ weights, config }, { scale: 1000 * 1000 }), ['bad-option']);
    model.dispose();
    await refused(model.addAdapter({ weights, config }), 'bad-state');
  });
});
