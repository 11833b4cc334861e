// gguf_adapters.test.js - LoRA adapters on GGUF files, and adapters that are GGUF files: the same model as the one of
// the Hugging Face folder with the same adapter, whose sums adapters.test.js checks, and weights that the test adds up
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { dequantize } from '../../web/lib/engine/weights_memory.js';
import { withAdapters } from '../../web/lib/files/adapters/merge_adapters.js';
import { Engine } from '../../web/lib/engine/engine.js';
import { engineModule } from '../../web/lib/engine/binary.js';
import { packageFiles } from '../../web/lib/api/package_files.js';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { text, f32, f32s, writeGguf } from './checkpoint_files.js';
import { GlassformerError, create, load } from '../../web/lib/api/index.js';
import {
  distance,
  golden,
  numbers,
  openCase,
  readTensors,
  refused,
  sameBits,
  storedTensors,
  stories,
  top,
  untilEnd,
} from './helpers.js';
import { adapter, matrix } from './lora.js';
import { ggufOf, weightOf } from './written.js';
import { metaOf, tensorsOf } from './t5_gguf.js';

/** Modules of a folder that PEFT can adapt: all matrices of the blocks, as [in, out]. */
function modulesOf(name) {
  const isGpt2 = name.startsWith('gpt2'); // stored as [in, out], without the prefix
  const modules = Object.entries(readTensors(join(golden, name, 'model.safetensors')))
    .filter(([tensor, { shape }]) => shape.length === 2 && /\.\d+\..*\.weight$/.test(tensor))
    .filter(([tensor]) => !/relative_attention_bias|_layernorm\.norms/.test(tensor))
    .map(([tensor, { shape }]) => [
      `${isGpt2 ? 'transformer.' : ''}${tensor.replace(/\.weight$/, '')}`,
      isGpt2 ? shape : [...shape].reverse(),
    ]);
  return Object.fromEntries(modules);
}

const forward = async (model, c) => {
  const { logits } = await model.forward(c.about.input_ids, c.run);
  return logits.data;
};

/** What GGUF cannot say, changed. @type {Record<string, (config: any) => object>} */
const WRITABLE = {
  gpt_neox: () => ({ hidden_act: 'gelu_new' }),
  gemma2: (config) => ({ query_pre_attn_scalar: config.head_dim }),
};

describe('an adapter of PEFT on a GGUF: the logits of the folder with this adapter', () => {
  for (const [name, permuted] of [
    ['llama_gqa_f16', true],
    ['mixtral', true],
    ['granite', true],
    ['olmo', true],
    ['olmo2', false],
    ['phi4_mini', false],
    ['gpt2_n_inner', false],
    ['gpt_neox', false],
    ['gptj', false],
    ['bloom', false],
    ['stablelm_parallel', false],
    ['gemma2', false],
    ['t5', false],
    ['t5_v1_1', false],
  ])
    test(name, async () => {
      const c = openCase(name);
      const modules = modulesOf(name);
      assert.ok(Object.keys(modules).length >= 6, Object.keys(modules).join());
      const { weights, config } = adapter(modules);
      const adapters = [{ source: { weights, config }, scale: 0.3 }];
      const source = {
        weights: join(c.folder, 'model.safetensors'),
        config: { ...c.config, ...WRITABLE[name]?.(c.config) },
      };
      const plain = await load(source, { dtype: 'f32' });
      const bytes = name.startsWith('t5') ? writeGguf(metaOf(c.config), tensorsOf(name)) : await ggufOf(plain);
      const folder = await load(source, { dtype: 'f32', adapters });
      const gguf = await load(bytes, { dtype: 'f32', adapters });
      assert.deepEqual(gguf.warnings, []);
      const [none, want, got] = [await forward(plain, c), await forward(folder, c), await forward(gguf, c)];
      assert.ok(distance(none, want) > 0.05, `the adapter moves logits by ${distance(none, want)}`);
      // the products of q and k are summed in another order where their rows were permuted
      if (permuted)
        assert.ok(distance(got, want) < 2e-5 * Math.max(1, ...want.map(Math.abs)), `${distance(got, want)}`);
      else assert.ok(sameBits(got, want), `${distance(got, want)}`);
      for (const m of [plain, folder, gguf]) m.dispose();
    });
});

/** Tensors of llama.cpp by modules of Llama. */
const LLAMA_NAMES = { q_proj: 'attn_q', k_proj: 'attn_k', v_proj: 'attn_v', o_proj: 'attn_output' };
/**
 * What convert_lora_to_gguf.py makes of an adapter of a Llama: the rows of B of q and k are reordered as
 * LlamaModel.permute does it, reshape(heads, 2, d / 2).swapaxes(1, 2).
 */
