// claims/tutorial3/block_layers.js - LayerNorm, GELU, biases and fresh weights.
import { NORM_POINTS, activated, normDistance } from '../activations.js';
import { distance, normal, variance } from '../arithmetic.js';
import { plainGpt } from '../checkpoints/gpts.js';
import { claim, ofFresh, ofPass, using } from '../claim.js';
import { BLOCK } from '../configs.js';
import { atMost, near, shown, text } from '../outcome.js';
import { ofCount } from '../parameter_table.js';
import { activations, layerNorm } from '../reference/parts.js';

/**
 * The activation between the MLP's maps, on a grid of inputs.
 * @param {typeof import('glassformer')} glassformer
 * @param {'gelu_erf' | 'relu'} ffn
 * @param {number[]} grid
 */
const curve = (glassformer, ffn, grid) =>
  using(glassformer.create({ ...BLOCK, ffn }, { seed: 1 }), (model) => activated(model, grid, 256));

export const claims = [
  ofPass(
    '3-layernorm',
    'LayerNorm: minus the mean, over the root of variance + 0.00001, on live activations',
    plainGpt,
    { capture: NORM_POINTS },
    (c) => {
      const off = normDistance(c, (x) => layerNorm(x, 1e-5));
      return atMost(1e-5, off);
    },
  ),
  ofFresh('3-layernorm-init', 'A fresh LayerNorm has gain 1 and shift 0', BLOCK, 1, async (model) => {
    const gain = await model.weight('blocks.0.norm1.weight'),
      shift = await model.weight('blocks.0.norm1.bias');
    const { captured: c } = await model.forward([1], {
      capture: ['blocks.0.ln1.hook_normalized'],
      edits: [{ at: 'hook_embed', set: Float32Array.from({ length: 64 }, (_, i) => 3 + (i % 2)) }],
    });
    const out = c['blocks.0.ln1.hook_normalized'].data;
    return shown(
      gain.every((v) => v === 1) && shift.every((v) => v === 0) && Math.abs(out[0] + 1) < 1e-4,
      '64 ones, 64 zeros',
      `${gain.filter((v) => v === 1).length} ones, ${shift.filter((v) => v === 0).length} zeros`,
      `The tutorial calls it the identity then. It standardises all the same: 3, 4, 3, 4, … becomes ${out[0].toFixed(3)}, ${out[1].toFixed(3)}, …`,
    );
  }),
  claim('3-gelu', 'GELU is x · Φ(x), exactly: the erf form', async (g) => {
    const grid = Array.from({ length: 121 }, (_, i) => i / 10 - 6),
      got = await curve(g, 'gelu_erf', grid);
    return atMost(
      2e-6,
      distance(got, grid.map(activations.gelu_erf)),
      `GELU(1) is ${got[70].toFixed(6)}; the tanh form would give ${activations.gelu_tanh(1).toFixed(6)}.`,
    );
  }),
  claim('3-gelu-relu', 'GELU is ReLU far from zero and smooth at zero, where ReLU has a kink', async (g) => {
    const grid = [-8, -6, 6, 8, -0.01, 0, 0.01],
      gelu = await curve(g, 'gelu_erf', grid),
      relu = await curve(g, 'relu', grid);
    const far = distance(gelu.slice(0, 4), relu.slice(0, 4)),
      slopes = (y) => [(y[5] - y[4]) / 0.01, (y[6] - y[5]) / 0.01];
    const [a, b] = [slopes(gelu), slopes(relu)],
      say = (s) => s.map((v) => v.toFixed(2)).join(' and ');
    return shown(
      far < 1e-6 && say(a) === '0.50 and 0.50' && say(b) === '0.00 and 1.00',
      'slopes at 0: GELU 0.50 and 0.50, ReLU 0.00 and 1.00',
      `slopes at 0: GELU ${say(a)}, ReLU ${say(b)}`,
      `From the left and from the right. At ±6 and ±8 they differ by ${text(far)}.`,
    );
  }),
  ofCount(
    '3-no-biases',
    'No linear map of the block has a bias, only the norms have a shift',
    'tutorial-3',
    'norm1, norm2',
    ({ rows }) => {
      const biases = rows.filter((r) => r.layer === 0 && r.name.endsWith('.bias'));
      return biases.map((r) => r.name.split('.')[2]).join(', ');
    },
  ),
  ofFresh('3-init', 'Fresh weights are normal with standard deviation 0.02', BLOCK, 9, async (model) => {
    const all = [];
    for (let r = 0; r < 256; r++) all.push(...(await model.weight('blocks.0.ffn.up.weight', r)));
    return near(
      0.02,
      Math.sqrt(variance(all)),
      0.0005,
      `${text(all.length)} weights of the MLP; within one standard deviation: ${((100 * all.filter((v) => Math.abs(v) < 0.02).length) / all.length).toFixed(1)} % (a normal has 68.3 %).`,
    );
  }),
];
