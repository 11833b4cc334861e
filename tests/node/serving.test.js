// serving.test.js - serve.js and precompress.js: which copy of a file a client gets, with which headers; ranges; HEAD
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { temporaryFolder } from '../temporary.js';
import { precompress } from '../../scripts/precompress.js';
import { accepts, serve } from '../../scripts/serve.js';

const folder = temporaryFolder('serving');
const script = Buffer.from(`export const numbers = [${Array.from({ length: 4000 }, (_, i) => i).join(', ')}];\n`);
/** Bytes that no compression makes smaller: a linear congruential generator's high bits. */
const noise = Buffer.alloc(20_000);
for (let i = 0, x = 1; i < noise.length; i++) noise[i] = (x = (Math.imul(x, 1664525) + 1013904223) >>> 0) >>> 24;

let server;
let written;

before(async () => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets/main.js'), script);
  writeFileSync(join(folder, 'noise.gguf'), noise);
  writeFileSync(join(folder, 'zeros.gguf'), Buffer.alloc(20_000));
  writeFileSync(join(folder, 'font.woff2'), Buffer.alloc(20_000));
  writeFileSync(join(folder, 'small.css'), 'p{}');
  written = await precompress(folder);
  server = await serve(folder);
});
after(async () => {
  await server?.close();
});

/**
 * One request without a client that decodes or adds headers.
 * @param {string} path
 * @param {Record<string, string>} [headers]
 * @param {string} [method]
 * @returns {Promise<{status: number, headers: import('node:http').IncomingHttpHeaders, body: Buffer}>}
 */
const ask = (path, headers = {}, method = 'GET') =>
  new Promise((resolve, reject) => {
    request(server.url + path, { method, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    })
      .on('error', reject)
      .end();
  });

test('copies are written where they save a tenth, and not of small or compressed files', () => {
  assert.deepEqual(
    written.map(({ file }) => file.slice(folder.length + 1)),
    ['assets/main.js', 'zeros.gguf'],
  );
  for (const { file, br = NaN, gz = NaN, size } of written) {
    assert.ok(br < size && gz < size, file);
    const original = readFileSync(file);
    assert.ok(brotliDecompressSync(readFileSync(`${file}.br`)).equals(original), `${file}.br`);
    assert.ok(gunzipSync(readFileSync(`${file}.gz`)).equals(original), `${file}.gz`);
  }
  for (const name of ['noise.gguf', 'font.woff2', 'small.css'])
    for (const extension of ['.br', '.gz']) assert.ok(!existsSync(join(folder, name + extension)), name + extension);
});

test('a second run compresses no copies and replaces those that are there', async () => {
  assert.deepEqual(await precompress(folder), written);
  assert.ok(!existsSync(join(folder, 'assets/main.js.br.br')));
});

for (const [accepted, coding, extension] of [
  ['gzip, deflate, br, zstd', 'br', '.br'],
  ['gzip, deflate', 'gzip', '.gz'],
  ['br;q=0, gzip;q=0.5', 'gzip', '.gz'],
  ['*', 'br', '.br'],
]) {
  test(`Accept-Encoding "${accepted}": the ${coding} copy, its length, the type of the file`, async () => {
    const { status, headers, body } = await ask('assets/main.js', { 'Accept-Encoding': accepted });
    assert.equal(status, 200);
    assert.equal(headers['content-encoding'], coding);
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal(headers.vary, 'Accept-Encoding');
    const copy = readFileSync(join(folder, `assets/main.js${extension}`));
    assert.equal(headers['content-length'], String(copy.length));
    assert.ok(body.equals(copy));
  });
}

for (const accepted of [undefined, '', 'identity', 'br;q=0', 'gzip;q=0.0, *;q=0', 'zstd']) {
  test(`Accept-Encoding ${JSON.stringify(accepted)}: the file itself, with Vary for caches`, async () => {
    const { headers, body } = await ask(
      'assets/main.js',
      accepted === undefined ? {} : { 'Accept-Encoding': accepted },
    );
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(headers.vary, 'Accept-Encoding');
    assert.equal(headers['content-length'], String(script.length));
    assert.ok(body.equals(script));
  });
}

test('a file without copies is sent as it is, without Vary', async () => {
  const { headers, body } = await ask('noise.gguf', { 'Accept-Encoding': 'br, gzip' });
  assert.deepEqual([headers['content-encoding'], headers.vary], [undefined, undefined]);
  assert.equal(headers['content-length'], String(noise.length));
  assert.ok(body.equals(noise));
});

