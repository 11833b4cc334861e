// sessions.test.js - generation in a session, the tokens that chat does not run again, and saved sessions
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { EngineSession } from '../../web/lib/engine/engine_session.js';
import { create, load } from '../../web/lib/index.js';
import { collect, limited, numbers, openCase, refused, sameBits, stories } from './helpers.js';

const prompt = 'Once upon a time';
const sampled = { maxTokens: 14, temperature: 0.9, topK: 40, repetitionPenalty: 1.2, seed: 5, logprobs: 2 };
const REASON = new Error('enough');

/** The same tests beside the engine and through a worker. */
for (const worker of [false, true]) {
  describe(worker ? 'in a worker' : 'in the same thread', () => {
    let model;
    before(async () => {
      model = await load(stories, { worker, threads: 1 });
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
        const continued = async (/** @type {number} */ kept) => {
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
      const short = await load(stories, { worker, threads: 1, contextLength: 12 });
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
      short.dispose();
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
    });

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
      const pair = await create({ ...open, kind: 'encoder_decoder' }, { worker, threads: 1, seed: 3 });
      const translation = await pair.session({ source: [9, 8, 7] });
      const a = await collect(translation.generate([1], options));
      const b = await collect(translation.generate([], options));
      const ten = await collect(pair.generate([1], { ...options, source: [9, 8, 7], maxTokens: 10 }));
      assert.deepEqual([...a.ids, ...b.ids], ten.ids);
      pair.dispose();
    });
  });
}

