// clients.test.js - fetchOf of the packed tarball under the real clients: OpenAI's, LangChain, LlamaIndex, the AI SDK
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { OpenAI as LlamaIndex } from '@llamaindex/openai';
import { embedMany, generateObject, generateText, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { temporaryFolder } from '../temporary.js';
import { unpacked } from './unpacked.js';
import { until } from '../patience.js';

/** A template in the form of Hermes that fits a short context. */
const chatTemplate =
  '{% for m in messages %}{{ m.role }} {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %} {% endfor %}{{ tools[0].function.name if tools }}';
const prompt = 'Once upon a time';
const messages = [{ role: 'user', content: prompt }];
const Pet = z.object({ animal: z.enum(['cat', 'dog']), age: z.int().min(0).max(20) });
const Town = z.object({ town: z.enum(['Rome', 'Oslo']) });
const TOWNS = ['Rome', 'Oslo'];

const folder = temporaryFolder('clients');
let glassformer, fetchOf, model, fetch, want;
before(async () => {
  const home = unpacked(folder, ['openai']);
  const entry = (name) => import(pathToFileURL(join(home, 'dist', name)).href);
  [glassformer, { fetchOf }] = [await entry('index.js'), await entry('openai.js')];
  model = await glassformer.load(join(home, 'weights/stories-1m.gguf'), { chatTemplate });
  fetch = fetchOf(model);
  want = (await model.chat(messages, { maxTokens: 12, temperature: 0 }).result).text;
  assert.ok(want.length > 12);
});
after(() => model.dispose());

/** An encoder whose tokenizer is the length of a text. */
async function encoder() {
  const own = await glassformer.create({ kind: 'encoder', vocab_size: 100, d_model: 32, n_layers: 1, n_heads: 4 });
  const embed = own.embed.bind(own);
  const ids = (text) => [text.length, 2];
  own.embed = (texts, options) =>
    embed(
      texts.map((text) => (typeof text === 'string' ? ids(text) : text)),
      options,
    );
  own.encode = async (text) => ids(text);
  const { data } = await embed([ids('a'), ids('bcd')], { normalize: true });
  return { fetch: fetchOf(own), vectors: [[...data.subarray(0, 32)], [...data.subarray(32)]] };
}

describe("OpenAI's client", () => {
  const greedy = { model: 'x', messages, temperature: 0, max_tokens: 12 };
  const client = () => new OpenAI({ apiKey: '-', fetch, maxRetries: 0 });

  test('a completion, a stream and its helper give the text of chat', async () => {
    const { choices, usage } = await client().chat.completions.create(greedy);
    assert.deepEqual([choices[0].message.content, usage.completion_tokens], [want, 12]);
    assert.equal(await client().chat.completions.stream(greedy).finalContent(), want);
    const developer = { ...greedy, messages: [{ role: 'developer', content: prompt }] };
    const system = { ...greedy, messages: [{ role: 'system', content: prompt }] };
    const texts = [developer, system].map(async (body) => {
      const answer = await client().chat.completions.create(body);
      return answer.choices[0].message.content;
    });
    assert.equal(await texts[0], await texts[1]);
  });

  test('parse gives a value, runTools calls functions', async () => {
    const body = { model: 'x', messages, seed: 2, response_format: zodResponseFormat(Pet, 'pet') };
    const { choices } = await client().chat.completions.parse(body);
    assert.deepEqual(Pet.parse(choices[0].message.parsed), choices[0].message.parsed);
    const asked = [];
    const weather = zodFunction({ name: 'weather', parameters: Town, function: ({ town }) => void asked.push(town) });
    const runner = client().chat.completions.runTools(
      { model: 'x', messages, seed: 3, max_tokens: 100, tool_choice: 'required', tools: [weather] },
      { maxChatCompletions: 2 },
    );
    await runner.done();
    assert.ok(asked.length >= 2 && asked.every((town) => TOWNS.includes(town)), `${asked}`);
  });

  test('embeddings, as numbers and as the base64 that the client asks for by itself; models', async () => {
    const own = await encoder();
    const client = new OpenAI({ apiKey: '-', fetch: own.fetch, maxRetries: 0 });
    for (const more of [{}, { encoding_format: 'float' }]) {
      const { data, usage } = await client.embeddings.create({ model: 'x', input: ['a', 'bcd'], ...more });
      assert.deepEqual(
        data.map(({ embedding }) => [...embedding]),
        own.vectors,
      );
      assert.equal(usage.total_tokens, 4);
    }
    assert.deepEqual(
      (await client.models.list()).data.map(({ id }) => id),
      ['glassformer'],
    );
    assert.equal((await client.models.retrieve('x')).id, 'x');
  });

  test('what is refused is the error of its status, with the names of the request', async () => {
    const { completions } = client().chat;
    for (const stream of [false, true]) {
      const refused = completions.create({ ...greedy, stream, top_p: 2 });
      await assert.rejects(refused, {
        status: 400,
        param: 'top_p',
        code: 'bad-option',
        message: /400 top_p is 2, exp/,
      });
      const long = completions.create({ ...greedy, stream, messages: [{ role: 'user', content: 'a '.repeat(9000) }] });
      await assert.rejects(long, { status: 400, code: 'context_length_exceeded', type: 'invalid_request_error' });
    }
    await assert.rejects(completions.create({ ...greedy, temprature: 1 }), /does not read temprature/);
    await assert.rejects(completions.create({ model: 'x' }), /messages is undefined/);
    await assert.rejects(client().files.list(), { status: 404, message: /there is no \/v1\/files/ });
    await assert.rejects(client().delete('/models/x'), { status: 405 });
    const bad = await fetch('http://x/v1/chat/completions', { method: 'POST', body: '{' });
    assert.deepEqual([bad.status, (await bad.json()).error.code], [400, 'invalid_json']);
    const gone = await glassformer.create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 });
    gone.dispose();
    const late = await fetchOf(gone)('/v1/embeddings', { method: 'POST', body: '{"input":[1]}' });
    assert.deepEqual([late.status, (await late.json()).error.type], [500, 'server_error']);
  });

  test('the example of the guide prints an answer', async () => {
    const guide = readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8');
    const [, block] = /```ts\n(import OpenAI[^]*?)```/.exec(guide);
    const own = `const { model, console } = globalThis.guide;\n${block}`;
    writeFileSync(join(folder, 'guide.mjs'), own);
    const printed = [];
    globalThis.guide = { model, console: { log: (text) => printed.push(text) } };
    await import(pathToFileURL(join(folder, 'guide.mjs')).href);
    assert.equal(printed.length, 1);
    assert.ok(printed[0].length > 0);
  });

  test('an abort, and a loop that is left, end the engine', async () => {
    const controller = new AbortController();
    const body = { model: 'x', messages, stream: true, glassformer: { ignoreEos: true } };
    const stream = await client().chat.completions.create(body, { signal: controller.signal });
    let chunks = 0;
    for await (const { choices } of stream) if (choices.length && ++chunks === 3) controller.abort();
    assert.ok(chunks < 8, `${chunks} chunks`);
    const left = await client().chat.completions.create(body);
    for await (const { choices } of left) if (choices) break;
    // the kept conversation is free again once no chat is running
    await until(async () => (await model.chat(messages, { maxTokens: 1 }).result).reusedTokens > 0);
    const aborted = fetch('http://x/v1/models', { signal: AbortSignal.abort() });
    await assert.rejects(aborted, { name: 'AbortError' });
    assert.equal((await (await fetch(new Request('http://x/v1/models'))).json()).object, 'list');
  });
});