test('a client that has a file is told so, and one that has another version gets the file', async () => {
  for (const accepted of ['br', 'gzip', 'identity']) {
    const first = await ask('assets/main.js', { 'Accept-Encoding': accepted });
    const { etag } = first.headers;
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await ask('assets/main.js', { 'Accept-Encoding': accepted, 'If-None-Match': known });
      assert.deepEqual([again.status, again.headers.etag, again.body.length], [304, etag, 0]);
      assert.equal(again.headers.vary, 'Accept-Encoding');
    }
    const other = await ask('assets/main.js', { 'Accept-Encoding': accepted, 'If-None-Match': '"other"' });
    assert.deepEqual([other.status, other.body.length], [200, first.body.length]);
  }
  const tags = await Promise.all(
    ['br', 'gzip', 'identity'].map((accepted) => ask('assets/main.js', { 'Accept-Encoding': accepted })),
  );
  assert.equal(new Set(tags.map(({ headers }) => headers.etag)).size, 3);
  const { etag } = (await ask('noise.gguf')).headers;
  assert.equal((await ask('noise.gguf', { Range: 'bytes=1-2', 'If-Range': etag })).status, 206);
  assert.equal((await ask('noise.gguf', { Range: 'bytes=1-2', 'If-Range': '"other"' })).status, 200);
});

test('HEAD has the headers of GET and no body', async () => {
  for (const accepted of ['br', 'gzip', 'identity']) {
    const get = await ask('assets/main.js', { 'Accept-Encoding': accepted }),
      head = await ask('assets/main.js', { 'Accept-Encoding': accepted }, 'HEAD');
    for (const { headers } of [get, head]) delete headers.date;
    assert.deepEqual([head.status, head.headers, head.body.length], [get.status, get.headers, 0]);
  }
});

test('a range counts bytes of the file itself, whatever encodings are accepted', async () => {
  const headers = { 'Accept-Encoding': 'br, gzip' };
  const part = await ask('assets/main.js', { ...headers, Range: 'bytes=10-29' });
  assert.equal(part.status, 206);
  assert.equal(part.headers['content-encoding'], undefined);
  assert.equal(part.headers['content-range'], `bytes 10-29/${script.length}`);
  assert.equal(part.headers['content-length'], '20');
  assert.equal(part.headers.vary, 'Accept-Encoding');
  assert.ok(part.body.equals(script.subarray(10, 30)));
  const end = await ask('assets/main.js', { ...headers, Range: 'bytes=-5' });
  assert.ok(end.body.equals(script.subarray(-5)));
  const beyond = await ask('assets/main.js', { ...headers, Range: `bytes=${script.length}-` });
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${script.length}`]);
});

// A compressed copy was read through any link, and a page of any name that resolves to this machine was answered.
test('a file or copy that is a link out of the folder is not sent', async () => {
  const secret = `${folder}-secret.txt`;
  writeFileSync(secret, 'secret');
  try {
    writeFileSync(join(folder, 'open.js'), 'open');
    for (const name of ['open.js.br', 'open.js.gz', 'link.js']) symlinkSync(secret, join(folder, name));
    const { headers, body } = await ask('open.js', { 'Accept-Encoding': 'br, gzip' });
    assert.deepEqual([String(body), headers['content-encoding']], ['open', undefined]);
    assert.equal((await ask('link.js')).status, 404);
    symlinkSync(join(folder, 'assets/main.js'), join(folder, 'within.js'));
    assert.equal((await ask('within.js')).status, 200);
  } finally {
    rmSync(secret);
  }
});

test('only localhost and addresses are answered as host', async () => {
  const { port } = new URL(server.url);
  for (const [host, status] of [
    [`127.0.0.1:${port}`, 200],
    [`localhost:${port}`, 200],
    [`[::1]:${port}`, 200],
    ['LOCALHOST', 200],
    [`evil.example:${port}`, 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example', 403],
  ])
    assert.equal((await ask('small.css', { Host: host })).status, status, host);
});

test('accepts reads weights, spaces, letter case and the wildcard', () => {
  for (const [header, coding, expected] of [
    ['BR', 'br', true],
    ['gzip ; q=0.1', 'gzip', true],
    ['gzip;q=0.000', 'gzip', false],
    ['*;q=0.1, br;q=0', 'br', false],
    ['*;q=0.1, br;q=0', 'gzip', true],
    ['brotli', 'br', false],
    ['', 'br', false],
  ])
    assert.equal(accepts(header, coding), expected, `${header}: ${coding}`);
});
