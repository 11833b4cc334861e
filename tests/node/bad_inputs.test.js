// bad_inputs.test.js - every public call with the wrong inputs of bad_inputs.js: each is refused with its code and a
// message that names it, the same in this thread and from a worker, and the models work afterwards
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { show } from '../../web/lib/base/errors.js';
import * as glassformer from '../../web/lib/api/index.js';
import { CODES, GlassformerError, Tokenizer, create, load, train } from '../../web/lib/api/index.js';
import { CALLS, Wrong, config, openModels } from './bad_inputs.js';
import {
  collect,
  golden,
  json,
  noShared,
  openCase,
  readTensors,
  refusal,
  refused,
  serve,
  shared,
  stories,
} from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const { here, there } = await openModels();
const logitsOf = async ({ plain }) => Buffer.from((await plain.forward([1, 2, 3])).logits.data.buffer).toString('hex');
const logitsBefore = await logitsOf(here);
// V8 joins the pieces of a repeated text only when a character of it is read
const LONG = 'x'.repeat(5e7);

for (const [name, { call, fine, name: argument, wrong, options = {}, isAlone }] of Object.entries(CALLS)) {
  describe(name, () => {
    /** Wrong values of the argument and of each option, and the call with a value. */
    const slots = [
      { of: 'the argument', code: 'bad-argument', words: argument, wrong, with: (m, value) => call(m, value, {}) },
      ...Object.entries(options).map(([option, values]) => ({
        of: option,
        code: 'bad-option',
        words: new RegExp(option),
        wrong: values,
        with: (m, value) => call(m, fine, { [option]: value }),
      })),
    ];
    /** The refusal, which is the same in all places. */
    const refusedBy = async (make, what) => {
      const { code, message } = await refusal(() => make(here), what);
      if (isAlone) return { code, message };
      const other = await refusal(() => make(there), what);
      assert.deepEqual([other.code, other.message], [code, message]);
      return { code, message };
    };

    test('wrong values and unknown options are refused by name', async () => {
      for (const slot of slots)
        for (const each of slot.wrong) {
          const { code, words, value } = each instanceof Wrong ? each : { ...slot, value: each };
          const what = `${slot.of}: ${show(value)}`;
          const error = await refusedBy((m) => slot.with(m, value), what);
          assert.ok([code].flat().includes(error.code), `${what}: ${error.code}, ${error.message}`);
          assert.match(error.message, words, what);
        }
      if (!slots[1]) return;
      assert.match((await refusedBy((m) => call(m, fine, { noSuchOption: 1 }))).message, /noSuchOption/);
      if (!isAlone)
        for (const value of [5, 'x', [], true, new Uint8Array(3)])
          assert.match((await refusedBy((m) => call(m, fine, value))).message, /options/);
      for (const models of [here, there]) assert.equal(await logitsOf(models), logitsBefore);
    });

    const takesText = ['data of train', 'pairs of train', 'a text'].includes(name);
    test('a text of 50 MB is refused and not repeated', { skip: takesText }, async () => {
      for (const { of, wrong, with: given } of slots) {
        if (!wrong.length || ['stop', 'pair', 'validation'].includes(of)) continue;
        const { message } = await refusedBy((m) => given(m, LONG), of);
        assert.ok(!message.includes('xx'), message);
      }
    });
  });
}

test('the table has every public call that takes an argument', () => {
  const called = Object.values(CALLS).map(({ call }) => String(call));
  const isInternal = new Set([
    'constructor',
    'adapt',
    'encodeFeatures',
    'directionTokens',
    'scanTexts',
    'storedWeight',
  ]);
  const lacks = [glassformer, glassformer.Model.prototype, glassformer.Session.prototype]
    .flatMap((of) => Object.entries(Object.getOwnPropertyDescriptors(of)))
    .filter(([name, { value }]) => typeof value === 'function' && value.length && !isInternal.has(name))
    .map(([name]) => name)
    .filter((name) => !/^[A-Z]/.test(name) && !called.some((call) => new RegExp(`\\b${name}\\(`).test(call)));
  assert.deepEqual(lacks, []);
});

const one = openCase('llama_1tok');
const modelFile = join(one.folder, 'model.safetensors');
const gguf = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf'));
const tokenizer = await Tokenizer.load(stories);

