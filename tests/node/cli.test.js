// cli.test.js - the command line, as a process
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bytesText, durationText, progressLine, progressText } from '../../web/lib/cli/progress.js';
import { countParameters, load, train } from '../../web/lib/index.js';
import { serveCut } from './cut_server.js';
import { collect, golden, json, randomTensor, safetensors, sameBits, stories, top } from './helpers.js';

const CLI = join(top, 'web/lib/cli/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'glassformer-cli-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/**
 * @param {string[]} args
 * @param {{input?: string, env?: Record<string, string>}} [o]
 * @returns {Promise<{code: number, out: string, err: string}>}
 */
function runWith(args, { input = '', env = {} } = {}) {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [CLI, ...args],
      { env: { ...process.env, XDG_CACHE_HOME: join(folder, 'xdg'), ...env } },
      (error, out, err) => resolve({ code: /** @type {any} */ (error)?.code ?? 0, out, err }),
    );
    child.stdin?.end(input);
  });
}
/** @param {...string} args */
const run = (...args) => runWith(args);

test('generated text goes to standard output, measurements to standard error', async () => {
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

test('count prints the parameters of presets, a config.json and a checkpoint', async () => {
  for (const [name, total] of [
    ['gpt2', '124,439,808'],
    ['llama-7b', '6,738,415,616'],
    ['modern-124m', '123,551,232'],
    [join(golden, 'gpt2_n_inner/config.json'), '57,184'],
    [`${golden}/llama_1tok/`, '12,384'],
    [stories, '3,049,920'],
  ]) {
    const { code, out } = await run('count', name);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`total.* ${total}\n`), name);
  }
  const table = JSON.parse((await run('count', '--json', 'gpt2-xl')).out);
  assert.equal(table.total, 1557611200);
  assert.equal(
    table.rows.reduce((n, r) => n + r.count, 0),
    table.total,
  );
});

test('help prints the usage; a wrong usage prints one sentence and sets the exit status', async () => {
  assert.match((await run('--help')).out, /usage: glassformer/);
  for (const [args, words, status] of [
    [[], /usage/, 2],
    [['--nope', 'x'], /nope/, 2],
    [['-m', 'no.gguf', 'x'], /no\.gguf/, 1],
    [['-m', stories, '-t', 'warm', 'x'], /temperature/, 1],
    [['-m', stories, '-t', '-1', 'x'], /./, 2],
    [['-m', stories, '--temperature=-1', 'x'], /temperature/, 1],
    [['-m', stories, '-n', '5', '--seed=-1', 'x'], /seed/, 1],
    [['count', 'no-such'], /no-such/, 1],
    [['-m', stories, ''], /empty/, 1],
  ]) {
    const { code, out, err } = await run(...args);
    assert.deepEqual([code, out], [status, ''], args.join(' '));
    assert.match(err, words);
    assert.doesNotMatch(err, /\n\s+at /, 'no stack trace');
  }
});

