// engine.test.js - linear memory: what it contains, and that it is freed
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Engine } from '../../web/lib/engine/engine.js';
import { Instance, instantiate } from '../../web/lib/engine/instance.js';
import { engineModule } from '../../web/lib/engine/binary.js';
import { packageFiles } from '../../web/lib/api/package_files.js';
import { warmUp } from '../../web/lib/engine/warm_up.js';
import { chooseBackend } from '../../web/lib/engine/wasm_features.js';
import { FIELDS } from '../../web/lib/engine/config/config_fields.js';
import { SAMPLER } from '../../web/lib/engine/config/sampler_fields.js';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { PRESETS, countParameters, estimate, load } from '../../web/lib/api/index.js';
import { parameterTable } from '../../web/lib/engine/config/weight_roster.js';
import { collect, numbers, refused, relativeError, stories, top, untilEnd } from './helpers.js';

const region = (model, name) => model.memory.regions.find((r) => r.name === name);

// roster.test.js: on the weights of random configurations
describe('engine and JavaScript agree', () => {
  test('on config fields and their values', async () => {
    const { schema } = await Engine.start(await engineModule(packageFiles));
    const base = { vocab_size: 8, d_model: 8, n_layers: 1, n_heads: 1 };
    assert.deepEqual(schema.fields.filter(Boolean).sort(), Object.keys(completeConfig(base)).sort());
    const words = Object.entries(FIELDS).flatMap(([name, field]) => ('words' in field ? [[name, field.words]] : []));
    assert.deepEqual(schema.enums, Object.fromEntries(words));
    for (const [field, values] of words) {
      for (const value of values) {
        const factors = [1, 1, 1, 1]; // of longrope: one for each pair of components
        const more = /llama3|yarn|dynamic|longrope/.test(value)
          ? { rope_original_context: 4, rope_short_factors: factors, rope_long_factors: factors }
          : {};
        const labels = field.startsWith('label_') && {
          n_labels: 2,
          kind: field === 'label_pooling' && value !== 'last' ? 'encoder' : 'decoder',
          pooler: value === 'pooler',
        };
        const config = { ...base, ...more, ...labels, [field]: value };
        if (field === 'head_activation' && value.includes('glu')) assert.throws(() => completeConfig(config), /a gate/);
        else assert.equal(completeConfig(config)[field], value);
      }
      if (field) assert.throws(() => completeConfig({ ...base, [field]: 'else' }), { code: 'bad-config' });
    }
  });

  test("on the names, shapes and counts of every preset's weights", async () => {
    const engine = await Engine.start(await engineModule(packageFiles));
    for (const name of Object.keys(PRESETS)) {
      const config = completeConfig(PRESETS[name]);
      const table = parameterTable(config);
      assert.equal(engine.countParameters(config), countParameters(name).total, name);
      const list = engine.roster(config);
      assert.deepEqual(
        list.map((t) => [t.name, t.shape, t.count, t.component, t.layer]),
        table.rows.map((r) => [r.name, r.shape, r.count, r.component, r.layer]),
        name,
      );
    }
  });
});

// A view wrote to address 0 what had no offset, and no test failed.
test('a struct has every option of the sampler, and a member that it lacks is an error', async () => {
  const { schema } = await Engine.start(await engineModule(packageFiles));
  const at = SAMPLER.map(({ member }) => schema.sampling[member]);
  assert.deepEqual(new Set(at).size, SAMPLER.length);
  assert.equal(schema.sampling.bytes, 4 * SAMPLER.length);
  for (const struct of [schema.tensor, schema.sampling, schema.adjustment, schema.choice, schema.op_time, schema.error])
    assert.throws(() => struct.top_x, { code: 'bad-wasm', message: /without the member top_x/ });
});

