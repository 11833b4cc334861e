// cli.test.js - the command line, as a process
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { load, train } from '../../web/lib/api/index.js';
import { SAMPLER } from '../../web/lib/engine/config/sampler_fields.js';
import { COMMANDS } from '../../web/lib/apps/cli/cli_help.js';
import { harmless } from '../../web/lib/apps/cli/terminal.js';
import { CLI, folder, run, runMany, runWith } from './command_line.js';
import { collect, golden, json, stories as larger, top, untilEnd } from './helpers.js';

const stories = join(top, 'weights/stories-1m.gguf');

test('generated text goes to standard output, measurements to standard error', async () => {
  const model = await load(stories);
  const { text } = await collect(model.generate('One day, a dog', { maxTokens: 20, temperature: 0 }));
  const seeded = ['-m', stories, '--json', '-n', '9', '--seed', '5', 'One day, a dog'];
  const [{ code, out, err }, ...repeated] = await runMany([
    ['--model', stories, '-n', '20', '-t', '0', 'One day, a dog'],
    seeded,
    seeded,
  ]);
  assert.deepEqual([code, out], [0, `One day, a dog${text}`]);
  assert.match(err, /20 tokens, \d+ a second \(.+\), ended by maxTokens, seed \d+/);
  const [again, third] = repeated.map((each) => JSON.parse(each.out));
  assert.deepEqual(again.ids, third.ids);
  assert.equal(again.seed, 5);
});

test('count prints the parameters of presets, a config.json and a checkpoint', async () => {
  const totals = [
    ['gpt2', '124,439,808'],
    ['llama-7b', '6,738,415,616'],
    ['modern-124m', '123,551,232'],
    [join(golden, 'gpt2_n_inner/config.json'), '57,184'],
    [`${golden}/llama_1tok/`, '12,384'],
    [larger, '3,049,920'],
  ];
  const [asJson, ...tables] = await runMany([
    ['count', '--json', 'gpt2-xl'],
    ...totals.map(([name]) => ['count', name]),
  ]);
  for (const [i, [name, total]] of totals.entries()) {
    assert.equal(tables[i].code, 0);
    assert.match(tables[i].out, new RegExp(`total.* ${total}\n`), name);
  }
  const table = JSON.parse(asJson.out);
  assert.equal(table.total, 1557611200);
  assert.equal(
    table.rows.reduce((n, r) => n + r.count, 0),
    table.total,
  );
});

test('help prints the usage; a wrong usage prints one sentence and sets the exit status', async () => {
  const none = await run();
  assert.deepEqual([none.code, none.out], [2, '']);
  assert.match(none.err, /usage/);
  const wrong = [
    [['--nope', 'x'], /nope/, 2],
    [['-m', 'no.gguf', 'x'], /no\.gguf/, 1],
    [['-m', stories, '-t', 'warm', 'x'], /temperature/, 1],
    [['-m', stories, '-t', '-1', 'x'], /./, 2],
    [['-m', stories, '--temperature=-1', 'x'], /temperature/, 1],
    [['-m', stories, '-n', '5', '--seed=-1', 'x'], /seed/, 1],
    [['count', 'no-such'], /no-such/, 1],
    [['--topp', '0.5', 'x'], /^glassformer: there is no option --topp: did you mean --top-p\?$/m, 2],
    [['--wrong', 'x'], /there is no option --wrong: glassformer --help lists all options/, 2],
    [['-m', stories, ''], /empty/, 1],
    [['-m', stories, '--top-p', '5', 'x'], /: --top-p is 5, expected/, 1],
    // these continued the text "count", "convert" and "quantize"
    [['-m', stories, '-n', '1', 'count'], /^usage: glassformer count \[--json\] CONFIG\n/, 2],
    [['convert'], /^usage: glassformer convert SOURCE OUT\.gguf\n/, 2],
    [['quantize'], /^usage: glassformer quantize SOURCE OUT\.gguf\n/, 2],
    // these printed the whole help
    [['quantize', 'a', 'b', 'c'], /^usage: glassformer quantize SOURCE OUT\.gguf\n3 words were given/, 2],
    [['Once', 'upon', 'a', 'time'], /^The prompt has 4 words, expected one: put it in quotes/, 2],
    [['serve', '--port', '1.5'], /: --port is 1.5, expected a whole number/, 1],
    [['serve', '--top-p', '1'], /serve does not take --top-p/, 1],
  ];
  const [help, ...refused] = await runMany([['--help'], ...wrong.map(([args]) => args)]);
  assert.match(help.out, /usage: glassformer/);
  for (const [i, [args, words, status]] of wrong.entries()) {
    const { code, out, err } = refused[i];
    assert.deepEqual([code, out], [status, ''], args.join(' '));
    assert.match(err, words);
    assert.doesNotMatch(err, /\n\s+at /, 'no stack trace');
  }
});

