// bounds.test.js - writes into linear memory stay within the allocation they are for
//
// WebAssembly only stops writes outside the whole memory: a write past an allocation changes the next one. Here every
// allocation for arguments is followed by guard bytes, and arguments have lengths at which sizes are powers of two.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine } from '../../web/lib/engine/engine.js';
import { distribution, addEdit, tensorRow } from '../../web/lib/engine/engine_captures.js';
import { engineModule } from '../../web/lib/engine/binary.js';
import { packageFiles } from '../../web/lib/api/package_files.js';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { encode } from '../../web/lib/files/gguf/write_gguf.js';
import { numbers } from './helpers.js';

const GUARD = 1 << 16,
  MARK = 0xa5;

/**
 * An engine whose allocations for arguments are followed by a guard.
 * @returns {Promise<{engine: Engine, intact: () => void}>}
 */
async function guarded() {
  const engine = await Engine.start(await engineModule(packageFiles, { backend: 'simd' }), 1),
    { gf_abi_alloc: alloc, gf_abi_free: free } = engine.x;
  const sizes = new Map();
  engine.x = {
    ...engine.x,
    gf_abi_alloc: (n) => {
      const p = alloc(n + GUARD) >>> 0;
      new Uint8Array(engine.memory.buffer, p + n, GUARD).fill(MARK);
      sizes.set(p, n);
      return p;
    },
    gf_abi_free: (p) => {
      sizes.delete(p);
      free(p);
    },
  };
  return {
    engine,
    intact: () => {
      assert.ok(sizes.size > 0);
      for (const [p, n] of sizes)
        assert.ok(
          new Uint8Array(engine.memory.buffer, p + n, GUARD).every((byte) => byte === MARK),
          `an argument of ${n} bytes`,
        );
    },
  };
}

const config = completeConfig({
  kind: 'encoder_decoder',
  vocab_size: 1024,
  d_model: 32,
  n_layers: 1,
  n_heads: 1,
  d_ff: 32,
  context_length: 2048,
  position: 'sinusoidal',
});

test('loading writes within its allocations, for tensors in pieces of any size', async () => {
  const { engine, intact } = await guarded(),
    wide = completeConfig({ vocab_size: 20000, d_model: 64, n_layers: 1, n_heads: 1, d_ff: 32, context_length: 16 });
  const list = engine.roster(wide);
  engine.open(
    wide,
    list.map(() => 'q8_0'),
  );
  const rows = numbers(64 * 7, 2000).map((x) => x / 1000 - 1);
  for (const [i, t] of list.entries()) {
    if (t.tiedTo >= 0) continue;
    const matrix = t.shape.length === 2,
      data = Float32Array.from({ length: t.count }, (_, k) => rows[k % rows.length]),
      bytes = encode(matrix ? 'Q8_0' : 'F32', data);
    const tensor = engine.receiveTensor(i, 1, matrix ? 'q8_0' : 'f32', 'rows');
    for (let at = 0, n = 0; at < bytes.length; n++) {
      // larger and smaller than the engine's buffer, never a multiple of a block
      const size = [300_001, 77, 262_139, 1, 500_000][n % 5];
      tensor.write(bytes.subarray(at, (at += size)));
      intact();
    }
    tensor.end();
  }
  engine.seal();
  const row = tensorRow(engine, 0, 19_999, 64);
  for (let j = 0; j < 64; j++) assert.ok(Math.abs(row[j] - rows[(19_999 * 64 + j) % rows.length]) < 0.02);
  engine.close();
});

test('ids, masks, logits, edits and samples are written within their allocations', async () => {
  for (const n of [1, 819, 820, 1023, 1024, 1025, 1638, 1639, 2047, 2048]) {
    const { engine, intact } = await guarded();
    engine.open(
      config,
      engine.roster(config).map(() => 'f32'),
    );
    engine.randomize(1, 0.02);
    const ids = numbers(n, 1024, n),
      session = engine.openSession(2048, 'f32');
    session.encode(
      ids,
      ids.map((_, i) => (i % 3 ? 0 : 1)),
    );
    intact();
    session.encode(ids, null);
    for (let at = 0; at < n; at += 64) session.eval(ids.slice(at, at + 64));
    intact();
    session.sample({ temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1.1 });
    session.top(0, 1, 1024, Math.min(n, 1024));
    intact();
    const row = Float32Array.from(numbers(n, 100, 3));
    engine.top(row, n);
    intact();
    const shares = distribution(
      engine,
      row,
      { temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1.2 },
      ids.map((id) => id % n),
    );
    assert.ok(Math.abs(shares.reduce((a, b) => a + b, 0) - 1) < 1e-4);
    intact();
    const second = engine.openSession(2048, 'f32');
    second.encode([1], null);
    addEdit(
      second,
      { stack: 0, layer: 0, point: engine.schema.points.findIndex(([name]) => name === 'attn.hook_pattern') },
      -1,
      -1,
      -1,
      'add',
      row,
    );
    intact();
    const some = Array.from({ length: Math.min(n, engine.schema.chunk) }, () => {
      const s = engine.openSession(64, 'f32');
      s.encode([1, 2], null);
      return s;
    });
    engine.evalAll(
      some,
      some.map(() => 5),
    );
    intact();
    for (const s of some) assert.equal(s.length, 1);
    engine.close();
  }
});

test('a size beyond the range of wasm is refused, and the next allocation is large enough', async () => {
  const engine = await Engine.start(await engineModule(packageFiles, { backend: 'simd' }), 1);
  engine.scratch(100);
  for (const n of [2 ** 32 - 1, 2 ** 32, 2 ** 33, Infinity, NaN]) {
    assert.throws(() => engine.scratch(n), { code: 'out-of-memory' });
    const p = engine.scratch(5000);
    assert.ok(p > 0 && p + 5000 <= engine.memoryBytes);
    assert.equal(engine.scratch(8192), p); // rounded up to a power of two, which is already allocated
  }
  engine.close();
});
