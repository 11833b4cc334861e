// claims/tutorial5/gpt_parameters.js - parameters counted by hand, of GPT-2, LLaMA-7B and the exercises.
import { claim } from '../claim.js';
import { GPT, QUIZ, SMALL } from '../configs.js';
import { shown, text } from '../outcome.js';
import { block, count, ofCount, scalars } from '../parameter_table.js';

const LLAMA = 'llama-7b';
/** Width of GPT-2 small. */
const D = 768;

export const claims = [
  ofCount(
    '5-projections',
    'A block: 3D² for queries, keys and values, D² for the output, 4D² up, 4D² down, 4D in two norms',
    SMALL,
    [3 * D * D, D * D, 4 * D * D, 4 * D * D, 4 * D].map(text).join(' + '),
    (t) =>
      [/attn\.[qkv]\./, /attn\.o\./, /ffn\.up\./, /ffn\.down\./, /norm[12]\./]
        .map((pattern) => text(scalars(t, (r) => r.layer === 0 && pattern.test(r.name))))
        .join(' + '),
  ),
  claim('5-rule', 'A block has about 12D² parameters', (g) => {
    const exact = block(g.countParameters(SMALL)),
      rule = 12 * D * D;
    return shown(
      Math.abs(exact / rule - 1) < 0.05,
      `${text(rule)} within 5 %`,
      `${text(exact)}, ${(100 * (exact / rule - 1)).toFixed(2)} % more`,
    );
  }),
  claim(
    '5-rule-exercise',
    'Exercise: by the rule, 4 blocks of width 128, 1000 tokens and 64 positions come within 5 % of the exact count',
    (g) => {
      const rule = 12 * 4 * 128 * 128 + (1000 + 64) * 128,
        { total } = g.countParameters(GPT);
      return shown(
        Math.abs(total / rule - 1) < 0.05 && total === 924928,
        `${text(rule)} within 5 %, exactly 924,928`,
        `${text(total)}, ${(100 * (total / rule - 1)).toFixed(2)} % more`,
      );
    },
  ),
  claim('5-gpt2-small', 'GPT-2 small: about 85M in the blocks and 39M in the embeddings, together 124M', (g) => {
    const t = g.countParameters(SMALL),
      blocks = 12 * block(t),
      tables = count(t, 'embedding') + count(t, 'position');
    return shown(
      Math.round(blocks / 1e6) === 85 && Math.round(tables / 1e6) === 39 && Math.round(t.total / 1e6) === 124,
      '85M, 39M, 124M',
      [blocks, tables, t.total].map(text).join(', '),
      `With this tutorial’s class. OpenAI’s has biases too: ${text(g.countParameters('gpt2').total)}.`,
    );
  }),
  claim('5-positions-small', 'The position table is a small part, often under 1 %', (g) => {
    const t = g.countParameters(SMALL),
      share = (100 * count(t, 'position')) / t.total;
    return shown(share < 1, 'under 1 %', `${share.toFixed(2)} %, ${text(count(t, 'position'))} parameters`);
  }),
  ofCount('5-llama-attention', 'LLaMA-7B: attention of a block, 4 × 4096², about 67M', LLAMA, 67108864, (t) =>
    count(t, 'attention', 0),
  ),
  ofCount('5-llama-ffn', 'LLaMA-7B: SwiGLU of a block, 3 × 4096 × 11008, about 135M', LLAMA, 135266304, (t) =>
    count(t, 'ffn', 0),
  ),
  claim('5-llama-block', 'LLaMA-7B: a block about 202M, all 32 about 6.5B', (g) => {
    const one = block(g.countParameters(LLAMA));
    return shown(
      Math.round(one / 1e6) === 202 && ((32 * one) / 1e9).toFixed(1) === '6.5',
      'about 202M, about 6.5B',
      `${text(one)}, ${text(32 * one)}`,
    );
  }),
  ofCount(
    '5-llama-embeddings',
    'LLaMA-7B: embedding and head apart, 2 × 32,000 × 4096, about 262M',
    LLAMA,
    262144000,
    (t) => count(t, 'embedding') + count(t, 'head'),
  ),
  ofCount('5-llama-total', 'LLaMA-7B in all', LLAMA, 6738415616, (t) => t.total),
  claim('5-ffn-share', 'The FFN holds about two thirds of LLaMA-7B', (g) => {
    const t = g.countParameters(LLAMA),
      share = count(t, 'ffn') / t.total;
    return shown(Math.abs(share - 2 / 3) < 0.03, '66.7 % ± 3 %', `${(100 * share).toFixed(1)} %`);
  }),
  claim('5-ffn-table', 'GELU at 4D and SwiGLU at about 8D/3 both have about 8D² parameters', (g) => {
    const d = 4096,
      of = (ffn, d_ff) => count(g.countParameters({ ...g.PRESETS[LLAMA], n_layers: 1, ffn, d_ff }), 'ffn'),
      gelu = of('gelu_erf', 4 * d),
      swiglu = of('swiglu', 11008);
    return shown(
      gelu === 8 * d * d && Math.abs(swiglu / gelu - 1) < 0.02,
      `${text(8 * d * d)} both, within 2 %`,
      `${text(gelu)} and ${text(swiglu)}`,
      '11,008 is 8/3 · 4096 rounded up to a multiple of 256.',
    );
  }),
  claim('5-quiz', 'Exercise: D = 2048, 24 layers, V = 50,000, plain GELU, tied', (g) => {
    const rule = 12 * 24 * 2048 ** 2 + 50000 * 2048,
      t = g.countParameters(QUIZ),
      own = t.total - count(t, 'position');
    return shown(
      own === 1310560256 && Math.abs(own / rule - 1) < 0.05,
      `${text(rule)} by the rule, exactly 1,310,560,256`,
      `${text(own)}`,
      `The exercise gives no number of positions; 2048 of them would add ${text(count(t, 'position'))}. An untied head would add ${text(50000 * 2048)}.`,
    );
  }),
  claim('5-tying', 'Tying saves 50,257 × 768 × 4 bytes in GPT-2 small, about 150 MB', (g) => {
    const bytes = (tie_word_embeddings) =>
        g.estimate({ ...SMALL, tie_word_embeddings }, { contextLength: 1024, dtype: 'f32' }).weightBytes,
      saved = bytes(false) - bytes(true);
    return shown(
      saved === 154389504,
      '154,389,504 bytes',
      `${text(saved)} bytes`,
      `${(saved / 1e6).toFixed(1)} MB, or ${(saved / 2 ** 20).toFixed(1)} MiB.`,
    );
  }),
];
