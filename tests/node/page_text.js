// page_text.js - the modules that generate the page's text, without the page, for the tests of writing
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { applicable, readAddress } from '../../web/page/state/place/address.js';
import { followAddress } from '../../web/page/state/place/open_address.js';
import { initialState } from '../../web/page/state/store/state.js';
import { createCalls } from '../../web/page/state/calls/page_calls.js';

export const weights = fileURLToPath(new URL('../../weights/', import.meta.url));
export const dates = {
  weights: new Uint8Array(readFileSync(`${weights}dates/model.safetensors`)),
  config: JSON.parse(readFileSync(`${weights}dates/config.json`, 'utf8')),
  tokenizer: JSON.parse(readFileSync(`${weights}dates/tokenizer.json`, 'utf8')),
};
export const stories = new Uint8Array(readFileSync(`${weights}stories-1m.gguf`));

const all = [];
after(() => {
  for (const state of all) state.engine.model?.api.dispose();
});

/** Put values into groups of the state. */
export function change(state, patch) {
  for (const [group, values] of Object.entries(patch)) Object.assign(state[group], values);
}

/** A store that paints nothing, and what runs on it. */
export function made(patch = {}) {
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
  return { state, store, errors, calls: createCalls(store) };
}

/** A store with the small story model. */
export async function withStories(patch) {
  const all = made(patch);
  await all.calls.loadModel(stories, { name: 'a', address: 'weights/stories-1m.gguf' });
  return all;
}

/** A promise and the function that resolves it. */
export function gate() {
  let open = () => {};
  const opened = new Promise((resolve) => {
    open = () => resolve(undefined);
  });
  return { opened, open };
}

export const ids = (state) => state.text.tokens.map((t) => t.id);
export const given = (state) => state.text.tokens.filter((t) => t.given).map((t) => t.id);
export const branches = (state) => state.text.branches.map((b) => b.tokens.map((t) => t.id));
export const written = (state) => state.text.tokens.filter((t) => !t.given).map((t) => t.id);
/** What the library writes. */
export const generated = async (api, prompt, options) => Array.from((await api.complete(prompt, options)).ids);

export const CONFIG = { vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 2, dFf: 8, contextLength: 32 };

/** Whoever opens this address, as main.js brings them there. */
export async function opened(hash) {
  const asked = applicable(readAddress(hash));
  const there = made(asked.state);
  if (asked.made)
    assert.ok(await there.calls.make(asked.made.config, asked.made.seed, asked.opens), there.errors.join());
  else
    await there.calls.loadModel(dates, {
      name: 'dates',
      address: 'weights/dates/',
      opens: { prompt: '', source: 'x', stack: 'cross', ...asked.opens },
    });
  await followAddress(asked, there.store, there.calls);
  return there;
}
