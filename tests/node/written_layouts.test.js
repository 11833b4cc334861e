// written_layouts.test.js - checkpoints of classes that people write: each layout gives the logits of PyTorch, under
// every prefix, with every kind of buffer and dictionary beside the weights; what cannot be told is asked for
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { distance, refused } from './helpers.js';
import { op, plainOps, safetensors, torchFile } from './checkpoint_files.js';
import { LAYOUTS, llmcFile, recorded, torchBlock, weightsOf } from './written_layouts.js';

const { ids, source, heads, context } = recorded;
const TOLERANCE = 1e-4;

/** The bytes of a torch.save: a state dict alone, or one beside a dictionary. */
const saved = (tensors, beside, key = 'model_args') =>
  torchFile(tensors, {
    wrap:
      beside &&
      ((state) =>
        op.dict([
          [op.text('model'), state],
          [op.text(key), plainOps(beside)],
        ])),
  });
const asSafetensors = (tensors) => safetensors(Object.fromEntries(tensors.map(({ name, ...t }) => [name, t])));

/** Loads a checkpoint and compares its logits with those that PyTorch gave the model. */
async function same(model, file, options, call = {}) {
  const loaded = await load(file, { dtype: 'f32', ...options });
  try {
    const { logits } = await loaded.forward(ids, call);
    const far = distance(logits.data, recorded.models[model].logits);
    assert.ok(far < TOLERANCE, `logits are off by ${far}`);
    return { config: loaded.config, warnings: loaded.warnings.join('\n') };
  } finally {
    loaded.dispose();
  }
}

describe('layouts', () => {
  for (const [name, { model, tensors, options, saved: args }] of Object.entries(LAYOUTS))
    test(name, async () => {
      await same(model, saved(tensors(), args), options);
      if (!args) await same(model, asSafetensors(tensors()), options);
    });

  test('the GPT-2 of llm.c, whose rows of padding are dropped', async () => {
    await same('gpt_tanh_tied', llmcFile(3));
    const rounded = await load(llmcFile(5), { dtype: 'f32' });
    const { data } = (await rounded.forward(ids)).logits;
    assert.ok(distance(data, recorded.models.gpt_tanh_tied.logits) < 0.2, 'bf16 cut off after 8 bits');
    rounded.dispose();
    const version = llmcFile(3);
    version[4] = 1;
    await refused(load(version), 'unsupported', /version 1 of llm\.c/);
    await refused(load(llmcFile(3).slice(0, 9000)), 'truncated', /header describes/);
  });

  test("torch.nn's encoder with a causal mask, by names", async () => {
    for (const [model, options] of [
      ['encoder_post', { norm_placement: 'post', ffn: 'relu' }],
      ['encoder_pre', { norm_placement: 'pre', ffn: 'gelu_erf' }],
    ]) {
      const tensors = weightsOf(model).map(([name, t]) => ({ name, ...t }));
      const names = {
        ...{ embed: 'embedding', head: 'linear', ...torchBlock('blocks', 'encoder') },
        ...(model === 'encoder_pre' && { final_norm: 'encoder.norm' }),
      };
      const config = {
        ...{ n_heads: heads, norm: 'layernorm', norm_eps: 1e-5, context_length: context },
        ...{ position: 'sinusoidal', embedding_scale: 4, ...options },
      };
      await same(model, saved(tensors), { names, config });
    }
  });

  test("torch.nn's Transformer, by names, with the configuration as an option or as a part of the source", async () => {
    const tensors = weightsOf('translator').map(([name, t]) => ({ name, ...t }));
    const cross = Object.fromEntries(
      ['q', 'k', 'v'].flatMap((p) =>
        ['weight', 'bias'].map((end) => [
          `decoder.N.cross_attn.${p}.${end}`,
          `transformer.decoder.layers.N.multihead_attn.in_proj_${end}`,
        ]),
      ),
    );
    const names = {
      ...{ 'encoder.embed': 'src', embed: 'tgt', head: 'generator' },
      ...{ 'encoder.final_norm': 'transformer.encoder.norm', final_norm: 'transformer.decoder.norm' },
      ...{ ...torchBlock('encoder', 'transformer.encoder'), ...torchBlock('decoder', 'transformer.decoder'), ...cross },
      'decoder.N.cross_attn.o': 'transformer.decoder.layers.N.multihead_attn.out_proj',
      'decoder.N.norm3': 'transformer.decoder.layers.N.norm3',
    };
    const config = {
      ...{ kind: 'encoder_decoder', vocab_size: 23, d_model: 16, n_layers: 2, n_encoder_layers: 2, n_heads: heads },
      ...{ d_ff: 48, ffn: 'relu', norm: 'layernorm', norm_eps: 1e-5, norm_placement: 'post', final_norm: true },
      ...{ position: 'sinusoidal', embedding_scale: 4, context_length: context, bias_qkv: true, bias_attn_out: true },
      ...{ bias_ffn: true, bias_head: true, tie_word_embeddings: false, shared_embedding: false },
    };
    await same('translator', saved(tensors), { names, config }, { source });
    await same('translator', { weights: saved(tensors), config }, { names }, { source });
  });
});

