// concepts.test.js - every part that only some families have gives the same bits by every path of computation
//
// One small decoder with random weights for each row of the table. Together the rows have every part of a configuration
// that readers of model families set, and that the families of invariants.test.js lack.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { completeConfig } from '../../web/lib/config/config.js';
import { roster } from '../../web/lib/config/roster.js';
import { load } from '../../web/lib/index.js';
import { numbers, safetensors, sameBits } from './helpers.js';

const T = 40;
const small = { vocab_size: 61, d_model: 32, n_layers: 3, n_heads: 4, n_kv_heads: 2, d_ff: 48, context_length: 64 };
const layerNorm = { norm: 'layernorm', ffn: 'gelu_tanh' };
const biases = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };
const factors = (from) => Array.from({ length: 4 }, (_, i) => from + i / 2);

const CONCEPTS = {
  'a part of each head rotated, parallel residual connections': {
    ...layerNorm,
    ...biases,
    rotary_dim: 6,
    parallel_residual: true,
    ffn: 'gelu_erf',
  },
  'neighbours rotated, one norm for both sublayers, a bias of the head': {
    ...layerNorm,
    rope_pairs: 'adjacent',
    rotary_dim: 4,
    parallel_residual: true,
    shared_norm: true,
    bias_ffn: true,
    bias_head: true,
    tie_word_embeddings: false,
  },
  'norms before and after, soft caps, geglu, windows and frequencies by layer': {
    ffn: 'geglu_tanh',
    norm_placement: 'sandwich',
    score_softcap: 3,
    logit_softcap: 5,
    embedding_scale: 32 ** 0.5,
    score_scale: 0.4,
    sliding_window: 7,
    window_layers: [true, false],
    rope_local_theta: 500,
    rope_scaling: 'linear',
    rope_factor: 8,
    qk_norm: true,
  },
  'norms of outputs, q and k normalised as whole projections': {
    norm_placement: 'output',
    qk_norm: true,
    qk_norm_span: 'projection',
    ffn: 'reglu',
  },
  'norms without gains, q, k and v limited': {
    norm: 'layernorm',
    norm_gain: false,
    rope_pairs: 'adjacent',
    clip_qkv: 0.5,
    ffn: 'silu',
  },
  'factors of embedding, scores, residual stream and logits': {
    embedding_scale: 6,
    residual_scale: 0.22,
    score_scale: 0.05,
    logit_scale: 0.25,
    ffn: 'geglu_erf',
  },
  'ALiBi with a number of heads that is no power of two, a norm of the embedding': {
    ...layerNorm,
    ...biases,
    n_heads: 6,
    n_kv_heads: 6,
    d_head: 8,
    position: 'alibi',
    embed_norm: true,
  },
  'layers without rotation, a window in the others': {
    rope_layers: [true, true, false],
    sliding_window: 5,
    window_layers: [true, true, false],
  },
  'yarn, q and k normalised by head with biases': {
    rope_scaling: 'yarn',
    rope_factor: 4,
    rope_original_context: 16,
    rope_attention_factor: 1.2,
    rope_truncate: false,
    ...layerNorm,
    qk_norm: true,
    qk_norm_kind: 'layernorm',
    bias_qk_norm: true,
  },
  'longrope whose limit lies inside the sequence, a gain for each head': {
    rope_scaling: 'longrope',
    rope_original_context: 24,
    rope_short_factors: factors(1),
    rope_long_factors: factors(2),
    rope_attention_factor: 1.1,
    qk_norm: true,
    qk_norm_kind: 'layernorm',
    qk_norm_span: 'each_head',
  },
  'dynamic frequencies': { rope_scaling: 'dynamic', rope_factor: 2, rope_original_context: 24 },
  'Llama 3 frequencies, post-norm': {
    rope_scaling: 'llama3',
    rope_factor: 8,
    rope_original_context: 64,
    norm_placement: 'post',
  },
  'learned positions with an offset, a projected embedding, scores that are not scaled': {
    ...layerNorm,
    ...biases,
    ffn: 'relu',
    position: 'learned',
    position_offset: 2,
    d_embed: 20,
    scale_scores: false,
  },
};

/**
 * A checkpoint with random weights: gains near 1, everything else around 0.
 * @param {object} fields
 */
