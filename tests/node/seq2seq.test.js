// seq2seq.test.js - encoder-decoders of Hugging Face (Marian, BART, T5): the concepts that they add, files as people
// have them, malformed ones, and generation. parity.test.js compares their numbers with transformers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { marianTokenizer, readUnigram, t5Tokenizer } from '../../web/lib/encoders/sentencepiece.js';
import { Tokenizer, create, load } from '../../web/lib/index.js';
import { collect, golden, json, numbers, openCase, refused, sameBits, storedTensors } from './helpers.js';

const small = {
  kind: 'encoder_decoder',
  vocab_size: 96,
  d_model: 48,
  n_layers: 2,
  n_encoder_layers: 3,
  n_heads: 4,
  context_length: 150,
  d_ff: 80,
};
const biases = { bias_qkv: true, bias_attn_out: true, bias_ffn: true, bias_head: true };
const t5 = {
  ...small,
  d_head: 8,
  position: 'none',
  relative_buckets: 8,
  relative_max_distance: 20,
  scale_scores: false,
  ffn: 'geglu_tanh',
  logit_scale: 48 ** -0.5,
};
const marian = {
  ...small,
  ...biases,
  norm: 'layernorm',
  norm_placement: 'post',
  position: 'sinusoidal',
  sinusoid_pairs: 'half',
  ffn: 'silu',
  embedding_scale: Math.sqrt(48),
};
const bart = {
  ...marian,
  position: 'learned',
  position_offset: 2,
  embed_norm: true,
  ffn: 'gelu_erf',
  embedding_scale: 1,
  shared_embedding: false,
};
const families = { t5, marian, bart };

const row = (t, i) => t.data.subarray(i * t.shape[1], (i + 1) * t.shape[1]);

for (const [name, config] of Object.entries(families))
  describe(`an encoder-decoder like ${name}`, () => {
    const ids = numbers(150, 96, 4),
      source = numbers(90, 96, 5);

    test('token by token gives the same bits as one pass', async () => {
      const model = await create(config, { seed: 7 });
      const { logits } = await model.forward(ids, { source });
      const session = await model.session({ source });
      for (let at = 0, k = 1; at < ids.length; at += k, k = at < 40 ? 1 : 37) {
        const last = await session.eval(ids.slice(at, at + k));
        assert.ok(sameBits(last, row(logits, Math.min(at + k, ids.length) - 1)), `after ${at + k}`);
      }
      model.dispose();
    });

    test('captures change no bit, and all three patterns are among them', async () => {
      const model = await create(config, { seed: 3 });
      const plain = await model.forward(ids, { source });
      const { logits, captured } = await model.forward(ids, { source, capture: ['*'] });
      assert.ok(sameBits(plain.logits.data, logits.data));
      assert.deepEqual(Object.keys(captured).sort(), [...(await model.points())].sort());
      for (const [at, shape] of [
        ['encoder.2.attn.hook_pattern', [4, 90, 90]],
        ['decoder.1.attn.hook_pattern', [4, 150, 150]],
        ['decoder.1.cross_attn.hook_pattern', [4, 150, 90]],
      ]) {
        const pattern = captured[/** @type {string} */ (at)];
        assert.deepEqual(pattern.shape, shape);
        const keys = pattern.shape[2];
        for (let i = 0; i < pattern.data.length; i += keys) {
          const sum = pattern.data.subarray(i, i + keys).reduce((a, b) => a + b, 0);
          assert.ok(Math.abs(sum - 1) < 1e-5, `${at}: a row adds up to ${sum}`);
        }
      }
      model.dispose();
    });

    test('the simd and the relaxed binary, and several threads, give the same bits', async (t) => {
      const run = async (/** @type {any} */ options) => {
        const model = await create(config, { seed: 5, ...options }).catch((e) => {
          assert.equal(e.code, 'unsupported');
          return null;
        });
        const result = model && (await model.forward(ids, { source })).logits.data;
        model?.dispose();
        return result;
      };
      const simd = await run({ backend: 'simd' });
      assert.ok(sameBits(await run({ backend: 'simd', threads: 3 }), simd));
      const relaxed = await run({ backend: 'relaxed' });
      if (!relaxed) return t.diagnostic('this Node has no relaxed SIMD');
      assert.ok(sameBits(relaxed, simd));
    });

    test('the trace counts every parameter of the decoder, and estimate and count agree', async () => {
      const model = await create(config, { seed: 5 });
      const rows = await model.trace([1, 2, 3], { source: [4, 5] });
      const traced = new Map(rows.map((r) => [r.name, r.parameters]));
      const total = [...traced.values()].reduce((a, b) => a + b, 0);
      // a table that both stacks read is counted in the decoder alone
      assert.equal(total, model.parameters.total);
      model.dispose();
    });
  });

