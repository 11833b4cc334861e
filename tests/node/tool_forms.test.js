// tool_forms.test.js - calls of tools in the forms of the families of models: recognised, allowed by the grammar, and read
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { Automaton } from '../../web/lib/text/constrain/automaton.js';
import { chatPrompt } from '../../web/lib/text/chat_prompt.js';
import { formOf } from '../../web/lib/text/tool_forms.js';
import { reads } from './automata.js';
import { isValid } from './json_validity.js';
import { numbersOf, randomText } from './random_schemas.js';
import { vocabularies } from './vocabularies.js';

const special = { bos: null, eos: [], addBos: false };
const weather = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: {
      town: { type: 'string' },
      days: { type: 'integer' },
      hourly: { type: 'boolean' },
      units: { type: 'array', items: { enum: ['c', 'f'] } },
    },
    required: ['town'],
    additionalProperties: false,
  },
};
const tools = [weather, { name: 'noon' }];
/** The answer to a question, of a model with a template that writes these texts. */
const answerOf = async (signs, toolChoice = 'auto') => {
  const chatTemplate = `{{ tools }}{{ messages[0].content }}${signs}`;
  const model = { chatTemplate, toolTemplate: null, special };
  return (await chatPrompt(model, [{ role: 'user', content: 'Q' }], { tools, toolChoice }, async () => '')).answer;
};

const ulm = { name: 'get_weather', arguments: { town: 'Ulm', days: 2, hourly: true, units: ['c'] } };
const noon = { name: 'noon', arguments: {} };
const json = '{"town": "Ulm", "days": 2, "hourly": true, "units": ["c"]}';
const compact = json.replaceAll(' ', '');

/**
 * Each form: what its templates write, answers as its models write them, after the templates and documents of the
 * families, and answers that are cut off.
 */
