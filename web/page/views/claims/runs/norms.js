// norms.js - runs claims of tutorial 1: RMSNorm, mistakes that shapes do not show, the residual stream with norms
// before and after
import { STREAM_POINTS, arriving, ofResiduals, streamDistance } from '../activations.js';
import { distance, ids, mean, rms, rows, variance } from '../arithmetic.js';
import { loaded, tutorial1 } from '../checkpoints.js';
import { ofFresh, ofFreshPass, ofPass, using } from '../claim.js';
import { DEEP, POST, TINY, WORDS } from '../configs.js';
import { flat } from '../double_precision.js';
import { atMost, near, noted, over, same, sentence, text, under } from '../outcome.js';
import { ofNormSizes } from '../parameter_table.js';
import { reference } from '../reference.js';

const RMS_POINTS = { capture: ['*.hook_resid_pre', '*.ln1.hook_scale'] };

/** A change of 1 % in the stream's length at the first block. */
const CHANGE = { ids: ids(8, 64), scale: 50, by: 1.01 };

/** @type {import('../claim.js').Runs} */
export const runs = {
  'rms-identity': ofPass(tutorial1, RMS_POINTS, (captured) => {
    let worst = 0,
      largest = 0;
    for (const l of [0, 1]) {
      rows(captured[`blocks.${l}.hook_resid_pre`]).forEach((x, t) => {
        // what the engine divided by, without epsilon
        const square = captured[`blocks.${l}.ln1.hook_scale`].data[t] ** 2 - 1e-6;
        worst = Math.max(worst, Math.abs(square - variance(x) - mean(x) ** 2) / square);
        largest = Math.max(largest, mean(x) ** 2 / square);
      });
    }
    return atMost(
      1e-5,
      worst,
      `The engine’s own divisor against variance + mean² of the stream, relative. mean² is up to ${text(100 * largest)} % of it here.`,
    );
  }),
  'rms-near-layernorm': ofFresh(TINY, 4, async (model) => {
    const run = async (add) => {
      const { captured } = await model.forward([1, 2, 3], {
        capture: ['blocks.0.hook_resid_pre', 'blocks.0.ln1.hook_normalized'],
        edits: [{ at: 'hook_embed', add: new Float32Array(32).fill(add) }],
      });
      const x = rows(captured['blocks.0.hook_resid_pre'])[0],
        m = mean(x),
        s = Math.sqrt(variance(x) + 1e-6);
      return distance(
        captured['blocks.0.ln1.hook_normalized'].data.subarray(0, 32),
        x.map((v) => (v - m) / s),
      );
    };
    const [small, large] = [await run(0), await run(0.1)];
    return noted(
      sentence`${under(0.2, small)} for a small mean, ${over(0.8, large)} for a large one`,
      'Largest difference of a normalised value from LayerNorm’s.',
    );
  }),
  'eps-inside': ofPass(
    () => tutorial1({ norm_eps: 1e-3 }),
    {},
    (_, weights, logits, __, config) => {
      const [inside, outside] = [false, true].map((epsOutside) =>
        distance(logits.data, flat(reference(weights, config, WORDS, { epsOutside }))),
      );
      return noted(
        sentence`inside: ${under(1e-4, inside)}; outside: ${over(1e-3, outside)}`,
        'Distance from the double-precision logits with epsilon (0.001 here, to be seen) in either place.',
      );
    },
  ),
  confusions: async (g) => {
    const made = tutorial1(),
      want = flat(reference(made.weights, made.config, WORDS));
    const off = (config, weights) =>
      using(
        loaded(g, { config: { ...made.config, ...config }, weights: { ...made.weights, ...weights } }),
        async (model) => distance((await model.forward(WORDS)).logits.data, want),
      );
    const all = Object.entries(made.weights);
    const other = { gate: 'up', up: 'gate' };
    const swapped = Object.fromEntries(
      all.map(([name, w]) => [name.replace(/(?<=W_)(?:gate|up)/, (matrix) => other[matrix]), w]),
    );
    const shifts = Object.fromEntries(
      all
        .filter(([name]) => name.endsWith('.gamma'))
        .map(([name, { shape }]) => [name.replace('gamma', 'beta'), { shape, data: new Float32Array(shape[0]) }]),
    );
    const right = await off({}, {});
    const [gates, pairs, norms, placement] = [
      await off({}, swapped),
      await off({ rope_convention: 'interleaved' }, {}),
      await off({ norm: 'layernorm' }, shifts),
      await off({ pre_norm: false }, {}),
    ].map((wrong) => over(0.01, wrong));
    return noted(
      sentence`as built ${under(1e-4, right)}; slips ${gates}, ${pairs}, ${norms}, ${placement}`,
      'Distance from the logits in double precision.',
    );
  },
  'norm-parameters': ofNormSizes(TINY),
  'pre-highway': ofPass(tutorial1, { capture: STREAM_POINTS }, (c) =>
    atMost(1e-5, streamDistance(c, 2), 'Output of each block less the first input and all that was written since.'),
  ),
  'post-highway': ofFreshPass(
    POST,
    { seed: 4, ids: ids(8, 64), capture: ['*.hook_resid_post'], edits: [{ at: 'hook_embed', scale: 100 }] },
    (c) => {
      const sizes = [0, 1].flatMap((l) => rows(c[`blocks.${l}.hook_resid_post`]).map(rms));
      const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map((size) => near(1, size, 1e-3));
      return sentence`${least} to ${most} behind every block`;
    },
  ),
  'identity-path': async (g) => {
    const pre = await arriving(g, { ...TINY, n_layers: 6 }, CHANGE),
      post = await arriving(g, { ...POST, n_layers: 6 }, CHANGE);
    return noted(
      sentence`pre-norm: ${near(1, pre, 0.05)}; post-norm: ${under(0.05, post)}`,
      'The stream made 1 % longer before the first of six blocks: how much of that change is there behind the last.',
    );
  },
  'fifty-layers': ofResiduals(DEEP, { ...CHANGE, scale: 1 }, 'Norms are off, so that only the residuals differ.'),
  'same-parts': async (g) => {
    const [pre, post] = [{ ...POST, norm_placement: 'pre' }, POST];
    const [before, after] = [pre, post].map((c) => g.countParameters(c).total);
    const [a, b] = await Promise.all(
      [pre, post].map((c) => using(g.create(c, { seed: 6 }), async (m) => (await m.forward(ids(8, 64))).logits.data)),
    );
    return sentence`${same(before, after)} parameters each, logits differ by ${over(0.01, distance(a, b))}`;
  },
};