describe('norms that divide by the standard deviation of the sample', () => {
  const { model, names } = {
    model: 'gpt_annotated',
    names: Object.fromEntries(
      ['final_norm', 'blocks.N.norm1', 'blocks.N.norm2'].flatMap((norm) => [
        [`${norm}.weight`, { name: `${norm}.a_2`, gain: 'sample-deviation' }],
        [`${norm}.bias`, `${norm}.b_2`],
      ]),
    ),
  };
  const tensors = weightsOf(model).map(([name, t]) => ({
    name: name.replace(/(norm\d?)\.weight$/, '$1.a_2').replace(/(norm\d?)\.bias$/, '$1.b_2'),
    ...t,
  }));
  const config = { n_heads: heads, norm: 'layernorm', norm_eps: 1e-12, position: 'learned', ffn: 'gelu_erf' };
  const plainly = (names, gain) =>
    Object.fromEntries(Object.entries(names).map(([k, v]) => [k, v.gain ? (gain ? { ...v, gain } : v.name) : v]));

  test('give the logits of PyTorch', async () => {
    await same(model, saved(tensors), { names, config });
  });
  test('are asked for by the name a_2, and are another norm than the usual one', async () => {
    await refused(load(saved(tensors), { names: plainly(names), config }), 'bad-option', /a_2.*sample-deviation/);
    const usual = await load(saved(tensors), { names: plainly(names, 'factor'), config, dtype: 'f32' });
    const { logits } = await usual.forward(ids);
    assert.ok(distance(logits.data, recorded.models[model].logits) > 100 * TOLERANCE);
    usual.dispose();
  });
  test('are refused for other weights, and other gains too', async () => {
    const wrong = (name, value, words) =>
      refused(load(saved(tensors), { names: { ...names, [name]: value }, config }), 'bad-option', words);
    await wrong(
      'embed.weight',
      { name: 'embed.weight', gain: 'minus-one' },
      /embed\.weight.*only the weights of norms/,
    );
    await wrong('final_norm.weight', { name: 'final_norm.a_2', gain: 'plus-one' }, /gain is one of factor, minus-one/);
  });
});

describe('wrappers', () => {
  const { model, tensors, options } = LAYOUTS['nanoGPT, the state dict alone'];
  const after = (part) => (name) => name.replace(/(?<=transformer\.h\.\d+\.)/, `${part}.`);
  for (const prefix of [
    ...['_orig_mod.', 'module.', 'model.', 'net.', 'gpt.', 'model.model.', 'module.model.', 'model.module.'],
    ...['model._orig_mod.', '_forward_module.model._orig_mod.', 'student.backbone.', '_fsdp_wrapped_module.lit.net.'],
  ])
    test(`${prefix} before all names`, async () => {
      await same(model, saved(tensors().map((t) => ({ ...t, name: prefix + t.name }))), options);
    });
  for (const part of ['_orig_mod', 'module', '_fsdp_wrapped_module', '_checkpoint_wrapped_module', '_orig_mod.module'])
    test(`${part} inside the names`, async () => {
      await same(model, saved(tensors().map((t) => ({ ...t, name: after(part)(t.name) }))), options);
    });
  test('beside other things that a LightningModule holds', async () => {
    const held = tensors().map((t) => ({ ...t, name: `model._orig_mod.${t.name}` }));
    const scalar = { name: 'val_metric.total', shape: [], data: Float32Array.of(3) };
    await same(model, saved([...held, scalar]), options);
    const loss = { name: 'loss_fn.weight', shape: [23], data: new Float32Array(23) };
    await refused(
      load(saved([...held, scalar, loss]), options),
      'bad-config',
      /loss_fn\.weight: the model has no place/,
    );
    const config = { ...options.config, model_type: 'nanogpt' };
    await same(model, saved([...held, scalar, loss]), { config, names: { ignore: ['loss_fn.*'] } });
  });
  test('the names of the caller may have the parts of wrappers, or leave them out', async () => {
    const all = tensors().map((t) => ({ ...t, name: `model._orig_mod.${t.name}` }));
    const prefixes = ['', '_orig_mod.', 'model._orig_mod.', 'model.'];
    for (const prefix of prefixes) {
      const names = {
        ...{ embed: `${prefix}transformer.wte`, position: `${prefix}transformer.wpe` },
        final_norm: `${prefix}transformer.ln_f`,
        ...Object.fromEntries(
          Object.entries({
            ...{
              norm1: 'ln_1',
              norm2: 'ln_2',
              'attn.q': 'attn.c_attn',
              'attn.k': 'attn.c_attn',
              'attn.v': 'attn.c_attn',
            },
            ...{ 'attn.o': 'attn.c_proj', 'ffn.up': 'mlp.c_fc', 'ffn.down': 'mlp.c_proj' },
          }).map(([ours, theirs]) => [`blocks.N.${ours}`, `${prefix}transformer.h.N.${theirs}`]),
        ),
      };
      const config = { n_heads: heads, norm: 'layernorm', norm_eps: 1e-5, position: 'learned', ffn: 'gelu_erf' };
      await same(model, saved(all), { names, config });
    }
  });
});

