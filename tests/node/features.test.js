// features.test.js - the probes of wasm_features.js test the instructions that the binaries contain
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { afterEach, describe, test } from 'node:test';
import { relaxedInstructions, simdInstructions } from './opcodes.js';
import { PROBES, whyOneThread } from '../../web/lib/engine/wasm_features.js';
import { load } from '../../web/lib/api/index.js';

const folder = new URL('../../web/lib/api/wasm/', import.meta.url);
const binaries = readdirSync(folder).filter((name) => name.endsWith('.wasm'));
const relaxedOf = (name) => [...relaxedInstructions(readFileSync(new URL(name, folder))).keys()];

// The probe once had another relaxed instruction than the binary. WebKit has only some of them, so every load failed
// there.
test('the relaxed binaries use exactly the relaxed instructions of the probe', () => {
  const probed = [...relaxedInstructions(PROBES.relaxed).keys()];
  assert.ok(probed.length > 0);
  const relaxed = binaries.filter((name) => name.includes('relaxed'));
  assert.equal(relaxed.length, 2);
  for (const name of relaxed) assert.deepEqual(relaxedOf(name), probed, name);
});

test('every other binary has SIMD and no relaxed instruction', () => {
  const others = binaries.filter((name) => !name.includes('relaxed'));
  assert.equal(others.length, 4);
  for (const name of others) {
    assert.deepEqual(relaxedOf(name), [], name);
    assert.ok(simdInstructions(readFileSync(new URL(name, folder))).size > 20, name);
  }
  assert.deepEqual([...simdInstructions(PROBES.simd).keys()], [0x0f, 0x62]);
  assert.ok(WebAssembly.validate(PROBES.simd));
});

test('the scanner tells instructions from their constants', () => {
  // v128.const whose bytes spell i32x4.relaxed_dot; i32.const and memory offsets that hold 0xfd; then one
  // relaxed_swizzle
  const body = [
    0,
    0xfd,
    12,
    0xfd,
    147,
    2,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0xfd,
    12,
    ...Array(16).fill(0xfd),
    0xfd,
    0x80,
    2,
    0x1a,
    65,
    0xfd,
    1,
    0x2d,
    0,
    0xfd,
    1,
    0x1a,
    11,
  ];
  const module = Uint8Array.from([
    0,
    97,
    115,
    109,
    1,
    0,
    0,
    0,
    1,
    4,
    1,
    96,
    0,
    0,
    3,
    2,
    1,
    0,
    5,
    3,
    1,
    0,
    1,
    10,
    body.length + 2,
    1,
    body.length,
    ...body,
  ]);
  assert.deepEqual([...relaxedInstructions(module)], [['i8x16.relaxed_swizzle', 1]]);
  assert.throws(() => simdInstructions(module.subarray(0, -1)), /ends/);
  assert.throws(() => simdInstructions(Uint8Array.from([...module.slice(0, -1), 0xff])), /instruction 0xff is unknown/);
  assert.throws(() => simdInstructions(Uint8Array.of(60, 33)), /does not begin/);
});

test('threads need isolation and SharedArrayBuffer; the backend text says which is missing', () => {
  const { process: node, SharedArrayBuffer: shared } = globalThis;
  const inWorker = (isolated, has) => {
    Object.assign(globalThis, { WorkerGlobalScope: class {}, crossOriginIsolated: isolated, Worker: class {} });
    if (!has) delete globalThis.SharedArrayBuffer;
    delete globalThis.process;
    try {
      return whyOneThread();
    } finally {
      Object.assign(globalThis, { process: node, SharedArrayBuffer: shared });
      for (const name of ['WorkerGlobalScope', 'crossOriginIsolated', 'Worker']) delete globalThis[name];
    }
  };
  assert.match(inWorker(false, false), /not cross-origin isolated$/);
  assert.match(inWorker(true, false), /is cross-origin isolated, but this browser has no SharedArrayBuffer$/);
  assert.equal(inWorker(true, true), null);
});

// The probes may be wrong about a browser: in these tests the probes succeed and compiling fails, as each test says.
describe('a binary that does not compile', () => {
  const { validate, compile } = WebAssembly;
  /** Whether a binary needs it; Node compiles one of its own in between. */
  const uses = {
    relaxed: (bytes) => relaxedInstructions(bytes).size > 0,
    threads: (bytes) => Buffer.from(bytes).includes('env\x06memory'),
    anything: (bytes) => Buffer.from(bytes).includes('gf_schema'),
  };
  /** @param {(keyof typeof uses)[]} bad */
  const engineWithout = (...bad) => {
    WebAssembly.validate = () => true;
    WebAssembly.compile = async (source) => {
      const bytes = new Uint8Array(source),
        what = bad.find((kind) => uses[kind](bytes));
      if (what) throw new WebAssembly.CompileError(`${what} is not known`);
      // Node 20 does not compile relaxed SIMD: the plain binary takes its place
      return compile.call(
        WebAssembly,
        uses.relaxed(bytes) ? readFileSync(new URL('glassformer-simd.wasm', folder)) : bytes,
      );
    };
  };
  afterEach(() => Object.assign(WebAssembly, { validate, compile }));
  const model = new URL('../../weights/stories-1m.gguf', import.meta.url);
  /** @param {import('../../web/lib/api/index.js').LoadOptions} [options] */
  async function loaded(options) {
    const one = await load(model, options),
      ids = [];
    for await (const { id } of one.generate('Once', { maxTokens: 3 })) ids.push(id);
    assert.equal(ids.length, 3);
    one.dispose();
    return { backend: one.backend, warnings: one.warnings };
  }

  test('is an error when no binary compiles', async () => {
    // this test comes first, because a compiled binary is cached
    engineWithout('anything');
    await assert.rejects(load(model), { code: 'bad-wasm', message: /glassformer-simd\.wasm.*anything is not known/ });
  });

  test('is an error when it is the relaxed one and was requested by name', async () => {
    engineWithout('relaxed');
    await assert.rejects(load(model, { backend: 'relaxed' }), {
      code: 'bad-wasm',
      message: /^backend relaxed was requested, but its binary does not compile here: .*relaxed is not known/,
    });
  });

  test('with relaxed SIMD is replaced by the one with SIMD, with a warning', async () => {
    engineWithout('relaxed');
    const { backend, warnings } = await loaded();
    assert.match(backend, /^simd128, one thread/);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /^the binary relaxed does not compile here, simd replaces it \(.*relaxed is not known/);
  });

  test('with threads is replaced by the one without, after SIMD was tried instead of relaxed SIMD', async () => {
    engineWithout('threads');
    const { backend, warnings } = await loaded({ worker: true, threads: 2 });
    assert.match(backend, /one thread: the WebAssembly file has no threads$/);
    assert.deepEqual(
      warnings.map((w) => /^the binary (\S+) does not compile here, (\S+) replaces/.exec(w)?.slice(1)),
      [
        ['relaxed-threads', 'simd-threads'],
        ['simd-threads', 'relaxed'],
      ],
    );
    engineWithout('relaxed');
    const both = await loaded({ worker: true, threads: 2 });
    assert.match(both.backend, /^simd128, 2 threads$/);
    assert.equal(both.warnings.length, 1);
  });
});
