// formats.test.js - readers of model files: every tensor is read completely, however the bytes arrive, and a file that
// is cut or has wrong bytes is refused
import assert from 'node:assert/strict';
import fs, { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { roster } from '../../web/lib/engine/config/weight_roster.js';
import { json, noShared, shared, stories } from './helpers.js';
import { drain, ggufFile, hf, hfFile, hfShapes, kinds, rejects, unsized, verdict } from './small_files.js';
import { floats, product } from './random_values.js';
import { llama2cFile } from './checkpoint_files.js';

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

/** About the length of the header of one of `kinds`. */
const headerBytes = (name) => ({ safetensors: 1800, GGUF: 1200 })[name] ?? 28;

test('a truncated file is refused: at each byte of the header and of the end, at each fifth between', async () => {
  for (const [name, bytes, wrap, file] of kinds) {
    for (let n = 0; n < bytes.length; n++) {
      if (n > headerBytes(name) && n < bytes.length - 40 && n % 5) continue;
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
    const more = await verdict(wrap(Buffer.concat([bytes, Buffer.alloc(40)])));
    // llama.cpp reads a GGUF with bytes after its last tensor; here they are warned of (gguf_tolerance.test.js)
    assert.equal(more === 'ok', name === 'GGUF', `${name}, 40 bytes too many`);
  }
});

test('a file with random wrong bytes loads or is refused with a GlassformerError', async () => {
  for (const [name, bytes, wrap] of kinds) {
    const header = headerBytes(name);
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
