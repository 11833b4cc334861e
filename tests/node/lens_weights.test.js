// lens_weights.test.js - weights under TransformerLens's names have the values and shapes that its loaders make of the
// files (transformer_lens/pretrained/weight_conversions, gpt2.py and llama.py at commit 237fb22), as index formulas
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { golden, readTensors, refused } from './helpers.js';

/** A tensor of f32 whose element at `index` is value(index). */
function filled(shape, value) {
  const n = shape.reduce((a, b) => a * b, 1);
  return Float32Array.from({ length: n }, (_, i) => {
    const at = shape.map((__, k) => Math.floor(i / shape.slice(k + 1).reduce((a, b) => a * b, 1)) % shape[k]);
    return value(...at);
  });
}

async function check(folder, expected) {
  const path = join(golden, folder);
  const file = readTensors(join(path, 'model.safetensors'));
  const model = await load(`${path}/`, { dtype: 'f32' });
  for (const [name, shape, value] of expected(file, model.config)) {
    const found = await model.matrix(name);
    assert.deepEqual(found.shape, shape, name);
    assert.deepEqual(found.data, filled(shape, value), name);
  }
  return model;
}

test('GPT-2: Conv1D of three parts, a tied head, learned positions', async () => {
  const model = await check(
    'gpt2_n_inner',
    (file, { dModel: d, nHeads: heads, dHead: h, dFf, vocabSize, contextLength }) => {
      const t = (name) => {
        const { data, shape } =
          file[`h.1.${name}`] ?? file[`transformer.h.1.${name}`] ?? file[name] ?? file[`transformer.${name}`];
        return (i, j = 0) => data[shape.length > 1 ? i * shape[1] + j : i];
      };
      const [qkv, bias] = [t('attn.c_attn.weight'), t('attn.c_attn.bias')];
      return [
        ...['Q', 'K', 'V'].flatMap((part, k) => [
          [`blocks.1.attn.W_${part}`, [heads, d, h], (i, m, j) => qkv(m, k * d + i * h + j)],
          [`blocks.1.attn.b_${part}`, [heads, h], (i, j) => bias(k * d + i * h + j)],
        ]),
        ['blocks.1.attn.W_O', [heads, h, d], (i, j, m) => t('attn.c_proj.weight')(i * h + j, m)],
        ['blocks.1.attn.b_O', [d], t('attn.c_proj.bias')],
        ['blocks.1.mlp.W_in', [d, dFf], t('mlp.c_fc.weight')],
        ['blocks.1.mlp.W_out', [dFf, d], t('mlp.c_proj.weight')],
        ['blocks.1.mlp.b_in', [dFf], t('mlp.c_fc.bias')],
        ['blocks.1.ln2.w', [d], t('ln_2.weight')],
        ['blocks.1.ln1.b', [d], t('ln_1.bias')],
        ['ln_final.w', [d], t('ln_f.weight')],
        ['embed.W_E', [vocabSize, d], t('wte.weight')],
        ['pos_embed.W_pos', [contextLength, d], t('wpe.weight')],
        ['unembed.W_U', [d, vocabSize], (m, i) => t('wte.weight')(i, m)],
      ];
    },
  );
  await refused(model.matrix('blocks.1.mlp.W_gate'), 'bad-argument', /there is no weight "blocks.1.ffn.gate.weight"/);
  await refused(model.matrix('unembed.W_Q'), 'bad-argument', /there is no weight "unembed.W_Q"/);
  model.dispose();
});

test('Llama: keys and values of a group are those of each of its heads', async () => {
  const model = await check('llama_gqa_f16', (file, { dModel: d, nHeads: heads, nKvHeads, dHead: h, dFf }) => {
    const t = (name) => {
      const { data, shape } = file[`model.layers.0.${name}.weight`];
      return (i, j) => data[i * shape[1] + j];
    };
    const group = heads / nKvHeads;
    assert.ok(group > 1);
    return [
      ['blocks.0.attn.W_Q', [heads, d, h], (i, m, j) => t('self_attn.q_proj')(i * h + j, m)],
      ['blocks.0.attn.W_V', [heads, d, h], (i, m, j) => t('self_attn.v_proj')(Math.floor(i / group) * h + j, m)],
      ['blocks.0.attn.W_O', [heads, h, d], (i, j, m) => t('self_attn.o_proj')(m, i * h + j)],
      ['blocks.0.mlp.W_gate', [d, dFf], (m, i) => t('mlp.gate_proj')(i, m)],
      ['blocks.0.mlp.W_out', [dFf, d], (i, m) => t('mlp.down_proj')(m, i)],
    ];
  });
  model.dispose();
});
