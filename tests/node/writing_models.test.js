// writing_models.test.js - the page's text when models are created, replaced and loaded, and models that are special
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, applicable, readAddress } from '../../web/page/state/place/address.js';
import { followAddress } from '../../web/page/state/place/open_address.js';
import { spell, textsOf } from '../../web/page/state/calls/ids_and_texts.js';
import { sleep, until } from '../patience.js';
import { golden, sameBits } from './helpers.js';
import { adapter } from './lora.js';
import { CONFIG, dates, gate, ids, made, stories, withStories, written } from './page_text.js';

// A file opened after `dates` kept its temperature 0, its empty prompt and its status.
test('a model without an opening, after one of another kind, takes back what that opening has set', async () => {
  const { state, calls } = made({ engine: { pace: 'fast', maxTokens: 12 } });
  const opens = { prompt: '', source: '3 JAN 2001', temperature: 0, stack: 'cross', examples: ['3 JAN 2001'] };
  await calls.loadModel(dates, { name: 'dates', address: 'd', opens });
  await calls.write();
  assert.deepEqual([state.engine.status, state.text.prompt, state.sampler.temperature], ['done', '', 0]);
  await calls.loadModel(stories, { name: 'mine.gguf' });
  assert.deepEqual(
    [
      state.engine.status,
      state.engine.stopReason,
      state.text.prompt,
      state.sampler.temperature,
      state.attention.stack,
      state.text.examples,
    ],
    ['ready', '', 'Once upon a time', 0.8, 'self', []],
  );
  assert.ok(state.text.tokens.length > 2);
  // what a visitor has set stays
  await calls.loadModel(dates, { name: 'dates', address: 'd', opens });
  calls.setSampler({ temperature: 1.2 });
  await calls.setPrompt('20');
  await calls.loadModel(stories, { name: 'mine.gguf' });
  assert.deepEqual([state.text.prompt, state.sampler.temperature], ['20', 1.2]);
});

test('an encoder, which predicts no tokens, generates none', async () => {
  const { state, calls } = made({ text: { prompt: 'abc' } });
  await calls.make({ kind: 'encoder', vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 1, dFf: 8, contextLength: 16 }, 1);
  await calls.branch(1, 7);
  assert.deepEqual([ids(state), state.text.branches, state.engine.status], [[97, 98, 99], [], 'ready']);
});

test('of several models created at once the last one is kept and the others are disposed', async () => {
  const { state, calls } = made({ text: { prompt: 'abc' } }),
    seen = new Set(),
    config = { ...CONFIG, dFf: 12 }; // a config that no other test uses
  await calls.make(config, 1);
  const { prototype } = state.engine.model.api.constructor,
    { points } = prototype;
  seen.add(state.engine.model.api);
  const allCreated = gate();
  prototype.points = async function () {
    if (this.config.dFf === 12) seen.add(this);
    await allCreated.opened;
    return points.call(this);
  };
  try {
    const makings = [];
    for (const seed of [2, 3, 4]) {
      makings.push(calls.make(config, seed));
      await until(() => seen.size === seed);
    }
    allCreated.open();
    assert.deepEqual(await Promise.all(makings), [false, false, true]);
  } finally {
    prototype.points = points;
  }
  const here = state.engine.model.api;
  assert.deepEqual([seen.size, state.engine.model.made.seed], [4, 4]);
  for (const api of seen) if (api !== here) await assert.rejects(api.forward([1]), /disposed/);
  assert.equal((await here.forward([1])).logits.shape[0], 1);
});

