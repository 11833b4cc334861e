// claims/tutorial2/encoder_decoder_model.js - the whole model: its shapes, its parameters, its logits.
import { ids } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints/encoder_decoder_2017.js';
import { claim, ofFreshPass, ofReference, using } from '../claim.js';
import { SEQ2SEQ, SOURCE, TRANSLATION } from '../configs.js';
import { finite, same, shapeText, shown, text } from '../outcome.js';
import { count, ofCount, scalars } from '../parameter_table.js';
import { encoderDecoder } from '../reference/encoder_decoder_forward.js';

const batch = (/** @type {number} */ seed) => Array.from({ length: 8 }, (_, i) => ids(20, 1000, seed + i));

/** @param {any} w @param {any} c @param {number[]} ids */
const fromSource = (w, c, ids) => encoderDecoder(w, c, SOURCE, ids);

export const claims = [
  ofFreshPass(
    '2-shape',
    'Sources and targets of shape (8, 20) flow through the whole model and become logits of shape (8, 20, 1000)',
    SEQ2SEQ,
    { ids: batch(1), source: batch(50) },
    (_, logits) => finite('(8, 20, 1000)', logits),
  ),
  claim('2-shape-unmasked', 'The same without a causal mask, as the tutorial runs it', (g) =>
    using(g.create({ ...g.PRESETS[SEQ2SEQ], causal: false }, { seed: 1 }), async (model) => {
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
  ofCount(
    '2-parameters',
    'Parameters of the model with vocabulary 1000, width 64, 2 + 2 layers, 4 heads, FFN 128',
    SEQ2SEQ,
    296424,
    (t) => t.total,
  ),
  ofCount(
    '2-parts',
    'Which are 64,000 in the embedding, 33,472 in an encoder layer, 50,240 in a decoder layer and 65,000 in the output layer',
    SEQ2SEQ,
    '64,000 + 2 × 33,472 + 2 × 50,240 + 65,000',
    (t) => {
      const of = (stack) => text(scalars(t, (r) => r.stack === stack && r.layer === 0));
      return `${text(count(t, 'embedding'))} + 2 × ${of('encoder')} + 2 × ${of('decoder')} + ${text(count(t, 'head'))}`;
    },
  ),
  claim('2-sublayers', 'An encoder layer has two sublayers with a norm each, a decoder layer three', (g) => {
    const t = g.countParameters(SEQ2SEQ),
      norms = (stack) =>
        t.rows.filter((r) => r.stack === stack && r.layer === 0 && r.component === 'norm' && r.name.endsWith('.weight'))
          .length;
    return same('2 and 3', `${norms('encoder')} and ${norms('decoder')}`);
  }),
  ofReference(
    '2-reference',
    'A file with the tutorial’s names gives the logits of its arithmetic in double precision, the target masked',
    tutorial2,
    fromSource,
    TRANSLATION,
  ),
  ofReference(
    '2-reference-unmasked',
    'So it does without masks',
    () => tutorial2({ mask_mode: 'nomask' }),
    fromSource,
    TRANSLATION,
  ),
];
