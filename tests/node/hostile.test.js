// hostile.test.js - arguments that are too many, nested too deeply, detached, or run code of their own
// (bad_arguments.test.js: the same hostile values for every call)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Engine } from '../../web/lib/engine/engine.js';
import { Tokenizer, countParameters, create, depth, estimate, load, train } from '../../web/lib/api/index.js';
import { config } from './bad_inputs.js';
import { claims, collect, refusal, stories, untilEnd } from './helpers.js';

const both = { ...config, kind: 'encoder_decoder', n_encoder_layers: 1, position: 'sinusoidal' };
const ids = [1, 2, 3];
const [localModel, workerModel, encoderDecoder, withTokenizer] = await Promise.all(
  [
    create(config, { seed: 1 }),
    create(config, { seed: 1, worker: true, threads: 1 }),
    create(both, { seed: 1 }),
    load(stories),
  ].map(untilEnd),
);

const at = 'blocks.0.hook_mlp_out';

describe('lists', () => {
  test('a source mask takes numbers and truth values', async () => {
    const masked = (sourceMask) => encoderDecoder.forward(ids, { source: ids, sourceMask });
    assert.match((await refusal(() => masked([1, 'x', 0]))).message, /sourceMask holds "x" at place 1/);
    assert.equal((await masked([true, 1, 0])).logits.shape[0], 3);
  });

  test('typed arrays are read by their real length and type, not by overridden properties', async () => {
    const lying = Int32Array.of(1, 2, 3);
    Object.defineProperty(lying, 'length', { value: 2 ** 31 });
    assert.equal((await localModel.forward(lying)).logits.shape[0], 3);
    for (const Kind of [Int8Array, Uint16Array, Int32Array, Float32Array, Float64Array])
      assert.equal((await localModel.forward(Kind.of(1, 2, 3))).logits.shape[0], 3);
    assert.equal((await localModel.forward(new Uint8Array(new SharedArrayBuffer(3)))).logits.shape[0], 3);
    const detached = Int32Array.of(1, 2, 3);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const model of [localModel, workerModel])
      assert.equal((await refusal(() => model.forward(detached))).code, 'empty-prompt');
    if (!('resizable' in ArrayBuffer.prototype)) return;
    const buffer = new ArrayBuffer(12, { maxByteLength: 24 }),
      view = new Int32Array(buffer); // its length follows its buffer
    buffer.resize(8);
    assert.equal((await localModel.forward(view)).logits.shape[0], 2);
  });

  test('too many valid entries are refused', async () => {
    const edit = { at, scale: 1 };
    assert.match(
      (await refusal(() => localModel.forward(ids, { edits: new Array(65537).fill(edit) }))).message,
      /edits has 65537 entries, at most 65536/,
    );
    assert.match(
      (await refusal(() => localModel.forward(ids, { edits: new Array(65536).fill({ at: '*', scale: 1 }) }))).message,
      /more changes than 262144 at single points/,
    );
    // each edit makes two changes at each point
    const half = Math.floor(2 ** 18 / (await localModel.points()).length / 2) + 1;
    assert.match(
      (await refusal(() => localModel.forward(ids, { edits: new Array(half).fill({ at: '*', scale: 1, add: 0 }) })))
        .message,
      /more changes than 262144 at single points/,
    );
    assert.match(
      (await refusal(() => collect(localModel.generate(new Array(5000).fill([1]))))).message,
      /5000 sequences, at most 4096/,
    );
    assert.match(
      (await refusal(() => localModel.forward(ids, { edits: [{ at, set: new Float32Array(3e6) }] }))).message,
      /edits\[0\]\.set has 3000000 entries, the longest row of this model has \d+/,
    );
    assert.match(
      (await refusal(() => localModel.forward(new Array(65).fill(1)))).message,
      /input has 65 tokens, the context holds 64/,
    );
    const broad = await untilEnd(
        create({ ...config, vocab_size: 8, d_model: 8, n_layers: 1, n_heads: 1, d_ff: 65536 }, { seed: 1 }),
      ),
      row = { at: 'blocks.0.mlp.hook_post', add: new Float32Array(65536) };
    assert.match(
      (await refusal(() => broad.forward(ids, { edits: new Array(257).fill(row) }))).message,
      /edits: at most 16777216 numbers are taken/,
    );
  });
});