describe("responses of OpenAI's client", () => {
  const greedy = { model: 'x', input: prompt, temperature: 0, max_output_tokens: 12 };
  const { responses } = new OpenAI({ apiKey: '-', fetch: (...call) => fetch(...call), maxRetries: 0 });
  const typesOf = async (stream) => {
    const types = [];
    for await (const { type, sequence_number: number } of stream) types[number] = type;
    return types;
  };
  const MESSAGE = ['output_text.done', 'content_part.done', 'output_item.done'];
  const BEGUN = ['created', 'in_progress', 'output_item.added'];
  const CALL = ['function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done', 'completed'];
  const named = (types) => types.map((type) => `response.${type}`);

  test('a response and its stream give the text of chat, events in their order', async () => {
    const { output_text: text, status, incomplete_details: why, usage } = await responses.create(greedy);
    assert.deepEqual([text, status, why.reason], [want, 'incomplete', 'max_output_tokens']);
    assert.deepEqual([usage.output_tokens, usage.total_tokens], [12, usage.input_tokens + 12]);
    const stream = responses.stream(greedy);
    const types = await typesOf(stream);
    assert.equal((await stream.finalResponse()).output_text, want);
    const deltas = types.filter((type) => type.endsWith('text.delta'));
    assert.deepEqual(types, [
      ...named([...BEGUN, 'content_part.added']),
      ...deltas,
      ...named([...MESSAGE, 'incomplete']),
    ]);
    assert.ok(deltas.length > 3);
  });

  test('a conversation goes on from a response, from its items and from references to them', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_text', text: prompt }] }];
    const instructions = 'Tell a story.';
    const first = await responses.create({ ...greedy, input, instructions });
    const system = { role: 'system', content: instructions };
    const told = await model.chat([system, ...messages], { temperature: 0, maxTokens: 12 }).result;
    assert.equal(first.output_text, told.text);
    assert.deepEqual((await responses.retrieve(first.id)).output, first.output);
    const more = { role: 'user', content: 'And then' };
    const conversation = [...messages, { role: 'assistant', content: told.text }, more];
    const { text } = await model.chat(conversation, { temperature: 0, maxTokens: 12 }).result;
    for (const own of [
      { previous_response_id: first.id, input: more.content },
      { input: [...input, ...first.output, more] },
      { input: [...input, { type: 'item_reference', id: first.output[0].id }, more] },
    ])
      assert.equal((await responses.create({ ...greedy, ...own })).output_text, text);
    const unkept = await responses.create({ ...greedy, store: false });
    const refused = responses.create({ ...greedy, previous_response_id: unkept.id });
    await assert.rejects(refused, { status: 400, message: /there is no response resp_\S+: the newest 100/ });
    await assert.rejects(responses.retrieve(unkept.id), { status: 404 });
  });

  test('parse gives a value; a tool is called, and its result is read', async () => {
    const body = { model: 'x', input: prompt, text: { format: zodTextFormat(Pet, 'pet') } };
    const { output_parsed: pet } = await responses.parse(body);
    assert.deepEqual(Pet.parse(pet), pet);
    const tools = [zodResponsesFunction({ name: 'weather', parameters: Town })];
    const asking = { model: 'x', input: 'Rain?', tools, tool_choice: { type: 'function', name: 'weather' } };
    const stream = responses.stream(asking);
    assert.deepEqual(await typesOf(stream), named([...BEGUN, ...CALL]));
    const { id, output } = await stream.finalResponse();
    const [{ call_id: call, name, parsed_arguments: given }] = output;
    assert.deepEqual([output.length, name, TOWNS.includes(given.town)], [1, 'weather', true]);
    const result = { type: 'function_call_output', call_id: call, output: 'sun' };
    const after = { ...greedy, input: [result], previous_response_id: id };
    const { output_text: text } = await responses.create(after);
    const made = { role: 'assistant', content: '', tool_calls: [{ function: { name, arguments: given } }] };
    const conversation = [{ role: 'user', content: 'Rain?' }, made, { role: 'tool', content: 'sun' }];
    assert.equal(text, (await model.chat(conversation, { temperature: 0, maxTokens: 12 }).result).text);
  });

  test('log probabilities come with the text and with its deltas', async () => {
    const body = { ...greedy, include: ['message.output_text.logprobs'], top_logprobs: 2 };
    const { output } = await responses.create(body);
    const [{ text, logprobs }] = output[0].content;
    assert.equal(logprobs.map(({ token }) => token).join(''), text);
    assert.ok(logprobs.every(({ logprob, top_logprobs: top }) => top.length === 2 && top[0].logprob === logprob));
    const deltas = [];
    for await (const event of responses.stream(body)) deltas.push(...(event.delta ? event.logprobs : []));
    assert.deepEqual(deltas, logprobs);
  });

  test('what is refused has a name of the request', async () => {
    for (const [more, words] of [
      [{ max_output_tokens: -1 }, /max_output_tokens is -1/],
      [{ tools: [{ type: 'web_search' }] }, /tools of the type function, not web_search/],
      [{ input: [{ type: 'reasoning', summary: [] }] }, /not reasoning/],
      [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, /not parts of the type input_image/],
      [{ input: undefined }, /input is undefined/],
      [{ reasoning: { effort: 'high' } }, /does not read reasoning with/],
      [{ text: { verbosity: 'low' } }, /does not read verbosity with "low"/],
      [{ include: ['file_search_call.results'] }, /does not read file_search_call.results in include/],
      [{ conversation: 'conv_1' }, /does not read conversation/],
    ])
      for (const stream of [false, true])
        await assert.rejects(responses.create({ ...greedy, ...more, stream }), { status: 400, message: words });
  });
});

