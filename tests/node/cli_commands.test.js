// cli_commands.test.js - the command line: embed, convert and quantize, downloads, headers and progress
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytesText, durationText, progressLine, progressText } from '../../web/lib/apps/cli/progress.js';
import { encode } from '../../web/lib/files/gguf/write_gguf.js';
import { countParameters, load } from '../../web/lib/api/index.js';
import { serveCut } from './cut_server.js';
import { CLI, folder, run, runMany, runWith } from './command_line.js';
import { golden, randomTensor, sameBits, top } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const stories = join(top, 'weights/stories-1m.gguf');

test('classify prints the labels of each text', async () => {
  const folder = join(top, 'tests/golden/classifiers/');
  const lines = async (...args) => (await run('classify', '-m', ...args)).out.trim().split('\n').map(JSON.parse);
  const [first, second] = await lines(`${folder}sentiment/`, 'The film was great.', 'dull');
  assert.deepEqual([first.text, second.text, first.scores.length], ['The film was great.', 'dull', 2]);
  const model = await load(`${folder}sentiment/`);
  const { label, score } = await model.classify('dull');
  assert.deepEqual([second.label, second.score], [label, score]);
  const [pair] = await lines(`${folder}nli/`, '--pair', 'this text is about food.', 'The film was great.');
  assert.deepEqual([pair.pair, pair.scores.length], ['this text is about food.', 3]);
  const [{ tokens, entities }] = await lines(`${folder}ner/`, 'Ada Lovelace met Charles Babbage');
  assert.ok(tokens.length > entities.length);
  assert.match((await run('classify', '-m', stories, 'x')).err, /no head of classification/);
});

test('embed prints a vector for each text', async () => {
  const config = { model_type: 'glassformer', kind: 'encoder', vocab_size: 500, d_model: 16, n_layers: 1, n_heads: 2 };
  const { model_type: _, ...own } = config;
  const tensors = Object.fromEntries(
    countParameters(own).rows.map(({ name, shape }, i) => [
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
    [stories, 'Q8_0'],
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
  const [source, out] = [stories, join(folder, 'small.gguf')];
  assert.equal((await run('quantize', source, out, '--type', 'q4_0', '--no-tokenizer', '-q')).out, '');
  const small = await load(out);
  // The tied embedding keeps more bits; its rows are too short for blocks of Q6_K.
  const types = small.parameters.rows.slice(0, 3).map(({ dtype }) => dtype);
  assert.deepEqual([small.tokenizer, ...types], [null, 'q8_0', 'f32', 'q4_0']);
  small.dispose();
  const wrong = [
    [['quantize', source, out, '--type', 'F16'], /quantize: --type is "F16"/],
    [['convert', source, out, '--type', 'Q9'], /--type is "Q9", expected one of F32/],
    [['convert', join(top, 'weights/dates/'), join(folder, 'no.gguf')], /nearest, t5, /],
    [['convert', source, join(folder, 'none/x.gguf')], /ENOENT/],
  ];
  for (const [i, { code, err }] of (await runMany(wrong.map(([args]) => args))).entries()) {
    assert.equal(code, 1, err);
    assert.match(err, wrong[i][1]);
    assert.doesNotMatch(err, /\n\s+at /);
  }
  assert.ok(!readdirSync(folder).some((file) => file.includes('no.gguf')));
  assert.equal((await run('convert', source)).code, 2);
});

// The tokenizer was compared when the file was written, and the file then removed: also one that had been there before.
// The message named the option of load, and the command line had none.
test('--config gives what the files lack, as JSON or as a file of it', async () => {
  const source = join(top, 'tests/golden/pytorch/nanogpt_half.pt'),
    settings = join(folder, 'settings.json'),
    out = join(folder, 'given.gguf');
  assert.match((await run('convert', source, out)).err, /do not tell n_head: give it in --config/);
  assert.equal((await run('convert', source, out, '--config', '{"n_head": 2}')).code, 0);
  writeFileSync(settings, '{"n_head": 4}');
  const heads = async () => (await load(out)).config.nHeads;
  assert.equal(await heads(), 2);
  assert.equal((await run('convert', source, out, '--config', settings)).code, 0);
  assert.equal(await heads(), 4);
  for (const [given, wrong] of [
    ['{n_head: 2}', /--config \{n_head: 2\}: .*JSON/],
    ['none.json', /--config none.json: ENOENT/],
  ])
    assert.match((await run('convert', source, out, '--config', given)).err, wrong);
  assert.match((await run('--chat', '-m', stories, 'hello')).err, /no chat template.*leave out --chat/);
  assert.match((await run('hello', '--max-tokens')).err, /--max-tokens needs a value/);
});

test('a tokenizer that GGUF cannot express leaves the file that was there', async () => {
  const [source, out] = [join(folder, 'ending/'), join(folder, 'kept.gguf')];
  cpSync(join(golden, 'llama_gqa_f16'), source, { recursive: true });
  const vocab = Object.fromEntries([...'OnceĠupatim!'].map((token, id) => [token, id]));
  const single = [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '!', type_id: 0 } }]; // no end of a text
  const special_tokens = { '!': { id: '!', ids: [vocab['!']], tokens: ['!'] } };
  const json = {
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false },
    post_processor: { type: 'TemplateProcessing', single, pair: single, special_tokens },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: [] },
  };
  writeFileSync(join(source, 'tokenizer.json'), JSON.stringify(json));
  writeFileSync(out, 'before');
  assert.match(
    (await run('convert', source, out)).err,
    /cannot be written as GGUF: "Once.*--no-tokenizer leaves it out/,
  );
  assert.equal(readFileSync(out, 'utf8'), 'before');
});

