// edits_places.test.js - the positions, tensors, directions, means and functions that an edit can have
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { collect, distance, openCase, refused, sameBits, stories, untilEnd } from './helpers.js';

const gqa = await load(openCase('llama_gqa_f16').source, { dtype: 'f32' });
const ids = [5, 9, 2, 7, 1, 4];
const at = 'blocks.0.hook_resid_pre';
const logits = async (edits, input = ids, options = {}) =>
  (await gqa.forward(input, { edits, ...options })).logits.data;

test('-Infinity in a tensor of scores hides the cell, and a captured tensor with masked cells changes nothing', async () => {
  const scores = 'blocks.0.attn.hook_attn_scores';
  const { captured } = await gqa.forward(ids, { capture: [scores] });
  const { shape, data } = captured.get?.(scores) ?? captured[scores];
  assert.ok(sameBits(await logits([{ at: scores, set: { shape, data } }]), await logits([])));
  const hidden = data.slice();
  const n = ids.length;
  for (let row = 2; row < hidden.length / n; row++) if (row % n >= 2) hidden[row * n + 1] = -Infinity;
  const pattern = 'blocks.0.attn.hook_pattern';
  const edits = [{ at: scores, set: { shape, data: hidden } }];
  const seen = (await gqa.forward(ids, { edits, capture: [pattern] })).captured;
  const weights = (seen.get?.(pattern) ?? seen[pattern]).data;
  for (let i = 0; i < weights.length; i++) if (i % n === 1 && Math.floor(i / n) % n >= 2) assert.equal(weights[i], 0);
});

describe('positions', () => {
  test('a list, a range, last and negative positions are the same edits as one for each', async () => {
    const single = (positions) => positions.map((position) => ({ at, position, scale: 0.5 }));
    for (const [position, same] of [
      [
        [1, 4],
        [1, 4],
      ],
      [
        [-1, 0],
        [5, 0],
      ],
      ['last', [5]],
      [-2, [4]],
      [{ from: 2, to: 5 }, [2, 3, 4]],
      [{ from: -2 }, [4, 5]],
      [{ to: 2 }, [0, 1]],
      [{ from: 3, to: 3 }, []],
    ])
      assert.ok(sameBits(await logits([{ at, position, scale: 0.5 }]), await logits(single(same))));
  });

  test('negative positions of a source count from its end', async () => {
    const open = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
    const pair = await untilEnd(create({ ...open, kind: 'encoder_decoder' }, { seed: 3 }));
    const source = [3, 1, 4, 1, 5, 9, 2, 6];
    const run = async (position) =>
      (await pair.forward(ids, { source, edits: [{ at: 'encoder.0.hook_resid_pre', position, scale: 3 }] })).logits
        .data;
    assert.ok(sameBits(await run(-2), await run(6)));
    assert.ok(sameBits(await run({ from: 5 }), await run([5, 6, 7])));
    assert.ok(!sameBits(await run(6), await run(4)));
  });

  test('in a generation they count from the end of the prompt', async () => {
    const run = async (position) =>
      (await collect(gqa.generate(ids, { maxTokens: 4, temperature: 0, edits: [{ at, position, scale: 3 }] }))).summary
        .ids;
    assert.deepEqual(await run('last'), await run(5));
  });

  test('positions outside, and negative ones in a session, are refused', async () => {
    await refused(logits([{ at, position: -7, scale: 0 }]), 'bad-option', /position is \-7/);
    await refused(logits([{ at, position: [0, 6], scale: 0 }]), 'bad-option', /position is 6[^]*6 positions/);
    await refused(logits([{ at, position: { from: 4, to: 2 }, scale: 0 }]), 'bad-option', /position\.to/);
    await refused(logits([{ at, position: 'first', scale: 0 }]), 'bad-option', /position/);
    await refused(gqa.session({ edits: [{ at, position: 'last', scale: 0 }] }), 'bad-option', /no end to count from/);
  });
});

