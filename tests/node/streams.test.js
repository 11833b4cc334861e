// streams.test.js - a Response or a stream as a source: whole models and single parts, in this thread and in a
// worker
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { until } from '../patience.js';
import { golden, refused, serve, sixIds, stories, top, untilEnd } from './helpers.js';

const gguf = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf')),
  whole = join(golden, 'llama_1tok');
const part = (name) => readFileSync(join(whole, name));
const stream = (bytes, size = 1000) => {
  let at = 0;
  return new ReadableStream({
    pull(c) {
      if (at >= bytes.length) c.close();
      else c.enqueue(new Uint8Array(bytes.subarray(at, (at += size))));
    },
  });
};

for (const worker of [false, true]) {
  describe(worker ? 'in a worker' : 'in this thread', () => {
    test('a model from a Response or stream generates the same text as from a file', async () => {
      const want = await sixIds(await load(gguf, { worker }));
      for (const source of [
        new Response(gguf),
        stream(gguf),
        stream(gguf, 7),
        { weights: stream(gguf) },
        new Response(stream(gguf), { headers: { 'content-length': String(gguf.length) } }),
      ]) {
        assert.deepEqual(await sixIds(await load(source, { worker })), want);
      }
    });
    // In Vitest with jsdom the body of fetch's answers was refused: "the body holds Uint8Array of 65281 bytes, expected
    // bytes (Uint8Array)".
    test('typed arrays of another realm are accepted, as a source and in a response body', async () => {
      const Other = runInNewContext('Uint8Array'),
        bytes = new Other(gguf),
        want = await sixIds(await load(gguf, { worker }));
      assert.ok(!(bytes instanceof Uint8Array) && !(bytes.buffer instanceof ArrayBuffer));
      const body = () =>
        new ReadableStream({
          start(c) {
            c.enqueue(bytes);
            c.close();
          },
        });
      const fetch = async () => ({ ok: true, status: 200, url: '', headers: new Headers(), body: body() });
      for (const source of [bytes, bytes.buffer, new Other(bytes.buffer, 0)])
        assert.deepEqual(await sixIds(await load(source, { worker })), want);
      assert.deepEqual(await sixIds(await load('http://host/model.gguf', { worker, fetch })), want);
    });
    test('each part of a model may be a Response or stream', async () => {
      const config = JSON.parse(String(part('config.json'))),
        want = await sixIds(await load(`${whole}/`, { worker }));
      for (const source of [
        { weights: new Response(part('model.safetensors')), config },
        { weights: stream(part('model.safetensors')), config: new Response(part('config.json')) },
        { weights: [stream(part('model.safetensors'))], config: stream(part('config.json')) },
        { weights: part('model.safetensors'), config: stream(part('config.json')) },
      ])
        assert.deepEqual(await sixIds(await load(source, { worker })), want);
      const date = (name) => readFileSync(join(top, 'weights/dates', name));
      const model = await untilEnd(
        load(
          {
            weights: stream(date('model.safetensors'), 1 << 16),
            config: stream(date('config.json')),
            tokenizer: new Response(date('tokenizer.json')),
          },
          { worker },
        ),
      );
      assert.deepEqual(
        await model.encode('3 May'),
        (await Tokenizer.load(join(top, 'weights/dates/tokenizer.json'))).encode('3 May'),
      );
    });
    test('a fetched Response loads, compressed or not, and files beside it are found', async () => {
      const asked = [],
        server = await serve((request, response) => {
          asked.push(request.url);
          const name = request.url.slice(1),
            packed = name === 'm.gguf';
          if (!packed && !['config.json', 'model.safetensors'].includes(name)) return response.writeHead(404).end();
          const body = packed ? gzipSync(gguf) : part(name);
          response
            .writeHead(200, { 'content-length': body.length, ...(packed && { 'content-encoding': 'gzip' }) })
            .end(body);
        });
      try {
        assert.deepEqual(
          await sixIds(await load(await fetch(`${server.url}m.gguf`), { worker })),
          await sixIds(await load(gguf)),
        );
        assert.deepEqual(
          await sixIds(await load(await fetch(`${server.url}model.safetensors`), { worker })),
          await sixIds(await load(`${whole}/`)),
        );
        assert.equal(asked.filter((url) => url === '/model.safetensors').length, 1, 'the Response itself is read');
        await refused(load(await fetch(`${server.url}no.gguf`), { worker }), 'not-found', /no\.gguf.*404/);
      } finally {
        server.close();
      }
    });
    test('the checksum is verified', async () => {
      const sha256 = createHash('sha256').update(gguf).digest('hex');
      assert.ok((await sixIds(await load(stream(gguf), { sha256, worker }))).length);
      await refused(load(stream(gguf), { sha256: '0'.repeat(64), worker }), 'bad-file', /SHA-256/);
      await refused(load(new Response(gguf), { sha256: '0'.repeat(64), worker }), 'bad-file', /SHA-256/);
    });
    test('progress and abort work as for an address', async () => {
      const seen = [];
      (
        await load(stream(gguf), {
          worker,
          onProgress: (p) => {
            if (p.phase === 'download') seen.push(p);
          },
        })
      ).dispose();
      assert.equal(seen.at(-1).loaded, gguf.length);
      let cancelled = false;
      const controller = new AbortController(),
        endless = new ReadableStream({
          start(c) {
            c.enqueue(new Uint8Array(gguf.subarray(0, 5000)));
          },
          cancel() {
            cancelled = true;
          },
        });
      const loading = load(endless, { worker, signal: controller.signal });
      setTimeout(() => controller.abort(new Error('enough')), 30);
      await assert.rejects(loading, /enough/);
      await until(() => cancelled, 'the stream is told');
    });
    test('an unreadable stream is refused, and an error of the stream is reported', async () => {
      const used = new Response(gguf);
      await used.arrayBuffer();
      await refused(load(used, { worker }), 'bad-argument', /read already/);
      const locked = stream(gguf);
      locked.getReader();
      await refused(load(locked, { worker }), 'bad-argument', /locked/);
      await refused(
        load(
          new ReadableStream({
            start(c) {
              c.enqueue('text');
              c.close();
            },
          }),
          { worker },
        ),
        ['bad-argument'],
        /holds string values, expected bytes/,
      );
      await refused(
        load(
          new ReadableStream({
            start(c) {
              c.enqueue(new Uint8Array(gguf.subarray(0, 100)));
              c.error(new Error('the source broke'));
            },
          }),
          { worker },
        ),
        'network',
        /the source broke/,
      );
      await refused(load(stream(new Uint8Array(0)), { worker }), 'truncated');
      await refused(
        load(new Response('<!doctype html><p>hello', { headers: { 'content-type': 'text/html' } }), { worker }),
        'html',
      );
      await refused(load(new Response('', { status: 503 }), { worker }), 'network', /503/);
      const config = stream(part('config.json'));
      await refused(load({ weights: new Uint8Array(9), config }, { worker }), [
        'bad-header',
        'truncated',
        'unknown-format',
        'bad-file',
      ]);
    });
  });
}

test('Tokenizer.load accepts a Response, stream or Blob', async () => {
  const file = readFileSync(stories),
    want = (await Tokenizer.load(stories)).encode('Once upon a time');
  for (const source of [new Response(file), stream(file, 1 << 16), new Blob([file])])
    assert.deepEqual((await Tokenizer.load(source)).encode('Once upon a time'), want);
});
