// train_examples.test.js - training on sequences of token ids: losses, targets, order, held-out examples, refusals
//
// The expected losses are those of model.forward's logits, computed here in double precision.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, train } from '../../web/lib/api/index.js';
import { planOf } from '../../web/lib/train/examples.js';
import { logprobOf, row } from './helpers.js';
import { ran } from './small_runs.js';

const SIZES = { d_model: 16, n_layers: 1, n_heads: 2, vocab_size: 12 };
/** No step changes a weight. */
const STILL = { lr: 0, muonLr: 0, weightDecay: 0, steps: 1 };
const SUMS = Array.from({ length: 25 }, (_, i) => {
  const [a, b] = [i % 5, Math.floor(i / 5)];
  return { ids: [a, b, 5], targets: [-1, -1, (a + b) % 5] };
});
const ADDITION = { ...SIZES, vocab_size: 6 };

/** Mean -ln p, and share of the targets with the largest logit. @param {any} model @param {any[]} examples */
async function scoreOf(model, examples) {
  let loss = 0,
    n = 0,
    right = 0;
  for (const { ids, targets, source } of examples) {
    const { logits } = await model.forward(ids, source && { source });
    targets.forEach((target, i) => {
      if (target < 0) return;
      const own = row(logits, i);
      loss -= logprobOf(own, target);
      right += Number(own[target] === Math.max(...own));
      n++;
    });
  }
  return { nats: loss / n, accuracy: right / n };
}

/** The first step's loss and accuracy, and the validation's, are those of the model before any step. */
async function agrees(config, examples, validation) {
  const { steps, value } = await ran(config, { examples }, { ...STILL, validation }, async (run) => {
    const model = await run.model();
    const scores = [await scoreOf(model, examples), await scoreOf(model, validation)];
    model.dispose();
    return scores;
  });
  const found = [{ nats: steps[0].loss, accuracy: steps[0].accuracy }, steps[0].validation];
  for (const [i, { nats, accuracy }] of found.entries()) {
    assert.ok(Math.abs(nats - value[i].nats) < 1e-5 * nats, `${nats} and ${value[i].nats}`);
    assert.equal(accuracy, value[i].accuracy);
  }
  assert.equal(found[1].bitsPerByte, NaN);
}

test('the loss counts the targets that are given, and only those', () =>
  agrees(
    SIZES,
    [
      { ids: [1, 2, 3, 4], targets: [-1, 7, -1, 11] },
      { ids: [5], targets: [0] },
    ],
    [{ ids: [9, 8, 7], targets: [8, -1, 6] }],
  ));

test('an encoder-decoder learns from examples with a source', () =>
  agrees(
    { ...SIZES, kind: 'encoder_decoder', n_encoder_layers: 1 },
    [
      { ids: [0, 2], targets: [2, 3], source: [4, 5, 6, 7] },
      { ids: [0, 9, 8], targets: [9, -1, 8], source: [1] },
    ],
    [{ ids: [0], targets: [1], source: [2, 3] }],
  ));

test('an encoder reads its whole sequence to find the targets', () =>
  agrees(
    { ...SIZES, kind: 'encoder', mlm_head: true, n_token_types: 2, embed_norm: true, position: 'learned' },
    [
      { ids: [1, 11, 3, 4], targets: [-1, 7, -1, -1] },
      { ids: [5, 11], targets: [5, 0] },
    ],
    [{ ids: [9, 8, 11], targets: [-1, -1, 6] }],
  ));

test('a list of ids alone predicts each token after the first', async () => {
  const lists = [
    [1, 2, 3],
    [4, 5, 6, 7],
  ];
  const full = lists.map((ids) => ({ ids, targets: [...ids.slice(1), -1] }));
  const [a, b] = await Promise.all([lists, full].map((examples) => ran(SIZES, { examples }, { steps: 3 })));
  assert.deepEqual(a, b);
});

// A list with more examples than a call has arguments ended with an internal error.
test('200,000 examples are taken', async () => {
  const examples = Array.from({ length: 200000 }, (_, i) => [i % 5, 1]);
  const run = train({ d_model: 8, n_layers: 1, n_heads: 1, vocab_size: 5 }, { examples }, { steps: 1 });
  assert.ok((await run.next()).value.loss > 0);
  await run.dispose();
});

