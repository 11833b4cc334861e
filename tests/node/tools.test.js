// tools.test.js - tools in conversations: prompts as Jinja2 renders them, calls that follow their schemas
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { constraintOf } from '../../web/lib/text/constrain/constraint.js';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { chatPrompt } from '../../web/lib/text/chat_prompt.js';
import { collect, refused, stories, top } from './helpers.js';
import { isValid } from './json_validity.js';
import { numbersOf, randomText } from './random_schemas.js';
import { vocabularies } from './vocabularies.js';

const folder = join(top, 'tests/golden/chat');
const { tools, conversations, expected } = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
const templates = Object.fromEntries(
  ['hermes', 'llama', 'mistral', 'gemma'].map((name) => [name, readFileSync(join(folder, `${name}.jinja`), 'utf8')]),
);
const special = { bos: 0, eos: [1], addBos: true, texts: { bos_token: '<s>', eos_token: '</s>' } };
const writtenBy = (name, messages, writing = {}, how = {}) =>
  chatPrompt({ chatTemplate: templates[name], toolTemplate: null, special }, messages, writing, async () => '', how);

describe('prompts', () => {
  for (const name of Object.keys(templates))
    test(`of ${name}: the texts of Jinja2`, async () => {
      let seen = 0;
      for (const { template, conversation, tools: has, prompt, text } of expected) {
        if (template !== `${name}.jinja` || (name === 'gemma' && conversation === 'called')) continue;
        const writing = { tools: has ? tools : undefined, template: prompt ? {} : { add_generation_prompt: false } };
        const written = writtenBy(name, conversations[conversation], writing);
        if (text === null) await refused(written, 'bad-option', /the chat template refuses these messages/);
        else assert.equal((await written).text, text, `${conversation} ${has}`);
        seen++;
      }
      assert.ok(seen >= 6);
    });

  test('the template gets contents, arguments and null as the caller gave them', async () => {
    const written = async (chatTemplate, messages, writing = {}) =>
      (await chatPrompt({ chatTemplate, toolTemplate: null, special }, messages, writing, async () => '')).text;
    const parts = [
      { type: 'text', text: 'Will it ' },
      { type: 'text', text: 'rain?' },
    ];
    const call = { type: 'function', function: { name: 'f', arguments: '{"town":"Ulm"}' } };
    const messages = [
      { role: 'user', content: parts },
      { role: 'assistant', content: null, tool_calls: [call] },
    ];
    const each = '{% for m in messages %}<{{ m.content }}>{% endfor %}';
    assert.equal(
      await written('{% for p in messages[0].content %}{{ p.text }}{% endfor %}', messages),
      'Will it rain?',
    );
    assert.equal(await written(each, messages), '<Will it \nrain?><None>'); // it prints parts as Python prints them
    assert.equal(await written("{{ messages[0].content + '!' }}", messages), 'Will it \nrain?!');
    assert.equal(
      await written('{{ messages[1].tool_calls[0].function.arguments is string }}{{ messages[0]|tojson }}', messages),
      `True{"role": "user", "content": ${JSON.stringify(parts).replaceAll('":', '": ').replaceAll(',"', ', "').replace('},{', '}, {')}}`,
    );
    assert.equal(await written('{{ messages[0] }}', [{ role: 'tool', extra: 1 }]), "{'role': 'tool', 'extra': 1}");
    const first = (await writtenBy('hermes', messages, { tools: tools.map((tool) => tool.function) })).text;
    assert.ok(first.includes('user\nWill it \nrain?<|im_end|>') && first.includes('"arguments": "{\\"town\\":'));
  });

  test('the names of reasoning stand for each other, as in transformers 5', async () => {
    const template = '{% for m in messages %}{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.reasoning }};{% endfor %}';
    const model = { chatTemplate: template, toolTemplate: null, special };
    const messages = ['reasoning', 'thinking', 'reasoning_content'].map((name) => ({ role: 'assistant', [name]: 'R' }));
    messages.push({ role: 'assistant', thinking: 'T', reasoning_content: 'C' }, { role: 'user', reasoning: null });
    // transformers 5.24.0, render_jinja_template
    assert.equal((await chatPrompt(model, messages, {}, async () => '')).text, 'R|R|R;R|R|;R|R|;C|T|;||None;');
  });

  test('a template that knows calls but no tools gets the messages as they are, and so does any without tools', async () => {
    const knows = '{% for m in messages %}{{ m.role }}{{ m.tool_calls | length if m.tool_calls }};{% endfor %}';
    const plain = '{% for m in messages %}{{ m.role }};{% endfor %}';
    for (const [chatTemplate, writing, text] of [
      [knows, { tools }, 'user;assistant1;tool;'],
      [plain, {}, 'user;assistant;tool;'],
      [plain, { tools, toolChoice: 'none' }, 'user;assistant;tool;'],
      [plain, { tools }, 'user;assistant;user;'],
    ]) {
      const model = { chatTemplate, toolTemplate: null, special };
      assert.equal((await chatPrompt(model, conversations.called, writing, async () => '')).text, text);
    }
  });

  test('an answer that was begun is continued', async () => {
    const messages = [...conversations.question, { role: 'assistant', content: 'It will ' }];
    assert.ok((await writtenBy('hermes', messages, { continue: true })).text.endsWith('assistant\nIt will '));
    assert.ok((await writtenBy('llama', messages, { continue: true })).text.endsWith('\n\nIt will'));
    // The end of a message was searched by its content, and found in the <|im_end|> behind it.
    for (const content of ['e', 'im', ' end\n']) {
      const begun = [...conversations.question, { role: 'assistant', content }];
      assert.ok((await writtenBy('hermes', begun, { continue: true })).text.endsWith(`assistant\n${content}`));
      assert.ok((await writtenBy('llama', begun, { continue: true })).text.endsWith(`\n\n${content.trim()}`));
    }
    const blank = [...conversations.question, { role: 'assistant', content: ' ' }];
    assert.ok((await writtenBy('hermes', blank, { continue: true })).text.endsWith('assistant\n '));
    const parts = [...conversations.question, { role: 'assistant', content: [{ type: 'text', text: 'It will' }] }];
    assert.ok((await writtenBy('hermes', parts, { continue: true })).text.endsWith('assistant\nIt will'));
    const silent = { chatTemplate: '{{ messages[0].content }}', toolTemplate: null, special };
    const continued = chatPrompt(silent, messages, { continue: true }, async () => '');
    await refused(continued, 'bad-option', /leaves out the last message/);
    const called = [...conversations.question, { role: 'assistant', content: null }];
    await refused(writtenBy('hermes', called, { continue: true }), 'bad-option', /last message has no content/);
  });

  test('a template without a place for tools has them in the first user message, and calls and results as texts', async () => {
    const { text } = await writtenBy('gemma', conversations.called, { tools });
    assert.match(text, /^<s>\n?<start_of_turn>user\nYou have access to functions\./);
    assert.match(text, /"get_weather".*\nWill it rain\?<end_of_turn>\n/s);
    assert.ok(text.includes('model\n{"name":"get_weather","parameters":{"town":"Ürümqi"}}<end_of_turn>'));
    assert.ok(text.endsWith('{"rain": true}<end_of_turn>\n<start_of_turn>model\n'));
    const said = conversations.called.map((m) => (m.tool_calls ? { ...m, content: 'I look.' } : m));
    assert.ok((await writtenBy('gemma', said, { tools })).text.includes('model\nI look.\n{"name":"get_weather"'));
  });

  test('what is no conversation or no tool is refused', async () => {
    const [question] = conversations.question;
    const image = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] };
    await refused(writtenBy('hermes', [image]), 'unsupported', /a part of the type "image_url", only text is read/);
    await refused(writtenBy('hermes', [{ role: 'user', content: 5 }]), 'bad-argument', /messages\[0\]\.content is 5/);
    const nameless = [question, { role: 'assistant', tool_calls: [{ arguments: {} }] }];
    await refused(writtenBy('hermes', nameless), 'bad-argument', /tool_calls has/);
    for (const [given, words] of [
      [{ tools: {} }, /tools is {}, expected a list/],
      [{ tools: [{ name: 'a b' }] }, /tools\[0\] is/],
      [{ tools: [{ name: 'a' }, { name: 'a' }] }, /two functions of one name/],
      [{ tools: [{ name: 'a' }], toolChoice: 'b' }, /toolChoice is "b"/],
      [{ toolChoice: 'required' }, /toolChoice is "required", and there are no tools/],
    ])
      await refused(writtenBy('hermes', [question], given), 'bad-option', words);
    const system = { role: 'system', content: 'Be brief.' };
    const noPlace = { chatTemplate: '{{ messages }}', toolTemplate: null, special };
    await refused(
      chatPrompt(noPlace, [system], { tools }, async () => ''),
      'bad-option',
      /no place for tools, and no message of the user/,
    );
    const none = await chatPrompt(noPlace, [system], { tools, toolChoice: 'none' }, async () => '');
    assert.doesNotMatch(none.text, /functions/); // nothing may be called
    const other = { chatTemplate: '{{ tools }}<|call|>', toolTemplate: null, special };
    const written = (writing, how) => chatPrompt(other, [question], { tools, ...writing }, async () => '', how);
    const { text, answer, warning } = await written({});
    assert.deepEqual([text.includes('get_weather'), answer], [true, null]);
    assert.match(warning, /the form .* is not known from its chat template: calls stay in the text/);
    await refused(written({ toolChoice: 'required' }), 'unsupported', /toolChoice is "required", but the form/);
    assert.equal((await written({ toolChoice: 'required' }, { reads: false })).warning, null);
  });
});

