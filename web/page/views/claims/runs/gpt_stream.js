// gpt_stream.js - runs claims of tutorial 5: LayerNorm and RMSNorm, and what is added to the residual stream
import { FIRST_NORMS, STREAM_POINTS, streamDistance } from '../activations.js';
import { distance, ids, mean, minus, rms, rows, variance } from '../arithmetic.js';
import { plainGpt, tutorial1 } from '../checkpoints.js';
import { ofFresh, ofPass, ofStages, using } from '../claim.js';
import { GPT } from '../configs.js';
import { atMost, near, noted, over, same, sentence, text, under } from '../outcome.js';
import { ofNormSizes } from '../parameter_table.js';

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
  'norm-parameters': ofNormSizes(GPT),
  'norm-cost': async (g) => {
    const flops = (norm) =>
      using(
        g.create({ ...g.PRESETS[GPT], n_layers: 1, norm }, { seed: 1 }),
        async (model) => (await model.trace([1, 2, 3])).filter((r) => r.op === 'norm1')[0].flops / (3 * 128),
      );
    const [l, r] = [await flops('layernorm'), await flops('rmsnorm')];
    return noted(
      sentence`${under(l, r)} operations a value`,
      'The tutorial says that without the mean “the operation” is about 5 % faster; that is the norm alone, not the model. Here its operations are counted.',
    );
  },
  'stream-sum': ofPass(
    () => plainGpt({ n_layers: 3 }),
    { capture: STREAM_POINTS },
    (c) => atMost(1e-5, streamDistance(c, 3)),
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
    return noted(
      sentence`${under(0.15, Math.max(...unit))} at most`,
      `Relative change by the four blocks: ${unit.map(text).join(', ')}. The stream’s own size at the start is 0.028, with embeddings of standard deviation 0.02: beside that the same blocks add ${own.map(text).join(', ')}.`,
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
    return {
      ...noted(
        sentence`${over(2, a.at[8] / a.at[0])} times as large; ${near(1, a.into, 0.01)} with the final norm, ${under(0.5, b.into)} without; spread of the logits without ${under(0.5 * a.logits, b.logits)}`,
        `Size (RMS) of the stream by layer and into the head. Without the final norm the logits’ spread is ${text(b.logits)} in place of ${text(a.logits)}: the head is given whatever size the depth has made.`,
      ),
      series: [
        { name: 'with the final norm', values: [...a.at, a.into] },
        { name: 'without', values: [...b.at, b.into] },
      ],
    };
  },
};
