// claims/tutorial2/sublayers.js - the utility modules: LayerNorm, Add & Norm, FFN, residual connections.
import { arriving, doubles, moved } from '../activations.js';
import { distance, ids, mean, normal, plus, rows, variance } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints/encoder_decoder_2017.js';
import { claim, ofFile, ofPass } from '../claim.js';
import { ENCODER, SOURCE, TARGET, TRANSLATION } from '../configs.js';
import { atMost, same, shown, text } from '../outcome.js';
import { activations, flat, layerNorm } from '../reference/parts.js';

export const claims = [
  ofPass(
    '2-layernorm',
    'LayerNorm gives each token mean 0 and variance 1 before its gain and shift',
    tutorial2,
    { ...TRANSLATION, capture: ['*.hook_normalized'] },
    (captured) => {
      const all = Object.values(captured).flatMap(rows);
      const m = Math.max(...all.map((x) => Math.abs(mean(x)))),
        v = Math.max(...all.map((x) => Math.abs(variance(x) - 1)));
      return shown(
        all.length > 0 && m < 1e-5 && v < 1e-3,
        'means within 0.00001, variances within 0.001',
        `means within ${text(m)}, variances within ${text(v)}`,
        `${all.length} tokens at the norms of all layers.`,
      );
    },
  ),
  ofPass(
    '2-add-and-norm',
    'Add & Norm: the output is LayerNorm of input plus sublayer, on live activations',
    tutorial2,
    { ...TRANSLATION, capture: ['encoder.0.*', 'decoder.0.*'] },
    (c, w) => {
      const off = (stack, before, out, n, after) => {
        const at = (point) => c[`${stack}.0.${point}`],
          norm = `${stack}.layers.0.add_norm${n}.norm`;
        const data = Float32Array.from(plus(at(before).data, at(out).data)),
          x = doubles({ data, shape: at(before).shape });
        return distance(at(after).data, flat(layerNorm(x, 1e-5, w[`${norm}.gamma`], w[`${norm}.beta`])));
      };
      return atMost(
        1e-5,
        Math.max(
          off('encoder', 'hook_resid_pre', 'hook_attn_out', 1, 'hook_resid_mid'),
          off('encoder', 'hook_resid_mid', 'hook_mlp_out', 2, 'hook_resid_post'),
          off('decoder', 'hook_resid_pre', 'hook_attn_out', 1, 'hook_resid_mid'),
          off('decoder', 'hook_resid_mid', 'hook_cross_attn_out', 2, 'hook_resid_mid_cross'),
          off('decoder', 'hook_resid_mid_cross', 'hook_mlp_out', 3, 'hook_resid_post'),
        ),
        'All five of the first encoder and decoder layers.',
      );
    },
  ),
  ofPass(
    '2-relu',
    'Between the two linear maps of an FFN is max(0, x)',
    tutorial2,
    { ...TRANSLATION, capture: ['encoder.1.mlp.*'] },
    (c) => {
      const [pre, post] = ['pre', 'post'].map((name) => c[`encoder.1.mlp.hook_${name}`].data);
      const off = distance(post, pre.map(activations.relu)),
        zeros = post.filter((v) => v === 0).length;
      return shown(
        off === 0 && zeros > 0,
        'difference 0',
        `difference ${text(off)}`,
        `${zeros} of ${post.length} values were cut to 0.`,
      );
    },
  ),
  ofFile('2-ffn-alone', 'The FFN is applied to each position independently', tutorial2, async (model) => {
    const at = 'encoder.0.hook_mlp_out',
      add = Float32Array.from({ length: 16 }, normal(1));
    const run = async (edits) => (await model.forward(TARGET, { source: SOURCE, capture: [at], edits })).captured[at];
    const a = await run([]),
      b = await run([{ at: 'encoder.0.hook_resid_mid', position: 3, add }]);
    return same('3', moved(a, b), 'Positions whose output moves when position 3 is changed.');
  }),
  claim('2-residual-path', 'Residual connections give a direct path through a deep stack', async (g) => {
    const deep = { ...ENCODER, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 40, use_norm: false };
    const change = { ids: ids(6, 40), by: 1.1 };
    const [kept, lost] = [await arriving(g, deep, change), await arriving(g, { ...deep, use_residual: false }, change)];
    return shown(
      Math.abs(kept - 1) < 0.05 && lost < 1e-20,
      'with: 1; without: under 10⁻²⁰',
      `with: ${text(kept)}; without: ${text(lost)}`,
      'How much of a change of the embeddings is there behind 40 layers, norms off.',
    );
  }),
];
