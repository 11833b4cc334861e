// wllama.test.js - llama.cpp, through @wllama/wllama in Chromium, reads every shipped GGUF and generates the same
// greedy text as this engine. Two implementations that quantise activations differently may diverge where the two
// highest logits are nearly equal, that is, where their gap in exact arithmetic is smaller than the effect of rounding.
// This effect is measured at that position: this engine's rounding against f32.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { load } from '../../web/lib/index.js';

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
  await page.goto(`${server.url}package.json`); // any document of this origin will do
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
