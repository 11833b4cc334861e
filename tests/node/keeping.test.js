// keeping.test.js - checksums and caches of downloads; objects are not freed while they are in use, and are freed
// afterwards
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { GlassformerError, load } from '../../web/lib/api/index.js';
import { PATIENCE } from '../patience.js';
import { golden, refused, top } from './helpers.js';

const sum = (bytes) => createHash('sha256').update(bytes).digest('hex');
const wrong = '0'.repeat(64);
const [file, newer] = ['gguf_llama_q8_0', 'gguf_llama_q4_0'].map((name) =>
  readFileSync(join(golden, name, 'model.gguf')),
);
/** A fetch for files by the last part of their address. */
const serving = (files) => async (url) => {
  const bytes = files[decodeURIComponent(String(url)).split('/').at(-1)];
  return bytes
    ? new Response(bytes, { headers: { 'content-length': String(bytes.length) } })
    : new Response('', { status: 404 });
};
/** What a page gets from elsewhere, compressed on the way: its length is told and its encoding is not. */
const fromAfar = async () =>
  Object.defineProperty(new Response(file, { headers: { 'content-length': String(file.length >> 1) } }), 'type', {
    value: 'cors',
  });

describe('checksums', () => {
  test('are checked for the weights, for every spelling of their address', async () => {
    for (const name of ['a.gguf', 'a+b.gguf', 'a b.gguf']) {
      const fetch = serving({ [name]: file });
      await refused(load(`hf:o/n/${name}`, { fetch, sha256: wrong }), 'bad-file', /SHA-256/);
      (await load(`hf:o/n/${name}`, { fetch, sha256: sum(file) })).dispose();
    }
  });
  // Of a GGUF in parts the first one alone was checked, and the others loaded as they came.
  test('are refused for a model in parts', async () => {
    for (const at of ['hf:o/n/', 'https://h.example/', '/'])
      await refused(load(`${at}m-00001-of-00002.gguf`, { sha256: wrong }), 'bad-option', /several files/);
  });
  test('are not checked for the files beside the weights', async () => {
    const part = (name) => readFileSync(`${top}weights/dates/${name}`),
      weights = part('model.safetensors');
    const source = {
      weights: new Blob([weights]),
      config: 'https://h.example/config.json',
      tokenizer: 'https://h.example/tokenizer.json',
    };
    const fetch = serving({ 'config.json': part('config.json'), 'tokenizer.json': part('tokenizer.json') });
    const model = await load(source, { fetch, sha256: sum(weights) });
    assert.equal(model.config.kind, 'encoder_decoder');
    model.dispose();
    await refused(load(source, { fetch, sha256: wrong }), 'bad-file', /the blob given: its SHA-256/);
  });
  test('are not checked where the caller turns them off', async () => {
    const controller = new AbortController();
    class Endless extends Blob {
      stream() {
        const pull = (stream) => {
          if (++pulls === 5) controller.abort(new Error('enough'));
          stream.enqueue(new Uint8Array(1000));
        };
        return new ReadableStream({ pull });
      }
    }
    let pulls = 0;
    await assert.rejects(load(new Endless(['x']), { sha256: wrong, signal: controller.signal }), /enough/);
  });
});

test("a Content-Length that may count compressed bytes is not compared with the file's length", async () => {
  for (const options of [{}, { sha256: sum(file) }, { worker: true }])
    (await load('https://h.example/a.gguf', { fetch: fromAfar, ...options })).dispose();
});

describe('a browser cache', () => {
  const cached = new Map();
  const isStored = (url) => [...cached.keys()].some((key) => key.startsWith(url) && key.endsWith('=complete'));
  beforeEach(() => {
    cached.clear();
    globalThis.caches = {
      open: async () => ({
        match: async (url) => cached.get(url)?.clone(),
        put: async (url, response) => {
          cached.set(url, new Response(await response.arrayBuffer(), { headers: response.headers }));
        },
      }),
    };
  });
  afterEach(() => {
    delete globalThis.caches;
  });
  /** A folder as Hugging Face lays it out, without what is optional. */
  const hub = Object.fromEntries(
    ['config.json', 'model.safetensors'].map((name) => [name, readFileSync(join(golden, 'llama_1tok', name))]),
  );
  const offline = async () => {
    throw new TypeError('fetch failed');
  };
  const checkpointOf = async (fetch) => {
    const model = await load('https://h.example/m/', { fetch, cache: 'cache-storage' });
    model.dispose();
    return model;
  };

  test('downloads again when its copy has another checksum', async () => {
    let requests = 0;
    const visit = async (bytes) => {
      const fetch = (url) => {
        requests++;
        return serving({ 'm.gguf': bytes })(url);
      };
      const seen = [];
      (
        await load('https://h.example/m.gguf', {
          fetch,
          cache: 'cache-storage',
          sha256: sum(bytes),
          onProgress: (p) => p.phase === 'download' && seen.push(p.fromCache),
        })
      ).dispose();
      return seen.at(-1);
    };
    assert.deepEqual([await visit(file), requests], [false, 1]);
    assert.deepEqual([await visit(file), requests], [true, 1]);
    assert.deepEqual([await visit(newer), requests], [false, 2]);
    assert.deepEqual([await visit(newer), requests], [true, 2]);
  });
  // Without a network, the first optional file that a folder lacks failed the load.
  test('remembers absent files without a network, and asks for them again with one', async () => {
    await refused(checkpointOf(offline), 'network', /config\.json.*fetch failed/);
    await checkpointOf(serving(hub));
    await checkpointOf(offline);
    assert.ok(
      (
        await checkpointOf(serving({ ...hub, 'generation_config.json': Buffer.from('{"eos_token_id":[7]}') }))
      ).special.eos.includes(7),
    );
    assert.ok((await checkpointOf(offline)).special.eos.includes(7), 'the file that came later is kept');
  });
  // {"error":"rate limited"} was cached as config.json for ever.
  test('stores no error page as a file, and refuses no valid file as an error page', async () => {
    const page = Buffer.from('<!DOCTYPE html><title>Busy'),
      busy = Buffer.from('temporarily unavailable');
    const excuses = {
      'config.json': [Buffer.from('{"error":"rate limited, try again"}'), Buffer.from('{"model_type":'), page],
      'model.safetensors': [busy, page],
      'chat_template.jinja': [page],
    };
    for (const [name, bodies] of Object.entries(excuses)) {
      for (const body of bodies) {
        cached.clear();
        const result = await checkpointOf(serving({ ...hub, [name]: body })).catch((error) => error);
        assert.equal(result instanceof GlassformerError, name !== 'chat_template.jinja', `${name}: ${body}`);
        assert.ok(!isStored(`https://h.example/m/${name}`), `${name}: ${body}`);
        await checkpointOf(serving(hub));
      }
    }
    for (const body of [busy, Buffer.from(''), file]) {
      const loading = load('https://h.example/m.gguf?a=1', {
        fetch: serving({ 'm.gguf?a=1': body }),
        cache: 'cache-storage',
      });
      await (body === file ? loading.then((model) => model.dispose()) : refused(loading, ['bad-file', 'truncated']));
      assert.equal(isStored('https://h.example/m.gguf?a=1'), body === file, String(body).slice(0, 30));
    }
    const template = Buffer.from('<|begin|>{{ messages[0].content }}'),
      whole = { ...hub, 'chat_template.jinja': template, 'generation_config.json': Buffer.from('null') };
    await checkpointOf(serving(whole));
    for (const name of Object.keys(whole)) assert.ok(isStored(`https://h.example/m/${name}`), name);
  });
});