// ---- the bias of distances

/** Bucket by the definition of Raffel et al. 2020, counted up instead of solved for. */
function bucketOf(distance, buckets, most, twoSided) {
  const n = twoSided ? buckets / 2 : buckets;
  const first = twoSided && distance > 0 ? n : 0;
  const away = twoSided ? Math.abs(distance) : Math.max(0, -distance);
  const single = n / 2;
  if (away < single) return first + away;
  let bucket = single;
  // bucket single + k begins at single * (most / single)^(k / (n - single))
  while (bucket < n - 1 && away >= single * (most / single) ** ((bucket + 1 - single) / (n - single)) * (1 - 1e-9))
    bucket++;
  return first + bucket;
}

test('T5 adds the bias of their distance to the scores of self-attention in every layer, and to no others', async () => {
  const model = await load(`${join(golden, 't5')}/`, { dtype: 'f32' });
  const n = 150;
  const ids = numbers(n, 104, 1),
    source = numbers(n, 104, 2);
  const scaled = '.hook_attn_scores_scaled',
    after = '.hook_attn_scores';
  const { captured } = await model.forward(ids, { source, capture: [`*${scaled}`, `*${after}`] });
  const tensors = [];
  for (const name of ['encoder.relative_bias.weight', 'relative_bias.weight']) {
    const row = model.parameters.rows.find((r) => r.name === name);
    assert.deepEqual([row?.shape, row?.component], [[32, 4], 'position']);
    tensors.push(await Promise.all(Array.from({ length: 32 }, (_, bucket) => model.weight(name, bucket))));
  }
  let compared = 0;
  for (const [name, scores] of Object.entries(captured)) {
    if (!name.endsWith(after)) continue;
    const before = captured[name.replace(after, scaled)].data;
    const [heads, queries, keys] = scores.shape;
    const encoder = name.startsWith('encoder');
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < queries; i++)
        for (let j = 0; j < (encoder || name.includes('cross') ? keys : i + 1); j++) {
          const at = (h * queries + i) * keys + j;
          const bias = name.includes('cross') ? 0 : tensors[encoder ? 0 : 1][bucketOf(j - i, 32, 128, encoder)][h];
          assert.equal(scores.data[at], Math.fround(before[at] + bias), `${name}, head ${h}, ${i} to ${j}`);
          compared++;
        }
  }
  assert.ok(compared > 4 * n * n * 5, `${compared} scores`);
  model.dispose();
});

test('switched off with positions, the bias has no effect, and beside other positions it adds to them', async () => {
  const ids = [1, 2, 3, 1, 2],
    source = [4, 4, 5, 6];
  const logits = async (/** @type {any} */ config) => {
    const model = await create(config, { seed: 1 });
    const { data } = (await model.forward(ids, { source })).logits;
    model.dispose();
    return data;
  };
  const none = await logits({ ...t5, use_position: false });
  assert.ok(!sameBits(await logits(t5), none));
  const rotated = { ...t5, position: 'rope' };
  assert.ok(!sameBits(await logits(rotated), await logits({ ...rotated, use_position: false })));
});