test('a closed pipe, and an interrupt while the model loads, end the process without an error message', async () => {
  const start = (/** @type {string[]} */ ...args) => {
    const child = spawn(process.execPath, [join(top, 'web/lib/cli/cli.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (bytes) => {
      said += bytes;
    });
    return { child, ended: once(child, 'close').then(([code]) => ({ code, said })) };
  };
  const head = start('--model', stories, '-n', '200', 'One day');
  await once(head.child.stdout, 'data');
  head.child.stdout.destroy();
  assert.deepEqual(await head.ended, { code: 0, said: '' });

  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (silent.address());
  const asked = once(silent, 'request'),
    waiting = start('--model', `http://127.0.0.1:${port}/x.gguf`, 'One day');
  await asked;
  waiting.child.kill('SIGINT');
  assert.deepEqual(await waiting.ended, { code: 130, said: '' });
  silent.closeAllConnections();
  silent.close();
});

test('the file is executable and names its interpreter', () => {
  assert.match(readFileSync(join(top, 'web/lib/cli/cli.js'), 'utf8'), /^#!\/usr\/bin\/env node\n/);
});

test('the prompt - and a pipe read standard input, without its last line break', async () => {
  const want = (await run('-m', stories, '-n', '6', '-t', '0', 'Once upon')).out;
  for (const [args, input] of /** @type {[string[], string][]} */ ([
    [[], 'Once upon\n'],
    [['-'], 'Once upon\r\n'],
    [['-'], 'Once upon'],
  ])) {
    const { code, out } = await runWith(['-m', stories, '-n', '6', '-t', '0', ...args], { input });
    assert.deepEqual([code, out], [0, want], JSON.stringify([args, input]));
  }
  const lines = await runWith(['-m', stories, '-n', '3', '-t', '0'], { input: 'One\n\n' });
  assert.ok(lines.out.startsWith('One\n'), 'only the last one');
  assert.equal((await runWith(['-m', stories, '-'], { input: '' })).code, 1);
  assert.deepEqual(
    [(await runWith([])).code, (await runWith(['-', '-'])).code, (await runWith(['a', 'b'])).code],
    [2, 2, 2],
  );
});

test('--version, --threads, --dtype, --kv-dtype, --stop and --quiet take effect', async () => {
  assert.equal((await run('--version')).out.trim(), json(join(top, 'package.json')).version);
  assert.equal((await run('-v')).out, (await run('--version')).out);
  const text = async (/** @type {string[]} */ ...args) => run('-m', stories, '-n', '12', '-t', '0', ...args, 'One day');
  const plain = await text();
  const threads = await text('--threads', '2');
  assert.deepEqual([threads.code, threads.out], [0, plain.out], 'any number of threads writes the same');
  assert.match(threads.err, /2 threads/);
  assert.equal((await text('--dtype', 'f32', '--kv-dtype', 'q8_0')).code, 0);
  const quiet = await text('--quiet');
  assert.deepEqual([quiet.out, quiet.err], [plain.out, '']);
  const [, word] = /^One day\W+\w+ (\w+)/.exec(plain.out) ?? [];
  const stopped = await text('--stop', 'no such text', '--stop', word);
  assert.equal(stopped.out, plain.out.slice(0, plain.out.indexOf(word, 'One day'.length)));
  assert.match(stopped.err, /ended by stop/);
});

test("--chat formats the prompt with the model's chat template", async () => {
  assert.match((await run('-m', stories, '--chat', 'Hello')).err, /chat template/);
  assert.match((await run('-m', stories, '--system', 'x', 'Hello')).err, /--system belongs to --chat/);
  const training = train(
    { d_model: 16, n_layers: 1, n_heads: 1, position: 'sinusoidal' },
    'the cat sat on the mat '.repeat(40),
    { steps: 2, vocabSize: 270 },
  );
  const source = join(folder, 'chat/');
  mkdirSync(source);
  for (const { name, bytes } of await training.files()) writeFileSync(join(source, name), bytes);
  await training.dispose();
  writeFileSync(
    join(source, 'chat_template.jinja'),
    '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}',
  );
  const model = await load(source),
    options = { maxTokens: 8, temperature: 0, topP: 0.95 };
  const answer = (/** @type {any} */ messages) => collect(model.chat(messages, options)).then(({ text }) => text);
  const user = { role: 'user', content: 'the cat' },
    system = { role: 'system', content: 'Be brief' };
  assert.deepEqual(await run('-m', source, '--chat', '-n', '8', '-t', '0', '-q', 'the cat'), {
    code: 0,
    out: await answer([user]),
    err: '',
  });
  assert.equal(
    (await run('-m', source, '--chat', '--system', 'Be brief', '-n', '8', '-t', '0', 'the cat')).out,
    await answer([system, user]),
  );
  model.dispose();
});

test('--chat without a prompt answers each line, and runs only what is new', async () => {
  const source = join(folder, 'chat/'); // from the test before
  const model = await load(source),
    options = { maxTokens: 6, temperature: 0, topP: 0.95 };
  const say = async (/** @type {any} */ messages) => (await collect(model.chat(messages, options))).text;
  const system = { role: 'system', content: 'Be brief' };
  const messages = [system];
  let want = '';
  for (const content of ['the cat', 'the mat']) {
    messages.push({ role: 'user', content });
    const text = await say(messages);
    messages.push({ role: 'assistant', content: text });
    want += `${text}\n`;
  }
  want += `${await say([system, { role: 'user', content: 'the cat' }])}\n`;
  const args = ['-m', source, '--chat', '--system', 'Be brief', '-n', '6', '-t', '0'];
  const { code, out, err } = await runWith(args, { input: 'the cat\n\nthe mat\n/reset\nthe cat\n/exit\nthe dog\n' });
  assert.deepEqual([code, out], [0, want]);
  const turns = [...err.matchAll(/(\d+) tokens of the conversation read, (\d+) kept/g)].map(([, n, kept]) => [
    +n,
    +kept,
  ]);
  assert.equal(turns.length, 3);
  assert.equal(turns[0][1], 0);
  assert.ok(turns[1][1] >= turns[0][0] && turns[1][0] < turns[1][1] + turns[1][0]);
  const lines = (await runWith([...args, '--json'], { input: 'the cat\nthe mat' })).out.trim().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).prompt),
    ['the cat', 'the mat'],
  );
  const grammar = join(folder, 'chat.gbnf');
  writeFileSync(grammar, 'root ::= "a" [x-z]{3}');
  const constrained = await runWith(['-m', source, '--chat', '--grammar', grammar], { input: 'the cat\nthe dog' });
  assert.match(constrained.out, /^a[x-z]{3}\na[x-z]{3}\n$/);
  assert.match((await runWith(['-m', stories, '--chat'], { input: 'Hello' })).err, /chat template/);
  assert.match((await runWith([...args, '--source', 'x'])).err, /--source and --chat/);
  model.dispose();
});

