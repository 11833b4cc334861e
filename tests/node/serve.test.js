// serve.test.js - the command serve: OpenAI's client, other hosts and origins, requests that are too large or given up
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { text as readAll } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { serve } from '../../web/lib/apps/cli/serve.js';
import { load } from '../../web/lib/api/index.js';
import { CLI } from './command_line.js';
import { stories } from './helpers.js';

const ORIGIN = 'https://pages.example';
const stopped = new AbortController();
let model, ended, base;

before(async () => {
  model = await load(stories);
  base = await new Promise((listening) => {
    ended = serve(model, { port: 0, origins: [ORIGIN], name: 'stories', signal: stopped.signal, listening });
  });
});
after(async () => {
  stopped.abort();
  await ended;
  model.dispose();
});

/** The answer to a request with headers that fetch does not let a program choose. */
const asked = (path, headers = {}, { method = 'GET', body } = {}) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(new URL(base + path), { method, headers }, async (response) =>
      resolve({ status: response.statusCode, headers: response.headers, text: await readAll(response) }),
    );
    request.on('error', reject).end(body);
  });

test("OpenAI's client completes, streams and lists models", async () => {
  const client = new OpenAI({ apiKey: '-', baseURL: base, maxRetries: 0 });
  const messages = [{ role: 'user', content: 'Once upon a time' }];
  const body = { model: 'any', messages, temperature: 0, max_tokens: 12 };
  const { text } = await model.complete('Once upon a time', { temperature: 0, maxTokens: 12 });
  assert.equal((await client.chat.completions.create(body)).choices[0].message.content, text);
  let streamed = '';
  for await (const { choices } of await client.chat.completions.create({ ...body, stream: true }))
    streamed += choices[0].delta.content ?? '';
  assert.equal(streamed, text);
  const response = { model: 'any', input: messages, temperature: 0, max_output_tokens: 12 };
  assert.equal((await client.responses.stream(response).finalResponse()).output_text, text);
  assert.deepEqual(
    (await client.models.list()).data.map(({ id }) => id),
    ['stories'],
  );
  await assert.rejects(client.chat.completions.create({ ...body, top_p: 2 }), { status: 400, param: 'top_p' });
});

test('only this machine and allowed origins are answered', async () => {
  const { port } = new URL(base);
  for (const [headers, status, words] of [
    [{}, 200],
    [{ host: `localhost:${port}` }, 200],
    [{ host: '[::1]' }, 200],
    [{ host: `attacker.example:${port}` }, 403, /attacker.example:\d+ is not this machine/],
    [{ host: `localhost.attacker.example:${port}` }, 403, /is not this machine/],
    [{ origin: 'https://other.example' }, 403, /--allow-origin https:\/\/other.example/],
    [{ origin: 'null' }, 403, /pages of null/],
    [{ origin: `http://localhost:${port}` }, 403, /may not use/],
    [{ origin: ORIGIN, 'sec-fetch-site': 'cross-site' }, 200],
    [{ 'sec-fetch-site': 'cross-site' }, 403, /without its origin/],
    [{ 'sec-fetch-site': 'none' }, 200],
  ]) {
    const answer = await asked('/models', headers);
    assert.equal(answer.status, status, JSON.stringify(headers));
    if (words) assert.match(JSON.parse(answer.text).error.message, words);
    const allowed = status === 200 ? headers.origin : undefined;
    assert.equal(answer.headers['access-control-allow-origin'], allowed);
  }
  const preflight = { method: 'OPTIONS' };
  const wanted = { origin: ORIGIN, 'access-control-request-headers': 'content-type,x-stainless-os' };
  const granted = await asked('/chat/completions', wanted, preflight);
  assert.equal(granted.status, 204);
  assert.equal(granted.headers['access-control-allow-headers'], wanted['access-control-request-headers']);
  assert.equal((await asked('/chat/completions', { origin: 'https://x.example' }, preflight)).status, 403);
});

test('a request of more than 32 MiB is refused, and the server goes on', async () => {
  const body = Buffer.alloc(33 * 2 ** 20, 32);
  const large = await asked('/chat/completions', {}, { method: 'POST', body });
  assert.equal(large.status, 413);
  assert.match(large.text, /more than 33554432 bytes/);
  assert.equal((await asked('/models')).status, 200);
});

test('a client that hangs up ends the generation', async () => {
  const body = { messages: [{ role: 'user', content: 'Once' }], stream: true, glassformer: { ignoreEos: true } };
  const controller = new AbortController();
  const init = { method: 'POST', body: JSON.stringify(body), signal: controller.signal };
  const reader = (await fetch(`${base}/chat/completions`, init)).body.getReader();
  await reader.read();
  controller.abort();
  await assert.rejects(reader.read(), { name: 'AbortError' });
  assert.equal((await asked('/models')).status, 200);
});

test('the command prints its address, and ends at an interrupt; a port in use is an error', async (t) => {
  const start = (port) => {
    const child = spawn(process.execPath, [CLI, 'serve', '-q', '-m', stories, '--port', String(port)]);
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const child = start(0);
  const line = await new Promise((resolve) => child.stdout.once('data', (bytes) => resolve(String(bytes))));
  const [url] = /^http:\/\/127\.0\.0\.1:\d+\/v1/.exec(line);
  assert.equal((await (await fetch(`${url}/models`)).json()).data[0].id, stories);
  const second = start(new URL(url).port);
  assert.match(await readAll(second.stderr), /port \d+ cannot be used \(EADDRINUSE\): choose another with --port/);
  child.kill('SIGINT');
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(code, 130);
});