// Without the mask, rows and logits of a pass depend on the whole text: for a shorter text they differ.
test('without the causal mask, values are computed from the text up to the chosen token', async () => {
  const { state, calls } = made({ text: { prompt: 'abcdef' }, engine: { pace: 'fast', maxTokens: 4 } });
  await calls.make({ ...CONFIG, causal: false }, 5);
  const { api } = state.engine.model;
  const near = (a, b, what) => {
    assert.equal(a.length, b.length, what);
    a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) < 1e-4, `${what}: ${x} at ${i}, expected ${b[i]}`));
  };
  const check = async (what) => {
    const text = ids(state);
    for (let p = 0; p < text.length; p++) {
      await calls.wantLogits(p);
      const { data } = (await api.forward(text.slice(0, p + 1))).logits;
      near(state.text.logits.get(p), data.slice(p * 256), `${what}: logits after ${p}`);
    }
    await calls.wantRows();
    const { captured } = await api.forward(text, { capture: ['blocks.0.attn.hook_pattern'] });
    const { data } = captured['blocks.0.attn.hook_pattern'],
      n = text.length;
    for (let q = 0; q < n; q++)
      for (let h = 0; h < 2; h++)
        near(
          state.attention.patterns.row(0, h, q),
          data.slice((h * n + q) * n, (h * n + q + 1) * n),
          `${what}: row ${q} of head ${h}`,
        );
  };
  await check('the prompt');
  await calls.write();
  assert.equal(written(state).length, 4);
  await check('the text');
  calls.rewind();
  await check('the prompt again');
});

// What was asked while the switch waited held it up for ever.
test('an adapter is switched though the page asks about its text while another call is open', async () => {
  const { state, calls } = await withStories();
  const session = await state.engine.model.api.session();
  let switched = false;
  void calls.setAdapter(null).then(() => (switched = true));
  await sleep(30);
  state.text.logits.clear();
  await calls.wantLogits(0);
  session.close();
  await until(() => switched, 'the adapter was switched');
});

// The options with which a visitor had loaded a model, and an adapter in use, were left out.
test('without a part a model is the loaded one in all else', async () => {
  const same = async () => {
    const broken = await calls.without([], new AbortController().signal);
    const [found, want] = [await broken.forward(IDS), await state.engine.model.api.forward(IDS)];
    broken.dispose();
    assert.ok(sameBits(found.logits.data, want.logits.data));
  };
  const IDS = [3, 1, 4, 1, 5];
  const { state, store, errors, calls } = made({ text: { prompt: '3 1 4' }, engine: { pace: 'fast', maxTokens: 4 } });
  const source = `${golden}/llama_gqa_f16/`;
  await calls.loadModel(source, { name: 'a', address: 'a/', options: { dtype: 'q8_0' } });
  await same();
  await calls.loadModel(source, { name: 'a', address: 'a/', options: { config: { rope_theta: 500 } } });
  await same();
  const { weights, config } = adapter({ 'model.layers.0.self_attn.q_proj': [64, 64] });
  await calls.setAdapter({ api: state.engine.model.api, files: { weights, config } });
  await same();
  await calls.write();
  assert.match(addressOf(store.state), /&ids=/, 'no address has the adapter');
  calls.rewind();
  await calls.setAdapter(null);
  await calls.write();
  assert.match(addressOf(store.state), /&written=/);
  assert.deepEqual(errors, []);
});

test('a model with fewer tokens than probability bars generates', async () => {
  const { state, errors, calls } = made({ text: { prompt: 'abc' }, engine: { pace: 'fast', maxTokens: 5 } });
  await calls.make({ ...CONFIG, vocabSize: 4 }, 1);
  await calls.write();
  assert.deepEqual([written(state).length, state.text.tokens.at(-1).top.length, errors], [5, 4, []]);
});

// The page showed an alert that the previous model was disposed.
test('calls to a model that is replaced meanwhile end without an error message', async () => {
  const { state, errors, calls } = await withStories();
  await calls.step();
  const { api } = state.engine.model,
    { decode, forward } = api;
  const replaced = () => until(() => state.engine.model.api !== api);
  api.decode = async (...args) => {
    await replaced();
    return decode.apply(api, args);
  };
  api.forward = async (...args) => {
    await replaced();
    return forward.apply(api, args);
  };
  const asked = [calls.spell([300, 301]), calls.wantRows()];
  await calls.loadModel(stories, { name: 'b', address: 'b' });
  await assert.rejects(api.decode([1]), /disposed/);
  await Promise.all(asked);
  assert.deepEqual(errors, []);
  await calls.spell([300]);
  assert.ok(state.text.words.get(300), 'learnt of the model that is there');
});