test('a binary whose structs have other offsets than can be is refused before any of them is used', async () => {
  const { exports } = await instantiate(await engineModule(packageFiles));
  const text = new Instance(exports).string(exports.gf_schema());
  const started = (/** @type {any} */ schema) => {
    const bytes = new TextEncoder().encode(`${JSON.stringify(schema)}\0`);
    const address = exports.gf_abi_alloc(bytes.length);
    new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes);
    return () => new Instance({ ...exports, gf_schema: () => address });
  };
  assert.doesNotThrow(started(JSON.parse(text)));
  for (const struct of ['tensor', 'sampling', 'adjustment', 'choice', 'op_time', 'error']) {
    const { bytes, ...members } = JSON.parse(text)[struct];
    const names = Object.keys(members).sort((a, b) => members[a] - members[b]);
    for (const [i, name] of names.entries()) {
      const other = names[(i + 1) % names.length];
      const faults = [
        { [name]: undefined },
        { [name]: bytes },
        { [name]: -4 },
        { [name]: 0.5 },
        { [name]: members[other] },
      ];
      if (!['name', 'text'].includes(name)) faults.push({ [name]: members[name] + 1 });
      for (const fault of [...faults, { bytes: members[names.at(-1)] }, { bytes: undefined }, { bytes: bytes + 1 }]) {
        const schema = JSON.parse(text);
        Object.assign(schema[struct], fault);
        assert.throws(started(schema), { code: 'bad-wasm', message: new RegExp(struct) }, JSON.stringify(fault));
      }
    }
    assert.throws(started({ ...JSON.parse(text), [struct]: undefined }), { code: 'bad-wasm' });
  }
});

