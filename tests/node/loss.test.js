// loss.test.js - which logits a pass returns, the loss of a text, and the lens of one position
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { logprobOf, openCase, refused, row, sameBits, stories } from './helpers.js';

const ids = Array.from({ length: 150 }, (_, i) => (i * 37) % 500); // more than two chunks of the engine

/** -ln p of the next token after each row of logits, in double precision. */
const losses = (logits, tokens) => tokens.slice(1).map((id, i) => -logprobOf(row(logits, i), id));

describe('logits of chosen positions', async () => {
  const model = await load(stories);
  const { logits: all } = await model.forward(ids);
  const [, v] = all.shape;

  test('last, none and lists of positions give the rows of all, bit for bit and in their order', async () => {
    const last = (await model.forward(ids, { logits: 'last' })).logits;
    assert.deepEqual(last.shape, [1, v]);
    assert.ok(sameBits(last.data, row(all, 149)));
    assert.deepEqual((await model.forward(ids, { logits: 'none' })).logits.shape, [0, v]);
    const wanted = [100, 101, 102, 3, -1, 63, 64, 64];
    const some = (await model.forward(ids, { logits: wanted })).logits;
    assert.deepEqual(some.shape, [8, v]);
    wanted.forEach((at, i) => assert.ok(sameBits(row(some, i), row(all, at < 0 ? at + 150 : at)), `position ${at}`));
  });

  test('in a batch last is the last position of each sequence, before its padding', async () => {
    const { logits } = await model.forward([ids, ids.slice(0, 7)], { logits: 'last' });
    assert.deepEqual(logits.shape, [2, 1, v]);
    assert.ok(sameBits(logits.data.subarray(0, v), row(all, 149)));
    assert.ok(sameBits(logits.data.subarray(v), row(all, 6)));
    const mask = ids.map((_, i) => (i < 7 ? 1 : 0));
    assert.ok(sameBits((await model.forward(ids, { mask, logits: 'last' })).logits.data, row(all, 6)));
  });

  test('positions that the sequence lacks, and words that are none, are refused', async () => {
    await refused(model.forward([1, 2], { logits: [2] }), 'bad-option', /position 2[^]*has 2/);
    await refused(model.forward([1, 2], { logits: [-3] }), 'bad-option', /position \-3/);
    await refused(model.forward([1, 2], { logits: 'first' }), 'bad-option', /first[^]*all, last, none/);
    await refused(model.forward([1, 2], { logits: [0.5] }), 'bad-option', /whole number/);
  });

  test('the loss is the cross-entropy of the logits, token by token, also with edits', async () => {
    const edits = [{ at: 'blocks.1.attn.hook_z', head: 0, scale: 0 }];
    for (const options of [{}, { edits }]) {
      const want = losses((await model.forward(ids, options)).logits, ids);
      const { loss, tokens, perToken } = await model.loss(ids, { ...options, perToken: true });
      assert.equal(tokens, 149);
      want.forEach((x, i) => assert.ok(Math.abs(perToken.data[i] - x) < 1e-5, `token ${i}: ${perToken.data[i]}, ${x}`));
      assert.ok(Math.abs(loss - want.reduce((a, b) => a + b) / 149) < 1e-5);
      assert.equal((await model.loss(ids, options)).perToken, undefined);
    }
    await refused(model.loss([5]), 'bad-argument', /one token/);
  });

  test('the lens of one position is that of all positions there', async () => {
    const every = await model.logitLens(ids.slice(0, 70), { top: 3 });
    for (const position of [0, 66, -1])
      assert.deepEqual(
        await model.logitLens(ids.slice(0, 70), { top: 3, position }),
        every.map((layer) => [layer.at(position)]),
      );
    assert.equal(every.at(-1)[69][0].id, row(all, 69).indexOf(Math.max(...row(all, 69))));
    await refused(model.logitLens([1, 2], { position: 2 }), 'bad-option', /position/);
  });
});

test('an encoder-decoder has the loss of its target, an encoder none', async () => {
  const two = openCase('t5');
  const model = await load(two.source, { dtype: 'f32' });
  const source = [3, 4, 5, 6];
  const target = [0, 7, 8, 9];
  const want = losses((await model.forward(target, { source })).logits, target);
  const { perToken } = await model.loss(target, { source, perToken: true });
  want.forEach((x, i) => assert.ok(Math.abs(perToken.data[i] - x) < 1e-5));
  const encoder = await load(openCase('bert').source);
  await refused(encoder.loss([1, 2]), 'unsupported', /encoder/);
});