function llamaAdapter(pairs, c, more = {}, type = 'F32') {
  const tensors = Object.entries(pairs).flatMap(([module, { a, b }]) => {
    const [, layer, part, name] = /layers\.(\d+)\.(self_attn|mlp)\.(\w+)$/.exec(module);
    const tensor = `blk.${layer}.${LLAMA_NAMES[name] ?? `ffn_${name.replace('_proj', '')}`}.weight`;
    const [rows, r] = b.shape;
    const data = b.data.slice();
    if (part === 'self_attn' && /^[qk]_/.test(name)) {
      const heads = name === 'q_proj' ? c.num_attention_heads : c.num_key_value_heads;
      const half = rows / heads / 2;
      for (let h = 0; h < heads; h++)
        for (let j = 0; j < 2; j++)
          for (let i = 0; i < half; i++)
            for (let k = 0; k < r; k++)
              data[((h * half + i) * 2 + j) * r + k] = b.data[((h * 2 + j) * half + i) * r + k];
    }
    return [
      { name: `${tensor}.lora_a`, shape: a.shape, type, data: a.data },
      { name: `${tensor}.lora_b`, shape: b.shape, type, data },
    ];
  });
  const meta = {
    'general.architecture': text('llama'),
    'general.type': text('adapter'),
    'adapter.type': text('lora'),
    'adapter.lora.alpha': f32(6),
    ...more,
  };
  return writeGguf(Object.fromEntries(Object.entries(meta).filter(([, value]) => value)), tensors);
}

