// writing.test.js - the module that generates the page's text, without the page: prefill, pace, changes during
// generation
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addressOf, applicable, readAddress } from '../../web/page/state/address.js';
import { keepAddress } from '../../web/page/state/browser_history.js';
import { followAddress } from '../../web/page/state/open_address.js';
import { initialState } from '../../web/page/state/state.js';
import { createRun } from '../../web/page/state/run.js';
import { spell, textsOf } from '../../web/page/state/words.js';
import { sleep, until } from '../patience.js';
import { logprobOf, row } from './helpers.js';

const weights = fileURLToPath(new URL('../../weights/', import.meta.url));
const dates = {
  weights: new Uint8Array(readFileSync(`${weights}dates/model.safetensors`)),
  config: JSON.parse(readFileSync(`${weights}dates/config.json`, 'utf8')),
  tokenizer: JSON.parse(readFileSync(`${weights}dates/tokenizer.json`, 'utf8')),
};
const stories = new Uint8Array(readFileSync(`${weights}stories-1m.gguf`));

const all = [];
after(() => {
  for (const state of all) state.run.model?.api.dispose();
});

/** Put values into groups of the state. */
function change(state, patch) {
  for (const [group, values] of Object.entries(patch)) Object.assign(state[group], values);
}

/** A store that paints nothing, and what runs on it. */
function made(patch = {}) {
  const state = initialState();
  change(state, { sampler: { ignoreEos: true }, text: { source: 'one' } });
  change(state, patch);
  const errors = [];
  const set = (p) => {
    change(state, p);
    if (p.view?.error) errors.push(p.view.error);
  };
  all.push(state);
  const store = { state, set, subscribe() {} };
  return { state, store, errors, run: createRun(store) };
}

/** A store with the small story model. */
async function withStories(patch) {
  const all = made(patch);
  await all.run.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
  return all;
}

/** A promise and the function that resolves it. */
function gate() {
  let open = () => {};
  const opened = new Promise((resolve) => {
    open = () => resolve(undefined);
  });
  return { opened, open };
}

const ids = (state) => state.text.tokens.map((t) => t.id);
const given = (state) => state.text.tokens.filter((t) => t.given).map((t) => t.id);
const branches = (state) => state.text.branches.map((b) => b.tokens.map((t) => t.id));
const written = (state) => state.text.tokens.filter((t) => !t.given).map((t) => t.id);
/** What the library writes. */
const generated = async (api, prompt, options) => Array.from((await api.complete(prompt, options)).ids);

// A sleeping reader of the generator was woken by the flag of the next reader: each change during generation added a
// reader and made the text faster.
test('generation at reading pace keeps its pace when options change during it', async () => {
  const { state, run } = await withStories();
  /** Tokens in six pauses: one reader writes seven at most, two write twelve. */
  const steady = async (what) => {
    await until(() => written(state).length > 0, what);
    const before = written(state).length,
      start = performance.now();
    await sleep(720);
    const n = written(state).length - before,
      pauses = (performance.now() - start) / 120;
    assert.ok(n <= pauses + 2, `${what}: ${n} tokens in ${pauses} pauses`);
    assert.equal(state.run.status, 'running', what);
  };
  void run.run();
  await sleep(300);
  for (const temperature of [0.7, 0.75, 0.8]) {
    await run.setSampler({ temperature });
    await sleep(20);
  }
  await steady('a slider');
  await run.setPrompt('Lily had a');
  void run.run();
  await steady('another prompt');
  void run.branch(state.text.cursor, 300);
  await steady('a branch');
  run.stop();
  void run.run();
  await steady('stopped and gone on');
  await run.loadModel(stories, { name: 'b', address: 'b' });
  void run.run();
  await steady('another model');
  run.stop();
});

