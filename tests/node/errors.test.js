// errors.test.js - errors that callbacks, storage, workers and signals cause arrive as a GlassformerError with a code of
// CODES, the same in this thread and from a worker (bad_inputs.test.js: those that arguments cause)
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { show } from '../../web/lib/base/errors.js';
import { create, depth, load, train } from '../../web/lib/api/index.js';
import { config, openModels } from './bad_inputs.js';
import { until } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { collect, openCase, refusal, refused, stories, top } from './helpers.js';

const models = await openModels();

describe('callbacks of the caller', () => {
  const c = openCase('llama_gqa_f16'),
    boom = new TypeError('boom', { cause: new Error('deeper') });
  for (const worker of [false, true]) {
    const where = worker ? 'in a worker' : 'in this thread';
    test(`onProgress that throws ends the load, ${where}`, async () => {
      for (const phase of ['download', 'compile', 'load']) {
        const error = await refusal(() =>
          load(stories, {
            worker,
            onProgress: (p) => {
              if (p.phase === phase) throw boom;
            },
          }),
        );
        assert.deepEqual([error.code, error.message], ['callback', 'onProgress threw: boom']);
        assert.equal(error.cause, boom);
      }
      const reason = new Error('enough'),
        controller = new AbortController();
      await assert.rejects(
        load(stories, { worker, signal: controller.signal, onProgress: () => controller.abort(reason) }),
        reason,
      );
    });

    test(`a fetch that throws or returns no Response is a network error, ${where}`, async () => {
      const answers = (fetch) => refusal(() => load('https://files.test/model.gguf', { worker, fetch }));
      const error = await answers(async () => {
        throw boom;
      });
      assert.deepEqual(
        [error.code, error.message],
        ['network', 'https://files.test/model.gguf: the request failed: boom'],
      );
      assert.deepEqual(
        [error.cause.name, error.cause.message, error.cause.cause.message],
        ['TypeError', 'boom', 'deeper'],
      );
      assert.match(error.cause.stack, /errors\.test\.js/);
      assert.equal(
        (
          await answers(() => {
            throw 5;
          })
        ).message,
        'https://files.test/model.gguf: the request failed: 5',
      );
      for (const value of [
        undefined,
        null,
        5,
        'x',
        {},
        [],
        { ok: true },
        { ok: true, status: 200, headers: new Headers(), body: 'text' },
      ]) {
        const refused = await answers(async () => value);
        assert.deepEqual(
          [refused.code, refused.message],
          ['network', `https://files.test/model.gguf: fetch answered with ${show(value)}, expected a Response`],
        );
      }
      for (const chunk of ['text', 5, {}, new Uint16Array(4), () => 1]) {
        let cancelled = false;
        const body = () =>
          new ReadableStream({
            start: (to) => to.enqueue(chunk),
            cancel: () => {
              cancelled = true;
            },
          });
        const refused = await answers(async () => ({
          ok: true,
          status: 200,
          statusText: '',
          url: '',
          type: 'basic',
          headers: new Headers(),
          body: body(),
        }));
        assert.deepEqual(
          [refused.code, refused.message],
          ['network', `https://files.test/model.gguf: the body holds ${show(chunk)}, expected bytes (Uint8Array)`],
        );
        assert.ok(cancelled, 'the request goes on');
      }
      const late = await answers(
        async () =>
          new Response(
            new ReadableStream({
              pull(to) {
                to.error(boom);
              },
            }),
          ),
      );
      assert.match(late.message, /reading failed after 0 bytes: boom/);
      assert.equal(late.cause.message, 'boom');
    });

    test(`headers of a Response are checked, ${where}`, async () => {
      const page = async () => new Response('GGUF', { headers: { 'content-type': 'text/html; charset=utf-8' } });
      assert.equal((await refusal(() => load('https://files.test/model.gguf', { worker, fetch: page }))).code, 'html');
      const bytes = readFileSync(stories),
        totals = new Set();
      const sized = async () => new Response(bytes, { headers: { 'content-length': String(bytes.length) } });
      (
        await load('https://files.test/model.gguf', {
          worker,
          fetch: sized,
          onProgress: (p) => {
            if (p.phase === 'download') totals.add(p.total);
          },
        })
      ).dispose();
      assert.deepEqual([...totals], [bytes.length]);
    });

    test(`a worker option that starts no worker is refused, ${where}`, async () => {
      if (!worker) return;
      const error = await refusal(() =>
        create(config, {
          worker: () => {
            throw boom;
          },
        }),
      );
      assert.match(error.message, /boom/);
      assert.match((await refusal(() => create(config, { worker: () => 5 }))).message, /worker/);
    });

    test(`malformed JSON is refused, ${where}`, async () => {
      const weights = readFileSync(join(c.folder, 'model.safetensors')),
        json = (text) => new TextEncoder().encode(text);
      for (const [source, words] of [
        [{ weights, config: json('{"vocab_size": ') }, /not JSON/],
        [{ weights, config: json('[]') }, /config/],
        [{ weights, config: c.config, tokenizer: json('{') }, /not JSON/],
      ]) {
        const error = await refusal(() => load(source, { worker }));
        assert.match(error.message, words);
        if (/not JSON/.test(error.message)) assert.equal(error.cause.name, 'SyntaxError');
      }
    });
  }
});