test('an encoder and a decoder alone can have the bias too', async () => {
  const ids = numbers(40, 96, 3);
  for (const kind of ['encoder', 'decoder']) {
    const one = { ...t5, kind, n_encoder_layers: 0 };
    const model = await create(one, { seed: 2 });
    const name = kind === 'encoder' ? 'embeddings' : 'logits';
    const a = await model.forward(ids, { capture: ['*.hook_attn_scores'] });
    assert.ok(
      model.parameters.rows.some((r) => r.name === 'relative_bias.weight' && r.count === 8 * 4),
      name,
    );
    const [last] = Object.values(a.captured).slice(-1);
    assert.equal(last.data.length, 4 * 40 * 40);
    model.dispose();
  }
});

// ---- files

/** @typedef {{dtype: string, shape: number[], data: Uint8Array}} Stored */

/** @param {Record<string, Stored>} tensors */
function safetensors(tensors) {
  let at = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => [
      name,
      { dtype, shape, data_offsets: [at, (at += data.length)] },
    ]),
  );
  const head = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(head.length), true);
  return new Uint8Array(Buffer.concat([size, head, ...Object.values(tensors).map(({ data }) => data)]));
}

/** A tensor of zeros. @param {...number} shape @returns {Stored} */
const zeros = (...shape) => ({ dtype: 'F32', shape, data: new Uint8Array(4 * shape.reduce((a, b) => a * b, 1)) });

/**
 * Load a case whose tensors and configuration were changed.
 * @param {string} name
 * @param {(tensors: Record<string, Stored>) => void} change
 * @param {Record<string, any>} [fields]
 */
function changed(name, change, fields = {}) {
  const tensors = storedTensors(join(golden, name, 'model.safetensors'));
  change(tensors);
  const config = { ...json(join(golden, name, 'config.json')), ...fields };
  return load({ weights: safetensors(tensors), config }, { dtype: 'f32' });
}

/** Whether a model gives the logits of a case. @param {any} model @param {string} name */
async function matches(model, name) {
  const c = openCase(name);
  const { logits } = await model.forward(c.about.input_ids, c.run);
  const want = c.array('logits');
  const off = logits.data.reduce((most, v, i) => Math.max(most, Math.abs(v - want[i])), 0);
  assert.ok(off < 2e-4, `logits are ${off} off`);
}

const rename = (tensors, from, to) => {
  tensors[to] = tensors[from];
  delete tensors[from];
};

describe('files as people have them', () => {
  for (const [what, name, change, fields] of /** @type {[string, string, (t: any) => void, any?][]} */ ([
    [
      'copies of the embedding, and a tied head',
      't5',
      (t) => {
        for (const copy of ['encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'])
          t[copy] = t['shared.weight'];
      },
    ],
    ['the embedding under the name of a copy', 't5', (t) => rename(t, 'shared.weight', 'encoder.embed_tokens.weight')],
    ['the embedding under the name of the head', 't5', (t) => rename(t, 'shared.weight', 'lm_head.weight')],
    [
      'a bias of cross-attention, which was saved by mistake',
      't5',
      (t) => (t['decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight'] = zeros(32, 4)),
    ],
    [
      'the sinusoids',
      'marian',
      (t) => {
        for (const side of ['encoder', 'decoder']) t[`model.${side}.embed_positions.weight`] = zeros(64, 24);
      },
    ],
    [
      'the bias of the logits as a vector',
      'marian',
      (t) => (t['final_logits_bias'].shape = t['final_logits_bias'].shape.slice(1)),
    ],
    [
      'no prefix',
      'bart',
      (t) => {
        for (const each of Object.keys(t)) if (each.startsWith('model.')) rename(t, each, each.slice('model.'.length));
      },
    ],
  ]))
    test(`${name}: ${what}`, async () => {
      const model = await changed(name, change, fields);
      await matches(model, name);
      model.dispose();
    });

  test('two embeddings, and no bias of the logits', async () => {
    const model = await changed(
      'marian',
      (t) => {
        t['model.encoder.embed_tokens.weight'] = t['model.decoder.embed_tokens.weight'] = t['model.shared.weight'];
        delete t['model.shared.weight'];
        t['final_logits_bias'] = zeros(1, 112);
      },
      { share_encoder_decoder_embeddings: false },
    );
    const plain = await changed('marian', (t) => delete t['final_logits_bias']);
    assert.deepEqual([model.config.sharedEmbedding, plain.config.biasHead], [false, false]);
    const c = openCase('marian');
    const [a, b] = await Promise.all([model, plain].map((m) => m.forward(c.about.input_ids, c.run)));
    assert.ok(sameBits(a.logits.data, b.logits.data));
    for (const m of [model, plain]) m.dispose();
  });
});

