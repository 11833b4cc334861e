// claims/tutorial4/gpt2_attention.js - attention, from scores to what it writes.
import { doubles } from '../activations.js';
import { distance, fromOne, rows, softmax } from '../arithmetic.js';
import { atMost, shown, text } from '../outcome.js';
import { flat, linear, transposed } from '../reference/parts.js';
import { D, H, T, ofGpt2 } from './gpt2_pass.js';

export const claims = [
  ofGpt2(
    '4-scores',
    'Scores are Q Kᵀ / √d_k, plus a mask of −∞ for later positions and 0 for earlier ones',
    ['blocks.0.attn.hook_q', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_attn_scores'],
    (c) => {
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
      return shown(
        off < 1e-5 && masked === (H * T * (T - 1)) / 2,
        `${(H * T * (T - 1)) / 2} masked, ${open} others within 0.00001`,
        `${masked} masked, ${open} others within ${text(off)}`,
      );
    },
  ),
  ofGpt2(
    '4-pattern',
    'Their softmax: each row sums to 1, later positions get exactly 0',
    ['blocks.*.attn.hook_attn_scores', 'blocks.*.attn.hook_pattern'],
    (c) => {
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
      return shown(
        off < 1e-6 && sums < 1e-5 && later === 0,
        'sums 1 ± 0.00001, later 0',
        `sums 1 ± ${text(sums)}, later ${text(later)}`,
        `Each weight within ${text(off)} of softmax in double precision.`,
      );
    },
  ),
  ofGpt2(
    '4-values',
    'Each head’s output is its pattern times V',
    ['blocks.1.attn.hook_v', 'blocks.1.attn.hook_pattern', 'blocks.1.attn.hook_z'],
    (c) => {
      const [p, v] = ['pattern', 'v'].map((name) => c[`blocks.1.attn.hook_${name}`].data),
        d = D / H;
      const want = Float64Array.from({ length: T * D }, (_, at) => {
        const i = Math.floor(at / D),
          h = Math.floor((at % D) / d),
          n = at % d;
        let s = 0;
        for (let j = 0; j < T; j++) s += p[(h * T + i) * T + j] * v[(j * H + h) * d + n];
        return s;
      });
      return atMost(1e-5, distance(c['blocks.1.attn.hook_z'].data, want));
    },
  ),
  ofGpt2(
    '4-concat',
    'The heads side by side, times W^O, are what attention writes',
    ['blocks.1.attn.hook_z', 'blocks.1.hook_attn_out'],
    (c, w) => {
      const z = doubles({ data: c['blocks.1.attn.hook_z'].data, shape: [T, D] });
      const want = linear(z, transposed(w['h.1.attn.c_proj.weight']), w['h.1.attn.c_proj.bias']);
      return atMost(1e-5, distance(c['blocks.1.hook_attn_out'].data, flat(want)));
    },
  ),
];
