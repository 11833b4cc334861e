// lens.test.js - logit lens, attribution and trace
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, estimate, load } from '../../web/lib/api/index.js';
import { gpt2Recipe, logprobOf, numbers, openCase, readTensors, row, stories, untilEnd } from './helpers.js';

describe('logit lens', () => {
  test("equals the model's own prediction at the last layer", async () => {
    const model = await untilEnd(load(stories));
    const ids = await model.encode('Once upon a time, there was');
    const lens = await model.logitLens(ids, { top: 3 });
    assert.deepEqual([lens.length, lens[0].length, lens[0][0].length], [6, ids.length, 3]);
    const { logits } = await model.forward(ids);
    lens[5].forEach((cell, i) => {
      const own = row(logits, i),
        best = own.indexOf(Math.max(...own));
      assert.equal(cell[0].id, best);
      assert.ok(Math.abs(cell[0].probability - Math.exp(logprobOf(own, best))) < 1e-5);
    });
  });

  for (const name of ['llama_gqa_f16', 'gpt2_n_inner']) {
    test(`equals final norm and output layer computed by hand at earlier layers: ${name}`, async () => {
      const model = await untilEnd(load(openCase(name).source, { dtype: 'f32' }));
      const { dModel: d, vocabSize: v, norm, normEps } = model.config;
      const ids = numbers(9, v),
        lens = await model.logitLens(ids, { top: v });
      const { captured } = await model.forward(ids, { capture: ['blocks.0.hook_resid_post'] });
      const gain = await model.weight('final_norm.weight'),
        bias = norm === 'layernorm' ? await model.weight('final_norm.bias') : new Float32Array(d);
      for (const i of [0, 8]) {
        const x = Float64Array.from(row(captured['blocks.0.hook_resid_post'], i));
        const mean = norm === 'layernorm' ? x.reduce((a, b) => a + b) / d : 0;
        const scale = Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / d + normEps);
        const y = x.map((a, j) => ((a - mean) / scale) * gain[j] + bias[j]);
        const logits = [];
        for (let t = 0; t < v; t++)
          logits.push((await model.weight('head.weight', t)).reduce((s, w, j) => s + w * y[j], 0));
        for (const { id, logprob } of lens[0][i]) {
          const want = logprobOf(logits, id);
          assert.ok(Math.abs(want - logprob) < 1e-4, `token ${id}: ${logprob}, expected ${want}`);
        }
      }
    });
  }
});

