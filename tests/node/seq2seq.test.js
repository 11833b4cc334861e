// seq2seq.test.js - encoder-decoders of Hugging Face (Marian, BART, T5): the concepts that they add, files as people
// have them, malformed ones, and generation. parity.test.js compares their numbers with transformers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { changed, collect, golden, numbers, openCase, refused, sameBits, untilEnd } from './helpers.js';
import { t5 } from './small_models.js';

/** Bucket by the definition of Raffel et al. 2020, counted up instead of solved for. */
function bucketOf(distance, buckets, most, twoSided) {
  const n = twoSided ? buckets / 2 : buckets;
  const first = twoSided && distance > 0 ? n : 0;
  const away = twoSided ? Math.abs(distance) : Math.max(0, -distance);
  const single = n / 2;
  if (away < single) return first + away;
  let bucket = single;
  // bucket single + k begins at single * (most / single)^(k / (n - single))
  while (bucket < n - 1 && away >= single * (most / single) ** ((bucket + 1 - single) / (n - single)) * (1 - 1e-9))
    bucket++;
  return first + bucket;
}

test('T5 adds the bias of their distance to the scores of self-attention in every layer, and to no others', async () => {
  const model = await untilEnd(load(`${join(golden, 't5')}/`, { dtype: 'f32' }));
  const n = 150;
  const ids = numbers(n, 104, 1),
    source = numbers(n, 104, 2);
  const scaled = '.hook_attn_scores_scaled',
    after = '.hook_attn_scores';
  const { captured } = await model.forward(ids, { source, capture: [`*${scaled}`, `*${after}`] });
  const tensors = [];
  for (const name of ['encoder.relative_bias.weight', 'relative_bias.weight']) {
    const row = model.parameters.rows.find((r) => r.name === name);
    assert.deepEqual([row?.shape, row?.component], [[32, 4], 'position']);
    tensors.push(await Promise.all(Array.from({ length: 32 }, (_, bucket) => model.weight(name, bucket))));
  }
  let compared = 0;
  for (const [name, scores] of Object.entries(captured)) {
    if (!name.endsWith(after)) continue;
    const before = captured[name.replace(after, scaled)].data;
    const [heads, queries, keys] = scores.shape;
    const encoder = name.startsWith('encoder');
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < queries; i++)
        for (let j = 0; j < (encoder || name.includes('cross') ? keys : i + 1); j++) {
          const at = (h * queries + i) * keys + j;
          const bias = name.includes('cross') ? 0 : tensors[encoder ? 0 : 1][bucketOf(j - i, 32, 128, encoder)][h];
          assert.equal(scores.data[at], Math.fround(before[at] + bias), `${name}, head ${h}, ${i} to ${j}`);
          compared++;
        }
  }
  assert.ok(compared > 4 * n * n * 5, `${compared} scores`);
});

test('switched off with positions, the bias has no effect, and beside other positions it adds to them', async () => {
  const ids = [1, 2, 3, 1, 2],
    source = [4, 4, 5, 6];
  const logits = async (config) => {
    const model = await create(config, { seed: 1 });
    const { data } = (await model.forward(ids, { source })).logits;
    model.dispose();
    return data;
  };
  const none = await logits({ ...t5, use_position: false });
  assert.ok(!sameBits(await logits(t5), none));
  const rotated = { ...t5, position: 'rope' };
  assert.ok(!sameBits(await logits(rotated), await logits({ ...rotated, use_position: false })));
});

/**
 * Patterns from queries and keys, and z from the patterns and values, in float64 (Vaswani et al. 2017), of one head.
 * @param {Record<'q' | 'k' | 'v', {data: Float32Array, shape: number[]}>} of  [n, heads, d_head] each
 */
function oneHead({ q, k, v }, head) {
  const [n, heads, d] = q.shape;
  const at = (t, i, j) => t.data[(i * heads + head) * d + j];
  const range = (m) => Array.from({ length: m }, (_, i) => i);
  const pattern = range(n).map((i) => {
    const e = range(n).map((j) => Math.exp(range(d).reduce((s, x) => s + at(q, i, x) * at(k, j, x), 0) / Math.sqrt(d)));
    return e.map((x) => x / e.reduce((a, b) => a + b));
  });
  return { pattern, z: pattern.map((row) => range(d).map((x) => row.reduce((s, p, j) => s + p * at(v, j, x), 0))) };
}

const near = (got, want) => assert.ok(Math.abs(got - want) <= 1e-5 * (1 + Math.abs(want)), `${got} for ${want}`);

for (const [name, heads] of [
  ['bart', 8],
  ['marian', 1],
])
  test(`${name}: an encoder with ${heads} heads beside a decoder with 4`, async () => {
    const model = await untilEnd(changed(name, () => {}, { encoder_attention_heads: heads }));
    const ids = numbers(5, 112, 1),
      source = numbers(7, 112, 2);
    const width = model.config.dModel;
    assert.deepEqual([model.config.nHeads, model.config.nEncoderHeads], [4, heads]);
    const points = ['q', 'k', 'v', 'pattern', 'z', 'result'].map((point) => `*.attn.hook_${point}`);
    const { captured, logits } = await model.forward(ids, { source, capture: points });
    for (const layer of [0, 1]) {
      const of = (point) => captured[`encoder.${layer}.attn.hook_${point}`];
      assert.deepEqual(of('q').shape, [7, heads, width / heads]);
      assert.deepEqual(of('result').shape, [7, heads, width]);
      assert.deepEqual(captured[`decoder.${layer}.attn.hook_q`].shape, [5, 4, width / 4]);
      for (let head = 0; head < heads; head++) {
        const { pattern, z } = oneHead({ q: of('q'), k: of('k'), v: of('v') }, head);
        for (let i = 0; i < 7; i++) {
          for (let j = 0; j < 7; j++) near(of('pattern').data[(head * 7 + i) * 7 + j], pattern[i][j]);
          z[i].forEach((x, d) => near(of('z').data[(i * heads + head) * (width / heads) + d], x));
        }
      }
    }
    const at = { at: 'encoder.1.attn.hook_result', position: 3, head: heads - 1, index: 2 };
    const { value, computed } = await model.explain(ids, { ...at, source });
    near(computed, value);
    const without = (head, block = 'encoder.0') =>
      model.forward(ids, { source, edits: [{ at: `${block}.attn.hook_z`, head, scale: 0 }] });
    assert.ok(!sameBits((await without(heads - 1)).logits.data, logits.data));
    await refused(without(heads), 'bad-argument', new RegExp(`head ${heads}: this point has ${heads} heads`));
    await refused(without(4, 'decoder.0'), 'bad-argument', /head 4: this point has 4 heads/);
    const rows = await model.trace(ids, { source });
    assert.deepEqual(rows.find((r) => r.name === 'encoder.0.attn.attend').in, [7, heads, width / heads]);
  });

