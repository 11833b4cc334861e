// claims/tutorial5/gpt_cost.js - operations, the kv cache and activations of LLaMA models.
import { claim } from '../claim.js';
import { misprint, same, shown, text } from '../outcome.js';

const GiB = 2 ** 30;

export const claims = [
  claim('5-flops', 'Two operations for each parameter and token: about 14 GFLOPs for LLaMA-7B', (g) => {
    const { flopsPerToken2N, flopsPerToken } = g.estimate('llama-7b', { contextLength: 2048 });
    return shown(
      flopsPerToken2N === 2 * 6738415616 && Math.abs(flopsPerToken2N / 14e9 - 1) < 0.05,
      '14 GFLOPs within 5 %',
      `${(flopsPerToken2N / 1e9).toFixed(2)} GFLOPs`,
      `Exactly, behind 2048 tokens: ${(flopsPerToken / 1e9).toFixed(2)} GFLOPs: the embedding is only looked up, and attention reads its cache.`,
    );
  }),
  claim('5-tokens-per-second', 'At 80 TFLOPs that is about 5,700 tokens a second', (g) => {
    const rate = 80e12 / g.estimate('llama-7b', { contextLength: 2048 }).flopsPerToken2N;
    return shown(
      Math.abs(rate / 5700 - 1) < 0.05,
      '5,700 within 5 %',
      text(Math.round(rate)),
      'If computing were the limit. 5,700 comes from 14 rounded up from 13.48.',
    );
  }),
  claim('5-kv-7b', 'The kv cache of LLaMA-7B for 4096 tokens in f16: 32 × 2 × 4096 × 4096 × 2 bytes, about 2 GB', (g) =>
    same(2147483648, g.estimate('llama-7b', { contextLength: 4096, kvDtype: 'f16' }).kvBytes),
  ),
  claim('5-kv-block', 'One block’s share is 2 × T × D_kv × bytes of the number format', (g) => {
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
  }),
  claim('5-kv-70b', 'The kv cache of LLaMA-3 70B for 131,072 tokens: about 40 GB', (g) => {
    const bytes = g.estimate('llama3-70b', { contextLength: 131072, kvDtype: 'f16' }).kvBytes;
    return shown(
      bytes === 40 * GiB,
      '42,949,672,960 bytes, 40 GiB',
      `${text(bytes)} bytes, ${text(bytes / GiB)} GiB`,
      'Thanks to 8 key-value heads for 64 query heads; one for each would take 320 GiB.',
    );
  }),
  claim(
    '5-activations',
    'Activations of one LLaMA-7B block for a single token in f16, megabytes by the lesson',
    (g) => {
      const one = (n) => {
        const { d_model: d, n_heads: h, d_ff: f } = g.PRESETS['llama-7b'];
        return 2 * (3 * d + h * n + 3 * f);
      };
      const f16 = (n) =>
        g.estimate({ ...g.PRESETS['llama-7b'], n_layers: 1 }, { contextLength: n }).activationBytes / n / 2 - 2 * 32000;
      return misprint(
        'megabytes',
        shown(
          Math.abs(f16(4096) / one(4096) - 1) < 0.2 && f16(4096) < 1e6,
          `${text(one(4096))} bytes within 20 %`,
          `${text(f16(4096))} bytes`,
        ),
        `Queries, keys and values, the scores against 4096 keys and the FFN’s hidden states: ${text(one(4096))} bytes, a third of a megabyte; ${text(one(1))} with no context. Megabytes begin at a dozen tokens together. The engine’s own buffers, counted in f32, are halved here and the logits left out.`,
      );
    },
  ),
];
