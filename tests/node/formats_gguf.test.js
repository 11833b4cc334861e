// formats_gguf.test.js - the reader of GGUF: order, tied weights, headers, and what the engine lacks
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { f32, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { drain, ggufFile, ggufMeta, ggufTensors, rejects, verdict } from './small_files.js';
import { floats, product } from './random_values.js';

test('a GGUF may list tensors in another order than their data', async () => {
  const right = ggufFile(),
    whole = await drain(right),
    entry = (name, rank) => {
      // in the file's order: name, dimensions, type, offset
      const at = Buffer.from(right).indexOf(`${name}.weight`) - 8;
      return [at, at + 8 + name.length + 7 + 4 + 8 * rank + 4 + 8];
    };
  const [a, b] = [entry('blk.0.attn_q', 2), entry('blk.0.attn_k', 2)],
    part = ([from, to]) => right.subarray(from, to);
  assert.equal(a[1], b[0]);
  const swapped = new Uint8Array(Buffer.concat([right.subarray(0, a[0]), part(b), part(a), right.subarray(b[1])]));
  assert.notDeepEqual(swapped, right);
  assert.deepEqual((await drain(swapped)).data, whole.data);
});

test('GPT-2 in GGUF: an output layer that differs from the embedding is untied', async () => {
  const meta = {
    'general.architecture': text('gpt2'),
    'gpt2.context_length': u32(8),
    'gpt2.embedding_length': u32(32),
    'gpt2.block_count': u32(1),
    'gpt2.feed_forward_length': u32(64),
    'gpt2.attention.head_count': u32(2),
    'gpt2.attention.layer_norm_epsilon': f32(1e-5),
  };
  const list = [
    ['token_embd.weight', [4, 32]],
    ['position_embd.weight', [8, 32]],
    ['output_norm.weight', [32]],
    ['output_norm.bias', [32]],
    ...['attn_norm', 'ffn_norm'].flatMap((n) => [
      [`blk.0.${n}.weight`, [32]],
      [`blk.0.${n}.bias`, [32]],
    ]),
    ['blk.0.attn_qkv.weight', [96, 32]],
    ['blk.0.attn_qkv.bias', [96]],
    ['blk.0.attn_output.weight', [32, 32]],
    ['blk.0.attn_output.bias', [32]],
    ['blk.0.ffn_up.weight', [64, 32]],
    ['blk.0.ffn_up.bias', [64]],
    ['blk.0.ffn_down.weight', [32, 64]],
    ['blk.0.ffn_down.bias', [32]],
  ];
  const tensors = list.map(([name, shape], i) => ({ name, shape, type: 'F32', data: floats(product(shape), i + 1) })),
    head = (type) => ({ name: 'output.weight', shape: [4, 32], type, data: floats(128, 50) });
  assert.equal((await drain(writeGguf(meta, tensors))).config.tie_word_embeddings, true);
  const copy = await drain(writeGguf(meta, [...tensors, head('F32')]));
  assert.equal(copy.config.tie_word_embeddings, true);
  assert.match(copy.warnings.join(), /copy of the embedding/);
  const own = await drain(writeGguf(meta, [...tensors, head('Q8_0')]));
  assert.equal(own.config.tie_word_embeddings, false);
  assert.ok(own.data.has('output.weight'));
});

test('malformed GGUF headers are refused', async () => {
  const poke = (at, bytes, file = ggufFile()) => {
    const b = Uint8Array.from(file);
    b.set(bytes, at);
    return b;
  };
  await rejects(poke(0, [0x58]), 'unknown-format');
  await rejects(new File([poke(0, [0x58])], 'x.gguf'), 'bad-file', /x\.gguf: begins with "XGUF"/);
  await rejects(poke(4, [99]), 'unsupported', /version 99/);
  await rejects(poke(4, [0, 0, 0, 3]), 'unsupported', /big-endian/);
  await rejects(
    ggufFile({}, (t) => [...t, t[1]]),
    'duplicate-tensor',
    /output_norm/,
  );
  await rejects(
    ggufFile({}, (t) => t.filter((x) => x.name !== 'blk.0.ffn_up.weight')),
    'missing-tensor',
    /blk\.0\.ffn_up\.weight is missing/,
  );
  await rejects(
    ggufFile({}, (t) => [...t, { name: 'blk.0.attn_sinks.weight', shape: [2], type: 'F32', data: floats(2, 1) }]),
    'unknown-tensor',
    /attn_sinks/,
  );
  await rejects(
    ggufFile({}, (t) =>
      t.map((x) => (x.name === 'output_norm.weight' ? { ...x, shape: [16], data: floats(16, 1) } : x)),
    ),
    'bad-shape',
    /output_norm.*\[16\], expected \[32\]/,
  );
  await rejects(ggufFile({ 'general.alignment': u32(3) }), 'bad-header', /power of two/);
  const find = (name, file) => Buffer.from(file).indexOf(name) + name.length;
  const file = ggufFile();
  const info = find('token_embd.weight', file);
  await rejects(poke(info, [100]), 'bad-header', /100 dimensions/);
  await rejects(poke(info + 4, [0, 0, 0, 0, 0, 0, 0, 16]), 'bad-header');
  await rejects(poke(info + 20, [77]), 'unknown-dtype', /type 77/);
  await rejects(poke(info + 20, [21]), 'bad-header', /rows of 32, IQ3_S needs multiples of 256/);
  await rejects(poke(info + 20, [12]), 'bad-header', /rows of 32, Q4_K needs multiples of 256/);
  await rejects(poke(info + 24, [0, 0, 0, 0, 0, 0, 4]), 'overlap');
  await rejects(poke(info + 24, [3]), 'overlap');
  const strings = ggufFile({ 'tokenizer.ggml.tokens': texts(['a', 'b', 'c', 'd']) });
  const array = find('tokenizer.ggml.tokens', strings);
  await rejects(poke(array + 4, [9], strings), 'bad-header', /array of arrays/);
  await rejects(poke(array + 8, [0, 0, 0, 0, 0, 0, 0, 32], strings), 'bad-header');
  await rejects(poke(array + 8, [0, 0, 16], strings), 'truncated', /1048576 elements|tokens/);
  await rejects(
    ggufFile({ 'tokenizer.ggml.model': text('gpt2'), 'tokenizer.ggml.tokens': texts(['a', 'b']) }),
    'bad-tokenizer',
    /2 tokens, token_embd\.weight 4 rows/,
  );
  await rejects(ggufFile({ 'llama.vocab_size': u32(5) }), 'bad-shape', /vocab_size is 5/);
  assert.equal(await verdict(ggufFile({ 'general.alignment': u32(32) })), 'ok');
});

test('features of a GGUF that the engine lacks are refused, and named', async () => {
  const cases = [
    [{ 'general.architecture': text('mamba') }, 'unsupported', /"mamba"/],
    [{ 'llama.expert_shared_count': u32(8) }, 'unsupported', /expert_shared_count 8/],
    [{ 'llama.rope.scaling.type': text('mrope') }, 'unsupported', /llama\.rope\.scaling\.type "mrope"/],
    [{ 'llama.rope.scaling.type': text('longrope') }, 'unsupported', /without rope_factors_long\.weight/],
    [
      { 'llama.rope.scaling.type': text('yarn'), 'llama.rope.scaling.yarn_ext_factor': f32(0.5) },
      'unsupported',
      /yarn_ext_factor 0\.5/,
    ],
    [{ 'llama.rope.dimension_count': u32(8) }, 'unsupported', /dimension_count 8/],
    [{ 'llama.attention.value_length': u32(8) }, 'unsupported', /value_length 8/],
    [{ 'llama.residual_scale': f32(2) }, 'unsupported', /residual_scale/],
    [{ 'llama.attention.head_count': text('two') }, 'bad-config', /head_count is "two"/],
    [{ 'llama.block_count': u32(0) }, 'bad-config', /n_layers is 0/],
    [{ 'llama.attention.layer_norm_rms_epsilon': f32(NaN) }, 'bad-config', /norm_eps/],
  ];
  for (const [meta, code, message] of cases) await rejects(ggufFile(meta), code, message);
  const { 'general.architecture': _, ...none } = ggufMeta;
  await rejects(writeGguf(none, ggufTensors()), 'bad-header', /general\.architecture is missing/);
  const scaled = await drain(
    ggufFile({ 'llama.rope.scaling.type': text('linear'), 'llama.rope.scaling.factor': f32(4) }),
  );
  assert.deepEqual([scaled.config.rope_scaling, scaled.config.rope_factor], ['linear', 4]);
});

// The table as llama.cpp's convert_hf_to_gguf.py computes it (pull request 8676, LlamaModel.generate_extra_tensors).
test('a table of rotary factors is converted back to the Llama 3 scaling that produced it', async () => {
  const table = (factor, context = 8192, theta = 500000) =>
    Float32Array.from({ length: 8 }, (_, i) => {
      const wavelength = 2 * Math.PI * theta ** ((2 * i) / 16);
      if (wavelength < context / 4) return 1;
      return wavelength > context
        ? factor
        : 1 / ((1 - (context / wavelength - 1) / 3) / factor + (context / wavelength - 1) / 3);
    });
  const freqs = (data) => ({
    name: 'rope_freqs.weight',
    shape: [data.length],
    type: 'F32',
    data,
  });
  const meta = { 'llama.rope.freq_base': f32(500000) };
  for (const [factor, context] of [
    [8, 8192],
    [32, 8192],
    [4, 16384],
  ]) {
    for (const place of [(t, x) => [x, ...t], (t, x) => [...t, x]]) {
      // before all other tensors, as converters write it, or after some
      const { config, tensors } = await drain(ggufFile(meta, (t) => place(t, freqs(table(factor, context)))));
      assert.deepEqual(
        [
          config.rope_scaling,
          config.rope_factor,
          config.rope_low_freq_factor,
          config.rope_high_freq_factor,
          config.rope_original_context,
        ],
        ['llama3', factor, 1, 4, context],
      );
      assert.ok(
        tensors.some(({ name, covers }) => name === 'rope_freqs.weight' && !covers.length),
        'its bytes are passed over',
      );
    }
  }
  assert.equal(
    (await drain(ggufFile(meta, (t) => [freqs(new Float32Array(8).fill(1)), ...t]))).config.rope_scaling,
    'none',
  );
  // a table that follows no such rule is taken as it is
  const { config } = await drain(
    ggufFile(meta, (t) => [freqs(Float32Array.from({ length: 8 }, (_, i) => 1 + i)), ...t]),
  );
  assert.equal(config.rope_scaling, 'longrope');
  assert.deepEqual(config.rope_short_factors, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(config.rope_long_factors, config.rope_short_factors);
  await rejects(
    ggufFile(meta, (t) => [freqs(Float32Array.of(1, 2, NaN, 4, 5, 6, 7, 8)), ...t]),
    'bad-config',
    /rope_short_factors is NaN/,
  );
  await rejects(
    ggufFile(meta, (t) => [{ ...t[0], name: 'rope_freqs.weight' }, ...t]),
    'unknown-dtype',
    /rope_freqs\.weight is q8_0/,
  );
  await rejects(
    ggufFile(meta, (t) => [freqs(table(8).subarray(0, 4)), ...t]),
    'bad-shape',
    /rope_freqs\.weight has 4 factors, expected one for each pair of d_head, 8/,
  );
  // with another scaling: a table of ones does not change it; any other table would have to be multiplied with it
  const linear = { ...meta, 'llama.rope.scaling.type': text('linear'), 'llama.rope.scaling.factor': f32(4) };
  const ones = await drain(ggufFile(linear, (t) => [freqs(new Float32Array(8).fill(1)), ...t]));
  assert.deepEqual([ones.config.rope_scaling, ones.config.rope_factor], ['linear', 4]);
  await rejects(
    ggufFile(linear, (t) => [freqs(table(8)), ...t]),
    'unsupported',
    /rope_freqs\.weight and llama\.rope\.scaling "linear" together/,
  );
  await rejects(
    ggufFile({ ...meta, 'llama.rope.scaling.type': text('yarn') }, (t) => [freqs(table(8)), ...t]),
    'unsupported',
    /"yarn" together/,
  );
});

test('counts above their limits are refused before what they count is read', async () => {
  const bytes = Buffer.from(ggufFile({ 'a.list': { type: 9, of: 4, value: [1] } }));
  const list = bytes.indexOf('a.list') + 6 + 4 + 4;
  for (const [at, most, words] of [
    [8, 131072, /the number of tensors is 131073, at most 131072/],
    [16, 65536, /the number of keys is 65537, at most 65536/],
    [24, 2 ** 24, /the length of .* is 16777217, at most 16777216/],
    [list, 2 ** 23, /the length of .*a\.list.* is 8388609, at most 8388608/],
  ]) {
    const changed = Buffer.from(bytes);
    changed.writeBigUInt64LE(BigInt(most + 1), at);
    await rejects(changed, 'bad-header', words);
  }
});