function source(fields) {
  const config = completeConfig({ ...small, ...fields });
  const tensors = {};
  for (const [i, { name, shape }] of [...roster(config)].entries()) {
    const gain = /norm\d?(_post)?(\.\d+)?\.weight$/.test(name) ? 1 : 0;
    const scale = shape.length > 1 ? 2 / Math.sqrt(shape[1]) : 0.5;
    const n = shape.reduce((a, b) => a * b, 1);
    tensors[name] = { shape, data: Float32Array.from(numbers(n, 20001, i + 1), (x) => gain + scale * (x / 1e4 - 1)) };
  }
  return { weights: safetensors(tensors), config: { model_type: 'glassformer', ...config } };
}

const row = ({ data, shape: [, v] }, i) => data.subarray(i * v, (i + 1) * v);
/** @param {{data: Float32Array, shape: number[]}} t */
function assertVaried({ data }) {
  assert.ok(data.every(Number.isFinite));
  assert.ok(new Set(data).size > data.length / 4, 'the logits differ from each other');
}

for (const [name, fields] of Object.entries(CONCEPTS)) {
  describe(name, () => {
    const ids = numbers(T, small.vocab_size, 3);

    test('token by token, and in pieces of any size, gives the same bits as one pass', async () => {
      const model = await load(source(fields), { dtype: 'f32' });
      const session = await model.session();
      // where frequencies depend on the length, the logits of a prefix are those of a pass over this prefix
      const dependent = /dynamic|longrope/.test(model.config.ropeScaling);
      const { logits } = await model.forward(ids);
      assertVaried(logits);
      for (let i = 0; i < T; i++) {
        const step = await session.eval([ids[i]]);
        const whole = dependent ? (await model.forward(ids.slice(0, i + 1))).logits : logits;
        assert.ok(sameBits(step, row(whole, i)), `logits after position ${i}`);
      }
      const pieces = await model.session();
      for (let at = 0, k = 1; at < T; at += k, k = k * 2 + 1) {
        const last = await pieces.eval(ids.slice(at, at + k));
        const end = Math.min(at + k, T);
        const whole = dependent ? (await model.forward(ids.slice(0, end))).logits : logits;
        assert.ok(sameBits(last, row(whole, end - 1)), `logits after a piece that ends at ${end}`);
      }
      model.dispose();
    });

    test('captures, and edits without effect, do not change a bit; the lens ends in the output', async () => {
      const model = await load(source(fields), { dtype: 'f32' });
      const { logits } = await model.forward(ids);
      const seen = await model.forward(ids, { capture: ['*'] });
      assert.ok(Object.keys(seen.captured).length > 30);
      assert.ok(sameBits(seen.logits.data, logits.data), 'with all captures');
      const scaled = await model.forward(ids, { edits: [{ at: '*', scale: 1 }] });
      assert.ok(sameBits(scaled.logits.data, logits.data), 'with every point times 1');
      const last = `blocks.${small.n_layers - 1}.hook_resid_post`;
      const stream = seen.captured[last];
      const edits = ids.map((_, position) => ({ at: last, position, set: row(stream, position) }));
      const set = await model.forward(ids, { edits });
      assert.ok(sameBits(set.logits.data, logits.data), 'with the last stream set to itself');
      const lens = await model.logitLens(ids, { top: 1 });
      assert.equal(lens.length, small.n_layers);
      ids.forEach((_, i) => {
        const own = row(logits, i);
        const best = own.reduce((b, x, id) => (x > own[b] ? id : b), 0);
        const sum = own.reduce((s, x) => s + Math.exp(x - own[best]), 0);
        const [{ id, logprob }] = lens.at(-1)[i];
        assert.equal(id, best);
        assert.ok(Math.abs(logprob + Math.log(sum)) < 1e-5, `log probability at position ${i}`);
      });
      model.dispose();
    });

    for (const dtype of ['f32', 'q8_0'])
      test(`the simd binary, the relaxed binary and two threads give the same bits in ${dtype}`, async () => {
        const results = [];
        for (const options of [{ backend: 'simd' }, { backend: 'relaxed' }, { worker: true, threads: 2 }]) {
          const model = await load(source(fields), { dtype, ...options }).catch((e) => {
            assert.equal(e.code, 'unsupported'); // this Node has no relaxed SIMD
            return null;
          });
          if (!model) continue;
          for (let i = 0; i < 2; i++) results.push(await model.forward(ids, { capture: ['*'] }));
          model.dispose();
        }
        assert.ok(results.length >= 4);
        for (const { logits, captured } of results.slice(1)) {
          assert.ok(sameBits(logits.data, results[0].logits.data), 'logits');
          for (const [point, { data }] of Object.entries(captured))
            assert.ok(sameBits(data, results[0].captured[point].data), point);
        }
      });
  });
}
