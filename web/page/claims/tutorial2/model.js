// claims/tutorial2/model.js - the whole model: its shapes, its parameters, its logits.

import { atMost, same, shapeText, shown, text } from '../check.js';
import { asSource } from '../files/checkpoint.js';
import { tutorial2 } from '../files/encoder_decoder.js';
import { block, count, using } from '../models.js';
import { distance, ids, rms } from '../numbers.js';
import { encoderDecoder } from '../reference/encoder_decoder.js';
import { flat } from '../reference/parts.js';
import { MODEL, SOURCE, TARGET, claim } from './shared.js';

/** @typedef {import('../check.js').Claim} Claim */

/**
 * Logits of a checkpoint by the engine and by the tutorial's arithmetic.
 * @param {typeof import('glassformer')} glassformer
 * @param {import('../files/checkpoint.js').Checkpoint} made
 */
const against = (glassformer, made) =>
  using(glassformer.load(asSource(made)), async (model) => {
    const { logits } = await model.forward(TARGET, { source: SOURCE });
    return atMost(1e-4, distance(logits.data, flat(encoderDecoder(made.weights, made.config, SOURCE, TARGET))));
  });

/** @type {Claim[]} */
export const claims = [
  claim(
    'shape',
    'Sources and targets of shape (8, 20) flow through the whole model and become logits of shape (8, 20, 1000)',
    (g) =>
      using(g.create(MODEL, { seed: 1 }), async (model) => {
        const batch = (from) => Array.from({ length: 8 }, (_, i) => ids(20, 1000, from + i));
        const { logits } = await model.forward(batch(1), { source: batch(50) });
        return shown(
          shapeText(logits.shape) === '(8, 20, 1000)' && logits.data.every(Number.isFinite) && rms(logits.data) > 0,
          '(8, 20, 1000), all finite',
          `${shapeText(logits.shape)}, ${logits.data.every(Number.isFinite) ? 'all finite' : 'not all finite'}`,
        );
      }),
  ),
  claim('shape-unmasked', 'The same without a causal mask, as the tutorial runs it', (g) =>
    using(g.create({ ...g.PRESETS[MODEL], causal: false }, { seed: 1 }), async (model) => {
      const { logits, captured } = await model.forward([ids(20, 1000, 1)], {
        source: [ids(20, 1000, 2)],
        capture: ['decoder.0.attn.hook_pattern'],
      });
      const pattern = captured['decoder.0.attn.hook_pattern'].data.subarray(0, 20);
      return shown(
        shapeText(logits.shape) === '(1, 20, 1000)' && pattern.every((p) => p > 0),
        '(1, 20, 1000), the first position sees 20',
        `${shapeText(logits.shape)}, the first position sees ${pattern.filter((p) => p > 0).length}`,
      );
    }),
  ),
  claim('parameters', 'Parameters of the model with vocabulary 1000, width 64, 2 + 2 layers, 4 heads, FFN 128', (g) =>
    same(296424, g.countParameters(MODEL).total),
  ),
  claim(
    'parts',
    'Which are 64,000 in the embedding, 33,472 in an encoder layer, 50,240 in a decoder layer and 65,000 in the output layer',
    (g) => {
      const t = g.countParameters(MODEL),
        of = (stack) => block({ rows: t.rows.filter((r) => r.stack === stack) });
      return same(
        '64,000 + 2 × 33,472 + 2 × 50,240 + 65,000',
        `${text(count(t, 'embedding'))} + 2 × ${text(of('encoder'))} + 2 × ${text(of('decoder'))} + ${text(count(t, 'head'))}`,
      );
    },
  ),
  claim('sublayers', 'An encoder layer has two sublayers with a norm each, a decoder layer three', (g) => {
    const t = g.countParameters(MODEL),
      norms = (stack) =>
        t.rows.filter((r) => r.stack === stack && r.layer === 0 && r.component === 'norm' && r.name.endsWith('.weight'))
          .length;
    return same('2 and 3', `${norms('encoder')} and ${norms('decoder')}`);
  }),
  claim(
    'reference',
    'A file with the tutorial’s names gives the logits of its arithmetic in double precision, the target masked',
    (g) => against(g, tutorial2()),
  ),
  claim('reference-unmasked', 'So it does without masks', (g) => against(g, tutorial2({ mask_mode: 'nomask' }))),
];
