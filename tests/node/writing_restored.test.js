// writing_restored.test.js - the page's text, choices and parts switched off, restored from an address or from texts left
// behind
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SAMPLER_OPTIONS, samplerDefaults } from '../../web/page/state/facts/sampler_options.js';
import { initialState } from '../../web/page/state/store/state.js';
import { addressOf, applicable, readAddress } from '../../web/page/state/place/address.js';
import { keepAddress } from '../../web/page/state/place/browser_history.js';
import { followAddress } from '../../web/page/state/place/open_address.js';
import { until } from '../patience.js';
import { logprobOf, row } from './helpers.js';
import { CONFIG, branches, given, ids, made, opened, stories, withStories, written } from './page_text.js';

// A key position of the source was checked against the text's length, a head of the encoder against the decoder's
// layers, and the stack was lost.
test('the address of an encoder-decoder restores stack, head, key and source position', async () => {
  const config = { ...CONFIG, kind: 'encoder_decoder', nEncoderLayers: 3 };
  const here = made({ text: { prompt: 'ab', source: 'one two three' }, engine: { pace: 'fast', maxTokens: 4 } });
  await here.calls.make(config, 3);
  await here.calls.write();
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
  const { state, store, calls } = made();
  await calls.make({ vocab_size: 64, d_model: 16, n_layers: 1, n_heads: 2, ffn: 'none' }, 1);
  await followAddress(readAddress('#off=0.1,0.ffn,0.n3,7.0'), store, calls);
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
  const here = made({ engine: { pace: 'fast', maxTokens: 5 }, text: { prompt: 'a' } });
  await here.calls.make(CONFIG, 3);
  await here.calls.setPrompt('twenty letters and 5 more');
  await here.calls.write();
  const { state } = await opened(addressOf(here.state));
  assert.deepEqual(ids(state), ids(here.state));
  assert.deepEqual([state.text.prompt, written(state).length], ['twenty letters and 5 more', 5]);
  const longer = made({ text: { prompt: 'twenty letters and 5 more' } });
  await longer.calls.make(CONFIG, 3);
  assert.equal(longer.state.text.prompt, 'twenty letters a', 'made by the button, it leaves room to write');
});

// The end of one text was appended to the beginning of another: its position had been counted in a text that no longer
// existed.
test('a previous text is restored completely, also after further branches', async () => {
  for (const [first, second] of [
    [10, 5],
    [5, 10],
  ]) {
    const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 20 } });
    await calls.write();
    const n = given(state).length;
    const texts = [];
    for (const at of [first, second]) {
      texts.push(ids(state));
      await calls.branch(n + at - 1, 300 + at);
    }
    texts.push(ids(state));
    for (const i of [0, 1, 0, 1]) {
      const want = state.text.branches[i].tokens.map((t) => t.id);
      await calls.returnToBranch(i);
      assert.deepEqual(ids(state), want);
      assert.deepEqual(
        [want, ...branches(state)].map(String).sort(),
        texts.map(String).sort(),
        'the three that were written',
      );
      const { logits } = await state.engine.model.api.forward(want);
      state.text.tokens.slice(n).forEach((t, k) => {
        const p = logprobOf(row(logits, n + k - 1), t.id);
        assert.ok(Math.abs(t.logprob - p) < 1e-3, `token ${k} of text ${i}: ${t.logprob}, expected ${p}`);
      });
    }
  }
});

// The token was refused, and yet drawn, with NaN for its probabilities.
test('an address with an id that the model has not brings the prompt alone', async () => {
  for (const id of ['-1', 'zzzzz']) {
    const asked = applicable(readAddress(`#model=weights/stories-1m.gguf&prompt=Once&ids=${id}`));
    const { state, store, errors, calls } = made(asked.state);
    await calls.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf', opens: asked.opens });
    await followAddress(asked, store, calls);
    assert.match(errors.join(), /^the link refers to token .*, but this model only has tokens 0 to 2047/i);
    assert.deepEqual(ids(state), await state.engine.model.api.encode('Once'));
  }
});

