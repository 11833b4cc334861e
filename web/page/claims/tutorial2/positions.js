// claims/tutorial2/positions.js - sinusoidal positions: their values, and what a model without them computes.
import { distance, ids, minus, plus, rows, sum } from '../arithmetic.js';
import { claim, ofFreshPass, using } from '../claim.js';
import { ENCODER, SEQ2SEQ } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';
import { flat, sinusoid } from '../reference/parts.js';

/** All positions of the preset. */
const POSITIONS = { ids: [1], source: ids(50, 1000), capture: ['encoder.hook_pos_embed'] };

export const claims = [
  ofFreshPass(
    '2-sinusoids',
    'Position p, dimension 2i: sin(p / 10000^(2i / d)); dimension 2i + 1: the cosine; all 50 × 64 of them',
    SEQ2SEQ,
    POSITIONS,
    (captured) => {
      const { data } = captured['encoder.hook_pos_embed'],
        want = flat(Array.from({ length: 50 }, (_, p) => sinusoid(p, 64)));
      return atMost(1e-6, distance(data, want), `Position 0 begins ${[...data.subarray(0, 4)].join(', ')}.`);
    },
  ),
  ofFreshPass(
    '2-positions-unique',
    'Each position has a signature of its own, and how alike two are depends on their distance alone',
    SEQ2SEQ,
    POSITIONS,
    (captured) => {
      const table = rows(captured['encoder.hook_pos_embed']),
        dot = (a, b) => sum(Array.from(a, (v, i) => v * b[i]));
      let nearest = Infinity,
        spread = 0;
      for (let a = 0; a < 50; a++)
        for (let b = 0; b < a; b++) {
          nearest = Math.min(nearest, Math.sqrt(sum(minus(table[a], table[b]).map((v) => v * v))));
          spread = Math.max(spread, Math.abs(dot(table[a], table[b]) - dot(table[a - b], table[0])));
        }
      return shown(
        nearest > 0.5 && spread < 1e-4,
        'no two alike; products equal at equal distance',
        `nearest pair ${text(nearest)} apart; products within ${text(spread)}`,
      );
    },
  ),
  ofFreshPass(
    '2-added',
    'Positions are simply added to the embedding',
    SEQ2SEQ,
    {
      ids: [1],
      source: ids(20, 1000),
      capture: ['encoder.hook_embed', 'encoder.hook_pos_embed', 'encoder.0.hook_resid_pre'],
    },
    (c) => {
      const sums = plus(c['encoder.hook_embed'].data, c['encoder.hook_pos_embed'].data);
      return atMost(1e-6, distance(c['encoder.0.hook_resid_pre'].data, sums));
    },
  ),
  claim(
    '2-bag-of-words',
    'Without positions attention sees a bag of words: other order, same states; with positions not',
    async (g) => {
      const order = [3, 0, 5, 1, 4, 2],
        words = ids(6, 40);
      const moved = (position) =>
        using(g.create({ ...ENCODER, position }, { seed: 2 }), async (model) => {
          const hidden = async (list) => rows(/** @type {any} */ ((await model.forward(list)).hidden));
          const [a, b] = [await hidden(words), await hidden(order.map((i) => words[i]))];
          return Math.max(...order.map((from, to) => distance(a[from], b[to])));
        });
      const [none, sinusoidal] = [await moved('none'), await moved('sinusoidal')];
      return shown(
        none < 1e-5 && sinusoidal > 0.1,
        'without: under 0.00001; with: over 0.1',
        `without: ${text(none)}; with: ${text(sinusoidal)}`,
        'Largest change of a token’s state when the sentence is shuffled.',
      );
    },
  ),
];
