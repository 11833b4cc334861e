// refusals.test.js - bad input gives a stable code and a message that names what and where, and the model works
// afterwards (bad_arguments.test.js: every call with every kind of wrong value)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CODES, GlassformerError, Tokenizer, countParameters, create, load } from '../../web/lib/api/index.js';
import {
  collect,
  golden,
  json,
  noShared,
  openCase,
  readTensors,
  refused as isRefused,
  safetensors,
  serve,
  shared,
  stories,
  untilEnd,
} from './helpers.js';

const model = await untilEnd(load(stories));
const write = () => collect(model.generate('Once upon a time', { maxTokens: 5, temperature: 0 })).then((r) => r.ids);
const expected = await write();

/** The refusal itself, and that the model loaded before still writes. */
async function refused(promise, code, words) {
  await isRefused(promise, code, words);
  assert.deepEqual(await write(), expected);
}

const tiny = { vocab_size: 8, d_model: 8, n_layers: 1, n_heads: 1 };
const one = openCase('llama_1tok');
const weights = readFileSync(join(one.folder, 'model.safetensors'));
const { config } = one;
const gguf = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf'));
const tensors = () => readTensors(join(one.folder, 'model.safetensors'));

describe('prompts', () => {
  const generate = (...args) => collect(model.generate(...args));
  test('that are empty are refused', async () => {
    for (const prompt of ['', [], new Int32Array(0)])
      await refused(generate(prompt), 'empty-prompt', /prompt is empty/);
    await refused(model.forward(''), 'empty-prompt');
    await refused(model.forward([]), 'empty-prompt');
    await refused(generate([[1], []]), 'empty-prompt');
  });
  test('that are longer than the context are refused', async () => {
    await refused(generate(new Array(257).fill(1)), 'context-full', /257 tokens.*256/);
    await refused(generate('word '.repeat(400)), 'context-full', /tokens, the context holds 256/);
    await refused(model.forward(new Array(257).fill(1)), 'context-full');
    const session = await model.session();
    await session.eval(new Array(250).fill(1));
    await refused(session.eval(new Array(7).fill(1)), 'context-full', /250 positions.*7 tokens.*256/);
    assert.equal(session.length, 250);
    await session.close();
  });
  test('with ids outside the vocabulary, or values that are no ids, are refused', async () => {
    for (const id of [-1, 2048, 1.5, NaN, Infinity])
      await refused(generate([5, id]), 'bad-token', /place 1.*0 to 2047/);
  });
  test('of ids give steps without texts where there is no tokenizer', async () => {
    const bare = await untilEnd(create(tiny));
    const { steps } = await collect(bare.generate([1], { maxTokens: 3 }));
    assert.deepEqual(
      steps.map((s) => s.text),
      ['', '', ''],
    );
  });
});

describe('options', () => {
  test('that are no object are refused', () => refused(load(stories, null), 'bad-option'));
  test('that name unknown points or malformed edits are refused', async () => {
    await refused(model.forward('A', { capture: ['blocks.99.hook_resid_pre'] }), 'unknown-point', /blocks\.99/);
    await refused(
      model.forward(new Array(200).fill(1), { capture: ['*'], captureBudget: 1e6 }),
      'capture-too-large',
      /\d{7,} bytes.*1000000/,
    );
    // six heads, one query, ten keys
    const pattern = { capture: ['blocks.0.attn.hook_pattern'], captureBudget: 4 * 6 * 10 };
    const steps = [];
    await refused(
      (async () => {
        for await (const step of model.generate([1], { ...pattern, maxTokens: 20, ignoreEos: true, temperature: 0 }))
          steps.push(step);
      })(),
      'capture-too-large',
      /264 bytes.*240/,
    );
    assert.equal(steps.length, 10);
    const edit = (e) => model.forward('A', { edits: [e] });
    await refused(edit({ at: 'nowhere', scale: 0 }), 'unknown-point');
    await refused(edit({ at: 'blocks.0.hook_mlp_out' }), 'bad-option', /changes nothing/);
    await refused(edit({ at: 'blocks.0.attn.hook_z', head: 6, scale: 0 }), 'bad-argument', /head/);
    await refused(edit({ at: 'blocks.0.hook_mlp_out', set: new Float32Array(3) }), 'bad-argument', /3 values/);
  });
});

