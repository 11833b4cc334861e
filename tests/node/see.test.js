// see.test.js - captures and edits: names, shapes, values and effects
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { create, load } from '../../web/lib/index.js';
import {
  collect,
  distance,
  json,
  numbers,
  openCase,
  readTensors,
  safetensors,
  sameBits,
  stories,
  top,
} from './helpers.js';

const one = openCase('llama_1tok');
const gqa = openCase('llama_gqa_f16');
const row = (t, i) => t.data.subarray(i * t.shape[1], (i + 1) * t.shape[1]);

describe('names', () => {
  test('a modern decoder, GPT-2 and an encoder-decoder have the points of their architecture', async () => {
    const a = await load(one.source);
    const names = await a.points();
    for (const n of [
      'hook_embed',
      'blocks.0.hook_resid_pre',
      'blocks.0.attn.hook_rot_q',
      'blocks.0.mlp.hook_pre_linear',
      'ln_final.hook_normalized',
    ])
      assert.ok(names.includes(n), n);
    assert.ok(!names.some((n) => /cross|hook_pos_embed|blocks\.1/.test(n)));
    const b = await load(openCase('gpt2_n_inner').source);
    const gpt2 = await b.points();
    assert.ok(gpt2.includes('hook_pos_embed') && !gpt2.some((n) => /rot_q|pre_linear/.test(n)));
    const c = await load(openCase('t2_encdec_padmask').source);
    const both = await c.points();
    for (const n of [
      'encoder.0.attn.hook_pattern',
      'decoder.0.attn.hook_pattern',
      'decoder.1.cross_attn.hook_pattern',
      'encoder.hook_embed',
      'decoder.hook_embed',
    ])
      assert.ok(both.includes(n), n);
    assert.ok(!both.some((n) => /^blocks|^encoder.*cross|ln_final/.test(n)));
  });

  // tests/golden/formats/transformer_lens.json: which names there are, from TransformerLens's own sources
  const { components } = json(join(top, 'tests/golden/formats/transformer_lens.json'));
  /**
   * All names below a component.
   * @param {string} kind
   * @param {{rotary: boolean, gated: boolean, decoder?: boolean}} has
   * @returns {string[]}
   */
  const namesOf = (kind, has) => {
    const c = components[kind];
    const parts = { ...c.parts, ...(has.decoder && c.decoder_parts) };
    return [
      ...c.hooks,
      ...(has.rotary ? (c.rotary ?? []) : []),
      ...(has.gated ? (c.gated ?? []) : []),
      ...(has.decoder ? (c.decoder ?? []) : []),
      ...Object.entries(parts).flatMap(([at, part]) => namesOf(part, has).map((n) => `${at}.${n}`)),
    ];
  };
  const stages = /hook_attn_scores_(raw|scaled)$/; // points that only this engine has

  test("points of a decoder have TransformerLens's names", async () => {
    for (const [c, has] of /** @type {[any, any][]} */ ([
      [one, { rotary: true, gated: true }],
      [openCase('gpt2_n_inner'), { rotary: false, gated: false }],
    ])) {
      const lens = new Set(namesOf('model', has)),
        model = await load(c.source);
      const points = (await model.points()).filter((n) => !stages.test(n));
      for (const n of points) assert.ok(lens.has(n.replace(/^blocks\.\d+/, 'blocks.{layer}')), n);
      // all except the copies of the stream that TransformerLens makes on demand (hook_attn_in and similar)
      const missing = [...lens].filter(
        (n) => !points.includes(n.replace('{layer}', '0')) && !/hook_((attn|mlp)_in|[qkv]_input)$/.test(n),
      );
      assert.deepEqual(missing, has.rotary ? ['hook_pos_embed'] : []);
    }
  });

  // In TransformerLens the embedding is shared and the norms of a decoder block are ln1, ln2, ln3; here each stack has
  // its own embedding, and the norm of cross-attention is ln_cross.
  test("points in the blocks of an encoder-decoder have TransformerLens's names", async () => {
    const model = await load(openCase('t2_encdec_padmask').source);
    for (const n of await model.points()) {
      const [, stack, , name] = /^(encoder|decoder)\.(\d+)\.(.+)$/.exec(n) ?? [];
      if (!name || stages.test(n) || name.startsWith('ln_cross.')) continue;
      assert.ok(
        namesOf('two_stacks_block', { rotary: false, gated: false, decoder: stack === 'decoder' }).includes(name),
        n,
      );
    }
  });

  test('a star matches any text including dots, and each point is captured once', async () => {
    const model = await load(gqa.source);
    const keys = async (capture) => Object.keys((await model.forward([1, 2], { capture })).captured);
    assert.deepEqual(await keys(['*.attn.hook_pattern']), ['blocks.0.attn.hook_pattern', 'blocks.1.attn.hook_pattern']);
    assert.deepEqual(await keys(['blocks.1.*_q', 'blocks.1.attn.hook_q']), [
      'blocks.1.attn.hook_q',
      'blocks.1.attn.hook_rot_q',
    ]);
    assert.deepEqual(await keys(['*']), await model.points());
    assert.deepEqual(await keys([]), []);
  });

  // A pattern was made into a regular expression: ten stars in a row took half a minute, and each further one several
  // times as long.
  test('a pattern with many stars matches as its regular expression would, without backtracking', async (t) => {
    const model = await load(one.source),
      names = await model.points();
    const matched = async (capture) =>
      Object.keys(
        (
          await model.forward([1], { capture: [capture] }).catch((error) => {
            assert.equal(error.code, 'unknown-point');
            return { captured: {} };
          })
        ).captured,
      );
    const parts = fc.array(fc.constantFrom('*', '*', 'blocks.', '0', '.attn.', 'hook_', 'attn', 'q', 'o', 't', '?'), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(parts, async (list) => {
        const expression = new RegExp(`^${list.join('').replace(/[.?]/g, '\\$&').replaceAll('*', '.*')}$`);
        assert.deepEqual(
          await matched(list.join('')),
          names.filter((n) => expression.test(n)),
          list.join(''),
        );
      }),
      { numRuns: 300 },
    );
    const { exec } = RegExp.prototype;
    t.mock.method(RegExp.prototype, 'exec', function (/** @type {string} */ text) {
      assert.ok(this.source.split('.*').length <= 3, `the pattern became the regular expression ${this.source}`);
      return exec.call(this, text);
    });
    const searches = t.mock.method(String.prototype, 'indexOf').mock;
    assert.deepEqual(
      [await matched(`${'*'.repeat(40)}zz`), await matched('*'.repeat(999)), await matched(`${'*o'.repeat(20)}*zz`)],
      [[], names, []],
    );
    assert.ok(searches.callCount() < names.length * 1200, `${searches.callCount()} searches in ${names.length} names`);
  });
});

