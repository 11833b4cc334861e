// session_state.test.js - the state of a session: saved, restored, and refused where it is damaged
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { EngineSession } from '../../web/lib/engine/engine_session.js';
import { create, load } from '../../web/lib/api/index.js';
import { collect, numbers, refused, sameBits, stories, untilEnd } from './helpers.js';

const sampled = { maxTokens: 14, temperature: 0.9, topK: 40, repetitionPenalty: 1.2, seed: 5, logprobs: 2 };

/** The number at a place of a saved session's header: version, description, tokens, positions, block bytes, edited. */
const header = (state, i) => new DataView(state.buffer).getUint32(8 + 4 * i, true);

const damaged = (state, change) => {
  const copy = state.slice();
  change(copy, new DataView(copy.buffer));
  return copy;
};

/** A change by somebody who also writes the checksum of the changed bytes. */
const changed = (state, change) => {
  const copy = damaged(state, change);
  copy.set(createHash('sha256').update(copy.subarray(0, -32)).digest(), copy.length - 32);
  return copy;
};

for (const worker of [false, true]) {
  describe(`saved sessions${worker ? ' in a worker' : ''}`, () => {
    for (const kvDtype of ['f32', 'f16', 'q8_0']) {
      test(`a restored session continues with the same bits: ${kvDtype}`, async (t) => {
        const [model, again] = await Promise.all(
          [worker, false].map((worker) => load(stories, { kvDtype, worker, threads: 1, contextLength: 256 })),
        );
        const restored = async (state, run) => {
          const session = await again.session({ state });
          await run(session);
          assert.deepEqual(await session.save(), state, 'the same bytes');
          await session.dispose();
        };
        const session = await model.session();
        await restored(await session.save(), async ({ length }) => assert.equal(length, 0));
        for (const n of [1, 62, 1, 1, 70]) {
          await session.eval(numbers(n, 2048, n));
          const state = await session.save();
          await restored(state, async ({ length }) => assert.equal(length, session.length));
        }
        const { summary } = await collect(session.generate([5, 6], { ...sampled, ignoreEos: true })); // whose last token was not run
        assert.equal(summary.ids.length, 14);
        const state = await session.save();
        const other = await again.session({ state });
        assert.equal(other.length, session.length);
        const passes = t.mock.method(EngineSession.prototype, 'eval').mock;
        const got = await collect(other.generate([9], sampled));
        assert.deepEqual(passes.calls[0].arguments[0].length, 2); // of the 152 tokens before it only the last one
        const want = await collect(session.generate([9], sampled));
        const plain = ({ ms, ...step }) => step;
        assert.deepEqual(got.steps.map(plain), want.steps.map(plain));
        await session.rewind(40); // rewound positions are not in the bytes
        const fresh = await again.session();
        const first = [1, 62, 1, 1, 70].flatMap((n) => numbers(n, 2048, n)).slice(0, 40);
        await fresh.eval(first);
        assert.deepEqual(await session.save(), await fresh.save());
        model.dispose();
        again.dispose();
      });
    }

    test('an encoder-decoder needs its source again; bidirectional attention saves the tokens', async () => {
      const open = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
      const pair = await create({ ...open, kind: 'encoder_decoder' }, { worker, threads: 1, seed: 3 });
      const source = [9, 8, 7];
      const session = await pair.session({ source });
      await session.eval([1, 2, 3]);
      const state = await session.save();
      await refused(pair.session({ state }), 'bad-option', /pass \{ source \}/);
      await refused(pair.session({ state, source: [9, 8, 6] }), 'bad-file', /another source/);
      const other = await pair.session({ state, source });
      assert.ok(sameBits(await other.eval([4]), await session.eval([4])));
      // edits and captures were ignored in the encoder, and in the keys and values of its output
      const at = 'encoder.0.hook_resid_post';
      for (const edits of [
        [],
        [
          { at, scale: 0.5 },
          { at: 'decoder.1.cross_attn.hook_v', head: 1, scale: 0 },
        ],
      ]) {
        const seen = { source, edits, capture: [at, 'decoder.*.cross_attn.hook_k', 'decoder.0.hook_resid_post'] };
        const edited = await pair.session(seen);
        await edited.eval([1, 2, 3]);
        const [first, again] = [edited.captured, await pair.session({ ...seen, state: await edited.save() })];
        assert.ok(sameBits(await again.eval([4]), await edited.eval([4])), `${edits.length} edits`);
        for (const name of [at, 'decoder.0.cross_attn.hook_k', 'decoder.1.cross_attn.hook_k'])
          assert.deepEqual([...again.captured[name].data], [...first[name].data], name);
        assert.deepEqual(again.captured['decoder.0.hook_resid_post'].shape, [1, 32]);
      }
      pair.dispose();
      const both = await untilEnd(create({ ...open, causal: false }, { worker, threads: 1, seed: 3 }));
      const whole = await both.session();
      await whole.eval([1, 2, 3]);
      const copy = await both.session({ state: await whole.save() });
      assert.equal(copy.length, 3);
      assert.ok(sameBits(await copy.eval([4]), await whole.eval([4])));
    });

    test('states that are cut off, changed, or of another model are refused, and nothing is left of them', async () => {
      const options = { worker, threads: 1, contextLength: 128, kvDtype: 'q8_0' };
      const model = await untilEnd(load(stories, options));
      const ids = numbers(70, 2048);
      const session = await model.session();
      await session.eval(ids);
      const state = await session.save();
      const no = (bytes, code, words) => refused(model.session({ state: bytes }), code, words);
      for (const n of [0, 7, 31, 32, 40, state.length >> 1, state.length - 1])
        await no(state.slice(0, n), 'truncated', /bytes/);
      await no(new Uint8Array([...state, 0]), 'bad-file', /bytes, expected/);
      await no(
        changed(state, (b) => (b[0] ^= 1)),
        'bad-file',
        /not a saved session/,
      );
      await no(
        changed(state, (b, v) => v.setUint32(8, 1, true)),
        'unsupported',
        /version 1, expected 2/,
      );
      const text = header(state, 1);
      const idsAt = 32 + text;
      const blocksAt = idsAt + 4 * 70;
      await no(
        changed(state, (b) => (b[34] ^= 1)),
        'bad-file',
        /another configuration/,
      );
      await no(
        changed(state, (b) => (b[idsAt - 1] ^= 1)),
        'bad-file',
        /weights of other types/,
      );
      await no(
        changed(state, (b, v) => v.setInt32(idsAt, 2048, true)),
        'bad-token',
      );
      await no(
        changed(state, (b, v) => v.setInt32(idsAt, -1, true)),
        'bad-token',
      );
      await no(
        changed(state, (b, v) => v.setUint32(8 + 12, 71, true)),
        'bad-file',
        /malformed/,
      );
      await no(
        changed(state, (b, v) => v.setUint32(8 + 20, 2, true)),
        'bad-file',
        /malformed/,
      );
      await no(
        changed(state, (b, v) => v.setUint32(8 + 8, 2 ** 32 - 1, true)),
        'truncated',
      );
      await no(
        changed(state, (b, v) => v.setUint32(8 + 16, 0, true)),
        'bad-file',
      );
      await no(
        changed(state, (b, v) => v.setFloat32(state.length - 36, NaN, true)),
        'not-finite',
      );
      await no(
        changed(state, (b) => (b[blocksAt] = 0x80)),
        'not-finite',
        /out of range/,
      );
      await no(
        changed(state, (b) => (b[state.length - 36] ^= 1)),
        'bad-file',
        /it was changed/,
      );
      for (const at of [28, idsAt, idsAt + 4 * 69, blocksAt + 5, state.length - 36, state.length - 1])
        await no(
          damaged(state, (b) => (b[at] ^= 1)),
          'bad-file',
          /the state was damaged: the checksum at its end is not that of its bytes/,
        );
      await no(
        changed(state, (b, v) => v.setInt32(idsAt + 4 * 69, 5, true)),
        'bad-file',
        /it was changed/,
      );
      await refused(model.session({ state: 'x' }), 'bad-option', /state is "x", expected a Uint8Array/);
      await refused(model.session({ state: [1, 2] }), 'bad-option');
      const elsewhere = async (options, words, code = 'bad-file') => {
        const other = await load(stories, { worker, threads: 1, contextLength: 128, ...options });
        await refused(other.session({ state }), code, words);
        other.dispose();
      };
      await elsewhere({ kvDtype: 'f32' }, /cache of type q8_0, this model one of f32/);
      await elsewhere({ kvDtype: 'q8_0', contextLength: 69 }, /has 70 tokens/, 'context-full');
      await elsewhere({ kvDtype: 'q8_0', dtype: 'f32' }, /weights of other types/);
      const open = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
      const [a, b] = await Promise.all([1, 2].map((seed) => create(open, { worker, threads: 1, seed })));
      const of = await a.session();
      await of.eval([1, 2, 3]);
      await refused(b.session({ state: await of.save() }), 'bad-file', /other weights/);
      a.dispose();
      b.dispose();
      await session.dispose();
      await model.points(); // each answer updates the figures of the memory
      assert.equal(model.memory.regions.find(({ name }) => name === 'kv cache').bytes, 0);
    });

    test('captures begin after the restored positions; a state with edits needs the edits again', async () => {
      const at = 'blocks.1.hook_resid_post';
      const edits = [{ at: 'blocks.0.attn.hook_z', head: 1, scale: 0 }];
      const model = await untilEnd(load(stories, { worker, threads: 1 }));
      const session = await model.session({ edits });
      await session.eval([1, 2, 3]);
      const state = await session.save();
      const other = await model.session({ state, edits, capture: [at] });
      assert.ok(sameBits(await other.eval([4]), await session.eval([4])));
      assert.equal(other.captured[at].shape[0], 1);
      // without them it goes on from edited keys and values, which no model computes again; so does each copy
      const unedited = await model.session({ state });
      const fork = await unedited.fork();
      const want = await unedited.eval([4]);
      for (const { saved, next } of [
        { saved: await unedited.save(), next: [5] },
        { saved: await fork.save(), next: [4] },
        { saved: await (await session.fork()).save(), next: [5] },
      ]) {
        const again = await model.session({ state: saved });
        const logits = await again.eval(next);
        if (next[0] === 4) assert.ok(sameBits(logits, want));
      }
    });
  });
}
