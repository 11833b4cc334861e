// formats.test.js - readers of model files: every tensor is read completely, and every malformed file is refused with
// its reason
import assert from 'node:assert/strict';
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { BLOCKS } from '../../web/lib/base/blocks.js';
import { ByteReader } from '../../web/lib/bytes/bytes.js';
import { completeConfig } from '../../web/lib/config/config.js';
import { CODES } from '../../web/lib/base/errors.js';
import { FAMILIES } from '../../web/lib/huggingface/families_all.js';
import { fromBfloat, fromHalf, toBfloat, toHalf } from '../../web/lib/bytes/half.js';
import { readHfConfig } from '../../web/lib/huggingface/huggingface.js';
import { roster } from '../../web/lib/config/roster.js';
import { openCheckpoint } from '../../web/lib/checkpoint/source.js';
import { encode, f32, text, texts, u32, writeGguf } from '../../web/lib/convert/write_gguf.js';
import { writeSafetensors } from '../../web/lib/convert/write_safetensors.js';
import { GlassformerError, load } from '../../web/lib/index.js';
import { golden, json, noShared, numbers, refused, shared, stories, top } from './helpers.js';

const product = (shape) => shape.reduce((a, b) => a * b, 1);
const floats = (n, seed) => Float32Array.from(numbers(n, 2001, seed), (x) => (x - 1000) / 500);

/** Read a checkpoint to its end: bytes by tensor. */
async function drain(source, options) {
  const checkpoint = await openCheckpoint(source, options);
  const bytes = new Map();
  let parts = [];
  let begun = null;
  await checkpoint.stream({
    begin(t) {
      assert.equal(begun, null);
      begun = t;
      parts = [];
    },
    async write(view) {
      assert.ok(view.length > 0 && view.length % BLOCKS[begun.dtype][1] === 0, 'views end on whole blocks');
      parts.push(Buffer.from(view));
    },
    end(t) {
      assert.equal(begun, t);
      begun = null;
      bytes.set(t.name, Buffer.concat(parts));
    },
  });
  assert.equal(begun, null);
  return { ...checkpoint, data: bytes };
}

/** What the source does when it is read to the end: 'ok' or the code of a GlassformerError. Anything else fails. */
async function verdict(source, options) {
  try {
    await drain(source, options);
    return 'ok';
  } catch (e) {
    assert.equal(e.name, 'GlassformerError', e.stack);
    assert.ok(Object.hasOwn(CODES, e.code), `${e.code} is a listed code`);
    assert.ok(e.message.length > 10, e.message);
    return e.code;
  }
}

const rejects = (source, code, message = /./, options = undefined) => refused(drain(source, options), code, message);

// ---- small files of each format

const hf = {
  model_type: 'llama',
  vocab_size: 6,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  max_position_embeddings: 16,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
};

/** Weights of `hf` under the names of transformers, [name, shape]. */
const hfShapes = [
  ['model.embed_tokens.weight', [6, 8]],
  ['model.norm.weight', [8]],
  ...[0, 1].flatMap((l) =>
    [
      ['input_layernorm', [8]],
      ['post_attention_layernorm', [8]],
      ['self_attn.q_proj', [8, 8]],
      ['self_attn.k_proj', [4, 8]],
      ['self_attn.v_proj', [4, 8]],
      ['self_attn.o_proj', [8, 8]],
      ['mlp.gate_proj', [12, 8]],
      ['mlp.up_proj', [12, 8]],
      ['mlp.down_proj', [8, 12]],
    ].map(([name, shape]) => [`model.layers.${l}.${name}.weight`, shape]),
  ),
];
const hfTensors = (dtype = 'F32') =>
  hfShapes.map(([name, shape], i) => ({ name, shape, dtype, data: floats(product(shape), i + 1) }));
const hfFile = (change = (list) => list) => writeSafetensors(change(hfTensors()));

const ggufMeta = {
  'general.architecture': text('llama'),
  'llama.context_length': u32(16),
  'llama.embedding_length': u32(32),
  'llama.block_count': u32(1),
  'llama.feed_forward_length': u32(64),
  'llama.attention.head_count': u32(2),
  'llama.attention.head_count_kv': u32(1),
  'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
  'llama.rope.freq_base': f32(10000),
  'llama.rope.dimension_count': u32(16),
};
const ggufTensors = (type = 'Q8_0') =>
  [
    ['token_embd', [4, 32]],
    ['output_norm', [32]],
    ['blk.0.attn_norm', [32]],
    ['blk.0.ffn_norm', [32]],
    ['blk.0.attn_q', [32, 32]],
    ['blk.0.attn_k', [16, 32]],
    ['blk.0.attn_v', [16, 32]],
    ['blk.0.attn_output', [32, 32]],
    ['blk.0.ffn_gate', [64, 32]],
    ['blk.0.ffn_up', [64, 32]],
    ['blk.0.ffn_down', [32, 64]],
  ].map(([name, shape], i) => ({
    name: `${name}.weight`,
    shape,
    type: shape.length === 2 ? type : 'F32',
    data: floats(product(shape), i + 1),
  }));
const ggufFile = (meta = {}, change = (list) => list) => writeGguf({ ...ggufMeta, ...meta }, change(ggufTensors()));

/**
 * llama2.c: d 8, ff 12, 2 layers, 2 heads, 1 kv head, 6 tokens, 16 positions.
 * @param {0|1|2} version
 * @param {boolean} tied
 */
function llama2cFile(version, tied = true) {
  const [d, ff, L, V, ctx, kv] = [8, 12, 2, 6, 16, 4];
  const head = Buffer.alloc(version ? 256 : 28);
  const sizes = [d, ff, L, 2, 1, version === 0 && !tied ? -V : V, ctx];
  if (version) {
    head.writeUInt32LE(0x616b3432, 0);
    head.writeInt32LE(version, 4);
    head[36] = tied ? 1 : 0;
  }
  if (version === 2) head.writeInt32LE(4, 37);
  sizes.forEach((n, i) => head.writeInt32LE(n, (version ? 8 : 0) + 4 * i));
  let seed = 0;
  const raw = (n) => Buffer.from(floats(n, ++seed).buffer);
  const matrix = (n) =>
    version === 2
      ? Buffer.concat([Buffer.from(Int8Array.from(numbers(n, 255, ++seed), (x) => x - 127).buffer), raw(n / 4)])
      : raw(n);
  const each = (make, ...sizes) => sizes.flatMap((n) => Array.from({ length: L }, () => make(n)));
  const parts =
    version === 0
      ? [
          matrix(V * d),
          ...each(raw, d),
          ...each(matrix, d * d, kv * d, kv * d, d * d),
          ...each(raw, d),
          ...each(matrix, ff * d, d * ff, ff * d),
          raw(d),
          raw(ctx * 2),
          raw(ctx * 2),
        ]
      : [
          ...each(raw, d, d),
          raw(d),
          matrix(V * d),
          ...each(matrix, d * d, kv * d, kv * d, d * d, ff * d, d * ff, ff * d),
        ];
  if (!tied) parts.push(matrix(V * d));
  return new Uint8Array(Buffer.concat([head, ...parts]));
}

/** A fetch that serves bytes in chunks, without saying how many there are. */
const unsized =
  (bytes, chunk = 1000) =>
  async () =>
    new Response(
      new ReadableStream({
        start(c) {
          for (let i = 0; i < bytes.length; i += chunk) c.enqueue(bytes.subarray(i, i + chunk));
          c.close();
        },
      }),
    );