/** A table of numbers. */
const table = (shape, at) => {
  const cols = shape.filter((n) => n !== 1).at(-1);
  const n = shape.reduce((a, b) => a * b, 1);
  return { shape, data: Float32Array.from({ length: n }, (_, i) => at(Math.floor(i / cols), i % cols)) };
};
const triangle = (inside, outside, shape = [context, context]) =>
  table(shape, (r, c) => (c <= r % context ? inside : outside));
const angle = (theta, dim) => (row, i) => row * theta ** ((-2 * i) / dim);
const wave = (of, theta, dim, index) => (row, c) => of(angle(theta, dim)(row, index(c)));

describe('buffers', () => {
  const half = LAYOUTS['the Llama of the book'];
  const gpt = LAYOUTS['the GPT of the book'];
  const random = table([context, 4], (r, c) => Math.sin(100 * r + c * c + 1));
  /** @type {[string, any, string, object, RegExp | null][]} label, layout, name, tensor, refusal */
  const cases = [
    ['a mask of ones', gpt, 'trf_blocks.0.att.mask', triangle(0, 1), null],
    ['a triangle of any name', gpt, 'blockade.values', triangle(1, 0), null],
    ['a triangle that is added to scores', gpt, 'a.causal', triangle(0, -Infinity, [1, 1, context, context]), null],
    ['a triangle of -1e9', gpt, 'att_bias', triangle(0, -1e9), null],
    ['a triangle for each head', gpt, 'm.each', triangle(1, 0, [heads, context, context]), null],
    ['positions', gpt, 'position_numbers', table([1, context], (_, c) => c), null],
    [
      'cosines in halves',
      half,
      'freqs.cosines',
      table(
        [context, 4],
        wave(Math.cos, 5e5, 4, (c) => c % 2),
      ),
      null,
    ],
    [
      'sines, with axes of 1',
      half,
      'x.s',
      table(
        [1, context, 1, 4],
        wave(Math.sin, 5e5, 4, (c) => c % 2),
      ),
      null,
    ],
    [
      'cosines of each pair',
      half,
      'c2',
      table(
        [context, 2],
        wave(Math.cos, 5e5, 4, (c) => c),
      ),
      null,
    ],
    ['angles', half, 'angles', table([context, 2], angle(5e5, 4)), null],
    ['frequencies', half, 'rotary.frequencies', table([2], (_, c) => 5e5 ** (-c / 2)), null],
    ['a learned table beside them', gpt, 'extra', random, /no place for this tensor of shape \[12,4\].*names\.ignore/],
    ['a table that only its name tells', half, 'trf_blocks.0.att.cos', random, null],
    [
      'another rope_theta',
      half,
      'c',
      table(
        [context, 4],
        wave(Math.cos, 1e4, 4, (c) => c % 2),
      ),
      /rope_theta 10000 .* 500000/,
    ],
    ['frequencies of another one', half, 'inv', table([2], (_, c) => 1e4 ** (-c / 2)), /rope_theta 10000 .* 500000/],
    [
      'other pairs',
      half,
      'p',
      table(
        [context, 4],
        wave(Math.cos, 5e5, 4, (c) => c >> 1),
      ),
      /rope_pairs "adjacent".*"half"/,
    ],
    [
      'rotation in a model without it',
      gpt,
      'c',
      table(
        [context, 4],
        wave(Math.cos, 1e4, 4, (c) => c % 2),
      ),
      /"learned"/,
    ],
    ['a mask of other diagonals', gpt, 'band', table([context, context], (r, c) => Number(c < r)), /no place/],
  ];
  for (const [name, { model, tensors, options }, at, tensor, refusal] of cases)
    test(name, async () => {
      for (const write of [saved, asSafetensors]) {
        const file = write([...tensors(), { name: at, ...tensor }]);
        if (refusal)
          await refused(
            load(file, options),
            /no place/.test(String(refusal)) ? 'unknown-tensor' : 'bad-config',
            refusal,
          );
        else assert.match((await same(model, file, options)).warnings, new RegExp(`no weights were skipped: ${at}`));
      }
    });

  test('the table of sinusoidal positions is that of the configuration', async () => {
    const sinusoidal = (order) => ({ name: 'pos.pe', ...table([context, 1, 16], order) });
    const config = {
      ...{ n_heads: heads, norm: 'layernorm', norm_eps: 1e-5, context_length: context, norm_placement: 'post' },
      ...{ position: 'sinusoidal', embedding_scale: 4, ffn: 'relu' },
    };
    const names = { embed: 'embedding', head: 'linear', ...torchBlock('blocks', 'encoder') };
    const tensors = weightsOf('encoder_post').map(([name, t]) => ({ name, ...t }));
    const inTurn = (row, c) => (c % 2 ? Math.cos : Math.sin)(angle(1e4, 16)(row, c >> 1));
    const inHalves = (row, c) => (c < 8 ? Math.sin : Math.cos)(angle(1e4, 16)(row, c % 8));
    await same('encoder_post', saved([...tensors, sinusoidal(inTurn)]), { names, config });
    await refused(load(saved([...tensors, sinusoidal(inHalves)]), { names, config }), 'bad-config', /sinusoid_pairs/);
    const other = { names, config: { ...config, position: 'none' } };
    await refused(load(saved([...tensors, sinusoidal(inTurn)]), other), 'bad-config', /position "none"/);
  });

  test('names.ignore skips what the caller says, whatever it contains', async () => {
    const { model, tensors, options } = gpt;
    const extra = [0, 1].map((i) => ({ name: `trf_blocks.${i}.probe.weight`, ...random }));
    const all = [...tensors(), ...extra, { name: 'value_head.bias', ...random }];
    await refused(load(saved(all), options), 'bad-config', /probe\.weight: the model has no place/);
    for (const ignore of [
      ['trf_blocks.N.probe.weight', 'value_head.bias'],
      ['*.*.probe.weight', 'value_head.*'],
    ]) {
      const names = { ignore };
      const config = { ...options.config, model_type: 'llms-from-scratch-gpt' };
      await same(model, saved(all), { names, config });
    }
    await refused(load(saved(all), { ...options, names: { ignore: 5 } }), 'bad-option', /names\.ignore is 5/);
  });
});

