// next_token.test.js - the panel "Next token" draws the probabilities with which the engine draws
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from '../../web/lib/api/index.js';
import { ruleOf } from '../../web/page/state/facts/sampler_options.js';
import { following } from '../../web/page/state/facts/token_probabilities.js';
import { createCalls } from '../../web/page/state/calls/page_calls.js';
import { initialState } from '../../web/page/state/store/state.js';
import { nextOf } from '../../web/page/views/write/candidates.js';
import { logitRow } from './helpers.js';

const stories = new Uint8Array(readFileSync(fileURLToPath(new URL('../../weights/stories-1m.gguf', import.meta.url))));
const close = (a, b, what) => assert.ok(Math.abs(a - b) < 1e-6, `${what}: ${a}, expected ${b}`);

describe('the page and the engine', () => {
  const state = initialState();
  const change = (patch) => {
    for (const [group, values] of Object.entries(patch)) Object.assign(state[group], values);
  };
  const calls = createCalls({ state, set: change, subscribe() {} });
  after(() => state.engine.model?.api.dispose());

  /** What the page draws after a row of logits, and the engine's probabilities. */
  async function both(values, sampler) {
    const { api } = state.engine.model,
      row = logitRow(api, values);
    change({ sampler: { topK: 0, topP: 1, temperature: 1, ...sampler } });
    state.text.logits.set(state.text.cursor, row);
    await calls.wantSampled(state.text.cursor, ruleOf(state.sampler));
    return { page: following(state, values.length), engine: await api.distribution(row, ruleOf(state.sampler)) };
  }

  // The page computed the sampler itself: it dropped tokens that tie with the k-th, and stopped as soon as the sum of
  // probabilities reached p, where the engine stops above p.
  test('ties at the k-th place and a sum of exactly p give the probabilities of the engine', async () => {
    await calls.loadModel(stories, { name: 'a', address: 'a' });
    for (const [values, sampler, drawable] of [
      [[3, 1, 2, 2, 2, 0], { topK: 2 }, 4],
      [[1, 1, 1, 1, -40], { topP: 0.5 }, 3],
      [[1, 1, 1, 1, -40], { topK: 2, topP: 0.25 }, 2],
      [[5, 1, 5, 0], { temperature: 0 }, 1],
      [[5, 1, 4, 0], { temperature: 0.5, topK: 3, topP: 0.9 }, 2],
      [[5, 1, 4, 0], {}, 2048],
    ]) {
      const { page, engine } = await both(values, sampler);
      assert.equal(page.drawable, drawable, JSON.stringify([values, sampler]));
      assert.equal(engine.filter((p) => p > 0).length, Math.min(drawable, values.length));
      for (const { id, sampled } of page.candidates) assert.equal(sampled, engine[id]);
    }
  });

  test('without top-k and top-p every token can be drawn, also one whose probability is 0 in a float', async () => {
    const { page } = await both([100, 0, -100], { temperature: 0.5 });
    assert.deepEqual([page.drawable, page.candidates[2].sampled], [2048, 0]);
    assert.ok(nextOf(state).rows.every((row) => !row.out));
  });

  test('the steps carry the probabilities of the sampler that drew them', async () => {
    await calls.setPrompt('Once upon a time');
    calls.setSampler({ temperature: 0.7, topK: 3, topP: 1 });
    await calls.step();
    const position = state.text.tokens.length - 2;
    change({ text: { cursor: position } });
    state.text.logits.delete(position);
    const carried = following(state, 10).candidates;
    assert.equal(carried.filter(({ sampled }) => sampled > 0).length, 3);
    await calls.wantLogits(position);
    await calls.wantSampled(position, ruleOf(state.sampler));
    const exact = following(state, 10);
    carried.forEach(({ id, text, model, sampled }, i) => {
      assert.equal(exact.candidates[i].id, id);
      assert.equal(exact.candidates[i].text, text, 'the words are those of the step');
      close(model, exact.candidates[i].model, 'model');
      close(sampled, exact.candidates[i].sampled, 'sampler');
    });
    calls.setSampler({ temperature: 0.9 });
    state.text.logits.delete(position);
    assert.ok(
      following(state, 10).candidates.every(({ sampled }) => sampled === null),
      'they are those of another sampler',
    );
  });
});

test('model.distribution is answered between the steps of a generation, in a worker too', async () => {
  for (const worker of [false, true]) {
    const model = await load(stories, { worker });
    const row = logitRow(model, [1, 2, 3]);
    await model.distribution(row);
    const options = { maxTokens: 500, temperature: 0, logprobs: 1, ignoreEos: true };
    let steps = 0,
      answered = 0;
    for await (const { top } of model.generate('Once', options)) {
      assert.equal(top[0].probability, 1);
      if (++steps === 20) void model.distribution(row).then(() => (answered = steps));
      if (answered) break;
    }
    assert.ok(answered >= 20 && answered < 500, `worker ${worker}: answered after step ${answered}`);
    model.dispose();
  }
});
