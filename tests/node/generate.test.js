// generate.test.js - sampling, stop conditions, batches and beam search
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EngineSession } from '../../web/lib/engine/engine_session.js';
import { create, load } from '../../web/lib/api/index.js';
import { collect, distance, golden, json, logitRow, refused, stories, top, untilEnd } from './helpers.js';

const model = await untilEnd(load(stories));

const prompt = 'Once upon a time';

const run = (options, p = prompt) => collect(model.generate(p, options));

/** Makes a second pass between any two readings of the clock during this test, so that every possible yield is due. */
function everyYieldIsDue(t) {
  let ms = 0;
  t.mock.method(performance, 'now', () => (ms += 1000));
}

describe('steps and summary', () => {
  test('a sampled id beyond the vocabulary, from an embedding with spare rows, adds no text', async () => {
    const small = join(top, 'weights/dates/tokenizer.json'),
      spare = await load({ weights: stories, tokenizer: readFileSync(small) });
    const known = JSON.parse(readFileSync(small, 'utf8')),
      ids = new Set([...Object.values(known.model.vocab), ...known.added_tokens.map((t) => t.id)]);
    const { steps } = await collect(spare.generate([5, 2047, 6], { maxTokens: 12, temperature: 0, ignoreEos: true }));
    assert.equal(steps.length, 12);
    assert.ok(steps.some((s) => !ids.has(s.id)));
    for (const s of steps) if (!ids.has(s.id)) assert.equal(s.text, '');
    await assert.rejects(spare.decode([2047]), { code: 'bad-token' });
    spare.dispose();
  });

  test('step positions continue from the prompt, and the summary has the totals', async () => {
    const ids = await model.encode(prompt);
    const { steps, summary, text } = await run({ maxTokens: 25, temperature: 0 });
    assert.equal(steps.length, 25);
    steps.forEach((s, i) => {
      assert.equal(s.position, ids.length + i);
      assert.ok(s.logprob <= 0 && s.ms >= 0);
    });
    assert.equal(summary.text, text);
    assert.equal((await model.decode(ids)) + text, await model.decode([...ids, ...summary.ids]));
    assert.deepEqual(
      summary.ids,
      steps.map((s) => s.id),
    );
    assert.equal(summary.stopReason, 'maxTokens');
    assert.ok(summary.tokensPerSecond > 0 && summary.prefillMs > 0 && summary.decodeMs > 0);
  });

  test('a prompt as text, ids or typed array gives the same steps', async () => {
    const ids = await model.encode(prompt);
    const want = (await run({ maxTokens: 8, temperature: 0 })).ids;
    assert.deepEqual((await run({ maxTokens: 8, temperature: 0 }, ids)).ids, want);
    assert.deepEqual((await run({ maxTokens: 8, temperature: 0 }, Int32Array.from(ids))).ids, want);
  });

  test('temperature 0 takes the most likely token for every seed, and it is the first of top', async () => {
    const { steps } = await run({ maxTokens: 20, temperature: 0, seed: 1, logprobs: 5 });
    assert.deepEqual(
      (await run({ maxTokens: 20, temperature: 0, seed: 2 })).ids,
      steps.map((s) => s.id),
    );
    for (const s of steps) {
      assert.equal(s.top.length, 5);
      assert.equal(s.top[0].id, s.id);
      assert.equal(s.top[0].logprob, s.logprob);
      assert.ok(s.top.every((t, i) => i === 0 || t.logprob <= s.top[i - 1].logprob));
      assert.equal(s.top[0].text.trim(), s.text.trim());
    }
  });

  test('the summary has the seed also when it was random, and that seed repeats the text', async () => {
    const first = await run({ maxTokens: 20, temperature: 1.2 });
    assert.ok(Number.isSafeInteger(first.summary.seed));
    const again = await run({ maxTokens: 20, temperature: 1.2, seed: first.summary.seed });
    assert.deepEqual(again.ids, first.ids);
  });

  test('topK 1, a small topP and a high minP are greedy', async () => {
    const greedy = (await run({ maxTokens: 15, temperature: 0 })).ids;
    assert.deepEqual((await run({ maxTokens: 15, temperature: 2, topK: 1 })).ids, greedy);
    assert.deepEqual((await run({ maxTokens: 15, temperature: 1, topP: 1e-6 })).ids, greedy);
    assert.deepEqual((await run({ maxTokens: 15, temperature: 1, minP: 1 })).ids, greedy);
  });

  test('with a high repetition penalty no token repeats', async () => {
    const { ids } = await run({ maxTokens: 60, temperature: 0, repetitionPenalty: 1000, ignoreEos: true });
    assert.equal(new Set(ids).size, ids.length);
  });

  test('maxTokens 0 gives no step and the stop reason maxTokens', async () => {
    const { steps, summary } = await run({ maxTokens: 0 });
    assert.deepEqual([steps.length, summary.stopReason, summary.text], [0, 'maxTokens', '']);
  });
});