const FORMS = {
  'Hermes, Qwen 3': {
    signs: '<tool_call></tool_call>',
    answers: [
      `<tool_call>\n{"name": "get_weather", "arguments": ${json}}\n</tool_call>`,
      `I look. <tool_call>\n{"name": "get_weather", "arguments": ${json}}\n</tool_call>\n<tool_call>\n{"name": "noon", "arguments": {}}\n</tool_call>`,
    ],
    cut: `<tool_call>\n{"name": "get_weather", "arguments": ${json}}`,
  },
  'compact JSON of Qwen 2.5 and EXAONE': {
    signs: '<tool_call></tool_call>',
    answers: [`<tool_call>{"name":"get_weather","arguments":${compact}}</tool_call>`],
    cut: '<tool_call>{"name":"get_weather","arguments":{"town"',
  },
  'Mistral, a list': {
    signs: '[TOOL_CALLS]',
    answers: [
      `[TOOL_CALLS] [{"name": "get_weather", "arguments": ${json}}]`,
      `Look:[TOOL_CALLS][{"name": "get_weather", "arguments": ${json}}, {"name": "noon", "arguments": {}}]`,
    ],
    cut: '[TOOL_CALLS] [{"name": "noon", "arguments": {}}',
  },
  'Mistral, named': {
    signs: '[TOOL_CALLS][ARGS]',
    answers: [
      `[TOOL_CALLS]get_weather[ARGS]${json}`,
      `Well.[TOOL_CALLS]get_weather[ARGS]${json}[TOOL_CALLS]noon[ARGS]{}`,
    ],
    cut: '[TOOL_CALLS]get_weather[ARGS]{"town": "U',
  },
  'DeepSeek V3 and R1': {
    signs: '<｜tool▁calls▁begin｜>```json',
    answers: [
      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n\`\`\`json\n${json}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
      `A<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n\`\`\`json\n${json}\n\`\`\`<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>noon\n\`\`\`json\n{}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
    ],
    cut: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>noon\n```json\n{}',
  },
  'DeepSeek V3.1': {
    signs: '<｜tool▁calls▁begin｜>',
    answers: [
      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>${json}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
    ],
    cut: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{',
  },
  'Granite 3': {
    signs: '<|tool_call|>',
    answers: [`<|tool_call|>[{"name": "get_weather", "arguments": ${json}}]`],
    cut: '<|tool_call|>[{"name"',
  },
  'Phi-4-mini': {
    signs: '<|tool|><|/tool|>',
    answers: [
      `<|tool_call|>[{"name": "get_weather", "arguments": ${json}}, {"name": "noon", "arguments": {}}]<|/tool_call|>`,
    ],
    cut: '<|tool_call|>[{"name": "noon"',
  },
  LFM2: {
    signs: '<|tool_list_start|>',
    answers: [
      '<|tool_call_start|>[get_weather(town="Ulm", days=2, hourly=True, units=["c"])]<|tool_call_end|>',
      'I look.<|tool_call_start|>[get_weather(town="Ulm", days=2, hourly=true, units=["c"]), noon()]<|tool_call_end|>',
    ],
    cut: '<|tool_call_start|>[get_weather(town="Ulm"',
  },
  FunctionGemma: {
    signs: '<start_function_call>',
    answers: [
      '<start_function_call>call:get_weather{town:<escape>Ulm<escape>,days:2,hourly:true,units:[<escape>c<escape>]}<end_function_call>',
    ],
    cut: '<start_function_call>call:get_weather{town:<escape>Ulm<escape>}',
  },
  'GPT-OSS': {
    signs: '<|channel|>functions.',
    answers: [
      `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${json}<|call|>`,
      `<|channel|>analysis<|message|>Weather!<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${json}`,
    ],
    cut: '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"town": "U',
  },
  'Llama 3': {
    signs: '<|python_tag|>',
    answers: [
      `{"name": "get_weather", "parameters": ${json}}`,
      `<|python_tag|>{"name": "get_weather", "parameters": ${json}}; {"name": "noon", "parameters": {}}`,
    ],
    cut: '{"name": "get_weather", "parameters": {',
  },
};

test('a form is recognised by texts of its own, not by a few characters', () => {
  for (const template of [
    '{{ tools }}"parameters": ',
    '{{ tools }}<tool_call',
    '{{ tools }}<function=<tool_call></tool_call>',
  ])
    assert.equal(formOf(template), null, template);
  for (const { signs } of Object.values(FORMS)) assert.ok(formOf(`{{ tools }}${signs}`));
});

describe('calls', () => {
  let models;
  before(async () => {
    models = await vocabularies();
  });
  for (const [name, { signs, answers, cut }] of Object.entries(FORMS)) {
    test(`of ${name}: what its models write is allowed and read`, async () => {
      const answer = await answerOf(signs);
      const automaton = new Automaton(compiled({ tools: answer.tools }).network);
      for (const text of answers) {
        assert.ok(reads(automaton, text), text);
        const { content, toolCalls, message } = answer.end(text);
        const want = text.includes('noon') ? [ulm, noon] : [ulm];
        assert.deepEqual(
          toolCalls.map(({ id, ...call }) => call),
          want,
        );
        assert.deepEqual(
          message.tool_calls.map((call) => call.function),
          want,
        );
        assert.ok(text.startsWith(content) && content.length < 10, content);
      }
      assert.deepEqual(answer.end(cut).toolCalls, []);
      const fewer = answers[0].replace('get_weather', 'get_whether');
      assert.ok(!reads(automaton, fewer), fewer);
    });

    // random tokens do not find the markers that end free texts of these
    if (/^(?:FunctionGemma|GPT-OSS)$/.test(name)) continue;
    test(`of ${name}: any text that the grammar allows is content, or calls whose arguments fit`, async () => {
      const seen = { calls: 0, texts: 0 };
      for (const toolChoice of ['auto', 'required', { name: 'get_weather' }])
        for (let seed = 0; seed < 6; seed++) {
          const answer = await answerOf(signs, toolChoice);
          const { ids, text } = randomText(models[0], { tools: answer.tools }, numbersOf(seed));
          const stream = models[0].tokenizer.stream();
          let streamed = '';
          for (const id of ids) streamed += answer.push(stream.push(id));
          const { content, toolCalls } = answer.end(text);
          assert.ok(content.startsWith(streamed) && content.length - streamed.length < 60, text);
          if (toolChoice !== 'auto') assert.ok(toolCalls.length > 0, text);
          seen[toolCalls.length ? 'calls' : 'texts']++;
          for (const { name: called, arguments: given } of toolCalls) {
            if (called === 'noon') assert.deepEqual(given, {});
            else assert.ok(isValid(given, weather.parameters), text);
            if (toolChoice.name) assert.equal(called, 'get_weather');
          }
        }
      assert.ok(seen.calls >= 12, JSON.stringify(seen));
    });
  }

  test('of GPT-OSS: the final channel is the content, the analysis is kept for the next turn', async () => {
    const answer = await answerOf(FORMS['GPT-OSS'].signs);
    const text = '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It rains.';
    let streamed = '';
    for (const c of text) streamed += answer.push(c);
    assert.equal(streamed, 'It rains.');
    assert.deepEqual(answer.end(text), {
      content: 'It rains.',
      toolCalls: [],
      message: { role: 'assistant', content: 'It rains.', thinking: 'Hm.' },
    });
  });

  test('other spellings that models use are read, too', async () => {
    const calls = async (name, text) =>
      (await answerOf(FORMS[name].signs)).end(text).toolCalls.map(({ id, ...call }) => call);
    assert.deepEqual(
      await calls('LFM2', `<|tool_call_start|>[{"name": "get_weather", "arguments": ${json}}]<|tool_call_end|>`),
      [ulm],
    );
    assert.deepEqual(
      await calls(
        'LFM2',
        "<|tool_call_start|>[get_weather(town='Ulm', days=2, hourly=True, units=['c'])]<|tool_call_end|>",
      ),
      [ulm],
    );
    assert.deepEqual(
      await calls('Llama 3', '<|python_tag|>get_weather.call(town="Ulm", days=2, hourly=True, units=["c"])'),
      [ulm],
    );
    assert.deepEqual(await calls('Mistral, named', `[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]${json}`), [ulm]);
    assert.deepEqual(
      await calls(
        'GPT-OSS',
        `<|channel|>commentary to=functions.get_weather<|channel|>commentary json<|message|>${json}<|call|>`,
      ),
      [ulm],
    );
    assert.deepEqual(
      await calls('Mistral, a list', `[TOOL_CALLS] [{"name": "get_weather", "arguments": ${json}, "id": "abcdefghi"}]`),
      [ulm],
    );
  });
});