/** Run a program that can call the garbage collector, and return its output. */
const program = (lines) =>
  spawnSync(
    process.execPath,
    [
      '--expose-gc',
      '--input-type=module',
      '-e',
      `
  import { load, train } from ${JSON.stringify(join(top, 'web/lib/api/index.js'))};
  const source = ${JSON.stringify(join(golden, 'gguf_llama_q8_0/model.gguf'))};
  const collect = async () => { for (let i = 0; i < 4; i++) { gc(); await new Promise((done) => setTimeout(done, 20)); } };
  ${lines}
  process.exit(0);`,
    ],
    { encoding: 'utf8', timeout: PATIENCE },
  );

describe('objects without references', () => {
  test('a model is kept while a session, a generation or a pending call uses it', () => {
    for (const worker of [false, true]) {
      const { stdout, stderr } = program(`
        const opened = () => load(source, { worker: ${worker} });
        const session = await (await opened()).session();
        await session.eval([5, 6]);
        await collect();
        console.log((await session.eval([7])).length);
        const fork = await session.fork();
        await collect();
        console.log((await fork.eval([8])).length);
        const begun = async () => (await opened()).generate([5], { maxTokens: 30, ignoreEos: true, temperature: 0 });
        let n = 0;
        for await (const _ of await begun()) if (++n % 10 === 0) await collect();
        console.log(n);
        const answer = (await opened()).forward(Array.from({ length: 30 }, (_, i) => i));
        await collect();
        console.log((await answer).logits.shape[0]);`);
      const [one, two, steps, rows] = stdout.trim().split('\n').map(Number);
      assert.ok(one > 0 && one === two, stderr);
      assert.deepEqual([steps, rows], [30, 30], stderr);
    }
  });
  test('a training run is kept while its files are written', () => {
    const { stdout, stderr } = program(`
      const asked = async () => { const run = train({ d_model: 16, n_layers: 1, n_heads: 1 }, 'a b c d '.repeat(200), { steps: 2 }); await run.next(); return run; };
      const files = (await asked()).files(), state = (await asked()).checkpoint();
      await collect();
      console.log((await files)[0].name, (await state).length > 0);`);
    assert.equal(stdout.trim(), 'model.gguf true', stderr);
  });
  test('a load that is aborted before the first byte closes its file', () => {
    const { stdout, stderr } = program(`
      for (let i = 0; i < 20; i++) {
        const controller = new AbortController();
        const opening = load(source, { signal: controller.signal }).catch(() => {});
        for (let turn = 0; turn < i; turn++) await null;
        setImmediate(() => controller.abort());
        await opening;
      }
      await collect();
      console.log('done');`);
    assert.equal(stdout.trim(), 'done', stderr);
    assert.doesNotMatch(stderr, /file descriptor/);
  });
});

test('values that a model returns are copies, with a worker and without', async () => {
  for (const worker of [false, true]) {
    const model = await load(join(golden, 'gguf_llama_q8_0/model.gguf'), { worker });
    const write = async () => {
      const steps = [];
      for await (const { id } of model.generate([5], { maxTokens: 4, temperature: 0, ignoreEos: true })) steps.push(id);
      return steps;
    };
    const before = await write();
    model.special.eos.length = 0;
    assert.throws(() => {
      model.config.nLayers = 99;
    }, TypeError);
    assert.ok(
      Object.values(model.config).every((value) => typeof value !== 'object' || Object.isFrozen(value)),
      'lists are frozen too',
    );
    model.parameters.rows.length = 0;
    assert.deepEqual(await write(), before);
    assert.equal((await model.points()).filter((name) => /hook_resid_post/.test(name)).length > 0, true);
    model.dispose();
  }
});
