// train_masked.test.js - encoders learn masked tokens: what is hidden, own words, texts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { train } from '../../web/lib/api/index.js';
import { maskedOf, randomOf } from '../../web/lib/train/masked_tokens.js';
import { ran } from './small_runs.js';

const ENCODER = { kind: 'encoder', mlm_head: true, d_model: 16, n_layers: 1, n_heads: 2, position: 'learned' };
const STORY = 'The cat sat on the mat. The dog sat on the log. The cat saw the dog.';
const TEXT = Array.from({ length: 20 }, (_, i) => `${STORY} They met ${i} times.`).join('\n<|endoftext|>\n');

test('15 % of the ids are targets: 80 % of them masked, 10 % another token, 10 % as they were', () => {
  const [mask, vocab, n] = [1000, 1000, 20];
  const random = randomOf(7);
  const seen = { all: 0, masked: 0, kept: 0 };
  for (let k = 0; k < 5000; k++) {
    const given = Array.from({ length: n }, (_, i) => (i ? 5 + ((i * k) % 900) : 0));
    const { ids, targets } = maskedOf(given, { mask, vocab, least: 1 }, random);
    assert.equal(targets[0], -1);
    targets.forEach((target, i) => {
      if (target < 0) return assert.equal(ids[i], given[i]);
      assert.equal(target, given[i]);
      seen.all++;
      if (ids[i] === mask) seen.masked++;
      else if (ids[i] === given[i]) seen.kept++;
    });
  }
  assert.equal(seen.all, 5000 * 3);
  assert.ok(Math.abs(seen.masked / seen.all - 0.8) < 0.02, String(seen.masked));
  assert.ok(Math.abs(seen.kept / seen.all - 0.1) < 0.02, String(seen.kept));
  assert.deepEqual(maskedOf([0, 5], { mask, vocab, least: 1 }, random).targets, [-1, 5]);
});

test('own words with [MASK]: a word that both neighbours decide is learnt', async () => {
  const vocabulary = [...'abcdef', '[MASK]'];
  const examples = [
    [0, 2, 1],
    [1, 3, 0],
    [0, 4, 0],
    [1, 5, 1],
  ];
  const held = examples.map((ids) => ({ ids: [ids[0], 6, ids[2]], targets: [-1, ids[1], -1] }));
  const options = { steps: 400, lr: 0.01, validation: held, validateEvery: 0 };
  const [a, b, other] = await Promise.all(
    [1, 1, 2].map((seed) => ran(ENCODER, { examples, vocabulary }, { ...options, seed })),
  );
  assert.equal(a.steps.at(-1).validation.accuracy, 1);
  assert.deepEqual(a, b);
  assert.notEqual(a.steps[0].loss, other.steps[0].loss);
});

test('a text: the byte-pair vocabulary gets a mask, and the same tokens of the held-out text are hidden each time', async () => {
  const options = { steps: 6, batchTokens: 256, vocabSize: 300, validation: 0.2, validateEvery: 1 };
  const still = { lr: 0, muonLr: 0, weightDecay: 0 };
  const { steps, value } = await ran(ENCODER, TEXT, { ...options, ...still }, async (run) => {
    const model = await run.model();
    const ids = await model.encode('The cat [MASK] on');
    const { shape } = (await model.forward(ids)).logits;
    model.dispose();
    return { ids, shape, vocab: run.config.vocabSize, names: (await run.files()).map(({ name }) => name) };
  });
  const mask = value.vocab - 1;
  assert.deepEqual([value.ids[0], value.ids.filter((id) => id === mask).length], [0, 1]);
  assert.deepEqual(value.shape, [value.ids.length, value.vocab]);
  assert.deepEqual(value.names, ['config.json', 'model.safetensors', 'tokenizer.json']);
  assert.equal(new Set(steps.map(({ validation }) => validation.nats)).size, 1);
  assert.ok(new Set(steps.map(({ loss }) => loss)).size > 1);
});

test('a run on a text continues from its checkpoint, with a vocabulary that is given', async () => {
  const vocabulary = { vocabSize: 280, steps: 1, batchTokens: 256 };
  const { value: tokenizer } = await ran(ENCODER, TEXT, vocabulary, async (run) => run.tokenizer);
  const options = { steps: 200, batchTokens: 256, tokenizer };
  const whole = await ran(ENCODER, TEXT, options);
  const run = train(ENCODER, TEXT, options);
  for (let i = 0; i < 3; i++) await run.next();
  const checkpoint = await run.checkpoint();
  await run.dispose();
  const { steps } = await ran(ENCODER, TEXT, { ...options, checkpoint });
  assert.ok(steps.length < 200);
  assert.deepEqual(steps, whole.steps.slice(-steps.length));
});
