// explain.test.js - the terms of an explained value add up to the value
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { refused, stories, untilEnd } from './helpers.js';

const small = { vocabSize: 61, dModel: 32, nHeads: 4, nKvHeads: 4, dHead: 8, dFf: 48, nLayers: 2, contextLength: 24 };
const gpt2 = {
  ...small,
  norm: 'layernorm',
  ffn: 'gelu_tanh',
  position: 'learned',
  biasQkv: true,
  biasAttnOut: true,
  biasFfn: true,
};
const original = {
  ...gpt2,
  kind: 'encoder_decoder',
  nEncoderLayers: 2,
  ffn: 'relu',
  position: 'sinusoidal',
  normPlacement: 'post',
  finalNorm: false,
  embeddingScale: Math.sqrt(32),
};

const gemma2 = {
  ...small,
  ffn: 'geglu_tanh',
  normPlacement: 'sandwich',
  embeddingScale: Math.sqrt(32),
  scoreScale: 0.2,
  scoreSoftcap: 0.5,
  logitSoftcap: 0.3,
  slidingWindow: 3,
  windowLayers: [true, false],
};
const factors = { ropeShortFactors: [1, 1.1, 1.2, 1.3], ropeLongFactors: [1.1, 2, 5, 9], ropeAttentionFactor: 1.2 };

const classifier = { ...gpt2, kind: 'encoder', causal: false, normPlacement: 'post', nLabels: 7 };

