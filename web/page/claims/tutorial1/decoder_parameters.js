// claims/tutorial1/decoder_parameters.js - section 7: every row of its table of parameters.
import { sum } from '../arithmetic.js';
import { claim } from '../claim.js';
import { MODERN, UNTIED } from '../configs.js';
import { same, shown, text } from '../outcome.js';
import { block, count } from '../parameter_table.js';

export const claims = [
  claim('1-embedding', 'Token embedding of the 123.6M model, 50,257 × 768', (g) =>
    same(38597376, count(g.countParameters(MODERN), 'embedding')),
  ),
  claim('1-attention', 'Attention of one block: four matrices of 768 × 768', (g) =>
    same(2359296, count(g.countParameters(MODERN), 'attention', 0)),
  ),
  claim('1-ffn', 'SwiGLU of one block: three matrices of 768 × 2048', (g) =>
    same(4718592, count(g.countParameters(MODERN), 'ffn', 0)),
  ),
  claim('1-norms', 'Two RMSNorms of one block', (g) => same(1536, count(g.countParameters(MODERN), 'norm', 0))),
  claim('1-block', 'One block', (g) => same(7079424, block(g.countParameters(MODERN)))),
  claim('1-blocks', 'All twelve blocks', (g) =>
    same(
      84953088,
      sum(
        g
          .countParameters(MODERN)
          .rows.filter((r) => r.layer !== null)
          .map((r) => r.count),
      ),
    ),
  ),
  claim('1-final-norm', 'The final norm', (g) => same(768, count(g.countParameters(MODERN), 'final_norm'))),
  claim('1-non-embedding', 'Parameters without the embedding', (g) =>
    same(84953856, g.countParameters(MODERN).nonEmbedding),
  ),
  claim('1-tied', 'Total with a tied head', (g) => same(123551232, g.countParameters(MODERN).total)),
  claim('1-untied', 'Total with a head of its own', (g) => same(162148608, g.countParameters(UNTIED).total)),
  claim('1-ffn-twice', 'The FFN has twice the parameters of attention in every block', (g) => {
    const t = g.countParameters(MODERN);
    return same(
      '2 in all 12 blocks',
      `${[...new Set(Array.from({ length: 12 }, (_, l) => count(t, 'ffn', l) / count(t, 'attention', l)))].join(', ')} in all 12 blocks`,
    );
  }),
  claim('1-tying-saves', 'Tying is worth 38.6M parameters, some 24 % of what the untied model has', (g) => {
    const saved = g.countParameters(UNTIED).total - g.countParameters(MODERN).total,
      share = (100 * saved) / g.countParameters(UNTIED).total;
    return shown(
      saved === 38597376 && Math.round(share) === 24,
      '38,597,376, about 24 %',
      `${text(saved)}, ${share.toFixed(1)} %`,
    );
  }),
];
