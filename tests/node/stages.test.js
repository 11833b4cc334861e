// stages.test.js - the stages of the anatomy: every weight and every measured operation belongs to exactly one of them.
//
// For the model `dates`, the encoder's blocks were once counted in "1 more block" of the decoder: the stages added up
// to 275,201 parameters instead of 233,601.
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { camelConfig, completeConfig } from '../../web/lib/formats/config.js';
import { PRESETS, countParameters, create, estimate, load } from '../../web/lib/index.js';
import { OPERATION_NAMES as NAMES } from '../../web/page/text/count.js';
import { randomVariant } from './random_config.js';
import { OPERATIONS, stagesOf, timeOf } from '../../web/page/views/inside/anatomy/stages.js';

const weights = fileURLToPath(new URL('../../weights/', import.meta.url));
const sum = (list) => list.reduce((a, b) => a + b, 0);

/** Whatever layer is open, all stages together are the model. */
function addsUp(name, config, { rows, total }) {
  for (let layer = 0; layer < config.nLayers; layer++) {
    const stages = stagesOf(config, rows, layer, 7, 5);
    assert.equal(
      sum(stages.map((s) => s.params)),
      total,
      `${name}, layer ${layer}: ${stages.map((s) => `${s.id} ${s.params}`).join(', ')}`,
    );
  }
}

test('the parameters of the stages add up to those of every shipped model, and their points exist', async () => {
  for (const file of ['stories-1m.gguf', 'stories.gguf', 'stories-gpt2.gguf', 'dates/']) {
    const model = await load(weights + file);
    addsUp(file, model.config, model.parameters);
    const points = new Set(await model.points());
    const named = stagesOf(model.config, model.parameters.rows, 1, 7, 5).flatMap((s) =>
      s.points.map(([point]) => point),
    );
    assert.deepEqual(
      named.filter((point) => !points.has(point)),
      [],
      file,
    );
    model.dispose();
  }
});

test('the parameters of the stages add up for every preset and for an encoder-decoder with every option', () => {
  const all = {
    kind: 'encoder_decoder',
    vocab_size: 96,
    d_model: 32,
    n_layers: 3,
    n_encoder_layers: 2,
    n_heads: 4,
    n_kv_heads: 2,
    position: 'learned',
    shared_embedding: false,
    final_norm: true,
    qk_norm: true,
    bias_qkv: true,
    bias_attn_out: true,
    bias_ffn: true,
    bias_head: true,
    norm: 'layernorm',
  };
  const encoder = { kind: 'encoder', vocab_size: 96, d_model: 32, n_layers: 2, n_heads: 4, position: 'learned' };
  for (const [name, config] of Object.entries({ ...PRESETS, all, encoder }))
    addsUp(name, camelConfig(completeConfig(config)), countParameters(config));
});

test('the FLOPs of the stages add up to those of the whole model, except norms, activations, biases and sums', () => {
  const vectors = (c) => {
    const norm = (c.norm === 'layernorm' ? 7 : 4) * c.dModel;
    const gated = c.ffn.includes('glu');
    const rotated = c.position === 'rope' ? 3 * (c.nHeads + c.nKvHeads) * c.dHead : 0;
    const biases =
      (c.biasQkv ? (c.nHeads + 2 * c.nKvHeads) * c.dHead : 0) +
      (c.biasAttnOut ? c.dModel : 0) +
      (c.biasFfn ? (gated ? 2 : 1) * c.dFf + c.dModel : 0);
    const block = 2 * norm + 2 * c.dModel + rotated + biases + (gated ? 5 : c.ffn === 'relu' ? 1 : 8) * c.dFf;
    const positions = ['learned', 'sinusoidal'].includes(c.position) ? c.dModel : 0;
    return c.nLayers * block + positions + (c.finalNorm ? norm : 0);
  };
  const windows = [{}, { sliding_window: 5 }, { sliding_window: 5, window_layers: [true, false, false] }];
  for (const [name, preset] of Object.entries(PRESETS).filter(([, p]) => p.kind !== 'encoder_decoder'))
    for (const config of windows.map((window) => ({ ...preset, ...window }))) {
      const c = camelConfig(completeConfig(config));
      const flops = sum(stagesOf(c, countParameters(config).rows, 0, 12, 0).map((s) => s.flops));
      assert.equal(flops, estimate(config, { contextLength: 12 }).flopsPerToken + vectors(c), name);
    }
});

