// chat.test.js - chat: templates, and sessions that continue a conversation
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { EngineSession } from '../../web/lib/engine/engine_session.js';
import { load } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { collect, openCase, refused, stories, untilEnd } from './helpers.js';
import { specialToken } from './checkpoint_files.js';
import { limited } from './wasm_file.js';

/** A folder with a model that has the letters from A on as tokens, and this chat template. */
function folderWith(template, names = {}) {
  const folder = temporaryFolder('sessions');
  const c = openCase('llama_1tok');
  copyFileSync(join(c.folder, 'model.safetensors'), join(folder, 'model.safetensors'));
  const json = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
  json('config.json', { ...c.config, bos_token_id: 60, eos_token_id: 61 });
  json('tokenizer.json', {
    added_tokens: [
      specialToken(60, '<s>'),
      specialToken(61, '</s>'),
      specialToken(62, '[user]'),
      specialToken(63, '[bot]'),
    ],
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
  json('tokenizer_config.json', { chat_template: template, ...names });
  return `${folder}/`;
}
describe('chat', () => {
  const folder = folderWith(
    '{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.role == "bot" %}{{ eos_token }}{% endif %}{% endfor %}[bot]',
  );
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
        const model = await untilEnd(load(folder, { kvDtype, worker, threads: 1 }));
        const fresh = await untilEnd(load(folder, { kvDtype, threads: 1 }));
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
      });
    }
  }

  test('captures, edits and beams run everything again; a chat beside a running one does not wait', async () => {
    const model = await untilEnd(load(folder, { threads: 1 }));
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
  });

  for (const worker of [false, true])
    test(`a call that runs out of memory frees the conversation and succeeds${worker ? ', in a worker' : ''}`, async () => {
      const open = () => load(folder, { worker, threads: 1, contextLength: 4096, kvDtype: 'f32', wasm: limited(140) });
      /** Sessions of 2000 positions until memory is exhausted. */
      const fill = async (model) => {
        const sessions = [];
        for (;;) {
          const session = await model.session();
          sessions.push(session);
          try {
            await session.eval(new Array(2000).fill(1));
          } catch (error) {
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
    const model = await untilEnd(load(folder, { threads: 1 }));
    const other = await untilEnd(load(folder, { threads: 1 }));
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
  });
});

test("chat formats the messages with the model's template and then generates", async () => {
  const model = await load(
    folderWith(
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}{% elif m.role == 'bot' %}[bot]{{ m.content }}{{ eos_token }}{% else %}{{ raise_exception('who is ' + m.role) }}{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]{% endif %}",
    ),
    { dtype: 'f32' },
  );
  const messages = [
    { role: 'user', content: 'ABC' },
    { role: 'bot', content: 'D' },
    { role: 'user', content: 'EE' },
  ];
  const options = { maxTokens: 12, temperature: 0, ignoreEos: true };
  const want = await collect(model.generate([60, 62, 0, 1, 2, 63, 3, 61, 62, 4, 4, 63], options));
  const got = await collect(model.chat(messages, options));
  assert.deepEqual(got.ids, want.ids);
  assert.equal(got.summary.text, want.summary.text);
  // docs/tutorials/chat.md sent `message` back with the next turn, and an answer without tools had none
  assert.deepEqual(got.summary.message, { role: 'assistant', content: got.summary.text });
  await assert.rejects(
    collect(model.chat([{ role: 'nobody', content: 'x' }])),
    (e) => e.code === 'bad-option' && /who is nobody/.test(e.message),
  );
  await assert.rejects(collect(model.chat([])), { code: 'bad-argument' });
  const plain = await load(stories);
  await assert.rejects(collect(plain.chat(messages)), { code: 'no-chat-template' });
  // texts that the tokenizer names take precedence over those of the configuration's ids
  const template = '{{ bos_token }}{{ messages[0].content }}{{ eos_token }}';
  const named = await load(folderWith(template, { bos_token: '[user]', eos_token: { content: '[bot]' } }), {
    dtype: 'f32',
  });
  assert.deepEqual(
    (await collect(named.chat([{ role: 'user', content: 'AB' }], options))).ids,
    (await collect(named.generate([62, 0, 1, 63], options))).ids,
  );
  for (const each of [model, plain, named]) each.dispose();
});
