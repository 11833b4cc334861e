// claims/tutorial2/attentions.js - the encoder's attention, the decoder's masked one, and cross-attention.
import { distance, ids, rows, sum } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints/encoder_decoder_2017.js';
import { cacheDistance, ofFile, ofFresh } from '../claim.js';
import { SEQ2SEQ, SOURCE, TARGET } from '../configs.js';
import { same, shapeText, shown, text } from '../outcome.js';

export const claims = [
  ofFresh(
    '2-encoder-sees-all',
    'Encoder: every position sees every other, and each row of the pattern sums to 1',
    SEQ2SEQ,
    1,
    async (model) => {
      const { captured } = await model.forward([1], { source: ids(20, 1000), capture: ['encoder.*.hook_pattern'] });
      const all = Object.values(captured),
        off = Math.max(...all.flatMap(rows).map((r) => Math.abs(sum(r) - 1)));
      return shown(
        all.length === 2 &&
          all.every((t) => shapeText(t.shape) === '(4, 20, 20)' && t.data.every((p) => p > 0)) &&
          off < 1e-5,
        '2 × (4, 20, 20), none 0, sums 1 ± 0.00001',
        `${all.length} × ${shapeText(all[0].shape)}, ${all.reduce((n, t) => n + t.data.filter((p) => p === 0).length, 0) || 'none'} 0, sums 1 ± ${text(off)}`,
      );
    },
  ),
  ofFresh('2-masked', 'Decoder: masked self-attention sees no later position', SEQ2SEQ, 1, async (model) => {
    const { captured } = await model.forward(ids(20, 1000), {
      source: ids(10, 1000, 2),
      capture: ['decoder.*.attn.hook_pattern'],
    });
    const later = Object.values(captured)
      .flatMap(rows)
      .map((r, i) => Math.max(0, ...r.subarray((i % 20) + 1)));
    const earlier = Object.values(captured)
      .flatMap(rows)
      .every((r, i) => r.subarray(0, (i % 20) + 1).every((p) => p > 0));
    return shown(
      Math.max(...later) === 0 && earlier,
      '0 above the diagonal, none 0 below',
      `${text(Math.max(...later))} above the diagonal, ${earlier ? 'none' : 'some'} 0 below`,
    );
  }),
  ofFile(
    '2-cross',
    'Cross-attention: queries from the target, keys and values from the encoder’s output',
    tutorial2,
    async (model, made) => {
      const { captured: c } = await model.forward(TARGET, {
        source: SOURCE,
        capture: ['encoder.1.hook_resid_post', 'decoder.0.cross_attn.hook_v', 'decoder.*.cross_attn.hook_pattern'],
      });
      const { data: w } = made.weights['decoder.layers.0.enc_dec_attn.v_linear.weight'],
        { data: b } = made.weights['decoder.layers.0.enc_dec_attn.v_linear.bias'];
      const want = rows(c['encoder.1.hook_resid_post']).flatMap((x) =>
        Array.from(b, (bias, r) => bias + x.reduce((s, v, i) => s + v * w[r * 16 + i], 0)),
      );
      const off = distance(c['decoder.0.cross_attn.hook_v'].data, want),
        pattern = c['decoder.0.cross_attn.hook_pattern'];
      const sums = Math.max(...rows(pattern).map((r) => Math.abs(sum(r) - 1)));
      return shown(
        off < 1e-5 && shapeText(pattern.shape) === '(2, 12, 9)' && sums < 1e-5,
        'pattern (2, 12, 9), rows sum to 1; values within 0.00001',
        `pattern ${shapeText(pattern.shape)}, rows within ${text(sums)} of 1; values within ${text(off)}`,
      );
    },
  ),
  ofFile(
    '2-source-mask',
    'A source mask hides positions from encoder and cross-attention',
    tutorial2,
    async (model) => {
      const sourceMask = SOURCE.map((_, i) => (i < 6 ? 1 : 0));
      const masked = await model.forward(TARGET, {
        source: SOURCE,
        sourceMask,
        capture: ['decoder.*.cross_attn.hook_pattern'],
      });
      const short = await model.forward(TARGET, { source: SOURCE.slice(0, 6) });
      const seen = Math.max(
        ...Object.values(masked.captured)
          .flatMap(rows)
          .map((r) => Math.max(...r.subarray(6))),
      );
      return shown(
        seen === 0 && distance(masked.logits.data, short.logits.data) < 1e-5,
        'weight 0 on the hidden three; logits of the shorter source',
        `weight ${text(seen)} on the hidden three; logits off by ${text(distance(masked.logits.data, short.logits.data))}`,
      );
    },
  ),
  ofFile(
    '2-source-matters',
    'The encoder’s output reaches the logits: another source, other logits',
    tutorial2,
    async (model) => {
      const [a, b] = [
        await model.forward(TARGET, { source: SOURCE }),
        await model.forward(TARGET, { source: [...SOURCE].reverse() }),
      ];
      return shown(
        distance(a.logits.data, b.logits.data) > 0.01,
        'over 0.01',
        text(distance(a.logits.data, b.logits.data)),
      );
    },
  ),
  ofFile(
    '2-cached',
    'Token by token with a cache equals one pass over the target, cross keys and values computed once',
    tutorial2,
    async (model) => {
      const worst = await cacheDistance(model, TARGET, { source: SOURCE });
      return same('0, to the last bit', worst === 0 ? '0, to the last bit' : text(worst));
    },
  ),
];
