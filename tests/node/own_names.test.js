// own_names.test.js - checkpoints without a config.json, and with names of the caller's own
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from '../../web/lib/api/index.js';
import { golden, openCase, readTensors, refused } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const pytorch = (name) => fileURLToPath(new URL(`../golden/pytorch/${name}`, import.meta.url));
const ids = [3, 1, 4, 1, 5];
const logitsOf = async (source, options) => {
  const model = await load(source, { dtype: 'f32', ...options });
  try {
    return { logits: [...(await model.forward(ids)).logits.data], config: model.config, warnings: model.warnings };
  } finally {
    model.dispose();
  }
};
const llama = readTensors(join(golden, 'llama_1tok', 'model.safetensors'));
const folder = `${join(golden, 'llama_1tok')}/`;
/** What the tensors of a Llama do not tell. */
const told = { num_attention_heads: 4, rms_norm_eps: 1e-5, rope_theta: 10000, max_position_embeddings: 128 };

describe('without a config.json', () => {
  test('one sentence names every key that the tensors do not tell', async () => {
    await refused(
      load(safetensors(llama)),
      'bad-config',
      /no config\.json, and the tensors do not tell model_type \(the names fit llama, mistral.*\), num_attention_heads, rms_norm_eps, rope_theta and max_position_embeddings: give them in the option config/,
    );
    await refused(
      load(safetensors(llama), { config: { model_type: 'llama', rope_theta: 10000, num_attention_heads: 4 } }),
      'bad-config',
      /do not tell rms_norm_eps and max_position_embeddings: give them/,
    );
    const untold = await load(safetensors(llama)).catch(({ keys }) => keys);
    assert.ok(untold[0].choices.includes('llama'));
    assert.deepEqual(
      untold.map(({ key }) => key),
      ['model_type', 'num_attention_heads', 'rms_norm_eps', 'rope_theta', 'max_position_embeddings'],
    );
    await refused(
      load(pytorch('mingpt.pt')),
      'bad-config',
      /do not tell n_head: give it in the option config \(read off the tensors: vocab_size 37, n_embd 16, n_layer 2, block_size 12, tie_word_embeddings false\)/,
    );
    await refused(
      load(pytorch('tutorial1_classical.pt')),
      'bad-config',
      /do not tell n_heads, pre_norm and positional: give them/,
    );
    await refused(
      load(safetensors({ strange: { shape: [2], data: new Float32Array(2) } })),
      'bad-config',
      /names such as \["strange"\] are those of no known family/,
    );
  });

  test("where the norms of tutorial 1's block stand, and its rotation, are asked for", async () => {
    const { folder, config } = openCase('t1_3layer_odd');
    const weights = join(folder, 'model.safetensors');
    const { gate, ...plain } = { gate: /ffn\.W_gate/, 'ffn.W_up': 'ffn.W_1', 'ffn.W_down': 'ffn.W_2' };
    const gelu = Object.fromEntries(
      Object.entries(readTensors(weights)).flatMap(([name, tensor]) =>
        gate.test(name) ? [] : [[name.replace(/ffn\.W_(up|down)/, (part) => plain[part]), tensor]],
      ),
    );
    const { rope_base, max_seq_len, n_heads } = config;
    const told = { n_heads, rope_base, max_seq_len, norm_eps: config.norm_eps };
    for (const tensors of [readTensors(weights), gelu]) {
      const file = safetensors(tensors);
      const ffn = tensors === gelu ? 'gelu' : 'swiglu';
      for (const pre_norm of [true, false])
        for (const positional of ['rope', 'none']) {
          const variant = { pre_norm, positional };
          const want = await logitsOf({ weights: file, config: { ...config, ffn, ...variant } });
          assert.deepEqual((await logitsOf(file, { config: { ...told, ...variant } })).logits, want.logits);
          for (const key of Object.keys(variant))
            await refused(
              load(file, { config: { ...told, ...variant, [key]: undefined } }),
              'bad-config',
              new RegExp(`do not tell ${key}: give it`),
            );
        }
    }
    for (const key of ['pre_norm', 'positional'])
      await refused(
        load({ weights: safetensors(gelu), config: { ...config, ffn: 'gelu', [key]: undefined } }),
        'bad-config',
        new RegExp(`config\\.json: ${key} is missing`),
      );
  });

  test('what the shapes tell is read off them', async () => {
    const want = await logitsOf(folder);
    const eps = { ...told, model_type: 'llama', rms_norm_eps: want.config.normEps, rope_theta: want.config.ropeTheta };
    const heads = { num_attention_heads: want.config.nHeads, max_position_embeddings: want.config.contextLength };
    const got = await logitsOf(safetensors(llama), { config: { ...eps, ...heads } });
    assert.deepEqual(got.logits, want.logits);
    assert.deepEqual(got.config, want.config);
    assert.match(
      got.warnings.join(),
      /no config\.json; model_type llama and vocab_size \d+.*were read off the tensors/,
    );
    // the width of a head instead of their number
    const width = { ...eps, ...heads, num_attention_heads: undefined, head_dim: want.config.dHead };
    assert.deepEqual((await logitsOf(safetensors(llama), { config: width })).config.nKvHeads, want.config.nKvHeads);
  });

  test('keys of the option config replace those of a config.json', async () => {
    const { config } = await logitsOf(folder, { config: { rope_theta: 77 } });
    assert.equal(config.ropeTheta, 77);
    const { config: own } = await logitsOf(pytorch('mingpt.pt'), { config: { nHeads: 4 } });
    assert.equal(own.nHeads, 4);
  });

  test('sizes that contradict the tensors are refused', async () => {
    await refused(load(pytorch('mingpt.pt'), { config: { n_head: 3 } }), 'bad-config', /n_embd 16|n_head 3/);
    await refused(
      load(pytorch('nanogpt/ckpt.pt'), { config: { n_layer: 3 } }),
      'missing-tensor',
      /transformer\.h\.2\.ln_1\.weight is missing/,
    );
    for (const config of [5, 'x', [], new Uint8Array(2)])
      await refused(
        Promise.resolve().then(() => load(folder, { config })),
        'bad-option',
        /config is .*expected an object/,
      );
  });
});

