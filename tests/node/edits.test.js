// edits.test.js - edits of a pass: what they change, and what not
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import {
  collect,
  distance,
  logprobOf,
  numbers,
  openCase,
  readTensors,
  refused,
  row,
  sameBits,
  stories,
  untilEnd,
} from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const one = openCase('llama_1tok');

describe('edits', () => {
  const ids = one.about.input_ids;
  /** The same checkpoint with some numbers changed before it is loaded. */
  async function changed(change) {
    const t = readTensors(join(one.folder, 'model.safetensors'));
    change(t);
    return load({ weights: safetensors(t), config: one.config }, { dtype: 'f32' });
  }

  test('switching a head off equals setting its columns of the output projection to zero', async () => {
    const plain = await load(one.source, { dtype: 'f32' });
    const { nHeads, dHead } = plain.config;
    for (let head = 0; head < nHeads; head++) {
      const without = await changed((t) => {
        const { data, shape } = t['model.layers.0.self_attn.o_proj.weight'];
        const [rows, cols] = shape;
        for (let r = 0; r < rows; r++) data.fill(0, r * cols + head * dHead, r * cols + (head + 1) * dHead);
      });
      const want = (await without.forward(ids)).logits.data;
      for (const at of ['blocks.0.attn.hook_z', 'blocks.0.attn.hook_result']) {
        const got = (await plain.forward(ids, { edits: [{ at, head, scale: 0 }] })).logits.data;
        assert.ok(distance(got, want) < 1e-5, `${at}, head ${head}: ${distance(got, want)}`);
      }
      assert.ok(distance(want, (await plain.forward(ids)).logits.data) > 1e-2);
    }
    // null means all heads, positions or indices
    const edit = { at: 'blocks.0.attn.hook_z', scale: 0 },
      all = (await plain.forward(ids, { edits: [edit] })).logits.data;
    for (const name of ['head', 'position', 'index'])
      assert.equal(distance((await plain.forward(ids, { edits: [{ ...edit, [name]: null }] })).logits.data, all), 0);
  });

  // The means of heads 0 to 3 were set at positions 0 to 3 when a head was named, and an index was refused.
  test('mean sets what the head, the index or the whole point has on average over the positions of a text', async () => {
    const plain = await load(one.source, { dtype: 'f32' });
    const text = ids.slice(0, 5);
    const at = 'blocks.0.attn.hook_z';
    const [{ data, shape }, neurons] = Object.values(
      (await plain.forward(text, { capture: [at, 'blocks.0.mlp.hook_post'] })).captured,
    );
    const meanOf = (values, width, from, n) =>
      Float32Array.from({ length: n }, (_, j) => {
        let sum = 0;
        for (let t = 0; t < text.length; t++) sum += values[t * width + from + j];
        return sum / text.length;
      });
    const [, heads, width] = shape;
    const logits = async (...edits) => (await plain.forward(ids, { edits })).logits.data;
    for (let head = 0; head < heads; head++) {
      const set = meanOf(data, heads * width, head * width, width);
      assert.ok(sameBits(await logits({ at, head, mean: text }), await logits({ at, head, set })), `head ${head}`);
      const one = { at, head, index: 3 };
      assert.ok(
        sameBits(await logits({ ...one, mean: text }), await logits({ ...one, set: set[3] })),
        `index 3 of head ${head}`,
      );
    }
    const each = Array.from({ length: heads }, (_, head) => ({
      ...{ at, head, index: 3 },
      set: meanOf(data, heads * width, head * width + 3, 1)[0],
    }));
    assert.ok(sameBits(await logits({ at, index: 3, mean: text }), await logits(...each)), 'index 3 of every head');
    const dFf = neurons.shape[1];
    const neuron = { at: 'blocks.0.mlp.hook_post', index: 7, position: [1, 2] };
    const set = meanOf(neurons.data, dFf, 7, 1)[0];
    assert.ok(sameBits(await logits({ ...neuron, mean: text }), await logits({ ...neuron, set })), 'a neuron');
    await refused(logits({ at, head: heads, mean: text }), 'bad-argument', /head/);
    plain.dispose();
  });

  test('switching neurons off equals setting their columns of the down projection to zero', async () => {
    const plain = await load(one.source, { dtype: 'f32' });
    const mask = Float32Array.from({ length: plain.config.dFf }, (_, i) => (i % 3 ? 1 : 0));
    const without = await changed((t) => {
      const { data, shape } = t['model.layers.0.mlp.down_proj.weight'];
      const [rows, cols] = shape;
      for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c += 3) data[r * cols + c] = 0;
    });
    // set the activations to their former values without those neurons, position by position
    const { captured } = await plain.forward(ids, { capture: ['blocks.0.mlp.hook_post'] });
    const post = captured['blocks.0.mlp.hook_post'];
    const edits = ids.map((_, position) => ({
      at: 'blocks.0.mlp.hook_post',
      position,
      set: row(post, position).map((v, i) => v * mask[i]),
    }));
    const want = (await without.forward(ids)).logits.data;
    assert.ok(distance((await plain.forward(ids, { edits })).logits.data, want) < 1e-5);
    // and neuron by neuron, by index
    const neurons = Array.from(mask.keys())
      .filter((i) => !mask[i])
      .map((index) => ({ at: 'blocks.0.mlp.hook_post', index, scale: 0 }));
    assert.ok(distance((await plain.forward(ids, { edits: neurons })).logits.data, want) < 1e-5);
    await assert.rejects(
      plain.forward(ids, { edits: [{ at: 'blocks.0.mlp.hook_post', index: plain.config.dFf, scale: 0 }] }),
      { code: 'bad-argument', message: /index/ },
    );
  });

  test("setting the residual stream of another pass gives that pass's logits", async () => {
    const model = await untilEnd(load(stories, { dtype: 'f32' }));
    const a = numbers(12, 2048, 1),
      b = numbers(12, 2048, 2);
    const from = await model.forward(a, { capture: ['blocks.2.hook_resid_post'] });
    const stream = from.captured['blocks.2.hook_resid_post'];
    const edits = a.map((_, position) => ({ at: 'blocks.2.hook_resid_post', position, set: row(stream, position) }));
    const patched = await model.forward(b, { edits });
    assert.ok(sameBits(patched.logits.data, from.logits.data));
    // at one position only: earlier positions keep their values
    const last = await model.forward(b, { edits: edits.slice(11) });
    const own = await model.forward(b);
    assert.ok(sameBits(last.logits.data.slice(0, 11 * 2048), own.logits.data.slice(0, 11 * 2048)));
    assert.ok(distance(row(last.logits, 11), row(own.logits, 11)) > 0.1);
  });

  test('scale, set and add change the captured values too, and apply in their order', async () => {
    const model = await load(one.source, { dtype: 'f32' });
    const at = 'blocks.0.hook_mlp_out',
      capture = [at];
    const plain = (await model.forward(ids, { capture })).captured[at].data;
    const edited = async (...edits) =>
      (await model.forward(ids, { capture, edits: edits.map((e) => ({ at, ...e })) })).captured[at].data;
    const vector = Float32Array.from({ length: model.config.dModel }, (_, i) => i / 7);
    assert.ok(
      sameBits(
        await edited({ scale: 2 }),
        plain.map((v) => v * 2),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ add: vector }),
        plain.map((v, i) => Math.fround(v + vector[i % vector.length])),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ set: [3] }),
        plain.map(() => 3),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ set: 0 }),
        plain.map(() => 0),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ set: [3] }, { scale: 2 }, { add: 1 }),
        plain.map(() => 7),
      ),
    );
    const third = await edited({ position: 2, set: [5] });
    assert.ok(third.every((v, i) => v === (Math.floor(i / vector.length) === 2 ? 5 : plain[i])));
  });

  test("a pattern that is set to one key gives that key's value", async () => {
    const model = await load(one.source, { dtype: 'f32' });
    const names = ['blocks.0.attn.hook_pattern', 'blocks.0.attn.hook_z', 'blocks.0.attn.hook_v'];
    const { captured: c } = await model.forward(ids, {
      capture: names,
      edits: [{ at: names[0], head: 1, position: 5, set: [0, 0, 1, 0, 0, 0] }],
    });
    const { dHead } = model.config,
      z = c[names[1]].data,
      v = c[names[2]].data;
    const from = (5 * 2 + 1) * dHead,
      want = (2 * 2 + 1) * dHead;
    assert.ok(distance(z.slice(from, from + dHead), v.slice(want, want + dHead)) < 1e-6);
  });

  test('edits that can change nothing are refused, with their number and the point', async () => {
    const model = await untilEnd(load(stories));
    const stream = { at: 'blocks.1.hook_resid_post', scale: 0 };
    const pattern = { at: 'blocks.1.attn.hook_pattern', scale: 0 };
    for (const [edit, code, words] of [
      [{ ...stream, position: 2 }, 'bad-option', /edits\[1\]\.position is 2, blocks.1.hook_resid_post has 2 positions/],
      [{ ...pattern, index: 2 }, 'bad-option', /edits\[1\]\.index is 2, blocks.1.attn.hook_pattern has 2 keys/],
      [{ ...pattern, head: 99 }, 'bad-argument', /edits\[1\]: scale at blocks.1.attn.hook_pattern: head 99/],
      [{ at: stream.at, add: [1, 2] }, 'bad-argument', /edits\[1\]: add at blocks.1.hook_resid_post: 2 values/],
      [{ at: stream.at, set: [NaN] }, 'bad-argument', /edits\[1\]: set at blocks.1.hook_resid_post: .*1 or|value 0/],
    ])
      await refused(model.forward([5, 6], { edits: [stream, edit] }), code, words);
    // a generation and a session have more positions to come
    const edits = [{ ...stream, position: 7 }];
    await collect(model.generate([5, 6], { maxTokens: 6, edits }));
    await refused(collect(model.generate([5, 6], { maxTokens: 5, edits })), 'bad-option', /has 7 positions/);
    await (await model.session({ edits })).close();
  });

  test('edits also apply to generation and sessions', async () => {
    const model = await untilEnd(load(stories));
    const plain = await collect(model.generate('Once', { maxTokens: 12, temperature: 0 }));
    const edits = [{ at: 'blocks.*.hook_mlp_out', scale: 0 }];
    const cut = await collect(model.generate('Once', { maxTokens: 12, temperature: 0, edits }));
    assert.notDeepEqual(cut.ids, plain.ids);
    const prompt = await model.encode('Once');
    const session = await model.session({ edits });
    const { logits } = await model.forward(prompt, { edits });
    assert.ok(sameBits(await session.eval(prompt), row(logits, prompt.length - 1)));
    const fork = await session.fork();
    assert.ok(sameBits(await fork.eval([7]), await session.eval([7])), 'a fork is edited as its parent is');
    const beams = await collect(model.generate('Once', { maxTokens: 8, beams: 3, edits, ignoreEos: true }));
    const whole = await model.forward([...prompt, ...beams.ids], { edits });
    for (const s of beams.steps) {
      const want = logprobOf(row(whole.logits, s.position - 1), s.id);
      assert.ok(Math.abs(s.logprob - want) < 1e-5, 'so are all beams');
    }
  });
});