test('a signal has no listeners left after the calls that used it have ended', async () => {
  const { signal } = new AbortController(),
    run = { maxTokens: 3, signal };
  for (const m of [models.here, models.there]) {
    await m.plain.forward([1], { signal });
    await collect(m.plain.generate([1], run));
    for await (const step of m.plain.generate([1], run)) {
      assert.ok(step);
      break;
    }
    await collect(m.plain.generate([[1], [2]], run));
    await collect(m.plain.generate([1], { beams: 2, ...run }));
    await assert.rejects(m.plain.forward([-1], { signal }), { code: 'bad-token' });
    const session = await m.plain.session({ signal });
    await session.eval([1], { signal });
    await session.close();
  }
  for (const worker of [false, true]) {
    (await load(stories, { worker, threads: 1, signal, onProgress() {} })).dispose();
    (await load(new Blob([readFileSync(stories)]), { worker, threads: 1, signal })).dispose();
    await assert.rejects(load(`${stories}.none`, { worker, threads: 1, signal }), { code: 'not-found' });
  }
  await depth({ d_model: 8, n_layers: 1, n_heads: 1 }, { tokens: 8, signal });
  const training = train(
    { d_model: 8, n_layers: 1, n_heads: 1, context_length: 16 },
    'the cat sat on the mat. the dog sat on the log. ',
    { steps: 1, vocabSize: 257, signal },
  );
  await collect(training);
  await training.dispose();
  await until(() => getEventListeners(signal, 'abort').length === 0, 'no listener is left');
});

test('values in messages are shortened, without reading all of a large one', () => {
  for (const [value, text] of [
    ['x', '"x"'],
    [[1, 2], '[1,2]'],
    [{ a: 1, b: ['x'] }, '{"a":1,"b":["x"]}'],
    [null, 'null'],
    [NaN, 'NaN'],
    [10n, '10'],
    [() => 1, 'a function'],
    [new Float32Array(2), 'Float32Array of 8 bytes'],
    [new URL('http://x/'), '"http://x/"'],
    [Symbol('s'), 'Symbol(s)'],
    [undefined, 'undefined'],
  ])
    assert.equal(show(value), text);
  const loop = [];
  loop.push(loop);
  for (const value of [loop, 'x'.repeat(1e6), new Array(1e7).fill('x'.repeat(1e4)), Object.create(null)]) {
    assert.ok(show(value).length <= 80);
  }
});

describe('the command line', () => {
  const cli = join(top, 'web/lib/apps/cli/cli.js'),
    folder = temporaryFolder('errors');
  const runs = (...args) => spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' });
  test('an error prints one sentence and sets exit status 1', () => {
    writeFileSync(join(folder, 'broken.json'), '{');
    mkdirSync(join(folder, 'folder.json'));
    for (const args of [
      ['--model', join(folder, 'none.gguf'), 'x'],
      ['--temperature', 'hot', 'x'],
      ['--temperature=-1', 'x'],
      ['count', 'nothing'],
      ['count', join(folder, 'broken.json')],
      ['count', join(folder, 'folder.json')],
      ['--dtype', 'q9', 'x'],
      ['--seed=-1', 'x'],
    ]) {
      const { status, stderr, stdout } = runs(...args);
      assert.equal(status, 1, `${args}: ${stderr}`);
      assert.match(stderr, /^glassformer: [^\n]+\n$/);
      assert.equal(stdout, '');
    }
  });
  test('a closed standard output is not reported as an error', () => {
    assert.equal(
      execFileSync('bash', ['-c', `"${process.execPath}" "${cli}" count gpt2 | head -1`], { encoding: 'utf8' }).split(
        '\n',
      ).length,
      2,
    );
  });
});

test('a misspelt option is refused with the nearest name, another without', async () => {
  const model = await create({ vocab_size: 9, d_model: 8, n_layers: 1, n_heads: 2 });
  for (const [options, hint] of [
    [{ top_p: 0.5 }, /generate has no option "top_p": did you mean topP\?$/],
    [{ max_tokens: 5 }, /did you mean maxTokens\?$/],
    [{ temprature: 1 }, /did you mean temperature\?$/],
    [{ logProbs: 1 }, /did you mean logprobs\?$/],
    [{ sede: 1 }, /did you mean seed\?$/],
    [{ colour: 1 }, /generate has no option "colour"$/],
    [{ [`s${'e'.repeat(1e5)}`]: 1 }, /has no option/],
  ])
    await refused(model.generate('x', options).result, 'bad-option', hint);
});

test('an address of the hub without hf: is recognised where there is no such file', async () => {
  const words = /there is no such file; the address of a model on the Hugging Face Hub is 'hf:owner\/name'$/;
  await refused(load('owner/name'), 'not-found', words);
  await refused(load('./owner/name'), 'not-found', /there is no such file$/);
});