// Capturing every layer took a small model 15 to 20 % of its speed.
test('at full speed the layers that are shown are captured, and the others read when shown or at rest', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 60 }, view: { id: 'count' } });
  state.attention.head = { layer: 1, head: 0 };
  const { api, config } = state.run.model;
  const asked = [];
  const { generate, forward } = api;
  let afterSix = () => {};
  api.generate = async function* (ids, options) {
    asked.push(options.capture);
    let n = 0;
    for await (const step of generate.call(api, ids, options)) {
      yield step;
      if (++n === 6) afterSix();
    }
  };
  api.forward = (ids, options) => {
    asked.push(options.capture);
    return forward.call(api, ids, options);
  };
  const point = (layer) => `blocks.${layer}.attn.hook_pattern`;
  const all = Array.from({ length: config.nLayers }, (_, layer) => layer);
  /** Every row is that of the library's own passes, token by token. */
  const same = async () => {
    const n = state.text.tokens.length - 1;
    await until(() => state.attention.patterns.length >= n, 'rows of every layer');
    const steps = generate.call(api, given(state), {
      ...state.sampler,
      maxTokens: written(state).length,
      capture: ['*pattern'],
    });
    let query = 0;
    for await (const { captured } of steps) {
      const [heads, queries, keys] = captured[point(0)].shape;
      for (let i = 0; i < queries; i++, query++)
        for (const layer of all)
          for (let head = 0; head < heads; head++)
            assert.deepEqual(
              state.attention.patterns.row(layer, head, query),
              captured[point(layer)].data.slice((head * queries + i) * keys).subarray(0, query + 1),
              `layer ${layer}, head ${head}, row ${query}`,
            );
    }
    assert.equal(query, n);
  };
  await run.run();
  assert.deepEqual(asked.shift(), [point(1)], 'the selected layer');
  assert.ok(state.run.speed.tokensPerSecond > 0, 'the speed of a text that takes a few ms');
  assert.deepEqual(state.attention.patterns.known(1), state.text.tokens.length - 1, 'its rows are there at once');
  await same();
  assert.deepEqual(asked.splice(0), [all.filter((layer) => layer !== 1).map(point)], 'one pass for the others');

  run.rewind();
  afterSix = () => {
    state.attention.head = { layer: 2, head: 0 };
  };
  await run.run();
  await same();
  assert.deepEqual(asked.slice(0, 2), [[point(1)], [point(2)]]);

  run.rewind();
  change(state, { view: { id: 'inside' }, run: { maxTokens: 8 } });
  asked.length = 0;
  await run.run();
  assert.deepEqual(asked, [all.map(point)], 'the view of all heads');
  change(state, { run: { pace: 'step', maxTokens: 9 }, view: { id: 'write' } });
  await run.step();
  await same();
});

test("another seed during generation restarts the text, which equals the library's text of that seed", async () => {
  const { state, run } = await withStories();
  void run.run();
  await until(() => written(state).length > 2);
  await run.setSampler({ seed: 5 });
  run.rewind();
  void run.run();
  await until(() => written(state).length > 2, 'three tokens of the new seed');
  assert.equal(state.run.status, 'running');
  run.stop();
  const now = written(state);
  const want = await generated(state.run.model.api, given(state), { ...state.sampler, maxTokens: now.length });
  assert.deepEqual(now, want);
});

// The request opened a session with the old source, which was then also used for the new one.
test('next-token probabilities that are requested while the source changes belong to the new source', async () => {
  const { state, errors, run } = made({
    text: { prompt: '', source: 'Friday the 13th of September, 2024' },
    run: { pace: 'fast' },
    sampler: { temperature: 0, topK: 40, topP: 0.95, seed: 1, ignoreEos: false },
  });
  await run.loadModel(dates, { name: 'dates', address: 'd' });
  for (let wait = 0; wait < 4; wait++) {
    await run.setSource('Friday the 13th of September, 2024');
    await run.run();
    const position = state.text.tokens.length - 2;
    state.text.logits.delete(position);
    const change = run.setSource('3 JAN 2001');
    for (let i = 0; i < wait; i++) await null;
    void run.wantLogits(position);
    await change;
    await run.run();
    assert.match(state.text.tokens.map((t) => t.text).join(''), /2001-01-03$/);
    for (let p = 0; p < state.text.tokens.length; p++) await run.wantLogits(p);
    const { data, shape } = (await state.run.model.api.forward(ids(state), { source: '3 JAN 2001' })).logits;
    const [n, size] = shape;
    for (let p = 0; p < n; p++) {
      const apart = Math.max(...state.text.logits.get(p).map((x, i) => Math.abs(x - data[p * size + i])));
      assert.ok(apart < 1e-3, `asked ${wait} turns after the change: row ${p} is ${apart} apart`);
    }
  }
  assert.deepEqual(errors, []);
});

test('a prefill runs to its end, whichever buttons are pressed meanwhile', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 4 } });
  await run.run();
  for (const press of [() => run.rewind(), () => run.branch(2, 300)]) {
    await run.setPrompt('Once upon a time');
    const read = run.setPrompt('Lily');
    void press();
    await read;
    assert.deepEqual(ids(state), await state.run.model.api.encode('Lily'));
  }
});

