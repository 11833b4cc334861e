// hostile.test.js - arguments that are too large, change while they are read, or run code of their own
//
// An array of three million edits was refused only after seconds, and one of 2^31 ids ended the process. `set: {
// length: 6e8 }` made the engine reserve 2^32 bytes, which is 0 in 32 bits: every later call overwrote its memory until
// it trapped.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Engine } from '../../web/lib/engine/engine.js';
import {
  GlassformerError,
  Tokenizer,
  countParameters,
  create,
  depth,
  estimate,
  load,
  train,
} from '../../web/lib/index.js';
import { collect, stories } from './helpers.js';

const config = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 2, context_length: 64 };
const both = { ...config, kind: 'encoder_decoder', n_encoder_layers: 1, position: 'sinusoidal' };
let localModel, workerModel, encoderDecoder, withTokenizer, textBefore;
const ids = [1, 2, 3];
const generatedText = async (model) => Buffer.from((await model.forward(ids)).logits.data.buffer).toString('hex');
before(async () => {
  [localModel, workerModel, encoderDecoder, withTokenizer] = await Promise.all([
    create(config, { seed: 1 }),
    create(config, { seed: 1, worker: true, threads: 1 }),
    create(both, { seed: 1 }),
    load(stories),
  ]);
  textBefore = await generatedText(localModel);
});
after(() => {
  for (const model of [localModel, workerModel, encoderDecoder, withTokenizer]) model.dispose();
});

/**
 * An array-like that claims this many entries and counts how many are read.
 * @param {number} length
 * @param {any} [entry]
 */
function claims(length, entry = 1, target = []) {
  const seen = { reads: 0 };
  const value = new Proxy(target, {
    get(_, name) {
      if (name === 'length') return length;
      if (typeof name === 'string' && /^\d+$/.test(name)) seen.reads++;
      return typeof name === 'symbol' ? target[name] : entry;
    },
  });
  return { value, seen };
}

const at = 'blocks.0.hook_mlp_out';
/**
 * Every argument that takes a list, by the name in its error message.
 * @type {Record<string, (model: any, list: any) => any>}
 */
const LISTS = {
  'the prompt': (m, list) => collect(m.generate(list, { maxTokens: 1 })),
  'the input': (m, list) => m.forward(list),
  'the input of a lens': (m, list) => m.logitLens(list),
  'the input of an attribution': (m, list) => m.attribution(list),
  'the input of an explanation': (m, list) => m.explain(list, { at: 'logits' }),
  'the input of a trace': (m, list) => m.trace(list),
  'the input of an embedding': (m, list) => m.embed(list),
  'the prompt of a beam search': (m, list) => collect(m.generate(list, { beams: 2 })),
  ids: (m, list) => m.decode(list),
  logits: (m, list) => m.distribution(list),
  seen: (m, list) => m.distribution([1, 2], { seen: list }),
  capture: (m, list) => m.forward(ids, { capture: list }),
  'capture of a text': (m, list) => collect(m.generate(ids, { capture: list })),
  'capture of a session': (m, list) => m.session({ capture: list }),
  edits: (m, list) => m.forward(ids, { edits: list }),
  'edits of a session': (m, list) => m.session({ edits: list }),
  set: (m, list) => m.forward(ids, { edits: [{ at, set: list }] }),
  add: (m, list) => m.forward(ids, { edits: [{ at, add: list }] }),
  stop: (m, list) => collect(m.generate(ids, { stop: list })),
  mask: (m, list) => m.forward(ids, { mask: list }),
  sourceMask: (m, list) => m.forward(ids, { sourceMask: list }),
  source: (m, list) => m.forward(ids, { source: list }),
  messages: (m, list) => collect(m.chat(list)),
  async 'the input of a generation in a session'(m, list) {
    const session = await m.session();
    try {
      await collect(session.generate(list, { maxTokens: 1 }));
    } finally {
      await session.close();
    }
  },
  async 'the input of a session'(m, list) {
    const session = await m.session();
    try {
      await session.eval(list);
    } finally {
      await session.close();
    }
  },
};

const refusal = async (call) => {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => null,
      (e) => e,
    );
  assert.ok(error instanceof GlassformerError, `${error?.stack ?? 'not refused'}`);
  assert.ok(error.message.length < 1000);
  return error;
};

