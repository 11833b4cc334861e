// claims/tutorial1/decoder_parameters.js - section 7: every row of its table of parameters.
import { claim } from '../claim.js';
import { MODERN, UNTIED } from '../configs.js';
import { shown, text } from '../outcome.js';
import { block, count, ofCount, scalars } from '../parameter_table.js';

/** The FFN's parameters for each one of attention, in all blocks. @param {import('../parameter_table.js').Table} t */
const ffnShares = (t) =>
  [...new Set(Array.from({ length: 12 }, (_, l) => count(t, 'ffn', l) / count(t, 'attention', l)))].join(', ');

export const claims = [
  ofCount('1-embedding', 'Token embedding of the 123.6M model, 50,257 × 768', MODERN, 38597376, (t) =>
    count(t, 'embedding'),
  ),
  ofCount('1-attention', 'Attention of one block: four matrices of 768 × 768', MODERN, 2359296, (t) =>
    count(t, 'attention', 0),
  ),
  ofCount('1-ffn', 'SwiGLU of one block: three matrices of 768 × 2048', MODERN, 4718592, (t) => count(t, 'ffn', 0)),
  ofCount('1-norms', 'Two RMSNorms of one block', MODERN, 1536, (t) => count(t, 'norm', 0)),
  ofCount('1-block', 'One block', MODERN, 7079424, block),
  ofCount('1-blocks', 'All twelve blocks', MODERN, 84953088, (t) => scalars(t, (r) => r.layer !== null)),
  ofCount('1-final-norm', 'The final norm', MODERN, 768, (t) => count(t, 'final_norm')),
  ofCount('1-non-embedding', 'Parameters without the embedding', MODERN, 84953856, (t) => t.nonEmbedding),
  ofCount('1-tied', 'Total with a tied head', MODERN, 123551232, (t) => t.total),
  ofCount('1-untied', 'Total with a head of its own', UNTIED, 162148608, (t) => t.total),
  ofCount(
    '1-ffn-twice',
    'The FFN has twice the parameters of attention in every block',
    MODERN,
    '2 in all 12 blocks',
    (t) => `${ffnShares(t)} in all 12 blocks`,
  ),
  claim('1-tying-saves', 'Tying is worth 38.6M parameters, some 24 % of what the untied model has', (g) => {
    const untied = g.countParameters(UNTIED).total,
      saved = untied - g.countParameters(MODERN).total,
      share = (100 * saved) / untied;
    return shown(
      saved === 38597376 && Math.round(share) === 24,
      '38,597,376, about 24 %',
      `${text(saved)}, ${share.toFixed(1)} %`,
    );
  }),
];
