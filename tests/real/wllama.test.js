// wllama.test.js - llama.cpp, through @wllama/wllama in Chromium, reads every shipped GGUF and generates the same
// greedy text as this engine, and computes the same from a GGUF of each architecture that this project writes. Two
// implementations that quantise activations differently may diverge where the two highest logits are nearly equal, that
// is, where their gap in exact arithmetic is smaller than the effect of rounding. This effect is measured at that
// position: this engine's rounding against f32.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { writeModel } from '../../web/lib/files/gguf/write_model.js';
import { vocabularyMeta } from '../../web/lib/files/gguf/write_vocab.js';
import { load } from '../../web/lib/api/index.js';
import { MODELS, randomModel } from '../node/gguf_models.js';
import { numbers, untilEnd } from '../node/helpers.js';
import { PATIENCE } from '../patience.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const models = readdirSync(`${top}weights`)
  .filter((name) => name.endsWith('.gguf'))
  .map((name) => `weights/${name}`);
const nTokens = 64;

const prompts = [
  'Once upon a time, there was a little',
  'The dragon was sad because',
  'Tom and Sue went to the park. "Look!"',
];

/** Greedy ids and texts after each prompt. */
async function ours(model) {
  const engine = await load(top + model);
  const results = [];
  for (const prompt of prompts) {
    const promptIds = await engine.encode(prompt),
      ids = [];
    let text = '';
    for await (const step of engine.generate(prompt, { maxTokens: nTokens, temperature: 0, ignoreEos: true })) {
      ids.push(step.id);
      text += step.text;
    }
    results.push({ promptIds, ids, text });
  }
  engine.dispose();
  return results;
}

/** How far apart two tokens are in exact arithmetic after `ids`, and the most that rounding moves a logit there. */
async function apart(model, ids, a, b) {
  const [rounded, exact] = await Promise.all(
    ['keep', 'f32'].map(async (dtype) => {
      const engine = await load(top + model, { dtype }),
        {
          logits: {
            data,
            shape: [, vocab],
          },
        } = await engine.forward(ids);
      engine.dispose();
      return data.subarray((ids.length - 1) * vocab);
    }),
  );
  return {
    gap: Math.abs(exact[a] - exact[b]),
    moved: rounded.reduce((most, x, i) => Math.max(most, Math.abs(x - exact[i])), 0),
  };
}

/** The same from llama.cpp. Runs in the page. */
async function inPage({ library, model, prompts, nTokens }) {
  const { Wllama } = await import(`${library}index.js`);
  const silent = { debug() {}, log() {}, warn() {}, error: console.error };
  const wllama = new Wllama(
    { 'single-thread/wllama.wasm': `${library}single-thread/wllama.wasm` },
    { logger: silent, suppressNativeLog: true },
  );
  const file = await (await fetch(model)).blob();
  await wllama.loadModel([file], { n_ctx: 256, n_threads: 1 });
  const results = [];
  for (const prompt of prompts) {
    await wllama.kvClear();
    const promptIds = await wllama.tokenize(prompt, true);
    if (wllama.mustAddBosToken()) promptIds.unshift(wllama.getBOS());
    await wllama.samplingInit({ temp: 0 });
    await wllama.decode(promptIds, {});
    const ids = [],
      bytes = [];
    for (let i = 0; i < nTokens; i++) {
      const { token, piece } = await wllama.samplingSample();
      ids.push(token);
      bytes.push(...piece);
      await wllama.decode([token], {});
    }
    results.push({ promptIds: Array.from(promptIds), ids, text: new TextDecoder().decode(new Uint8Array(bytes)) });
  }
  await wllama.exit();
  return results;
}