/** Entries that a sentence may show. */
const SHOWN = 50;

describe('lists', () => {
  for (const [name, call] of Object.entries(LISTS)) {
    test(`${name}: 2^31 entries are refused for their number, and at most the shown ones are read`, async () => {
      for (const length of [2 ** 31, 2 ** 53 - 1]) {
        const errors = [];
        for (const model of [localModel, workerModel]) {
          const { value, seen } = claims(length);
          errors.push(await refusal(() => call(model, value)));
          assert.ok(seen.reads <= SHOWN, `${seen.reads} entries were read`);
        }
        assert.match(errors[0].message, new RegExp(String(length)));
        assert.match(errors[0].message, new RegExp(name.split(' of ')[0]));
        assert.deepEqual([errors[1].code, errors[1].message], [errors[0].code, errors[0].message]);
      }
    });

    test(`${name}: a value that is not a list, or changes while it is read, is refused`, async () => {
      const throwing = claims(3).value;
      const { proxy, revoke } = Proxy.revocable([], {});
      revoke();
      const growing = () => {
        // when its length is read for the second time
        let asked = 0;
        return new Proxy([1, 2, 3], { get: (target, key) => (key === 'length' ? (asked++ ? 1e9 : 3) : target[key]) });
      };
      const odd = [
        { length: '3' },
        { length: -1 },
        { length: 2.5 },
        { length: NaN },
        { length: 6e8 },
        { length: 2 ** 30 },
        {
          get length() {
            throw new Error('boom');
          },
        },
        [1, , 3],
        new BigInt64Array(3),
        new DataView(new ArrayBuffer(8)),
        () => 1,
        Symbol('odd'),
        5n,
        proxy,
        new Proxy([], {
          get() {
            throw new Error('boom');
          },
        }),
        [Symbol('odd')],
        [{ length: 1e9 }],
        'x'.repeat(1e6),
        throwing,
        growing,
      ];
      for (const made of odd) {
        let refused = null;
        for (const model of [localModel, workerModel]) {
          const value = made === growing ? growing() : made;
          const error = await Promise.resolve()
            .then(() => call(model, value))
            .then(
              () => null,
              (e) => e,
            );
          if (made === growing) assert.doesNotMatch(error?.message ?? '', /1000000000/);
          if (error)
            assert.ok(
              error instanceof GlassformerError &&
                error.code !== 'internal' &&
                error.code !== 'crashed' &&
                error.code !== 'out-of-memory',
              `${error.stack}`,
            );
          if (model === localModel) refused = error;
          else assert.deepEqual([error?.code, error?.message], [refused?.code, refused?.message]);
        }
      }
      for (const model of [localModel, workerModel]) assert.equal(await generatedText(model), textBefore);
    });
  }

  test('a source and its mask are checked in the same way', async () => {
    for (const [call, name] of [
      [(v) => encoderDecoder.forward(ids, { source: v }), 'source'],
      [(v) => encoderDecoder.session({ source: v }), 'source'],
      [(v) => collect(encoderDecoder.generate(ids, { source: v })), 'source'],
      [(v) => encoderDecoder.forward(ids, { source: ids, sourceMask: v }), 'sourceMask'],
      [(v) => encoderDecoder.trace(ids, { source: v }), 'source'],
    ]) {
      const { value, seen } = claims(2 ** 31);
      assert.match((await refusal(() => call(value))).message, new RegExp(`${name}.*${2 ** 31}`));
      assert.ok(seen.reads <= SHOWN);
    }
    assert.match(
      (await refusal(() => encoderDecoder.forward(ids, { source: ids, sourceMask: [1, 'x', 0] }))).message,
      /sourceMask holds "x" at place 1/,
    );
    assert.equal((await encoderDecoder.forward(ids, { source: ids, sourceMask: [true, 1, 0] })).logits.shape[0], 3);
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
      /changes at single points, at most 262144/,
    );
    // each edit makes two changes at each point
    const half = Math.floor(2 ** 18 / (await localModel.points()).length / 2) + 1;
    assert.match(
      (await refusal(() => localModel.forward(ids, { edits: new Array(half).fill({ at: '*', scale: 1, add: 0 }) })))
        .message,
      /changes at single points/,
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
    const broad = await create(
        { ...config, vocab_size: 8, d_model: 8, n_layers: 1, n_heads: 1, d_ff: 65536 },
        { seed: 1 },
      ),
      row = { at: 'blocks.0.mlp.hook_post', add: new Float32Array(65536) };
    assert.match(
      (await refusal(() => broad.forward(ids, { edits: new Array(257).fill(row) }))).message,
      /edits: at most 16777216 numbers are taken/,
    );
    broad.dispose();
  });
});

