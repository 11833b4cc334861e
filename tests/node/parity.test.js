// parity.test.js - the public calls give the same numbers as independent implementations
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { FAMILIES } from '../../web/lib/files/huggingface/families_all.js';
import { load } from '../../web/lib/api/index.js';
import { collect, distance, golden, json, noShared, openCase, relativeError, shared, untilEnd } from './helpers.js';

const LOGITS = 2e-4,
  ATTENTION = 2e-5,
  HIDDEN = 2e-4;

/** Which captured points an array of a case holds. */
const attention = {
  attn: /^blocks\.\d+\.attn\.hook_pattern$/,
  enc_attn: /^encoder\.\d+\.attn/,
  dec_attn: /^decoder\.\d+\.attn/,
  cross_attn: /cross_attn/,
};
const hidden = { hidden: 'blocks', enc_hidden: 'encoder', dec_hidden: 'decoder' };

function joined(captured, names) {
  return Float32Array.from(names.flatMap((name) => Array.from(captured[name].data)));
}

/** The outputs of an encoder: the last states, logits of a masked language model, pooled vectors. */
async function checkEncoder(model, { about, array }) {
  const options = { mask: about.attention_mask, tokenTypes: about.token_type_ids };
  const result = await model.forward(about.input_ids, {
    ...options,
    capture: ['*.hook_pattern', '*.hook_resid_pre', '*.hook_resid_post'],
  });
  const names = Object.keys(result.captured);
  const patterns = names.filter((name) => name.endsWith('hook_pattern'));
  const streams = names.filter((name) => /\.0\.hook_resid_pre|hook_resid_post$/.test(name));
  const vector = async (settings) => (await model.embed(about.input_ids, { ...options, ...settings })).data;
  const pairs = [
    ['attn', () => joined(result.captured, patterns), ATTENTION],
    ['hidden', () => joined(result.captured, streams), HIDDEN],
    ['out', () => result.hidden.data, HIDDEN],
    ['logits', () => result.logits.data, LOGITS],
    ['pooled', () => result.pooled.data, HIDDEN],
    ['pooled', () => vector({ pooling: 'pooler', normalize: false }), HIDDEN],
    ['mean', () => vector({ pooling: 'mean', normalize: false }), HIDDEN],
    ['mean_l2', () => vector({ pooling: 'mean', normalize: true }), HIDDEN],
    ['embedding', () => vector({}), HIDDEN],
  ];
  let n = 0;
  for (const [name, got, most] of pairs) {
    const want = array(name);
    if (!want) continue;
    const off = distance(await got(), want);
    assert.ok(off <= (about.tolerance?.[`${name}_max_abs`] ?? most), `${name} is ${off} off`);
    n++;
  }
  assert.ok(n >= Object.keys(about.arrays).length);
  if (about.param_counts) assert.equal(model.parameters.total, about.param_counts.total);
}

async function check(c) {
  const { about, run } = c;
  const model = await load(c.source, { dtype: 'f32' });
  try {
    if (model.config.kind === 'encoder') return await checkEncoder(model, c);
    const { logits, captured } = await model.forward(about.input_ids, {
      ...run,
      capture: ['*.hook_pattern', '*.hook_resid_pre', '*.hook_resid_post'],
    });
    assert.deepEqual(logits.shape, about.arrays.logits);
    const off = distance(logits.data, c.array('logits'));
    assert.ok(off <= LOGITS, `logits are ${off} off`);
    const names = Object.keys(captured);
    for (const [array, pattern] of Object.entries(attention)) {
      const want = c.array(array);
      if (!want) continue;
      const d = distance(
        joined(
          captured,
          names.filter((n) => n.endsWith('hook_pattern') && pattern.test(n)),
        ),
        want,
      );
      assert.ok(d <= ATTENTION, `${array} is ${d} off`);
    }
    for (const [array, stack] of Object.entries(hidden)) {
      const want = c.array(array);
      if (!want) continue;
      const [layers] = about.arrays[array];
      const points = [
        `${stack}.0.hook_resid_pre`,
        ...Array.from({ length: layers - 1 }, (_, l) => `${stack}.${l}.hook_resid_post`),
      ];
      const d = distance(joined(captured, points), want);
      assert.ok(d <= HIDDEN, `${array} is ${d} off`);
    }
    if (about.short_input_ids) {
      const short = await model.forward(about.short_input_ids);
      const d = distance(short.logits.data, c.array('short_logits'));
      assert.ok(d <= LOGITS, `short_logits are ${d} off`);
    }
    if (about.param_counts) assert.equal(model.parameters.total, about.param_counts.total);
    assert.equal(
      model.parameters.rows.reduce((n, r) => n + r.count, 0),
      model.parameters.total,
    );
    const { ids } = await collect(
      model.generate(about.greedy.prompt, { ...run, temperature: 0, maxTokens: 32, ignoreEos: true }),
    );
    assert.deepEqual(ids, about.greedy.next);
  } finally {
    model.dispose();
  }
}

