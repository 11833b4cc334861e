// explain.test.js - the terms of an explained value add up to the value
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/index.js';
import { stories } from './helpers.js';

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
  ['an encoder', { ...gpt2, kind: 'encoder', causal: false, normPlacement: 'post' }],
  [
    'switched off: residual, scale, final norm',
    { ...small, useResidual: false, scaleScores: false, useFinalNorm: false },
  ],
  ['switched off: norms', { ...small, useNorm: false }],
];

describe('every point of every architecture', () => {
  for (const [name, config] of models) {
    test(name, async () => {
      const model = await create(config, { seed: 7 });
      const ids = [3, 1, 4, 1, 5, 9],
        source = [2, 7, 1, 8];
      const reads = config.kind === 'encoder_decoder' ? { source } : {};
      const points = await model.points();
      for (const at of [...points, ...(config.kind === 'encoder' ? [] : ['logits'])]) {
        for (const [position, head, index] of [
          [3, 0, 0],
          [2, 3, 5],
          [3, 1, 3],
        ]) {
          const { [at]: t } =
            at === 'logits' ? { [at]: null } : (await model.forward(ids, { ...reads, capture: [at] })).captured;
          const keyed = /scores|pattern/.test(at),
            headed = t?.shape.length === 3;
          const width = t?.shape.at(-1) ?? 61,
            heads = keyed ? t.shape[0] : headed ? t.shape[1] : 1,
            h = head % heads,
            i = index % width;
          const got = await model.explain(ids, { ...reads, at, position, index: i, ...(headed && { head: h }) });
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
          const size = Math.max(...got.terms.map((x) => Math.abs(x.value))) / (got.how === 'sum' ? got.divisor : 1);
          assert.ok(
            Math.abs(got.computed - got.value) <=
              2e-6 * Math.max(size, Math.abs(got.value)) * Math.sqrt(got.terms.length) + 1e-9,
            `${at} [${position}, ${h}, ${i}]: ${got.value}, the terms give ${got.computed}`,
          );
          for (const { from } of got.terms)
            assert.ok(!from || points.includes(from.at), `${at} comes from ${from?.at}`);
          // a term without a factor is the value at its point
          for (const { value, input, weight, from, times } of got.how === 'sum' ? got.terms.slice(0, 3) : []) {
            if (!from || input !== undefined || weight || times) continue;
            const there = await model.explain(ids, { ...reads, ...from });
            assert.ok(
              Math.abs(there.value - value) <= 1e-6 * Math.abs(value),
              `${at}: adds ${value}, at ${from.at} there is ${there.value}`,
            );
          }
          assert.equal(
            got.terms.every((x) => x.times),
            /scores|hook_z/.test(at),
            `${at}: two factors made by the pass`,
          );
          for (const { value, input, from, times } of got.terms.filter((x) => x.times).slice(0, 3)) {
            assert.ok(
              Math.abs(value - input * times.input) <= 1e-12 * Math.abs(value),
              `${at}: ${value} is not ${input} times ${times.input}`,
            );
            // each factor is the captured value at its named point, unless q and k are normalised in between
            for (const [cell, x] of [
              [from, input],
              [times.from, times.input],
            ]) {
              const { value: there } = await model.explain(ids, { ...reads, ...cell });
              assert.ok(
                Math.abs(there - x) <= 1e-6 * Math.abs(x) ||
                  (config.qkNorm && config.position === 'none' && /hook_[qk]$/.test(cell.at)),
                `${at}: ${x}, at ${cell.at} there is ${there}`,
              );
            }
          }
        }
      }
    });
  }
});

test('following the largest term repeatedly leads to a row of the embedding', async () => {
  const model = await load(stories);
  const seen = [];
  /** @type {any} */
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
  model.dispose();
});

test('explain refuses points, positions, indices and heads that do not exist', async () => {
  const model = await create(small, { seed: 1 });
  const refuse = (options, message) =>
    assert.rejects(model.explain([1, 2], options), (e) => e.name === 'GlassformerError' && message.test(e.message));
  await refuse({ at: 'blocks.9.hook_resid_pre' }, /no point "blocks\.9/);
  await refuse({ at: 'hook_embed', position: 2 }, /position is 2/);
  await refuse({ at: 'hook_embed', index: 32 }, /index is 32/);
  await refuse({ at: 'hook_embed', head: 0 }, /has no heads/);
  await refuse({ at: 'blocks.0.attn.hook_q', head: 4 }, /head is 4/);
  await refuse({ at: 'logits', token: 4 }, /no option "token"/);
});
