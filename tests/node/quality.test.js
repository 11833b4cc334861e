// quality.test.js - the loss of quality by quantised weights and int8 activations: the mean log-likelihood of stories
// that the shipped model was not trained on, compared with the same weights computed in f32
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { stories, top } from './helpers.js';

const BYTES = 30_000;
const held = join(top, '../shared/text/tinystories_valid.txt.xz');
const limits = { q8_0: 0.002, q4_0: 0.04 };

/** Stories one by one: 30 kB of the validation set where it lies beside the project, a few of our own otherwise. */
function texts() {
  let text = '';
  try {
    if (existsSync(held)) text = execFileSync('xz', ['-dc', held], { encoding: 'utf8', maxBuffer: 1 << 28 });
  } catch {
    /* no xz here */
  }
  const from = text ? 'validation stories' : 'stories of our own';
  text ||= readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8');
  const list = [];
  let n = 0;
  for (const story of text
    .split(/<\|endoftext\|>|\n\n\n|(?<=[.!?"])\n\n/)
    .map((s) => s.trim())
    .filter(Boolean)) {
    if (n >= BYTES) break;
    list.push(story);
    n += Buffer.byteLength(story);
  }
  return { list, from, n };
}

/** Mean of log p(token | those before it) over all stories, in nats. */
async function logLikelihood(dtype, list, file = stories) {
  const model = await load(file, { dtype });
  const v = model.config.vocabSize;
  let sum = 0,
    count = 0;
  try {
    for (const story of list) {
      const ids = (await model.encode(story)).slice(0, model.contextLength);
      const { data } = (await model.forward(ids)).logits;
      for (let i = 0; i + 1 < ids.length; i++) {
        const row = data.subarray(i * v, (i + 1) * v);
        let most = -Infinity,
          all = 0;
        for (const x of row) most = Math.max(most, x);
        for (const x of row) all += Math.exp(x - most);
        sum += row[ids[i + 1]] - most - Math.log(all);
        count++;
      }
    }
  } finally {
    model.dispose();
  }
  return { mean: sum / count, count };
}

test(
  'mean log-likelihood: q8_0 within 0.2 %, q4_0 within 4 % of f32',
  { skip: !existsSync(stories) && 'the shipped model is missing' },
  async (t) => {
    const { list, from, n } = texts();
    const { mean: exact, count } = await logLikelihood('f32', list);
    t.diagnostic(`f32: ${exact.toFixed(5)} nats a token, ${count} tokens, ${n} bytes of ${list.length} ${from}`);
    assert.ok(exact > -3 && exact < -1, `${exact} is no likelihood of a model that knows such stories`);
    for (const [dtype, limit] of Object.entries(limits)) {
      const { mean } = await logLikelihood(dtype, list);
      const change = Math.abs(mean / exact - 1);
      t.diagnostic(
        `${dtype}: ${mean.toFixed(5)} nats a token, ${(100 * (mean / exact - 1)).toFixed(3)} % from f32; at most ${100 * limit} %`,
      );
      assert.ok(change < limit, `${dtype}: ${mean}, f32: ${exact}`);
    }
  },
);

const [small, small4] = ['stories-1m.gguf', 'stories-1m-q4_0.gguf'].map((name) => join(top, 'weights', name));
test(
  'stories-1m-q4_0.gguf, quantised with error compensation, loses less than rounding, and less than 2.5 %',
  { skip: !existsSync(small4) && 'the shipped model is missing' },
  async (t) => {
    const { list, from } = texts();
    const { mean: exact } = await logLikelihood('f32', list, small),
      { mean: rounded } = await logLikelihood('q4_0', list, small),
      { mean: compensated } = await logLikelihood('keep', list, small4);
    const loss = (mean) => mean / exact - 1;
    t.diagnostic(`${from}: ${(100 * loss(compensated)).toFixed(2)} %, rounded ${(100 * loss(rounded)).toFixed(2)} %`);
    assert.ok(loss(compensated) < 0.025 && loss(compensated) < loss(rounded));
  },
);