describe('chat', () => {
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-sessions-'));
  after(() => rmSync(folder, { recursive: true }));
  before(() => {
    const c = openCase('llama_1tok');
    copyFileSync(join(c.folder, 'model.safetensors'), join(folder, 'model.safetensors'));
    const special = (id, content) => ({
      id,
      content,
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    });
    const json = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
    json('config.json', { ...c.config, bos_token_id: 60, eos_token_id: 61 });
    json('tokenizer.json', {
      added_tokens: [special(60, '<s>'), special(61, '</s>'), special(62, '[user]'), special(63, '[bot]')],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: { type: 'Fuse' },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(Array.from({ length: 60 }, (_, i) => [String.fromCharCode(65 + i), i])),
        merges: [],
      },
    });
    json('tokenizer_config.json', {
      chat_template:
        '{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.role == "bot" %}{{ eos_token }}{% endif %}{% endfor %}[bot]',
    });
  });
  const user = (content) => ({ role: 'user', content });
  const bot = (content) => ({ role: 'bot', content });
  const options = { maxTokens: 6, temperature: 0.8, seed: 3 };
  /** Letters only, so that the text of the answer has the tokens that were sampled. */
  const letters = (ids) => String.fromCharCode(...ids.map((id) => 65 + (id % 60)));
  const idsOf = (messages) => [
    60,
    ...messages.flatMap(({ role, content }) => [
      role === 'user' ? 62 : 63,
      ...Array.from(content, (c) => c.charCodeAt(0) - 65),
      ...(role === 'bot' ? [61] : []),
    ]),
    63,
  ];

  for (const kvDtype of ['f32', 'f16', 'q8_0']) {
    for (const worker of [false, true]) {
      test(`a second turn runs only what is new: ${kvDtype}${worker ? ', in a worker' : ''}`, async (t) => {
        const model = await load(`${folder}/`, { kvDtype, worker, threads: 1 });
        const fresh = await load(`${folder}/`, { kvDtype, threads: 1 });
        const passes = t.mock.method(EngineSession.prototype, 'eval').mock;
        const messages = [user('ABCDEFGHIJKLMNOPQRSTUVWXYZ'.repeat(2))];
        const turn = async (extra = {}) => {
          const steps = model.chat(messages, { ...options, ...extra });
          const from = passes.callCount();
          const got = await collect(steps);
          const run = passes.calls.slice(from).reduce((n, { arguments: [ids] }) => n + ids.length, 0);
          const want = await collect(fresh.generate(idsOf(messages), options));
          assert.deepEqual(
            got.steps.map(({ ms, ...step }) => step),
            want.steps.map(({ ms, ...step }) => step),
          );
          const { prefilledTokens, reusedTokens, ids, stopReason } = got.summary;
          assert.equal(prefilledTokens + reusedTokens, idsOf(messages).length);
          const decoded = Math.max(0, ids.length - (stopReason === 'eos' ? 0 : 1));
          if (!worker) assert.equal(run, prefilledTokens + decoded);
          return got;
        };
        const first = await turn();
        assert.deepEqual([first.summary.prefilledTokens, first.summary.reusedTokens], [55, 0]);
        const answer = letters(first.ids);
        messages.push(bot(answer), user('XYZ'));
        const asBefore = first.ids.findIndex((id) => id >= 60);
        const same = asBefore < 0 ? first.ids.length : asBefore;
        const second = await turn();
        // the last sampled token was not run by the first turn
        const reused = 55 + Math.min(same, first.ids.length - (first.summary.stopReason === 'eos' ? 0 : 1));
        assert.deepEqual(second.summary.reusedTokens, reused);
        const again = await turn(); // all but the prompt's last token
        assert.equal(again.summary.prefilledTokens, 1);
        messages.splice(0, messages.length, user('ABCDEFGHIJKLMNOPQRSTUVWXYA')); // another conversation
        assert.equal((await turn()).summary.reusedTokens, 2 + 25);
        messages[0] = user('B');
        assert.equal((await turn()).summary.reusedTokens, 2);
        const session = await model.session();
        assert.equal((await turn({ session })).summary.reusedTokens, 0);
        messages.push(user('C'));
        assert.equal((await turn({ session })).summary.reusedTokens, 3);
        model.dispose();
        fresh.dispose();
      });
    }
  }

  test('captures, edits and beams run everything again; a chat beside a running one does not wait', async () => {
    const model = await load(`${folder}/`, { threads: 1 });
    const messages = [user('ABC')];
    const want = await collect(model.chat(messages, options));
    for (const extra of [{ capture: ['blocks.0.hook_resid_post'] }, { edits: [] }, { beams: 2 }]) {
      const { temperature, ...rest } = options;
      const { summary } = await collect(
        model.chat(messages, { ...rest, ...(extra.beams ? {} : { temperature }), ...extra }),
      );
      assert.deepEqual([summary.prefilledTokens, summary.reusedTokens], [6, 0]);
    }
    const waiting = model.chat(messages, options);
    const first = await waiting.next();
    const beside = await collect(model.chat(messages, options));
    assert.equal(beside.summary.reusedTokens, 0);
    assert.deepEqual(beside.ids, want.ids);
    assert.equal(first.value.id, want.ids[0]);
    await waiting.return();
    assert.equal((await collect(model.chat(messages, options))).summary.prefilledTokens, 1);
    model.dispose();
  });

  for (const worker of [false, true])
    test(`a call that runs out of memory frees the conversation and succeeds${worker ? ', in a worker' : ''}`, async () => {
      const open = () =>
        load(`${folder}/`, { worker, threads: 1, contextLength: 4096, kvDtype: 'f32', wasm: limited(140) });
      /** Sessions of 2000 positions until memory is exhausted. */
      const fill = async (model) => {
        const sessions = [];
        for (;;) {
          const session = await model.session();
          sessions.push(session);
          try {
            await session.eval(new Array(2000).fill(1));
          } catch (/** @type {any} */ error) {
            assert.equal(error.code, 'out-of-memory', error.stack);
            return sessions;
          }
        }
      };
      const plain = await open();
      const without = (await fill(plain)).length;
      plain.dispose();
      const model = await open();
      const messages = [user('A'.repeat(3000))];
      const reused = async () =>
        (await collect(model.chat(messages, { ...options, maxTokens: 1 }))).summary.reusedTokens;
      assert.equal(await reused(), 0);
      assert.ok((await reused()) > 2000);
      const sessions = await fill(model);
      assert.ok(without > 2, `${without}`);
      assert.equal(sessions.length, without);
      await Promise.all(sessions.map((session) => session.close()));
      assert.equal(await reused(), 0);
      // a generation whose prompt takes the place of the conversation
      const held = []; // a session that nothing refers to would be closed by the garbage collector
      for (let i = 0; i < without - 3; i++) {
        held.push(await model.session());
        await held[i].eval(new Array(2000).fill(1));
      }
      assert.ok((await reused()) > 2000);
      const { ids } = await collect(model.generate(new Array(3900).fill(1), { ...options, ignoreEos: true }));
      assert.equal(ids.length, options.maxTokens);
      assert.equal(await reused(), 0);
      await Promise.all(held.map((session) => session.close()));
      model.dispose();
    });

  test('a session of another model, and options that belong to the session, are refused', async () => {
    const model = await load(`${folder}/`, { threads: 1 });
    const other = await load(`${folder}/`, { threads: 1 });
    const session = await model.session();
    const next = (m, extra) => m.chat([user('A')], { maxTokens: 1, ...extra }).next();
    await refused(next(other, { session }), 'bad-option', /expected a session of this model/);
    await refused(next(model, { session: {} }), 'bad-option', /session is \{\}, expected a session of this model/);
    await refused(next(model, { session: 0 }), 'bad-option', /session is 0/);
    await refused(next(model, { session: 'mine' }), 'bad-option', /session is "mine"/);
    await refused(next(model, { session, beams: 2 }), 'bad-option', /beams cannot be combined with session/);
    await refused(next(model, { session, capture: [] }), 'bad-option', /capture cannot be combined with session/);
    await session.dispose();
    await refused(next(model, { session }), 'bad-state');
    model.dispose();
    other.dispose();
  });
});

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
      await refused(pair.session({ state }), 'bad-option', /needs \{ source \}/);
      await refused(pair.session({ state, source: [9, 8, 6] }), 'bad-file', /another source/);
      const other = await pair.session({ state, source });
      assert.ok(sameBits(await other.eval([4]), await session.eval([4])));
      pair.dispose();
      const both = await create({ ...open, causal: false }, { worker, threads: 1, seed: 3 });
      const whole = await both.session();
      await whole.eval([1, 2, 3]);
      const copy = await both.session({ state: await whole.save() });
      assert.equal(copy.length, 3);
      assert.ok(sameBits(await copy.eval([4]), await whole.eval([4])));
      both.dispose();
    });

    test('states that are cut off, changed, or of another model are refused, and nothing is left of them', async () => {
      const options = { worker, threads: 1, contextLength: 128, kvDtype: 'q8_0' };
      const model = await load(stories, options);
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
        /no saved session/,
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
      model.dispose();
    });

    test('captures begin after the restored positions; a state with edits needs the edits again', async () => {
      const at = 'blocks.1.hook_resid_post';
      const edits = [{ at: 'blocks.0.attn.hook_z', head: 1, scale: 0 }];
      const model = await load(stories, { worker, threads: 1 });
      const session = await model.session({ edits });
      await session.eval([1, 2, 3]);
      const state = await session.save();
      const other = await model.session({ state, edits, capture: [at] });
      assert.ok(sameBits(await other.eval([4]), await session.eval([4])));
      assert.equal(other.captured[at].shape[0], 1);
      model.dispose();
    });
  });
}