const kinds = [
  ['safetensors', hfFile(), (b) => ({ weights: b, config: hf }), 'x.safetensors'],
  ['GGUF', ggufFile(), (b) => b, 'x.gguf'],
  ['llama2.c v0', llama2cFile(0), (b) => b, 'x.bin'],
  ['llama2.c v1', llama2cFile(1, false), (b) => b, 'x.bin'],
  ['llama2.c v2', llama2cFile(2), (b) => b, 'x.bin'],
];

// ---- what is read

test('every tensor is complete for every division of the bytes into chunks', async () => {
  for (const [name, bytes, wrap, file] of kinds) {
    const whole = await drain(wrap(bytes));
    const covered = whole.tensors.flatMap((t) => t.covers).sort();
    assert.deepEqual(covered, [...roster(whole.config)].map((w) => w.name).sort(), `${name}: every weight once`);
    for (const size of [1, 3, 17, 64, 1000]) {
      const url = `http://a.example/${file}`;
      const cut = await drain(name === 'safetensors' ? { weights: url, config: hf } : url, {
        fetch: unsized(bytes, size),
      });
      assert.deepEqual(cut.data, whole.data, `${name} in chunks of ${size}`);
    }
  }
});

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

// Version 0 marks an untied output layer with a negative vocabulary size.
test('a negative vocabulary size is refused in version 1 of llama2.c', async () => {
  const bytes = llama2cFile(1);
  new DataView(bytes.buffer).setInt32(8 + 4 * 5, -6, true);
  await rejects(bytes, 'bad-config', /vocab_size is -6/);
});

/** Bytes as f32. @param {Uint8Array} bytes */
const floatsOf = (bytes) => new Float32Array(Uint8Array.from(bytes).buffer);

test('a safetensors tensor has the bytes between its offsets', async () => {
  for (const name of readdirSync(golden)) {
    const folder = join(golden, name);
    if (
      !readdirSync(golden, { withFileTypes: true }).some((e) => e.name === name && e.isDirectory()) ||
      !readdirSync(folder).includes('model.safetensors')
    )
      continue;
    const file = readFileSync(join(folder, 'model.safetensors'));
    const n = Number(file.readBigUInt64LE(0));
    const header = JSON.parse(file.toString('utf8', 8, 8 + n));
    const { data, tensors } = await drain(`${folder}/`);
    assert.ok(data.size > 0);
    for (const t of tensors) {
      if (!t.covers.length) continue;
      const [from, to] = header[t.name].data_offsets;
      const stored = file.subarray(8 + n + from, 8 + n + to);
      const plusOne = () => Buffer.from(Float32Array.from(floatsOf(stored), (x) => 1 + x).buffer);
      assert.deepEqual(data.get(t.name), t.minusOne ? plusOne() : stored, `${name}: ${t.name}`);
      assert.deepEqual([t.shape, t.dtype], [header[t.name].shape, header[t.name].dtype.toLowerCase()]);
    }
  }
});

test("GPT-2's fused and transposed tensors are marked so, Llama's are not", async () => {
  const { tensors } = await drain(join(golden, 'gpt2_n_inner/'));
  const fused = tensors.find((t) => t.name === 'h.0.attn.c_attn.weight');
  assert.deepEqual(
    [fused.covers, fused.layout, fused.shape],
    [['q', 'k', 'v'].map((x) => `blocks.0.attn.${x}.weight`), 'cols', [48, 144]],
  );
  assert.deepEqual(
    tensors.find((t) => t.name === 'h.0.attn.c_attn.bias').covers,
    ['q', 'k', 'v'].map((x) => `blocks.0.attn.${x}.bias`),
  );
  assert.equal(tensors.find((t) => t.name === 'wte.weight').layout, 'rows');
  const llama = await drain(join(golden, 'llama_gqa_f16/'));
  assert.ok(llama.tensors.every((t) => t.covers.length === 1 && t.layout === 'rows' && t.dtype === 'f16'));
});

test('int8 groups of llama2.c v2 give scale times integer', async () => {
  const bytes = llama2cFile(2);
  const { data } = await drain(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const at = 256 + 4 * (2 * 8 + 2 * 8 + 8); // after the header and the norms: the embedding
  const want = Float32Array.from({ length: 48 }, (_, i) =>
    Math.fround(view.getInt8(at + i) * view.getFloat32(at + 48 + 4 * (i >> 2), true)),
  );
  assert.deepEqual(new Float32Array(Uint8Array.from(data.get('embed.weight')).buffer), want);
});

// The reader allocated a matrix of the size in the header: 4 GB ended in a RangeError.
test('a llama2.c v2 header with larger sizes than the body is refused as truncated', async () => {
  for (const [at, value] of [
    [28, 2 ** 22],
    [12, 2 ** 20],
  ]) {
    // the vocabulary, the width of the feed-forward layer
    const claims = llama2cFile(2),
      header = new DataView(claims.buffer);
    header.setInt32(8, 8192, true); // d_model
    header.setInt32(at, value, true);
    await rejects('https://files.test/x.bin', 'truncated', /the file ends after \d+ bytes/, { fetch: unsized(claims) });
  }
});

test('the same model in three file formats has the same configuration', async () => {
  const [st, v0, v1] = await Promise.all([
    drain({ weights: hfFile(), config: hf }),
    drain(llama2cFile(0)),
    drain(llama2cFile(1, false)),
  ]);
  assert.deepEqual({ ...v0.config, rope_pairs: 'half' }, { ...st.config, norm_eps: 1e-5 });
  assert.deepEqual({ ...v1.config, tie_word_embeddings: true }, v0.config);
  const { config } = await drain(ggufFile());
  assert.deepEqual(
    [
      config.rope_pairs,
      config.norm_eps,
      config.n_kv_heads,
      config.d_head,
      config.vocab_size,
      config.tie_word_embeddings,
    ],
    ['adjacent', 1e-5, 1, 16, 4, true],
  );
});

test('the shipped model has the configuration and sizes of its card', async () => {
  const { config, special, tokenizer, format, totalBytes, tensors } = await drain(stories);
  assert.deepEqual(
    [config.vocab_size, config.d_model, config.n_layers, config.n_heads, config.d_ff, config.context_length],
    [2048, 192, 6, 6, 512, 256],
  );
  assert.deepEqual(
    [special, format, totalBytes, config.norm_eps],
    [{ bos: 0, eos: [0], addBos: true }, 'gguf', readFileSync(stories).length, 1e-6],
  );
  assert.ok(tokenizer);
  assert.ok(tensors.every((t) => t.dtype === (t.shape.length === 2 ? 'q8_0' : 'f32')));
});

test('buffers and tied copies that frameworks save are skipped; unknown tensors are refused', async () => {
  const extra = (...list) => ({
    weights: hfFile((t) => [
      ...t,
      ...list.map(([name, shape, data]) => ({ name, shape, dtype: 'F32', data: data ?? floats(product(shape), 9) })),
    ]),
    config: hf,
  });
  const fine = await drain(
    extra(
      ['model.layers.0.self_attn.rotary_emb.inv_freq', [2]],
      ['lm_head.weight', [6, 8]],
      ['x.scalar', []],
      ['x.empty', [0, 3], new Float32Array(0)],
    ),
  );
  assert.equal(fine.data.size, hfShapes.length);
  assert.equal(fine.warnings.length, 2);
  await rejects(extra(['model.layers.0.self_attn.gate', [8]]), 'unknown-tensor', /self_attn\.gate.*\[8\]/);
  await rejects(extra(['lm_head.weight', [5, 8]]), 'unknown-tensor', /lm_head/);
  await rejects({ ...extra(['model.layers.2.input_layernorm.weight', [8]]) }, 'unknown-tensor', /layers\.2/);
  await rejects(
    { weights: extra(['lm_head.weight', [5, 8]]).weights, config: { ...hf, tie_word_embeddings: false } },
    'bad-shape',
    /lm_head.*\[5, 8\], expected \[6, 8\]/,
  );
});

// ---- what is refused

test('a truncated file is refused, for every place of the cut', async () => {
  for (const [name, bytes, wrap, file] of kinds) {
    for (let n = 0; n < bytes.length; n++) {
      const cut = bytes.subarray(0, n);
      assert.notEqual(await verdict(wrap(cut)), 'ok', `${name}, ${n} of ${bytes.length} bytes`);
      if (n % 7) continue; // the server sends no Content-Length
      const url = `http://a.example/${file}`;
      assert.notEqual(
        await verdict(name === 'safetensors' ? { weights: url, config: hf } : url, { fetch: unsized(cut, 301) }),
        'ok',
        `${name}, ${n} bytes of unknown many`,
      );
    }
    assert.notEqual(await verdict(wrap(Buffer.concat([bytes, Buffer.alloc(40)]))), 'ok', `${name}, 40 bytes too many`);
  }
});

test('a file with random wrong bytes loads or is refused with a GlassformerError', async () => {
  for (const [name, bytes, wrap] of kinds) {
    const header = name === 'safetensors' ? 1800 : name === 'GGUF' ? 1200 : 28;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: header }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        async (edits) => {
          const bad = Uint8Array.from(bytes);
          for (const [at, value] of edits) bad[at] = value;
          await verdict(wrap(bad));
        },
      ),
      { numRuns: 300 },
    );
  }
});