/** Every variant of every formula. @type {[string, any][]} */
const models = [
  ['modern', small],
  [
    'grouped queries, turned in neighbours, stretched',
    { ...small, nKvHeads: 2, ropePairs: 'adjacent', ropeScaling: 'llama3', ropeFactor: 8, ropeOriginalContext: 8 },
  ],
  ['norms of q and k, a window', { ...small, qkNorm: true, slidingWindow: 3, ropeScaling: 'linear', ropeFactor: 4 }],
  [
    'norms of q and k without positions',
    { ...small, qkNorm: true, position: 'none', ffn: 'gelu_erf', tieWordEmbeddings: false, biasHead: true },
  ],
  ['GPT-2', gpt2],
  ['2017', original],
  [
    'encoder-decoder, pre-norm, own embeddings',
    { ...small, kind: 'encoder_decoder', nEncoderLayers: 1, sharedEmbedding: false, position: 'learned', nKvHeads: 2 },
  ],
  [
    'T5',
    {
      ...small,
      kind: 'encoder_decoder',
      nEncoderLayers: 1,
      position: 'none',
      relativeBuckets: 8,
      relativeMaxDistance: 5,
      scaleScores: false,
      logitScale: 8 ** -0.5,
      ffn: 'geglu_tanh',
    },
  ],
  ['Marian', { ...original, sinusoidPairs: 'half', ffn: 'silu', biasHead: true }],
  ['BART', { ...original, position: 'learned', positionOffset: 2, embedNorm: true, ffn: 'gelu_erf' }],
  ['gates with ReLU, bias of distances beside rotation', { ...small, ffn: 'reglu', relativeBuckets: 8 }],
  ['gates with GELU', { ...small, ffn: 'geglu_erf' }],
  ['an encoder', { ...gpt2, kind: 'encoder', causal: false, normPlacement: 'post' }],
  [
    'switched off: residual, scale, final norm',
    { ...small, useResidual: false, scaleScores: false, useFinalNorm: false },
  ],
  ['switched off: norms', { ...small, useNorm: false }],
  ['attention only', { ...small, dFf: 0, ffn: 'none', norm: 'none', position: 'learned', tieWordEmbeddings: false }],
  ['attention only, encoder-decoder', { ...original, dFf: 0, ffn: 'none' }],
  ['Gemma 2', gemma2],
  [
    'Gemma 3',
    {
      ...gemma2,
      scoreSoftcap: 0,
      logitSoftcap: 0,
      qkNorm: true,
      ropeLocalTheta: 100,
      ropeScaling: 'linear',
      ropeFactor: 8,
    },
  ],
  ['OLMo', { ...small, norm: 'layernorm', normGain: false, clipQkv: 0.05 }],
  ['OLMo 2', { ...small, nKvHeads: 2, normPlacement: 'output', qkNorm: true, qkNormSpan: 'projection' }],
  ['Phi-2', { ...gpt2, position: 'rope', rotaryDim: 6, parallelResidual: true, sharedNorm: true, biasHead: true }],
  ['GPT-NeoX', { ...gpt2, position: 'rope', rotaryDim: 4, parallelResidual: true, useResidual: false }],
  ['heads without rotation', { ...small, nKvHeads: 2, rotaryKvHeads: 1, rotaryDim: 4 }],
  ['GPT-J', { ...small, rotaryDim: 4, ropePairs: 'adjacent', parallelResidual: true, sharedNorm: true }],
  [
    'StableLM',
    {
      ...small,
      qkNorm: true,
      qkNormKind: 'layernorm',
      qkNormSpan: 'each_head',
      biasQkNorm: true,
      ropeLayers: [false, true],
    },
  ],
  ['BLOOM', { ...gpt2, nHeads: 6, nKvHeads: 6, position: 'alibi', embedNorm: true }],
  ['Granite', { ...small, embeddingScale: 12, residualScale: 0.22, scoreScale: 0.015, logitScale: 0.1 }],
  ['OPT-350m', { ...gpt2, normPlacement: 'post', dEmbed: 24, positionOffset: 2, ffn: 'relu', biasHead: true }],
  ['Mixtral', { ...small, nExperts: 4, nExpertsUsed: 2, dExpert: 40 }],
  [
    'Qwen3-MoE, with the norms of Gemma 2',
    {
      ...small,
      nExperts: 5,
      nExpertsUsed: 3,
      dExpert: 20,
      normExpertWeights: false,
      expertLayers: [true, false],
      normPlacement: 'sandwich',
    },
  ],
  ['Qwen2-MoE', { ...small, biasQkv: true, nExperts: 4, dExpert: 20, dSharedExpert: 28, normExpertWeights: false }],
  ['experts without gates', { ...small, nExperts: 3, nExpertsUsed: 1, ffn: 'gelu_tanh', normPlacement: 'output' }],
  [
    'YaRN',
    { ...small, ropeTheta: 100, ropeScaling: 'yarn', ropeFactor: 4, ropeOriginalContext: 16, ropeAttentionFactor: 1.1 },
  ],
  ['frequencies of the length', { ...small, ropeScaling: 'dynamic', ropeFactor: 3, ropeOriginalContext: 4 }],
  ['long factors', { ...small, ropeScaling: 'longrope', ropeOriginalContext: 4, ...factors }],
  ['short factors', { ...small, ropeScaling: 'longrope', ropeOriginalContext: 16, ...factors }],
  ['a soft cap before the biases of distances', { ...small, position: 'alibi', relativeBuckets: 8, scoreSoftcap: 0.1 }],
  ['BERT', { ...gpt2, kind: 'encoder', causal: false, normPlacement: 'post', pooler: true, mlmHead: true }],
  ['a classifier of the pooler', { ...classifier, pooler: true, labelPooling: 'pooler' }],
  ['a classifier of the first token', { ...classifier, labelPooling: 'first' }],
  ['a classifier of the mean', { ...classifier, finalNorm: true, normPlacement: 'pre', labelPooling: 'mean' }],
  ['labels of each token', classifier],
  ['Hunyuan', { ...small, nKvHeads: 2, qkNorm: true, qkNormRotated: true, rotaryDim: 4, ropeAttentionFactor: 1.3 }],
  [
    'ModernBERT',
    {
      ...{ ...small, kind: 'encoder', norm: 'layernorm', biasNorm: false, firstNorm: false, embedNorm: true },
      ...{ mlmHead: true, biasHeadTransform: false, headActivation: 'mish', ffn: 'geglu_erf' },
      ...{ slidingWindow: 2, windowLayers: [false, true], ropeLocalTheta: 500 },
    },
  ],
  ["ModernBERT's decoder", { ...small, norm: 'layernorm', firstNorm: false, embedNorm: true, mlmHead: true }],
  [
    'ELECTRA, narrow',
    { ...gpt2, kind: 'encoder', normPlacement: 'post', dEmbed: 12, embedNorm: true, nTokenTypes: 2, mlmHead: true },
  ],
  ['ALBERT', { ...gpt2, nLayers: 3, nLayerGroups: 2, kind: 'encoder', dEmbed: 12, ffn: 'quick_gelu' }],
  ['GPT-2 with scores by layer', { ...gpt2, scoresByLayer: true, ffn: 'tanh' }],
  ['BLOOM, sums with the norms', { ...gpt2, position: 'alibi', alibiMax: 4, residualNormed: true, ffn: 'mish' }],
  ['Falcon-RW', { ...gpt2, position: 'alibi', alibiScaled: true }],
  ['OLMoE, limited', { ...small, qkNorm: true, qkNormSpan: 'projection', clipQkv: 0.5 }],
  [
    'two stacks of other widths',
    { ...original, dEncoderFf: 20, encoderVocabSize: 50, sharedEmbedding: false, ffn: 'quick_gelu' },
  ],
];

