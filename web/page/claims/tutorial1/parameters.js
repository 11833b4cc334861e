// claims/tutorial1/parameters.js - section 7: every row of its table of parameters.

import { same, shown, text } from '../check.js';
import { block, count } from '../models.js';
import { sum } from '../numbers.js';
import { MODERN, UNTIED, claim } from './shared.js';

/** @typedef {import('../check.js').Claim} Claim */

/** @type {Claim[]} */
export const claims = [
  claim('embedding', 'Token embedding of the 123.6M model, 50,257 × 768', (g) =>
    same(38597376, count(g.countParameters(MODERN), 'embedding')),
  ),
  claim('attention', 'Attention of one block: four matrices of 768 × 768', (g) =>
    same(2359296, count(g.countParameters(MODERN), 'attention', 0)),
  ),
  claim('ffn', 'SwiGLU of one block: three matrices of 768 × 2048', (g) =>
    same(4718592, count(g.countParameters(MODERN), 'ffn', 0)),
  ),
  claim('norms', 'Two RMSNorms of one block', (g) => same(1536, count(g.countParameters(MODERN), 'norm', 0))),
  claim('block', 'One block', (g) => same(7079424, block(g.countParameters(MODERN)))),
  claim('blocks', 'All twelve blocks', (g) =>
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
  claim('final-norm', 'The final norm', (g) => same(768, count(g.countParameters(MODERN), 'final_norm'))),
  claim('non-embedding', 'Parameters without the embedding', (g) =>
    same(84953856, g.countParameters(MODERN).nonEmbedding),
  ),
  claim('tied', 'Total with a tied head', (g) => same(123551232, g.countParameters(MODERN).total)),
  claim('untied', 'Total with a head of its own', (g) => same(162148608, g.countParameters(UNTIED).total)),
  claim('ffn-twice', 'The FFN has twice the parameters of attention in every block', (g) => {
    const t = g.countParameters(MODERN);
    return same(
      '2 in all 12 blocks',
      `${[...new Set(Array.from({ length: 12 }, (_, l) => count(t, 'ffn', l) / count(t, 'attention', l)))].join(', ')} in all 12 blocks`,
    );
  }),
  claim('tying-saves', 'Tying is worth 38.6M parameters, some 24 % of what the untied model has', (g) => {
    const saved = g.countParameters(UNTIED).total - g.countParameters(MODERN).total,
      share = (100 * saved) / g.countParameters(UNTIED).total;
    return shown(
      saved === 38597376 && Math.round(share) === 24,
      '38,597,376, about 24 %',
      `${text(saved)}, ${share.toFixed(1)} %`,
    );
  }),
];
