// writing.test.js - the module that generates the page's text, without the page: prefill, pace, changes during
// generation
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { READING_MS } from '../../web/page/state/base/speed.js';
import { sleep, until } from '../patience.js';
import { logprobOf, row } from './helpers.js';
import { change, dates, generated, given, ids, made, stories, withStories, written } from './page_text.js';

// A sleeping reader of the generator was woken by the flag of the next reader: each change during generation added a
// reader and made the text faster.
test('generation at reading pace keeps its pace when options change during it', async () => {
  const { state, calls } = await withStories();
  /** Tokens in six pauses: one reader writes eight at most, two write twelve. */
  const steady = async (what) => {
    await until(() => written(state).length > 0, what);
    const before = written(state).length,
      start = performance.now();
    await sleep(6 * READING_MS);
    const n = written(state).length - before,
      pauses = (performance.now() - start) / READING_MS;
    assert.ok(n <= pauses + 2, `${what}: ${n} tokens in ${pauses} pauses`);
    assert.equal(state.engine.status, 'running', what);
  };
  void calls.write();
  await sleep(300);
  for (const temperature of [0.7, 0.75, 0.8]) {
    await calls.setSampler({ temperature });
    await sleep(20);
  }
  await steady('a slider');
  await calls.setPrompt('Lily had a');
  void calls.write();
  await steady('another prompt');
  void calls.branch(state.text.cursor, 300);
  await steady('a branch');
  calls.stop();
  void calls.write();
  await steady('stopped and gone on');
  await calls.loadModel(stories, { name: 'b', address: 'b' });
  void calls.write();
  await steady('another model');
  calls.stop();
});

// Capturing every layer took a small model 15 to 20 % of its speed.
test('at full speed the layers that are shown are captured, and the others read when shown or at rest', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 60 }, view: { id: 'count' } });
  state.attention.head = { layer: 1, head: 0 };
  const { api, config } = state.engine.model;
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
  await calls.write();
  assert.deepEqual(asked.shift(), [point(1)], 'the selected layer');
  assert.ok(state.engine.speed.tokensPerSecond > 0, 'the speed of a text that takes a few ms');
  assert.deepEqual(state.attention.patterns.known(1), state.text.tokens.length - 1, 'its rows are there at once');
  await same();
  assert.deepEqual(asked.splice(0), [all.filter((layer) => layer !== 1).map(point)], 'one pass for the others');

  calls.rewind();
  afterSix = () => {
    state.attention.head = { layer: 2, head: 0 };
  };
  await calls.write();
  await same();
  assert.deepEqual(asked.slice(0, 2), [[point(1)], [point(2)]]);

  calls.rewind();
  change(state, { view: { id: 'inside' }, engine: { maxTokens: 8 } });
  asked.length = 0;
  await calls.write();
  assert.deepEqual(asked, [all.map(point)], 'the view of all heads');
  change(state, { engine: { pace: 'step', maxTokens: 9 }, view: { id: 'write' } });
  await calls.step();
  await same();
});

test("another seed during generation restarts the text, which equals the library's text of that seed", async () => {
  const { state, calls } = await withStories();
  void calls.write();
  await until(() => written(state).length > 2);
  await calls.setSampler({ seed: 5 });
  calls.rewind();
  void calls.write();
  await until(() => written(state).length > 2, 'three tokens of the new seed');
  assert.equal(state.engine.status, 'running');
  calls.stop();
  const now = written(state);
  const want = await generated(state.engine.model.api, given(state), { ...state.sampler, maxTokens: now.length });
  assert.deepEqual(now, want);
});

// The request opened a session with the old source, which was then also used for the new one.
test('next-token probabilities that are requested while the source changes belong to the new source', async () => {
  const { state, errors, calls } = made({
    text: { prompt: '', source: 'Friday the 13th of September, 2024' },
    engine: { pace: 'fast' },
    sampler: { temperature: 0, topK: 40, topP: 0.95, seed: 1, ignoreEos: false },
  });
  await calls.loadModel(dates, { name: 'dates', address: 'd' });
  for (let wait = 0; wait < 4; wait++) {
    await calls.setSource('Friday the 13th of September, 2024');
    await calls.write();
    const position = state.text.tokens.length - 2;
    state.text.logits.delete(position);
    const change = calls.setSource('3 JAN 2001');
    for (let i = 0; i < wait; i++) await null;
    void calls.wantLogits(position);
    await change;
    await calls.write();
    assert.match(state.text.tokens.map((t) => t.text).join(''), /2001-01-03$/);
    for (let p = 0; p < state.text.tokens.length; p++) await calls.wantLogits(p);
    const { data, shape } = (await state.engine.model.api.forward(ids(state), { source: '3 JAN 2001' })).logits;
    const [n, size] = shape;
    for (let p = 0; p < n; p++) {
      const apart = Math.max(...state.text.logits.get(p).map((x, i) => Math.abs(x - data[p * size + i])));
      assert.ok(apart < 1e-3, `asked ${wait} turns after the change: row ${p} is ${apart} apart`);
    }
  }
  assert.deepEqual(errors, []);
});

