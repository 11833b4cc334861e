// service_worker.test.js - the page's service worker keeps its files in a cache of its own
//
// It shared the cache "glassformer" with the package, and deleted every file there that had /assets/ in its address and
// was not the page's.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { top } from './helpers.js';

const SCOPE = 'https://site.test/page/';
const OWN = `glassformer-page-1 ${SCOPE}`;

/**
 * The service worker with caches in memory.
 * @param {Record<string, Record<string, string>>} stored  types of responses by address, by name of the cache
 */
function start(stored) {
  /** @type {Map<string, Map<string, any>>} */
  const stores = new Map();
  const response = (/** @type {string} */ type) => ({
    type,
    status: 200,
    text: async () => '',
    clone: () => response(type),
  });
  for (const [name, entries] of Object.entries(stored))
    stores.set(name, new Map(Object.entries(entries).map(([url, type]) => [url, response(type)])));
  const urlOf = (/** @type {any} */ request) => request.url ?? request;
  const open = async (/** @type {string} */ name) => {
    const entries = stores.get(name) ?? new Map();
    stores.set(name, entries);
    return {
      keys: async () => [...entries.keys()].map((url) => ({ url })),
      match: async (/** @type {any} */ request) => entries.get(urlOf(request)),
      put: async (/** @type {any} */ request, /** @type {any} */ value) => entries.set(urlOf(request), value),
      add: async (/** @type {string} */ url) => entries.set(url, response('basic')),
      delete: async (/** @type {any} */ request) => entries.delete(urlOf(request)),
    };
  };
  const caches = {
    open,
    has: async (/** @type {string} */ name) => stores.has(name),
    delete: async (/** @type {string} */ name) => stores.delete(name),
    match: async (/** @type {any} */ request) =>
      [...stores.values()].map((entries) => entries.get(urlOf(request))).find((found) => found),
  };
  /** @type {Record<string, (event: any) => void>} */
  const listeners = {};
  const asked = /** @type {string[]} */ ([]);
  const context = createContext({
    caches,
    registration: { scope: SCOPE },
    location: new URL(SCOPE),
    clients: { claim: async () => {} },
    skipWaiting: () => {},
    URL,
    Response,
    addEventListener: (/** @type {string} */ name, /** @type {(event: any) => void} */ listener) => {
      listeners[name] = listener;
    },
    fetch: async (/** @type {any} */ request) => {
      asked.push(request.url);
      return response('basic');
    },
  });
  runInContext(readFileSync(join(top, 'web/page/public/sw.js'), 'utf8'), context);
  /** Dispatch an event; the result is what it waits for. */
  const send = (/** @type {string} */ name, /** @type {object} */ event = {}) =>
    new Promise((resolve) => {
      listeners[name]({ ...event, waitUntil: resolve, respondWith: resolve });
    });
  const kept = (/** @type {string} */ name) => [...(stores.get(name)?.keys() ?? [])].sort();
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
});
