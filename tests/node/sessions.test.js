// sessions.test.js - generation in a session, the tokens that chat does not run again, and saved sessions
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { collect, numbers, refused, sameBits, stories, untilEnd } from './helpers.js';

const prompt = 'Once upon a time';

const sampled = { maxTokens: 14, temperature: 0.9, topK: 40, repetitionPenalty: 1.2, seed: 5, logprobs: 2 };

const REASON = new Error('enough');

/** The same tests beside the engine and through a worker. */
for (const worker of [false, true]) {
  describe(worker ? 'in a worker' : 'in the same thread', () => {
    let model;
    before(async () => {
      model = await load(stories, { worker, threads: 1, chatTemplate: '{{ messages[0].content }}' });
    });
    after(() => model.dispose());
    const opened = async (run, options) => {
      const session = await model.session(options);
      try {
        await run(session);
      } finally {
        await session.dispose();
      }
    };
    const plain = ({ ms, ...step }) => step;
    const assertSameSteps = (got, want) => assert.deepEqual(got.steps.map(plain), want.steps.map(plain));
    const drawn = async (generator, n, then) => {
      const ids = [];
      for await (const { id } of generator) {
        ids.push(id);
        if (ids.length === n) {
          if (then) then();
          else break;
        }
      }
      return ids;
    };

    test('a generation in an empty session has the steps and the summary of model.generate', () =>
      opened(async (session) => {
        const want = await collect(model.generate(prompt, sampled));
        const got = await collect(session.generate(prompt, sampled));
        assertSameSteps(got, want);
        const times = { prefillMs: 0, decodeMs: 0, tokensPerSecond: 0 };
        assert.deepEqual({ ...got.summary, ...times }, { ...want.summary, ...times });
        assert.equal(session.length, (await model.encode(prompt)).length + 14);
        assert.ok(session.bytes > 0);
      }));

    test('later generations and evals continue as if the whole sequence were new', () =>
      opened(async (session) => {
        const first = await collect(session.generate(prompt, sampled));
        const held = [...(await model.encode(prompt)), ...first.ids];
        assert.equal(session.length, held.length);
        const more = numbers(70, 2048); // more than one chunk
        const second = await collect(session.generate(more, sampled));
        held.push(...more);
        const want = await collect(model.generate(held, sampled));
        assertSameSteps(second, want);
        // all but the last new token of the first generation were in the cache
        assert.equal(second.summary.reusedTokens, held.length - 71);
        assert.equal(second.summary.prefilledTokens, 71);
        assert.deepEqual([want.summary.reusedTokens, want.summary.prefilledTokens], [0, held.length]);
        held.push(...second.ids);
        const logits = await session.eval([3, 4]);
        held.push(3, 4);
        assert.ok(sameBits(logits, (await model.forward(held)).logits.data.slice(-logits.length)));
        // an empty input: after an eval, after a rewind, and after a generation
        assertSameSteps(await collect(session.generate('', sampled)), await collect(model.generate(held, sampled)));
        await session.rewind(held.length - 7);
        held.length -= 7;
        const third = await collect(session.generate([], sampled));
        assertSameSteps(third, await collect(model.generate(held, sampled)));
        assert.equal(third.summary.prefilledTokens, 1);
        held.push(...third.ids);
        const fork = await session.fork();
        for (const each of [session, fork])
          assertSameSteps(await collect(each.generate([], sampled)), await collect(model.generate(held, sampled)));
        await fork.dispose();
      }));

    test('the session holds what was delivered, also after stop, break, abort and no token at all', () =>
      opened(async (session) => {
        const n = (await model.encode(prompt)).length;
        const greedy = { maxTokens: 30, temperature: 0 };
        const all = await collect(model.generate(prompt, greedy));
        const continued = async (kept) => {
          assert.equal(session.length, n + kept);
          const ids = [...(await model.encode(prompt)), ...all.ids.slice(0, kept), 9];
          const logits = await session.eval([9]);
          assert.ok(sameBits(logits, (await model.forward(ids)).logits.data.slice(-logits.length)), `after ${kept}`);
          await session.rewind(0);
        };
        const stop = all.text.slice(30, 40);
        const stopped = await collect(session.generate(prompt, { ...greedy, stop }));
        assert.equal(stopped.summary.stopReason, 'stop');
        assert.ok(stopped.ids.length < 30);
        await continued(stopped.ids.length);
        assert.deepEqual(await drawn(session.generate(prompt, greedy), 5), all.ids.slice(0, 5));
        await continued(5);
        const controller = new AbortController();
        const aborted = drawn(session.generate(prompt, { ...greedy, signal: controller.signal }), 3, () =>
          controller.abort(REASON),
        );
        await assert.rejects(aborted, (e) => e === REASON);
        await continued(3);
        const none = await collect(session.generate(prompt, { maxTokens: 0 }));
        assert.equal(none.steps.length, 0);
        await continued(0);
        // nothing was delivered: as before
        await session.eval([1, 2, 3]);
        const late = new AbortController();
        const long = session.generate(numbers(1000, 2048), { signal: late.signal, maxTokens: 3 });
        const first = long.next();
        setTimeout(() => late.abort(REASON), worker ? 20 : 1);
        const outcome = await first.then(
          (step) => step,
          (error) => error,
        );
        if (outcome === REASON) assert.equal(session.length, 3);
        else await long.return();
        await session.rewind(3);
        const row = await session.eval([4]);
        assert.ok(sameBits(row, (await model.forward([1, 2, 3, 4])).logits.data.slice(-row.length)));
      }));

    test('refused inputs and options leave the session as it was', () =>
      opened(async (session) => {
        const next = (...args) => session.generate(...args).next();
        await refused(next(''), 'empty-prompt');
        await session.eval([1, 2]);
        await refused(next([5000]), 'bad-token');
        await refused(next(5), 'bad-argument');
        await refused(next([1], { beams: 2 }), 'bad-option', /no option "beams"/);
        await refused(next([1], { capture: [] }), 'bad-option', /no option "capture"/);
        await refused(next([1], { topP: 7 }), 'bad-option', /topP is 7/);
        await refused(next(numbers(model.contextLength - 1, 2048)), 'context-full', /the session holds 2 positions/);
        await refused(next([[1], [2]]), 'bad-token');
        assert.equal(session.length, 2);
        const row = await session.eval([3]);
        assert.ok(sameBits(row, (await model.forward([1, 2, 3])).logits.data.slice(-row.length)));
      }));

    test('a context that is full ends the text, and the next one begins full', async () => {
      const short = await untilEnd(load(stories, { worker, threads: 1, contextLength: 12 }));
      const session = await short.session();
      const { summary } = await collect(session.generate([1, 2, 3], { temperature: 0, ignoreEos: true }));
      assert.equal(summary.stopReason, 'contextFull');
      assert.equal(summary.ids.length, 9);
      assert.equal(session.length, 12);
      const again = await collect(session.generate('', {}));
      assert.deepEqual([again.summary.stopReason, again.summary.ids], ['contextFull', []]);
      await refused(session.eval([1]), 'context-full', /holds 12 positions/);
      await session.rewind(4);
      assert.equal((await collect(session.generate([], { maxTokens: 2, ignoreEos: true }))).ids.length, 2);
    });

    test('calls that were not awaited run one after the other', () =>
      opened(async (session) => {
        const options = { maxTokens: 6, temperature: 0, ignoreEos: true };
        const [a, , c] = await Promise.all([
          collect(session.generate([1, 2, 3], options)),
          session.eval([4]),
          collect(session.generate([5], options)),
        ]);
        assert.equal(session.length, 3 + 6 + 1 + 1 + 6);
        const want = await collect(model.generate([1, 2, 3, ...a.ids, 4, 5], options));
        assert.deepEqual(c.ids, want.ids);
      }));

    test('dispose ends a generation that waits for its reader', async () => {
      const session = await model.session();
      const steps = session.generate(prompt, { ignoreEos: true });
      await steps.next();
      await session.dispose();
      await refused(
        (async () => {
          for (;;) if ((await steps.next()).done) return;
        })(),
        'bad-state',
      );
      await refused(session.generate('x').next(), 'bad-state', /closed/);
      await model.points(); // each answer updates the figures of the memory
      assert.equal(model.memory.regions.find(({ name }) => name === 'kv cache').bytes, 0);
      // one that waits for a call has no reader to wait for
      const busy = await model.session();
      const evaluated = busy.eval(prompt);
      const late = refused(busy.generate(' there').next(), 'bad-state', /closed/);
      await busy.dispose();
      await Promise.all([evaluated, late]);
    });

    test('a session keeps its tokens when a chat fails before its first step', () =>
      opened(async (session) => {
        await session.eval([1, 2, 3]);
        const messages = [{ role: 'user', content: prompt }];
        const chat = model.chat(messages, { session, signal: AbortSignal.abort(REASON) });
        await assert.rejects(chat.next(), (e) => e === REASON);
        assert.equal(session.length, 3);
        const row = await session.eval([4]);
        assert.ok(sameBits(row, (await model.forward([1, 2, 3, 4])).logits.data.slice(-row.length)));
      }));

    test("captures and edits are the session's, and its rows together are those of the whole sequence", () => {
      const at = 'blocks.1.hook_resid_post';
      const edits = [{ at: 'blocks.0.attn.hook_z', head: 1, scale: 0 }];
      return opened(
        async (session) => {
          const rows = [];
          const ids = [7, 8, 9];
          for (const input of [ids, [10, 11]]) {
            const { steps } = await collect(session.generate(input, { maxTokens: 4, temperature: 0, ignoreEos: true }));
            for (const { captured } of steps) rows.push(...captured[at].data);
            if (input !== ids) ids.push(...input);
            ids.push(...steps.map(({ id }) => id));
          }
          const want = await model.forward(ids.slice(0, -1), { capture: [at], edits });
          assert.ok(sameBits(Float32Array.from(rows), want.captured[at].data));
          await session.eval([12, 13]); // the token before it is run without leaving its row here
          assert.equal(session.captured[at].shape[0], 2);
        },
        { capture: [at], edits },
      );
    });

    test('a model with bidirectional attention, and an encoder-decoder', async () => {
      const open = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
      const both = await create({ ...open, causal: false }, { worker, threads: 1, seed: 3 });
      const options = { maxTokens: 5, temperature: 0, ignoreEos: true };
      const session = await both.session();
      const first = await collect(session.generate([1, 2, 3], options));
      assert.equal(session.length, 8);
      const second = await collect(session.generate([4], options));
      const want = await collect(both.generate([1, 2, 3, ...first.ids, 4], options));
      assert.deepEqual(second.steps.map(plain), want.steps.map(plain));
      assert.equal(second.summary.reusedTokens, 0);
      assert.equal((await session.eval([5])).length, 64);
      both.dispose();
      const pair = await untilEnd(create({ ...open, kind: 'encoder_decoder' }, { worker, threads: 1, seed: 3 }));
      const translation = await pair.session({ source: [9, 8, 7] });
      const a = await collect(translation.generate([1], options));
      const b = await collect(translation.generate([], options));
      const ten = await collect(pair.generate([1], { ...options, source: [9, 8, 7], maxTokens: 10 }));
      assert.deepEqual([...a.ids, ...b.ids], ten.ids);
    });
  });
}
