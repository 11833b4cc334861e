// claims/tutorial1/rmsnorm.js - section 1: RMSNorm, and the slips that shapes do not show.
import { distance, mean, rows, variance } from '../arithmetic.js';
import { loaded } from '../checkpoint.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { claim, ofFresh, ofPass, using } from '../claim.js';
import { TINY, WORDS } from '../configs.js';
import { atMost, same, shown, text } from '../outcome.js';
import { count } from '../parameter_table.js';
import { decoder } from '../reference/modern_forward.js';
import { flat } from '../reference/parts.js';

const RMS_POINTS = { capture: ['*.hook_resid_pre', '*.ln1.hook_scale'] };

export const claims = [
  ofPass('1-rms-identity', 'On live activations, RMS² = variance + mean²', tutorial1, RMS_POINTS, (captured) => {
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
  ofFresh(
    '1-rms-near-layernorm',
    'Where the mean is small, RMSNorm and LayerNorm are nearly the same; with a large mean they are not',
    TINY,
    4,
    async (model) => {
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
      return shown(
        small < 0.5 && large > 4 * small && large > 0.8,
        'under 0.5 for a small mean, over 0.8 for a large one',
        `${text(small)} and ${text(large)}`,
        'Largest difference of a normalised value from LayerNorm’s.',
      );
    },
  ),
  ofPass(
    '1-eps-inside',
    'Epsilon belongs inside the square root: outside it gives other numbers',
    () => tutorial1({ norm_eps: 1e-3 }),
    {},
    (_, weights, logits, __, config) => {
      const [inside, outside] = [false, true].map((epsOutside) =>
        distance(logits.data, flat(decoder(weights, config, WORDS, { epsOutside }))),
      );
      return shown(
        inside < 1e-4 && outside > 1e-3,
        'inside: under 0.0001; outside: over 0.001',
        `inside: ${text(inside)}; outside: ${text(outside)}`,
        'Distance from the double-precision logits with epsilon (0.001 here, to be seen) in either place.',
      );
    },
  ),
  claim(
    '1-confusions',
    'The slips that shapes do not show: gate for up, the other pairing of rotary dimensions, LayerNorm for RMSNorm, post for pre',
    async (g) => {
      const made = tutorial1(),
        want = flat(decoder(made.weights, made.config, WORDS));
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
      const wrong = [
        await off({}, swapped),
        await off({ rope_convention: 'interleaved' }, {}),
        await off({ norm: 'layernorm' }, shifts),
        await off({ pre_norm: false }, {}),
      ];
      return shown(
        right < 1e-4 && wrong.every((d) => d > 0.01),
        'as built under 0.0001; each slip over 0.01',
        `as built ${text(right)}; slips ${wrong.map(text).join(', ')}`,
        'Distance from the logits in double precision.',
      );
    },
  ),
  claim('1-norm-parameters', 'RMSNorm has one vector where LayerNorm has two', (g) => {
    const [r, l] = /** @type {const} */ (['rmsnorm', 'layernorm']).map((norm) =>
      count(g.countParameters({ ...TINY, norm }), 'final_norm'),
    );
    return same('32 and 64', `${r} and ${l}`);
  }),
];
