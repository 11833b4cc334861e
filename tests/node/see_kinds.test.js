// see_kinds.test.js - captures and edits in other kinds of models and inputs
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { collect, distance, logprobOf, numbers, openCase, row, sameBits, stories, untilEnd } from './helpers.js';

const one = openCase('llama_1tok');

describe('other kinds of models and inputs', () => {
  test('an encoder gives bidirectional hidden states, and embed gives their mean', async () => {
    const model = await create(
      {
        kind: 'encoder',
        vocab_size: 50,
        d_model: 32,
        n_layers: 2,
        n_heads: 4,
        norm: 'layernorm',
        ffn: 'gelu_erf',
        position: 'learned',
        context_length: 20,
      },
      { seed: 2 },
    );
    const { hidden, captured } = await model.forward([1, 2, 3, 4], { capture: ['*.hook_pattern'] });
    assert.deepEqual(hidden.shape, [4, 32]);
    assert.ok(
      captured['blocks.0.attn.hook_pattern'].data.every((v) => v > 0),
      'every position sees every other',
    );
    const mean = await model.embed([1, 2, 3, 4]);
    const want = Float32Array.from(
      { length: 32 },
      (_, j) => [0, 1, 2, 3].reduce((s, i) => s + hidden.data[i * 32 + j], 0) / 4,
    );
    assert.ok(distance(mean.data, want) < 1e-6);
    const padded = await model.embed([1, 2, 3, 4, 0, 0], { mask: [1, 1, 1, 1, 0, 0] });
    assert.ok(distance(padded.data, mean.data) < 1e-5, 'hidden positions change nothing');
  });

  test('a batch gives each sequence the values it has alone, with shorter ones padded with zeros', async () => {
    const model = await load(one.source, { dtype: 'f32' });
    const v = model.config.vocabSize;
    const batch = await model.forward(
      [
        [1, 2, 3],
        [4, 5],
      ],
      { capture: ['blocks.0.attn.hook_pattern'] },
    );
    assert.deepEqual(batch.logits.shape, [2, 3, v]);
    assert.ok(sameBits(batch.logits.data.slice(0, 3 * v), (await model.forward([1, 2, 3])).logits.data));
    assert.ok(sameBits(batch.logits.data.slice(3 * v, 5 * v), (await model.forward([4, 5])).logits.data));
    assert.ok(batch.logits.data.slice(5 * v).every((x) => x === 0));
    const { shape, data: patterns } = batch.captured['blocks.0.attn.hook_pattern'];
    assert.deepEqual(shape, [2, 2, 3, 3]);
    const { data: alone } = (await model.forward([4, 5], { capture: ['blocks.0.attn.hook_pattern'] })).captured[
      'blocks.0.attn.hook_pattern'
    ]; // [2, 2, 2]
    const at = (h, q, k) => (q < 2 && k < 2 ? alone[(h * 2 + q) * 2 + k] : 0);
    for (let h = 0; h < 2; h++)
      for (let q = 0; q < 3; q++)
        for (let k = 0; k < 3; k++) assert.equal(patterns[18 + (h * 3 + q) * 3 + k], at(h, q, k), `${[h, q, k]}`);
    const masked = await model.forward(
      [
        [1, 2, 3],
        [4, 5, 0],
      ],
      {
        mask: [
          [1, 1, 1],
          [1, 1, 0],
        ],
      },
    );
    assert.ok(sameBits(masked.logits.data, batch.logits.data));
    await assert.rejects(model.forward([[1, 2, 3]], { mask: [[0, 1, 1]] }), { code: 'bad-option' });
  });

  test("the batch of tutorial 2's notebook has logits of shape [8, 20, 1000]", async () => {
    const model = await create('tutorial-2', { seed: 1 });
    const ids = (seed) => Array.from({ length: 8 }, (_, i) => numbers(20, 1000, seed + i));
    const { logits } = await model.forward(ids(1), { source: ids(50) });
    assert.deepEqual(logits.shape, [8, 20, 1000]);
    const alone = await model.forward(ids(1)[7], { source: ids(50)[7] });
    assert.ok(sameBits(logits.data.slice(7 * 20 * 1000), alone.logits.data));
  });

  test('random weights have the loss of uniform guessing, ln(V), within 2 %', async () => {
    const model = await create('tutorial-5', { seed: 1 });
    const ids = numbers(33, 1000, 3);
    const { logits } = await model.forward(ids.slice(0, 32));
    const loss = ids.slice(1).reduce((sum, id, i) => sum - logprobOf(row(logits, i), id), 0);
    assert.ok(Math.abs(loss / 32 / Math.log(1000) - 1) < 0.02, `${loss / 32}`);
  });

  test('a session whose eval is aborted between two chunks is unchanged', async () => {
    const model = await untilEnd(
        create({ vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 512 }, { seed: 2 }),
      ),
      session = await model.session(),
      ids = numbers(200, 40),
      reason = new Error('enough');
    await session.eval(ids.slice(0, 10));
    let asked = 0;
    const signal = {
      aborted: false,
      reason,
      addEventListener() {},
      removeEventListener() {},
      throwIfAborted() {
        if (++asked > 3) {
          this.aborted = true;
          throw reason;
        }
      },
    };
    await assert.rejects(session.eval(ids, { signal }), reason);
    assert.ok(asked > 3);
    assert.equal(model.memory.regions.find((r) => r.name === 'kv cache').bytes >= session.bytes, true);
    const { length } = session,
      logits = await session.eval(ids.slice(10, 20));
    assert.equal(length, 10);
    assert.equal(session.length, 20);
    assert.ok(sameBits(logits, row((await model.forward(ids.slice(0, 20))).logits, 19)));
  });

  test('the texts on both sides of a star may not overlap', async () => {
    const model = await untilEnd(create({ vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 16 })),
      learned = await create({
        vocab_size: 40,
        d_model: 32,
        n_layers: 1,
        n_heads: 2,
        context_length: 16,
        position: 'learned',
      });
    await assert.rejects(model.forward([1], { capture: ['hook_*_embed'] }), { code: 'unknown-point' });
    assert.deepEqual(Object.keys((await learned.forward([1], { capture: ['hook_*_embed'] })).captured), [
      'hook_pos_embed',
    ]);
    assert.deepEqual(Object.keys((await learned.forward([1], { capture: ['hook_*embed'] })).captured), [
      'hook_embed',
      'hook_pos_embed',
    ]);
    learned.dispose();
  });

  test("the capture budget includes the encoder's points over the source", async () => {
    const model = await untilEnd(
        create({
          kind: 'encoder_decoder',
          vocab_size: 40,
          d_model: 32,
          n_layers: 1,
          n_heads: 2,
          context_length: 32,
          position: 'sinusoidal',
        }),
      ),
      source = numbers(20, 40);
    for (const [name, bytes] of [
      ['encoder.0.attn.hook_pattern', 4 * 2 * 20 * 20],
      ['encoder.0.hook_mlp_out', 4 * 20 * 32],
      ['decoder.0.cross_attn.hook_pattern', 4 * 2 * 3 * 20],
      ['decoder.0.cross_attn.hook_k', 4 * 20 * 32],
    ]) {
      const { captured } = await model.forward([1, 2, 3], { source, capture: [name], captureBudget: bytes });
      assert.equal(captured[name].data.byteLength, bytes, name);
      await assert.rejects(
        model.forward([1, 2, 3], { source, capture: [name], captureBudget: bytes - 1 }),
        { code: 'capture-too-large' },
        name,
      );
    }
  });

  test('a decoder that is not causal computes all positions again for each token', async () => {
    const config = { vocab_size: 40, d_model: 32, n_layers: 2, n_heads: 4, context_length: 32, causal: false };
    const model = await create(config, { seed: 2 });
    const prompt = [1, 2, 3];
    const { ids } = await collect(model.generate(prompt, { maxTokens: 6, temperature: 0 }));
    const text = [...prompt];
    for (const id of ids) {
      const { logits } = await model.forward(text);
      const last = row(logits, text.length - 1);
      assert.equal(last.indexOf(last.reduce((a, b) => Math.max(a, b))), id);
      text.push(id);
    }
    const session = await model.session();
    await session.eval([1, 2]);
    await session.eval([3]);
    await session.rewind(2);
    const again = await session.eval([5, 6]);
    assert.equal(session.length, 4);
    assert.ok(sameBits(again, row((await model.forward([1, 2, 5, 6])).logits, 3)));
    await assert.rejects(session.eval([7, 99]), { code: 'bad-token' });
    assert.ok(sameBits(await session.eval([7]), row((await model.forward([1, 2, 5, 6, 7])).logits, 4)));
    const fork = await session.fork(); // each computes its own tokens again
    await fork.rewind(1);
    assert.ok(sameBits(await session.eval([3]), row((await model.forward([1, 2, 5, 6, 7, 3])).logits, 5)));
    assert.ok(sameBits(await fork.eval([4]), row((await model.forward([1, 4])).logits, 1)));
    // aborted after its pass: the session is unchanged, at the first eval and at later ones
    const other = await model.session(),
      gone = { signal: AbortSignal.abort() };
    for (const [ids, want] of [
      [
        [8, 9],
        [8, 9],
      ],
      [[7], [8, 9, 7]],
    ]) {
      await assert.rejects(other.eval([1, 2, 3], gone), { name: 'AbortError' });
      assert.equal(other.length, want.length - ids.length);
      await assert.rejects(other.rewind(other.length + 1), { code: 'bad-option' });
      assert.ok(sameBits(await other.eval(ids), row((await model.forward(want)).logits, want.length - 1)));
    }
  });

  test('an eval that exceeds the capture budget is refused and leaves the session unchanged', async () => {
    const model = await untilEnd(load(stories));
    const session = await model.session({ capture: ['*.hook_pattern'], captureBudget: 6 * 6 * 4 * 20 * 20 });
    await session.eval(numbers(20, 2048));
    await assert.rejects(session.eval(numbers(19, 2048)), { code: 'capture-too-large' });
    assert.equal(session.length, 20);
    await session.eval([1]);
    assert.deepEqual(session.captured['blocks.0.attn.hook_pattern'].shape, [6, 1, 21]);
  });
});
