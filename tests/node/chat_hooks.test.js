// chat_hooks.test.js - useChat of glassformer/react and glassformer/vue, useModel of Vue, and a model in Vue's ref
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createElement } from 'react';
import { create as render } from 'react-test-renderer';
import { effectScope, isReactive, reactive, ref, watch } from 'vue';
import { useChat as useReactChat } from '../../web/lib/apps/clients/react.js';
import { useChat, useModel } from '../../web/lib/apps/clients/vue.js';
import { load } from '../../web/lib/api/index.js';
import { until } from '../patience.js';
import { stories } from './helpers.js';

/** A template in the form of Hermes that fits a short context. */
const chatTemplate =
  '{% for m in messages %}{{ m.role }} {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %} {% endfor %}{{ tools[0].function.name if tools }}';
const parameters = {
  type: 'object',
  properties: { town: { enum: ['Rome', 'Oslo'] } },
  required: ['town'],
  additionalProperties: false,
};
const greedy = { temperature: 0, maxTokens: 8 };
let model;
before(async () => {
  model = await load(stories, { worker: false, chatTemplate });
});
after(() => model.dispose());

/** The two hooks as one: send, stop, setMessages, the present state, and all states that were shown. */
const HOOKS = {
  react: (options) => {
    const states = [];
    let now;
    const Chat = () => {
      now = useReactChat(model, options);
      states.push(now);
      return null;
    };
    const root = render(createElement(Chat));
    return { call: () => now, state: () => now, states, end: () => root.unmount() };
  },
  vue: (options) => {
    const scope = effectScope();
    const states = [];
    const chat = scope.run(() => {
      const own = useChat(model, options);
      watch(own.state, (state) => states.push(state), { flush: 'sync' });
      return own;
    });
    return { call: () => chat, state: () => chat.state.value, states, end: () => scope.stop() };
  },
};

for (const [name, made] of Object.entries(HOOKS)) {
  test(`${name}: a message is answered as by chat, and the answer grows while it is written`, async () => {
    const { call, state, states, end } = made({ ...greedy, messages: [{ role: 'system', content: 'Be brief.' }] });
    await until(call);
    const summary = await call().send('Hi');
    await until(() => !state().running);
    const asked = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ];
    const want = await model.chat(asked, greedy).result;
    assert.equal(summary.text, want.text);
    assert.deepEqual(state().messages, [...asked, { role: 'assistant', content: want.text }]);
    assert.deepEqual([state().running, state().error, state().summary.ids], [false, null, want.ids]);
    assert.ok(states.some(({ running }) => running));
    call().setMessages([]);
    await until(() => !state().messages.length);
    assert.deepEqual(state().messages, []);
    end();
  });

  test(`${name}: tools are called with the arguments of the answer, and their results are sent`, async () => {
    const towns = [];
    const execute = async ({ town }) => ({ rain: towns.push(town) });
    const tools = { weather: { description: 'The weather', parameters, execute } };
    const { call, state, end } = made({ tools, toolChoice: 'required', seed: 1, maxTokens: 80, rounds: 1 });
    await until(call);
    const summary = await call().send('Rain?');
    await until(() => !state().running);
    const { messages } = state();
    const results = messages.filter(({ role }) => role === 'tool');
    assert.equal(messages[1].tool_calls[0].function.arguments.town, towns[0]);
    assert.deepEqual([results[0].content, results[0].tool_call_id], ['{"rain":1}', messages[1].tool_calls[0].id]);
    assert.ok(summary.toolCalls.length, 'after one round the last calls are left to the caller');
    assert.equal(towns.length, results.length);
    end();
  });

  test(`${name}: stop keeps the text, a failure is an error, and the end of the component ends the answer`, async () => {
    const { call, state, end } = made({ ignoreEos: true });
    await until(call);
    const answer = call().send('Hi');
    call().stop();
    assert.equal(await answer, null);
    await until(() => !state().running);
    assert.deepEqual([state().running, state().error], [false, null]);
    assert.equal(await call().send('Hi', { topP: 2 }), null);
    await until(() => state().error !== null);
    assert.equal(state().error.code, 'bad-option');
    const last = call().send('Hi');
    end();
    assert.equal(await last, null);
  });
}

test('Vue loads a model, once for equal sources, and disposes it with its scope', async () => {
  const scope = effectScope();
  const source = ref({ weights: stories });
  const { model: own, error } = scope.run(() => useModel(source, { worker: false }));
  const comes = (condition) =>
    new Promise((done) => watch([own, error], () => condition() && done(), { immediate: true, flush: 'sync' }));
  await comes(() => own.value);
  const first = own.value;
  source.value = { weights: stories };
  await turn();
  assert.equal(own.value, first);
  source.value = `${stories}.none`;
  await comes(() => error.value);
  assert.equal(error.value.code, 'not-found');
  await assert.rejects(first.encode('a'), { code: 'bad-state' });
  source.value = stories;
  await comes(() => own.value);
  const last = own.value;
  scope.stop();
  await assert.rejects(last.encode('a'), { code: 'bad-state' });
});

// The private fields of a model cannot be read through a proxy: each call threw a TypeError.
test("a model in Vue's ref and reactive stays itself", async () => {
  const kept = ref(model);
  assert.equal(kept.value, model);
  assert.equal(isReactive(reactive({ model }).model), false);
  assert.deepEqual(await kept.value.encode('a red ball'), await model.encode('a red ball'));
});
