// claims/tutorial2/encoder_decoder_layers.js - norms, FFN, residual connections, and the three attentions
import { arriving, doubles, moved } from '../activations.js';
import { distance, fromOne, ids, mean, normal, rows, variance } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints.js';
import { ofCache, ofFile, ofFreshPass, ofPass, ofStages } from '../claim.js';
import { ENCODER, SEQ2SEQ, SOURCE, TARGET, TRANSLATION } from '../configs.js';
import { activations, flat, linear } from '../double_precision.js';
import { noted, over, same, sentence, shapeText, shown, text, upTo } from '../outcome.js';

/** @type {import('../claim.js').Runs} */
export const runs = {
  layernorm: ofPass(tutorial2, { ...TRANSLATION, capture: ['*.hook_normalized'] }, (captured) => {
    const all = Object.values(captured).flatMap(rows);
    const m = Math.max(...all.map((x) => Math.abs(mean(x)))),
      v = Math.max(...all.map((x) => Math.abs(variance(x) - 1)));
    return noted(
      sentence`means within ${upTo(1e-5, m)}, variances within ${upTo(1e-3, v)}`,
      `${all.length} tokens at the norms of all layers.`,
    );
  }),
  'add-and-norm': ofStages(
    tutorial2,
    [
      ...['encoder.0.hook_resid_mid', 'encoder.0.hook_resid_post'],
      ...['decoder.0.hook_resid_mid', 'decoder.0.hook_resid_mid_cross', 'decoder.0.hook_resid_post'],
    ],
    'All five of the first encoder and decoder layers.',
    TRANSLATION,
  ),
  relu: ofPass(tutorial2, { ...TRANSLATION, capture: ['encoder.1.mlp.*'] }, (c) => {
    const [pre, post] = ['pre', 'post'].map((name) => c[`encoder.1.mlp.hook_${name}`].data);
    const off = distance(post, pre.map(activations.relu)),
      zeros = post.filter((v) => v === 0).length;
    return noted(
      sentence`difference ${same(0, zeros ? off : NaN)}`,
      `${zeros} of ${post.length} values were cut to 0.`,
    );
  }),
  'ffn-alone': ofFile(tutorial2, async (model) => {
    const at = 'encoder.0.hook_mlp_out',
      add = Float32Array.from({ length: 16 }, normal(1));
    const run = async (edits) => (await model.forward(TARGET, { source: SOURCE, capture: [at], edits })).captured[at];
    const a = await run([]),
      b = await run([{ at: 'encoder.0.hook_resid_mid', position: 3, add }]);
    return same('3', moved(a, b), 'Positions whose output moves when position 3 is changed.');
  }),
  'residual-path': async (g) => {
    const deep = { ...ENCODER, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 40, use_norm: false };
    const change = { ids: ids(6, 40), by: 1.1 };
    const [kept, lost] = [await arriving(g, deep, change), await arriving(g, { ...deep, use_residual: false }, change)];
    return shown(
      Math.abs(kept - 1) < 0.05 && lost < 1e-20,
      'with: 1; without: under 10⁻²⁰',
      `with: ${text(kept)}; without: ${text(lost)}`,
      'How much of a change of the embeddings is there behind 40 layers, norms off.',
    );
  },
  'encoder-sees-all': ofFreshPass(
    SEQ2SEQ,
    { ids: [1], source: ids(20, 1000), capture: ['encoder.*.hook_pattern'] },
    (c) => {
      const all = Object.values(c),
        off = fromOne(all.flatMap(rows));
      return shown(
        all.length === 2 &&
          all.every((t) => shapeText(t.shape) === '(4, 20, 20)' && t.data.every((p) => p > 0)) &&
          off < 1e-5,
        '2 × (4, 20, 20), none 0, sums 1 ± 0.00001',
        `${all.length} × ${shapeText(all[0].shape)}, ${all.reduce((n, t) => n + t.data.filter((p) => p === 0).length, 0) || 'none'} 0, sums 1 ± ${text(off)}`,
      );
    },
  ),
  masked: ofFreshPass(
    SEQ2SEQ,
    { ids: ids(20, 1000), source: ids(10, 1000, 2), capture: ['decoder.*.attn.hook_pattern'] },
    (c) => {
      const all = Object.values(c).flatMap(rows),
        later = Math.max(...all.map((r, i) => Math.max(0, ...r.subarray((i % 20) + 1)))),
        earlier = all.every((r, i) => r.subarray(0, (i % 20) + 1).every((p) => p > 0));
      return sentence`${same(0, later)} above the diagonal, ${same('none', earlier ? 'none' : 'some')} 0 below`;
    },
  ),
  cross: ofPass(
    tutorial2,
    {
      ...TRANSLATION,
      capture: ['encoder.1.hook_resid_post', 'decoder.0.cross_attn.hook_v', 'decoder.*.cross_attn.hook_pattern'],
    },
    (c, w) => {
      const [weight, bias] = ['weight', 'bias'].map((n) => w[`decoder.layers.0.enc_dec_attn.v_linear.${n}`]);
      const want = linear(doubles(c['encoder.1.hook_resid_post']), weight, bias);
      const off = distance(c['decoder.0.cross_attn.hook_v'].data, flat(want)),
        pattern = c['decoder.0.cross_attn.hook_pattern'],
        sums = fromOne(rows(pattern));
      return shown(
        off < 1e-5 && shapeText(pattern.shape) === '(2, 12, 9)' && sums < 1e-5,
        'pattern (2, 12, 9), rows sum to 1; values within 0.00001',
        `pattern ${shapeText(pattern.shape)}, rows within ${text(sums)} of 1; values within ${text(off)}`,
      );
    },
  ),
  'source-mask': ofFile(tutorial2, async (model) => {
    const sourceMask = SOURCE.map((_, i) => (i < 6 ? 1 : 0));
    const capture = ['decoder.*.cross_attn.hook_pattern'];
    const { logits, captured } = await model.forward(TARGET, { source: SOURCE, sourceMask, capture });
    const short = await model.forward(TARGET, { source: SOURCE.slice(0, 6) });
    const weights = Object.values(captured).flatMap(rows),
      seen = Math.max(...weights.map((r) => Math.max(...r.subarray(6)))),
      off = distance(logits.data, short.logits.data);
    return shown(
      seen === 0 && off < 1e-5,
      'weight 0 on the hidden three; logits of the shorter source',
      `weight ${text(seen)} on the hidden three; logits off by ${text(off)}`,
    );
  }),
  'source-matters': ofPass(tutorial2, TRANSLATION, async (_, __, logits, model) => {
    const other = await model.forward(TARGET, { source: [...SOURCE].reverse() });
    const off = distance(logits.data, other.logits.data);
    return over(0.01, off);
  }),
  cached: ofCache(tutorial2, TRANSLATION),
};