const wide = { ...small, dModel: 64, dHead: 16, dFf: 96 };

/**
 * Models that round what they multiply: quantised weights, whose products round the activations to int8 in blocks of 32,
 * and caches of int8 and f16. In `wide` two heads share a block; in the second model each head has its own.
 * @type {[string, any, any][]}
 */
const rounded = [
  ['q8_0, two heads in a block', wide, { dtype: 'q8_0' }],
  ['q8_0 with an int8 cache', wide, { dtype: 'q8_0', kvDtype: 'q8_0' }],
  ['q4_0, a block for each head', { ...wide, nHeads: 2, nKvHeads: 1, dHead: 32 }, { dtype: 'q4_0' }],
  ['q8_0 with an f32 cache', { ...wide, qkNorm: true }, { dtype: 'q8_0', kvDtype: 'f32' }],
  ['f32 with an f16 cache', small, { kvDtype: 'f16' }],
  ['f32 with an int8 cache', { ...gpt2, slidingWindow: 3 }, { kvDtype: 'q8_0' }],
  ['q8_0 GPT-2', { ...gpt2, dModel: 64, dHead: 16, dFf: 64 }, { dtype: 'q8_0' }],
  ['q8_0 2017', { ...original, dModel: 64, dHead: 16, dFf: 64 }, { dtype: 'q8_0' }],
  [
    'an encoder in q8_0',
    { ...gpt2, dModel: 64, dHead: 16, dFf: 64, kind: 'encoder', causal: false, normPlacement: 'post' },
    { dtype: 'q8_0' },
  ],
  ['Gemma 2 in q8_0', { ...gemma2, dModel: 64, dHead: 16, dFf: 64 }, { dtype: 'q8_0' }],
  ['OPT-350m in q8_0', { ...wide, normPlacement: 'post', dEmbed: 32 }, { dtype: 'q8_0' }],
  [
    'Mixtral in q8_0',
    { ...wide, nExperts: 4, dExpert: 64, dSharedExpert: 32, normPlacement: 'output' },
    { dtype: 'q8_0' },
  ],
];

describe('every point of every architecture', () => {
  for (const [name, config] of models) {
    test(name, async () => {
      const model = await untilEnd(create(config, { seed: 7 }));
      await explainsEveryPoint(model, config);
    });
  }
});

