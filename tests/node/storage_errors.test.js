// storage_errors.test.js - storage that is blocked or full
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { collect, refusal, stories } from './helpers.js';

describe('storage that is blocked or full', () => {
  const bytes = readFileSync(stories),
    fetch = async () => new Response(bytes, { headers: { 'content-length': String(bytes.length) } });
  const quota = () => new DOMException('the quota was exceeded', 'QuotaExceededError'),
    denied = () => new DOMException('the operation is insecure', 'SecurityError');
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
      [
        'cache-storage',
        {
          caches: {
            open: async () => {
              throw denied();
            },
          },
        },
      ],
      [
        'opfs',
        {
          navigator: {
            storage: {
              getDirectory: async () => ({
                getDirectoryHandle: async () => {
                  throw denied();
                },
              }),
            },
          },
        },
      ],
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
    const stuck = {
      open: async () => ({
        match: async () => {
          throw denied();
        },
        put: async () => {
          throw quota();
        },
      }),
    };
    assert.deepEqual(
      await withGlobals({ caches: stuck }, () => generatedText('cache-storage')),
      withWarning('cache-storage'),
    );
    const full = {
      getFileHandle: async () => ({
        getFile: async () => {
          throw denied();
        },
        createWritable: async () => {
          throw quota();
        },
      }),
    };
    const later = {
      getFileHandle: async () => ({
        getFile: async () => {
          throw denied();
        },
        createWritable: async () => ({
          write: async () => {
            throw quota();
          },
          abort: async () => {},
        }),
      }),
    };
    for (const folder of [
      full,
      later,
      {
        getFileHandle: async () => {
          throw quota();
        },
      },
    ]) {
      assert.deepEqual(
        await withGlobals(
          { navigator: { storage: { getDirectory: async () => ({ getDirectoryHandle: async () => folder }) } } },
          () => generatedText('opfs'),
        ),
        withWarning('opfs'),
      );
    }
  });
});
