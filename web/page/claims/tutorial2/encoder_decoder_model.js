// claims/tutorial2/encoder_decoder_model.js - the whole model: its shapes, parameters and logits, and its sinusoidal positions
import { distance, ids, minus, plus, rows, sum } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints.js';
import { ofCount, ofFreshPass, ofReference, using } from '../claim.js';
import { ENCODER, SEQ2SEQ, TRANSLATION } from '../configs.js';
import { flat, sinusoid } from '../double_precision.js';
import { atMost, finite, noted, over, same, sentence, shapeText, shown, text, under } from '../outcome.js';
import { count, scalars } from '../parameter_table.js';

const batch = (/** @type {number} */ seed) => Array.from({ length: 8 }, (_, i) => ids(20, 1000, seed + i));

/** All positions of the preset. */
const POSITIONS = { ids: [1], source: ids(50, 1000), capture: ['encoder.hook_pos_embed'] };

/** @type {import('../claim.js').Runs} */
export const runs = {
  shape: ofFreshPass(SEQ2SEQ, { ids: batch(1), source: batch(50) }, (_, logits) => finite('(8, 20, 1000)', logits)),
  'shape-unmasked': (g) =>
    using(g.create({ ...g.PRESETS[SEQ2SEQ], causal: false }, { seed: 1 }), async (model) => {
      const { logits, captured } = await model.forward([ids(20, 1000, 1)], {
        source: [ids(20, 1000, 2)],
        capture: ['decoder.0.attn.hook_pattern'],
      });
      const pattern = captured['decoder.0.attn.hook_pattern'].data.subarray(0, 20);
      return sentence`${same('(1, 20, 1000)', shapeText(logits.shape))}, the first position sees ${same(20, pattern.filter((p) => p > 0).length)}`;
    }),
  parameters: ofCount(SEQ2SEQ, 296424, (t) => t.total),
  parts: ofCount(SEQ2SEQ, '64,000 + 2 × 33,472 + 2 × 50,240 + 65,000', (t) => {
    const of = (stack) => text(scalars(t, (r) => r.stack === stack && r.layer === 0));
    return `${text(count(t, 'embedding'))} + 2 × ${of('encoder')} + 2 × ${of('decoder')} + ${text(count(t, 'head'))}`;
  }),
  sublayers: (g) => {
    const t = g.countParameters(SEQ2SEQ),
      norms = (stack) =>
        t.rows.filter((r) => r.stack === stack && r.layer === 0 && r.component === 'norm' && r.name.endsWith('.weight'))
          .length;
    return same('2 and 3', `${norms('encoder')} and ${norms('decoder')}`);
  },
  reference: ofReference(tutorial2, TRANSLATION),
  'reference-unmasked': ofReference(() => tutorial2({ mask_mode: 'nomask' }), TRANSLATION),
  sinusoids: ofFreshPass(SEQ2SEQ, POSITIONS, (captured) => {
    const { data } = captured['encoder.hook_pos_embed'],
      want = flat(Array.from({ length: 50 }, (_, p) => sinusoid(p, 64)));
    return atMost(1e-6, distance(data, want), `Position 0 begins ${[...data.subarray(0, 4)].join(', ')}.`);
  }),
  'positions-unique': ofFreshPass(SEQ2SEQ, POSITIONS, (captured) => {
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
  }),
  added: ofFreshPass(
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
  'bag-of-words': async (g) => {
    const order = [3, 0, 5, 1, 4, 2],
      words = ids(6, 40);
    const moved = (position) =>
      using(g.create({ ...ENCODER, position }, { seed: 2 }), async (model) => {
        const hidden = async (list) => rows(/** @type {any} */ ((await model.forward(list)).hidden));
        const [a, b] = [await hidden(words), await hidden(order.map((i) => words[i]))];
        return Math.max(...order.map((from, to) => distance(a[from], b[to])));
      });
    const [none, sinusoidal] = [await moved('none'), await moved('sinusoidal')];
    return noted(
      sentence`without: ${under(1e-5, none)}; with: ${over(0.1, sinusoidal)}`,
      'Largest change of a token’s state when the sentence is shuffled.',
    );
  },
};