test('a prompt that comes while the rows of the one before it are kept replaces it', async () => {
  const { state, run } = await withStories();
  const { api } = state.run.model,
    { forward } = api;
  let second;
  api.forward = async (...given) => {
    const out = await forward.apply(api, given);
    api.forward = forward;
    setImmediate(() => (second = run.setPrompt('Lily')));
    return out;
  };
  await run.setPrompt('word '.repeat(200));
  await until(() => second !== undefined);
  await second;
  assert.deepEqual(ids(state), await api.encode('Lily'));
});

// The old text was shown under the new prompt, and the address belonged to neither.
test('a prompt that is too long leaves the text before it, one that cannot be read leaves none', async () => {
  const { state, errors, run } = await withStories({ run: { pace: 'fast', maxTokens: 6 } });
  await run.run();
  const { prompt, tokens } = state.text;
  await run.setPrompt('word '.repeat(600));
  assert.match(state.view.error, /^the prompt has \d+ tokens, the context holds \d+$/);
  assert.deepEqual([state.text.prompt, state.text.tokens, errors.length], [prompt, tokens, 1]);
  // Run was pressed while it was read: the text before it went on, and the refusal was gone
  void run.setPrompt('word '.repeat(600));
  await run.run();
  assert.match(state.view.error, /^the prompt has \d+ tokens/);
  assert.deepEqual([state.text.prompt, state.text.tokens], [prompt, tokens]);
  await run.setPrompt('Lily');
  assert.equal(state.view.error, '');
  await run.run();
  assert.equal(written(state).length, 6);
  // another model may accept it
  await run.make({ vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 1, dFf: 8, contextLength: 16 }, 1);
  await run.setPrompt('12, 300');
  assert.match(state.view.error, /300/);
  assert.equal(state.text.tokens.length, 0);
  await run.setPrompt('12, 30');
  assert.deepEqual(ids(state), [12, 30]);
  // a source too long for an encoder
  change(state, { text: { prompt: '', source: '3 JAN 2001' } });
  await run.loadModel(dates, { name: 'dates', address: 'd' });
  await run.setSource('3 JAN 2001 '.repeat(20));
  assert.match(state.view.error, /context/);
  assert.deepEqual(state.text.tokens, []);
  await run.setSource('3 JAN 2001');
  await run.run();
  assert.match(state.text.tokens.map((t) => t.text).join(''), /2001/);
});

// A file opened after `dates` kept its temperature 0, its empty prompt and its status.
test('a model without an opening, after one of another kind, takes back what that opening has set', async () => {
  const { state, run } = made({ run: { pace: 'fast', maxTokens: 12 } });
  const opens = { prompt: '', source: '3 JAN 2001', temperature: 0, stack: 'cross', examples: ['3 JAN 2001'] };
  await run.loadModel(dates, { name: 'dates', address: 'd', opens });
  await run.run();
  assert.deepEqual([state.run.status, state.text.prompt, state.sampler.temperature], ['done', '', 0]);
  await run.loadModel(stories, { name: 'mine.gguf' });
  assert.deepEqual(
    [
      state.run.status,
      state.run.stopReason,
      state.text.prompt,
      state.sampler.temperature,
      state.attention.stack,
      state.text.examples,
    ],
    ['ready', '', 'Once upon a time', 0.8, 'self', []],
  );
  assert.ok(state.text.tokens.length > 2);
  // what a visitor has set stays
  await run.loadModel(dates, { name: 'dates', address: 'd', opens });
  run.setSampler({ temperature: 1.2 });
  await run.setPrompt('20');
  await run.loadModel(stories, { name: 'mine.gguf' });
  assert.deepEqual([state.text.prompt, state.sampler.temperature], ['20', 1.2]);
});

test('an encoder, which predicts no tokens, generates none', async () => {
  const { state, run } = made({ text: { prompt: 'abc' } });
  await run.make({ kind: 'encoder', vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 1, dFf: 8, contextLength: 16 }, 1);
  await run.branch(1, 7);
  assert.deepEqual([ids(state), state.text.branches, state.run.status], [[97, 98, 99], [], 'ready']);
});

const CONFIG = { vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 2, dFf: 8, contextLength: 32 };

/** Whoever opens this address, as main.js brings them there. */
async function opened(hash) {
  const asked = applicable(readAddress(hash));
  const there = made(asked.state);
  if (asked.made) assert.ok(await there.run.make(asked.made.config, asked.made.seed, asked.opens), there.errors.join());
  else
    await there.run.loadModel(dates, {
      name: 'dates',
      address: 'weights/dates/',
      opens: { prompt: '', source: 'x', stack: 'cross', ...asked.opens },
    });
  await followAddress(asked, there.store, there.run);
  return there;
}