/** Stages of one layer by their ids. @returns {Record<string, any>} */
const byId = (config, rows, layer, n = 7) =>
  Object.fromEntries(stagesOf(config, rows, layer, n, 0).map((stage) => [stage.id, stage]));

const TINY = { kind: 'decoder', vocab_size: 64, d_model: 32, n_layers: 3, n_heads: 4, d_ff: 40, context_length: 64 };
/**
 * One concept each: a config, stages that it has (true) or lacks (false), and words that a stage's title, formula or
 * sentence has. `ID@LAYER` is a stage of another layer than the first.
 * @type {Record<string, [config: any, has: Record<string, boolean>, says: Record<string, RegExp[]>]>}
 */
const CONCEPTS = {
  'pre-norm': [
    {},
    { norm1: true, norm2: true, post1: false, post2: false },
    { norm1: [/^RMSNorm\n/, /· gain\n/, /heads read.*not changed \(pre-norm\)/], out: [/x = x \+ W_o z\n/] },
  ],
  'post-norm': [
    { norm_placement: 'post', final_norm: false, norm: 'layernorm' },
    { final: false, post1: false },
    {
      norm2: [/stream itself, after each sum/, /· gain \+ bias\n/],
      out: [/x = norm\(x \+ W_o z\)\n/],
      resid: [/x = norm\(x \+ y\)/],
    },
  ],
  'sandwich norms': [
    { norm_placement: 'sandwich' },
    { norm1: true, norm2: true, post1: true, post2: true },
    {
      post1: [/output of the heads before it is added/],
      out: [/x = x \+ norm\(W_o z\)\n/],
      resid: [/x = x \+ norm\(y\)\n/],
    },
  ],
  'norms of outputs': [
    { norm_placement: 'output' },
    { norm1: true, norm2: true, post1: false },
    {
      norm1: [/output of the heads before it is added/],
      norm2: [/the FFN reads it as it is/],
      out: [/x = x \+ norm\(W_o z\)\n/],
    },
  ],
  'parallel blocks': [
    { parallel_residual: true },
    { norm2: true },
    {
      out: [/^Out\n/, /a = W_o z\n/, /together with that of the FFN/],
      ffn: [/as it came into the block/],
      resid: [/x = x \+ a \+ y\n/],
    },
  ],
  'a norm for both': [
    { parallel_residual: true, shared_norm: true },
    { norm1: true, norm2: false },
    { norm1: [/^RMSNorm, shared\n/, /both the heads and the FFN/] },
  ],
  'norms without weights': [
    { norm: 'layernorm', norm_gain: false },
    { final: true },
    { norm1: [/√\(var \+ ε\)\n/, /no weights/], final: [/√\(var \+ ε\)\n/] },
  ],
  'a norm of the embedding': [{ embed_norm: true }, {}, { embed: [/x₀ = norm\(E\[token\]\)\n/, /RMSNorm rescales/] }],
  'norms of q and k': [
    { qk_norm: true, qk_norm_kind: 'layernorm', bias_qk_norm: true },
    {},
    { qkv: [/q = norm\(q\), k = norm\(k\)/, /LayerNorm rescales q and k within each head\./] },
  ],
  'norms of q and k, each head its own': [
    { qk_norm: true, qk_norm_span: 'each_head' },
    {},
    { qkv: [/a gain for each head/] },
  ],
  'norms of q and k as whole vectors': [
    { qk_norm: true, qk_norm_span: 'projection', n_kv_heads: 2 },
    {},
    { qkv: [/over all heads together/, /2 groups of heads/] },
  ],
  'rotation of a part of the head': [
    { rotary_dim: 4 },
    {},
    { qkv: [/rotated by position in 4 of 8 components\n/, /first 4 of the 8 components/] },
  ],
  'layers without rotation': [
    { rope_layers: [true, false, true] },
    {},
    {
      qkv: [/rotated by position\n/],
      'qkv@1': [/W_v x\n/, /does not rotate/],
      embed: [/enters later, where q and k are rotated/],
    },
  ],
  'another base in layers with a window': [
    { sliding_window: 4, window_layers: [true, false], rope_local_theta: 500, rope_theta: 80000 },
    {},
    { qkv: [/base 500\n/], 'qkv@1': [/base 80,000\n/] },
  ],
  'windows by layer': [
    { sliding_window: 4, window_layers: [true, false] },
    {},
    {
      heads: [/its own key and the 3 before it/],
      'heads@1': [/every key before it\. Other layers have a sliding window/],
    },
  ],
  'a window in all layers': [{ sliding_window: 1 }, {}, { heads: [/its own key only/] }],
  ALiBi: [
    { position: 'alibi' },
    {},
    {
      embed: [/penalty on the scores of distant keys/],
      heads: [/− m · distance \+ mask\)/, /slope m/],
      qkv: [/W_v x\n/],
    },
  ],
  'learned positions behind an offset': [
    { position: 'learned', position_offset: 2 },
    {},
    { embed: [/^Embedding \+ position\n/, /E\[token\] \+ P\[position \+ 2\]\n/] },
  ],
  'no positions': [{ position: 'none' }, {}, { embed: [/^Embedding\n/, /no position embedding/] }],
  'positions switched off': [{ use_position: false }, {}, { embed: [/positions are switched off/], qkv: [/W_v x\n/] }],
  'a soft cap of scores': [
    { score_softcap: 50 },
    {},
    { heads: [/softmax\(50 tanh\(\(q kᵀ \/ √8\) \/ 50\) \+ mask\)/, /between −50 and 50/] },
  ],
  'a factor of scores': [{ score_scale: 0.0625 }, {}, { heads: [/softmax\(0\.0625 · q kᵀ \+ mask\)/] }],
  'scores as they are': [{ scale_scores: false }, {}, { heads: [/softmax\(q kᵀ \+ mask\)/] }],
  'factors of embedding, sums and logits': [
    { embedding_scale: 12, residual_scale: 0.22, logit_scale: 0.125 },
    {},
    {
      embed: [/x₀ = 12 · E\[token\]\n/, /multiplied by 12/],
      out: [/x = x \+ 0\.22 · W_o z\n/],
      resid: [/x = x \+ 0\.22 · y\n/],
      head: [/logits = 0\.125 · E x\n/, /multiplied by 0\.125/],
    },
  ],
  'a soft cap of logits and a bias': [
    { logit_softcap: 30, bias_head: true },
    {},
    { head: [/logits = 30 tanh\(\(E x \+ b\) \/ 30\)\n/, /between −30 and 30/] },
  ],
  'a narrow embedding': [
    { d_embed: 12, tie_word_embeddings: false },
    {},
    {
      embed: [/x₀ = W_in E\[token\]\n/, /64 rows of 12 numbers, from which a matrix makes 32;/],
      head: [/^Head\n/, /logits = W W_out x\n/],
    },
  ],
  'q, k and v limited': [{ clip_qkv: 1.5 }, {}, { qkv: [/q, k, v limited to ±1\.5/] }],
  'one key for all heads': [{ n_kv_heads: 1 }, {}, { qkv: [/all heads share one key \(k\) and one value/] }],
  biases: [
    { bias_qkv: true, bias_attn_out: true, bias_ffn: true },
    {},
    {
      qkv: [/q = W_q x \+ b_q/],
      out: [/x = x \+ W_o z \+ b_o\n/],
      ffn: [/silu\(W_gate x \+ b_gate\) ⊙ \(W_up x \+ b_up\)\) \+ b_down/],
    },
  ],
  'no norms, no residual connections': [
    { use_norm: false, use_residual: false, use_final_norm: false },
    { norm1: true, final: true },
    { norm1: [/y = x\n/, /switched off/], out: [/x = W_o z\n/, /switched off/], final: [/switched off/] },
  ],
  ...Object.fromEntries(
    Object.entries({
      relu: 'ReLU FFN',
      silu: 'SiLU FFN',
      gelu_erf: 'GELU-erf FFN',
      reglu: 'ReGLU',
      geglu_erf: 'GEGLU-erf',
      geglu_tanh: 'GEGLU-tanh',
    }).map(([ffn, title]) => [
      title,
      [
        { ffn },
        {},
        {
          ffn: [
            new RegExp(`^${title}\n`),
            title.endsWith('FFN') ? /W_down \w+\(W_up x\)\n/ : /\(\w+\(W_gate x\) ⊙ W_up x\)\n/,
          ],
        },
      ],
    ]),
  ),
};

