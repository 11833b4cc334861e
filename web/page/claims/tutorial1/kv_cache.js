// claims/tutorial1/kv_cache.js - the cache gives what a full pass gives, and what breaks that.
import { distance, ids } from '../arithmetic.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { ofCache, ofFile, ofFresh } from '../claim.js';
import { TINY, WORDS } from '../configs.js';
import { same, shown, text } from '../outcome.js';
import { decoder } from '../reference/modern_forward.js';
import { rotate } from '../reference/parts.js';

export const claims = [
  ofCache(
    '1-cached',
    'Token by token with a cache equals one full pass',
    tutorial1,
    {},
    'The tutorial allows 0.00001; here sums run in one order, so nothing is left to allow.',
  ),
  ofFile('1-wrong-offset', 'A wrong rotary offset breaks that at once', tutorial1, async (model, made) => {
    const half = WORDS.length / 2;
    const session = await model.session();
    await session.eval(WORDS.slice(0, half));
    const cached = await session.eval(WORDS.slice(half));
    const off = (positions) =>
      distance(cached, decoder(made.weights, made.config, WORDS, { positions })[WORDS.length - 1]);
    // the wrong one counts new tokens from 0 again
    const [right, wrong] = [off(undefined), off(WORDS.map((_, i) => i % half))];
    return shown(
      right < 1e-4 && wrong > 0.01,
      'right: under 0.0001; wrong: over 0.01',
      `right: ${text(right)}; wrong: ${text(wrong)}`,
      'Distance of the cached logits from the double-precision ones whose new tokens are counted on, and from 0 again.',
    );
  }),
  ofFresh(
    '1-cache-work',
    'Without a cache, 12 tokens project 1 + 2 + … + 12 positions; with one, each position once',
    TINY,
    1,
    async (model) => {
      const work = async (n) =>
        (await model.trace(ids(n, 64))).filter((r) => r.op === 'attn.qkv').reduce((s, r) => s + r.flops, 0);
      const one = await work(1);
      let naive = 0;
      for (let n = 1; n <= 12; n++) naive += (await work(n)) / one;
      return same(
        '78 against 12',
        `${text(naive)} against ${text((await work(12)) / one)}`,
        'Operations of the query, key and value projections, in units of one position.',
      );
    },
  ),
  ofFresh(
    '1-rope-offset',
    'A token behind n cached ones is rotated for position n, keys stay as they were, values are never rotated',
    TINY,
    3,
    async (model) => {
      const session = await model.session({
        capture: ['blocks.0.attn.hook_rot_k', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_v'],
      });
      const seen = [];
      for (let n = 0; n < 4; n++) {
        await session.eval([5]);
        seen.push(session.captured);
      }
      const k = seen.map((c) => c['blocks.0.attn.hook_rot_k'].data),
        v = seen.map((c) => c['blocks.0.attn.hook_v'].data),
        plain = Float64Array.from(seen[0]['blocks.0.attn.hook_k'].data);
      // the same token: its key turned by t times the frequencies
      const turned = rotate(Array(4).fill(plain), 4, [0, 1, 2, 3], 10000);
      const keys = Math.max(...k.map((key, t) => distance(key, turned[t]))),
        values = Math.max(...v.map((x) => distance(x, v[0])));
      return shown(
        keys < 1e-6 && values === 0 && distance(k[1], k[0]) > 1e-3,
        'keys turned by 0, 1, 2, 3 steps; values equal',
        `keys off by ${text(keys)}; values by ${text(values)}`,
      );
    },
  ),
];
