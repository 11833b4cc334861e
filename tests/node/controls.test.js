// controls.test.js - penalties, logit bias and minTokens: against their formulas, in every way to generate
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { join } from 'node:path';
import { load } from '../../web/lib/api/index.js';
import { StepBuffer } from '../../web/lib/run/stop_texts.js';
import { collect, distance, logitRow, refused, stories, top, untilEnd } from './helpers.js';

const model = await untilEnd(load(stories));
const prompt = 'Once upon a time there was a cat and a dog';
const run = (options, p = prompt) => collect(model.generate(p, options));
const argmax = (x) => x.indexOf(Math.max(...x));

describe('penalties', () => {
  test('distribution subtracts them as OpenAI defines them, after the repetition penalty and before the temperature', async () => {
    const logits = [2, 1, 0.5, -1, -3];
    // mu[j] -> mu[j] - c[j] * frequency - (c[j] > 0) * presence; c: 0 for token 2, which is only in the prompt
    const counts = [3, 0, 0, 1, 0];
    const punished = logits.map((l, i) => {
      const repeated = [0, 2].includes(i) ? (l > 0 ? l / 1.5 : l * 1.5) : l;
      return repeated - counts[i] * 0.3 - (counts[i] ? 0.4 : 0) + (i === 1 ? -2 : 0);
    });
    const weights = punished.map((x) => Math.exp(x / 0.7));
    const sum = weights.reduce((a, b) => a + b);
    const got = await model.distribution(logitRow(model, logits), {
      temperature: 0.7,
      repetitionPenalty: 1.5,
      seen: [0, 2],
      presencePenalty: 0.4,
      frequencyPenalty: 0.3,
      generated: [0, 3, 0, 0],
      logitBias: { 1: -2 },
    });
    assert.ok(
      distance(
        got.subarray(0, 5),
        weights.map((w) => w / sum),
      ) < 1e-6,
      String(got),
    );
    assert.equal(
      (
        await model.distribution(logitRow(model, [1, 5, 2]), { logitBias: new Map([[1, -Infinity]]), temperature: 0 })
      ).indexOf(1),
      2,
    );
  });

  test('generation with them is greedy search over logits that were changed by the formula', async () => {
    const options = {
      presencePenalty: 1.5,
      frequencyPenalty: 0.75,
      repetitionPenalty: 1.1,
      logitBias: { 5: 1.25, 11: -3 },
    };
    const { ids } = await run({ ...options, temperature: 0, maxTokens: 40, ignoreEos: true });
    const session = await model.session();
    let logits = await session.eval(prompt);
    const seen = new Set(await model.encode(prompt));
    const counts = new Map();
    const want = [];
    for (let n = 0; n < 40; n++) {
      const changed = Array.from(logits, (l, id) => {
        const c = counts.get(id) ?? 0;
        const repeated = seen.has(id) ? (l > 0 ? l / 1.1 : l * 1.1) : l;
        return repeated + (options.logitBias[id] ?? 0) - c * 0.75 - (c ? 1.5 : 0);
      });
      const id = argmax(changed);
      want.push(id);
      seen.add(id);
      counts.set(id, (counts.get(id) ?? 0) + 1);
      logits = await session.eval([id]);
    }
    assert.deepEqual(ids, want);
    const plain = await run({ temperature: 0, maxTokens: 40, ignoreEos: true });
    assert.ok(new Set(ids).size > new Set(plain.ids).size);
    await session.dispose();
  });

  test('the prompt does not count for presence and frequency penalty', async () => {
    const first = (await run({ temperature: 0, maxTokens: 1 })).ids[0];
    const ids = [...(await model.encode(prompt)), first, first];
    const plain = await run({ temperature: 0, maxTokens: 1 }, ids);
    const punished = await run({ temperature: 0, maxTokens: 1, presencePenalty: 100, frequencyPenalty: 100 }, ids);
    assert.deepEqual(punished.ids, plain.ids);
  });

  test('logprob and top stay those of the model, probability is that of the sampler', async () => {
    const plain = await run({ temperature: 0, maxTokens: 1, logprobs: 3 });
    const { id } = plain.steps[0].top[1];
    const biased = await run({ temperature: 0, maxTokens: 1, logprobs: 3, logitBias: { [plain.ids[0]]: -Infinity } });
    assert.equal(biased.ids[0], id);
    const logitBias = { [plain.ids[0]]: -Infinity };
    assert.deepEqual((await model.complete(prompt, { temperature: 0, maxTokens: 1, logitBias })).ids, biased.ids);
    const models = ({ top }) => top.map(({ probability, ...ofModel }) => ofModel);
    assert.deepEqual(models(biased.steps[0]), models(plain.steps[0]));
    assert.deepEqual(
      [plain, biased].map(({ steps }) => steps[0].top.map(({ probability }) => probability)),
      [
        [1, 0, 0],
        [0, 1, 0],
      ],
    );
    assert.equal(biased.steps[0].logprob, plain.steps[0].top[1].logprob);
  });

  test('settings that change nothing give the same text as none', async () => {
    const options = { temperature: 0.9, topP: 0.9, seed: 3, maxTokens: 30 };
    const want = await run(options);
    for (const extra of [
      { presencePenalty: 0, frequencyPenalty: 0 },
      { logitBias: {} },
      { minTokens: 1 },
      { logitBias: { 7: 0 } },
    ])
      assert.deepEqual((await run({ ...options, ...extra })).ids, want.ids, JSON.stringify(extra));
  });

  const varied = {
    temperature: 0.8,
    seed: 11,
    maxTokens: 30,
    presencePenalty: 0.7,
    frequencyPenalty: 0.4,
    logitBias: { 9: 2 },
    minTokens: 20,
  };

  test('batch, session and worker give the same text as a call of its own', async () => {
    const want = await run(varied);
    const { summary } = await run(varied, [prompt, prompt]);
    assert.deepEqual(summary.summaries[0].ids, want.ids);
    assert.deepEqual(summary.summaries[1].ids, (await run({ ...varied, seed: 12 })).ids);
    const session = await model.session();
    assert.deepEqual((await collect(session.generate(prompt, varied))).ids, want.ids);
    const again = await collect(session.generate('', varied));
    assert.deepEqual(again.ids, (await run(varied, [...(await model.encode(prompt)), ...want.ids])).ids);
    await session.dispose();
    const remote = await untilEnd(load(stories, { worker: true }));
    assert.deepEqual((await collect(remote.generate(prompt, varied))).ids, want.ids);
  });

  test('every build draws the same text', async () => {
    const want = await run(varied);
    for (const options of [{ backend: 'simd' }, { threads: 2, worker: true }]) {
      const other = await load(stories, options);
      assert.deepEqual((await collect(other.generate(prompt, varied))).ids, want.ids, JSON.stringify(options));
      other.dispose();
    }
  });

  test('a bias that excludes every token is refused, and the session stays usable', async () => {
    const every = Object.fromEntries(Array.from({ length: model.config.vocabSize }, (_, id) => [id, -Infinity]));
    for (const temperature of [0, 1])
      await refused(run({ logitBias: every, temperature, maxTokens: 2 }), 'bad-argument', /every token/);
    const session = await model.session();
    await refused(collect(session.generate(prompt, { logitBias: every, maxTokens: 2 })), 'bad-argument', /every token/);
    assert.equal(session.length, 0);
    await session.dispose();
  });

  test('with beams they are refused by name', async () => {
    for (const [name, value] of Object.entries({
      presencePenalty: 1,
      frequencyPenalty: 1,
      logitBias: { 1: 1 },
      json: {},
      grammar: 'root ::= "a"',
    }))
      await refused(
        run({ beams: 2, maxTokens: 2, [name]: value }),
        'bad-option',
        new RegExp(`${name} cannot be combined with beams`),
      );
  });
});