test('a length field that exceeds the file does not make the reader allocate that much', async () => {
  const claim = (n) => {
    const b = Buffer.alloc(100);
    b.writeBigUInt64LE(n, 0);
    b[8] = 0x7b;
    return b;
  };
  const before = process.memoryUsage();
  for (const n of [2n ** 60n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 32n, 99_999_999n]) {
    for (const fetch of [unsized(claim(n)), async () => new Response(claim(n))]) {
      await rejects(
        { weights: 'http://a.example/x.safetensors', config: hf },
        n < 1e8 ? 'truncated' : 'bad-header',
        /./,
        { fetch },
      );
    }
  }
  const gguf = ggufFile();
  for (const [at, what] of [
    [8, 'tensors'],
    [16, 'keys'],
    [24, 'key length'],
  ]) {
    const bad = Uint8Array.from(gguf);
    new DataView(bad.buffer).setBigUint64(at, 2n ** 61n, true);
    await rejects(bad, 'bad-header', /at most/, {}, what);
  }
  assert.ok(process.memoryUsage().arrayBuffers - before.arrayBuffers < 50e6);
});

/** The safetensors file of `hf` with its header changed as an object. */
function withHeader(change, tail = Buffer.alloc(0)) {
  const file = Buffer.from(hfFile());
  const n = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + n));
  const text = Buffer.from(change(header) ?? JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return { weights: Buffer.concat([size, text, file.subarray(8 + n), tail]), config: hf };
}