test('--source is what an encoder-decoder reads', async () => {
  const dates = join(top, 'weights/dates/');
  assert.deepEqual(await run('-m', dates, '--source', '3 March 1999', '-t', '0', '-q'), {
    code: 0,
    out: '1999-03-03',
    err: '',
  });
  const piped = await runWith(['-m', dates, '--source', '-', '--beams', '2', '--json'], { input: 'July 4, 2021\n' });
  const { text, source } = JSON.parse(piped.out);
  assert.deepEqual([text, source], ['2021-07-04', 'July 4, 2021']);
  assert.match(
    (await run('-m', stories, '--source', 'x', 'Once')).err,
    /source is an option of encoder_decoder models/,
  );
});

test('penalties, minimal length, JSON schema and grammar reach the generation', async () => {
  const model = await load(stories);
  const options = {
    maxTokens: 30,
    temperature: 0,
    topP: 0.95,
    presencePenalty: 1,
    frequencyPenalty: 0.5,
    repetitionPenalty: 1.1,
    minTokens: 30,
  };
  const { text } = await collect(model.generate('One day', options));
  const named = [
    '--presence-penalty',
    '1',
    '--frequency-penalty',
    '0.5',
    '--repetition-penalty',
    '1.1',
    '--min-tokens',
    '30',
  ];
  assert.equal((await run('-m', stories, '-q', '-n', '30', '-t', '0', ...named, 'One day')).out, `One day${text}`);
  const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3, maximum: 5 } }, required: ['n'] };
  const [file, grammar] = [join(folder, 'schema.json'), join(folder, 'list.gbnf')];
  writeFileSync(file, JSON.stringify(schema));
  writeFileSync(grammar, 'root ::= " " [a-c]{4}');
  const written = JSON.parse((await run('-m', stories, '--json', '--json-schema', file, 'One day')).out);
  assert.ok([3, 4, 5].includes(JSON.parse(written.text).n));
  assert.match((await run('-m', stories, '-q', '--grammar', grammar, 'One day')).out, /^One day [a-c]{4}$/);
  for (const [args, words] of /** @type {[string[], RegExp][]} */ ([
    [['--json-schema', grammar], /not JSON/],
    [['--json-schema', join(folder, 'none.json')], /--json-schema: ENOENT/],
    [['--grammar', file], /grammar, line 1/],
    [['--json-schema', file, '--grammar', grammar], /json and grammar cannot be combined/],
    [['--beams', '2', '--presence-penalty', '1'], /presencePenalty cannot be combined with beams/],
    [['--min-p', 'x'], /--min-p is "x"/],
  ])) {
    const { code, err } = await run('-m', stories, ...args, 'One day');
    assert.equal(code, 1);
    assert.match(err, words);
  }
  model.dispose();
});

test('embed prints a vector for each text', async () => {
  const config = { model_type: 'glassformer', kind: 'encoder', vocab_size: 500, d_model: 16, n_layers: 1, n_heads: 2 };
  const { model_type: _, ...own } = config;
  const tensors = Object.fromEntries(
    countParameters(/** @type {any} */ (own)).rows.map(({ name, shape }, i) => [
      name,
      {
        shape,
        data: randomTensor(shape, i + 1, 1 / 3),
      },
    ]),
  );
  const source = join(folder, 'encoder/');
  mkdirSync(source);
  writeFileSync(join(source, 'model.safetensors'), safetensors(tensors));
  writeFileSync(join(source, 'config.json'), JSON.stringify(config));
  writeFileSync(join(source, 'tokenizer.json'), readFileSync(join(top, 'weights/dates/tokenizer.json')));
  const model = await load(source);
  const given = (await run('embed', '-m', source, 'the cat', 'a dog')).out;
  assert.equal((await runWith(['embed', '-m', source], { input: 'the cat\na dog\n' })).out, given);
  const lines = given
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['the cat', 'a dog'],
  );
  for (const { text, embedding } of lines)
    assert.ok(sameBits(Float32Array.from(embedding), (await model.embed(text)).data), 'nine digits are the same f32');
  model.dispose();
  assert.match((await run('embed', '-m', stories, 'x')).err, /encoder/);
  assert.match((await run('embed', '-m', source)).err, /there is no text/);
});