// ---- names

/** The names of a learner's own class, by Llama's. */
const mine = (name) =>
  name
    .replace('model.', '')
    .replace('embed_tokens', 'tokens')
    .replace(/^layers\.(\d+)\./, 'stack/$1/')
    .replace('self_attn.', 'att_')
    .replace('_proj.weight', '')
    .replace('lm_head.weight', 'out');
const own = Object.fromEntries(Object.entries(llama).map(([name, tensor]) => [mine(name), tensor]));
/** By our names. */
const MAP = {
  embed: 'tokens',
  'blocks.N.norm1': 'stack/*/input_layernorm',
  'blocks.N.norm2': 'stack/*/post_attention_layernorm',
  'blocks.N.attn.q.weight': 'stack/*/att_q',
  'blocks.N.attn.k.weight': 'stack/*/att_k',
  'blocks.*.attn.v.weight': 'stack/*/att_v',
  'blocks.N.attn.o.weight': 'stack/*/att_o',
  'blocks.N.ffn.gate.weight': 'stack/*/mlp.gate',
  'blocks.N.ffn.up.weight': 'stack/*/mlp.up',
  'blocks.N.ffn.down.weight': 'stack/*/mlp.down',
  final_norm: 'norm',
  'head.weight': 'out',
};
/** The same as a function. */
const byFunction = (name) => {
  const layer = /^blocks\.(\d+)\./.exec(name)?.[1];
  const key = name.replace(/^blocks\.\d+/, 'blocks.N');
  const value = MAP[key] ?? MAP[key.replace('N', '*')];
  const stem = MAP[key.replace(/\.weight$/, '')];
  return value?.replace('*', layer) ?? (stem && `${stem.replace('*', layer)}.weight`) ?? null;
};