describe('malformed files and features that are missing', () => {
  const bias = 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight';
  for (const [what, name, change, fields, code, words] of /** @type {any[]} */ ([
    ['a bias of another size', 't5', (t) => (t[bias] = zeros(31, 4)), {}, 'bad-shape', /\[31, 4\], expected \[32, 4\]/],
    ['a bias with too many heads', 't5', (t) => (t[bias] = zeros(32, 5)), {}, 'bad-shape', /expected \[32, 4\]/],
    ['a bias that is turned', 't5', (t) => (t[bias] = zeros(4, 32)), {}, 'bad-shape', /\[4, 32\], expected \[32, 4\]/],
    ['no bias', 't5', (t) => delete t[bias], {}, 'missing-tensor', /relative_attention_bias/],
    ['a bias in every layer', 't5', (t) => (t[bias.replace('.0.', '.1.')] = t[bias]), {}, 'unknown-tensor', /block\.1/],
    [
      'more buckets than the file has',
      't5',
      () => {},
      { relative_attention_num_buckets: 64 },
      'bad-shape',
      /\[64, 4\]/,
    ],
    ['two buckets', 't5', () => {}, { relative_attention_num_buckets: 2 }, 'bad-config', /num_buckets 2 is below 4/],
    ['a far distance of 16', 't5', () => {}, { relative_attention_max_distance: 16 }, 'bad-config', /max_distance 16/],
    ['an unknown gate', 't5', () => {}, { feed_forward_proj: 'gated-tanh' }, 'unsupported', /feed_forward_proj/],
    ['a number as activation', 't5', () => {}, { feed_forward_proj: 7 }, 'bad-config', /ffn is 7|feed_forward_proj/],
    [
      'a bias of the logits for one token less',
      'marian',
      (t) => (t['final_logits_bias'] = zeros(111)),
      {},
      'bad-shape',
      /\[1, 112\]/,
    ],
    [
      'half a bias of the logits',
      'bart',
      (t) => (t['final_logits_bias'] = zeros(1, 56)),
      {},
      'bad-shape',
      /\[1, 112\]/,
    ],
    [
      'other heads in the encoder',
      'bart',
      () => {},
      { encoder_attention_heads: 8 },
      'unsupported',
      /encoder_attention_heads/,
    ],
    ['another width in the encoder', 'bart', () => {}, { encoder_ffn_dim: 8 }, 'unsupported', /encoder_ffn_dim/],
    [
      'another vocabulary in the decoder',
      'marian',
      () => {},
      { decoder_vocab_size: 9 },
      'unsupported',
      /decoder_vocab_size/,
    ],
    ['norms before the sublayers', 'bart', () => {}, { normalize_before: true }, 'unsupported', /normalize_before/],
    [
      'learned positions in one stack',
      'bart',
      (t) => delete t['model.encoder.embed_positions.weight'],
      {},
      'missing-tensor',
      /embed_positions/,
    ],
    [
      'one norm of the embeddings',
      'bart',
      (t) => delete t['model.decoder.layernorm_embedding.bias'],
      {},
      'missing-tensor',
      /layernorm_embedding/,
    ],
  ]))
    test(`${name}: ${what}`, () => refused(changed(name, change, fields), code, words));
});