describe('an adapter of llama.cpp', () => {
  const c = openCase('llama_gqa_f16');
  const lora = adapter(modulesOf('llama_gqa_f16'));
  const peft = [{ source: { weights: lora.weights, config: lora.config }, scale: 0.3 }];

  test('on a GGUF and on a folder it gives what the adapter of PEFT gives that it was made from', async () => {
    const bytes = llamaAdapter(lora.pairs, c.config);
    const base = await load(c.source, { dtype: 'f32' });
    const gguf = await ggufOf(base);
    const want = { gguf: await load(gguf, { dtype: 'f32', adapters: peft }) };
    const folder = await load(c.source, { dtype: 'f32', adapters: peft });
    for (const source of [bytes, new Blob([bytes]), { weights: bytes }, [new File([bytes], 'lora.gguf')]]) {
      const adapters = [{ source, scale: 0.3 }];
      const own = await load(gguf, { dtype: 'f32', adapters });
      assert.ok(sameBits(await forward(own, c), await forward(want.gguf, c)));
      const other = await load(c.source, { dtype: 'f32', adapters });
      assert.ok(sameBits(await forward(other, c), await forward(folder, c)));
      for (const m of [own, other]) m.dispose();
    }
    const inWorker = await load(gguf, { dtype: 'f32', worker: true, adapters: [{ source: bytes, scale: 0.3 }] });
    assert.ok(sameBits(await forward(inWorker, c), await forward(want.gguf, c)));
    for (const m of [base, want.gguf, folder, inWorker]) m.dispose();
  });

  test('without adapter.lora.alpha the product is not divided by the rank; f16 is read', async () => {
    const base = await untilEnd(load(c.source, { dtype: 'f32' }));
    const gguf = await ggufOf(base);
    const logits = async (source, scale) => {
      const model = await load(gguf, { dtype: 'f32', adapters: [{ source, scale }] });
      const data = await forward(model, c);
      model.dispose();
      return data;
    };
    const bytes = llamaAdapter(lora.pairs, c.config);
    const without = llamaAdapter(lora.pairs, c.config, { 'adapter.lora.alpha': null });
    assert.ok(distance(await logits(bytes, 0.3), await logits(without, (0.3 * 6) / 4)) < 1e-5);
    const half = llamaAdapter(lora.pairs, c.config, {}, 'F16');
    assert.ok(distance(await logits(bytes, 0.3), await logits(half, 0.3)) < 0.02);
  });

  const q = 'blk.0.attn_q.weight';
  const zeros = (name, shape) => ({
    name,
    shape,
    type: 'F32',
    data: new Float32Array(shape.reduce((x, y) => x * y, 1)),
  });
  const meta = {
    'general.architecture': text('llama'),
    'general.type': text('adapter'),
    'adapter.type': text('lora'),
    'adapter.lora.alpha': f32(6),
  };
  const pair = (name, r = 2, into = 192, out = 192) => [
    zeros(`${name}.lora_a`, [r, into]),
    zeros(`${name}.lora_b`, [out, r]),
  ];
  for (const [what, change, tensors, code, words] of [
    [
      'a model',
      { 'general.type': text('model') },
      pair(q),
      'unsupported',
      /general\.type is "model", expected "adapter"/,
    ],
    ['another method', { 'adapter.type': text('dora') }, pair(q), 'unsupported', /adapter\.type is "dora"/],
    ['invocation tokens', { 'adapter.alora.invocation_tokens': f32s([1]) }, pair(q), 'unsupported', /alora/],
    ['an unknown architecture', { 'general.architecture': text('mamba') }, pair(q), 'unsupported', /"mamba"/],
    [
      'another architecture',
      { 'general.architecture': text('qwen2') },
      pair(q),
      'bad-argument',
      /"qwen2", the model has "llama"/,
    ],
    ['an alpha that is no number', { 'adapter.lora.alpha': text('6') }, pair(q), 'bad-config', /lora\.alpha is "6"/],
    ['an alpha that is infinite', { 'adapter.lora.alpha': f32(Infinity) }, pair(q), 'bad-config', /lora\.alpha/],
    ['no tensors', {}, [], ['missing-tensor', 'bad-header'], /no tensors/],
    ['another name', {}, [zeros(`${q}.weight_a`, [2, 192])], 'unsupported', /expected names such as blk\.0\.attn_q/],
    ['A without B', {}, pair(q).slice(0, 1), 'missing-tensor', /blk\.0\.attn_q\.weight has no lora_B/],
    ['ranks that differ', {}, [pair(q)[0], pair(q, 3)[1]], 'bad-shape', /ranks differ/],
    [
      'a wrong width',
      {},
      pair(q, 2, 191),
      'bad-shape',
      /attn_q.*\[192, 2\].*\[2, 191\], expected \[192, r\] and \[r, 192\]/,
    ],
    ['experts in one tensor', {}, [zeros(`${q}.lora_a`, [2, 2, 192])], 'bad-shape', /\[2, 2, 192\], expected a matrix/],
    ['the embedding', {}, pair('token_embd.weight', 2), 'unsupported', /adapters of the embedding/],
    ['a tensor that the model lacks', {}, pair('blk.99.attn_q.weight'), 'unknown-tensor', /no tensor blk\.99\.attn_q/],
  ])
    test(`refused: ${what}`, () =>
      refused(load(stories, { adapters: [{ source: writeGguf({ ...meta, ...change }, tensors) }] }), code, words));

  test('refused on a folder: an architecture with another norm', async () => {
    const source = writeGguf({ ...meta, 'general.architecture': text('gpt2') }, pair(q));
    await refused(load(c.source, { adapters: [{ source }] }), 'bad-argument', /norm "layernorm".* has "rmsnorm"/);
  });

  test('any file in which bytes were changed or cut off is read or refused', async () => {
    const bytes = writeGguf(meta, pair(q));
    for (const [i, at] of numbers(90, bytes.length, 9).entries()) {
      const changed = bytes.slice(0, i % 3 ? bytes.length : at);
      if (i % 3) changed[i % 2 ? at % 400 : at] ^= 1 << (i % 8);
      await load(stories, { adapters: [{ source: changed }] }).then(
        (model) => model.dispose(),
        (error) => assert.ok(error instanceof GlassformerError && error.code !== 'internal', error.stack),
      );
    }
  });
});

test('refused: names of PEFT for a GGUF whose family is not read from Hugging Face', async () => {
  const config = { vocab_size: 64, d_model: 32, n_layers: 1, n_heads: 4, d_ff: 64, context_length: 64 };
  const commandR = {
    norm: 'layernorm',
    bias_norm: false,
    rope_pairs: 'adjacent',
    parallel_residual: true,
    shared_norm: true,
  };
  const model = await untilEnd(
    create(
      { ...config, ...commandR, logit_scale: 0.0625 },
      {
        seed: 1,
        dtype: 'f32',
      },
    ),
  );
  const { weights, config: of } = adapter({ 'model.layers.0.self_attn.q_proj': [32, 32] });
  const loading = load(await ggufOf(model), { adapters: [{ source: { weights, config: of } }] });
  await refused(loading, 'unsupported', /names of PEFT are not known .* "command-r"/);
});