describe('dictionaries beside the weights', () => {
  const { model, tensors } = LAYOUTS['the GPT of the lecture'];
  for (const [key, args] of /** @type {[string, object][]} */ ([
    ['config', { n_head: heads, lr: 3e-4, max_iters: 5000, device: 'cuda' }],
    ['hyper_parameters', { num_heads: heads, d_model: 16, learning_rate: 1e-3 }],
    ['hparams', { nhead: heads, emb_dim: 16, num_layers: 2, name: 'x', nested: { a: 1 } }],
    ['args', { model: { n_heads: heads, seq_len: context }, seed: 1 }],
    ['config', { num_attention_heads: heads, hidden_size: 16, num_hidden_layers: 2, vocab_size: 30 }],
    ['n_head', heads],
  ]))
    test(`${key}: ${JSON.stringify(args)}`, async () => {
      await same(model, saved(tensors(), args, key), {});
    });
  test('what the caller says counts more, and other keys are ignored and named', async () => {
    const beside = { n_head: 2, emb_dim: 16, activation: 'tanh', flavour: 'x' };
    const options = { config: { n_head: heads, activation: 'relu' } };
    const { warnings } = await same(model, saved(tensors(), beside, 'config'), options);
    assert.match(warnings, /keys saved beside the weights were not used: flavour/);
  });
  test('numbers that contradict the tensors are refused', async () => {
    const beside = { n_head: heads, n_layer: 3 };
    await refused(load(saved(tensors(), beside, 'config')), 'bad-config', /gpt-lecture: .*blocks\.2\.\S+ is missing/);
  });
});