// ---- generation

describe('generation', () => {
  for (const name of ['marian', 'bart', 't5', 't5_v1_1'])
    test(`${name}: the text begins with the token that config.json names, and ends with eos`, async () => {
      const c = openCase(name);
      const model = await load(c.source, { dtype: 'f32' });
      const greedy = { ...c.run, temperature: 0, maxTokens: 32 };
      assert.equal(model.special.bos, c.config.decoder_start_token_id);
      for (const start of [[], ''])
        assert.deepEqual(
          (await collect(model.generate(start, { ...greedy, ignoreEos: true }))).ids,
          c.about.greedy.next,
        );
      const stopped = await collect(model.generate([], greedy));
      const end = c.about.greedy.next.findIndex((id) => id === c.config.eos_token_id);
      assert.deepEqual(stopped.ids, end < 0 ? c.about.greedy.next : c.about.greedy.next.slice(0, end));

      const beams = await collect(
        model.generate([], { ...c.run, beams: 4, maxTokens: 8, lengthPenalty: 0, ignoreEos: true }),
      );
      const sum = (steps) => steps.reduce((a, s) => a + s.logprob, 0);
      const one = await collect(model.generate([], { ...greedy, maxTokens: 8, ignoreEos: true }));
      assert.ok(
        sum(beams.steps) >= sum(one.steps) - 1e-6,
        'beam search finds no less likely text than greedy decoding',
      );
      model.dispose();
    });

  test('a beginning that is forced, and the tokens of generation_config.json', async () => {
    const c = openCase('bart');
    const files = (/** @type {any} */ config, /** @type {any} */ generation) =>
      [
        ['config.json', JSON.stringify(config)],
        ['model.safetensors', readFileSync(join(c.folder, 'model.safetensors'))],
        ...(generation ? [['generation_config.json', JSON.stringify(generation)]] : []),
      ].map(([name, content]) => new File([/** @type {any} */ (content)], /** @type {string} */ (name)));
    const options = { ...c.run, temperature: 0, maxTokens: 4, ignoreEos: true };
    const want = await load(c.source, { dtype: 'f32' });
    const { ids } = await collect(want.generate([2, 7], options));
    want.dispose();
    for (const source of [
      files({ ...c.config, forced_bos_token_id: 7 }, null),
      files(c.config, { decoder_start_token_id: 2, forced_bos_token_id: 7, eos_token_id: 2 }),
    ]) {
      const model = await load(source, { dtype: 'f32' });
      const { steps } = await collect(model.generate([], options));
      assert.deepEqual([steps[0].position, steps.map((s) => s.id)], [2, ids]);
      model.dispose();
    }
  });
});

test('tokens that the files exclude are never generated, in beams neither', async () => {
  const c = openCase('marian');
  const [first, second] = c.about.greedy.next;
  const options = { ...c.run, maxTokens: 6, ignoreEos: true };
  const excluding = (/** @type {any} */ bad) => changed('marian', () => {}, { bad_words_ids: bad });
  const model = await excluding([[first], [second, first], 'x', [9999]]);
  const plain = await load(c.source, { dtype: 'f32' });
  const want = await collect(plain.generate([], { ...options, temperature: 0, logitBias: { [first]: -Infinity } }));
  const got = await collect(model.generate([], { ...options, temperature: 0 }));
  assert.deepEqual(got.ids, want.ids);
  assert.ok(!got.ids.includes(first));
  const biased = await collect(model.generate([], { ...options, temperature: 0, logitBias: { [first]: 100, 5: 100 } }));
  assert.deepEqual(biased.ids, [5, 5, 5, 5, 5, 5]);
  const { ids } = await collect(model.generate([], { ...options, beams: 3 }));
  assert.ok(ids.length === 6 && !ids.includes(first), `${ids}`);
  for (const m of [model, plain]) m.dispose();
});