describe('LangChain', () => {
  const chat = (more) =>
    new ChatOpenAI({ model: 'x', apiKey: '-', maxRetries: 0, temperature: 0, configuration: { fetch }, ...more });

  test('invoke and stream give the text of chat', async () => {
    const own = chat({ maxTokens: 12 });
    assert.equal((await own.invoke(prompt)).content, want);
    let text = '';
    for await (const chunk of await own.stream(prompt)) text += chunk.content;
    assert.equal(text, want);
    const responding = chat({ maxTokens: 12, useResponsesApi: true });
    assert.equal((await responding.invoke(prompt)).text, want);
  });

  test('structured output by schema and by function, and tools', async () => {
    for (const method of ['jsonSchema', 'functionCalling']) {
      const value = await chat().withStructuredOutput(Pet, { method, name: 'pet' }).invoke(prompt);
      assert.deepEqual(Pet.parse(value), value);
    }
    const weather = langchainTool(() => '', { name: 'weather', description: 'The weather', schema: Town });
    const bound = chat().bindTools([weather], { tool_choice: 'any', parallel_tool_calls: false });
    const { tool_calls: calls } = await bound.invoke('Rain?');
    assert.deepEqual([calls.length, calls[0].name, TOWNS.includes(calls[0].args.town)], [1, 'weather', true]);
  });

  test('embeddings', async () => {
    const own = await encoder();
    const embeddings = new OpenAIEmbeddings({ model: 'x', apiKey: '-', configuration: { fetch: own.fetch } });
    assert.deepEqual(await embeddings.embedDocuments(['a', 'bcd']), own.vectors);
  });
});