test('convert and quantize write GGUF files that give the same text', async () => {
  const name = 'llama_gqa_f16';
  for (const [source, type] of [
    [join(top, 'weights/stories-1m.gguf'), 'Q8_0'],
    [join(top, 'weights/stories-gpt2.gguf'), 'F16'],
    [`${join(golden, name)}/`, 'F16'],
    [join(golden, 'gguf_llama_q4_0/model.gguf'), 'F32'],
  ]) {
    const out = join(folder, 'out.gguf');
    const { code, out: said } = await run('convert', source, out, '--type', type);
    assert.equal(code, 0);
    assert.match(said, new RegExp(`out.gguf: \\d+ bytes, matrices as ${type}`));
    const [a, b] = [await load(source, { dtype: 'f32' }), await load(out, { dtype: 'f32' })];
    const ids = [1, 2, 3, 4, 5];
    const [x, y] = [(await a.forward(ids)).logits.data, (await b.forward(ids)).logits.data];
    const most = x.reduce((m, v, i) => Math.max(m, Math.abs(v - y[i])), 0);
    assert.ok(most <= { Q8_0: 0.05, F16: 0.01, F32: 0 }[type], `${source}: ${most}`);
    if (a.tokenizer) assert.deepEqual(await b.encode('Once upon a time'), await a.encode('Once upon a time'));
    assert.equal(b.chatTemplate, a.chatTemplate);
    a.dispose();
    b.dispose();
  }
  const [source, out] = [join(top, 'weights/stories-1m.gguf'), join(folder, 'small.gguf')];
  assert.equal((await run('quantize', source, out, '--type', 'q4_0', '--no-tokenizer', '-q')).out, '');
  const small = await load(out);
  assert.deepEqual([small.tokenizer, small.parameters.rows[0].dtype], [null, 'q4_0']);
  small.dispose();
  for (const [args, words] of /** @type {[string[], RegExp][]} */ ([
    [['quantize', source, out, '--type', 'F16'], /quantize: --type is "F16"/],
    [['convert', source, out, '--type', 'Q9'], /--type is "Q9", expected one of F32/],
    [['convert', join(top, 'weights/dates/'), join(folder, 'no.gguf')], /nearest, t5, /],
    [['convert', source, join(folder, 'none/x.gguf')], /ENOENT/],
  ])) {
    const { code, err } = await run(...args);
    assert.equal(code, 1, err);
    assert.match(err, words);
    assert.doesNotMatch(err, /\n\s+at /);
  }
  assert.ok(!readdirSync(folder).some((file) => file.includes('no.gguf')));
  assert.equal((await run('convert', source)).code, 2);
});

test('downloads are kept in the cache folder, except with --no-cache', async () => {
  const files = { '/m.gguf': { bytes: readFileSync(stories) } },
    server = await serveCut(files),
    url = `${server.url}m.gguf`;
  const cache = join(folder, 'named'),
    write = (/** @type {string[]} */ ...args) => run('-m', url, '-n', '4', '-t', '0', ...args, 'One day');
  try {
    const first = await write(),
      second = await write();
    assert.deepEqual([first.code, second.out, server.asked.length], [0, first.out, 1]);
    assert.equal(readdirSync(join(folder, 'xdg/glassformer')).length, 1);
    await write('--no-cache');
    assert.equal(server.asked.length, 2);
    await write('--cache-dir', cache);
    await write('--cache-dir', cache);
    assert.deepEqual([server.asked.length, readdirSync(cache).length], [3, 1]);
    // the text is printed also where the default folder cannot be written
    writeFileSync(join(folder, 'file'), '');
    const blocked = await runWith(['-m', url, '-n', '4', '-t', '0', 'One day'], {
      env: { XDG_CACHE_HOME: join(folder, 'file') },
    });
    assert.deepEqual([blocked.code, blocked.out], [0, first.out]);
    assert.match(
      (await write('--cache-dir', join(folder, 'file/x'))).err,
      /^glassformer: the cache folder .* cannot be used.*cacheDir/,
    );
    assert.match((await write('--cache-dir', cache, '--no-cache')).err, /cannot be combined/);
  } finally {
    server.close();
  }
});