// ---- text

/** A tokenizer.json like T5's: Unigram, a mark before words, </s> after every text. */
const unigram = json(join(golden, '../formats/unigram.json'));

test('a Unigram vocabulary: </s> ends the source, and not the target', async () => {
  const c = openCase('t5');
  const model = await load(
    { weights: join(c.folder, 'model.safetensors'), config: c.config, tokenizer: unigram },
    { dtype: 'f32' },
  );
  assert.deepEqual(await model.encode('a red ball'), [4, 6, 5, 1]);
  assert.deepEqual(await model.encode('balls', { addSpecialTokens: false }), [5, 10]);
  const options = { temperature: 0, maxTokens: 3, ignoreEos: true };
  const byText = await collect(model.generate('', { ...options, source: 'a red ball' }));
  const byIds = await collect(model.generate([0], { ...options, source: [4, 6, 5, 1] }));
  assert.deepEqual(byText.ids, byIds.ids);
  const continued = await collect(model.generate('a red', { ...options, source: 'balls' }));
  assert.deepEqual(continued.ids, (await collect(model.generate([0, 4, 6], { ...options, source: [5, 10, 1] }))).ids);
  assert.equal(continued.steps[0].position, 3);
  const { logits } = await model.forward('a red', { source: 'balls' });
  assert.equal(logits.shape[0], 3);
  model.dispose();
});

test('there is a case of each family', () => {
  for (const name of ['marian', 'bart', 't5', 't5_v1_1']) assert.ok(existsSync(join(golden, name, 'case.json')), name);
});

// ---- SentencePiece models, for checkpoints without a tokenizer.json

