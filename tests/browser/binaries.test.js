// binaries.test.js - every binary gives the same bits: logits of the shipped model in Chromium, from each binary and
// each tier of V8's compiler, equal those of Node.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { launch } from '../../scripts/chromium.js';
import { create, load } from '../../web/lib/api/index.js';
import { PATIENCE, until } from '../patience.js';
import { serveLibrary, top } from './engines/fixture.js';

const model = 'weights/stories-3m.gguf';
const skip = !existsSync(top + model) && `${model} is missing`;
const text = 'Once upon a time, there was a little girl named Lily. She loved to play outside in the sun.';

/**
 * Hashes (FNV-1a) of logits, every captured point and a sampled text of a small model, for each type of weights and
 * cache.
 * @param {typeof create} create
 */
const everything = (create) => async (/** @type {object} */ options) => {
  const config = {
    vocab_size: 300,
    d_model: 96,
    n_layers: 2,
    n_heads: 6,
    n_kv_heads: 2,
    d_ff: 160,
    context_length: 160,
  };
  const ids = Array.from({ length: 70 }, (_, i) => (i * 37 + 11) % 300),
    sums = {};
  for (const dtype of ['f32', 'f16', 'q8_0', 'q4_0']) {
    for (const kvDtype of ['f32', 'f16', 'q8_0']) {
      const model = await create(config, { seed: 9, dtype, kvDtype, ...options });
      const { logits, captured } = await model.forward(ids, { capture: ['*'] });
      const drawn = [];
      for await (const { id, logprob } of model.generate(ids.slice(0, 5), { maxTokens: 70, seed: 2 }))
        drawn.push(id, logprob);
      model.dispose();
      for (const [name, data] of Object.entries({
        logits: logits.data,
        drawn: Float32Array.from(drawn),
        ...Object.fromEntries(Object.entries(captured).map(([k, t]) => [k, t.data])),
      })) {
        let sum = 0x811c9dc5;
        for (const word of new Uint32Array(data.buffer, data.byteOffset, data.length))
          sum = Math.imul(sum ^ word, 0x01000193) >>> 0;
        sums[`${dtype} ${kvDtype} ${name}`] = sum;
      }
    }
  }
  return sums;
};

/** A page that is waited for as long as it takes. */
async function newPage(browser) {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  return page;
}

/** Logits of the text as bits, from a page that has the library. */
async function logits(page, options) {
  await page.waitForFunction(() => window.library);
  return page.evaluate(
    async ([path, text, options]) => {
      const model = await window.library.load(path, options);
      const { logits } = await model.forward(text);
      const used = model.backend;
      model.dispose();
      return { used, bits: Array.from(new Uint32Array(logits.data.buffer)) };
    },
    [model, text, options],
  );
}

let server, expected;

before(async () => {
  server = await serveLibrary(true);
  if (skip) return;
  const engine = await load(top + model);
  expected = new Uint32Array((await engine.forward(text)).logits.data.buffer);
  engine.dispose();
});

after(async () => {
  await server.close();
});

for (const [tier, flag] of [
  ['first', '--liftoff-only'],
  ['optimising', '--no-liftoff'],
]) {
  for (const backend of ['simd', 'relaxed']) {
    test(`${backend} in Chromium, V8's ${tier} tier`, { skip }, async () => {
      const browser = await launch({ shell: true, args: [`--js-flags=${flag}`] });
      try {
        const page = await newPage(browser);
        await page.goto(server.url);
        const { used, bits } = await logits(page, { backend, threads: 1 });
        assert.match(used, new RegExp(backend));
        assert.equal(bits.length, expected.length);
        const at = bits.findIndex((value, i) => value !== expected[i]);
        assert.equal(at, -1, `logit ${at} differs`);
      } finally {
        await browser.close();
      }
    });
  }
}

describe('threads', () => {
  let browser;
  before(async () => {
    browser = await launch(); // the headless shell sometimes still lists a worker that was terminated
  });
  after(() => browser.close());

  /** Open an isolated page, and load the model so many times. */
  async function inPage(options, times) {
    const page = await newPage(browser);
    const errors = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(server.url);
    let last;
    for (let i = 0; i < times; i++) last = await logits(page, options);
    // workers need a moment to end
    await until(() => page.workers().length === 0, 'no worker is left');
    await page.close();
    return { ...last, errors };
  }
  const same = (bits) =>
    assert.equal(
      bits.findIndex((value, i) => value !== expected[i]),
      -1,
      'the logits differ',
    );

  let here;
  for (const backend of ['simd', 'relaxed']) {
    test(`${backend}: every type of weights and cache, and every captured point, have Node's bits`, async () => {
      here ??= await everything(create)({ backend: 'simd', worker: false });
      assert.ok(Object.keys(here).length > 12 * 30);
      const page = await newPage(browser);
      await page.goto(server.url);
      await page.waitForFunction(() => window.library);
      await page.evaluate(`window.everything = (${everything})(library.create)`);
      for (const threads of [1, 2])
        assert.deepEqual(
          await page.evaluate((options) => window.everything(options), { backend, threads }),
          here,
          `${threads} threads`,
        );
      await page.close();
    });

    for (const threads of [2, 3]) {
      test(`${threads} threads of ${backend}: the same numbers, and dispose ends all workers`, { skip }, async () => {
        const { used, bits, errors } = await inPage({ backend, threads }, 3);
        assert.match(used, new RegExp(`^${backend}.*, ${threads} threads$`));
        same(bits);
        assert.deepEqual(errors, []);
      });
    }
  }
});