describe('tying', () => {
  const names = LAYOUTS['nanoGPT, the state dict alone'].tensors();
  const [embed] = names;
  const copy = { ...embed, name: 'lm_head.weight' };
  const other = { ...copy, data: copy.data.map((x) => -x) };
  const masks = [0, 1].map((i) => ({
    name: `transformer.h.${i}.attn.bias`,
    ...triangle(1, 0, [1, 1, context, context]),
  }));
  const config = { n_head: heads };
  const ask = /model_type \(the names fit nanogpt, mingpt\)/;
  test('without a head it is nanoGPT', () => same('gpt_erf_tied', saved(names), { config }));
  for (const [label, tensors] of [
    ['a copy of the embedding as the head', [...names, copy]],
    ['a head of its own, without masks', [...names, other]],
    ['no head, with masks', [...names, ...masks]],
  ])
    test(`${label}: either may have saved it, and model_type is asked for`, async () => {
      await refused(load(saved(tensors), { config }), 'bad-config', ask);
      const loaded = await load(saved(tensors), { config: { ...config, model_type: 'nanogpt' } });
      assert.equal(loaded.config.tieWordEmbeddings, !tensors.includes(copy) && !tensors.includes(other));
      assert.equal(loaded.config.ffn, 'gelu_erf');
      loaded.dispose();
    });
  test('a head of its own and no biases: no printed class has both, and model_type is asked for', async () => {
    const bare = [...names, copy].filter(({ name }) => !name.endsWith('.bias'));
    await refused(load(saved(bare), { config }), 'bad-config', /nanogpt: nanoGPT ties the head[^]*give model_type/);
    (await load(saved(bare), { config: { ...config, model_type: 'nanogpt' } })).dispose();
  });
  test('a head of its own and masks: it is minGPT', async () => {
    const loaded = await load(saved([...names, ...masks, other]), { config });
    assert.deepEqual([loaded.config.ffn, loaded.config.tieWordEmbeddings], ['gelu_tanh', false]);
    loaded.dispose();
  });
  test('a head of its own is used although the class ties it', async () => {
    const args = LAYOUTS['nanoGPT with model_args'].saved;
    const loaded = await load(saved([...names, other], args), { dtype: 'f32' });
    const got = (await loaded.forward(ids)).logits.data;
    assert.ok(
      distance(
        got,
        recorded.models.gpt_erf_tied.logits.map((x) => -x),
      ) < TOLERANCE,
    );
    loaded.dispose();
  });
});

describe('errors', () => {
  test('the reason of each family whose names fit, a line each', async () => {
    const tensors = LAYOUTS['nanoGPT, the state dict alone'].tensors();
    const wide = tensors.map((t) => (t.name.includes('h.1.mlp.c_fc.weight') ? { ...t, shape: [32, 32] } : t));
    await refused(
      load(saved(wide), { config: { n_head: heads } }),
      'bad-config',
      /\n {2}nanogpt: .*\[32, 32\].*\n {2}\S+: /,
    );
  });
  test('names that were given are not asked for', async () => {
    const names = { embed: 'tokens', 'blocks.N.attn.q': 'layers.N.wq' };
    const tensors = weightsOf('gpt_relu').map(([name, t]) => ({ name, ...t }));
    const error = await load(saved(tensors), { names, config: { n_heads: heads } }).catch((e) => e);
    assert.match(error.message, /the option names: there is no tensor for blocks\.0\.attn\.q\.weight/);
    assert.doesNotMatch(error.message, /or the names|give model_type/);
  });
  test('a later nanochat is refused by its name', async () => {
    const own = [...LAYOUTS.nanochat.tensors(), { name: 'x0_lambdas', shape: [2], data: new Float32Array(2) }];
    await refused(load(saved(own), { config: { n_head: heads } }), 'unsupported', /later nanochat.*residual weights/);
  });
  test('names of weights that no decoder has are refused', async () => {
    const tensors = weightsOf('gpt_relu').map(([name, t]) => ({ name: name.replace('position', 'pos_emb'), ...t }));
    const config = { n_heads: heads, norm: 'layernorm', norm_eps: 1e-5, ffn: 'relu', position: 'learned' };
    const options = { names: { pos: 'pos_emb' }, config: { ...config, context_length: context } };
    await refused(load(saved(tensors), options), 'bad-option', /no weight "pos"/);
  });
});