// lens_families.test.js: the sum of the parts, for every case
describe('attribution', () => {
  test('sums to the logit in a decoder that is not causal, where an early position attends to later ones', async () => {
    const model = await untilEnd(
        create(
          { vocab_size: 40, d_model: 32, n_layers: 2, n_heads: 4, context_length: 32, causal: false },
          { seed: 2 },
        ),
      ),
      ids = numbers(9, 40);
    const { data } = (await model.forward(ids)).logits;
    for (const position of [0, 4, 8]) {
      const a = await model.attribution(ids, { position, token: 3 });
      assert.equal(a.logit, data[position * 40 + 3]);
      assert.ok(Math.abs(a.sum - a.logit) < 1e-4);
    }
  });

  test('sums to the logit where parts are switched off', async () => {
    // In the parallel blocks of the last two, attention was lost without a residual connection.
    for (const name of ['llama_1tok', 'gpt2_n_inner', 'gpt_neox', 'gptj']) {
      for (const switches of [
        { useNorm: false },
        { useFinalNorm: false },
        { useNorm: false, useFinalNorm: false },
        { useResidual: false },
        { useResidual: false, useNorm: false, useFinalNorm: false },
      ]) {
        const c = openCase(name),
          model = await load(c.source, { dtype: 'f32', switches }),
          a = await model.attribution(c.about.input_ids);
        assert.ok(
          Math.abs(a.sum - a.logit) < 1e-4 * Math.max(1, Math.abs(a.logit)),
          `${name} ${JSON.stringify(switches)}: ${a.sum} and ${a.logit}`,
        );
        model.dispose();
      }
    }
  });

  test('the part of a head is the product of its values and its output projection', async () => {
    const c = openCase('llama_1tok');
    const model = await load(c.source, { dtype: 'f32' });
    const { dHead, dModel } = model.config,
      ids = c.about.input_ids,
      at = ids.length - 1;
    const { captured } = await model.forward(ids, { capture: ['blocks.0.attn.hook_z', 'ln_final.hook_scale'] });
    const z = captured['blocks.0.attn.hook_z'].data.subarray(at * 2 * dHead),
      scale = captured['ln_final.hook_scale'].data[at];
    const t = readTensors(join(c.folder, 'model.safetensors'));
    const { parts, token } = await model.attribution(ids);
    for (const head of [0, 1]) {
      let want = 0;
      for (let j = 0; j < dModel; j++) {
        let out = 0;
        for (let k = 0; k < dHead; k++)
          out +=
            t['model.layers.0.self_attn.o_proj.weight'].data[j * 2 * dHead + head * dHead + k] * z[head * dHead + k];
        want +=
          (out / scale) * t['model.norm.weight'].data[j] * t['model.embed_tokens.weight'].data[token * dModel + j];
      }
      const part = parts.find((p) => p.name === `blocks.0.attn.head.${head}`);
      assert.ok(Math.abs(part.value - want) < 1e-5);
    }
  });

  test('sums to the logit with every place of the norms, a cap, a residual_scale, biases, and without norms', async () => {
    const plain = { vocab_size: 40, d_model: 32, n_layers: 2, n_heads: 4, context_length: 32 };
    const factors = { residual_scale: 0.4, logit_scale: 3, logit_softcap: 1.5, embedding_scale: 20 };
    const biases = { bias_attn_out: true, bias_ffn: true, bias_norm: true };
    for (const norm_placement of ['pre', 'post', 'sandwich', 'output'])
      for (const more of [{}, factors, { norm: 'layernorm', ...biases, ...factors }, { use_norm: false, ...factors }]) {
        const model = await untilEnd(create({ ...plain, norm_placement, ...more }, { seed: 3 }));
        const { logit, sum } = await model.attribution(numbers(9, 40), { token: 5, position: -2 });
        const { data } = (await model.forward(numbers(9, 40))).logits;
        assert.equal(logit, data[7 * 40 + 5]);
        assert.ok(Math.abs(sum - logit) < 1e-4, `${norm_placement} ${JSON.stringify(more)}: ${sum} and ${logit}`);
      }
  });

  test('takes a token by its text, and refuses unknown tokens and positions', async () => {
    const model = await untilEnd(load(stories));
    const [id] = await model.encode(' dog', { addSpecialTokens: false });
    assert.equal((await model.attribution('I have a', { token: ' dog' })).token, id);
    await assert.rejects(model.attribution('I have a', { token: ' dog and cat' }), { code: 'bad-option' });
    await assert.rejects(model.attribution('I have a', { position: 99 }), { code: 'bad-option' });
    await assert.rejects(model.attribution('I have a', { position: -99 }), { code: 'bad-option' });
    await assert.rejects(model.logitLens('I have a', { top: 0 }), { code: 'bad-option' });
    await assert.rejects(model.weight('nothing'), { code: 'bad-argument' });
    await assert.rejects(model.weight('embed.weight', 2048), { code: 'bad-option' });
  });
});

