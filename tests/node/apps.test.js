// apps.test.js - the entries for other libraries, with the real packages: the AI SDK, OpenAI's types, React
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { embedMany, generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { StrictMode, createElement, useLayoutEffect } from 'react';
import { create as render } from 'react-test-renderer';
import { embeddingModel, inside, languageModel } from '../../web/lib/apps/clients/ai_sdk.js';
import { openai } from '../../web/lib/apps/clients/openai.js';
import { useGeneration, useModel } from '../../web/lib/apps/clients/react.js';
import { create, load } from '../../web/lib/api/index.js';
import { PATIENCE } from '../patience.js';
import { stories, untilEnd } from './helpers.js';

/** A template in the form of Hermes that fits a short context. */
const chatTemplate =
  '{% for m in messages %}{{ m.role }} {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %} {% endfor %}{{ tools[0].function.name if tools }}';
const schema = {
  type: 'object',
  properties: { town: { enum: ['Rome', 'Oslo'] } },
  required: ['town'],
  additionalProperties: false,
};
const prompt = 'Once upon a time';

const model = await untilEnd(load(stories, { worker: false }));
const chatting = await untilEnd(load(stories, { worker: false, chatTemplate }));

describe('glassformer/ai-sdk', () => {
  const options = { temperature: 0, maxOutputTokens: 12, maxRetries: 0 };

  test('streamText and generateText give the text of generate', async () => {
    const { text: want, ids, prefilledTokens } = await model.complete(prompt, { temperature: 0, maxTokens: 12 });
    const streamed = streamText({ model: languageModel(model), prompt, ...options });
    let text = '';
    for await (const piece of streamed.textStream) text += piece;
    assert.equal(text, want);
    assert.equal(await streamed.finishReason, 'length');
    assert.deepEqual((await streamed.usage).outputTokens, ids.length);
    assert.equal((await streamed.usage).inputTokens, prefilledTokens);
    const whole = await generateText({ model: languageModel(model), prompt, ...options });
    assert.equal(whole.text, want);
    const all = whole.providerMetadata.glassformer.ids;
    assert.deepEqual(all.slice(-ids.length), ids);
    const { attention, lens } = inside(model, all);
    assert.deepEqual((await attention(1)).shape, [model.config.nHeads, all.length, all.length]);
    assert.equal((await lens(2))[0].length, all.length);
  });

  test('generateObject gives a value of the schema', async () => {
    const { object } = await generateObject({
      model: languageModel(chatting),
      schema: jsonSchema(schema),
      prompt,
      seed: 1,
      maxRetries: 0,
    });
    assert.ok(schema.properties.town.enum.includes(object.town));
  });

  test('tools are called, and the conversation goes on with their results', async () => {
    const towns = [];
    const weather = tool({
      description: 'The weather',
      inputSchema: jsonSchema(schema),
      execute: async ({ town }) => {
        towns.push(town);
        return { rain: true };
      },
    });
    const streamed = streamText({
      model: languageModel(chatting),
      tools: { weather },
      toolChoice: { type: 'tool', toolName: 'weather' },
      stopWhen: stepCountIs(2),
      prompt: 'Rain?',
      seed: 1,
      maxRetries: 0,
    });
    await streamed.consumeStream();
    const steps = await streamed.steps;
    assert.equal(steps.length, 2);
    assert.equal(steps[0].finishReason, 'tool-calls');
    assert.equal(steps[0].toolCalls[0].toolName, 'weather');
    assert.deepEqual(
      towns,
      steps.map(({ toolCalls }) => toolCalls[0].input.town),
    );
    assert.notEqual(steps[0].toolCalls[0].toolCallId, steps[1].toolCalls[0].toolCallId);
  });

  test('an answer has one call at most with parallelToolCalls: false', async () => {
    const counts = async (parallelToolCalls) => {
      const each = [];
      for (let seed = 1; seed < 7; seed++) {
        const { toolCalls } = await generateText({
          model: languageModel(chatting),
          tools: { weather: tool({ inputSchema: jsonSchema(schema) }) },
          toolChoice: 'required',
          prompt: 'Rain?',
          providerOptions: { glassformer: { parallelToolCalls } },
          ...{ seed, temperature: 2, maxOutputTokens: 150, maxRetries: 0 },
        });
        each.push(toolCalls.length);
      }
      return Math.max(...each);
    };
    assert.ok((await counts(true)) > 1);
    assert.equal(await counts(false), 1);
  });

  test('embedMany gives vectors of length 1', async () => {
    const encoder = await untilEnd(create({ kind: 'encoder', vocab_size: 100, d_model: 32, n_layers: 1, n_heads: 4 }));
    encoder.embed = (
      (own) => (texts, given) =>
        own.call(
          encoder,
          texts.map((text) => [text.length, 2]),
          given,
        )
    )(encoder.embed);
    const { embeddings } = await embedMany({ model: embeddingModel(encoder), values: ['a', 'bcd'], maxRetries: 0 });
    for (const one of embeddings) assert.ok(Math.abs(Math.hypot(...one) - 1) < 1e-5);
    const many = Array(4097).fill('a'); // more than one call of embed takes
    assert.equal((await embedMany({ model: embeddingModel(encoder), values: many })).embeddings.length, 4097);
  });

  test('an abort ends the engine, a part that is no text is refused, settings of chat are passed on', async () => {
    const stop = new AbortController();
    const streamed = streamText({ model: languageModel(model), prompt, maxRetries: 0, abortSignal: stop.signal });
    for await (const piece of streamed.textStream) if (piece) stop.abort();
    const image = [{ role: 'user', content: [{ type: 'file', data: new Uint8Array(3), mediaType: 'image/png' }] }];
    await assert.rejects(generateText({ model: languageModel(model), messages: image, maxRetries: 0 }), /texts only/);
    const called = { toolCallId: '1', toolName: 'draw' };
    const output = { type: 'content', value: [{ type: 'text', text: 'a' }, image[0].content[0]] };
    const result = [
      { role: 'assistant', content: [{ type: 'tool-call', ...called, input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', ...called, output }] },
    ];
    await assert.rejects(generateText({ model: languageModel(model), messages: result, maxRetries: 0 }), /texts only/);
    const reasoned = await generateText({ model: languageModel(model), prompt, ...options, reasoning: 'high' });
    assert.deepEqual(reasoned.warnings, [{ type: 'unsupported', feature: 'reasoning' }]);
    const { text } = await generateText({
      model: languageModel(model),
      prompt,
      maxRetries: 0,
      providerOptions: { glassformer: { grammar: 'root ::= "yes"' } },
    });
    assert.equal(text, 'yes');
  });
});

describe('glassformer/openai', () => {
  const messages = [{ role: 'user', content: prompt }];
  const body = { model: 'stories', messages, temperature: 0, max_tokens: 12 };

  test('a completion, its logprobs, its stream and its inside', async () => {
    const client = openai(model);
    const completion = await client.chat.completions.create({ ...body, logprobs: true, top_logprobs: 2 });
    const [{ message, finish_reason: reason, logprobs }] = completion.choices;
    assert.equal(reason, 'length');
    assert.equal(logprobs.content.length, completion.usage.completion_tokens);
    assert.equal(logprobs.content.map(({ token }) => token).join(''), message.content);
    assert.equal(logprobs.content[0].top_logprobs[0].logprob, logprobs.content[0].logprob);
    const stream = await client.chat.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    const chunks = [];
    for await (const chunk of stream) {
      chunks.push(chunk);
      text += chunk.choices[0]?.delta.content ?? '';
    }
    assert.equal(text, message.content);
    assert.equal(chunks.at(-2).choices[0].finish_reason, 'length');
    assert.deepEqual(chunks.at(-1).usage.completion_tokens, 12);
    const parts = [{ role: 'user', content: [{ type: 'text', text: prompt }] }];
    const same = await client.chat.completions.create({ ...body, messages: parts });
    assert.equal(same.choices[0].message.content, message.content);
    const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }];
    await assert.rejects(client.chat.completions.create({ ...body, messages: image }), /texts only/);
    for (const [more, found] of [
      [{ n: 0 }, /n is 0/],
      [{ response_format: { type: 'grammar' } }, /response_format grammar/],
      [{ functions: [{ name: 'weather' }] }, /functions/],
      [{ function_call: 'auto' }, /functions/],
      [{ audio: { voice: 'x', format: 'wav' } }, /does not read audio/],
      [{ modalities: ['text', 'audio'] }, /modalities with \["text","audio"\], only with \["text"\]/],
      [{ reasoning_effort: 'high' }, /reasoning_effort with "high", only with "none"/],
      [{ verbosity: 'low' }, /verbosity with "low"/],
      [{ store: true }, /does not read store with true, only with false/],
      [{ web_search_options: {} }, /does not read web_search_options/],
      [{ top_logprobs: 2 }, /needs logprobs/],
      [{ temprature: 1 }, /does not read temprature/],
    ])
      await assert.rejects(client.chat.completions.create({ ...body, ...more }), found);
    const neutral = {
      user: 'a',
      store: false,
      modalities: ['text'],
      verbosity: null,
      metadata: {},
      service_tier: 'auto',
    };
    const without = await client.chat.completions.create({ ...body, ...neutral, parallel_tool_calls: false });
    assert.equal(without.choices[0].message.content, message.content);
    const { ids, attention } = await completion.inside();
    assert.deepEqual((await attention(0)).shape, [model.config.nHeads, ids.length, ids.length]);
  });

  test('tools, JSON schemas and several choices', async () => {
    const client = openai(chatting);
    const tools = [{ type: 'function', function: { name: 'weather', parameters: schema } }];
    const named = { type: 'function', function: { name: 'weather' } };
    const given = { ...body, max_tokens: 80, seed: 1, tools, tool_choice: named };
    const { choices } = await client.chat.completions.create(given);
    const [call] = choices[0].message.tool_calls;
    assert.deepEqual([choices[0].finish_reason, choices[0].message.content], ['tool_calls', null]);
    assert.ok(['Rome', 'Oslo'].includes(JSON.parse(call.function.arguments).town));
    const deltas = [];
    for await (const chunk of await client.chat.completions.create({ ...given, stream: true }))
      deltas.push(chunk.choices[0].delta);
    assert.deepEqual(deltas.find((delta) => delta.tool_calls).tool_calls, [{ index: 0, ...call }]);
    // up to three calls came
    const counts = async (more) => {
      const each = [];
      for (let seed = 1; seed < 7; seed++) {
        const own = { ...given, ...more, seed, temperature: 2, max_tokens: 150, tool_choice: 'required' };
        each.push((await client.chat.completions.create(own)).choices[0].message.tool_calls?.length ?? 0);
      }
      return Math.max(...each);
    };
    assert.ok((await counts({})) > 1);
    assert.equal(await counts({ parallel_tool_calls: false }), 1);
    const next = [...messages, choices[0].message, { role: 'tool', tool_call_id: call.id, content: 'no' }];
    const both = {
      ...body,
      messages: next,
      n: 2,
      seed: 1,
      max_tokens: 40,
      temperature: 1,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    };
    const two = await client.chat.completions.create(both);
    assert.deepEqual(
      two.choices.map(({ index }) => index),
      [0, 1],
    );
    for (const { message } of two.choices) assert.ok(JSON.parse(message.content).town);
    // a stream had the first choice alone
    const texts = ['', ''];
    for await (const { choices } of await client.chat.completions.create({ ...both, stream: true }))
      for (const { index, delta } of choices) texts[index] += delta.content ?? '';
    assert.deepEqual(
      texts,
      two.choices.map(({ message }) => message.content),
    );
  });

  test('embeddings in the order of the inputs', async () => {
    const encoder = await untilEnd(create({ kind: 'encoder', vocab_size: 100, d_model: 32, n_layers: 1, n_heads: 4 }));
    const { data, usage } = await openai(encoder).embeddings.create({
      model: 'x',
      input: [
        [1, 2],
        [3, 4, 5],
      ],
    });
    assert.deepEqual(
      data.map(({ index, embedding }) => [index, embedding.length]),
      [
        [0, 32],
        [1, 32],
      ],
    );
    assert.deepEqual(usage, { prompt_tokens: 5, total_tokens: 5 });
    const { data: alone } = await encoder.embed([3, 4, 5], { normalize: true });
    assert.deepEqual(data[1].embedding, [...alone]);
    for (const [other, found] of [
      [{ dimensions: 16 }, /full length/],
      [{ encoding_format: 'hex' }, /encoding_format is hex/],
    ])
      await assert.rejects(openai(encoder).embeddings.create({ model: 'x', input: [1], ...other }), found);
  });
});

describe('glassformer/react', () => {
  /**
   * A component that shows its hooks to the test; `until` waits for a rendering in which a condition is true.
   * @param {string} source
   * @param {(generate: Function) => void} [committed]  called with the model's rendering, before other effects of it
   */
  function shown(source, committed) {
    let seen;
    let waiting = [];
    const Story = ({ from }) => {
      const loaded = useModel(from, { worker: false });
      seen = {
        from,
        ...loaded,
        ...Object.fromEntries(Object.entries(useGeneration(loaded.model)).map(([k, v]) => [`${k}_`, v])),
      };
      waiting = waiting.filter(([condition, done]) => !condition(seen) || done());
      useLayoutEffect(() => {
        if (loaded.model) committed?.(seen.generate_);
      }, [loaded.model]);
      return null;
    };
    const element = (from) => createElement(StrictMode, null, createElement(Story, { from }));
    const root = render(element(source));
    return {
      root,
      get seen() {
        return seen;
      },
      show: (from) => root.update(element(from)),
      // the timer also keeps the program running while nothing but a rendering is awaited
      until: (condition) =>
        new Promise((done, fail) => {
          if (seen && condition(seen)) return done();
          const late = () => fail(new Error(`no such rendering: ${inspect(seen)}`));
          const timer = setTimeout(late, PATIENCE);
          waiting.push([condition, () => (clearTimeout(timer), done())]);
        }),
    };
  }

  test('a model loads, generates, is stopped and disposed, in strict mode', async () => {
    // a generation that begins before the effects of the rendering without a model have ended is not stopped by them
    let story;
    const early = new Promise((done) => {
      story = shown(stories, (generate) => done(generate(prompt, { maxTokens: 8, temperature: 0 })));
    });
    await story.until(({ model: own }) => own);
    const { model: own } = story.seen;
    assert.ok(await early);
    const want = await own.complete(prompt, { maxTokens: 8, temperature: 0 });
    await story.until(({ summary_: summary }) => summary);
    assert.deepEqual([story.seen.text_, story.seen.running_, story.seen.summary_.ids], [want.text, false, want.ids]);
    const ended = story.seen.generate_(prompt, { temperature: 0 });
    story.seen.stop_();
    assert.equal(await ended, null);
    await story.until(({ running_: running }) => !running);
    assert.equal(story.seen.error_, null);
    story.show(null);
    await story.until(({ model: none }) => !none);
    await assert.rejects(own.encode('a'), { code: 'bad-state' });
    story.root.unmount();
  });

  // Both loaded again at each rendering, without end.
  test('an address or parts that are new objects in each rendering are loaded once', async () => {
    for (const fresh of [() => pathToFileURL(stories), () => ({ weights: stories }), () => ({ weights: [stories] })]) {
      const story = shown(fresh());
      await story.until(({ model: own }) => own);
      const { model: own } = story.seen;
      for (let i = 0; i < 3; i++) {
        const next = fresh();
        story.show(next); // the effects of a rendering run before the next one
        await story.until(({ from }) => from === next);
      }
      assert.ok(
        await story.seen.generate_(prompt, { maxTokens: 8 }),
        'the model is not replaced and disposed meanwhile',
      );
      assert.equal(story.seen.model, own);
      story.show({ weights: `${stories}.none` });
      await story.until(({ error }) => error);
      story.root.unmount();
    }
  });

  test('a source that cannot be loaded is an error', async () => {
    const story = shown(`${stories}.none`);
    await story.until(({ error }) => error);
    assert.equal(story.seen.error.code, 'not-found');
    story.root.unmount();
  });
});
