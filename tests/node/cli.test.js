// cli.test.js - the command line, as a process
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { collect, golden, stories, top } from './helpers.js';

/** @param {...string} args */
function run(...args) {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(top, 'web/lib/cli.js'), ...args], (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
  });
}

test('a text streams to standard output, what was measured to standard error', async () => {
  const model = await load(stories);
  const { text } = await collect(model.generate('One day, a dog', { maxTokens: 20, temperature: 0 }));
  const { code, out, err } = await run('--model', stories, '-n', '20', '-t', '0', 'One day, a dog');
  assert.deepEqual([code, out], [0, `One day, a dog${text}`]);
  assert.match(err, /20 tokens, \d+ a second \(.+\), ended by maxTokens, seed \d+/);
  const again = JSON.parse((await run('-m', stories, '--json', '-n', '9', '--seed', '5', 'One day, a dog')).out);
  const third = JSON.parse((await run('-m', stories, '--json', '-n', '9', '--seed', '5', 'One day, a dog')).out);
  assert.deepEqual(again.ids, third.ids);
  assert.equal(again.seed, 5);
});

test('counts: presets, a config.json, a checkpoint', async () => {
  for (const [name, total] of [['gpt2', '124,439,808'], ['llama-7b', '6,738,415,616'], ['modern-124m', '123,551,232'], [join(golden, 'gpt2_n_inner/config.json'), '57,184'], [`${golden}/llama_1tok/`, '12,384'], [stories, '3,049,920']]) {
    const { code, out } = await run('count', name);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`total.* ${total}\n`), name);
  }
  const table = JSON.parse((await run('count', '--json', 'gpt2-xl')).out);
  assert.equal(table.total, 1557611200);
  assert.equal(table.rows.reduce((n, r) => n + r.count, 0), table.total);
});

test('help and refusals: one sentence, an exit status and no text', async () => {
  assert.match((await run('--help')).out, /usage: glassformer/);
  for (const [args, words, status] of [[[], /usage/, 2], [['--nope', 'x'], /nope/, 2], [['-m', 'no.gguf', 'x'], /no\.gguf/, 1], [['-m', stories, '-t', 'warm', 'x'], /temperature/, 1],
    [['-m', stories, '-t', '-1', 'x'], /./, 2], [['-m', stories, '--temperature=-1', 'x'], /temperature/, 1], [['-m', stories, '-n', '5', '--seed=-1', 'x'], /seed/, 1], [['count', 'no-such'], /no-such/, 1], [['-m', stories, ''], /empty/, 1]]) {
    const { code, out, err } = await run(...args);
    assert.deepEqual([code, out], [status, ''], args.join(' '));
    assert.match(err, words);
    assert.doesNotMatch(err, /\n\s+at /, 'no stack trace');
  }
});

test('a reader that has enough, and an interrupt while the model is still loading, end it without a complaint', async () => {
  const start = (/** @type {string[]} */ ...args) => {
    const child = spawn(process.execPath, [join(top, 'web/lib/cli.js'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.on('data', (bytes) => { said += bytes; });
    return { child, ended: once(child, 'close').then(([code]) => ({ code, said })) };
  };
  const head = start('--model', stories, '-n', '200', 'One day');
  await once(head.child.stdout, 'data');
  head.child.stdout.destroy();
  assert.deepEqual(await head.ended, { code: 0, said: '' });

  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (silent.address());
  const asked = once(silent, 'request'), waiting = start('--model', `http://127.0.0.1:${port}/x.gguf`, 'One day');
  await asked;
  waiting.child.kill('SIGINT');
  assert.deepEqual(await waiting.ended, { code: 130, said: '' });
  silent.closeAllConnections();
  silent.close();
});

test('it is executable and names its interpreter', () => {
  assert.match(readFileSync(join(top, 'web/lib/cli.js'), 'utf8'), /^#!\/usr\/bin\/env node\n/);
});