for (const [name, [changes, has, says]] of Object.entries(CONCEPTS))
  test(`stages of a model with ${name}: parameters, operations, points and words`, async () => {
    const model = await create({ ...TINY, ...changes }, { seed: 1 });
    try {
      const { config, parameters } = model;
      addsUp(name, config, parameters);
      const points = new Set(await model.points());
      const rows = await model.trace([3]);
      for (let layer = 0; layer < config.nLayers; layer++)
        for (const { id, flops, points: listed } of stagesOf(config, parameters.rows, layer, 1, 0)) {
          const counted = rows.filter((row) => timeOf(config, [{ ...row, ms: 1 }], id, layer));
          assert.equal(flops, sum(counted.map((row) => row.flops)), `${id} in layer ${layer}`);
          for (const [point] of listed) assert.ok(points.has(point), point);
        }
      for (const [id, there] of Object.entries(has)) assert.equal(id in byId(config, parameters.rows, 0), there, id);
      for (const [place, patterns] of Object.entries(says)) {
        const [id, layer = 0] = place.split('@');
        const { title, formula, words } = byId(config, parameters.rows, Number(layer))[id];
        for (const pattern of patterns) assert.match(`${title}\n${formula}\n${words}`, pattern, place);
      }
    } finally {
      model.dispose();
    }
  });

