// claims/tutorial5/gpt_stream.js - LayerNorm and RMSNorm, and what is added to the residual stream
import { FIRST_NORMS, STREAM_POINTS, streamSumDistance } from '../activations.js';
import { distance, ids, mean, minus, rms, rows, variance } from '../arithmetic.js';
import { plainGpt, tutorial1 } from '../checkpoints.js';
import { ofFresh, ofPass, ofStages, using } from '../claim.js';
import { GPT } from '../configs.js';
import { atMost, same, shown, text } from '../outcome.js';
import { count } from '../parameter_table.js';

/** @type {import('../claim.js').Runs} */
export const runs = {
  layernorm: ofStages(
    plainGpt,
    [...FIRST_NORMS, 'blocks.0.ln2.hook_normalized', 'blocks.1.ln2.hook_normalized', 'ln_final.hook_normalized'],
    'Mean 0 and variance 1 by the population’s variance, at all five norms of a live pass.',
  ),
  rmsnorm: ofStages(tutorial1, FIRST_NORMS),
  'per-token': ofFresh(GPT, 1, async (model) => {
    const [a, b] = [ids(16, 1000), ids(16, 1000, 2)],
      both = (await model.forward([a, b])).logits.data;
    const alone = [(await model.forward(a)).logits.data, (await model.forward(b)).logits.data];
    return same(0, Math.max(...alone.map((x, i) => distance(x, both.subarray(i * 16000, (i + 1) * 16000)))));
  }),
  'norm-parameters': (g) =>
    same(
      '256 and 128',
      /** @type {const} */ (['layernorm', 'rmsnorm'])
        .map((norm) => count(g.countParameters({ ...g.PRESETS[GPT], norm }), 'final_norm'))
        .join(' and '),
    ),
  'norm-cost': async (g) => {
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
  },
  'stream-sum': ofPass(
    () => plainGpt({ n_layers: 3 }),
    { capture: STREAM_POINTS },
    (c) =>
      atMost(
        1e-5,
        streamSumDistance(c, 3, c['blocks.0.hook_resid_pre'].data, (sum) => Float32Array.from(sum)),
      ),
  ),
  'identity-prior': ofFresh(GPT, 1, async (model) => {
    const change = async (size) => {
      const { captured: c } = await model.forward(ids(32, 1000), {
        capture: ['*.hook_resid_pre', '*.hook_resid_post'],
        edits: [{ at: 'blocks.0.hook_resid_pre', scale: size }],
      });
      return [0, 1, 2, 3].map(
        (l) =>
          rms(minus(c[`blocks.${l}.hook_resid_post`].data, c[`blocks.${l}.hook_resid_pre`].data)) /
          rms(c[`blocks.${l}.hook_resid_pre`].data),
      );
    };
    const [unit, own] = [await change(1 / 0.0283), await change(1)];
    return shown(
      unit.every((x) => x < 0.15),
      'each under 0.15',
      unit.map(text).join(', '),
      `Relative change by the four blocks. The stream’s own size at the start is 0.028, with embeddings of standard deviation 0.02: beside that the same blocks add ${own.map(text).join(', ')}.`,
    );
  }),
  drift: async (g) => {
    const points = ['blocks.0.hook_resid_pre', ...[...Array(8).keys()].map((l) => `blocks.${l}.hook_resid_post`)],
      behind = 'ln_final.hook_normalized';
    const run = (finalNorm) =>
      using(g.create({ ...g.PRESETS[GPT], n_layers: 8, final_norm: finalNorm }, { seed: 1 }), async (model) => {
        const { logits, captured: c } = await model.forward(ids(32, 1000), {
          capture: [...points, ...(finalNorm ? [behind] : [])],
        });
        const size = (name) => mean(rows(c[name]).map(rms)),
          at = points.map(size);
        return { at, into: finalNorm ? size(behind) : at[8], logits: Math.sqrt(variance(logits.data)) };
      });
    const [a, b] = [await run(true), await run(false)];
    const ok = a.at[8] > 2 * a.at[0] && Math.abs(a.into - 1) < 0.01 && b.into < 0.5 && b.logits < 0.5 * a.logits;
    return {
      ...shown(
        ok,
        'grows over twofold; 1 with the final norm, as it is without',
        `${text(a.at[0])} to ${text(a.at[8])}; ${text(a.into)} with, ${text(b.into)} without`,
        `Size (RMS) of the stream by layer and into the head. Without the final norm the logits’ spread is ${text(b.logits)} in place of ${text(a.logits)}: the head is given whatever size the depth has made.`,
      ),
      series: [
        { name: 'with the final norm', values: [...a.at, a.into] },
        { name: 'without', values: [...b.at, b.into] },
      ],
    };
  },
};