// Blanks after <|user|> became tokens, the second template and the order of the end tokens were lost.
test('what a conversation needs is in a converted file, or the conversion is refused', async () => {
  const source = join(folder, 'Phi-3-tiny/');
  cpSync(join(golden, 'llama_gqa_f16'), source, { recursive: true });
  const vocab = Object.fromEntries([...'OnceĠupatimĊ'].map((token, id) => [token, id]));
  const added = ['<|user|>', '<|end|>', '<|eot|>'].map((content, i) => ({ id: 12 + i, content, special: true }));
  const json = {
    added_tokens: added.map((token) => ({ ...token, rstrip: true })),
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: [] },
  };
  const write = (name, value) => writeFileSync(join(source, name), JSON.stringify(value));
  write('tokenizer.json', json);
  write('generation_config.json', { eos_token_id: [13, 14] });
  write('tokenizer_config.json', {
    eos_token: '<|eot|>',
    chat_template: [
      { name: 'default', template: '<|user|>\n{{ messages[0].content }}{{ eos_token }}' },
      { name: 'tool_use', template: '{{ tools }}<tool_call>' },
    ],
  });
  const out = join(folder, 'phi.gguf');
  assert.equal((await run('convert', source, out)).code, 0);
  const [a, b] = [await load(source), await load(out)];
  const text = 'n <|user|>\n u<|end|> c';
  assert.deepEqual(await a.encode(text), [1, 4, 12, 5, 13, 2]);
  assert.deepEqual(await b.encode(text), [1, 4, 12, 5, 13, 2]);
  assert.equal(b.toolTemplate, '{{ tools }}<tool_call>');
  for (const model of [a, b]) {
    assert.equal((await model.prompt([{ role: 'user', content: 'u' }])).text, '<|user|>\nu<|eot|>');
    model.dispose();
  }
  write('generation_config.json', { eos_token_id: [0, 2, 13, 14] }); // 13 is known by its text
  assert.equal((await run('convert', source, out)).code, 0);
  const four = await load(out);
  assert.deepEqual(four.special.eos, [14, 2, 0, 13]);
  four.dispose();
  write('generation_config.json', { eos_token_id: [0, 1, 2, 14] });
  assert.match((await run('convert', source, out)).err, /it has 5 end tokens, and there are keys for 3/);
  write('generation_config.json', { eos_token_id: [13, 14] });
  // the name of the source makes blanks go, and this tokenizer keeps them: nobody asked for its tokens without rstrip
  write('tokenizer.json', { ...json, added_tokens: added });
  assert.match(
    (await run('convert', source, out)).err,
    /"a <\|user\|>.*would become.*the name of SOURCE has "phi3" or "phi-3"/,
  );
  write('tokenizer.json', json);
  cpSync(source, join(folder, 'tiny/'), { recursive: true });
  assert.match(
    (await run('convert', join(folder, 'tiny/'), out)).err,
    /"a <\|user\|>.*would become.*the name of SOURCE has "phi3" or "phi-3"/,
  );
  const { bos_token_id: _, ...config } = JSON.parse(readFileSync(join(source, 'config.json'), 'utf8'));
  write('config.json', config);
  const template = '{% if bos_token %}{{ bos_token }}{% endif %}{{ messages[0].content }}{{ eos_token }}';
  for (const [texts, said] of [
    [{ bos_token: null, eos_token: '<|end|>' }, 'u<|end|>'], // was refused: "which is not the token null"
    [{ bos_token: '<|user|>', eos_token: '<|end|>' }, '<|user|>u<|end|>'], // config.json names no id
    [{ bos_token: '<|user|>', eos_token: '<|end|>' }, '<|user|>u<|end|>', { bos_token_id: 3 }], // or another one
    [{ bos_token: null, eos_token: '<|end|>' }, 'u<|end|>', { eos_token_id: null }, {}], // no ids of end tokens
    [{ bos_token: null, eos_token: 'c' }, 'uc', { eos_token_id: null }, {}],
    [{ eos_token: 'Once' }, /has "Once" as eos_token, and a reader takes "c"/],
    [{ eos_token: null }, /has "" as eos_token, and a reader takes "c"/],
    [{ bos_token: 'Once' }, /has "Once" as bos_token, and a reader takes ""/],
  ]) {
    write('tokenizer_config.json', { ...texts, chat_template: template });
    const { code, err } = await run('convert', source, out);
    if (said instanceof RegExp) assert.match(err, said);
    else {
      assert.equal(code, 0, err);
      const read = await load(out);
      assert.equal((await read.prompt([{ role: 'user', content: 'u' }])).text, said);
      read.dispose();
    }
  }
  for (const type of ['F16', 'Q8_0', 'Q4_0', 'Q4_1'])
    assert.throws(() => encode(type, new Float32Array(32).fill(1e8)), /F16 holds at most 65504/);
});