describe('stopping', () => {
  test('generation stops at the end token, which is no step; with ignoreEos at the full context', async () => {
    const ended = await run({ seed: 2, temperature: 0.7 });
    assert.equal(ended.summary.stopReason, 'eos');
    assert.ok(!ended.ids.includes(model.special.eos[0]));
    const full = await run({ seed: 2, temperature: 0.7, ignoreEos: true });
    assert.equal(full.summary.stopReason, 'contextFull');
    assert.equal((await model.encode(prompt)).length + full.ids.length, model.config.contextLength);
    assert.deepEqual(full.ids.slice(0, ended.ids.length + 1), [...ended.ids, model.special.eos[0]]);
  });

  test('a prompt that fills the context gives no step and the stop reason contextFull', async () => {
    const { steps, summary } = await run({ maxTokens: 5 }, new Array(256).fill(5));
    assert.deepEqual([steps.length, summary.stopReason], [0, 'contextFull']);
  });

  for (const stop of [['Lily'], [' named L'], ['little girl named'], ['nowhere', '. She'], ['ittle'], ['e', 'the']]) {
    test(`generation stops before ${JSON.stringify(stop)}, within tokens and across them`, async () => {
      const whole = (await run({ maxTokens: 40, temperature: 0 })).text;
      const cut = Math.min(...stop.map((s) => whole.indexOf(s)).filter((i) => i >= 0));
      const { text, summary, steps } = await run({ maxTokens: 40, temperature: 0, stop });
      assert.equal(text, whole.slice(0, cut));
      assert.equal(summary.text, text);
      assert.equal(summary.stopReason, 'stop');
      assert.deepEqual(
        summary.ids,
        steps.map((s) => s.id),
      );
    });
  }

  test('text that only begins like a stop string is delivered', async () => {
    const want = await run({ maxTokens: 30, temperature: 0 });
    const got = await run({ maxTokens: 30, temperature: 0, stop: ['Lily.X', 'was a little dog', 'girl named Lilyx'] });
    assert.equal(got.text, want.text);
    assert.deepEqual(got.ids, want.ids);
    assert.equal(got.summary.stopReason, 'maxTokens');
  });

  test('an aborted signal rejects with its reason, before the start and between tokens', async () => {
    const reason = new Error('enough');
    await assert.rejects(run({ signal: AbortSignal.abort(reason) }), reason);
    const between = new AbortController();
    let n = 0;
    await assert.rejects(async () => {
      for await (const step of model.generate(prompt, { ignoreEos: true, signal: between.signal })) {
        assert.ok(step);
        if (++n === 5) between.abort(reason);
      }
    }, reason);
    assert.equal(n, 5);
    assert.equal((await run({ maxTokens: 3 })).steps.length, 3);
  });

  test('an abort during a long prompt takes effect after at most two of its chunks', async (t) => {
    const deep = await create({ vocab_size: 64, d_model: 32, n_layers: 1, n_heads: 2, context_length: 1024 });
    t.after(() => deep.dispose());
    const chunks = t.mock.method(EngineSession.prototype, 'eval').mock;
    await deep.forward(new Array(1024).fill(1));
    const all = chunks.callCount();
    assert.ok(all > 8, `${all} chunks`);
    chunks.resetCalls();
    everyYieldIsDue(t);
    const controller = new AbortController(),
      reason = new Error('enough');
    const aborted = deep.forward(new Array(1024).fill(1), { signal: controller.signal });
    setImmediate(() => setImmediate(() => controller.abort(reason)));
    await assert.rejects(aborted, reason);
    assert.ok(chunks.callCount() <= 2, `${chunks.callCount()} of ${all} chunks were computed`);
  });

  test('the event loop runs between the tokens of a generation', async (t) => {
    everyYieldIsDue(t);
    let turns = 0,
      timer = setImmediate(function again() {
        turns++;
        timer = setImmediate(again);
      });
    const { ids } = await run({ ignoreEos: true, temperature: 0, maxTokens: 30 });
    clearImmediate(timer);
    assert.ok(turns >= ids.length, `${turns} turns of the event loop during ${ids.length} tokens`);
  });
});

// tests/native/sample_test.c: draws follow the distribution; controls.test.js: penalties
describe('distributions', () => {
  const rows = json(join(golden, 'sampling.json')).filter(
    ({ settings: s }) => !(s.top_p < 1 && s.temperature !== undefined && s.temperature !== 1),
  );
  assert.ok(rows.length > 3);
  for (const { logits: written, settings: s, probs, greedy } of rows) {
    const logits = written.map((l) => (l === '-inf' ? -Infinity : l));
    test(`${JSON.stringify(s)} over ${logits.length} logits`, async () => {
      const options = { temperature: s.temperature, topK: s.top_k, topP: s.top_p };
      const row = logitRow(model, logits);
      const got = (await model.distribution(row, options)).subarray(0, logits.length);
      assert.ok(distance(got, probs) < 1e-6, `${distance(got, probs)} off`);
      const sure = await model.distribution(row, { temperature: 0 });
      assert.deepEqual(
        Array.from(sure),
        Array.from(row, (_, i) => (i === greedy ? 1 : 0)),
      );
    });
  }

  test('minP drops what is less likely than that share of the most likely token', async () => {
    const weights = [2, 1, 0.5, -1, -3].map(Math.exp);
    const got = await model.distribution(logitRow(model, [2, 1, 0.5, -1, -3]), { minP: 0.2 });
    const kept = weights.map((w) => (w >= 0.2 * weights[0] ? w : 0)),
      sum = kept.reduce((a, b) => a + b);
    assert.ok(
      distance(
        got.subarray(0, 5),
        Float32Array.from(kept, (w) => w / sum),
      ) < 1e-6,
      String(got.subarray(0, 5)),
    );
  });

  test('a temperature below 0 is refused with the value that takes the most likely token', async () => {
    const run = collect(model.generate('Once', { temperature: -1 }));
    await refused(run, 'bad-option', /temperature is -1, expected 0 to 1000000; 0 always takes the most likely token/);
  });
});