test('headers and the token are sent with the request and are never printed', async () => {
  const server = await serveCut({
      '/m.gguf': { bytes: readFileSync(stories) },
      '/o/n/resolve/main/m.gguf': { bytes: readFileSync(stories) },
    }),
    secret = 'hf_secret-7f3a';
  try {
    const said = [];
    const write = async (/** @type {string[]} */ args, env = {}) => {
      const r = await runWith([...args, '-n', '1', '--no-cache', 'One day'], { env });
      said.push(r.out, r.err);
      return r;
    };
    assert.equal(
      (await write(['-m', `${server.url}m.gguf`, '--header', `X-Key: ${secret}`, '--header', 'x-two:a:b'])).code,
      0,
    );
    assert.deepEqual([server.asked[0].headers['x-key'], server.asked[0].headers['x-two']], [secret, 'a:b']);
    assert.equal((await write(['-m', 'hf:o/n/m.gguf', '--token', secret], { HF_ENDPOINT: server.url })).code, 0);
    assert.equal((await write(['-m', 'hf:o/n/m.gguf'], { HF_ENDPOINT: server.url, HF_TOKEN: secret })).code, 0);
    assert.deepEqual(
      server.asked.slice(1).map((each) => each.headers.authorization),
      [`Bearer ${secret}`, `Bearer ${secret}`],
    );
    for (const args of [
      ['-m', `${server.url}no.gguf`, '--header', `X-Key: ${secret}`],
      ['-m', stories, '--header', secret],
      ['-m', stories, '--token', secret],
      ['-m', 'hf:o/n/m.gguf', '--token', `${secret} x`],
    ]) {
      const { code, err } = await write(args);
      assert.equal(code, 1);
      assert.match(err, /^glassformer: [^\n]+\n$/, 'one sentence');
    }
    assert.ok(!said.join('').includes('7f3a'), said.join(''));
  } finally {
    server.close();
  }
});

test('progress on a terminal is one line that is cleared; elsewhere it is printed only with --progress', async (t) => {
  assert.deepEqual([0, 999, 1000, 12_345_678, 7.2e9].map(bytesText), [
    '0 bytes',
    '999 bytes',
    '1.0 kB',
    '12.3 MB',
    '7.2 GB',
  ]);
  assert.equal(
    progressText({ loaded: 5e6, total: 2e7, fromCache: false, bytesPerSecond: 2.5e6, secondsLeft: 6 }),
    'loading: 5.0 MB of 20.0 MB (25 %), 2.5 MB/s, 6 s left',
  );
  const known = { loaded: 5e6, bytesPerSecond: 2.5e6, secondsLeft: null };
  assert.equal(progressText({ ...known, total: null, fromCache: true }), 'reading from the cache: 5.0 MB');
  assert.equal(progressText({ ...known, total: null, fromCache: false }), 'loading: 5.0 MB, 2.5 MB/s');
  assert.deepEqual([0.2, 99, 100, 3600, 6000, 9000].map(durationText), [
    '1 s',
    '99 s',
    '2 min',
    '60 min',
    '1 h 40 min',
    '2 h 30 min',
  ]);
  assert.equal(progressLine({ write() {} }), null, 'no terminal');
  const server = await serveCut({ '/m.gguf': { bytes: readFileSync(stories) } });
  try {
    const asked = ['-m', `${server.url}m.gguf`, '--no-cache', '-n', '2', '-t', '0'];
    assert.doesNotMatch((await run(...asked, 'One day')).err, /loading/);
    assert.match(
      (await run(...asked, '--progress', 'One day')).err,
      /^loading: \d[^\n]* MB of \d[^\n]*\(100 %\)[^\n]*\n/m,
    );
    assert.doesNotMatch((await run(...asked, '--progress', '--quiet', 'One day')).err, /loading/);
    const quoted = [process.execPath, CLI, ...asked, '--progress', 'One day'].map((word) => `'${word}'`).join(' ');
    const { status, stdout, error } = await new Promise((resolve) => {
      const child = execFile('script', ['-qec', quoted, '/dev/null'], (e, out) =>
        resolve({ status: e?.code ?? 0, stdout: out, error: e }),
      );
      child.stdin?.end();
    });
    if (/** @type {any} */ (error)?.code === 'ENOENT')
      return t.diagnostic('the program "script" is missing: not tried on a terminal');
    assert.equal(status, 0);
    assert.match(stdout, /\rloading: [^\n]*\(100 %\)[^\n]*\r +\rOne day/, 'drawn over, cleared, then the text');
  } finally {
    server.close();
  }
});