describe('a quantised GGUF', () => {
  // q5_0, q8_0, q4_k and q6_k in one file; iq4_nl and q5_1, which have other types in memory, in the other
  for (const name of ['gguf_llama_q4_k_m_fallback', 'gguf_llama_q3_k_m_fallback', 'gguf_llama_q4_0'])
    test(`${name}: each weight is its value in the file plus the product, rounded once`, async () => {
      const { source } = openCase(name);
      const base = await load(source, { dtype: 'f32' });
      const names = base.parameters.rows.filter((r) => /^blocks\..*\.(q|v|o|gate|up|down)\.weight$/.test(r.name));
      const { config } = base;
      const peftName = (weight) =>
        weight
          .replace(/^blocks/, 'model.layers')
          .replace(/attn\.(\w)\.weight/, 'self_attn.$1_proj')
          .replace(/ffn\.(\w+)\.weight/, 'mlp.$1_proj');
      const lora = adapter(Object.fromEntries(names.map((r) => [peftName(r.name), [r.shape[1], r.shape[0]]])), {
        r: 3,
      });
      const adapters = [{ source: { weights: lora.weights, config: lora.config }, scale: 0.25 }];
      const exact = await load(source, { dtype: 'f32', adapters });
      const kept = await load(source, { adapters });
      const plain = await load(source);
      let quantised = 0;
      for (const { name: weight, shape } of names) {
        const { a, b } = lora.pairs[peftName(weight)];
        const [sum, got] = [await weightOf(base, weight), await weightOf(exact, weight)];
        const half = config.dHead / 2;
        for (let o = 0; o < shape[0]; o++)
          for (let i = 0; i < shape[1]; i++) {
            // the row of B whose component llama.cpp's converter puts into row o: neighbours come from two halves
            const inHead = o % config.dHead;
            const row = weight.includes('.q.') ? o - inHead + (inHead % 2) * half + Math.floor(inHead / 2) : o;
            let product = 0;
            for (let k = 0; k < 3; k++) product += ((0.25 * 6) / 3) * b.data[row * 3 + k] * a.data[k * shape[1] + i];
            sum[o * shape[1] + i] += product;
          }
        assert.ok(distance(sum, got) <= 2 ** -23, `${weight}: ${distance(sum, got)}`);
        const dtypeOf = (m) => m.parameters.rows.find((r) => r.name === weight).dtype;
        assert.equal(dtypeOf(kept), dtypeOf(plain), weight);
        const rounded = await weightOf(kept, weight);
        const span = got.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
        assert.ok(distance(rounded, got) < span / 4, `${weight}: ${distance(rounded, got)} of ${span}`);
        quantised += Number(!['f32', 'f16'].includes(dtypeOf(kept)));
      }
      assert.ok(quantised > 4);
      assert.match(kept.warnings.join(), /adapters: \d+ tensors, whose sums are rounded to the types of the file \(q/);
      assert.ok(!exact.warnings.join().includes('adapters'));
      for (const m of [base, exact, kept, plain]) m.dispose();
    });

  test('sums are handed on in pieces, whatever the size of the tensor', async () => {
    const checkpoint = await openCheckpoint(stories),
      engine = await Engine.start(await engineModule(packageFiles));
    const [a, b] = [matrix(2, 192, 1), matrix(2048, 2, 2)];
    const stored = ({ shape, data }) => ({ shape, dtype: 'f32', bytes: new Uint8Array(data.buffer) });
    const delta = {
      name: 'token_embd.weight',
      where: 'x',
      a: stored(a),
      b: stored(b),
      factor: 1,
      architecture: 'llama',
    };
    const pieces = [];
    let adapted = false;
    await withAdapters(checkpoint, [delta], false, engine).stream({
      begin: (t) => void (adapted = t.name === 'token_embd.weight'),
      write: (view) => void (adapted && pieces.push(view.length)),
      end: () => {},
    });
    assert.equal(
      pieces.reduce((n, bytes) => n + bytes, 0),
      4 * 2048 * 192,
    );
    assert.ok(Math.max(...pieces) <= 2 ** 20 && pieces.length > 1, `${pieces}`);
  });

  test('the values of every type are those of llama.cpp', async () => {
    const engine = await Engine.start(await engineModule(packageFiles));
    const blocks = storedTensors(join(top, 'tests/golden/formats/blocks.safetensors'));
    const types = 'q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl mxfp4 q4_k q5_k q6_k q3_k q2_k iq4_xs'.split(' ');
    for (const type of types) {
      const bytes = blocks[`${type.toUpperCase()}.bytes`].data;
      const want = new Float32Array(blocks[`${type.toUpperCase()}.values`].data.buffer);
      const got = new Float32Array(want.length + 1);
      dequantize(engine, bytes, type, got, 1);
      assert.equal(distance(got.subarray(1), want), 0, type);
    }
  });
});