describe('values', () => {
  test('have the right shapes, and sums that fit together', async () => {
    const model = await load(gqa.source, { dtype: 'f32' });
    const { dModel, nHeads, nKvHeads, dHead, dFf } = model.config;
    const ids = numbers(90, model.config.vocabSize),
      T = ids.length; // more than one chunk
    const { captured: c } = await model.forward(ids, { capture: ['*'] });
    const shapes = {
      hook_embed: [T, dModel],
      'blocks.1.attn.hook_q': [T, nHeads, dHead],
      'blocks.1.attn.hook_k': [T, nKvHeads, dHead],
      'blocks.1.attn.hook_pattern': [nHeads, T, T],
      'blocks.0.mlp.hook_pre': [T, dFf],
      'blocks.0.ln1.hook_scale': [T, 1],
      'blocks.0.attn.hook_result': [T, nHeads, dModel],
    };
    for (const [name, shape] of Object.entries(shapes)) {
      assert.deepEqual(c[name].shape, shape, name);
      assert.equal(
        c[name].data.length,
        shape.reduce((a, b) => a * b),
        name,
      );
    }
    const pattern = c['blocks.1.attn.hook_pattern'].data,
      scores = c['blocks.1.attn.hook_attn_scores'].data;
    for (let h = 0; h < nHeads; h++) {
      for (let q = 0; q < T; q++) {
        const at = (h * T + q) * T;
        let sum = 0,
          norm = 0;
        for (let k = 0; k <= q; k++) {
          sum += pattern[at + k];
          norm += Math.exp(scores[at + k]);
        }
        assert.ok(Math.abs(sum - 1) < 1e-5);
        assert.ok(Math.abs(Math.exp(scores[at + q]) / norm - pattern[at + q]) < 1e-5);
        for (let k = q + 1; k < T; k++) assert.ok(pattern[at + k] === 0 && scores[at + k] === -Infinity);
      }
    }
    // the residual stream at any depth is the sum of the embedding and every sublayer's contribution
    const stream = Float64Array.from(c.hook_embed.data);
    for (const l of [0, 1]) {
      for (const part of ['hook_attn_out', 'hook_mlp_out'])
        c[`blocks.${l}.${part}`].data.forEach((v, i) => {
          stream[i] += v;
        });
      assert.ok(distance(Float32Array.from(stream), c[`blocks.${l}.hook_resid_post`].data) < 1e-5);
      // and the output of attention is the sum of its heads' results
      const heads = new Float64Array(T * dModel),
        result = c[`blocks.${l}.attn.hook_result`].data;
      for (let i = 0; i < T; i++)
        for (let h = 0; h < nHeads; h++)
          for (let j = 0; j < dModel; j++) heads[i * dModel + j] += result[(i * nHeads + h) * dModel + j];
      assert.ok(distance(Float32Array.from(heads), c[`blocks.${l}.hook_attn_out`].data) < 1e-5);
    }
    // RMS squared = variance + mean squared, on live activations; the scale is that root
    const scale = c['blocks.1.ln1.hook_scale'].data,
      x = c['blocks.1.hook_resid_pre'].data;
    for (let i = 0; i < T; i++) {
      const v = x.subarray(i * dModel, (i + 1) * dModel),
        mean = v.reduce((a, b) => a + b) / dModel;
      const variance = v.reduce((a, b) => a + (b - mean) ** 2, 0) / dModel;
      assert.ok(Math.abs(scale[i] - Math.sqrt(variance + mean ** 2 + model.config.normEps)) < 1e-5 * scale[i]);
    }
    model.dispose();
  });

  test('of a generation have each position once, of a session each eval', async () => {
    const model = await load(stories);
    const { steps } = await collect(
      model.generate([5, 6, 7], { maxTokens: 4, temperature: 0, capture: ['blocks.2.hook_resid_post'] }),
    );
    assert.deepEqual(
      steps.map((s) => s.captured['blocks.2.hook_resid_post'].shape[0]),
      [3, 1, 1, 1],
    );
    const session = await model.session({ capture: ['blocks.2.hook_resid_post'] });
    await session.eval([5, 6, 7]);
    assert.ok(
      sameBits(session.captured['blocks.2.hook_resid_post'].data, steps[0].captured['blocks.2.hook_resid_post'].data),
    );
    await session.eval([steps[0].id]);
    assert.ok(
      sameBits(session.captured['blocks.2.hook_resid_post'].data, steps[1].captured['blocks.2.hook_resid_post'].data),
    );
    model.dispose();
  });
});