// The model with random weights replaced the model that was chosen after it, with a short prompt, and removed its
// progress bar.
test('a model that is chosen while another one is created replaces it', async () => {
  const { state, errors, calls } = made();
  await calls.make(CONFIG, 1);
  const { prototype } = state.engine.model.api.constructor,
    { points } = prototype;
  const prompt = 'Once upon a time, there was a little girl';
  await calls.setPrompt('abc');
  const chosen = gate(),
    compared = gate();
  prototype.points = async function () {
    if (this.config.vocabSize !== 256) chosen.open();
    await (this.config.vocabSize === 256 ? chosen : compared).opened;
    return points.call(this);
  };
  try {
    state.text.prompt = prompt;
    const making = calls.make({ ...CONFIG, dFf: 16 }, 2);
    const loading = calls.loadModel(stories, { name: 'chosen', address: 'a' });
    assert.equal(await making, false);
    assert.equal(state.engine.progress?.name, 'chosen');
    compared.open();
    await loading;
  } finally {
    prototype.points = points;
  }
  assert.deepEqual(
    [state.engine.model.name, state.text.prompt, state.engine.progress, errors],
    ['chosen', prompt, null, []],
  );
  assert.deepEqual(ids(state), await state.engine.model.api.encode(prompt));
});

test('input before the first model is loaded is kept', async () => {
  const opens = { prompt: 'Once upon a time', temperature: 0.8 };
  const { state, calls } = made({ text: { prompt: opens.prompt } });
  await calls.setPrompt('Tom and Sue');
  calls.setSampler({ temperature: 0.3 });
  // also after a load that fails
  await calls.loadModel(new Uint8Array([1, 2, 3]), { name: 'broken', address: 'a', opens });
  await calls.loadModel(stories, { name: 'a', address: 'a', opens });
  assert.deepEqual([state.text.prompt, state.sampler.temperature], ['Tom and Sue', 0.3]);
  assert.deepEqual(ids(state), await state.engine.model.api.encode('Tom and Sue'));
  // a model of another kind opens with its own prompt
  await calls.loadModel(dates, {
    name: 'dates',
    address: 'd',
    opens: { prompt: '', source: '3 JAN 2001', temperature: 0 },
  });
  assert.deepEqual([state.text.prompt, state.text.source, state.sampler.temperature], ['', '3 JAN 2001', 0]);
  // the text of an address is not restored: it belonged to another prompt
  const random = made();
  await random.calls.setPrompt('bc');
  const asked = applicable(
    readAddress(`#made=${encodeURIComponent(JSON.stringify({ ...CONFIG, seed: 3 }))}&prompt=a&ids=1.2&head=0.1&at=2`),
  );
  await random.calls.make(asked.made?.config, asked.made?.seed, asked.opens);
  await followAddress(asked, random.store, random.calls);
  assert.deepEqual([ids(random.state), random.state.attention.head.head], [[98, 99], 1]);
});

test('ids that the tokenizer does not know have no text, and their neighbours keep theirs', async () => {
  const letters = new Map([...'abcdefgh'].map((letter, i) => [i, letter]));
  const api = {
    tokens: async (ids) => ids.map((id) => ({ id, text: letters.get(id) ?? '' })),
  };
  const state = { engine: { model: { api } }, text: { words: new Map() } };
  const failures = [];
  const runtime = {
    state,
    set() {},
    model: () => api,
    spelling: Promise.resolve(),
    fail: (error) => failures.push(error),
  };
  assert.deepEqual(await textsOf(runtime, [0, 1, 99, 2, 3]), ['a', 'b', '', 'c', 'd']);
  await spell(runtime, [1, 99]);
  assert.deepEqual(
    [...state.text.words],
    [
      [1, 'b'],
      [99, '[99]'],
    ],
  );
  assert.deepEqual(failures, []);
});

// A visitor's own file was called gemma.gguf.
test('a file of the visitor has the name that stands in it, a model of the page its own', async () => {
  const { state, calls } = await withStories();
  assert.equal(state.engine.model.name, 'a');
  await calls.loadModel(stories, { name: 'story.gguf' });
  assert.deepEqual([state.engine.model.name, state.engine.model.api.name], ['stories-1m', 'stories-1m']);
});
