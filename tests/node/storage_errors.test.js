// storage_errors.test.js - storage that is blocked or full
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { collect, refusal, stories } from './helpers.js';

describe('storage that is blocked or full', () => {
  const bytes = readFileSync(stories),
    fetch = async () => new Response(bytes, { headers: { 'content-length': String(bytes.length) } });
  const quota = () => new DOMException('the quota was exceeded', 'QuotaExceededError'),
    denied = () => new DOMException('the operation is insecure', 'SecurityError');
  /** A call that rejects. */
  const fails = (error) => async () => {
    throw error();
  };
  const withGlobals = async (globals, run) => {
    const before = Object.fromEntries(
      Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]),
    );
    for (const [name, value] of Object.entries(globals))
      Object.defineProperty(globalThis, name, { value, configurable: true });
    try {
      return await run();
    } finally {
      for (const [name, value] of Object.entries(before))
        if (value) Object.defineProperty(globalThis, name, value);
        else delete globalThis[name];
    }
  };
  const loads = (cache) => load('https://files.test/model.gguf', { fetch, cache });
  const generatedText = async (cache) => {
    const model = await loads(cache);
    const { ids } = await collect(model.generate('One', { maxTokens: 3, temperature: 0 }));
    const { warnings } = model;
    model.dispose();
    return { ids, warnings };
  };

  test('storage that cannot be opened is refused with code storage, and the message says what to change', async () => {
    for (const [cache, globals] of [
      ['cache-storage', { caches: { open: fails(denied) } }],
      ['opfs', { navigator: { storage: { getDirectory: async () => ({ getDirectoryHandle: fails(denied) }) } } }],
    ]) {
      const error = await withGlobals(globals, () => refusal(() => loads(cache)));
      assert.deepEqual([error.code, error.cause.name], ['storage', 'SecurityError']);
      assert.match(error.message, /allow this site to store data, or load with \{ cache: 'none' \}/);
    }
  });
  test('a cached marker for an absent file with unknown content is ignored', async () => {
    const notes = {
      open: async () => ({
        match: async (url) => (/absent/.test(url) ? new Response('not a status') : undefined),
        put: async () => {},
      }),
    };
    const offline = () =>
      load('https://files.test/model.gguf', {
        cache: 'cache-storage',
        fetch: async () => {
          throw new TypeError('no network');
        },
      });
    assert.match((await withGlobals({ caches: notes }, () => refusal(offline))).message, /no network/);
  });
  test('a cache that cannot be written or read does not fail the load, and a warning says so', async () => {
    const { ids, warnings } = await generatedText('none');
    const withWarning = (cache) => ({
      ids,
      warnings: [
        ...warnings,
        `the cache "${cache}" did not store https://files.test/model.gguf: the quota was exceeded`,
      ],
    });
    const stuck = { open: async () => ({ match: fails(denied), put: fails(quota) }) };
    assert.deepEqual(
      await withGlobals({ caches: stuck }, () => generatedText('cache-storage')),
      withWarning('cache-storage'),
    );
    const later = { write: fails(quota), abort: async () => {} };
    for (const getFileHandle of [
      async () => ({ getFile: fails(denied), createWritable: fails(quota) }),
      async () => ({ getFile: fails(denied), createWritable: async () => later }),
      fails(quota),
    ]) {
      const folder = { getFileHandle };
      assert.deepEqual(
        await withGlobals(
          { navigator: { storage: { getDirectory: async () => ({ getDirectoryHandle: async () => folder }) } } },
          () => generatedText('opfs'),
        ),
        withWarning('opfs'),
      );
    }
  });

  // An empty entry with sha256 was "Cannot read properties of null"; the page's service worker used the same cache.
  test('a file in the cache of an earlier version is moved, and downloaded again when it is wrong', async () => {
    for (const sha256 of [undefined, createHash('sha256').update(bytes).digest('hex')]) {
      for (const [content, requests] of [
        [bytes, 0],
        [bytes.subarray(0, 9000), 1],
        [new Uint8Array(bytes.length), 1],
        [null, 1],
      ]) {
        const stores = new Map([['glassformer', new Map([['https://files.test/model.gguf', content]])]]);
        let asked = 0;
        const counted = async () => {
          asked++;
          return fetch();
        };
        const options = { cache: 'cache-storage', fetch: counted, sha256 };
        await withGlobals({ caches: fakeCaches(stores) }, async () => {
          for (let i = 0; i < 2; i++) (await load('https://files.test/model.gguf', options)).dispose();
        });
        assert.equal(asked, requests);
        assert.equal(stores.get('glassformer').size, 0);
        assert.equal(stores.get('glassformer-models-1').size, 2, 'a record and one piece');
      }
    }
  });
});

/** Cache Storage in memory. @param {Map<string, Map<string, any>>} stores  by name: bodies by address */
function fakeCaches(stores) {
  return {
    has: async (name) => stores.has(name),
    open: async (name) => {
      if (!stores.has(name)) stores.set(name, new Map());
      const entries = stores.get(name);
      return {
        match: async (url) => (entries.has(url) ? new Response(entries.get(url)) : undefined),
        put: async (url, response) => entries.set(url, await response.arrayBuffer()),
        delete: async (url) => entries.delete(url),
      };
    },
  };
}