const schemas = [
  {
    name: 'set',
    parameters: {
      type: 'object',
      properties: { key: { $ref: '#/$defs/key' }, value: { type: ['integer', 'null'] } },
      required: ['key'],
      additionalProperties: false,
      $defs: { key: { enum: ['a', '</tool_call>', '\u{1f600}'] } },
    },
  },
  { name: 'noon' },
];

describe('calls', () => {
  let models;
  before(async () => {
    models = await vocabularies();
  });

  for (const name of Object.keys(templates))
    test(`of ${name}: any text is content, or calls whose arguments fit`, async () => {
      const seen = { calls: 0, texts: 0 };
      for (const toolChoice of ['auto', 'required', { name: 'set' }])
        for (let seed = 0; seed < 8; seed++) {
          const [one] = models;
          const { answer } = await writtenBy(name, conversations.question, { tools: schemas, toolChoice });
          const { ids, text } = randomText(one, { tools: answer.tools }, numbersOf(seed));
          let streamed = '';
          for (const id of ids) streamed += answer.push(one.tokenizer.idToText(id));
          const { content, toolCalls, message } = answer.end(text);
          assert.ok(content.startsWith(streamed) && content.length - streamed.length < 12, text);
          if (toolChoice !== 'auto') assert.ok(toolCalls.length > 0, text);
          seen[toolCalls.length ? 'calls' : 'texts']++;
          assert.equal(message.tool_calls?.length ?? 0, toolCalls.length);
          for (const { name: called, arguments: given } of toolCalls) {
            const { parameters } = schemas.find((tool) => tool.name === called);
            assert.ok(parameters ? isValid(given, parameters) : Object.keys(given).length === 0, text);
            if (toolChoice.name) assert.equal(called, 'set');
          }
        }
      assert.ok(seen.calls >= 16 && seen.texts > 0, JSON.stringify(seen));
    });

  // parallel_tool_calls: false gave up to three calls.
  for (const name of Object.keys(templates))
    test(`of ${name}: one call at most with parallelToolCalls: false`, async () => {
      const [one] = models;
      const most = [];
      for (const parallelToolCalls of [true, false]) {
        const counts = [];
        for (let seed = 0; seed < 12; seed++) {
          const writing = { tools: schemas, toolChoice: 'required', parallelToolCalls };
          const { answer } = await writtenBy(name, conversations.question, writing);
          const { text } = randomText(one, { tools: answer.tools }, numbersOf(seed));
          counts.push(answer.end(text).toolCalls.length);
        }
        assert.ok(Math.min(...counts) === 1, `${counts}`);
        most.push(Math.max(...counts));
      }
      assert.equal(most[1], 1);
      // Gemma has no mark of calls: its grammar has one call in any case
      assert.ok(name === 'gemma' ? most[0] === 1 : most[0] > 1, `${most}`);
    });

  for (const name of Object.keys(templates))
    test(`of ${name}: with json an answer is calls, or JSON under the schema`, async () => {
      const [one] = models;
      const own = {
        properties: { name: { enum: ['set', 'Ada', '<tool_call>', '[TOOL_CALLS][]'] } },
        required: ['name'],
      };
      const json = { type: 'object', additionalProperties: false, ...own };
      const seen = { calls: 0, values: 0 };
      for (let seed = 0; seed < 24; seed++) {
        const how = { json: true };
        const { answer } = await writtenBy(name, conversations.question, { tools: schemas }, how);
        const { text } = randomText(one, { tools: answer.tools, json }, numbersOf(seed * 178956970)); // first numbers all over 0 to 1
        const { content, toolCalls } = answer.end(text);
        if (toolCalls.length) assert.equal(content, '');
        else assert.ok(isValid(JSON.parse(content), json), text);
        seen[toolCalls.length ? 'calls' : 'values']++;
      }
      assert.ok(seen.calls > 2 && seen.values > 2, JSON.stringify(seen));
    });

  test('a special token that begins calls is allowed where its text is, and nowhere else', async () => {
    const [one] = models;
    const json = JSON.parse(one.tokenizer.toText());
    const id = one.config.vocab_size; // the next one
    json.added_tokens.push({ id, content: '[TOOL_CALLS]', special: true });
    const tokenizer = new Tokenizer(json);
    const model = { ...one, tokenizer, config: { vocab_size: id + 1 } };
    const allows = (options, before = '') => {
      const constraint = constraintOf(model, compiled(options), []);
      for (const token of tokenizer.encode(before, { addSpecialTokens: false })) constraint.accept(token);
      return (constraint.allowed([])[id >> 5] >>> (id & 31)) & 1;
    };
    const { answer } = await writtenBy('mistral', conversations.question, { tools: schemas });
    const own = { tools: answer.tools };
    assert.deepEqual([allows(own), allows(own, 'Well. '), allows(own, '[TOOL_CALLS]')], [1, 1, 0]);
    assert.deepEqual([allows({ json: true }), allows({ grammar: 'root ::= [^a]*' })], [0, 0]);
  });
});

