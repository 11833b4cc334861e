// quants.test.js - the quantised tensor types of GGUF files: values, the types that they have in memory, and malformed
// blocks
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BLOCKS } from '../../web/lib/base/dtype_names.js';
import { f32, text, u32, writeGguf } from './checkpoint_files.js';
import { load } from '../../web/lib/api/index.js';
import { adapter } from './lora.js';
import { randomTensor, refused, relativeError, storedTensors, untilEnd } from './helpers.js';

const WIDTH = 512;
const [ofEngine, ofFiles] = ['blocks', 'rare_blocks'].map((name) =>
  storedTensors(fileURLToPath(new URL(`../golden/formats/${name}.safetensors`, import.meta.url))),
);
const blocks = { ...ofEngine, ...ofFiles };
/** Types that files alone have: their numbers in GGUF, and the bytes of a block. */
const RARE = {
  ...{ iq1_s: [19, 50], iq1_m: [29, 56], iq2_xxs: [16, 66], iq2_xs: [17, 74], iq2_s: [22, 82], iq3_xxs: [18, 98] },
  ...{ iq3_s: [21, 110], tq1_0: [34, 54], tq2_0: [35, 66] },
};
/** Where their scales are, if they are not at the beginning of a block; IQ1_M has its in four parts. */
const SCALES = { tq1_0: [52], tq2_0: [64], iq1_m: [] };
const blockOf = (type) => BLOCKS[type] ?? [256, RARE[type][1], 'q8_0', false];
const types = [...Object.keys(BLOCKS).filter((name) => BLOCKS[name][0] > 1), ...Object.keys(RARE)];
const bytesOf = (type) => blocks[`${type.toUpperCase()}.bytes`].data.slice();
const valuesOf = (type) => new Float32Array(blocks[`${type.toUpperCase()}.values`].data.slice().buffer);

const meta = {
  'general.architecture': text('llama'),
  'llama.context_length': u32(16),
  'llama.embedding_length': u32(WIDTH),
  'llama.block_count': u32(1),
  'llama.feed_forward_length': u32(32),
  'llama.attention.head_count': u32(2),
  'llama.attention.key_length': u32(16),
  'llama.attention.value_length': u32(16),
  'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
  'llama.rope.dimension_count': u32(16),
};

/**
 * A GGUF file of a model with WIDTH columns, four tokens and one layer.
 * @param {Record<string, {type: string, data: Uint8Array}>} given  tensors by name; the others are f32 noise
 * @param {string} [last]  the tensor at the end
 */
const file = (given, last) =>
  writeGguf(
    meta,
    [
      ['token_embd', [4, WIDTH]],
      ['output_norm', [WIDTH]],
      ['blk.0.attn_norm', [WIDTH]],
      ['blk.0.ffn_norm', [WIDTH]],
      ['blk.0.attn_q', [32, WIDTH]],
      ['blk.0.attn_k', [32, WIDTH]],
      ['blk.0.attn_v', [32, WIDTH]],
      ['blk.0.attn_output', [WIDTH, 32]],
      ['blk.0.ffn_gate', [32, WIDTH]],
      ['blk.0.ffn_up', [32, WIDTH]],
      ['blk.0.ffn_down', [WIDTH, 32]],
    ]
      .map(([name, shape], i) => ({
        name: `${name}.weight`,
        shape,
        type: 'F32',
        data: randomTensor(shape, i + 1, 0.1),
        ...given[name],
      }))
      .sort((a, b) => Number(a.name === `${last}.weight`) - Number(b.name === `${last}.weight`)),
  );
const embedded = (type, bytes = bytesOf(type)) =>
  RARE[type] ? rare(type, bytes) : file({ token_embd: { type: type.toUpperCase(), data: bytes } });
/** The same of a type that is not written: it takes the place of the last tensor, in the header too. */
function rare(type, bytes, name = 'token_embd') {
  const whole = Buffer.from(file({}, name));
  whole.writeUInt32LE(RARE[type][0], typeAt(whole, name));
  const values = (bytes.length / RARE[type][1]) * 256;
  return new Uint8Array(Buffer.concat([whole.subarray(0, whole.length - 4 * values), bytes]));
}
/** Where a header has the type of a matrix. */
const typeAt = (bytes, name = 'token_embd') => bytes.indexOf(`${name}.weight`) + `${name}.weight`.length + 20;
/** The rows of the fixture, `times` times: [4 times, WIDTH]. */
const repeated = (type, times) => ({
  type: type.toUpperCase(),
  data: new Uint8Array(Buffer.concat(Array.from({ length: times }, () => bytesOf(type)))),
});

const rowsOf = async (model, name, n) => Promise.all(Array.from({ length: n }, (_, i) => model.weight(name, i)));
const largest = (x) => x.reduce((m, y) => Math.max(m, Math.abs(y)), 0);

