// steps.test.js - what generate and chat return: an iterator with result, text() and toReadableStream(); complete
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Steps, load } from '../../web/lib/api/index.js';
import { collect, refused, stories, top, untilEnd } from './helpers.js';

const options = { maxTokens: 12, temperature: 0, seed: 1 };
const prompt = 'Once upon a time';
const smallest = join(top, 'weights/stories-1m.gguf');
const model = await untilEnd(load(stories));
const expected = await collect(model.generate(prompt, options)).then(({ steps, summary }) => ({
  texts: steps.map(({ text }) => text),
  summary,
}));

/** A summary without its times. */
const untimed = ({ prefillMs, decodeMs, tokensPerSecond, ...rest }) => rest;

describe('the steps of a generation', () => {
  test('result is the summary, without a reader and with one, before, during and after the loop', async () => {
    assert.deepEqual(untimed(await model.generate(prompt, options).result), untimed(expected.summary));
    for (const when of [0, 3, 12, 13]) {
      const steps = model.generate(prompt, options);
      assert.ok(steps instanceof Steps);
      const texts = [];
      let result = when === 0 ? steps.result : null;
      for await (const { text } of steps) if (texts.push(text) === when) result = steps.result;
      result ??= steps.result;
      assert.deepEqual(texts, expected.texts, `asked for after ${when} steps`);
      assert.deepEqual(untimed(await result), untimed(expected.summary));
      assert.equal(steps.result, result);
    }
  });

  test('text() and toReadableStream() give the whole text, and cancelling the stream stops the engine', async () => {
    assert.equal(await model.generate(prompt, options).text(), expected.summary.text);
    const session = await model.session();
    const response = new Response(session.generate(prompt, options).toReadableStream());
    assert.equal(await response.text(), expected.summary.text);
    const reader = session.generate(' and', options).toReadableStream().getReader();
    const before = session.length;
    assert.ok((await reader.read()).value instanceof Uint8Array);
    await reader.cancel();
    assert.ok(session.length > before && session.length < before + options.maxTokens, `${session.length} positions`);
    await session.dispose();
  });

  test('an error reaches the reader and result; a generation that was left has no summary', async () => {
    await refused(model.generate('', options).result, 'empty-prompt');
    await refused(model.generate(prompt, { maxTokens: 'many' }).text(), 'bad-option', /maxTokens/);
    await refused(model.chat([{ role: 'user', content: 'Hi' }]).result, 'no-chat-template');
    const left = model.generate(prompt, options);
    for await (const _ of left) break;
    await refused(left.result, 'bad-state', /did not reach its end/);
    const stopped = model.generate(prompt, options);
    assert.deepEqual(await stopped.return(), { done: true, value: undefined });
    const controller = new AbortController();
    const aborted = model.generate(prompt, { ...options, signal: controller.signal });
    const result = aborted.result;
    controller.abort(new Error('enough'));
    await assert.rejects(result, /enough/);
  });

  test('the summary names the stop text that was found', async () => {
    const [, second, third] = expected.texts;
    const { stopReason, stopText } = await model.complete(prompt, { ...options, stop: ['never', third, second] });
    assert.deepEqual([stopReason, stopText], ['stop', second]);
    assert.ok(!('stopText' in expected.summary));
    const both = await model.complete([prompt, 'The cat'], { ...options, stop: second });
    assert.deepEqual([both.stopText, both.summaries[0].stopText], [second, second]);
    assert.equal((await model.complete(prompt, { ...options, beams: 2, stop: '.', maxTokens: 40 })).stopText, '.');
  });
});

test('complete gives the summary, and with json the value of the text', async () => {
  assert.deepEqual(untimed(await model.complete(prompt, options)), untimed(expected.summary));
  const json = { type: 'object', properties: { a: { type: 'integer', maximum: 9 } }, required: ['a'] };
  const { value, text, stopReason } = await model.complete(prompt, { json, seed: 1 });
  assert.deepEqual(value, JSON.parse(text));
  assert.ok(Number.isInteger(value.a) && /eos|grammar/.test(stopReason));
  const many = await model.complete([prompt, 'The cat'], { json, seed: 1 });
  assert.deepEqual(
    many.value,
    many.summaries.map((each) => JSON.parse(each.text)),
  );
  assert.equal((await model.complete(prompt, { json, seed: 1, maxTokens: 1 })).value, undefined);
});

test('JSON.stringify writes tensors as shape and data, in this thread and from a worker', async () => {
  for (const worker of [false, true]) {
    const own = await load(smallest, { worker });
    const capture = ['hook_embed', 'blocks.0.attn.hook_attn_scores'];
    const { logits, captured } = await own.forward([1, 2], { capture });
    const read = JSON.parse(JSON.stringify({ logits, captured }));
    assert.deepEqual(read.logits, { shape: [2, 2048], data: [...logits.data] });
    assert.deepEqual(read.captured.hook_embed.data, [...captured.hook_embed.data]);
    assert.equal(read.captured[capture[1]].data[1], null, 'minus infinity');
    assert.deepEqual(Object.keys(logits), ['data', 'shape']);
    assert.deepEqual(structuredClone(logits), logits);
    const session = await own.session({ capture });
    const row = await session.eval([1, 2]);
    assert.deepEqual(JSON.parse(JSON.stringify(row)), { shape: [2048], data: [...row] });
    assert.deepEqual(JSON.parse(JSON.stringify(session.captured)).hook_embed.shape, [2, 128]);
    for await (const step of own.generate([1, 2], { maxTokens: 1, capture }))
      assert.deepEqual(JSON.parse(JSON.stringify(step)).captured.hook_embed.shape, [2, 128]);
    own.dispose();
  }
});