/** A template in the form of Hermes that fits a short context. */
const short =
  '{% for m in messages %}{{ m.role }} {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}\n{% endfor %}{{ tools[0].function.name }}';

describe('a conversation with tools', () => {
  let model;
  before(async () => {
    model = await load(stories, { worker: false, chatTemplate: short });
  });
  after(() => model.dispose());

  test('the steps have content, the summary has calls and a message that continues it', async () => {
    const messages = [{ role: 'user', content: 'A' }];
    const options = { tools: schemas, seed: 3, maxTokens: 120 };
    const { steps, summary } = await collect(model.chat(messages, { ...options, toolChoice: { name: 'set' } }));
    assert.match(summary.stopReason, /eos|grammar/, summary.text);
    assert.equal(steps.map(({ content }) => content).join(''), '');
    const [call] = summary.toolCalls;
    assert.deepEqual([call.id, call.name, summary.content], ['call00001', 'set', '']);
    messages.push(summary.message, { role: 'tool', tool_call_id: call.id, content: 'done' });
    const { text, ids } = await model.prompt(messages, { tools: schemas });
    assert.match(text, /tool doneset$/);
    assert.deepEqual(ids, await model.encode(text, { addSpecialTokens: false }));
    const next = await model.chat(messages, { ...options, toolChoice: 'required', maxTokens: 300 }).result;
    assert.equal(next.toolCalls[0].id, 'call00002', next.text);
  });

  test('without a call the content is the text, and with json its value', async () => {
    const messages = [{ role: 'user', content: 'Once upon a time' }];
    const none = await model.chat(messages, { tools: schemas, toolChoice: 'none', maxTokens: 5, seed: 1 }).result;
    assert.equal(none.toolCalls, undefined);
    const auto = await collect(model.chat(messages, { tools: schemas, maxTokens: 5, seed: 1 }));
    assert.equal(auto.summary.content, auto.summary.text);
    assert.equal(auto.steps.map(({ content }) => content).join(''), auto.summary.text);
    const json = { type: 'object', properties: { age: { enum: [3, 5] } }, required: ['age'] };
    const seen = { calls: 0, values: 0 };
    for (let seed = 1; seed < 12; seed++) {
      const both = await model.chat(messages, { tools: schemas, json, seed, temperature: 3, maxTokens: 160 }).result;
      if (both.toolCalls.length) assert.equal(both.value, undefined);
      else if (both.stopReason !== 'maxTokens') assert.deepEqual(both.value, JSON.parse(both.content));
      seen[both.toolCalls.length ? 'calls' : 'values']++;
    }
    assert.ok(seen.values && seen.calls, JSON.stringify(seen));
    const alone = await model.chat(messages, { tools: schemas, toolChoice: 'none', json, seed: 1 }).result;
    assert.ok([3, 5].includes(alone.value.age));
    const grammar = 'root ::= "a"';
    await refused(model.chat(messages, { tools: schemas, grammar }).result, 'bad-option', /grammar and tools cannot/);
  });

  test('the template of load replaces that of the files', async () => {
    assert.equal(model.chatTemplate, short);
    const own = await load(stories, { chatTemplate: '{{ messages[0].content }}!' });
    assert.deepEqual((await own.prompt([{ role: 'user', content: 'Hi' }])).text, 'Hi!');
    own.dispose();
    await refused(load(stories, { chatTemplate: 5 }), 'bad-option', /chatTemplate is 5/);
  });
});
