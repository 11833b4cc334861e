// wllama.test.js - llama.cpp, through @wllama/wllama in Chromium, reads every GGUF we ship and writes
// the same greedy text as our engine. Two implementations that quantise activations differently may
// part where the two best tokens are nearly equal, so a difference counts only above that gap.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { load } from '../../web/lib/index.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const models = readdirSync(`${top}weights`).filter((name) => name.endsWith('.gguf')).map((name) => `weights/${name}`);
const nTokens = 64;
const nearlyEqual = 0.05;   // logits

const prompts = ['Once upon a time, there was a little', 'The dragon was sad because', 'Tom and Sue went to the park. "Look!"'];

/** Greedy ids, text and, per step, the gap between the two best logits. */
async function ours(model, prompt) {
  const engine = await load(top + model);
  try {
    const promptIds = await engine.encode(prompt);
    const ids = [], gaps = [];
    let text = '';
    for await (const step of engine.generate(prompt, { maxTokens: nTokens, temperature: 0, logprobs: 2, ignoreEos: true })) {
      ids.push(step.id);
      text += step.text;
      gaps.push(step.top[0].logprob - step.top[1].logprob);   // the softmax's sum cancels
    }
    return { promptIds, ids, text, gaps };
  } finally {
    engine.dispose();
  }
}

/** The same from llama.cpp. Runs in the page. */
async function inPage({ library, model, prompt, nTokens }) {
  const { Wllama } = await import(`${library}index.js`);
  const silent = { debug() {}, log() {}, warn() {}, error: console.error };
  const wllama = new Wllama({ 'single-thread/wllama.wasm': `${library}single-thread/wllama.wasm` },
    { logger: silent, suppressNativeLog: true });
  const file = await (await fetch(model)).blob();
  await wllama.loadModel([file], { n_ctx: 256, n_threads: 1 });
  const promptIds = await wllama.tokenize(prompt, true);
  if (wllama.mustAddBosToken()) promptIds.unshift(wllama.getBOS());
  await wllama.samplingInit({ temp: 0 });
  await wllama.decode(promptIds, {});
  const ids = [], bytes = [];
  for (let i = 0; i < nTokens; i++) {
    const { token, piece } = await wllama.samplingSample();
    ids.push(token);
    bytes.push(...piece);
    await wllama.decode([token], {});
  }
  await wllama.exit();
  return { promptIds: Array.from(promptIds), ids, text: new TextDecoder().decode(new Uint8Array(bytes)) };
}

for (const model of models) test(`llama.cpp continues ${model} greedily as our engine does`, async (t) => {
  const server = await serve(top);
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.url}package.json`);   // any document of this origin
    for (const prompt of prompts) {
      const theirs = await page.evaluate(inPage, { library: `${server.url}node_modules/wllama2/esm/`, model: server.url + model, prompt, nTokens });
      const { promptIds, ids, text, gaps } = await ours(model, prompt);
      assert.deepEqual(theirs.promptIds, promptIds, `ids of the prompt ${JSON.stringify(prompt)}`);
      assert.equal(ids.length, nTokens);
      const at = ids.findIndex((id, i) => id !== theirs.ids[i]);
      if (at < 0) {
        assert.equal(text, theirs.text);
        t.diagnostic(`${JSON.stringify(prompt)}: the same ${nTokens} tokens`);
      } else {
        t.diagnostic(`${JSON.stringify(prompt)}: the same ${at} tokens, then ${ids[at]} here and ${theirs.ids[at]} there; our two best logits are ${gaps[at].toFixed(4)} apart`);
        assert.ok(gaps[at] < nearlyEqual, `token ${at} differs: ours ${ids[at]}, llama.cpp ${theirs.ids[at]}, and the gap is ${gaps[at]}`);
      }
    }
  } finally {
    await browser.close();
    await server.close();
  }
});