/** Calls of one kind of model or object that are refused: [what, code, words, call]. */
const REFUSED = [
  ['chat without a template', 'no-chat-template', /./, () => collect(here.told.chat([{ role: 'user', content: 'x' }]))],
  ['encode without a tokenizer', 'no-tokenizer', /./, () => here.plain.encode('x')],
  ['decode without a tokenizer', 'no-tokenizer', /./, () => here.plain.decode([1])],
  [
    'a capture of too many bytes',
    'capture-too-large',
    /\d{5,} bytes.*budget of 1000/,
    () => here.plain.forward(new Array(60).fill(1), { capture: ['*'], captureBudget: 1000 }),
  ],
  [
    'more minTokens than maxTokens',
    'bad-option',
    /minTokens is 3.*maxTokens.* 2/,
    () => collect(here.plain.generate([1], { minTokens: 3, maxTokens: 2 })),
  ],
  [
    'row 1 of a vector',
    'bad-option',
    /final_norm.weight is 1, .*0 to 0$/,
    () => here.plain.weight('final_norm.weight', 1),
  ],
  ['source of an encoder', 'bad-option', /encoder_decoder/, () => here.encoder.forward([1], { source: [1] })],
  ...[-Infinity, Infinity, NaN, -1].map((x) => [
    `a mask with ${x}`,
    'bad-option',
    /expected 0 or 1: what is added to scores/,
    () => here.encoder.forward([1, 2], { mask: [0, x] }),
  ]),
  ['sourceMask of an encoder', 'bad-option', /encoder_decoder/, () => here.encoder.forward([1], { sourceMask: [1] })],
  ['source of an encoder, traced', 'bad-option', /encoder_decoder/, () => here.encoder.trace([1], { source: [1] })],
  ['generate of an encoder', 'unsupported', /encoder/, () => collect(here.encoder.generate([1]))],
  ['session of an encoder', 'unsupported', /encoder/, () => here.encoder.session()],
  ['embed of a decoder', 'unsupported', /encoder/, () => here.told.embed('text')],
  ['an encoder_decoder without source', 'bad-option', /source/, () => collect(here.pair.generate([1]))],
  // a model from create() has no begin token
  ['no input', 'empty-prompt', /input/, () => here.pair.forward([], { source: [1] })],
  [
    'one mask for two sources',
    'bad-option',
    /1 source masks for 2 sequences/,
    () =>
      collect(
        here.pair.generate([[1], [1]], {
          source: [
            [1, 2],
            [3, 4],
          ],
          sourceMask: [[0, 1]],
        }),
      ),
  ],
  [
    'a mask that hides everything',
    'bad-option',
    /mask/,
    () =>
      here.pair.forward(
        [
          [1, 2],
          [3, 4],
        ],
        { source: [1], mask: [0, 0] },
      ),
  ],
  ['a worker that is none', 'bad-option', /worker/, () => create(config, { worker: () => 5 })],
  ['no WebAssembly', 'bad-wasm', /./, () => load(stories, { wasm: new Uint8Array([1, 2, 3]) })],
  ['options null', 'bad-option', /null/, () => load(stories, null)],
  ['encode 5', 'bad-argument', /text/, () => tokenizer.encode(5)],
  ['encode 50 MB', 'bad-argument', /50000000 characters, at most 16777216/, () => tokenizer.encode(LONG)],
  ['decode null', 'bad-argument', /ids/, () => tokenizer.decode(null)],
  ...[-1, 1.5, 'x', 1e9].map((id) => [`decode [${id}]`, 'bad-token', /id of a token/, () => tokenizer.decode([id])]),
  ['stream 5', 'bad-argument', /ids/, () => tokenizer.stream(5)],
  ['options of decode', 'bad-option', /options/, () => tokenizer.decode([300], 5)],
  ['unknown options of decode', 'bad-option', /noSuchOption/, () => tokenizer.decode([300], { noSuchOption: 1 })],
  ['new Tokenizer of a number', 'bad-tokenizer', /tokenizer/, () => new Tokenizer(5)],
];
for (const [what, code, words, call] of REFUSED)
  test(`${what}: ${code}`, async () => {
    const error = await refusal(call);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
  });

test('what is no token has no text', () => {
  for (const value of [5.5, null, {}, 'x', -1]) {
    assert.equal(tokenizer.idToText(value), '');
    assert.equal(tokenizer.stream().push(value), '');
    assert.equal(tokenizer.knows(value), false);
  }
});