describe('names', () => {
  let want, config;
  test('the usual names', async () => {
    want = await logitsOf(folder);
    const c = want.config;
    config = {
      n_heads: c.nHeads,
      norm: c.norm,
      norm_eps: c.normEps,
      position: 'rope',
      rope_theta: c.ropeTheta,
      context_length: c.contextLength,
    };
  });

  test('a map and a function give the same model, in this thread and in a worker', async () => {
    for (const names of [MAP, byFunction])
      for (const worker of [false, true]) {
        const options = { names, config, worker, ...(worker && { threads: 1 }) };
        const got = await logitsOf(safetensors(own), options);
        assert.deepEqual(got.logits, want.logits);
        assert.deepEqual(got.config, want.config);
      }
  });

  test('the family of a config.json with some other names', async () => {
    const renamed = Object.fromEntries(
      Object.entries(llama).map(([name, t]) => [name.replace('self_attn.q_proj', 'attention.wq'), t]),
    );
    const names = { 'blocks.N.attn.q': 'model.layers.N.attention.wq' };
    const source = { weights: safetensors(renamed), config: join(folder, 'config.json') };
    assert.deepEqual((await logitsOf(source, { names })).logits, want.logits);
  });

  test('weights with one name are stacked, and transposed ones turned', async () => {
    const layers = want.config.nLayers;
    const joined = { ...own };
    for (let l = 0; l < layers; l++) {
      const parts = ['q', 'k', 'v'].map((p) => joined[`stack/${l}/att_${p}`]);
      const data = Float32Array.from(parts.flatMap((p) => [...p.data]));
      joined[`stack/${l}/qkv`] = { shape: [parts.reduce((n, p) => n + p.shape[0], 0), parts[0].shape[1]], data };
      for (const p of ['q', 'k', 'v']) delete joined[`stack/${l}/att_${p}`];
      const { shape, data: up } = joined[`stack/${l}/mlp.up`];
      const [rows, cols] = shape;
      const turned = Float32Array.from(up, (_, i) => up[(i % rows) * cols + Math.floor(i / rows)]);
      joined[`stack/${l}/mlp.up`] = { shape: [cols, rows], data: turned };
    }
    const { 'blocks.*.attn.v.weight': _, ...others } = MAP;
    const names = {
      ...others,
      ...Object.fromEntries(['q', 'k', 'v'].map((p) => [`blocks.N.attn.${p}.weight`, 'stack/*/qkv'])),
      'blocks.N.ffn.up.weight': { name: 'stack/*/mlp.up', transposed: true },
    };
    assert.deepEqual((await logitsOf(safetensors(joined), { names, config })).logits, want.logits);
  });

  test('what cannot be is refused with the name', async () => {
    const bad = (names) => Promise.resolve().then(() => load(safetensors(own), { names, config }));
    await refused(bad({ ...MAP, 'blocks.N.attn.w': 'x' }), 'bad-option', /no weight "blocks\.N\.attn\.w"/);
    await refused(bad({ ...MAP, embed: 5 }), 'bad-option', /"embed" is 5, expected the name of a tensor/);
    await refused(bad(5), 'bad-option', /names is 5, expected an object or a function/);
    await refused(
      bad(() => 5),
      'bad-option',
      /is 5, expected the name of a tensor/,
    );
    await refused(
      bad(() => {
        throw new Error('boom');
      }),
      'callback',
      /names threw for "embed\.weight": boom/,
    );
    const { final_norm: _, ...fewer } = MAP;
    await refused(bad(fewer), ['missing-tensor', 'unknown-tensor', 'bad-config'], /norm/);
    await refused(load(join(golden, 'gguf_llama_q8_0/model.gguf'), { names: MAP }), 'bad-option', /names.*gguf/);
  });
});