describe('SentencePiece models', () => {
  const pieces = join(golden, '../formats/sentencepiece');
  const read = (/** @type {string} */ name) => new Uint8Array(readFileSync(join(pieces, name)));
  const want = json(join(pieces, 'ids.json'));
  const vocab = json(join(pieces, 'vocab.json'));

  test('a T5 vocabulary gives the ids of SentencePiece, and its last tokens fill gaps', () => {
    const tokenizer = new Tokenizer(t5Tokenizer(read('spiece.model'), 'spiece.model', 3));
    for (const [i, text] of want.texts.entries()) {
      assert.deepEqual(tokenizer.encode(text, { addSpecialTokens: false }), want.t5[i], text);
      assert.deepEqual(tokenizer.encode(text), [...want.t5[i], 1], text);
    }
    assert.deepEqual(tokenizer.encode('a <extra_id_0> ball', { addSpecialTokens: false }), [4, 20, 5]);
    assert.equal(tokenizer.vocabSize, 21);
    assert.equal(tokenizer.decode(want.t5[0]), 'a red ball');
    const stream = tokenizer.stream([0]);
    assert.equal(want.t5[0].map((/** @type {number} */ id) => stream.push(id)).join('') + stream.end(), 'a red ball');
  });

  test('a Marian vocabulary cuts as source.spm does and has the ids of vocab.json', () => {
    const tokenizer = new Tokenizer(marianTokenizer(read('source.spm'), vocab, 'opus'));
    for (const [i, text] of want.texts.entries())
      assert.deepEqual(tokenizer.encode(text), [...want.marian[i], 0], text);
    const ids = want.marian[want.texts.indexOf('a red ball')];
    assert.deepEqual(tokenizer.encode('>>fra<< a red ball'), [vocab['>>fra<<'], ...ids, 0]);
    assert.equal(tokenizer.decode([vocab['▁Ball'], ...ids]), 'Ball a red ball');
  });

  test('a folder without a tokenizer.json is read with them, or says what is missing', async () => {
    const c = openCase('marian');
    const files = (/** @type {[string, any][]} */ ...more) =>
      [
        ['config.json', JSON.stringify(c.config)],
        ['model.safetensors', readFileSync(join(c.folder, 'model.safetensors'))],
        ...more,
      ].map(([name, content]) => new File([content], name));
    const options = { dtype: 'f32' };
    const model = await load(files(['source.spm', read('source.spm')], ['vocab.json', JSON.stringify(vocab)]), options);
    assert.deepEqual(await model.encode('balls'), [...want.marian[want.texts.indexOf('balls')], 0]);
    assert.deepEqual(model.warnings, []);
    model.dispose();
    for (const more of [[], [['source.spm', read('source.spm')]]]) {
      const without = await load(files(.../** @type {any} */ (more)), options);
      assert.match(
        without.warnings.join(),
        /no tokenizer\.json and no source\.spm with a vocab\.json: .* pass a tokenizer\.json/,
      );
      await refused(without.encode('balls'), 'no-tokenizer');
      without.dispose();
    }
    const t5Folder = openCase('t5');
    const small = await load(
      [
        new File([JSON.stringify(t5Folder.config)], 'config.json'),
        new File([readFileSync(join(t5Folder.folder, 'model.safetensors'))], 'model.safetensors'),
        new File([read('spiece.model')], 'spiece.model'),
        new File(['{"extra_ids": 5}'], 'tokenizer_config.json'),
      ],
      options,
    );
    assert.equal((await small.tokenizer)?.vocabSize, 23);
    small.dispose();
  });

  test('malformed files are refused', () => {
    const whole = read('spiece.model');
    for (let n = 0; n < whole.length; n++)
      try {
        readUnigram(whole.subarray(0, n), 'x.model'); // cut between two messages it is whole, and shorter
      } catch (e) {
        assert.equal(e.code, 'bad-tokenizer', e.stack);
      }
    const refuse = (/** @type {() => any} */ call, /** @type {RegExp} */ words, code = 'bad-tokenizer') =>
      assert.throws(call, (e) => e.code === code && words.test(e.message));
    refuse(() => readUnigram(new Uint8Array(0), 'x'), /no tokens/);
    refuse(() => readUnigram(Uint8Array.of(0x0b), 'x'), /type 3/);
    refuse(() => readUnigram(new Uint8Array(12).fill(0xff), 'x'), /ten bytes/);
    refuse(() => readUnigram(Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f), 'x'), /4294967295 bytes, 0 are left/);
    refuse(() => readUnigram(Uint8Array.of(0x0a, 2, 0x0a, 9), 'x'), /9 bytes, 0 are left/);
    refuse(() => readUnigram(Uint8Array.of(0x0a, 3, 0x0a, 1, 0xc3), 'x'), /not a SentencePiece model/);
    refuse(() => readUnigram(Uint8Array.of(0x0a, 5, 0x15, 0, 0, 0xc0, 0x7f), 'x'), /score NaN/);
    refuse(() => readUnigram(Uint8Array.of(0x0a, 2, 0x10, 1), 'x'), /of type 0/);
    refuse(() => readUnigram(Uint8Array.of(0x0a, 3, 0x0a, 1, 0x61, 0x12, 2, 0x18, 2), 'x'), /BPE/, 'unsupported');
    refuse(() => t5Tokenizer(Uint8Array.of(0x0a, 3, 0x0a, 1, 0x61), 'x', 0), /no token <\/s>/);
    for (const extra of [-1, 1.5, '3', 1e9]) refuse(() => t5Tokenizer(whole, 'x', extra), /extra_ids/);
    for (const [broken, words] of /** @type {[any, RegExp][]} */ ([
      [null, /an object/],
      [[], /an object/],
      [{ a: 'b' }, /id "b"/],
      [{ a: 2 ** 40 }, /1099511627776/],
      [{ a: 0, b: 0 }, /two tokens/],
      [{ a: 0, b: 2 }, /no token has the id 1/],
      [{ a: 0 }, /no token <\/s>/],
    ]))
      refuse(() => marianTokenizer(read('source.spm'), broken, 'opus'), words);
  });
});