test('a text that was branched inside its prompt is restored from its address', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 6 } });
  await calls.write();
  const prompt = ids(state).slice(0, state.text.promptLength);
  await calls.branch(1, 300);
  const branched = ids(state),
    asked = readAddress(addressOf(state));
  assert.deepEqual(branched.slice(0, 3), [...prompt.slice(0, 2), 300]);
  assert.ok(branched.length > 3 && prompt.length > 3);
  await calls.returnToBranch(0);
  assert.equal(readAddress(addressOf(state)).kept, undefined);
  const other = made({ ...asked.state, engine: { pace: 'fast' } });
  await other.calls.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
  await followAddress(asked, other.store, other.calls);
  assert.deepEqual(ids(other.state), branched);
  assert.deepEqual(readAddress(addressOf(other.state)).ids, asked.ids);
  other.calls.rewind();
  await until(() => other.state.text.tokens.length === prompt.length);
  assert.deepEqual(ids(other.state), prompt);
});

// The prompt was still being read when the next text began: nothing was written.
test('a text that was branched inside its prompt is written again from the prompt', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 6 } });
  await calls.write();
  const whole = ids(state);
  await calls.branch(1, 300);
  assert.equal(state.engine.status, 'done');
  await Promise.all([calls.write(), calls.write()]); // pressed twice
  assert.deepEqual([ids(state), state.engine.status], [whole, 'done']);
});

test('an address selects the same token, of a text that goes on and of one whose next token is asked for', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 6 } });
  const opened = async (changes) => {
    const asked = readAddress(addressOf(state, changes)),
      other = made({ ...asked.state, engine: { pace: 'fast' } });
    await other.calls.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
    await followAddress(asked, other.store, other.calls);
    return other.state.text;
  };
  const assignment = { question: '', questions: [], concealed: ['next'] };
  for (const write of [() => calls.write(), () => calls.branch(4, 300)]) {
    await write();
    assert.equal((await opened()).cursor, state.text.cursor);
    const { cursor, tokens } = await opened({ assignment });
    assert.deepEqual([cursor, tokens.length], [state.text.cursor, state.text.cursor + 1]);
  }
});

test('a text and a prefix of it can be swapped, repeatedly', async () => {
  const { state, calls } = await withStories({ engine: { pace: 'fast', maxTokens: 12 } });
  await calls.write();
  const whole = ids(state),
    at = whole.length - 6;
  state.engine.pace = 'step';
  for (const id of [300, whole[at]]) await calls.branch(at - 1, id); // to another text and back
  for (const [present, left] of [
    [whole, whole.slice(0, at + 1)],
    [whole.slice(0, at + 1), whole],
  ]) {
    await calls.returnToBranch(0);
    assert.deepEqual([ids(state), branches(state)], [present, [left, [...whole.slice(0, at), 300]]]);
    for (const b of state.text.branches) assert.ok(b.tokens[b.at], 'it is called after a token');
  }
});

// An address that could not be opened was overwritten: reloading it opened another model.
test('the page does not change its address before a model is loaded', async (t) => {
  const { state, store, calls } = made();
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
    await calls.loadModel(new Uint8Array([1, 2, 3]), { name: 'broken', address: 'weights/stories-1m.gguf' });
    assert.equal(state.engine.status, 'empty');
    heard();
    t.mock.timers.tick(1000);
    assert.deepEqual(put, []);
    await calls.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
    heard();
    t.mock.timers.tick(1000);
    assert.equal(put.length, 1);
    assert.equal(readAddress(put[0]).model, 'weights/stories-1m.gguf');
  } finally {
    delete globalThis.history;
  }
});

test('each option of the sampler comes back from an address; a value out of its range is the default', () => {
  for (const [name, { default: usual, key, least, most, step, end = most }] of SAMPLER_OPTIONS) {
    const state = initialState();
    const other = typeof usual === 'boolean' ? !usual : usual === least ? end : least;
    state.sampler[name] = other;
    assert.deepEqual(readAddress(addressOf(state)).state.sampler, { ...samplerDefaults(), [name]: other });
    const wrong = typeof usual === 'boolean' ? ['', '2'] : ['', 'x', least - 1, most + 1, ...(step === 1 ? [1.5] : [])];
    for (const value of wrong)
      assert.equal(readAddress(`#${key}=${value}`).state.sampler[name], usual, `${key}=${value}`);
  }
});