test('an encoder and a decoder alone can have the bias too', async () => {
  const ids = numbers(40, 96, 3);
  for (const kind of ['encoder', 'decoder']) {
    const one = { ...t5, kind, n_encoder_layers: 0 };
    const model = await create(one, { seed: 2 });
    const name = kind === 'encoder' ? 'embeddings' : 'logits';
    const a = await model.forward(ids, { capture: ['*.hook_attn_scores'] });
    assert.ok(
      model.parameters.rows.some((r) => r.name === 'relative_bias.weight' && r.count === 8 * 4),
      name,
    );
    const [last] = Object.values(a.captured).slice(-1);
    assert.equal(last.data.length, 4 * 40 * 40);
    model.dispose();
  }
});

describe('generation', () => {
  for (const name of ['marian', 'bart', 't5', 't5_v1_1'])
    test(`${name}: the text begins with the token that config.json names, and ends with eos`, async () => {
      const c = openCase(name);
      const model = await untilEnd(load(c.source, { dtype: 'f32' }));
      const greedy = { ...c.run, temperature: 0, maxTokens: 32 };
      assert.equal(model.special.bos, c.config.decoder_start_token_id);
      for (const start of [[], ''])
        assert.deepEqual(
          (await collect(model.generate(start, { ...greedy, ignoreEos: true }))).ids,
          c.about.greedy.next,
        );
      const stopped = await collect(model.generate([], greedy));
      const end = c.about.greedy.next.findIndex((id) => id === c.config.eos_token_id);
      assert.deepEqual(stopped.ids, end < 0 ? c.about.greedy.next : c.about.greedy.next.slice(0, end));

      const beams = await collect(
        model.generate([], { ...c.run, beams: 4, maxTokens: 8, lengthPenalty: 0, ignoreEos: true }),
      );
      const sum = (steps) => steps.reduce((a, s) => a + s.logprob, 0);
      const one = await collect(model.generate([], { ...greedy, maxTokens: 8, ignoreEos: true }));
      assert.ok(
        sum(beams.steps) >= sum(one.steps) - 1e-6,
        'beam search finds no less likely text than greedy decoding',
      );
    });

  test('a beginning that is forced, and the tokens of generation_config.json', async () => {
    const c = openCase('bart');
    const files = (config, generation) =>
      [
        ['config.json', JSON.stringify(config)],
        ['model.safetensors', readFileSync(join(c.folder, 'model.safetensors'))],
        ...(generation ? [['generation_config.json', JSON.stringify(generation)]] : []),
      ].map(([name, content]) => new File([content], name));
    const options = { ...c.run, temperature: 0, maxTokens: 4, ignoreEos: true };
    const want = await load(c.source, { dtype: 'f32' });
    const { ids } = await collect(want.generate([2, 7], options));
    want.dispose();
    for (const source of [
      files({ ...c.config, forced_bos_token_id: 7 }, null),
      files(c.config, { decoder_start_token_id: 2, forced_bos_token_id: 7, eos_token_id: 2 }),
    ]) {
      const model = await load(source, { dtype: 'f32' });
      const { steps } = await collect(model.generate([], options));
      assert.deepEqual([steps[0].position, steps.map((s) => s.id)], [2, ids]);
      model.dispose();
    }
  });
});

test('tokens that the files exclude are never generated, in beams neither', async () => {
  const c = openCase('marian');
  const [first, second] = c.about.greedy.next;
  const options = { ...c.run, maxTokens: 6, ignoreEos: true };
  const excluding = (bad) => changed('marian', () => {}, { bad_words_ids: bad });
  const model = await excluding([[first], [second, first], 'x', [9999]]);
  const plain = await load(c.source, { dtype: 'f32' });
  const want = await collect(plain.generate([], { ...options, temperature: 0, logitBias: { [first]: -Infinity } }));
  const got = await collect(model.generate([], { ...options, temperature: 0 }));
  assert.deepEqual(got.ids, want.ids);
  assert.ok(!got.ids.includes(first));
  const biased = await collect(model.generate([], { ...options, temperature: 0, logitBias: { [first]: 100, 5: 100 } }));
  assert.deepEqual(biased.ids, [5, 5, 5, 5, 5, 5]);
  const { ids } = await collect(model.generate([], { ...options, beams: 3 }));
  assert.ok(ids.length === 6 && !ids.includes(first), `${ids}`);
  for (const m of [model, plain]) m.dispose();
});

test('there is a case of each family', () => {
  for (const name of ['marian', 'bart', 't5', 't5_v1_1']) assert.ok(existsSync(join(golden, name, 'case.json')), name);
});