test('addition is learnt, and the texts of the vocabulary are those of the tokenizer', async () => {
  const vocabulary = ['0', '1', '2', '3', '4', '='];
  const options = { steps: 60, batchTokens: 4096, lr: 0.01, validation: 0.2, validateEvery: 0 };
  const { steps, value } = await ran(ADDITION, { examples: SUMS, vocabulary }, options, async (run) => {
    const model = await run.model();
    const ids = await model.encode('3 4 =');
    const text = (await model.complete(ids, { maxTokens: 1, temperature: 0 })).text;
    const files = await run.files();
    model.dispose();
    return {
      ids,
      text,
      names: files.map((file) => file.name),
      score: await scoreOf(
        await load(
          Object.fromEntries([
            ['config', JSON.parse(new TextDecoder().decode(files[0].bytes))],
            ['weights', files[1].bytes],
          ]),
          { dtype: 'f32' },
        ),
        SUMS,
      ),
    };
  });
  assert.equal(steps.at(-1).accuracy, 1);
  assert.equal(steps.at(-1).tokens, 60 * 20); // one target of each of the 20 examples that are not held out
  assert.ok(value.score.accuracy >= 0.8);
  assert.deepEqual(value.ids, [3, 4, 5]);
  assert.equal(value.text.trim(), '2');
  assert.deepEqual(value.names, ['config.json', 'model.safetensors', 'tokenizer.json']);
});

/** The first id and the second of each example, as one number. @param {{packed: Int32Array, n: number}} batch */
const named = ({ packed, n }) => Array.from({ length: n }, (_, i) => packed[8 * i + 2] + 5 * packed[8 * i + 3]);
const ascending = (list) => list.toSorted((a, b) => a - b);

/** The plan of a run on the sums, each of which takes 8 numbers of a batch. @param {object} [options] */
const planned = ({ validation = null, ...options } = {}) =>
  planOf({ examples: SUMS }, { seed: 1, batch_tokens: 15, micro_tokens: 4096, ...options }, validation, (sizes) => ({
    ...sizes,
    kind: 'decoder',
    vocab_size: 6,
  }));

test('each epoch has every example once, in an order that the seed decides', async () => {
  const { batchOf } = planned();
  const epochs = [0, 1, 2].map((epoch) => [1, 2, 3, 4, 5].flatMap((i) => named(batchOf(5 * epoch + i))));
  for (const epoch of epochs) assert.deepEqual(ascending(epoch), [...SUMS.keys()]);
  assert.equal(new Set(epochs.map(String)).size, 3, 'each epoch has an order of its own');
  const seen = (options) => ran(ADDITION, { examples: SUMS }, { steps: 8, batchTokens: 12, ...options });
  const [a, b, other] = await Promise.all([seen({}), seen({}), seen({ seed: 2 })]);
  assert.deepEqual(a, b);
  assert.notDeepEqual(a.steps[0].loss, other.steps[0].loss);
  assert.equal(a.steps[0].tokens, 4); // 12 rows hold 4 examples of 3 tokens
});

test('examples that are held out are chosen by the seed, and are not learnt', () => {
  const heldOf = (seed) => {
    const { held, batchOf } = planned({ seed, validation: 0.2, batch_tokens: 60 });
    const ids = held.flatMap(named);
    assert.equal(ids.length, 5);
    assert.deepEqual(ascending([...ids, ...named(batchOf(1))]), [...SUMS.keys()]);
    return ascending(ids);
  };
  assert.notDeepEqual(heldOf(1), heldOf(2));
});

// The function was also called for steps behind the last one, and what it threw there failed the run.
test('a function gives the examples of each step, the same as the array they come from', async () => {
  const options = { steps: 12, batchTokens: 75 };
  const given = [];
  const examples = (step) => {
    given.push(step);
    return SUMS;
  };
  const [list, stream] = await Promise.all([
    ran(ADDITION, { examples: SUMS }, options),
    ran({ ...ADDITION, context_length: 4 }, { examples }, options),
  ]);
  assert.deepEqual(stream, list);
  assert.deepEqual(
    [...new Set(given)],
    Array.from({ length: 12 }, (_, i) => i + 1),
  );
});