describe('the cases kept with the project', () => {
  for (const name of readdirSync(golden, { withFileTypes: true })
    .filter((e) => e.isDirectory())
    .map((e) => e.name)) {
    test(name, () => check(openCase(name)));
  }
});

describe('every shared case', { skip: noShared }, () => {
  if (!shared) return;
  const listed = json(join(shared, 'cases/index.json')).map((c) => c.name);
  const beside = readdirSync(join(shared, 'cases')).filter(
    (name) => !listed.includes(name) && existsSync(join(shared, 'cases', name, 'case.json')),
  );
  for (const name of [...listed, ...beside]) test(name, () => check(openCase(name, join(shared, 'cases'))));
});

describe('every shared family, in every spelling of its configuration', { skip: noShared }, () => {
  const root = join(shared ?? '', 'cases/families');
  if (!shared || !existsSync(root)) return;
  for (const name of readdirSync(root).filter((each) => existsSync(join(root, each, 'case.json')))) {
    const c = openCase(name, root);
    if (!Object.hasOwn(FAMILIES, c.config.model_type)) continue;
    for (const file of readdirSync(c.folder).filter((each) => /^config.*\.json$/.test(each)))
      test(`${name}/${file}`, () => {
        const source = { weights: join(c.folder, 'model.safetensors'), config: join(c.folder, file) };
        return check({ ...c, source });
      });
  }
});

// Two llama2.c formats of a model, compared with the expected values of its Hugging Face form.
describe('shared llama2.c files', { skip: noShared }, () => {
  if (!shared) return;
  for (const name of ['llama2c_pair_tied', 'llama2c_pair_gqa_untied']) {
    for (const [file, want] of [
      ['model_v0.bin', 'logits'],
      ['model_v1.bin', 'logits'],
      ['model_v2_q80.bin', 'logits_v2_q80'],
    ]) {
      test(`${name}/${file}`, async () => {
        const c = openCase(name, join(shared, 'cases'));
        const model = await untilEnd(load(join(c.folder, file), { dtype: 'f32' }));
        const { logits } = await model.forward(c.about.input_ids);
        const off = distance(logits.data, c.array(want));
        assert.ok(off <= LOGITS, `logits are ${off} off`);
      });
    }
  }
});

// Stored precision: 'keep' runs the weights as they are. f16 and bf16 then differ from exact work by rounding alone.
// Quantised matrices also get their activations in int8 blocks of 32: a step is max/127, about 0.018 of a block's
// standard deviation, so a product is off by 0.018 / sqrt(12) = 0.5 % of its size; 15 products in sequence make
// 2 %, and the softmax in between may double this.
for (const [name, dtype, bound] of [
  ['llama_gqa_f16', 'f16', 1e-5],
  ['gguf_llama_q8_0', 'q8_0', 0.05],
  ['gguf_llama_q4_0', 'q4_0', 0.05],
  ['gguf_llama_q4_k_m_fallback', 'q5_0', 0.05],
  ['gguf_llama_q4_k_m_fallback', 'q6_k', 0.05],
  ['gguf_llama_q3_k_m_fallback', 'q4_k', 0.05],
]) {
  test(`${name} with its stored weights (${dtype}): logits differ by at most ${100 * bound} % (root mean square)`, async () => {
    const c = openCase(name);
    const model = await untilEnd(load(c.source));
    const { logits } = await model.forward(c.about.input_ids);
    const want = c.array('logits');
    const off = relativeError(logits.data, want);
    assert.ok(off <= bound, `${100 * off} %`);
    assert.ok(model.parameters.rows.some((r) => r.dtype === dtype));
  });
}
