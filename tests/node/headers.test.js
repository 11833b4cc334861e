// headers.test.js - headers and tokens are sent to their origin and to no other, and never appear in an error
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { serveCut } from './cut_server.js';
import { golden, refused } from './helpers.js';

const bytes = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf')),
  SECRET = 'hf_secret-7f3a';
const part = (name) => ({ bytes: readFileSync(join(golden, 'llama_1tok', name)) });
const headers = { authorization: `Bearer ${SECRET}`, 'x-key': SECRET };
const carried = (request) => JSON.stringify(request.headers).includes(SECRET);

/**
 * Two origins: `home` may redirect requests to `away`.
 * @param {(urls: {home: any, away: any}) => Promise<void>} check
 * @param {(away: string) => Record<string, any>} files
 */
async function twoOrigins(files, check) {
  const away = await serveCut({ '/m.gguf': { bytes }, '/back.gguf': '' });
  const home = await serveCut(files(away.url));
  try {
    await check({ home, away });
  } finally {
    home.close();
    away.close();
  }
}

describe('headers', () => {
  for (const worker of [false, true]) {
    test(`are sent to the source's origin, in every form of the option${worker ? ', from a worker' : ''}`, async () => {
      await twoOrigins(
        () => ({ '/m.gguf': { bytes } }),
        async ({ home }) => {
          for (const form of [headers, Object.entries(headers), new Headers(headers)])
            (await load(`${home.url}m.gguf`, { headers: form, worker })).dispose();
          assert.equal(home.asked.length, 3);
          for (const request of home.asked)
            assert.deepEqual([request.headers.authorization, request.headers['x-key']], [`Bearer ${SECRET}`, SECRET]);
        },
      );
    });
    test(`are not sent to another origin after a redirect${worker ? ', from a worker' : ''}`, async () => {
      await twoOrigins(
        (away) => ({ '/m.gguf': `${away}m.gguf`, '/near.gguf': '/m.gguf' }),
        async ({ home, away }) => {
          (await load(`${home.url}near.gguf`, { headers, worker })).dispose();
          assert.deepEqual(home.asked.map(carried), [true, true], 'a redirect within the origin keeps them');
          assert.deepEqual(
            away.asked.map((r) => [r.path, carried(r)]),
            [['/m.gguf', false]],
          );
        },
      );
    });
  }
  test("are not sent after a redirect back, or to another server's parts and resumed downloads", async () => {
    await twoOrigins(
      (away) => ({
        '/m.gguf': `${away}m.gguf`,
        '/away': `${away}back`,
        '/end.gguf': { bytes },
        ...Object.fromEntries(['config.json', 'model.safetensors'].map((name) => [`/${name}`, part(name)])),
      }),
      async ({ home, away }) => {
        const files = { '/m.gguf': { bytes, cuts: [9000, 500] } };
        const cutting = await serveCut(files),
          near = await serveCut({ '/m.gguf': `${cutting.url}m.gguf` });
        (await load(`${near.url}m.gguf`, { headers })).dispose();
        assert.deepEqual(
          [near.asked.map(carried), cutting.asked.map(carried)],
          [
            [true, true, true],
            [false, false, false],
          ],
        );
        cutting.close();
        near.close();
        const third = await serveCut({ '/m.safetensors': part('model.safetensors') });
        (await load({ weights: `${third.url}m.safetensors`, config: `${home.url}config.json` }, { headers })).dispose();
        assert.deepEqual([third.asked.map(carried), home.asked.map(carried)], [[true], [false]]);
        third.close();
        const bounce = await serveCut({ '/back': `${home.url}end.gguf` }),
          start = await serveCut({ '/m.gguf': `${bounce.url}back` });
        (await load(`${start.url}m.gguf`, { headers })).dispose();
        assert.deepEqual(
          [start.asked.map(carried), bounce.asked.map(carried), home.asked.slice(1).map(carried)],
          [[true], [false], [false]],
        );
        bounce.close();
        start.close();
        assert.equal(away.asked.length, 0);
      },
    );
  });
  // requests.js checks once whether it runs in Node: here it is loaded as in a page.
  test('are not sent, in a page, to a part on another server', async () => {
    const node = Object.getOwnPropertyDescriptor(globalThis, 'process');
    Object.defineProperty(globalThis, 'process', { ...node, get: () => undefined });
    const { loadFetch } = await import('../../web/lib/files/transfer/requests.js?page').finally(() =>
      Object.defineProperty(globalThis, 'process', node),
    );
    const asked = [];
    const answer = async (url, init) => {
      asked.push([String(url), carried({ headers: [...new Headers(init?.headers)] }), init?.redirect]);
      return new Response('x');
    };
    const weights = 'https://home.example/m.safetensors',
      config = 'https://away.example/config.json';
    const fetch = loadFetch({ weights, config }, { headers: Object.entries(headers) }, answer);
    await fetch(weights);
    await fetch(config);
    assert.deepEqual(asked, [
      [weights, true, 'manual'],
      [config, false, undefined],
    ]);
  });
  test('endless redirects, and one without a target, are refused', async () => {
    const round = await serveCut({
      '/m.gguf': '/m.gguf',
      '/odd.gguf': 'ftp://h.example/m.gguf',
      '/bad.gguf': 'http://[',
    });
    await refused(load(`${round.url}m.gguf`, { headers }), 'network', /redirects more than 20 times/);
    await refused(load(`${round.url}odd.gguf`, { headers }), 'network', /redirects to "ftp:"/);
    await refused(load(`${round.url}bad.gguf`, { headers }), 'network', /no address/);
    round.close();
  });
  test('are quoted in no error message', async () => {
    const silent = (promise, code, words) =>
      assert.rejects(promise, (error) => {
        const said = [];
        for (let e = error; e; e = e.cause) said.push(String(e.message), String(e.stack), JSON.stringify(e));
        assert.ok(!said.join('\n').includes(SECRET) && !said.join('\n').includes('7f3a'), said.join('\n'));
        assert.ok([code].flat().includes(error.code), `${error.code}: ${error.message}`);
        assert.match(error.message, words);
        return true;
      });
    const server = await serveCut({});
    for (const worker of [false, true]) {
      await silent(load(`${server.url}no.gguf`, { headers, worker }), 'not-found', /404/);
      await silent(load('http://127.0.0.1:1/m.gguf', { headers, worker }), 'network', /request failed/);
      await silent(
        load('hf:owner/name/m.gguf', { token: SECRET, hfEndpoint: 'http://127.0.0.1:1', worker }),
        'network',
        /request failed/,
      );
      await silent(
        load(`${server.url}m.gguf`, { headers: { authorization: `Bearer ${SECRET}\n` + '\u0000' }, worker }),
        'bad-option',
        /headers: "authorization" or its value contains/,
      );
      await silent(load(`${server.url}m.gguf`, { headers: { range: SECRET }, worker }), 'bad-option', /"range"/);
      await silent(load('hf:owner/name/m.gguf', { token: `${SECRET} x`, worker }), 'bad-option', /token/);
      await silent(
        load(`${server.url}m.gguf`, { token: SECRET, worker }),
        'bad-option',
        /sources that begin with "hf:"/,
      );
      await silent(load('hf:owner/name/m.gguf', { token: SECRET, headers, worker }), 'bad-option', /both/);
      await silent(load(`${server.url}m.gguf`, { headers: SECRET, worker }), 'bad-option', /headers is of type string/);
      await silent(
        load('hf:owner/name/m.gguf', { token: { [SECRET]: 1 }, worker }),
        'bad-option',
        /token is of type object/,
      );
    }
    server.close();
    for (const o of [{ headers }, { token: 'x' }, { cacheDir: 'x' }])
      await refused(
        create({ d_model: 8, n_layers: 1, n_heads: 1, vocab_size: 9 }, o),
        'bad-option',
        /create has no option/,
      );
  });
});