describe('minTokens', () => {
  test('end tokens come after so many tokens at the earliest', async () => {
    const ended = await run({ temperature: 0 });
    assert.equal(ended.summary.stopReason, 'eos');
    const minTokens = ended.ids.length + 1;
    const longer = await run({ temperature: 0, minTokens });
    assert.deepEqual(longer.ids.slice(0, ended.ids.length), ended.ids);
    assert.ok(longer.ids.length >= minTokens && !longer.ids.includes(model.special.eos[0]));
    const same = await run({ temperature: 0, minTokens: ended.ids.length });
    assert.deepEqual([same.ids, same.summary.stopReason], [ended.ids, 'eos']);
    await refused(run({ maxTokens: 3, minTokens: 4 }), 'bad-option', /minTokens is 4, more than maxTokens, which is 3/);
  });

  test('a stop text that begins in the first minTokens tokens has no effect, later ones have', async () => {
    const whole = await run({ temperature: 0, maxTokens: 60 });
    const stop = ['.', ' the', 'was'];
    for (const minTokens of [0, 1, 5, 9, 20, 33]) {
      const { summary, steps } = await run({ temperature: 0, maxTokens: 60, stop, minTokens });
      const before = whole.steps.slice(0, minTokens).reduce((n, s) => n + s.text.length, 0);
      const at = Math.min(...stop.map((s) => whole.text.indexOf(s, before)).filter((i) => i >= 0));
      assert.equal(summary.text, whole.text.slice(0, at), String(minTokens));
      assert.equal(summary.stopReason, 'stop');
      assert.ok(steps.length >= minTokens);
    }
  });

  test('in a beam search no hypothesis ends earlier', async () => {
    const dates = await untilEnd(load(join(top, 'weights/dates/')));
    const [bos] = [dates.special.bos];
    const options = { source: '3 March 1999', beams: 3, maxTokens: 16 };
    const short = await collect(dates.generate([bos], options));
    assert.equal(short.summary.stopReason, 'eos');
    const long = await collect(dates.generate([bos], { ...options, minTokens: short.ids.length + 2 }));
    assert.ok(long.ids.length >= short.ids.length + 2);
  });
});

test('several stop strings end at the first, wherever tokens begin: all splits of a text into pieces', () => {
  const text = 'one two, three\n\nfour';
  const stops = ['\n\n', 'e\n', ', t', 'zzz'];
  const cut = text.indexOf(', t');
  for (let splits = 0; splits < 2 ** 14; splits += 7) {
    const pieces = [''];
    for (const [i, c] of [...text].entries()) {
      if (i && (splits >> (i % 14)) & 1) pieces.push('');
      pieces[pieces.length - 1] += c;
    }
    const decoder = { half: false, push: (id) => pieces[id], end: () => '' };
    const buffer = new StepBuffer(stops, decoder);
    for (let id = 0; id < pieces.length && !buffer.stopped; id++)
      buffer.push({ id, text: '', position: id, logprob: 0, ms: 0 });
    if (!buffer.stopped) buffer.end();
    assert.equal(buffer.text, text.slice(0, cut), JSON.stringify(pieces));
    assert.ok(buffer.stopped);
  }
});