describe('every quantised type', () => {
  for (const type of types) {
    const [cols, bytes, kept, exact] = blockOf(type);
    const want = valuesOf(type);

    test(`${type}: values are those of the format, also where a scale is subnormal`, async () => {
      const model = await untilEnd(load(embedded(type), { dtype: 'f32' }));
      const rows = await rowsOf(model, 'embed.weight', 4);
      rows.forEach((row, r) => {
        for (let at = 0; at < WIDTH; at += cols) {
          const expected = want.subarray(r * WIDTH + at, r * WIDTH + at + cols);
          const bound = 1e-6 * largest(expected);
          expected.forEach((x, i) => assert.ok(Math.abs(row[at + i] - x) <= bound, `${r}, ${at + i}: ${row[at + i]}`));
        }
      });
      assert.ok(largest(rows[2]) > 0, 'row 2 has subnormal scales');
      assert.deepEqual(model.warnings, []);
    });

    test(`${type}: is kept as ${kept}${exact ? ' with the same values' : ''}, and a warning says so`, async () => {
      const [whole, model] = await Promise.all([load(embedded(type), { dtype: 'f32' }), load(embedded(type))]);
      const [floats, rows] = await Promise.all([whole, model].map((m) => rowsOf(m, 'embed.weight', 4)));
      const table = model.parameters.rows.find(({ name }) => name === 'embed.weight');
      assert.equal(table.dtype, kept);
      rows.forEach((row, r) => {
        if (exact) assert.deepEqual(row, floats[r]);
        else
          for (let at = 0; at < WIDTH; at += 32) {
            // where the engine chooses the scale, it is rounded to f16: by 2^-11 of it, below 2^-14 by 2^-25
            const step = largest(floats[r].subarray(at, at + 32)) / 127;
            const half = RARE[type] ? step * (0.501 + 127 * 2 ** -11) + 127 * 2 ** -25 : step * 0.501;
            for (let i = at; i < at + 32; i++) assert.ok(Math.abs(row[i] - floats[r][i]) <= half, `${r}, ${i}`);
          }
      });
      const [warning] = model.warnings;
      if (type === kept) assert.equal(warning, undefined);
      else
        assert.match(
          warning,
          new RegExp(`1 matrix stored as ${type} is kept as ${kept}.*${(4 * WIDTH * bytes) / cols} bytes`),
        );
      // the embedding is read by row
      const { captured } = await model.forward([3, 0, 1, 2], { capture: ['hook_embed'] });
      [3, 0, 1, 2].forEach((id, i) =>
        assert.deepEqual(captured.hook_embed.data.slice(i * WIDTH, (i + 1) * WIDTH), rows[id]),
      );
      model.dispose();
      whole.dispose();
    });

    test(`${type}: a scale that is not finite, and a file that ends early, are refused`, async () => {
      // bytes of the last block's halves (of mxfp4: its exponent), by setting all bits of each position in turn
      const data = bytesOf(type);
      const last = data.length - bytes;
      const at =
        { q6_k: [208], q3_k: [108], q2_k: [80, 82], mxfp4: [0], ...SCALES }[type] ??
        (/_1$|^q[45]_k$/.test(type) ? [0, 2] : [0]);
      for (const dtype of ['keep', 'f32', 'q4_0'])
        for (const half of at) {
          const bad = data.slice();
          bad.fill(255, last + half, last + half + (type === 'mxfp4' ? 1 : 2));
          await refused(load(embedded(type, bad), { dtype }), 'not-finite', /token_embd\.weight|embed\.weight/);
          if (type === 'mxfp4') continue;
          bad.set([0, 0x7c], last + half);
          await refused(load(embedded(type, bad), { dtype }), 'not-finite', /embed\.weight: element \d+ is/);
        }
      const all = embedded(type);
      await refused(load(all.subarray(0, all.length - 1)), ['truncated', 'bad-file', 'bad-header']);
    });
  }
});

test('q, k and v of three types keep a type each, and the product is that of each by itself', async () => {
  const source = file({
    'blk.0.attn_q': repeated('q4_k', 8),
    'blk.0.attn_k': repeated('q8_0', 8),
    'blk.0.attn_v': repeated('q6_k', 8),
    'blk.0.ffn_gate': repeated('q5_0', 8),
  });
  const model = await untilEnd(load(source));
  const dtypes = Object.fromEntries(model.parameters.rows.map(({ name, dtype }) => [name, dtype]));
  assert.equal(dtypes['blocks.0.attn.q.weight'], BLOCKS.q4_k[2]);
  assert.equal(dtypes['blocks.0.attn.k.weight'], 'q8_0');
  assert.equal(dtypes['blocks.0.attn.v.weight'], BLOCKS.q6_k[2]);
  assert.equal(dtypes['blocks.0.ffn.gate.weight'], BLOCKS.q5_0[2]);
  assert.equal(dtypes['blocks.0.ffn.up.weight'], 'f32');
  assert.ok(!model.warnings.some((warning) => warning.includes('instead of')), model.warnings.join('\n'));
  const whole = await untilEnd(load(source, { dtype: 'f32' }));
  const [got, want] = await Promise.all(
    [model, whole].map((m) => m.forward([0, 1, 3], { capture: ['*.hook_q', '*.hook_k', '*.hook_v', '*.hook_pre'] })),
  );
  for (const [name, { data }] of Object.entries(want.captured)) {
    const off = relativeError(got.captured[name].data, data);
    // one rounding of the activations to int8: 0.5 % (parity.test.js), and one of weights to 8 bits
    assert.ok(off < 0.015, `${name}: ${off}`);
  }
});