test('of any decoder every weight is in one stage, and no word is missing', () => {
  fc.assert(
    fc.property(randomVariant, (given) => {
      const config = camelConfig(completeConfig(given));
      const table = countParameters(given);
      addsUp('random', config, table);
      for (let layer = 0; layer < config.nLayers; layer++)
        for (const { title, formula, words, flops } of stagesOf(config, table.rows, layer, 7, 0)) {
          assert.doesNotMatch(`${title} ${formula} ${words}`, /undefined|NaN|null|\[object/);
          assert.ok(Number.isSafeInteger(flops));
        }
    }),
    { numRuns: 200 },
  );
});

test('one more block of dates has the parameters of one decoder block', async () => {
  const model = await load(`${weights}dates/`);
  const { dModel: d, dFf: f } = model.config;
  const attention = 4 * (d * d + d);
  const more = stagesOf(model.config, model.parameters.rows, 0, 7, 5).find((s) => s.id === 'more');
  assert.equal(more.params, 2 * attention + 2 * d * f + f + d + 3 * 2 * d); // two attentions, the FFN, three norms
  assert.equal(more.params, 58_496);
  model.dispose();
});

test('every operation that the engine measures has a name and exactly one stage', async () => {
  const list = /#define GF_OPS\(X\)[^]*?(?=#define)/.exec(
    readFileSync(new URL('../../src/glassformer.h', import.meta.url), 'utf8'),
  )[0];
  const ops = [...list.matchAll(/X\(GF_OP_\w+, "([\w.]+)"\)/g)].map(([, name]) => name).sort();
  assert.ok(ops.length > 15);
  assert.deepEqual(Object.values(OPERATIONS).flat().sort(), ops);
  assert.deepEqual(Object.keys(NAMES).sort(), ops);
  for (const kind of ['decoder', 'encoder_decoder', 'encoder']) {
    const model = await create({ kind, vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 4, final_norm: true });
    const rows = await model.trace([1, 2, 3, 4], kind === 'encoder_decoder' ? { source: [5, 6, 7] } : {});
    const stages = stagesOf(model.config, model.parameters.rows, 1, 4, 3);
    const ms = sum(stages.map((s) => timeOf(model.config, rows, s.id, 1)));
    const whole = sum(rows.map((r) => r.ms));
    assert.ok(whole > 0 && Math.abs(ms - whole) < 1e-9 * whole, `${kind}: ${ms} of ${whole} ms`);
    model.dispose();
  }
});