// A key position of the source was checked against the text's length, a head of the encoder against the decoder's
// layers, and the stack was lost.
test('the address of an encoder-decoder restores stack, head, key and source position', async () => {
  const config = { ...CONFIG, kind: 'encoder_decoder', nEncoderLayers: 3 };
  const here = made({ text: { prompt: 'ab', source: 'one two three' }, run: { pace: 'fast', maxTokens: 4 } });
  await here.run.make(config, 3);
  await here.run.run();
  for (const place of [
    { attention: { stack: 'encoder', head: { layer: 2, head: 1 }, key: 12 }, text: { sourceCursor: 4 } },
    { attention: { stack: 'cross', head: { layer: 0, head: 1 }, key: 11 }, text: { sourceCursor: 0 } },
    { attention: { stack: 'self', key: 3 } },
  ]) {
    here.store.set(place);
    const { state } = await opened(addressOf(here.state));
    for (const [group, values] of Object.entries(place))
      for (const [name, value] of Object.entries(values))
        assert.deepEqual(state[group][name], value, `${place.attention.stack}: ${name}`);
    assert.deepEqual(written(state), written(here.state));
  }
  // values that are out of range in that stack are ignored
  const { state } = await opened(
    addressOf(here.state)
      .replace(/stack=\w+/, 'stack=cross')
      .replace(/head=[\d.]+/, 'head=1.0')
      .replace(/key=\d+/, 'key=13')
      .replace(/source-at=\d+/, 'source-at=13'),
  );
  assert.deepEqual(
    [state.attention.stack, state.attention.head, state.attention.key, state.text.sourceCursor],
    ['cross', { layer: 0, head: 0 }, null, 12],
  );
  const self = await opened('#model=weights/dates/&source=3 JAN 2001&stack=self');
  assert.equal(self.state.attention.stack, 'self', 'in the place of what it opens with');
});

test("the stack in an address is ignored when the address's model is not available", () => {
  const away = applicable(readAddress('#from=mine&source=abc&stack=cross&source-at=1&key=1'));
  assert.deepEqual([away.stack, away.sourceAt, away.key, away.opens], [null, undefined, undefined, { source: 'abc' }]);
});

// The FFN of a model without any was switched off: every comparison failed with an unknown point.
test('of the parts that an address switches off those are on that the model has not', async () => {
  const { state, store, run } = made();
  await run.make({ vocab_size: 64, d_model: 16, n_layers: 1, n_heads: 2, ffn: 'none' }, 1);
  await followAddress(readAddress('#off=0.1,0.ffn,0.n3,7.0'), store, run);
  assert.deepEqual(state.attention.off, ['0.1']);
});

test('counts in an address must be whole numbers', () => {
  const { state, at, key, written: n } = readAddress('#k=2.5&seed=1.5&t=0.5&p=0.25&at=1.5&key=0.5&written=2.5');
  assert.deepEqual(
    [state.sampler, at, key, n],
    [{ temperature: 0.5, topK: 40, topP: 0.25, seed: 1337, ignoreEos: false }, undefined, undefined, undefined],
  );
  assert.equal(readAddress('#seed=4294967295').state.sampler.seed, 4294967295);
});

// The prompt was cut to half of the context, as the button does for another model's prompt: the text continued from
// another position.
test('an address restores a prompt longer than half of the context for a model with random weights', async () => {
  const here = made({ run: { pace: 'fast', maxTokens: 5 }, text: { prompt: 'a' } });
  await here.run.make(CONFIG, 3);
  await here.run.setPrompt('twenty letters and 5 more');
  await here.run.run();
  const { state } = await opened(addressOf(here.state));
  assert.deepEqual(ids(state), ids(here.state));
  assert.deepEqual([state.text.prompt, written(state).length], ['twenty letters and 5 more', 5]);
  const longer = made({ text: { prompt: 'twenty letters and 5 more' } });
  await longer.run.make(CONFIG, 3);
  assert.equal(longer.state.text.prompt, 'twenty letters a', 'made by the button, it leaves room to write');
});

