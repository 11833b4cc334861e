// gpt_counts.js - runs claims of tutorial 5: parameters counted by hand, operations, the kv cache and activations
import { ofCount, ofTable } from '../claim.js';
import { GPT, QUIZ, SMALL } from '../configs.js';
import { misprint, near, noted, same, sentence, shown, text, under } from '../outcome.js';
import { block, count, scalars } from '../parameter_table.js';

const LLAMA = 'llama-7b';

/** Width of GPT-2 small. */
const D = 768;

const GiB = 2 ** 30;

/** Within some per cent of what a rule gives. @param {number} rule @param {number} n */
const byRule = (rule, n, most = 5) =>
  shown(Math.abs(n / rule - 1) < most / 100, `${text(rule)} within ${most} %`, text(n));

/** A share in per cent. @param {number} part @param {number} whole */
const share = (part, whole) => (100 * part) / whole;

/** @type {import('../claim.js').Runs} */
export const runs = {
  projections: ofCount(SMALL, [3 * D * D, D * D, 4 * D * D, 4 * D * D, 4 * D].map(text).join(' + '), (t) =>
    [/attn\.[qkv]\./, /attn\.o\./, /ffn\.up\./, /ffn\.down\./, /norm[12]\./]
      .map((pattern) => text(scalars(t, (r) => r.layer === 0 && pattern.test(r.name))))
      .join(' + '),
  ),
  rule: ofTable(SMALL, (t) => byRule(12 * D * D, block(t))),
  'rule-exercise': ofTable(GPT, ({ total }) => {
    const rule = 12 * 4 * 128 * 128 + (1000 + 64) * 128;
    return sentence`${byRule(rule, total)}, exactly ${same(924928, total)}`;
  }),
  'gpt2-small': ofTable(SMALL, (t, g) => {
    const tables = count(t, 'embedding') + count(t, 'position');
    return noted(
      sentence`${near(85, (12 * block(t)) / 1e6, 0.5)}M, ${near(39, tables / 1e6, 0.5)}M, ${near(124, t.total / 1e6, 0.5)}M`,
      `With this tutorial’s class. OpenAI’s has biases too: ${text(g.countParameters('gpt2').total)}.`,
    );
  }),
  'positions-small': ofTable(
    SMALL,
    (t) => sentence`${same(1024 * D, count(t, 'position'))}, ${under(1, share(count(t, 'position'), t.total))} %`,
  ),
  'llama-attention': ofCount(LLAMA, 67108864, (t) => count(t, 'attention', 0)),
  'llama-ffn': ofCount(LLAMA, 135266304, (t) => count(t, 'ffn', 0)),
  'llama-block': ofTable(
    LLAMA,
    (t) => sentence`${near(202, block(t) / 1e6, 0.5)}M, ${near(6.5, (32 * block(t)) / 1e9, 0.05)}B`,
  ),
  'llama-embeddings': ofCount(LLAMA, 262144000, (t) => count(t, 'embedding') + count(t, 'head')),
  'llama-total': ofCount(LLAMA, 6738415616, (t) => t.total),
  'ffn-share': ofTable(LLAMA, (t) => sentence`${near(66.7, share(count(t, 'ffn'), t.total), 3)} %`),
  'ffn-table': (g) => {
    const d = 4096,
      of = (ffn, d_ff) => count(g.countParameters({ ...g.PRESETS[LLAMA], n_layers: 1, ffn, d_ff }), 'ffn'),
      gelu = of('gelu_erf', 4 * d),
      swiglu = of('swiglu', 11008);
    return noted(
      sentence`${same(8 * d * d, gelu)} and ${byRule(gelu, swiglu, 2)}`,
      '11,008 is 8/3 · 4096 rounded up to a multiple of 256.',
    );
  },
  quiz: ofTable(QUIZ, (t) => {
    const rule = 12 * 24 * 2048 ** 2 + 50000 * 2048,
      own = t.total - count(t, 'position');
    return noted(
      sentence`${byRule(rule, own)}, exactly ${same(1310560256, own)}`,
      `The exercise gives no number of positions; 2048 of them would add ${text(count(t, 'position'))}. An untied head would add ${text(50000 * 2048)}.`,
    );
  }),
  tying: (g) => {
    const bytes = (tie_word_embeddings) =>
        g.estimate({ ...SMALL, tie_word_embeddings }, { contextLength: 1024, dtype: 'f32' }).weightBytes,
      saved = bytes(false) - bytes(true);
    return noted(
      sentence`${same(154389504, saved)} bytes`,
      `${(saved / 1e6).toFixed(1)} MB, or ${(saved / 2 ** 20).toFixed(1)} MiB.`,
    );
  },
  flops: (g) => {
    const { flopsPerToken2N, flopsPerToken } = g.estimate('llama-7b', { contextLength: 2048 });
    return noted(
      sentence`FLOPs: ${byRule(14e9, flopsPerToken2N)}, 2 × ${same(6738415616, flopsPerToken2N / 2)}`,
      `Exactly, behind 2048 tokens: ${(flopsPerToken / 1e9).toFixed(2)} GFLOPs: the embedding is only looked up, and attention reads its cache.`,
    );
  },
  'tokens-per-second': (g) => {
    const rate = 80e12 / g.estimate('llama-7b', { contextLength: 2048 }).flopsPerToken2N;
    return noted(
      byRule(5700, Math.round(rate)),
      'If computing were the limit. 5,700 comes from 14 rounded up from 13.48.',
    );
  },
  'kv-7b': (g) => same(2147483648, g.estimate('llama-7b', { contextLength: 4096, kvDtype: 'f16' }).kvBytes),
  'kv-block': (g) => {
    const of = (config, n, kvDtype) => g.estimate({ ...config, n_layers: 1 }, { contextLength: n, kvDtype }).kvBytes;
    const found = [
      of(g.PRESETS['llama-7b'], 1000, 'f16'),
      of(g.PRESETS['llama3-70b'], 1000, 'f16'),
      of(g.PRESETS['llama-7b'], 1000, 'f32'),
    ];
    return same(
      [2 * 1000 * 4096 * 2, 2 * 1000 * 1024 * 2, 2 * 1000 * 4096 * 4].map(text).join(', '),
      found.map(text).join(', '),
      'LLaMA-7B f16, LLaMA-3 70B f16 (D_kv is 8 × 128, queries share keys), LLaMA-7B f32.',
    );
  },
  'kv-70b': (g) => {
    const bytes = g.estimate('llama3-70b', { contextLength: 131072, kvDtype: 'f16' }).kvBytes;
    return noted(
      sentence`${same(40 * GiB, bytes)} bytes, ${same(40, bytes / GiB)} GiB`,
      'Thanks to 8 key-value heads for 64 query heads; one for each would take 320 GiB.',
    );
  },
  activations: (g) => {
    const one = (n) => {
      const { d_model: d, n_heads: h, d_ff: f } = g.PRESETS['llama-7b'];
      return 2 * (3 * d + h * n + 3 * f);
    };
    const f16 = (n) =>
      g.estimate({ ...g.PRESETS['llama-7b'], n_layers: 1 }, { contextLength: n }).activationBytes / n / 2 - 2 * 32000;
    return misprint(
      'megabytes',
      sentence`bytes: ${byRule(one(4096), f16(4096), 20)}`,
      `Queries, keys and values, the scores against 4096 keys and the FFN’s hidden states: ${text(one(4096))} bytes, a third of a megabyte; ${text(one(1))} with no context. Megabytes begin at a dozen tokens together. The engine’s own buffers, counted in f32, are halved here and the logits left out.`,
    );
  },
};
