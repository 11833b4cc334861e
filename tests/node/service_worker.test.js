// service_worker.test.js - the page's service worker keeps its files in a cache of its own
//
// It shared the cache "glassformer" with the package, and deleted every file there that had /assets/ in its address and
// was not the page's.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { SHIPPED, SHIPPED_BYTES } from '../../web/page/state/facts/shipped_models.js';
import { top } from './helpers.js';

const SCOPE = 'https://site.test/page/';
const OWN = `glassformer-page-1 ${SCOPE}`;

/** A response of this type. */
const response = (type, status = 200, text = async () => '') => ({
  type,
  status,
  headers: new Headers(),
  body: null,
  text,
  clone: () => response(type, status, text),
});

/**
 * The service worker with caches in memory.
 * @param {Record<string, Record<string, string>>} stored  types of responses by address, by name of the cache
 * @param {any} [answer]  to each request
 * @param {() => string} [text]  of each file that is stored
 */
function start(stored, answer = response('basic'), text = () => '') {
  const stores = new Map();
  for (const [name, entries] of Object.entries(stored))
    stores.set(
      name,
      new Map(Object.entries(entries).map(([url, type]) => [url, response(type, 200, async () => text())])),
    );
  const urlOf = (request) => request.url ?? request;
  const open = async (name) => {
    const entries = stores.get(name) ?? new Map();
    stores.set(name, entries);
    return {
      keys: async () => [...entries.keys()].map((url) => ({ url })),
      match: async (request) => entries.get(urlOf(request)),
      put: async (request, value) => entries.set(urlOf(request), value),
      add: async (url) =>
        entries.set(
          url,
          response('basic', 200, async () => text()),
        ),
      delete: async (request) => entries.delete(urlOf(request)),
    };
  };
  const caches = {
    open,
    has: async (name) => stores.has(name),
    delete: async (name) => stores.delete(name),
    match: async (request) => [...stores.values()].map((entries) => entries.get(urlOf(request))).find((found) => found),
  };
  const listeners = {};
  const asked = [];
  const context = createContext({
    caches,
    registration: { scope: SCOPE },
    location: new URL(SCOPE),
    clients: { claim: async () => {} },
    skipWaiting: () => {},
    URL,
    Response,
    addEventListener: (name, listener) => {
      listeners[name] = listener;
    },
    fetch: async (request) => {
      asked.push(request.url);
      return answer;
    },
  });
  runInContext(readFileSync(join(top, 'web/page/public/sw.js'), 'utf8'), context);
  /** Dispatch an event; the result is what it waits for. */
  const send = (name, event = {}) =>
    new Promise((resolve) => {
      listeners[name]({ ...event, waitUntil: resolve, respondWith: resolve });
    });
  const kept = (name) => [...(stores.get(name)?.keys() ?? [])].sort();
  return { send, kept, asked };
}

describe('the service worker of the page', () => {
  test('deletes only files of its own cache', async () => {
    const theirs = {
      'https://site.test/app/assets/model.gguf': 'default',
      'https://cdn.test/assets/m.gguf': 'default',
    };
    const worker = start({
      glassformer: theirs,
      'glassformer-models-1': theirs,
      [OWN]: { [`${SCOPE}assets/old.js`]: 'basic' },
    });
    await worker.send('activate');
    await worker.send('message', { data: { keep: [`${SCOPE}assets/new.js`] } });
    assert.deepEqual(worker.kept(OWN), [`${SCOPE}assets/new.js`]);
    for (const name of ['glassformer', 'glassformer-models-1'])
      assert.deepEqual(worker.kept(name), Object.keys(theirs).sort());
  });
  // A first visit fetched 12 MB of models and binaries, and asked afterwards whether 5.75 MB might be fetched.
  test('fetches models and binaries only where they are asked for, and nothing more for one who saves data', async () => {
    const script = `${SCOPE}assets/start-12345678.js`;
    const named = (/** @type {string} */ end) => `${SCOPE}assets/other-12345678.${end}`;
    const text = () => "import('./other-12345678.js'); fetch('other-12345678.wasm'); './other-12345678.css'";
    for (const [more, fetched] of [
      ['none', []],
      ['code', ['css', 'js']],
      ['all', ['css', 'js', 'wasm']],
    ]) {
      const worker = start({ [OWN]: { [script]: 'basic', [named('old')]: 'basic' } }, undefined, text);
      await worker.send('message', { data: { keep: [SCOPE, script], more } });
      const left = more === 'none' ? [named('old')] : []; // not all names are known
      assert.deepEqual(worker.kept(OWN), [SCOPE, script, ...fetched.map(named), ...left].sort(), more);
    }
  });
  test('the bytes that a visitor is told are those of the files', () => {
    const files = SHIPPED.flatMap(({ file, parts = [''] }) => parts.map((part) => join(top, file, part)));
    assert.equal(
      files.reduce((sum, file) => sum + statSync(file).size, 0),
      SHIPPED_BYTES,
    );
  });
  test('moves what an earlier version of the page has kept, and leaves the files of the package', async () => {
    const worker = start({
      glassformer: {
        [SCOPE]: 'basic',
        [`${SCOPE}assets/a.js`]: 'basic',
        [`${SCOPE}model.gguf`]: 'default',
        'https://site.test/other/': 'basic',
      },
    });
    await worker.send('activate');
    assert.deepEqual(worker.kept(OWN), [SCOPE, `${SCOPE}assets/a.js`]);
    assert.deepEqual(worker.kept('glassformer'), ['https://site.test/other/', `${SCOPE}model.gguf`]);
  });
  test('answers from its own cache only', async () => {
    const url = `${SCOPE}assets/a.js`;
    const request = { url, method: 'GET', headers: new Headers(), destination: 'script' };
    const worker = start({ other: { [url]: 'basic' } });
    await worker.send('fetch', { request });
    assert.deepEqual(worker.asked, [url]);
    await worker.send('fetch', { request });
    assert.deepEqual(worker.asked, [url]);
  });
  // A response was made of status 0, which is an error: the visit failed.
  test('with the isolation headers, an address that the host redirects opens', async () => {
    const request = { url: `${SCOPE}index.html`, method: 'GET', headers: new Headers(), destination: 'document' };
    for (const [answer, headers] of [
      [response('opaqueredirect', 0), []],
      [response('basic'), ['cross-origin-embedder-policy', 'cross-origin-opener-policy']],
    ]) {
      const worker = start({ [OWN]: { [`${SCOPE}isolated`]: 'basic' } }, answer); // the visitor has asked for them
      const { status, headers: had } = await worker.send('fetch', { request });
      assert.deepEqual([status, [...had.keys()].sort()], [answer.status, headers]);
    }
  });
});
