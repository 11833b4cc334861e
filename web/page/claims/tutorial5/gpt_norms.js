// claims/tutorial5/gpt_norms.js - LayerNorm and RMSNorm.
import { NORM_POINTS, doubles, normDistance } from '../activations.js';
import { distance, ids } from '../arithmetic.js';
import { plainGpt } from '../checkpoints/gpts.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { claim, ofFresh, ofPass, using } from '../claim.js';
import { GPT } from '../configs.js';
import { atMost, same, shown } from '../outcome.js';
import { count } from '../parameter_table.js';
import { flat, layerNorm, rmsNorm } from '../reference/parts.js';

const NORMS = { capture: ['*.hook_resid_*', '*.hook_normalized'] };

export const claims = [
  ofPass('5-layernorm', 'Exercise: LayerNorm agrees with the reference formula', plainGpt, NORMS, (c) => {
    const pairs = [
      ['blocks.0.hook_resid_pre', 'blocks.0.ln1'],
      ['blocks.0.hook_resid_mid', 'blocks.0.ln2'],
      ['blocks.1.hook_resid_pre', 'blocks.1.ln1'],
      ['blocks.1.hook_resid_mid', 'blocks.1.ln2'],
      ['blocks.1.hook_resid_post', 'ln_final'],
    ];
    return atMost(
      1e-5,
      Math.max(
        ...pairs.map(([x, n]) => distance(c[`${n}.hook_normalized`].data, flat(layerNorm(doubles(c[x]), 1e-5)))),
      ),
      'Mean 0 and variance 1 by the population’s variance, at all five norms of a live pass.',
    );
  }),
  ofPass('5-rmsnorm', 'RMSNorm divides by the root mean square alone', tutorial1, { capture: NORM_POINTS }, (c) => {
    const off = normDistance(c, (x) => rmsNorm(x, 1e-6));
    return atMost(1e-5, off);
  }),
  ofFresh(
    '5-per-token',
    'Normalisation works within each token: a sequence gives the same logits alone and in a batch',
    GPT,
    1,
    async (model) => {
      const [a, b] = [ids(16, 1000), ids(16, 1000, 2)],
        both = (await model.forward([a, b])).logits.data;
      const alone = [(await model.forward(a)).logits.data, (await model.forward(b)).logits.data];
      return same(0, Math.max(...alone.map((x, i) => distance(x, both.subarray(i * 16000, (i + 1) * 16000)))));
    },
  ),
  claim('5-norm-parameters', 'LayerNorm has 2D parameters, RMSNorm D', (g) =>
    same(
      '256 and 128',
      /** @type {const} */ (['layernorm', 'rmsnorm'])
        .map((norm) => count(g.countParameters({ ...g.PRESETS[GPT], norm }), 'final_norm'))
        .join(' and '),
    ),
  ),
  claim('5-norm-cost', 'RMSNorm is the cheaper of the two', async (g) => {
    const flops = (norm) =>
      using(
        g.create({ ...g.PRESETS[GPT], n_layers: 1, norm }, { seed: 1 }),
        async (model) => (await model.trace([1, 2, 3])).filter((r) => r.op === 'norm1')[0].flops / (3 * 128),
      );
    const [l, r] = [await flops('layernorm'), await flops('rmsnorm')];
    return shown(
      r < l,
      'fewer operations a value',
      `${r} against ${l} operations a value`,
      'The tutorial’s “5 % faster” is of whole models on GPUs of its time; what can be counted here are operations.',
    );
  }),
];