test('downloads are kept in the cache folder, except with --no-cache', async () => {
  const files = { '/m.gguf': { bytes: readFileSync(stories) } },
    server = await serveCut(files),
    url = `${server.url}m.gguf`;
  const cache = join(folder, 'named'),
    write = (...args) => run('-m', url, '-n', '4', '-t', '0', ...args, 'One day');
  try {
    const first = await write(),
      second = await write();
    assert.deepEqual([first.code, second.out, server.asked.length], [0, first.out, 1]);
    const kept = (where) => readdirSync(where).filter((name) => name.endsWith('.complete')).length;
    assert.equal(kept(join(folder, 'xdg/glassformer')), 1);
    await write('--no-cache');
    assert.equal(server.asked.length, 2);
    await write('--cache-dir', cache);
    await write('--cache-dir', cache);
    assert.deepEqual([server.asked.length, kept(cache)], [3, 1]);
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
    const write = async (args, env = {}) => {
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
    const wrong = [
      ['-m', `${server.url}no.gguf`, '--header', `X-Key: ${secret}`],
      ['-m', stories, '--header', secret],
      ['-m', stories, '--token', secret],
      ['-m', 'hf:o/n/m.gguf', '--token', `${secret} x`],
    ];
    const refused = await runMany(wrong.map((args) => [...args, '-n', '1', '--no-cache', 'One day']));
    for (const { code, out, err } of refused) {
      said.push(out, err);
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
    if (error?.code === 'ENOENT') return t.diagnostic('the program "script" is missing: not tried on a terminal');
    assert.equal(status, 0);
    assert.match(stdout, /\rloading: [^\n]*\(100 %\)[^\n]*\r +\rOne day/, 'drawn over, cleared, then the text');
  } finally {
    server.close();
  }
});

test('dictionary trains a sparse dictionary on a text and writes its files', async () => {
  const text = join(folder, 'texts.txt');
  const out = join(folder, 'features');
  writeFileSync(
    text,
    readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8').replace(/\n\n/g, '<|endoftext|>'),
  );
  const words = ['dictionary', '-m', stories, text, out, '--size', '32', '--k', '4', '--epochs', '1'];
  const { out: printed } = await run(...words, '--at', 'blocks.1.hook_resid_post', '--seed', '5');
  assert.match(printed, /32 features, 4\.0 active/);
  assert.match(printed, /dictionary +\d\.\d+ +variance unexplained 0\.\d+/);
  assert.equal(printed.match(/ -> /g)?.length, 10);
  assert.deepEqual(readdirSync(out).sort(), ['cfg.json', 'sae_weights.safetensors', 'token_table.safetensors']);
  assert.equal(JSON.parse(readFileSync(join(out, 'cfg.json'), 'utf8')).metadata.glassformer.seed, 5);
  assert.match((await run(...words)).err, /--at is missing/);
  assert.match((await run('--at', 'hook_embed', 'a prompt')).err, /does not take --at/);
});