// formats*.test.js: with wrong headers, names, shapes and types
describe('checkpoints', () => {
  const parts = (bytes, c = config) => load({ weights: bytes, config: c });

  test('that are truncated anywhere are refused', async () => {
    const { length } = weights;
    for (const n of [0, 1, 7, 8, 9, 100, 500, 1000, length >> 1, length - 4, length - 1])
      await refused(parts(weights.subarray(0, n)), ['truncated', 'bad-header', 'unknown-format']);
    for (const n of [0, 3, 4, 20, 100, 1000, gguf.length >> 1, gguf.length - 1])
      await refused(load(gguf.subarray(0, n)), ['truncated', 'bad-header', 'unknown-format']);
  });

  test('with NaN or an infinity are refused; the message names tensor and place', async () => {
    for (const value of [NaN, Infinity, -Infinity]) {
      for (const name of ['model.layers.0.mlp.up_proj.weight', 'model.norm.weight', 'model.embed_tokens.weight']) {
        const t = tensors();
        t[name].data[5] = value;
        await refused(parts(safetensors(t)), 'not-finite', new RegExp(name.replaceAll('.', '\\.')));
      }
    }
  });

  test('with a tokenizer that does not fit are refused', async () => {
    const big = {
      version: '1.0',
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(Array.from({ length: 70 }, (_, i) => [String.fromCodePoint(97 + i), i])),
        merges: [],
      },
    };
    await refused(load({ weights, config, tokenizer: big }), 'bad-tokenizer');
  });

  test('from the network are refused after a 404, a web page, an interrupted answer or no server', async () => {
    const server = await serve((request, response) => {
      if (request.url.startsWith('/page'))
        return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>hello</title>');
      if (request.url.startsWith('/broken')) {
        response.writeHead(200, { 'content-length': gguf.length });
        return response.write(gguf.subarray(0, 5000), () => response.destroy());
      }
      response.writeHead(404).end('no');
    });
    await refused(load(`${server.url}nothing.gguf`), 'not-found', /nothing\.gguf/);
    await refused(load(`${server.url}page.gguf`), 'html', /page\.gguf/);
    await refused(load(`${server.url}page/`), ['html', 'not-found'], /page/);
    await refused(load(`${server.url}broken.gguf`), 'network', /broken\.gguf/);
    await refused(load(stories, { wasm: `${server.url}page.wasm` }), 'html', /page\.wasm.*WebAssembly/);
    await refused(load(stories, { wasm: `${server.url}nothing.wasm` }), 'not-found', /nothing\.wasm/);
    server.close();
    await refused(load(`${server.url}gone.gguf`), 'network', /gone\.gguf/);
    await refused(load(stories, { wasm: new Uint8Array([1, 2, 3]) }), 'bad-wasm');
    await refused(load(join(golden, 'no-such-file.gguf')), 'not-found', /no-such-file/);
    await refused(load(`${golden}/no-such-folder/`), 'not-found', /no-such-folder/);
    await refused(load([new Blob(['GGUF'])]), 'not-found', /no config\.json/); // a Blob has no name
  });

  test('with an invalid address are refused, in Node and in a page', async () => {
    const wrong = () => refused(load('http://['), 'network', /^http:\/\/\[: /);
    await wrong();
    globalThis.location = { href: 'http://page.example/' };
    try {
      await wrong();
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
    server.close();
    assert.deepEqual(await write(), expected);
  });
});

test('a row that a weight does not have is refused; the message has the number of rows', async () => {
  const model = await untilEnd(create({ vocab_size: 64, d_model: 32, n_layers: 1, n_heads: 4 }));
  assert.equal((await model.weight('final_norm.weight', 0)).length, 32);
  for (const [name, row, last] of [
    ['final_norm.weight', 1, 0],
    ['embed.weight', 64, 63],
    ['embed.weight', -1, 63],
  ]) {
    await refused(model.weight(name, row), 'bad-option', new RegExp(`the row of ${name} is ${row}, .*0 to ${last}$`));
  }
});

describe('configurations', () => {
  const base = { vocab_size: 64, d_model: 32, n_layers: 1, n_heads: 4 };
  test('are refused by create and countParameters alike', async () => {
    for (const [change, words] of [
      [{ d_model: 30 }, /d_model 30.*n_heads 4/],
      [{ vocab_size: -1 }, /vocab_size/],
      [{ ffn: 'gelu' }, /ffn.*gelu_erf/],
      [{ no_such_field: 1 }, /no_such_field/],
      [{ n_layers: undefined }, /n_layers/],
    ]) {
      await refused(create({ ...base, ...change }), 'bad-config', words);
      assert.throws(() => countParameters({ ...base, ...change }), { code: 'bad-config' });
    }
  });
  test('that are too large for memory are refused', async () => {
    await refused(create('llama3-70b'), 'out-of-memory');
    for (const worker of [false, true]) {
      // logits of 2^36 numbers: JavaScript throws a RangeError
      const wide = await create(
        { vocab_size: 2 ** 22, d_model: 2, n_layers: 1, n_heads: 1, position: 'none', context_length: 2 ** 14 },
        { worker, threads: 1 },
      );
      await refused(wide.forward(new Array(2 ** 14).fill(1)), 'out-of-memory', /not enough memory/);
      assert.equal((await wide.forward([1])).logits.shape[0], 1);
      wide.dispose();
    }
  });
  test('are refused for calls that their kind of model does not have', async () => {
    const encoder = await untilEnd(create({ ...base, kind: 'encoder' }));
    for (const o of [{ source: [1] }, { sourceMask: [1] }]) {
      await refused(encoder.forward([1], o), 'bad-option', /encoder_decoder/);
      await refused(encoder.trace([1], o), 'bad-option', /encoder_decoder/);
      await refused(model.trace([1], o), 'bad-option', /encoder_decoder/);
    }
    const reason = new Error('enough');
    await assert.rejects(encoder.embed([1], { signal: AbortSignal.abort(reason) }), reason);
    await refused(collect(encoder.generate([1])), 'unsupported', /encoder/);
    await refused(encoder.session(), 'unsupported');
    await refused(model.embed('text'), 'unsupported');
    await refused(collect(model.generate('A', { source: [1] })), 'bad-option', /encoder_decoder/);
    const both = await untilEnd(create({ ...base, kind: 'encoder_decoder' }));
    await refused(collect(both.generate([1])), 'bad-option', /source/);
    await refused(both.forward([1], { source: [] }), 'empty-prompt', /source/);
    // a model from create() has no begin token
    await refused(both.forward([], { source: [1] }), 'empty-prompt', /input/);
    await refused(both.forward([1], { source: [1, 2], sourceMask: [1] }), 'bad-option', /sourceMask/);
    await refused(both.forward([1], { source: [1, 2], sourceMask: [0, 0] }), 'bad-option', /sourceMask/);
    await refused(
      collect(
        both.generate([[1], [1]], {
          source: [
            [1, 2],
            [3, 4],
          ],
          sourceMask: [[0, 1]],
        }),
      ),
      'bad-option',
      /1 source masks for 2 sequences/,
    );
    await refused(
      both.forward(
        [
          [1, 2],
          [3, 4],
        ],
        { source: [1], mask: [0, 0] },
      ),
      'bad-option',
      /mask/,
    );
  });
});

describe('after dispose and close', () => {
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
});

// The malformed files that the project was given, each with its expected result.
describe('the shared malformed files', { skip: noShared }, () => {
  if (!shared) return;
  const folder = join(shared, 'cases/adversarial');
  for (const { file, config: cfg, expect, why } of json(join(folder, 'index.json'))) {
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
      if (error) {
        assert.ok(error instanceof GlassformerError, error.stack);
        assert.ok(Object.hasOwn(CODES, error.code), error.code);
      }
      assert.deepEqual(await write(), expected);
    });
  }
});