test('the texts of several prompts together have the limit of one', async () => {
  assert.match(
    (await refusal(() => withTokenizer.forward(new Array(300).fill('x'.repeat(6e4))))).message,
    /input \d+ is too long.*16777216/,
  );
});

describe('options and objects', () => {
  test('each option is read once', async () => {
    const counts = {};
    const counting = (o, path = '') =>
      new Proxy(o, {
        get(target, name) {
          if (typeof name === 'string') counts[`${path}${name}`] = (counts[`${path}${name}`] ?? 0) + 1;
          const value = target[name];
          return value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)
            ? counting(value, `${path}${name}.`)
            : value;
        },
      });
    const single = () => {
      const twice = Object.entries(counts).filter(([, n]) => n > 1);
      assert.ok(Object.keys(counts).length > 0);
      assert.deepEqual(twice, []);
      for (const key of Object.keys(counts)) delete counts[key];
    };
    await localModel.forward(
      ids,
      counting({ capture: ['hook_embed'], edits: [{ at, set: [0.5], position: 1 }], mask: [1, 1, 0] }),
    );
    single();
    await collect(
      localModel.generate(
        counting(ids),
        counting({ maxTokens: 2, stop: ['x'], seed: 1, temperature: 0.5, logprobs: 2 }),
      ),
    );
    single();
    await localModel.distribution(
      counting(Array(localModel.config.vocabSize).fill(1)),
      counting({ topK: 2, seen: [1] }),
    );
    single();
    (await create(counting({ ...config }), counting({ seed: 1, dtype: 'q8_0' }))).dispose();
    single();
    countParameters(counting({ ...config }));
    single();
    await encoderDecoder.forward(ids, counting({ source: [1, 2], sourceMask: [1, 0] }));
    single();
    await depth(counting({ d_model: 8, n_layers: 1, n_heads: 1 }), counting({ seed: 1, tokens: 8 }));
    single();
  });

  test('getters that throw are named in the error, which has the thrown value as its cause', async () => {
    const boom = new Error('boom'),
      trap = (name) => ({
        get [name]() {
          throw boom;
        },
      });
    for (const [call, words] of [
      [() => localModel.forward(ids, trap('capture')), /capture/],
      [() => collect(localModel.generate(ids, trap('maxTokens'))), /maxTokens/],
      [() => localModel.session(trap('edits')), /edits/],
      [() => localModel.forward(ids, { edits: [trap('at')] }), /edits\[0\]/],
      [() => create(trap('d_model')), /configuration/],
      [() => create(config, trap('seed')), /seed/],
      [() => load(trap('weights')), /source/],
      [() => load({ weights: new Uint8Array(3), config: trap('vocab_size') }), /config/],
      [() => load(stories, trap('signal')), /signal/],
      [() => countParameters(trap('n_heads')), /configuration/],
      [() => estimate(config, trap('contextLength')), /contextLength/],
      [() => collect(train(trap('d_model'), 'text')), /configuration/],
      [() => collect(train(config, 'text', trap('steps'))), /steps/],
      [() => depth(config, trap('tokens')), /tokens/],
      [() => collect(localModel.chat([trap('role')])), /messages/],
      [() => Tokenizer.load(trap('model')), /tokenizer/],
    ]) {
      const error = await refusal(call);
      assert.match(error.message, words);
      assert.match(error.message, /boom/);
      assert.equal(error.cause, boom);
    }
  });

  test('circular and endlessly nested objects are refused', async () => {
    const loop = { ...config };
    loop.self = loop;
    const wide = [];
    for (let i = 0, last = wide; i < 60; i++) {
      const next = [];
      last.push(next, next);
      last = next;
    } // 2^60 paths
    let deep = {};
    for (let i = 0; i < 1e5; i++) deep = { deep };
    for (const value of [loop, { ...config, wide }, { ...config, deep }]) {
      for (const call of [
        () => create(value),
        () => countParameters(value),
        () => collect(train(value, 'text')),
        () => depth(value),
        () => load({ weights: new Uint8Array(3), config: value }),
        () => Tokenizer.load(value),
      ]) {
        assert.match((await refusal(call)).message, /contains itself|more than \d+ values|nested deeper/);
      }
    }
  });

  test('files whose JSON is nested deeply are refused', async () => {
    const folder = new URL('../golden/cases/llama_1tok/', import.meta.url);
    const given = JSON.parse(readFileSync(new URL('config.json', folder), 'utf8'));
    const weights = new File([readFileSync(new URL('model.safetensors', folder))], 'model.safetensors');
    const nested = (n) => '['.repeat(n) + ']'.repeat(n);
    const withValue = (key, json) => JSON.stringify({ ...given, [key]: '@' }).replace('"@"', json);
    const opened = (name, text) =>
      load([
        weights,
        ...(name === 'config.json' ? [] : [new File([JSON.stringify(given)], 'config.json')]),
        new File([text], name),
      ]);
    for (const key of ['model_type', 'architectures', 'hidden_size', 'something else'])
      for (const levels of [64, 1e5]) {
        const error = await refusal(() => opened('config.json', withValue(key, nested(levels))));
        assert.equal(error.code, 'bad-file');
        assert.match(error.message, /config\.json: its lists and objects are nested deeper than 64/);
      }
    for (const name of ['generation_config.json', 'tokenizer_config.json', 'tokenizer.json'])
      assert.match((await refusal(() => opened(name, nested(1e5)))).message, new RegExp(`${name}: its lists`));
    // 64 levels with the object around them, and brackets inside a text
    for (const json of [nested(63), JSON.stringify(`\\"${'['.repeat(100)}`)])
      (await opened('config.json', withValue('something else', json))).dispose();
  });

  test('the same object at many places is not taken as circular', async () => {
    const message = { role: 'user', content: 'a' };
    assert.equal(
      (await refusal(() => collect(withTokenizer.chat(new Array(100).fill(message))))).code,
      'no-chat-template',
    );
    const names = ['a', 'b', 'c'],
      encoderDecoder = ['a', 'b'],
      vocab = { a: 0, b: 1, c: 2, ab: 3 },
      merges = [encoderDecoder, ...new Array(99).fill(encoderDecoder)];
    const tokenizer = await Tokenizer.load({
      model: { type: 'BPE', vocab, merges },
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
    });
    assert.deepEqual(tokenizer.encode(names.join('')), [3, 2]);
  });

  test('detached bytes, and objects that only claim a length, are refused', async () => {
    const gone = new Uint8Array(100);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    for (const source of [gone, gone.buffer, { weights: gone, config }, { weights: [gone.buffer], config }]) {
      for (const worker of [false, true])
        assert.equal((await refusal(() => load(source, { worker }))).code, 'truncated');
    }
    const { value, seen } = claims(2 ** 31);
    for (const source of [value, { weights: value }, { length: 4e9 }])
      assert.equal((await refusal(() => load(source))).code, 'bad-argument');
    assert.equal(seen.reads, 0);
  });
});

describe("the engine's own memory for arguments", () => {
  const bytes = new URL('../../web/lib/api/wasm/glassformer-simd.wasm', import.meta.url);
  test('a size beyond the range of wasm is refused, and the next allocation is large enough', async () => {
    const engine = await Engine.start(await WebAssembly.compile(readFileSync(bytes)), 1);
    engine.scratch(100);
    for (const n of [2 ** 32 - 1, 2 ** 32, 2 ** 33, Infinity, NaN]) {
      assert.throws(() => engine.scratch(n), { code: 'out-of-memory' });
      const p = engine.scratch(5000);
      assert.ok(p > 0 && p + 5000 <= engine.memoryBytes);
      assert.equal(engine.scratch(8192), p); // rounded up to a power of two, which is already allocated
    }
    engine.close();
  });
});
