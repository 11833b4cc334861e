// invariants.test.js - what generations, sessions and binaries of the same model must have in common (same_bits.test.js: every
// concept of the configuration)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { collect, logprobOf, openCase, relativeError, row, sameBits, stories, untilEnd } from './helpers.js';

test('the logprobs of a generation equal those of forward on its ids', async () => {
  const model = await untilEnd(load(stories));
  const prompt = await model.encode('Once upon a time');
  const { steps } = await collect(model.generate(prompt, { maxTokens: 40, seed: 11 }));
  const ids = [...prompt, ...steps.map((s) => s.id)];
  const { logits } = await model.forward(ids);
  for (const s of steps) {
    const want = logprobOf(row(logits, s.position - 1), s.id);
    assert.ok(Math.abs(want - s.logprob) < 1e-5, `position ${s.position}: ${s.logprob}, expected ${want}`);
  }
});

test('two generations at once do not affect each other', async () => {
  const model = await untilEnd(load(stories));
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
});

test('the same seed and model give the same text', async () => {
  const [a, b, c] = await Promise.all(
    [1, 1, 2].map((seed) => create({ vocab_size: 96, d_model: 48, n_layers: 2, n_heads: 4 }, { seed })),
  );
  const [x, y, z] = await Promise.all([a, b, c].map((m) => m.forward([1, 2, 3])));
  assert.ok(sameBits(x.logits.data, y.logits.data));
  assert.ok(!sameBits(x.logits.data, z.logits.data));
  const text = (seed) => collect(a.generate([1, 2], { seed, maxTokens: 20 })).then((r) => r.ids);
  assert.deepEqual(await text(42), await text(42));
  assert.notDeepEqual(await text(42), await text(43));
});

test('an encoder-decoder gives the same bits token by token as in one pass, with its source encoded once', async () => {
  const c = openCase('t2_encdec_padmask');
  const model = await untilEnd(load(c.source, { dtype: 'f32' }));
  const { logits } = await model.forward(c.about.input_ids, c.run);
  const session = await model.session(c.run);
  for (const [i, id] of c.about.input_ids.entries())
    assert.ok(sameBits(await session.eval([id]), row(logits, i)), `position ${i}`);
  await session.rewind(3);
  assert.ok(sameBits(await session.eval(c.about.input_ids.slice(3)), row(logits, c.about.input_ids.length - 1)));
});

for (const [kvDtype, bound] of [
  ['f16', 1e-3],
  ['q8_0', 0.03],
]) {
  test(`a cache in ${kvDtype} stays within ${bound} of the logits' size`, async () => {
    const exact = await untilEnd(load(stories, { dtype: 'f32' })),
      other = await load(stories, { dtype: 'f32', kvDtype });
    const ids = await exact.encode('Once upon a time, there was a little girl named Lily. She loved to play outside.');
    const [a, b] = [(await exact.forward(ids)).logits.data, (await other.forward(ids)).logits.data];
    const off = relativeError(b, a);
    assert.ok(off < bound, `${off}`);
    assert.ok(!sameBits(a, b), 'the option did nothing');
    const [s, t] = [await exact.session(), await other.session()];
    await s.eval(ids);
    await t.eval(ids);
    assert.ok(t.bytes < s.bytes);
    other.dispose();
  });
}
