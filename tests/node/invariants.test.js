// invariants.test.js - results that must have the same bits by every path of computation
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/index.js';
import { collect, gpt2Recipe, numbers, openCase, sameBits, stories } from './helpers.js';

const small = { vocab_size: 96, d_model: 48, n_layers: 2, n_heads: 4, context_length: 150, d_ff: 80 };
const modern = { ...small, n_kv_heads: 2 };
const gpt2 = {
  ...small,
  ...gpt2Recipe,
};
const families = {
  modern,
  gpt2,
  'post-norm, sinusoidal': {
    ...small,
    norm: 'layernorm',
    norm_placement: 'post',
    ffn: 'relu',
    position: 'sinusoidal',
    tie_word_embeddings: false,
  },
  'experts in every second layer': {
    ...modern,
    n_experts: 5,
    n_experts_used: 2,
    d_expert: 24,
    expert_layers: [false, true],
  },
  'a shared expert': { ...modern, n_experts: 5, n_experts_used: 2, d_expert: 24, d_shared_expert: 40 },
  'sliding window, q and k norms': { ...modern, sliding_window: 9, qk_norm: true, rope_pairs: 'adjacent' },
};

const row = (t, i) => t.data.subarray(i * t.shape[1], (i + 1) * t.shape[1]);

for (const [name, config] of Object.entries(families)) {
  describe(name, () => {
    for (const n of [1, 7, 64, 150]) {
      test(`token by token gives the same bits as one pass, ${n} positions`, async () => {
        const model = await create(config, { seed: 7 });
        const ids = numbers(n, config.vocab_size, n);
        const whole = await model.forward(ids, { capture: ['*.hook_pattern'] });
        const session = await model.session({ capture: ['*.hook_pattern'] });
        for (let i = 0; i < n; i++) {
          const logits = await session.eval([ids[i]]);
          assert.ok(sameBits(logits, row(whole.logits, i)), `logits after position ${i} differ`);
          for (const [
            point,
            {
              data,
              shape: [heads, , keys],
            },
          ] of Object.entries(session.captured)) {
            assert.equal(keys, i + 1);
            for (let h = 0; h < heads; h++) {
              const from = (h * n + i) * n;
              assert.ok(
                sameBits(data.slice(h * keys, (h + 1) * keys), whole.captured[point].data.slice(from, from + keys)),
                `${point}, head ${h}, row ${i} differs`,
              );
            }
          }
        }
        model.dispose();
      });
    }

    test('pieces of any size give the same bits as one pass', async () => {
      const model = await create(config, { seed: 3 });
      const ids = numbers(150, config.vocab_size, 5);
      const { logits } = await model.forward(ids);
      const session = await model.session();
      for (let at = 0, k = 1; at < ids.length; at += k, k = k * 2 + 1) {
        const last = await session.eval(ids.slice(at, at + k));
        assert.ok(sameBits(last, row(logits, Math.min(at + k, ids.length) - 1)), `after ${at + k}`);
      }
      model.dispose();
    });

    test('a rewound session equals a fresh one; a fork and its parent do not affect each other', async () => {
      const model = await create(config, { seed: 3 });
      const a = numbers(90, config.vocab_size, 1),
        b = numbers(20, config.vocab_size, 2);
      const session = await model.session();
      await session.eval(a);
      await session.rewind(41);
      assert.equal(session.length, 41);
      const fork = await session.fork();
      const other = await fork.eval(numbers(5, config.vocab_size, 3));
      const again = await session.eval(b);
      const fresh = await (await model.session()).eval([...a.slice(0, 41), ...b]);
      assert.ok(sameBits(again, fresh));
      assert.equal(fork.length, 46);
      const alone = await (await model.session()).eval([...a.slice(0, 41), ...numbers(5, config.vocab_size, 3)]);
      assert.ok(sameBits(other, alone));
      model.dispose();
    });

    test('captures, and edits without effect, do not change a bit', async () => {
      const model = await create(config, { seed: 3 });
      const ids = numbers(70, config.vocab_size, 9);
      const plain = await model.forward(ids);
      const seen = await model.forward(ids, { capture: ['*'] });
      const edited = await model.forward(ids, { edits: [] });
      const scaled = await model.forward(ids, { edits: [{ at: '*.hook_attn_out', scale: 1 }] });
      assert.ok(Object.keys(seen.captured).length > 20);
      for (const other of [seen, edited, scaled]) assert.ok(sameBits(plain.logits.data, other.logits.data));
      model.dispose();
    });
  });
}

test('the logprobs of a generation equal those of forward on its ids', async () => {
  const model = await load(stories);
  const prompt = await model.encode('Once upon a time');
  const { steps } = await collect(model.generate(prompt, { maxTokens: 40, seed: 11 }));
  const ids = [...prompt, ...steps.map((s) => s.id)];
  const { logits } = await model.forward(ids);
  for (const s of steps) {
    const l = row(logits, s.position - 1),
      most = l.reduce((a, b) => Math.max(a, b));
    const want = l[s.id] - most - Math.log(l.reduce((sum, v) => sum + Math.exp(v - most), 0));
    assert.ok(Math.abs(want - s.logprob) < 1e-5, `position ${s.position}: ${s.logprob}, expected ${want}`);
  }
  model.dispose();
});

