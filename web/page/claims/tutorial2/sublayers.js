// claims/tutorial2/sublayers.js - the utility modules: LayerNorm, Add & Norm, FFN, residual connections.
import { distance, ids, mean, minus, normal, plus, rms, rows, variance } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints/encoder_decoder_2017.js';
import { claim, ofFile, using } from '../claim.js';
import { ENCODER, SOURCE, TARGET } from '../configs.js';
import { atMost, same, shown, text } from '../outcome.js';
import { flat, layerNorm } from '../reference/parts.js';

export const claims = [
  ofFile(
    '2-layernorm',
    'LayerNorm gives each token mean 0 and variance 1 before its gain and shift',
    tutorial2,
    async (model) => {
      const { captured } = await model.forward(TARGET, { source: SOURCE, capture: ['*.hook_normalized'] });
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
  ofFile(
    '2-add-and-norm',
    'Add & Norm: the output is LayerNorm of input plus sublayer, on live activations',
    tutorial2,
    async (model, made) => {
      const { captured: c } = await model.forward(TARGET, {
        source: SOURCE,
        capture: ['encoder.0.*', 'decoder.0.*'],
      });
      const w = made.weights,
        off = (stack, before, out, n, after) => {
          const x = rows({
            data: Float32Array.from(plus(c[`${stack}.0.${before}`].data, c[`${stack}.0.${out}`].data)),
            shape: c[`${stack}.0.${before}`].shape,
          }).map((r) => Float64Array.from(r));
          const name = `${stack}.layers.0.add_norm${n}.norm`;
          return distance(
            c[`${stack}.0.${after}`].data,
            flat(layerNorm(x, 1e-5, w[`${name}.gamma`], w[`${name}.beta`])),
          );
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
  ofFile('2-relu', 'Between the two linear maps of an FFN is max(0, x)', tutorial2, async (model) => {
    const { captured: c } = await model.forward(TARGET, { source: SOURCE, capture: ['encoder.1.mlp.*'] });
    const pre = c['encoder.1.mlp.hook_pre'].data,
      post = c['encoder.1.mlp.hook_post'].data;
    const off = distance(
        post,
        pre.map((v) => Math.max(0, v)),
      ),
      zeros = post.filter((v) => v === 0).length;
    return shown(
      off === 0 && zeros > 0,
      'difference 0',
      `difference ${text(off)}`,
      `${zeros} of ${post.length} values were cut to 0.`,
    );
  }),
  ofFile('2-ffn-alone', 'The FFN is applied to each position independently', tutorial2, async (model) => {
    const run = async (edits) =>
      rows(
        (await model.forward(TARGET, { source: SOURCE, capture: ['encoder.0.hook_mlp_out'], edits })).captured[
          'encoder.0.hook_mlp_out'
        ],
      );
    const a = await run([]),
      b = await run([
        { at: 'encoder.0.hook_resid_mid', position: 3, add: Float32Array.from({ length: 16 }, normal(1)) },
      ]);
    return same(
      '3',
      a
        .map((x, t) => (distance(x, b[t]) > 0 ? t : -1))
        .filter((t) => t >= 0)
        .join(', '),
      'Positions whose output moves when position 3 is changed.',
    );
  }),
  claim('2-residual-path', 'Residual connections give a direct path through a deep stack', async (g) => {
    const deep = { ...ENCODER, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 40, use_norm: false };
    const arrives = (config) =>
      using(g.create(config, { seed: 5 }), async (model) => {
        const run = async (by) =>
          (
            await model.forward(ids(6, 40), {
              capture: ['blocks.0.hook_resid_pre', 'blocks.39.hook_resid_post'],
              edits: [{ at: 'hook_embed', scale: by }],
            })
          ).captured;
        const [a, b] = [await run(1), await run(1.1)];
        return (
          rms(minus(b['blocks.39.hook_resid_post'].data, a['blocks.39.hook_resid_post'].data)) /
          rms(minus(b['blocks.0.hook_resid_pre'].data, a['blocks.0.hook_resid_pre'].data))
        );
      });
    const [kept, lost] = [await arrives(deep), await arrives({ ...deep, use_residual: false })];
    return shown(
      Math.abs(kept - 1) < 0.05 && lost < 1e-20,
      'with: 1; without: under 10⁻²⁰',
      `with: ${text(kept)}; without: ${text(lost)}`,
      'How much of a change of the embeddings is there behind 40 layers, norms off.',
    );
  }),
];