describe('LlamaIndex', () => {
  const llm = (more) =>
    new LlamaIndex({ model: 'gpt-4o-mini', apiKey: '-', temperature: 0, additionalSessionOptions: { fetch }, ...more });

  test('chat and its stream give the text of chat', async () => {
    const own = llm({ maxTokens: 12 });
    const body = { messages, additionalChatOptions: { top_p: 0.95 } };
    assert.equal((await own.chat(body)).message.content, want);
    let text = '';
    for await (const { delta } of await own.chat({ ...body, stream: true })) text += delta;
    assert.equal(text, want);
  });

  test('tools and JSON', async () => {
    const metadata = { name: 'weather', description: 'The weather', parameters: z.toJSONSchema(Town) };
    const tools = [{ call: () => '', metadata }];
    const body = { messages, tools, additionalChatOptions: { tool_choice: 'required' } };
    const [call] = (await llm().chat(body)).message.options.toolCall;
    assert.deepEqual([call.name, TOWNS.includes(JSON.parse(call.input).town)], ['weather', true]);
    const { message } = await llm().chat({ messages, responseFormat: Pet });
    assert.ok(Pet.parse(JSON.parse(message.content)));
  });
});

describe("the AI SDK's provider for OpenAI's interface", () => {
  const provider = (own) =>
    createOpenAICompatible({
      name: 'glassformer',
      baseURL: 'http://localhost/v1',
      fetch: own,
      supportsStructuredOutputs: true,
    });
  const options = () => ({ model: provider(fetch)('x'), prompt, temperature: 0, maxRetries: 0 });

  test('generateText and streamText give the text of chat, generateObject a value, tools calls', async () => {
    assert.equal((await generateText({ ...options(), maxOutputTokens: 12 })).text, want);
    let text = '';
    for await (const piece of streamText({ ...options(), maxOutputTokens: 12 }).textStream) text += piece;
    assert.equal(text, want);
    const { object } = await generateObject({ ...options(), schema: Pet });
    assert.deepEqual(Pet.parse(object), object);
    const tools = { weather: tool({ inputSchema: Town }) };
    const { toolCalls } = await generateText({ ...options(), tools, toolChoice: 'required', maxOutputTokens: 99 });
    assert.ok(TOWNS.includes(toolCalls[0].input.town));
  });

  test('embedMany', async () => {
    const own = await encoder();
    const model = provider(own.fetch).textEmbeddingModel('x');
    const { embeddings } = await embedMany({ model, values: ['a', 'bcd'], maxRetries: 0 });
    assert.deepEqual(embeddings, own.vectors);
  });
});