test('a prefill runs to its end, whichever buttons are pressed meanwhile', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 4 } });
  await calls.write();
  for (const press of [() => calls.rewind(), () => calls.branch(2, 300)]) {
    await calls.setPrompt('Once upon a time');
    const read = calls.setPrompt('Lily');
    void press();
    await read;
    assert.deepEqual(ids(state), await state.engine.model.api.encode('Lily'));
  }
});

test('a prompt that comes while the rows of the one before it are kept replaces it', async () => {
  const { state, calls } = await withStories();
  const { api } = state.engine.model,
    { forward } = api;
  let second;
  api.forward = async (...given) => {
    const out = await forward.apply(api, given);
    api.forward = forward;
    setImmediate(() => (second = calls.setPrompt('Lily')));
    return out;
  };
  await calls.setPrompt('word '.repeat(200));
  await until(() => second !== undefined);
  await second;
  assert.deepEqual(ids(state), await api.encode('Lily'));
});

// The prompt was thrown away and the text before it came back.
test('a prompt that is too long stays as typed without a text, and is cut to its end on request', async () => {
  const { state, errors, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 6 } });
  await calls.write();
  const { api } = state.engine.model;
  const long = `${'word '.repeat(600)}Lily saw a red ball`;
  const { length } = await api.encode(long);
  await calls.setPrompt(long);
  assert.deepEqual([state.text.prompt, state.text.tokens, errors], [long, [], []]);
  assert.deepEqual(state.text.over, { tokens: length, more: false });
  await calls.write(); // Run is off
  assert.deepEqual([state.text.tokens, state.engine.status], [[], 'ready']);
  await calls.cutPrompt();
  assert.equal(state.text.over, null);
  assert.ok(long.endsWith(state.text.prompt) && state.text.prompt.length < long.length);
  assert.ok(Math.abs(state.text.tokens.length - (api.contextLength - 6)) <= 2, `${state.text.tokens.length} tokens`);
  await calls.write();
  assert.equal(written(state).length, 6);
  await calls.setPrompt('Lily');
  assert.equal(state.view.error, '');
  await calls.write();
  assert.equal(written(state).length, 6);
  // another model may accept it
  await calls.make({ vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 1, dFf: 8, contextLength: 16 }, 1);
  await calls.setPrompt('12, 300');
  assert.match(state.view.error, /300/);
  assert.equal(state.text.tokens.length, 0);
  await calls.setPrompt('12, 30');
  assert.deepEqual(ids(state), [12, 30]);
  // a source too long for an encoder
  change(state, { text: { prompt: '', source: '3 JAN 2001' } });
  await calls.loadModel(dates, { name: 'dates', address: 'd' });
  await calls.setSource('3 JAN 2001 '.repeat(20));
  assert.match(state.view.error, /context/);
  assert.deepEqual(state.text.tokens, []);
  await calls.setSource('3 JAN 2001');
  await calls.write();
  assert.match(state.text.tokens.map((t) => t.text).join(''), /2001/);
});

test('a token limit changed during a pause takes effect, and the text equals an uninterrupted one', async () => {
  const { state, calls } = await withStories({ engine: { maxTokens: 12 } });
  const want = await generated(state.engine.model.api, given(state), { ...state.sampler, maxTokens: 24 });
  const pause = async () => {
    void calls.write();
    await until(() => written(state).length >= 3);
    calls.stop();
    await until(() => state.engine.status === 'paused');
    state.engine.pace = 'fast';
  };
  await pause();
  state.engine.maxTokens = 24;
  await calls.write();
  assert.deepEqual(
    [written(state), state.engine.status, state.engine.stopReason, state.text.pure],
    [want, 'done', 'maxTokens', true],
  );
  calls.rewind();
  state.engine.pace = 'reading';
  await pause();
  state.engine.maxTokens = 5;
  await calls.write();
  assert.deepEqual(
    [written(state), state.engine.status, state.engine.stopReason],
    [want.slice(0, 5), 'done', 'maxTokens'],
  );
  await calls.write();
  assert.deepEqual(written(state), want.slice(0, 5), 'run again');
  calls.rewind();
  state.engine.maxTokens = 1;
  await calls.step();
  await calls.step();
  assert.deepEqual([written(state), state.engine.status], [want.slice(0, 1), 'done']);
});

