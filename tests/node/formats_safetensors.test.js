// formats_safetensors.test.js - the reader of safetensors: offsets, transposed tensors and malformed headers
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { golden } from './helpers.js';
import { withHeader } from './checkpoint_files.js';
import { drain, hf, hfFile, rejects } from './small_files.js';

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
      assert.deepEqual(data.get(t.name), stored, `${name}: ${t.name}`);
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

/** The safetensors file of `hf` with its header changed as an object. */
function changedHeader(change, tail = Buffer.alloc(0)) {
  const file = Buffer.from(hfFile());
  const n = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + n));
  return { weights: withHeader(change(header) ?? header, [file.subarray(8 + n), tail]), config: hf };
}

test('malformed safetensors headers are refused', async () => {
  const Q = 'model.layers.0.self_attn.q_proj.weight';
  const set = (fields) => (h) => {
    Object.assign(h[Q], fields);
  };
  const [from, to] = (() => {
    let o;
    changedHeader((h) => {
      o = h[Q].data_offsets;
    });
    return o;
  })();
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
      drain(changedHeader(change)),
      (e) => {
        assert.equal(e.code, code, `${what}: ${e.stack}`);
        if (message) assert.match(e.message, message);
        return true;
      },
      what,
    );
  }
  await drain(changedHeader((h) => `${JSON.stringify(h)} `)); // odd length, trailing space
  await drain(
    changedHeader((h) => {
      h.__metadata__ = { format: 'pt' };
    }),
  );
  await rejects(
    changedHeader(() => {}, Buffer.from('junk')),
    'bad-file',
    /4 bytes follow/,
  );
  await rejects(
    { weights: hfFile((t) => t.slice(1)), config: hf },
    'missing-tensor',
    /model\.embed_tokens\.weight is missing/,
  );
  const many = await drain(
    changedHeader((h) => {
      const end = Math.max(...Object.values(h).map((t) => t.data_offsets[1]));
      for (let i = 0; i < 20000; i++) h[`x${i}`] = { dtype: 'F32', shape: [0], data_offsets: [end, end] };
    }),
  );
  assert.equal(many.warnings.length, 20000);
});