test('malformed safetensors headers are refused', async () => {
  const Q = 'model.layers.0.self_attn.q_proj.weight';
  const set = (fields) => (h) => {
    Object.assign(h[Q], fields);
  };
  const [from, to] = (() => {
    let o;
    withHeader((h) => {
      o = h[Q].data_offsets;
    });
    return o;
  })();
  /** @type {[string, (h: any) => any, string, RegExp?][]} */
  const cases = [
    ['not JSON', () => '{not json}', 'bad-header'],
    ['an array', () => '[1,2]', 'bad-header'],
    ['a byte order mark', (h) => `\ufeff${JSON.stringify(h)}`, 'bad-header'],
    ['deep nesting', () => `{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`, 'bad-header'],
    [
      'no object',
      (h) => {
        h[Q] = 5;
      },
      'bad-header',
      /q_proj/,
    ],
    [
      'a key twice',
      (h) => `${JSON.stringify(h).slice(0, -1)},"${Q}":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`,
      'duplicate-tensor',
      /q_proj/,
    ],
    [
      'a key twice, spelled otherwise',
      (h) =>
        `${JSON.stringify(h).slice(0, -1)},"\\u006d${Q.slice(1)}":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`,
      'duplicate-tensor',
      /q_proj/,
    ],
    [
      'a key twice, behind names with a quote and a backslash in them',
      (h) => `${JSON.stringify({ 'x"y': h[Q], 'z\\': h[Q], ...h }).slice(0, -1)},"${Q}":${JSON.stringify(h[Q])}}`,
      'duplicate-tensor',
      /q_proj/,
    ],
    [
      'a field twice',
      (h) => JSON.stringify(h).replace('"dtype"', '"dtype":"F32","dtype"'),
      'duplicate-tensor',
      /dtype/,
    ],
    ['an unknown field', set({ strides: [8, 1] }), 'bad-header', /strides/],
    ['an unknown dtype', set({ dtype: 'F8_E9M9' }), 'unknown-dtype', /F8_E9M9/],
    ['a number for a dtype', set({ dtype: 5 }), 'unknown-dtype'],
    ['integers', set({ dtype: 'I32' }), 'unknown-dtype', /q_proj.*I32/],
    ['the wrong size', set({ dtype: 'F16' }), 'bad-header', /128 bytes/],
    ['a text as shape', set({ shape: ['8', '8'] }), 'bad-header'],
    ['negative sizes', set({ shape: [-8, -8] }), 'bad-header'],
    ['a huge shape', set({ shape: [2 ** 32, 2 ** 32] }), 'bad-header', /73786976294838206464/],
    ['another shape', set({ shape: [4, 16] }), 'bad-shape', /q_proj.weight: shape \[4, 16\], expected \[8, 8\]/],
    ['rank 1', set({ shape: [64] }), 'bad-shape'],
    ['rank 3', set({ shape: [8, 8, 1] }), 'bad-shape'],
    ['begin after end', set({ data_offsets: [to, from] }), 'bad-header'],
    ['half a byte', set({ data_offsets: [from + 0.5, to + 0.5] }), 'bad-header'],
    ['negative offsets', set({ data_offsets: [-4, to - from - 4] }), 'bad-header'],
    ['three offsets', set({ data_offsets: [from, to, 0] }), 'bad-header'],
    [
      'no offsets',
      (h) => {
        delete h[Q].data_offsets;
      },
      'bad-header',
      /undefined/,
    ],
    ['2^53', set({ data_offsets: [2 ** 53, 2 ** 53 + 256] }), 'bad-header'],
    ['bytes shared', set({ data_offsets: [from - 256, to - 256] }), 'overlap'],
    ['an offset past the end', set({ data_offsets: [1e6, 1e6 + 256] }), 'overlap'],
    [
      'a tensor left out',
      (h) => {
        delete h[Q];
      },
      'overlap',
    ],
    [
      'numbers as metadata',
      (h) => {
        h.__metadata__ = { a: 5 };
      },
      'bad-header',
      /__metadata__/,
    ],
    [
      'a lone surrogate in a name',
      (h) => JSON.stringify(h).replace('model.norm.weight', 'model.\\ud800.weight'),
      'unknown-tensor',
    ],
    [
      'a NUL in a name',
      (h) => JSON.stringify(h).replace('model.norm.weight', 'model.norm.weight\\u0000x'),
      'unknown-tensor',
    ],
  ];
  for (const [what, change, code, message] of cases) {
    await assert.rejects(
      drain(withHeader(change)),
      (e) => {
        assert.equal(e.code, code, `${what}: ${e.stack}`);
        if (message) assert.match(e.message, message);
        return true;
      },
      what,
    );
  }
  await drain(withHeader((h) => `${JSON.stringify(h)} `)); // odd length, trailing space
  await drain(
    withHeader((h) => {
      h.__metadata__ = { format: 'pt' };
    }),
  );
  await rejects(
    withHeader(() => {}, Buffer.from('junk')),
    'bad-file',
    /4 bytes follow/,
  );
  await rejects(
    { weights: hfFile((t) => t.slice(1)), config: hf },
    'missing-tensor',
    /model\.embed_tokens\.weight is missing/,
  );
  const many = await drain(
    withHeader((h) => {
      const end = Math.max(...Object.values(h).map((t) => t.data_offsets[1]));
      for (let i = 0; i < 20000; i++) h[`x${i}`] = { dtype: 'F32', shape: [0], data_offsets: [end, end] };
    }),
  );
  assert.equal(many.warnings.length, 20000);
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
  await rejects(poke(4, [0, 0, 0, 3]), 'unsupported', /version/);
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
  await rejects(poke(info + 20, [21]), 'unknown-dtype', /IQ3_S/);
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
  /** @type {[object, string, RegExp][]} */
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
    [{ 'llama.logit_scale': f32(2) }, 'unsupported', /logit_scale/],
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
  const table = (/** @type {number} */ factor, context = 8192, theta = 500000) =>
    Float32Array.from({ length: 8 }, (_, i) => {
      const wavelength = 2 * Math.PI * theta ** ((2 * i) / 16);
      if (wavelength < context / 4) return 1;
      return wavelength > context
        ? factor
        : 1 / ((1 - (context / wavelength - 1) / 3) / factor + (context / wavelength - 1) / 3);
    });
  const freqs = (/** @type {Float32Array} */ data) => ({
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

test('features of a config.json that the engine lacks are refused, and named', () => {
  const qwen = { ...hf, model_type: 'qwen2' };
  /** @type {[object, string, RegExp][]} */
  const cases = [
    [{ ...hf, model_type: 'mamba' }, 'unsupported', /"mamba"/],
    [{ ...hf, model_type: undefined }, 'bad-config', /model_type is missing/],
    [{ ...hf, hidden_act: 'xielu' }, 'unsupported', /xielu/],
    [{ ...hf, rope_scaling: { rope_type: 'mrope', factor: 4 } }, 'unsupported', /mrope/],
    [{ ...hf, rope_scaling: { rope_type: 'yarn' } }, 'unsupported', /without a factor/],
    [{ ...hf, rope_scaling: { type: 'dynamic' } }, 'unsupported', /without a factor/],
    [{ ...hf, rope_scaling: { type: 'longrope', short_factor: [1] } }, 'unsupported', /long_factor/],
    [{ ...hf, rope_scaling: { rope_type: 'linear' } }, 'unsupported', /without a factor/],
    [{ ...hf, quantization_config: { bits: 4 } }, 'unsupported', /quantization_config/],
    [{ ...hf, partial_rotary_factor: 0.5 }, 'unsupported', /partial_rotary_factor 0\.5/],
    [{ ...hf, attn_logit_softcapping: 50 }, 'unsupported', /softcapping/],
    [{ ...hf, sliding_window: 64 }, 'unsupported', /sliding_window/],
    [
      { ...qwen, use_sliding_window: true, sliding_window: 8, max_window_layers: '1' },
      'unsupported',
      /max_window_layers/,
    ],
    [{ ...qwen, layer_types: ['chunked_attention'] }, 'unsupported', /chunked_attention/],
    [{ ...qwen, layer_types: ['full_attention', 'sliding_attention'] }, 'unsupported', /layer_types/],
    [{ ...hf, num_attention_heads: 0 }, 'bad-config', /num_attention_heads is 0/],
    [{ ...hf, num_attention_heads: 3 }, 'bad-config', /hidden_size 8 is not divisible by num_attention_heads 3/],
    [{ ...hf, vocab_size: '6' }, 'bad-config', /"6"/],
    [
      { ...hf, num_hidden_layers: 1e9 },
      'bad-config',
      /num_hidden_layers is 1000000000, expected a whole number from 1 to 4096/,
    ],
    [
      { ...hf, hidden_size: 2 ** 31 },
      'bad-config',
      /hidden_size is 2147483648, expected a whole number from 1 to 65536/,
    ],
    [{ ...hf, rms_norm_eps: '1e-5' }, 'bad-config', /rms_norm_eps/],
    [{ ...hf, max_position_embeddings: 0 }, 'bad-config', /max_position_embeddings/],
    [{ ...hf, eos_token_id: 'x' }, 'bad-config', /eos_token_id/],
    [
      { model_type: 'gpt2', n_embd: 8, n_layer: 1, n_head: 2, vocab_size: 6, add_cross_attention: true },
      'unsupported',
      /add_cross_attention/,
    ],
    [
      { model_type: 'gpt2', n_embd: 8, n_layer: 1, n_head: 2, vocab_size: 6, activation_function: 'mish' },
      'bad-config',
      /mish/,
    ],
    [
      {
        model_type: 'bare-bones-ml-transformer',
        vocab_size: 6,
        hidden_size: 8,
        num_layers: 1,
        num_heads: 2,
        ff_size: 8,
        shared_embedding: false,
      },
      'unsupported',
      /shared_embedding/,
    ],
    [
      { model_type: 'glassformer', vocab_size: 6, d_model: 8, n_layers: 1, n_heads: 2, d_hidden: 3 },
      'bad-config',
      /d_hidden/,
    ],
  ];
  for (const [config, code, message] of cases) {
    assert.throws(
      () => readHfConfig(config),
      (e) => {
        assert.equal(e.code, code, e.message);
        assert.match(e.message, message);
        return true;
      },
    );
  }
});

test("the Hugging Face families' defaults and alternative key names are read", () => {
  const read = (change) => readHfConfig({ ...hf, ...change }).config;
  assert.equal(read({ num_key_value_heads: null }).n_kv_heads, 2);
  assert.equal(read({ model_type: 'mistral' }).sliding_window, 4096, "an absent window is the family's default");
  assert.equal(read({ model_type: 'mistral', sliding_window: null }).sliding_window, 0, 'an explicit null is none');
  assert.equal(read({ model_type: 'mistral', sliding_window: 8 }).sliding_window, 8);
  const qwen2 = read({ model_type: 'qwen2', sliding_window: 8 });
  assert.deepEqual([qwen2.bias_qkv, qwen2.bias_attn_out, qwen2.sliding_window], [true, false, 0]);
  assert.equal(
    read({ model_type: 'qwen2', use_sliding_window: true, sliding_window: 8, max_window_layers: 0 }).sliding_window,
    8,
  );
  const qwen3 = read({ model_type: 'qwen3', attention_bias: true });
  assert.deepEqual([qwen3.qk_norm, qwen3.d_head, qwen3.bias_attn_out], [true, 128, true]);
  const llama3 = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
  const old = read({ rope_theta: 5e5, rope_scaling: { rope_type: 'llama3', ...llama3 } });
  assert.deepEqual(read({ rope_parameters: { rope_type: 'llama3', rope_theta: 5e5, ...llama3 } }), old);
  assert.deepEqual(
    [old.rope_theta, old.rope_scaling, old.rope_factor, old.rope_original_context],
    [5e5, 'llama3', 8, 64],
  );
  const gpt2 = readHfConfig({
    model_type: 'gpt2',
    vocab_size: 6,
    n_embd: 8,
    n_layer: 1,
    n_head: 2,
    n_ctx: 12,
    eos_token_id: 5,
  });
  assert.deepEqual(
    [gpt2.config.ffn, gpt2.config.d_ff, gpt2.config.context_length, gpt2.config.tie_word_embeddings, gpt2.special.eos],
    ['gelu_tanh', 32, 12, true, [5]],
  );
  assert.deepEqual(readHfConfig({ ...hf, use_cache: true, odd_thing: 3, other: null }).warnings, [
    'config.json: odd_thing is not known and was not used',
  ]);
  assert.deepEqual(
    readHfConfig({
      model_type: 'glassformer',
      architectures: ['x'],
      ...completeConfig({ vocab_size: 6, d_model: 8, n_layers: 1, n_heads: 2 }),
    }).config.d_ff,
    64,
  );
});

// Older and newer releases of transformers write the same model with other keys.
test('every spelling of a configuration of Hugging Face gives the same model', () => {
  const spellings = json(join(top, 'tests/golden/formats/family_configs.json'));
  let n = 0;
  for (const [name, { today, ...others }] of Object.entries(spellings)) {
    if (!Object.hasOwn(FAMILIES, today.model_type)) continue;
    const { config, warnings } = readHfConfig(today);
    assert.deepEqual(warnings, [], name);
    for (const [spelling, other] of Object.entries(others)) {
      const read = readHfConfig(other);
      assert.deepEqual([read.config, read.warnings], [config, []], `${name}, ${spelling}`);
      n++;
    }
  }
  assert.ok(n > 50, `${n} spellings`);
});

test('any value in place of one in a configuration of Hugging Face is read or refused', () => {
  const spellings = json(join(top, 'tests/golden/formats/family_configs.json'));
  const odd = [{ toString: 1, valueOf: 1 }, [{ toString: 1 }]];
  const values = [null, true, -1, 0.5, 1e300, 'x', {}, [], [null], [[[], 1e300]], [[['global'], 1e300]], ...odd];
  /** Places in a JSON value. @type {(value: any, path?: string[]) => string[][]} */
  const places = (value, path = []) =>
    value !== null && typeof value === 'object'
      ? Object.keys(value).flatMap((key) => [[...path, key], ...places(value[key], [...path, key])])
      : [];
  let refusals = 0;
  for (const [name, all] of Object.entries(spellings))
    for (const given of Object.values(all))
      for (const path of places(given))
        for (const value of values) {
          const changed = structuredClone(given);
          const last = /** @type {string} */ (path.at(-1));
          path.slice(0, -1).reduce((part, key) => part[key], changed)[last] = value;
          try {
            readHfConfig(changed);
          } catch (error) {
            const where = `${name}: ${path.join('.')} = ${JSON.stringify(value)}: ${error.stack}`;
            assert.ok(error instanceof GlassformerError && error.code !== 'internal', where);
            refusals++;
          }
        }
  assert.ok(refusals > 5000, `${refusals} refusals`);
});

// ---- where files come from

/** @type {import('node:http').Server} */
let server;
let base = '',
  folder = '';
const served =
  /** @type {Record<string, (res: import('node:http').ServerResponse, req: import('node:http').IncomingMessage) => void>} */ ({});
const serve = (path, body, headers = {}) => {
  served[path] = (res) => {
    res.writeHead(200, { 'content-length': body.length, ...headers });
    res.end(body);
  };
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'formats-'));
  server = createServer((req, res) => {
    const answer = served[decodeURIComponent(req.url.split('?')[0])];
    if (answer) answer(res, req);
    else {
      res.writeHead(404, { 'content-type': 'text/html' });
      res.end('<!doctype html>nothing here');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

test('paths, addresses, blobs, buffers and folders give the same model', async () => {
  const gguf = ggufFile();
  const path = join(folder, 'model.gguf');
  writeFileSync(path, gguf);
  serve('/m.gguf', gguf);
  const want = await drain(gguf);
  for (const source of [
    path,
    pathToFileURL(path),
    String(pathToFileURL(path)),
    `${base}/m.gguf`,
    new URL(`${base}/m.gguf?x=1`),
    new Blob([gguf]),
    new File([gguf], 'a.gguf'),
    gguf.slice().buffer,
    { weights: path },
    `${folder}/`,
    folder,
    [new File([gguf], 'only.gguf')],
  ]) {
    assert.deepEqual((await drain(source)).data, want.data, String(source));
  }
  const files = {
    'config.json': JSON.stringify({ ...hf, eos_token_id: 2 }),
    'model.safetensors': hfFile(),
    'generation_config.json': '{"eos_token_id":[2,3]}',
    'tokenizer_config.json': '{"chat_template":"{{ messages }}"}',
    'tokenizer.json': JSON.stringify({ model: { type: 'BPE', vocab: { a: 0, b: 1 }, merges: [] } }),
  };
  for (const [name, body] of Object.entries(files)) serve(`/hf/${name}`, Buffer.from(body));
  const { data } = await drain({ weights: hfFile(), config: hf });
  for (const source of [
    `${base}/hf/`,
    `${base}/hf/model.safetensors`,
    Object.entries(files).map(([name, body]) => new File([body], name)),
  ]) {
    const got = await drain(source);
    assert.deepEqual(got.data, data);
    assert.equal(got.tokenizer.model.vocab.b, 1);
    if (source !== `${base}/hf/model.safetensors`)
      assert.deepEqual([got.special.eos, got.chatTemplate], [[2, 3], '{{ messages }}']);
  }
  await rejects(
    { weights: gguf, tokenizer: { model: { vocab: { a: 0, z: 4 } } } },
    'bad-tokenizer',
    /id 4, the model has only 4/,
  );
});

// A template was given <s> and </s> although the tokenizer has <|im_start|> and <|im_end|>.
test("begin and end tokens come from the tokenizer's files, and from config.json where those name none", async () => {
  const added = ['<s>', '</s>', '<|im_start|>', '<|im_end|>'].map((content, id) => ({
    id,
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  }));
  const tokenizer = {
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: { type: 'BPE', vocab: { a: 4, b: 5 }, merges: [] },
  };
  // its message has the values it was given
  const chat_template = "{{ raise_exception('[' + bos_token + '][' + eos_token + ']') }}";
  const files = {
    'config.json': JSON.stringify({ ...hf, bos_token_id: 0, eos_token_id: 1 }),
    'model.safetensors': hfFile(),
    'tokenizer.json': JSON.stringify(tokenizer),
  };
  const given = async (about, template) => {
    const model = await load(
      Object.entries({ ...files, 'tokenizer_config.json': JSON.stringify({ chat_template, ...about }) }).map(
        ([name, body]) => new File([body], name),
      ),
    );
    const { message } = await model
      .chat([{ role: 'user', content: 'b' }], { template })
      .next()
      .catch((error) => error);
    model.dispose();
    return message.replace(/^[^[]*/, '');
  };
  assert.equal(await given({}), '[<s>][</s>]');
  assert.equal(
    await given({ bos_token: '<|im_start|>', eos_token: { content: '<|im_end|>', lstrip: false } }),
    '[<|im_start|>][<|im_end|>]',
  );
  assert.equal(await given({ bos_token: null, eos_token: 5, add_bos_token: false }), '[][</s>]');
  assert.equal(
    await given({ bos_token: '<|im_start|>', eos_token: '<|im_end|>' }, { bos_token: 'mine' }),
    '[mine][<|im_end|>]',
  );
});

test("hf:owner/name requests the hub's addresses", async () => {
  serve('/own/small/resolve/main/config.json', Buffer.from(JSON.stringify(hf)));
  serve('/own/small/resolve/main/model.safetensors', Buffer.from(hfFile()));
  serve('/own/small/resolve/v1/q/m.gguf', Buffer.from(ggufFile()));
  const hub = { hfEndpoint: base };
  assert.equal((await drain('hf:own/small', hub).catch((e) => e)).format, 'safetensors');
  assert.equal((await drain('hf:own/small@v1/q/m.gguf', hub)).format, 'gguf');
  await rejects('hf:own/small@v2', 'not-found', /resolve\/v2/, hub);
  for (const pr of ['refs%2Fpr%2F1', 'refs%2fpr%2f1'])
    await rejects(`hf:own/small@${pr}`, 'not-found', /resolve\/refs%2Fpr%2F1\//, hub);
  await rejects('hf:own/small@100%', 'not-found', /resolve\/100%25\//, hub);
  await rejects('hf:nobody', 'bad-argument', /hf:owner\/name/, hub);
  /** @type {string[]} */
  const asked = [];
  await openCheckpoint('hf:a/b@refs%2Fpr%2F1', {
    fetch: async (url) => {
      asked.push(String(url));
      return new Response('', { status: 404 });
    },
  }).catch(() => {});
  assert.ok(asked[0].startsWith('https://huggingface.co/a/b/resolve/refs%2Fpr%2F1/'), asked[0]);
});

test('shards are read in order, also when there are more than open connections', async () => {
  const tensors = hfTensors();
  /** @type {Record<string, string>} */
  const map = {};
  const n = 7,
    per = Math.ceil(tensors.length / n);
  for (let i = 0; i < n; i++) {
    const name = `model-0000${i + 1}-of-00007.safetensors`;
    const part = tensors.slice(i * per, (i + 1) * per);
    for (const t of part) map[t.name] = name;
    serve(`/shards/${name}`, Buffer.from(writeSafetensors(part)));
  }
  serve('/shards/config.json', Buffer.from(JSON.stringify(hf)));
  serve('/shards/model.safetensors.index.json', Buffer.from(JSON.stringify({ weight_map: map })));
  const { data, totalBytes } = await drain(`${base}/shards/`);
  assert.deepEqual([...data].sort(), [...(await drain({ weights: hfFile(), config: hf })).data].sort());
  assert.ok(totalBytes > 2000);
  const index = (body) => serve('/shards/model.safetensors.index.json', Buffer.from(JSON.stringify(body)));
  index({ weight_map: { ...map, 'model.norm.weight': 'model-00007-of-00007.safetensors' } });
  await rejects(`${base}/shards/`, 'missing-tensor', /model\.norm\.weight/);
  index({ weight_map: { ...map, 'model.norm.weight': '../../secret' } });
  await rejects(`${base}/shards/`, 'bad-file', /secret/);
  // the fuzzer found a message of 100,029 characters
  index({ weight_map: { ...map, 'model.norm.weight': 'x'.repeat(1e5) } });
  await rejects(`${base}/shards/`, 'bad-file', /^.{10,200}$/);
  index({});
  await rejects(`${base}/shards/`, 'bad-file', /weight_map is missing/);
  await rejects(
    { weights: [writeSafetensors(tensors.slice(0, 3)), writeSafetensors(tensors.slice(2))], config: hf },
    'duplicate-tensor',
    /two files/,
  );
});

test('an answer that is not a model is refused, and the message says what it was', async () => {
  await rejects(`${base}/none.gguf`, 'not-found', /none\.gguf: the server answered 404/);
  served['/broken.gguf'] = (res) => {
    res.writeHead(503);
    res.end();
  };
  await rejects(`${base}/broken.gguf`, 'network', /503/);
  serve('/page.gguf', Buffer.from('<!doctype html><title>Hi'), { 'content-type': 'text/html; charset=utf-8' });
  await rejects(`${base}/page.gguf`, 'html', /web page/);
  serve('/page2.gguf', Buffer.from('\n <!DOCTYPE html><html>'), { 'content-type': 'application/octet-stream' });
  await rejects(`${base}/page2.gguf`, 'html', /web page/);
  serve('/empty.gguf', Buffer.alloc(0));
  await rejects(`${base}/empty.gguf`, 'truncated', /empty/);
  serve('/lfs.gguf', Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n'));
  await rejects(`${base}/lfs.gguf`, 'bad-file', /LFS pointer/);
  serve('/pickle.bin', Buffer.from('PK\x03\x04' + '\0'.repeat(60)));
  await rejects(`${base}/pickle.bin`, 'unsupported', /a zip archive that begins with ""/);
  // the first bytes of a torch.save(..., _use_new_zipfile_serialization=False); a browser's latin1 is windows-1252,
  // where 80 is the euro
  serve('/legacy.bin', Buffer.from('80028a0a6cfc9c46f9206aa850192e80024de9032e', 'hex'));
  await rejects(`${base}/legacy.bin`, 'unsupported', /pickle/);
  const { TextDecoder } = globalThis;
  globalThis.TextDecoder = class extends TextDecoder {
    decode(bytes) {
      return super.decode(bytes).replace(/\x80/g, '\u20ac');
    }
  };
  await rejects(`${base}/legacy.bin`, 'unsupported', /pickle/).finally(() => {
    globalThis.TextDecoder = TextDecoder;
  });
  serve('/what', Buffer.from('hello there, this is no model at all'));
  await rejects(`${base}/what`, 'unknown-format', /"hell"/);
  served['/half.gguf'] = (res) => {
    const b = ggufFile();
    res.writeHead(200, { 'content-length': b.length });
    res.write(b.subarray(0, 3000));
    setTimeout(() => res.destroy(), 20);
  };
  await rejects(`${base}/half.gguf`, 'network', /half\.gguf/);
  await rejects('http://127.0.0.1:9/x.gguf', 'network', /x\.gguf/);
  await rejects(`${base}/none/`, 'not-found', /no config\.json/);
  serve('/noweights/config.json', Buffer.from(JSON.stringify(hf)));
  await rejects(`${base}/noweights/`, 'not-found', /model\.safetensors/);
  // some servers send their start page for every address
  const start = Buffer.from('<!doctype html><title>App');
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json', 'chat_template.jinja'])
    serve(`/spa/${name}`, start, { 'content-type': 'text/html' });
  serve('/spa/config.json', Buffer.from(JSON.stringify(hf)));
  serve('/spa/model.safetensors', Buffer.from(hfFile()));
  assert.equal((await drain(`${base}/spa/`)).tokenizer, null);
  serve('/spa/tokenizer.json', Buffer.from('{"model":'));
  await rejects(`${base}/spa/`, 'bad-file', /tokenizer\.json: this is not JSON/);
  serve('/zipped.gguf', gzipSync(ggufFile()), { 'content-encoding': 'gzip' });
  assert.equal(
    (await drain(`${base}/zipped.gguf`)).format,
    'gguf',
    'the length of compressed bytes is not that of the file',
  );
  await rejects(join(folder, 'none.gguf'), 'not-found', /no such file/);
  await rejects(join(folder, 'none/'), 'not-found', /no such folder/);
  await rejects(hfFile(), 'bad-config', /no config\.json.*model_type .*num_attention_heads, rms_norm_eps/);
  for (const nothing of [null, 5, {}, '', { weights: [] }, { weights: 5 }]) await rejects(nothing, 'bad-argument');
});

// S3 answers 403 for a missing key unless the bucket may be listed: whole folders were refused.
test('status 403 for an optional file is a warning, for a required one an error', async () => {
  const forbidden =
    (folder, body = {}) =>
    async (url) => {
      const name = String(url).replace(folder, '');
      return body[name]
        ? new Response(body[name])
        : new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403, statusText: 'Forbidden' });
    };
  const at = 'https://s3.example/m/',
    config = JSON.stringify(hf),
    file = hfFile(),
    cut = 13;
  const bare = await drain(at, { fetch: forbidden(at, { 'config.json': config, 'model.safetensors': file }) });
  const refusals = ['generation_config.json', 'tokenizer_config.json', 'chat_template.jinja', 'tokenizer.json'].map(
    (name) => `${at}${name}: the server answered 403 Forbidden`,
  );
  assert.deepEqual(
    bare.warnings.map((text) => text.split(';')[0]),
    refusals,
  );
  assert.deepEqual(
    (
      await drain(`${at}model.safetensors`, {
        fetch: forbidden(at, { 'config.json': config, 'model.safetensors': file }),
      })
    ).warnings.map((text) => text.split(';')[0]),
    refusals.slice(3),
  );

  const shards = {
    'a.safetensors': writeSafetensors(hfTensors().slice(0, cut)),
    'b.safetensors': writeSafetensors(hfTensors().slice(cut)),
  };
  const weight_map = Object.fromEntries(
    hfTensors().map(({ name }, i) => [name, i < cut ? 'a.safetensors' : 'b.safetensors']),
  );
  const sharded = { 'config.json': config, 'model.safetensors.index.json': JSON.stringify({ weight_map }), ...shards };
  assert.deepEqual((await drain(at, { fetch: forbidden(at, sharded) })).data, bare.data);
  await rejects(at, 'network', /b\.safetensors: the server answered 403/, {
    fetch: forbidden(at, { ...sharded, 'b.safetensors': undefined }),
  });
  // a gated model
  await rejects(at, 'network', /config\.json: the server answered 403/, { fetch: forbidden(at) });
  await rejects(at, 'network', /m\/model\.safetensors: the server answered 403/, {
    fetch: forbidden(at, { 'config.json': config }),
  });
  await rejects(`${at}model.safetensors`, 'network', /config\.json: the server answered 403/, {
    fetch: forbidden(at, { 'model.safetensors': file }),
  });
});

test('progress counts every byte once, and an abort rejects with its reason', async () => {
  const gguf = ggufFile();
  serve('/m.gguf', gguf);
  /** @type {[number, number | null][]} */
  const seen = [];
  await drain(`${base}/m.gguf`, { onBytes: (loaded, total) => seen.push([loaded, total]) });
  assert.deepEqual(seen.at(-1), [gguf.length, gguf.length]);
  assert.ok(seen.every(([n], i) => i === 0 || n > seen[i - 1][0]));

  const early = AbortSignal.abort(new Error('never mind'));
  await assert.rejects(openCheckpoint(stories, { signal: early }), /never mind/);
  served['/slow.gguf'] = (res) => {
    res.writeHead(200, { 'content-length': gguf.length });
    res.write(gguf.subarray(0, gguf.length - 500));
  };
  const abort = new AbortController();
  const slow = await openCheckpoint(`${base}/slow.gguf`, { signal: abort.signal });
  setTimeout(() => abort.abort(new Error('enough')), 30);
  await assert.rejects(slow.stream({ begin() {}, write() {}, end() {} }), /enough/);
  // also when fetch ignores the signal
  const deaf = new AbortController();
  const hanging = openCheckpoint('http://a.example/x.gguf', {
    signal: deaf.signal,
    fetch: async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
  });
  setTimeout(() => deaf.abort(new Error('too long')), 30);
  await assert.rejects(hanging, /too long/);
});

test("a download of known length ends at its last byte, except with the caller's own fetch", async () => {
  const gguf = ggufFile(),
    { fetch } = globalThis;
  const lasting = async () =>
    new Response(
      new ReadableStream({
        start(c) {
          c.enqueue(gguf);
        },
      }),
      { headers: { 'content-length': String(gguf.length) } },
    );
  const whole = await drain(gguf);
  globalThis.fetch = lasting;
  try {
    assert.deepEqual((await drain('http://a.example/x.gguf')).data, whole.data);
  } finally {
    globalThis.fetch = fetch;
  }
  // the caller's fetch may still report an error after the last byte, such as a wrong checksum
  const own = AbortSignal.timeout(50);
  await assert.rejects(drain('http://a.example/x.gguf', { fetch: lasting, signal: own }), { name: 'TimeoutError' });
});

test('an error in the sink stops reading', async () => {
  const checkpoint = await openCheckpoint(stories);
  await assert.rejects(
    checkpoint.stream({
      begin() {},
      async write() {
        throw new Error('no room');
      },
      end() {},
    }),
    /no room/,
  );
  await assert.rejects(checkpoint.stream({ begin() {}, write() {}, end() {} }), { code: 'bad-state' });
});

test('a file much larger than its chunks is never in memory as a whole', async () => {
  const rows = 1 << 20; // an embedding of 2^20 x 64 f32: 256 MB
  const config = {
    model_type: 'glassformer',
    vocab_size: rows,
    d_model: 64,
    n_layers: 1,
    n_heads: 1,
    d_ff: 1,
    position: 'none',
    final_norm: false,
  };
  const shapes = [...roster(readHfConfig(config).config)];
  let at = 0;
  const header = Object.fromEntries(
    shapes.map(({ name, shape }) => [name, { dtype: 'F32', shape, data_offsets: [at, (at += 4 * product(shape))] }]),
  );
  const json = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(json.length));
  let left = at;
  const body = new ReadableStream({
    start(c) {
      c.enqueue(new Uint8Array(Buffer.concat([size, json])));
    },
    pull(c) {
      const n = Math.min(left, 65536);
      if (n) c.enqueue(new Uint8Array(n));
      else c.close();
      left -= n;
    },
  });
  const checkpoint = await openCheckpoint(
    { weights: 'http://a.example/x.safetensors', config },
    { fetch: async () => new Response(body) },
  );
  let bytes = 0,
    most = 0;
  await checkpoint.stream({
    begin() {},
    write(view) {
      bytes += view.length;
      if (bytes % (1 << 24) < 65536) most = Math.max(most, process.memoryUsage().arrayBuffers);
    },
    end() {},
  });
  assert.equal(bytes, at);
  assert.ok(most < 128e6, `${most} bytes of buffers for a file of ${at}`);
});

// ---- ByteReader, number formats and block types

test('ByteReader returns the requested bytes and reports the end', async () => {
  async function* chunks() {
    for (const n of [3, 0, 5, 1, 7]) yield new Uint8Array(n).fill(n);
  }
  const r = new ByteReader(chunks(), { name: 'x' });
  assert.deepEqual([...(await r.take(4))], [3, 3, 3, 5]);
  assert.deepEqual([...(await r.peek(5))], [5, 5, 5, 5, 1]);
  /** @type {number[]} */
  const sizes = [];
  await r.pipe(
    8,
    (v) => {
      sizes.push(v.length);
    },
    4,
  );
  assert.ok(sizes.every((n) => n % 4 === 0) && sizes.reduce((a, b) => a + b) === 8);
  await assert.rejects(r.take(5, 'the rest'), {
    code: 'truncated',
    message: 'x: the file ends after 16 bytes, 1 more were expected for the rest',
  });
  await assert.rejects(r.end(), { code: 'bad-file' });
});

test('ByteReader returns the same bytes for chunks of every size', async () => {
  const all = Uint8Array.from({ length: 60000 }, (_, i) => i * 7 + (i >> 8));
  const size = fc.integer({ min: 1, max: 20000 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(size, { minLength: 1 }),
      fc.array(fc.tuple(fc.constantFrom('take', 'peek', 'pipe'), size), { minLength: 3 }),
      async (cuts, calls) => {
        async function* chunks() {
          for (let at = 0, i = 0; at < all.length; at += cuts[i++ % cuts.length])
            yield all.subarray(at, at + cuts[i % cuts.length]);
        }
        const r = new ByteReader(chunks(), { name: 'x', total: all.length });
        for (const [call, n] of calls) {
          const from = r.pos,
            size = Math.min(n, all.length - from),
            got = [];
          if (call === 'peek') got.push(await r.peek(size));
          else if (call === 'take') got.push(await r.take(size));
          else
            await r.pipe(
              size - (size % 34),
              (view) => {
                got.push(view.slice());
                assert.equal(view.length % 34, 0);
              },
              34,
            );
          assert.deepEqual(
            Buffer.concat(got),
            Buffer.from(all.subarray(from, from + (call === 'pipe' ? size - (size % 34) : size))),
          );
        }
        await r.skip(all.length - r.pos);
        await r.end();
      },
    ),
    { numRuns: 200 },
  );
});

test('16-bit numbers round to nearest even, and back', () => {
  for (let h = 0; h < 65536; h++) {
    const x = fromHalf(h);
    if (Number.isNaN(x)) assert.ok(Number.isNaN(fromHalf(toHalf(x))));
    else assert.equal(toHalf(x), h);
    const b = fromBfloat(h);
    if (!Number.isNaN(b)) assert.equal(toBfloat(b), h);
  }
  // half precision by hand: 1 + 2^-11 is midway between 1 and 1 + 2^-10 and rounds to the even one, 1; 65520 rounds to
  // infinity; 2^-25 rounds to 0, a larger number to 2^-24
  assert.deepEqual(
    [1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 65520, 2 ** -25, 2 ** -25 * 1.0001].map(toHalf),
    [0x3c00, 0x3c02, 0x7bff, 0x7c00, 0, 1],
  );
  assert.deepEqual([1 + 2 ** -8, 1 + 3 * 2 ** -8].map(toBfloat), [0x3f80, 0x3f82]);
});

test('block types round as the recorded GGUF files do', () => {
  const x = floats(64, 5);
  const q8 = new DataView(encode('Q8_0', x).buffer);
  const d = fromHalf(q8.getUint16(0, true));
  for (let i = 0; i < 32; i++) assert.ok(Math.abs(q8.getInt8(2 + i) * d - x[i]) <= (d / 2) * 1.02);
  const q4 = new DataView(encode('Q4_0', x).buffer);
  const s = fromHalf(q4.getUint16(0, true));
  for (let i = 0; i < 16; i++) {
    assert.ok(Math.abs(((q4.getUint8(2 + i) & 15) - 8) * s - x[i]) <= Math.abs(s) * 1.02);
    assert.ok(Math.abs(((q4.getUint8(2 + i) >> 4) - 8) * s - x[i + 16]) <= Math.abs(s) * 1.02);
  }
  // the value of largest magnitude is stored as -8; its negative would be 8, but four bits reach only 7
  const ends = new Float32Array(32);
  ends.set([-8, 8, 1, -1, 7.6, 0.5]);
  ends.set([8, -8], 16);
  assert.deepEqual(
    [...encode('Q4_0', ends)],
    [
      ...new Uint8Array(Uint16Array.of(toHalf(1)).buffer),
      0xf0,
      0x0f,
      0x89,
      0x87,
      0x8f,
      0x89,
      ...new Array(10).fill(0x88),
    ],
  );
  const q41 = new DataView(encode('Q4_1', x).buffer);
  const [a, m] = [fromHalf(q41.getUint16(0, true)), fromHalf(q41.getUint16(2, true))];
  for (let i = 0; i < 16; i++) assert.ok(Math.abs((q41.getUint8(4 + i) & 15) * a + m - x[i]) <= (a / 2) * 1.05);
  assert.deepEqual([...encode('Q8_0', new Float32Array(32))], new Array(34).fill(0));
});

// ---- the shared cases, where they are available

test('every shared case and public checkpoint opens, with every weight covered once', { skip: noShared }, async () => {
  let n = 0;
  for (const root of [join(shared, 'cases'), join(shared, 'public')]) {
    for (const entry of readdirSync(root, { withFileTypes: true })) {
      // quants: single blocks; gguf, families: architectures that are not supported yet
      if (!entry.isDirectory() || ['adversarial', 'gguf_vocab', 'quants', 'gguf', 'families'].includes(entry.name))
        continue;
      const here = join(root, entry.name);
      const names = readdirSync(here);
      const sources = names.filter((f) => /\.gguf$|^(?!tok).*\.bin$/.test(f)).map((f) => join(here, f));
      if (names.includes('config.json')) sources.push(`${here}/`);
      for (const source of sources) {
        const { config, tensors } = await drain(source);
        assert.deepEqual(
          tensors.flatMap((t) => t.covers).sort(),
          [...roster(config)].map((w) => w.name).sort(),
          source,
        );
        n++;
      }
    }
  }
  assert.ok(n > 55, `${n}`);
});

test('every shared malformed file gets its expected result and is read at most once', { skip: noShared }, async (t) => {
  const here = join(shared, 'cases/adversarial');
  let n = 0,
    bytesRead = 0;
  const { read } = fs;
  t.mock.method(fs, 'read', (descriptor, buffer, offset, length, position, done) =>
    read(descriptor, buffer, offset, length, position, (error, bytes) => {
      bytesRead += bytes ?? 0;
      done(error, bytes);
    }),
  );
  for (const { file, config, expect } of json(join(here, 'index.json'))) {
    if (file.startsWith('tok_')) continue;
    const files = (config ? [file, config] : [file]).map((name) => join(here, name));
    bytesRead = 0;
    const got = await verdict(config ? { weights: files[0], config: files[1] } : files[0]);
    // the engine, not the reader, refuses NaN weights
    assert.ok(
      expect === 'load-nan' || expect.split('-or-').includes(got === 'ok' ? 'load' : 'error'),
      `${file} ${config}: ${got}, expected ${expect}`,
    );
    const size = files.reduce((bytes, path) => bytes + statSync(path).size, 0);
    assert.ok(bytesRead <= size, `${file}: ${bytesRead} bytes were read of ${size}`);
    n++;
  }
  assert.ok(n > 30);
});

// Each of these threw a TypeError or a RangeError.
test('values of a config.json that cannot be computed with are refused', () => {
  const stubborn = { toString: 1, valueOf: 1 };
  let deep = [];
  for (let i = 0; i < 1e5; i++) deep = [deep];
  const qwen = { ...hf, model_type: 'qwen2', use_sliding_window: true };
  const gpt = { model_type: 'gpt-prenorm-erf', vocab_size: 6, d_model: 8, n_layers: 1, n_heads: 2, context: 16 };
  for (const config of [
    { ...qwen, layer_types: 5 },
    { ...qwen, max_window_layers: stubborn },
    { ...qwen, num_hidden_layers: stubborn },
    { ...gpt, mlp_mult: stubborn },
    { ...gpt, activation: stubborn },
    { ...gpt, d_model: stubborn },
    { ...hf, vocab_size: deep },
  ]) {
    assert.throws(
      () => readHfConfig(config),
      (e) => e.name === 'GlassformerError' && ['bad-config', 'unsupported'].includes(e.code) && e.message.length < 300,
    );
  }
  assert.equal(readHfConfig({ ...gpt, mlp_mult: 2 }).config.d_ff, 16);
});