describe('texts', () => {
  // 500 MB: V8 joins the pieces of a repeated text only when a character of it is read, which takes half a second
  const long = 'x'.repeat(5e8);
  /** @type {Record<string, (text: any) => any>} */
  const texts = {
    prompt: (text) => collect(withTokenizer.generate(text)),
    input: (text) => withTokenizer.forward(text),
    'input 1': (text) => withTokenizer.forward(['a', text]),
    'the text': (text) => withTokenizer.encode(text),
    capture: (text) => withTokenizer.forward('a', { capture: [text] }),
    edits: (text) => withTokenizer.forward('a', { edits: text }),
    at: (text) => withTokenizer.forward('a', { edits: [{ at: text, scale: 1 }] }),
    set: (text) => withTokenizer.forward('a', { edits: [{ at, set: text }] }),
    stop: (text) => collect(withTokenizer.generate('a', { stop: [text] })),
    temperature: (text) => collect(withTokenizer.generate('a', { temperature: text })),
    mask: (text) => withTokenizer.forward('a', { mask: text }),
    weight: (text) => withTokenizer.weight(text),
    row: (text) => withTokenizer.weight('embed.weight', text),
    token: (text) => withTokenizer.attribution('a', { token: text }),
    dtype: (text) => load(stories, { dtype: text }),
    'the source': (text) => load(text),
    sha256: (text) => load(stories, { sha256: text }),
    config: (text) => load(stories, { config: text }),
    names: (text) => load(stories, { names: text }),
    preset: (text) => countParameters(text),
    'the preset': (text) => collect(train(text, 'a')),
    options: (text) => withTokenizer.forward('a', text),
    dtype: (text) => estimate('gpt2', { contextLength: 8, dtype: text }),
    seen: (text) => withTokenizer.distribution([1], { seen: text }),
    ids: (text) => withTokenizer.decode(text),
    positions: async (text) => (await withTokenizer.session()).rewind(text),
  };
  for (const [name, call] of Object.entries(texts)) {
    test(`${name}: a text of 500 MB is refused without reading it`, async () => {
      const error = await refusal(() => call(long));
      assert.match(error.message, new RegExp(name));
      assert.ok(!error.message.includes('xx'), error.message);
    });
  }
  test('a tokenizer refuses it too', async () => {
    const tokenizer = await Tokenizer.load(stories);
    assert.match((await refusal(() => tokenizer.encode(long))).message, /500000000 characters, at most 16777216/);
    assert.match(
      (
        await refusal(() =>
          Tokenizer.load({ model: { type: 'BPE', vocab: { [`${'x'.repeat(1000)}`]: 0 }, merges: [long] } }),
        )
      ).message,
      /tokenizer/,
    );
    const { value, seen } = claims(2 ** 31);
    for (const call of [() => tokenizer.decode(value), () => tokenizer.stream(value)])
      assert.match((await refusal(call)).message, /ids has 2147483648 entries/);
    assert.equal(seen.reads, 0);
  });
  test('the texts of several prompts together have the limit of one', async () => {
    assert.match(
      (await refusal(() => withTokenizer.forward(new Array(300).fill('x'.repeat(6e4))))).message,
      /input \d+ is too long.*16777216/,
    );
  });
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
    await localModel.distribution(counting([1, 2, 3]), counting({ topK: 2, seen: [1] }));
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
    const nested = (/** @type {number} */ n) => '['.repeat(n) + ']'.repeat(n);
    const withValue = (/** @type {string} */ key, /** @type {string} */ json) =>
      JSON.stringify({ ...given, [key]: '@' }).replace('"@"', json);
    const opened = (/** @type {string} */ name, /** @type {string} */ text) =>
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
  const bytes = new URL('../../web/lib/wasm/glassformer-simd.wasm', import.meta.url);
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