test('patterns captured step by step equal those of one pass without cache, 64 tokens', async () => {
  const model = await load(stories);
  const prompt = await model.encode('One day, a cat');
  const { steps, ids } = await collect(
    model.generate(prompt, { maxTokens: 64, temperature: 0, capture: ['*.hook_pattern'] }),
  );
  const all = [...prompt, ...ids.slice(0, -1)],
    n = all.length;
  const { captured } = await model.forward(all, { capture: ['*.hook_pattern'] });
  for (const [name, whole] of Object.entries(captured)) {
    const [heads] = whole.shape,
      built = new Float32Array(heads * n * n);
    let row = 0;
    for (const { captured: c } of steps) {
      const {
        data,
        shape: [, rows, keys],
      } = c[name];
      for (let h = 0; h < heads; h++)
        for (let i = 0; i < rows; i++)
          built.set(data.subarray((h * rows + i) * keys, (h * rows + i + 1) * keys), (h * n + row + i) * n);
      row += rows;
    }
    assert.equal(row, n);
    assert.ok(sameBits(built, whole.data), name);
  }
  model.dispose();
});

test('two generations at once do not affect each other', async () => {
  const model = await load(stories);
  const options = { maxTokens: 30, temperature: 1, seed: 5 };
  const alone = [await collect(model.generate('A dog', options)), await collect(model.generate('The sun', options))];
  const both = await Promise.all([
    collect(model.generate('A dog', options)),
    collect(model.generate('The sun', options)),
  ]);
  assert.deepEqual(
    both.map((r) => r.ids),
    alone.map((r) => r.ids),
  );
  model.dispose();
});

test('the simd and the relaxed binary give the same bits', async (t) => {
  const models = [];
  for (const backend of ['simd', 'relaxed'])
    models.push(await load(stories, { backend }).catch((e) => (assert.equal(e.code, 'unsupported'), null)));
  if (!models[1]) return t.skip('this Node has no relaxed SIMD');
  const ids = numbers(100, 2048);
  const [a, b] = await Promise.all(models.map((m) => m.forward(ids)));
  assert.ok(sameBits(a.logits.data, b.logits.data));
});

test('the same seed and model give the same text', async () => {
  const [a, b, c] = await Promise.all([1, 1, 2].map((seed) => create(modern, { seed })));
  const [x, y, z] = await Promise.all([a, b, c].map((m) => m.forward([1, 2, 3])));
  assert.ok(sameBits(x.logits.data, y.logits.data));
  assert.ok(!sameBits(x.logits.data, z.logits.data));
  const text = (seed) => collect(a.generate([1, 2], { seed, maxTokens: 20 })).then((r) => r.ids);
  assert.deepEqual(await text(42), await text(42));
  assert.notDeepEqual(await text(42), await text(43));
});

test('an encoder-decoder gives the same bits token by token as in one pass, with its source encoded once', async () => {
  const c = openCase('t2_encdec_padmask');
  const model = await load(c.source, { dtype: 'f32' });
  const { logits } = await model.forward(c.about.input_ids, c.run);
  const session = await model.session(c.run);
  for (const [i, id] of c.about.input_ids.entries())
    assert.ok(sameBits(await session.eval([id]), row(logits, i)), `position ${i}`);
  await session.rewind(3);
  assert.ok(sameBits(await session.eval(c.about.input_ids.slice(3)), row(logits, c.about.input_ids.length - 1)));
  model.dispose();
});

for (const [kvDtype, bound] of [
  ['f16', 1e-3],
  ['q8_0', 0.03],
]) {
  test(`a cache in ${kvDtype} stays within ${bound} of the logits' size`, async () => {
    const exact = await load(stories, { dtype: 'f32' }),
      other = await load(stories, { dtype: 'f32', kvDtype });
    const ids = await exact.encode('Once upon a time, there was a little girl named Lily. She loved to play outside.');
    const [a, b] = [(await exact.forward(ids)).logits.data, (await other.forward(ids)).logits.data];
    let error = 0,
      size = 0;
    a.forEach((v, i) => {
      error += (v - b[i]) ** 2;
      size += v ** 2;
    });
    assert.ok(Math.sqrt(error / size) < bound, `${Math.sqrt(error / size)}`);
    assert.ok(!sameBits(a, b), 'the option did nothing');
    const [s, t] = [await exact.session(), await other.session()];
    await s.eval(ids);
    await t.eval(ids);
    assert.ok(t.bytes < s.bytes);
    exact.dispose();
    other.dispose();
  });
}