describe('several prompts', () => {
  test('each prompt gets its own continuation, identified by sequence', async () => {
    const prompts = ['One day', 'The cat', 'Tim and'];
    const alone = await Promise.all(prompts.map((p) => run({ maxTokens: 12, temperature: 0 }, p)));
    const { steps, summary } = await run({ maxTokens: 12, temperature: 0 }, prompts);
    for (const [i, p] of prompts.entries()) {
      assert.deepEqual(
        steps.filter((s) => s.sequence === i).map((s) => s.id),
        alone[i].ids,
      );
      assert.deepEqual(summary.sequences[i], [...(await model.encode(p)), ...alone[i].ids]);
      assert.equal(summary.summaries[i].text, alone[i].text);
    }
  });

  test('the same prompt several times gives several texts, each with its own seed', async () => {
    const { summary } = await run({ maxTokens: 12, temperature: 1, seed: Number.MAX_SAFE_INTEGER }, [
      prompt,
      prompt,
      prompt,
    ]);
    const [a, b, c] = summary.summaries;
    assert.deepEqual([a.seed, b.seed, c.seed], [Number.MAX_SAFE_INTEGER, 0, 1]);
    assert.notDeepEqual(a.ids, b.ids);
    assert.notDeepEqual(b.ids, c.ids);
    assert.deepEqual((await run({ maxTokens: 12, temperature: 1, seed: 1 })).summary.ids, c.ids);
  });

  test('both halves of a 53-bit seed take effect', async () => {
    const texts = await Promise.all(
      [7, 2 ** 32 + 7, 2 ** 52 + 7].map(async (seed) => (await run({ maxTokens: 20, temperature: 1, seed })).text),
    );
    assert.equal(new Set(texts).size, 3);
  });

  test('the time of a batch is that of its longest text', async () => {
    const { summary } = await run({ maxTokens: 12, temperature: 0 }, [prompt, 'The', 'A dog']);
    assert.equal(summary.decodeMs, Math.max(...summary.summaries.map((s) => s.decodeMs)));
    assert.equal(
      summary.prefillMs,
      summary.summaries.reduce((n, s) => n + s.prefillMs, 0),
    );
  });

  test('an encoder-decoder takes one source for all prompts, or one for each', async () => {
    const dates = await untilEnd(load(join(top, 'weights/dates/'))),
      { bos } = dates.special;
    const sources = ['3 March 1999', 'July 4, 2021'],
      options = { temperature: 0, maxTokens: 16 };
    const alone = await Promise.all(sources.map((source) => collect(dates.generate([bos], { ...options, source }))));
    assert.deepEqual(
      alone.map((a) => a.text),
      ['1999-03-03', '2021-07-04'],
    );
    const texts = async (source) =>
      (await collect(dates.generate([[bos], [bos]], { ...options, source }))).summary.summaries.map((s) => s.text);
    assert.deepEqual(await texts(sources), ['1999-03-03', '2021-07-04']);
    assert.deepEqual(await texts(sources[1]), ['2021-07-04', '2021-07-04']);
    await assert.rejects(texts(['3 March 1999']), /there are 1 sources for 2 sequences/);
  });

  test('prompts of different lengths, with seeds, captures or edits, give the same texts as alone', async () => {
    const prompts = ['Once upon a time there was a very small', 'A', 'The end', 'Lily said'];
    for (const options of [
      { maxTokens: 60, temperature: 0.8, seed: 4 },
      { maxTokens: 9, temperature: 0, stop: ['a'] },
      { maxTokens: 6, temperature: 0, capture: ['blocks.1.attn.hook_pattern'] },
      { maxTokens: 6, temperature: 0, edits: [{ at: 'blocks.2.hook_mlp_out', scale: 0 }] },
    ]) {
      const { steps, summary } = await run(options, prompts);
      for (const [i, p] of prompts.entries()) {
        const alone = await run(options.seed === undefined ? options : { ...options, seed: options.seed + i }, p);
        const own = steps.filter((s) => s.sequence === i);
        assert.deepEqual(
          own.map((s) => [s.id, s.text, s.position, s.logprob]),
          alone.steps.map((s) => [s.id, s.text, s.position, s.logprob]),
        );
        assert.equal(summary.summaries[i].stopReason, alone.summary.stopReason);
        if (options.capture) own.forEach((s, k) => assert.deepEqual(s.captured, alone.steps[k].captured));
      }
    }
  });
});