test('a token limit changed during a pause takes effect, and the text equals an uninterrupted one', async () => {
  const { state, run } = await withStories({ run: { maxTokens: 12 } });
  const want = await generated(state.run.model.api, given(state), { ...state.sampler, maxTokens: 24 });
  const pause = async () => {
    void run.run();
    await until(() => written(state).length >= 3);
    run.stop();
    await until(() => state.run.status === 'paused');
    state.run.pace = 'fast';
  };
  await pause();
  state.run.maxTokens = 24;
  await run.run();
  assert.deepEqual(
    [written(state), state.run.status, state.run.stopReason, state.text.pure],
    [want, 'done', 'maxTokens', true],
  );
  run.rewind();
  state.run.pace = 'reading';
  await pause();
  state.run.maxTokens = 5;
  await run.run();
  assert.deepEqual([written(state), state.run.status, state.run.stopReason], [want.slice(0, 5), 'done', 'maxTokens']);
  await run.run();
  assert.deepEqual(written(state), want.slice(0, 5), 'run again');
  run.rewind();
  state.run.maxTokens = 1;
  await run.step();
  await run.step();
  assert.deepEqual([written(state), state.run.status], [want.slice(0, 1), 'done']);
});

test('of several models created at once the last one is kept and the others are disposed', async () => {
  const { state, run } = made({ text: { prompt: 'abc' } }),
    seen = new Set(),
    config = { ...CONFIG, dFf: 12 }; // a config that no other test uses
  await run.make(config, 1);
  const { prototype } = state.run.model.api.constructor,
    { points } = prototype;
  seen.add(state.run.model.api);
  const allCreated = gate();
  prototype.points = async function () {
    if (this.config.dFf === 12) seen.add(this);
    await allCreated.opened;
    return points.call(this);
  };
  try {
    const makings = [];
    for (const seed of [2, 3, 4]) {
      makings.push(run.make(config, seed));
      await until(() => seen.size === seed);
    }
    allCreated.open();
    assert.deepEqual(await Promise.all(makings), [false, false, true]);
  } finally {
    prototype.points = points;
  }
  const here = state.run.model.api;
  assert.deepEqual([seen.size, state.run.model.made.seed], [4, 4]);
  for (const api of seen) if (api !== here) await assert.rejects(api.forward([1]), /disposed/);
  assert.equal((await here.forward([1])).logits.shape[0], 1);
});

// Without the mask, rows and logits of a pass depend on the whole text: for a shorter text they differ.
test('without the causal mask, values are computed from the text up to the chosen token', async () => {
  const { state, run } = made({ text: { prompt: 'abcdef' }, run: { pace: 'fast', maxTokens: 4 } });
  await run.make({ ...CONFIG, causal: false }, 5);
  const { api } = state.run.model;
  const near = (a, b, what) => {
    assert.equal(a.length, b.length, what);
    a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) < 1e-4, `${what}: ${x} at ${i}, expected ${b[i]}`));
  };
  const check = async (what) => {
    const text = ids(state);
    for (let p = 0; p < text.length; p++) {
      await run.wantLogits(p);
      const { data } = (await api.forward(text.slice(0, p + 1))).logits;
      near(state.text.logits.get(p), data.slice(p * 256), `${what}: logits after ${p}`);
    }
    await run.wantRows();
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
  await run.run();
  assert.equal(written(state).length, 4);
  await check('the text');
  run.rewind();
  await check('the prompt again');
});

// Run was pressed between the end of the old generator and the cut: the text continued as if no token had been chosen.
test('a token chosen during generation is what the text continues from, whichever buttons are pressed', async () => {
  const { state, errors, run } = made({ run: { pace: 'fast', maxTokens: 300 } }); // still running when the token is chosen
  await run.loadModel(stories, { name: 'a', address: 'a' });
  const start = given(state),
    id = 300;
  void run.run();
  await until(() => written(state).length >= 4);
  const kept = written(state).slice(0, 2);
  void run.branch(start.length + 1, id);
  void run.branch(start.length + 1, id);
  for (let i = 0; i < 20; i++) {
    void run.run();
    await null;
  }
  // its text may arrive after the first run has ended
  await until(() => state.text.branches.length > 0 && state.run.status === 'done');
  const { api } = state.run.model;
  const want = await generated(api, [...start, ...kept, id], { ...state.sampler, maxTokens: 297 });
  assert.deepEqual(written(state), [...kept, id, ...want]);
  assert.deepEqual([state.text.branches.length, errors], [1, []], 'chosen twice is chosen once');
  const before = await api.decode(start.slice(1));
  assert.equal(
    state.text.tokens[start.length + 2].text,
    (await api.decode([...start.slice(1), id])).slice(before.length),
  );
});