test('a checkpoint continues a run on examples bit for bit', async () => {
  const options = { steps: 30, batchTokens: 12 };
  const whole = await ran(ADDITION, { examples: SUMS }, options);
  const run = train(ADDITION, { examples: SUMS }, options);
  for await (const { step } of run) if (step === 5) break;
  const checkpoint = await run.checkpoint();
  await run.dispose();
  const { steps } = await ran(ADDITION, { examples: SUMS }, { ...options, checkpoint });
  assert.ok(steps.length < 30 && steps.length > 0);
  assert.deepEqual(steps, whole.steps.slice(-steps.length));
});

test('a model that is asked for after a validation is that of its step', async () => {
  const validation = SUMS.slice(0, 5);
  const run = train(ADDITION, { examples: SUMS }, { steps: 30, validation, validateEvery: 3 });
  let seen = 0;
  for await (const { validation: score } of run) {
    if (!score) continue;
    const model = await run.model();
    const { nats } = await scoreOf(model, validation);
    assert.ok(Math.abs(nats - score.nats) < 1e-5 * nats, `${nats}, expected ${score.nats}`);
    model.dispose();
    seen++;
  }
  assert.equal(seen, 10);
  await run.dispose();
});

test('examples that cannot be learnt from are refused, each with its place', async () => {
  /** @type {[any, any, string, RegExp][]} */
  const cases = [
    [{ examples: [] }, {}, 'bad-argument', /at least one example/],
    [{ examples: 5 }, {}, 'bad-argument', /examples: 5, expected a list/],
    [{ examples: null }, {}, 'bad-argument', /examples: null, expected a list/],
    [{ examples: [[1, 2], 7] }, {}, 'bad-argument', /example 1 of the examples is 7/],
    [{ examples: [[1]] }, {}, 'bad-argument', /example 0 of the examples has no target/],
    [{ examples: [[1, 12]] }, {}, 'bad-token', /holds 12 at index 1.*0 to 11/],
    [{ examples: [{ ids: [1, 2], targets: [1] }] }, {}, 'bad-argument', /2 ids and 1 targets/],
    [{ examples: [{ ids: [1, 2], targets: [1, -2] }] }, {}, 'bad-argument', /hold -2/],
    [{ examples: [{ ids: [1, 2], source: [3] }] }, {}, 'bad-argument', /has a source/],
    [{ examples: [[1, 2]], vocabulary: ['a', 'a'] }, {}, 'bad-argument', /different texts/],
    [{ examples: [[1, 2]], vocabulary: '' }, {}, 'bad-argument', /different texts/],
    [{ examples: [[1, 2]], vocabulary: ['a', 'b', 'c'] }, {}, 'bad-config', /vocab_size is 12, .* 3 texts/],
    [{ examples: [[1, 2]] }, { vocabSize: 300 }, 'bad-option', /options of a text/],
    [{ examples: [[1, 2, 3]] }, { batchTokens: 2 }, 'bad-option', /less than one example of 3 tokens/],
    [{ examples: [[1, 2]] }, { validation: 0.9 }, 'bad-option', /none would be left/],
    [{ examples: [[1, 2]] }, { validation: [[12]] }, 'bad-token', /example 0 of validation/],
    [{ examples: () => [[1, 2]] }, { validation: 0.1 }, 'bad-option', /no share is held out/],
    [{ examples: () => 3 }, {}, 'bad-argument', /examples of step 1: 3/],
    [{ examples: () => Array(999).fill([1, 2]) }, {}, 'bad-argument', /1998 tokens, more than batchTokens, 1024/],
  ];
  for (const [data, options, code, message] of cases)
    await assert.rejects(ran(SIZES, data, { steps: 1, ...options }), { code, message }, JSON.stringify(data));
  const long = { examples: [Array(9).fill(1)] };
  await assert.rejects(ran({ ...SIZES, context_length: 8 }, long, {}), { code: 'context-full' });
  const encoder = { ...SIZES, kind: 'encoder' };
  await assert.rejects(ran(encoder, { examples: [[1, 2]] }, {}), { code: 'unsupported' });
  await assert.rejects(ran({ ...encoder, mlm_head: true }, { examples: [[1, 2]] }, {}), {
    message: /no word \[MASK\]/,
  });
});