test('lists of ids may be typed arrays, but not detached ones', async () => {
  for (const Kind of [Int8Array, Uint16Array, Int32Array, Float32Array, Float64Array])
    assert.equal((await here.plain.forward(Kind.of(1, 2, 3))).logits.shape[0], 3);
  assert.equal((await here.plain.forward(new Uint8Array(new SharedArrayBuffer(3)))).logits.shape[0], 3);
  const detached = Int32Array.of(1, 2, 3);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  for (const { plain } of [here, there]) await refused(plain.forward(detached), 'empty-prompt');
  const gone = new Uint8Array(100);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  for (const source of [gone, gone.buffer, { weights: gone, config }, { weights: [gone.buffer], config }])
    for (const worker of [false, true]) await refused(load(source, { worker }), 'truncated');
});

test('a session that is full keeps its length', async () => {
  const session = await here.plain.session();
  await session.eval(new Array(60).fill(1));
  await refused(session.eval(new Array(5).fill(1)), 'context-full', /60 positions.*5 tokens.*64/);
  assert.equal(session.length, 60);
  await session.close();
});

test('a generation ends where its captures exceed the budget', async () => {
  // two heads, one query, ten keys
  const options = {
    capture: ['blocks.0.attn.hook_pattern'],
    captureBudget: 4 * 2 * 10,
    maxTokens: 20,
    ignoreEos: true,
  };
  const steps = [];
  const run = async () => {
    for await (const step of here.plain.generate([1], options)) steps.push(step);
  };
  await refused(run(), 'capture-too-large', /88 bytes.*80/);
  assert.equal(steps.length, 10);
});

test('the same object at many places is not taken as circular', async () => {
  const message = { role: 'user', content: 'a' };
  await refused(collect(here.told.chat(new Array(100).fill(message))), 'no-chat-template');
  const model = { type: 'BPE', vocab: { a: 0, b: 1, c: 2, ab: 3 }, merges: new Array(100).fill(['a', 'b']) };
  assert.deepEqual((await Tokenizer.load({ model, added_tokens: [] })).encode('abc'), [3, 2]);
});