let server, browser, page;
before(async () => {
  server = await serve(top);
  browser = await launch({ shell: true });
  page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${server.url}package.json`); // any document of this origin will do
  // as long as one page has the module, V8 has its machine code for every instance
  await page.evaluate(async (url) => {
    window.kept = await WebAssembly.compileStreaming(fetch(url));
  }, `${server.url}node_modules/wllama2/esm/single-thread/wllama.wasm`);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

for (const model of models)
  test(`llama.cpp gives the same greedy text as this engine for ${model}`, async (t) => {
    const library = `${server.url}node_modules/wllama2/esm/`;
    const theirs = await page.evaluate(inPage, { library, model: server.url + model, prompts, nTokens });
    for (const [n, { promptIds, ids, text }] of (await ours(model)).entries()) {
      const prompt = JSON.stringify(prompts[n]),
        other = theirs[n];
      assert.deepEqual(other.promptIds, promptIds, `ids of the prompt ${prompt}`);
      assert.equal(ids.length, nTokens);
      const at = ids.findIndex((id, i) => id !== other.ids[i]);
      if (at < 0) {
        assert.equal(text, other.text);
        t.diagnostic(`${prompt}: the same ${nTokens} tokens`);
        continue;
      }
      const { gap, moved } = await apart(model, [...promptIds, ...ids.slice(0, at)], ids[at], other.ids[at]);
      t.diagnostic(
        `${prompt}: the same ${at} tokens, then ${ids[at]} here and ${other.ids[at]} there; ${gap.toFixed(4)} apart in f32, where rounding moves a logit by up to ${moved.toFixed(4)}`,
      );
      assert.ok(
        moved < 0.25 && gap < 2 * moved,
        `token ${at} differs: ours ${ids[at]}, llama.cpp ${other.ids[at]}; in f32 they are ${gap} apart, and rounding moves a logit by ${moved} at most`,
      );
    }
  });

/** A model of the table as the bytes of a GGUF, with a vocabulary of 320 tokens. */
async function written(name) {
  const { config, weights } = randomModel(MODELS[name]);
  const { tokenizer, special, close } = await openCheckpoint(`${top}tests/golden/cases/gguf_phi3/model.gguf`);
  close();
  const meta = vocabularyMeta(tokenizer, special, config.vocab_size);
  const chunks = [];
  for await (const chunk of writeModel(config, (w) => weights[w].data, { meta })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** llama.cpp's probability of each of some ids after a prompt, and its own choice. Runs in the page. */
async function probabilitiesInPage({ library, base64, prompt, ids }) {
  const { Wllama } = await import(`${library}index.js`);
  const silent = { debug() {}, log() {}, warn() {}, error: console.error };
  const wllama = new Wllama(
    { 'single-thread/wllama.wasm': `${library}single-thread/wllama.wasm` },
    { logger: silent, suppressNativeLog: true },
  );
  const file = await (await fetch(`data:application/octet-stream;base64,${base64}`)).blob();
  await wllama.loadModel([file], { n_ctx: 128, n_threads: 1 });
  await wllama.samplingInit({ temp: 0 });
  const steps = [];
  let batch = prompt;
  for (const id of ids) {
    await wllama.decode(batch, {});
    const most = await wllama.getLogits(8);
    steps.push({ best: most[0], own: most.find(({ token }) => token === id)?.p ?? 0 });
    batch = [id];
  }
  await wllama.exit();
  return steps;
}

// Jais 2 is newer than the llama.cpp in this package.
for (const name of Object.keys(MODELS).filter((each) => each !== 'jais2'))
  test(`llama.cpp computes the same from a written GGUF: ${name}`, async (t) => {
    const bytes = await written(name);
    const prompt = numbers(40, 300, 7).map((x) => x + 10);
    const model = await untilEnd(load(new Uint8Array(bytes), { dtype: 'f32' }));
    const steps = [];
    for await (const { id, logprob } of model.generate(prompt, { temperature: 0, maxTokens: 16, ignoreEos: true }))
      steps.push({ id, logprob });
    assert.equal(steps.length, 16);
    const theirs = await page.evaluate(probabilitiesInPage, {
      library: `${server.url}node_modules/wllama2/esm/`,
      base64: bytes.toString('base64'),
      prompt,
      ids: steps.map(({ id }) => id),
    });
    // llama.cpp keeps keys and values as f16, and computes GELU by a table in f16
    const off = Math.max(...theirs.map(({ own }, i) => Math.abs(Math.log(own) - steps[i].logprob)));
    t.diagnostic(`log probabilities within ${off.toFixed(5)}`);
    assert.ok(off < 0.02, `log probabilities differ by ${off}`);
    theirs.forEach(({ best, own }, i) =>
      assert.ok(best.token === steps[i].id || Math.log(best.p / own) < 0.02, `token ${i} is ${best.token}`),
    );
  });