describe('edits', () => {
  const ids = one.about.input_ids;
  /** The same checkpoint with some numbers changed before it is loaded. */
  async function changed(change) {
    const t = readTensors(join(one.folder, 'model.safetensors'));
    change(t);
    return load({ weights: safetensors(t), config: one.config }, { dtype: 'f32' });
  }

  test('switching a head off equals setting its columns of the output projection to zero', async () => {
    const plain = await load(one.source, { dtype: 'f32' });
    const { nHeads, dHead } = plain.config;
    for (let head = 0; head < nHeads; head++) {
      const without = await changed((t) => {
        const {
          data,
          shape: [rows, cols],
        } = t['model.layers.0.self_attn.o_proj.weight'];
        for (let r = 0; r < rows; r++) data.fill(0, r * cols + head * dHead, r * cols + (head + 1) * dHead);
      });
      const want = (await without.forward(ids)).logits.data;
      for (const at of ['blocks.0.attn.hook_z', 'blocks.0.attn.hook_result']) {
        const got = (await plain.forward(ids, { edits: [{ at, head, scale: 0 }] })).logits.data;
        assert.ok(distance(got, want) < 1e-5, `${at}, head ${head}: ${distance(got, want)}`);
      }
      assert.ok(distance(want, (await plain.forward(ids)).logits.data) > 1e-2);
    }
    // null means all heads, positions or indices
    const edit = { at: 'blocks.0.attn.hook_z', scale: 0 },
      all = (await plain.forward(ids, { edits: [edit] })).logits.data;
    for (const name of ['head', 'position', 'index'])
      assert.equal(distance((await plain.forward(ids, { edits: [{ ...edit, [name]: null }] })).logits.data, all), 0);
  });

  test('switching neurons off equals setting their columns of the down projection to zero', async () => {
    const plain = await load(one.source, { dtype: 'f32' });
    const mask = Float32Array.from({ length: plain.config.dFf }, (_, i) => (i % 3 ? 1 : 0));
    const without = await changed((t) => {
      const {
        data,
        shape: [rows, cols],
      } = t['model.layers.0.mlp.down_proj.weight'];
      for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c += 3) data[r * cols + c] = 0;
    });
    // set the activations to their former values without those neurons, position by position
    const { captured } = await plain.forward(ids, { capture: ['blocks.0.mlp.hook_post'] });
    const post = captured['blocks.0.mlp.hook_post'];
    const edits = ids.map((_, position) => ({
      at: 'blocks.0.mlp.hook_post',
      position,
      set: row(post, position).map((v, i) => v * mask[i]),
    }));
    const want = (await without.forward(ids)).logits.data;
    assert.ok(distance((await plain.forward(ids, { edits })).logits.data, want) < 1e-5);
    // and neuron by neuron, by index
    const neurons = Array.from(mask.keys())
      .filter((i) => !mask[i])
      .map((index) => ({ at: 'blocks.0.mlp.hook_post', index, scale: 0 }));
    assert.ok(distance((await plain.forward(ids, { edits: neurons })).logits.data, want) < 1e-5);
    await assert.rejects(
      plain.forward(ids, { edits: [{ at: 'blocks.0.mlp.hook_post', index: plain.config.dFf, scale: 0 }] }),
      { code: 'bad-argument', message: /index/ },
    );
  });

  test("setting the residual stream of another pass gives that pass's logits", async () => {
    const model = await load(stories, { dtype: 'f32' });
    const a = numbers(12, 2048, 1),
      b = numbers(12, 2048, 2);
    const from = await model.forward(a, { capture: ['blocks.2.hook_resid_post'] });
    const stream = from.captured['blocks.2.hook_resid_post'];
    const edits = a.map((_, position) => ({ at: 'blocks.2.hook_resid_post', position, set: row(stream, position) }));
    const patched = await model.forward(b, { edits });
    assert.ok(sameBits(patched.logits.data, from.logits.data));
    // at one position only: earlier positions keep their values
    const last = await model.forward(b, { edits: edits.slice(11) });
    const own = await model.forward(b);
    assert.ok(sameBits(last.logits.data.slice(0, 11 * 2048), own.logits.data.slice(0, 11 * 2048)));
    assert.ok(distance(row(last.logits, 11), row(own.logits, 11)) > 0.1);
    model.dispose();
  });

  test('scale, set and add change the captured values too, and apply in their order', async () => {
    const model = await load(one.source, { dtype: 'f32' });
    const at = 'blocks.0.hook_mlp_out',
      capture = [at];
    const plain = (await model.forward(ids, { capture })).captured[at].data;
    const edited = async (...edits) =>
      (await model.forward(ids, { capture, edits: edits.map((e) => ({ at, ...e })) })).captured[at].data;
    const vector = Float32Array.from({ length: model.config.dModel }, (_, i) => i / 7);
    assert.ok(
      sameBits(
        await edited({ scale: 2 }),
        plain.map((v) => v * 2),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ add: vector }),
        plain.map((v, i) => Math.fround(v + vector[i % vector.length])),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ set: [3] }),
        plain.map(() => 3),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ set: 0 }),
        plain.map(() => 0),
      ),
    );
    assert.ok(
      sameBits(
        await edited({ set: [3] }, { scale: 2 }, { add: 1 }),
        plain.map(() => 7),
      ),
    );
    const third = await edited({ position: 2, set: [5] });
    assert.ok(third.every((v, i) => v === (Math.floor(i / vector.length) === 2 ? 5 : plain[i])));
  });

  test("a pattern that is set to one key gives that key's value", async () => {
    const model = await load(one.source, { dtype: 'f32' });
    const names = ['blocks.0.attn.hook_pattern', 'blocks.0.attn.hook_z', 'blocks.0.attn.hook_v'];
    const { captured: c } = await model.forward(ids, {
      capture: names,
      edits: [{ at: names[0], head: 1, position: 5, set: [0, 0, 1, 0, 0, 0] }],
    });
    const { dHead } = model.config,
      z = c[names[1]].data,
      v = c[names[2]].data;
    const from = (5 * 2 + 1) * dHead,
      want = (2 * 2 + 1) * dHead;
    assert.ok(distance(z.slice(from, from + dHead), v.slice(want, want + dHead)) < 1e-6);
  });

  test('edits also apply to generation and sessions', async () => {
    const model = await load(stories);
    const plain = await collect(model.generate('Once', { maxTokens: 12, temperature: 0 }));
    const edits = [{ at: 'blocks.*.hook_mlp_out', scale: 0 }];
    const cut = await collect(model.generate('Once', { maxTokens: 12, temperature: 0, edits }));
    assert.notDeepEqual(cut.ids, plain.ids);
    const prompt = await model.encode('Once');
    const session = await model.session({ edits });
    const { logits } = await model.forward(prompt, { edits });
    assert.ok(sameBits(await session.eval(prompt), row(logits, prompt.length - 1)));
    const fork = await session.fork();
    assert.ok(sameBits(await fork.eval([7]), await session.eval([7])), 'a fork is edited as its parent is');
    const beams = await collect(model.generate('Once', { maxTokens: 8, beams: 3, edits, ignoreEos: true }));
    const whole = await model.forward([...prompt, ...beams.ids], { edits });
    for (const s of beams.steps) {
      const l = row(whole.logits, s.position - 1),
        most = l.reduce((a, b) => Math.max(a, b));
      assert.ok(
        Math.abs(s.logprob - (l[s.id] - most - Math.log(l.reduce((a, x) => a + Math.exp(x - most), 0)))) < 1e-5,
        'so are all beams',
      );
    }
    model.dispose();
  });
});

