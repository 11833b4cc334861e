// quant_types.test.js - what quantize writes: the blocks of each type, and the types of a file's tensors, as llama.cpp's
// quantiser chooses them
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { typesOf } from '../../web/lib/files/gguf/quant_mix.js';
import { encode, encodedPieces } from '../../web/lib/files/gguf/write_gguf.js';
import { writeModel } from '../../web/lib/files/gguf/write_model.js';
import { load } from '../../web/lib/api/index.js';
import { roster } from '../../web/lib/engine/config/weight_roster.js';
import { floats, randomWeights } from './random_values.js';

/** 64 times 256 numbers of sizes from 1e-4 to 100, among them blocks of zeros, of one number, and without a sign. */
function input() {
  const x = floats(256 * 64, 9);
  for (let i = 0; i < x.length; i++) x[i] = Math.fround(x[i] * 10 ** (((i >> 8) % 7) - 4));
  x.fill(0, 0, 256);
  x.fill(1.5, 256, 512);
  for (let i = 512; i < 768; i++) x[i] = Math.abs(x[i]);
  return x.fill(0, 800, 832);
}

/** SHA-256 of the blocks of quantize_row_*_ref, of the ggml-quants.c in llama-cpp-python 0.3.36 (gcc -ffp-contract=off). */
const SUMS = {
  Q4_K: '2772732faa93ad64d4a21cec756c406dfc88850873edcf85d4c74e58ae34c18f',
  Q5_K: '74b90bb7a806dee2dabe4ce3def62980716c23479564f813b7982ab1648e3f1c',
  Q6_K: '955d1731388a130256489113e0379fe2967e6abdb53a7a1f44044f5ba9b484f9',
  Q5_0: '7e91cb7f628c66ec8ebada168c6648a6d06e502516f2ddf8c88d9c07a4b60cd9',
  Q5_1: '8f4aeac89f0060ed09354efe71a95d03d727ea3e77a8852ccff7af0bdb3f2a0e',
  Q4_0: '3839dd0a9f75315eb890fae5b506b8f988cbb0dc42dfd07363e9f38c894c1985',
  Q4_1: '09c4dcf7987396b931eef90fd74c24acdc5e7c8f21d797c23ca020d573a0232d',
  Q8_0: '14e902add11a8bef08302fbd53649ff3991f6d0e25cecf9950b7e566fd918832',
};

for (const [type, sum] of Object.entries(SUMS))
  test(`${type} has the bits of ggml's reference`, () =>
    assert.equal(createHash('sha256').update(encode(type, input())).digest('hex'), sum));

test('a matrix is encoded in pieces, whose bytes are those of the whole', () => {
  const x = floats(3 * 2 ** 18 + 256, 4);
  for (const type of ['F16', 'BF16', 'Q8_0']) {
    const pieces = [...encodedPieces(type, x)];
    assert.ok(pieces.every(({ length }) => length <= 2 ** 20));
    assert.ok(Buffer.concat(pieces).equals(Buffer.from(encode(type, x).buffer)));
  }
});

const config = (more) =>
  completeConfig({ vocab_size: 64, d_model: 256, n_layers: 8, n_heads: 4, d_ff: 256, context_length: 16, ...more });
const tensors = (cols = 256) => [
  { name: 'token_embd.weight', shape: [64, cols], covers: ['embed.weight'] },
  ...Array.from({ length: 8 }, (_, l) =>
    ['attn_norm', 'attn_q', 'attn_v', 'attn_output', 'ffn_down'].map((name) => ({
      name: `blk.${l}.${name}.weight`,
      shape: name === 'attn_norm' ? [cols] : [cols, cols],
      covers: ['x'],
    })),
  ).flat(),
];
const types = (type, more, cols) => {
  const list = tensors(cols);
  return Object.fromEntries(typesOf(list, type, config(more)).map((chosen, i) => [list[i].name, chosen]));
};

describe('the types of the tensors of a file', () => {
  test('the mixes keep Q6_K for values and ffn_down in the first and last eighth and every third layer', () => {
    for (const [type, base] of [
      ['Q4_K_M', 'Q4_K'],
      ['Q5_K_M', 'Q5_K'],
    ]) {
      const found = types(type, {});
      for (let l = 0; l < 8; l++) {
        const want = [0, 3, 6, 7].includes(l) ? 'Q6_K' : base;
        const own = ['attn_norm', 'attn_q', 'attn_v', 'attn_output', 'ffn_down'].map(
          (n) => found[`blk.${l}.${n}.weight`],
        );
        assert.deepEqual(own, ['F32', base, want, base, want], `${type}, layer ${l}`);
      }
    }
  });

  test('a tied embedding is Q6_K beside every smaller type; one with a head of its own is not', () => {
    const embedding = (...args) => types(...args)['token_embd.weight'];
    for (const type of ['Q4_0', 'Q4_1', 'Q4_K', 'Q5_K', 'Q6_K', 'Q4_K_M']) assert.equal(embedding(type, {}), 'Q6_K');
    for (const type of ['F16', 'Q8_0']) assert.equal(embedding(type, {}), type);
    assert.equal(embedding('Q4_0', { tie_word_embeddings: false }), 'Q4_0');
  });

  test('rows that are no whole blocks have the nearest type with smaller ones', () => {
    const of = (type, cols) => types(type, { tie_word_embeddings: false }, cols)['blk.1.attn_q.weight'];
    const found = ['Q4_K', 'Q5_K', 'Q6_K', 'Q4_0'].map((type) => [of(type, 96), of(type, 80)]);
    assert.deepEqual(found, [['Q5_0', 'F16'], ['Q5_1', 'F16'], ['Q8_0', 'F16'], ['Q4_0', 'F16']]); // prettier-ignore
  });
});

test('a file of each type is read again, and one without a tokenizer says so', async () => {
  const own = config({ n_layers: 2, rope_pairs: 'adjacent' });
  const weights = randomWeights([...roster(own)], () => 0.05);
  const logits = {};
  for (const type of ['F32', 'Q4_K', 'Q5_K', 'Q6_K', 'Q4_K_M', 'Q5_K_M']) {
    const parts = [];
    for await (const part of writeModel(own, (name) => weights[name].data, { type })) parts.push(part);
    const bytes = Buffer.concat(parts);
    assert.ok(bytes.includes('no_vocab') && bytes.includes('llama.vocab_size'));
    const model = await load(new Uint8Array(bytes));
    assert.equal(model.tokenizer, null);
    logits[type] = (await model.forward([1, 2, 3])).logits.data;
    model.dispose();
  }
  const off = (type) => Math.hypot(...logits[type].map((x, i) => x - logits.F32[i])) / Math.hypot(...logits.F32);
  assert.ok(
    off('Q6_K') < off('Q5_K') && off('Q5_K') < off('Q4_K') && off('Q4_K') < 0.2,
    `${off('Q6_K')} ${off('Q4_K')}`,
  );
});