describe('checkpoints', () => {
  const weights = readFileSync(modelFile);
  test('with NaN or an infinity are refused; the message names tensor and place', async () => {
    for (const value of [NaN, Infinity, -Infinity])
      for (const name of ['model.layers.0.mlp.up_proj.weight', 'model.norm.weight', 'model.embed_tokens.weight']) {
        const tensors = readTensors(modelFile);
        tensors[name].data[5] = value;
        const source = { weights: safetensors(tensors), config: one.config };
        await refused(load(source), 'not-finite', new RegExp(name.replaceAll('.', '\\.')));
      }
  });

  test('with a tokenizer that does not fit are refused', async () => {
    const vocab = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [String.fromCodePoint(97 + i), i]));
    const big = { added_tokens: [], model: { type: 'BPE', vocab, merges: [] } };
    await refused(load({ weights, config: one.config, tokenizer: big }), 'bad-tokenizer');
  });

  test('whose JSON is nested deeply are refused', async () => {
    const nested = (n) => '['.repeat(n) + ']'.repeat(n);
    const withValue = (key, text) => JSON.stringify({ ...one.config, [key]: '@' }).replace('"@"', text);
    const opened = (name, text) =>
      load([
        new File([weights], 'model.safetensors'),
        ...(name === 'config.json' ? [] : [new File([JSON.stringify(one.config)], 'config.json')]),
        new File([text], name),
      ]);
    for (const levels of [64, 1e5])
      for (const key of ['architectures', 'something else'])
        await refused(
          opened('config.json', withValue(key, nested(levels))),
          'bad-file',
          /config\.json: .* deeper than 64/,
        );
    for (const name of ['generation_config.json', 'tokenizer_config.json', 'tokenizer.json'])
      await refused(opened(name, nested(1e5)), ['bad-file', 'bad-tokenizer'], new RegExp(`${name}: its lists`));
    // 64 levels with the object around them, and brackets inside a text
    for (const text of [nested(63), JSON.stringify(`\\"${'['.repeat(100)}`)])
      (await opened('config.json', withValue('something else', text))).dispose();
  });

  test('from the network are refused after an interrupted answer and without a server; so is a binary that is none', async () => {
    const server = await serve((request, response) => {
      if (request.url.startsWith('/page'))
        return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>hello</title>');
      if (request.url.startsWith('/broken')) {
        response.writeHead(200, { 'content-length': gguf.length });
        return response.write(gguf.subarray(0, 5000), () => response.destroy());
      }
      response.writeHead(404).end('no');
    });
    await refused(load(`${server.url}broken.gguf`), 'network', /broken\.gguf/);
    await refused(load(stories, { wasm: `${server.url}page.wasm` }), 'html', /page\.wasm.*WebAssembly/);
    await refused(load(stories, { wasm: `${server.url}nothing.wasm` }), 'not-found', /nothing\.wasm/);
    server.close();
    await refused(load(`${server.url}gone.gguf`), 'network', /gone\.gguf/);
    globalThis.location = { href: 'http://page.example/' };
    try {
      await refused(load('http://['), 'network', /^http:\/\/\[: /);
    } finally {
      delete globalThis.location;
    }
  });

  test("aborted while loading reject with the signal's reason", async () => {
    const server = await serve((request, response) => {
      response.writeHead(200, { 'content-length': gguf.length });
      response.write(gguf.subarray(0, 50000)); // and sends nothing more
    });
    const reason = new Error('too slow');
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 50);
    await assert.rejects(load(`${server.url}model.gguf`, { signal: controller.signal }), reason);
    await assert.rejects(load(stories, { signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(here.encoder.embed([1], { signal: AbortSignal.abort(reason) }), reason);
    server.close();
  });
});

test('logits that no memory holds are refused, and the model runs on', async () => {
  for (const worker of [false, true]) {
    // logits of 2^36 numbers: JavaScript throws a RangeError
    const fields = {
      vocab_size: 2 ** 22,
      d_model: 2,
      n_layers: 1,
      n_heads: 1,
      position: 'none',
      context_length: 2 ** 14,
    };
    const model = await create(fields, { worker, threads: 1 });
    await refused(model.forward(new Array(2 ** 14).fill(1)), 'out-of-memory', /not enough memory/);
    assert.equal((await model.forward([1])).logits.shape[0], 1);
    model.dispose();
  }
});

test('a disposed model and a closed session refuse every call', async () => {
  const other = await load(stories);
  const session = await other.session();
  await session.close();
  await session.close();
  await refused(session.eval([1]), 'bad-state');
  const running = other.generate('A', { ignoreEos: true });
  await running.next();
  other.dispose();
  other.dispose();
  await refused(collect(running), 'bad-state', /disposed|closed/);
  await refused(other.forward('A'), 'bad-state', /disposed/);
  assert.throws(() => other.memory, { code: 'bad-state' });
});

test('calls of a training run', async () => {
  const run = train({ d_model: 8, n_layers: 1, n_heads: 1, context_length: 16 }, 'the cat sat on the mat. '.repeat(3), {
    steps: 1,
    vocabSize: 257,
  });
  await refused((async () => run.config)(), 'bad-state');
  await run.next();
  for (const value of [5, 'x', []]) await refused(run.files(value), 'bad-option', /options/);
  for (const call of [(o) => run.files(o), (o) => run.model(o)]) {
    for (const dtype of [5, {}, 'x']) await refused(call({ dtype }), 'bad-option', /dtype/);
    await refused(call({ noSuchOption: 1 }), 'bad-option', /noSuchOption/);
  }
  await run.dispose();
  for (const call of [() => run.next(), () => run.files(), () => run.checkpoint(), () => run.model()])
    await refused((async () => call())(), 'bad-state');
});

// The malformed files that the project was given, each with its expected result.
describe('the shared malformed files', { skip: noShared }, () => {
  if (!shared) return;
  const folder = join(shared, 'cases/adversarial');
  for (const { file, config: cfg, expect, why } of json(join(folder, 'index.json')))
    test(`${file}${cfg ? `, ${cfg}` : ''}: ${why}`, async () => {
      const path = join(folder, file);
      const open = async () => {
        if (/^tok_.*\.json$/.test(file)) return void (await Tokenizer.load(path));
        const loaded = await load(cfg ? { weights: path, config: join(folder, cfg) } : path);
        try {
          const { ids } = await collect(loaded.generate([1, 2], { maxTokens: 3, temperature: 0 }));
          assert.ok(ids.every((id) => id >= 0 && id < loaded.config.vocabSize));
        } finally {
          loaded.dispose();
        }
      };
      if (expect === 'load') return open();
      const error = await open().then(
        () => null,
        (e) => e,
      );
      if (expect === 'error') assert.ok(error, 'it was not refused');
      if (!error) return;
      assert.ok(error instanceof GlassformerError, error.stack);
      assert.ok(Object.hasOwn(CODES, error.code), error.code);
    });
});

test('after all of these the models work as before', async () => {
  for (const models of [here, there]) assert.equal(await logitsOf(models), logitsBefore);
});
