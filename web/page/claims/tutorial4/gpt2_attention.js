// claims/tutorial4/gpt2_attention.js - attention from scores to what it writes, the FFN, and GELU
import { STREAM_POINTS, activated, streamDistance } from '../activations.js';
import { distance, fromOne, rows, softmax } from '../arithmetic.js';
import { gpt2 } from '../checkpoints.js';
import { ofFresh, ofPass, ofStages } from '../claim.js';
import { TINY_GPT2, WORDS } from '../configs.js';
import { activations } from '../double_precision.js';
import { atMost, noted, same, sentence, shown, text, upTo } from '../outcome.js';

/** Its tokens, vocabulary, width and heads. */
export const T = WORDS.length,
  V = 48,
  D = 16,
  H = 2;

/** Of one pass over the small GPT-2. @param {string[]} capture @param {Parameters<typeof ofPass>[2]} use */
export const ofGpt2 = (capture, use) => ofPass(gpt2, { capture }, use);

/** @type {import('../claim.js').Runs} */
export const runs = {
  scores: ofGpt2(['blocks.0.attn.hook_q', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_attn_scores'], (c) => {
    const [q, k, s] = ['q', 'k', 'attn_scores'].map((name) => c[`blocks.0.attn.hook_${name}`].data),
      d = D / H;
    let off = 0,
      masked = 0,
      open = 0;
    for (let h = 0; h < H; h++)
      for (let i = 0; i < T; i++)
        for (let j = 0; j < T; j++) {
          const got = s[(h * T + i) * T + j];
          if (j > i) {
            masked += Number(got === -Infinity);
            continue;
          }
          open++;
          let dot = 0;
          for (let n = 0; n < d; n++) dot += q[(i * H + h) * d + n] * k[(j * H + h) * d + n];
          off = Math.max(off, Math.abs(got - dot / Math.sqrt(d)));
        }
    return sentence`${same((H * T * (T - 1)) / 2, masked)} masked, ${same(open, open)} others within ${upTo(1e-5, off)}`;
  }),
  pattern: ofGpt2(['blocks.*.attn.hook_attn_scores', 'blocks.*.attn.hook_pattern'], (c) => {
    let off = 0,
      sums = 0,
      later = 0;
    for (const l of [0, 1]) {
      const scores = rows(c[`blocks.${l}.attn.hook_attn_scores`]);
      rows(c[`blocks.${l}.attn.hook_pattern`]).forEach((p, i) => {
        off = Math.max(off, distance(p, softmax(scores[i])));
        sums = Math.max(sums, fromOne([p]));
        later = Math.max(later, 0, ...p.subarray((i % T) + 1));
      });
    }
    return noted(
      sentence`sums 1 ± ${upTo(1e-5, off < 1e-6 ? sums : NaN)}, later ${same(0, later)}`,
      `Each weight within ${text(off)} of softmax in double precision.`,
    );
  }),
  values: ofStages(gpt2, ['blocks.1.attn.hook_z']),
  concat: ofStages(gpt2, ['blocks.1.hook_attn_out']),
  residuals: ofGpt2(STREAM_POINTS, (c) => atMost(1e-5, streamDistance(c))),
  ffn: ofStages(gpt2, ['blocks.0.hook_mlp_out']),
  gelu: ofFresh(TINY_GPT2, 1, async (model) => {
    const set = Float32Array.from({ length: 128 }, (_, i) => i / 10 - 6.4),
      got = await activated(model, set, 128);
    const own = distance(got, set.map(activations.gelu_tanh)),
      other = distance(got, set.map(activations.gelu_erf));
    return shown(
      own < 2e-6 && other > 4e-4 && other < 6e-4,
      'tanh form: under 0.000002; erf form: 0.0004 to 0.0006',
      `tanh form: ${text(own)}; erf form: ${text(other)}`,
      'Largest distance of the engine’s curve from either, from −6.4 to 6.3.',
    );
  }),
};