test('matrices are rounded to each type that dtype names; where its blocks do not divide the columns they stay f32', async () => {
  const whole = await untilEnd(load(file({}), { dtype: 'f32' }));
  const want = await rowsOf(whole, 'embed.weight', 4);
  for (const [dtype, most] of [
    ['q8_0', 0.006],
    ['q6_k', 0.03],
    ['q5_0', 0.05],
    ['q4_k', 0.08],
    ['q4_0', 0.09],
  ]) {
    const model = await load(file({}), { dtype });
    const rows = await rowsOf(model, 'embed.weight', 4);
    const off = relativeError(
      rows.flatMap((r) => [...r]),
      want.flatMap((r) => [...r]),
    );
    assert.ok(off < most && off > most / 3, `${dtype}: ${off}`);
    const kept = Object.fromEntries(model.parameters.rows.map((row) => [row.name, row.dtype]));
    assert.equal(kept['embed.weight'], dtype);
    assert.equal(kept['blocks.0.attn.v.weight'], dtype);
    const narrow = BLOCKS[dtype][0] === 256; // o and down have 32 columns
    assert.equal(kept['blocks.0.attn.o.weight'], narrow ? 'f32' : dtype);
    assert.deepEqual(
      model.warnings,
      narrow ? [`blocks.0.attn.o.weight and 1 more weights are kept as f32 instead of ${dtype}`] : [],
    );
    model.dispose();
  }
});

test('while a matrix of any type of the engine loads, the memory holds the packed weights and no copy of the matrix', async () => {
  const rows = 8192;
  for (const type of types.filter((each) => !RARE[each])) {
    const { data } = repeated(type, rows / 4);
    const model = await load(file({ token_embd: { type: type.toUpperCase(), data, shape: [rows, WIDTH] } }));
    const { totalBytes, regions } = await model.memory; // linear memory never shrinks: its size is its largest
    const weights = regions.find(({ name }) => name === 'weights').bytes;
    const stored = data.length;
    assert.ok(weights > stored && weights < 3.5 * stored + 1e6, `${type}: ${weights} bytes of weights`);
    // memory grows by a fifth more than is needed; 1 MB: constants, stack, the buffer of 256 KB, one row
    assert.ok(totalBytes < 1.2 * (weights + 2 ** 20), `${type}: ${totalBytes} bytes for ${weights} of weights`);
    model.dispose();
  }
});

test('an adapter is added to a matrix of a type that files alone have, and progress ends at its whole', async () => {
  const { data } = repeated('iq2_xs', 8);
  const floats = Float32Array.from({ length: 32 * WIDTH }, (_, i) => valuesOf('iq2_xs')[i % (4 * WIDTH)]);
  const { weights, config } = adapter({ 'model.layers.0.self_attn.q_proj': [WIDTH, 32] });
  const adapters = [{ source: { weights, config } }];
  const rows = [];
  for (const source of [
    rare('iq2_xs', data, 'blk.0.attn_q'),
    file({ 'blk.0.attn_q': { type: 'F32', data: floats } }),
  ]) {
    const seen = [];
    const onProgress = (event) => seen.push(event);
    const model = await load(source, { dtype: 'f32', adapters, onProgress });
    rows.push(await rowsOf(model, 'blocks.0.attn.q.weight', 32));
    const { loaded, total } = seen.filter(({ phase }) => phase === 'load').at(-1);
    assert.equal(loaded, total);
    model.dispose();
  }
  assert.deepEqual(rows[0], rows[1]);
});

test('types that are not read are refused by name', async () => {
  const bytes = Buffer.from(embedded('q8_0'));
  const at = typeAt(bytes);
  for (const [number, name] of [
    [9, /stored as Q8_1.*expected one of F32, .*Q4_K.*IQ1_S/],
    [24, /stored as I8/],
    [40, /stored as tensor type 40/],
  ]) {
    bytes.writeUInt32LE(number, at);
    await refused(load(new Uint8Array(bytes)), 'unknown-dtype', name);
  }
});