// The end of one text was appended to the beginning of another: its position had been counted in a text that no longer
// existed.
test('a previous text is restored completely, also after further branches', async () => {
  for (const [first, second] of [
    [10, 5],
    [5, 10],
  ]) {
    const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 20 } });
    await run.run();
    const n = given(state).length;
    const texts = [];
    for (const at of [first, second]) {
      texts.push(ids(state));
      await run.branch(n + at - 1, 300 + at);
    }
    texts.push(ids(state));
    for (const i of [0, 1, 0, 1]) {
      const want = state.text.branches[i].tokens.map((t) => t.id);
      await run.takeUp(i);
      assert.deepEqual(ids(state), want);
      assert.deepEqual(
        [want, ...branches(state)].map(String).sort(),
        texts.map(String).sort(),
        'the three that were written',
      );
      const { logits } = await state.run.model.api.forward(want);
      state.text.tokens.slice(n).forEach((t, k) => {
        const p = logprobOf(row(logits, n + k - 1), t.id);
        assert.ok(Math.abs(t.logprob - p) < 1e-3, `token ${k} of text ${i}: ${t.logprob}, expected ${p}`);
      });
    }
  }
});

test('a text that was branched inside its prompt is restored from its address', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 6 } });
  await run.run();
  const prompt = ids(state).slice(0, state.text.promptLength);
  await run.branch(1, 300);
  const branched = ids(state),
    asked = readAddress(addressOf(state));
  assert.deepEqual(branched.slice(0, 3), [...prompt.slice(0, 2), 300]);
  assert.ok(branched.length > 3 && prompt.length > 3);
  await run.takeUp(0);
  assert.equal(readAddress(addressOf(state)).kept, undefined);
  const other = made({ ...asked.state, run: { pace: 'fast' } });
  await other.run.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
  await followAddress(asked, other.store, other.run);
  assert.deepEqual(ids(other.state), branched);
  assert.deepEqual(readAddress(addressOf(other.state)).ids, asked.ids);
  other.run.rewind();
  await until(() => other.state.text.tokens.length === prompt.length);
  assert.deepEqual(ids(other.state), prompt);
});

// The prompt was still being read when the next text began: nothing was written.
test('a text that was branched inside its prompt is written again from the prompt', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 6 } });
  await run.run();
  const whole = ids(state);
  await run.branch(1, 300);
  assert.equal(state.run.status, 'done');
  await Promise.all([run.run(), run.run()]); // pressed twice
  assert.deepEqual([ids(state), state.run.status], [whole, 'done']);
});

// The generator went on from the text before: it was opened while another prompt or source was read in its place.
test('Run, pressed while a source is read, writes what the model makes of the one that replaces it', async () => {
  const { state, run } = made({ run: { pace: 'fast' }, text: { prompt: '', source: 'one' } });
  await run.loadModel(dates, { name: 'dates', address: 'weights/dates/' });
  const first = run.setSource('3 May 2001');
  await Promise.all([first, run.run(), run.setSource('the 4th of June, 1999')]);
  await run.run();
  const source = state.text.sourceTokens.map((t) => t.id),
    { api } = state.run.model;
  assert.deepEqual(written(state), await generated(api, given(state), { ...state.sampler, source, maxTokens: 160 }));
});

test('an address selects the same token, of a text that goes on and of one whose next token is asked for', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 6 } });
  const opened = async (changes) => {
    const asked = readAddress(addressOf(state, changes)),
      other = made({ ...asked.state, run: { pace: 'fast' } });
    await other.run.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
    await followAddress(asked, other.store, other.run);
    return other.state.text;
  };
  const assignment = { question: '', questions: [], concealed: ['next'] };
  for (const write of [() => run.run(), () => run.branch(4, 300)]) {
    await write();
    assert.equal((await opened()).cursor, state.text.cursor);
    const { cursor, tokens } = await opened({ assignment });
    assert.deepEqual([cursor, tokens.length], [state.text.cursor, state.text.cursor + 1]);
  }
});

test('a text and a prefix of it can be swapped, repeatedly', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 12 } });
  await run.run();
  const whole = ids(state),
    at = whole.length - 6;
  state.run.pace = 'step';
  for (const id of [300, whole[at]]) await run.branch(at - 1, id); // to another text and back
  for (const [present, left] of [
    [whole, whole.slice(0, at + 1)],
    [whole.slice(0, at + 1), whole],
  ]) {
    await run.takeUp(0);
    assert.deepEqual([ids(state), branches(state)], [present, [left, [...whole.slice(0, at), 300]]]);
    for (const b of state.text.branches) assert.ok(b.tokens[b.at], 'it is called after a token');
  }
});