// Run was pressed between the end of the old generator and the cut: the text continued as if no token had been chosen.
test('a token chosen during generation is what the text continues from, whichever buttons are pressed', async () => {
  const { state, errors, calls } = made({ engine: { pace: 'fast', maxTokens: 300 } }); // still running when the token is chosen
  await calls.loadModel(stories, { name: 'a', address: 'a' });
  const start = given(state),
    id = 300;
  void calls.write();
  await until(() => written(state).length >= 4);
  const kept = written(state).slice(0, 2);
  void calls.branch(start.length + 1, id);
  void calls.branch(start.length + 1, id);
  for (let i = 0; i < 20; i++) {
    void calls.write();
    await null;
  }
  // its text may arrive after the first run has ended
  await until(() => state.text.branches.length > 0 && state.engine.status === 'done');
  const { api } = state.engine.model;
  const want = await generated(api, [...start, ...kept, id], { ...state.sampler, maxTokens: 297 });
  assert.deepEqual(written(state), [...kept, id, ...want]);
  assert.deepEqual([state.text.branches.length, errors], [1, []], 'chosen twice is chosen once');
  const before = await api.decode(start.slice(1));
  assert.equal(
    state.text.tokens[start.length + 2].text,
    (await api.decode([...start.slice(1), id])).slice(before.length),
  );
});

// The generator went on from the text before: it was opened while another prompt or source was read in its place.
test('Run, pressed while a source is read, writes what the model makes of the one that replaces it', async () => {
  const { state, calls } = made({ engine: { pace: 'fast' }, text: { prompt: '', source: 'one' } });
  await calls.loadModel(dates, { name: 'dates', address: 'weights/dates/' });
  const first = calls.setSource('3 May 2001');
  await Promise.all([first, calls.write(), calls.setSource('the 4th of June, 1999')]);
  await calls.write();
  const source = state.text.sourceTokens.map((t) => t.id),
    { api } = state.engine.model;
  assert.deepEqual(written(state), await generated(api, given(state), { ...state.sampler, source, maxTokens: 160 }));
});

// Only Stop ended the generation: the rest was generated at full speed.
test('switching to single steps during generation stops it after the current token', async () => {
  for (const pace of ['reading', 'fast']) {
    const { state, calls } = await withStories({ engine: { pace, maxTokens: 300 } });
    const whole = calls.write();
    await until(() => written(state).length >= 2);
    const before = written(state).length;
    state.engine.pace = 'step';
    await whole;
    assert.equal(state.engine.status, 'paused');
    assert.ok(written(state).length <= before + 1, `${written(state).length} tokens, ${before} when it was chosen`);
    const n = written(state).length;
    await calls.write();
    assert.equal(written(state).length, n + 1);
  }
});

// Every prefix was decoded before the prompt was refused: a long paste blocked the page for minutes.
test('a prompt longer than the context is encoded once and not decoded for each of its prefixes', async () => {
  const { state, calls } = await withStories();
  const { api } = state.engine.model,
    { decode } = api;
  let decoded = 0;
  api.decode = async (ids) => {
    decoded += ids.length;
    return decode.call(api, ids);
  };
  await calls.setPrompt('word '.repeat(10_000));
  assert.deepEqual([state.text.over.more, state.view.error, decoded], [true, '', 0]);
  assert.ok(state.text.over.tokens > 512);
  const prompt = ' Once upon “a” time, 狐 and 🦊\n\n'.repeat(8).trimEnd();
  const keys = Array.from({ length: 5 }, (_, i) => calls.setPrompt(prompt.slice(0, -5 + i))); // typed in the meantime
  await Promise.all([...keys, calls.setPrompt(prompt)]);
  const all = ids(state);
  assert.deepEqual(all, await api.encode(prompt));
  assert.ok(all.length > 100 && decoded < 40 * all.length, `${decoded} tokens decoded for ${all.length}`);
  for (let i = 0, text = ''; i < all.length; i++) {
    // each token has its own text; a character of several tokens belongs to the last of them
    text += state.text.tokens[i].text;
    assert.equal(text, (await decode.call(api, all.slice(0, i + 1))).replace(/\uFFFD+$/, ''), `up to token ${i}`);
  }
});

test('a token chosen from a text generated at full speed has its probability', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 6 } });
  await calls.write();
  state.engine.pace = 'step';
  const at = state.text.tokens.length - 3,
    { id, top } = state.text.tokens[at],
    other = top.find((t) => t.id !== id);
  assert.equal(state.text.logits.has(at - 1), false);
  await calls.branch(at - 1, other.id);
  const { logits } = await state.engine.model.api.forward(ids(state));
  const p = logprobOf(row(logits, at - 1), other.id);
  assert.ok(Math.abs(state.text.tokens[at].logprob - p) < 1e-3, `${state.text.tokens[at].logprob}, expected ${p}`);
});
