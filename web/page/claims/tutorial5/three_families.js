// claims/tutorial5/three_families.js - encoder, decoder and encoder-decoder; one configuration for all sizes.
import { ids, rows } from '../arithmetic.js';
import { claim, using } from '../claim.js';
import { same, text } from '../outcome.js';

/** @returns {import('../section.js').Table} */
export const familyTable = () => ({
  head: ['Family', 'Examples', 'Attention', 'Trained on', 'Used for'],
  rows: [
    ['Encoder only', 'BERT, RoBERTa', 'both ways', 'hidden words', 'classes, names, embeddings'],
    ['Decoder only', 'GPT, LLaMA, Qwen', 'backwards', 'the next token', 'writing, and all that a prompt can ask'],
    [
      'Encoder-decoder',
      'T5, BART',
      'both ways, backwards, across',
      'hidden spans, pairs of texts',
      'translation, summaries',
    ],
  ],
});

export const claims = [
  claim(
    '5-families',
    'Encoder-only sees both ways, decoder-only backwards, encoder-decoder both, each in its half',
    async (g) => {
      const base = { vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 16 };
      const ahead = (kind, name, options = {}) =>
        using(g.create({ ...base, kind }, { seed: 1 }), async (model) => {
          const { captured } = await model.forward(ids(8, 40), { capture: [name], ...options });
          return rows(captured[name]).some((r, i) => r.subarray((i % 8) + 1).some((p) => p > 0))
            ? 'both ways'
            : 'backwards';
        });
      const pattern = 'attn.hook_pattern',
        source = ids(8, 40, 2);
      const found = [
        await ahead('encoder', `blocks.0.${pattern}`),
        await ahead('decoder', `blocks.0.${pattern}`),
        await ahead('encoder_decoder', `encoder.0.${pattern}`, { source }),
        await ahead('encoder_decoder', `decoder.0.${pattern}`, { source }),
      ];
      return same(
        'both ways; backwards; both ways and backwards',
        `${found[0]}; ${found[1]}; ${found[2]} and ${found[3]}`,
      );
    },
  ),
  claim(
    '5-one-class',
    'One architecture at every scale: GPT-2, LLaMA-7B and LLaMA-3 70B are sizes and components of one configuration',
    (g) => {
      const names = /** @type {const} */ (['gpt2', 'llama-7b', 'llama3-70b']),
        found = names.map((n) => g.countParameters(n).total);
      return same('124,439,808; 6,738,415,616; 70,553,706,496', found.map(text).join('; '));
    },
  ),
];