// What was asked while the switch waited held it up for ever.
test('an adapter is switched though the page asks about its text while another call is open', async () => {
  const { state, run } = await withStories();
  const session = await state.run.model.api.session();
  let switched = false;
  void run.setAdapter(null).then(() => (switched = true));
  await sleep(30);
  state.text.logits.clear();
  await run.wantLogits(0);
  session.close();
  await until(() => switched, 'the adapter was switched');
});

// Only Stop ended the generation: the rest was generated at full speed.
test('switching to single steps during generation stops it after the current token', async () => {
  for (const pace of ['reading', 'fast']) {
    const { state, run } = await withStories({ run: { pace, maxTokens: 300 } });
    const whole = run.run();
    await until(() => written(state).length >= 2);
    const before = written(state).length;
    state.run.pace = 'step';
    await whole;
    assert.equal(state.run.status, 'paused');
    assert.ok(written(state).length <= before + 1, `${written(state).length} tokens, ${before} when it was chosen`);
    const n = written(state).length;
    await run.run();
    assert.equal(written(state).length, n + 1);
  }
});

test('a model with fewer tokens than probability bars generates', async () => {
  const { state, errors, run } = made({ text: { prompt: 'abc' }, run: { pace: 'fast', maxTokens: 5 } });
  await run.make({ ...CONFIG, vocabSize: 4 }, 1);
  await run.run();
  assert.deepEqual([written(state).length, state.text.tokens.at(-1).top.length, errors], [5, 4, []]);
});

// The page showed an alert that the previous model was disposed.
test('calls to a model that is replaced meanwhile end without an error message', async () => {
  const { state, errors, run } = await withStories();
  await run.step();
  const { api } = state.run.model,
    { decode, forward } = api;
  const replaced = () => until(() => state.run.model.api !== api);
  api.decode = async (...args) => {
    await replaced();
    return decode.apply(api, args);
  };
  api.forward = async (...args) => {
    await replaced();
    return forward.apply(api, args);
  };
  const asked = [run.spell([300, 301]), run.wantRows()];
  await run.loadModel(stories, { name: 'b', address: 'b' });
  await assert.rejects(api.decode([1]), /disposed/);
  await Promise.all(asked);
  assert.deepEqual(errors, []);
  await run.spell([300]);
  assert.ok(state.text.words.get(300), 'learnt of the model that is there');
});

// An address that could not be opened was overwritten: reloading it opened another model.
test('the page does not change its address before a model is loaded', async (t) => {
  const { state, store, run } = made();
  let heard;
  store.subscribe = (_, told) => {
    heard = told;
  };
  const put = [];
  globalThis.history = {
    replaceState: (_, __, hash) => put.push(hash),
  };
  try {
    keepAddress(store);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await run.loadModel(new Uint8Array([1, 2, 3]), { name: 'broken', address: 'weights/stories-1m.gguf' });
    assert.equal(state.run.status, 'empty');
    heard();
    t.mock.timers.tick(1000);
    assert.deepEqual(put, []);
    await run.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
    heard();
    t.mock.timers.tick(1000);
    assert.equal(put.length, 1);
    assert.equal(readAddress(put[0]).model, 'weights/stories-1m.gguf');
  } finally {
    delete globalThis.history;
  }
});

// Every prefix was decoded before the prompt was refused: a long paste blocked the page for minutes.
test('a prompt longer than the context is encoded once and not decoded for each of its prefixes', async () => {
  const { state, run } = await withStories();
  const { api } = state.run.model,
    { decode } = api;
  let decoded = 0;
  api.decode = async (ids) => {
    decoded += ids.length;
    return decode.call(api, ids);
  };
  await run.setPrompt('word '.repeat(10_000));
  assert.match(state.view.error, /^the prompt has more than \d+ tokens, the context holds 512$/);
  assert.equal(decoded, 0);
  const prompt = ' Once upon “a” time, 狐 and 🦊\n\n'.repeat(8).trimEnd();
  const keys = Array.from({ length: 5 }, (_, i) => run.setPrompt(prompt.slice(0, -5 + i))); // typed in the meantime
  await Promise.all([...keys, run.setPrompt(prompt)]);
  const all = ids(state);
  assert.deepEqual(all, await api.encode(prompt));
  assert.ok(all.length > 100 && decoded < 40 * all.length, `${decoded} tokens decoded for ${all.length}`);
  for (let i = 0, text = ''; i < all.length; i++) {
    // each token has its own text; a character of several tokens belongs to the last of them
    text += state.text.tokens[i].text;
    assert.equal(text, (await decode.call(api, all.slice(0, i + 1))).replace(/\uFFFD+$/, ''), `up to token ${i}`);
  }
});