describe('trace', () => {
  const configs = {
    stories: null,
    gpt2: {
      vocab_size: 96,
      d_model: 48,
      n_layers: 3,
      n_heads: 4,
      context_length: 150,
      ...gpt2Recipe,
    },
    untied: {
      vocab_size: 96,
      d_model: 48,
      n_layers: 2,
      n_heads: 4,
      n_kv_heads: 2,
      context_length: 150,
      tie_word_embeddings: false,
      qk_norm: true,
      sliding_window: 20,
    },
    encoder: { kind: 'encoder', vocab_size: 96, d_model: 48, n_layers: 2, n_heads: 4, context_length: 150 },
    'tutorial-2': 'tutorial-2',
  };
  test('a pass of several chunks reads the weights once for each', async () => {
    const model = await untilEnd(create({ vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 256 })),
      one = await model.trace(numbers(64, 40)),
      three = await model.trace(numbers(192, 40));
    for (const op of ['attn.qkv', 'attn.o', 'ffn.up', 'ffn.down', 'head']) {
      const [a, b] = [one, three].map((rows) => rows.find((r) => r.op === op));
      assert.ok(a.bytes > 0);
      assert.equal(b.bytes, 3 * a.bytes, op);
      assert.equal(b.flops, 3 * a.flops, op);
    }
  });

  test('counts no FLOPs for parts that are switched off', async () => {
    const flops = async (switches) => {
      const model = await load(stories, { switches }),
        rows = await model.trace(numbers(20, 2048));
      model.dispose();
      return (op) => rows.filter((r) => op.test(r.op)).reduce((n, r) => n + r.flops, 0);
    };
    const [whole, noNorm, noFinal, noStream] = await Promise.all(
      [{}, { useNorm: false }, { useFinalNorm: false }, { useResidual: false }].map(flops),
    );
    for (const op of [/^norm/, /^final_norm$/, /residual/]) assert.ok(whole(op) > 0);
    assert.equal(noNorm(/^norm/), 0);
    assert.equal(noNorm(/^final_norm$/), whole(/^final_norm$/));
    assert.equal(noFinal(/^final_norm$/), 0);
    assert.equal(noStream(/residual/), 0);
    assert.equal(noStream(/qkv|ffn\.(up|down)/), whole(/qkv|ffn\.(up|down)/));
  });

  for (const [name, config] of Object.entries(configs)) {
    test(`has every parameter once, and shapes that fit together: ${name}`, async () => {
      const model = config ? await create(config, { seed: 1 }) : await load(stories);
      const { kind, vocabSize, dModel } = model.config,
        T = Math.min(80, model.config.contextLength - 10);
      const source = kind === 'encoder_decoder' ? { source: numbers(11, vocabSize) } : {};
      const rows = await model.trace(numbers(T, vocabSize), source);
      assert.equal(
        rows.reduce((n, r) => n + r.parameters, 0),
        model.parameters.total,
      );
      assert.equal(new Set(rows.map((r) => r.name)).size, rows.length);
      assert.ok(rows.every((r) => r.ms >= 0 && r.bytes > 0 && Number.isInteger(r.flops)));
      assert.ok(rows.some((r) => r.ms > 0));
      const named = Object.fromEntries(rows.map((r) => [r.name, r]));
      if (kind === 'encoder_decoder') {
        assert.ok(!named['encoder.final_norm'] && !named['decoder.final_norm']); // the model of 2017 has no final norm
        assert.deepEqual(named['encoder.0.attn.qkv'].in, [11, dModel]);
        assert.deepEqual(named['decoder.1.cross_attn.kv'].in, [11, dModel]);
        assert.deepEqual(named['decoder.head'].out, [T, vocabSize]);
      } else if (kind === 'decoder') {
        assert.deepEqual(named.head.out, [T, vocabSize]);
        // FLOPs of matrices and attention by the formula of estimate, position by position
        const exact = rows
          .filter((r) => /attn\.(qkv|o|attend)$|ffn\.(up|down)$|^head$/.test(r.name))
          .reduce((n, r) => n + r.flops, 0);
        let want = 0;
        for (let t = 1; t <= T; t++)
          want += estimate(config ?? camelToSnake(model.config), { contextLength: t }).flopsPerToken;
        const biases = model.parameters.rows
          .filter((r) => r.shape.length === 1 && /(attn|ffn)\.\w+\.bias|head\.bias/.test(r.name))
          .reduce((n, r) => n + r.count, 0);
        const norms = model.config.qkNorm
          ? 2 * 4 * T * (model.config.nHeads + model.config.nKvHeads) * model.config.dHead
          : 0;
        assert.equal(exact, want + T * biases + norms);
      }
      model.dispose();
    });
  }
  const camelToSnake = (c) =>
    Object.fromEntries(Object.entries(c).map(([k, v]) => [k.replace(/[A-Z]/g, (x) => `_${x.toLowerCase()}`), v]));
});

test('captures give the norm of the residual stream by layer', async () => {
  const model = await untilEnd(load(stories));
  const { captured } = await model.forward('Once upon a time', { capture: ['*.hook_resid_post'] });
  const norms = Object.values(captured).map((t) => Math.sqrt(row(t, 4).reduce((s, x) => s + x * x, 0)));
  assert.equal(norms.length, 6);
  assert.ok(norms.every((n) => n > 0) && norms[5] > norms[0], norms.join());
});