describe('values', async () => {
  const other = [8, 3, 3, 6, 2, 9];
  const names = ['hook_q', 'hook_k', 'hook_z', 'hook_pattern', 'hook_result'].map((n) => `blocks.1.attn.${n}`);
  const { captured } = await gqa.forward(other, { capture: [...names, at, 'blocks.1.mlp.hook_post'] });

  test('what was captured can be set as it is: the point then holds it, bit for bit', async () => {
    for (const [name, values] of Object.entries(captured)) {
      const { captured: now } = await gqa.forward(ids, { edits: [{ at: name, set: values }], capture: [name] });
      assert.ok(sameBits(now[name].data, values.data));
    }
    // the stream of the other text from the first block on gives the other text's logits
    assert.ok(sameBits(await logits([{ at, set: captured[at] }]), (await gqa.forward(other)).logits.data));
  });

  test('one head takes a tensor without the axis of heads; one for all positions lacks theirs', async () => {
    const name = 'blocks.1.attn.hook_z';
    const { shape, data } = captured[name];
    const [n, heads, width] = shape;
    const head = {
      shape: [n, width],
      data: Float32Array.from(
        { length: n * width },
        (_, i) => data[(Math.floor(i / width) * heads + 1) * width + (i % width)],
      ),
    };
    const got = await gqa.forward(ids, { edits: [{ at: name, head: 1, set: head }], capture: [name] });
    const want = (await gqa.forward(ids, { capture: [name] })).captured[name].data.map((x, i) =>
      Math.floor(i / width) % heads === 1 ? data[i] : x,
    );
    assert.ok(sameBits(got.captured[name].data, want));
    const first = { shape: [heads, width], data: data.slice(0, heads * width) };
    const all = await gqa.forward(ids, { edits: [{ at: name, set: first }], capture: [name] });
    all.captured[name].data.forEach((x, i) => assert.equal(x, first.data[i % (heads * width)]));
    await refused(
      logits([{ at: name, set: { shape: [7, width], data: new Float32Array(7 * width) }, head: 0 }]),
      'bad-option',
      /position.to is 7/,
    );
    await refused(logits([{ at: name, set: { shape: [2, 3], data: [1] } }]), 'bad-option', /1 numbers[^]*\[2,3\]/);
  });

  test('project removes the component along a direction, and nothing else', async () => {
    const { dModel } = gqa.config;
    const direction = Float32Array.from({ length: dModel }, (_, i) => Math.sin(i + 1));
    const square = direction.reduce((sum, x) => sum + x * x, 0);
    const { captured: before } = await gqa.forward(ids, { capture: [at] });
    const edits = [{ at, project: direction, position: { from: 1 } }];
    const { captured: after } = await gqa.forward(ids, { edits, capture: [at] });
    for (let t = 0; t < ids.length; t++) {
      const x = before[at].data.subarray(t * dModel, (t + 1) * dModel);
      const along = x.reduce((sum, y, j) => sum + y * direction[j], 0);
      const want = x.map((y, j) => (t ? y - (along / square) * direction[j] : y));
      assert.ok(distance(after[at].data.subarray(t * dModel, (t + 1) * dModel), want) < 1e-6, `position ${t}`);
    }
    await refused(logits([{ at, project: [1, 2] }]), 'bad-argument', /project at[^]*2 values/);
    await refused(logits([{ at, project: 1 }]), 'bad-argument', /values/);
  });

  test('mean sets the mean over the positions of a text, of every point that matches', async () => {
    const text = [3, 1, 4, 1, 5];
    const pattern = '*.hook_z';
    const { captured: own } = await gqa.forward(text, { capture: [pattern] });
    const sets = Object.entries(own).map(
      ([
        name,
        {
          data,
          shape: [n, ...inner],
        },
      ]) => {
        const width = data.length / n;
        const mean = Float32Array.from({ length: width }, (_, j) => {
          let sum = 0;
          for (let t = 0; t < n; t++) sum += data[t * width + j];
          return sum / n;
        });
        return { at: name, set: { shape: inner, data: mean } };
      },
    );
    assert.ok(sameBits(await logits([{ at: pattern, mean: text }]), await logits(sets)));
    await refused(logits([{ at: '*.hook_pattern', mean: text }]), 'bad-option', /keys/);
    await refused(logits([{ at, mean: [] }]), 'empty-prompt');
  });

  test('a function gets what is captured there, with the edits before it, and gives the new values', async () => {
    /** @type {string[]} */
    const seen = [];
    const half = ({ data }, name) => {
      seen.push(name);
      return data.map((x) => x / 2);
    };
    const apply = [{ at: 'blocks.*.hook_resid_mid', apply: half }];
    assert.ok(sameBits(await logits(apply), await logits([{ at: 'blocks.*.hook_resid_mid', scale: 0.5 }])));
    assert.deepEqual(seen, ['blocks.0.hook_resid_mid', 'blocks.1.hook_resid_mid'].slice(0, gqa.config.nLayers));
    const { loss } = await gqa.loss(ids, { edits: apply });
    assert.equal(loss, (await gqa.loss(ids, { edits: [{ at: 'blocks.*.hook_resid_mid', scale: 0.5 }] })).loss);
    await refused(logits([{ at, apply: () => [1] }]), 'bad-option', /apply at blocks[^]*expected/);
    const own = new RangeError('of the caller');
    const thrown = await logits([
      {
        at,
        apply: () => {
          throw own;
        },
      },
    ]).catch((error) => error);
    assert.deepEqual([thrown.code, thrown.cause], ['callback', own]);
    assert.match(thrown.message, /^apply at blocks\.0\.hook_resid_pre threw: of the caller/);
    await refused(logits([{ at, apply: half, position: 0 }]), 'bad-option', /position is given with apply/);
    await refused(logits([{ at, apply: half, scale: 2 }]), 'bad-option', /scale is given with apply/);
    await refused(collect(gqa.generate(ids, { edits: [{ at, apply: half }] })), 'bad-option', /forward and loss/);
    const elsewhere = await untilEnd(create({ vocab_size: 20, d_model: 8, n_layers: 1, n_heads: 1 }, { worker: true }));
    await refused(
      elsewhere.forward([1], { edits: [{ at, apply: half }] }),
      'bad-option',
      /apply needs a model without a worker/,
    );
  });

  test('several inputs take a list of edits each', async () => {
    const one = [{ at, scale: 2 }];
    const { logits: both } = await gqa.forward([ids, ids], { edits: [[], one] });
    const half = both.data.length / 2;
    assert.ok(sameBits(both.data.subarray(0, half), await logits([])));
    assert.ok(sameBits(both.data.subarray(half), await logits(one)));
    await refused(gqa.forward([ids, ids], { edits: [one, [], []] }), 'bad-option', /edits has 3 lists/);
    await refused(gqa.forward([ids, ids], { edits: [one, [{ at }]] }), 'bad-option', /edits\[1\]\[0\]/);
  });
});

// The range ended with the prompt: no new token was edited.
test('an open range of positions reaches the tokens that are generated, as it does in a session', async () => {
  const model = await load(stories);
  const edits = [{ at: 'blocks.2.hook_mlp_out', position: { from: 4 }, scale: -2 }];
  const prompt = await model.encode('Once upon a time');
  const how = { maxTokens: 12, temperature: 0 };
  const session = await model.session({ edits });
  const [whole, inSession, plain] = [
    await model.complete(prompt, { ...how, edits }),
    await session.generate(prompt, how).result,
    await model.complete(prompt, how),
  ];
  assert.deepEqual(whole.ids, inSession.ids);
  assert.notDeepEqual(whole.ids, plain.ids);
  const closed = [{ ...edits[0], position: { from: 4, to: prompt.length } }];
  assert.notDeepEqual((await model.complete(prompt, { ...how, edits: closed })).ids, whole.ids);
  const beams = { maxTokens: 6, beams: 2 };
  assert.notDeepEqual(
    (await model.complete(prompt, { ...beams, edits })).ids,
    (await model.complete(prompt, { ...beams, edits: closed })).ids,
    'also in a beam search',
  );
  model.dispose();
});