test('each command has a help of its own, with its options and an example', async () => {
  const names = Object.keys(COMMANDS);
  const helps = await runMany(names.map((name) => [name, '--help']));
  for (const [i, { code, out }] of helps.entries()) {
    const { usage, options } = COMMANDS[names[i]];
    assert.equal(code, 0);
    assert.ok(out.startsWith(`usage: glassformer ${names[i]} ${usage}\n`), out);
    assert.match(out, new RegExp(`\nexample: glassformer ${names[i]}`));
    const told = Array.from(out.matchAll(/^ +(?:-\w, )?--([\w-]+)/gm), ([, name]) => name);
    assert.deepEqual(told, options);
  }
});

test('a closed pipe, and an interrupt while the model loads, end the process without an error message', async (t) => {
  const start = (...args) => {
    const child = spawn(process.execPath, [join(top, 'web/lib/apps/cli/cli.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
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

  const silent = createServer(() => {})
    .listen(0, '127.0.0.1')
    .unref();
  await once(silent, 'listening');
  const { port } = silent.address();
  const asked = once(silent, 'request'),
    waiting = start('--model', `http://127.0.0.1:${port}/x.gguf`, 'One day');
  await asked;
  waiting.child.kill('SIGINT');
  assert.deepEqual(await waiting.ended, { code: 130, said: '' });
});

test('control characters of a text have no effect on a terminal, and reach a pipe as they are', () => {
  const text = 'a\x1b]52;c;aGk=\x07b\r\tc\n\x9b2J\x7f é';
  assert.equal(harmless({ isTTY: true }, text), 'a\u241b]52;c;aGk=\u2407b\u240d\tc\n\u24212J\u2421 é');
  assert.equal(harmless({}, text), text);
});

const terminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '';

// Tokens, JSON and error texts carried escape sequences to the terminal.
test(
  'on a terminal, no text of a model, a prompt or an error has an effect',
  { skip: !terminal.includes('util-linux') && 'there is no script of util-linux, which gives a terminal' },
  async () => {
    const written = (/** @type {string} */ words) =>
      spawnSync('script', ['-qec', `"$NODE" "$CLI" ${words}`, '/dev/null'], {
        encoding: 'utf8',
        env: { ...process.env, NODE: process.execPath, CLI, MODEL: stories, TEXT: 'a\x1b]0;title\x07b\x9b2Jc' },
      }).stdout;
    for (const [words, text] of [
      ['-m "$MODEL" -n 1 -t 0 --quiet "$TEXT"', 'a\u241b]0;title\u2407b\u24212Jc'],
      ['-m "$MODEL" -n 1 -t 0 --quiet --json "$TEXT"', 'a\\u001b]0;title\\u0007b\u24212Jc'],
      ['-m "$TEXT" x', 'a\u241b]0;title\u2407b\u24212Jc: there is no such file'],
    ])
      assert.ok(written(words).replaceAll('\r\n', '\n').includes(text), words);
    assert.doesNotMatch(written('-m "$MODEL" -n 1 -t 0 --quiet --json "$TEXT"'), /[\x1b\x07\x9b]/);
  },
);

test('the file is executable and names its interpreter', () => {
  assert.match(readFileSync(join(top, 'web/lib/apps/cli/cli.js'), 'utf8'), /^#!\/usr\/bin\/env node\n/);
});

test('the prompt - and a pipe read standard input, without its last line break', async () => {
  const want = (await run('-m', stories, '-n', '6', '-t', '0', 'Once upon')).out;
  for (const [args, input] of [
    [[], 'Once upon\n'],
    [['-'], 'Once upon\r\n'],
    [['-'], 'Once upon'],
  ]) {
    const { code, out } = await runWith(['-m', stories, '-n', '6', '-t', '0', ...args], { input });
    assert.deepEqual([code, out], [0, want], JSON.stringify([args, input]));
  }
  const lines = await runWith(['-m', stories, '-n', '3', '-t', '0'], { input: 'One\n\n' });
  assert.ok(lines.out.startsWith('One\n'), 'only the last one');
  assert.equal((await runWith(['-m', stories, '-'], { input: '' })).code, 1);
  const several = await runMany([
    ['-', '-'],
    ['a', 'b'],
  ]);
  assert.deepEqual(
    several.map((each) => each.code),
    [2, 2],
  );
});

test('--version, --threads, --dtype, --kv-dtype, --stop and --quiet take effect', async () => {
  const text = (...args) => ['-m', stories, '-n', '12', '-t', '0', ...args, 'One day'];
  const [version, short, plain, threads, types, quiet] = await runMany([
    ['--version'],
    ['-v'],
    text(),
    text('--threads', '2'),
    text('--dtype', 'f32', '--kv-dtype', 'q8_0'),
    text('--quiet'),
  ]);
  assert.equal(version.out.trim(), json(join(top, 'package.json')).version);
  assert.equal(short.out, version.out);
  assert.deepEqual([threads.code, threads.out], [0, plain.out], 'any number of threads writes the same');
  assert.match(threads.err, /2 threads/);
  assert.equal(types.code, 0);
  assert.deepEqual([quiet.out, quiet.err], [plain.out, '']);
  const [, word] = /^One day\W+\w+ (\w+)/.exec(plain.out) ?? [];
  const stopped = await run(...text('--stop', word, '--stop', 'no such text'));
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
  const model = await untilEnd(load(source)),
    options = { maxTokens: 8, temperature: 0, topP: 0.95 };
  const answer = (messages) => collect(model.chat(messages, options)).then(({ text }) => text);
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
});

test('an option that a command would ignore is refused', async () => {
  const wrong = [
    ['quantize a.gguf b.gguf --dtype q4_0', 'quantize does not take --dtype'],
    ['embed Hello --beams 2', 'embed does not take --beams'],
    ['count gpt2 --model x.gguf', 'count does not take --model'],
    ['lab ioi --temperature 1', 'lab does not take --temperature'],
    ['Hello --pooling mean', 'a prompt does not take --pooling'],
    ['count --short', 'a prompt does not take --short'],
  ];
  const refused = await runMany(wrong.map(([line]) => line.split(' ')));
  assert.deepEqual(
    refused.map(({ code, out, err }) => [code, out, err]),
    wrong.map(([, message]) => [1, '', `glassformer: ${message}\n`]),
  );
});

test('--chat without a prompt answers each line, and runs only what is new', async () => {
  const source = join(folder, 'chat/'); // from the test before
  const model = await untilEnd(load(source)),
    options = { maxTokens: 6, temperature: 0, topP: 0.95 };
  const say = async (messages) => (await collect(model.chat(messages, options))).text;
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
});

// It ended with status 0, as at the end of the input.
test('an interrupt of --chat that waits for a line ends it with status 130', async () => {
  const args = ['-m', join(folder, 'chat/'), '--chat', '-n', '4', '-q']; // from the tests before
  const child = spawn(process.execPath, [join(top, 'web/lib/apps/cli/cli.js'), ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.write('the cat\n');
  let said = '';
  for await (const bytes of child.stdout) {
    said += bytes;
    if (!child.killed && said.endsWith('\n')) child.kill('SIGINT');
  }
  assert.deepEqual([child.exitCode ?? (await once(child, 'exit'))[0], child.signalCode], [130, null]);
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

test('the help has every option of the sampler with its default', async () => {
  const { out } = await run('--help');
  for (const { member, off, commandLine } of SAMPLER) {
    const line = new RegExp(`^ .*--${member.replaceAll('_', '-')} [A-Z].*(\\n {20,}.*)?$`, 'm').exec(out)?.[0];
    assert.match(line, new RegExp(`\\(default ${commandLine}${commandLine === off ? ': off' : '(?:\\)|; )'}`), member);
  }
});

test('penalties, minimal length, JSON schema and grammar reach the generation', async () => {
  const model = await untilEnd(load(stories));
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
  const wrong = [
    [['--json-schema', grammar], /not JSON/],
    [['--json-schema', join(folder, 'none.json')], /--json-schema: ENOENT/],
    [['--grammar', file], /grammar, line 1/],
    [['--json-schema', file, '--grammar', grammar], /json and grammar cannot be combined/],
    [['--beams', '2', '--presence-penalty', '1'], /--presence-penalty cannot be combined with beams/],
    [['--min-p', 'x'], /--min-p is "x"/],
  ];
  const refused = await runMany(wrong.map(([args]) => ['-m', stories, ...args, 'One day']));
  for (const [i, [, words]] of wrong.entries()) {
    assert.equal(refused[i].code, 1);
    assert.match(refused[i].err, words);
  }
});