// The terms were once exact products, and the value of a quantised model was up to 2.3 % off their sum.
describe('every point of models that round what they multiply', () => {
  for (const [name, config, options] of rounded) {
    test(name, async () => {
      const model = await untilEnd(create(config, { seed: 7, ...options }));
      if (options.dtype) assert.equal(model.parameters.rows[0].dtype, options.dtype);
      assert.equal(model.kvDtype, options.kvDtype ?? 'f16');
      await explainsEveryPoint(model, config);
    });
  }
  test('the int8 weights and cache of a trained model, at a position in the second block of the cache', async () => {
    const model = await untilEnd(load(stories, { kvDtype: 'q8_0' }));
    assert.deepEqual([model.kvDtype, model.parameters.rows[0].dtype], ['q8_0', 'q8_0']);
    const [first] = await model.encode('Once upon a time there was a little girl.');
    const ids = [first, ...Array.from({ length: 69 }, (_, i) => 40 + ((i * i) % 900))];
    for (const at of ['logits', 'blocks.1.attn.hook_z', 'blocks.2.hook_attn_out', 'blocks.0.attn.hook_attn_scores'])
      for (const position of [5, 69]) {
        const head = /hook_z|scores/.test(at) ? 1 : undefined;
        const got = await model.explain(ids, { at, position, index: 5, ...(head && { head }) });
        const exact = got.terms.reduce(
          (sum, t) => sum + (t.input ?? t.value) * (t.times?.input ?? t.weight?.value ?? 1),
          0,
        );
        near(got, at);
        if (at !== 'blocks.2.hook_attn_out')
          assert.ok(
            Math.abs(exact / got.divisor - got.value) > 10 * Math.abs(got.computed - got.value),
            `${at}: unrounded ${exact / got.divisor}, ${got.computed}, engine ${got.value}`,
          );
      }
  });
});

/** The terms give the value, up to rounding in f32. */
function near(got, where) {
  const size = Math.max(...got.terms.map((x) => Math.abs(x.value))) / (/sum|tanh/.test(got.how) ? got.divisor : 1);
  assert.ok(
    Math.abs(got.computed - got.value) <=
      2e-6 * Math.max(size, Math.abs(got.value)) * Math.sqrt(got.terms.length) + 1e-9,
    `${where}: ${got.value}, the terms give ${got.computed}`,
  );
}

/** Explains values of each point, and compares them with what is captured there. */
async function explainsEveryPoint(model, config) {
  const ids = [3, 1, 4, 1, 5, 9],
    source = [2, 7, 1, 8];
  const reads = config.kind === 'encoder_decoder' ? { source } : {};
  const points = await model.points();
  const { captured } = await model.forward(ids, { ...reads, capture: points });
  /** Explanations by cell: many terms come from the same ones. @type {Map<string, Promise<any>>} */
  const explained = new Map();
  const explain = ({ at, position, head, index }) => {
    const cell = JSON.stringify([at, position, head, index]);
    if (!explained.has(cell)) explained.set(cell, model.explain(ids, { ...reads, at, position, head, index }));
    return explained.get(cell);
  };
  const hasLogits = config.kind !== 'encoder' || config.mlmHead || config.nLabels;
  const isOne = ['first', 'mean', 'pooler'].includes(config.labelPooling);
  for (const at of [...points, ...(hasLogits ? ['logits'] : [])]) {
    for (const [row, head, index] of [
      [3, 0, 0],
      [2, 3, 5],
      [3, 1, 3],
    ]) {
      const t = captured[at];
      const position = /^(pooler|classifier)/.test(at) || (at === 'logits' && isOne) ? 0 : row;
      const keyed = /scores|pattern/.test(at),
        headed = t?.shape.length === 3;
      const width = t?.shape.at(-1) ?? (config.nLabels || 61),
        heads = keyed ? t.shape[0] : headed ? t.shape[1] : 1,
        h = head % heads,
        i = index % width;
      const got = await explain({ at, position, index: i, head: headed ? h : undefined });
      if (t) {
        const own = keyed
          ? t.data[(h * t.shape[1] + position) * width + i]
          : t.data[(position * heads + h) * width + i];
        assert.equal(got.value, own, `${at}: the number is the captured one`);
      }
      if (got.how === 'masked') {
        assert.ok(got.value === -Infinity || got.value === 0, `${at} ${got.value}`);
        continue;
      }
      assert.ok(got.terms.length >= 1 && got.formula, at);
      assert.doesNotMatch(got.formula, /\d\.0*[1-9]\d{5}/, `${at}: a factor in full digits`);
      near(got, `${at} [${position}, ${h}, ${i}]`);
      for (const { from } of got.terms) assert.ok(!from || points.includes(from.at), `${at} comes from ${from?.at}`);
      await comparesTerms(model, config, got, explain);
    }
  }
}

