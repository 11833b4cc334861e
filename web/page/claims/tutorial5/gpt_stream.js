// claims/tutorial5/gpt_stream.js - the residual stream: what is added to it, and how its size changes.
import { STREAM_POINTS, streamSumDistance } from '../activations.js';
import { ids, mean, minus, rms, rows, variance } from '../arithmetic.js';
import { plainGpt } from '../checkpoints/gpts.js';
import { claim, ofFresh, ofPass, using } from '../claim.js';
import { GPT } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';

export const claims = [
  ofPass(
    '5-stream-sum',
    'The stream is never replaced: behind any block it is the embedding plus all contributions so far',
    () => plainGpt({ n_layers: 3 }),
    { capture: STREAM_POINTS },
    (c) =>
      atMost(
        1e-5,
        streamSumDistance(c, 3, c['blocks.0.hook_resid_pre'].data, (sum) => Float32Array.from(sum)),
      ),
  ),
  ofFresh(
    '5-identity-prior',
    'At the start every block is nearly the identity: what it adds is small beside a stream of unit size',
    GPT,
    1,
    async (model) => {
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
    },
  ),
  claim(
    '5-drift',
    'Exercise: the size of the stream drifts from block to block, since nothing normalises it; the final norm does',
    async (g) => {
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
  ),
];