// The model with random weights replaced the model that was chosen after it, with a short prompt, and removed its
// progress bar.
test('a model that is chosen while another one is created replaces it', async () => {
  const { state, errors, run } = made();
  await run.make(CONFIG, 1);
  const { prototype } = state.run.model.api.constructor,
    { points } = prototype;
  const prompt = 'Once upon a time, there was a little girl';
  await run.setPrompt('abc');
  const chosen = gate(),
    compared = gate();
  prototype.points = async function () {
    if (this.config.vocabSize !== 256) chosen.open();
    await (this.config.vocabSize === 256 ? chosen : compared).opened;
    return points.call(this);
  };
  try {
    state.text.prompt = prompt;
    const making = run.make({ ...CONFIG, dFf: 16 }, 2);
    const loading = run.loadModel(stories, { name: 'chosen', address: 'a' });
    assert.equal(await making, false);
    assert.equal(state.run.progress?.name, 'chosen');
    compared.open();
    await loading;
  } finally {
    prototype.points = points;
  }
  assert.deepEqual([state.run.model.name, state.text.prompt, state.run.progress, errors], ['chosen', prompt, null, []]);
  assert.deepEqual(ids(state), await state.run.model.api.encode(prompt));
});

test('input before the first model is loaded is kept', async () => {
  const opens = { prompt: 'Once upon a time', temperature: 0.8 };
  const { state, run } = made({ text: { prompt: opens.prompt } });
  await run.setPrompt('Tom and Sue');
  run.setSampler({ temperature: 0.3 });
  // also after a load that fails
  await run.loadModel(new Uint8Array([1, 2, 3]), { name: 'broken', address: 'a', opens });
  await run.loadModel(stories, { name: 'a', address: 'a', opens });
  assert.deepEqual([state.text.prompt, state.sampler.temperature], ['Tom and Sue', 0.3]);
  assert.deepEqual(ids(state), await state.run.model.api.encode('Tom and Sue'));
  // a model of another kind opens with its own prompt
  await run.loadModel(dates, {
    name: 'dates',
    address: 'd',
    opens: { prompt: '', source: '3 JAN 2001', temperature: 0 },
  });
  assert.deepEqual([state.text.prompt, state.text.source, state.sampler.temperature], ['', '3 JAN 2001', 0]);
  // the text of an address is not restored: it belonged to another prompt
  const random = made();
  await random.run.setPrompt('bc');
  const asked = applicable(
    readAddress(`#made=${encodeURIComponent(JSON.stringify({ ...CONFIG, seed: 3 }))}&prompt=a&ids=1.2&head=0.1&at=2`),
  );
  await random.run.make(asked.made?.config, asked.made?.seed, asked.opens);
  await followAddress(asked, random.store, random.run);
  assert.deepEqual([ids(random.state), random.state.attention.head.head], [[98, 99], 1]);
});

test('a token chosen from a text generated at full speed has its probability', async () => {
  const { state, run } = await withStories({ run: { pace: 'fast', maxTokens: 6 } });
  await run.run();
  state.run.pace = 'step';
  const at = state.text.tokens.length - 3,
    { id, top } = state.text.tokens[at],
    other = top.find((t) => t.id !== id);
  assert.equal(state.text.logits.has(at - 1), false);
  await run.branch(at - 1, other.id);
  const { logits } = await state.run.model.api.forward(ids(state));
  const p = logprobOf(row(logits, at - 1), other.id);
  assert.ok(Math.abs(state.text.tokens[at].logprob - p) < 1e-3, `${state.text.tokens[at].logprob}, expected ${p}`);
});

test('ids that the tokenizer does not know have no text, and their neighbours keep theirs', async () => {
  const letters = new Map([...'abcdefgh'].map((letter, i) => [i, letter]));
  const api = {
    encode: async (text) => [...text].map((letter) => letter.charCodeAt(0) - 97),
    decode: async (ids) => {
      for (const id of ids)
        if (!letters.has(id)) throw Object.assign(new Error(`${id} is not the id of a token`), { code: 'bad-token' });
      return ids.map((id) => letters.get(id)).join('');
    },
  };
  const state = { run: { model: { api } }, text: { words: new Map() } };
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