/**
 * Terms are the values at their points, or products of them.
 * @param {any} model
 * @param {any} config
 * @param {any} got  an explanation
 * @param {(cell: any) => Promise<any>} explain
 */
async function comparesTerms(model, config, got, explain) {
  const { at } = got;
  // heads that share a block of rounded activations: their own results have other scales
  const shared = /attn_out$|ln1.*normalized/.test(at) && config.dHead % 32 && /^q/.test(model.parameters.rows[0].dtype);
  for (const { value, input, weight, from, times } of got.how === 'sum' ? got.terms.slice(0, 3) : []) {
    if (!from || input !== undefined || weight || times) continue;
    const there = await explain(from);
    assert.ok(
      Math.abs(there.value - value) <= (shared ? 0.05 * Math.abs(value) + 1e-3 : 1e-6 * Math.abs(value)),
      `${at}: adds ${value}, at ${from.at} there is ${there.value}`,
    );
  }
  assert.equal(
    got.terms.every((x) => x.times || /^distance|tanh\(/.test(x.name)),
    /scores|hook_z/.test(at),
    `${at}: two factors made by the pass`,
  );
  for (const { value, input, rounded, from, times } of got.terms.filter((x) => x.times).slice(0, 3)) {
    const product = (rounded ?? input) * (times.rounded ?? times.input);
    assert.ok(
      Math.abs(value - product) <= 1e-12 * Math.abs(value),
      `${at}: ${value} is not ${rounded ?? input} times ${times.rounded ?? times.input}`,
    );
    // each factor is the captured value at its named point, unless q and k are normalised in between
    for (const [cell, x] of [
      [from, input],
      [times.from, times.input],
    ]) {
      const { value: there } = await explain(cell);
      assert.ok(
        Math.abs(there - x) <= 1e-6 * Math.abs(x) || (config.qkNorm && /hook_[qk]$/.test(cell.at)),
        `${at}: ${x}, at ${cell.at} there is ${there}`,
      );
    }
  }
}

test('following the largest term repeatedly leads to a row of the embedding', async () => {
  const model = await untilEnd(load(stories));
  const seen = [];
  let cell = { at: 'logits', position: 4, index: 10 };
  for (let step = 0; step < 400; step++) {
    const got = await model.explain('Once upon a time', { ...cell });
    seen.push(got.at);
    const [most] = got.terms.filter((t) => t.from).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    if (!most) break;
    cell = most.from;
  }
  assert.equal(seen.at(-1), 'hook_embed', seen.slice(-3).join(' '));
  assert.ok(seen.length > 6);
});

test('a negative position counts from the end', async () => {
  const model = await untilEnd(create(small, { seed: 1 }));
  for (const at of ['blocks.0.hook_resid_post', 'blocks.1.attn.hook_pattern', 'logits'])
    assert.deepEqual(
      await model.explain([1, 2, 3, 4], { at, position: -2 }),
      await model.explain([1, 2, 3, 4], { at, position: 2 }),
    );
  await refused(model.explain([1, 2], { at: 'logits', position: -3 }), 'bad-option', /from -2 to 1/);
});

test('explain refuses points, positions, indices and heads that do not exist', async () => {
  const model = await create(small, { seed: 1 });
  const refuse = (options, message, code = 'bad-option') => refused(model.explain([1, 2], options), code, message);
  await refuse(undefined, /^at is undefined, expected what explain explains: the name of a point, or 'logits'$/);
  await refuse({ at: 5 }, /^at is 5, expected/);
  await refuse({ at: 'blocks.9.hook_resid_pre' }, /no point "blocks\.9.*near it/, 'unknown-point');
  await refuse({ at: 'blocks.*.hook_resid_pre' }, /no point "blocks\.\*.*near it/, 'unknown-point');
  await refuse({ at: 'hook_embed', position: 2 }, /position is 2/);
  await refuse({ at: 'hook_embed', index: 32 }, /index is 32/);
  await refuse({ at: 'hook_embed', head: 0 }, /has no heads/);
  await refuse({ at: 'blocks.0.attn.hook_q', head: 4 }, /head is 4/);
  await refuse({ at: 'logits', token: 4 }, /no option "token"/);
});