describe('other kinds of models and inputs', () => {
  test('an encoder gives bidirectional hidden states, and embed gives their mean', async () => {
    const model = await create(
      {
        kind: 'encoder',
        vocab_size: 50,
        d_model: 32,
        n_layers: 2,
        n_heads: 4,
        norm: 'layernorm',
        ffn: 'gelu_erf',
        position: 'learned',
        context_length: 20,
      },
      { seed: 2 },
    );
    const { hidden, captured } = await model.forward([1, 2, 3, 4], { capture: ['*.hook_pattern'] });
    assert.deepEqual(hidden.shape, [4, 32]);
    assert.ok(
      captured['blocks.0.attn.hook_pattern'].data.every((v) => v > 0),
      'every position sees every other',
    );
    const mean = await model.embed([1, 2, 3, 4]);
    const want = Float32Array.from(
      { length: 32 },
      (_, j) => [0, 1, 2, 3].reduce((s, i) => s + hidden.data[i * 32 + j], 0) / 4,
    );
    assert.ok(distance(mean.data, want) < 1e-6);
    const padded = await model.embed([1, 2, 3, 4, 0, 0], { mask: [1, 1, 1, 1, 0, 0] });
    assert.ok(distance(padded.data, mean.data) < 1e-5, 'hidden positions change nothing');
  });

  test('a batch gives each sequence the values it has alone, with shorter ones padded with zeros', async () => {
    const model = await load(one.source, { dtype: 'f32' });
    const v = model.config.vocabSize;
    const batch = await model.forward(
      [
        [1, 2, 3],
        [4, 5],
      ],
      { capture: ['blocks.0.attn.hook_pattern'] },
    );
    assert.deepEqual(batch.logits.shape, [2, 3, v]);
    assert.ok(sameBits(batch.logits.data.slice(0, 3 * v), (await model.forward([1, 2, 3])).logits.data));
    assert.ok(sameBits(batch.logits.data.slice(3 * v, 5 * v), (await model.forward([4, 5])).logits.data));
    assert.ok(batch.logits.data.slice(5 * v).every((x) => x === 0));
    const { shape, data: patterns } = batch.captured['blocks.0.attn.hook_pattern'];
    assert.deepEqual(shape, [2, 2, 3, 3]);
    const { data: alone } = (await model.forward([4, 5], { capture: ['blocks.0.attn.hook_pattern'] })).captured[
      'blocks.0.attn.hook_pattern'
    ]; // [2, 2, 2]
    const at = (h, q, k) => (q < 2 && k < 2 ? alone[(h * 2 + q) * 2 + k] : 0);
    for (let h = 0; h < 2; h++)
      for (let q = 0; q < 3; q++)
        for (let k = 0; k < 3; k++) assert.equal(patterns[18 + (h * 3 + q) * 3 + k], at(h, q, k), `${[h, q, k]}`);
    const masked = await model.forward(
      [
        [1, 2, 3],
        [4, 5, 0],
      ],
      {
        mask: [
          [1, 1, 1],
          [1, 1, 0],
        ],
      },
    );
    assert.ok(sameBits(masked.logits.data, batch.logits.data));
    await assert.rejects(model.forward([[1, 2, 3]], { mask: [[0, 1, 1]] }), { code: 'bad-option' });
  });

  test("the batch of tutorial 2's notebook has logits of shape [8, 20, 1000]", async () => {
    const model = await create('tutorial-2', { seed: 1 });
    const ids = (seed) => Array.from({ length: 8 }, (_, i) => numbers(20, 1000, seed + i));
    const { logits } = await model.forward(ids(1), { source: ids(50) });
    assert.deepEqual(logits.shape, [8, 20, 1000]);
    const alone = await model.forward(ids(1)[7], { source: ids(50)[7] });
    assert.ok(sameBits(logits.data.slice(7 * 20 * 1000), alone.logits.data));
  });

  test('random weights have the loss of uniform guessing, ln(V), within 2 %', async () => {
    const model = await create('tutorial-5', { seed: 1 });
    const ids = numbers(33, 1000, 3);
    const { logits } = await model.forward(ids.slice(0, 32));
    let loss = 0;
    for (let i = 0; i < 32; i++) {
      const l = row(logits, i),
        max = Math.max(...l);
      loss += max + Math.log(l.reduce((s, x) => s + Math.exp(x - max), 0)) - l[ids[i + 1]];
    }
    assert.ok(Math.abs(loss / 32 / Math.log(1000) - 1) < 0.02, `${loss / 32}`);
  });

  test('a session whose eval is aborted between two chunks is unchanged', async () => {
    const model = await create(
        { vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 512 },
        { seed: 2 },
      ),
      session = await model.session(),
      ids = numbers(200, 40),
      reason = new Error('enough');
    await session.eval(ids.slice(0, 10));
    let asked = 0;
    const signal = /** @type {any} */ ({
      aborted: false,
      reason,
      addEventListener() {},
      removeEventListener() {},
      throwIfAborted() {
        if (++asked > 3) {
          this.aborted = true;
          throw reason;
        }
      },
    });
    await assert.rejects(session.eval(ids, { signal }), reason);
    assert.ok(asked > 3);
    assert.equal(model.memory.regions.find((r) => r.name === 'kv cache').bytes >= session.bytes, true);
    const { length } = session,
      logits = await session.eval(ids.slice(10, 20));
    assert.equal(length, 10);
    assert.equal(session.length, 20);
    assert.ok(sameBits(logits, row((await model.forward(ids.slice(0, 20))).logits, 19)));
    model.dispose();
  });

  test('the texts on both sides of a star may not overlap', async () => {
    const model = await create({ vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 16 }),
      learned = await create({
        vocab_size: 40,
        d_model: 32,
        n_layers: 1,
        n_heads: 2,
        context_length: 16,
        position: 'learned',
      });
    await assert.rejects(model.forward([1], { capture: ['hook_*_embed'] }), { code: 'unknown-point' });
    assert.deepEqual(Object.keys((await learned.forward([1], { capture: ['hook_*_embed'] })).captured), [
      'hook_pos_embed',
    ]);
    assert.deepEqual(Object.keys((await learned.forward([1], { capture: ['hook_*embed'] })).captured), [
      'hook_embed',
      'hook_pos_embed',
    ]);
    model.dispose();
    learned.dispose();
  });

  test("the capture budget includes the encoder's points over the source", async () => {
    const model = await create({
        kind: 'encoder_decoder',
        vocab_size: 40,
        d_model: 32,
        n_layers: 1,
        n_heads: 2,
        context_length: 32,
        position: 'sinusoidal',
      }),
      source = numbers(20, 40);
    for (const [name, bytes] of [
      ['encoder.0.attn.hook_pattern', 4 * 2 * 20 * 20],
      ['encoder.0.hook_mlp_out', 4 * 20 * 32],
      ['decoder.0.cross_attn.hook_pattern', 4 * 2 * 3 * 20],
      ['decoder.0.cross_attn.hook_k', 4 * 20 * 32],
    ]) {
      const { captured } = await model.forward([1, 2, 3], { source, capture: [name], captureBudget: bytes });
      assert.equal(captured[name].data.byteLength, bytes, name);
      await assert.rejects(
        model.forward([1, 2, 3], { source, capture: [name], captureBudget: bytes - 1 }),
        { code: 'capture-too-large' },
        name,
      );
    }
    model.dispose();
  });

  test('a decoder that is not causal computes all positions again for each token', async () => {
    const config = { vocab_size: 40, d_model: 32, n_layers: 2, n_heads: 4, context_length: 32, causal: false };
    const model = await create(config, { seed: 2 });
    const prompt = [1, 2, 3];
    const { ids } = await collect(model.generate(prompt, { maxTokens: 6, temperature: 0 }));
    const text = [...prompt];
    for (const id of ids) {
      const { logits } = await model.forward(text);
      const last = row(logits, text.length - 1);
      assert.equal(last.indexOf(last.reduce((a, b) => Math.max(a, b))), id);
      text.push(id);
    }
    const session = await model.session();
    await session.eval([1, 2]);
    await session.eval([3]);
    await session.rewind(2);
    const again = await session.eval([5, 6]);
    assert.equal(session.length, 4);
    assert.ok(sameBits(again, row((await model.forward([1, 2, 5, 6])).logits, 3)));
    await assert.rejects(session.eval([7, 99]), { code: 'bad-token' });
    assert.ok(sameBits(await session.eval([7]), row((await model.forward([1, 2, 5, 6, 7])).logits, 4)));
    const fork = await session.fork(); // each computes its own tokens again
    await fork.rewind(1);
    assert.ok(sameBits(await session.eval([3]), row((await model.forward([1, 2, 5, 6, 7, 3])).logits, 5)));
    assert.ok(sameBits(await fork.eval([4]), row((await model.forward([1, 4])).logits, 1)));
    // aborted after its pass: the session is unchanged, at the first eval and at later ones
    const other = await model.session(),
      gone = { signal: AbortSignal.abort() };
    for (const [ids, want] of [
      [
        [8, 9],
        [8, 9],
      ],
      [[7], [8, 9, 7]],
    ]) {
      await assert.rejects(other.eval([1, 2, 3], gone), { name: 'AbortError' });
      assert.equal(other.length, want.length - ids.length);
      await assert.rejects(other.rewind(other.length + 1), { code: 'bad-option' });
      assert.ok(sameBits(await other.eval(ids), row((await model.forward(want)).logits, want.length - 1)));
    }
  });

  test('an eval that exceeds the capture budget is refused and leaves the session unchanged', async () => {
    const model = await load(stories);
    const session = await model.session({ capture: ['*.hook_pattern'], captureBudget: 6 * 6 * 4 * 20 * 20 });
    await session.eval(numbers(20, 2048));
    await assert.rejects(session.eval(numbers(19, 2048)), { code: 'capture-too-large' });
    assert.equal(session.length, 20);
    await session.eval([1]);
    assert.deepEqual(session.captured['blocks.0.attn.hook_pattern'].shape, [6, 1, 21]);
    model.dispose();
  });
});

test("the weight table of the shipped file has the file's types and bytes", async () => {
  const model = await load(stories);
  assert.ok(readFileSync(stories).length > model.parameters.bytes * 0.9);
  assert.equal(model.parameters.total, 3049920);
  const head = model.parameters.rows.find((r) => r.component === 'head');
  assert.deepEqual([head.count, head.tiedTo], [0, 'embed.weight']);
  model.dispose();
});
