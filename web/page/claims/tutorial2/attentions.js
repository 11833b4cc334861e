// claims/tutorial2/attentions.js - the encoder's attention, the decoder's masked one, and cross-attention.
import { doubles } from '../activations.js';
import { distance, fromOne, ids, rows } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints/encoder_decoder_2017.js';
import { ofCache, ofFile, ofFreshPass, ofPass } from '../claim.js';
import { SEQ2SEQ, SOURCE, TARGET, TRANSLATION } from '../configs.js';
import { shapeText, shown, text } from '../outcome.js';
import { flat, linear } from '../reference/parts.js';

export const claims = [
  ofFreshPass(
    '2-encoder-sees-all',
    'Encoder: every position sees every other, and each row of the pattern sums to 1',
    SEQ2SEQ,
    { ids: [1], source: ids(20, 1000), capture: ['encoder.*.hook_pattern'] },
    (c) => {
      const all = Object.values(c),
        off = fromOne(all.flatMap(rows));
      return shown(
        all.length === 2 &&
          all.every((t) => shapeText(t.shape) === '(4, 20, 20)' && t.data.every((p) => p > 0)) &&
          off < 1e-5,
        '2 × (4, 20, 20), none 0, sums 1 ± 0.00001',
        `${all.length} × ${shapeText(all[0].shape)}, ${all.reduce((n, t) => n + t.data.filter((p) => p === 0).length, 0) || 'none'} 0, sums 1 ± ${text(off)}`,
      );
    },
  ),
  ofFreshPass(
    '2-masked',
    'Decoder: masked self-attention sees no later position',
    SEQ2SEQ,
    { ids: ids(20, 1000), source: ids(10, 1000, 2), capture: ['decoder.*.attn.hook_pattern'] },
    (c) => {
      const all = Object.values(c).flatMap(rows),
        later = Math.max(...all.map((r, i) => Math.max(0, ...r.subarray((i % 20) + 1)))),
        earlier = all.every((r, i) => r.subarray(0, (i % 20) + 1).every((p) => p > 0));
      return shown(
        later === 0 && earlier,
        '0 above the diagonal, none 0 below',
        `${text(later)} above the diagonal, ${earlier ? 'none' : 'some'} 0 below`,
      );
    },
  ),
  ofPass(
    '2-cross',
    'Cross-attention: queries from the target, keys and values from the encoder’s output',
    tutorial2,
    {
      ...TRANSLATION,
      capture: ['encoder.1.hook_resid_post', 'decoder.0.cross_attn.hook_v', 'decoder.*.cross_attn.hook_pattern'],
    },
    (c, w) => {
      const [weight, bias] = ['weight', 'bias'].map((n) => w[`decoder.layers.0.enc_dec_attn.v_linear.${n}`]);
      const want = linear(doubles(c['encoder.1.hook_resid_post']), weight, bias);
      const off = distance(c['decoder.0.cross_attn.hook_v'].data, flat(want)),
        pattern = c['decoder.0.cross_attn.hook_pattern'],
        sums = fromOne(rows(pattern));
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
      const capture = ['decoder.*.cross_attn.hook_pattern'];
      const { logits, captured } = await model.forward(TARGET, { source: SOURCE, sourceMask, capture });
      const short = await model.forward(TARGET, { source: SOURCE.slice(0, 6) });
      const weights = Object.values(captured).flatMap(rows),
        seen = Math.max(...weights.map((r) => Math.max(...r.subarray(6)))),
        off = distance(logits.data, short.logits.data);
      return shown(
        seen === 0 && off < 1e-5,
        'weight 0 on the hidden three; logits of the shorter source',
        `weight ${text(seen)} on the hidden three; logits off by ${text(off)}`,
      );
    },
  ),
  ofPass(
    '2-source-matters',
    'The encoder’s output reaches the logits: another source, other logits',
    tutorial2,
    TRANSLATION,
    async (_, __, logits, model) => {
      const other = await model.forward(TARGET, { source: [...SOURCE].reverse() });
      const off = distance(logits.data, other.logits.data);
      return shown(off > 0.01, 'over 0.01', text(off));
    },
  ),
  ofCache(
    '2-cached',
    'Token by token with a cache equals one pass over the target, cross keys and values computed once',
    tutorial2,
    TRANSLATION,
  ),
];