describe('memory', () => {
  test('the regions of the memory map cover all of linear memory, without gaps', async () => {
    const model = await untilEnd(load(stories));
    const session = await model.session();
    await session.eval(numbers(100, 2048));
    const { totalBytes, regions } = model.memory;
    assert.deepEqual(
      regions.map((r) => r.name),
      ['constants and stack', 'weights', 'kv cache', 'scratch', 'free'],
    );
    let at = 0;
    for (const r of regions) {
      assert.equal(r.start, at);
      at += r.bytes;
    }
    assert.equal(at, totalBytes);
    assert.equal(region(model, 'kv cache').bytes, session.bytes);
    const { start, bytes } = region(model, 'weights'),
      placed = model.parameters.rows.filter((r) => r.address);
    assert.equal(start, Math.min(...placed.map((r) => r.address)));
    assert.ok(placed.every((r) => r.address + r.memoryBytes <= start + bytes));
    // 6 layers, 6 heads of 32, two blocks of 64 positions, keys and values in f16
    assert.equal(session.bytes, 6 * 6 * 2 * 64 * 2 * 32 * 2);
    const { nLayers, nKvHeads, dHead } = model.config;
    assert.deepEqual([nLayers, nKvHeads, dHead, model.kvDtype], [6, 6, 32, 'f16']);
    assert.equal(estimate(model.config, { contextLength: 128, kvDtype: model.kvDtype }).kvBytes, session.bytes);
  });

  test('a loaded model needs at most 4 MiB besides weights and cache, and 6 MiB after 480 tokens', async () => {
    for (const file of ['stories-1m.gguf', 'stories.gguf']) {
      const model = await load(join(top, 'weights', file)),
        session = await model.session();
      const spare = () => model.memory.totalBytes - region(model, 'weights').bytes - region(model, 'kv cache').bytes;
      assert.ok(spare() < 4 * 2 ** 20, `${file}: ${spare()} bytes more`);
      for (let i = 0; i < 4; i++) await session.eval(numbers(120, 2048));
      assert.ok(spare() < 6 * 2 ** 20, `${file}: ${spare()} bytes more after 480 tokens`);
      model.dispose();
    }
  });

  test('the key/value cache grows with the tokens and is freed with its session', async () => {
    const model = await untilEnd(load(stories));
    const session = await model.session();
    assert.equal(session.bytes, 0);
    await session.eval([1]);
    const one = session.bytes;
    await session.eval(numbers(63, 2048));
    assert.equal(session.bytes, one);
    await session.eval([1]);
    assert.equal(session.bytes, 2 * one);
    await session.close();
    await model.encode('a');
    assert.equal(region(model, 'kv cache').bytes, 0);
  });

  // WebAssembly returns an address above 2 GiB as a negative number.
  test('addresses above 2 GiB give the same results as below', async () => {
    const { start } = Engine;
    const ids = numbers(600, 2048),
      edits = [{ at: 'blocks.0.attn.hook_z', head: 1, scale: 0 }];
    const results = async () => {
      const model = await load(stories, { threads: 1 }),
        session = await model.session();
      const { logits, captured } = await model.forward(ids.slice(0, 40), {
        capture: ['blocks.1.hook_resid_post'],
        edits,
      });
      const { steps } = await collect(model.generate(ids.slice(0, 9), { maxTokens: 6, seed: 2, logprobs: 600 }));
      const all = {
        logits: logits.data,
        captured: captured['blocks.1.hook_resid_post'].data,
        row: await session.eval(ids.slice(0, 200)),
        lens: await model.logitLens(ids.slice(0, 8)),
        parts: await model.attribution(ids.slice(0, 8)),
        steps: steps.map(({ ms, ...step }) => step),
        ops: (await model.trace(ids.slice(0, 8))).operations?.length,
      };
      const { weights } = Object.fromEntries(model.memory.regions.map((r) => [r.name, r.start]));
      model.dispose();
      return { all, weights };
    };
    const low = await results();
    Engine.start = async (...how) => {
      const engine = await start.apply(Engine, how);
      // never touched, so the system does not allocate it
      for (let i = 0; i < 2; i++) assert.ok(engine.x.gf_abi_alloc(1.1 * 2 ** 30));
      return engine;
    };
    try {
      const high = await results();
      assert.deepEqual(high.all, low.all);
    } finally {
      Engine.start = start;
    }
  });

  test('opening and closing sessions repeatedly does not grow memory', async () => {
    const model = await untilEnd(load(stories));
    const round = async () => {
      const session = await model.session({ capture: ['*'] });
      await session.eval(numbers(80, 2048));
      const fork = await session.fork();
      await fork.eval([1, 2, 3]);
      await session.close();
      await fork.close();
      await collect(
        model.generate('One day', {
          maxTokens: 5,
          seed: 1,
          capture: ['*.hook_pattern'],
          edits: [{ at: 'hook_embed', add: [0.1] }],
        }),
      );
      for await (const step of model.generate('Two', { ignoreEos: true })) {
        assert.ok(step);
        break;
      }
      await refused(model.forward('Three', { edits: [{ at: 'hook_embed', set: [1, 2] }] }), 'bad-argument');
    };
    for (let i = 0; i < 4; i++) await round();
    const { totalBytes } = model.memory;
    for (let i = 0; i < 30; i++) await round();
    assert.equal(model.memory.totalBytes, totalBytes);
  });

  test('loading and disposing models repeatedly does not grow memory', async () => {
    const module = await engineModule(packageFiles);
    const sizes = [];
    for (let i = 0; i < 12; i++) {
      const model = await load(stories, { wasm: module });
      await collect(model.generate('A', { maxTokens: 3 }));
      sizes.push(model.memory.totalBytes);
      model.dispose();
      await refused(load(readFileSync(stories).subarray(0, 1e6), { wasm: module }), 'truncated');
    }
    assert.equal(new Set(sizes).size, 1, `each has its own memory: ${sizes}`);
  });

  test('closing a model frees its memory for the next one in the same instance', async () => {
    const engine = await Engine.start(await engineModule(packageFiles));
    const config = completeConfig({ vocab_size: 512, d_model: 256, n_layers: 4, n_heads: 4 });
    const sizes = [];
    for (let i = 0; i < 6; i++) {
      engine.open(
        config,
        engine.roster(config).map(() => 'f32'),
      );
      engine.randomize(i, 0.02);
      const session = engine.openSession(0, 'f32');
      session.eval([1, 2, 3]);
      sizes.push(engine.memoryBytes);
      engine.close();
    }
    assert.equal(sizes[5], sizes[1]);
  });
});