describe('the access token of the hub', () => {
  const env = { ...process.env };
  afterEach(() => {
    for (const name of ['HF_TOKEN', 'HF_ENDPOINT'])
      if (env[name] === undefined) delete process.env[name];
      else process.env[name] = env[name];
  });
  const path = '/o/n/resolve/main/m.gguf';

  test("is sent to the hub's endpoint and not to where that redirects", async () => {
    await twoOrigins(
      (away) => ({ [path]: `${away}m.gguf` }),
      async ({ home, away }) => {
        for (const worker of [false, true])
          (await load('hf:o/n/m.gguf', { token: SECRET, hfEndpoint: home.url, worker })).dispose();
        assert.deepEqual(
          home.asked.map((r) => r.headers.authorization),
          [`Bearer ${SECRET}`, `Bearer ${SECRET}`],
        );
        assert.deepEqual(away.asked.map(carried), [false, false]);
      },
    );
  });
  test('from $HF_TOKEN is sent only to the hub or $HF_ENDPOINT', async () => {
    await twoOrigins(
      () => ({ [path]: { bytes }, '/m.gguf': { bytes } }),
      async ({ home }) => {
        process.env.HF_TOKEN = SECRET;
        (await load('hf:o/n/m.gguf', { hfEndpoint: home.url })).dispose();
        (await load(`${home.url}m.gguf`)).dispose();
        assert.deepEqual(home.asked.map(carried), [false, false]);
        process.env.HF_ENDPOINT = home.url;
        for (const worker of [false, true]) (await load('hf:o/n/m.gguf', { worker })).dispose();
        (await load('hf:o/n/m.gguf', { token: 'other' })).dispose();
        (await load('hf:o/n/m.gguf', { headers: { Authorization: 'Basic abc' } })).dispose();
        process.env.HF_TOKEN = `${SECRET}\nx`;
        await assert.rejects(
          load('hf:o/n/m.gguf'),
          (error) => error.code === 'bad-option' && /\$HF_TOKEN/.test(error.message) && !error.message.includes(SECRET),
        );
        assert.deepEqual(
          home.asked.slice(2).map((r) => r.headers.authorization),
          [`Bearer ${SECRET}`, `Bearer ${SECRET}`, 'Bearer other', 'Basic abc'],
        );
      },
    );
  });
  test('is mentioned in the error of a status 401', async () => {
    const locked = await serveCut({});
    const fetch = async () => new Response('', { status: 401, statusText: 'Unauthorized' });
    await refused(
      load('hf:o/n/m.gguf', { fetch, hfEndpoint: locked.url }),
      'network',
      /401 Unauthorized: the file does not exist, or it is private or gated; .*set token/,
    );
    locked.close();
  });
});