describe('binaries', () => {
  test('the binary is chosen without a download and is compiled once', async () => {
    assert.ok(['simd', 'relaxed'].includes(chooseBackend()));
    assert.equal(await engineModule(packageFiles), await engineModule(packageFiles));
    assert.equal(chooseBackend('simd'), 'simd');
  });

  test('a binary given as a module, bytes, file or address gives the same model', async () => {
    const file = new URL('../../web/lib/api/wasm/glassformer-simd.wasm', import.meta.url);
    for (const wasm of [
      await engineModule(packageFiles, { backend: 'simd' }),
      readFileSync(file),
      file,
      file.href,
      new Response(readFileSync(file), { headers: { 'content-type': 'application/wasm' } }),
      new Response(readFileSync(file)),
      new Blob([readFileSync(file)]),
    ]) {
      const model = await load(stories, { wasm });
      assert.match(model.backend, /^simd128, one thread: it computes in the caller's thread/);
      model.dispose();
    }
  });
});

test('progress reports the phases in order, never fewer bytes than before, and all bytes at the end', async () => {
  const seen = [];
  const model = await untilEnd(load(stories, { onProgress: (p) => seen.push(p) }));
  const { size } = (await import('node:fs')).statSync(stories);
  assert.ok(seen.some((p) => p.phase === 'compile'));
  for (const phase of ['download', 'load']) {
    const own = seen.filter((p) => p.phase === phase);
    assert.ok(own.length && own.every((p, i) => i === 0 || p.loaded >= own[i - 1].loaded));
    assert.equal(own.at(-1).loaded, own.at(-1).total);
    for (const { bytesPerSecond, secondsLeft } of own) {
      assert.ok(bytesPerSecond === null || bytesPerSecond >= 0, `${bytesPerSecond}`);
      assert.ok(secondsLeft === null || (bytesPerSecond > 0 && secondsLeft >= 0), `${secondsLeft}`);
    }
  }
  assert.equal(seen.filter((p) => p.phase === 'download').at(-1).total, size);
});

test('a model quantised while it loads is smaller and gives similar logits', async () => {
  const sizes = {};
  const reference = await load(stories, { dtype: 'f32' });
  const ids = await reference.encode('Once upon a time, there was a little girl named Lily. She loved to play.');
  const want = (await reference.forward(ids)).logits.data;
  for (const [dtype, bound] of [
    ['q8_0', 0.03],
    ['q4_0', 0.35],
  ]) {
    const model = await load(stories, { dtype });
    const got = (await model.forward(ids)).logits.data;
    const off = relativeError(got, want);
    assert.ok(off < bound, `${dtype}: ${off}`);
    assert.ok(model.parameters.rows.filter((r) => r.shape.length === 2).every((r) => r.dtype === dtype));
    sizes[dtype] = model.parameters.bytes;
    model.dispose();
  }
  assert.ok(sizes.q4_0 < sizes.q8_0 && sizes.q8_0 < reference.parameters.bytes / 3);
});

test('the small model that runs before the weights arrive leaves no trace', async () => {
  const logitsOf = (engine) => {
    engine.open(completeConfig({ vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 4 }), []);
    engine.randomize(7, 0.02);
    const session = engine.openSession(32, 'f32');
    session.eval([1, 2, 3]);
    const logits = session.logits(2, 1, 64);
    engine.close();
    return logits;
  };
  const want = logitsOf(await Engine.start(await engineModule(packageFiles), 1));
  for (const fields of [
    {},
    { position: 'learned', norm: 'layernorm', ffn: 'gelu_tanh' },
    { n_experts: 4, n_experts_used: 2 },
  ])
    for (const dtype of ['f32', 'q8_0', 'q4_0', 'q6_k']) {
      const engine = await Engine.start(await engineModule(packageFiles), 1);
      const sizes = { vocab_size: 8192, d_model: 256, n_layers: 4, n_heads: 4, n_kv_heads: 2 };
      const config = completeConfig({ ...sizes, ...fields });
      const list = engine.roster(config);
      const before = engine.memoryBytes;
      warmUp(
        engine,
        config,
        list,
        list.map(({ shape }) => (shape.length > 1 ? dtype : 'f32')),
        dtype === 'f32' ? 'f32' : 'q8_0',
      );
      assert.ok(engine.memoryBytes > before + 200_000, 'it ran');
      assert.deepEqual([engine.model, engine.sessions.size], [0, 0]);
      assert.deepEqual(logitsOf(engine), want);
    }
});
